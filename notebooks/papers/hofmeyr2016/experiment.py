"""Runs of Hofmeyr et al. (HPCC 2016): which jobs, policies and seeds, and what is kept of them.

Four spans of days are simulated: a long one under batch scheduling, whose mean slowdown is of a
heavy tail; one with time-sharing; one with overheads, under which a saturated machine is more work
from day to day; and a short one with time-sharing under noise, which makes an event of every step.
Runs that are compared have the same jobs. Batch scheduling alone is little work: it has Edison's
nodes at any scale.

*Seeds.* Each kind of run has seeds of its own: more under batch scheduling alone, whose mean
scatters most, and fewer under noise, which is most of the work. Three claims were undecided at
quick scale when it was first run, and eight at paper scale. Their runs were chosen anew after that
look: ``greatest overhead`` and, at paper scale, ``sharing`` have seeds at which nobody had looked;
two claims are judged by the interval of 99 % (`data/claims.csv`).

*Noise on a smaller machine.* A node of an eighth of Edison stands for eight of its nodes, and is
slowed when one of them would be: with probability ``1 - (1 - p)^8``.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cosimlab.sweep import Workers, sweep
from cosimlab.timesharing import simulate_batch
from cosimlab.twins.assumptions import Assumptions
from cosimlab.twins.edison import EDISON, UTILIZATION, edison
from cosimlib import checks as check
from cosimlib.audit import audit
from cosimlib.display import percent
from cosimlib.schedule import Schedule
from cosimlib.timesharing import NOISE, RunSummary, simulate_timesharing, summarize_run
from cosimlib.units import DAY, HOUR
from cosimlib.workload import Workload

BATCH, EASY = "batch", "batch (extra nodes)"
NOT_SPMD_BATCH, NOT_SPMD_EASY = "batch (not SPMD)", "batch (extra nodes, not SPMD)"
SHARED, UNLIMITED = "time-sharing", "time-sharing (memory unlimited)"
NOT_SPMD = "time-sharing (not SPMD)"
NOT_SPMD_UNLIMITED = "time-sharing (not SPMD, memory unlimited)"
FCFS = "time-sharing (FCFS)"
SPREADS = {f"time-sharing (memory: {s})": {"memory_spread": s} for s in ("tenth", "UniLu-Gaia")}

POLICIES: dict[str, dict[str, Any]] = {
    BATCH: {},
    NOT_SPMD_BATCH: {"spmd": False},
    EASY: {"extra_nodes": True},
    NOT_SPMD_EASY: {"spmd": False, "extra_nodes": True},
    SHARED: {},
    UNLIMITED: {"memory": False},
    NOT_SPMD: {"spmd": False},
    NOT_SPMD_UNLIMITED: {"spmd": False, "memory": False},
    FCFS: {"queue": "fcfs"},
    **SPREADS,
}
"""What differs from the simulators' defaults; `memory` and `memory_spread` are the jobs'."""

READINGS = {"as worded": BATCH, "with extra nodes": EASY}
"""Readings of "FCFS with backfill" (`data/readings.csv`), and the policy of each."""


class Span(NamedTuple):
    """Days on which jobs are submitted; the first of them, which do not count; nodes."""

    days: float
    warm_up: float
    nodes: int = EDISON.total_nodes


class Kind(NamedTuple):
    """Runs that belong together: their span, and their seeds counted from the first of all."""

    span: Span
    places: range


class Run(NamedTuple):
    """A policy, with or without noise, at an overhead."""

    policy: str
    noise: bool = False
    overhead: float = 0.0

    @property
    def name(self) -> str:
        """The policy with what is added to it, such as "time-sharing, noise"."""
        overhead = f", overhead {percent(self.overhead)}" if self.overhead else ""
        return f"{self.policy}{', noise' if self.noise else ''}{overhead}"


EIGHTH = EDISON.total_nodes // 8
WEEKS, MONTHS = Span(21, 6, EIGHTH), Span(120, 20)

SCALES = {
    "quick": {
        "noise": Kind(Span(8, 2, EIGHTH), range(3)),
        "greatest overhead": Kind(WEEKS, range(10, 20)),
        "overheads": Kind(WEEKS, range(3)),
        "sharing": Kind(WEEKS, range(5)),
        "batch": Kind(MONTHS, range(10)),
        "noisy batch": Kind(MONTHS, range(6)),
    },
    "paper": {
        "noise": Kind(Span(40, 10), range(3)),
        "greatest overhead": Kind(Span(90, 15), range(12, 22)),
        "overheads": Kind(Span(90, 15), range(3)),
        "sharing": Kind(Span(600, 100), range(12, 20)),
        "batch": Kind(Span(600, 100), range(12)),
        "noisy batch": Kind(Span(600, 100), range(12)),
    },
}
"""An eighth of Edison for weeks, where jobs share nodes; and Edison for twenty months."""

OVERHEADS = (0.0, 0.05, 0.08, 0.13)
LITTLE = 0.02
"""An overhead under the 5 % up to which it has little effect."""
ON_NOISY_DAYS = (BATCH, SHARED, NOT_SPMD, NOT_SPMD_BATCH)
"""The policies of figure 10."""

RUNS = {
    "noise": [Run(policy, noise) for noise in (True, False) for policy in (*ON_NOISY_DAYS, EASY)],
    "greatest overhead": [Run(UNLIMITED, overhead=part) for part in (OVERHEADS[-1], 0.0)],
    "overheads": [Run(UNLIMITED, overhead=part) for part in (*OVERHEADS, LITTLE)],
    "sharing": [
        Run(policy) for policy in (BATCH, EASY, SHARED, NOT_SPMD, NOT_SPMD_BATCH, NOT_SPMD_EASY)
    ],
    "batch": [Run(BATCH), Run(EASY)],
    "noisy batch": [Run(BATCH, noise=True), Run(EASY, noise=True)],
}
"""Runs of each seed, by kind."""

FIRST_RUNS = {
    "sharing": [Run(UNLIMITED), Run(NOT_SPMD_UNLIMITED)],
    "noise": [Run(FCFS)],
    "overheads": [
        Run(UNLIMITED, overhead=0.1),
        Run(SHARED),
        Run(SHARED, overhead=0.05),
        *map(Run, SPREADS),
    ],
}
"""Runs of the first seed only, which decide nothing."""


class NoRunError(ValueError):
    """There is no run of the kind, policy, noise and overhead that are asked for."""


class Runs(NamedTuple):
    """All runs as a tidy table, and the applications whose turnaround is asked for.

    `table` has a row per run: `kind`, `policy`, `noise`, `overhead`, `seed`, `summary`; and `noise`
    is its probability per node of Edison and step.
    """

    table: pd.DataFrame
    applications: pd.DataFrame
    noise: float

    def of(
        self, kind: str, policy: str = BATCH, *, noise: bool = False, overhead: float = 0.0
    ) -> list[RunSummary]:
        """The runs of a kind, a policy, with or without noise, at an overhead, in order of seeds.

        Raises
        ------
        NoRunError
            Where there is none.
        """
        asked = (kind, policy, noise, overhead)
        which = (self.table[column] for column in ("kind", "policy", "noise", "overhead"))
        rows = zip(zip(*which, strict=True), self.table["summary"], strict=True)
        found = [run for row, run in rows if row == asked]
        if not found:
            raise NoRunError(f"no run of {Run(policy, noise, overhead)} among those of '{kind}'")
        return found

    def first(self, kind: str, policy: str = BATCH, **which: Any) -> RunSummary:
        """The first seed's run, as `of` has it."""
        return self.of(kind, policy, **which)[0]

    def data(self, kind: str) -> str:
        """The jobs of a kind with their seeds, such as "… 21 days, seeds 0 to 4)"."""
        rows = self.table[self.table["kind"] == kind]
        name, first, last = rows["summary"].iloc[0].data, rows["seed"].min(), rows["seed"].max()
        return name if first == last else re.sub(r"seed \d+", f"seeds {first} to {last}", name)

    @property
    def noisy_days(self) -> str:
        """The jobs of the runs under noise, and the noise."""
        return f"{self.data('noise')}, noise {self.noise:g}"


