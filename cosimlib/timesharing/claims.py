"""Whether what Hofmeyr et al. (HPCC 2016) state of time-sharing holds in our runs.

Numbers of Edison are judged on jobs like Edison's at its load only, on a log they are unknown;
those of noise at the paper's noise only; and nothing where hardly a job is counted or nobody waits
under batch scheduling.

What the words of a statement mean here. *About the same* utilization is within 5 points, of one
another and of the printed one; that at an overhead of 13 % is the printed one within 2. A mean
slowdown *is* the printed one within a factor of 1.5, a crossover within 2, a CPU load within a
third. *Large* jobs have 1 % of the machine or more. Noise *multiplies* a mean by 2 or more, and
raises another *by far less* if that grows by at most half as much; a quartile is *raised* by 5 % or
more. *Up to 8×* is met from 4 on. An overhead *hardly matters* if it costs at most a factor of 1.5
in slowdown and 2 points of utilization; at the *knee* the slowdown grows at least twice as fast
from 8 to 13 % as from 0 to 8 %, on a logarithmic scale. A turnaround *falls* if it keeps half of
the dedicated run times' speedup, which it does in four of five applications under time-sharing and
in at most half of them under batch. *Orders of magnitude* are a median factor of 10, *almost
everywhere* is 90 % of the bins with ten jobs, *not significantly* a change by a tenth.

What the claims about time-sharing are judged by, and what a verdict says.

What is told of a claim about time-sharing that fails: memory, little load, or neither.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib.synthetic.edison import UTILIZATION
from cosimlib.timesharing.comparison import (
    crossover,
    gain_at_largest,
    kept_speedups,
    ratio_by_length,
    undecided,
    won_bins,
)
from cosimlib.timesharing.runs import Policies
from cosimlib.timesharing.summary import RunSummary
from cosimlib.units import HOUR

NOISE = 0.001
"""The paper's probability that a node is slowed in a step, as its own numbers need it."""


class Verdict(NamedTuple):
    """Our number beside a claim; whether it holds, None where that is unknown; why not."""

    ours: str
    holds: bool | None
    why: str


class Evidence(NamedTuple):
    """What claims are judged by.

    Parameters
    ----------
    quiet, calm, struck : Policies
        All days; those of the noise without it; those with it.
    free : RunSummary
        All days of jobs that are not SPMD, time-shared with unlimited memory.
    swept : mapping of float to RunSummary
        With unlimited memory by overhead, 0, 0.05, 0.08 and 0.13 among them.
    turnarounds : pd.DataFrame
        As of `turnaround_times`, of `quiet`'s first three.
    noise_cost : float
        Additional node-seconds that noise takes under batch scheduling, as a part.
    days, noisy_days : float
        That are counted, without noise and with it.
    edison : bool
        Whether the jobs are like Edison's, or else of a log.
    load : float, default 0.89
        Offered load of synthetic jobs; numbers of Edison are judged at the printed one only.
    noise : float, default 0.001
        Probability of the noise; claims about noise are judged at the paper's only.
    """

    quiet: Policies
    calm: Policies
    struck: Policies
    free: RunSummary
    swept: Mapping[float, RunSummary]
    turnarounds: pd.DataFrame
    noise_cost: float
    days: float
    noisy_days: float
    edison: bool
    load: float = UTILIZATION
    noise: float = NOISE


MANY = 3
"""Applications from which on something is said of them all."""


def judge(evidence: Evidence) -> dict[str, Verdict]:
    """Every claim about time-sharing, by its name in `data/claims.csv`."""
    verdicts = {
        **_slowdowns(evidence),
        **_noise(evidence),
        **_lengths(evidence),
        **_overheads(evidence),
        **_crowds(evidence),
        **_turnarounds(evidence),
    }
    doubt = undecided(evidence.quiet.batch)
    if not doubt:
        return verdicts
    return {claim: Verdict(given.ours, None, doubt) for claim, given in verdicts.items()}


def _verdict(ours: str, holds: bool, why: str) -> Verdict:
    """A claim that is decided; what holds needs no explanation."""
    return Verdict(ours, bool(holds), "" if holds else why)


def _of_edison(evidence: Evidence, ours: str, holds: bool, why: str) -> Verdict:
    """A claim that a log of another machine does not decide, nor another load or light days."""
    if evidence.edison and math.isclose(evidence.load, UTILIZATION, rel_tol=0.01):
        light = no_backlog(evidence.quiet.roomy)
        return Verdict(ours, None, light) if light else _verdict(ours, holds, why)
    busy = evidence.quiet.batch.utilization
    here = f"of {evidence.load:g}" if evidence.edison else f"that keeps it {busy:.0%} busy"
    return Verdict(ours, None, f"of Edison and its load of {UTILIZATION}; here is one {here}")


