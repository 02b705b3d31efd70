"""Measures of a schedule by name, and their statistics by group of jobs."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.metrics import (
    bounded_slowdown,
    loss_of_capacity,
    turnaround_time,
    utilization,
    wait_time,
)
from cosimlib.schedule import Schedule

Measure = Callable[..., Any]

MEASURES: dict[str, Measure] = {
    "wait_time": wait_time,
    "turnaround_time": turnaround_time,
    "bounded_slowdown": bounded_slowdown,
    "utilization": utilization,
    "loss_of_capacity": loss_of_capacity,
}
"""Metrics per job, and of the machine; all take the window as `start` and `end`."""

SECONDS = ("wait_time", "turnaround_time")
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
STATISTICS = ("mean", *QUANTILES)
WHOLE = "value"
"""The statistic of a measure that is one number per schedule."""
ALL = "all jobs"


def chosen_measures(measures: Iterable[str] | Mapping[str, Measure]) -> dict[str, Measure]:
    """Measures by name: names in `MEASURES`, or a mapping with your own functions."""
    plural = f"names of measures, {', '.join(MEASURES)}, or functions by name"
    fine = isinstance(measures, Iterable) and not isinstance(measures, str)
    check.that("measures", measures, fine, plural)
    if isinstance(measures, Mapping):
        found = dict(measures)
    else:
        for name in (names := list(measures)):
            check.choice("measure", name, MEASURES)
        found = {name: MEASURES[name] for name in names}
    check.that("measures", measures, bool(found), "at least one")
    for name, measure in found.items():
        check.that(f"measures[{name!r}]", measure, callable(measure),
                   "a function of a schedule, start and end")  # fmt: skip
    return found


def measure_rows(
    schedule: Schedule,
    label: str,
    measures: Mapping[str, Measure],
    groups: pd.Series | None,
    limits: tuple[float, float],
) -> list[dict[str, Any]]:
    """One row per measure and group: `policy`, `measure`, `group` and the statistics.

    Parameters
    ----------
    schedule : Schedule
    label : str
        The policy's name.
    measures : mapping of str to function
    groups : pd.Series, optional
        The group of each job, a categorical; all jobs are a group in any case.
    limits : tuple of float
        The window in seconds; all statistics are missing where it has no length.
    """
    rows = []
    start, end = limits
    for name, measure in measures.items():
        result: Any = measure(schedule, start=start, end=end) if start < end else np.nan
        row = {"policy": label, "measure": name, "group": ALL}
        if check.is_number(result):
            rows.append({**row, WHOLE: float(result)})
            continue
        check.instance(f"the result of {name!r}", result, pd.Series,
                       expected="a number, or a Series of one number per job")  # fmt: skip
        values = result.to_numpy(dtype=np.float64)
        _check_known(values, name, schedule, label)
        rows.append({**row, **_statistics(values)})
        if groups is not None:
            code = groups.cat.codes.to_numpy()[result.index.to_numpy()]
            rows += [
                {**row, "group": str(group), **_statistics(values[code == number])}
                for number, group in enumerate(groups.cat.categories)
            ]
    return rows


def _check_known(values: np.ndarray, name: str, schedule: Schedule, label: str) -> None:
    unknown = int((~np.isfinite(values)).sum())
    if unknown:
        raise ValueError(
            f"{label}, {schedule.workload.name}: {name} of {unknown} jobs is no number; expected "
            "one per job: does the policy start all jobs?"
        )


def _statistics(values: np.ndarray) -> dict[str, float | None]:
    """Mean and quantiles; none of no values."""
    if not values.size:
        return dict.fromkeys(STATISTICS)
    quantiles = np.quantile(values, list(QUANTILES.values())).tolist()
    return {"mean": float(values.mean()), **dict(zip(QUANTILES, quantiles, strict=True))}
