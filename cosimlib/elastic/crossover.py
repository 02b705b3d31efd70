"""LIFO against FIFO and RANDOM, by grace period: from which length of it on LIFO loses.

LIFO (Slurm calls it `preempt_youngest_first`) takes the jobs that have run least, which is right as
long as what is taken is killed. The longer the grace period, the more of the old jobs would have
ended within it and wasted nothing, while the young ones run on and are killed all the same. So what
decides is the grace period over the time that running jobs have left. At a random moment a node's
job has, on average and by renewal theory,

    R = sum of nodes · run time² / (2 · sum of nodes · run time)

seconds left, which says how long a typical grace period is without a simulation.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.elastic.states import PREEMPTED, moments_of
from cosimlib.elastic.waste import wasted_cycles
from cosimlib.schedule import Schedule
from cosimlib.workload import Workload

RATIOS = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0, 3.0)


def remaining_time(workload: Workload) -> float:
    """Mean time that a node's job has left at a random moment, in seconds; NaN without work."""
    jobs = workload.jobs
    work = float((jobs["nodes"] * jobs["run_time"]).sum())
    squares = float((jobs["nodes"] * jobs["run_time"] ** 2).sum())
    return squares / (2 * work) if work > 0 else float("nan")


def lifo_against_others(
    schedule: Schedule,
    *,
    ratios: Sequence[float] = RATIOS,
    preempted: int = PREEMPTED,
    moments: Sequence[float] | np.ndarray | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """What LIFO wastes relative to the better of FIFO and RANDOM, on average over all states.

    Parameters
    ----------
    schedule : Schedule
    ratios : sequence of float
        Grace periods over `remaining_time`.
    preempted, moments, seed
        As for `wasted_cycles`.

    Returns
    -------
    pd.DataFrame
        `ratio`, `grace_period` (s), mean node-seconds of `LIFO`, `FIFO`, `RANDOM`, and `relative`:
        LIFO's over the less of the others', NaN where that is 0. Empty where nothing runs.
    """
    for ratio in ratios:
        check.number("ratio", ratio, above=0)
    typical = remaining_time(schedule.workload)
    at = moments_of(schedule, moments)
    columns = ["ratio", "grace_period", "LIFO", "FIFO", "RANDOM", "relative"]
    if not (at.size and typical > 0):
        return pd.DataFrame(columns=columns, dtype=np.float64)
    periods = [ratio * typical for ratio in ratios]
    means = {
        policy: wasted_cycles(
            schedule, policy=policy, preempted=preempted, grace_periods=periods, moments=at,
            seed=seed,
        ).mean().to_numpy()
        for policy in ("LIFO", "FIFO", "RANDOM")
    }  # fmt: skip
    table = pd.DataFrame({"ratio": ratios, "grace_period": periods, **means})
    others = table[["FIFO", "RANDOM"]].min(axis=1)
    return table.assign(relative=table["LIFO"] / others.where(others > 0))[columns]
