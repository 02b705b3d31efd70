"""Explorer of time-sharing against batch on one machine: sharing, noise, overhead, memory.

Jobs are made like Edison's on a small machine, or are days of a log, and simulated twice:
time-shared, with the shares around the moment recorded, and in batch. Every control simulates
time-sharing anew, but batch only where it can differ: not for overhead, memory and moment. Of a log
so many jobs are taken that a picture takes about 0.3 s.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go

from cosimlib import checks as check
from cosimlib import synthetic
from cosimlib.display import count, or_unknown, percent
from cosimlib.explorers.knobs import Knob, Settings
from cosimlib.explorers.logs import Log, estimated
from cosimlib.explorers.panel import Panel, says_compiling
from cosimlib.explorers.timeline import LOAD_STEP, Period, Timeline
from cosimlib.figures.timesharing_moment import plot_sharing
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
GIVEN = "given"
MEMORY = (("a tenth of the jobs needs 60 %", "tenth"), ("the longest jobs need 60 %", "longest"),
          ("spread as on UniLu-Gaia", "UniLu-Gaia"))  # fmt: skip
AS_GIVEN = (("as the log says", GIVEN),)

A_CAPACITY = partial(check.number, least=0, below=1, kind="a part of the capacity,")

Runs = tuple[TimesharedSchedule, Schedule]


@says_compiling()
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
        How many of a source are taken in a row, where the days chosen are busy; fewer of very wide
        ones.
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
        (hours); of a source of several days also `period`, the first and the last one.

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
    made = NODES if nodes is None and source is None else nodes
    if source is None:
        check.whole("nodes", made, 16, where="synthetic Edison")
    check.whole("nodes", made, 1, none=True)
    jobs_of = _Jobs(days, EDISON.with_nodes(made or NODES))
    if source is not None:
        machine = _machine(source, system, nodes)
        fill = partial(_filled, memory_per_node)
        jobs_of.timeline = Timeline(source, machine, jobs, fill, moment=jobs_of.clock)
    timeline = jobs_of.timeline
    first = timeline.settings if timeline else {}
    own = jobs_of.load(first) if load is None or jobs_of.no_load(first) else load
    check.number("load", own, above=0, where="" if timeline else "synthetic Edison")
    spreads = AS_GIVEN if timeline else MEMORY
    spread = spreads[0][1] if memory_spread is None else memory_spread
    most_noise = jobs_of.most_noise(first)
    knobs = [
        Knob("load", own, "offered load", step=LOAD_STEP, form=".2f", off_when=jobs_of.no_load,
             low=lambda now: min(0.1, own, jobs_of.load(now)),
             high=lambda now: max(1.2, own, jobs_of.load(now))),
        Knob("overhead", overhead, "overhead", high=0.3, step=0.01, form=".2f", check=A_CAPACITY),
        Knob("noise", noise, "noise (probability)", form=".2g", step=min(0.001, most_noise / 50),
             high=lambda now: max(jobs_of.most_noise(now), noise)),
        Knob("spmd", spmd, "jobs", options=KINDS, check=check.flag),
        Knob("memory_spread", spread, "memory", options=spreads, off_when=jobs_of.no_memory),
        Knob("seed", seed, "seed", high=50, whole=True, off_when=jobs_of.no_seed),
    ]  # fmt: skip
    run = _runner(jobs_of)
    settings = first | {knob.name: knob.setting for knob in knobs}
    span = jobs_of.span(settings)
    check.number("at", at, least=0.0, most=span, kind="seconds", none="for the most crowded hour")
    moment = _most_crowded(run, settings, span) if at is None else float(at)
    knobs.append(
        Knob("moment", moment / HOUR, "moment", "h", step=0.25, form=".2f",
             high=lambda now: jobs_of.span(now) / HOUR,
             readout=jobs_of.instant if timeline else None)
    )  # fmt: skip

    def follow(before: Settings, now: Settings) -> Settings:
        if before.get("period") == now.get("period"):
            return {}
        now = now | {"load": jobs_of.load(now)}
        return {"load": now["load"], "moment": _most_crowded(run, now, jobs_of.span(now)) / HOUR}

    return Panel(knobs, partial(_draw, run), follow=follow, timeline=timeline)


class _Jobs:
    """Jobs like Edison's on a small machine, or with a `timeline` those of a log's days."""

    timeline: Timeline | None = None

    def __init__(self, days: int, machine: System) -> None:
        self._days, self._machine = days, machine

    def make(self, period: Period | None, load: float, **knobs: Any) -> Workload:
        if self.timeline is not None:
            return self.timeline.loaded(load, period)
        return synthetic.edison(self._days, nodes=self._machine.total_nodes, load=load, **knobs)

    def machine(self, now: Settings) -> System:
        return self.timeline.part(now).system if self.timeline else self._machine

    def load(self, now: Settings) -> float:
        return self.timeline.load(now) if self.timeline else LOAD

    def span(self, now: Settings) -> float:
        """Seconds in which a moment can be chosen; less load stretches a log."""
        if self.timeline is None:
            return self._days * DAY
        jobs = self.timeline.part(now).workload.jobs
        span = max(float((jobs["submit_time"] + jobs["run_time"]).max()), HOUR)
        return span * max(1.0, self.load(now) / now["load"])

    def most_noise(self, now: Settings) -> float:
        if self.timeline is None:
            return MOST_NOISE
        return bearable_noise(self.timeline.part(now).workload, MOST_NOISE, most=MOST_MOVES)

    def clock(self, now: Settings) -> float:
        """The moment chosen, on the clock of the log."""
        start = self.timeline.part(now).start if self.timeline else 0.0
        return start + now["moment"] * HOUR

    def instant(self, now: Settings) -> str:
        """The moment chosen, in words."""
        return self.timeline.instant(self.clock(now)) if self.timeline else ""

    def no_load(self, now: Settings) -> str:
        return self.timeline.no_load(now) if self.timeline else ""

    def no_seed(self, now: Settings) -> str:
        return "nothing is drawn without noise" if self.timeline and not now["noise"] else ""

    def no_memory(self, now: Settings) -> str:
        if self.timeline is None:
            return ""
        known = self.timeline.log.workload.column("memory").notna().any()
        return "the log says what its jobs need" if known else (
            "the log does not say what its jobs need; it counts as nothing")  # fmt: skip


def _machine(
    source: Workload | Schedule, system: System | None, nodes: int | None
) -> System | None:
    """The source's machine with so many nodes; None where its own will do."""
    if nodes is None:
        return system
    check.instance("source", source, Workload, Schedule)
    machine = system or (source.system if isinstance(source, Schedule) else source.machine)
    return System.of(nodes) if machine is None else machine.with_nodes(nodes)


