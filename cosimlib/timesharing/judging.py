"""Whether what Hofmeyr et al. (HPCC 2016) state of time-sharing holds in our runs.

Numbers of Edison and its load are judged on jobs like Edison's only; on a log they are unknown, and
so is all else where hardly a job is counted or nobody waits under batch scheduling.

What the words of a statement mean here. *About the same* utilization is within 5 points. A mean
slowdown *is* the printed one within a factor of 1.5, a crossover within 2, a CPU load within a
third. Noise *multiplies* a mean by 2 or more, and raises another *by far less* if that grows by at
most half as much; a quartile is *raised* by 5 % or more. *Up to 8×* is met from 4 on. An overhead
*hardly matters* if it costs at most a factor of 1.5 in slowdown and 2 points of utilization; at the
*knee* the slowdown grows at least twice as fast from 8 to 13 % as from 0 to 8 %, on a logarithmic
scale. A turnaround *falls* if it keeps half of the dedicated run times' speedup, which it does in
four of five applications under time-sharing and in at most half of them under batch. *Orders of
magnitude* are a median factor of 10, *almost everywhere* is 90 % of the bins with ten jobs, *not
significantly* a change by a tenth.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib.timesharing.comparing import (
    crossover,
    gain_at_largest,
    kept_speedups,
    ratio_by_length,
    undecided,
    won_bins,
)
from cosimlib.timesharing.runs import Policies
from cosimlib.timesharing.summary import RunSummary

LIGHT = 6.0
"""CPU load with unlimited memory below which days are lighter than Edison's, whose load is 9."""

LONG = 100.0
"""Days from which on a backlog has had time to build up."""

MANY = 3
"""Applications from which on something is said of them all."""


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
    swept : mapping of float to RunSummary
        With unlimited memory by overhead, 0, 0.05, 0.08 and 0.13 among them.
    turnarounds : pd.DataFrame
        As of `turnaround_times`, of `quiet`'s first three.
    noise_cost : float
        Additional node-seconds that noise takes under batch scheduling, as a part.
    days : float
        That are counted.
    edison : bool
        Whether the jobs are like Edison's, or else of a log.
    """

    quiet: Policies
    calm: Policies
    struck: Policies
    swept: Mapping[float, RunSummary]
    turnarounds: pd.DataFrame
    noise_cost: float
    days: float
    edison: bool


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
    """A claim that a log of another machine does not decide."""
    if evidence.edison:
        return _verdict(ours, holds, why)
    busy = evidence.quiet.batch.utilization
    return Verdict(ours, None, f"of Edison and its load; this log keeps {busy:.0%} busy")


def _state(evidence: Evidence) -> str:
    """What explains slowdowns unlike Edison's: light days, or jobs that wait for memory."""
    shared, roomy = evidence.quiet.shared, evidence.quiet.roomy
    waits = shared.mean_slowdown > 1.5 * roomy.mean_slowdown
    of = "not printed" if evidence.edison else "assumed: the log does not say what its nodes have"
    light = evidence.edison and roomy.cpu_load < LIGHT
    parts = ["these days are lighter than Edison's"] * light
    parts += [f"{shared.waited:.1%} of the jobs wait for memory, which is {of}"] * waits
    load = f"CPU load {shared.cpu_load:.1f} (memory unlimited {roomy.cpu_load:.1f}), Edison's 9"
    return "; ".join([*parts, load])


def _both(limited: float, unlimited: float) -> str:
    """A number with memory as printed, and with unlimited memory."""
    return f"{_number(limited)} (memory unlimited {_number(unlimited)})"


def _number(value: float) -> str:
    """Three digits; in words where there is no such number."""
    return "none" if math.isnan(value) else f"{value:.3g}"


def _near(ours: float, printed: float, factor: float) -> bool:
    """Whether a number is the printed one within a factor."""
    return bool(printed / factor <= ours <= printed * factor)


def _slowdowns(evidence: Evidence) -> dict[str, Verdict]:
    """Claims 1 and 2 without noise."""
    batch, shared, roomy, loose, _ = evidence.quiet
    state = _state(evidence)
    ours = f"batch {batch.utilization:.0%}, sharing {shared.utilization:.0%}"
    ours += f" (memory unlimited {roomy.utilization:.0%})"
    same = abs(batch.utilization - shared.utilization) <= 0.05
    busy = min(batch.utilization, shared.utilization) >= 0.84
    why = f"both are what is submitted: {state}" if same else state
    means = [batch.mean_slowdown, shared.mean_slowdown, loose.mean_slowdown]
    near = _near(means[2], 3.3, 1.5)
    order = " > " if means[0] > means[1] > means[2] else ", "
    chain = order.join(f"{mean:.3g}" for mean in means)
    tail = "the mean of a heavy tail depends on bursts and estimates, which are not printed"
    return {
        "same-utilization": _of_edison(evidence, ours, same and busy, why),
        "slowdown-batch": _of_edison(evidence, f"{means[0]:.0f}", _near(means[0], 137, 1.5), tail),
        "slowdown-timesharing": _of_edison(
            evidence, _both(means[1], roomy.mean_slowdown), _near(means[1], 7.9, 1.5), state
        ),
        "slowdown-not-spmd": _of_edison(evidence, f"{means[2]:.2f}", near, state),
        "slowdown-order": _verdict(
            f"{chain}; memory unlimited {roomy.mean_slowdown:.3g}",
            means[0] > means[1] > means[2],
            state,
        ),
    }


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
    won = f"{bins:.0%} (memory unlimited {won_bins(struck.batch, struck.roomy)[0]:.0%}) of the bins"
    free = f"{1 - struck.batch.waited:.0%} of the jobs start at once under batch scheduling"
    moved = [grows["loose"], grows["loose_batch"]]
    verdicts = {
        "noise-batch": _of_edison(
            evidence, arrows["batch"], grows["batch"] >= 2,
            f"{cost}, on a machine that batch keeps {calm.batch.utilization:.0%} busy without",
        ),
        "noise-batch-quartile": _verdict(
            f"{quartiles[0]:.2f} → {quartiles[1]:.2f}", quartiles[1] >= 1.05 * quartiles[0],
            f"{cost}, and {free}",
        ),
        "noise-timesharing": _verdict(
            f"{arrows['shared']} (memory unlimited {arrows['roomy']})",
            1 < grows["shared"] <= 1 + (grows["batch"] - 1) / 2,
            f"× {grows['shared']:.2f} time-shared, × {grows['batch']:.2f} under batch",
        ),
        "noise-wins": _of_edison(
            evidence, f"{won}, {jobs:.0%} of the jobs", bins >= 0.9, f"{free}; they gain nothing",
        ),
        "not-spmd-no-noise": _verdict(
            f"sharing {arrows['loose']}, batch × {moved[1]:.3g}",
            max(abs(grown - 1) for grown in moved) <= 0.1,
            "schedules are chaotic, and the mean is of a heavy tail: a step more lets others pass",
        ),
    }  # fmt: skip
    if not evidence.noise_cost:
        why = "no noise was asked for, or it struck nobody"
        return {claim: Verdict(given.ours, None, why) for claim, given in verdicts.items()}
    if grows["batch"] < 1.05:
        ours, why = verdicts["noise-timesharing"].ours, "noise does next to nothing to batch here"
        verdicts["noise-timesharing"] = Verdict(ours, None, f"{why}: {arrows['batch']}")
    return verdicts


