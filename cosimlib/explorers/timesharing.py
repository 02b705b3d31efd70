"""Explorer of time-sharing against batch on one machine: sharing, noise, overhead, memory.

Jobs are made like Edison's on a small machine, or are a log's, and simulated twice: time-shared,
with the shares around the moment recorded, and in batch. Every control simulates time-sharing anew,
but batch only where it can differ: not for overhead, memory and moment. Of a log so many jobs are
taken that a picture takes about 0.3 s.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from html import escape
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from ipywidgets import Dropdown, FloatSlider, IntSlider, Widget

from cosimlib import checks as check
from cosimlib import synthetic
from cosimlib.compiled import TIMESHARING
from cosimlib.display import count, or_unknown, percent
from cosimlib.explorers.logs import busy, estimated, fitting
from cosimlib.explorers.meanwhile import answered_meanwhile
from cosimlib.explorers.panel import Panel, disable
from cosimlib.figures.timesharing_moment import plot_sharing
from cosimlib.metrics import offered_load
from cosimlib.schedule import Schedule
from cosimlib.synthetic import EDISON
from cosimlib.system import System
from cosimlib.timesharing import (
    STEP,
    RunSummary,
    bearable_noise,
    simulate_batch,
    simulate_timesharing,
    summarize_run,
    with_node_memory,
)
from cosimlib.timesharing.schedule import TimesharedSchedule
from cosimlib.units import DAY, HOUR
from cosimlib.workload import Workload

SHOWN = 6 * HOUR
"""Seconds in which shares are shown, the moment in their middle."""

NODES, LOAD, SPREAD = 64, 0.89, "tenth"
"""Of made jobs, where nothing else is asked for."""
MOST_NOISE = 0.05
MOST_MOVES = 50_000
"""Changes of rates that noise may make in a log, so that a picture does not take long."""
MOST_STARTS = 50_000
"""Nodes that the jobs of a log may start on together, for the same reason."""

KINDS = (("SPMD: as fast as the slowest node", True), ("not SPMD: the mean of all nodes", False))
MEMORY = (("a tenth of the jobs needs 60 %", "tenth"), ("the longest jobs need 60 %", "longest"),
          ("spread as on UniLu-Gaia", "UniLu-Gaia"))  # fmt: skip
GIVEN = "given"
AS_GIVEN = (("as the log says", GIVEN),)

Run = Callable[..., tuple[TimesharedSchedule, Schedule]]


class Jobs(NamedTuple):
    """Jobs for any load, memory and seed; their machine, own load, span (s) and what is supposed.

    `fixed` says why controls of the jobs have no effect, `noise` is the most that is bearable.
    """

    make: Callable[..., Workload]
    machine: System
    load: float
    span: float
    noise: float
    fixed: dict[str, str]
    notes: tuple[str, ...] = ()
    is_log: bool = False


def explore_timesharing(
    source: Workload | Schedule | None = None,
    system: System | None = None,
    *,
    days: int = 7,
    jobs: int = 1000,
    nodes: int | None = None,
    memory_per_node: float | None = None,
    load: float | None = None,
    overhead: float = 0.0,
    noise: float = 0.0,
    spmd: bool = True,
    memory_spread: str | None = None,
    seed: int = 0,
    at: float | None = None,
) -> Panel:
    """Widget: knobs of time-sharing and its jobs, shares on a crowded node, gain over batch.

    Parameters
    ----------
    source : Workload or Schedule, optional
        By default `synthetic.edison`. Of a schedule the workload. Requested times that it lacks are
        run times, memory that it does not tell is none.
    system : System, optional
        The source's machine; by default its own, or one that holds its jobs.
    days : int, default 7
        For how long jobs are made.
    jobs : int, default 1000
        How many of a source are taken in a row, where it is busy; fewer of very wide ones.
    nodes : int, optional
        Of the machine: from 16, by default 64, for made jobs; of a source's machine in the place of
        what it says.
    memory_per_node : float, optional
        GB, of a source; by default its machine's or, where that is unknown, twice what 99 % of its
        jobs need at most.
    load : float, optional
        Offered load, by default .89 of made jobs, and of a source its own. At its own load a source
        is simulated as it is, else the times between submissions are scaled.
    overhead : float, default 0
        Part of every node's capacity that sharing costs; batch has none.
    noise : float, default 0
        Probability that a node is slowed in a step of 10 s, in batch too.
    spmd : bool, default True
        Whether a job runs everywhere at the speed of its slowest node.
    memory_spread : {"tenth", "longest", "UniLu-Gaia"}, optional
        Which made jobs need how much memory, see `synthetic.edison`; by default any tenth.
    seed : int, default 0
        Of made jobs and of the noise.
    at : float, optional
        The moment around which shares are shown, seconds from the first submission, by default in
        the most crowded hour.

    Returns
    -------
    Panel
        Its `controls` are `load`, `overhead`, `noise`, `spmd`, `memory_spread`, `seed` and `moment`
        (hours); `choose` takes what they offer.

    Raises
    ------
    TypeError
        Where `source` is no workload or schedule.
    ValueError
        For a source without jobs that fit, and for a setting that is out of range.

    Examples
    --------
    >>> import cosimlib as cs
    >>> panel = cs.explore_timesharing(days=2, nodes=16)
    >>> panel.settings["overhead"]
    0.0
    """
    check.whole("days", days, 1)
    check.whole("jobs", jobs, 1)
    check.number("noise", noise, least=0.0, most=1.0, kind="a probability")
    check.number("memory_per_node", memory_per_node, above=0, kind="GB", none=True)
    if source is None:
        known = _made(days, nodes)
        spread = SPREAD if memory_spread is None else memory_spread
    else:
        if memory_spread is not None:
            check.choice("memory_spread", memory_spread, (GIVEN,))
        known = _taken(source, system, jobs, nodes, memory_per_node)
        spread = GIVEN
    own = load is None or "load" in known.fixed
    settings: dict[str, Any] = {
        "load": known.load if own else load, "overhead": overhead, "noise": noise, "spmd": spmd,
        "memory_spread": spread, "seed": seed,
    }  # fmt: skip
    if not own:
        check.number("load", load, above=0, where="" if known.is_log else "synthetic Edison")
    crowded = "for the most crowded hour"
    span = _span(known, settings["load"])
    check.number("at", at, least=0.0, most=span, kind="seconds", none=crowded)
    run = _runner(known)
    shared, _ = run(None, **settings)
    moment = _most_crowded(shared, span) if at is None else float(at)
    controls = _controls(settings, known, min(moment, span), span)
    # Before the panel's own observers: what they draw must fit the other span of the jobs.
    for knob in ("load", "noise"):
        controls[knob].observe(partial(_switch, controls, known), names="value")
    _switch(controls, known)
    return Panel(controls, partial(_draw, run), hint=" ".join(known.notes))


def _made(days: int, nodes: int | None) -> Jobs:
    """Jobs like Edison's on a small machine."""
    nodes = NODES if nodes is None else nodes
    make = partial(synthetic.edison, days, nodes=nodes)
    check.whole("nodes", nodes, 16, where="synthetic Edison")
    return Jobs(make, EDISON.with_nodes(nodes), LOAD, days * DAY, MOST_NOISE, {})


