"""Claims of Maurya et al. (DS-RT 2020) about how long solvers take: 1 to 4, and 8.

The words of a statement here. Response times are those of Algorithm 1 *as printed*, compiled
(`solve_as_printed`); ours, which fills the same table in place and only as far as is needed, stands
beside it. One run of either *answers every deadline* if it loses what runs for each deadline alone
do, which makes the curves of figures 5 to 7 flat by construction. The time of that run *grows in
proportion* to T if, from the shortest horizon to T, it grows at most 1.5 times as much as the
number of deadlines; beyond T it may not, since the listing looks for each plan among all cells.
*Small* K is the smallest with the fewest jobs, *larger* are the others with more jobs; ratios are
of response times at the last deadline, and a ratio behind ``≥`` is a lower bound, because a search
was stopped. *Five orders of magnitude* are met from 4.5. *In the order of milliseconds* is at most
ten, in the slowest case.
"""

import numpy as np
import pandas as pd

from cosimlib.claims import Verdict, by_construction, unknown, verdict
from cosimlib.eviction.evidence import Evidence, response_times, speedups
from cosimlib.units import MINUTE

FASTER = 30.0
LEAST_ORDERS = 4.5
MILLISECONDS = 10.0
IN_PROPORTION = 1.5


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
    gain = times[["as printed", "backtracking", "dynamic"]].div(times["greedy"], axis=0)
    gain = gain.rename(columns={"as printed": "printed", "dynamic": "our dynamic programming"})
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
        f"{_two(times['as printed'] / times['backtracking'])}× as fast (as printed), "
        f"{_two(times['dynamic'] / times['backtracking'])}× (ours)"
    )
    why = (
        f"at K = {needed} backtracking takes {_two(times['backtracking'] * 1e3)} ms, Algorithm 1 "
        f"{_two(times['as printed'] * 1e3)} ms"
    )
    return verdict(ours, times["backtracking"] < times["as printed"], why)


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
        told.append(f"{_two(ratio.min())}× to {_sign(large)}{ratio.max():,.0f}× ({name})")
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
    return verdict(ours, orders >= LEAST_ORDERS, f"the slowest search takes {_two(slowest)} s")


def _sign(large: pd.DataFrame) -> str:
    """A sign before a ratio: ``≥`` where a search was stopped."""
    return "≥ " if large["bound"].any() else ""


def dynamic_in_milliseconds(evidence: Evidence) -> Verdict:
    """Claim 8: dynamic programming answers in the order of milliseconds."""
    slowest = response_times(evidence.comparison)[["as printed", "dynamic"]].max() * 1e3
    ours = f"≤ {_two(slowest['as printed'])} ms (printed), ≤ {_two(slowest['dynamic'])} ms (ours)"
    return verdict(ours, slowest["as printed"] <= MILLISECONDS, "over ten milliseconds")


def _two(number: float) -> str:
    """A number in words, to two digits or to a whole one."""
    return f"{number:.2g}" if number < 10 else f"{number:,.0f}"
