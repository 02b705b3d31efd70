"""Wasted cycles of a single preemption that may come at any moment, and policies compared by them.

At a state, the P nodes of least value are preempted, as a thought: the simulation goes on as it is.
Each job j that runs on one of them wastes, once, in node-seconds,

    WC_j = 0                                 if remaining time < GP,
    WC_j = (elapsed time + GP) · node count  otherwise

with GP the grace period (Duplyakin, Johnson and Ricci, ScienceCloud 2017, Section 4.1); the state
wastes their sum.

States are not stored. A kernel walks along the schedule, ranks the nodes once per state and fills
one number per state and grace period; `compare_policies` keeps their quartiles and a density.
Policies are compared by `medians`, a table with one row per grace period and one column per policy;
NaN stands where there is no such number: no states, or a median of 0 to divide by.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.elastic.policies import POLICIES, choose, evaluate, policy_number, priorities
from cosimlib.elastic.states import (
    GRACE_PERIODS,
    PREEMPTED,
    check_preempted,
    checked_grace_periods,
    distinct,
    follow,
    moments_of,
)
from cosimlib.kernels import occupancy
from cosimlib.kernels.jit import kernel
from cosimlib.schedule import Schedule
from cosimlib.units import HOUR

GRID = 160
"""Values at which a density is given."""
SHOWN = 0.99
"""Share of the states that lie within that grid."""
BINS = 2048
"""Bins in which a density counts its values."""


class Comparison(NamedTuple):
    """Wasted cycles of policies over all states: statistics, and densities for violins.

    `summary` has one row per policy and grace period (s): `states`, `mean`, `25%`, `50%`, `75%`,
    `max` in node-hours. `densities` has their densities (per node-hour) on a grid of `node_hours`
    up to the 99th percentile.
    """

    summary: pd.DataFrame
    densities: pd.DataFrame


def wasted_cycles(
    schedule: Schedule,
    *,
    policy: str = "PAP",
    preempted: int = PREEMPTED,
    grace_periods: Sequence[float] = GRACE_PERIODS,
    moments: Sequence[float] | np.ndarray | None = None,
    counted: np.ndarray | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Node-seconds that a preemption would waste, per state and grace period.

    Parameters
    ----------
    schedule : Schedule
        On one partition of the paper's N nodes.
    policy : str, default "PAP"
        One of `POLICIES`; PAP+ reads the workload's `priority`.
    preempted : int, default 10
        The paper's P.
    grace_periods : sequence of float
        Seconds.
    moments : sequence of float, optional
        Ascending seconds; by default `execution_states`.
    counted : array of bool, optional
        One per job: count only what these jobs waste.
    seed : int, default 0
        Of RANDOM's draws.

    Returns
    -------
    pd.DataFrame
        One row per state, indexed by `time`, one column per grace period.
    """
    at = moments_of(schedule, moments)
    jobs = len(schedule.workload)
    mask = np.ones(jobs, dtype=np.bool_) if counted is None else np.array(counted, dtype=np.bool_)
    if mask.shape != (jobs,):
        raise ValueError(f"counted has shape {mask.shape}; expected one bool for each of {jobs}")
    (wasted,) = _by_kind(
        schedule, np.where(mask, 0, -1), 1, policy, preempted, grace_periods, at, seed
    )
    columns = pd.Index(checked_grace_periods(grace_periods), name="grace_period")
    return pd.DataFrame(wasted, index=pd.Index(at, name="time"), columns=columns)


