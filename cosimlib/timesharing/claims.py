"""Claims of Hofmeyr et al. (HPCC 2016) about time-sharing, judged on our runs.

Claims are judged with limited memory; where memory matters and is not what a claim is about, the
number with unlimited memory stands beside, and the claims about overhead are judged on that.

Numbers of Edison are judged on jobs like Edison's at its load only, and are unknown on a log; those
of noise at the paper's noise only; and nothing where hardly a job is counted or no job waits under
batch scheduling.

*Jobs on a node.* Edison's nodes have 9 jobs each; those of a smaller machine for fewer days have
about half as many. That is what delays time-shared jobs: a job takes as many times as long as jobs
share its nodes, an overhead costs ``1 / (1 - ε (1 + jobs))``, and nodes' memory is seldom full
before. `WITH_MORE_JOBS` has the claims whose numbers follow, and which way. With fewer than
`BACKLOG` jobs on a node such a claim is decided only if more jobs could not change the verdict,
whether it holds or fails; else it is unknown. The others are about batch scheduling alone; about
utilizations, which submissions set, or a machine that an overhead has saturated; about the factor
between two crossovers of the same runs; and about a noise that takes 0.025 % of the capacity, and
so slows jobs that do not wait for their slowest node by 0.25 % where there are 9.

*Seeds.* With one seed its number decides. With more, the 95 % confidence interval of their mean
does: a claim holds where the whole interval is within its limits, fails where all of it is outside,
and is unknown where it holds a limit. Numbers in `FACTORS` are factors, and scatter like factors:
their mean is the geometric one. A limit that a number cannot pass, such as 0 of a distance, is
infinite, for an interval may reach beyond it. Seeds that all have one number say so instead.

*Looks.* Of quick scale three claims were undecided at first, and their runs were chosen anew after
that: more seeds for `overhead-13`, longer days for `noise-wins`, another measure for
`crossover-large`. An interval of 95 % covers less than that if one looks until it decides. So the
first is now judged by seeds that no one had looked at (`Scale.fresh`), the others by the interval
of 99 % (`Scale.levels`). The seeds of batch scheduling under noise were made fewer, from ten to
three, to save work. At paper scale three seeds of time-sharing had left eight claims undecided. Now
eight other seeds judge what is of time-sharing without noise, and ten others the utilization at an
overhead of 13 %, by themselves: how many was set by their cost, before they were run.

What the words of a statement mean here; `LIMITS` has the numbers. *About the same* utilization is
within 5 points, of one another and of the printed one; that at an overhead of 13 % is the printed
one within 2. A mean slowdown *is* the printed one within a factor of 1.5, a crossover within 2, a
CPU load within a third: seeds of one and the same assumptions scatter by as much. *Large* jobs have
1 % of the machine or more; their crossover is *later* as printed, 2 h → 4 h, if it is so by a
factor of 2 within 1.5. Noise *multiplies* a mean by 2 or more, and raises another *by far less*
if that grows by at most half as much; a quartile is *raised* by 5 % or more. *Up to 8×* is met from
4 on. An overhead *hardly matters* if it costs at most a factor of 1.5 in slowdown and 2 points of
utilization; at the *knee* the slowdown grows at least twice as fast from 8 to 13 % as from 0 to
8 %, on a logarithmic scale. A turnaround *falls* if it keeps half of the dedicated run times'
speedup, which it does in four of five applications under time-sharing and in at most half of them
under batch. *Orders of magnitude* are a median factor of 10, *almost everywhere* is 90 % of the
bins with ten jobs, *not significantly* a change by a tenth.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from cosimlib.claims import Verdict, unknown, verdict
from cosimlib.display import percent
from cosimlib.metrics import mean_interval
from cosimlib.synthetic.edison import EDISON, UTILIZATION
from cosimlib.timesharing import comparison
from cosimlib.timesharing.findings import FINDINGS, Evidence, Finding, arrow, growth
from cosimlib.timesharing.noise import NOISE
from cosimlib.timesharing.summary import RunSummary

LIMITS = {
    "same-utilization": (-math.inf, 0.05),
    "slowdown-batch": (137 / 1.5, 137 * 1.5),
    "slowdown-timesharing": (7.9 / 1.5, 7.9 * 1.5),
    "slowdown-not-spmd": (3.3 / 1.5, 3.3 * 1.5),
    "slowdown-order": (math.nextafter(1.0, 2.0), math.inf),
    "noise-batch": (2.0, math.inf),
    "noise-batch-quartile": (1.05, math.inf),
    "noise-timesharing": (-math.inf, 0.5),
    "short-jobs-better": (500.0, math.inf),
    "long-jobs-worse": (4.0, math.inf),
    "crossover": (2 / 2, 2 * 2),
    "crossover-large": (4 / 2 / 1.5, 4 / 2 * 1.5),
    "overhead-5": (-math.inf, 1.5),
    "overhead-knee": (2.0, math.inf),
    "overhead-13": (0.83 - 0.02, 0.83 + 0.02),
    "cpu-load-mean": (9 - 9 / 3, 9 + 9 / 3),
    "cpu-load-week": (-math.inf, 20.0),
    "turnaround-scales": (0.8, math.inf),
    "turnaround-batch": (-math.inf, 0.5),
    "turnaround-largest": (10.0, math.inf),
    "noise-wins": (0.9, math.inf),
    "not-spmd-no-noise": (-math.inf, 0.1),
}
"""Least and greatest value of the number by which a claim is judged, both included."""

FACTORS = (
    "slowdown-batch", "slowdown-timesharing", "slowdown-not-spmd", "slowdown-order",
    "noise-batch", "noise-batch-quartile", "short-jobs-better", "long-jobs-worse", "crossover",
    "crossover-large", "overhead-5", "cpu-load-mean", "cpu-load-week", "turnaround-largest",
)  # fmt: skip
"""Claims whose numbers over seeds have a geometric mean."""

DECIDED_BY = {
    "same-utilization": "farthest apart",
    "slowdown-order": "least factor between neighbors",
    "noise-batch": "factor",
    "noise-batch-quartile": "factor",
    "noise-timesharing": "growth as a part of batch's",
    "crossover-large": "later by a factor",
    "overhead-5": "factor",
    "overhead-knee": "late ÷ early growth",
    "turnaround-scales": "share of applications",
    "turnaround-batch": "share of applications",
    "noise-wins": "share of bins",
    "not-spmd-no-noise": "change",
}
"""What the number of a claim is, where it is not the one that stands beside the paper's."""