def plan(scale: str) -> dict[str, Kind]:
    """Days and seeds of each kind of run at a scale."""
    check.choice("scale", scale, SCALES)
    return SCALES[scale]


@lru_cache(maxsize=1)
def jobs_of(
    span: Span,
    seed: int,
    load: float = UTILIZATION,
    like: str | Assumptions = "inputs",
    spread: str = "longest",
) -> Workload:
    """The jobs of a span, like Edison's; kept for the next run of the same."""
    days, nodes = span.days, span.nodes
    return edison(days, nodes=nodes, load=load, memory_spread=spread, like=like, seed=seed)


def node_noise(noise: float, nodes: int) -> float:
    """Probability that one of the nodes of Edison that a node stands for is slowed in a step."""
    return float(-np.expm1(EDISON.total_nodes / nodes * np.log1p(-noise))) if noise < 1 else 1.0


def measure(
    scale: Mapping[str, Kind],
    *,
    seed: int = 0,
    noise: float = NOISE,
    load: float = UTILIZATION,
    like: str = "inputs",
    scaling: pd.DataFrame | None = None,
    folder: str | Path | None = None,
    executor: Workers = None,
) -> Runs:
    """All runs of a scale.

    Parameters
    ----------
    scale : mapping of str to Kind
        One of `SCALES`, or another.
    seed : int, default 0
        The first, of jobs and noise.
    noise : float, default 0.001
        Probability that a node of Edison is slowed in a step.
    load, like
        Of the jobs, see `twins.edison`.
    scaling : pd.DataFrame, optional
        As of `applications`, by default those scaled to the machine.
    folder : str or Path, optional
        Where runs are kept, so that an interrupted measurement goes on where it stopped.
    executor : optional
        Where the runs are computed, see `sweep`.
    """
    check.seed(seed)
    check.number("noise", noise, least=0.0, most=1.0, kind="a probability")
    rows = [
        (kind, span, run, seed + place)
        for kind, (span, places) in scale.items()
        for place in places
        for run in RUNS[kind] + (FIRST_RUNS.get(kind, []) if place == min(places) else [])
    ]
    # Runs of the same jobs one after the other, so that `jobs_of` makes them once.
    ordered = sorted(rows, key=lambda row: (row[1], row[3], row[2].policy in SPREADS))
    cells = {_label(span, run, at): (span, run, at) for _, span, run, at in ordered}
    shared = {"noise": noise, "load": load, "like": like}
    how: dict[str, Any] = {"executor": executor, "folder": folder, "errors": "raise"}
    found = sweep(_summary_row, {"cell": cells}, shared=shared, **how)
    summaries = found.set_index("cell")["summary"].map(RunSummary.from_json)
    table = pd.DataFrame(
        [(kind, *run, at, summaries[_label(span, run, at)]) for kind, span, run, at in rows],
        columns=["kind", *Run._fields, "seed", "summary"],
    )
    if scaling is None:
        nodes = scale["sharing"].span.nodes if "sharing" in scale else EDISON.total_nodes
        scaling = applications(nodes / EDISON.total_nodes)
    return Runs(table, scaling, noise)


