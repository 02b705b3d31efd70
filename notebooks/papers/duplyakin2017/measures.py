"""Measures: what preemptions waste, and the number that decides each claim, per seed.

*Relative to RANDOM* is a difference of node-hours over RANDOM's median at the same grace period:
RANDOM is the paper's baseline, and small medians would make much of little.

The paper says "FCFS with backfilling" and no more. Two readings are judged (`data/readings.csv`):
EASY, which keeps nodes for the head of the queue, and first fit, which keeps none. Which of them
would explain the printed results is asked by `measure_assumption`, an inverse analysis, which
proves nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

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
    choice, larger_choice : Agreement
        Of LIFO and PAP on PEREGRINE.
    same_waste : float
        Share of the states in which both waste the same at the first grace period.
    tails : pd.DataFrame
        By policy, growth from 1 to 6 h of the shares of states below the first (`low`) and above
        the third quartile (`high`) of 1 h.
    outlasting : mapping of str to float
        The least share of jobs touched by LIFO and PAP that outlast 30 min, of `htc` and
        `peregrine`.
    within_extreme : float
        Share of PEREGRINE's run times below `EXTREME`.
    states : mapping of str to int
        How many, of `htc` and `peregrine`.
    plain_states : int
        Of PEREGRINE, where the clock of the samples does not start anew with each event.
    waste : mapping of str to pd.DataFrame
        Sums of `waste_by_priority`, per class of high priority.
    white : float
        Of `white_share`.
    """

    htc: pd.DataFrame
    peregrine: pd.DataFrame
    larger: pd.DataFrame
    choice: Agreement
    larger_choice: Agreement
    same_waste: float
    tails: pd.DataFrame
    outlasting: Mapping[str, float]
    within_extreme: float
    states: Mapping[str, int]
    plain_states: int
    waste: Mapping[str, pd.DataFrame]
    white: float


def measure_schedules(
    schedules: Schedules, setting: Setting, *, restart: bool = True, seed: int = 0
) -> Measurements:
    """Measure the schedules of HTC and PEREGRINE.

    `restart` is the reading of the sampling rule (`execution_states`), `seed` of RANDOM's draws.
    """
    sampled: dict[str, dict[str, Any]] = {
        name: {"moments": execution_states(schedule, restart=restart), "seed": seed}
        for name, schedule in schedules._asdict().items()
        if name != "preferred"
    }
    small: dict[str, Any] = {"preempted": setting.preempted}
    wide: dict[str, Any] = {"preempted": 10 * setting.preempted} | sampled["larger"]
    # Priorities change nothing of what policies take that do not read them.
    often = {**small, **sampled["peregrine"]}
    taken = {each: taken_jobs(schedules.peregrine, policy=each, **often) for each in FOUR}
    wasted = waste(schedules.peregrine, [*SHORT, *LONG, EXTREME], taken=taken, **often)
    by_class = {
        name: waste_by_priority(each, setting, taken=taken["PAP"], **sampled["peregrine"])
        for name, each in schedules.preferred.items()
    }
    run_time = schedules.peregrine.workload.jobs["run_time"]
    return Measurements(
        htc=summarize(waste(schedules.htc, SHORT, **small, **sampled["htc"])),
        peregrine=summarize(wasted),
        larger=summarize(waste(schedules.larger, SHORT, **wide)),
        choice=compare_choices(schedules.peregrine, **often),
        larger_choice=compare_choices(schedules.larger, **wide),
        same_waste=_same_waste(wasted),
        tails=pd.DataFrame({policy: _tails(wasted[policy]) for policy in GOOD}).T,
        outlasting={
            name: _outlasting(getattr(schedules, name), **small) for name in ("htc", "peregrine")
        },
        within_extreme=float((run_time < EXTREME).mean()),
        states={name: sampled[name]["moments"].size for name in ("htc", "peregrine")},
        plain_states=execution_states(schedules.peregrine, restart=False).size,
        waste={name: table.sum().unstack() for name, table in by_class.items()},  # noqa: PD010
        white=white_share(next(iter(schedules.preferred.values()))),
    )


