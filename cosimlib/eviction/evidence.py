"""Measurements by which the claims of Maurya et al. (DS-RT 2020) are judged, and tables of them."""

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

CASE = ["scenario", "nodes_needed"]


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


def response_times(comparison: pd.DataFrame) -> pd.DataFrame:
    """Seconds until the plans of all deadlines are known: a row per case, a column per solver."""
    last = comparison[comparison["deadline"] == comparison["deadline"].max()]
    times = last.set_index([*CASE, "solver"])["response_time"].unstack(sort=False)  # noqa: PD010
    return times.reindex(columns=["dynamic", "as printed", "greedy", "backtracking"])


def speedups(comparison: pd.DataFrame) -> pd.DataFrame:
    """Backtracking's time ÷ that of each form of dynamic programming, one row per case.

    Returns
    -------
    pd.DataFrame
        `backtracking / printed` (Algorithm 1 as printed), `backtracking / ours`, and `bound`:
        whether both are lower bounds.
    """
    times = response_times(comparison)
    printed = (times["backtracking"] / times["as printed"]).rename("backtracking / printed")
    ours = (times["backtracking"] / times["dynamic"]).rename("backtracking / ours")
    bound = comparison.groupby(CASE, sort=False)["bound"].any()
    return pd.concat([printed, ours, bound], axis=1)
