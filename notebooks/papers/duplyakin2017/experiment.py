"""The experiment: the paper's two workloads, their schedules, and sequences of preemptions.

HTC is ten shuffled copies of a trace that is public. PEREGRINE is 7,275 of 10,000 jobs that were
public; what is left of them (`cosimlib.traces.published`) lacks exit status, so which jobs
"successfully finished" is not known. `draw_peregrine` therefore draws 7,275 of its jobs so that
they have Table 1 and as many jobs of gaussian as the paper says. Nothing but these inputs of the
paper is fitted; the order of the jobs is drawn. The queue bigmem, which the extract does not name,
is drawn as in the twin (`twins.bigmem_jobs`): its weight is an inference from the paper's
results. Where a file is not on this machine, a synthetic twin with the same Table 1 takes its
place.

The paper analyzes single preemptions, for it had no logs of preemptions. In our sequences users'
requests come as a Poisson process of a given rate, and the protocol runs (`elastic.simulation`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cosimlab.sweep import sweep
from cosimlab.twins import bigmem_jobs, peregrine
from cosimlib import checks as check
from cosimlib import traces
from cosimlib.audit import audit
from cosimlib.batch import (
    simulate_conservative,
    simulate_easy,
    simulate_fcfs,
    simulate_first_fit,
)
from cosimlib.elastic import (
    GRACE_PERIODS,
    PREEMPTED,
    ElasticSchedule,
    draw_preemptions,
    execution_states,
    prioritize,
    simulate_elastic,
    taken_jobs,
    wasted_cycles,
)
from cosimlib.kernels.jit import allocating_kernel
from cosimlib.schedule import Schedule
from cosimlib.synthetic import shapes
from cosimlib.system import System
from cosimlib.units import DAY, HOUR
from cosimlib.workload import InvalidWorkloadError, Workload
from papers.duplyakin2017.htc import htc, shuffled_copies

TABLE_1 = pd.DataFrame(
    {
        "HTC": (
            11_200,
            1_379.05,
            443.27,
            54.0,
            84.0,
            106.0,
            134.25,
            7_140.0,
            1.0,
            1.0,
            1.0,
            1.0,
            1.0,
            1.0,
        ),
        "PEREGRINE": (
            7_275,
            26_838.58,
            7_119.07,
            33.0,
            439.5,
            1_921.0,
            6_840.5,
            85_945.0,
            1.42,
            1.0,
            1.0,
            1.0,
            1.0,
            16.0,
        ),
    },
    [
        "jobs",
        "node-hours",
        *(
            f"{what} {name}"
            for what in ("run", "nodes")
            for name in ("mean", "min", "25%", "50%", "75%", "max")
        ),
    ],
)
"""Table 1 as printed: rows as the columns of `describe`, one column per workload."""
PUBLIC = ("HTC-2017", "PEREGRINE-10k")
RANKS = (0, 1_818, 1_819, 3_637, 5_455, 5_456, 7_274)
RUN_TIMES = (33.0, 439.0, 440.0, 1_921.0, 6_839.0, 6_842.0, 85_945.0)
"""Run times (s) of the jobs of these ranks, which make Table 1's extremes and quartiles exactly."""
GAUSSIAN, ONE_NODE = 341, 5_980
"""Jobs of one node are "over 82 %": 82.2 %."""
TOLERANCE = 5e-4
"""How far means and sums of a draw may be from the printed ones, relatively."""
SWAPS = 400_000

Simulate = Callable[[Workload, System], Schedule]
Waste = Mapping[str, pd.DataFrame]
"""By policy, node-seconds wasted per state and grace period, as of `wasted_cycles`."""
FIRST_FIT = partial(simulate_first_fit, decide="per_event")
FOUR = ["RANDOM", "FIFO", "LIFO", "PAP"]
"""The policies without priorities."""
CLASSES: Mapping[str, str] = {"bigmem": "queue", "gaussian": "application"}
"""The classes of high priority, and the column that names each."""
MEDIAN_REQUEST = 19.2
"""Median of requested ÷ run times of PEREGRINE, as the paper prints it."""