def _why(evidence: Evidence, roomy_holds: bool, limited: RunSummary | None = None) -> str:
    """What explains a claim that fails with limited memory, by default of SPMD jobs."""
    _, shared, roomy, _, _ = evidence.quiet
    limited = limited or shared
    return explain(limited, roomy, roomy_holds=bool(roomy_holds), synthetic=evidence.edison)


def _both(limited: float, unlimited: float) -> str:
    """A number with limited memory, and with unlimited."""
    return f"{_number(limited)} (memory unlimited {_number(unlimited)})"


def _number(value: float) -> str:
    """Three digits; in words where there is no such number."""
    return "none" if math.isnan(value) else f"{value:.3g}"


def _part(value: float) -> str:
    """In percent; in words where there is no such number."""
    return "none" if math.isnan(value) else f"{value:.0%}"


def _near(ours: float, printed: float, factor: float) -> bool:
    """Whether a number is the printed one within a factor."""
    return bool(printed / factor <= ours <= printed * factor)


def _slowdowns(evidence: Evidence) -> dict[str, Verdict]:
    """Claims 1 and 2 without noise."""
    batch, shared, roomy, loose, _ = evidence.quiet
    busy = [run.utilization for run in (batch, shared, roomy)]
    ours = f"batch {busy[0]:.0%}, sharing {busy[1]:.0%} (memory unlimited {busy[2]:.0%})"
    spans = [(busy[0], each, UTILIZATION) for each in busy[1:]]
    same = [max(span) - min(span) <= 0.05 for span in spans]
    means = [batch.mean_slowdown, shared.mean_slowdown, loose.mean_slowdown]
    freed = roomy.mean_slowdown
    order = " > " if means[0] > means[1] > means[2] else ", "
    chain = order.join(f"{mean:.3g}" for mean in means)
    tail = "the mean of a heavy tail depends on bursts and estimates, which are not printed"
    free = evidence.free.mean_slowdown
    return {
        "same-utilization": _of_edison(evidence, ours, same[0], _why(evidence, same[1])),
        "slowdown-batch": _of_edison(evidence, f"{means[0]:.3g}", _near(means[0], 137, 1.5), tail),
        "slowdown-timesharing": _of_edison(
            evidence, _both(means[1], freed), _near(means[1], 7.9, 1.5),
            _why(evidence, _near(freed, 7.9, 1.5)),
        ),
        "slowdown-not-spmd": _of_edison(
            evidence, _both(means[2], free), _near(means[2], 3.3, 1.5),
            _why(evidence, _near(free, 3.3, 1.5), loose),
        ),
        "slowdown-order": _verdict(
            f"{chain}; memory unlimited {freed:.3g}, {free:.3g}", means[0] > means[1] > means[2],
            _why(evidence, means[0] > freed > free, shared if means[1] > means[2] else loose),
        ),
    }  # fmt: skip