def _label(span: Span, run: Run, seed: int) -> str:
    """A run in words, which differ from those of any other."""
    return f"{run.name}, seed {seed}, {span.nodes} nodes, {span.days:g} ({span.warm_up:g}) days"


def _summary_row(
    cell: tuple[Span, Run, int], noise: float, load: float, like: str
) -> dict[str, str]:
    """A run's summary as a row."""
    return {"summary": simulate(*cell, noise=noise, load=load, like=like).to_json()}


def simulate(
    span: Span,
    run: Run,
    seed: int,
    *,
    noise: float = NOISE,
    load: float = UTILIZATION,
    like: str | Assumptions = "inputs",
) -> RunSummary:
    """Simulate, audit and summarize one run; `noise` is that of a node of Edison."""
    slowed = node_noise(noise, span.nodes) if run.noise else None
    knobs = POLICIES[run.policy] | {"noise": slowed, "seed": seed}
    workload = jobs_of(span, seed, load, like, knobs.pop("memory_spread", "longest"))
    system = check.machine(workload.machine, workload.name)
    if not knobs.pop("memory", True):
        system = replace(system, memory_per_node=math.nan)
    if run.policy.startswith("batch"):
        schedule: Schedule = simulate_batch(workload, system, **knobs)
    else:
        schedule = simulate_timesharing(workload, system, overhead=run.overhead, **knobs)
    return summarize_run(audit(schedule), warm_up=span.warm_up * DAY)._replace(policy=run.name)


