"""Measures: what preemptions waste, and the number that decides each claim, per seed.

*Relative to RANDOM* is a difference of node-hours over RANDOM's median at the same grace period:
RANDOM is the paper's baseline, and small medians would make much of little.

The paper says "FCFS with backfilling" and no more. Four readings are judged (`SCHEDULERS`,
`data/readings.csv`). Some claims leave something else open, too: such a `Measure` has `others`, and
each of them is judged under each scheduler. Which scheduler would explain the printed results is
asked by `measure_assumption`, an inverse analysis, which proves nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cosimlab.figures.elastic import period_name
from cosimlib.display import percent
from cosimlib.elastic import (
    GRACE_PERIODS,
    execution_states,
    occupants,
    preemption_values,
    taken_jobs,
    taken_nodes,
)
from cosimlib.schedule import Schedule
from cosimlib.units import DAY
from papers.claims import Samples
from papers.duplyakin2017.experiment import (
    CLASSES,
    FOUR,
    SCHEDULERS,
    Inputs,
    Schedules,
    Setting,
    Waste,
    assume,
    drained,
    draw_for,
    quantiles,
    simulate,
    summarize,
    waste,
    waste_by_priority,
)

SHORT, LONG = list(GRACE_PERIODS[:4]), list(GRACE_PERIODS[4:])
"""Grace periods (s) of figure 3 and of figure 4."""
EXTREME = 2 * LONG[-1]
"""A grace period (s) beyond most run times: the paper names none; twice the longest of figure 4."""
OTHERS, GOOD = ["RANDOM", "FIFO"], ["LIFO", "PAP"]
WHITE = 0.25
"""Values of a vector below this count as white."""
QUARTILES = ["25%", "75%"]
OF_PRIORITIES = {"120 s": SHORT[1], "30 min": SHORT[-1], "6 h": LONG[-1]}
"""Grace periods (s) of the waste by priority, which the paper does not print, by their names.