def _noise(evidence: Evidence) -> dict[str, Verdict]:
    """Claims 2, 7 and 8 under noise, against the same days without."""
    calm, struck = evidence.calm, evidence.struck
    means = {
        name: (getattr(calm, name).mean_slowdown, getattr(struck, name).mean_slowdown)
        for name in Policies._fields
    }
    grows = {name: after / before for name, (before, after) in means.items()}
    arrows = {name: f"{before:.3g} → {after:.3g}" for name, (before, after) in means.items()}
    quartiles = [run.quantile(0.75) for run in (calm.batch, struck.batch)]
    cost = f"noise makes these jobs {evidence.noise_cost:.1%} longer"
    bins, jobs = won_bins(struck.batch, struck.shared)
    freed = won_bins(struck.batch, struck.roomy)[0]
    won = f"{_part(bins)} (memory unlimited {_part(freed)}) of the bins"
    late = lost_late(struck.batch, struck.shared, hours=4.0)
    wanting = f"; {freed - bins:.0%} more are won with unlimited memory" if freed > bins else ""
    moved = [grows["loose"], grows["loose_batch"]]
    verdicts = {
        "noise-batch": _of_edison(
            evidence, arrows["batch"], grows["batch"] >= 2,
            f"{cost}{few_days(evidence.noisy_days)}",
        ),
        "noise-batch-quartile": _verdict(
            f"{quartiles[0]:.2f} → {quartiles[1]:.2f}", quartiles[1] >= 1.05 * quartiles[0],
            f"{cost}, and {1 - struck.batch.waited:.0%} of them start at once",
        ),
        "noise-timesharing": _verdict(
            f"{arrows['shared']} (memory unlimited {arrows['roomy']})",
            grows["shared"] <= 1 + (grows["batch"] - 1) / 2,
            f"× {grows['shared']:.2f} time-shared, × {grows['batch']:.2f} under batch",
        ),
        "noise-wins": _of_edison(
            evidence, f"{won}, {_part(jobs)} of the jobs", bins >= 0.9,
            f"{_part(late)} of the bins that it loses are of jobs above 4 h{wanting}",
        ),
        "not-spmd-no-noise": _verdict(
            f"sharing {arrows['loose']}, batch × {moved[1]:.3g}",
            max(abs(grown - 1) for grown in moved) <= 0.1,
            f"{cost}, and lets others pass: the mean is of a heavy tail",
        ),
    }  # fmt: skip
    wrong = "" if evidence.noise_cost else "no noise was asked for, or it struck nobody"
    if evidence.noise_cost and not math.isclose(evidence.noise, NOISE, rel_tol=0.01):
        wrong = f"of a noise of {NOISE}; this is one of {evidence.noise:g}"
    if wrong:
        return {claim: Verdict(given.ours, None, wrong) for claim, given in verdicts.items()}
    if grows["batch"] < 1.05:
        why = f"noise does next to nothing to batch here: {arrows['batch']}"
        for claim in ("noise-timesharing", "not-spmd-no-noise"):
            verdicts[claim] = Verdict(verdicts[claim].ours, None, why)
    return verdicts


def _lengths(evidence: Evidence) -> dict[str, Verdict]:
    """Claim 3, sizes pooled by length; the extremes of single bins are printed beside."""
    batch, shared, roomy, _, _ = evidence.quiet
    large, bins = batch.nodes_edges[-1] / 100, batch.bins / shared.bins
    ratios = [ratio_by_length(batch, run) for run in (shared, roomy)]
    short = [ratio[int(np.isfinite(ratio).argmax())] for ratio in ratios]
    long = [1 / np.nanmin(ratio, initial=math.inf) for ratio in ratios]
    at = [crossover(batch, run) for run in (shared, roomy)]
    later = [crossover(batch, run, least_nodes=large) for run in (shared, roomy)]
    best, worst = np.nanmax(bins, initial=0), 1 / np.nanmin(bins, initial=math.inf)

    def of(ours: str, holds: list[bool]) -> Verdict:
        return _of_edison(evidence, ours, holds[0], _why(evidence, holds[1]))

    return {
        "short-jobs-better": of(f"{_both(*short)}; best bin {best:.3g}", [r > 500 for r in short]),
        "long-jobs-worse": of(f"{_both(*long)}; worst bin {worst:.3g}", [r >= 4 for r in long]),
        "crossover": of(f"{_both(*at)} h", [_near(hours, 2, 2) for hours in at]),
        "crossover-large": of(f"{_both(*later)} h", [_near(hours, 4, 2) for hours in later]),
    }


def _overheads(evidence: Evidence) -> dict[str, Verdict]:
    """Claim 4, on unlimited memory, where nothing but overhead matters."""
    swept = evidence.swept
    slow = {overhead: swept[overhead].mean_slowdown for overhead in sorted(swept)}
    busy = {overhead: swept[overhead].utilization for overhead in swept}
    drop, factor = busy[0.0] - busy[0.05], slow[0.05] / slow[0.0]
    few = few_days(evidence.days)
    early = math.log(slow[0.08] / slow[0.0]) / 0.08
    late = math.log(slow[0.13] / slow[0.08]) / 0.05
    rates = f"by {math.expm1(0.01 * early):.0%} and by {math.expm1(0.01 * late):.0%} a point"
    return {
        "overhead-5": _of_edison(
            evidence, f"slowdown {slow[0.0]:.1f} → {slow[0.05]:.1f}, utilization {-drop:+.1%}",
            factor <= 1.5 and drop <= 0.02,
            f"slowdown × {factor:.2f}, {100 * drop:.1f} points of utilization{few}",
        ),
        "overhead-knee": _of_edison(
            evidence, ", ".join(f"{o:.0%}: {s:.1f}" for o, s in slow.items()), late >= 2 * early,
            f"steadily: below and above 8 % it grows {rates} of overhead{few}",
        ),
        "overhead-13": _of_edison(
            evidence, f"{busy[0.13]:.3f}", abs(busy[0.13] - 0.83) <= 0.02,
            f"{busy[0.13] / 0.87:.0%} of the 0.87 that are left, the paper's 0.83 are 95 %{few}",
        ),
    }  # fmt: skip


