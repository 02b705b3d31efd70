"""Summary of a run of millions of jobs: the few hundred numbers that figures and claims need."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cosimlib import checks as check
from cosimlib.metrics import bounded_slowdown
from cosimlib.schedule import Schedule
from cosimlib.units import DAY, HOUR, WEEK
from cosimlib.workload import Workload

BINS = 26
"""Bins of size and of length."""

SHORTEST, LONGEST = 10.0, 48 * HOUR
"""Run times between which lengths are binned."""

LEVELS = np.concatenate(
    [np.arange(200) / 200, 1.0 - 0.005 * 10.0 ** -np.linspace(0.1, 4.0, 40), [1.0]]
)
"""Probabilities at which slowdowns' quantiles are kept: evenly, and finer above 0.995."""


@dataclass(frozen=True, eq=False)
class RunSummary:
    """Summary of a schedule, jobs submitted in the warm-up left out.

    Parameters
    ----------
    policy, data : str
    jobs : int
        Jobs that are counted.
    utilization, cpu_load : float
        In whole hours from the end of the warm-up to the last submission (where there is none,
        from the first start to the last end): useful (batch: held) node-seconds over those offered;
        jobs per node.
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
        """Quantile of the slowdown."""
        return float(np.interp(level, LEVELS, self.quantiles))

    def as_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, for a file."""
        return asdict(self)

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> "RunSummary":
        """The summary whose `as_dict` this is."""
        return cls(**{name: _tupled(value) for name, value in fields.items()})


def summarize_run(schedule: Schedule, *, warm_up: float = 100 * DAY) -> RunSummary:
    """Summary of one run: means, quantiles and bins of slowdown, weekly use.

    Parameters
    ----------
    schedule : Schedule
        Batch or time-shared, its workload with dedicated run times.
    warm_up : float, default 100 days
        Seconds from time 0: jobs submitted before do not count.
    """
    check_warm_up(schedule.workload, warm_up)
    jobs = schedule.workload.jobs
    counted = (jobs["submit_time"] >= warm_up).to_numpy()
    slowdown = bounded_slowdown(schedule).to_numpy()[counted]
    nodes, length = jobs["nodes"].to_numpy()[counted], jobs["run_time"].to_numpy()[counted]
    nodes_edges = _whole_edges(schedule.system.total_nodes)
    length_edges = np.geomspace(SHORTEST, max(LONGEST, 1.001 * length.max()), BINS + 1)
    row = np.searchsorted(nodes_edges, nodes, side="right") - 1
    column = np.searchsorted(length_edges, np.maximum(length, SHORTEST), side="right") - 1
    cell, shape = row * BINS + column, (nodes_edges.size - 1, BINS)
    sums = np.bincount(cell, weights=slowdown, minlength=math.prod(shape)).reshape(shape)
    counts = np.bincount(cell, minlength=math.prod(shape)).reshape(shape)
    series = schedule.use_by_hour()
    last = float(jobs["submit_time"].max())
    inside = series[(series.index >= warm_up) & (series.index < last)]
    inside = inside if len(inside) else series
    width = float(series.index[1] - series.index[0]) if len(series) > 1 else HOUR
    start_time, end_time = np.asarray(schedule.start_time), np.asarray(schedule.end_time)
    # Of the first and the last window only what is between the first start and the last end.
    within = np.clip([inside.index, inside.index + width], start_time.min(), end_time.max())
    offered = float((within[1] - within[0]).sum()) or np.nan
    week = series.rolling(max(1, int(WEEK / width)), min_periods=1).mean()
    week.index = week.index + width
    week = week[(week.index % max(DAY, width) == 0) & (week.index > warm_up) & (week.index <= last)]
    return RunSummary(
        schedule.policy,
        schedule.workload.name,
        int(counted.sum()),
        float(inside["utilization"].sum() * width / offered),
        float(inside["cpu_load"].sum() * width / offered),
        float(slowdown.mean()),
        float((start_time > jobs["submit_time"].to_numpy())[counted].mean()),
        *(_tupled(value.tolist()) for value in (
            np.quantile(slowdown, LEVELS), nodes_edges, length_edges, sums, counts,
            week.index.to_numpy(float), week["utilization"].to_numpy(),
            week["cpu_load"].to_numpy(),
        )),
    )  # fmt: skip


def check_warm_up(workload: Workload, warm_up: float) -> None:
    """Validate a warm-up: seconds, after which jobs are submitted."""
    check.seconds("warm_up", warm_up)
    submit_time = workload.jobs["submit_time"]
    if not (submit_time >= warm_up).any():
        raise ValueError(
            f"{workload.name}: no job is submitted after a warm-up of {warm_up / DAY:g} days; the "
            f"last comes at {submit_time.max() / DAY:.3g} days: give a shorter one"
        )


def _whole_edges(total_nodes: int) -> np.ndarray:
    """Logarithmic edges of bins of size, each bin with a whole number in it."""
    edges = np.geomspace(1.0, total_nodes + 1.0, BINS + 1)
    return np.unique(np.ceil(edges * (1.0 - 1e-12)))


def _tupled(value: Any) -> Any:
    """Lists in lists as tuples in tuples."""
    return tuple(_tupled(item) for item in value) if isinstance(value, list | tuple) else value
