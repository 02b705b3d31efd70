"""Numbers that decide the claims about one preemption: one reading of two schedules.

A `Reading` holds what was measured on the schedules of HTC and PEREGRINE, and on PEREGRINE's with
ten times the nodes. `measure` makes one number per claim of it.

*Relative to RANDOM* is a difference of node-hours over RANDOM's median at the same grace period:
RANDOM is the paper's baseline, and small medians would make much of little. NaN stands where there
is no such number: a median of 0, no states, no such jobs.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cosimlib.elastic.draining import drained
from cosimlib.elastic.states import (
    LONG_GRACE_PERIODS,
    PREEMPTED,
    SHORT_GRACE_PERIODS,
    execution_states,
)
from cosimlib.elastic.vectors import (
    Agreement,
    compare_choices,
    occupants,
    preemption_values,
)
from cosimlib.elastic.waste import (
    priority_change,
    quantiles,
    summarize,
    wasted_by_priority,
    wasted_cycles,
)
from cosimlib.schedule import Schedule

SHORT, LONG = list(SHORT_GRACE_PERIODS), list(LONG_GRACE_PERIODS)
OTHERS, GOOD = ["RANDOM", "FIFO"], ["LIFO", "PAP"]
FOUR = [*OTHERS, *GOOD]
WHITE = 0.25
"""Values of a vector below this count as white."""
QUARTILES = ["25%", "75%"]


class Reading(NamedTuple):
    """What was measured on the schedules of the two workloads.

    Parameters
    ----------
    peregrine : pd.DataFrame
        Statistics by policy and grace period, of `summarize`.
    choice : Agreement
        Of LIFO and PAP on PEREGRINE.
    same_waste : float
        Share of the states in which both waste the same at the first grace period.
    tails : pd.DataFrame
        By policy, `low` and `high`: by how much the shares of states below the first and above the
        third quartile of 1 h have grown at 6 h.
    outlasting : float
        The least share of the jobs touched by LIFO and PAP that outlast a grace period of at most
        30 min, of both workloads.
    within_longest : float
        Share of PEREGRINE's run times below the longest grace period.
    states : mapping of str to int
        How many, of `htc` and `peregrine`.
    htc : pd.DataFrame, optional
        As `peregrine`; None where a log has no one-node jobs.
    waste : mapping of str to pd.DataFrame
        Of `final_waste`, per class of high priority.
    white : float
        Share of the values below `WHITE` of nodes beside jobs of high priority, under PAP+.
    larger, larger_choice : pd.DataFrame and Agreement, optional
        PEREGRINE's on ten times the nodes, of which ten times as many are preempted.
    """

    peregrine: pd.DataFrame
    choice: Agreement
    same_waste: float
    tails: pd.DataFrame
    outlasting: float
    within_longest: float
    states: Mapping[str, int]
    htc: pd.DataFrame | None = None
    waste: Mapping[str, pd.DataFrame] = {}
    white: float = float("nan")
    larger: pd.DataFrame | None = None
    larger_choice: Agreement | None = None


def read(
    peregrine: Schedule,
    htc: Schedule | None = None,
    *,
    larger: Schedule | None = None,
    preferred: Mapping[str, Schedule] = {},
    preempted: int = PREEMPTED,
    grace_period: float = 120.0,
    restart: bool = True,
    seed: int = 0,
) -> Reading:
    """Measure the schedules of PEREGRINE and of HTC.

    Parameters
    ----------
    peregrine, htc : Schedule
    larger : Schedule, optional
        PEREGRINE's on ten times the nodes.
    preferred : mapping of str to Schedule
        PEREGRINE's with each class of jobs preferred; the first is that of figure 5.
    preempted : int, default 10
    grace_period : float, default 120.0
        Of the waste by priority, seconds.
    restart : bool, default True
        The reading of the sampling rule (`execution_states`).
    seed : int, default 0
        Of RANDOM's draws.
    """
    at = execution_states(peregrine, restart=restart)
    knobs: dict[str, Any] = {"preempted": preempted, "seed": seed, "moments": at}
    wasted = {
        policy: wasted_cycles(peregrine, policy=policy, grace_periods=SHORT + LONG, **knobs)
        for policy in FOUR
    }
    both = [peregrine] if htc is None else [peregrine, htc]
    run_time = peregrine.workload.jobs["run_time"]
    counts = {"peregrine": at.size}
    short = None
    if htc is not None:
        times = execution_states(htc, restart=restart)
        counts["htc"] = times.size
        short = summarize(
            {
                policy: wasted_cycles(
                    htc, policy=policy, grace_periods=SHORT, **(knobs | {"moments": times})
                )
                for policy in FOUR
            }
        )
    first = SHORT[0]
    reading = Reading(
        summarize(wasted),
        compare_choices(peregrine, *GOOD, **knobs),
        float((wasted["LIFO"][first] == wasted["PAP"][first]).mean()) if at.size else np.nan,
        pd.DataFrame({policy: _tails(wasted[policy]) for policy in GOOD}).T,
        float(np.min([_outlasting(each, preempted) for each in both])),
        float((run_time < LONG[-1]).mean()) if len(run_time) else np.nan,
        counts,
        short,
        {name: waste_by_priority(each, grace_period, **knobs) for name, each in preferred.items()},
        _white(next(iter(preferred.values()))) if preferred else np.nan,
    )
    if larger is None:
        return reading
    wide: dict[str, Any] = {"preempted": 10 * preempted, "seed": seed}
    wide["moments"] = execution_states(larger, restart=restart)
    many = {p: wasted_cycles(larger, policy=p, grace_periods=SHORT, **wide) for p in FOUR}
    return reading._replace(
        larger=summarize(many), larger_choice=compare_choices(larger, *GOOD, **wide)
    )


def waste_by_priority(schedule: Schedule, grace_period: float, **knobs: Any) -> pd.DataFrame:
    """Node-seconds wasted over all states under PAP and PAP+: `high`, `default` and `total`."""
    table = {}
    for policy in ("PAP", "PAP+"):
        wasted = wasted_by_priority(schedule, policy=policy, grace_period=grace_period, **knobs)
        table[policy] = {part: wasted[part].to_numpy().sum() for part in wasted}
    waste = pd.DataFrame(table).T
    return waste.assign(total=waste.sum(axis=1))


def measure(reading: Reading) -> pd.Series:
    """The number that each claim about one preemption is decided by; NaN where there is none."""
    return pd.Series({claim: float(number(reading)) for claim, number in NUMBERS.items()})


def lifo_on_htc(reading: Reading, period: float) -> float:
    """HTC: LIFO's median less that of the better of FIFO and RANDOM, relative to RANDOM."""
    middle = _middle(reading.htc)
    return _relative(middle, middle["LIFO"] - middle[OTHERS].min(axis=1)).get(period, np.nan)


