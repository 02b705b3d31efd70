"""The paper's jobs and schedulers, each run a cell of a sweep: loads, costs, intervals, variants.

Jobs are after Lomonosov-1, so many days of them. By default all wait from the start and the queue
never runs dry; else they are a Poisson stream of an offered load. They are measured over their
days.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

import cosimlab as lab
import cosimlib as cs
from cosimlib import checks as check
from cosimlib.filling import (
    FILLING_POLICIES,
    FilledSchedule,
    efficiency,
    full_queue,
    node_seconds,
    saved_every,
    simulate_filling,
    slots_between_kills,
    young_interval,
)
from cosimlib.metrics import mean_interval
from cosimlib.system import System
from cosimlib.traces import TRACES, find_trace
from cosimlib.units import DAY, HOUR, MINUTE
from cosimlib.workload import Workload

VARIANTS: dict[str, dict[str, Any]] = {
    "rescheduled": {},
    "not rescheduled": {"reschedule": False},
}
"""The paper's variants of the scheduler: what waiting jobs do where a job ends early."""

SPANS = {"quick": (20.0, 5), "paper": (180.0, 10)}
"""Days and seeds by scale; the paper simulates 180 days."""

INTERVALS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 200, 500)
"""Slots between saves that are compared."""

LENGTHS = (5, 10, 20, 30, 50, 100, 200)
"""Jobs that wait, of the inverse analysis."""

LITERATURE = 0.9
"""The load of real machines from which the paper's example starts."""

OVERHEADS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
SPEEDS = (0.6, 0.8, 1.0)
OFFERS = (0.7, 0.8, 0.9)
QUEUE, STREAM = "a queue that never runs dry", "jobs that arrive"

SIX_SLOTS = System.of(6)
SEVEN = pd.DataFrame(
    {"submit_time": 0.0, "run_time": [1, 2, 2, 3, 1, 4, 1], "nodes": [1, 1, 4, 2, 1, 2, 4]}
).assign(
    run_time=lambda jobs: MINUTE * jobs["run_time"], requested_time=lambda jobs: jobs["run_time"]
)
"""Seven jobs of our own, of which all is true that the text says about the paper's."""


@dataclass(frozen=True)
class Experiment:
    """What one run of the notebook measures.

    Parameters
    ----------
    days : float
        Of jobs.
    seeds : range
    accuracies : tuple of float
        Values of the paper's p.
    accuracy : float
        The one p where there is but one.
    queue_depths : tuple of int
        How many jobs wait; the last one wherever there is but one.
    load : float or None
        Offered load of a Poisson stream; None: a queue that never runs dry.
    overhead, speed : float
        The paper's t and c.
    """

    days: float
    seeds: range
    accuracies: tuple[float, ...]
    accuracy: float
    queue_depths: tuple[int, ...]
    load: float | None
    overhead: float
    speed: float

    @property
    def source(self) -> dict[str, Any]:
        """What jobs a cell of a sweep makes, and how many of them wait with a reservation."""
        depth = self.queue_depths[-1] if self.load is None else None
        return {"days": self.days, "load": self.load, "queue_depth": depth}

    @property
    def window(self) -> dict[str, float]:
        """The time over which is measured (s)."""
        return window(self.days)

    @cached_property
    def workload(self) -> Workload:
        """The jobs of the first seed."""
        made: Any = {"accuracy": self.accuracy, "load": self.load, "seed": self.seeds[0]}
        return lab.twins.lomonosov(self.days, **made)


def prepare(
    scale: str,
    *,
    seed: int,
    accuracies: Sequence[float],
    accuracy: float,
    queue_depths: Sequence[int],
    load: float,
    overhead: float,
    speed: float,
) -> Experiment:
    """The experiment at a scale: quick scale has fewer days and seeds, and every other accuracy."""
    check.choice("scale", scale, SPANS)
    days, number = SPANS[scale]
    values = accuracies if scale == "paper" or len(accuracies) < 5 else accuracies[::2]
    return Experiment(
        days,
        range(seed, seed + number),
        tuple(values),
        accuracy,
        tuple(queue_depths),
        load or None,
        overhead,
        speed,
    )


