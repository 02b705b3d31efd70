"""Measures of the claims of Maurya et al. (DS-RT 2020): from tables of runs to samples.

Response times are those of Algorithm 1 *as printed*, compiled; ours, which fills the same table in
place and only as far as is needed, stands beside it. One run of either answers every deadline,
which makes the curves of figures 5 to 7 flat by construction. *Small* K is the smallest with the
fewest jobs, *larger* are the others with more jobs; ratios are of response times at the last
deadline, and a ratio behind ``≥`` is a lower bound, because a search was stopped.

Greedy's excess *grows* at a full moment if it is larger at the last deadline than at the first. The
optimum *falls* in a case if it never rises and comes down, or begins at 0; greedy's loss *falls* if
it ends below where it began, or begins at 0.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib.display import percent
from cosimlib.eviction import (
    EvictionProblem,
    scaled_problem,
    solve_dynamic,
    solve_greedy,
    solve_spectrum,
)
from cosimlib.units import DAY, HOUR, MINUTE
from papers.claims import Samples, measure
from papers.maurya2020.experiment import (
    CASE,
    EXCEPTION,
    Case,
    Log,
    Occupancy,
    Setting,
    median_plan,
    pose,
)
from papers.maurya2020.printed import solve_as_printed

SOLVERS = ["dynamic", "as printed", "greedy", "backtracking"]
STATED_YEAR = 91_217
"""Jobs of the paper's log of 2019."""
NO_CASE = "the log has no scenario like the paper's: no case was solved"
ANOTHER_YEAR = "Theta in another year than 2019, in which its users and its queues were others"
YEAR = 2019
"""Of the paper's log of Theta: a fact of it is decided by a log of that year alone."""
SOON_LOSSLESS = "soon meets a plan without loss"


class Measurements(NamedTuple):
    """What the claims are judged by.

    Parameters
    ----------
    log : Log
    occupancy : Occupancy
    comparison : pd.DataFrame
        Of `compare_solvers`, scenarios with fewer jobs first.
    survey, one_pass, horizons
        Of `survey_moments`, `equal_to_separate_runs` and `seconds_by_horizon`.
    time_limit : float
        Backtracking's in `comparison`, seconds per deadline.
    draws : sequence of pd.DataFrame
        Of `compare_solvers` on draws of the jobs' memory; empty: `comparison` is the only one.
    """

    log: Log
    occupancy: Occupancy
    comparison: pd.DataFrame
    survey: pd.DataFrame
    one_pass: tuple[int, int]
    horizons: pd.DataFrame
    time_limit: float
    draws: Sequence[pd.DataFrame] = ()


def measure_claims(found: Measurements) -> dict[str, Samples]:
    """The samples of every claim, by its name in `data/claims.csv`."""
    unsolved = {claim: Samples(missing=NO_CASE) for claim in OF_CASES}
    of_cases = unsolved if found.comparison.empty else measure(OF_CASES, found)
    return of_cases | measure(OF_LOG, found)


def by_solver(comparison: pd.DataFrame, column: str = "loss") -> pd.DataFrame:
    """A column of `compare_solvers`: a row per case and deadline, a column per solver."""
    rows = comparison.set_index([*CASE, "deadline", "solver"])[column]
    return rows.unstack(sort=False).reindex(columns=SOLVERS)  # noqa: PD010


def relative_loss(comparison: pd.DataFrame) -> pd.DataFrame:
    """The `optimum` and greedy's `excess` over it (node-hours), by case and deadline."""
    loss = by_solver(comparison)
    excess = (loss["greedy"] - loss["dynamic"]).round(6)
    return pd.DataFrame({"optimum": loss["dynamic"], "excess": excess}).reset_index()


def response_times(comparison: pd.DataFrame) -> pd.DataFrame:
    """Seconds until the plans of all deadlines are known: a row per case, a column per solver."""
    last = comparison[comparison["deadline"] == comparison["deadline"].max()]
    return by_solver(last, "response_time").droplevel("deadline")