def _taken(
    source: Workload | Schedule,
    system: System | None,
    jobs: int,
    nodes: int | None,
    memory_per_node: float | None,
) -> Jobs:
    """Jobs of a log in a row, on its machine or another one."""
    check.whole("nodes", nodes, 1, none=True)
    if nodes is not None:
        machine = system or (source.system if isinstance(source, Schedule) else source.machine)
        system = System.of(nodes) if machine is None else machine.with_nodes(nodes)
    part = estimated(busy(fitting(source, system), jobs))
    if memory_per_node is None and part.system.memory_per_node > 0:
        memory_per_node = part.system.memory_per_node
    before = replace(part.workload, machine=part.system)
    workload = with_node_memory(before, memory_per_node=memory_per_node, node_starts=MOST_STARTS)
    machine = check.machine(workload.machine, workload.name)
    told = before.column("memory").notna().any()
    derived = told and memory_per_node is None
    fewer = len(before) > len(workload)
    part = part.noted(
        f"A node's memory is supposed to be {machine.memory_per_node:.3g} GB, twice what 99 % of "
        "the jobs need (in code, memory_per_node= gives another)." if derived else "",
        f"{len(workload):,} of these jobs are simulated, which fit and start on at most "
        f"{MOST_STARTS:,} nodes." if fewer else "",
    )  # fmt: skip
    load = offered_load(workload, machine)
    why = "" if 0 < load < np.inf else "the jobs offer no load, or all are submitted at once"
    memory = "the log says what its jobs need" if told else (
        "the log does not say what its jobs need; it counts as nothing")  # fmt: skip
    span = float((workload.jobs["submit_time"] + workload.jobs["run_time"]).max())
    load = 1.0 if why else load
    return Jobs(
        partial(_scaled, workload, machine.total_nodes, load), machine, load, max(span, HOUR),
        bearable_noise(workload, MOST_NOISE, most=MOST_MOVES),
        {"memory_spread": memory} | ({"load": why} if why else {}), part.notes, True,
    )  # fmt: skip


