"""Claims of Maurya et al. (DS-RT 2020) about eviction solvers, judged by our runs.

What the words of a statement mean here. A response time *does not depend* on the deadline if the
slowest horizon takes at most twice the fastest. One pass answers every deadline up to its horizon,
so the curves of figures 5 to 7 are flat by construction; the claim is asked by solving again with
each of several deadlines as the horizon. *Small* K is the smallest with the fewest jobs, *larger*
are the others with more jobs; ratios are of response times at the last deadline, and a ratio behind
``≥`` is a lower bound, because a search was stopped. *Five orders of magnitude* are met from 4.5.
Greedy's excess *grows* if it goes up in more steps than it goes down in most of the cases that
change. The optimum *falls* if it never rises and comes down in each case that does not begin at 0;
it *often* reaches 0 if it does so in half of the cases. *In the order of milliseconds* is at most
ten, in the slowest case. Facts of Theta are for a log of Theta to confirm: jobs near full are met
within 5 of the printed number, the share of short jobs within 5 points.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib.claims import Verdict, unknown, verdict
from cosimlib.eviction.comparison import relative_loss
from cosimlib.units import MINUTE

CASE = ["scenario", "nodes_needed"]
INDEPENDENT = 2.0
FASTER = 30.0
LEAST_ORDERS = 4.5
MILLISECONDS = 10.0
PRINTED_OCCUPANCY, PRINTED_JOBS, PRINTED_SHORT = 4352, 25, 0.61
JOBS_WITHIN, SHARE_WITHIN = 5, 0.05
NO_CASE = "the log has no scenario like the paper's: no case was solved"


class Evidence(NamedTuple):
    """Measurements by which the claims are judged.

    Parameters
    ----------
    comparison : pd.DataFrame
        Of `compare_solvers`, scenarios with fewer jobs first.
    horizons : mapping of float to float
        Seconds of dynamic programming per horizon (s), the last beyond that of `comparison`.
    time_limit : float
        Backtracking's in `comparison`, seconds per deadline.
    most_frequent, total_nodes : int
        The commonest number of occupied nodes above 0, of how many.
    days : float
        How long so many were occupied.
    jobs_near_full : int
        Most jobs at once while the machine was nearly full.
    share_short : float
        Of the jobs, those that run for less than 30 minutes.
    theta : bool
        Whether the data are a log of Theta.
    """

    comparison: pd.DataFrame
    horizons: Mapping[float, float]
    time_limit: float
    most_frequent: int
    total_nodes: int
    days: float
    jobs_near_full: int
    share_short: float
    theta: bool


def judge(evidence: Evidence) -> dict[str, Verdict]:
    """Every claim about the eviction problem, by its name in `data/claims.csv`."""
    measured = {
        "constant-in-deadline": constant_in_deadline,
        "greedy-fastest": greedy_fastest,
        "backtracking-wins-small": backtracking_wins_small,
        "dynamic-wins-large": dynamic_wins_large,
        "five-orders-of-magnitude": five_orders_of_magnitude,
        "same-optimum": same_optimum,
        "greedy-excess-not-negative": greedy_excess_not_negative,
        "greedy-excess-grows": greedy_excess_grows,
        "optimum-falls": optimum_falls,
        "optimum-reaches-zero": optimum_reaches_zero,
        "dynamic-in-milliseconds": dynamic_in_milliseconds,
    }
    nothing = evidence.comparison.empty
    verdicts = {
        claim: unknown("", NO_CASE) if nothing else judged(evidence)
        for claim, judged in measured.items()
    }
    return verdicts | {
        "most-frequent-occupancy": most_frequent_occupancy(evidence),
        "jobs-near-full": jobs_near_full(evidence),
        "share-under-30-minutes": share_under_30_minutes(evidence),
    }


def response_times(comparison: pd.DataFrame) -> pd.DataFrame:
    """Seconds until the plans of all deadlines are known: a row per case, a column per solver."""
    last = comparison[comparison["deadline"] == comparison["deadline"].max()]
    times = last.set_index([*CASE, "solver"])["response_time"].unstack(sort=False)  # noqa: PD010
    return times.reindex(columns=["dynamic", "greedy", "backtracking"])


def speedups(comparison: pd.DataFrame) -> pd.DataFrame:
    """Backtracking's time ÷ dynamic programming's per case, and whether that is a lower bound."""
    times = response_times(comparison)
    ratio = (times["backtracking"] / times["dynamic"]).rename("backtracking / dynamic")
    bound = comparison.groupby(CASE, sort=False)["bound"].any()
    return pd.concat([ratio, bound], axis=1)


def constant_in_deadline(evidence: Evidence) -> Verdict:
    """Claim 1: the response time of dynamic programming does not depend on the deadline."""
    (*horizons, beyond), (*within, longest) = zip(*sorted(evidence.horizons.items()), strict=True)
    spread = max(within) / min(within)
    first, last, later = (seconds / MINUTE for seconds in (horizons[0], horizons[-1], beyond))
    longer = longest / within[-1]
    ours = f"{spread:.1f}× from {first:g} to {last:g} min, {longer:.1f}× on to {later:g}"
    why = "all deadlines up to T are known at once, but the table, and so the time, grows with T"
    return Verdict(ours, bool(spread <= INDEPENDENT), why)


def greedy_fastest(evidence: Evidence) -> Verdict:
    """Claim 2: greedy is at least 30 times faster than either other solver, in every case."""
    times = response_times(evidence.comparison)
    gain = times[["dynamic", "backtracking"]].div(times["greedy"], axis=0)
    ours = ", ".join(f"{gain[name].min():.0f}–{gain[name].max():,.0f}× ({name})" for name in gain)
    typical = ", ".join(f"{name} {ms:.2g} ms" for name, ms in (times.median() * 1e3).items())
    why = f"median time for all deadlines: {typical}; less is left to gain than in the paper"
    return verdict(ours, gain.min().min() >= FASTER, why)


def backtracking_wins_small(evidence: Evidence) -> Verdict:
    """Claim 3: backtracking is faster than dynamic programming with few jobs and small K."""
    times = response_times(evidence.comparison).iloc[0]
    _, needed = times.name
    ours = f"{times['dynamic'] / times['backtracking']:.2g}× as fast"
    why = (
        f"at K = {needed} backtracking takes {times['backtracking'] * 1e3:.2g} ms, our dynamic "
        f"programming {times['dynamic'] * 1e3:.2g} ms"
    )
    return verdict(ours, times["backtracking"] < times["dynamic"], why)


def _large(evidence: Evidence) -> pd.DataFrame:
    """Speedups of the cases with more jobs than the first scenario and more than the least K."""
    table = speedups(evidence.comparison)
    scenario, needed = table.index[0]
    names = table.index.get_level_values("scenario"), table.index.get_level_values("nodes_needed")
    return table[(names[0] != scenario) & (names[1] != needed)]


def dynamic_wins_large(evidence: Evidence) -> Verdict:
    """Claim 4: dynamic programming is faster than backtracking with more jobs and larger K."""
    large = _large(evidence)
    if large.empty:
        return unknown("", "one scenario or one number of nodes needed only")
    ratio = large["backtracking / dynamic"]
    ours = f"{ratio.min():.2g}× to {_sign(large)}{ratio.max():,.0f}×"
    why = (
        f"in {int((ratio <= 1).sum())} of {len(ratio)} cases backtracking soon meets a plan "
        "without loss, after which little is left to search"
    )
    return verdict(ours, (ratio > 1).all(), why)


def five_orders_of_magnitude(evidence: Evidence) -> Verdict:
    """Claim 4: dynamic programming is faster than backtracking by up to 100,000 times."""
    large = _large(evidence)
    if large.empty:
        return unknown("", "one scenario or one number of nodes needed only")
    orders = float(np.log10(large["backtracking / dynamic"].max()))
    ours = f"{_sign(large)}{orders:.1f} orders"
    stopped = (
        f"backtracking was stopped after {evidence.time_limit:g} s a deadline; scale=paper gives "
        "it 60 s"
    )
    if orders < LEAST_ORDERS and _sign(large):
        return unknown(ours, stopped)
    slowest = response_times(evidence.comparison)["backtracking"].max()
    why = stopped if _sign(large) else f"the slowest search takes {slowest:.2g} s"
    return verdict(ours, orders >= LEAST_ORDERS, why)


def _sign(large: pd.DataFrame) -> str:
    """What stands before a ratio: ``≥`` where a search was stopped."""
    return "≥ " if large["bound"].any() else ""


def same_optimum(evidence: Evidence) -> Verdict:
    """Claim 5: dynamic programming and backtracking lose the same where the search ended."""
    by_solver = evidence.comparison.set_index([*CASE, "deadline"])
    searched = by_solver[by_solver["solver"] == "backtracking"]
    exact = searched[searched["optimal"]]
    dynamic = by_solver[by_solver["solver"] == "dynamic"]["loss"].reindex(exact.index)
    equal = np.isclose(exact["loss"], dynamic, atol=1e-6)
    ours = f"equal in {equal.sum()} of {len(exact)} proven plans, of {len(searched)} in all"
    if not len(exact):
        return unknown(ours, "no search came to its end")
    return verdict(ours, equal.all(), "see figure 8")


def greedy_excess_not_negative(evidence: Evidence) -> Verdict:
    """Claim 6: greedy never loses less than the optimum."""
    excess = relative_loss(evidence.comparison)["excess"]
    ours = f"{excess.min():.0f} to {excess.max():.0f} node-hours"
    return verdict(ours, excess.min() >= 0, "greedy beats the optimum")


def greedy_excess_grows(evidence: Evidence) -> Verdict:
    """Claim 6: greedy's loss above the optimum grows with the deadline."""
    cases = relative_loss(evidence.comparison).groupby(CASE, sort=False)["excess"]
    up = cases.agg(lambda loss: (loss.diff().round(6) > 0).sum())
    down = cases.agg(lambda loss: (loss.diff().round(6) < 0).sum())
    grows, changing = int((up > down).sum()), int((up + down > 0).sum())
    ours = f"in {grows} of {changing} cases"
    if not changing:
        return unknown(ours, "greedy's excess is the same at every deadline")
    why = f"{up.sum()} steps up, {down.sum()} down, where one more of the dearest jobs fits"
    return Verdict(ours, grows > changing / 2, why)