Figure 6's is not printed. The first is that with which section 4.2 begins, the second the longest
of figure 3, the third the longest of all.
"""
OUTLASTING = {
    "PEREGRINE, 30 min": ("peregrine", SHORT[-1]),
    "PEREGRINE, 6 h": ("peregrine", LONG[-1]),
    "HTC, 30 min": ("htc", SHORT[-1]),
}
"""Workloads and grace periods (s) for which most jobs may or may not outlast the grace period."""
FIRST_PERIOD = list(OF_PRIORITIES.items())[:1]


class Agreement(NamedTuple):
    """Share of the states in which two policies take the `same` nodes; mean `common` share."""

    same: float
    common: float


class Measurements(NamedTuple):
    """What was measured on the schedules of the two workloads.

    Parameters
    ----------
    htc, peregrine, larger : pd.DataFrame
        Statistics of waste by policy and grace period, as of `summarize`.
    htc_pooled : float
        HTC: LIFO's median over all states and the grace periods of figure 3, less that of the
        better of FIFO and RANDOM, relative to RANDOM's.
    choice, larger_choice : Agreement
        Of LIFO and PAP on PEREGRINE.
    same_waste : float
        Share of the states in which both waste the same at the first grace period.
    tails : pd.DataFrame
        By policy, growth from 1 to 6 h of the shares of states below the first (`low`) and above
        the third quartile (`high`) of 1 h.
    outlasting : mapping of str to float
        The least share of jobs touched by LIFO and PAP that outlast a grace period, by workload
        and period, as in ``"HTC, 30 min"``.
    within_extreme : float
        Share of PEREGRINE's run times below `EXTREME`.
    states : mapping of str to int
        How many, of `htc` and `peregrine`.
    waste : mapping of str to mapping of str to pd.DataFrame
        Sums of `waste_by_priority`, per class of high priority and name in `OF_PRIORITIES`; of
        bigmem for the first alone.
    white : mapping of str to float
        Of `white_share`, for PAP and PAP+.
    """

    htc: pd.DataFrame
    peregrine: pd.DataFrame
    larger: pd.DataFrame
    htc_pooled: float
    choice: Agreement
    larger_choice: Agreement
    same_waste: float
    tails: pd.DataFrame
    outlasting: Mapping[str, float]
    within_extreme: float
    states: Mapping[str, int]
    waste: Mapping[str, Mapping[str, pd.DataFrame]]
    white: Mapping[str, float]


def measure_schedules(
    schedules: Schedules, setting: Setting, *, restart: bool = True, seed: int = 0
) -> Measurements:
    """Measure the schedules of HTC and PEREGRINE.

    `restart` is the reading of the sampling rule (`execution_states`), `seed` of RANDOM's draws.
    """
    sampled: dict[str, dict[str, Any]] = {
        name: {
            "moments": execution_states(getattr(schedules, name), restart=restart),
            "seed": seed,
        }
        for name in ("htc", "peregrine", "larger")
    }
    small: dict[str, Any] = {"preempted": setting.preempted}
    wide: dict[str, Any] = {"preempted": 10 * setting.preempted} | sampled["larger"]
    # Priorities change nothing of what policies take that do not read them.
    often = {**small, **sampled["peregrine"]}
    taken = {each: taken_jobs(schedules.peregrine, policy=each, **often) for each in FOUR}
    wasted = waste(schedules.peregrine, [*SHORT, *LONG, EXTREME], taken=taken, **often)
    on_htc = waste(schedules.htc, SHORT, **small, **sampled["htc"])
    return Measurements(
        htc=summarize(on_htc),
        peregrine=summarize(wasted),
        larger=summarize(waste(schedules.larger, SHORT, **wide)),
        htc_pooled=_pooled(on_htc),
        choice=compare_choices(schedules.peregrine, **often),
        larger_choice=compare_choices(schedules.larger, **wide),
        same_waste=_same_waste(wasted),
        tails=pd.DataFrame({policy: _tails(wasted[policy]) for policy in GOOD}).T,
        outlasting=_outlasting(schedules, **small),
        within_extreme=float((schedules.peregrine.workload.jobs["run_time"] < EXTREME).mean()),
        states={name: sampled[name]["moments"].size for name in ("htc", "peregrine")},
        waste={
            name: _by_priority(name, schedules, setting, taken["PAP"], sampled["peregrine"])
            for name in CLASSES
        },
        white={policy: white_share(schedules.half, policy) for policy in ("PAP", "PAP+")},
    )


def _by_priority(
    name: str,
    schedules: Schedules,
    setting: Setting,
    taken: np.ndarray,
    sampled: Mapping[str, Any],
) -> dict[str, pd.DataFrame]:
    """Sums of the waste by priority of a class, by grace period; `taken` is by PAP."""
    schedule = schedules.preferred[name]
    knobs: dict[str, Any] = {"preempted": setting.preempted, **sampled}
    both = {"PAP": taken, "PAP+": taken_jobs(schedule, policy="PAP+", **knobs)}
    found = {}
    for period, seconds in OF_PRIORITIES.items() if name == "gaussian" else FIRST_PERIOD:
        setting = setting._replace(grace_period=seconds)
        table = waste_by_priority(schedule, setting, taken=both, **sampled)
        found[period] = table.sum().unstack()  # noqa: PD010
    return found


def priority_change(table: pd.DataFrame) -> pd.Series:
    """Change by PAP+ against PAP, by priority and in `total`; of a class in `Measurements.waste`.

    NaN where jobs waste nothing under PAP.
    """
    table = table[["high", "default"]]
    table = table.assign(total=table.sum(axis=1))
    return table.loc["PAP+"] / table.loc["PAP"].where(table.loc["PAP"] > 0) - 1


def white_share(schedule: Schedule, policy: str = "PAP+") -> float:
    """Share of a policy's values below `WHITE`, of busy nodes beside jobs of high priority."""
    at = execution_states(schedule)[::10]
    values = preemption_values(schedule, at, policy=policy).to_numpy()
    jobs = occupants(schedule, at).to_numpy()
    high = np.append(schedule.workload.column("priority").gt(1).to_numpy(bool), False)[jobs]
    beside = ~high & (jobs >= 0) & high.any(axis=1)[:, None]
    return float((values[beside] < WHITE).mean())


