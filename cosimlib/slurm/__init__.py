"""A machine under Slurm: its configuration as data, and what Slurm would do with jobs.

- `simulate`: starts, ends and nodes of a workload's jobs under a site's configuration
- `Site`: nodes, partitions, QOS, accounts, priorities and scheduler of a cluster
- `SlurmSchedule`: what became of the jobs, with refused jobs, restarts and priorities
- `fair_shares`: fair-share factors of users who have used so much
"""

from cosimlib.slurm import audit as _audit  # noqa: F401 (registers its rule)
from cosimlib.slurm.fairshare import fair_shares
from cosimlib.slurm.schedule import SlurmSchedule
from cosimlib.slurm.simulation import simulate
from cosimlib.slurm.site import (
    QOS,
    Association,
    Limits,
    Node,
    NotModeled,
    Partition,
    PreemptionSettings,
    PrioritySettings,
    SchedulerSettings,
    Site,
)

__all__ = [
    "QOS",
    "Association",
    "Limits",
    "Node",
    "NotModeled",
    "Partition",
    "PreemptionSettings",
    "PrioritySettings",
    "SchedulerSettings",
    "Site",
    "SlurmSchedule",
    "fair_shares",
    "simulate",
]
