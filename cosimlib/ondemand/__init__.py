"""On-demand bursts on a batch machine: which jobs make way, and the cost.

- `simulate_ondemand`: EASY with bursts, by the policies of `POLICIES`; `OnDemandSchedule`
- `checkpoint_table`: how often jobs write checkpoints, and how long it takes
- `draw_bursts`, `bursts_from_queue`: bursts for a log
- `ledger`, `measure`: node-hours by use, and all that a schedule is compared by
"""

from cosimlib.eviction.problem import checkpoint_table
from cosimlib.ondemand.audit import audit_ondemand
from cosimlib.ondemand.schedule import LEDGER, OVERHEAD, OnDemandSchedule, ledger, measure
from cosimlib.ondemand.simulation import POLICIES, simulate_ondemand
from cosimlib.synthetic.bursts import bursts_from_queue, draw_bursts

__all__ = [
    "LEDGER",
    "OVERHEAD",
    "POLICIES",
    "OnDemandSchedule",
    "audit_ondemand",
    "bursts_from_queue",
    "checkpoint_table",
    "draw_bursts",
    "ledger",
    "measure",
    "simulate_ondemand",
]
