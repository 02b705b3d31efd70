"""Explorer of time-sharing against batch on one machine: sharing, noise, overhead, memory.

Jobs are made like Edison's on a small machine, or are days of a log, and simulated twice:
time-shared, with the shares around the moment recorded, and in batch. Every control simulates
time-sharing anew, but batch only if it can differ: not for overhead and moment. Of a log so many
jobs are taken that a picture takes about 0.3 s.
"""

from functools import partial
from html import escape

import numpy as np
import plotly.graph_objects as go

from cosimlib import checks as check
from cosimlib import synthetic
from cosimlib.display import count, or_unknown, percent
from cosimlib.explorers.knobs import Knob, Settings, cached, with_days
from cosimlib.explorers.logs import Log, estimated
from cosimlib.explorers.panel import Panel, says_compiling
from cosimlib.explorers.timeline import Timeline
from cosimlib.figures.timesharing_moment import plot_sharing
from cosimlib.schedule import Schedule
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
from cosimlib.units import HOUR
from cosimlib.workload import Workload

SHOWN = 6 * HOUR
"""Seconds in which shares are shown, the moment in their middle."""

NODES, LOAD, SPREAD = 64, 0.89, "longest"
"""Of made jobs, where nothing else is asked for."""
MOST_NOISE = 0.05
MOST_TRANSITIONS = 100_000
"""Changes of rates that noise may make in a log, so that a picture does not take long."""
MOST_STARTS = 50_000
"""Nodes that the jobs of a log may start on together, for the same reason."""

KINDS = {True: "SPMD: slowest node", False: "not SPMD: mean of nodes"}
OF_BATCH = ("period", "load", "noise", "spmd", "seed")
OF_SHARED = (*OF_BATCH, "overhead")
"""Settings that each simulation depends on."""


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
        Of the machine of made jobs, from 16, by default 64.
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
    memory_spread : {"longest", "tenth", "UniLu-Gaia"}, optional
        Which made jobs need how much memory, see `synthetic.edison`; by default the longest.
    seed : int, default 0
        Of made jobs and of the noise; the control is of the noise.
    at : float, optional
        The moment around which shares are shown, seconds from the first submission, by default in
        the most crowded hour.

    Returns
    -------
    Panel
        Its `controls` are `load`, `overhead`, `noise`, `spmd`, `seed` and `moment` (hours); of jobs
        of several days also `period`, the first and the last one.

    Raises
    ------
    TypeError
        If `source` is not a workload or schedule.
    ValueError
        If no job of the source fits, or a setting is out of range.

    Examples
    --------
    >>> import cosimlib as cs
    >>> panel = cs.explore_timesharing(days=2, nodes=16)
    >>> panel.settings["overhead"]
    0.0
    """
    check.whole("jobs", jobs, 1)
    check.number("noise", noise, least=0.0, most=1.0, kind="a probability")
    check.number("memory_per_node", memory_per_node, above=0, kind="GB", none=True)
    if source is None:
        source = synthetic.edison(
            days, nodes=NODES if nodes is None else nodes, load=LOAD if load is None else load,
            memory_spread=memory_spread or SPREAD, seed=seed,
        )  # fmt: skip
        jobs = len(source)
    else:
        why = "None: a log has its nodes and memory (in code, system= gives another machine)"
        for name, value in (("nodes", nodes), ("memory_spread", memory_spread)):
            check.that(name, value, value is None, why)
    jobs_of = _Jobs(source, system, jobs, memory_per_node)
    timeline = jobs_of.timeline
    knobs = [
        timeline.load_knob(load, 1.2),
        Knob("overhead", overhead, "overhead", high=0.3, step=0.01, most=0.99, form=".2f"),
        Knob("noise", noise, "noise (probability)", form=".2g", step=0.001,
             high=lambda now: max(jobs_of.most_noise(now), noise)),
        Knob("spmd", spmd, "jobs", options=(True, False), named=KINDS.__getitem__,
             check=check.flag),
        Knob("seed", seed, "seed of the noise", high=50, whole=True,
             off_when=lambda now: "" if now["noise"] else "nothing is drawn without noise"),
    ]  # fmt: skip
    first = timeline.settings | {knob.name: knob.setting for knob in knobs}
    span = jobs_of.span(first)
    check.number("at", at, least=0.0, most=span, kind="seconds", none="for the most crowded hour")
    knobs.append(
        Knob("moment", jobs_of.most_crowded(first) if at is None else at / HOUR, "moment", "h",
             step=0.25, form=".2f", high=lambda now: jobs_of.span(now) / HOUR,
             readout=lambda now: timeline.instant(jobs_of.clock(now)),
             follows=with_days(jobs_of.most_crowded))
    )  # fmt: skip
    return Panel(
        knobs, lambda now: _draw(*jobs_of.runs(now), now["moment"] * HOUR), notes=timeline.notes,
        timeline=timeline,
    )  # fmt: skip


class _Jobs:
    """The jobs of a source's days, and both simulations of them."""

    def __init__(
        self, source: Workload | Schedule, machine: System | None, jobs: int,
        memory_per_node: float | None,
    ) -> None:  # fmt: skip
        fill = partial(_filled, memory_per_node)
        self.timeline = Timeline(source, machine, jobs, fill, moment=self.clock)
        self._batch = cached(self._in_batch, *OF_BATCH)
        self._shared = cached(self._time_shared, *OF_SHARED, "moment", size=8)

    def runs(self, now: Settings) -> tuple[TimesharedSchedule, Schedule]:
        """Time-shared, with shares around the moment if any, and in batch."""
        return self._shared(now), self._batch(now)

    def _in_batch(self, now: Settings) -> Schedule:
        asked = {name: now[name] for name in ("noise", "spmd", "seed")}
        return simulate_batch(self.timeline.loaded(now), self.machine(now), **asked)

    def _time_shared(self, now: Settings) -> TimesharedSchedule:
        asked = {name: now[name] for name in ("noise", "spmd", "seed", "overhead")}
        sample = _around(now["moment"] * HOUR) if "moment" in now else None
        if sample is not None and not now["noise"]:
            whole = {name: value for name, value in now.items() if name != "moment"}
            sample = _with_changes(sample, self._shared(whole))
        workload = self.timeline.loaded(now)
        return simulate_timesharing(workload, self.machine(now), sample=sample, **asked)

    def machine(self, now: Settings) -> System:
        return self.timeline.part(now).system

    def span(self, now: Settings) -> float:
        """Seconds in which a moment can be chosen; less load stretches a log."""
        jobs = self.timeline.part(now).workload.jobs
        span = max(float((jobs["submit_time"] + jobs["run_time"]).max()), HOUR)
        return span * max(1.0, self.timeline.load(now) / now["load"])

    def most_noise(self, now: Settings) -> float:
        return bearable_noise(self.timeline.part(now).workload, MOST_NOISE, most=MOST_TRANSITIONS)

    def clock(self, now: Settings) -> float:
        """The moment chosen, on the clock of the log."""
        return self.timeline.part(now).start + now["moment"] * HOUR

    def most_crowded(self, now: Settings) -> float:
        """The middle of the hour with the most jobs on a node while jobs are submitted."""
        crowd = self._shared({name: now.get(name) for name in OF_SHARED}).series["cpu_load"]
        span = self.span(now)
        crowd = crowd[crowd.index < span]
        return min(float(crowd.idxmax()) + HOUR / 2, span) / HOUR if len(crowd) else 0.0