# --- applications -------------------------------------------------------------------------------

MOST_NODES = 960
NODE_HOURS = 40.0
"""Work of every application on its least number of nodes: 2.5 minutes on 960 nodes if perfect."""

APPLICATIONS = {
    "perfect": (1, 1.0),
    "Amdahl 90 %": (4, 0.9),
    "Amdahl 80 %": (16, 0.8),
    "Amdahl 70 %": (32, 0.7),
    "Amdahl 60 %": (64, 0.6),
    "Amdahl 49 %": (256, 0.49),
}
"""Least number of nodes, which memory dictates, and efficiency at 960 nodes relative to it."""

COLUMNS = ("application", "nodes", "run_time")
POINTS = 12
"""Sizes of an application, at most."""


def applications(scale: float = 1.0) -> pd.DataFrame:
    """Strong scaling of six applications: `application`, `nodes` up to 960, `run_time` (s).

    The paper measured five, of which it prints that all run on 960 nodes with an efficiency of 49 %
    or more, and adds a perfect one. Ours follow Amdahl's law, ``t(n) = t(1) · (s + (1 - s) / n)``.

    Parameters
    ----------
    scale : float, default 1
        Part of Edison that the machine is: an application that takes so long on 80 of Edison's
        nodes takes it on 10 of an eighth of it. The least size is one whole node.
    """
    tables = []
    for name, (least, efficiency) in APPLICATIONS.items():
        sizes = np.geomspace(max(1.0, least * scale), max(1.0, MOST_NODES * scale), POINTS)
        nodes = np.unique(sizes.round())
        # From efficiency = least · t(least) / (n · t(n)) at n = 960.
        serial = (1.0 - efficiency) / (1.0 - efficiency + MOST_NODES * efficiency - least)
        on_one = NODE_HOURS * HOUR / (least * serial + 1.0 - serial)
        run_time = on_one * (serial + (1.0 - serial) / (nodes / scale))
        columns = {"application": name, "nodes": nodes.astype(int), "run_time": run_time}
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def read_applications(path: str | Path) -> pd.DataFrame:
    """Scaling data of one's own: CSV with `application`, `nodes`, `run_time` (s, dedicated).

    Between the sizes given, run times are interpolated linearly, as in the paper. Applications stay
    in the file's order; further columns are not read.
    """
    table = pd.read_csv(path, skipinitialspace=True)
    check.columns(table, COLUMNS, where=f"{path}")
    nodes, run_time = (pd.to_numeric(table[name], errors="coerce") for name in COLUMNS[1:])
    fine = (nodes >= 1) & (nodes == nodes.round()) & (run_time > 0) & (run_time < math.inf)
    fine &= table["application"].notna() & ~table.duplicated(["application", "nodes"])
    if table.empty or not fine.all():
        row = ", ".join(map(str, table.loc[~fine, [*COLUMNS]].head(1).to_numpy().ravel()))
        expected = "a name, a whole number from 1, once per name, and seconds above 0"
        raise ValueError(f"{path}: a row of {', '.join(COLUMNS)} is '{row}'; expected {expected}")
    table = table.astype({"nodes": int, "run_time": float})
    names = table["application"].unique()
    parts = [_interpolated(table[table["application"] == name]) for name in names]
    return pd.concat(parts, ignore_index=True)


def _interpolated(part: pd.DataFrame) -> pd.DataFrame:
    """The application on sizes between those given too."""
    part = part.sort_values("nodes")
    between = np.geomspace(part["nodes"].min(), part["nodes"].max(), POINTS).round()
    nodes = np.unique(np.concatenate([between, part["nodes"]])).astype(int)
    run_time = np.interp(nodes, part["nodes"], part["run_time"])
    name = part["application"].iloc[0]
    return pd.DataFrame({"application": name, "nodes": nodes, "run_time": run_time})


