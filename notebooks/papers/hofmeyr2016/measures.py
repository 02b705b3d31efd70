"""Numbers for the claims of Hofmeyr et al. (HPCC 2016), one function per claim.

Each function takes the runs and returns `Samples` with a number per seed. Two runs are compared by
one number per seed, measured on the same jobs. Nodes have limited memory; where memory matters and
is not what the claim is about, the first seed's number with unlimited memory is given, too. The
claims about overhead are about unlimited memory.

*Batch scheduling.* The paper words its backfilling so that a job which overtakes must end before
the head of the queue may start. It also calls it "similar to that used by Edison in production",
which lets such a job take nodes that the head leaves over. Claims about batch scheduling are judged
under both readings (`READINGS`), but for utilizations and for jobs that are not SPMD under noise.

*Jobs on a node.* Edison's nodes have 9 jobs each. Those of a smaller machine for fewer days have
about half as many. A job takes as many times as long as jobs share its nodes, an overhead costs
``1 / (1 - ε (1 + jobs))``, and the memory of a node is seldom full before. `WITH_MORE_JOBS` has the
claims whose numbers follow, and in which direction. With fewer than `BACKLOG` jobs on a node such a
claim is unknown unless more jobs could not change the verdict. The others are about batch
scheduling alone; about utilizations, which submissions set, or a machine that an overhead has
saturated; about the factor between two crossovers of the same runs; and about a noise that takes
0.025 % of the capacity, and slows jobs that do not wait for their slowest node by 0.25 % where
there are 9.
"""

import math
import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import numpy as np

from cosimlab.twins.edison import EDISON, UTILIZATION
from cosimlib.display import percent
from cosimlib.timesharing import RunSummary
from papers.claims import Samples, measure, of_enough_jobs
from papers.hofmeyr2016.experiment import (
    BATCH,
    LITTLE,
    NOT_SPMD,
    NOT_SPMD_BATCH,
    NOT_SPMD_EASY,
    NOT_SPMD_UNLIMITED,
    OVERHEADS,
    READINGS,
    SHARED,
    UNLIMITED,
    NoRunError,
    Runs,
    bin_ratios,
    crossover_hours,
    length_factor,
    size_factor,
    won_bins,
)
from papers.hofmeyr2016.turnaround import (
    short,
    turnaround_batch,
    turnaround_example,
    turnaround_largest,
    turnaround_scales,
    waits_for_memory,
)

POINTS_OF_OVERHEAD = 0.02
"""Utilization that an overhead that hardly matters may cost."""

LARGE = 0.01
"""Part of the machine from which on a job is large."""
NO_LARGE = f"no jobs of {percent(LARGE, 0)} of the machine or more"

PAPER_DAYS = 600
"""Days that the paper simulates."""

LEAST_JOBS = 1_000
"""Counted jobs below which nothing is decided."""

LEAST_GROWTH = 1.05
"""Growth of the mean slowdown under batch from which on noise does anything."""

BACKLOG = 6.0
"""CPU load with unlimited memory below which a node has too few jobs: Edison's have 9."""

WITH_MORE_JOBS = {
    "slowdown-timesharing": 1,
    "slowdown-not-spmd": 1,
    "cpu-load-mean": 1,
    "cpu-load-week": 1,
    "slowdown-order": 1,
    "noise-timesharing": 1,
    "overhead-5": 1,
    "overhead-knee": 1,
    "turnaround-scales": -1,
    "short-jobs-better": 0,
    "long-jobs-worse": 0,
    "crossover": 0,
    "turnaround-largest": 0,
    "noise-wins": 0,
    "crossover-large-hours": 0,
    "crossover-not-spmd": 0,
    "slowdown-noise-timesharing": 1,
    "means-near-medians": 0,
    "slowdown-uncorrelated": 0,
    "not-spmd-halves": 0,
    "skew-noise-timesharing": 1,
    "turnaround-example": 0,
}
"""Claims about how long jobs take that share nodes: where their number goes with jobs on a node.

Up (1): slowdowns and loads are those jobs; the nearest neighbors in order of slowdown are the
time-shared ones, of which those that wait for their slowest node move farther; each part of an
overhead costs more. Down (-1): jobs that need many nodes are the ones that wait for memory. Either
way (0): comparisons with batch scheduling, whose queue fills in the weeks that crowd the nodes.
"""


