"""Medians of wasted cycles, and the numbers by which policies are compared.

Tables have a row a grace period and a column a policy, as `medians` makes them. NaN is what cannot
be told: no states, or a median of 0 to divide by.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from cosimlib.preemption.wasting import Comparison


def medians(comparison: Comparison) -> pd.DataFrame:
    """Median node-hours wasted, by grace period (s) and policy."""
    return comparison.summary.pivot(  # noqa: PD010
        index="grace_period", columns="policy", values="50%"
    )


def advantage(table: pd.DataFrame, policies: Sequence[str], others: Sequence[str]) -> pd.Series:
    """By grace period, the most that `policies` waste over the least that `others` do."""
    least = table[list(others)].min(axis=1)
    return table[list(policies)].max(axis=1) / least.where(least > 0)


def difference(table: pd.DataFrame, policy: str, base: str) -> float:
    """The largest relative difference of a policy from another over all grace periods."""
    return _largest(table[policy] / table[base].where(table[base] > 0) - 1)


def shift(table: pd.DataFrame, policies: Sequence[str]) -> pd.Series:
    """By policy, the largest relative difference of a grace period from the first."""
    first = table.iloc[0]
    return (table / first.where(first > 0) - 1)[list(policies)].apply(_largest)


def largest_step(table: pd.DataFrame, policies: Sequence[str]) -> float:
    """The largest step, in node-hours, from a grace period to the next: below 0 where all fall.

    One that fell to 0 has fallen as far as it can: to stay there is no step, to rise again is one.
    NaN where a policy begins with 0, from which nothing can fall.
    """
    values = table[list(policies)].to_numpy(dtype=np.float64)
    if not (values[0] > 0).all():
        return float("nan")
    steps = np.diff(values, axis=0)
    return float(np.max(steps[(values[:-1] != 0) | (steps != 0)], initial=-np.inf))


def _largest(values: pd.Series) -> float:
    """The largest absolute value; NaN where one is unknown."""
    return float(values.abs().max(skipna=False))
