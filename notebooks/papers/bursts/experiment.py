"""Inputs and runs of the study: policies on streams of bursts, on one log, over seeds.

Every run is a row per policy, stream and seed, as `cosimlab.comparison.compare_ondemand` gives it.
Policies are compared on the same seeds; intervals are Student's, at 95 %.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

import cosimlab as lab
import cosimlib as cs
from cosimlab.comparison.ondemand import compare_ondemand
from cosimlib import checks as check
from cosimlib.display import percent
from cosimlib.metrics import job_groups
from cosimlib.ondemand import (
    OVERHEAD,
    Evict,
    OnDemandSchedule,
    Reserve,
    ledger,
)
from cosimlib.system import THETA
from cosimlib.units import DAY
from papers.claims import interval_of_seeds

SCALES = {"quick": (2_500, 20, 5), "paper": (30_000, 20, 20)}
"""By scale: jobs at most, seeds, and seeds where many streams or machines are compared."""

EVICTING = ("kill", "greedy", "dynamic", "dynamic_blocked")

FAN = {
    "N & PAA": {"policy": "preempt", "notice": "ignore"},
    "N & SPAA": {"policy": "shrink", "notice": "ignore"},
    "CUA & PAA": {"policy": "preempt", "notice": "collect"},
    "CUA & SPAA": {"policy": "shrink", "notice": "collect"},
    "CUP & PAA": {"policy": "preempt", "notice": "predict"},
    "CUP & SPAA": {"policy": "shrink", "notice": "predict"},
}
"""The six mechanisms of Fan et al. by their names, as arguments of `simulate_ondemand`."""

BASE = "base"
"""The name of the stream of bursts that are not announced."""

ANNOUNCED = {"none": 2, "accurate": 1, "early": 0.5, "late": 0.5}
"""Shares of notices: half of the bursts are announced."""

ALL_ANNOUNCED = {"accurate": 2, "early": 1, "late": 1}

AHEAD = ", announced"
"""What the names of streams of which all bursts are announced end with."""

START_UP = 60.0
"""Seconds that a filler container takes to start, beside the five ideas."""

SIZES = (0.125, 0.25, 0.5)
"""Parts of the machine that bursts want, in the map of the best policies."""

BANDWIDTHS = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Multiples of the file system's bandwidth."""

MOST_MISSED = 0.05
"""Share of deadlines that a policy may miss and still serve bursts."""

MOST_STRETCH = 1.5
"""Mean turnaround of bursts, of their run times, that a policy may have and still serve them."""

LEAST_DAYS = 4
"""Days of submissions from which on a seed also draws the log anew, by weeks."""


@dataclass(frozen=True, eq=False)
class Study:
    """A log, its machine, and the bursts that come to it.

    Parameters
    ----------
    workload, machine
        Batch jobs with requested times, and a machine with memory and bandwidths.
    stream : dict
        Arguments of `draw_bursts`, but the seed.
    seeds, fewer : list of int
        Seeds of most comparisons, and of those of many streams or machines.
    used : float, optional
        Share of the log's node-hours that the jobs taken have; None of a synthetic log.
    """

    workload: cs.Workload
    machine: cs.System
    stream: dict[str, Any]
    seeds: list[int]
    fewer: list[int]
    used: float | None

    @property
    def own(self) -> bool:
        """Whether the log is Theta's, recorded or synthetic."""
        return THETA.name in self.machine.name

    @property
    def data(self) -> str:
        """The log, and what is supposed of its machine, in words."""
        known = "Theta" in self.workload.name
        return self.workload.name + ("" if known else ", on memory and bandwidths of Theta")

    @property
    def bursts(self) -> cs.Workload:
        """The bursts of the first seed."""
        return cs.ondemand.draw_bursts(self.workload, seed=self.seeds[0], **self.stream)

    @property
    def announced(self) -> dict[str, Any]:
        """The stream of which half of the bursts are announced."""
        return {**self.stream, "notice": ANNOUNCED}

    @property
    def window(self) -> dict[str, float]:
        """From the first submission to the last."""
        submit = self.workload.jobs["submit_time"]
        return {"start": float(submit.min()), "end": float(submit.max())}

    @property
    def redrawn(self) -> bool:
        """Whether the log is long enough that a seed may also draw it anew."""
        return bool(self.window["end"] - self.window["start"] >= LEAST_DAYS * DAY)