def samples(runs: Runs, *, some: bool = False) -> dict[str, Samples]:
    """Samples of all claims by their names in `data/claims.csv`.

    With `some`, only those of the claims whose kinds of runs are there, on Edison's own nodes.

    Raises
    ------
    NoRunError
        Where a kind of runs is missing, without `some`.
    """
    if some:
        return _of_what_was_run(runs)
    found = measure(MEASURES, runs)
    load = float(np.mean([run.cpu_load for run in runs.of("sharing", UNLIMITED)]))
    nodes = runs.first("sharing").nodes_edges[-1] - 1
    for claim, way in WITH_MORE_JOBS.items() if load < BACKLOG else ():
        goes = {1: "greater", -1: "less", 0: "greater or less"}[way]
        edison = f"Edison's {EDISON.total_nodes:,} nodes have 9 jobs each, which makes it {goes}"
        missing = f"{edison}; the {nodes:,.0f} nodes here have {load:.1f}"
        if not found[claim].missing:
            found[claim] = found[claim]._replace(missing=missing, bias=way)
    return of_enough_jobs(found, runs.first("sharing").jobs, least=LEAST_JOBS)


def _of_what_was_run(runs: Runs) -> dict[str, Samples]:
    """The samples of the claims whose kinds of runs are there."""
    found = {}
    for claim, find in MEASURES.items():
        with suppress(NoRunError):
            found[claim] = find(runs)
    return found


# --- utilization and mean slowdown --------------------------------------------------------------


def same_utilization(runs: Runs) -> Samples:
    """The farthest distance between utilizations: batch, time-sharing, and the printed one."""
    pairs = zip(runs.of("sharing"), runs.of("sharing", SHARED), strict=True)
    distances = [float(np.ptp([UTILIZATION, *(run.utilization for run in pair)])) for pair in pairs]
    busy = [runs.first("sharing", policy).utilization for policy in (BATCH, SHARED, UNLIMITED)]
    batch, shared, free = (percent(each, 0) for each in busy)
    details = f"first seed: batch {batch}, sharing {shared} (memory unlimited {free})"
    return Samples(distances, "farthest apart {:.3g}", details=details, why=waits_for_memory(runs))


def slowdown_batch(runs: Runs) -> Samples:
    """The mean slowdown under batch scheduling."""
    why = "the mean of a heavy tail depends on bursts and estimates, which are not printed"
    return _of_batch(runs, "batch", lambda run: run.mean_slowdown, why=why)


def slowdown_timesharing(runs: Runs) -> Samples:
    """The mean slowdown under time-sharing."""
    return _of_sharing(runs, lambda run: run.mean_slowdown)


def slowdown_not_spmd(runs: Runs) -> Samples:
    """The mean slowdown under time-sharing of jobs that are not SPMD."""
    return _of_sharing(runs, lambda run: run.mean_slowdown, NOT_SPMD, NOT_SPMD_UNLIMITED)


def slowdown_order(runs: Runs) -> Samples:
    """The least factor between batch and time-sharing, and between this and jobs not SPMD."""
    factors, first = {}, []
    for reading, policy in READINGS.items():
        means = _means(runs, "sharing", policy, SHARED, NOT_SPMD)
        factors[reading] = [min(batch / shared, shared / alone) for batch, shared, alone in means]
        first.append(means[0])
    seen = " and ".join(short(batch) for batch, _, _ in first)
    free = _means(runs, "sharing", UNLIMITED, NOT_SPMD_UNLIMITED)[0]
    details = f"first seed {seen}, {', '.join(map(short, first[0][1:]))}"
    details += f"; memory unlimited {', '.join(map(short, free))}"
    why = waits_for_memory(runs)
    return Samples(shown="least factor {:.3g}", details=details, why=why, readings=factors)


# --- noise --------------------------------------------------------------------------------------


def noise_batch(runs: Runs) -> Samples:
    """The factor by which noise multiplies the mean slowdown under batch scheduling."""
    return _noisy_batch(runs, lambda run: run.mean_slowdown, "")


def noise_batch_quartile(runs: Runs) -> Samples:
    """The factor by which noise multiplies the 75th percentile of slowdowns under batch."""
    at_once = percent(1 - runs.first("noisy batch", noise=True).waited, 0)
    more = f", and {at_once} start at once (as worded)"
    return _noisy_batch(runs, lambda run: run.quantile(0.75), more)


