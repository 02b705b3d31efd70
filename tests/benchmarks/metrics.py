"""Speeds of numbers over time, on as many jobs as the archive's longest logs have."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from cosimlib import metrics
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import DAY, HOUR, WEEK
from cosimlib.workload import Workload

JOBS = 448_000


def series_rows(median_of: Callable[..., float]) -> list[tuple]:
    """Utilization and queue length per hour, day and week."""
    schedule = _random_schedule()

    def series(every: float) -> None:
        metrics.utilization_series(schedule, every)
        metrics.hourly(metrics.waiting_jobs(schedule), every)

    rows = []
    for unit, every in (("hour", HOUR), ("day", DAY), ("week", WEEK)):
        seconds = median_of(partial(series, every), 3)
        rows.append((f"{JOBS:,} jobs: two series per {unit}", seconds, "s", "<= 2"))
    return rows


def _random_schedule() -> Schedule:
    """Half a year of jobs, started up to 9,000 s after their submission."""
    rng = np.random.default_rng(0)
    jobs = {
        "submit_time": np.sort(rng.integers(0, 150 * 86_400, JOBS)),
        "run_time": rng.integers(1, 50_000, JOBS),
        "nodes": rng.integers(1, 100, JOBS),
    }
    workload = Workload(pd.DataFrame(jobs), "random")
    start_time = workload.jobs["submit_time"].to_numpy() + rng.integers(0, 9_000, JOBS)
    return Schedule.from_starts(workload, System.of(8_192), start_time, "random")
