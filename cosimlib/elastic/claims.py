"""Claims of Duplyakin, Johnson and Ricci (ScienceCloud 2017) about preemption policies.

What the words of a statement mean here: the paper prints few limits, so these are ours. *Much less*
is below half of the better of FIFO and RANDOM, *similar* below 25 % apart, *negligible* and
*constant* below 10 %, *better* is less at each grace period. *Most of the states* are the printed
75 %. To *fall* is to fall at every step, until there is nothing left. A printed percentage is met
within five points and within a quarter of itself, which implies its sign. A number below its limit
(`LIMITS`) lets a claim hold; NaN, such as a ratio to a median of 0, leaves it unknown.

Results with ten times the nodes are *similar* if three conclusions at grace periods up to 30 min
are the same: whether LIFO and PAP waste below half, are alike, and take the same nodes. Policies
*degrade to RANDOM* if, with vectors a day old, they have lost at least half of their advantage over
RANDOM in wasted cycles, with each seed.

On a log, claims 4 to 6 are unknown: their numbers are of the paper's own workloads and classes of
jobs. Of claim 5, the count for HTC chose our reading of the sampling rule (`elastic.states`); of
claim 6, Table 1's node-hours alone fill the nodes for 55.9 days, and no schedule takes less.
"""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import pandas as pd

from cosimlib.claims import Verdict, unknown, verdict
from cosimlib.elastic.states import LONG_GRACE_PERIODS, SHORT_GRACE_PERIODS
from cosimlib.elastic.waste import advantage, difference, largest_step, priority_change, shift
from cosimlib.schedule import Schedule
from cosimlib.units import DAY

SHORT, LONG = list(SHORT_GRACE_PERIODS), list(LONG_GRACE_PERIODS)
OTHERS, GOOD = ["FIFO", "RANDOM"], ["LIFO", "PAP"]
FOUR, AGED = ["RANDOM", "FIFO", *GOOD], [*GOOD, "PAP+"]
PRINTED = {
    "bigmem-high": -0.829,
    "bigmem-default": 0.143,
    "bigmem-total": 0.075,
    "gaussian-high": -0.972,
    "gaussian-default": 0.071,
    "gaussian-total": 0.038,
}
"""By how much PAP+ changes cumulative waste, against PAP."""
SHARE_OF_WASTE = {"bigmem": "7 %", "gaussian": "3 %"}
"""Part of all waste under PAP that the classes make, as the printed percentages imply."""
LIMITS = {
    "htc-lifo-wastes-less": 0.5,
    "htc-short-grace-better": 1.0,
    "peregrine-lifo-pap-waste-less": 0.5,
    "peregrine-lifo-pap-alike": 0.25,
    "peregrine-short-grace-no-matter": 0.1,
    "fifo-random-medians-fall": 0.0,
    "lifo-pap-medians-stay": 0.1,
    **{claim: min(0.05, 0.25 * abs(value)) for claim, value in PRINTED.items()},
    "peregrine-same-nodes": 0.25,
}
SIMILAR = ["peregrine-lifo-pap-waste-less", "peregrine-lifo-pap-alike", "peregrine-same-nodes"]
"""Conclusions that are to be the same on ten times the nodes."""
SAMPLES = {"htc": (14_000, 15_000), "peregrine": (0.99 * 168_000, 1.01 * 168_000)}
"""Between these numbers of states a count is the printed one."""
DAYS = (55, 58)
"""Between these numbers of days a time is the printed one."""
KEPT = 0.5
"""Part of the advantage over RANDOM that policies may keep with vectors a day old."""
NO_RATIO = "a median of 0 leaves no ratio"
NO_JOBS = "no job of this log can run on the partition"


class Reading(NamedTuple):
    """Wasted cycles at all states, with one reading of the sampling rule or one partition.

    Parameters
    ----------
    peregrine : pd.DataFrame
        Of `medians`: all policies but PAP+.
    same_nodes : float
        Of `same_choice`: LIFO and PAP on PEREGRINE.
    htc : pd.DataFrame, optional
        As `peregrine`; left out where a log has no one-node jobs.
    waste : mapping of str to pd.DataFrame
        Of `final_waste`, per class of high priority.
    """

    peregrine: pd.DataFrame
    same_nodes: float
    htc: pd.DataFrame | None = None
    waste: Mapping[str, pd.DataFrame] = {}


