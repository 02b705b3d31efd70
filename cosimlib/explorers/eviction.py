"""Explorer of the eviction problem: nodes, deadline, bandwidth, checkpoint interval, solver.

A log may be any: starts that it lacks are simulated, memory and bandwidths are Theta's where it has
none. Controls of the number of nodes and of the deadline read plans from a spectrum that is solved
already; those of the file system's bandwidth and of the interval between application checkpoints
pose the problem anew and solve it again. The plan beside the surface may be that of another solver,
or of another objective, which is solved for the number of nodes at hand.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from html import escape
from math import log10
from typing import Any

import numpy as np
import plotly.graph_objects as go
from ipywidgets import Dropdown, FloatLogSlider, FloatSlider, IntSlider, SelectionSlider, Widget

from cosimlib import checks as check
from cosimlib.compiled import EVICTION
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
from cosimlib.explorers.logs import instant, recorded, with_memory
from cosimlib.explorers.meanwhile import answered_meanwhile
from cosimlib.explorers.panel import Draw, Panel, disable
from cosimlib.figures.eviction import plot_trade_off
from cosimlib.kernels.jit import is_interpreted
from cosimlib.metrics import occupied_nodes
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import MINUTE
from cosimlib.workload import Workload

Pose = Callable[[float, float], EvictionProblem]

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
    """Sliders, the loss surface with a point chosen on it, and what then happens to which job.

    The surface is the paper's: the least loss, waits added up. The jobs beside it are those of the
    solver chosen.

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
        longest stretch in which the most nodes are held.
    nodes_needed : int, optional
        To begin with: by default the problem's own, or a quarter of the nodes held.
    horizon, step, interval, seed
        As for `EvictionProblem.from_schedule`. The deadline begins at a third of the horizon.
    solver : str, default "dynamic"
        To begin with: ``"dynamic"``, ``"literal"`` (Algorithm 1 as printed), ``"greedy"``,
        ``"overlapping"`` (least loss where waits overlap) or ``"blocked"`` (least loss and standing
        still). A problem needs the column `app_wait` for the last two.

    Returns
    -------
    Panel
        Its `controls` are `nodes_needed`, `deadline` (seconds), `bandwidth` (GB/s, of the file
        system), `interval` (minutes) and `solver`.

    Raises
    ------
    TypeError
        Where `source` is none of these.
    ValueError
        Where nothing runs at `at`, `at` or `system` comes with a problem, there is only one
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
    notes: tuple[str, ...] = ()
    if isinstance(source, EvictionProblem):
        _check_alone(at, system)
        pose, problem, needed = _always(source), source, source.nodes_needed
        bandwidth = np.nan
    else:
        schedule, machine, notes = _begin(source, system)
        fixed = {"at": _moment(schedule, at), "horizon": horizon, "step": step, "seed": seed}
        pose = partial(_pose, schedule, machine, fixed)
        bandwidth = machine.aggregate_bandwidth
        problem = pose(bandwidth, interval / MINUTE)
        needed = problem.total_nodes // 4
        notes = (*notes, _when(schedule, problem, fixed["at"]))
    problem = problem.asking(needed if nodes_needed is None else nodes_needed)
    check.choice("solver", solver, _solvers(problem))
    controls = _controls(problem, bandwidth, interval)
    controls["solver"] = Dropdown(
        options=[(LABELS[name], name) for name in _solvers(problem)], value=solver,
        description="plan of the jobs",
    )  # fmt: skip
    for name in ("bandwidth", "interval"):
        disable(controls[name], NO_SCHEDULE if np.isnan(bandwidth) else "")
    panel = Panel(controls, _drawer(problem, pose), hint=" ".join([CLICK, *notes]))
    panel.figure.data[0].on_click(partial(_choose, panel, problem))
    return panel


def _begin(
    source: Schedule | Workload, system: System | None
) -> tuple[Schedule, System, tuple[str, ...]]:
    """The schedule, the machine with memory and bandwidths, and what was supposed of both."""
    schedule, notes = recorded(source, system, jobs=JOBS)
    check.instance("system", system, System, type(None), expected="a System")
    machine, note = with_memory(system or schedule.system)
    return schedule, machine, (*notes, note) if note else notes


