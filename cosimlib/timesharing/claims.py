"""Claims of Hofmeyr et al. (HPCC 2016) about time-sharing, judged on our runs.

Claims are judged with limited memory; where memory matters and is not what a claim is about, the
number with unlimited memory stands beside, and the claims about overhead are judged on that.

Numbers of Edison are judged on jobs like Edison's at its load only, where a backlog like Edison's
builds up, and are unknown on a log; those of noise are judged at the paper's noise only; and
nothing where hardly a job is counted or no job waits under batch scheduling.

What the words of a statement mean here; `LIMITS` has the numbers. *About the same* utilization is
within 5 points, of one another and of the printed one; that at an overhead of 13 % is the printed
one within 2. A mean slowdown *is* the printed one within a factor of 1.5, a crossover within 2, a
CPU load within a third. *Large* jobs have 1 % of the machine or more. Noise *multiplies* a mean by
2 or more, and raises another *by far less* if that grows by at most half as much; a quartile is
*raised* by 5 % or more. *Up to 8×* is met from 4 on. An overhead *hardly matters* if it costs at
most a factor of 1.5 in slowdown and 2 points of utilization; at the *knee* the slowdown grows at
least twice as fast from 8 to 13 % as from 0 to 8 %, on a logarithmic scale. A turnaround *falls* if
it keeps half of the dedicated run times' speedup, which it does in four of five applications under
time-sharing and in at most half of them under batch. *Orders of magnitude* are a median factor of
10, *almost everywhere* is 90 % of the bins with ten jobs, *not significantly* a change by a tenth.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib.claims import Verdict, unknown, verdict
from cosimlib.synthetic.edison import UTILIZATION
from cosimlib.timesharing import comparison
from cosimlib.timesharing.noise import NOISE
from cosimlib.timesharing.runs import Policies
from cosimlib.timesharing.summary import RunSummary

LIMITS = {
    "same-utilization": (0.0, 0.05),
    "slowdown-batch": (137 / 1.5, 137 * 1.5),
    "slowdown-timesharing": (7.9 / 1.5, 7.9 * 1.5),
    "slowdown-not-spmd": (3.3 / 1.5, 3.3 * 1.5),
    "noise-batch": (2.0, math.inf),
    "noise-batch-quartile": (1.05, math.inf),
    "noise-timesharing": (-math.inf, 0.5),
    "short-jobs-better": (500.0, math.inf),
    "long-jobs-worse": (4.0, math.inf),
    "crossover": (2 / 2, 2 * 2),
    "crossover-large": (4 / 2, 4 * 2),
    "overhead-5": (0.0, 1.5),
    "overhead-knee": (2.0, math.inf),
    "overhead-13": (0.83 - 0.02, 0.83 + 0.02),
    "cpu-load-mean": (9 - 9 / 3, 9 + 9 / 3),
    "cpu-load-week": (0.0, 20.0),
    "turnaround-scales": (0.8, 1.0),
    "turnaround-batch": (0.0, 0.5),
    "turnaround-largest": (10.0, math.inf),
    "noise-wins": (0.9, 1.0),
    "not-spmd-no-noise": (0.0, 0.1),
}
"""Least and greatest value of the number by which a claim is judged, both included."""

POINTS_OF_OVERHEAD = 0.02
"""Utilization that an overhead that hardly matters may cost."""

LARGE = 0.01
"""Part of the machine from which on a job is large."""

KEPT = 0.5
"""Part of the dedicated run times' speedup from which on a turnaround falls."""

LEAST_APPLICATIONS = 3
"""Applications from which on something is said of them all."""

LEAST_GROWTH = 1.05
"""Growth of the mean slowdown under batch from which on noise does anything."""

BACKLOG = 6.0
"""CPU load with unlimited memory below which there is no backlog like Edison's, whose load is 9."""

LONG = 100.0
"""Days from which on a backlog has had time to build up."""

OF_NOISE = ("noise-batch", "noise-batch-quartile", "noise-timesharing", "noise-wins",
            "not-spmd-no-noise")  # fmt: skip
"""Claims about noise, judged on the noisy days."""

AGAINST_NOISY_BATCH = ("noise-timesharing", "not-spmd-no-noise")
"""Claims that compare what noise does with what it does to batch scheduling."""

OF_APPLICATIONS = ("turnaround-scales", "turnaround-batch", "turnaround-largest")
"""Claims about the turnaround of strong-scaling applications."""

ON_ANY_LOG = ("slowdown-order", "noise-batch-quartile", "noise-timesharing", "not-spmd-no-noise",
              "turnaround-scales", "turnaround-batch")  # fmt: skip