LEAST_APPLICATIONS = 3
"""Applications from which on something is said of them all."""

LEAST_GROWTH = 1.05
"""Growth of the mean slowdown under batch from which on noise does anything."""

BACKLOG = 6.0
"""CPU load with unlimited memory below which a node has too few jobs: Edison's have 9."""

WITH_MORE_JOBS = {
    "slowdown-timesharing": 1, "slowdown-not-spmd": 1, "cpu-load-mean": 1, "cpu-load-week": 1,
    "slowdown-order": 1, "noise-timesharing": 1, "overhead-5": 1, "overhead-knee": 1,
    "turnaround-scales": -1,
    "short-jobs-better": 0, "long-jobs-worse": 0, "crossover": 0, "turnaround-largest": 0,
    "noise-wins": 0,
}  # fmt: skip
"""Claims about how long jobs take that share nodes: where their number goes with jobs on a node.

Up (1): slowdowns and loads are those jobs; the nearest neighbors in order of slowdown are the
time-shared ones, of which those that wait for their slowest node move farther; each part of an
overhead costs more. Down (-1): jobs that need many nodes are the ones that wait for memory. Either
way (0): what is set against batch scheduling, for the weeks that crowd the nodes fill its queue,
too.
"""

OF_NOISE = ("noise-batch", "noise-batch-quartile", "noise-timesharing", "noise-wins",
            "not-spmd-no-noise")  # fmt: skip
"""Claims about noise."""

OF_BATCH = ("slowdown-batch", "noise-batch", "noise-batch-quartile")
"""Claims about batch scheduling alone, which is simulated for more days and seeds of its own."""

OF_OVERHEADS = ("overhead-5", "overhead-knee")
"""Claims that compare overheads."""

ON_NOISY_DAYS = ("noise-timesharing", "noise-wins", "not-spmd-no-noise")
"""Claims that are judged on the days on which time-sharing is simulated under noise."""