def prepare(
    *,
    trace: str,
    scale: str,
    seed: int,
    rate: float,
    share: float,
    run_time: float,
    longest_delay: float,
    bandwidth: float,
    seeds: int = 0,
    cores_per_node: int = 0,
    machine_nodes: int = 0,
) -> Study:
    """The study of a log; the notebook says what its parameters mean."""
    check.choice("scale", scale, SCALES)
    most, usual, few = SCALES[scale]
    if trace == "synthetic":
        workload, used = cs.synthetic.theta(most, seed=seed), None
    else:
        cores = cores_per_node or None
        log = cs.prepare_workload(trace, nodes=machine_nodes or None, cores_per_node=cores)
        workload = cs.metrics.busy_stretch(log, most)
        whole = cs.load_trace(trace, verbose=False, cores_per_node=cores)
        used = cs.metrics.share_used(workload, whole)
    workload = cs.synthetic.with_missing_estimates(workload, "run_time")
    machine = replace(
        workload.machine or cs.System.of(1),
        aggregate_bandwidth=bandwidth,
        memory_per_node=THETA.memory_per_node,
        node_bandwidth=THETA.node_bandwidth,
    )
    stream = {
        "rate": rate,
        "nodes": max(1, round(share * machine.total_nodes)),
        "run_time": run_time,
        "longest_delay": longest_delay,
    }
    chosen = list(range(seed, seed + (seeds or usual)))
    return Study(workload, machine, stream, chosen, chosen[:few], used)