def _check_alone(at: float | None, system: System | None) -> None:
    """Raise for what a problem has decided already."""
    if at is not None:
        raise ValueError(f"at={at:g}, but a problem has its moment already; leave at out")
    if system is not None:
        raise ValueError("a problem has its checkpoint times already; leave system out")


def _when(schedule: Schedule, problem: EvictionProblem, at: float) -> str:
    """The moment of the eviction in words, and how full the machine is."""
    return (
        f"The moment is {instant(at, schedule.workload.began)}: {count(len(problem), 'job')} on "
        f"{count(problem.total_nodes, 'node')}."
    )


def _solvers(problem: EvictionProblem) -> list[str]:
    """The solvers that a problem can be given to."""
    return [name for name in LABELS if name not in OF_WAITS or WAIT in problem.jobs]


def _moment(schedule: Schedule, at: float | None) -> float:
    """The moment asked for, checked, or the middle of the longest fullest stretch."""
    if at is None:
        held = occupied_nodes(schedule)
        times, nodes = held.index.to_numpy(), held.to_numpy()
        lasts = np.diff(times, append=times[-1:])
        if not lasts[nodes > 0].any():
            raise ValueError(f"{schedule.name}: no job ever runs; expected at least one that does")
        # Records may hold more nodes than there are, which is no moment to show.
        within = (lasts > 0) & (nodes <= schedule.total_nodes)
        within = within if (within & (nodes > 0)).any() else lasts > 0
        best = np.lexsort((lasts, np.where(within, nodes, 0)))[-1]
        return float(times[best] + lasts[best] / 2)
    start, end = schedule.start_time, schedule.end_time
    if not ((start <= at) & (at < end)).any():
        span = f"from {start.min():g} to {end.max():g} s" if start.size else "never"
        raise ValueError(
            f"{schedule.name}: no job runs at={at:g}; the schedule runs {span}: choose a moment "
            "with running jobs, or leave at out"
        )
    return at


def _pose(
    schedule: Schedule, machine: System, fixed: dict[str, Any], bandwidth: float, interval: float
) -> EvictionProblem:
    """The problem at the moment chosen, on a file system of `bandwidth` GB/s."""
    system = replace(machine, aggregate_bandwidth=bandwidth)
    return EvictionProblem.from_schedule(
        schedule, nodes_needed=0, system=system, interval=interval * MINUTE, **fixed
    )


def _always(problem: EvictionProblem) -> Pose:
    """The same problem, whatever the controls say."""
    return lambda bandwidth, interval: problem