"""Claims without a number of Edison's, which are judged on other machines' logs, too."""


class Evidence(NamedTuple):
    """Runs and numbers that the claims are judged by.

    Parameters
    ----------
    noise_free, noisy_days_without_noise, noisy : Policies
        All days, without noise; the days of the noise, without it and with it.
    not_spmd_unlimited_memory : RunSummary
        All days of jobs that are not SPMD, time-shared with unlimited memory.
    by_overhead : mapping of float to RunSummary
        Time-shared with unlimited memory; overheads of 0, 0.05, 0.08 and 0.13 among them.
    turnarounds : pd.DataFrame
        As of `turnaround_times`, of the first three of `noise_free`.
    noise_cost : float
        Additional node-seconds that noise takes under batch scheduling, as a part.
    days, noisy_days : float
        Days that are counted, without noise and with it.
    edison : bool
        Whether the jobs are like Edison's, or else of a log.
    load : float, default 0.89
        Offered load of synthetic jobs; numbers of Edison are judged at the printed one only.
    noise : float, default 0.001
        Probability of the noise; claims about noise are judged at the paper's only.
    """

    noise_free: Policies
    noisy_days_without_noise: Policies
    noisy: Policies
    not_spmd_unlimited_memory: RunSummary
    by_overhead: Mapping[float, RunSummary]
    turnarounds: pd.DataFrame
    noise_cost: float
    days: float
    noisy_days: float
    edison: bool
    load: float = UTILIZATION
    noise: float = NOISE


def judge(evidence: Evidence) -> dict[str, Verdict]:
    """Verdicts on the claims about time-sharing, by their ids in `data/claims.csv`."""
    found = {judged.__name__.replace("_", "-"): judged(evidence) for judged in CLAIMS}
    return {claim: _decided(evidence, claim, one) for claim, one in found.items()}


def same_utilization(evidence: Evidence) -> Verdict:
    """Batch scheduling and time-sharing reach about the same utilization, that of the paper."""
    batch, shared, unlimited = (run.utilization for run in evidence.noise_free[:3])
    ours = f"batch {batch:.0%}, sharing {shared:.0%} (memory unlimited {unlimited:.0%})"
    apart = [float(np.ptp([batch, busy, UTILIZATION])) for busy in (shared, unlimited)]
    return _with_memory(evidence, "same-utilization", ours, *apart)


def slowdown_batch(evidence: Evidence) -> Verdict:
    """The mean slowdown under batch scheduling is the printed one."""
    mean = evidence.noise_free.batch.mean_slowdown
    why = "the mean of a heavy tail depends on bursts and estimates, which are not printed"
    return verdict(f"{mean:.3g}", _within("slowdown-batch", mean), why)


def slowdown_timesharing(evidence: Evidence) -> Verdict:
    """The mean slowdown under time-sharing is the printed one."""
    return _numbers(evidence, "slowdown-timesharing", lambda run: run.mean_slowdown)


def slowdown_not_spmd(evidence: Evidence) -> Verdict:
    """The mean slowdown of time-shared jobs that are not SPMD is the printed one."""
    not_spmd = evidence.noise_free.not_spmd
    means = not_spmd.mean_slowdown, evidence.not_spmd_unlimited_memory.mean_slowdown
    return _with_memory(evidence, "slowdown-not-spmd", _both(*means), *means, limited=not_spmd)


def slowdown_order(evidence: Evidence) -> Verdict:
    """The mean slowdown is highest under batch, then time-shared, then time-shared not SPMD."""
    batch, shared, unlimited, not_spmd, _ = evidence.noise_free
    means = [run.mean_slowdown for run in (batch, shared, not_spmd)]
    freed = [unlimited.mean_slowdown, evidence.not_spmd_unlimited_memory.mean_slowdown]
    holds = means[0] > means[1] > means[2]
    chain = (" > " if holds else ", ").join(f"{mean:.3g}" for mean in means)
    ours = f"{chain}; memory unlimited {freed[0]:.3g}, {freed[1]:.3g}"
    limited = shared if means[1] > means[2] else not_spmd
    return verdict(ours, holds, _why(evidence, means[0] > freed[0] > freed[1], limited))


def noise_batch(evidence: Evidence) -> Verdict:
    """Noise multiplies the mean slowdown under batch scheduling."""
    why = f"{_longer(evidence)}{_few_days(evidence.noisy_days)}"
    growth = _growth(evidence, "batch")
    return verdict(_arrow(evidence, "batch"), _within("noise-batch", growth), why)


