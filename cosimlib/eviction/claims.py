"""Claims of Maurya et al. (DS-RT 2020) about eviction solvers, judged by our runs.

The words of a statement here. Response times are those of Algorithm 1 *as printed*, compiled
(`solve_literal`); ours, which fills the same table in place and only as far as is needed, stands
beside it. One run of either *answers every deadline* if it loses what runs for each deadline alone
do, which makes the curves of figures 5 to 7 flat by construction. The time of that run *grows in
proportion* to T if, from the shortest horizon to T, it grows at most 1.5 times as much as the
number of deadlines; beyond T it may not, since the listing looks for each plan among all cells.
*Small* K is the smallest with the fewest jobs, *larger* are the others with more jobs; ratios are
of response times at the last deadline, and a ratio behind ``≥`` is a lower bound, because a search
was stopped. *Five orders of magnitude* are met from 4.5. Greedy's excess *grows* if for each number
of nodes needed there are more full moments at which it is larger at the last deadline than at the
first than moments at which it is smaller. The optimum *falls* if it never rises and comes down in
each case that does not begin at 0; the loss of *all* falls if that of greedy, too, ends below where
it began in each such case. The optimum *often* reaches 0 if it does so in half of the cases. *In
the order of milliseconds* is at most ten, in the slowest case. Facts of Theta are for a log of
Theta to confirm: jobs near full are met within 5 of the printed number, the share of short jobs
within 5 points.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib.claims import Verdict, by_construction, unknown, verdict
from cosimlib.eviction.comparison import relative_loss
from cosimlib.units import MINUTE

CASE = ["scenario", "nodes_needed"]
FASTER = 30.0
LEAST_ORDERS = 4.5
MILLISECONDS = 10.0
PRINTED_OCCUPANCY, PRINTED_JOBS, PRINTED_SHORT, PRINTED_YEAR = 4352, 25, 0.61, 91_217
IN_PROPORTION = 1.5
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


class Evidence(NamedTuple):
    """Measurements by which the claims are judged.

    Parameters
    ----------
    comparison : pd.DataFrame
        Of `compare_solvers`, scenarios with fewer jobs first.
    moments : pd.DataFrame
        Of `survey_moments`.
    one_pass : tuple of int
        Of `equal_to_separate_runs`.
    horizons, printed_horizons : mapping of float to float
        Seconds of our dynamic programming and of Algorithm 1 as printed per horizon (s).
    time_limit : float
        Backtracking's in `comparison`, seconds per deadline.
    most_frequent, total_nodes : int
        The commonest number of occupied nodes above 0, of how many.
    days, days_full : float
        How long so many, and how long all nodes, were occupied.
    jobs_near_full : int
        Most jobs at once while the machine was nearly full.
    jobs : int
        All jobs of the data.
    short : pd.Series
        Of `short_shares`.
    theta : bool
        Whether the data are a log of Theta.
    """

    comparison: pd.DataFrame
    moments: pd.DataFrame
    one_pass: tuple[int, int]
    horizons: Mapping[float, float]
    printed_horizons: Mapping[float, float]
    time_limit: float
    most_frequent: int
    total_nodes: int
    days: float
    days_full: float
    jobs_near_full: int
    jobs: int
    short: pd.Series
    theta: bool


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


def response_times(comparison: pd.DataFrame) -> pd.DataFrame:
    """Seconds until the plans of all deadlines are known: a row per case, a column per solver."""
    last = comparison[comparison["deadline"] == comparison["deadline"].max()]
    times = last.set_index([*CASE, "solver"])["response_time"].unstack(sort=False)  # noqa: PD010
    return times.reindex(columns=["dynamic", "literal", "greedy", "backtracking"])


def speedups(comparison: pd.DataFrame) -> pd.DataFrame:
    """Backtracking's time ÷ that of each form of dynamic programming, one row per case.

    Returns
    -------
    pd.DataFrame
        `backtracking / printed` (Algorithm 1 as printed), `backtracking / ours`, and `bound`:
        whether both are lower bounds.
    """
    times = response_times(comparison)
    printed = (times["backtracking"] / times["literal"]).rename("backtracking / printed")
    ours = (times["backtracking"] / times["dynamic"]).rename("backtracking / ours")
    bound = comparison.groupby(CASE, sort=False)["bound"].any()
    return pd.concat([printed, ours, bound], axis=1)


def constant_in_deadline(evidence: Evidence) -> Verdict:
    """Claim 1: one run of dynamic programming answers every deadline."""
    equal, deadlines = evidence.one_pass
    ours = f"one run; equal to runs for one deadline alone at {equal} of {deadlines}"
    why = "the table of the latest deadline holds those of all earlier ones"
    return by_construction(ours, equal == deadlines, why)


def linear_in_deadline(evidence: Evidence) -> Verdict:
    """Claim 1: the time of that run grows in proportion to the number of deadlines."""
    steps = np.diff(np.unique(evidence.comparison["deadline"]))
    latest = evidence.comparison["deadline"].max()
    told, grown = [], {}
    for name, seconds in (("printed", evidence.printed_horizons), ("ours", evidence.horizons)):
        within = {horizon: spent for horizon, spent in seconds.items() if horizon <= latest}
        first, last, beyond = min(within), max(within), max(seconds)
        grown[name] = within[last] / within[first]
        told.append(f"{grown[name]:.1f}×, on {seconds[beyond] / within[last]:.1f}× ({name})")
    step = steps.min(initial=last)
    rows = [horizon // step + 1 for horizon in (first, last, beyond)]
    deadlines, longer = rows[1] / rows[0], rows[2] / rows[1]
    ours = (
        f"{'; '.join(told)}; deadlines {deadlines:.1f}× from {first / MINUTE:g} to "
        f"{last / MINUTE:g} min, on {longer:.1f}× to {beyond / MINUTE:g}"
    )
    return verdict(ours, grown["printed"] <= IN_PROPORTION * deadlines, "it grows faster than T")


def greedy_fastest(evidence: Evidence) -> Verdict:
    """Claim 2: greedy is at least 30 times faster than either other solver, in every case."""
    times = response_times(evidence.comparison)
    gain = times[["literal", "backtracking", "dynamic"]].div(times["greedy"], axis=0)
    gain = gain.rename(columns={"literal": "printed", "dynamic": "our dynamic programming"})
    ours = ", ".join(f"{gain[name].min():.0f}–{gain[name].max():,.0f}× ({name})" for name in gain)
    gain = gain[["printed", "backtracking"]]
    slow = [
        f"{int((gain[name] < FASTER).sum())} of {len(gain)} cases against {name}"
        for name in gain
        if gain[name].min() < FASTER
    ]
    why = f"less than {FASTER:g}× in {', in '.join(slow)}"
    if gain["printed"].min() >= FASTER:
        why += ", which soon meets a plan without loss there"
    return verdict(ours, gain.min().min() >= FASTER, why)


def backtracking_wins_small(evidence: Evidence) -> Verdict:
    """Claim 3: backtracking is faster than dynamic programming with few jobs and small K."""
    times = response_times(evidence.comparison).iloc[0]
    _, needed = times.name
    ours = (
        f"{times['literal'] / times['backtracking']:.2g}× as fast (as printed), "
        f"{times['dynamic'] / times['backtracking']:.2g}× (ours)"
    )
    why = (
        f"at K = {needed} backtracking takes {times['backtracking'] * 1e3:.2g} ms, Algorithm 1 "
        f"{times['literal'] * 1e3:.2g} ms"
    )
    return verdict(ours, times["backtracking"] < times["literal"], why)


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
    told = []
    for name in ("printed", "ours"):
        ratio = large[f"backtracking / {name}"]
        told.append(f"{ratio.min():.2g}× to {_sign(large)}{ratio.max():,.0f}× ({name})")
    ratio = large["backtracking / printed"]
    why = (
        f"in {int((ratio <= 1).sum())} of {len(ratio)} cases backtracking soon meets a plan "
        "without loss, after which little is left to search"
    )
    return verdict(", ".join(told), (ratio > 1).all(), why)


def five_orders_of_magnitude(evidence: Evidence) -> Verdict:
    """Claim 4: dynamic programming is faster than backtracking by up to 100,000 times."""
    large = _large(evidence)
    if large.empty:
        return unknown("", "one scenario or one number of nodes needed only")
    most = large[["backtracking / printed", "backtracking / ours"]].max()
    orders, better = np.log10(most).tolist()
    ours = f"{_sign(large)}{orders:.1f} orders (printed), {_sign(large)}{better:.1f} (ours)"
    stopped = (
        f"backtracking was stopped after {evidence.time_limit:g} s a deadline; scale=paper gives "
        "it 60 s"
    )
    if orders < LEAST_ORDERS and _sign(large):
        return unknown(ours, stopped)
    slowest = response_times(evidence.comparison)["backtracking"].max()
    return verdict(ours, orders >= LEAST_ORDERS, f"the slowest search takes {slowest:.2g} s")


def _sign(large: pd.DataFrame) -> str:
    """A sign before a ratio: ``≥`` where a search was stopped."""
    return "≥ " if large["bound"].any() else ""


def same_optimum(evidence: Evidence) -> Verdict:
    """Claim 5: dynamic programming and backtracking lose the same where the search ended."""
    by_solver = evidence.comparison.set_index([*CASE, "deadline"])
    searched = by_solver[by_solver["solver"] == "backtracking"]
    exact = searched[searched["optimal"]]
    equal = np.ones(len(exact), dtype=bool)
    for solver in ("dynamic", "literal"):
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
    told = [f"larger at {up[k]:.0%}, smaller at {down[k]:.0%} (K = {k:,})" for k in up.index]
    moments = evidence.moments["moment"].nunique()
    ours = f"at the last deadline {', '.join(told)} of {moments:,} full moments"
    if not (up + down).any():
        return unknown(ours, "greedy's excess is the same at the first and the last deadline")
    why = (
        "it grows for some minutes and falls once the dearest job's checkpoint fits: at the last "
        f"deadline it is 0 at {zero.min():.0%} to {zero.max():.0%} of the moments"
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


def dynamic_in_milliseconds(evidence: Evidence) -> Verdict:
    """Claim 8: dynamic programming answers in the order of milliseconds."""
    slowest = response_times(evidence.comparison)[["literal", "dynamic"]].max() * 1e3
    ours = f"≤ {slowest['literal']:.2g} ms (printed), ≤ {slowest['dynamic']:.2g} ms (ours)"
    return verdict(ours, slowest["literal"] <= MILLISECONDS, "over ten milliseconds")


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
        by_size = [f"{part:.0%} ({name})" for name, part in evidence.short[1:].dropna().items()]
        return unknown(f"{share:.0%}", (
            f"the log has {evidence.jobs:,} jobs, the paper's year {PRINTED_YEAR:,}: logs that "
            f"leave out debug queues, as Theta's of 2023, lack short jobs; {', '.join(by_size)}"
        ))  # fmt: skip
    return _of_theta(evidence, f"{share:.0%}", near)


def _of_theta(evidence: Evidence, ours: str, holds: bool) -> Verdict:
    """A fact of Theta in 2019, which only a log of Theta can confirm or not."""
    if not evidence.theta:
        return unknown(ours, "not a log of Theta")
    return Verdict(ours, bool(holds), "Theta in another year than 2019")