def window(days: float) -> dict[str, float]:
    """The time of so many days, from the first submission (s)."""
    return {"start": 0.0, "end": days * DAY}


# --- seven jobs -----------------------------------------------------------------------------------


def schedule_seven(
    policy: str | None, reclaim: str = "save", *, early: bool = False
) -> FilledSchedule:
    """The seven jobs on six CPU slots, or the same where job 4 ends `early`, after one slot."""
    run_time = SEVEN["run_time"].where((SEVEN.index != 3) | (not early), MINUTE)
    workload = Workload(SEVEN.assign(run_time=run_time))
    return cs.audit(simulate_filling(workload, SIX_SLOTS, policy=policy, reclaim=reclaim))


def ended_early() -> pd.DataFrame:
    """When job 7 starts and what containers lose where job 4 ends early, by policy."""
    rows = {}
    for policy, reclaim in ((None, "save"), ("A", "save"), ("B", "save"), ("B", "kill")):
        run = schedule_seven(policy, reclaim, early=True)
        rows[run.policy] = run.start_time[6] / MINUTE + 1, node_seconds(run)["lost"]
    return pd.DataFrame(rows, index=["job 7 starts in slot", "node-seconds lost"]).astype(int).T


# --- recorded loads -------------------------------------------------------------------------------


def recorded_loads(logs: Iterable[str]) -> pd.Series:
    """The recorded load of each log; of the known logs, of those that are on this machine."""
    here = [name for name in logs if name not in TRACES or find_trace(name) is not None]
    loads = {}
    for name in here:
        log = cs.load_trace(name, verbose=False)
        loads[log.name] = recorded_load(log)
    return pd.Series(loads, name="recorded load", dtype="float64").round(3)


def recorded_load(log: Workload) -> float:
    """Part of a machine's node-seconds that its log has recorded as held, NaN where it did not.

    From the first submission to the last, of the jobs whose start is known: NaN where that is less
    than half of them, the machine is unknown, or all were submitted at once.
    """
    if log.machine is None or not len(log):
        return np.nan
    started = log.column("recorded_start").notna()
    first, last = log.jobs["submit_time"].min(), log.jobs["submit_time"].max()
    if started.mean() < 0.5 or not last > first:
        return np.nan
    recorded = cs.Schedule.recorded(log.keep(started, "start unknown"))
    return recorded.utilization(float(first), float(last))


# --- the load without containers ------------------------------------------------------------------


def reached_loads(run: Experiment) -> pd.DataFrame:
    """One row per variant, queue depth, accuracy and seed: the `load` that is reached."""
    grid = {"variant": VARIANTS, "queue_depth": run.queue_depths, "accuracy": run.accuracies}
    return _sweep(reached_load, grid, run.seeds, days=run.days)


def loads_by_length(run: Experiment) -> pd.DataFrame:
    """The load that is reached by variant and number of jobs that wait, over seeds."""
    grid = {"variant": VARIANTS, "queue_depth": LENGTHS, "accuracy": [run.accuracy]}
    runs = _sweep(reached_load, grid, run.seeds, days=run.days)
    return spread_table(runs, ["variant", "queue_depth"], "load")


def queue_for(by_length: pd.DataFrame, load: float = LITERATURE) -> pd.DataFrame:
    """The least number of waiting jobs with which each variant reaches a load."""
    enough = by_length[by_length["mean"] >= load].groupby("variant")["queue_depth"].min()
    enough = enough.reindex(list(VARIANTS)).astype("object").fillna("more")
    return enough.rename(f"jobs that must wait for a load of {load:g}, of {[*LENGTHS]}").to_frame()