AGAINST_NOISY_BATCH = ("noise-timesharing", "not-spmd-no-noise")
"""Claims that compare what noise does with what it does to batch scheduling."""

OF_APPLICATIONS = ("turnaround-scales", "turnaround-batch", "turnaround-largest")
"""Claims about the turnaround of strong-scaling applications."""

ON_ANY_LOG = ("slowdown-order", "noise-batch-quartile", "noise-timesharing", "not-spmd-no-noise",
              "turnaround-scales", "turnaround-batch")  # fmt: skip
"""Claims without a number of Edison's, which are judged on other machines' logs, too."""


def judge(
    *evidence: Evidence,
    others: Mapping[str, Sequence[Evidence]] | None = None,
    levels: Mapping[str, float] | None = None,
) -> dict[str, Verdict]:
    """Verdicts on the claims about time-sharing, by their ids in `data/claims.csv`.

    Parameters
    ----------
    *evidence : Evidence
        One per seed; what is said in words is said of the first.
    others : mapping of str to sequence of Evidence, optional
        Evidence of claims that are judged by other seeds, more or fewer, such as `Measured.others`.
        Where it is empty there is no verdict.
    levels : mapping of str to float, optional
        Probability of the confidence intervals of claims for which it is not 0.95, such as
        `Scale.levels`.

    Raises
    ------
    ValueError
        Where a seed lacks the runs that a claim needs.
    """
    if not evidence:
        raise ValueError("no evidence; give at least one, that of one seed")
    others, levels, verdicts = others or {}, levels or {}, {}
    for find in FINDINGS:
        claim = find.__name__.replace("_", "-")
        if claim in others and not others[claim]:
            continue
        findings = [_found(find, one, claim) for one in others.get(claim, evidence)]
        verdicts[claim] = _decided(evidence, claim, findings, levels.get(claim, 0.95))
    return verdicts


def _found(find: Callable[[Evidence], Finding], evidence: Evidence, claim: str) -> Finding:
    """The finding of one seed; an error names the claim."""
    try:
        return find(evidence)
    except ValueError as error:
        raise ValueError(f"claim '{claim}': {error}") from error


def _decided(
    evidence: Sequence[Evidence], claim: str, findings: Sequence[Finding], level: float
) -> Verdict:
    """The verdict on a claim, unknown where the runs cannot decide it."""
    first = evidence[0]
    ours, holds, why = _over_seeds(first, claim, findings, level)
    doubts = (
        comparison.undecided(first.noise_free.batch),
        _few_applications(first) if claim in OF_APPLICATIONS else "",
        _other_noise(first) if claim in OF_NOISE else "",
        _idle_noise(first) if claim in AGAINST_NOISY_BATCH else "",
        "" if claim in ON_ANY_LOG else _unlike_edison(first),
        _few_jobs(evidence, claim, holds, [finding.value for finding in findings]),
    )
    doubt = next(filter(None, doubts), "" if holds is not None else why)
    return unknown(ours, doubt) if doubt else verdict(ours, bool(holds), why)


def _over_seeds(
    first: Evidence, claim: str, findings: Sequence[Finding], level: float
) -> tuple[str, bool | None, str]:
    """Our number in words, whether the claim holds, and why not."""
    found, values = findings[0], [finding.value for finding in findings]
    inside = [_within(claim, value) for value in values]
    missing = [finding.none for finding in findings if math.isnan(finding.value)]
    if missing:
        many = f"; no number in {len(missing)} of {len(values)} seeds" if len(values) > 1 else ""
        return f"{found.ours}{many}", None, missing[0]
    why = found.why
    if found.freed is not None and (not why or _within(claim, found.freed)):
        why = _why(first, _within(claim, found.freed), found.limited)
    if len(values) == 1:
        return found.ours, inside[0], why
    if not np.isfinite(values).all() or (claim in FACTORS and min(values) <= 0):
        ours = f"{found.ours}; so in {sum(inside)} of {len(values)} seeds"
        some = None if any(inside) and not all(inside) else all(inside)
        return ours, some, why if some is not None else "seeds differ"
    scale = np.log if claim in FACTORS else np.asarray
    interval = mean_interval(scale(values), level=level)
    mean, low, high = np.exp(interval) if claim in FACTORS else interval
    least, greatest = LIMITS[claim]
    sure = "" if level == 0.95 else f"{100 * level:g} %: "
    spread = f"({sure}{low:.3g} to {high:.3g}) over {len(values)} seeds"
    spread = spread if min(values) < max(values) else f"in all {len(values)} seeds"
    ours = f"{DECIDED_BY.get(claim, 'mean')} {mean:.3g} {spread}; one of them: {found.ours}"
    if least <= low and high <= greatest:
        return ours, True, ""
    if high < least or low > greatest:
        return ours, False, why
    limit = least if low < least else greatest
    return (
        ours,
        None,
        f"{len(values)} seeds do not decide: the interval holds the limit {limit:.3g}",
    )