def _lengths(evidence: Evidence) -> dict[str, Verdict]:
    """Claim 3, sizes pooled by length; the extremes of single bins are printed beside."""
    batch, shared, roomy, _, _ = evidence.quiet
    state, large = _state(evidence), batch.nodes_edges[-1] / 100
    ratio, freed = ratio_by_length(batch, shared), ratio_by_length(batch, roomy)
    bins = batch.bins / shared.bins
    shortest = int(np.isfinite(ratio).argmax())
    worst = 1 / np.nanmin(ratio, initial=math.inf)
    at = [crossover(batch, each) for each in (shared, roomy)]
    later = [crossover(batch, each, least_nodes=large) for each in (shared, roomy)]
    best = f"{_both(ratio[shortest], freed[shortest])}; best bin {np.nanmax(bins, initial=0):.3g}"
    least = f"{_both(worst, 1 / np.nanmin(freed, initial=math.inf))}; worst bin"
    least += f" {1 / np.nanmin(bins, initial=math.inf):.3g}"
    return {
        "short-jobs-better": _of_edison(evidence, best, ratio[shortest] > 500, state),
        "long-jobs-worse": _of_edison(evidence, least, worst >= 4, state),
        "crossover": _of_edison(evidence, f"{_both(*at)} h", _near(at[0], 2, 2), state),
        "crossover-large": _of_edison(evidence, f"{_both(*later)} h", _near(later[0], 4, 2), state),
    }


def _overheads(evidence: Evidence) -> dict[str, Verdict]:
    """Claim 4, on unlimited memory, where nothing but overhead matters."""
    swept = evidence.swept
    slow = {overhead: swept[overhead].mean_slowdown for overhead in sorted(swept)}
    busy = {overhead: swept[overhead].utilization for overhead in swept}
    drop, factor = busy[0.0] - busy[0.05], slow[0.05] / slow[0.0]
    short = f"; {evidence.days:.0f} days are few: what is late ends after the last submission"
    few = short if evidence.days < LONG else ""
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
            f"below and above 8 % the slowdown grows {rates} of overhead{few}",
        ),
        "overhead-13": _of_edison(
            evidence, f"{busy[0.13]:.2f}", abs(busy[0.13] - 0.83) <= 0.02,
            f"without overhead it is {busy[0.0]:.2f}, and 0.87 is what 13 % leave{few}",
        ),
    }  # fmt: skip


def _crowds(evidence: Evidence) -> dict[str, Verdict]:
    """Claim 5."""
    shared, roomy = evidence.quiet.shared, evidence.quiet.roomy
    most = [max(run.weekly_load, default=math.nan) for run in (shared, roomy)]
    weeks = _of_edison(evidence, _both(*most), most[0] <= 20, "a burst of submissions")
    if weeks.holds and roomy.cpu_load < LIGHT:
        weeks = Verdict(_both(*most), None, f"a bound for heavier days: {_state(evidence)}")
    return {
        "cpu-load-mean": _of_edison(
            evidence,
            _both(shared.cpu_load, roomy.cpu_load),
            abs(shared.cpu_load / 9 - 1) <= 1 / 3,
            _state(evidence),
        ),
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
        why = f"only {len(kept)} applications have two sizes and lengths that these jobs have"
        return dict.fromkeys(names, Verdict("none", None, why))
    waits, scales, freed = ((kept[run.policy] >= 0.5).mean() for run in (batch, shared, roomy))
    share = f"in {scales:.0%} (memory unlimited {freed:.0%}) of {len(kept)}"
    free, state = f"{1 - batch.waited:.0%} of the jobs start at once in batch", _state(evidence)
    verdicts = (
        _verdict(f"{share} applications", scales >= 0.8, state),
        _verdict(f"in {waits:.0%} of {len(kept)} applications", waits <= 0.5, free),
        _of_edison(evidence, f"median factor {_both(*gain)}", gain[0] >= 10, f"{free}; {state}"),
    )
    return dict(zip(names, verdicts, strict=True))
