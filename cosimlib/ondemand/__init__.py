"""On-demand bursts on a batch machine: who makes way, and what that costs.

- `simulate_ondemand`: EASY with bursts, by the policies of `POLICIES`; `OnDemandSchedule`
- `FAN`: the six mechanisms of Fan et al., as its arguments
- `checkpoint_table`, `daly_interval`: how often jobs write checkpoints, and how long it takes
- `draw_bursts`, `bursts_from_queue`: bursts for a log
- `ledger`, `measure`: node-hours by use, and all that a schedule is compared by
- `compare_ondemand`, `interval_table`, `paired_table`: policies over seeds, with intervals
- `best_table`, `slowdown_table`: the best policy per stream; slowdown by size of jobs
- `judge`: verdicts on the claims, by `Evidence`
"""

from cosimlib.ondemand.audit import audit_ondemand
from cosimlib.ondemand.checkpoints import checkpoint_table, daly_interval
from cosimlib.ondemand.claims import Evidence, judge
from cosimlib.ondemand.comparison import (
    FAN,
    LEDGER,
    OVERHEAD,
    best_table,
    compare_ondemand,
    interval_table,
    ledger,
    measure,
    paired_table,
    slowdown_table,
)
from cosimlib.ondemand.schedule import OnDemandSchedule
from cosimlib.ondemand.simulation import POLICIES, simulate_ondemand
from cosimlib.ondemand.workloads import bursts_from_queue, draw_bursts

__all__ = [
    "FAN",
    "LEDGER",
    "OVERHEAD",
    "POLICIES",
    "Evidence",
    "OnDemandSchedule",
    "audit_ondemand",
    "best_table",
    "bursts_from_queue",
    "checkpoint_table",
    "compare_ondemand",
    "daly_interval",
    "draw_bursts",
    "interval_table",
    "judge",
    "ledger",
    "measure",
    "paired_table",
    "simulate_ondemand",
    "slowdown_table",
]