def _scaled(
    source: Workload, nodes: int, own: float, *, load: float, seed: int, memory_spread: str = GIVEN
) -> Workload:
    """The log itself at its own load, else with the times between submissions scaled."""
    return source if load == own else synthetic.with_offered_load(source, nodes, load=load)


def _span(known: Jobs, load: float) -> float:
    """Seconds in which a moment can be chosen; less load stretches a log."""
    return known.span * max(1.0, known.load / load) if known.is_log else known.span


def _switch(controls: dict[str, Widget], known: Jobs, change: object = None) -> None:
    """Disable what has no effect, and let the moment go as far as the jobs do."""
    nothing = known.is_log and not controls["noise"].value
    disable(controls["seed"], "nothing is drawn without noise" if nothing else "")
    for name, why in known.fixed.items():
        disable(controls[name], why)
    controls["moment"].max = _span(known, controls["load"].value) / HOUR


def _most_crowded(shared: TimesharedSchedule, span: float) -> float:
    """The middle of the hour with the most jobs on a node while jobs are submitted."""
    crowd = shared.series["cpu_load"]
    crowd = crowd[crowd.index < span]
    return float(crowd.idxmax()) + HOUR / 2 if len(crowd) else 0.0


def _runner(known: Jobs) -> Run:
    """A function that simulates both policies, with shares around a moment if any; cached."""
    workload_of = lru_cache(maxsize=4)(known.make)
    in_turns = answered_meanwhile(simulate_timesharing, TIMESHARING)
    alone = answered_meanwhile(simulate_batch, TIMESHARING)

    @lru_cache(maxsize=8)
    def shared(
        at: float | None, load: float, memory_spread: str, seed: int, overhead: float, noise: float,
        spmd: bool,
    ) -> TimesharedSchedule:  # fmt: skip
        workload = workload_of(load=load, memory_spread=memory_spread, seed=seed)
        sample = None if at is None else _around(at)
        if sample is not None and not noise:
            whole = shared(None, load, memory_spread, seed, overhead, noise, spmd)
            sample = _with_changes(sample, whole)
        knobs: dict[str, Any] = {"overhead": overhead, "noise": noise, "spmd": spmd}
        return in_turns(workload, known.machine, seed=seed, sample=sample, **knobs)

    @lru_cache(maxsize=4)
    def batch(load: float, seed: int, noise: float, spmd: bool) -> Schedule:
        workload = workload_of(load=load, seed=seed)
        return alone(workload, known.machine, seed=seed, noise=noise, spmd=spmd)

    def run(
        at: float | None, *, load: float, overhead: float, noise: float, spmd: bool,
        memory_spread: str, seed: int,
    ) -> tuple[TimesharedSchedule, Schedule]:  # fmt: skip
        crowd = shared(at, load, memory_spread, seed, overhead, noise, spmd)
        return crowd, batch(load, seed, noise, spmd)

    return run


