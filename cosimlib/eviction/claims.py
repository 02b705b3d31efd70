"""Claims of Maurya et al. (DS-RT 2020) about the eviction problem, judged by our runs.

The words of a statement here; those about response times are in `speed_claims`. Greedy's excess
*grows* if for each number of nodes needed there are more full moments at which it is larger at the
last deadline than at the first than moments at which it is smaller. The optimum *falls* if it never
rises and comes down in each case that does not begin at 0; the loss of *all* falls if that of
greedy, too, ends below where it began in each such case. The optimum *often* reaches 0 if it does
so in half of the cases. Facts of Theta are for a log of Theta to confirm: jobs near full are met
within 5 of the printed number, the share of short jobs within 5 points.
"""

import numpy as np
import pandas as pd

from cosimlib.claims import Verdict, unknown, verdict
from cosimlib.display import percent
from cosimlib.eviction.comparison import relative_loss
from cosimlib.eviction.evidence import CASE, Evidence
from cosimlib.eviction.speed_claims import (
    backtracking_wins_small,
    constant_in_deadline,
    dynamic_in_milliseconds,
    dynamic_wins_large,
    five_orders_of_magnitude,
    greedy_fastest,
    linear_in_deadline,
)
from cosimlib.units import MINUTE

PRINTED_OCCUPANCY, PRINTED_JOBS, PRINTED_SHORT, PRINTED_YEAR = 4352, 25, 0.61, 91_217
JOBS_WITHIN, SHARE_WITHIN = 5, 0.05
CLAIMS = (
    "constant-in-deadline", "linear-in-deadline", "greedy-fastest", "backtracking-wins-small",
    "dynamic-wins-large", "five-orders-of-magnitude", "same-optimum", "greedy-excess-not-negative",
    "greedy-excess-grows", "optimum-falls", "all-losses-fall", "optimum-reaches-zero",
    "dynamic-in-milliseconds", "most-frequent-occupancy", "jobs-near-full",
    "share-under-30-minutes",
)  # fmt: skip
"""In the order of `data/claims.csv`."""
NO_CASE = "the log has no scenario like the paper's: no case was solved"


def judge(evidence: Evidence) -> dict[str, Verdict]:
    """Every claim about the eviction problem, by its name in `data/claims.csv`."""
    measured = {
        "constant-in-deadline": constant_in_deadline,
        "linear-in-deadline": linear_in_deadline,
        "greedy-fastest": greedy_fastest,
        "backtracking-wins-small": backtracking_wins_small,
        "dynamic-wins-large": dynamic_wins_large,
        "five-orders-of-magnitude": five_orders_of_magnitude,
        "same-optimum": same_optimum,
        "greedy-excess-not-negative": greedy_excess_not_negative,
        "optimum-falls": optimum_falls,
        "all-losses-fall": all_losses_fall,
        "optimum-reaches-zero": optimum_reaches_zero,
        "dynamic-in-milliseconds": dynamic_in_milliseconds,
    }
    nothing = evidence.comparison.empty
    verdicts = {
        claim: unknown("", NO_CASE) if nothing else judged(evidence)
        for claim, judged in measured.items()
    }
    verdicts |= {
        "greedy-excess-grows": greedy_excess_grows(evidence),
        "most-frequent-occupancy": most_frequent_occupancy(evidence),
        "jobs-near-full": jobs_near_full(evidence),
        "share-under-30-minutes": share_under_30_minutes(evidence),
    }
    return {claim: verdicts[claim] for claim in CLAIMS}


def same_optimum(evidence: Evidence) -> Verdict:
    """Claim 5: dynamic programming and backtracking lose the same where the search ended."""
    by_solver = evidence.comparison.set_index([*CASE, "deadline"])
    searched = by_solver[by_solver["solver"] == "backtracking"]
    exact = searched[searched["optimal"]]
    equal = np.ones(len(exact), dtype=bool)
    for solver in ("dynamic", "as printed"):
        loss = by_solver[by_solver["solver"] == solver]["loss"].reindex(exact.index)
        equal &= np.isclose(exact["loss"], loss, atol=1e-6)
    ours = f"equal in {equal.sum()} of {len(exact)} proven plans, of {len(searched)} in all"
    if not len(exact):
        return unknown(ours, "no search came to its end")
    return verdict(ours, bool(equal.all()), "see figure 8")


def greedy_excess_not_negative(evidence: Evidence) -> Verdict:
    """Claim 6: greedy never loses less than the optimum."""
    excess = relative_loss(evidence.comparison)["excess"]
    ours = f"{excess.min():.0f} to {excess.max():.0f} node-hours"
    return verdict(ours, excess.min() >= 0, "greedy beats the optimum")


