"""Drain or evict: the cost of a window in which nodes close, by how early it is known.

A scheduler that knows a window starts no job whose requested time crosses the window's start, so
nodes stay idle before it: the machine *drains*. A scheduler that does not know it starts such jobs.
Those that still run at the start are *evicted*, by the cheapest plan of `eviction.solve_blocked`.
With a notice of some hours, both happen. The cost has three parts, in node-hours:

- `idle`: what jobs hold during the notice under EASY without the window, minus what they hold under
  EASY that knows it. It is negative if the jobs that still fit use more nodes;
- `lost`: work of killed jobs since their last checkpoint;
- `blocked`: nodes held by stopped jobs, or idle in the window, until the last checkpoint is
  written. Then the window begins, at most `horizon` late.

`killed` is what would be lost without checkpoints at the start. The reading of checkpoints, and
everything after the window begins, is not included.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.batch import simulate_easy
from cosimlib.calendar import ALWAYS_OPEN, Calendar
from cosimlib.eviction import EvictionProblem, solve_blocked
from cosimlib.eviction.problem import draw_memory, running_jobs_at
from cosimlib.metrics import mean_interval
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import HOUR, WEEK
from cosimlib.workload import Workload, check_workload

NOTICES = (0, 1, 2, 4, 8, 16, 24)
"""Hours before a window at which it becomes known."""

COLUMNS = (
    "window",
    "start",
    "notice",
    "seed",
    "running",
    "idle",
    "lost",
    "blocked",
    "killed",
    "cost",
)


def drain_or_evict(
    workload: Workload,
    windows: Calendar,
    *,
    notices: Sequence[float] = NOTICES,
    calendar: Calendar = ALWAYS_OPEN,
    system: System | None = None,
    interval: float = HOUR,
    horizon: float = 900.0,
    stretch: float = 2 * WEEK,
    seeds: Iterable[int] = range(5),
) -> pd.DataFrame:
    """Node-hours that each window costs under EASY, by the hours of notice.

    Parameters
    ----------
    workload : Workload
        With requested times.
    windows : Calendar
        The windows, such as ``Calendar(lab.closures(workload))``. Their `known_from` is
        ignored.
    notices : sequence of float, default 0, 1, 2, 4, 8, 16, 24
        Hours before its start at which a window becomes known. 0: no draining.
    calendar : Calendar, optional
        Other windows; those that end before a window starts close nodes before it.
    system : System, optional
        With memory and bandwidths; the workload's machine by default.
    interval : float, default 3600.0
        Seconds between application checkpoints of a job.
    horizon : float, default 900.0
        Latest time (s) after its start at which evicted jobs have left a window's nodes.
    stretch : float, default two weeks
        Simulated time before a window (s); it begins with an empty machine.
    seeds : iterable of int, default range(5)
        Seeds of the memory per job (see `eviction.problem.draw_memory`).

    Returns
    -------
    pd.DataFrame
        One row per window (its row in `windows`), notice (hours) and seed: `start` (s), `running`
        (nodes held when the window starts), and node-hours: `idle`, `lost`, `blocked`, their sum
        `cost`, and `killed`, which are lost if no checkpoint is written at the start.

    Raises
    ------
    ArgumentError
        If no job is submitted in the stretch before a window.

    Examples
    --------
    Two of four nodes drain for an hour, or two node-hours are lost:

    >>> import pandas as pd
    >>> import cosimlab as lab
    >>> import cosimlib as cs
    >>> times = {"submit_time": [0, 3600], "run_time": [7200, 7200], "requested_time": 7200}
    >>> workload = cs.Workload(pd.DataFrame(times | {"nodes": [2, 2]}), "two")
    >>> system = cs.System("four", {"main": 4}, 1, 100.0, 1.0, 1.0)
    >>> windows = cs.Calendar([(7200, 9000)])
    >>> table = lab.drain_or_evict(
    ...     workload, windows, notices=[0, 1], system=system, interval=1e6, horizon=0, seeds=[0]
    ... )
    >>> table[["notice", "running", "idle", "lost", "cost"]]
       notice  running  idle  lost  cost
    0     0.0        2   0.0   2.0   2.0
    1     1.0        0   2.0   0.0   2.0
    """
    check_workload(workload)
    check.instance("windows", windows, Calendar)
    for notice in notices:
        check.number("notices", notice, least=0.0, kind="hours")
    check.seconds("stretch", stretch, above=0.0)
    machine = check.machine(system or workload.machine, workload.name)
    rows, seeds = [], list(seeds)
    for number, window in enumerate(windows.on_machine(machine.total_nodes).to_dict("records")):
        jobs = _before(workload, window["start"], stretch)
        memory = {seed: draw_memory(jobs, machine, seed=seed) for seed in seeds}
        unknown = _simulated(jobs, machine, calendar, window, 0.0)
        for notice in map(float, notices):
            drained = _simulated(jobs, machine, calendar, window, notice) if notice else unknown
            idle = _used(unknown, window, notice) - _used(drained, window, notice)
            for seed, drawn in memory.items():
                running, *parts = _evicted(drained, window, interval, horizon, drawn)
                cost = idle + parts[0] + parts[1]
                rows.append((number, window["start"], notice, seed, running, idle, *parts, cost))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def mean_costs(table: pd.DataFrame, *, cost: str = "cost") -> pd.DataFrame:
    """Mean cost over windows, with 95 % intervals, for each notice of `drain_or_evict`.

    The seeds of a window are averaged first.

    Parameters
    ----------
    table : pd.DataFrame
    cost : str, default "cost"
        The column of costs.

    Returns
    -------
    pd.DataFrame
        One row per notice (hours), from the least: `mean`, `low` and `high` of the cost, the means
        of its parts, and `above`, `above_low`, `above_high`: the cost above that of the best
        notice, paired by window. ``["mean"].idxmin()`` is the row of the best.
    """
    check.columns(table, ("window", "notice", cost))
    check.that("table", f"of {len(table)} rows", len(table) > 0, "a row per window and notice")
    costs = table.pivot_table(values=cost, index="window", columns="notice", aggfunc="mean")
    above = costs.sub(costs[costs.mean().idxmin()], axis=0)
    parts = table.groupby("notice")[["running", "idle", "lost", "blocked", "killed"]].mean()
    rows = [(*mean_interval(costs[notice]), *mean_interval(above[notice])) for notice in costs]
    names = ["mean", "low", "high", "above", "above_low", "above_high"]
    found = pd.DataFrame(rows, costs.columns, names)
    return found.join(parts).reset_index()


def _before(workload: Workload, start: float, stretch: float) -> Workload:
    """The jobs submitted in the stretch before a window."""
    submitted = workload.jobs["submit_time"]
    within = (submitted >= start - stretch) & (submitted < start)
    expected = "a window before whose start jobs are submitted in the stretch"
    check.that("windows", start, bool(within.any()), expected)
    return workload.keep(within, "not submitted in the stretch before a window")


def _simulated(
    jobs: Workload, system: System, calendar: Calendar, window: dict, notice: float
) -> Schedule:
    """EASY that knows a window for so many hours before its start."""
    others = calendar.windows[calendar.windows["end"] <= window["start"]]
    known = {"kind": "maintenance", "known_from": window["start"] - notice * HOUR}
    own = pd.DataFrame([window | known])
    together = pd.concat([others, own]) if len(others) else own
    return simulate_easy(jobs, system, calendar=Calendar(together))


def _used(schedule: Schedule, window: dict, notice: float) -> float:
    """Node-hours that jobs hold in so many hours before a window."""
    edges = np.array([window["start"] - notice * HOUR, window["start"]])
    return float(schedule.node_seconds(edges)[0]) / HOUR


def _evicted(
    schedule: Schedule, window: dict, interval: float, horizon: float, memory: pd.DataFrame
) -> tuple[int, float, float, float]:
    """Nodes held at the start of a window; node-hours lost, blocked, and lost by kills alone."""
    start, closed = window["start"], window["nodes"]
    runs = (schedule.start_time <= start) & (start < schedule.end_time)
    held = int(schedule.workload.jobs["nodes"].to_numpy()[runs].sum())
    needed = max(0, held + closed - schedule.total_nodes)
    if not needed:
        return held, 0.0, 0.0, 0.0
    jobs = running_jobs_at(
        schedule, start, system=schedule.system, interval=interval, memory=memory
    )
    plan = solve_blocked(EvictionProblem(jobs, needed, horizon))
    blocked = plan.blocked + (closed - needed) * plan.free_time / HOUR
    best = int(np.argmin(plan.loss + blocked))
    return held, float(plan.loss[best]), float(blocked[best]), float(plan.loss[0])