def _few_applications(evidence: Evidence) -> str:
    """Why turnarounds cannot be judged; empty where they can."""
    known = len(comparison.kept_speedups(evidence.turnarounds))
    few = f"fewer than {LEAST_APPLICATIONS} applications have turnarounds at two sizes: {known}"
    return few if known < LEAST_APPLICATIONS else ""


def _other_noise(evidence: Evidence) -> str:
    """Why claims about noise cannot be judged; empty where they can."""
    if not evidence.noise_cost:
        return "no noise, or none that slowed a job"
    other = not math.isclose(evidence.noise, NOISE, rel_tol=0.01)
    return f"of a noise of {NOISE}; this is one of {evidence.noise:g}" if other else ""


def _idle_noise(evidence: Evidence) -> str:
    """Says so where noise does next to nothing to batch scheduling; else empty."""
    idle = growth(evidence, "batch") < LEAST_GROWTH
    here = f"noise does next to nothing to batch here: {arrow(evidence, 'batch')}"
    return here if idle else ""


def _unlike_edison(evidence: Evidence) -> str:
    """Why numbers of Edison cannot be judged: a log, another load; else empty."""
    if evidence.edison and math.isclose(evidence.load, UTILIZATION, rel_tol=0.01):
        return ""
    busy = evidence.noise_free.batch.utilization
    here = f"of {evidence.load:g}" if evidence.edison else f"that keeps it {percent(busy, 0)} busy"
    return f"of Edison and its load of {UTILIZATION}; here is one {here}"


def _few_jobs(
    evidence: Sequence[Evidence], claim: str, holds: bool | None, values: Sequence[float]
) -> str:
    """Says so where nodes have fewer jobs than Edison's, and as many might change the verdict."""
    runs = [one.noise_free.unlimited_memory for one in evidence]
    load = float(np.mean([run.cpu_load for run in runs]))
    if claim not in WITH_MORE_JOBS or not evidence[0].edison or load >= BACKLOG:
        return ""
    way, (least, greatest) = WITH_MORE_JOBS[claim], LIMITS[claim]
    if way and holds is not None:
        ahead = greatest if way > 0 else least
        middle = float(np.median(values))
        beyond = middle > greatest if way > 0 else middle < least
        if math.isinf(ahead) if holds else beyond:
            return ""
    nodes, goes = runs[0].nodes_edges[-1] - 1, {1: "greater", -1: "less", 0: "another"}[way]
    here = f"here are {load:.1f}, on {nodes:,.0f} nodes"
    return f"of {EDISON.total_nodes:,} nodes with 9 jobs each, with which it is {goes}; {here}"


def _why(evidence: Evidence, unlimited_holds: bool, limited: RunSummary | None) -> str:
    """Why a claim fails with limited memory, by default for SPMD jobs.

    Memory is the cause only where the claim would hold with unlimited memory.
    """
    waited = (limited or evidence.noise_free.shared).waited
    if unlimited_holds and waited:
        assumed = "nodes' memory is assumed, for it is not in the log"
        which = "which of them need much is not printed" if evidence.edison else assumed
        return f"{percent(waited, 1)} of the jobs wait for memory; {which}"
    sizes = "; how sizes go with lengths and estimates is not printed" if evidence.edison else ""
    return f"so with unlimited memory, too{sizes}"


def _within(claim: str, number: float) -> bool:
    """Whether a number is between the limits of its claim; NaN is not."""
    least, greatest = LIMITS[claim]
    return bool(least <= number <= greatest)
