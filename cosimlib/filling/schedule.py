"""Schedules of machines whose idle nodes run filler containers."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from cosimlib.schedule import Schedule, allocation_table


@dataclass(frozen=True, eq=False, repr=False)
class FilledSchedule(Schedule):
    """Schedule of regular jobs, and of containers on the nodes that these leave idle.

    Parameters
    ----------
    containers : pd.DataFrame
        One row per group of containers with the same history: `start_time`, `end_time` (s), `nodes`
        (one per container), `starts`, how often each was started between these times (or saved,
        where it went on), at equal distances, `saved`, whether it was saved each time or killed.
    promised_time : np.ndarray
        First reservation of each regular job, seconds.
    held_up : np.ndarray
        Whether nothing but containers ever kept each regular job from starting in a slot that
        began, so that it had to wait a slot or, where it then no longer fit, longer. Jobs that
        start later only because such a job does are not among them.
    filling, reclaim, save_every, slot, overhead, speed
        As simulated. `filling` is the paper's policy, "A" or "B", our "C", or None; `save_every` is
        the number of slots after which containers are saved whatever follows: 1 under A, None
        under B.
    """

    containers: pd.DataFrame
    promised_time: np.ndarray
    held_up: np.ndarray
    filling: str | None
    reclaim: str
    save_every: int | None
    slot: float
    overhead: float
    speed: float

    @cached_property
    def slot_ends(self) -> np.ndarray:
        """End of each regular job's last slot (s): until then its nodes are not idle."""
        run_time = self.workload.jobs["run_time"].to_numpy(np.float64)
        return self.start_time + self.slot * np.maximum(whole_slots(run_time, self.slot), 1)

    @cached_property
    def allocations(self) -> pd.DataFrame:
        """Runs, then containers: `container` where they are saved, else `killed`; of no job."""
        table = self.containers
        use = np.where(table["saved"], "container", "killed")
        start, end, nodes = (table[name] for name in ("start_time", "end_time", "nodes"))
        filled = allocation_table(np.full(len(table), -1), start, end, nodes, use)
        return pd.concat([super().allocations, filled], ignore_index=True)


def policy_name(filling: str | None, reclaim: str, save_every: int | None) -> str:
    """Name of a policy in tables: ``filling B, kill``."""
    names = {None: "not filled", "A": "filling A", "B": f"filling B, {reclaim}"}
    return names.get(filling) or f"filling C, {save_every} slot{'' if save_every == 1 else 's'}"


def split_by_saves(containers: pd.DataFrame, seconds: float) -> pd.DataFrame:
    """Rows of containers that run on, divided where they are saved after every so many seconds.

    A row becomes the whole multiples, which are saved, and the rest, which ends as the row does.
    """
    start, end = containers["start_time"], containers["end_time"]
    pieces = (end - start) // seconds
    last = start + pieces * seconds
    whole = containers.assign(end_time=last, starts=pieces.astype("int64"), saved=True)
    rest = containers.assign(start_time=last)
    rows = [whole[pieces > 0], rest[last < end]]
    return pd.concat(rows).sort_index(kind="stable").reset_index(drop=True)


def whole_slots(seconds: np.ndarray, slot: float) -> np.ndarray:
    """The number of slots that times take, rounded up."""
    number = np.ceil(seconds / slot)
    # A quotient may be rounded down to a whole number.
    return number + (number * slot < seconds)