def _controls(problem: EvictionProblem, bandwidth: float, interval: float) -> dict[str, Widget]:
    """The sliders; `bandwidth` is NaN where it is unknown."""
    advice = "take a longer step or a shorter horizon"
    check.room("deadlines of a slider", len(problem.deadlines), advice, most=MOST_DEADLINES)
    deadlines = problem.deadlines.tolist()
    if not len(problem) or len(deadlines) == 1:
        raise ValueError(
            f"{len(problem)} jobs and {len(deadlines)} deadlines leave nothing to choose; expected "
            f"a job and a horizon of at least one step ({problem.step:g} s)"
        )
    given = not np.isnan(bandwidth)
    middle, minutes = log10(bandwidth) if given else 0.0, interval / MINUTE
    return {
        "nodes_needed": IntSlider(
            problem.nodes_needed, 0, problem.total_nodes, description="nodes needed"
        ),
        "deadline": SelectionSlider(
            options=[(f"{deadline / MINUTE:.4g}", deadline) for deadline in deadlines],
            value=deadlines[len(deadlines) // 3],
            description="deadline (min)",
        ),
        "bandwidth": FloatLogSlider(
            bandwidth if given else 1.0, min=middle - 1, max=middle + 1, step=0.05,
            readout_format=".0f", description="file system (GB/s)",
        ),
        "interval": FloatSlider(
            minutes, min=min(5.0, minutes), max=max(240.0, minutes), step=5.0,
            readout_format=".0f", description="checkpoint every (min)",
        ),
    }  # fmt: skip


def _drawer(problem: EvictionProblem, pose: Pose) -> Draw:
    """What the panel calls with the controls' values; it solves only where it has to."""

    @lru_cache(maxsize=1)
    def solved(bandwidth: float, interval: float) -> tuple[EvictionSpectrum, str]:
        return answered_meanwhile(_timed, EVICTION)(solve_spectrum, pose(bandwidth, interval))

    @lru_cache(maxsize=1)
    def planned(
        solver: str, nodes_needed: int, bandwidth: float, interval: float
    ) -> tuple[EvictionPlan, str]:
        spectrum, _ = solved(bandwidth, interval)
        best = answered_meanwhile(_least_loss, EVICTION)
        if solver == PAPER:
            return best(spectrum, nodes_needed), ""
        problem = spectrum.problem.asking(nodes_needed)
        try:
            plan, took = answered_meanwhile(_timed, EVICTION)(SOLVERS[solver], problem)
        except MemoryError as error:
            why = f" · not {LABELS[solver]}: {escape(str(error))}"
            return best(spectrum, nodes_needed), why
        return plan, f" · {LABELS[solver]}: {took}" if took else ""

    def draw(
        *, nodes_needed: int, deadline: float, bandwidth: float, interval: float, solver: str
    ) -> tuple[go.Figure, str]:
        spectrum, took = solved(bandwidth, interval)
        plan, also = planned(solver, nodes_needed, bandwidth, interval)
        picture = plot_trade_off(spectrum, plan, deadline, title=_title(plan, deadline))
        surface = f" · whole surface of {spectrum.loss.size:,} problems solved"
        within = f" in {took}" if took else ""
        text = answered_meanwhile(_text, EVICTION)(plan, deadline)
        return picture, text + surface + within + also

    return draw


def _timed(solve: Callable[[EvictionProblem], Any], problem: EvictionProblem) -> tuple[Any, str]:
    """A solver's answer, and how long it took once compiled; "" where it is interpreted."""
    solve(EvictionProblem(problem.jobs[:1], 0, 0.0, problem.step))  # compiles, or loads what is
    answer = solve(problem)
    milliseconds = np.atleast_1d(answer.response_time)[-1] * 1e3
    took = f"{milliseconds:,.{0 if milliseconds >= 10 else 2}f} ms"
    return answer, "" if is_interpreted() else took


def _least_loss(spectrum: EvictionSpectrum, nodes_needed: int) -> EvictionPlan:
    """The spectrum's plan for a number of nodes."""
    return spectrum.plan(nodes_needed)


def _title(plan: EvictionPlan, deadline: float) -> str:
    """What is asked, and what it costs."""
    loss = plan.loss[plan.row(deadline)]
    needed, minutes = plan.problem.nodes_needed, deadline / MINUTE
    return f"{count(needed, 'node')} within {minutes:.4g} minutes: {loss:,.1f} node-hours lost"


def _text(plan: EvictionPlan, deadline: float) -> str:
    """What a plan costs, and what it frees."""
    row = plan.row(deadline)
    told = [
        f"loss {plan.loss[row]:,.2f} node-hours",
        f"checkpoints {plan.checkpoint_time[row]:,g} s",
        f"{plan.nodes_freed[row]:,} nodes freed",
    ]
    if WAIT in plan.problem.jobs:
        timed = plan if isinstance(plan, TimedPlan) else TimedPlan.of(plan)
        told.append(
            f"standing still {timed.blocked[row]:,.2f} node-hours until the burst starts after "
            f"{timed.free_time[row]:,g} s"
        )
    return " · ".join(told)


def _choose(panel: Panel, problem: EvictionProblem, trace: Any, points: Any, state: Any) -> None:
    """Set nodes and deadline to the point of the surface that was clicked."""
    if points.xs:
        nearest = np.abs(problem.deadlines / MINUTE - points.xs[0]).argmin()
        panel.choose(nodes_needed=int(points.ys[0]), deadline=float(problem.deadlines[nearest]))