def compare_choices(
    schedule: Schedule, *, preempted: int, moments: np.ndarray, seed: int = 0
) -> Agreement:
    """Agreement of LIFO and PAP on the nodes to preempt."""
    knobs: dict[str, Any] = {"preempted": preempted, "moments": moments, "seed": seed}
    taken = [taken_nodes(schedule, policy=policy, **knobs) for policy in GOOD]
    common = (np.diff(np.sort(np.hstack(taken), axis=1), axis=1) == 0).sum(axis=1)
    return Agreement(float((common == preempted).mean()), float(common.mean() / preempted))


def _outlasting(schedules: Schedules, **knobs: Any) -> dict[str, float]:
    """Least share of jobs touched by LIFO and PAP that outlast a grace period, by `OUTLASTING`."""
    least = {}
    for name, (workload, period) in OUTLASTING.items():
        table = drained(getattr(schedules, workload), GOOD, [period], **knobs)
        least[name] = float(table["killed"].min())
    return least


def _pooled(wasted: Waste) -> float:
    """LIFO's median of all grace periods less the better of the others', relative to RANDOM's."""
    middle = {policy: float(np.median(wasted[policy].to_numpy())) for policy in ("LIFO", *OTHERS)}
    return (middle["LIFO"] - min(middle[policy] for policy in OTHERS)) / middle["RANDOM"]


def _same_waste(wasted: Waste) -> float:
    """Share of the states in which LIFO and PAP waste the same at the first grace period."""
    first, second = (wasted[policy][SHORT[0]] for policy in GOOD)
    return float((first == second).mean())


def _tails(wasted: pd.DataFrame) -> dict[str, float]:
    """Growth from 1 to 6 h of the shares of states that waste little, and much."""
    first, last = wasted[LONG[0]], wasted[LONG[-1]]
    low, high = first.quantile([0.25, 0.75])
    return {
        "low": float((last < low).mean() - (first < low).mean()),
        "high": float((last > high).mean() - (first > high).mean()),
    }


def lifo_on_htc(found: Measurements, period: float) -> float:
    """HTC: LIFO's median less that of the better of FIFO and RANDOM, relative to RANDOM."""
    middle = quantiles(found.htc).loc[period]
    return (middle["LIFO"] - middle[OTHERS].min()) / middle["RANDOM"]


def short_on_htc(found: Measurements) -> float:
    """HTC under LIFO: the larger median at 60 and 120 s less the smaller at 1200 and 1800 s."""
    lifo, base = quantiles(found.htc)["LIFO"], quantiles(found.htc)["RANDOM"]
    return (lifo.loc[SHORT[:2]].max() - lifo.loc[SHORT[2:]].min()) / base.loc[SHORT[0]]


def worse_of_good(summary: pd.DataFrame) -> float:
    """The worse of LIFO and PAP less the better of FIFO and RANDOM: the largest, up to 30 min."""
    middle = quantiles(summary).loc[SHORT]
    return ((middle[GOOD].max(axis=1) - middle[OTHERS].min(axis=1)) / middle["RANDOM"]).max()


def lifo_from_pap(summary: pd.DataFrame) -> float:
    """The largest difference between LIFO and PAP at grace periods up to 30 min."""
    middle = quantiles(summary).loc[SHORT]
    return ((middle["PAP"] - middle["LIFO"]).abs() / middle["RANDOM"]).max()


def compare_sizes(found: Measurements) -> pd.DataFrame:
    """LIFO and PAP on N nodes and on ten times as many: differences of waste, and same nodes."""
    names = [
        "LIFO and PAP less the others, relative to RANDOM",
        "between LIFO and PAP, relative to RANDOM",
        "states in which both take the same nodes",
        "nodes that both take",
    ]
    sizes = {"N": found.peregrine, "10 N": found.larger}
    table = pd.DataFrame({n: [worse_of_good(s), lifo_from_pap(s)] for n, s in sizes.items()})
    table.loc[2] = found.choice.same, found.larger_choice.same
    table.loc[3] = found.choice.common, found.larger_choice.common
    return table.set_axis(names)


