"""Claims of Duplyakin, Johnson and Ricci (ScienceCloud 2017) about preemption policies.

Each number is measured with several seeds (draws and orders of jobs, RANDOM's draws), and told as
its mean with the least and the greatest of them: one more seed falls between these with probability
(n - 1) / (n + 1), which is 90 % with 19. A statement *holds* if it is true with every seed, *fails*
if it is with none, and is *unknown* if seeds disagree. A printed number holds if it lies between
the least and the greatest, to half its last digit; it is unknown if these are farther apart than it
is from 0.

The paper prints few limits, so this one is ours: medians differ *significantly* from a tenth of
RANDOM's median at that grace period on, and are *similar*, *constant* or differ *negligibly* below.
*Better*, *fall* and *grow* are differences of any size. *Most* is more than half, *zero* below a
tenth. What the numbers are is said in `elastic.reading`.

The paper backfills; that is EASY here, and EASY decides. First fit, which keeps no nodes for the
head, is told beside it: that the paper's simulator was of this kind is an inference from its
results (`elastic.repetition`), which must not decide claims about them.

On a log, claims 4 to 6 are unknown: their numbers are of the paper's own workloads and classes of
jobs. Policies *degrade to RANDOM* if, with vectors a day old, they have lost at least half of their
advantage over RANDOM in wasted cycles.
"""

import math
import re
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib.claims import Verdict, by_construction, of_enough_jobs, unknown, verdict
from cosimlib.display import UNKNOWN, percent
from cosimlib.elastic.reading import SHORT, Reading, measure
from cosimlib.schedule import Schedule
from cosimlib.units import DAY

MATTERS = 0.1
"""Part of RANDOM's median from which on a difference matters."""
AGED = ["LIFO", "PAP", "PAP+"]
KEPT = 0.5
"""Part of the advantage over RANDOM that policies may keep with vectors a day old."""
NO_RATIO = "a median of 0 leaves no ratio"
NO_JOBS = "no job of this log can run on the partition"
NO_HTC = "this log has no one-node jobs"
DECIDES, BESIDE = "EASY", "first fit"


class Rule(NamedTuple):
    """When a statement about a number is true: between two limits, neither of them included.

    `shown` is how the number is written, times 100 before a %, and `why` what explains that it is
    not true. A `printed` number is met to within `digit`, half its last digit.
    """

    least: float = -math.inf
    most: float = math.inf
    shown: str = "{:+.0f} % of RANDOM's median"
    why: str = "the difference is a tenth of RANDOM's median or more, which is our limit"
    printed: float | None = None
    digit: float = 0.0


NOT_LESS = "what is saved is less than a tenth of RANDOM's median, which is our limit"
LONG_JOBS = (
    "a few long jobs hold most of the node time: FIFO's and RANDOM's victims are old and often end "
    "within so long a grace period, LIFO's are young and never do, but run on until it is over"
)
CLASS = "which jobs are of the class is not printed: sizes, run times, times of submission"
RULES: Mapping[str, Rule] = {
    **{
        f"htc-lifo-wastes-less-{period:g}": Rule(
            most=-MATTERS, why=LONG_JOBS if period > 120 else NOT_LESS
        )
        for period in SHORT
    },
    "htc-short-grace-better": Rule(most=0.0, why="they do not"),
    "peregrine-lifo-pap-waste-less": Rule(most=-MATTERS, why=NOT_LESS),
    "peregrine-lifo-pap-alike": Rule(most=MATTERS),
    "peregrine-same-nodes": Rule(
        0.75, shown="{:.0f} %", why="jobs of several nodes rank differently, and under a "
        "reservation many of them run",
    ),
    "peregrine-short-grace-no-matter": Rule(most=MATTERS),
    "larger-partition-similar": Rule(
        most=MATTERS, shown="a number differs by {:.2f} at most", why="it is a tenth or more"
    ),
    "fifo-random-medians-fall": Rule(
        most=0.0, shown="largest step {:+.1f} node-hours", why="one does not fall at every step"
    ),
    "fifo-random-quartiles-fall": Rule(
        most=0.0, shown="largest step {:+.1f} node-hours", why="one does not fall at every step"
    ),
    "lifo-pap-medians-stay": Rule(most=MATTERS),
    "lifo-pap-quartiles-stay": Rule(
        most=MATTERS, why="the third quartile grows, for whoever is killed has run on for hours"
    ),
    "lifo-pap-tails-grow": Rule(
        0.0, shown="{:+.1f} % of the states at least", why="one of the two shares falls"
    ),
    "waste-goes-to-zero": Rule(
        most=MATTERS, shown="{:.0f} % of RANDOM's waste is left",
        why="most jobs are shorter, but at most moments long ones run; only beyond the longest run "
        "time is nothing wasted, by construction",
    ),
    "shorter-grace-wastes-less": Rule(
        most=0.0, why="true of LIFO and PAP, but FIFO and RANDOM take old jobs, which do end"
    ),
    "most-jobs-outlast-grace": Rule(
        0.5, shown="at least {:.0f} %", why="HTC's jobs are mostly shorter than half an hour"
    ),
    "bigmem-high": Rule(shown="{:+.1f} %", why=CLASS, printed=-0.829, digit=5e-4),
    "bigmem-default": Rule(shown="{:+.1f} %", why=CLASS, printed=0.143, digit=5e-4),
    "bigmem-total": Rule(shown="{:+.1f} %", why=CLASS, printed=0.075, digit=5e-4),
    "gaussian-high": Rule(shown="{:+.1f} %", why=CLASS, printed=-0.972, digit=5e-4),
    "gaussian-default": Rule(shown="{:+.1f} %", why=CLASS, printed=0.071, digit=5e-4),
    "gaussian-total": Rule(shown="{:+.1f} %", why=CLASS, printed=0.038, digit=5e-4),
    "rest-mostly-white": Rule(
        0.5, shown="{:.0f} % of the values below a quarter", why="they are half or less"
    ),
    "htc-samples": Rule(14_000, 15_000, "{:,.0f}", "see the sampling rule"),
    "peregrine-samples": Rule(
        shown="{:,.0f}", why="the order of the jobs is not printed", printed=168_000, digit=500
    ),
}  # fmt: skip
"""By which rule each claim about one preemption is decided."""
OWN = [claim for claim, rule in RULES.items() if rule.printed or claim.endswith("samples")]
"""Claims about the paper's own workloads and classes."""