def noise_batch_quartile(evidence: Evidence) -> Verdict:
    """Noise raises the 75th percentile of slowdowns under batch scheduling."""
    without, noisy = evidence.noisy_days_without_noise.batch, evidence.noisy.batch
    before, after = without.quantile(0.75), noisy.quantile(0.75)
    why = f"{_longer(evidence)}, and {1 - noisy.waited:.0%} of them start at once"
    holds = _within("noise-batch-quartile", after / before)
    return verdict(f"{before:.2f} → {after:.2f}", holds, why)


def noise_timesharing(evidence: Evidence) -> Verdict:
    """Noise raises the mean slowdown under time-sharing by far less than under batch."""
    shared, batch = _growth(evidence, "shared"), _growth(evidence, "batch")
    arrows = _arrow(evidence, "shared"), _arrow(evidence, "unlimited_memory")
    holds = shared <= 1 + LIMITS["noise-timesharing"][1] * (batch - 1)
    why = f"× {shared:.2f} time-shared, × {batch:.2f} under batch"
    return verdict(f"{arrows[0]} (memory unlimited {arrows[1]})", holds, why)


def short_jobs_better(evidence: Evidence) -> Verdict:
    """The shortest jobs are better off under time-sharing, all sizes together."""
    batch, shared, *_ = evidence.noise_free

    def shortest(run: RunSummary) -> float:
        ratio = comparison.ratio_by_length(batch, run)
        return float(ratio[int(np.isfinite(ratio).argmax())])

    best = np.nanmax(batch.bins / shared.bins, initial=0)
    return _numbers(evidence, "short-jobs-better", shortest, f"; best bin {best:.3g}")


def long_jobs_worse(evidence: Evidence) -> Verdict:
    """Long jobs are better off under batch scheduling, all sizes together."""
    batch, shared, *_ = evidence.noise_free

    def longest(run: RunSummary) -> float:
        return float(1 / np.nanmin(comparison.ratio_by_length(batch, run), initial=math.inf))

    worst = 1 / np.nanmin(batch.bins / shared.bins, initial=math.inf)
    return _numbers(evidence, "long-jobs-worse", longest, f"; worst bin {worst:.3g}")


def crossover(evidence: Evidence) -> Verdict:
    """Batch scheduling is better for jobs that are longer than the printed run time."""
    batch = evidence.noise_free.batch
    return _numbers(evidence, "crossover", lambda run: comparison.crossover_hours(batch, run), " h")


def crossover_large(evidence: Evidence) -> Verdict:
    """Batch scheduling is better for large jobs longer than the run time printed for them."""
    batch = evidence.noise_free.batch
    hours = partial(comparison.crossover_hours, batch, least_nodes=LARGE * batch.nodes_edges[-1])
    return _numbers(evidence, "crossover-large", hours, " h")


def overhead_5(evidence: Evidence) -> Verdict:
    """An overhead of 5 % hardly matters."""
    free, taxed = evidence.by_overhead[0.0], evidence.by_overhead[0.05]
    slow = free.mean_slowdown, taxed.mean_slowdown
    drop, factor = free.utilization - taxed.utilization, slow[1] / slow[0]
    ours = f"slowdown {slow[0]:.1f} → {slow[1]:.1f}, utilization {-drop:+.1%}"
    holds = _within("overhead-5", factor) and drop <= POINTS_OF_OVERHEAD
    why = f"slowdown × {factor:.2f}, {100 * drop:.1f} points of utilization"
    return verdict(ours, holds, f"{why}{_few_days(evidence.days)}")


def overhead_knee(evidence: Evidence) -> Verdict:
    """The mean slowdown climbs steeply near an overhead of 10 %."""
    slow = {overhead: run.mean_slowdown for overhead, run in sorted(evidence.by_overhead.items())}
    early = math.log(slow[0.08] / slow[0.0]) / 0.08
    late = math.log(slow[0.13] / slow[0.08]) / 0.05
    rates = f"by {math.expm1(0.01 * early):.0%} and by {math.expm1(0.01 * late):.0%} a point"
    ours = ", ".join(f"{overhead:.0%}: {mean:.1f}" for overhead, mean in slow.items())
    why = f"steadily: below and above 8 % it grows {rates} of overhead{_few_days(evidence.days)}"
    return verdict(ours, late >= LIMITS["overhead-knee"][0] * early, why)


def overhead_13(evidence: Evidence) -> Verdict:
    """The utilization at an overhead of 13 % is the printed one."""
    busy = evidence.by_overhead[0.13].utilization
    why = f"{busy / 0.87:.0%} of the 0.87 that are left, the paper's 0.83 are 95 %"
    return verdict(f"{busy:.3f}", _within("overhead-13", busy), f"{why}{_few_days(evidence.days)}")