def waste_by_size(found: Measurements) -> float:
    """How far at most one of the two differences of waste is from that on ten times the nodes."""
    return float(compare_sizes(found).iloc[:2].diff(axis=1)["10 N"].abs().max())


def nodes_by_size(found: Measurements) -> float:
    """How far the share of states with the same nodes is from that on ten times the nodes."""
    return abs(found.choice.same - found.larger_choice.same)


def movement(
    found: Measurements,
    periods: Sequence[float],
    policies: Sequence[str],
    statistics: Sequence[str] = ("50%",),
) -> float:
    """How far statistics move at most from the first of some grace periods, relative to RANDOM."""
    base = quantiles(found.peregrine)["RANDOM"].loc[periods[0]]
    tables = [
        quantiles(found.peregrine, name).loc[list(periods), list(policies)] for name in statistics
    ]
    return max((table - table.iloc[0]).abs().to_numpy().max() for table in tables) / base


def largest_step(found: Measurements, statistics: Sequence[str]) -> float:
    """The largest step of FIFO's and RANDOM's statistics from an hour to the next, in node-hours.

    Below 0 where all fall. What fell to 0 has fallen as far as it can: to stay there is no step, to
    rise again is one. NaN where one begins with 0, from which nothing can fall.
    """
    largest = -np.inf
    for name in statistics:
        values = quantiles(found.peregrine, name).loc[LONG, OTHERS].to_numpy(dtype=np.float64)
        if not (values[0] > 0).all():
            return float("nan")
        steps = np.diff(values, axis=0)
        largest = max(largest, np.max(steps[(values[:-1] != 0) | (steps != 0)], initial=-np.inf))
    return float(largest)


def rise_of_medians(
    found: Measurements, periods: Sequence[float] = LONG, policies: Sequence[str] = GOOD
) -> float:
    """How far medians move at most from the first of some grace periods, relative to that one."""
    middle = quantiles(found.peregrine).loc[list(periods), list(policies)]
    return float((middle / middle.iloc[0] - 1).abs().to_numpy().max())


def shortest_less_longest(found: Measurements) -> float:
    """The larger difference of LIFO's and PAP's medians, shortest less longest grace period."""
    largest = -np.inf
    for summary, periods in ((found.htc, SHORT), (found.peregrine, SHORT + LONG)):
        middle = quantiles(summary).loc[[periods[0], periods[-1]]]
        difference = (middle.iloc[0] - middle.iloc[1])[GOOD] / middle["RANDOM"].iloc[0]
        largest = max(largest, difference.max())
    return largest


def shorter_less_next(found: Measurements) -> float:
    """The largest difference of LIFO's and PAP's medians, a grace period less the next longer."""
    largest = -np.inf
    for summary, periods in ((found.htc, SHORT), (found.peregrine, SHORT + LONG)):
        middle = quantiles(summary).loc[periods]
        steps = -middle[GOOD].diff() / middle["RANDOM"].iloc[0]
        largest = max(largest, float(np.nanmax(steps.to_numpy())))
    return largest


def left_at_extreme(found: Measurements, statistic: str = "50%") -> float:
    """A statistic at `EXTREME`, the greatest of the policies, over RANDOM's at the shortest."""
    values = quantiles(found.peregrine, statistic)
    return values.loc[EXTREME, FOUR].max() / values.loc[SHORT[0], "RANDOM"]


def advantage_of_long(found: Measurements, statistics: Sequence[str]) -> float:
    """How far statistics of LIFO and PAP fall at most from the shortest to 1 to 6 h of grace.

    Relative to RANDOM's median at the shortest. The statistic ``"width"`` is the interquartile
    range.
    """
    low, middle, high = (quantiles(found.peregrine, name)[GOOD] for name in ("25%", "50%", "75%"))
    tables = {"25%": low, "50%": middle, "75%": high, "width": high - low}
    fallen = max(
        (tables[name].loc[SHORT[0]] - tables[name].loc[LONG]).to_numpy().max()
        for name in statistics
    )
    return float(fallen / quantiles(found.peregrine).loc[SHORT[0], "RANDOM"])