def greedy_excess_grows(evidence: Evidence) -> Verdict:
    """Claim 6: greedy's loss above the optimum grows with the deadline, at most full moments."""
    if evidence.moments.empty:
        return unknown("", "at no hour is the machine nearly full")
    ends = excess_at_ends(evidence.moments)
    cases = ends.groupby(level="nodes_needed")
    up = cases.apply(lambda part: (part["last"] > part["first"]).mean())
    down = cases.apply(lambda part: (part["last"] < part["first"]).mean())
    zero = cases.apply(lambda part: (part["last"] == 0).mean())
    told = [
        f"larger at {percent(up[k], 0)}, smaller at {percent(down[k], 0)} (K = {k:,})"
        for k in up.index
    ]
    moments = evidence.moments["moment"].nunique()
    ours = f"at the last deadline {', '.join(told)} of {moments:,} full moments"
    if not (up + down).any():
        return unknown(ours, "greedy's excess is the same at the first and the last deadline")
    why = (
        "it grows for some minutes and falls once the dearest job's checkpoint fits: at the last "
        f"deadline it is 0 at {percent(zero.min(), 0)} to {percent(zero.max(), 0)} of the moments"
    )
    return verdict(ours, bool((up > down).all()), why)


def excess_at_ends(moments: pd.DataFrame) -> pd.DataFrame:
    """Greedy's excess (node-hours) at the `first` and the `last` deadline per moment and K."""
    excess = (moments["greedy"] - moments["optimum"]).round(6)
    cases = excess.groupby([moments["nodes_needed"], moments["moment"]])
    return pd.DataFrame({"first": cases.first(), "last": cases.last()})


def optimum_falls(evidence: Evidence) -> Verdict:
    """Claim 7: the optimal loss falls as the deadline grows."""
    cases = relative_loss(evidence.comparison).groupby(CASE, sort=False)["optimum"]
    rises = cases.agg(lambda loss: loss.diff().max()) > 1e-9
    begins, ends = cases.first(), cases.min()
    falls = (ends < begins) | (begins == 0)
    ours = f"comes down in {(ends < begins).sum()} of {len(ends)} cases, "
    ours += f"rises in {rises.sum()}" if rises.any() else "never rises"
    return verdict(ours, (falls & ~rises).all(), "it stays as it is in some case")


def all_losses_fall(evidence: Evidence) -> Verdict:
    """Claim 7: the loss of all three solvers comes down as the deadline grows."""
    table = relative_loss(evidence.comparison)
    greedy = (table["optimum"] + table["excess"]).groupby(
        [table[name] for name in CASE], sort=False
    )
    begins, ends = greedy.first(), greedy.last()
    falls = (ends < begins) | (begins == 0)
    rises = int(greedy.agg(lambda loss: (loss.diff() > 1e-6).sum()).sum())
    ours = f"greedy's comes down in {(ends < begins).sum()} of {len(ends)} cases"
    ours += f", with {rises} steps up" if rises else ", with no step up"
    why = f"greedy's ends where it began or above it in {(~falls).sum()} cases"
    return verdict(ours, bool(falls.all()) and optimum_falls(evidence).holds is True, why)


def optimum_reaches_zero(evidence: Evidence) -> Verdict:
    """Claim 7: the optimal loss is often 0."""
    ends = relative_loss(evidence.comparison).groupby(CASE, sort=False)["optimum"].min()
    minutes = evidence.comparison["deadline"].max() / MINUTE
    zero = int((ends == 0).sum())
    ours = f"0 within {minutes:g} min in {zero} of {len(ends)} cases"
    return verdict(
        ours, zero >= len(ends) / 2, f"the hardest case still loses {ends.max():.0f} node-hours"
    )


def most_frequent_occupancy(evidence: Evidence) -> Verdict:
    """Claim 9: 4352 is the most frequent number of occupied nodes."""
    ours = (
        f"{evidence.most_frequent} of {evidence.total_nodes}, {evidence.days:.1f} days; all nodes "
        f"for {evidence.days_full:.1f}"
    )
    return _of_theta(evidence, ours, evidence.most_frequent == PRINTED_OCCUPANCY)


def jobs_near_full(evidence: Evidence) -> Verdict:
    """Claim 9: about 25 jobs at most run while the machine is near full."""
    near = abs(evidence.jobs_near_full - PRINTED_JOBS) <= JOBS_WITHIN
    return _of_theta(evidence, str(evidence.jobs_near_full), near)


def share_under_30_minutes(evidence: Evidence) -> Verdict:
    """Claim 9: 61 % of the batch jobs run for less than 30 minutes."""
    share, *_ = evidence.short
    near = abs(share - PRINTED_SHORT) <= SHARE_WITHIN
    if evidence.theta and not near and evidence.jobs < PRINTED_YEAR / 2:
        by_size = [
            f"{percent(part, 0)} ({name})" for name, part in evidence.short[1:].dropna().items()
        ]
        return unknown(percent(share, 0), (
            f"the log has {evidence.jobs:,} jobs, the paper's year {PRINTED_YEAR:,}: logs that "
            f"leave out debug queues, as Theta's of 2023, lack short jobs; {', '.join(by_size)}"
        ))  # fmt: skip
    return _of_theta(evidence, percent(share, 0), near)


def _of_theta(evidence: Evidence, ours: str, holds: bool) -> Verdict:
    """A fact of Theta in 2019, which only a log of Theta can confirm or not."""
    if not evidence.theta:
        return unknown(ours, "not a log of Theta")
    return Verdict(ours, bool(holds), "Theta in another year than 2019")
