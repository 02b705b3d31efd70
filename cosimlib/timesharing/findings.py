"""Numbers for the claims of Hofmeyr et al. (HPCC 2016) about time-sharing, one function per claim.

Each has the runs of one seed and returns one `Finding`: the text that stands beside the paper's,
the value that decides (see `claims.LIMITS`), and why it may be another.
"""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib.display import percent
from cosimlib.synthetic.edison import UTILIZATION
from cosimlib.timesharing import comparison
from cosimlib.timesharing.noise import NOISE
from cosimlib.timesharing.runs import Policies
from cosimlib.timesharing.summary import RunSummary

POINTS_OF_OVERHEAD = 0.02
"""Utilization that an overhead that hardly matters may cost."""

LARGE = 0.01
"""Part of the machine from which on a job is large."""

KEPT = 0.5
"""Part of the dedicated run times' speedup from which on a turnaround falls."""

LONG = 100.0
"""Days from which on a backlog has had time to build up."""


class NoisyDays(NamedTuple):
    """Summaries of the runs of the days on which there is noise, with it or without."""

    batch: RunSummary
    shared: RunSummary
    not_spmd: RunSummary
    not_spmd_batch: RunSummary


class Evidence(NamedTuple):
    """Runs and numbers of one seed that the claims are judged by.

    Parameters
    ----------
    noise_free : Policies
        All days, without noise.
    noisy_days_without_noise, noisy : NoisyDays, Policies or None
        The days of the noise, without it and with it; None where a seed has none.
    not_spmd_unlimited_memory : RunSummary
        All days of jobs that are not SPMD, time-shared with unlimited memory.
    by_overhead : mapping of float to RunSummary
        Time-shared with unlimited memory, the same days; overheads of 0, 0.05, 0.08 and 0.13 among
        them. Empty where a seed has none; see `overhead`.
    turnarounds : pd.DataFrame
        As of `turnaround_times`, of the first three of `noise_free`.
    noise_cost : float
        Additional node-seconds that noise takes under batch scheduling, as a part.
    days : float
        Days that are counted by overhead.
    edison : bool
        Whether the jobs are like Edison's, or else of a log.
    load : float, default 0.89
        Offered load of synthetic jobs; numbers of Edison are judged at the printed one only.
    noise : float, default 0.001
        Probability of the noise on a machine of Edison's size; claims about noise are judged at
        the paper's only.
    long_batch, long_noisy_batch : RunSummary, optional
        Batch scheduling over more days, without noise and with it, for the claims about batch
        scheduling alone; see `calm_batch` and `batch_pair`.
    """

    noise_free: Policies
    noisy_days_without_noise: NoisyDays | Policies | None
    noisy: NoisyDays | Policies | None
    not_spmd_unlimited_memory: RunSummary
    by_overhead: Mapping[float, RunSummary]
    turnarounds: pd.DataFrame
    noise_cost: float
    days: float
    edison: bool
    load: float = UTILIZATION
    noise: float = NOISE
    long_batch: RunSummary | None = None
    long_noisy_batch: RunSummary | None = None

    @property
    def both_days(self) -> tuple[NoisyDays | Policies, NoisyDays | Policies]:
        """The days of the noise, without it and with it."""
        if self.noisy_days_without_noise is None or self.noisy is None:
            raise ValueError(
                "no run under noise; give evidence of a seed that has one, such as "
                "others=measured.others"
            )
        return self.noisy_days_without_noise, self.noisy

    @property
    def calm_batch(self) -> RunSummary:
        """Batch scheduling without noise, the long run where there is one."""
        return self.long_batch or self.noise_free.batch

    @property
    def batch_pair(self) -> tuple[RunSummary, RunSummary]:
        """Batch scheduling without noise and with it, on the same days: both long or neither."""
        if self.long_batch is not None and self.long_noisy_batch is not None:
            return self.long_batch, self.long_noisy_batch
        return self.both_days[0].batch, self.both_days[1].batch

    def overhead(self, part: float) -> RunSummary:
        """The run with an overhead; ValueError where the seed has none."""
        if part not in self.by_overhead:
            raise ValueError(
                f"no run with an overhead of {part:g}; give evidence of a seed that has one, such "
                "as others=measured.others"
            )
        return self.by_overhead[part]


class Finding(NamedTuple):
    """A number beside a claim: the text, the value that decides, and why it may miss its limits.

    `freed` is the value with unlimited memory, where memory may be why; `limited` the run whose
    jobs wait for memory then, by default the SPMD jobs'. Where the value is NaN there is no number,
    and `none` says why.
    """

    ours: str
    value: float
    why: str = ""
    freed: float | None = None
    limited: RunSummary | None = None
    none: str = "no jobs of the kind that this is about"


