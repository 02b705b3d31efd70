"""Explorer of the eviction problem: moment, nodes, deadline, file system, interval, solver.

A log may be any: starts that it lacks are simulated, memory and bandwidths are Theta's where it has
none. Controls of the number of nodes and of the deadline read plans from a spectrum that is solved
already; those of the moment, the file system's bandwidth and the interval between application
checkpoints pose the problem anew and solve it again. The plan beside the surface may be that of
another solver, or of another objective, which is solved for the number of nodes at hand.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go

from cosimlib import checks as check
from cosimlib.display import count
from cosimlib.eviction import (
    EvictionPlan,
    EvictionProblem,
    EvictionSpectrum,
    TimedPlan,
    solve_as_printed,
    solve_blocked,
    solve_greedy,
    solve_overlapping,
    solve_spectrum,
)
from cosimlib.explorers.knobs import Knob, Settings, cached
from cosimlib.explorers.logs import estimated, instant, with_memory
from cosimlib.explorers.panel import Draw, Panel, says_compiling
from cosimlib.explorers.timeline import Timeline
from cosimlib.figures.eviction import plot_trade_off
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import MINUTE
from cosimlib.workload import Workload

Pose = Callable[[Settings], EvictionProblem]

PAPER = "dynamic"
SOLVERS: dict[str, Callable[[EvictionProblem], EvictionPlan]] = {
    "literal": solve_as_printed,
    "greedy": solve_greedy,
    "overlapping": solve_overlapping,
    "blocked": solve_blocked,
}
LABELS = {
    PAPER: "least loss (paper)",
    "literal": "Algorithm 1 as printed",
    "greedy": "greedy (paper)",
    "overlapping": "least loss, waits overlap",
    "blocked": "least lost and blocked",
}
OF_WAITS = ("overlapping", "blocked")
"""Solvers that need to know how long each application's wait is."""
WAIT = "app_wait"
CLICK = "Click on the surface to choose nodes and deadline at once."
NO_SCHEDULE = "this problem brought its own checkpoint times: explore a Schedule to change them"
JOBS = 3000
"""Of a workload without starts, how many in a row are scheduled."""
MOST_DEADLINES = 2_000
"""Deadlines of a slider at most: a day of minutes has 1,440."""