class Measure(NamedTuple):
    """The number that decides a claim, how it is written, and what explains that it fails.

    Parameters
    ----------
    number : callable
        Of `Measurements`.
    shown : str
        As in `Samples`.
    why, doubt : str
        As in `Samples`.
    name : str
        Of the reading of the paper's words that `number` is; empty where they leave one alone.
    others : mapping of str to callable
        The numbers of the claim's other readings, by their names.
    beside : mapping of str to callable
        Numbers that are shown beside and decide nothing.
    """

    number: Callable[[Measurements], float]
    shown: str = "{:+.0f} % of RANDOM's median"
    why: str = "the difference is a tenth of RANDOM's median or more, which is our limit"
    doubt: str = ""
    name: str = ""
    others: Mapping[str, Callable[[Measurements], float]] = {}
    beside: Mapping[str, Callable[[Measurements], float]] = {}

    def further(self) -> dict[str, Callable[[Measurements], float]]:
        """The numbers besides the first."""
        return {**self.others, **self.beside}


NOT_LESS = "what is saved is less than a tenth of RANDOM's median, which is our limit"
LONG_JOBS = (
    "a few long jobs hold most of the node time: FIFO's and RANDOM's victims are old and often end "
    "within so long a grace period, LIFO's are young and never do, but run on until it is over"
)
CLASS = "which jobs are of the class is not printed: sizes, run times, times of submission"
ORDER = "the order of the jobs is not printed, and decides this number: of narrow jobs first, 99 %"
TWIN = (
    "the twin has Table 1's run times and nodes, but not which jobs are of gaussian nor how long "
    "wide jobs run; the public file PEREGRINE-10k would decide"
)
OF_PUBLIC_JOBS = ("gaussian", "lifo-pap-tails-grow", "peregrine-samples")
OF_BIGMEM = ("bigmem", "rest-mostly-white")
"""Claims about the queue bigmem, whose jobs are not known."""
STEP = "largest step {:+.1f} node-hours"
RISES = "one does not fall at every step"


def _of_priorities(name: str, part: str) -> Measure:
    """The measure of what PAP+ changes for a part of the jobs; gaussian's by grace period."""

    def change(period: str) -> Callable[[Measurements], float]:
        return lambda found: float(priority_change(found.waste[name][period])[part])

    first, *rest = OF_PRIORITIES
    if name != "gaussian":
        return Measure(change(first), "{:+.1f} %", CLASS)
    others = {period: change(period) for period in rest}
    return Measure(change(first), "{:+.1f} %", CLASS, name=first, others=others)


def _of_outlasting() -> Measure:
    """The measure of whether most jobs outlast the grace period, by workload and period."""

    def share(name: str) -> Callable[[Measurements], float]:
        return lambda found: found.outlasting[name]

    first, *rest = OUTLASTING
    others = {name: share(name) for name in rest}
    why = "they are half or fewer"
    return Measure(share(first), "at least {:.0f} %", why, name=first, others=others)