class Evidence(NamedTuple):
    """Measurements by which the claims are judged.

    Parameters
    ----------
    reading, larger : Reading
        On N nodes, and on ten times as many.
    twins : bool
        Whether the workloads are synthetic twins of the paper's, or else of a log.
    classes : mapping of str to str
        The column of each class of `reading.waste`; the first stands for `bigmem`, the second for
        `gaussian`.
    other_twins : pd.DataFrame
        Other twins that match Table 1: indexed by `varied` (`order` or `sizes`), columns
        `same nodes` and `PAP from LIFO, at most`. Empty on a log.
    states : mapping of str to int
        How many, of `htc` and `peregrine`.
    schedule : Schedule
        Of PEREGRINE on N nodes.
    ages : pd.DataFrame
        Of `sweep_preemptions`, with staleness of 0 and of a day.
    """

    reading: Reading
    larger: Reading
    twins: bool
    classes: Mapping[str, str]
    other_twins: pd.DataFrame
    states: Mapping[str, int]
    schedule: Schedule
    ages: pd.DataFrame


def judge(evidence: Evidence) -> dict[str, Verdict]:
    """Verdicts on the claims about preemption policies, by their ids in `data/claims.csv`."""
    return {
        "htc-lifo-wastes-less": htc_lifo_wastes_less(evidence),
        "htc-short-grace-better": htc_short_grace_better(evidence),
        "peregrine-lifo-pap-waste-less": peregrine_lifo_pap_waste_less(evidence),
        "peregrine-lifo-pap-alike": peregrine_lifo_pap_alike(evidence),
        "peregrine-same-nodes": peregrine_same_nodes(evidence),
        "peregrine-short-grace-no-matter": peregrine_short_grace_no_matter(evidence),
        "larger-partition-similar": larger_partition_similar(evidence),
        "fifo-random-medians-fall": fifo_random_medians_fall(evidence),
        "lifo-pap-medians-stay": lifo_pap_medians_stay(evidence),
        **{claim: changed_by_priority(evidence, claim) for claim in PRINTED},
        "htc-samples": samples(evidence, "htc"),
        "peregrine-samples": samples(evidence, "peregrine"),
        "peregrine-days": peregrine_days(evidence),
        "stale-vectors-degrade": stale_vectors_degrade(evidence),
    }


def measure(reading: Reading) -> pd.Series:
    """Numbers that must be below `LIMITS`, one per claim; NaN where there is none."""
    return pd.Series({claim: float(number(reading)) for claim, number in NUMBERS.items()})


def compare_readings(first: Reading, literal: Reading) -> pd.DataFrame:
    """Numbers behind claims 1 to 4, with states 30 s after the last one and literally."""
    named = {"after the last state": first, "literally": literal}
    table = pd.DataFrame({name: measure(reading) for name, reading in named.items()})
    limit = pd.Series(LIMITS)
    holds = table.lt(limit, axis=0).map({True: "yes", False: "no"}.get)
    holds = holds.where(table.notna(), "unknown").set_axis(["holds", "holds literally"], axis=1)
    return table.assign(limit=limit).join(holds)


def compare_sizes(reading: Reading, larger: Reading) -> pd.DataFrame:
    """Numbers behind the claims of `SIMILAR`, on N nodes and on ten times as many."""
    sizes = {"N": reading, "10 N": larger}
    table = {name: [NUMBERS[claim](size) for claim in SIMILAR] for name, size in sizes.items()}
    return pd.DataFrame(table, index=SIMILAR).assign(limit=pd.Series(LIMITS))


def htc_lifo_wastes_less(evidence: Evidence) -> Verdict:
    """Claim 1: for HTC, LIFO wastes much less than FIFO and RANDOM."""
    gain = advantage(_htc(evidence.reading).loc[SHORT], ["LIFO"], OTHERS)
    shares = " / ".join(f"{share:.0%}" for share in gain)
    ours = f"{shares} of the next policy's median at 60 / 120 / 1200 / 1800 s; our limit: 50%"
    why = "one is above half, which is our limit; the paper prints none"
    return _below(evidence, "htc-lifo-wastes-less", ours, why, _no_htc(evidence))


def htc_short_grace_better(evidence: Evidence) -> Verdict:
    """Claim 1: for HTC under LIFO, grace periods of 60 and 120 s waste less than longer ones."""
    waste = _htc(evidence.reading).loc[SHORT, "LIFO"]
    ours = " / ".join(f"{value:.2f}" for value in waste) + " node-hours"
    return _below(evidence, "htc-short-grace-better", ours, "they are not", _no_htc(evidence))


def peregrine_lifo_pap_waste_less(evidence: Evidence) -> Verdict:
    """Claim 2: for PEREGRINE, LIFO and PAP waste much less than FIFO and RANDOM."""
    claim = "peregrine-lifo-pap-waste-less"
    ours = f"at most {NUMBERS[claim](evidence.reading):.0%}"
    return _below(evidence, claim, ours, "above half, which is our limit; the paper prints none")


def peregrine_lifo_pap_alike(evidence: Evidence) -> Verdict:
    """Claim 2: for PEREGRINE, LIFO and PAP waste similarly."""
    claim = "peregrine-lifo-pap-alike"
    ours = f"medians differ by up to {NUMBERS[claim](evidence.reading):.0%}"
    return _below(evidence, claim, ours, _unprinted(evidence, "PAP from LIFO, at most"))