class Evidence(NamedTuple):
    """Measurements by which the claims are judged.

    Parameters
    ----------
    runs : pd.DataFrame
        One row per scheduler and seed: `scheduler`, `seed` and the numbers of `measure_seed`.
    own : bool
        Whether the workloads are the paper's, drawn or as twins, or else of a log.
    classes : mapping of str to str
        The column of each class of high priority; the first stands for `bigmem`, the second for
        `gaussian`.
    schedule : Schedule
        Of PEREGRINE on N nodes.
    ages : pd.DataFrame
        Of `sweep_preemptions`, with staleness of 0 and of a day.
    """

    runs: pd.DataFrame
    own: bool
    classes: Mapping[str, str]
    schedule: Schedule
    ages: pd.DataFrame


def judge(evidence: Evidence) -> dict[str, Verdict]:
    """Verdicts on the claims about preemption policies, by their ids in `data/claims.csv`."""
    found = {
        **{claim: decide(evidence, claim) for claim in RULES},
        "peregrine-days": peregrine_days(evidence),
        "stale-vectors-degrade": stale_vectors_degrade(evidence),
    }
    return of_enough_jobs(found, len(evidence.schedule.workload))


def decide(evidence: Evidence, claim: str) -> Verdict:
    """A claim about one preemption, by its rule."""
    rule, runs = RULES[claim], evidence.runs
    values = runs.loc[runs["scheduler"] == DECIDES, claim]
    if values.isna().any():
        return unknown("", _no_number(evidence, claim))
    ours = describe_runs(runs, claim) + _details(evidence, claim)
    if claim in OWN and not evidence.own:
        return unknown(ours, _stands_in(evidence, claim))
    found = _by_seeds(rule, values)
    other = _by_seeds(rule, runs.loc[runs["scheduler"] == BESIDE, claim])
    if found == "holds":
        return verdict(ours, True, "")
    without = "; with first fit, an inference, it holds" if other == "holds" else ""
    if found == "fails":
        return verdict(ours, False, _why(evidence, claim) + without)
    return unknown(ours, found + without)


def describe_runs(runs: pd.DataFrame, claim: str) -> str:
    """A claim's number by scheduler: mean, least and greatest over the seeds, or "unknown"."""
    parts: dict[str, str] = {}
    for name, values in runs.groupby("scheduler", sort=False)[claim]:
        if values.isna().any():
            parts[str(name)] = UNKNOWN
            continue
        least, greatest = (_written(RULES[claim], each) for each in (values.min(), values.max()))
        text = _written(RULES[claim], values.mean())
        if least != greatest:
            text += f" ({_number(least)} to {_number(greatest)})"
        parts[str(name)] = text
    same = len(set(parts.values())) == 1
    return next(iter(parts.values())) if same else "; ".join(f"{k} {v}" for k, v in parts.items())


def intervals(runs: pd.DataFrame) -> pd.DataFrame:
    """Every number as words: its mean, least and greatest over the seeds, one column per scheduler.

    `runs` is as in `Evidence`. What has no number with a seed is "unknown".
    """
    table = {
        str(name): {claim: describe_runs(part, claim) for claim in RULES}
        for name, part in runs.groupby("scheduler", sort=False)
    }
    return pd.DataFrame(table)


