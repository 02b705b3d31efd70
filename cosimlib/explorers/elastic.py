"""Explorer of a single preemption: the nodes that each policy takes, and the jobs on them.

Every control computes anew, which takes milliseconds: the vectors are those of a window of moments,
not of the whole schedule. A log that holds more nodes than its machine has is shown on a machine
that has them. Another number of nodes is another system, on which the schedule's own
policy schedules the workload again.
"""

from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from cosimlib import checks as check
from cosimlib.elastic import (
    GRACE_PERIODS,
    POLICIES,
    PREEMPTED,
    SAMPLING_INTERVAL,
    execution_states,
    occupants,
    preempted_jobs,
    preemption_values,
)
from cosimlib.elastic.vectors import check_followed
from cosimlib.explorers.knobs import Knob, Settings
from cosimlib.explorers.logs import estimated, instant, wide_enough
from cosimlib.explorers.panel import Panel, says_compiling
from cosimlib.explorers.timeline import Period, Timeline
from cosimlib.figures.elastic import FATES, period_name, plot_preemption
from cosimlib.kernels.occupancy import IDLE
from cosimlib.metrics import busy_window
from cosimlib.policies import SIMULATORS
from cosimlib.schedule import RECORDED, Schedule
from cosimlib.system import System
from cosimlib.units import DAY, HOUR
from cosimlib.workload import Workload

MOMENTS = 241
"""Columns of the heat map, the moment chosen being the middle one."""
MOST_VALUES = 2_000_000
"""Nodes times columns of the heat map: very large machines have fewer columns."""


@says_compiling()
def explore_elastic(
    source: Schedule | Workload,
    system: System | None = None,
    *,
    jobs: int = 2000,
    at: float | None = None,
    preempted: int | None = None,
    policy: str = "PAP",
    grace_period: float = 120.0,
    window: float = DAY,
    seed: int = 0,
) -> Panel:
    """Explore a preemption: its vectors around the moment, and what becomes of which job.

    Parameters
    ----------
    source : Schedule or Workload
        On one partition of the paper's N nodes. Of a workload the starts recorded or, where a job
        has none, EASY's. Where it holds more nodes than there are, N is what it holds.
    system : System, optional
        Of a workload; by default its own machine, or one that holds its jobs.
    jobs : int, default 2000
        How many of a workload are scheduled in a row, where the days chosen are busy.
    at : float, optional
        The moment of the preemption, seconds of the schedule's clock; by default the middle one of
        `execution_states`, or of the busiest day if that is a quiet one; of a workload the middle
        of the longest stretch in which the most nodes are held.
    preempted : int, optional
        The paper's P, by default 10 or, on a smaller machine, all.
    policy : str, default "PAP"
        One of `POLICIES`; PAP+ reads the workload's `priority`.
    grace_period : float, default 120.0
        Seconds.
    window : float, default 86400.0
        Seconds of the heat map, half of them before the moment.
    seed : int, default 0
        Of RANDOM's draws.

    Returns
    -------
    Panel
        Its `controls` are `policy`, `grace_period` (seconds), `nodes` (the paper's N; disabled
        where nothing can schedule the workload again), `preempted` and `at` (seconds); of a source
        of several days also `period`, the first and the last one.

    Raises
    ------
    TypeError
        Where `source` is neither.
    ValueError
        Where the schedule is on several partitions, its jobs run more than once, or none runs; and
        where a schedule comes with a system.

    Examples
    --------
    >>> import cosimlib as cs
    >>> jobs = cs.synthetic.lublin(300, nodes=64, load=0.9, seed=1)
    >>> workload = cs.synthetic.with_scaled_estimates(jobs)
    >>> schedule = cs.simulate_easy(workload, workload.machine)
    >>> panel = cs.explore_elastic(schedule, preempted=4)
    >>> panel.settings["preempted"]
    4
    """
    check.seconds("window", window, above=0)
    check.whole("jobs", jobs, 1)
    check.instance("source", source, Schedule, Workload)
    if isinstance(source, Schedule) and system is not None:
        raise ValueError("a schedule has its system; leave system out, or give the workload")
    if isinstance(source, Schedule):
        check_followed(source)
    machine = _Machine(source, system, jobs, at)
    first = machine.timeline.settings
    schedule = machine.scheduled(first)
    moment = machine.moment(first) if at is None else _checked(schedule, at)
    taken = min(PREEMPTED, machine.nodes) if preempted is None else preempted
    # Refuses what it cannot take before a control does.
    knobs: dict[str, Any] = {
        "policy": policy,
        "preempted": taken,
        "grace_period": grace_period,
        "seed": seed,
    }
    preempted_jobs(schedule, moment, **knobs)
    why, nodes = _fixed_because(schedule), machine.nodes
    widest = nodes if why else int(machine.timeline.log.workload.jobs["nodes"].max())
    periods = sorted({0.0, 300.0, 600.0, float(grace_period), *GRACE_PERIODS})
    table = [
        Knob("policy", policy, "policy", options=POLICIES),
        Knob("grace_period", float(grace_period), "grace period", kind="slider",
             options=[(period_name(each), each) for each in periods]),
        Knob("nodes", nodes, "nodes (N)", low=widest, whole=True,
             high=nodes if why else max(2 * nodes, widest + 1), off_when=lambda now: why),
        Knob("preempted", int(taken), "nodes preempted (P)", low=1, whole=True,
             high=lambda now: now["nodes"]),
        machine.timeline.moment_knob(moment, SAMPLING_INTERVAL, machine.scheduled),
    ]  # fmt: skip

    draw = partial(_draw, machine, window=window, seed=seed)
    return Panel(table, draw, notes=machine.notes, timeline=machine.timeline)