def same_utilization(evidence: Evidence) -> Finding:
    """Batch scheduling and time-sharing reach about the same utilization, that of the paper."""
    batch, shared, unlimited = (run.utilization for run in evidence.noise_free[:3])
    ours = (
        f"batch {percent(batch, 0)}, sharing {percent(shared, 0)} (memory unlimited "
        f"{percent(unlimited, 0)})"
    )
    apart, freed = (float(np.ptp([batch, busy, UTILIZATION])) for busy in (shared, unlimited))
    return Finding(ours, apart, freed=freed)


def slowdown_batch(evidence: Evidence) -> Finding:
    """The mean slowdown under batch scheduling is the printed one."""
    mean = evidence.calm_batch.mean_slowdown
    why = "the mean of a heavy tail depends on bursts and estimates, which are not printed"
    return Finding(f"{mean:.3g}", mean, why)


def slowdown_timesharing(evidence: Evidence) -> Finding:
    """The mean slowdown under time-sharing is the printed one."""
    return _numbers(evidence, lambda run: run.mean_slowdown)


def slowdown_not_spmd(evidence: Evidence) -> Finding:
    """The mean slowdown of time-shared jobs that are not SPMD is the printed one."""
    not_spmd = evidence.noise_free.not_spmd
    means = not_spmd.mean_slowdown, evidence.not_spmd_unlimited_memory.mean_slowdown
    return Finding(_both(*means), means[0], freed=means[1], limited=not_spmd)


def slowdown_order(evidence: Evidence) -> Finding:
    """The mean slowdown is highest under batch, then time-shared, then time-shared not SPMD."""
    batch, shared, unlimited, not_spmd, _ = evidence.noise_free
    means = [run.mean_slowdown for run in (batch, shared, not_spmd)]
    freed = [unlimited.mean_slowdown, evidence.not_spmd_unlimited_memory.mean_slowdown]
    holds = means[0] > means[1] > means[2]
    chain = (" > " if holds else ", ").join(f"{mean:.3g}" for mean in means)
    ours = f"{chain}; memory unlimited {freed[0]:.3g}, {freed[1]:.3g}"
    limited = shared if means[1] > means[2] else not_spmd
    least, unlimited_least = (min(a / b, b / c) for a, b, c in (means, [means[0], *freed]))
    return Finding(ours, least, freed=unlimited_least, limited=limited)


def noise_batch(evidence: Evidence) -> Finding:
    """Noise multiplies the mean slowdown under batch scheduling."""
    without, noisy = (run.mean_slowdown for run in evidence.batch_pair)
    why = f"{_longer(evidence)}{_few_days(evidence.days)}"
    return Finding(f"{without:.3g} → {noisy:.3g}", noisy / without, why)


def noise_batch_quartile(evidence: Evidence) -> Finding:
    """Noise raises the 75th percentile of slowdowns under batch scheduling."""
    without, noisy = evidence.batch_pair
    before, after = without.quantile(0.75), noisy.quantile(0.75)
    why = f"{_longer(evidence)}, and {percent(1 - noisy.waited, 0)} of them start at once"
    return Finding(f"{before:.2f} → {after:.2f}", after / before, why)


def noise_timesharing(evidence: Evidence) -> Finding:
    """Noise raises the mean slowdown under time-sharing by far less than under batch."""
    shared, batch = growth(evidence, "shared"), growth(evidence, "batch")
    part = (shared - 1) / (batch - 1) if batch > 1 else math.nan
    why = f"× {shared:.2f} time-shared, × {batch:.2f} under batch"
    return Finding(arrow(evidence, "shared"), part, why)


def short_jobs_better(evidence: Evidence) -> Finding:
    """The shortest jobs are better off under time-sharing, all sizes together."""
    batch, shared, *_ = evidence.noise_free

    def shortest(run: RunSummary) -> float:
        ratio = comparison.ratio_by_length(batch, run)
        return float(ratio[int(np.isfinite(ratio).argmax())])

    best = np.nanmax(batch.bins / shared.bins, initial=0)
    return _numbers(evidence, shortest, f"; best bin {best:.3g}")


def long_jobs_worse(evidence: Evidence) -> Finding:
    """Long jobs are better off under batch scheduling, all sizes together."""
    batch, shared, *_ = evidence.noise_free

    def longest(run: RunSummary) -> float:
        return float(1 / np.nanmin(comparison.ratio_by_length(batch, run), initial=math.inf))

    worst = 1 / np.nanmin(batch.bins / shared.bins, initial=math.inf)
    return _numbers(evidence, longest, f"; worst bin {worst:.3g}")


def crossover(evidence: Evidence) -> Finding:
    """Batch scheduling is better for jobs that are longer than the printed run time."""
    batch, *shared = evidence.noise_free[:3]
    limited, freed = (comparison.crossover_hours(batch, run) for run in shared)
    ours = f"{_hours(limited)} (memory unlimited {_hours(freed)}) h"
    return Finding(ours, limited, freed=freed)


