"""Explorer of the eviction problem: moment, nodes, deadline, file system, interval, solver, notice.

A log may be any: starts that it lacks are simulated, memory and bandwidths are Theta's where it has
none. Controls of the number of nodes and of the deadline read plans from a spectrum that is solved
already; those of the moment, the file system's bandwidth and the interval between application
checkpoints pose the problem anew and solve it again. The plan beside the surface may be that of
another solver, or of another objective, which is solved for the number of nodes at hand. Where the
nodes are asked for some hours before, what draining costs stands beside what evicting costs.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from cosimlib import checks as check
from cosimlib import eviction
from cosimlib.calendar import Calendar
from cosimlib.comparison.draining import NOTICES, drain_or_evict
from cosimlib.display import count
from cosimlib.eviction import EvictionPlan, EvictionProblem, EvictionSpectrum, TimedPlan
from cosimlib.explorers.knobs import Knob, Settings, cached
from cosimlib.explorers.logs import estimated, with_memory
from cosimlib.explorers.panel import Drawn, Panel, says_compiling
from cosimlib.explorers.timeline import Timeline
from cosimlib.figures.eviction import NO_JOBS, plot_trade_off
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import HOUR, MINUTE
from cosimlib.workload import Workload

PAPER = "dynamic"
SOLVERS = {
    "greedy": eviction.solve_greedy,
    "overlapping": eviction.solve_overlapping,
    "blocked": eviction.solve_blocked,
}
LABELS = {
    PAPER: "least loss (paper)",
    "greedy": "greedy (paper)",
    "overlapping": "least loss, waits overlap",
    "blocked": "least lost and blocked",
}
OF_WAITS = ("overlapping", "blocked")
"""Solvers that need to know how long each application's wait is."""
WAIT = "app_wait"
CLICK = "Click on the surface to choose nodes and deadline at once."
NO_SCHEDULE = "this problem brought its own checkpoint times: explore a Schedule to change them"
NO_NODE = "no node is needed"
JOBS = 3000
"""Of a workload without starts, how many in a row are scheduled."""
OF_PROBLEM = ("period", "at", "bandwidth", "interval")
"""Settings that the problem depends on."""
MOST_DEADLINES = 2_000
"""Deadlines of a slider at most: a day of minutes has 1,440."""


