"""The paper's experiment over seeds: all runs that its claims need, in parallel.

Four spans of days are simulated: a long one under batch scheduling, whose mean slowdown is of a
heavy tail; one with time-sharing; one with overheads, under which a saturated machine is more work
from day to day; and a short one with time-sharing under noise, which makes an event of every step.
What is compared is of the same days. Batch scheduling alone is little work: it has Edison's nodes
at any scale.

*Seeds.* Kinds of runs have numbers of seeds of their own: more under batch scheduling alone, whose
mean scatters most, and fewer under noise, which is most of the work. Which runs were chosen after a
look at what they decide, and have fresh seeds for it, is told in `claims`.

*Noise on a smaller machine.* A node of an eighth of Edison stands for eight of its nodes, and is
slowed when one of them would be: with probability ``1 - (1 - p)^8``. A job that is as large a part
of the machine is hit as often.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.sweep import Workers, sweep
from cosimlib.synthetic.assumptions import Assumptions
from cosimlib.synthetic.edison import EDISON, UTILIZATION, edison
from cosimlib.timesharing.batch import noise_cost
from cosimlib.timesharing.claims import OF_BATCH, OF_OVERHEADS, ON_NOISY_DAYS
from cosimlib.timesharing.findings import Evidence, NoisyDays
from cosimlib.timesharing.noise import NOISE
from cosimlib.timesharing.runs import Policies, cache_folder, run_batch, run_timesharing
from cosimlib.timesharing.scaling import applications, turnaround_times
from cosimlib.timesharing.summary import RunSummary
from cosimlib.units import DAY
from cosimlib.workload import Workload

FRESH = ("shared", "most_taxed")
"""Kinds of runs, of `Seeds`, whose seeds may begin elsewhere than the others'."""

OVERHEADS = (0.05, 0.08, 0.13)
"""Overheads that claims are about, besides none."""

POLICIES: dict[str, dict[str, Any]] = {
    "batch": {},
    "shared": {},
    "unlimited_memory": {"memory": False},
    "not_spmd": {"spmd": False},
    "not_spmd_batch": {"spmd": False},
    "not_spmd_unlimited_memory": {"spmd": False, "memory": False},
    "fcfs": {"queue": "fcfs"},
}
"""Knobs of the runs: those of `Policies`, and two more."""


class Span(NamedTuple):
    """Days on which jobs are submitted; the first of them, which do not count; nodes."""

    days: float
    warm_up: float
    nodes: int = EDISON.total_nodes


class Seeds(NamedTuple):
    """How many seeds each kind of run has; with none, what claims there are about it is not judged.

    Parameters
    ----------
    shared : int
        Time-sharing without noise, beside which all else is judged: one at least.
    batch, noisy_batch : int
        Batch scheduling alone; and of these seeds, from the first on, under noise.
    taxed, most_taxed : int
        All overheads, at most `shared`; and the greatest alone, for its utilization.
    noisy : int
        Time-sharing under noise, at most `shared`.
    """

    shared: int = 1
    batch: int = 1
    noisy_batch: int = 1
    taxed: int = 1
    most_taxed: int = 1
    noisy: int = 1

    @classmethod
    def all(cls, number: int) -> "Seeds":
        """As many of everything."""
        return cls(*[number] * len(cls._fields))

    def only(self, *kinds: str) -> "Seeds":
        """The same of some kinds and of those that they are judged beside, none of all else.

        All are judged beside time-sharing without noise; batch scheduling under noise also beside
        that without, and where time-sharing says what this noise costs.
        """
        beside = ("batch", "noisy") if "noisy_batch" in kinds else ()
        kept = {kind: getattr(self, kind) for kind in ("shared", *beside, *kinds)}
        return Seeds(*[0] * len(self._fields))._replace(**kept)


