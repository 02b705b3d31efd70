"""Explorer of a single preemption: the nodes that each policy takes, and the jobs on them.

Every control computes anew, which takes milliseconds: the vectors are those of a window of moments,
not of the whole schedule. A log that holds more nodes than its machine has is shown on a machine
that has them. Another number of nodes is another system, on which the schedule's own
policy schedules the workload again.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from ipywidgets import Dropdown, FloatSlider, IntSlider, SelectionSlider, Widget

from cosimlib import checks as check
from cosimlib.compiled import ELASTIC
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
from cosimlib.explorers.logs import busy, fitting, instant, recorded, wide_enough
from cosimlib.explorers.meanwhile import answered_meanwhile, simulator
from cosimlib.explorers.panel import Panel, disable
from cosimlib.figures.elastic import FATES, period_name, plot_preemption
from cosimlib.kernels.occupancy import IDLE
from cosimlib.metrics import busy_window
from cosimlib.policies import SIMULATORS
from cosimlib.schedule import RECORDED, Schedule
from cosimlib.system import System
from cosimlib.units import DAY, HOUR
from cosimlib.workload import Workload

Scheduled = Callable[[int], Schedule]

MOMENTS = 241
"""Columns of the heat map, the moment chosen being the middle one."""
MOST_VALUES = 2_000_000
"""Nodes times columns of the heat map: very large machines have fewer columns."""


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
        How many of a workload are taken in a row, where it is busy.
    at : float, optional
        The moment of the preemption, seconds of the schedule's clock; by default the middle one of
        `execution_states`, or of the busiest day if that is a quiet one.
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
        where nothing can schedule the workload again), `preempted` and `at` (seconds).

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
    source, notes = _begin(source, system, jobs)
    at = _moment(source, at)
    knobs: dict[str, Any] = {
        "policy": policy,
        "preempted": min(PREEMPTED, _nodes(source)) if preempted is None else preempted,
        "grace_period": grace_period,
        "seed": seed,
    }
    # Refuses what it cannot take before a control does.
    answered_meanwhile(preempted_jobs, ELASTIC)(source, at, **knobs)
    why = _fixed_because(source)
    controls = _controls(source, at, knobs, why)
    disable(controls["nodes"], why)

    @lru_cache(maxsize=8)
    def scheduled(nodes: int) -> Schedule:
        return source if nodes == _nodes(source) else _schedule(source, nodes)

    # Before the panel's own observers: what they draw must fit the other number of nodes.
    controls["nodes"].observe(partial(_refit, controls, scheduled), names="value")
    draw = partial(_draw, scheduled, window=window, seed=seed)
    return Panel(controls, draw, hint=" ".join(notes))


def _begin(
    source: Schedule | Workload, system: System | None, jobs: int
) -> tuple[Schedule, tuple[str, ...]]:
    """The schedule on as many nodes as it needs, and what was supposed of it."""
    check.whole("jobs", jobs, 1)
    check.instance("source", source, Schedule, Workload)
    if isinstance(source, Schedule) and system is not None:
        raise ValueError("a schedule has its system; leave system out, or give the workload")
    told: tuple[str, ...] = ()
    if isinstance(source, Workload):
        part = busy(fitting(source, system), jobs)
        schedule, more = recorded(part.workload, part.system, jobs=jobs)
        told = (*part.notes, *more)
    else:
        schedule = source
    wider, more = wide_enough(schedule)
    return wider, (*told, *more)


def _moment(schedule: Schedule, at: float | None) -> float:
    """A moment of the schedule, by default the middle one of its states, or of a busier day."""
    states = execution_states(schedule)
    if not states.size:
        raise ValueError(f"{schedule.name}: no job ever runs; expected at least one that does")
    if at is None:
        middle = float(states[states.size // 2])
        start, end = busy_window(schedule, DAY, start=middle - DAY / 2)
        if start != middle - DAY / 2:
            place = int(np.searchsorted(states, (start + end) / 2))
            middle = float(states[min(place, states.size - 1)])
        return middle
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


def _nodes(schedule: Schedule) -> int:
    """Nodes of the first partition, the paper's N."""
    return next(iter(schedule.system.partitions.values()))


def _fixed_because(schedule: Schedule) -> str:
    """Why the workload cannot be scheduled on other numbers of nodes; empty where it can."""
    if schedule.policy == RECORDED:
        return "the starts are those recorded; another number of nodes needs a simulator's"
    if schedule.policy not in SIMULATORS:
        return f"no simulator is called {schedule.policy!r}, as this schedule's policy is"
    return ""


def _schedule(source: Schedule, nodes: int) -> Schedule:
    """The workload on another number of nodes, under the same policy."""
    return simulator(source.policy)(source.workload, source.system.with_nodes(nodes))


def _controls(source: Schedule, at: float, knobs: dict[str, Any], why: str) -> dict[str, Widget]:
    """The widgets; N has one value where there is a reason `why` for it."""
    grace_period, nodes = float(knobs["grace_period"]), _nodes(source)
    periods = sorted({0.0, 300.0, 600.0, grace_period, *GRACE_PERIODS})
    widest = int(source.workload.jobs["nodes"].max())
    first, last = _span(source)
    return {
        "policy": Dropdown(options=POLICIES, value=knobs["policy"], description="policy"),
        "grace_period": SelectionSlider(
            options=[(period_name(period), period) for period in periods], value=grace_period,
            description="grace period",
        ),
        "nodes": IntSlider(
            nodes, nodes if why else widest, nodes if why else max(2 * nodes, widest + 1),
            description="nodes (N)",
        ),
        "preempted": IntSlider(
            int(knobs["preempted"]), 1, nodes, description="nodes preempted (P)"
        ),
        "at": FloatSlider(
            at, min=first, max=max(at, last - SAMPLING_INTERVAL), step=SAMPLING_INTERVAL,
            readout=False, description="moment",
        ),
    }  # fmt: skip


def _refit(controls: dict[str, Widget], scheduled: Scheduled, change: dict[str, Any]) -> None:
    """Keep P and the moment within what the new number of nodes allows."""
    first, last = _span(scheduled(change["new"]))
    controls["preempted"].max = change["new"]
    controls["at"].max = max(first, last - SAMPLING_INTERVAL)


def _draw(
    scheduled: Scheduled,
    *,
    window: float,
    seed: int,
    nodes: int,
    at: float,
    **knobs: Any,
) -> tuple[go.Figure, str]:
    """Figure and text for the controls' values."""
    schedule = scheduled(nodes)
    preempted = answered_meanwhile(_preempted, ELASTIC)
    values, touched, jobs = preempted(schedule, at, window=window, seed=seed, **knobs)
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


def _preempted(
    schedule: Schedule, at: float, *, window: float, seed: int, **knobs: Any
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Vectors around a moment, the jobs preempted at it, and all that run."""
    touched = preempted_jobs(schedule, at, seed=seed, **knobs)
    values = _window(schedule, at, window, knobs["policy"], seed)
    return values, touched, _running(schedule, at, touched)


def _window(schedule: Schedule, at: float, window: float, policy: str, seed: int) -> pd.DataFrame:
    """Vectors around a moment; that at the moment itself is what `preempted_jobs` goes by.

    RANDOM draws anew at each moment, so that the vectors before would change the draws.
    """
    half = int(np.clip(MOST_VALUES // _nodes(schedule), 21, MOMENTS)) // 2
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
