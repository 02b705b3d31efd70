"""Explorer of time-sharing against batch on one machine: sharing, noise, overhead, memory.

Jobs are made like Edison's on a small machine, or are days of a log, and simulated twice:
time-shared, with the shares around the moment recorded, and in batch. Every control simulates
time-sharing anew, but batch only if it can differ: not for overhead and moment. Of a log so many
jobs are taken that a picture takes about 0.3 s.
"""

from typing import Any

import numpy as np
import pandas as pd

from cosimlab import timesharing as batches
from cosimlab import twins
from cosimlab.explorers.answer import Answer, jobs_of
from cosimlab.explorers.knobs import Knob, Settings, cached
from cosimlab.explorers.logs import Log, estimated
from cosimlab.explorers.panel import Panel, explorer
from cosimlab.explorers.timeline import Timeline
from cosimlab.figures.timesharing_moment import plot_sharing
from cosimlib import checks as check
from cosimlib import timesharing
from cosimlib.display import count, or_unknown, percent
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.timesharing import RunSummary
from cosimlib.timesharing.schedule import TimesharedSchedule
from cosimlib.units import HOUR, MINUTE
from cosimlib.workload import Workload

SHOWN = 6 * HOUR
"""Seconds in which shares are shown, the moment in their middle."""
SAMPLED = 3 * MINUTE
"""Seconds between two shares: each of them stops the simulation."""

DAYS, NODES, LOAD = 7, 64, 0.89
"""Of made jobs."""
LEAST = (760, 470)
"""Pixels of the figure, whose five parts need more room than one."""
MOST_STARTS = 50_000
"""Nodes that the jobs of a log may start on together, so that a picture does not take long."""

KINDS = {True: "slowest node (SPMD)", False: "mean of nodes (not SPMD)"}
NOISE = ("noise", "spmd", "seed")
OF_BATCH = ("period", "load", *NOISE)
OF_SHARED = (*OF_BATCH, "overhead")
"""Settings that each simulation depends on."""


@explorer
def explore_timesharing(
    source: Workload | Schedule | None = None,
    system: System | None = None,
    *,
    jobs: int = 1000,
    **settings: Any,
) -> Panel:
    """Explorer of time-sharing: shares on a crowded node, jobs on nodes, gain over batch.

    Parameters
    ----------
    source : Workload or Schedule, optional
        By default a week of `twins.edison` on 64 nodes. Of a schedule the workload. Requested
        times that it lacks are run times, memory that it does not tell is none.
    system : System, optional
        The source's machine; by default its own, or one that holds its jobs. Memory per node that
        is unknown is twice what 99 % of the jobs need at most.
    jobs : int, default 1000
        How many of a source are taken in a row, where the days chosen are busy; fewer of very wide
        ones.
    **settings
        First values of the controls, see below.

    Returns
    -------
    Panel
        Its `controls` are `load`, `overhead`, `noise`, `spmd`, `seed` and `at` (seconds); of jobs
        of several days also `period`, the first and the last one.

    Other Parameters
    ----------------
    load : float, optional
        Offered load, by default .89 of made jobs, and of a source its own. At its own load a source
        is simulated as it is, else the times between submissions are scaled.
    overhead : float, default 0
        Part of every node's capacity that sharing costs, up to .3; batch has none.
    noise : float, default 0
        Probability that a node is slowed in a step of 10 s, in batch too; up to .01.
    spmd : bool, default True
        Whether a job runs everywhere at the speed of its slowest node.
    seed : int, default 0
        Of the noise.
    at : float, optional
        The moment around which shares are shown, seconds from the first submission, by default in
        the most crowded hour.

    Raises
    ------
    TypeError
        If `source` is not a workload or schedule.
    ValueError
        If no job of the source fits, or a setting is out of range.

    Examples
    --------
    >>> import cosimlab as lab
    >>> panel = lab.explore_timesharing(lab.twins.edison(2, nodes=16))
    >>> panel.settings["overhead"]
    0.0
    """
    if source is None:
        source = twins.edison(DAYS, nodes=NODES, load=LOAD, seed=0)
        jobs = len(source)
    runs = _Runs(source, system, jobs, _filled)
    knobs = [
        runs.load_knob(1.2),
        Knob("overhead", 0.0, "overhead of sharing", high=0.3, step=0.01),
        Knob("noise", 0.0, "noise (probability)", high=0.01, step=0.0005),
        Knob("spmd", True, "speed of a job", options=(True, False), named=KINDS.__getitem__),
        Knob(
            "seed",
            0,
            "seed of the noise",
            high=50,
            whole=True,
            off_when=lambda now: "" if now["noise"] else "without noise nothing is random",
        ),
        Knob(
            "at",
            runs.most_crowded,
            "moment",
            high=runs.span,
            step=HOUR / 4,
            readout=lambda now: runs.instant(runs.clock(now)),
        ),
    ]
    return Panel(knobs, runs.drawn, settings, timeline=runs, least=LEAST)


