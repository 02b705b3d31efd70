"""On-demand bursts on a batch machine: which jobs make way, and the cost.

- `simulate_ondemand`: EASY with bursts; `OnDemandSchedule`
- `Wait`, `Reserve`, `Evict`, `Shrink`, `Share`: how bursts get their nodes; `POLICIES`, their names
- `Notice`, `Checkpoints`: what is done at the notice of a burst, and how often jobs save their work
- `checkpoint_table`: how often jobs write checkpoints, and how long it takes
- `draw_bursts`, `bursts_from_queue`: bursts for a log
- `ledger`, `measure`: node-hours by use, and all that a schedule is compared by
"""

from cosimlib.eviction.problem import checkpoint_table
from cosimlib.ondemand.audit import audit_ondemand
from cosimlib.ondemand.policies import (
    POLICIES,
    Checkpoints,
    Evict,
    Notice,
    Policy,
    Reserve,
    Share,
    Shrink,
    Wait,
)
from cosimlib.ondemand.schedule import LEDGER, OVERHEAD, OnDemandSchedule, ledger, measure
from cosimlib.ondemand.simulation import simulate_ondemand
from cosimlib.synthetic.bursts import bursts_from_queue, draw_bursts

__all__ = [
    "LEDGER",
    "OVERHEAD",
    "POLICIES",
    "Checkpoints",
    "Evict",
    "Notice",
    "OnDemandSchedule",
    "Policy",
    "Reserve",
    "Share",
    "Shrink",
    "Wait",
    "audit_ondemand",
    "bursts_from_queue",
    "checkpoint_table",
    "draw_bursts",
    "ledger",
    "measure",
    "simulate_ondemand",
]