def peregrine_same_nodes(evidence: Evidence) -> Verdict:
    """Claim 2: for PEREGRINE, LIFO and PAP preempt the very same nodes in most of the states."""
    ours = f"{evidence.reading.same_nodes:.0%}"
    return _below(evidence, "peregrine-same-nodes", ours, _unprinted(evidence, "same nodes"))


def peregrine_short_grace_no_matter(evidence: Evidence) -> Verdict:
    """Claim 2: for PEREGRINE, grace periods below 30 min hardly change wasted cycles."""
    moved = shift(evidence.reading.peregrine.loc[SHORT[:3]], FOUR)
    why = f"{moved.fillna(0).idxmax()} changes most"
    return _below(evidence, "peregrine-short-grace-no-matter", f"at most {moved.max():.1%}", why)


def larger_partition_similar(evidence: Evidence) -> Verdict:
    """Claim 2: on ten times the nodes, the conclusions of `SIMILAR` are the same."""
    table = compare_sizes(evidence.reading, evidence.larger)
    if table.isna().any(axis=None):
        return unknown("", NO_RATIO if len(evidence.schedule.workload) else NO_JOBS)
    text = "at most {:.0%} of the next median, LIFO and PAP {:.0%} apart, other nodes in {:.0%}"
    ours = "; ".join(f"{size}: {text.format(*table[size])}" for size in ("N", "10 N"))
    below = table[["N", "10 N"]].lt(table["limit"], axis=0)
    agree = below["N"] == below["10 N"]
    return verdict(ours, agree.all(), f"another conclusion about {', '.join(agree.index[~agree])}")


def fifo_random_medians_fall(evidence: Evidence) -> Verdict:
    """Claim 3: for PEREGRINE, the medians of FIFO and RANDOM fall from 1 to 6 h."""
    hours = evidence.reading.peregrine.loc[LONG]
    drop = 1 - hours.iloc[-1] / hours.iloc[0]
    ours = f"RANDOM by {drop['RANDOM']:.0%}, FIFO by {drop['FIFO']:.0%}"
    zero = "one begins with 0, from which nothing can fall"
    why = "one does not fall at every step"
    return _below(evidence, "fifo-random-medians-fall", ours, why, zero)


def lifo_pap_medians_stay(evidence: Evidence) -> Verdict:
    """Claim 3: for PEREGRINE, the medians of LIFO and PAP stay constant from 1 to 6 h."""
    moved = shift(evidence.reading.peregrine.loc[LONG], GOOD)
    ours = f"LIFO within {moved['LIFO']:.0%}, PAP within {moved['PAP']:.0%}"
    why = f"{max(GOOD, key=moved.get)}'s median moves more"
    return _below(evidence, "lifo-pap-medians-stay", ours, why)


def changed_by_priority(evidence: Evidence, claim: str) -> Verdict:
    """Claim 4: by how much PAP+ changes the cumulative waste of a class, other jobs, or all."""
    label, part = claim.split("-")
    if not evidence.classes:
        return unknown("", "too few jobs for a class of them to have priority")
    name = list(evidence.classes)[list(SHARE_OF_WASTE).index(label)]
    waste = evidence.reading.waste[name]
    change = float(priority_change({name: waste}).loc[part, name])
    ours = f"{change:+.1%}" if math.isfinite(change) else "no waste under PAP"
    if not evidence.twins:
        stands = f"{evidence.classes[name]} {name} stands in for {label}"
        return unknown("", f"{stands}, which this log does not have: {ours}")
    why = (
        "which jobs are of the class is not printed: sizes, run times, times of submission; under "
        f"PAP they make {waste.loc['PAP', 'high'] / waste.loc['PAP', 'total']:.1%} of all waste "
        f"here, about {SHARE_OF_WASTE[label]} in the paper"
    )
    return _below(evidence, claim, ours, why, "jobs of this class waste nothing under PAP here")


def samples(evidence: Evidence, workload: str) -> Verdict:
    """Claim 5: over 14K states are sampled for HTC, 168K for PEREGRINE."""
    count, (least, most) = evidence.states.get(workload, 0), SAMPLES[workload]
    return _of_twins(evidence, f"{count:,}", least <= count < most)


def peregrine_days(evidence: Evidence) -> Verdict:
    """Claim 6: PEREGRINE keeps the nodes busy for over 55 days."""
    days = float(max(evidence.schedule.end_time, default=0.0)) / DAY
    built_in = _work(evidence).sum() / DAY / evidence.schedule.total_nodes
    ours = f"{days:.1f}, of which {built_in:.1f} are built in by Table 1's node-hours"
    return _of_twins(evidence, ours, DAYS[0] < days < DAYS[1])