def _around(at: float) -> np.ndarray:
    """The steps around a moment: shares change with steps only."""
    first = max(0.0, np.floor((at - SHOWN / 2) / STEP) * STEP)
    return np.arange(first, first + SHOWN + STEP, STEP)


def _with_changes(steps: np.ndarray, schedule: Schedule) -> np.ndarray:
    """The first and the last step, and those in which a job starts or ends.

    Without noise shares change in no other, and each step that is recorded stops the simulation.
    """
    changes = np.concatenate([schedule.start_time, schedule.end_time, steps[[0, -1]]])
    return steps[np.isin(steps, changes)]


def _controls(settings: dict[str, Any], known: Jobs, at: float, span: float) -> dict[str, Widget]:
    """The widgets, with ranges that include the first settings."""
    load, overhead, noise, seed = (settings[name] for name in ("load", "overhead", "noise", "seed"))
    return {
        "load": FloatSlider(
            load, min=min(0.1, load), max=max(1.2, load), step=0.01, description="offered load"
        ),
        "overhead": FloatSlider(
            overhead, min=0.0, max=max(0.3, overhead), step=0.01, description="overhead"
        ),
        "noise": FloatSlider(
            noise, min=0.0, max=max(known.noise, noise), step=min(0.001, known.noise / 50),
            readout_format=".2g",
            description="noise (probability)",
        ),
        "spmd": Dropdown(options=KINDS, value=settings["spmd"], description="jobs"),
        "memory_spread": Dropdown(
            options=AS_GIVEN if known.is_log else MEMORY, value=settings["memory_spread"],
            description="memory",
        ),
        "seed": IntSlider(seed, 0, max(50, seed), description="seed"),
        "moment": FloatSlider(
            at / HOUR, min=0.0, max=span / HOUR, step=0.25, readout_format=".2f",
            description="moment (h)",
        ),
    }  # fmt: skip


def _draw(run: Run, *, moment: float, **settings: Any) -> tuple[go.Figure, str]:
    """Figure and text for the controls' values."""
    at = moment * HOUR
    shared, batch = run(at, **settings)
    runs = [summarize_run(schedule, warm_up=0.0) for schedule in (shared, batch)]
    picture = plot_sharing(shared, batch, at=at, title=_title(*runs))
    return picture, _text(shared, *runs)


def _title(shared: RunSummary, batch: RunSummary) -> str:
    """Mean slowdown under both policies."""
    return (
        f"{shared.policy}: mean slowdown {shared.mean_slowdown:,.2f}; "
        f"{batch.policy}: {batch.mean_slowdown:,.2f}"
    )


def _text(schedule: TimesharedSchedule, shared: RunSummary, batch: RunSummary) -> str:
    """The line under the figure."""
    return (
        f"{escape(shared.data)}, {count(shared.jobs, 'job')} · time-sharing: {_numbers(shared)}, "
        f"CPU load {or_unknown(shared.cpu_load, '.2f')} jobs on a node (at most "
        f"{or_unknown(_most_load(schedule), '.2f')} in an hour), "
        f"{round(shared.waited * shared.jobs):,} jobs wait for memory · batch: {_numbers(batch)}, "
        f"{round(batch.waited * batch.jobs):,} jobs wait for nodes · utilization is of the hours "
        "that begin before the last submission"
    )


def _numbers(run: RunSummary) -> str:
    """Slowdown and utilization of one policy."""
    return (
        f"slowdown {run.quantile(0.5):,.2f} (median), {run.mean_slowdown:,.2f} (mean), "
        f"utilization {percent(run.utilization, 1)}"
    )


def _most_load(schedule: TimesharedSchedule) -> float:
    """Most jobs on a node in an hour, of the first and the last hour what lies in the schedule."""
    load, width = schedule.series["cpu_load"], schedule.resolution
    ends = schedule.start_time.min(), schedule.end_time.max()
    within = np.diff(np.clip([load.index, load.index + width], *ends), axis=0)[0]
    return float((load[within > 0] * width / within[within > 0]).max())