def priority_change(table: pd.DataFrame) -> pd.Series:
    """Change by PAP+ against PAP, by priority and in `total`; of a class in `Measurements.waste`.

    NaN where jobs waste nothing under PAP.
    """
    table = table[["high", "default"]]
    table = table.assign(total=table.sum(axis=1))
    return table.loc["PAP+"] / table.loc["PAP"].where(table.loc["PAP"] > 0) - 1


def white_share(schedule: Schedule) -> float:
    """Share of PAP+'s values below `WHITE`, of busy nodes beside jobs of high priority."""
    at = execution_states(schedule)[::10]
    values = preemption_values(schedule, at, policy="PAP+").to_numpy()
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


def _outlasting(schedule: Schedule, **knobs: Any) -> float:
    """Least share of jobs touched by LIFO and PAP that outlast 30 min."""
    return float(drained(schedule, GOOD, SHORT[-1:], **knobs)["killed"].min())


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
    """LIFO and PAP on N nodes and on ten times as many: two differences and common nodes."""
    names = [
        "LIFO and PAP less the others, relative to RANDOM",
        "between LIFO and PAP, relative to RANDOM",
        "nodes that both take",
    ]
    sizes = {"N": found.peregrine, "10 N": found.larger}
    table = pd.DataFrame({n: [worse_of_good(s), lifo_from_pap(s)] for n, s in sizes.items()})
    table.loc[2] = found.choice.common, found.larger_choice.common
    return table.set_axis(names)


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


def rise_of_medians(found: Measurements) -> float:
    """How far LIFO's and PAP's medians move at most from 1 h to 6 h, relative to that at 1 h."""
    middle = quantiles(found.peregrine).loc[LONG, GOOD]
    return float((middle / middle.iloc[0] - 1).abs().to_numpy().max())


def shortest_less_longest(found: Measurements) -> float:
    """The larger difference of LIFO's and PAP's medians, shortest less longest grace period."""
    largest = -np.inf
    for summary, periods in ((found.htc, SHORT), (found.peregrine, SHORT + LONG)):
        middle = quantiles(summary).loc[[periods[0], periods[-1]]]
        difference = (middle.iloc[0] - middle.iloc[1])[GOOD] / middle["RANDOM"].iloc[0]
        largest = max(largest, difference.max())
    return largest


def left_at_extreme(found: Measurements) -> float:
    """The greatest median at `EXTREME`, relative to RANDOM's at the shortest grace period."""
    middle = quantiles(found.peregrine)
    return middle.loc[EXTREME, FOUR].max() / middle.loc[SHORT[0], "RANDOM"]


class Measure(NamedTuple):
    """The number that decides a claim, how it is written, and what explains that it fails."""

    number: Callable[[Measurements], float]
    shown: str = "{:+.0f} % of RANDOM's median"
    why: str = "the difference is a tenth of RANDOM's median or more, which is our limit"


NOT_LESS = "what is saved is less than a tenth of RANDOM's median, which is our limit"
LONG_JOBS = (
    "a few long jobs hold most of the node time: FIFO's and RANDOM's victims are old and often end "
    "within so long a grace period, LIFO's are young and never do, but run on until it is over"
)
CLASS = "which jobs are of the class is not printed: sizes, run times, times of submission"
TWIN = (
    "the twin has Table 1's run times and nodes, but not which jobs are of gaussian nor how long "
    "wide jobs run; the public file PEREGRINE-10k would decide"
)
OF_PUBLIC_JOBS = ("gaussian", "lifo-pap-tails-grow", "peregrine-samples")
MORE_READINGS = {
    "lifo-pap-medians-stay": ("of itself", "of RANDOM's median", "medians of RANDOM's"),
    "peregrine-samples": ("clock restarts", "plain clock", "plain states"),
}
"""Claims of which a second number is a reading, too: names of both readings, and its column."""
STEP = "largest step {:+.1f} node-hours"
RISES = "one does not fall at every step"

