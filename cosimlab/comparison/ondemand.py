"""Comparison of on-demand policies on streams of bursts, over seeds."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from cosimlab.sweep import Workers, sweep
from cosimlib.audit import audit
from cosimlib.ondemand import draw_bursts, measure, simulate_ondemand
from cosimlib.synthetic import resample
from cosimlib.system import System
from cosimlib.workload import Workload


def compare_ondemand(
    workload: Workload,
    system: System,
    policies: Mapping[str, Mapping[str, Any]],
    streams: Mapping[str, Mapping[str, Any]],
    seeds: Iterable[int],
    *,
    redrawn: bool = False,
    executor: Workers = None,
) -> pd.DataFrame:
    """Comparison of policies on streams of bursts: one row per policy, stream and seed.

    Every policy sees the same bursts and the same memory of jobs on a seed; schedules are audited.

    Parameters
    ----------
    workload : Workload
    system : System
    policies : dict of str to dict
        Arguments of `simulate_ondemand` by the names that tables show.
    streams : dict of str to dict
        Arguments of `draw_bursts` by name.
    seeds : iterable of int
        Of the bursts, and of the memory drawn per job.
    redrawn : bool, default False
        Whether a seed also draws the log anew, by weeks (`synthetic.resample`): then intervals tell
        how much another log of the same kind would differ, too.
    executor
        As of `sweep`.

    Returns
    -------
    pd.DataFrame
        `policy`, `stream`, `seed`, and what `measure` returns.
    """
    shared = {
        "workload": workload,
        "system": system,
        "policies": dict(policies),
        "streams": dict(streams),
        "redrawn": redrawn,
    }
    # By seed, so that no more than one log drawn anew is kept.
    grid = {"seed": [*seeds], "policy": [*policies], "stream": [*streams]}
    runs = sweep(_run, grid, shared=shared, executor=executor, errors="raise")
    by_policy = np.arange(len(runs)).reshape(-1, len(policies) * len(streams)).T.ravel()
    names = ["policy", "stream", "seed"]
    return runs.iloc[by_policy].reset_index(drop=True)[[*names, *runs.columns.drop(names)]]


def _run(
    policy: str,
    stream: str,
    seed: int,
    workload: Workload,
    system: System,
    policies: Mapping[str, Mapping[str, Any]],
    streams: Mapping[str, Mapping[str, Any]],
    redrawn: bool,
) -> dict[str, float]:
    """One cell of `compare_ondemand`."""
    if redrawn:
        workload = _redrawn(workload, seed)
    bursts = draw_bursts(workload, seed=seed, **streams[stream])
    return measure(
        audit(simulate_ondemand(workload, system, bursts, seed=seed, **policies[policy]))
    )


@lru_cache(maxsize=1)
def _redrawn(workload: Workload, seed: int) -> Workload:
    """The log of a seed, drawn once for all policies."""
    return resample(workload, seed, unit="weeks")