class Scale(NamedTuple):
    """How much is simulated.

    Parameters
    ----------
    batch, shared, taxed, noisy : Span
        Of batch scheduling alone, of time-sharing, of overheads, and of noise.
    seeds : Seeds
    fresh : mapping of str to int, optional
        The first of the seeds of time-sharing without noise ("shared") and of the greatest overhead
        alone ("most_taxed"), counted from that of all else: seeds at which nobody had looked.
    levels : mapping of str to float
        Probability of the intervals of claims for which it is not 0.95, as `judge` takes it.
    """

    batch: Span
    shared: Span
    taxed: Span
    noisy: Span
    seeds: Seeds = Seeds()
    fresh: Mapping[str, int] = {}
    levels: Mapping[str, float] = {}

    def places(self, kind: str) -> range:
        """Seeds of a kind of run, a field of `Seeds`, counted from the first of all."""
        first = self.fresh.get(kind, 0)
        return range(first, first + getattr(self.seeds, kind))

    def judged_by(self, claim: str) -> tuple[Span, range]:
        """The days that a claim is judged on, and by which seeds, counted from the first."""
        if claim in OF_BATCH:
            kind = "batch" if claim == "slowdown-batch" else "noisy_batch"
            return self.batch, self.places(kind)
        if claim == "overhead-13":
            return self.taxed, self.places("most_taxed")
        if claim in OF_OVERHEADS:
            return self.taxed, self.places("taxed")
        if claim in ON_NOISY_DAYS:
            return self.noisy, self.places("noisy")
        return self.shared, self.places("shared")


EIGHTH = EDISON.total_nodes // 8

SCALES = {
    "quick": Scale(
        Span(120, 20),
        Span(21, 6, EIGHTH),
        Span(21, 6, EIGHTH),
        Span(8, 2, EIGHTH),
        Seeds(5, batch=10, noisy_batch=3, taxed=3, most_taxed=10, noisy=3),
        fresh={"most_taxed": 10},
        levels={"noise-wins": 0.99, "crossover-large": 0.99},
    ),
    "paper": Scale(
        Span(600, 100),
        Span(600, 100),
        Span(90, 15),
        Span(40, 10),
        Seeds(8, batch=12, noisy_batch=12, taxed=3, most_taxed=10, noisy=3),
        fresh={"shared": 12, "most_taxed": 12},
    ),
}
"""An eighth of Edison for weeks, where jobs are time-shared; and Edison for twenty months."""


class Jobs(NamedTuple):
    """Where jobs come from: `synthetic.edison` with these arguments, or a log's workload."""

    load: float = UTILIZATION
    like: str | Assumptions = "inputs"
    log: Workload | None = None

    def of(self, span: Span, seed: int) -> Workload:
        """The jobs of a span; a log has but its own."""
        if self.log is not None:
            return self.log
        return edison(span.days, nodes=span.nodes, load=self.load, like=self.like, seed=seed)


class Run(NamedTuple):
    """One run of the experiment: a span, a policy, whether with noise, an overhead."""

    span: Span
    policy: str
    noisy: bool = False
    overhead: float = 0.0


class Measured(NamedTuple):
    """What claims are judged by, one per seed; and all runs of the first seed.

    Runs of which there may be more seeds, or fewer: `batch` scheduling alone, without noise and
    under it (`noisy_batch`), and time-sharing at the greatest overhead (`most_taxed`).
    """

    evidence: list[Evidence]
    batch: list[RunSummary]
    noisy_batch: list[RunSummary]
    most_taxed: list[RunSummary]
    first: dict[Run, RunSummary]

    @property
    def others(self) -> dict[str, list[Evidence]]:
        """Evidence of the claims that have seeds of their own, as `judge` takes it."""
        first, greatest = self.evidence[0], OVERHEADS[-1]
        # Of batch scheduling alone there may be more seeds without noise than with it.
        pairs = zip(self.batch, self.noisy_batch, strict=False)
        of_both = [first._replace(long_batch=pair[0], long_noisy_batch=pair[1]) for pair in pairs]
        taxed = [one for one in self.evidence if one.by_overhead]
        noisy = [one for one in self.evidence if one.noisy is not None]
        return {
            **dict.fromkeys(OF_BATCH, of_both),
            "slowdown-batch": [first._replace(long_batch=run) for run in self.batch],
            **dict.fromkeys(OF_OVERHEADS, taxed),
            "overhead-13": [first._replace(by_overhead={greatest: run}) for run in self.most_taxed],
            **dict.fromkeys(ON_NOISY_DAYS, noisy),
        }

    def by_overhead(self, policy: str) -> dict[float, RunSummary]:
        """The runs of the first seed with overheads, in ascending order; `policy` as in a `Run`."""
        span = next(run.span for run in self.first if run.overhead)
        taxed = [run for run in self.first if (run.span, run.policy) == (span, policy)]
        quiet = [run for run in taxed if not run.noisy]
        return {run.overhead: self.first[run] for run in sorted(quiet, key=lambda r: r.overhead)}


