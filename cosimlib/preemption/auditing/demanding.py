"""How a check fails: with the policy, and the name of the first thing that is wrong."""

import numpy as np
import pandas as pd

from cosimlib.audit import InfeasibleScheduleError
from cosimlib.schedulers.elastic import ElasticSchedule


def demand(
    schedule: ElasticSchedule, fine: pd.Series | np.ndarray, named: object, message: str
) -> None:
    """Raise, with the name of the first for which it is not so.

    `named` has a name for each of `fine`, which takes the place of the braces in `message`.
    """
    wrong = ~np.asarray(fine, dtype=bool)
    if wrong.any():
        name = np.asarray(named)[wrong.argmax()]
        raise InfeasibleScheduleError(f"{schedule.policy}: {message.format(name)}")


def demand_apart(schedule: ElasticSchedule, stretches: pd.DataFrame, message: str) -> None:
    """Raise where two stretches of one node, from `start_time` to `end_time`, overlap."""
    ordered = stretches.sort_values(["node", "start_time", "end_time"], kind="stable")
    same = ordered["node"] == ordered["node"].shift()
    fine = ~same | (ordered["start_time"] >= ordered["end_time"].shift())
    demand(schedule, fine, ordered["node"], message)
