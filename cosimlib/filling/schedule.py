"""The schedule of a machine whose idle nodes run filler containers."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from cosimlib.schedule import Schedule, allocation_table


@dataclass(frozen=True, eq=False)
class FilledSchedule(Schedule):
    """A schedule of regular jobs, and what containers did beside them.

    Parameters
    ----------
    containers : pd.DataFrame
        One row for containers that ran alike: `start_time`, `end_time` (s), `nodes` that they held,
        `starts`, how often each was started and saved between these times, `saved` (or killed).
    promised_time : np.ndarray
        Each regular job's first reservation, seconds.
    held_up : np.ndarray
        Whether only containers ever kept each regular job from starting in a slot that began, so
        that it had to wait a slot or, where it then no longer fit, longer. Jobs that start later
        only because such a job does are not among them.
    slot, overhead, speed : float
        As simulated.
    """

    containers: pd.DataFrame
    promised_time: np.ndarray
    held_up: np.ndarray
    slot: float
    overhead: float
    speed: float

    @cached_property
    def allocations(self) -> pd.DataFrame:
        """Runs, then containers: `container` where they are saved, else `killed`; of no job."""
        table = self.containers
        use = np.where(table["saved"], "container", "killed")
        start, end, nodes = (table[name] for name in ("start_time", "end_time", "nodes"))
        filled = allocation_table(np.full(len(table), -1), start, end, nodes, use)
        return pd.concat([super().allocations, filled], ignore_index=True)