def cpu_load_mean(evidence: Evidence) -> Verdict:
    """The mean CPU load is the printed one."""
    return _numbers(evidence, "cpu-load-mean", lambda run: run.cpu_load)


def cpu_load_week(evidence: Evidence) -> Verdict:
    """The weekly mean CPU load never exceeds the printed one."""
    _, shared, unlimited, *_ = evidence.noise_free
    most = [max(run.weekly_load, default=math.nan) for run in (shared, unlimited)]
    return verdict(_both(*most), _within("cpu-load-week", most[0]), "a burst of submissions")


def turnaround_scales(evidence: Evidence) -> Verdict:
    """Under time-sharing the turnaround of applications falls with nodes."""
    _, shared, unlimited, *_ = evidence.noise_free
    kept = comparison.kept_speedups(evidence.turnarounds)
    parts = [float((kept[run.policy] >= KEPT).mean()) for run in (shared, unlimited)]
    scale = f"in {_part(parts[0])} (memory unlimited {_part(parts[1])})"
    ours = f"{scale} of {len(kept)} applications"
    return _with_memory(evidence, "turnaround-scales", ours, *parts)


def turnaround_batch(evidence: Evidence) -> Verdict:
    """Under batch scheduling the turnaround of applications does not fall with nodes."""
    batch = evidence.noise_free.batch
    kept = comparison.kept_speedups(evidence.turnarounds)
    part = float((kept[batch.policy] >= KEPT).mean())
    ours = f"in {_part(part)} of {len(kept)} applications"
    return verdict(ours, _within("turnaround-batch", part), _start_at_once(batch))


def turnaround_largest(evidence: Evidence) -> Verdict:
    """At the largest size turnarounds are orders of magnitude apart."""
    batch, *others = evidence.noise_free[:3]
    names = [(batch.policy, run.policy) for run in others]
    gains = [comparison.gain_at_largest(evidence.turnarounds, *pair) for pair in names]
    holds = [_within("turnaround-largest", gain) for gain in gains]
    why = _why(evidence, True) if holds[1] else _start_at_once(batch)
    return verdict(f"median factor {_both(*gains)}", holds[0], why)


def noise_wins(evidence: Evidence) -> Verdict:
    """Under noise time-sharing is better almost everywhere."""
    batch, shared, unlimited, *_ = evidence.noisy
    bins, jobs = comparison.won_bins(batch, shared)
    freed, _ = comparison.won_bins(batch, unlimited)
    late = comparison.lost_late(batch, shared, hours=4.0)
    ours = f"{_part(bins)} (memory unlimited {_part(freed)}) of the bins, {_part(jobs)} of the jobs"
    why = f"{_part(late)} of the bins that it loses are of jobs above 4 h"
    why += f"; {freed - bins:.0%} more are won with unlimited memory" if freed > bins else ""
    return verdict(ours, _within("noise-wins", bins), why)


def not_spmd_no_noise(evidence: Evidence) -> Verdict:
    """Jobs that are not SPMD do not feel this noise."""
    growth = _growth(evidence, "not_spmd"), _growth(evidence, "not_spmd_batch")
    ours = f"sharing {_arrow(evidence, 'not_spmd')}, batch × {growth[1]:.3g}"
    moved = max(abs(factor - 1) for factor in growth)
    why = f"{_longer(evidence)}, and lets others pass: the mean is of a heavy tail"
    return verdict(ours, _within("not-spmd-no-noise", moved), why)


CLAIMS = (
    same_utilization, slowdown_batch, slowdown_timesharing, slowdown_not_spmd, slowdown_order,
    noise_batch, noise_batch_quartile, noise_timesharing, short_jobs_better, long_jobs_worse,
    crossover, crossover_large, overhead_5, overhead_knee, overhead_13, cpu_load_mean,
    cpu_load_week, turnaround_scales, turnaround_batch, turnaround_largest, noise_wins,
    not_spmd_no_noise,
)  # fmt: skip
"""One function per claim, named like it."""


def _decided(evidence: Evidence, claim: str, found: Verdict) -> Verdict:
    """The verdict on a claim, unknown where the runs cannot decide it."""
    doubts = (
        comparison.undecided(evidence.noise_free.batch),
        _few_applications(evidence) if claim in OF_APPLICATIONS else "",
        _other_noise(evidence) if claim in OF_NOISE else "",
        _idle_noise(evidence) if claim in AGAINST_NOISY_BATCH else "",
        "" if claim in ON_ANY_LOG else _unlike_edison(evidence),
    )
    doubt = next(filter(None, doubts), "")
    return unknown(found.ours, doubt) if doubt else found


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
    idle = _growth(evidence, "batch") < LEAST_GROWTH
    here = f"noise does next to nothing to batch here: {_arrow(evidence, 'batch')}"
    return here if idle else ""