def crossover_large(evidence: Evidence) -> Finding:
    """The run time from which batch scheduling is better is later for large jobs, as printed.

    What decides is the factor between the two on the same runs: with more jobs on a node, as on
    more nodes, both are others.
    """
    batch, *shared = evidence.noise_free[:3]
    large = LARGE * batch.nodes_edges[-1]
    hours = [
        (comparison.crossover_hours(batch, run),
         comparison.crossover_hours(batch, run, least_nodes=large))
        for run in shared
    ]  # fmt: skip
    limited, freed = (_later(*pair) for pair in hours)
    told = [f"{_hours(of_all)} → {_hours(of_large)}" for of_all, of_large in hours]
    slower = [comparison.slower_if_large(run, least_nodes=large) for run in (shared[0], batch)]
    why = "large jobs are slowed down × {:.2f} as much as others time-shared, × {:.2f} under batch"
    why = "no length has large jobs and others" if math.isnan(sum(slower)) else why.format(*slower)
    better = "batch is" if hours[0][0] == 0.0 else "time-sharing is"
    none = f"{better} better whatever the run time, for large jobs and for all"
    if math.isnan(hours[0][1]):
        none = f"no jobs of {percent(LARGE, 0)} of the machine or more"
    ours = f"{told[0]} (memory unlimited {told[1]}) h"
    return Finding(ours, limited, why, freed, none=none)


def overhead_5(evidence: Evidence) -> Finding:
    """An overhead of 5 % hardly matters."""
    free, taxed = evidence.overhead(0.0), evidence.overhead(0.05)
    slow = free.mean_slowdown, taxed.mean_slowdown
    drop, factor = free.utilization - taxed.utilization, slow[1] / slow[0]
    ours = f"slowdown {slow[0]:.1f} → {slow[1]:.1f}, utilization {percent(-drop, 1, signed=True)}"
    why = f"slowdown × {factor:.2f}, {100 * drop:.1f} points of utilization"
    cost = factor if drop <= POINTS_OF_OVERHEAD else math.inf
    return Finding(ours, cost, f"{why}{_few_days(evidence.days)}")


def overhead_knee(evidence: Evidence) -> Finding:
    """The mean slowdown climbs steeply near an overhead of 10 %."""
    slow = {overhead: run.mean_slowdown for overhead, run in sorted(evidence.by_overhead.items())}
    free, some, most = (evidence.overhead(part).mean_slowdown for part in (0.0, 0.08, 0.13))
    early, late = math.log(some / free) / 0.08, math.log(most / some) / 0.05
    grown = (percent(math.expm1(0.01 * each), 0) for each in (early, late))
    rates = f"by {' and by '.join(grown)} a point"
    ours = ", ".join(f"{percent(overhead, 0)}: {mean:.1f}" for overhead, mean in slow.items())
    why = f"steadily: below and above 8 % it grows {rates} of overhead{_few_days(evidence.days)}"
    none = "no overhead up to 8 % slows jobs down"
    return Finding(ours, late / early if early > 0 else math.nan, why, none=none)


def overhead_13(evidence: Evidence) -> Finding:
    """The utilization at an overhead of 13 % is the printed one."""
    busy = evidence.overhead(0.13).utilization
    why = f"{percent(busy / 0.87, 0)} of the 0.87 that are left, the paper's 0.83 are 95 %"
    return Finding(f"{busy:.3f}", busy, f"{why}{_few_days(evidence.days)}")


def cpu_load_mean(evidence: Evidence) -> Finding:
    """The mean CPU load is the printed one."""
    return _numbers(evidence, lambda run: run.cpu_load)


def cpu_load_week(evidence: Evidence) -> Finding:
    """The weekly mean CPU load never exceeds the printed one."""
    _, shared, unlimited, *_ = evidence.noise_free
    most = [max(run.weekly_load, default=math.nan) for run in (shared, unlimited)]
    return Finding(_both(*most), most[0], "a burst of submissions")


def turnaround_scales(evidence: Evidence) -> Finding:
    """Under time-sharing the turnaround of applications falls with nodes."""
    _, shared, unlimited, *_ = evidence.noise_free
    kept = comparison.kept_speedups(evidence.turnarounds)
    parts = [float((kept[run.policy] >= KEPT).mean()) for run in (shared, unlimited)]
    scale = f"in {_part(parts[0])} (memory unlimited {_part(parts[1])})"
    ours = f"{scale} of {len(kept)} applications"
    return Finding(ours, parts[0], freed=parts[1])