def _crowds(evidence: Evidence) -> dict[str, Verdict]:
    """Claim 5."""
    shared, roomy = evidence.quiet.shared, evidence.quiet.roomy
    load = [shared.cpu_load, roomy.cpu_load]
    near = [abs(each / 9 - 1) <= 1 / 3 for each in load]
    most = [max(run.weekly_load, default=math.nan) for run in (shared, roomy)]
    weeks = _of_edison(evidence, _both(*most), most[0] <= 20, "a burst of submissions")
    return {
        "cpu-load-mean": _of_edison(evidence, _both(*load), near[0], _why(evidence, near[1])),
        "cpu-load-week": weeks,
    }


def _turnarounds(evidence: Evidence) -> dict[str, Verdict]:
    """Claim 6, between the least and the greatest size at which both have a turnaround."""
    batch, shared, roomy = evidence.quiet[:3]
    times = evidence.turnarounds
    kept = kept_speedups(times)
    gain = [gain_at_largest(times, batch.policy, run.policy) for run in (shared, roomy)]
    names = ("turnaround-scales", "turnaround-batch", "turnaround-largest")
    if len(kept) < MANY:
        why = f"fewer than {MANY} applications have turnarounds at two sizes: {len(kept)}"
        return dict.fromkeys(names, Verdict("none", None, why))
    waits, scales, freed = ((kept[run.policy] >= 0.5).mean() for run in (batch, shared, roomy))
    share = f"in {scales:.0%} (memory unlimited {freed:.0%}) of {len(kept)}"
    free = f"{1 - batch.waited:.0%} of the jobs start at once in batch"
    verdicts = (
        _verdict(f"{share} applications", scales >= 0.8, _why(evidence, freed >= 0.8)),
        _verdict(f"in {waits:.0%} of {len(kept)} applications", waits <= 0.5, free),
        _of_edison(
            evidence, f"median factor {_both(*gain)}", gain[0] >= 10,
            _why(evidence, gain[1] >= 10) if gain[1] >= 10 else free,
        ),
    )  # fmt: skip
    return dict(zip(names, verdicts, strict=True))


LIGHT = 6.0
"""CPU load with unlimited memory below which there is no backlog like Edison's, whose load is 9."""

LONG = 100.0
"""Days from which on a backlog has had time to build up."""


def no_backlog(roomy: RunSummary) -> str:
    """Says so where the load is far below Edison's even with unlimited memory, empty elsewhere."""
    load = roomy.cpu_load
    return f"too few jobs at once: CPU load {load:.1f}, Edison's is 9" if load < LIGHT else ""


def explain(shared: RunSummary, roomy: RunSummary, *, roomy_holds: bool, synthetic: bool) -> str:
    """Why a claim fails under `shared`: memory if it is that, or how days are unlike Edison's.

    Parameters
    ----------
    shared, roomy : RunSummary
        Time-shared with limited memory, and unlimited.
    roomy_holds : bool
        Whether the claim would hold on `roomy`; only then is memory the cause.
    synthetic : bool
        Whether the jobs are like Edison's, or else of a log.
    """
    if roomy_holds and shared.waited:
        unknown = (
            "which of them need much is" if synthetic else "nodes' memory is assumed, for it is"
        )
        source = "not printed" if synthetic else "not in the log"
        return f"{shared.waited:.1%} of the jobs wait for memory; {unknown} {source}"
    if synthetic and no_backlog(roomy):
        return no_backlog(roomy)
    unknown = "; how sizes go with lengths and estimates is not printed" if synthetic else ""
    return f"so with unlimited memory, too{unknown}"


def few_days(days: float) -> str:
    """What is said beside a number that needs a long run; empty for one."""
    late = "what is late ends after the last submission"
    return f"; {days:.0f} days are few: {late}" if days < LONG else ""


def lost_late(batch: RunSummary, shared: RunSummary, *, hours: float, at_least: int = 10) -> float:
    """Of the bins that time-sharing loses, the share of those of jobs longer than so many hours.

    Bins with fewer than `at_least` jobs do not count; NaN where none is lost.
    """
    counted = np.array(batch.counts) >= at_least
    lost = (counted & (batch.bins <= shared.bins)).sum(axis=0)
    late = np.array(batch.length_edges[:-1]) >= hours * HOUR
    return float(lost[late].sum() / lost.sum()) if lost.any() else math.nan