def wasted_by_priority(
    schedule: Schedule,
    *,
    policy: str = "PAP",
    preempted: int = PREEMPTED,
    grace_period: float = 120.0,
    moments: Sequence[float] | np.ndarray | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Node-seconds that a preemption would waste, by state: of jobs of high priority and of others.

    High is any priority above 1; the parameters are those of `wasted_cycles`.

    Returns
    -------
    pd.DataFrame
        One row per state, indexed by `time`; columns are `high` and `default`.
    """
    at = moments_of(schedule, moments)
    high = priorities(schedule.workload, [POLICIES.index("PAP+")]) > 1
    wasted = _by_kind(
        schedule, np.where(high, 0, 1), 2, policy, preempted, [grace_period], at, seed
    )
    parts = dict(zip(("high", "default"), wasted[:, :, 0], strict=True))
    return pd.DataFrame(parts, index=pd.Index(at, name="time"))


def compare_policies(
    schedule: Schedule,
    *,
    policies: Sequence[str] = POLICIES,
    preempted: int = PREEMPTED,
    grace_periods: Sequence[float] = GRACE_PERIODS,
    moments: Sequence[float] | np.ndarray | None = None,
    seed: int = 0,
) -> Comparison:
    """Quartiles and densities of wasted cycles, per policy and grace period.

    The parameters are those of `wasted_cycles`.
    """
    at = moments_of(schedule, moments)
    summaries, densities = [], []
    for policy in distinct("policies", policies, f"of {', '.join(POLICIES)}"):
        wasted = wasted_cycles(
            schedule, policy=policy, preempted=preempted, grace_periods=grace_periods,
            moments=at, seed=seed,
        )  # fmt: skip
        for period in wasted:
            hours = wasted[period].to_numpy() / HOUR
            named = {"policy": policy, "grace_period": period}
            summaries.append(named | _summary(hours))
            densities.append(_density_table(hours).assign(**named))
    first = ["policy", "grace_period", "node_hours", "density"]
    return Comparison(pd.DataFrame(summaries), pd.concat(densities, ignore_index=True)[first])


def cumulative_waste(
    schedule: Schedule,
    *,
    policies: Sequence[str] = ("PAP", "PAP+"),
    preempted: int = PREEMPTED,
    grace_period: float = 120.0,
    moments: Sequence[float] | np.ndarray | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Cumulative wasted cycles over the states, of jobs of high priority and of the others.

    High is any priority above 1.

    Returns
    -------
    pd.DataFrame
        One row per state, indexed by `time`; columns are (policy, `high` or `default`), in
        node-seconds.
    """
    at = moments_of(schedule, moments)
    knobs: dict[str, Any] = {"preempted": preempted, "grace_period": grace_period, "seed": seed}
    columns = {
        policy: wasted_by_priority(schedule, policy=policy, moments=at, **knobs).cumsum()
        for policy in distinct("policies", policies, f"of {', '.join(POLICIES)}")
    }
    return pd.concat(columns, axis=1, names=["policy", "priority"])


def summarize(wasted: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Statistics of `wasted_cycles` by policy, as `Comparison.summary` has them."""
    rows = [
        {"policy": policy, "grace_period": period} | _summary(table[period].to_numpy() / HOUR)
        for policy, table in wasted.items()
        for period in table
    ]
    return pd.DataFrame(rows)


def quantiles(summary: pd.DataFrame, statistic: str) -> pd.DataFrame:
    """A statistic of `summarize`, such as the quartile ``"25%"``, by grace period and policy."""
    return summary.pivot(  # noqa: PD010
        index="grace_period", columns="policy", values=statistic
    )


def medians(comparison: Comparison) -> pd.DataFrame:
    """Median node-hours wasted, by grace period (s) and policy."""
    return quantiles(comparison.summary, "50%")


def final_waste(cumulative: pd.DataFrame) -> pd.DataFrame:
    """Node-seconds wasted over all states, by policy and `high`, `default` or `total`.

    `cumulative` is of `cumulative_waste`; without states nothing is wasted.
    """
    table = cumulative.tail(1).sum().unstack()[["high", "default"]]  # noqa: PD010
    return table.assign(total=table.sum(axis=1))


def priority_change(waste: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Relative change of wasted cycles by PAP+ against PAP: one column per class of `final_waste`.

    NaN where jobs waste nothing under PAP.
    """
    change = {name: table.loc["PAP+"] / table.loc["PAP"] - 1 for name, table in waste.items()}
    return pd.DataFrame(change).replace([np.inf, -np.inf], np.nan)


def density(values: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Gaussian kernel density estimate of values from 0 up, on an ascending grid from 0.

    Values are counted in bins first, so that millions of them cost no more than thousands. The
    bandwidth is Silverman's, ``0.9 min(deviation, interquartile range / 1.34) n^(-1/5)``, at least
    half a grid step; what it would put below 0 is reflected. Values beyond the grid count for the
    total only, so the integral over the grid is the share of values within it.
    """
    if values.size == 0:
        return np.zeros(grid.size)
    low, high = np.quantile(values, [0.25, 0.75])
    deviation = float(values.std())
    spread = min(deviation, (high - low) / 1.34) if high > low else deviation
    bandwidth = max(0.9 * spread * values.size**-0.2, 0.5 * (grid[1] - grid[0]))
    limit = grid[-1] + 5 * bandwidth
    counts, edges = np.histogram(values, bins=BINS, range=(0.0, limit))
    middles = (edges[:-1] + edges[1:]) / 2
    filled = counts > 0
    counts, middles = counts[filled], middles[filled]
    kernels = np.exp(-0.5 * ((grid[:, None] - middles) / bandwidth) ** 2)
    kernels += np.exp(-0.5 * ((grid[:, None] + middles) / bandwidth) ** 2)
    return kernels @ counts / (values.size * bandwidth * np.sqrt(2 * np.pi))


def _by_kind(
    schedule: Schedule,
    kind: np.ndarray,
    kinds: int,
    policy: str,
    preempted: int,
    grace_periods: Sequence[float],
    at: np.ndarray,
    seed: int,
) -> np.ndarray:
    """Node-seconds wasted by jobs of each kind (kinds × moments × grace periods), -1: of none."""
    periods, number = checked_grace_periods(grace_periods), policy_number(policy)
    followed = follow(schedule, [number])
    check_preempted(preempted, followed.total_nodes)
    check.seed(seed)
    wasted = np.zeros((kinds, at.size, periods.size))
    rng = np.random.default_rng(seed)
    _waste(*followed, at, number, int(preempted), periods, kind, rng, wasted)
    return wasted


def _summary(hours: np.ndarray) -> dict[str, float]:
    """Mean, quartiles and maximum over the states; NaN without states."""
    if hours.size == 0:
        return {"states": 0} | dict.fromkeys(("mean", "25%", "50%", "75%", "max"), np.nan)
    low, median, high = np.quantile(hours, [0.25, 0.5, 0.75])
    numbers = {"mean": hours.mean(), "25%": low, "50%": median, "75%": high, "max": hours.max()}
    return {"states": hours.size} | {name: float(value) for name, value in numbers.items()}


def _density_table(hours: np.ndarray) -> pd.DataFrame:
    """The density on a grid of `GRID` values up to the share `SHOWN` of the states."""
    largest = float(np.quantile(hours, SHOWN)) if hours.size else 0.0
    grid = np.linspace(0.0, max(largest, 1e-3), GRID)
    return pd.DataFrame({"node_hours": grid, "density": density(hours, grid)})


@kernel
def _waste(line, total_nodes, priority, at, policy, preempted, periods, kind, rng, wasted):
    """Fill `wasted` (kinds × moments × grace periods)."""
    current, elapsed = occupancy.empty(total_nodes), np.empty(total_nodes)
    values, chosen = np.empty(total_nodes), np.arange(total_nodes) < preempted
    jobs, seen = np.empty(preempted, np.int64), np.full(line.nodes.size, -1)
    touched, passed = 0, -1
    for state in range(at.size):
        occupancy.advance(line, current, at[state])
        occupancy.elapsed_at(line.start_time, current.job, at[state], elapsed)
        evaluate(policy, current.job, elapsed, line.nodes, priority, rng, values)
        before, passed = passed, current.passed.sum()
        if choose(values, chosen) or passed != before:
            touched = 0
            for node in range(total_nodes):
                job = current.job[node]
                if chosen[node] and job != occupancy.IDLE and seen[job] != state:
                    seen[job] = state
                    if kind[job] >= 0:
                        jobs[touched] = job
                        touched += 1
        for job in jobs[:touched]:
            remaining, spent = line.end_time[job] - at[state], at[state] - line.start_time[job]
            row, held = wasted[kind[job], state], line.nodes[job]
            for period in range(periods.size):
                if remaining >= periods[period]:
                    row[period] += (spent + periods[period]) * held
