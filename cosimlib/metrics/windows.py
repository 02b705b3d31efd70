"""Windows of time: the whole schedule, a given part of it, or what lies after the warm-up."""

import math

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.schedule import Schedule


def window(
    schedule: Schedule, *, warm_up: float = 0.0, cool_down: float | None = None
) -> dict[str, float]:
    """`start` and `end` for other metrics, without the time in which the machine fills or empties.

    ``utilization(schedule, **window(schedule, warm_up=7 * DAY, cool_down=0))`` begins a week after
    the first submission and ends with the last.

    Parameters
    ----------
    schedule : Schedule
    warm_up : float, default 0.0
        Seconds from the first submission to the window's start.
    cool_down : float, optional
        Seconds from the window's end to the last submission. Without it the window has no `end`:
        numbers of the machine then go on to the last end.
    """
    for name, length in (("warm_up", warm_up), ("cool_down", cool_down)):
        check.seconds(name, length, none=name == "cool_down")
    submit_time = schedule.workload.jobs["submit_time"]
    first, last = float(submit_time.min()), float(submit_time.max())
    if cool_down is None:
        end = float(pd.Series(schedule.end_time).max())
        limits = {"start": first + warm_up}
    else:
        end = last - cool_down
        limits = {"start": first + warm_up, "end": end}
    if not limits["start"] < end:
        raise ValueError(
            f"{schedule.name}: warm_up={warm_up:g} and cool_down={cool_down} leave nothing of the "
            f"{last - first:.15g} s of submissions; expected less"
        )
    return limits


def span(schedule: Schedule, start: float | None, end: float | None) -> tuple[float, float]:
    """The window in seconds, by default from the first submission to the last end.

    Both are NaN, or equal, where nothing was given and the schedule itself has no length.
    """
    first = schedule.span[0] if start is None else start
    last = schedule.span[1] if end is None else end
    if start is not None or end is not None:
        check.window(first, last)
    return first, last


def submitted(schedule: Schedule, start: float | None, end: float | None) -> np.ndarray:
    """Mask of the jobs submitted in the window, from `start` to before `end`."""
    submit_time = schedule.workload.jobs["submit_time"].to_numpy()
    first = -math.inf if start is None else start
    last = math.inf if end is None else end
    check.window(first, last)
    return (submit_time >= first) & (submit_time < last)