def optimum_falls(evidence: Evidence) -> Verdict:
    """Claim 7: the optimal loss falls as the deadline grows."""
    cases = relative_loss(evidence.comparison).groupby(CASE, sort=False)["optimum"]
    rises = cases.agg(lambda loss: loss.diff().max()) > 1e-9
    begins, ends = cases.first(), cases.min()
    falls = (ends < begins) | (begins == 0)
    ours = f"comes down in {(ends < begins).sum()} of {len(ends)} cases, "
    ours += f"rises in {rises.sum()}" if rises.any() else "never rises"
    return verdict(ours, (falls & ~rises).all(), "it stays as it is in some case")


def optimum_reaches_zero(evidence: Evidence) -> Verdict:
    """Claim 7: the optimal loss is often 0."""
    ends = relative_loss(evidence.comparison).groupby(CASE, sort=False)["optimum"].min()
    minutes = evidence.comparison["deadline"].max() / MINUTE
    zero = int((ends == 0).sum())
    ours = f"0 within {minutes:g} min in {zero} of {len(ends)} cases"
    return verdict(
        ours, zero >= len(ends) / 2, f"the hardest case still loses {ends.max():.0f} node-hours"
    )


def dynamic_in_milliseconds(evidence: Evidence) -> Verdict:
    """Claim 8: dynamic programming answers in the order of milliseconds."""
    slowest = response_times(evidence.comparison)["dynamic"].max() * 1e3
    return verdict(f"≤ {slowest:.2g} ms", slowest <= MILLISECONDS, "over ten milliseconds")


