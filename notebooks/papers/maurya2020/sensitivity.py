"""Inverse analysis: which file system would give the printed results?

What meets them is no evidence for the claims.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from cosimlib.eviction import EvictionProblem, solve_dynamic, solve_greedy
from cosimlib.metrics import mean_interval
from papers.maurya2020.experiment import EXCEPTION, Case, Setting, asking, pose


def excess_by_bandwidth(
    cases: Iterable[Case], setting: Setting, seeds: Iterable[int], parts: Sequence[float]
) -> pd.DataFrame:
    """Two claims by the file system's bandwidth: greedy's excess grows, and the optimum reaches 0.

    Parameters
    ----------
    cases, setting
        Of the notebook's scenarios.
    seeds : iterable of int
        Draws of the jobs' memory.
    parts : sequence of float
        Of the printed bandwidth.

    Returns
    -------
    pd.DataFrame
        `bandwidth` (GB/s), and as texts the share of the cases in which greedy's excess is larger
        at 13 minutes than at once, and of those in which the optimum is 0 at some deadline: means
        over draws with 95 % intervals.
    """
    cases, seeds, rows = list(cases), list(seeds), []
    for part in parts:
        bandwidth = part * setting.system.aggregate_bandwidth
        system = replace(setting.system, aggregate_bandwidth=bandwidth)
        shares = [
            _shares(pose(cases, setting._replace(system=system, seed=seed)), setting.nodes_needed)
            for seed in seeds
        ]
        texts = [_in_percent(values) for values in zip(*shares, strict=True)]
        rows.append((f"{bandwidth:g}", *texts))
    columns = ["bandwidth (GB/s)", "excess grows to 13 min", "optimum reaches 0"]
    return pd.DataFrame(rows, columns=columns).set_index(columns[0])


def _shares(
    problems: Mapping[str, EvictionProblem], nodes_needed: Iterable[int]
) -> tuple[float, float]:
    """Shares of a draw's cases in which the excess grows, and in which the optimum reaches 0."""
    grows, zero = [], []
    for case in (each for one in problems.values() for each in asking(one, nodes_needed)):
        best, greedy = solve_dynamic(case).loss, solve_greedy(case).loss
        excess = (greedy - best).round(6)[case.deadlines <= EXCEPTION]
        grows.append(excess[-1] > excess[0])
        zero.append(best.min() == 0)
    return sum(grows) / max(len(grows), 1), sum(zero) / max(len(zero), 1)


def _in_percent(values: Sequence[float]) -> str:
    """The mean of shares with its interval, in words."""
    mean, low, high = (100 * each for each in mean_interval(values))
    return f"{mean:.0f} % ({max(low, 0.0):.0f} to {min(high, 100.0):.0f})"