@says_compiling()
def explore_eviction(
    source: Schedule | Workload | EvictionProblem,
    system: System | None = None,
    *,
    horizon: float = 900.0,
    step: float = 60.0,
    seed: int = 0,
    **settings: Any,
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
    horizon, step, seed
        As for `EvictionProblem.from_schedule`.
    **settings
        First values of the controls, see below.

    Returns
    -------
    Panel
        Its `controls` are `at` (seconds), `nodes_needed`, `deadline` (seconds), `bandwidth` (GB/s,
        of the file system), `interval` (minutes), `solver` and `notice` (hours); of a source of
        several days also `period`, the first and the last one. A problem has neither `at` nor
        `period`.

    Other Parameters
    ----------------
    at : float, optional
        The moment of the eviction, seconds of the schedule's clock; by default the middle of the
        longest stretch of the days chosen in which the most nodes are held, but no more than the
        machine has.
    nodes_needed : int, optional
        By default the problem's own, or a quarter of the nodes held.
    deadline : float, optional
        Seconds, by default a third of the horizon.
    bandwidth : float, optional
        Of the file system, GB/s; by default the system's, or Theta's.
    interval : float, default 3600.0
        Seconds from one application checkpoint to the next.
    solver : str, default "dynamic"
        ``"dynamic"``, ``"greedy"``, ``"overlapping"``
        (least loss where waits overlap) or ``"blocked"`` (least loss and standing still). A problem
        needs the column `app_wait` for the last two.
    notice : float, default 0
        Hours before the moment from which on EASY starts no job that would hold the nodes needed;
        one of `comparison.draining.NOTICES`. See `drain_or_evict`.

    Raises
    ------
    TypeError
        If `source` is none of these.
    ValueError
        If nothing runs at `at`, `at` or `system` comes with a problem, there is only one
        deadline or more than a slider has room for, or a setting is out of range.

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
    moments = None
    fixed, bandwidth, moment = NO_SCHEDULE, 1.0, []
    if isinstance(source, EvictionProblem):
        known, problem = source, source
        if settings.get("at") is not None or system is not None:
            raise ValueError("a problem has its moment and checkpoint times; leave at, system out")
        if not len(problem):
            raise ValueError(f"{NO_JOBS}; expected one or more")
    else:
        known = EvictionProblem.empty(horizon=horizon, step=step)
        moments = _Moments(source, system, settings.get("at"), known, seed)
        fixed, bandwidth = "", moments.machine.aggregate_bandwidth
        moment = [moments.moment_knob(MINUTE)]
    deadlines = _deadlines(known)

    def pose(now: Settings) -> EvictionProblem:
        return moments.pose(now) if moments else problem

    waits = moments is not None or WAIT in problem.jobs
    knobs = [
        *moment,
        Knob("nodes_needed", lambda now: pose(now).total_nodes // 4 if moments else
             problem.nodes_needed, "nodes needed", whole=True,
             high=lambda now: pose(now).total_nodes),
        Knob("deadline", deadlines[len(deadlines) // 3], "deadline", "min", kind="slider",
             options=deadlines, named=lambda deadline: f"{deadline / MINUTE:.4g}"),
        Knob("bandwidth", bandwidth, "file system", "GB/s", low=1, high=1, step=0.05, log=True,
             off_when=lambda now: fixed),
        Knob("interval", 60, "checkpoint every", "min", low=5, high=240, step=5,
             scale=1 / MINUTE, off_when=lambda now: fixed),
        Knob("solver", PAPER, "plan of the jobs", named=LABELS.__getitem__,
             options=[name for name in LABELS if waits or name not in OF_WAITS]),
        Knob("notice", 0, "drain", options=NOTICES, kind="slider",
             named=lambda hours: f"{hours:g} h before" if hours else "not",
             off_when=lambda now: fixed or ("" if now["nodes_needed"] else NO_NODE)),
    ]  # fmt: skip
    solved = cached(lambda now: eviction.solve_spectrum(pose(now)), *OF_PROBLEM)
    planned = cached(
        lambda now: _plan(solved(now), now["solver"], now["nodes_needed"]),
        *OF_PROBLEM, "solver", "nodes_needed",
    )  # fmt: skip

    def draw(now: Settings) -> Drawn:
        deadline, needed, plan = now["deadline"], now["nodes_needed"], planned(now)
        loss = plan.loss[plan.row(deadline)]
        asked = f"{count(needed, 'node')} within {deadline / MINUTE:.4g} minutes"
        title = f"{asked}: {loss:,.1f} node-hours lost"
        picture = plot_trade_off(solved(now), plan, deadline, title=title)
        drained = moments.drained(now) if moments and now["notice"] and needed else ""
        notes = moments.schedule_notes(now) if moments else ()
        return picture, [*_facts(plan, deadline), drained], (CLICK, *notes)

    panel = Panel(knobs, draw, settings, timeline=moments)

    def choose(trace: Any, points: Any, state: Any) -> None:
        """Set nodes and deadline to the point of the surface that was clicked."""
        if points.xs:
            nearest = np.abs(np.array(deadlines) / MINUTE - points.xs[0]).argmin()
            panel.choose(nodes_needed=int(points.ys[0]), deadline=deadlines[nearest])

    panel.figure.data[0].on_click(choose)
    return panel


class _Moments(Timeline):
    """Moments of a log at which the eviction may be, and the problem at each."""

    def __init__(
        self, source: Schedule | Workload, system: System | None, at: float | None,
        like: EvictionProblem, seed: int,
    ) -> None:  # fmt: skip
        check.instance("system", system, System, type(None), expected="a System")
        given = isinstance(source, Schedule)
        super().__init__(source, None if given else system, JOBS, estimated, at=at)
        machine = system if system is not None and given else self.log.system
        self.machine, self._note = with_memory(machine)
        self._fixed: dict[str, Any] = {"horizon": like.horizon, "step": like.step, "seed": seed}
        self.pose = cached(self._pose, *OF_PROBLEM)
        self.drained = cached(self._drained, *OF_PROBLEM, "nodes_needed", "deadline", "notice")

    def schedule_notes(self, now: Settings) -> tuple[str, ...]:
        """What is assumed, and what runs at the moment chosen."""
        problem = self.pose(now)
        runs = f"{count(len(problem), 'job')} on {count(problem.total_nodes, 'node')}"
        return (*super().schedule_notes(now), self._note, f"{runs} at the moment.")

    def _asked(self, now: Settings) -> dict[str, Any]:
        """The machine, with a file system of the bandwidth chosen, and the interval."""
        system = replace(self.machine, aggregate_bandwidth=now["bandwidth"])
        return {"system": system, "interval": now["interval"] * MINUTE}

    def _pose(self, now: Settings) -> EvictionProblem:
        """The problem at the moment chosen."""
        return EvictionProblem.from_schedule(
            self.schedule(now), at=now["at"], nodes_needed=0, **self._asked(now), **self._fixed
        )

    def _drained(self, now: Settings) -> str:
        """What a window that closes the nodes costs, known so many hours before it and not."""
        start, notice, workload = now["at"], now["notice"], estimated(self.log).workload
        window = {"start": [start], "end": [start + HOUR], "nodes": [now["nodes_needed"]]}
        try:
            costs = drain_or_evict(
                workload, Calendar(window), notices=[0, notice], **self._asked(now),
                horizon=now["deadline"], seeds=[self._fixed["seed"]],
            )  # fmt: skip
        except ValueError as error:
            return f"draining cannot be simulated: {error}"
        late, early = costs.to_dict("records")
        return (
            f"under EASY of the two weeks before, drained for {notice:g} h: {early['cost']:,.1f} "
            f"node-hours (idle {early['idle']:,.1f}, lost {early['lost']:,.1f}, standing still "
            f"{early['blocked']:,.1f}); not drained: {late['cost']:,.1f}"
        )


def _deadlines(problem: EvictionProblem) -> list[float]:
    """The deadlines of a slider."""
    advice, number = "take a longer step or a shorter horizon", len(problem.deadlines)
    check.room("deadlines of a slider", number, advice, most=MOST_DEADLINES)
    if number == 1:
        raise ValueError(
            "1 deadline leaves nothing to choose; expected a horizon of at least one step "
            f"({problem.step:g} s)"
        )
    return problem.deadlines.tolist()


def _plan(spectrum: EvictionSpectrum, solver: str, nodes_needed: int) -> EvictionPlan:
    """The plan of a solver for so many nodes; that of the paper is read from the spectrum."""
    if solver == PAPER:
        return spectrum.plan(nodes_needed)
    return SOLVERS[solver](spectrum.problem.asking(nodes_needed))


def _facts(plan: EvictionPlan, deadline: float) -> list[str]:
    """What a plan costs, and what it frees."""
    row = plan.row(deadline)
    facts = [
        f"loss {plan.loss[row]:,.2f} node-hours",
        f"checkpoints {plan.checkpoint_time[row]:,g} s",
        f"{plan.nodes_freed[row]:,} nodes freed",
    ]
    if WAIT in plan.problem.jobs:
        timed = plan if isinstance(plan, TimedPlan) else TimedPlan.of(plan)
        facts.append(f"standing still {timed.blocked[row]:,.2f} node-hours until the burst starts "
                     f"after {timed.free_time[row]:,g} s")  # fmt: skip
    return facts