def short_on_htc(reading: Reading) -> float:
    """HTC under LIFO: the larger median at 60 and 120 s less the smaller at 1200 and 1800 s."""
    lifo, base = _middle(reading.htc)["LIFO"], _middle(reading.htc)["RANDOM"]
    return (lifo.iloc[:2].max() - lifo.iloc[2:].min()) / _above_0(base).iloc[0]


def worse_of_good(table: pd.DataFrame | None) -> float:
    """The worse of LIFO and PAP less the better of FIFO and RANDOM: the largest, up to 30 min."""
    middle = _middle(table).loc[SHORT]
    return _relative(middle, middle[GOOD].max(axis=1) - middle[OTHERS].min(axis=1)).max(
        skipna=False
    )


def apart(table: pd.DataFrame | None) -> float:
    """The largest difference between LIFO and PAP at grace periods up to 30 min."""
    middle = _middle(table).loc[SHORT]
    return _relative(middle, (middle["PAP"] - middle["LIFO"]).abs()).max(skipna=False)


def larger_differs(reading: Reading) -> float:
    """By how much the three numbers of `compare_sizes` differ at most on ten times the nodes."""
    table = compare_sizes(reading)
    return (table["10 N"] - table["N"]).abs().max(skipna=False)


def compare_sizes(reading: Reading) -> pd.DataFrame:
    """LIFO and PAP on N nodes and on ten times as many: two differences and common nodes."""
    sizes = {
        "N": (reading.peregrine, reading.choice),
        "10 N": (reading.larger, reading.larger_choice),
    }
    table = {
        name: {
            "LIFO and PAP less the others, relative to RANDOM": worse_of_good(summary),
            "between LIFO and PAP, relative to RANDOM": apart(summary),
            "nodes that both take": choice.common if choice else np.nan,
        }
        for name, (summary, choice) in sizes.items()
    }
    return pd.DataFrame(table)


def moved(
    reading: Reading, periods: Sequence[float], policies: Sequence[str], statistics: Sequence[str]
) -> float:
    """How far statistics move at most from the first of some grace periods, relative to RANDOM."""
    base = _above_0(_middle(reading.peregrine)["RANDOM"]).get(periods[0], np.nan)
    tables = [
        quantiles(reading.peregrine, name).loc[list(periods), list(policies)] for name in statistics
    ]
    return max((table - table.iloc[0]).abs().to_numpy().max() for table in tables) / base


def largest_step(reading: Reading, statistics: Sequence[str]) -> float:
    """The largest step of FIFO's and RANDOM's statistics from an hour to the next, in node-hours.

    Below 0 where all fall. What fell to 0 has fallen as far as it can: to stay there is no step, to
    rise again is one. NaN where one begins with 0, from which nothing can fall.
    """
    largest = -np.inf
    for name in statistics:
        values = quantiles(reading.peregrine, name).loc[LONG, OTHERS].to_numpy(dtype=np.float64)
        if not (values[0] > 0).all():
            return float("nan")
        steps = np.diff(values, axis=0)
        largest = max(largest, np.max(steps[(values[:-1] != 0) | (steps != 0)], initial=-np.inf))
    return float(largest)


def shortest_wastes_more(reading: Reading) -> float:
    """The shortest grace period's median less the longest's, relative to RANDOM: the largest.

    Of all policies on both workloads, or on one where there is no other.
    """
    return shortest_less_longest(reading).max(skipna=False)