def speedups(comparison: pd.DataFrame) -> pd.DataFrame:
    """Backtracking's time ÷ that of each form of dynamic programming, one row per case.

    Returns
    -------
    pd.DataFrame
        `backtracking / printed` (Algorithm 1 as printed), `backtracking / ours`, and `bound`:
        whether both are lower bounds.
    """
    times = response_times(comparison)
    table = pd.DataFrame(
        {
            "backtracking / printed": times["backtracking"] / times["as printed"],
            "backtracking / ours": times["backtracking"] / times["dynamic"],
        }
    )
    return table.assign(bound=comparison.groupby(CASE, sort=False)["bound"].any())


def variants(cases: Iterable[Case], setting: Setting) -> pd.DataFrame:
    """The optimum at the last deadline for the largest K, and what three choices are worth.

    Steps of a twelfth, and application checkpoints every hour or at Daly's interval; node-hours.
    """
    fine = max(setting.step / 12, setting.horizon / 10_000)
    settings = {
        "as above": setting,
        "steps of a twelfth": setting._replace(step=fine),
        "every hour": setting._replace(interval=HOUR),
        "Daly's interval": setting._replace(interval=0.0),
    }
    most = setting.nodes_needed[-1]
    loss = {
        name: {
            scenario: solve_dynamic(problem.asking(min(most, problem.total_nodes))).loss[-1]
            for scenario, problem in pose(cases, each).items()
        }
        for name, each in settings.items()
    }
    return pd.DataFrame(loss).rename_axis("scenario").round(1)


def seconds_by_horizon(
    problem: EvictionProblem, horizons: Iterable[float], *, repeat: int = 9
) -> pd.DataFrame:
    """Median seconds of both forms of dynamic programming per horizon (s), of `repeat` runs."""
    cases = [replace(problem, horizon=horizon) for horizon in horizons]
    seconds = {
        name: [median_plan(solve, case, repeat).response_time[-1] for case in cases]
        for name, solve in (("ours", solve_dynamic), ("as printed", solve_as_printed))
    }
    return pd.DataFrame(seconds, index=pd.Index([case.horizon for case in cases], name="horizon"))


def equal_to_separate_runs(problem: EvictionProblem) -> tuple[int, int]:
    """Deadlines at which one pass finds what a run for that one alone does, and all of them."""
    together = solve_dynamic(problem)
    alone = [solve_dynamic(replace(problem, horizon=each)) for each in problem.deadlines.tolist()]
    equal = [
        plan.loss[-1] == loss and plan.checkpoint_time[-1] == spent
        for plan, loss, spent in zip(alone, together.loss, together.checkpoint_time, strict=True)
    ]
    return sum(equal), len(equal)


def scale_solvers(
    sizes: Iterable[tuple[int, int]], *, repeat: int = 3, seed: int = 0
) -> pd.DataFrame:
    """Median response time of the polynomial solvers, of `repeat` runs, by jobs and nodes.

    Returns
    -------
    pd.DataFrame
        `jobs`, `nodes`, `solver` (`dynamic`, `greedy`, `spectrum`), `response_time` (s).
    """
    solve_spectrum(scaled_problem(2, 4))
    rows = []
    for jobs, nodes in sizes:
        problem = scaled_problem(jobs, nodes, seed=seed)
        dynamic = median_plan(solve_dynamic, problem, repeat).response_time[-1]
        greedy = median_plan(solve_greedy, problem, repeat).response_time[-1]
        spectrum = np.median([solve_spectrum(problem).response_time for _ in range(repeat)])
        times = {"dynamic": dynamic, "greedy": greedy, "spectrum": float(spectrum)}
        rows += [(jobs, nodes, solver, seconds) for solver, seconds in times.items()]
    return pd.DataFrame(rows, columns=["jobs", "nodes", "solver", "response_time"])


def constant_in_deadline(found: Measurements) -> Samples:
    """Claim 1: one run of dynamic programming answers every deadline."""
    equal, deadlines = found.one_pass
    ours = f"one run; equal to runs for one deadline alone at {equal} of {deadlines}"
    why = "the table of the latest deadline holds those of all earlier ones"
    return Samples([equal / deadlines], ours=ours, why=why)