def reached_load(
    queue_depth: int, accuracy: float, seed: int, variant: Mapping[str, Any], days: float
) -> dict[str, float]:
    """The `load` that the scheduler reaches by itself while `queue_depth` jobs wait.

    All jobs are submitted at once. It is measured while the queue is full, within the days.
    """
    jobs = lab.twins.lomonosov(days, accuracy=accuracy, seed=seed)
    schedule = _run(jobs, policy=None, queue_depth=queue_depth, **variant)
    start, end = full_queue(schedule, queue_depth)
    return {"load": cs.metrics.utilization(schedule, start=start, end=min(end, days * DAY))}


def average_gains(runs: pd.DataFrame) -> pd.DataFrame:
    """By how much the load rises from the least to the greatest accuracy, paired over seeds."""
    ends = runs[runs["accuracy"].isin([runs["accuracy"].min(), runs["accuracy"].max()])]
    ends = ends.sort_values("accuracy", kind="stable")
    gains = {
        each: paired_table(part, "accuracy", "load").iloc[-1]
        for each, part in ends.groupby(["variant", "queue_depth"], sort=False)
    }
    return pd.DataFrame(gains).T.round(4).rename_axis(["variant", "jobs wait"])


def compare_variants(run: Experiment) -> pd.DataFrame:
    """Load and mean wait (h) under each variant, and the difference to the first, paired."""
    grid = {"variant": VARIANTS, "accuracy": [run.accuracy]}
    runs = _sweep(scheduler_variant, grid, run.seeds, **run.source)
    measures = {"load": "load", "mean_wait": "mean wait (h)"}
    paired = {title: paired_table(runs, "variant", name) for name, title in measures.items()}
    return pd.concat(paired, axis=1).round(4)


def scheduler_variant(
    variant: Mapping[str, Any],
    accuracy: float,
    seed: int,
    days: float,
    load: float | None,
    queue_depth: int | None,
) -> dict[str, float]:
    """The schedule without containers: `load` of regular jobs, and `mean_wait` in hours."""
    jobs = lab.twins.lomonosov(days, accuracy=accuracy, load=load, seed=seed)
    schedule = _run(jobs, policy=None, queue_depth=queue_depth, **variant)
    use = node_seconds(schedule, **window(days))
    wait = float(schedule.jobs["wait_time"].mean())
    return {"load": float(use["regular"] / use.sum()), "mean_wait": wait / HOUR}


# --- containers -----------------------------------------------------------------------------------


def fill(run: Experiment, policy: str, workload: Workload | None = None) -> FilledSchedule:
    """The jobs of the first seed, or others that arrive, under one of `FILLING_POLICIES`."""
    jobs = run.workload if workload is None else workload
    depth = run.source["queue_depth"] if _waits(jobs) else None
    knobs = {"overhead": run.overhead, "speed": run.speed, "queue_depth": depth}
    return _run(jobs, **knobs, **FILLING_POLICIES[policy])


def _waits(jobs: Workload) -> bool:
    """Whether all jobs wait from the start."""
    return bool(jobs.jobs["submit_time"].max() == jobs.jobs["submit_time"].min())


def fill_all(run: Experiment) -> dict[str, FilledSchedule]:
    """Schedules of the first seed under each of `FILLING_POLICIES`."""
    *simulated, last = FILLING_POLICIES
    schedules = {policy: fill(run, policy) for policy in simulated}
    every = FILLING_POLICIES[last]["save_every"]
    return {**schedules, last: saved_every(schedules["filling B, kill"], every)}


def unused_ends(jobs: Workload) -> float:
    """Node-seconds that jobs leave idle of the slots in which they end."""
    run_time = jobs.jobs["run_time"]
    rest = (-run_time % MINUTE).where(run_time > 0, MINUTE)
    return float(jobs.jobs["nodes"] @ rest)


def used_shares(run: Experiment, schedules: Mapping[str, FilledSchedule]) -> pd.DataFrame:
    """What the machine's node-seconds are used for by policy, parts of one."""
    uses = {policy: node_seconds(one, **run.window) for policy, one in schedules.items()}
    table = pd.DataFrame(uses).T
    return table.div(table.sum(axis=1), axis=0)