def noise_timesharing(runs: Runs) -> Samples:
    """Growth of the mean slowdown under time-sharing by noise, as a part of that under batch."""
    shared, parts, by_reading = _growth(runs, SHARED), {}, []
    for reading, policy in READINGS.items():
        batch = _growth(runs, policy)
        parts[reading] = [
            (s - 1) / (b - 1) if b > 1 else math.nan for s, b in zip(shared, batch, strict=True)
        ]
        by_reading.append(f"{batch[0]:.2f} ({reading})")
    why = f"× {shared[0]:.2f} time-shared, × {' and × '.join(by_reading)} under batch"
    shown, details = "growth as a part of batch's {:.3g}", _grown(runs, SHARED)
    return _of_noise(runs, Samples(shown=shown, details=details, why=why, readings=parts))


def slowdown_noise_batch(runs: Runs) -> Samples:
    """The mean slowdown under batch scheduling with noise."""
    return _value_under_noise(runs, lambda run: run.mean_slowdown)


def quartile_batch(runs: Runs) -> Samples:
    """The 75th percentile of slowdowns under batch scheduling."""
    why = "how many jobs start at once depends on bursts, which are not printed"
    return _of_batch(runs, "batch", lambda run: run.quantile(0.75), why=why)


def quartile_noise_batch(runs: Runs) -> Samples:
    """The 75th percentile of slowdowns under batch scheduling with noise.

    The inverse analysis meets the printed one if larger jobs are shorter, and that is not printed.
    """
    found = _value_under_noise(runs, lambda run: run.quantile(0.75))
    return found._replace(doubt="how sizes go with lengths is not printed, and decides this number")


def slowdown_noise_timesharing(runs: Runs) -> Samples:
    """The mean slowdown under time-sharing with noise."""
    values = [run.mean_slowdown for run in runs.of("noise", SHARED, noise=True)]
    found = Samples(values, details=_grown(runs, SHARED), why=waits_for_memory(runs))
    return _of_noise(runs, found)


def noise_wins(runs: Runs) -> Samples:
    """The share of bins in which time-sharing is better under noise."""
    shared, bins, seen = runs.of("noise", SHARED, noise=True), {}, []
    for reading, policy in READINGS.items():
        pairs = zip(runs.of("noise", policy, noise=True), shared, strict=True)
        bins[reading], jobs = zip(*(won_bins(*pair) for pair in pairs), strict=True)
        first = f"{percent(bins[reading][0], 0)} of the bins, {percent(jobs[0], 0)} of the jobs"
        seen.append(f"{first} ({reading})")
    return Samples(
        shown="share of bins {:.3g}",
        details=f"first seed {'; '.join(seen)}",
        why="it loses those of long jobs",
        missing="no bin has ten jobs" if np.isnan(list(bins.values())).any() else "",
        data=runs.noisy_days,
        readings=bins,
    )


def not_spmd_no_noise(runs: Runs) -> Samples:
    """The greater change of mean slowdowns of jobs that are not SPMD, shared and under batch."""
    shared, batch = _growth(runs, NOT_SPMD), _growth(runs, NOT_SPMD_BATCH)
    moved = [max(abs(s - 1), abs(b - 1)) for s, b in zip(shared, batch, strict=True)]
    details = f"{_grown(runs, NOT_SPMD)}, batch × {batch[0]:.3g}"
    longer = percent(noise_cost(runs), 1)
    why = f"noise makes jobs {longer} longer, and lets others pass: the mean is of a heavy tail"
    return _of_noise(runs, Samples(moved, "change {:.3g}", details=details, why=why))


# --- skew ---------------------------------------------------------------------------------------


def skew_batch(runs: Runs) -> Samples:
    """The mean slowdown of large jobs ÷ that of small ones, under batch scheduling."""
    why = "large jobs are slowed down about as much as small ones"
    return _of_batch(runs, "batch", size_factor, "large ÷ small {:.3g}", why=why)


def skew_batch_length(runs: Runs) -> Samples:
    """The mean slowdown of short jobs ÷ that of long ones, under batch scheduling."""
    why = "short jobs are slowed down about as much as long ones"
    return _of_batch(runs, "batch", length_factor, "short ÷ long {:.3g}", why=why)


def skew_noise_batch(runs: Runs) -> Samples:
    """The mean slowdown of large jobs ÷ that of small ones, under batch scheduling with noise."""
    why = "large jobs are slowed down about as much as small ones"
    return _of_batch(runs, "noisy batch", size_factor, "large ÷ small {:.3g}", noise=True, why=why)