class Backfilling(NamedTuple):
    """A scheduler; the median of requested ÷ run times, by default that of the setting."""

    simulate: Simulate
    request_factor: float | None = None


SCHEDULERS: Mapping[str, Backfilling] = {
    "EASY": Backfilling(simulate_easy),
    "first fit": Backfilling(FIRST_FIT),
    "conservative": Backfilling(simulate_conservative),
    "EASY, long requests": Backfilling(simulate_easy, MEDIAN_REQUEST),
}
"""Readings of "First-Come-First-Served job scheduling with backfilling" (`data/readings.csv`).

A reservation for the head of the queue, none, or one for every job; and, of the first, one that
rests on requested times instead of run times.
"""


class Assumption(NamedTuple):
    """What is simulated: with a twin's jobs or the public ones, requests, an order, a scheduler."""

    simulate: Simulate
    twin: bool = False
    request_factor: float = 1.0
    by_width: int = 0


ASSUMPTIONS: Mapping[str, Assumption] = {
    "EASY": Assumption(simulate_easy),
    "EASY, the twin's jobs": Assumption(simulate_easy, twin=True),
    "EASY, requests 19.2 times too long": Assumption(simulate_easy, request_factor=MEDIAN_REQUEST),
    "EASY, wide jobs first": Assumption(simulate_easy, by_width=-1),
    "EASY, narrow jobs first": Assumption(simulate_easy, by_width=1),
    "conservative": Assumption(simulate_conservative),
    "FCFS without backfilling": Assumption(simulate_fcfs),
    "first fit, per instant": Assumption(simulate_first_fit),
    "first fit, per event": Assumption(FIRST_FIT),
    "first fit, per event, the twin's jobs": Assumption(FIRST_FIT, twin=True),
}
"""One assumption at a time; the jobs are the public ones where these can be had."""


class Setting(NamedTuple):
    """Parameters of the evaluation.

    The paper's N `nodes` and P `preempted`; the `priority` of a class; the grace period (s) of the
    waste by priority in figures and of sequences; the median of requested ÷ run times.
    """

    nodes: int = 20
    preempted: int = PREEMPTED
    priority: float = 10.0
    grace_period: float = 120.0
    request_factor: float = 1.0


class Inputs(NamedTuple):
    """The public files that workloads are drawn from; None where a twin takes the place."""

    trace: Workload | None = None
    extract: Workload | None = None

    @property
    def label(self) -> str:
        """What the workloads are, as a figure or the scorecard says it."""
        short = "synthetic HTC" if self.trace is None else "HTC's public trace"
        drawn = "draws of PEREGRINE's public jobs"
        return f"{short}, {'synthetic PEREGRINE' if self.extract is None else drawn}"

    def draw(self, *, request_factor: float = 1.0, seed: int = 0) -> dict[str, Workload]:
        """HTC and PEREGRINE with a seed: order and draw of public jobs, or twins."""
        knobs: dict[str, Any] = {"request_factor": request_factor, "seed": seed}
        return {
            "HTC": shuffled_copies(self.trace, **knobs) if self.trace is not None else htc(**knobs),
            "PEREGRINE": draw_peregrine(self.extract, **knobs)
            if self.extract is not None
            else peregrine(**knobs),
        }


class Schedules(NamedTuple):
    """Of HTC and of PEREGRINE on N nodes, of PEREGRINE on 10 N, and with each class preferred.

    `half` is of PEREGRINE's jobs that fit on half of the nodes, as in figure 5, with bigmem
    preferred.
    """

    htc: Schedule
    peregrine: Schedule
    larger: Schedule
    preferred: Mapping[str, Schedule]
    half: Schedule


def paper_inputs(trace: str | Path = "") -> Inputs:
    """The paper's public files where they are on this machine, and twins for the others.

    With ``"synthetic"`` both are twins; a log that is not the paper's changes nothing.
    """
    if trace == traces.SYNTHETIC:
        return Inputs()
    return Inputs(
        *(traces.load(n, verbose=False) if traces.find_trace(n) else None for n in PUBLIC)
    )