def efficiencies(run: Experiment, schedules: Mapping[str, FilledSchedule]) -> pd.DataFrame:
    """Efficiency by `policy`, overhead `t` and speed `c`, which change no start."""
    filled = [policy for policy in schedules if policy != "not filled"]
    rows = [
        (policy, t, c, efficiency(replace(schedules[policy], overhead=t, speed=c), **run.window))
        for policy in [*filled, "not filled"]
        for t in OVERHEADS
        for c in SPEEDS
    ]
    return pd.DataFrame(rows, columns=["policy", "t", "c", "efficiency"])


def container_costs(run: Experiment) -> pd.DataFrame:
    """One row per policy, accuracy and seed: jobs `held up`, containers' time `lost`."""
    policies = ["filling B, save", "filling B, kill", "filling C, 10 slots"]
    grid = {"policy": policies, "accuracy": run.accuracies}
    return _sweep(container_cost, grid, run.seeds, **run.source)


def container_cost(
    policy: str,
    accuracy: float,
    seed: int,
    days: float,
    load: float | None,
    queue_depth: int | None,
) -> dict[str, float]:
    """What containers cost under one of `FILLING_POLICIES`, in parts of one.

    `held up`: of the regular jobs, those that only containers kept from starting at once; `lost`:
    of the containers' time, what was computed and then killed.
    """
    jobs = lab.twins.lomonosov(days, accuracy=accuracy, load=load, seed=seed)
    schedule = _run(jobs, queue_depth=queue_depth, **FILLING_POLICIES[policy])
    use = node_seconds(schedule, **window(days)).drop(["regular", "idle"])
    lost = float(use["lost"] / use.sum()) if use.sum() > 0 else np.nan
    return {"held up": float(schedule.held_up.mean()), "lost": lost}


def shifted_starts(schedules: Mapping[str, FilledSchedule]) -> pd.DataFrame:
    """By how much containers shift the starts of regular jobs, by policy."""
    plain = schedules["not filled"].start_time
    shift = pd.DataFrame({policy: one.start_time - plain for policy, one in schedules.items()})
    shift = shift.drop(columns="not filled").rename_axis(columns="start, against no containers")
    summary = {"mean shift (s)": shift.mean().round(1), "worst (h)": (shift.max() / HOUR).round(2)}
    summary["later (%)"] = (100 * (shift > 0).mean()).round(2)
    summary["earlier (%)"] = (100 * (shift < 0).mean()).round(2)
    return pd.DataFrame(summary)


def compare_arrivals(run: Experiment) -> pd.DataFrame:
    """Load, efficiency and mean wait where jobs arrive, by offered load and policy."""
    rows = []
    for offer in OFFERS:
        jobs = lab.twins.lomonosov(run.days, accuracy=run.accuracy, load=offer, seed=run.seeds[0])
        offered = cs.metrics.offered_load(jobs, check.machine(jobs.machine, jobs.name))
        for policy in ("not filled", "filling A", "filling B, save"):
            one = fill(run, policy, jobs)
            use, worked = node_seconds(one, **run.window), efficiency(one, **run.window)
            wait = one.jobs["wait_time"].mean() / MINUTE
            rows.append((offered, policy, use["regular"] / use.sum(), worked, wait))
    columns = ["offered", "policy", "load", "efficiency", "mean wait (min)"]
    return pd.DataFrame(rows, columns=columns).round(4)


# --- intervals between saves ----------------------------------------------------------------------


def save_intervals(run: Experiment) -> pd.DataFrame:
    """Use of the containers' time by interval between saves: `save_table` per `jobs` and seed."""
    kinds: dict[str, dict[str, Any]] = {
        QUEUE: {"load": None, "queue_depth": run.queue_depths[-1]},
        STREAM: {"load": run.load or LITERATURE, "queue_depth": None},
    }
    shared = {"days": run.days, "overheads": sorted({0.02, run.overhead, 0.5})}
    tables = [
        _sweep(save_interval, {"accuracy": [run.accuracy]}, run.seeds, **shared, **kind)
        for kind in kinds.values()
    ]
    tables = [table.assign(jobs=kind) for kind, table in zip(kinds, tables, strict=True)]
    return pd.concat(tables, ignore_index=True)