def shortest_less_longest(reading: Reading) -> pd.Series:
    """By workload and policy, the shortest grace period's median less the longest's."""
    named = {"HTC": (reading.htc, SHORT), "PEREGRINE": (reading.peregrine, SHORT + LONG)}
    parts = {}
    for name, (table, periods) in named.items():
        if table is not None:
            middle = _middle(table).loc[periods, FOUR]
            base = _above_0(middle["RANDOM"]).iloc[0]
            parts[name] = (middle.iloc[0] - middle.iloc[-1]) / base
    return pd.concat(parts)


def left_at_longest(reading: Reading) -> float:
    """What is left at 6 h of RANDOM's median at the shortest grace period."""
    middle = _middle(reading.peregrine)["RANDOM"]
    return middle.loc[LONG[-1]] / _above_0(middle).iloc[0]


def change(reading: Reading, name: int, part: str) -> float:
    """By how much PAP+ changes the waste of a class, of the other jobs, or of all."""
    if len(reading.waste) <= name:
        return float("nan")
    return priority_change(reading.waste).iloc[:, name].get(part, np.nan)


def _middle(table: pd.DataFrame | None) -> pd.DataFrame:
    """Medians by grace period and policy; NaN where there is no table."""
    if table is None:
        return pd.DataFrame(np.nan, pd.Index(SHORT + LONG, name="grace_period"), FOUR)
    return quantiles(table, "50%")


def _above_0(values: pd.Series) -> pd.Series:
    """Values to divide by: NaN where they are 0."""
    return values.where(values > 0)


def _relative(middle: pd.DataFrame, difference: pd.Series) -> pd.Series:
    """A difference of node-hours relative to RANDOM's median, by grace period."""
    return difference / _above_0(middle["RANDOM"])


def _tails(wasted: pd.DataFrame) -> dict[str, float]:
    """Growth from 1 to 6 h of the shares of states that waste little, and much."""
    if wasted.empty:
        return {"low": np.nan, "high": np.nan}
    first, last = wasted[LONG[0]], wasted[LONG[-1]]
    low, high = first.quantile([0.25, 0.75])
    return {
        "low": float((last < low).mean() - (first < low).mean()),
        "high": float((last > high).mean() - (first > high).mean()),
    }


def _outlasting(schedule: Schedule, preempted: int) -> float:
    """The least share of the jobs touched by LIFO and PAP that outlast a grace period of 30 min."""
    table = drained(schedule, policies=GOOD, preempted=preempted, grace_periods=SHORT[-1:])
    return float(table["killed"].min(skipna=False))


def _white(schedule: Schedule) -> float:
    """Share of PAP+'s values below `WHITE`, of busy nodes beside jobs of high priority."""
    at = execution_states(schedule)[::10]
    if not at.size:
        return float("nan")
    values = preemption_values(schedule, at, policy="PAP+").to_numpy()
    jobs = occupants(schedule, at).to_numpy()
    high = np.append(schedule.workload.column("priority").gt(1).to_numpy(bool), False)[jobs]
    beside = ~high & (jobs >= 0) & high.any(axis=1)[:, None]
    return float((values[beside] < WHITE).mean()) if beside.any() else float("nan")


NUMBERS: Mapping[str, Callable[[Reading], float]] = {
    **{f"htc-lifo-wastes-less-{period:g}": partial(lifo_on_htc, period=period) for period in SHORT},
    "htc-short-grace-better": short_on_htc,
    "peregrine-lifo-pap-waste-less": lambda r: worse_of_good(r.peregrine),
    "peregrine-lifo-pap-alike": lambda r: apart(r.peregrine),
    "peregrine-same-nodes": lambda r: r.choice.same,
    "peregrine-short-grace-no-matter": partial(
        moved, periods=SHORT[:3], policies=FOUR, statistics=["50%"]
    ),
    "larger-partition-similar": larger_differs,
    "fifo-random-medians-fall": partial(largest_step, statistics=["50%"]),
    "fifo-random-quartiles-fall": partial(largest_step, statistics=QUARTILES),
    "lifo-pap-medians-stay": partial(moved, periods=LONG, policies=GOOD, statistics=["50%"]),
    "lifo-pap-quartiles-stay": partial(moved, periods=LONG, policies=GOOD, statistics=QUARTILES),
    "lifo-pap-tails-grow": lambda r: r.tails.to_numpy().min(),
    "waste-goes-to-zero": left_at_longest,
    "shorter-grace-wastes-less": shortest_wastes_more,
    "most-jobs-outlast-grace": lambda r: r.outlasting,
    **{
        f"{label}-{part}": partial(change, name=name, part=part)
        for name, label in enumerate(("bigmem", "gaussian"))
        for part in ("high", "default", "total")
    },
    "rest-mostly-white": lambda r: r.white,
    "htc-samples": lambda r: r.states.get("htc", np.nan),
    "peregrine-samples": lambda r: r.states["peregrine"],
}
"""What each claim about one preemption is decided by."""