def policies(study: Study) -> dict[str, dict[str, Any]]:
    """The policies side by side; the last two reserve half of what a burst wants, and twice it."""
    wanted = study.stream["nodes"]
    half, twice = max(1, wanted // 2), min(2 * wanted, study.machine.total_nodes)
    few, many = f"reserve {half:,}", f"reserve {twice:,}"
    if few == many:
        few, many = f"{few} (few)", f"{many} (many)"
    reserving = {few: {"policy": Reserve(half)}, many: {"policy": Reserve(twice)}}
    return {name: {"policy": name} for name in ("wait", *EVICTING)} | reserving


def ideas(study: Study) -> dict[str, dict[str, Any]]:
    """All ideas, beside filler containers: evict, share, reserve, and those of Fan et al."""
    found: dict[str, dict[str, Any]] = {
        name: {"policy": name} for name in ("wait", "kill", "dynamic_blocked", "share")
    }
    found["reserve"] = {"policy": Reserve(study.stream["nodes"])}
    return {name: {**knobs, "start_up": START_UP} for name, knobs in (found | FAN).items()}


def schedules(
    study: Study, ways: Mapping[str, Mapping[str, Any]], stream: Mapping[str, Any]
) -> dict[str, OnDemandSchedule]:
    """The first seed's schedule under each policy."""
    bursts = cs.ondemand.draw_bursts(study.workload, seed=study.seeds[0], **stream)
    given = (study.workload, study.machine, bursts)
    seed = study.seeds[0]
    return {n: cs.simulate_ondemand(*given, seed=seed, **knobs) for n, knobs in ways.items()}


def policy_runs(study: Study) -> pd.DataFrame:
    """The policies where no burst is announced, over seeds."""
    return compare_ondemand(
        study.workload,
        study.machine,
        policies(study),
        {BASE: study.stream},
        study.seeds,
        redrawn=study.redrawn,
    )


def idea_runs(study: Study) -> pd.DataFrame:
    """All ideas where half of the bursts are announced, over seeds."""
    return compare_ondemand(
        study.workload,
        study.machine,
        ideas(study),
        {"announced": study.announced},
        study.seeds,
        redrawn=study.redrawn,
        executor="cores",
    )


def differences(study: Study, runs: pd.DataFrame) -> pd.DataFrame:
    """Overhead less that of killing, on the log drawn anew (these runs) and on the log as it is."""
    some = {name: knobs for name, knobs in policies(study).items() if name in EVICTING}
    fixed = compare_ondemand(study.workload, study.machine, some, {BASE: study.stream}, study.seeds)
    both = {"drawn anew": runs[runs["policy"].isin(EVICTING)], "as it is": fixed}
    tables = {log: paired_table(part, "overhead", against="kill") for log, part in both.items()}
    joined = pd.concat(tables, names=["log"]).droplevel(1).reset_index()
    return joined.drop(columns="stream").rename(columns={"tells": "distinct"})


def best_policies(study: Study, rates: Iterable[float]) -> pd.DataFrame:
    """The policy of least overhead by size, rate and notice of bursts.

    Only CUP & PAA looks at notices. The others are run without, and their rows stand for both.

    Returns
    -------
    pd.DataFrame
        As `best_table`, with `rate` (in words) and `nodes`.
    """
    ways = {name: {"policy": name} for name in ("kill", "dynamic_blocked", "share")}
    ways["N & SPAA"], stops = FAN["N & SPAA"], {"CUP & PAA": FAN["CUP & PAA"]}
    sizes = dict.fromkeys(max(1, round(part * study.machine.total_nodes)) for part in SIZES)
    keys = {f"{n} nodes, {r:g} a day": (r, n) for r in rates for n in sizes}
    streams = {name: {**study.stream, "rate": r, "nodes": n} for name, (r, n) in keys.items()}
    given = (study.workload, study.machine)
    plain = compare_ondemand(*given, ways, streams, study.fewer, executor="cores")
    notice = {"notice": ALL_ANNOUNCED}
    streams = {f"{name}{AHEAD}": {**knobs, **notice} for name, knobs in streams.items()}
    stopping = compare_ondemand(*given, stops, streams, study.fewer)
    both = [plain, plain.assign(stream=plain["stream"] + AHEAD), stopping]
    best = best_table(pd.concat(both))
    stream = best["stream"].str.removesuffix(AHEAD)
    ahead = np.where(best["stream"] == stream, "", AHEAD)
    rate = [f"{keys[name][0]:g} a day" for name in stream]
    return best.assign(
        rate=np.array(rate, dtype=object) + ahead, nodes=[keys[name][1] for name in stream]
    )


def bandwidth_runs(study: Study) -> pd.DataFrame:
    """Overhead of the evicting policies, with intervals, by the file system's bandwidth."""
    ways, tables = {name: {"policy": name} for name in EVICTING}, []
    for factor in BANDWIDTHS:
        speed = study.machine.aggregate_bandwidth * factor
        machine = replace(study.machine, aggregate_bandwidth=speed)
        runs = compare_ondemand(study.workload, machine, ways, {BASE: study.stream}, study.fewer)
        table = interval_table(runs, "overhead").dropna(subset="mean")
        tables.append(table.assign(bandwidth=speed))
    return pd.concat(tables)


def day_of_most_evictions(schedule: OnDemandSchedule) -> float:
    """When the day begins on which most jobs are evicted (s); the first one where none is."""
    times = pd.concat([schedule.evictions["time"], pd.Series([schedule.span[0]])])
    return float((times // DAY).mode().iloc[0] * DAY)


def without_repeats(best: pd.DataFrame) -> pd.DataFrame:
    """The map of `best_policies`; its part with notices only where they change it.

    Of these policies only CUP & PAA heeds notices. Where it is nowhere among the best, the part
    with notices is the same as that without, and is left out.
    """
    among = best["policy"] + ", " + best["tied"]
    heeded = among.str.contains("CUP", regex=False).any()
    return best if heeded else best[~best["stream"].str.endswith(AHEAD)]


def explain_best(shown: pd.DataFrame, seeds: Sequence[int]) -> str:
    """What a reader of the map of the best policies must know who sees it alone."""
    note = (
        f"{len(seeds)} seeds; at most {percent(MOST_MISSED, 0)} of deadlines missed, bursts at "
        f"most {MOST_STRETCH} times as long. After 'or': what the seeds cannot tell from the best "
        "(paired 95 % intervals)."
    )
    if not shown["stream"].str.endswith(AHEAD).any():
        note += (
            " Bursts announced 15 to 30 minutes ahead give the same map: of these policies only "
            "CUP & PAA heeds notices, and it is nowhere among the best."
        )
    return note


def deadline_runs(study: Study) -> pd.DataFrame:
    """Ways to weigh delay against loss, and to use notices, under `dynamic_blocked`."""
    ways: dict[str, dict[str, Any]] = {
        "earliest": {"policy": Evict("dynamic_blocked", deadline="earliest")},
        "least loss": {"policy": "dynamic_blocked"},
    }
    for weight in (100.0, 1000.0):
        evict = Evict("dynamic_blocked", deadline="weighted", weight=weight)
        ways[f"λ = {weight:,}"] = {"policy": evict}
    for notice in ("collect", "prepare"):
        ways[f"least loss, {notice}"] = {"policy": "dynamic_blocked", "notice": notice}
    streams = {"announced": study.announced}
    return compare_ondemand(study.workload, study.machine, ways, streams, study.fewer)


def means(runs: pd.DataFrame, columns: Iterable[str]) -> pd.DataFrame:
    """Means over seeds by policy, as a table to be shown: shares are in percent."""
    table = runs.groupby("policy", sort=False)[list(columns)].mean()
    shares = [name for name in ("missed", "instant", "kept", "filled") if name in table]
    return lab.figures.in_words(table.assign(**{n: 100 * table[n] for n in shares}).round(1))


def ledger_table(study: Study, ways: Mapping[str, OnDemandSchedule]) -> pd.DataFrame:
    """Node-hours by use from the first submission to the last; a row per schedule that has any."""
    table = pd.DataFrame({name: ledger(each, **study.window) for name, each in ways.items()}).T
    return table[table.sum(axis=1) > 0]


def cost_table(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean node-hours per burst of each part of the overhead, and the interval of their sum."""
    costs = runs.groupby("policy", sort=False)[list(OVERHEAD)].mean().fillna(0.0)
    return costs.join(interval_table(runs, "overhead").set_index("policy")[["low", "high"]])


def interval_table(runs: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Mean over seeds and its 95 % interval, per policy and stream.

    Returns
    -------
    pd.DataFrame
        `policy`, `stream`, `measure`, `mean`, `low`, `high`; NaN, the ends of one seed's, too.
    """
    rows = []
    for (policy, stream), part in runs.groupby(["policy", "stream"], sort=False):
        rows.append((policy, stream, measure, *interval_of_seeds(part[measure].dropna())))
    return pd.DataFrame(rows, columns=["policy", "stream", "measure", "mean", "low", "high"])


def paired_table(runs: pd.DataFrame, measure: str, *, against: str) -> pd.DataFrame:
    """Differences to one policy on the same seeds, with 95 % intervals, per policy and stream.

    Returns
    -------
    pd.DataFrame
        `policy`, `stream`, `difference`, `low`, `high`, and `distinct`: whether the interval leaves
        out 0, ``"yes"``, ``"no"``, or ``"unknown"`` where there are no two seeds.
    """
    check.choice("against", against, list(dict.fromkeys(runs["policy"])))
    wide = runs.pivot_table(measure, ["stream", "seed"], "policy", sort=False, dropna=False)
    rows = []
    for policy in wide.columns.drop(against):
        difference = (wide[policy] - wide[against]).groupby("stream", sort=False)
        for stream, values in difference:
            mean, low, high = interval_of_seeds(values.dropna())
            distinct = "unknown" if np.isnan(low) else "yes" if low > 0 or high < 0 else "no"
            rows.append((policy, stream, mean, low, high, distinct))
    return pd.DataFrame(rows, columns=["policy", "stream", "difference", "low", "high", "distinct"])


def best_table(runs: pd.DataFrame) -> pd.DataFrame:
    """The policy of least overhead per stream, of those that serve its bursts well enough.

    That is, miss few enough deadlines, and slow bursts down little enough.

    Returns
    -------
    pd.DataFrame
        One row per stream that has bursts: `stream`, `policy` (``"none"`` where none serves),
        `mean`, its overhead, and `tied`, the others from which the seeds do not tell it, by paired
        95 % intervals, as a text.
    """
    rows = []
    for stream, part in runs.groupby("stream", sort=False):
        table = part.groupby("policy", sort=False)[["missed", "stretch", "overhead"]].mean()
        fine = (table["missed"] <= MOST_MISSED) & ~(table["stretch"] > MOST_STRETCH)
        served = table[fine & table["overhead"].notna()]
        if served.empty:
            if table["missed"].notna().any():
                rows.append((stream, "none", np.nan, ""))
            continue
        best = str(served["overhead"].idxmin())
        others = paired_table(part[part["policy"].isin(served.index)], "overhead", against=best)
        tied = others.loc[others["distinct"] != "yes", "policy"]
        rows.append((stream, best, float(served["overhead"].min()), ", ".join(tied)))
    return pd.DataFrame(rows, columns=["stream", "policy", "mean", "tied"])


def slowdown_table(ways: Mapping[str, OnDemandSchedule]) -> pd.DataFrame:
    """Mean bounded slowdown of batch jobs by class of size, one row per policy and class.

    Returns
    -------
    pd.DataFrame
        `policy`, `nodes` (the class), `jobs`, `slowdown`; classes without jobs are left out.
    """
    rows = []
    for name, schedule in ways.items():
        group = job_groups(schedule.workload, "size")[~schedule.on_demand]
        slowdown = schedule.bounded_slowdown()[~schedule.on_demand]
        for label, values in slowdown.groupby(group, observed=True):
            rows.append((name, str(label), len(values), float(values.mean())))
    return pd.DataFrame(rows, columns=["policy", "nodes", "jobs", "slowdown"])