def compare_readings(first: Reading, literal: Reading) -> pd.DataFrame:
    """What claims are decided by, with states 30 s after the last one, and literally."""
    table = pd.DataFrame({"after the last state": measure(first), "literally": measure(literal)})
    return table.assign(difference=table["literally"] - table["after the last state"])


def peregrine_days(evidence: Evidence) -> Verdict:
    """Claim 6: PEREGRINE keeps the nodes busy for over 55 days."""
    if not evidence.own:
        return unknown("", "the data are another workload")
    jobs, days = evidence.schedule.workload.jobs, max(evidence.schedule.end_time) / DAY
    least = (jobs["nodes"] * jobs["run_time"]).sum() / DAY / evidence.schedule.total_nodes
    why = f"Table 1's node-hours fill the nodes for {least:.1f} days, and no schedule takes less"
    return by_construction(f"{days:.1f}", days > 55, why)


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
    least, most = (left[AGED].agg(each).map(partial(percent, places=0)) for each in ("min", "max"))
    parts = [f"{name} keeps {least[name]} to {most[name]}" for name in AGED]
    ours = f"{', '.join(parts)} of its advantage"
    lost = left.max(axis=1) <= KEPT
    if lost.any() and not lost.all():
        return unknown(ours, _disagree(lost))
    return verdict(ours, lost.all(), "one of them keeps more than half with each seed")


def _by_seeds(rule: Rule, values: pd.Series) -> str:
    """Holds, fails, or why seeds do not decide."""
    if values.empty or values.isna().any():
        return "no number"
    if rule.printed is None:
        true = (values > rule.least) & (values < rule.most)
        return "holds" if true.all() else "fails" if not true.any() else _disagree(true)
    least, greatest = values.min(), values.max()
    if greatest - least > abs(rule.printed):
        return f"with {len(values)} seeds our numbers are farther apart than the paper's is from 0"
    met = least - rule.digit <= rule.printed <= greatest + rule.digit
    return "holds" if met else "fails"


def _disagree(true: pd.Series) -> str:
    """That a statement is true with some of the seeds."""
    return f"true with {int(true.sum())} of {len(true)} seeds"


def _written(rule: Rule, value: float) -> str:
    """A rule's number with its words."""
    text = rule.shown.format(100 * value if "} %" in rule.shown else value)
    return text.replace("-", "−", 1) if value < 0 else text


def _number(text: str) -> str:
    """The number in a text, without its words."""
    return next(found[0] for found in re.finditer(r"[+−]?[\d,.]*\d( %)?", text))


def _details(evidence: Evidence, claim: str) -> str:
    """What else was measured beside a claim's number, by scheduler."""
    means = evidence.runs.groupby("scheduler", sort=False).mean(numeric_only=True)
    if claim == "peregrine-same-nodes":
        shares, same = (
            " / ".join(percent(share, 0) for share in means[name])
            for name in ("common", "same waste")
        )
        return f"; {shares} of the nodes in common, the same waste in {same}"
    if claim == "waste-goes-to-zero":
        return (
            f" at 6 h, longer than {percent(means['within longest'].iloc[0], 0)} of the run times"
        )
    return ""


def _why(evidence: Evidence, claim: str) -> str:
    """What explains that a claim fails."""
    place = {"bigmem": 0, "gaussian": 1}.get(claim.split("-")[0])
    if place is None:
        return RULES[claim].why
    runs = evidence.runs[evidence.runs["scheduler"] == DECIDES]
    implied = ("7 %", "3 %")[place]
    share = percent(runs[f"share {place}"].mean(), 1)
    return (
        f"{RULES[claim].why}; under PAP they make {share} of all waste here, about {implied} in "
        "the paper"
    )


def _no_number(evidence: Evidence, claim: str) -> str:
    """Why there is no number for a claim."""
    if not len(evidence.schedule.workload):
        return NO_JOBS
    if claim.startswith("htc"):
        no_htc = bool(np.isnan(evidence.runs["htc-samples"]).any())
        return NO_HTC if no_htc else NO_RATIO
    if claim.split("-")[0] in ("bigmem", "gaussian") or claim == "rest-mostly-white":
        few = "too few jobs for a class of them to have priority"
        return "jobs of this class waste nothing under PAP here" if evidence.classes else few
    return NO_RATIO


def _stands_in(evidence: Evidence, claim: str) -> str:
    """Why a log does not decide a claim about the paper's own workloads."""
    label = claim.split("-")[0]
    if label not in ("bigmem", "gaussian"):
        return "the data are another workload"
    name = list(evidence.classes)[("bigmem", "gaussian").index(label)]
    return f"{evidence.classes[name]} {name} stands in for {label}, which this log does not have"