class _Runs(Timeline):
    """The jobs of a source's days, and both simulations of them."""

    def __init__(self, *asked: Any) -> None:
        super().__init__(*asked, moment=self.clock)
        self._batch = cached(self._in_batch, *OF_BATCH)
        self._shared = cached(self._time_shared, *OF_SHARED, "at", size=8)

    def _in_batch(self, now: Settings) -> Schedule:
        asked = {name: now[name] for name in NOISE}
        return batches.simulate_batch(self.loaded(now), self.part(now).system, **asked)

    def _time_shared(self, now: Settings) -> TimesharedSchedule:
        """With shares around the moment, if there is one."""
        sample = _around(now["at"]) if "at" in now else None
        asked = {name: now[name] for name in (*NOISE, "overhead")}
        return timesharing.simulate_timesharing(
            self.loaded(now), self.part(now).system, sample=sample, **asked
        )

    def span(self, now: Settings) -> float:
        """Seconds in which a moment can be chosen; less load stretches a log."""
        jobs = self.part(now).workload.jobs
        span = max(float((jobs["submit_time"] + jobs["run_time"]).max()), HOUR)
        return span * max(1.0, self.load(now) / now["load"])

    def clock(self, now: Settings) -> float:
        """The moment chosen, on the clock of the log."""
        return self.part(now).start + now["at"]

    def most_crowded(self, now: Settings) -> float:
        """The middle of the hour with the most jobs on a node while jobs are submitted."""
        crowd = self._shared({name: now.get(name) for name in OF_SHARED}).series["cpu_load"]
        span = self.span(now)
        crowd = crowd[crowd.index < span]
        return min(float(crowd.idxmax()) + HOUR / 2, span) if len(crowd) else 0.0

    def drawn(self, now: Settings) -> Answer:
        """Figure, text and notes for the controls' values."""
        shared, batch = self._shared(now), self._batch(now)
        runs = [timesharing.summarize_run(each, warm_up=0.0) for each in (shared, batch)]
        slow = [f"{run.mean_slowdown:,.2f}" for run in runs]
        title = f"{shared.policy}: mean slowdown {slow[0]}; {batch.policy}: {slow[1]}"
        picture = plot_sharing(shared, batch, at=now["at"], title=title)
        numbers = _numbers(*runs)
        return Answer(
            picture, _facts(*runs), self.part(now).notes, numbers, lambda: _table(shared, batch)
        )


def _filled(log: Log) -> Log:
    """The log with what it lacks, from its first submission on, and notes of that."""
    log = estimated(log)
    before = log.workload
    own = log.system.memory_per_node if log.system.memory_per_node > 0 else None
    workload = batches.with_node_memory(before, memory_per_node=own, node_starts=MOST_STARTS)
    known = before.column("memory").notna().any()
    gigabytes = check.machine(workload.machine, workload.name).memory_per_node
    return log.of(
        workload,
        "" if known else "The log does not say what memory jobs need; it counts as nothing.",
        f"A node's memory is assumed to be {gigabytes:.3g} GB, twice what 99 % of the jobs need "
        "(in Python, system= gives another)."
        if own is None and known
        else "",
        f"{len(workload):,} of these jobs are simulated, which fit and start on at most "
        f"{MOST_STARTS:,} nodes."
        if len(before) > len(workload)
        else "",
        start=float(before.jobs["submit_time"].min()),
    )


def _around(at: float) -> np.ndarray:
    """Times around a moment."""
    first = max(0.0, np.floor((at - SHOWN / 2) / SAMPLED) * SAMPLED)
    return np.arange(first, first + SHOWN + SAMPLED, SAMPLED)


def _table(shared: Schedule, batch: Schedule) -> pd.DataFrame:
    """The jobs with their times, once per system."""
    runs = {"time-sharing": shared, "batch": batch}
    return pd.concat([jobs_of(run).assign(system=name) for name, run in runs.items()])


def _numbers(shared: RunSummary, batch: RunSummary) -> dict[str, float]:
    """What two settings are compared by."""
    numbers = {"slowdown, batch ÷ time-sharing": batch.mean_slowdown / shared.mean_slowdown}
    for name, run in (("time-sharing", shared), ("batch", batch)):
        numbers |= {
            f"{name}: mean slowdown": run.mean_slowdown,
            f"{name}: median slowdown": run.quantile(0.5),
            f"{name}: utilization (%)": 100 * run.utilization,
            f"{name}: jobs that waited": float(round(run.waited * run.jobs)),
        }
    return numbers


def _facts(shared: RunSummary, batch: RunSummary) -> list[str]:
    """The line under the figure."""
    numbers = [
        f"slowdown {run.quantile(0.5):,.2f} (median), {run.mean_slowdown:,.2f} (mean), "
        f"utilization {percent(run.utilization, 1)}"
        for run in (shared, batch)
    ]
    waited = [count(round(run.waited * run.jobs), "job") for run in (shared, batch)]
    return [
        f"{shared.data}, {count(shared.jobs, 'job')}",
        f"time-sharing: {numbers[0]}, CPU load {or_unknown(shared.cpu_load, '.2f')} jobs on a "
        f"node, {waited[0]} had to wait for memory",
        f"batch: {numbers[1]}, {waited[1]} had to wait for nodes",
        "utilization is of the hours that begin before the last submission",
    ]