def node_noise(noise: float, nodes: int) -> float:
    """Probability that one of the nodes of Edison that a node stands for is slowed in a step."""
    check.number("noise", noise, least=0.0, most=1.0, kind="a probability", none=False)
    return float(-np.expm1(EDISON.total_nodes / nodes * np.log1p(-noise))) if noise < 1 else 1.0


def measure(
    jobs: Jobs,
    scale: Scale,
    *,
    seed: int = 0,
    noise: float = NOISE,
    overheads: Sequence[float] = (),
    scaling: pd.DataFrame | None = None,
    cache: str | Path | None = None,
    executor: Workers = None,
) -> Measured:
    """All runs that the claims need.

    Parameters
    ----------
    jobs : Jobs
    scale : Scale
        One of `SCALES`, or another.
    seed : int, default 0
        The first, of jobs and noise. What decides nothing is run of this one only.
    noise : float, default 0.001
        Probability that a node of Edison is slowed in a step; for a log, that one of its nodes is.
    overheads : sequence of float, optional
        More overheads, of the first seed, for figures.
    scaling : pd.DataFrame, optional
        As of `applications`, by default those scaled to the machine.
    cache : str or Path, optional
        Folder in which summaries are kept, see `run_batch`.
    executor : optional
        Where the runs are computed, see `sweep`.

    Raises
    ------
    ValueError
        Also where `Scale.seeds` has more of a kind of run than belong together.
    """
    check.seed(seed)
    _check_seeds(scale)
    kinds = Seeds._fields
    seeds = sorted({seed + place for kind in kinds for place in scale.places(kind)})
    runs = {each: _runs(scale, each - seed, overheads) for each in seeds}
    parts = {
        f"seed {each}, {name}": (each, part)
        for each in seeds
        for name, part in _parts(scale, runs[each]).items()
    }
    folder = None if cache is None else str(cache_folder(cache))
    shared = {"jobs": jobs, "noise": noise, "cache": folder, "costed": scale.noisy}
    table = sweep(_rows, {"part": parts}, shared=shared, executor=executor, errors="raise")
    rows = list(zip(table["seed"], table["run"], table["summary"], strict=True))
    found = {(each, run): RunSummary.from_dict(json.loads(told)) for each, run, told in rows}
    costs = table.groupby("seed")["cost"].max()
    if scaling is None:
        scaling = applications(scale.shared.nodes / EDISON.total_nodes)
    of = {each: {run: found[each, repr(run)] for run in runs[each]} for each in seeds}
    kept = {kind: [of[seed + place] for place in scale.places(kind)] for kind in kinds}
    cost = [float(costs[seed + place]) for place in scale.places("noisy")]
    cost += [0.0] * scale.seeds.shared
    evidence = []
    for place in range(scale.seeds.shared):
        # Of each kind the run at this place, whose seed may be another than that of the others.
        of_kinds = {kind: runs[place] for kind, runs in kept.items() if place < len(runs)}
        evidence.append(_evidence(of_kinds, scale, jobs, noise, cost[place], scaling))
    calm, noisy = _alone(scale)
    return Measured(
        evidence,
        [runs[calm] for runs in kept["batch"]],
        [runs[noisy] for runs in kept["noisy_batch"]],
        [runs[_most_taxed(scale)] for runs in kept["most_taxed"]],
        of.get(seed, {}),
    )


def _check_seeds(scale: Scale) -> None:
    """Refuse seeds that are no numbers, or would be simulated and not used."""
    seeds = scale.seeds
    for name, number in seeds._asdict().items():
        check.whole(name, number, 1 if name == "shared" else 0, where="Seeds")
    for name, first in scale.fresh.items():
        check.choice("fresh", name, FRESH, where="Scale")
        check.whole(f"fresh[{name!r}]", first, 0, where="Scale")
    for name, most in (("taxed", "shared"), ("noisy", "shared"), ("noisy_batch", "batch")):
        few, many = getattr(seeds, name), getattr(seeds, most)
        expected = f"at most {most}={many}: only those seeds are used"
        check.that(name, few, few <= many, expected, where="Seeds")


def _alone(scale: Scale) -> list[Run]:
    """Batch scheduling alone, without noise and with it."""
    return [Run(scale.batch, "batch", noisy) for noisy in (False, True)]


def _most_taxed(scale: Scale) -> Run:
    """Time-sharing at the greatest overhead."""
    return Run(scale.taxed, "unlimited_memory", overhead=OVERHEADS[-1])