def skew_noise_timesharing(runs: Runs) -> Samples:
    """The mean slowdown of large jobs ÷ that of small ones, time-shared with noise."""
    values = [size_factor(run) for run in runs.of("noise", SHARED, noise=True)]
    free = short(size_factor(runs.first("noise", SHARED)))
    details, why = f"first seed without noise {free}", waits_for_memory(runs)
    found = Samples(values, "large ÷ small {:.3g}", details=details, why=why, data=runs.noisy_days)
    return found._replace(missing="no job is that large" if np.isnan(values).any() else "")


# --- which jobs gain ----------------------------------------------------------------------------


def short_jobs_better(runs: Runs) -> Samples:
    """The greatest factor of a bin by which time-sharing is better, as figure 7 shows bins."""
    return _against_batch(runs, lambda *pair: bin_ratios(*pair)[1])


def long_jobs_worse(runs: Runs) -> Samples:
    """The greatest factor of a bin by which batch scheduling is better, as figure 7 shows bins."""
    return _against_batch(runs, lambda *pair: 1 / bin_ratios(*pair)[0])


def crossover(runs: Runs) -> Samples:
    """The run time (h) from which on jobs are better off under batch scheduling."""
    return _against_batch(runs, crossover_hours, shown="{:.3g} h")


def crossover_large(runs: Runs) -> Samples:
    """The factor by which the crossover of large jobs is later than that of all jobs.

    With more jobs on a node, as on more nodes, both crossovers are others.
    """
    shared = runs.of("sharing", SHARED)
    unlimited = runs.first("sharing", UNLIMITED)
    later: dict[str, list[float]] = {}
    first_seed: list[str] = []
    without_limit: list[str] = []
    all_hours: list[float] = []
    for reading, policy in READINGS.items():
        batch = runs.of("sharing", policy)
        by_seed = [_two_crossovers(*pair) for pair in zip(batch, shared, strict=True)]
        later[reading] = [_later(of_all, of_large) for of_all, of_large in by_seed]
        all_hours += [hours for both in by_seed for hours in both]
        first_seed.append(_in_hours(*by_seed[0]))
        without_limit.append(_in_hours(*_two_crossovers(batch[0], unlimited)))
    missing = ""
    if np.isnan(all_hours).any():
        missing = NO_LARGE
    elif np.isnan(list(later.values())).any():
        missing = "one of them is better whatever the run time, for large jobs and for all"
    limited, free = " and ".join(first_seed), " and ".join(without_limit)
    return Samples(
        shown="later by a factor {:.3g}",
        details=f"first seed {limited} h; memory unlimited {free} h",
        why=waits_for_memory(runs),
        missing=missing,
        readings=later,
    )


def _two_crossovers(batch: RunSummary, shared: RunSummary) -> tuple[float, float]:
    """The crossover (h) of all jobs, and that of large ones."""
    least = LARGE * shared.nodes_edges[-1]
    return crossover_hours(batch, shared), crossover_hours(batch, shared, least_nodes=least)


def _in_hours(of_all: float, of_large: float) -> str:
    """Two crossovers in words, such as "2.5 → 4.1"."""
    return f"{_hours(of_all)} → {_hours(of_large)}"


def crossover_large_hours(runs: Runs) -> Samples:
    """The run time (h) from which on large jobs are better off under batch scheduling."""
    least = LARGE * runs.first("sharing").nodes_edges[-1]
    none = "" if (runs.first("sharing").nodes_edges[:-1] >= least).any() else NO_LARGE
    found = _against_batch(runs, partial(crossover_hours, least_nodes=least), shown="{:.3g} h")
    return found._replace(missing=none)


def crossover_not_spmd(runs: Runs) -> Samples:
    """The run time (h) from which on jobs that are not SPMD are better off under batch."""
    batches = dict(zip(READINGS, (NOT_SPMD_BATCH, NOT_SPMD_EASY), strict=True))
    hours = {
        reading: [
            crossover_hours(*pair)
            for pair in zip(runs.of("sharing", policy), runs.of("sharing", NOT_SPMD), strict=True)
        ]
        for reading, policy in batches.items()
    }
    unlimited = runs.first("sharing", NOT_SPMD_UNLIMITED)
    free = crossover_hours(runs.first("sharing", NOT_SPMD_BATCH), unlimited)
    details = f"as worded, memory unlimited, first seed {_hours(free)} h"
    why = waits_for_memory(runs, NOT_SPMD)
    return Samples(shown="{:.3g} h", details=details, why=why, readings=hours)