def save_interval(
    accuracy: float,
    seed: int,
    days: float,
    load: float | None,
    queue_depth: int | None,
    overheads: list[float],
) -> pd.DataFrame:
    """Use of the containers' time under policy C, by overhead and interval: see `save_table`."""
    jobs = lab.twins.lomonosov(days, accuracy=accuracy, load=load, seed=seed)
    schedule = _run(jobs, queue_depth=queue_depth, **FILLING_POLICIES["filling B, kill"])
    return save_table(schedule, INTERVALS, overheads, **window(days))


def save_table(
    schedule: FilledSchedule,
    intervals: Iterable[int],
    overheads: Iterable[float],
    **limits: float,
) -> pd.DataFrame:
    """Use of the containers' time under policy C, by overhead and interval between saves.

    Parameters
    ----------
    schedule : FilledSchedule
        Simulated with ``policy="B", reclaim="kill"``.
    intervals : iterable of int
        Slots between saves, policy C's `save_every`; Young's, rounded, is added for each t.
    overheads : iterable of float
        The paper's t, parts of a slot.
    **limits : float
        The window, `start` and `end` as of `node_seconds` (s).

    Returns
    -------
    pd.DataFrame
        One row per overhead t and number of slots k: `t`, `k`, and the shares of the containers'
        time `useful`, `overhead` and `lost`; NaN where there are no containers. The last row of
        each t has infinite k: policy B that kills. `young` is Young's interval for that t.
    """
    known, between = {*intervals}, slots_between_kills(schedule, **limits)
    youngs = {t: young_interval(t, between) for t in overheads}
    whole = {t: {max(1, round(k))} if k < np.inf else set() for t, k in youngs.items()}
    used = {k: _time_used(schedule, k, **limits) for k in known.union(*whole.values(), [np.inf])}
    rows = []
    for t, young in youngs.items():
        for k in sorted({*known, *whole[t], np.inf}):
            saved, starts, lost = used[k]
            total = saved + lost or np.nan
            shares = (saved - t * starts) / total, t * starts / total, lost / total
            rows.append((t, float(k), *shares, young))
    return pd.DataFrame(rows, columns=["t", "k", "useful", "overhead", "lost", "young"])


def _time_used(schedule: FilledSchedule, k: float, **limits: float) -> tuple[float, ...]:
    """Slots of containers that are saved every `k` slots, how many starts these had, slots lost."""
    every = schedule if k == np.inf else saved_every(schedule, int(k))
    use = node_seconds(replace(every, overhead=1.0), **limits) / schedule.slot
    return tuple(
        float(part) for part in (use["computing"] + use["overhead"], use["overhead"], use["lost"])
    )


def best_intervals(kept: pd.DataFrame) -> pd.DataFrame:
    """Useful parts under policies A, B that kills, and C at its best, and its best interval."""
    best = kept.loc[kept.dropna(subset="useful").groupby(["jobs", "t", "seed"])["useful"].idxmax()]
    tables = {"A": kept[kept["k"] == 1], "B, kill": kept[kept["k"] == np.inf], "C, best k": best}
    summary = {
        name: table.groupby(["jobs", "t"])["useful"].mean() for name, table in tables.items()
    }
    summary |= {"best k": best.groupby(["jobs", "t"])["k"].median()}
    summary |= {"√(2tM)": best.groupby(["jobs", "t"])["young"].median()}
    return pd.DataFrame(summary).round(3)


