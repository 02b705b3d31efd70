"""On-demand bursts on a batch machine: who makes way, and what that costs.

- `simulate_ondemand`: EASY with bursts, by the policies of `POLICIES`; `OnDemandSchedule`
- `checkpoint_table`, `daly_interval`: how often jobs write checkpoints, and how long it takes
"""

from cosimlib.ondemand.audit import audit_ondemand
from cosimlib.ondemand.checkpoints import checkpoint_table, daly_interval
from cosimlib.ondemand.schedule import OnDemandSchedule
from cosimlib.ondemand.simulation import POLICIES, simulate_ondemand

__all__ = [
    "POLICIES",
    "OnDemandSchedule",
    "audit_ondemand",
    "checkpoint_table",
    "daly_interval",
    "simulate_ondemand",
]