def slowdown_uncorrelated(runs: Runs) -> Samples:
    """Correlations over jobs of time-shared slowdowns with size, and with length.

    The paper does not name the coefficient here; for memory and size it takes Kendall's. Each of
    three is a reading: Pearson's, that of logarithms, and Kendall's of ranks.
    """
    shared, batch = runs.of("sharing", SHARED), runs.first("sharing")
    readings = {
        reading: {
            name: [run.correlations[row, column] for run in shared]
            for row, name in enumerate(("size", "length"))
        }
        for column, reading in enumerate(("Pearson", "of logarithms", "Kendall"))
    }
    grows = (
        f"large ÷ small jobs: {short(size_factor(shared[0]))} time-shared, "
        f"{short(size_factor(batch))} under batch as worded"
    )
    return Samples(
        shown="{:+.2f}",
        details=f"first seed, {grows}",
        why=waits_for_memory(runs),
        readings=readings,
    )


def not_spmd_halves(runs: Runs) -> Samples:
    """The time-shared mean slowdown ÷ that of jobs that are not SPMD."""
    means = _means(runs, "sharing", SHARED, NOT_SPMD)
    values = [spmd / alone for spmd, alone in means]
    details = f"first seed {' → '.join(map(short, means[0]))}"
    return Samples(values, "factor {:.3g}", details=details, why=waits_for_memory(runs))


def means_near_medians(runs: Runs) -> Samples:
    """The time-shared mean slowdown ÷ the median, as the paper compares them without noise."""
    return _of_sharing(runs, lambda run: run.mean_slowdown / run.quantile(0.5))


# --- overhead and CPU load ----------------------------------------------------------------------


def overhead_5(runs: Runs) -> Samples:
    """The factor in mean slowdown of a small overhead; infinite if it costs much utilization.

    The paper says "under 5 %", and of utilization "5 % or less".
    """
    free, readings, seen = runs.of("overheads", UNLIMITED), {}, []
    for reading, part in {"at 5 %": 0.05, "under it, at 2 %": LITTLE}.items():
        loaded = runs.of("overheads", UNLIMITED, overhead=part)
        readings[reading] = [_cost_of_overhead(*pair) for pair in zip(free, loaded, strict=True)]
        lost = loaded[0].utilization - free[0].utilization
        seen.append(f"{loaded[0].mean_slowdown:.1f}, utilization {percent(lost, 1, signed=True)}")
    return Samples(
        shown="factor {:.3g}",
        details=f"first seed slowdown {free[0].mean_slowdown:.1f} → {' and '.join(seen)}",
        why=f"it costs a factor of more than 1.5, or {100 * POINTS_OF_OVERHEAD:g} points of "
        "utilization",
        data=runs.data("overheads"),
        readings=readings,
    )


def _cost_of_overhead(free: RunSummary, loaded: RunSummary) -> float:
    """The factor in mean slowdown; infinite where utilization falls by too much."""
    drop = free.utilization - loaded.utilization
    return loaded.mean_slowdown / free.mean_slowdown if drop <= POINTS_OF_OVERHEAD else math.inf


def overhead_knee(runs: Runs) -> Samples:
    """Growth of the logarithm of slowdown per point from 8 to 13 % ÷ that from 0 to 8 %."""
    by_part = [runs.of("overheads", UNLIMITED, overhead=part) for part in (0.0, 0.08, 0.13)]
    means = [[run.mean_slowdown for run in each] for each in zip(*by_part, strict=True)]
    growth = [(math.log(b / a) / 0.08, math.log(c / b) / 0.05) for a, b, c in means]
    early, late = (percent(math.expm1(0.01 * each), 0) for each in growth[0])
    at = {part: runs.first("overheads", UNLIMITED, overhead=part) for part in OVERHEADS}
    slow = ", ".join(f"{percent(part, 0)}: {run.mean_slowdown:.1f}" for part, run in at.items())
    return Samples(
        [late / early if early > 0 else math.nan for early, late in growth],
        "late ÷ early growth {:.3g}",
        details=f"first seed {slow}",
        why=f"steadily: below and above 8 % it grows by {early} and by {late} a point of overhead",
        missing=""
        if all(early > 0 for early, _ in growth)
        else "no overhead up to 8 % slows jobs down",
        doubt=_of_few_days(runs.data("overheads")),
        data=runs.data("overheads"),
    )