def bin_ratios(batch: RunSummary, shared: RunSummary, *, at_least: int = 10) -> tuple[float, float]:
    """Least and greatest mean slowdown under batch ÷ time-shared, of bins with enough jobs."""
    known = (batch.counts >= at_least) & (shared.slowdown_sums > 0)
    ratios = batch.bins[known] / shared.bins[known]
    return (ratios.min(), ratios.max()) if ratios.size else (math.nan, math.nan)


def _mean_slowdown(run: RunSummary, sizes: np.ndarray, lengths: np.ndarray) -> float:
    """Mean slowdown of the jobs in some rows and columns of bins; NaN where there are none."""
    which = np.ix_(sizes, lengths)
    jobs = run.counts[which].sum()
    return float(run.slowdown_sums[which].sum() / jobs) if jobs else math.nan


def size_factor(run: RunSummary, *, small: float = 7.0, large: float = 1_024.0) -> float:
    """Mean slowdown of large jobs ÷ that of small ones; NaN where there are none of either.

    A job is small with up to `small` of Edison's nodes, large with `large` or more; on a smaller
    machine with as large a part of it.
    """
    part = (run.nodes_edges[-1] - 1) / EDISON.total_nodes
    every_length = np.full(run.counts.shape[1], True)
    few = run.nodes_edges[1:] - 1 <= max(1.0, small * part)
    many = run.nodes_edges[:-1] >= large * part
    return _mean_slowdown(run, many, every_length) / _mean_slowdown(run, few, every_length)


def length_factor(run: RunSummary, *, short: float = HOUR, long: float = 4 * HOUR) -> float:
    """Mean slowdown of jobs up to `short` (s) ÷ that of jobs of `long` or more."""
    every_size = np.full(run.counts.shape[0], True)
    brief, lasting = run.length_edges[1:] <= short, run.length_edges[:-1] >= long
    return _mean_slowdown(run, every_size, brief) / _mean_slowdown(run, every_size, lasting)


def won_bins(batch: RunSummary, shared: RunSummary, *, at_least: int = 10) -> tuple[float, float]:
    """Share of the bins in which time-sharing is better, and the share of jobs in these bins.

    Bins with fewer than `at_least` jobs do not count; NaN if no other is left.
    """
    counted = batch.counts >= at_least
    if not counted.any():
        return math.nan, math.nan
    weight, wins = batch.counts[counted], batch.bins[counted] > shared.bins[counted]
    return float(wins.mean()), float(weight[wins].sum() / weight.sum())


def crossover_hours(batch: RunSummary, shared: RunSummary, *, least_nodes: float = 1.0) -> float:
    """Run time (h) from which on jobs are better off under batch scheduling.

    The length at which the ratio of mean slowdowns of jobs of `least_nodes` or more is 1,
    interpolated on logarithmic scales between the middles of two bins: the last bin of length with
    a ratio above 1, and the next bin that has jobs. 0 if all jobs are better off under batch
    scheduling, infinite if the longest are not, NaN if there are no jobs.
    """
    large = batch.nodes_edges[:-1] >= least_nodes
    sums = [run.slowdown_sums[large].sum(axis=0) for run in (batch, shared)]
    known = np.flatnonzero((sums[0] > 0.0) & (sums[1] > 0.0))
    logs = np.log(sums[0][known] / sums[1][known])
    above = np.flatnonzero(logs > 0.0)
    if not above.size:
        return 0.0 if known.size else math.nan
    if above[-1] == known.size - 1:
        return math.inf
    pair = slice(above[-1], above[-1] + 2)
    edges, places = np.log(batch.length_edges), known[pair]
    middles, logs = (edges[places] + edges[places + 1]) / 2, logs[pair]
    part = logs[0] / (logs[0] - logs[1])
    return float(np.exp(middles[0] + part * (middles[1] - middles[0])) / HOUR)