def _unlike_edison(evidence: Evidence) -> str:
    """Why numbers of Edison cannot be judged: a log, another load, light days; else empty."""
    if evidence.edison and math.isclose(evidence.load, UTILIZATION, rel_tol=0.01):
        return _no_backlog(evidence)
    busy = evidence.noise_free.batch.utilization
    here = f"of {evidence.load:g}" if evidence.edison else f"that keeps it {busy:.0%} busy"
    return f"of Edison and its load of {UTILIZATION}; here is one {here}"


def _no_backlog(evidence: Evidence) -> str:
    """Says so where the load is far below Edison's even with unlimited memory; else empty."""
    load = evidence.noise_free.unlimited_memory.cpu_load
    return f"too few jobs at once: CPU load {load:.1f}, Edison's is 9" if load < BACKLOG else ""


def _few_days(days: float) -> str:
    """Remark on a number that needs a long run; empty for one."""
    late = "what is late ends after the last submission"
    return f"; {days:.0f} days are few: {late}" if days < LONG else ""


def _why(evidence: Evidence, unlimited_holds: bool, limited: RunSummary | None = None) -> str:
    """Why a claim fails with limited memory, by default for SPMD jobs.

    Memory is the cause only where the claim would hold with unlimited memory.
    """
    waited = (limited or evidence.noise_free.shared).waited
    if unlimited_holds and waited:
        assumed = "nodes' memory is assumed, for it is not in the log"
        which = "which of them need much is not printed" if evidence.edison else assumed
        return f"{waited:.1%} of the jobs wait for memory; {which}"
    if evidence.edison and _no_backlog(evidence):
        return _no_backlog(evidence)
    sizes = "; how sizes go with lengths and estimates is not printed" if evidence.edison else ""
    return f"so with unlimited memory, too{sizes}"


def _with_memory(
    evidence: Evidence,
    claim: str,
    ours: str,
    number: float,
    unlimited: float,
    *,
    limited: RunSummary | None = None,
) -> Verdict:
    """Judged by the number with limited memory, explained by that with unlimited memory."""
    why = _why(evidence, _within(claim, unlimited), limited)
    return verdict(ours, _within(claim, number), why)


def _numbers(
    evidence: Evidence, claim: str, number: Callable[[RunSummary], float], after: str = ""
) -> Verdict:
    """Judged by a number of time-sharing, with that of unlimited memory beside it."""
    _, shared, unlimited, *_ = evidence.noise_free
    both = number(shared), number(unlimited)
    return _with_memory(evidence, claim, f"{_both(*both)}{after}", *both)


def _start_at_once(batch: RunSummary) -> str:
    """Share of the jobs that do not wait under batch scheduling, as text."""
    return f"{1 - batch.waited:.0%} of the jobs start at once in batch"


def _longer(evidence: Evidence) -> str:
    """Growth of run times under noise, as text."""
    return f"noise makes these jobs {evidence.noise_cost:.1%} longer"


def _means(evidence: Evidence, run: str) -> tuple[float, float]:
    """Mean slowdown of a run on the noisy days, without noise and with it."""
    days = evidence.noisy_days_without_noise, evidence.noisy
    without, noisy = (getattr(runs, run).mean_slowdown for runs in days)
    return without, noisy


def _growth(evidence: Evidence, run: str) -> float:
    """Factor by which noise raises the mean slowdown of a run."""
    without, noisy = _means(evidence, run)
    return noisy / without


def _arrow(evidence: Evidence, run: str) -> str:
    """Mean slowdown of a run without noise and with it, as text."""
    without, noisy = _means(evidence, run)
    return f"{without:.3g} → {noisy:.3g}"


def _within(claim: str, number: float) -> bool:
    """Whether a number is between the limits of its claim; NaN is not."""
    least, greatest = LIMITS[claim]
    return bool(least <= number <= greatest)


def _both(limited: float, unlimited: float) -> str:
    """A number with limited memory, and with unlimited, as text."""
    return f"{_number(limited)} (memory unlimited {_number(unlimited)})"


def _number(value: float) -> str:
    """Three digits; "none" for NaN."""
    return "none" if math.isnan(value) else f"{value:.3g}"


def _part(value: float) -> str:
    """Percent; "none" for NaN."""
    return "none" if math.isnan(value) else f"{value:.0%}"