def _of_few_days(data: str) -> str:
    """That nodes fill for longer than the days that were run, or ""."""
    days = re.search(r"([\d.]+) days", data)
    if days is None or float(days[1]) >= PAPER_DAYS:
        return ""
    return (
        f"nodes fill for longer than these days, of which the paper has {PAPER_DAYS}; so many days "
        "of these runs take 7 hours"
    )


def overhead_13(runs: Runs) -> Samples:
    """The utilization at an overhead of 13 %."""
    busy = [
        run.utilization for run in runs.of("greatest overhead", UNLIMITED, overhead=OVERHEADS[-1])
    ]
    why = f"{percent(busy[0] / 0.87, 0)} of the 0.87 that are left, the paper's 0.83 are 95 %"
    details, data = f"first seed {busy[0]:.3f}", runs.data("greatest overhead")
    return Samples(busy, "{:.3f}", details=details, why=why, data=data)


def cpu_load_mean(runs: Runs) -> Samples:
    """The mean CPU load."""
    return _of_sharing(runs, lambda run: run.cpu_load)


def cpu_load_week(runs: Runs) -> Samples:
    """The greatest weekly mean of the CPU load."""
    return _of_sharing(runs, lambda run: run.most_in_a_week)._replace(why="a burst of submissions")


def load_climbs(runs: Runs) -> Samples:
    """Growth of the CPU load at an overhead of 13 % ÷ its growth without overhead, same jobs.

    Growth is the last week's mean ÷ that at half of the time. Without overhead the load grows or
    falls with the submissions alone, which is not what an overhead does.
    """
    growth, ends = {}, {}
    for part in (OVERHEADS[-1], 0.0):
        weeks = [run.weekly_load for run in runs.of("greatest overhead", UNLIMITED, overhead=part)]
        ends[part] = [(load[(load.size - 1) // 2], load[-1]) for load in weeks]
        growth[part] = [late / half for half, late in ends[part]]
    relative = [one / other for one, other in zip(*growth.values(), strict=True)]
    loads = [f"{half:.1f} → {late:.1f}" for half, late in (each[0] for each in ends.values())]
    data = runs.data("greatest overhead")
    return Samples(
        relative,
        "factor {:.3g}",
        details=f"first seed {loads[0]}, without overhead {loads[1]}",
        why="the load grows no more than without overhead",
        missing=_of_few_days(data),
        data=data,
    )


MEASURES: dict[str, Callable[[Runs], Samples]] = {
    find.__name__.replace("_", "-"): find
    for find in (
        same_utilization,
        slowdown_batch,
        slowdown_timesharing,
        slowdown_not_spmd,
        slowdown_order,
        noise_batch,
        noise_batch_quartile,
        noise_timesharing,
        short_jobs_better,
        long_jobs_worse,
        crossover,
        crossover_large,
        overhead_5,
        overhead_knee,
        overhead_13,
        cpu_load_mean,
        cpu_load_week,
        load_climbs,
        turnaround_scales,
        turnaround_batch,
        turnaround_largest,
        noise_wins,
        not_spmd_no_noise,
        crossover_large_hours,
        crossover_not_spmd,
        slowdown_uncorrelated,
        means_near_medians,
        slowdown_noise_batch,
        quartile_batch,
        quartile_noise_batch,
        slowdown_noise_timesharing,
        skew_batch,
        skew_batch_length,
        skew_noise_batch,
        skew_noise_timesharing,
        not_spmd_halves,
        turnaround_example,
    )
}
"""One function per claim, named like it."""


def _of_sharing(
    runs: Runs, number: Callable[[RunSummary], float], limited: str = SHARED, free: str = UNLIMITED
) -> Samples:
    """A number of time-sharing, with that of unlimited memory."""
    values = [number(run) for run in runs.of("sharing", limited)]
    unlimited = short(number(runs.first("sharing", free)))
    details = f"first seed {short(values[0])} (memory unlimited {unlimited})"
    return Samples(values, details=details, why=waits_for_memory(runs, limited))


def _against_batch(
    runs: Runs,
    number: Callable[[RunSummary, RunSummary], float],
    shown: str = "{:.3g}",
) -> Samples:
    """A number of batch scheduling and time-sharing, with that of unlimited memory."""
    shared, free = runs.of("sharing", SHARED), runs.first("sharing", UNLIMITED)
    readings, unlimited = {}, []
    for reading, policy in READINGS.items():
        batch = runs.of("sharing", policy)
        readings[reading] = [number(*pair) for pair in zip(batch, shared, strict=True)]
        unlimited.append(_hours(number(batch[0], free)))
    details = f"memory unlimited, first seed: {' and '.join(unlimited)}"
    return Samples(shown=shown, details=details, why=waits_for_memory(runs), readings=readings)


def _of_batch(
    runs: Runs,
    kind: str,
    number: Callable[[RunSummary], float],
    shown: str = "{:.3g}",
    *,
    noise: bool = False,
    why: str,
) -> Samples:
    """A number of batch scheduling alone, under each reading."""
    readings = {
        reading: [number(run) for run in runs.of(kind, policy, noise=noise)]
        for reading, policy in READINGS.items()
    }
    return Samples(shown=shown, why=why, data=runs.data(kind), readings=readings)


def _noisy_batch(runs: Runs, number: Callable[[RunSummary], float], more: str) -> Samples:
    """The factor by which noise multiplies a number of batch scheduling alone."""
    readings, seen = {}, []
    for reading, policy in READINGS.items():
        noisy = [number(run) for run in runs.of("noisy batch", policy, noise=True)]
        free = [number(run) for run in runs.of("batch", policy)[: len(noisy)]]
        readings[reading] = [after / before for before, after in zip(free, noisy, strict=True)]
        seen.append(f"{reading} {free[0]:.4g} → {noisy[0]:.4g}")
    return Samples(
        shown="factor {:.3g}",
        details=f"first seed {'; '.join(seen)}",
        why=f"{_longer(runs)}{more}",
        data=runs.data("noisy batch"),
        readings=readings,
    )


def _value_under_noise(runs: Runs, number: Callable[[RunSummary], float]) -> Samples:
    """A number of batch scheduling with noise."""
    why = f"{_longer(runs)}, and the tail is heavy"
    return _of_batch(runs, "noisy batch", number, noise=True, why=why)


def _of_noise(runs: Runs, found: Samples) -> Samples:
    """Samples of the noisy days, unknown where noise does next to nothing under batch."""
    idle = _growth(runs, BATCH)[0] < LEAST_GROWTH
    missing = f"noise does next to nothing to batch here: {_grown(runs, BATCH)}" if idle else ""
    return found._replace(missing=missing, data=runs.noisy_days)


def _means(runs: Runs, kind: str, *policies: str, noise: bool = False) -> list[tuple[float, ...]]:
    """Mean slowdowns under policies, a row per seed."""
    columns = [[run.mean_slowdown for run in runs.of(kind, p, noise=noise)] for p in policies]
    return list(zip(*columns, strict=True))


def _growth(runs: Runs, policy: str) -> list[float]:
    """The factor by which noise multiplies the mean slowdown of a policy, by seed."""
    both = [_means(runs, "noise", policy, noise=noise) for noise in (False, True)]
    return [noisy / free for (free,), (noisy,) in zip(*both, strict=True)]


def _grown(runs: Runs, policy: str) -> str:
    """The first seed's mean slowdown without noise and with it."""
    free, noisy = (runs.first("noise", policy, noise=noise) for noise in (False, True))
    return f"first seed {free.mean_slowdown:.3g} → {noisy.mean_slowdown:.3g}"


def noise_cost(runs: Runs) -> float:
    """Node-seconds that noise adds to the first seed's jobs under batch, as a part."""
    free, noisy = (runs.first("noise", noise=noise).node_seconds for noise in (False, True))
    return noisy / free - 1.0


def _longer(runs: Runs) -> str:
    """What noise adds to run times under batch scheduling alone, in words."""
    free, noisy = runs.first("batch"), runs.first("noisy batch", noise=True)
    part = noisy.node_seconds / free.node_seconds - 1
    return f"noise makes these jobs {percent(part, 1)} longer"


def _hours(crossover: float) -> str:
    """Three digits; "never" where time-sharing is better throughout, "none" without jobs."""
    return "never" if math.isinf(crossover) else short(crossover)


def _later(of_all: float, of_large: float) -> float:
    """Factor from one crossover to another; NaN where both are 0 or infinite, or one is NaN."""
    if of_all == of_large and (of_all == 0.0 or math.isinf(of_all)):
        return math.nan
    return math.inf if of_all == 0.0 and of_large > 0.0 else of_large / of_all