def describe(workloads: Mapping[str, Workload]) -> pd.DataFrame:
    """Table 1: one column per workload, rows as of `TABLE_1`."""
    columns = {}
    for name, workload in workloads.items():
        jobs = workload.jobs
        column = {"jobs": len(jobs), "node-hours": float(jobs["nodes"] @ jobs["run_time"]) / HOUR}
        for label, values in (("run", jobs["run_time"]), ("nodes", jobs["nodes"])):
            described = values.describe().drop(["count", "std"])
            column |= {f"{label} {statistic}": value for statistic, value in described.items()}
        columns[name] = column
    return pd.DataFrame(columns).round(2)


def simulate(
    workloads: Mapping[str, Workload], setting: Setting, scheduler: str = "EASY"
) -> Schedules:
    """Schedule HTC and PEREGRINE by one of `SCHEDULERS`.

    Requested times are those of the workloads; `draw_for` draws those of a scheduler.
    """
    run, batch = SCHEDULERS[scheduler].simulate, workloads["PEREGRINE"]
    system = System.of(setting.nodes)
    schedule = run(batch, system)
    # Priorities are the preemption policy's: jobs are scheduled as without them.
    preferred = {
        name: replace(schedule, workload=prioritize(batch, {name: setting.priority}, by=by))
        for name, by in CLASSES.items()
    }
    larger = run(batch, System.of(10 * setting.nodes))
    few = setting.nodes // 2
    narrow = fitting(preferred["bigmem"].workload, few)
    half = run(narrow, System.of(few))
    return Schedules(run(workloads["HTC"], system), schedule, larger, preferred, half)


def fitting(workload: Workload, nodes: int) -> Workload:
    """The jobs that fit on so many nodes."""
    return workload.keep(workload.jobs["nodes"] <= nodes, "wider than the partition")


def draw_for(
    scheduler: str, inputs: Inputs, setting: Setting, *, seed: int = 0
) -> dict[str, Workload]:
    """HTC and PEREGRINE with the requested times that one of `SCHEDULERS` reads."""
    factor = SCHEDULERS[scheduler].request_factor
    return inputs.draw(request_factor=factor or setting.request_factor, seed=seed)


def assume(assumption: str, inputs: Inputs, setting: Setting, seed: int) -> Schedule:
    """PEREGRINE's schedule with gaussian preferred, under one of `ASSUMPTIONS`."""
    made = ASSUMPTIONS[assumption]
    drawn = (Inputs() if made.twin else inputs).draw(seed=seed, request_factor=made.request_factor)
    batch = drawn["PEREGRINE"]
    if made.by_width:
        order = np.argsort(made.by_width * batch.jobs["nodes"].to_numpy(), kind="stable")
        batch = Workload(batch.jobs.iloc[order].reset_index(drop=True), batch.name)
    preferred = prioritize(batch, {"gaussian": setting.priority}, by="application")
    return made.simulate(preferred, System.of(setting.nodes))


def waste(
    schedule: Schedule,
    grace_periods: Sequence[float] = GRACE_PERIODS,
    *,
    taken: Mapping[str, np.ndarray] | None = None,
    **knobs: Any,
) -> dict[str, pd.DataFrame]:
    """`wasted_cycles` of the four policies without priorities; `taken` by policy, where known."""
    known = taken or {}
    return {
        policy: wasted_cycles(
            schedule, policy=policy, grace_periods=grace_periods, taken=known.get(policy), **knobs
        )
        for policy in FOUR
    }


def summarize(wasted: Waste) -> pd.DataFrame:
    """Number of states, mean, quartiles and maximum (node-hours) per policy and grace period."""
    rows = []
    for policy, table in wasted.items():
        for period in table:
            hours = table[period].to_numpy() / HOUR
            low, median, high = np.quantile(hours, [0.25, 0.5, 0.75])
            row = {"policy": policy, "grace_period": period, "states": hours.size}
            row |= {"mean": hours.mean(), "25%": low, "50%": median, "75%": high}
            rows.append(row | {"max": hours.max()})
    return pd.DataFrame(rows)