MEASURES: Mapping[str, Measure] = {
    **{
        f"htc-lifo-wastes-less-{period:g}": Measure(
            partial(lifo_on_htc, period=period),
            why=LONG_JOBS if period > 120 else NOT_LESS,
            beside={"all four grace periods together": lambda m: m.htc_pooled}
            if period == SHORT[-1]
            else {},
        )
        for period in SHORT
    },
    "htc-short-grace-better": Measure(short_on_htc, why="they do not"),
    "peregrine-lifo-pap-waste-less": Measure(lambda m: worse_of_good(m.peregrine), why=NOT_LESS),
    "peregrine-lifo-pap-alike": Measure(lambda m: lifo_from_pap(m.peregrine)),
    "peregrine-same-nodes": Measure(
        lambda m: m.choice.same,
        "{:.0f} %",
        "jobs of several nodes rank differently, and under a reservation many of them run",
        doubt=ORDER,
    ),
    "peregrine-same-waste": Measure(
        lambda m: m.same_waste,
        "{:.0f} %",
        "where they take other nodes, they mostly waste another amount",
        doubt=ORDER,
    ),
    "peregrine-short-grace-no-matter": Measure(
        partial(rise_of_medians, periods=SHORT[:3], policies=FOUR),
        "{:+.1f} %",
        "a median moves by a tenth or more",
        name="of itself",
        others={"of RANDOM's median": partial(movement, periods=SHORT[:3], policies=FOUR)},
    ),
    "larger-partition-similar": Measure(
        waste_by_size,
        "differs by {:.2f}",
        "it is a tenth or more",
        name="waste",
        others={"same nodes": nodes_by_size},
    ),
    "fifo-random-medians-fall": Measure(partial(largest_step, statistics=["50%"]), STEP, RISES),
    "fifo-random-quartiles-fall": Measure(partial(largest_step, statistics=QUARTILES), STEP, RISES),
    "lifo-pap-medians-stay": Measure(
        rise_of_medians,
        "{:+.0f} %",
        "one of the two moves by a tenth or more",
        name="of itself",
        others={"of RANDOM's median": partial(movement, periods=LONG, policies=GOOD)},
    ),
    "lifo-pap-quartiles-stay": Measure(
        partial(movement, periods=LONG, policies=GOOD, statistics=QUARTILES),
        why="the first quartile falls most, for more victims end within hours of grace; the third "
        "grows less",
    ),
    "lifo-pap-tails-grow": Measure(
        lambda m: m.tails.to_numpy().min(),
        "{:+.1f} % of the states at least",
        "one of the two shares falls",
    ),
    "long-grace-no-advantage": Measure(
        partial(advantage_of_long, statistics=["50%", "width"]),
        why="one of them falls by a tenth of RANDOM's median or more",
        name="width of the range",
        others={"its ends": partial(advantage_of_long, statistics=["50%", *QUARTILES])},
    ),
    "waste-goes-to-zero": Measure(
        left_at_extreme,
        "greatest {:.1f} % of RANDOM's at 60 s",
        "few jobs are as long as 12 h, but those waste most",
        name="median",
        others={"mean": partial(left_at_extreme, statistic="mean")},
    ),
    "shorter-grace-wastes-less": Measure(
        shortest_less_longest,
        why="one of them wastes less with a longer grace period",
        name="shortest and longest",
        others={"every step": shorter_less_next},
    ),
    "most-jobs-outlast-grace": _of_outlasting(),
    **{
        f"{name}-{part}": _of_priorities(name, part)
        for name in CLASSES
        for part in ("high", "default", "total")
    },
    "rest-mostly-white": Measure(
        lambda m: m.white["PAP+"],
        "{:.0f} % of the values below a quarter",
        "they are half or less",
    ),
    "htc-samples": Measure(lambda m: m.states["htc"], "{:,.0f}", "see the sampling rule"),
    "peregrine-samples": Measure(
        lambda m: m.states["peregrine"], "{:,.0f}", "the order of the jobs is not printed"
    ),
}
"""By what each claim about one preemption is decided."""


def numbers(found: Measurements) -> pd.Series:
    """The number of every claim in `MEASURES`, the first where there are several readings."""
    return pd.Series({claim: float(each.number(found)) for claim, each in MEASURES.items()})


def further_numbers(found: Measurements) -> dict[str, float]:
    """The numbers of other readings, and those that stand beside, by `column`."""
    return {
        column(claim, name): float(number(found))
        for claim, measure in MEASURES.items()
        for name, number in measure.further().items()
    }


def column(claim: str, name: str) -> str:
    """What a claim's number of another reading is called in a table of runs."""
    return f"{claim}: {name}"