def _filled(memory_per_node: float | None, log: Log) -> Log:
    """The log with what it lacks, from its first submission on, and notes of that."""
    log = estimated(log)
    derived = memory_per_node is None and not log.system.memory_per_node > 0
    if not derived and memory_per_node is None:
        memory_per_node = log.system.memory_per_node
    before = replace(log.workload, machine=log.system)
    workload = with_node_memory(before, memory_per_node=memory_per_node, node_starts=MOST_STARTS)
    machine = check.machine(workload.machine, workload.name)
    start = float(before.jobs["submit_time"].min())
    filled = log._replace(workload=workload, system=machine, start=start)
    return filled.noted(
        f"A node's memory is supposed to be {machine.memory_per_node:.3g} GB, twice what 99 % of "
        "the jobs need (in code, memory_per_node= gives another)."
        if derived and before.column("memory").notna().any() else "",
        f"{len(workload):,} of these jobs are simulated, which fit and start on at most "
        f"{MOST_STARTS:,} nodes." if len(before) > len(workload) else "",
    )  # fmt: skip


def _most_crowded(run: Callable[..., Runs], now: Settings, span: float) -> float:
    """The middle of the hour with the most jobs on a node while jobs are submitted."""
    shared, _ = run(None, **{name: value for name, value in now.items() if name != "moment"})
    crowd = shared.series["cpu_load"]
    crowd = crowd[crowd.index < span]
    return min(float(crowd.idxmax()) + HOUR / 2, span) if len(crowd) else 0.0


def _runner(jobs_of: _Jobs) -> Callable[..., Runs]:
    """A function that simulates both policies, with shares around a moment if any; cached."""
    make = lru_cache(maxsize=4)(jobs_of.make)

    @lru_cache(maxsize=8)
    def shared(
        at: float | None, period: Period | None, load: float, memory_spread: str, seed: int,
        **knobs: Any,
    ) -> TimesharedSchedule:  # fmt: skip
        workload = make(period, load=load, memory_spread=memory_spread, seed=seed)
        sample = None if at is None else _around(at)
        if sample is not None and not knobs["noise"]:
            whole = shared(None, period, load, memory_spread, seed, **knobs)
            sample = _with_changes(sample, whole)
        machine = jobs_of.machine({"period": period} if period else {})
        return simulate_timesharing(workload, machine, seed=seed, sample=sample, **knobs)

    @lru_cache(maxsize=4)
    def batch(period: Period | None, load: float, seed: int, **knobs: Any) -> Schedule:
        machine = jobs_of.machine({"period": period} if period else {})
        return simulate_batch(make(period, load=load, seed=seed), machine, seed=seed, **knobs)

    def run(
        at: float | None, *, load: float, overhead: float, memory_spread: str, seed: int,
        period: Period | None = None, **knobs: Any,
    ) -> Runs:  # fmt: skip
        crowd = shared(at, period, load, memory_spread, seed, overhead=overhead, **knobs)
        return crowd, batch(period, load, seed, **knobs)

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


def _draw(run: Callable[..., Runs], *, moment: float, **settings: Any) -> tuple[go.Figure, str]:
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