MEASURES: Mapping[str, Measure] = {
    **{
        f"htc-lifo-wastes-less-{period:g}": Measure(
            partial(lifo_on_htc, period=period), why=LONG_JOBS if period > 120 else NOT_LESS
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
    ),
    "peregrine-same-waste": Measure(
        lambda m: m.same_waste,
        "{:.0f} %",
        "where they take other nodes, they mostly waste another amount",
    ),
    "peregrine-short-grace-no-matter": Measure(partial(movement, periods=SHORT[:3], policies=FOUR)),
    "larger-partition-similar": Measure(
        lambda m: compare_sizes(m).diff(axis=1)["10 N"].abs().max(),
        "a number differs by {:.2f} at most",
        "it is a tenth or more",
    ),
    "fifo-random-medians-fall": Measure(partial(largest_step, statistics=["50%"]), STEP, RISES),
    "fifo-random-quartiles-fall": Measure(partial(largest_step, statistics=QUARTILES), STEP, RISES),
    "lifo-pap-medians-stay": Measure(
        rise_of_medians, "{:+.0f} % of the median at 1 h", "one of the two moves by a tenth or more"
    ),
    "lifo-pap-quartiles-stay": Measure(
        partial(movement, periods=LONG, policies=GOOD, statistics=QUARTILES),
        why="the third quartile grows, for whoever is killed has run on for hours",
    ),
    "lifo-pap-tails-grow": Measure(
        lambda m: m.tails.to_numpy().min(),
        "{:+.1f} % of the states at least",
        "one of the two shares falls",
    ),
    "waste-goes-to-zero": Measure(
        left_at_extreme,
        "greatest median at 12 h {:.1f} % of RANDOM's at 60 s",
        "most jobs are shorter, but at most moments long ones run",
    ),
    "shorter-grace-wastes-less": Measure(
        shortest_less_longest, why="one of them wastes less with a longer grace period"
    ),
    "most-jobs-outlast-grace": Measure(
        lambda m: m.outlasting["peregrine"], "at least {:.0f} %", "they are half or fewer"
    ),
    **{
        f"{name}-{part}": Measure(
            lambda m, name=name, part=part: priority_change(m.waste[name])[part],  # type: ignore[misc]
            "{:+.1f} %",
            CLASS,
        )
        for name in CLASSES
        for part in ("high", "default", "total")
    },
    "rest-mostly-white": Measure(
        lambda m: m.white, "{:.0f} % of the values below a quarter", "they are half or less"
    ),
    "htc-samples": Measure(lambda m: m.states["htc"], "{:,.0f}", "see the sampling rule"),
    "peregrine-samples": Measure(
        lambda m: m.states["peregrine"], "{:,.0f}", "the order of the jobs is not printed"
    ),
}
"""By what each claim about one preemption is decided."""


def numbers(found: Measurements) -> pd.Series:
    """The number of every claim in `MEASURES`."""
    return pd.Series({claim: float(each.number(found)) for claim, each in MEASURES.items()})


def measure_seed(
    scheduler: str, seed: int, *, inputs: Inputs, setting: Setting
) -> dict[str, float]:
    """The numbers of one seed, of the draw and of RANDOM, under one of `SCHEDULERS`; for `sweep`.

    Also `common` and `same waste` of LIFO and PAP, what else is a reading (`MORE_READINGS`), the
    share of run times `within extreme` grace
    periods, `outlasting on HTC`, the `days` that PEREGRINE takes, and by class its `share` of all
    waste under PAP.
    """
    workloads = inputs.draw(seed=seed, request_factor=setting.request_factor)
    schedules = simulate(workloads, setting, scheduler)
    found = measure_schedules(schedules, setting, seed=seed)
    also = {
        "common": found.choice.common,
        "same waste": found.same_waste,
        "medians of RANDOM's": movement(found, LONG, GOOD),
        "plain states": float(found.plain_states),
        "within extreme": found.within_extreme,
        "outlasting on HTC": found.outlasting["htc"],
        "days": float(max(schedules.peregrine.end_time)) / DAY,
    }
    shares = {f"share {name}": _share(table) for name, table in found.waste.items()}
    return {str(claim): float(value) for claim, value in numbers(found).items()} | also | shares


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
    table = waste_by_priority(schedule, setting, taken=taken["PAP"], **knobs)
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
    easy, first_fit = (runs[runs["scheduler"] == name].reset_index() for name in SCHEDULERS)
    found = {}
    for claim, measure in MEASURES.items():
        values, readings = _readings(claim, easy, first_fit)
        missing = CLASS if claim.startswith("bigmem") else ""
        if inputs.extract is None and claim.startswith(OF_PUBLIC_JOBS):
            missing = missing or TWIN
        found[claim] = Samples(
            values, measure.shown, why=measure.why, missing=missing, readings=readings
        )
    found["peregrine-days"] = Samples(
        easy["days"].tolist()[:1],
        "{:.1f}",
        why="Table 1's node-hours fill 20 nodes for 55.9 days, and no schedule takes less",
    )
    found["stale-vectors-degrade"] = stale_vectors(ages)
    return {claim: _explained(claim, one, easy, first_fit) for claim, one in found.items()}


def _readings(
    claim: str, easy: pd.DataFrame, first_fit: pd.DataFrame
) -> tuple[list[float], dict[str, list[float]]]:
    """The numbers of a claim where they are the same under both schedulers, or those by reading."""
    schedulers = {"EASY": easy, "first fit": first_fit}
    if claim in MORE_READINGS:
        one, other, column = MORE_READINGS[claim]
        return [], {
            f"{scheduler}, {name}": runs[number].tolist()
            for scheduler, runs in schedulers.items()
            for name, number in ((one, claim), (other, column))
        }
    if easy[claim].equals(first_fit[claim]):
        return easy[claim].tolist(), {}
    return [], {scheduler: runs[claim].tolist() for scheduler, runs in schedulers.items()}


def _explained(claim: str, found: Samples, easy: pd.DataFrame, first_fit: pd.DataFrame) -> Samples:
    """The samples with what else was measured in their reason."""
    name = claim.split("-")[0]
    if name in CLASSES:
        share, implied = (
            percent(easy[f"share {name}"].mean(), 1),
            {"bigmem": "7 %"}.get(name, "3 %"),
        )
        more = f"under PAP they make {share} of all waste here, about {implied} in the paper"
    elif claim == "peregrine-same-nodes":
        common, same = (
            " / ".join(percent(each[column].mean(), 0) for each in (easy, first_fit))
            for column in ("common", "same waste")
        )
        more = f"{common} of the nodes in common, the same waste in {same} (EASY / first fit)"
    elif claim == "waste-goes-to-zero":
        within = percent(easy["within extreme"].mean(), 0)
        return found._replace(details=f"12 h are longer than {within} of the run times")
    elif claim == "most-jobs-outlast-grace":
        htc = percent(easy["outlasting on HTC"].mean(), 0)
        return found._replace(details=f"PEREGRINE, 30 min; on HTC {htc}")
    else:
        return found
    return found._replace(why=f"{found.why}; {more}")


def stale_vectors(ages: pd.DataFrame) -> Samples:
    """What is left, with vectors a day old, of each policy's advantage over RANDOM in waste."""
    wasted = ages.groupby(["policy", "staleness", "seed"])["wasted"].mean()
    wasted = wasted.unstack("policy")  # noqa: PD010
    advantage = wasted[["LIFO", "PAP", "PAP+"]].rsub(wasted["RANDOM"], axis=0)
    if not (advantage.loc[0.0] > 0).all(axis=None):
        return Samples(missing="one has no advantage over RANDOM, even with fresh vectors")
    left = advantage.loc[DAY] / advantage.loc[0.0]
    return Samples(
        {name: left[name].tolist() for name in left},
        "keeps {:.0f} % of its advantage",
        why="one of them keeps more than half with each seed",
    )
