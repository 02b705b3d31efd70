"""Bounds of what a time-shared machine's simulation keeps in memory, checked before it begins."""

import math

import numpy as np

from cosimlib import checks as check
from cosimlib.system import System
from cosimlib.units import HOUR
from cosimlib.workload import Workload

WINDOWS_PER_RUN = 120
"""Windows of the series in one run of the loop: five days, where they are hours."""

MOST_WINDOWS = 1_000 * WINDOWS_PER_RUN
"""Windows of the series beyond which they are made longer."""

MOST_SLOWDOWNS = 1_000_000
"""Slowed nodes that are drawn for one run of the loop, unless a window alone has more."""

MOST_PER_WINDOW, MOST_SLOWED = 100_000_000, 1_000_000_000
"""Slowed nodes at most in a window, and in the time in which jobs surely run."""

MOST_STEPS = 2.0**50
"""Steps at most until the last submission and run: as whole numbers they are exact."""

MOST_MEMBERS = 2.0**31
"""Nodes of all jobs at most: 8 GiB."""

ROOM = 32
"""Jobs on a node for which there is room at first; it is doubled when needed."""


def window_width(ends: np.ndarray) -> float:
    """Seconds of a window of the series: hours, unless there would be too many of them."""
    span = float(ends.max(initial=0.0))
    return HOUR * max(1, math.ceil(span / (MOST_WINDOWS * HOUR)))


def check_bounds(
    workload: Workload, system: System, noise: float | None, step: float | None
) -> None:
    """Refuse more nodes, steps or slowed nodes than memory has room for.

    Raises
    ------
    ValueError
        Naming the system, or the workload and the step, and what to change.
    """
    jobs, total_nodes = workload.jobs, system.total_nodes
    places, members = float(total_nodes) * ROOM, float(jobs["nodes"].sum())
    check.room("places for jobs on nodes", places, "take a smaller machine", where=system.name)
    check.room("nodes of all jobs", members, "keep fewer or narrower jobs",
               most=MOST_MEMBERS, where=workload.name)  # fmt: skip
    if step is None or not len(jobs):
        return
    begin = jobs["submit_time"].to_numpy()
    end = begin + jobs["run_time"].to_numpy()
    where, last = f"{workload.name}: step={step!r}", float(end.max())
    check.room(f"steps until t={last:.15g}", last / step, "take a longer step",
               most=MOST_STEPS, where=where)  # fmt: skip
    # Of what runs when is known only that each job takes its run time at least.
    others = np.maximum.accumulate(np.append(0.0, end[:-1]))
    busy = float(np.clip(end - others, 0.0, end - begin).sum())
    chance = float(noise or 0.0)
    check_slowed(workload, chance, step, total_nodes * busy)
    check_slowed(workload, chance, step, total_nodes * window_width(end), most=MOST_PER_WINDOW)


def check_slowed(
    workload: Workload, chance: float, step: float, node_seconds: float, most: float = MOST_SLOWED
) -> None:
    """Refuse more slowed nodes than can be drawn while so many node-seconds pass."""
    slowed = f"slowed nodes with noise={chance:.15g} and step={step:.15g} in that time"
    where = f"{workload.name}: jobs run for {node_seconds:.4g} node-seconds"
    advice = "take a longer step or less noise, or drop the longest jobs"
    check.room(slowed, chance * node_seconds / step, advice, most=most, where=where)