def _runs(scale: Scale, place: int, overheads: Sequence[float] = ()) -> list[Run]:
    """The runs of the first seed, with what decides nothing, or of a later one; each once."""
    kinds = {kind for kind in Seeds._fields if place in scale.places(kind)}
    runs, first, (calm, noisy) = [], place == 0, _alone(scale)
    if "noisy" in kinds:
        days = (True, False)
        runs += [Run(scale.noisy, policy, day) for day in days for policy in NoisyDays._fields]
    if "most_taxed" in kinds:
        runs += [_most_taxed(scale)]
    if "taxed" in kinds:
        taxed = sorted({0.0, *OVERHEADS, *(map(float, overheads) if first else ())}, reverse=True)
        runs += [Run(scale.taxed, "unlimited_memory", overhead=overhead) for overhead in taxed]
    if "shared" in kinds:
        runs += [Run(scale.shared, policy) for policy in POLICIES if policy != "fcfs"]
    if first and "taxed" in kinds:
        runs += [Run(scale.taxed, "shared", overhead=overhead) for overhead in (0.0, 0.05)]
    if first and "noisy" in kinds:
        runs += [Run(scale.noisy, "fcfs")]
    runs += [calm] if "batch" in kinds else []
    runs += [noisy] if "noisy_batch" in kinds else []
    return list(dict.fromkeys(runs))


def _parts(scale: Scale, runs: list[Run]) -> dict[str, list[Run]]:
    """What is computed together: at quick scale the runs of a span, which share its jobs."""
    if scale.shared.nodes * scale.shared.days > EDISON.total_nodes * 60:
        return {f"run {place}": [run] for place, run in enumerate(runs)}
    spans = list(dict.fromkeys(run.span for run in runs))
    return {repr(tuple(span)): [run for run in runs if run.span == span] for span in spans}


def _rows(
    part: tuple[int, list[Run]], jobs: Jobs, noise: float, cache: str | None, costed: Span
) -> list[dict[str, Any]]:
    """Summaries of some runs of a seed, one row per run; on the days `costed` what noise costs."""
    seed, runs = part
    rows = []
    for run in runs:
        workload = _jobs_of(jobs, run.span, seed)
        machine = check.machine(workload.machine, workload.name)
        there = noise if jobs.log is not None else node_noise(noise, run.span.nodes)
        knobs = POLICIES[run.policy] | {"warm_up": run.span.warm_up * DAY, "cache": cache}
        knobs |= {"seed": seed} | ({"noise": there} if run.noisy else {})
        in_batch = "batch" in run.policy
        if not in_batch:
            knobs["overhead"] = run.overhead
        summary = (run_batch if in_batch else run_timesharing)(workload, machine, **knobs)
        costs = run == Run(costed, "batch", True) and there > 0
        cost = noise_cost(workload, noise=there, seed=seed) if costs else 0.0
        told = {"run": repr(run), "summary": json.dumps(summary.as_dict()), "cost": cost}
        rows.append({"seed": seed} | told)
    return rows


@lru_cache(maxsize=1)
def _jobs_of(jobs: Jobs, span: Span, seed: int) -> Workload:
    """The jobs, kept for the next run of the same."""
    return jobs.of(span, seed)


def _evidence(
    found: Mapping[str, Mapping[Run, RunSummary]],
    scale: Scale,
    jobs: Jobs,
    noise: float,
    cost: float,
    scaling: pd.DataFrame,
) -> Evidence:
    """The runs of a seed as the claims take them, by the kind of run that they belong to."""

    def noisy_days(noisy: bool) -> NoisyDays | None:
        runs = [Run(scale.noisy, policy, noisy) for policy in NoisyDays._fields]
        return NoisyDays(*(found["noisy"][run] for run in runs)) if "noisy" in found else None

    taxed = {o: Run(scale.taxed, "unlimited_memory", overhead=o) for o in (0.0, *OVERHEADS)}
    by_overhead = {o: found["taxed"][run] for o, run in taxed.items() if "taxed" in found}
    shared, (calm, noisy) = found["shared"], _alone(scale)
    noise_free = Policies(*(shared[Run(scale.shared, policy)] for policy in Policies._fields))
    return Evidence(
        noise_free,
        noisy_days(False),
        noisy_days(True),
        shared[Run(scale.shared, "not_spmd_unlimited_memory")],
        by_overhead,
        turnaround_times(scaling, *noise_free[:3]),
        cost,
        scale.taxed.days - scale.taxed.warm_up,
        jobs.log is None,
        jobs.load,
        noise,
        found.get("batch", {}).get(calm),
        found.get("noisy_batch", {}).get(noisy),
    )