def linear_in_deadline(found: Measurements) -> Samples:
    """Claim 1: the growth of that run's time ÷ that of the number of deadlines, up to T.

    Beyond T it may grow less: the listing looks for each plan among all cells.
    """
    latest = found.comparison["deadline"].max()
    step = np.diff(np.unique(found.comparison["deadline"])).min(initial=latest)
    horizons = found.horizons.index.to_numpy()
    first, last, beyond = horizons[0], horizons[horizons <= latest][-1], horizons[-1]
    grown = found.horizons.loc[last] / found.horizons.loc[first]
    on = found.horizons.loc[beyond] / found.horizons.loc[last]
    rows = [horizon // step + 1 for horizon in (first, last, beyond)]
    times = [
        f"{grown[name]:.1f}×, on {on[name]:.1f}× ({said})"
        for name, said in (("as printed", "printed"), ("ours", "ours"))
    ]
    ours = (
        f"{'; '.join(times)}; deadlines {rows[1] / rows[0]:.1f}× from {first / MINUTE:g} to "
        f"{last / MINUTE:g} min, on {rows[2] / rows[1]:.1f}× to {beyond / MINUTE:g}"
    )
    growth = grown["as printed"] / (rows[1] / rows[0])
    return Samples([growth], ours=ours, why="it grows faster than T")


def greedy_fastest(found: Measurements) -> Samples:
    """Claim 2: greedy against Algorithm 1 and against backtracking, in every case."""
    times = response_times(found.comparison)
    gain = times.drop(columns="greedy").div(times["greedy"], axis=0)
    names = {
        "as printed": "printed",
        "backtracking": "backtracking",
        "dynamic": "our dynamic programming",
    }
    ours = [f"{gain[n].min():.0f}–{gain[n].max():,.0f}× ({said})" for n, said in names.items()]
    gain = gain[["as printed", "backtracking"]]
    slow = gain.min().idxmin()
    why = f"only {gain[slow].min():.0f}× against {slow} in a case"
    if slow == "as printed":
        return Samples(gain.to_dict("list"), ours=", ".join(ours), why=why)
    doubt = (
        f"{why}, which {SOON_LOSSLESS} there; how soon depends on the order in which it tries jobs "
        "and actions, which is not printed"
    )
    return Samples(gain.to_dict("list"), ours=", ".join(ours), why=why, doubt=doubt)


def backtracking_wins_small(found: Measurements) -> Samples:
    """Claim 3: Algorithm 1's time ÷ backtracking's, with few jobs and small K."""
    times = response_times(found.comparison).iloc[0]
    _, needed = times.name
    gain = times["as printed"] / times["backtracking"]
    own = times["dynamic"] / times["backtracking"]
    ours = f"{_two(gain)}× as fast (as printed), {_two(own)}× (ours)"
    why = (
        f"at K = {needed} backtracking takes {_two(times['backtracking'] * 1e3)} ms, Algorithm 1 "
        f"{_two(times['as printed'] * 1e3)} ms"
    )
    return Samples([gain], ours=ours, why=why)


def dynamic_wins_large(found: Measurements) -> Samples:
    """Claim 4: share of the cases of more jobs and larger K in which Algorithm 1 is faster.

    One number per draw of the jobs' memory.
    """
    large = _large(found.comparison)
    if large.empty:
        return Samples(missing="one scenario or one number of nodes needed only")
    ranges = [
        f"{_two(ratio.min())}× to {_sign(large)}{ratio.max():,.0f}× ({name})"
        for name in ("printed", "ours")
        for ratio in [large[f"backtracking / {name}"]]
    ]
    draws = found.draws or [found.comparison]
    faster = [_large(each)["backtracking / printed"] > 1 for each in draws]
    why = (
        f"in {sum(int((~each).sum()) for each in faster)} of {sum(map(len, faster))} cases "
        f"backtracking {SOON_LOSSLESS}, after which little is left to search"
    )
    shares, details = [each.mean() for each in faster], f"first draw {', '.join(ranges)}"
    return Samples(shares, "faster in {:.0f} % of the cases", details=details, why=why)


def five_orders_of_magnitude(found: Measurements) -> Samples:
    """Claim 4: the orders of magnitude by which dynamic programming is faster, at most."""
    large = _large(found.comparison)
    if large.empty:
        return Samples(missing="one scenario or one number of nodes needed only")
    most = large[["backtracking / printed", "backtracking / ours"]].max()
    orders, better = np.log10(most).tolist()
    ours = f"{_sign(large)}{orders:.1f} orders (printed), {_sign(large)}{better:.1f} (ours)"
    stopped = (
        f"backtracking was stopped after {found.time_limit:g} s a deadline; scale=paper gives it "
        "60 s"
    )
    slowest = response_times(found.comparison)["backtracking"].max()
    why = f"the slowest search takes {_two(slowest)} s"
    return Samples([orders], ours=ours, why=why, doubt=stopped if large["bound"].any() else "")


def _large(comparison: pd.DataFrame) -> pd.DataFrame:
    """Speedups of the cases with more jobs than the first scenario and more than the least K."""
    table = speedups(comparison)
    scenario, needed = table.index[0]
    names = table.index.get_level_values("scenario"), table.index.get_level_values("nodes_needed")
    return table[(names[0] != scenario) & (names[1] != needed)]


def _sign(large: pd.DataFrame) -> str:
    """A sign before a ratio: ``≥`` where a search was stopped."""
    return "≥ " if large["bound"].any() else ""


def same_optimum(found: Measurements) -> Samples:
    """Claim 5: share of completed searches that lose what dynamic programming does."""
    loss = by_solver(found.comparison)
    exact = loss[by_solver(found.comparison, "optimal")["backtracking"].astype(bool)]
    equal = np.ones(len(exact), dtype=bool)
    for solver in ("dynamic", "as printed"):
        equal &= np.isclose(exact["backtracking"], exact[solver], atol=1e-6)
    ours = f"equal in {equal.sum()} of {len(exact)} proven plans, of {len(loss)} in all"
    if not len(exact):
        return Samples(ours=ours, missing="no search came to its end")
    return Samples([equal.mean()], ours=ours, why="see figure 8")


def greedy_excess_not_negative(found: Measurements) -> Samples:
    """Claim 6: greedy's loss above the optimum, least and most."""
    excess = relative_loss(found.comparison)["excess"]
    ours = f"{excess.min():.0f} to {excess.max():.0f} node-hours"
    return Samples([excess.min(), excess.max()], ours=ours, why="greedy beats the optimum")


def greedy_excess_grows(found: Measurements) -> Samples:
    """Claim 6: shares of full moments at which greedy's excess grows, less those at which it falls.

    One number for each K, from the first deadline to the last.
    """
    if found.survey.empty:
        return Samples(missing="at no hour is the machine nearly full")
    ends = excess_at_ends(found.survey)
    shares = (
        pd.DataFrame(
            {
                "larger": ends["last"] > ends["first"],
                "smaller": ends["last"] < ends["first"],
                "zero": ends["last"] == 0,
            }
        )
        .groupby(level="nodes_needed")
        .mean()
    )
    ranges = [
        f"larger at {percent(row.larger, 0)}, smaller at {percent(row.smaller, 0)} (K = {k:,})"
        for k, row in shares.iterrows()
    ]
    moments = found.survey["moment"].nunique()
    ours = f"at the last deadline {', '.join(ranges)} of {moments:,} full moments"
    if not shares[["larger", "smaller"]].to_numpy().any():
        why = "greedy's excess is the same at the first and the last deadline"
        return Samples(ours=ours, missing=why)
    zero = shares["zero"]
    why = (
        "it grows for some minutes and falls once the dearest job's checkpoint fits: at the last "
        f"deadline it is 0 at {percent(zero.min(), 0)} to {percent(zero.max(), 0)} of the moments"
    )
    more = shares["larger"] - shares["smaller"]
    return Samples({f"K = {k:,}": [each] for k, each in more.items()}, ours=ours, why=why)


def excess_at_ends(survey: pd.DataFrame) -> pd.DataFrame:
    """Greedy's excess (node-hours) at the `first` and the `last` deadline per moment and K."""
    excess = (survey["greedy"] - survey["optimum"]).round(6)
    cases = excess.groupby([survey["nodes_needed"], survey["moment"]])
    return pd.DataFrame({"first": cases.first(), "last": cases.last()})


def excess_falls_late(found: Measurements) -> Samples:
    """Claim 6: greedy's excess at the last deadline less that at 13 minutes, with most jobs.

    The mean over the numbers of nodes needed (node-hours); one number per draw of jobs' memory.
    """
    last = found.comparison["deadline"].max()
    if last <= EXCEPTION:
        return Samples(missing=f"no deadline is later than {EXCEPTION / MINUTE:g} min")
    changes = []
    for draw in found.draws or [found.comparison]:
        excess = relative_loss(draw[draw["scenario"] == draw["scenario"].iloc[-1]])
        late, upto = excess["deadline"] == last, excess["deadline"] <= EXCEPTION
        ends = [excess[rows].groupby("nodes_needed")["excess"].last() for rows in (late, upto)]
        changes.append(float((ends[0] - ends[1]).mean()))
    why = f"greedy's excess does not come down from {EXCEPTION / MINUTE:g} to {last / MINUTE:g} min"
    return Samples(changes, "{:+.0f} node-hours", why=why)


def optimum_falls(found: Measurements) -> Samples:
    """Claim 7: share of cases in which the optimum falls as the deadline grows."""
    ends = _optimum_ends(found)
    down, rises = (ends["least"] < ends["first"]).sum(), ends["rises"].sum()
    ours = f"comes down in {down} of {len(ends)} cases, "
    ours += f"rises in {rises}" if rises else "never rises"
    return Samples([ends["falls"].mean()], ours=ours, why="it stays as it is in some case")


def _optimum_ends(found: Measurements) -> pd.DataFrame:
    """The `first` and the `least` optimum of each case, and whether it `rises` or `falls`."""
    cases = relative_loss(found.comparison).groupby(CASE, sort=False)["optimum"]
    ends = cases.agg(first="first", least="min", rises=lambda loss: loss.diff().max() > 1e-9)
    lower = (ends["least"] < ends["first"]) | (ends["first"] == 0)
    return ends.assign(falls=lower & ~ends["rises"])


def all_losses_fall(found: Measurements) -> Samples:
    """Claim 7: shares of cases in which greedy's loss, and the optimum, fall with the deadline."""
    table = relative_loss(found.comparison)
    loss = (table["optimum"] + table["excess"]).groupby([table[name] for name in CASE], sort=False)
    begins, ends = loss.first(), loss.last()
    falls = (ends < begins) | (begins == 0)
    rises = int(loss.agg(lambda each: (each.diff() > 1e-6).sum()).sum())
    ours = f"greedy's comes down in {(ends < begins).sum()} of {len(ends)} cases"
    ours += f", with {rises} steps up" if rises else ", with no step up"
    why = f"greedy's ends where it began or above it in {(~falls).sum()} cases"
    shares = {"greedy": [falls.mean()], "optimum": [_optimum_ends(found)["falls"].mean()]}
    return Samples(shares, ours=ours, why=why)


def optimum_reaches_zero(found: Measurements) -> Samples:
    """Claim 7: share of cases in which the optimum is 0 at some deadline."""
    least = _optimum_ends(found)["least"]
    minutes = found.comparison["deadline"].max() / MINUTE
    zero = least == 0
    ours = f"0 within {minutes:g} min in {zero.sum()} of {len(least)} cases"
    why = f"the hardest case still loses {least.max():.0f} node-hours"
    return Samples([zero.mean()], ours=ours, why=why)


def dynamic_in_milliseconds(found: Measurements) -> Samples:
    """Claim 8: milliseconds of Algorithm 1 in the slowest case."""
    slowest = response_times(found.comparison)[["as printed", "dynamic"]].max() * 1e3
    ours = f"≤ {_two(slowest['as printed'])} ms (printed), ≤ {_two(slowest['dynamic'])} ms (ours)"
    return Samples([slowest["as printed"]], ours=ours, why="over ten milliseconds")


def most_frequent_occupancy(found: Measurements) -> Samples:
    """Claim 9: the most frequent number of occupied nodes."""
    durations, number, total, *_ = found.occupancy
    days, full = (durations.get(nodes, 0.0) / DAY for nodes in (number, total))
    ours = f"{number} of {total}, {days:.1f} days; all nodes for {full:.1f}"
    return _of_theta(found, Samples([number], ours=ours, why=ANOTHER_YEAR))


def days_most_frequent(found: Measurements) -> Samples:
    """Claim 9: days for which the most frequent number of nodes is occupied."""
    return _days(found, found.occupancy.most_frequent)


def days_all_occupied(found: Measurements) -> Samples:
    """Claim 9: days for which all nodes are occupied."""
    return _days(found, found.occupancy.total_nodes)


def jobs_near_full(found: Measurements) -> Samples:
    """Claim 9: the most jobs at once while the machine is near full."""
    return _of_theta(found, Samples([found.occupancy.jobs_near_full], "{:.0f}", why=ANOTHER_YEAR))


def share_under_30_minutes(found: Measurements) -> Samples:
    """Claim 9: the share of jobs that run for less than 30 minutes."""
    jobs, (share, *_) = found.occupancy.jobs, found.occupancy.short
    parts = [
        f"{percent(part, 0)} ({name})" for name, part in found.occupancy.short[1:].dropna().items()
    ]
    lacking = (
        f"the log has {jobs:,} jobs, the paper's year {STATED_YEAR:,}: logs that leave out debug "
        f"queues, as Theta's of 2023, lack short jobs; {', '.join(parts)}"
    )
    doubt = lacking if jobs < STATED_YEAR / 2 else ""
    return _of_theta(found, Samples([share], "{:.0f} %", why=ANOTHER_YEAR, doubt=doubt))


def _days(found: Measurements, nodes: int) -> Samples:
    """Days for which so many nodes are occupied."""
    days = found.occupancy.durations.get(nodes, 0.0) / DAY
    return _of_theta(found, Samples([days], "{:.1f}", why=ANOTHER_YEAR))


def _of_theta(found: Measurements, samples: Samples) -> Samples:
    """Samples of a fact of Theta in 2019, which only a log of Theta of that year decides."""
    if not found.log.theta:
        return samples._replace(missing="not a log of Theta")
    began = found.log.schedule.workload.began
    if began is None or began.year != YEAR:
        return samples._replace(missing=samples.doubt or ANOTHER_YEAR)
    return samples


def _two(number: float) -> str:
    """A number in words, to two digits or to a whole one."""
    return f"{number:.2g}" if number < 10 else f"{number:,.0f}"


def _by_claim(*finds: Callable[[Measurements], Samples]) -> dict[str, Callable]:
    """Functions by the claims that they measure, which have their names."""
    return {find.__name__.replace("_", "-"): find for find in finds}


OF_CASES = _by_claim(
    constant_in_deadline,
    linear_in_deadline,
    greedy_fastest,
    backtracking_wins_small,
    dynamic_wins_large,
    five_orders_of_magnitude,
    same_optimum,
    greedy_excess_not_negative,
    excess_falls_late,
    optimum_falls,
    all_losses_fall,
    optimum_reaches_zero,
    dynamic_in_milliseconds,
)
"""Measures of the claims about the three scenarios, by the claim's name."""
OF_LOG = _by_claim(
    greedy_excess_grows,
    most_frequent_occupancy,
    days_most_frequent,
    days_all_occupied,
    jobs_near_full,
    share_under_30_minutes,
)
"""Measures of those about the machine and its full moments."""