class _Machine:
    """The jobs of a source's days on one partition of any number of nodes."""

    def __init__(
        self, source: Schedule | Workload, system: System | None, jobs: int, at: float | None
    ) -> None:
        self.timeline = Timeline(source, system, jobs, estimated, at=at)
        whole = self.timeline.whole or self.timeline.schedule(self.timeline.settings).schedule
        wider, self._notes = wide_enough(whole)
        self.nodes = next(iter(wider.system.partitions.values()))
        self._schedules = lru_cache(maxsize=8)(self._scheduled)

    def scheduled(self, now: Settings) -> Schedule:
        """The schedule of the days chosen, on the number of nodes chosen."""
        return self._schedules(now.get("period"), now.get("nodes", self.nodes))

    def _scheduled(self, period: Period | None, nodes: int) -> Schedule:
        """As recorded or given on the source's own nodes, else scheduled again."""
        schedule = self.timeline.schedule({"period": period} if period else {}).schedule
        system = schedule.system.with_nodes(nodes)
        if nodes != self.nodes:
            return SIMULATORS[schedule.policy](schedule.workload, system)
        if schedule.total_nodes == nodes:
            return schedule
        return Schedule(schedule.workload, system, schedule.policy, schedule.start_time,
                        schedule.end_time)  # fmt: skip

    def notes(self, now: Settings) -> list[str]:
        return [*self.timeline.schedule(now).notes, *self._notes]

    def moment(self, now: Settings) -> float:
        """The fullest moment of a log's days; of a schedule the middle state, or a busier day's."""
        if self.timeline.given is None:
            return self.timeline.fullest(now)
        schedule = self.scheduled(now)
        states = execution_states(schedule)
        if not states.size:
            raise ValueError(f"{schedule.name}: no job ever runs; expected at least one that does")
        middle = float(states[states.size // 2])
        begin, end = busy_window(schedule, DAY, start=middle - DAY / 2)
        if begin == middle - DAY / 2:
            return middle
        place = int(np.searchsorted(states, (begin + end) / 2))
        return float(states[min(place, states.size - 1)])


def _checked(schedule: Schedule, at: Any) -> float:
    """A moment of the schedule."""
    first, last = _span(schedule)
    check.that("at", at, check.is_number(at), "a moment in seconds, or None for the middle one")
    if not first <= at < last:
        raise ValueError(
            f"{schedule.name}: at={at:g} is outside of the schedule, which runs from {first:g} to "
            f"before {last:g} s: choose a moment between, or leave at out"
        )
    return float(at)


def _span(schedule: Schedule) -> tuple[float, float]:
    """First start and last end."""
    return float(schedule.start_time.min()), float(schedule.end_time.max())


def _fixed_because(schedule: Schedule) -> str:
    """Why the workload cannot be scheduled on other numbers of nodes; empty where it can."""
    if schedule.policy == RECORDED:
        return "the starts are those recorded; another number of nodes needs a simulator's"
    if schedule.policy not in SIMULATORS:
        return f"no simulator is called {schedule.policy!r}, as this schedule's policy is"
    return ""


def _draw(
    machine: _Machine,
    *,
    window: float,
    seed: int,
    nodes: int,
    at: float,
    period: Period | None = None,
    **knobs: Any,
) -> tuple[go.Figure, str]:
    """Figure and text for the controls' values."""
    schedule = machine.scheduled({"nodes": nodes} | ({"period": period} if period else {}))
    touched = preempted_jobs(schedule, at, seed=seed, **knobs)
    values = _window(schedule, at, window, knobs["policy"], seed)
    jobs = _running(schedule, at, touched)
    taken = np.sort(np.argsort(values.loc[at].to_numpy(), kind="stable")[: knobs["preempted"]])
    idle = knobs["preempted"] - int(touched["nodes_taken"].sum())
    wasted, began = touched["wasted_cycles"].sum(), schedule.workload.began
    title = (
        f"{knobs['policy']} preempts {knobs['preempted']} of {nodes} nodes on "
        f"{instant(at, began)}: {wasted / HOUR:,.1f} node-hours wasted"
    )
    killed = int(touched["killed"].sum())
    text = (
        f"wasted cycles {wasted:,.0f} node-seconds · jobs killed {killed}, ending within "
        f"{period_name(knobs['grace_period'])} {len(touched) - killed}, not touched "
        f"{len(jobs) - len(touched)} · idle nodes taken {idle}"
    )
    picture = plot_preemption(values, jobs, at=at, taken=taken.tolist(), title=title, began=began)
    return picture, text


def _window(schedule: Schedule, at: float, window: float, policy: str, seed: int) -> pd.DataFrame:
    """Vectors around a moment; that at the moment itself is what `preempted_jobs` goes by.

    RANDOM draws anew at each moment, so that the vectors before would change the draws.
    """
    half = int(np.clip(MOST_VALUES // schedule.total_nodes, 21, MOMENTS)) // 2
    moments = at + np.linspace(-window / 2, window / 2, 2 * half + 1)
    moments[half] = at
    values = preemption_values(schedule, moments, policy=policy, seed=seed)
    values.loc[at] = preemption_values(schedule, [at], policy=policy, seed=seed).loc[at]
    return values


def _running(schedule: Schedule, at: float, touched: pd.DataFrame) -> pd.DataFrame:
    """All jobs on nodes at a moment, as `plot_preemption` takes them, worst hit first."""
    on_nodes = np.unique(occupants(schedule, [at]).to_numpy())
    running = pd.Index(on_nodes[on_nodes != IDLE], name="job")
    fates = touched["killed"].map({True: "kill", False: "spare"}).astype(object)
    jobs = pd.DataFrame(
        {
            "nodes": schedule.workload.jobs["nodes"].to_numpy()[running],
            "elapsed": at - schedule.start_time[running],
            "remaining": schedule.end_time[running] - at,
            "fate": fates.reindex(running, fill_value="keep"),
        },
        index=running,
    )
    hit = touched[["nodes_taken", "wasted_cycles"]].reindex(running, fill_value=0)
    jobs = jobs.join(hit).sort_values("wasted_cycles", ascending=False, kind="stable")
    return jobs.sort_values("fate", key=lambda fate: fate.map(list(FATES).index), kind="stable")