def measure_seed(
    scheduler: str, seed: int, *, inputs: Inputs, setting: Setting
) -> dict[str, float]:
    """The numbers of one seed, of the draw and of RANDOM, under one of `SCHEDULERS`; for `sweep`.

    Also the numbers of other readings (`further_numbers`); `common` nodes of LIFO and PAP; the
    share of run times `within extreme` grace periods; the `white` share under PAP; the `days` that
    PEREGRINE takes; and by class its `share` of all waste under PAP.
    """
    workloads = draw_for(scheduler, inputs, setting, seed=seed)
    schedules = simulate(workloads, setting, scheduler)
    found = measure_schedules(schedules, setting, seed=seed)
    also = {
        "common": found.choice.common,
        "within extreme": found.within_extreme,
        "white PAP": found.white["PAP"],
        "days": float(max(schedules.peregrine.end_time)) / DAY,
    }
    first = next(iter(OF_PRIORITIES))
    shares = {f"share {name}": _share(table[first]) for name, table in found.waste.items()}
    values = {str(claim): float(value) for claim, value in numbers(found).items()}
    return values | further_numbers(found) | also | shares


def measure_assumption(
    assumption: str, seed: int, *, inputs: Inputs, setting: Setting
) -> dict[str, float]:
    """Four results that the paper prints for PEREGRINE, under one of `ASSUMPTIONS`; for `sweep`.

    Keys are `states`, `days`; of LIFO and PAP, `same nodes`, `common nodes`, `same waste` (shares)
    and `apart` (medians, relative to RANDOM's); `high`, `default`, `total`: what PAP+ on gaussian
    changes, and `share`: what these jobs waste of all under PAP.
    """
    schedule = assume(assumption, inputs, setting, seed)
    at = execution_states(schedule)
    knobs: dict[str, Any] = {"moments": at, "seed": seed}
    often = {"preempted": setting.preempted, **knobs}
    taken = {policy: taken_jobs(schedule, policy=policy, **often) for policy in FOUR}
    wasted = waste(schedule, SHORT, taken=taken, **often)
    choice = compare_choices(schedule, **often)
    table = waste_by_priority(schedule, setting, taken={"PAP": taken["PAP"]}, **knobs)
    gaussian = table.sum().unstack()  # noqa: PD010
    return {
        "states": at.size,
        "days": float(max(schedule.end_time)) / DAY,
        "same nodes": choice.same,
        "common nodes": choice.common,
        "same waste": _same_waste(wasted),
        "apart": float(lifo_from_pap(summarize(wasted))),
        **priority_change(gaussian).to_dict(),
        "share": _share(gaussian),
    }


def _share(table: pd.DataFrame) -> float:
    """What jobs of high priority waste of all under PAP."""
    return float(table.loc["PAP", "high"] / table.loc["PAP"].sum())


def samples(runs: pd.DataFrame, ages: pd.DataFrame, inputs: Inputs) -> dict[str, Samples]:
    """The samples of every claim.

    What rests on a class of jobs whose members are not printed is unknown, and so is, of a twin,
    what rests on more of the jobs than Table 1.

    Parameters
    ----------
    runs : pd.DataFrame
        One row per scheduler and seed: `scheduler`, `seed` and the numbers of `measure_seed`.
    ages : pd.DataFrame
        Of `sweep_sequences`, with staleness of 0 and of a day.
    inputs : Inputs
        What the workloads were drawn from.
    """
    by_scheduler = {
        name: runs[runs["scheduler"] == name].reset_index(drop=True) for name in SCHEDULERS
    }
    found = {}
    for claim, measure in MEASURES.items():
        values, readings = _readings(claim, by_scheduler)
        missing = CLASS if claim.startswith(OF_BIGMEM) else ""
        if inputs.extract is None and claim.startswith(OF_PUBLIC_JOBS):
            missing = missing or TWIN
        found[claim] = Samples(
            values,
            measure.shown,
            why=measure.why,
            doubt=measure.doubt,
            missing=missing,
            readings=readings,
            beside={
                name: by_scheduler["EASY"][column(claim, name)].tolist() for name in measure.beside
            },
        )
    found["peregrine-days"] = Samples(
        by_scheduler["EASY"]["days"].tolist()[:1],
        "{:.1f}",
        why="Table 1's node-hours fill 20 nodes for 55.9 days, and no schedule takes less",
    )
    found["stale-vectors-degrade"] = stale_vectors(ages)
    return {claim: _explained(claim, one, by_scheduler) for claim, one in found.items()}