def stale_vectors_degrade(evidence: Evidence) -> Verdict:
    """Claim 7: with stale preemption vectors, LIFO, PAP and PAP+ degrade to RANDOM."""
    if evidence.ages.empty:
        return unknown("", NO_JOBS)
    wasted = evidence.ages.groupby(["policy", "staleness", "seed"])["wasted"].mean()
    wasted = wasted.unstack("policy")  # noqa: PD010
    gain = wasted[AGED].rsub(wasted["RANDOM"], axis=0)
    if not (gain.loc[0.0] > 0).all(axis=None):
        return unknown("", "one of them has no advantage over RANDOM here, even with fresh vectors")
    left = gain.loc[DAY] / gain.loc[0.0]
    parts = [f"{name} keeps {left[name].min():.0%} to {left[name].max():.0%}" for name in AGED]
    ours = f"{', '.join(parts)} of its advantage ({len(left)} seeds)"
    return verdict(
        ours, left.max(axis=None) <= KEPT, "one of them keeps more than half with some seed"
    )


def _below(evidence: Evidence, claim: str, ours: str, why: str, doubt: str = NO_RATIO) -> Verdict:
    """A claim that holds if its number is below its limit; unknown, of `doubt`, without one."""
    number = NUMBERS[claim](evidence.reading)
    if not math.isfinite(number):
        return unknown("", doubt if len(evidence.schedule.workload) else NO_JOBS)
    return verdict(ours, number < LIMITS[claim], why)


def _of_twins(evidence: Evidence, ours: str, holds: bool) -> Verdict:
    """A claim about the paper's own workloads, which a log cannot decide."""
    if not evidence.twins:
        return unknown("", "the data are another workload")
    return verdict(ours, holds, "see the deviations")


def _htc(reading: Reading) -> pd.DataFrame:
    """The medians of HTC; NaN where a log has no one-node jobs."""
    return reading.peregrine * math.nan if reading.htc is None else reading.htc


def _no_htc(evidence: Evidence) -> str:
    """Why claims about HTC may be unknown."""
    return NO_RATIO if evidence.reading.htc is not None else "this log has no one-node jobs"


def _unprinted(evidence: Evidence, column: str) -> str:
    """What explains that LIFO and PAP differ: wide jobs, whose order and sizes are not printed."""
    if not evidence.twins:
        work = _work(evidence)
        wide = work[evidence.schedule.workload.jobs["nodes"] > 1].sum() / max(work.sum(), 1.0)
        return f"jobs of several nodes have {wide:.0%} of the node-hours here, and rank differently"
    spans = evidence.other_twins[column].groupby("varied").agg(["min", "max"])
    order, sizes = (f"{spans['min'][v]:.0%} to {spans['max'][v]:.0%}" for v in ("order", "sizes"))
    return (
        f"the order of jobs is not printed and decides: wide jobs earlier (above) give {order}, "
        f"other sizes that match Table 1 {sizes}"
    )


def _work(evidence: Evidence) -> pd.Series:
    """Node-seconds of each job of PEREGRINE."""
    jobs = evidence.schedule.workload.jobs
    return jobs["nodes"] * jobs["run_time"]


def _from_printed(claim: str) -> Callable[[Reading], float]:
    """How far a change by priority is from the printed one; NaN for a class of another name."""
    label, part = claim.split("-")

    def number(reading: Reading) -> float:
        change = priority_change(reading.waste)
        return abs(change.loc[part, label] - PRINTED[claim]) if label in change else math.nan

    return number


NUMBERS: Mapping[str, Callable[[Reading], float]] = {
    "htc-lifo-wastes-less": lambda r: advantage(_htc(r).loc[SHORT], ["LIFO"], OTHERS).max(),
    "htc-short-grace-better": lambda r: (
        _htc(r).loc[SHORT[:2], ["LIFO"]].max() / _htc(r).loc[SHORT[2:], ["LIFO"]].min()
    ).max(),
    "peregrine-lifo-pap-waste-less": lambda r: advantage(
        r.peregrine.loc[SHORT], GOOD, OTHERS
    ).max(),
    "peregrine-lifo-pap-alike": lambda r: difference(r.peregrine.loc[SHORT], "PAP", "LIFO"),
    "peregrine-short-grace-no-matter": lambda r: shift(r.peregrine.loc[SHORT[:3]], FOUR).max(),
    "fifo-random-medians-fall": lambda r: largest_step(r.peregrine.loc[LONG], OTHERS),
    "lifo-pap-medians-stay": lambda r: shift(r.peregrine.loc[LONG], GOOD).max(),
    **{claim: _from_printed(claim) for claim in PRINTED},
    "peregrine-same-nodes": lambda r: 1 - r.same_nodes,
}
"""What is to be below `LIMITS`, per claim."""