@says_compiling()
def explore_eviction(
    source: Schedule | Workload | EvictionProblem,
    system: System | None = None,
    *,
    at: float | None = None,
    nodes_needed: int | None = None,
    horizon: float = 900.0,
    step: float = 60.0,
    interval: float = 3600.0,
    seed: int = 0,
    solver: str = PAPER,
) -> Panel:
    """Explorer of eviction: the loss by nodes and deadline, and what happens to each job.

    The surface is the paper's: the least loss, with waits added up. The jobs beside it are those of
    the chosen solver.

    Parameters
    ----------
    source : Schedule, Workload or EvictionProblem
        Of a workload the starts recorded or, where a job has none, EASY's of 3,000 jobs in a row.
        A problem brings its horizon, its step and its checkpoint times.
    system : System, optional
        With memory and bandwidths, by default the source's own; what is unknown is Theta's. Of a
        workload also the machine.
    at : float, optional
        The moment of the eviction, seconds of the schedule's clock; by default the middle of the
        longest stretch of the days chosen in which the most nodes are held, but no more than the
        machine has.
    nodes_needed : int, optional
        Initial value: by default the problem's own, or a quarter of the nodes held.
    horizon, step, interval, seed
        As for `EvictionProblem.from_schedule`. The deadline begins at a third of the horizon.
    solver : str, default "dynamic"
        Initial value: ``"dynamic"``, ``"literal"`` (Algorithm 1 as printed), ``"greedy"``,
        ``"overlapping"`` (least loss where waits overlap) or ``"blocked"`` (least loss and standing
        still). A problem needs the column `app_wait` for the last two.

    Returns
    -------
    Panel
        Its `controls` are `at` (seconds), `nodes_needed`, `deadline` (seconds), `bandwidth` (GB/s,
        of the file system), `interval` (minutes) and `solver`; of a source of several days also
        `period`, the first and the last one. A problem has neither `at` nor `period`.

    Raises
    ------
    TypeError
        If `source` is none of these.
    ValueError
        If nothing runs at `at`, `at` or `system` comes with a problem, there is only one
        deadline or more than a slider has room for, or the solver is none of them.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlib as cs
    >>> held = {"nodes": [64, 32, 32], "loss": [40.0, 8.0, 1.0]}
    >>> times = {"app_time": [120.0, 60.0, 300.0], "sys_time": [300.0, 200.0, 240.0]}
    >>> problem = cs.EvictionProblem(pd.DataFrame(held | times), nodes_needed=64, horizon=300)
    >>> panel = cs.explore_eviction(problem, nodes_needed=64)
    >>> panel.settings["nodes_needed"]
    64
    """
    check.instance("source", source, Schedule, Workload, EvictionProblem)
    pose: Pose
    if isinstance(source, EvictionProblem):
        _check_alone(at, system)
        moments, pose, bandwidth = None, partial(_always, source), 1.0
    else:
        moments = _Moments(source, system, at, horizon=horizon, step=step, seed=seed)
        pose, bandwidth = moments.pose, moments.machine.aggregate_bandwidth
    timeline, first = (None, []) if moments is None else (moments.timeline, [moments.knob])
    start = {} if timeline is None else timeline.settings
    start |= {knob.name: knob.setting for knob in first}
    problem = pose(start | {"bandwidth": bandwidth, "interval": interval / MINUTE})
    deadlines = _deadlines(problem)
    needed = problem.nodes_needed if moments is None else problem.total_nodes // 4
    problem = problem.asking(needed if nodes_needed is None else nodes_needed)
    fixed = NO_SCHEDULE if moments is None else ""
    knobs = [
        *first,
        Knob("nodes_needed", problem.nodes_needed, "nodes needed", whole=True,
             high=lambda now: pose(now).total_nodes),
        Knob("deadline", deadlines[len(deadlines) // 3], "deadline", "min", kind="slider",
             options=deadlines, named=lambda deadline: f"{deadline / MINUTE:.4g}"),
        Knob("bandwidth", bandwidth, "file system", "GB/s", low=1, high=1, step=0.05, log=True,
             off_when=lambda now: fixed),
        Knob("interval", interval, "checkpoint every", "min", low=5, high=240, step=5,
             scale=1 / MINUTE, off_when=lambda now: fixed),
        Knob("solver", solver, "plan of the jobs", named=LABELS.__getitem__,
             options=[name for name in LABELS if name not in OF_WAITS or WAIT in problem.jobs]),
    ]  # fmt: skip
    notes = (lambda now: (CLICK,)) if moments is None else moments.notes
    panel = Panel(knobs, _drawer(pose), notes=notes, timeline=timeline)
    panel.figure.data[0].on_click(partial(_choose, panel, problem))
    return panel


class _Moments:
    """Moments of a log at which the eviction may be, and the problem at each."""

    def __init__(
        self, source: Schedule | Workload, system: System | None, at: float | None, **fixed: Any
    ) -> None:
        check.instance("system", system, System, type(None), expected="a System")
        given = isinstance(source, Schedule)
        self.timeline = Timeline(source, None if given else system, JOBS, estimated, at=at)
        machine = system if system is not None and given else self.timeline.log.system
        self.machine, self._note = with_memory(machine)
        self._fixed = fixed
        self.knob = self.timeline.moment_knob(at, MINUTE)
        self.pose = cached(self._pose, "period", "at", "bandwidth", "interval")

    def notes(self, now: Settings) -> list[str]:
        """What is assumed, and what runs at the moment chosen."""
        problem = self.pose(now)
        when = instant(now["at"], self.timeline.log.workload.began)
        runs = f"{count(len(problem), 'job')} on {count(problem.total_nodes, 'node')}"
        notes = self.timeline.schedule_notes(now)
        return [CLICK, *notes, self._note, f"The moment is {when}: {runs}."]

    def _pose(self, now: Settings) -> EvictionProblem:
        """The problem at the moment chosen, on a file system of the bandwidth chosen."""
        system = replace(self.machine, aggregate_bandwidth=now["bandwidth"])
        return EvictionProblem.from_schedule(
            self.timeline.schedule(now), at=now["at"], nodes_needed=0, system=system,
            interval=now["interval"] * MINUTE, **self._fixed,
        )  # fmt: skip


def _check_alone(at: float | None, system: System | None) -> None:
    """Raise for what a problem has decided already."""
    if at is not None:
        raise ValueError(f"at={at:g}, but a problem has its moment already; leave at out")
    if system is not None:
        raise ValueError("a problem has its checkpoint times already; leave system out")


def _always(problem: EvictionProblem, now: Settings) -> EvictionProblem:
    """The same problem, whatever the controls say."""
    return problem


def _deadlines(problem: EvictionProblem) -> list[float]:
    """The deadlines of a slider."""
    advice = "take a longer step or a shorter horizon"
    check.room("deadlines of a slider", len(problem.deadlines), advice, most=MOST_DEADLINES)
    if not len(problem) or len(problem.deadlines) == 1:
        raise ValueError(
            f"{len(problem)} jobs and {len(problem.deadlines)} deadlines leave nothing to choose; "
            f"expected a job and a horizon of at least one step ({problem.step:g} s)"
        )
    return problem.deadlines.tolist()


def _drawer(pose: Pose) -> Draw:
    """What the panel calls with the controls' values; it solves only if it has to."""

    @lru_cache(maxsize=1)
    def solved(problem: EvictionProblem) -> EvictionSpectrum:
        return solve_spectrum(problem)

    @lru_cache(maxsize=1)
    def planned(
        solver: str, nodes_needed: int, problem: EvictionProblem
    ) -> tuple[EvictionPlan, str]:
        papers = solved(problem).plan(nodes_needed)
        if solver == PAPER:
            return papers, ""
        try:
            return SOLVERS[solver](problem.asking(nodes_needed)), ""
        except MemoryError as error:
            return papers, f" · not {LABELS[solver]}: {escape(str(error))}"

    def draw(now: Settings) -> tuple[go.Figure, str]:
        problem, deadline = pose(now), now["deadline"]
        spectrum = solved(problem)
        plan, why = planned(now["solver"], now["nodes_needed"], problem)
        picture = plot_trade_off(spectrum, plan, deadline, title=_title(plan, deadline))
        surface = f" · whole surface of {spectrum.loss.size:,} problems solved"
        return picture, _text(plan, deadline) + surface + why

    return draw


def _title(plan: EvictionPlan, deadline: float) -> str:
    """What is asked, and what it costs."""
    loss = plan.loss[plan.row(deadline)]
    needed, minutes = plan.problem.nodes_needed, deadline / MINUTE
    return f"{count(needed, 'node')} within {minutes:.4g} minutes: {loss:,.1f} node-hours lost"


def _text(plan: EvictionPlan, deadline: float) -> str:
    """What a plan costs, and what it frees."""
    row = plan.row(deadline)
    facts = [
        f"loss {plan.loss[row]:,.2f} node-hours",
        f"checkpoints {plan.checkpoint_time[row]:,g} s",
        f"{plan.nodes_freed[row]:,} nodes freed",
    ]
    if WAIT in plan.problem.jobs:
        timed = plan if isinstance(plan, TimedPlan) else TimedPlan.of(plan)
        blocked, after = timed.blocked[row], timed.free_time[row]
        still = f"standing still {blocked:,.2f} node-hours" if blocked else "no node stands still"
        facts.append(f"{still} until the burst starts after {after:,g} s" if after else
                     "the burst starts at once")  # fmt: skip
    return " · ".join(facts)


def _choose(panel: Panel, problem: EvictionProblem, trace: Any, points: Any, state: Any) -> None:
    """Set nodes and deadline to the point of the surface that was clicked."""
    if points.xs:
        nearest = np.abs(problem.deadlines / MINUTE - points.xs[0]).argmin()
        panel.choose(nodes_needed=int(points.ys[0]), deadline=float(problem.deadlines[nearest]))