def quantiles(summary: pd.DataFrame, statistic: str = "50%") -> pd.DataFrame:
    """A statistic of `summarize`, such as the quartile ``"25%"``, by grace period and policy."""
    return summary.pivot(  # noqa: PD010
        index="grace_period", columns="policy", values=statistic
    )


def waste_by_priority(
    schedule: Schedule,
    setting: Setting,
    *,
    moments: np.ndarray | None = None,
    taken: Mapping[str, np.ndarray] | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Node-seconds that a preemption would waste, by state, of `high` and `default` priority.

    Columns are (policy, priority), of PAP and PAP+; high is any priority above 1. `taken` has what
    `taken_jobs` gives of each policy, where it is known.
    """
    at = execution_states(schedule) if moments is None else moments
    high = schedule.workload.column("priority").to_numpy(np.float64) > 1
    knobs: dict[str, Any] = {"moments": at, "preempted": setting.preempted, "seed": seed}
    known = taken or {}
    jobs = {
        policy: known[policy] if policy in known else taken_jobs(schedule, policy=policy, **knobs)
        for policy in ("PAP", "PAP+")
    }
    periods = [setting.grace_period]
    columns = {
        (policy, name): wasted_cycles(
            schedule, grace_periods=periods, moments=at, counted=counted, taken=jobs[policy]
        ).squeeze(1)
        for policy in jobs
        for name, counted in (("high", high), ("default", ~high))
    }
    return pd.concat(columns, axis=1, names=["policy", "priority"])


def drained(
    schedule: Schedule,
    policies: Sequence[str],
    grace_periods: Sequence[float],
    *,
    moments: Sequence[float] | np.ndarray | None = None,
    **knobs: Any,
) -> pd.DataFrame:
    """What becomes of the jobs that a preemption touches, over all states.

    A job that ends within the grace period wastes nothing, but if the host waits for its end, the
    nodes taken of it are then idle until the period is over: the paper's other metric.

    Returns
    -------
    pd.DataFrame
        `policy`, `grace_period`, `touched` (jobs per state), `killed` (share of these), `idle`
        (node-hours per state).
    """
    rows = []
    at = execution_states(schedule) if moments is None else np.array(moments, dtype=np.float64)
    for policy in policies:
        job = taken_jobs(schedule, policy=policy, moments=at, **knobs)
        # The last row is that of an idle node's job, which has no end.
        remaining = np.append(schedule.end_time, np.nan)[job] - at[:, None]
        first = _first_of_job(job)
        jobs, states = first.sum(), len(first)
        for period in grace_periods:
            killed = (first & (remaining >= period)).sum() / jobs
            idle = np.fmax(period - remaining, 0.0).sum() / states / HOUR
            rows.append((policy, period, jobs / states, killed, idle))
    return pd.DataFrame(rows, columns=["policy", "grace_period", "touched", "killed", "idle"])


def _first_of_job(job: np.ndarray) -> np.ndarray:
    """Whether each node taken is the first of its job at its moment (moments × nodes taken)."""
    order = np.argsort(job, axis=1, kind="stable")
    again = np.diff(np.take_along_axis(job, order, axis=1), axis=1, prepend=-2) == 0
    first = np.empty_like(again)
    np.put_along_axis(first, order, ~again, axis=1)
    return first & (job >= 0)


def lend(workloads: Mapping[str, Workload], setting: Setting, *, seed: int = 0) -> ElasticSchedule:
    """Both workloads on one host with spare nodes, and four users per day for 20 days."""
    users = draw_preemptions(
        rate=4, size=setting.preempted, duration=6 * HOUR, horizon=20 * DAY, seed=seed
    )
    system = System("host", dict.fromkeys(workloads, setting.nodes))
    knobs: dict[str, Any] = {
        "policy": "PAP",
        "grace_period": setting.grace_period,
        "spare": setting.nodes // 4,
    }
    return audit(
        simulate_elastic(Workload.join(dict(workloads)), system, preemptions=users, **knobs)
    )


def sweep_sequences(
    workload: Workload, setting: Setting, seeds: Iterable[int], **varied: Iterable[float]
) -> pd.DataFrame:
    """Throughput and wasted cycles of sequences of preemptions, by policy and what is varied.

    Parameters
    ----------
    workload : Workload
        Jobs, of which PAP+ prefers those of high `priority`.
    setting : Setting
    seeds : iterable of int
        Each draws preemptions of its own.
    **varied
        Values of `rate` (per day; else 4), `size` (nodes; else P) or `staleness` (s; else 0).

    Returns
    -------
    pd.DataFrame
        `policy`, what is varied, `seed`; of the runs that ended while the workload would have run
        undisturbed: `relative` (node-seconds of completed ones, over those of the undisturbed),
        `wasted` (the killed ones' share of node-seconds); and `served`, the share of the nodes
        asked for by users that they got.
    """
    undisturbed = simulate_elastic(workload, System.of(setting.nodes))
    horizon = float(max(undisturbed.end_time))
    shared = {
        "workload": workload,
        "setting": setting,
        "horizon": horizon,
        "most": _node_seconds(undisturbed, horizon)[0],
    }
    grid = {"policy": ["RANDOM", "FIFO", "LIFO", "PAP", "PAP+"], **varied}
    return sweep(_sequence, grid, list(seeds), shared=shared, executor="cores", errors="raise")


def _sequence(
    policy: str,
    seed: int,
    *,
    workload: Workload,
    setting: Setting,
    horizon: float,
    most: float,
    rate: float = 4.0,
    size: int | None = None,
    staleness: float = 0.0,
) -> dict[str, float]:
    """What one run comes to; `most` is the useful node-seconds of the undisturbed one."""
    size = setting.preempted if size is None else size
    users = draw_preemptions(rate=rate, size=size, duration=HOUR, horizon=horizon, seed=seed)
    knobs: dict[str, Any] = {
        "grace_period": setting.grace_period,
        "staleness": staleness,
        "seed": seed,
    }
    schedule = audit(
        simulate_elastic(
            workload, System.of(setting.nodes), policy=policy, preemptions=users, **knobs
        )
    )
    useful, killed = _node_seconds(schedule, horizon)
    wasted = killed / (useful + killed) if killed else 0.0
    return {"relative": useful / most, "wasted": wasted, "served": schedule.served}


def _node_seconds(schedule: ElasticSchedule, horizon: float) -> tuple[float, float]:
    """Node-seconds of completed and of killed runs that ended by the horizon."""
    runs = schedule.attempts[schedule.attempts["end_time"] <= horizon]
    nodes = schedule.workload.jobs["nodes"].to_numpy()[runs["job"]]
    held = nodes * (runs["end_time"] - runs["start_time"])
    return float(held[runs["completed"]].sum()), float(held[~runs["completed"]].sum())


def draw_peregrine(extract: Workload, *, request_factor: float = 1.0, seed: int = 0) -> Workload:
    """7,275 jobs of the public extract that have Table 1, in random order, all submitted at 0.

    Extremes and quartiles of run times are the printed ones exactly, and so are the number of
    one-node jobs and of gaussian's; means and node-hours within 0.05 %.

    Parameters
    ----------
    extract : Workload
        Of `traces.load("PEREGRINE-10k")`.
    request_factor : float, default 1.0
        Median of requested ÷ run times, as in the twin.
    seed : int, default 0

    Returns
    -------
    Workload
        With `application`, and `queue`, which is bigmem or unknown.

    Raises
    ------
    InvalidWorkloadError
        Where the jobs cannot make Table 1.
    """
    check.number("request_factor", request_factor, least=1, where=extract.name)
    check.seed(seed, where=extract.name)
    rng = np.random.Generator(np.random.PCG64([int(seed), 3]))
    jobs = extract.jobs
    fits = jobs["nodes"].le(16) & jobs["run_time"].between(RUN_TIMES[0], RUN_TIMES[-1])
    jobs = jobs[fits].sort_values("run_time", kind="stable").reset_index(drop=True)
    chosen, fixed, stratum = _strata(jobs["run_time"].to_numpy(), extract.name, rng)
    run_time, nodes = (jobs[name].to_numpy(np.float64) for name in ("run_time", "nodes"))
    gaussian = jobs["application"].eq("gaussian").to_numpy(np.float64)
    features = np.column_stack([run_time, run_time * nodes, nodes, nodes == 1, gaussian])
    printed = TABLE_1["PEREGRINE"]
    count = printed["jobs"]
    target = np.array(
        [
            printed["run mean"] * count,
            printed["node-hours"] * HOUR,
            printed["nodes mean"] * count,
            ONE_NODE,
            GAUSSIAN,
        ]
    )
    _approach(features / target, chosen, fixed, stratum, SWAPS, rng)
    far = np.abs(features[chosen].sum(axis=0) / target - 1)
    if not (far <= [TOLERANCE, TOLERANCE, TOLERANCE, 0.0, 0.0]).all():
        raise InvalidWorkloadError(
            f"{extract.name}: no draw of its jobs has Table 1's means and counts; expected the "
            "public extract of Peregrine's log"
        )
    return _as_peregrine(jobs[chosen], extract.name, request_factor, seed, rng)


def _as_peregrine(
    jobs: pd.DataFrame, name: str, request_factor: float, seed: int, rng: np.random.Generator
) -> Workload:
    """Jobs drawn, in random order, with requests and the queue bigmem."""
    jobs = jobs.iloc[rng.permutation(len(jobs))].reset_index(drop=True)
    factor = shapes.log_uniform_factors(len(jobs), request_factor, rng)
    work = (jobs["run_time"] * jobs["nodes"]).to_numpy()
    drawn = pd.DataFrame(
        {
            "submit_time": 0.0,
            "run_time": jobs["run_time"],
            "requested_time": jobs["run_time"] * factor,
            "nodes": jobs["nodes"],
            "queue": pd.Series("bigmem", jobs.index).where(bigmem_jobs(work, seed=seed)),
            "application": jobs["application"],
        }
    )
    return Workload(drawn, f"PEREGRINE drawn from {name} (seed {seed})")


def _strata(
    run_time: np.ndarray, name: str, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A first draw between each two neighbors of `RUN_TIMES`; which jobs are fixed; strata."""
    chosen = np.zeros(run_time.size, dtype=bool)
    places = np.searchsorted(run_time, RUN_TIMES)
    if places[-1] >= run_time.size or not np.array_equal(run_time[places], RUN_TIMES):
        raise InvalidWorkloadError(
            f"{name}: no jobs of {', '.join(f'{value:g}' for value in RUN_TIMES)} s; expected the "
            "public extract of Peregrine's log"
        )
    fixed = np.zeros(run_time.size, dtype=bool)
    fixed[places] = chosen[places] = True
    stratum = np.searchsorted(places, np.arange(run_time.size), side="left")
    for number, (first, last) in enumerate(pairwise(RANKS), start=1):
        members = np.flatnonzero((stratum == number) & ~fixed)
        wanted = last - first - 1
        if members.size < wanted:
            raise InvalidWorkloadError(
                f"{name}: {members.size} jobs between {RUN_TIMES[number - 1]:g} and "
                f"{RUN_TIMES[number]:g} s; expected {wanted} or more"
            )
        chosen[rng.choice(members, wanted, replace=False)] = True
    return chosen, fixed, stratum


@allocating_kernel
def _approach(features, chosen, fixed, stratum, swaps, rng):
    """Swap jobs within strata at random, wherever sums of features come no farther from 1.

    `features` has one row per job. Changes `chosen`.
    """
    off = -np.ones(features.shape[1])
    for job in range(chosen.size):
        if chosen[job]:
            off += features[job]
    change = np.empty(off.size)
    for _ in range(swaps):
        one, other = rng.integers(0, chosen.size), rng.integers(0, chosen.size)
        if fixed[one] or fixed[other] or stratum[one] != stratum[other]:
            continue
        if chosen[one] == chosen[other]:
            continue
        inside, outside = (one, other) if chosen[one] else (other, one)
        before, after = 0.0, 0.0
        for feature in range(off.size):
            change[feature] = features[outside, feature] - features[inside, feature]
            before += off[feature] ** 2
            after += (off[feature] + change[feature]) ** 2
        if after <= before:
            off += change
            chosen[inside], chosen[outside] = False, True