def _readings(
    claim: str, by_scheduler: Mapping[str, pd.DataFrame]
) -> tuple[list[float], dict[str, list[float]]]:
    """The numbers of a claim where they are the same under all schedulers, or those by reading.

    HTC's jobs of one node are scheduled alike by all of them.
    """
    measure, tables = MEASURES[claim], list(by_scheduler.values())
    if not measure.others:
        if all(tables[0][claim].equals(table[claim]) for table in tables):
            return tables[0][claim].tolist(), {}
        return [], {scheduler: runs[claim].tolist() for scheduler, runs in by_scheduler.items()}
    columns = {measure.name: claim} | {name: column(claim, name) for name in measure.others}
    readings = {}
    for name, number in columns.items():
        if name.startswith("HTC"):
            readings[name] = tables[0][number].tolist()
            continue
        for scheduler, runs in by_scheduler.items():
            readings[f"{scheduler}, {name}"] = runs[number].tolist()
    return [], readings


def _explained(claim: str, found: Samples, by_scheduler: Mapping[str, pd.DataFrame]) -> Samples:
    """The samples with what else was measured."""
    easy, name = by_scheduler["EASY"], claim.split("-")[0]
    if name in CLASSES:
        share = percent(easy[f"share {name}"].mean(), 1)
        implied = {"bigmem": "7 %"}.get(name, "3 %")
        more = f"under PAP they make {share} of all waste here, about {implied} in the paper"
        return found._replace(why=f"{found.why}; {more}")
    if claim == "peregrine-same-nodes":
        common = " / ".join(percent(runs["common"].mean(), 0) for runs in by_scheduler.values())
        return found._replace(details=f"{common} of the nodes in common")
    if claim == "waste-goes-to-zero":
        within = percent(easy["within extreme"].mean(), 0)
        return found._replace(details=f"12 h are longer than {within} of the run times")
    if claim == "rest-mostly-white":
        alone = percent(easy["white PAP"].mean(), 0)
        more = percent((easy[claim] - easy["white PAP"]).mean(), 0)
        return found._replace(details=f"EASY: {alone} under PAP already, PAP+ adds {more}")
    return found


def stale_vectors(ages: pd.DataFrame) -> Samples:
    """What is left, with vectors a day old, of each policy's advantage over RANDOM in waste.

    No job runs for a day, so that such a vector knows none of the jobs that run: that is built in.
    What is left at other ages is said beside.
    """
    wasted = ages.groupby(["policy", "staleness", "seed"])["wasted"].mean()
    wasted = wasted.unstack("policy")  # noqa: PD010
    advantage = wasted[["LIFO", "PAP", "PAP+"]].rsub(wasted["RANDOM"], axis=0)
    if not (advantage.loc[0.0] > 0).all(axis=None):
        return Samples(missing="one has no advantage over RANDOM, even with fresh vectors")
    left = advantage.loc[DAY] / advantage.loc[0.0]
    between = [
        f"{period_name(age)}: " + " / ".join(percent(each, 0) for each in kept)
        for age, kept in _left_between(advantage).items()
    ]
    return Samples(
        {name: left[name].tolist() for name in left},
        "keeps {:.0f} % of its advantage",
        why="the longest job is shorter than a day, so that a vector of a day ago has no job that "
        "still runs",
        details=f"at {', '.join(between)} ({' / '.join(left)})" if between else "",
    )


def _left_between(advantage: pd.DataFrame) -> dict[float, list[float]]:
    """The mean share of each policy's advantage that is left at ages between 0 and a day."""
    between = [age for age in advantage.index.unique(0) if 0 < age < DAY]
    return {age: (advantage.loc[age] / advantage.loc[0.0]).mean().tolist() for age in between}
