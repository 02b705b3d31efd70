"""What figures need of a run of millions of jobs: a few hundred numbers."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from cosimlib.checks import is_number
from cosimlib.metrics import hourly, occupied_nodes
from cosimlib.schedule import Schedule
from cosimlib.timesharing.schedule import TimesharedSchedule
from cosimlib.units import DAY, HOUR, WEEK
from cosimlib.workload import Workload

BINS = 26
TAU = 10.0
"""Run times below so many seconds count as that, in slowdowns."""

SHORTEST, LONGEST = 10.0, 48 * HOUR
"""Run times between which lengths are binned."""

LEVELS = np.concatenate(
    [np.arange(200) / 200, 1.0 - 0.005 * 10.0 ** -np.linspace(0.1, 4.0, 40), [1.0]]
)
"""Probabilities at which slowdowns' quantiles are kept: evenly, and finer above 0.995.
"""


@dataclass(frozen=True, eq=False)
class RunSummary:
    """A schedule in numbers, jobs submitted in the warm-up left out.

    Parameters
    ----------
    policy, data : str
    jobs : int
        How many are counted.
    utilization, cpu_load : float
        From the end of the warm-up to the last submission: useful (batch: held) node-seconds over
        those offered; jobs on a node.
    mean_slowdown : float
        Bounded slowdown, run times below 10 s counted as 10 s: turnaround ÷ max(run time, 10 s).
    waited : float
        Share of jobs that did not start when they were submitted.
    quantiles : tuple
        Of the slowdown, at `LEVELS`.
    nodes_edges, length_edges : tuple
        Where the logarithmic bins of size (nodes) and dedicated run time (s) begin and the last
        ends: 26 of each, those of size that hold no whole number joined with the next.
    slowdown_sums, counts : tuple of tuples
        By size and length: sum of slowdowns, number of jobs.
    weeks, weekly_utilization, weekly_load : tuple
        End of each day (s), and the means over the week before it.
    """

    policy: str
    data: str
    jobs: int
    utilization: float
    cpu_load: float
    mean_slowdown: float
    waited: float
    quantiles: tuple
    nodes_edges: tuple
    length_edges: tuple
    slowdown_sums: tuple
    counts: tuple
    weeks: tuple
    weekly_utilization: tuple
    weekly_load: tuple

    @property
    def name(self) -> str:
        """Policy and data in one line, as figures print it."""
        return f"{self.policy}, {self.data}"

    @property
    def bins(self) -> np.ndarray:
        """Mean slowdown by size (rows) and length; NaN where there is no job."""
        counts = np.array(self.counts, float)
        sums = np.array(self.slowdown_sums)
        return np.divide(sums, counts, out=np.full(counts.shape, np.nan), where=counts > 0)

    def quantile(self, level: float) -> float:
        """Of the slowdown."""
        return float(np.interp(level, LEVELS, self.quantiles))

    def as_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, for a file."""
        return asdict(self)

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> "RunSummary":
        """What `as_dict` gave."""
        return cls(**{name: _tupled(value) for name, value in given.items()})


def summarize_run(schedule: Schedule, *, warm_up: float = 100 * DAY) -> RunSummary:
    """The numbers of one run.

    Parameters
    ----------
    schedule : Schedule
        Batch or time-shared, its workload with dedicated run times.
    warm_up : float, default 100 days
        Seconds from time 0: jobs submitted before do not count.

    Raises
    ------
    ValueError
        Where no job is submitted after the warm-up, or that is no number of seconds.
    """
    check_warm_up(schedule.workload, warm_up)
    jobs = schedule.workload.jobs
    counted = (jobs["submit_time"] >= warm_up).to_numpy()
    slowdown = slowdowns(schedule)[counted]
    nodes, length = jobs["nodes"].to_numpy()[counted], jobs["run_time"].to_numpy()[counted]
    nodes_edges = _whole_edges(schedule.system.total_nodes)
    length_edges = np.geomspace(SHORTEST, max(LONGEST, 1.001 * length.max()), BINS + 1)
    row = np.searchsorted(nodes_edges, nodes, side="right") - 1
    column = np.searchsorted(length_edges, np.maximum(length, SHORTEST), side="right") - 1
    cell, shape = row * BINS + column, (nodes_edges.size - 1, BINS)
    sums = np.bincount(cell, weights=slowdown, minlength=math.prod(shape)).reshape(shape)
    counts = np.bincount(cell, minlength=math.prod(shape)).reshape(shape)
    series = use_by_hour(schedule)
    last = float(jobs["submit_time"].max())
    inside = series[(series.index >= warm_up) & (series.index < last)]
    inside = inside if len(inside) else series
    width = float(series.index[1] - series.index[0]) if len(series) > 1 else HOUR
    week = series.rolling(max(1, int(WEEK / width)), min_periods=1).mean()
    week.index = week.index + width
    week = week[(week.index % max(DAY, width) == 0) & (week.index > warm_up) & (week.index <= last)]
    start_time = np.asarray(schedule.start_time)
    return RunSummary(
        schedule.policy,
        schedule.workload.name,
        int(counted.sum()),
        float(inside["utilization"].mean()),
        float(inside["cpu_load"].mean()),
        float(slowdown.mean()),
        float((start_time > jobs["submit_time"].to_numpy())[counted].mean()),
        *(_tupled(value.tolist()) for value in (
            np.quantile(slowdown, LEVELS), nodes_edges, length_edges, sums, counts,
            week.index.to_numpy(float), week["utilization"].to_numpy(),
            week["cpu_load"].to_numpy(),
        )),
    )  # fmt: skip


def check_warm_up(workload: Workload, warm_up: float) -> None:
    """Raise where no job is submitted after a warm-up, or that is no number of seconds."""
    if not is_number(warm_up) or not 0.0 <= warm_up < math.inf:
        raise ValueError(f"warm_up={warm_up!r}; expected seconds, 0 or more")
    submit_time = workload.jobs["submit_time"]
    if not (submit_time >= warm_up).any():
        raise ValueError(
            f"{workload.name}: no job is submitted after a warm-up of {warm_up / DAY:g} days; the "
            f"last comes at {submit_time.max() / DAY:.3g} days: give a shorter one"
        )


def slowdowns(schedule: Schedule) -> np.ndarray:
    """Bounded slowdown of every job, at least 1: turnaround ÷ max(dedicated run time, 10 s)."""
    jobs = schedule.workload.jobs
    turnaround = schedule.end_time - jobs["submit_time"].to_numpy()
    return np.maximum(1.0, turnaround / np.maximum(jobs["run_time"].to_numpy(), TAU))


def _whole_edges(total_nodes: int) -> np.ndarray:
    """Logarithmic edges of bins of size, each bin with a whole number in it."""
    edges = np.geomspace(1.0, total_nodes + 1.0, BINS + 1)
    return np.unique(np.ceil(edges * (1.0 - 1e-12)))


def use_by_hour(schedule: Schedule) -> pd.DataFrame:
    """By whole hours from time 0: `utilization`, `cpu_load`; also `waiting` where time-shared."""
    if isinstance(schedule, TimesharedSchedule):
        return schedule.series
    end = HOUR * math.ceil(float(schedule.end_time.max(initial=0.0)) / HOUR)
    held = hourly(occupied_nodes(schedule), HOUR, 0.0, end)
    part = held / schedule.system.total_nodes
    return pd.DataFrame({"utilization": part, "cpu_load": part})


def _tupled(value: Any) -> Any:
    """Lists in lists as tuples in tuples."""
    return tuple(_tupled(item) for item in value) if isinstance(value, list | tuple) else value