def time_run(seed: int) -> str:
    """How long a run of the paper's 180 days takes."""
    jobs = lab.twins.lomonosov(180, accuracy=0.5, seed=seed)
    machine, begin = check.machine(jobs.machine, jobs.name), perf_counter()
    simulate_filling(jobs, machine, policy="B", queue_depth=100)
    return f"{len(jobs):,} jobs, 180 days, one p, took {perf_counter() - begin:.2f} s"


# --- tables over seeds ----------------------------------------------------------------------------


def load_table(runs: pd.DataFrame) -> pd.DataFrame:
    """Load by variant, queue depth and accuracy: mean, standard deviation and range over seeds."""
    grouped = runs.groupby(["variant", "queue_depth", "accuracy"], sort=False)["load"]
    table = grouped.agg(["mean", "std", "min", "max", "count"])
    table.columns = pd.Index(["load", "spread", "lowest", "highest", "seeds"])
    return table.fillna({"spread": 0.0}).reset_index()


def cost_table(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean, lowest and highest cost of containers over seeds, in percent, one row per measure."""
    measures = runs.columns.drop(["policy", "accuracy", "seed"])
    tables = [spread_table(runs, ["policy", "accuracy"], measure) for measure in measures]
    table = pd.concat(tables, keys=measures, names=["measure"]).reset_index("measure")
    percent = ["mean", "lowest", "highest"]
    return table.assign(**{name: 100 * table[name] for name in percent}).reset_index(drop=True)


def useful_by_interval(saves: pd.DataFrame, seeds: int) -> pd.DataFrame:
    """Useful part of the containers' time in percent by jobs, `t` and `k`, of `save_intervals`.

    Only cases that all `seeds` have are kept. One more `line` joins Young's intervals √(2tM).
    """
    percent = saves.assign(useful=100 * saves["useful"])
    spread = spread_table(percent, ["jobs", "t", "k"], "useful")
    is_shown = (spread["seeds"] == seeds) & (spread["k"] < np.inf)
    by_interval = spread[is_shown].assign(line="t = " + spread["t"].astype(str))

    is_young = saves["k"] == saves["young"].round().clip(lower=1)
    means = saves[is_young].groupby(["jobs", "t"], sort=False)[["young", "useful"]].mean()
    at_young = means.reset_index().assign(
        mean=lambda table: 100 * table["useful"],
        k=lambda table: table["young"].clip(lower=1),
        line="√(2tM)",
    )
    return pd.concat([by_interval, at_young]).dropna(subset="mean").round(4)


def spread_table(runs: pd.DataFrame, by: list[str], value: str) -> pd.DataFrame:
    """Mean, lowest and highest value over seeds, one row per case: the columns of `by`."""
    cells = runs.groupby(by, sort=False)[value].agg(["mean", "min", "max", "count"])
    cells.columns = pd.Index(["mean", "lowest", "highest", "seeds"])
    return cells.reset_index()


def paired_table(runs: pd.DataFrame, by: str, value: str) -> pd.DataFrame:
    """Mean of a measure per case, and its difference to the first case, paired over seeds.

    Indexed by case: `mean`; `difference`, its mean over seeds, and `low` to `high`, the 95 %
    confidence interval of that.
    """
    by_seed = runs.pivot_table(value, "seed", by)[list(dict.fromkeys(runs[by]))]
    paired = by_seed.sub(by_seed.iloc[:, 0], axis=0)
    rows = {case: mean_interval(paired[case]) for case in by_seed}
    table = pd.DataFrame(rows, index=["difference", "low", "high"]).T
    table.insert(0, "mean", by_seed.mean())
    return table.rename_axis(by)


def _sweep(function: Any, grid: Mapping[str, Any], seeds: range, **shared: Any) -> pd.DataFrame:
    """A sweep on all cores, whose errors are raised."""
    return lab.sweep(function, grid, seeds, shared=shared, executor="cores", errors="raise")


def _run(jobs: Workload, **knobs: Any) -> FilledSchedule:
    """An audited schedule on the jobs' own machine."""
    return cs.audit(simulate_filling(jobs, check.machine(jobs.machine, jobs.name), **knobs))
