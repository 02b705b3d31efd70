"""Idle nodes: how long they stay so, what filler containers would use, what could be lent.

Idle nodes are counted, not numbered. The node that became idle last is taken first, as filler
containers are (`cosimlib.filling`), so that stretches of idleness are as long as they can be.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.filling import (
    FilledSchedule,
    saved_every,
    simulate_filling,
    slots_between_kills,
    young_interval,
)
from cosimlib.metrics import occupied_nodes
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import DAY, HOUR, MINUTE, WEEK
from cosimlib.workload import Workload

IDLE_CLASSES = {
    "under 5 min": 5 * MINUTE, "5–15 min": 15 * MINUTE, "15–60 min": HOUR, "1–4 h": 4 * HOUR,
    "4–24 h": DAY, "over a day": np.inf,
}  # fmt: skip
"""Longest stretch of each class, seconds."""

LEASES = (1, 2, 4, 8, 12, 24, 48)
"""Hours for which nodes are lent."""

QUEUE_DEPTH = 100
"""Jobs with a reservation while containers fill the machine: Slurm's `default_queue_depth`."""


def idle_nodes(schedule: Schedule, start: float, end: float) -> pd.Series:
    """Idle nodes between two instants (s), a step function; 0 where a record holds too many."""
    held = occupied_nodes(schedule)
    before = held[held.index <= start]
    at_start = float(before.iloc[-1]) if len(before) else 0.0
    inside = held[(held.index > start) & (held.index < end)]
    steps = pd.concat([pd.Series({start: at_start}), inside])
    return (schedule.total_nodes - steps).clip(lower=0).rename("idle_nodes")


def idle_by_length(schedule: Schedule, start: float, end: float) -> pd.DataFrame:
    """Idle node-hours between two instants (s) by the length of the stretch of idleness.

    Returns
    -------
    pd.DataFrame
        Indexed by class of lengths: `node_hours`, and the `share` of all that the machine offers.
        A stretch that the window cuts counts with what is inside.
    """
    idle = idle_nodes(schedule, start, end)
    stretches = _stretches(idle.index.to_numpy(), idle.to_numpy().astype(np.int64), end)
    length, nodes = stretches[:, 0], stretches[:, 1]
    classes = np.searchsorted([*IDLE_CLASSES.values()][:-1], length, side="right")
    hours = np.bincount(classes, length * nodes / HOUR, minlength=len(IDLE_CLASSES))
    offered = schedule.total_nodes * (end - start) / HOUR
    table = {"node_hours": hours, "share": hours / offered if offered > 0 else 0.0}
    return pd.DataFrame(table, index=pd.Index(IDLE_CLASSES, name="idle for"))


def lendable_nodes(
    schedule: Schedule, start: float, end: float, leases: Sequence[int] = LEASES
) -> pd.DataFrame:
    """Nodes that stay idle for so many hours in a row, from each whole hour of a window on.

    As recorded: to lend them would have delayed no job. Who lends without knowing the future must
    take nodes back at times, which is what preemption vectors are for (`cosimlib.elastic`).

    Returns
    -------
    pd.DataFrame
        One row per lease that fits into the window: `hours`; `p10`, `median` and `mean` of the
        nodes, over the hours at which a lease may begin.
    """
    idle = idle_nodes(schedule, start, end)
    check.windows(start, end, HOUR)
    hours = int((end - start) // HOUR)
    if not hours:
        return pd.DataFrame(columns=["hours", "p10", "median", "mean"])
    edges = start + HOUR * np.arange(hours + 1)
    times = np.union1d(idle.index.to_numpy(), edges[:-1])
    values = idle.to_numpy()[np.searchsorted(idle.index, times, side="right") - 1]
    inside = times < edges[-1]
    least = np.minimum.reduceat(values[inside], np.searchsorted(times, edges[:-1]))
    rows = []
    for lease in [lease for lease in leases if lease <= hours]:
        lent = pd.Series(least).rolling(lease).min().dropna()
        rows.append((lease, lent.quantile(0.1), lent.median(), lent.mean()))
    return pd.DataFrame(rows, columns=["hours", "p10", "median", "mean"])


def fill_idle(
    workload: Workload, system: System, start: float, end: float, *, overhead: float = 0.1
) -> list[FilledSchedule]:
    """Jobs around a window (s) without filler containers and with those of policies A, B and C.

    The jobs submitted from a week before on are scheduled by conservative backfilling, once a
    minute; `overhead` is a container's, in minutes. Under policy C containers are killed where jobs
    come, and saved in between as often as is best: Young's √(2tM) slots apart, by the kills in the
    window (`filling.young_interval`).
    """
    submit_time = workload.jobs["submit_time"]
    near = (submit_time >= start - WEEK) & (submit_time < end)
    jobs = workload.keep(near, "submitted outside the window")
    ways = ((None, "save"), ("A", "save"), ("B", "save"), ("B", "kill"))
    *runs, killed = (
        simulate_filling(
            jobs, system, policy=policy, reclaim=how, overhead=overhead, queue_depth=QUEUE_DEPTH
        )
        for policy, how in ways
    )
    start, end = filled_window([*runs, killed], start, end)
    best = young_interval(overhead, slots_between_kills(killed, start=start, end=end))
    longest = max(1.0, (end - start) / killed.slot)
    return [*runs, saved_every(killed, max(1, round(min(best, longest))))]


def filled_window(runs: Sequence[FilledSchedule], start: float, end: float) -> tuple[float, float]:
    """The part of a window (s) in which each of the runs has jobs to come or to end.

    Containers run from the first submission to the last end of a run, jobs may end sooner or later
    than they did as recorded. What is before and after is no idleness that containers leave. Where
    no part of the window is left, it is one of the same length at the runs' end.
    """
    first = min(float(run.workload.jobs["submit_time"].min()) for run in runs)
    first = runs[0].slot * float(np.ceil(first / runs[0].slot))
    last = min(float(run.slot_ends.max()) for run in runs)
    if last <= start:
        start = last - (end - start)
    return max(first, start), min(last, end)


def _stretches(times: np.ndarray, idle: np.ndarray, end: float) -> np.ndarray:
    """Length (s) and nodes of each stretch; the nodes that became idle last are taken first."""
    since: list[tuple[float, int]] = []
    rows: list[tuple[float, int]] = []
    now = 0
    for time, nodes in [*zip(times.tolist(), idle.tolist(), strict=True), (end, 0)]:
        if nodes > now:
            since.append((time, nodes - now))
        while nodes < now:
            begin, some = since.pop()
            taken = min(some, now - nodes)
            rows.append((time - begin, taken))
            if taken < some:
                since.append((begin, some - taken))
            now -= taken
        now = nodes
    return np.array(rows, dtype=np.float64).reshape(-1, 2)
