"""Schedules of time-shared machines, and of batch machines in steps; the summary of a long run."""

import json
import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

from cosimlib import checks as check
from cosimlib.metrics import bounded_slowdown, hourly, waiting_jobs
from cosimlib.schedule import Schedule, SharedNodesError
from cosimlib.units import DAY, HOUR, WEEK

BINS = 26
SHORTEST, LONGEST = 10.0, 48 * HOUR
"""Run times between which lengths are binned."""

LEVELS = np.concatenate(
    [np.arange(200) / 200, 1.0 - 0.005 * 10.0 ** -np.linspace(0.1, 4.0, 40), [1.0]]
)
"""Probabilities of the quantiles of slowdown that are kept: evenly, and finer above 0.995."""

DURATIONS = {10: "10 s", 60: "1 min", 600: "10 min", 3_600: "1 h", 14_400: "4 h", 57_600: "16 h"}
DURATIONS |= {172_800: "48 h"}
"""Run times (s) between which jobs are grouped by length, up to two days, and their names."""

BANDS = 6
"""Jobs on a crowded node whose shares are told apart."""
OTHERS = "others"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TimesharedSchedule(Schedule):
    """Schedule of jobs that share nodes, so that each takes longer than its dedicated run time.

    Parameters
    ----------
    workload, system, policy, start_time, end_time
        As of a `Schedule`.
    speed : float
        Capacity of a node, relative to one that is not shared; the rest is overhead.
    spmd : bool
        Whether each job runs everywhere at the speed of its slowest node.
    first, members : np.ndarray
        ``members[first[job]:first[job + 1]]`` are the nodes of a job.
    series : pd.DataFrame
        Means over windows (hours), indexed by their begin in seconds: `utilization`, useful
        node-seconds over those offered; `cpu_load`, jobs per node; `waiting`, queued jobs.
    shares : pd.DataFrame, optional
        Share of each job that runs at one of the moments sampled, a column per job, indexed by
        `time` (s): from each moment on, after all that happens at it; 0 while it does not run.
    """

    rigid: ClassVar[bool] = False
    speed: float
    spmd: bool
    first: np.ndarray
    members: np.ndarray
    series: pd.DataFrame
    shares: pd.DataFrame | None = None

    def nodes_of(self, job: int) -> np.ndarray:
        """The node numbers of a job, ascending where the simulator chose them."""
        return self.members[self.first[job] : self.first[job + 1]]

    @property
    def resolution(self) -> float:  # type: ignore[override]
        """Seconds of a window of the series: an hour, or more where that would be too many."""
        times = self.series.index
        return float(times[1] - times[0]) if len(times) > 1 else HOUR

    def use_by_hour(self) -> pd.DataFrame:
        """The schedule's series: `utilization`, `cpu_load`, `waiting`."""
        return self.series

    @property
    def allocations(self) -> NoReturn:
        """Not defined: no job has nodes for itself.

        Raises
        ------
        SharedNodesError
        """
        raise SharedNodesError(
            f"{self.name}: jobs share nodes, so that counting the nodes of each would count them "
            "several times; take utilization, or the schedule's series"
        )

    @property
    def runs(self) -> pd.DataFrame:
        """Every job's run: `job`, `start`, `end` (s)."""
        jobs = np.arange(len(self.workload))
        return pd.DataFrame({"job": jobs, "start": self.start_time, "end": self.end_time})

    def node_seconds(self, edges: np.ndarray) -> np.ndarray:
        """Node-seconds of useful work from each instant in `edges` (s, ascending) to the next.

        Raises
        ------
        ValueError
            For an edge that cuts a window of the series in which a job runs.
        """
        if not len(self.workload):
            return np.zeros(edges.size - 1)
        width, begin, end = self.resolution, self.start_time.min(), self.end_time.max()
        outside = (edges <= begin) | (edges >= end)
        cuts = ~outside & (edges % width != 0)
        if cuts.any():
            raise ValueError(
                f"{self.name}: t={edges[cuts.argmax()]:.15g} is inside a window of the series; "
                f"expected multiples of {width:.15g} s, or all from the first start to the last end"
            )
        done = self.series["utilization"].to_numpy() * width * self.system.total_nodes
        total = np.append(0.0, np.cumsum(done))
        place = np.clip(edges // width, 0, done.size).astype(np.int64)
        place = np.where(edges <= begin, 0, np.where(edges >= end, done.size, place))
        return np.diff(total[place])


class RunSummary(NamedTuple):
    """Summary of a schedule with millions of jobs, in a few hundred numbers.

    Parameters
    ----------
    policy, data : str
    jobs : int
        Jobs that count: those submitted after the warm-up.
    utilization, cpu_load : float
        In whole hours from the end of the warm-up to the last submission (if there is none,
        from the first start to the last end): useful (batch: held) node-seconds over those offered;
        jobs per node.
    mean_slowdown : float
        Bounded slowdown, turnaround ÷ max(dedicated run time, 10 s).
    waited : float
        Share of jobs that did not start when they were submitted.
    node_seconds : float
        Nodes × time from start to end, of all jobs.
    quantiles : np.ndarray
        Of the slowdown, at `LEVELS`.
    nodes_edges, length_edges : np.ndarray
        Edges of the logarithmic bins of size (nodes) and dedicated run time (s), 26 of each. A bin
        of size without a whole number is joined with the next.
    slowdown_sums, counts : np.ndarray
        By size and length: sum of slowdowns, number of jobs.
    weeks, weekly_utilization, weekly_load : np.ndarray
        End of each day (s), and the means over the week before it.
    correlations : np.ndarray
        Over jobs, of the slowdown with size (first row) and with length (second): Pearson's, that
        of logarithms, and Kendall's of ranks (tau-b). NaN where one of the two is constant.
    """

    policy: str
    data: str
    jobs: int
    utilization: float
    cpu_load: float
    mean_slowdown: float
    waited: float
    node_seconds: float
    quantiles: np.ndarray
    nodes_edges: np.ndarray
    length_edges: np.ndarray
    slowdown_sums: np.ndarray
    counts: np.ndarray
    weeks: np.ndarray
    weekly_utilization: np.ndarray
    weekly_load: np.ndarray
    correlations: np.ndarray

    @property
    def bins(self) -> np.ndarray:
        """Mean slowdown by size (rows) and length; NaN if there is no job."""
        empty = np.full(self.counts.shape, np.nan)
        return np.divide(self.slowdown_sums, self.counts, out=empty, where=self.counts > 0)

    @property
    def most_in_a_week(self) -> float:
        """The greatest weekly mean of the CPU load; NaN if no week ends."""
        return float(self.weekly_load.max()) if self.weekly_load.size else math.nan

    def quantile(self, level: float) -> float:
        """Quantile of the slowdown."""
        return float(np.interp(level, LEVELS, self.quantiles))

    def to_json(self) -> str:
        """The summary as text, for a file."""
        fields = self._asdict().items()
        return json.dumps({k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in fields})

    @classmethod
    def from_json(cls, text: str) -> "RunSummary":
        """The summary whose `to_json` this is."""
        fields: dict[str, Any] = json.loads(text)
        arrays = {k: np.array(v) for k, v in fields.items() if isinstance(v, list)}
        return cls(**(fields | arrays))


def summarize_run(schedule: Schedule, *, warm_up: float = 100 * DAY) -> RunSummary:
    """Summary of one run: means, quantiles and bins of slowdown, weekly utilization.

    Parameters
    ----------
    schedule : Schedule
        Batch or time-shared, its workload with dedicated run times.
    warm_up : float, default 100 days
        Seconds from time 0: jobs submitted before do not count.

    Raises
    ------
    ValueError
        If no job is left.
    """
    jobs = schedule.workload.jobs
    check.seconds("warm_up", warm_up)
    counted = (jobs["submit_time"] >= warm_up).to_numpy()
    if not counted.any():
        last = jobs["submit_time"].max() / DAY
        raise ValueError(
            f"{schedule.workload.name}: no job is submitted after a warm-up of {warm_up / DAY:g} "
            f"days; the last comes at {last:.3g} days: give a shorter one"
        )
    start, end = np.asarray(schedule.start_time), np.asarray(schedule.end_time)
    slowdown = bounded_slowdown(schedule).to_numpy()[counted]
    hours, week = _use(schedule, warm_up)
    total_nodes = schedule.system.total_nodes
    nodes_edges, length_edges, sums, cell_jobs = _binned(jobs[counted], slowdown, total_nodes)
    return RunSummary(
        schedule.policy,
        schedule.workload.name,
        int(counted.sum()),
        hours["utilization"],
        hours["cpu_load"],
        float(slowdown.mean()),
        float((start > jobs["submit_time"].to_numpy())[counted].mean()),
        float(jobs["nodes"].to_numpy() @ (end - start)),
        np.quantile(slowdown, LEVELS),
        nodes_edges,
        length_edges,
        sums,
        cell_jobs,
        week.index.to_numpy(float),
        week["utilization"].to_numpy(),
        week["cpu_load"].to_numpy(),
        _correlations(jobs[counted], slowdown),
    )


def _correlations(jobs: pd.DataFrame, slowdown: np.ndarray) -> np.ndarray:
    """Correlations over jobs of the slowdown with size and length: plain, logarithms, ranks."""
    found = []
    for column in ("nodes", "run_time"):
        values = jobs[column].to_numpy(float)
        logarithms = np.log(np.maximum(values, 1.0)), np.log(slowdown)
        if np.ptp(values) == 0 or np.ptp(slowdown) == 0:
            found.append([math.nan] * 3)
            continue
        by_rank = float(kendalltau(values, slowdown).statistic)
        plain, logs = np.corrcoef(values, slowdown)[0, 1], np.corrcoef(*logarithms)[0, 1]
        found.append([float(plain), float(logs), by_rank])
    return np.array(found)


def _binned(jobs: pd.DataFrame, slowdown: np.ndarray, total_nodes: int) -> tuple[np.ndarray, ...]:
    """Edges of size and of length, and in these bins the sums of slowdowns and numbers of jobs."""
    nodes, length = jobs["nodes"].to_numpy(), jobs["run_time"].to_numpy()
    edges = np.geomspace(1.0, total_nodes + 1.0, BINS + 1)
    # Each bin of size has a whole number in it.
    nodes_edges = np.unique(np.ceil(edges * (1.0 - 1e-12)))
    length_edges = np.geomspace(SHORTEST, max(LONGEST, 1.001 * length.max()), BINS + 1)
    row = np.searchsorted(nodes_edges, nodes, side="right") - 1
    column = np.searchsorted(length_edges, np.maximum(length, SHORTEST), side="right") - 1
    cell, shape = row * BINS + column, (nodes_edges.size - 1, BINS)
    sums = np.bincount(cell, weights=slowdown, minlength=math.prod(shape)).reshape(shape)
    counts = np.bincount(cell, minlength=math.prod(shape)).reshape(shape)
    return nodes_edges, length_edges, sums, counts


def _use(schedule: Schedule, warm_up: float) -> tuple[pd.Series, pd.DataFrame]:
    """Means of the hours that count, and each day the means over the week before it."""
    hours = schedule.use_by_hour()
    last = float(schedule.workload.jobs["submit_time"].max())
    width = float(hours.index[1] - hours.index[0]) if len(hours) > 1 else HOUR

    counted = hours[(hours.index >= warm_up) & (hours.index < last)]
    if not len(counted):
        counted = hours
    # Of the first and the last hour only what is between the first start and the last end.
    bounds = schedule.start_time.min(), schedule.end_time.max()
    begin, end = np.clip([counted.index, counted.index + width], *bounds)
    offered = float((end - begin).sum()) or np.nan
    means = counted[["utilization", "cpu_load"]].sum() * width / offered

    # The mean over a week stands at the end of its last hour.
    week = hours.rolling(max(1, int(WEEK / width)), min_periods=1).mean()
    week.index = week.index + width
    is_day = week.index % max(DAY, width) == 0
    return means, week[is_day & (week.index > warm_up) & (week.index <= last)]


# --- one machine at a moment ----------------------------------------------------------------------


def crowded_node(schedule: TimesharedSchedule, at: float) -> tuple[int, np.ndarray]:
    """Node with the most jobs at an instant, and these jobs.

    Of several such nodes, it is the one whose jobs have the most nodes in total, because other
    nodes slow these jobs; then the one with the lowest number.
    """
    present = np.flatnonzero((schedule.start_time <= at) & (at < schedule.end_time))
    where = [schedule.nodes_of(int(job)) for job in present]
    none = np.empty(0, np.int64)
    occupied, total_nodes = np.concatenate([none, *where]), schedule.system.total_nodes
    sizes = np.concatenate([none, *(np.full(nodes.size, nodes.size) for nodes in where)])
    counts = np.bincount(occupied, minlength=total_nodes)
    widths = np.bincount(occupied, sizes, minlength=total_nodes)
    node = int(np.lexsort((-widths, -counts))[0])
    there = [node in nodes for nodes in where]
    return node, present[np.array(there, bool)]


def share_table(schedule: TimesharedSchedule, at: float) -> pd.DataFrame:
    """Shares of the jobs on the most crowded node, before and after an instant.

    The share of an SPMD job is what it gets of this node. Other jobs have a mean share over all
    their nodes, so their shares may add up to more than one node.

    Parameters
    ----------
    schedule : TimesharedSchedule
        With `shares`, which say from when to when.
    at : float
        The instant, seconds.

    Returns
    -------
    pd.DataFrame
        Indexed by hours, a row wherever a share changes: a column for each of up to `BANDS` jobs
        that are there at the instant, those that have had the most, in order of their starts; and
        ``"others"``, the sum of all other jobs that ever are on this node.
    """
    check.instance("schedule", schedule, TimesharedSchedule)
    if schedule.shares is None:
        raise ValueError(f"{schedule.name}: no shares are kept; simulate with sample=")
    node, meeting = crowded_node(schedule, at)
    ever = [job for job in schedule.shares.columns if node in schedule.nodes_of(job)]
    shares = schedule.shares[ever]
    most = shares.sum().reindex(meeting).fillna(0.0).sort_values(ascending=False, kind="stable")
    drawn = sorted(most.index[:BANDS], key=lambda job: (schedule.start_time[job], job))
    table = shares.reindex(columns=drawn, fill_value=0.0)
    table = table.assign(**{OTHERS: shares.drop(columns=drawn, errors="ignore").sum(axis=1)})
    changes = (table != table.shift()).any(axis=1).to_numpy(copy=True)
    changes[-1:] = True
    return table[changes].set_axis(table.index[changes] / HOUR)


def crowd_table(schedule: Schedule) -> pd.DataFrame:
    """Hourly table: `cpu_load` (jobs per node; at most 1 in batch) and `waiting` jobs."""
    check.instance("schedule", schedule, Schedule)
    table = schedule.use_by_hour()
    if "waiting" not in table:
        queued = hourly(waiting_jobs(schedule), HOUR, 0.0, HOUR * len(table))
        table = table.assign(waiting=queued)
    return table[["cpu_load", "waiting"]].set_axis(table.index / HOUR)


def ratio_table(batch: Schedule, shared: Schedule) -> pd.DataFrame:
    """Mean slowdown under `batch` ÷ mean slowdown under `shared`, one row per size and length.

    Returns
    -------
    pd.DataFrame
        `nodes` and `run_time` from which a bin goes, up to the next power of two and the next of
        `DURATIONS`; `jobs`, `batch`, `shared` (mean slowdowns) and `ratio`. Only bins with jobs.
    """
    check.instance("batch", batch, Schedule)
    jobs, lengths = shared.workload.jobs, np.array(list(DURATIONS)[:-1])
    place = np.searchsorted(lengths, jobs["run_time"].clip(lower=lengths[0]), side="right") - 1
    table = pd.DataFrame(
        {
            "nodes": 2 ** np.log2(jobs["nodes"].to_numpy()).astype(np.int64),
            "run_time": lengths[place],
            "batch": bounded_slowdown(batch),
            "shared": bounded_slowdown(shared),
        }
    )
    bins = table.groupby(["nodes", "run_time"])
    means = bins.mean().assign(jobs=bins.size()).reset_index()
    means = means.assign(ratio=means["batch"] / means["shared"])
    return means[["nodes", "run_time", "jobs", "batch", "shared", "ratio"]]