def _filled(memory_per_node: float | None, log: Log) -> Log:
    """The log with what it lacks, from its first submission on, and notes of that."""
    log = estimated(log)
    derived = memory_per_node is None and not log.system.memory_per_node > 0
    if not derived and memory_per_node is None:
        memory_per_node = log.system.memory_per_node
    before = log.workload
    workload = with_node_memory(before, memory_per_node=memory_per_node, node_starts=MOST_STARTS)
    has_memory = before.column("memory").notna().any()
    gigabytes = check.machine(workload.machine, workload.name).memory_per_node
    return log.of(
        workload,
        "" if has_memory else "The log does not say what memory jobs need; it counts as nothing.",
        f"A node's memory is supposed to be {gigabytes:.3g} GB, twice what 99 % of the jobs need "
        "(in code, memory_per_node= gives another)." if derived and has_memory else "",
        f"{len(workload):,} of these jobs are simulated, which fit and start on at most "
        f"{MOST_STARTS:,} nodes." if len(before) > len(workload) else "",
        start=float(before.jobs["submit_time"].min()),
    )  # fmt: skip


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


def _draw(shared: TimesharedSchedule, batch: Schedule, at: float) -> tuple[go.Figure, str]:
    """Figure and text for the controls' values."""
    runs = [summarize_run(schedule, warm_up=0.0) for schedule in (shared, batch)]
    return plot_sharing(shared, batch, at=at, title=_title(*runs)), _text(*runs)


def _title(shared: RunSummary, batch: RunSummary) -> str:
    """Mean slowdown under both policies."""
    return (
        f"{shared.policy}: mean slowdown {shared.mean_slowdown:,.2f}; "
        f"{batch.policy}: {batch.mean_slowdown:,.2f}"
    )


def _text(shared: RunSummary, batch: RunSummary) -> str:
    """The line under the figure."""
    return (
        f"{escape(shared.data)}, {count(shared.jobs, 'job')} · time-sharing: {_numbers(shared)}, "
        f"CPU load {or_unknown(shared.cpu_load, '.2f')} jobs on a node, "
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