def turnaround_batch(evidence: Evidence) -> Finding:
    """Under batch scheduling the turnaround of applications does not fall with nodes."""
    batch = evidence.noise_free.batch
    kept = comparison.kept_speedups(evidence.turnarounds)
    part = float((kept[batch.policy] >= KEPT).mean())
    ours = f"in {_part(part)} of {len(kept)} applications"
    return Finding(ours, part, _start_at_once(batch))


def turnaround_largest(evidence: Evidence) -> Finding:
    """At the largest size turnarounds are orders of magnitude apart."""
    batch, *others = evidence.noise_free[:3]
    names = [(batch.policy, run.policy) for run in others]
    gains = [comparison.gain_at_largest(evidence.turnarounds, *pair) for pair in names]
    return Finding(f"median factor {_both(*gains)}", gains[0], _start_at_once(batch), gains[1])


def noise_wins(evidence: Evidence) -> Finding:
    """Under noise time-sharing is better almost everywhere."""
    batch, shared, *_ = evidence.both_days[1]
    bins, jobs = comparison.won_bins(batch, shared)
    late = comparison.lost_late(batch, shared, hours=4.0)
    why = f"{_part(late)} of the bins that it loses are of jobs above 4 h"
    return Finding(f"{_part(bins)} of the bins, {_part(jobs)} of the jobs", bins, why)


def not_spmd_no_noise(evidence: Evidence) -> Finding:
    """Jobs that are not SPMD do not feel this noise."""
    factors = growth(evidence, "not_spmd"), growth(evidence, "not_spmd_batch")
    ours = f"sharing {arrow(evidence, 'not_spmd')}, batch × {factors[1]:.3g}"
    moved = max(abs(factor - 1) for factor in factors)
    why = f"{_longer(evidence)}, and lets others pass: the mean is of a heavy tail"
    return Finding(ours, moved, why)


FINDINGS = (
    same_utilization, slowdown_batch, slowdown_timesharing, slowdown_not_spmd, slowdown_order,
    noise_batch, noise_batch_quartile, noise_timesharing, short_jobs_better, long_jobs_worse,
    crossover, crossover_large, overhead_5, overhead_knee, overhead_13, cpu_load_mean,
    cpu_load_week, turnaround_scales, turnaround_batch, turnaround_largest, noise_wins,
    not_spmd_no_noise,
)  # fmt: skip
"""One function per claim, named like it."""


def _numbers(evidence: Evidence, number: Callable[[RunSummary], float], after: str = "") -> Finding:
    """A number of time-sharing, with that of unlimited memory beside it."""
    _, shared, unlimited, *_ = evidence.noise_free
    limited, freed = number(shared), number(unlimited)
    return Finding(f"{_both(limited, freed)}{after}", limited, freed=freed)


def _later(of_all: float, of_large: float) -> float:
    """Factor from one crossover to another; NaN where both are 0 or infinite, or one is NaN."""
    if of_all == of_large and (of_all == 0.0 or math.isinf(of_all)):
        return math.nan
    return math.inf if of_all == 0.0 and of_large > 0.0 else of_large / of_all


def _few_days(days: float) -> str:
    """Remark on a number that needs a long run; empty for one."""
    late = "what is late ends after the last submission"
    return f"; {days:.0f} days are few: {late}" if days < LONG else ""


def _start_at_once(batch: RunSummary) -> str:
    """Share of the jobs that do not wait under batch scheduling, as text."""
    return f"{percent(1 - batch.waited, 0)} of the jobs start at once in batch"


def _longer(evidence: Evidence) -> str:
    """Growth of run times under noise, as text."""
    return f"noise makes these jobs {percent(evidence.noise_cost, 1)} longer"


def _means(evidence: Evidence, run: str) -> tuple[float, float]:
    """Mean slowdown of a run on the noisy days, without noise and with it."""
    without, noisy = (getattr(runs, run).mean_slowdown for runs in evidence.both_days)
    return without, noisy


def growth(evidence: Evidence, run: str) -> float:
    """Factor by which noise raises the mean slowdown of a run."""
    without, noisy = _means(evidence, run)
    return noisy / without


def arrow(evidence: Evidence, run: str) -> str:
    """Mean slowdown of a run without noise and with it, as text."""
    without, noisy = _means(evidence, run)
    return f"{without:.3g} → {noisy:.3g}"


def _both(limited: float, unlimited: float) -> str:
    """A number with limited memory, and with unlimited, as text."""
    return f"{_number(limited)} (memory unlimited {_number(unlimited)})"


def _number(value: float) -> str:
    """Three digits; "none" for NaN."""
    return "none" if math.isnan(value) else f"{value:.3g}"


def _hours(crossover: float) -> str:
    """Three digits; "never" where time-sharing is better throughout, "none" without jobs."""
    return "never" if math.isinf(crossover) else _number(crossover)


def _part(value: float) -> str:
    """Percent; "none" for NaN."""
    return "none" if math.isnan(value) else percent(value, 0)