def most_frequent_occupancy(evidence: Evidence) -> Verdict:
    """Claim 9: 4352 is the most frequent number of occupied nodes."""
    ours = f"{evidence.most_frequent} of {evidence.total_nodes}, {evidence.days:.1f} days"
    return _of_theta(evidence, ours, evidence.most_frequent == PRINTED_OCCUPANCY)


def jobs_near_full(evidence: Evidence) -> Verdict:
    """Claim 9: about 25 jobs at most run while the machine is near full."""
    near = abs(evidence.jobs_near_full - PRINTED_JOBS) <= JOBS_WITHIN
    return _of_theta(evidence, str(evidence.jobs_near_full), near)


def share_under_30_minutes(evidence: Evidence) -> Verdict:
    """Claim 9: 61 % of the batch jobs run for less than 30 minutes."""
    near = abs(evidence.share_short - PRINTED_SHORT) <= SHARE_WITHIN
    return _of_theta(evidence, f"{evidence.share_short:.0%}", near)


def _of_theta(evidence: Evidence, ours: str, holds: bool) -> Verdict:
    """A fact of Theta in 2019, which only a log of Theta can confirm or not."""
    if not evidence.theta:
        return unknown(ours, "not a log of Theta")
    return Verdict(ours, bool(holds), "Theta in another year than 2019")
