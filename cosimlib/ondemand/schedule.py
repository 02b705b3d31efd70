"""Schedules with bursts: intervals of every job, evictions, node-hours by use.

*Filler containers* work on the nodes that batch jobs and bursts leave idle. A container takes one
node as soon as it idles, and leaves it at once when a job or burst is to start there, or nodes are
to be held for one. It loses nothing, as it is saved while it runs on; it is useful from `start_up`
seconds after it took the node on (see `cosimlib.filling` for what saving costs: 2 to 4 % of the
time). No job or burst ever waits for it: their schedule is the same with containers as without.
Nodes are given back by the containers that came last. So that bursts find nodes, keep some for them
(policy `reserve`): on these, containers work while no burst does.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.eviction.problem import ACTIONS
from cosimlib.kernels.jit import allocating_kernel
from cosimlib.kernels.steps import step_function
from cosimlib.metrics import node_hours_by_use
from cosimlib.ondemand.state import COMPUTE
from cosimlib.schedule import USES, Schedule, allocation_table
from cosimlib.system import System
from cosimlib.units import HOUR
from cosimlib.workload import InvalidWorkloadError, Workload

KINDS = ("read", "compute", "write", "stand", "hold", "burst", "turn")
"""Kinds of stretches by their number."""

RUN_USE, HOLD_USE, KILLED_USE, CHECKPOINT_USE, REREAD_USE, CONTAINER_USE = (
    USES.index(use) for use in ("run", "hold", "killed", "checkpoint", "reread", "container")
)

USE_OF_KIND = np.array([REREAD_USE, RUN_USE, CHECKPOINT_USE, HOLD_USE, HOLD_USE, RUN_USE, HOLD_USE])
"""The use of each of `KINDS`; what a job computes may get lost."""

LEDGER = ("batch", "bursts", "containers", "lost", "writing", "blocked", "rereading", "idle")
"""Uses of node-hours: work of batch jobs that is kept, of bursts, of filler containers; work to be
done again; checkpoints written; nodes that stand still for a burst, or for the turn of who shares
them; checkpoints read; idle nodes."""

OVERHEAD = ("lost", "writing", "blocked", "rereading")
"""What evictions cost."""

EVICTS_NOBODY = ("wait", "reserve", "share")
"""Mechanisms by which no job is evicted."""

WITHOUT_WRITES = ("kill", "preempt", "shrink")
"""Mechanisms by which jobs are evicted without a checkpoint."""

CHANGES_SPEED = ("shrink", "share")
"""Mechanisms under which jobs go slower: all times are rounded to `state.GRAIN`, a millionth."""

LONGEST_DELAY = 900.0
"""Of bursts without the column: the paper's latest deadline, seconds."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class OnDemandSchedule(Schedule):
    """Schedule of batch jobs and on-demand bursts; times are first start and last end.

    Parameters
    ----------
    workload : Workload
        Of batch jobs and bursts together.
    on_demand : np.ndarray
        Whether each job is a burst.
    mechanism : str
        How bursts get their nodes, one of `policies.POLICIES`; `policy` names it with its knobs.
    stretches : pd.DataFrame
        What each job did, one row per stretch, in order of its end: `kind`, one of `KINDS`, `job`,
        `attempt` (0, 1, …, of a job), `start`, `end` (s), `nodes`, progress `before` and `after`
        (s of its run time). Of kind `hold` are nodes held for the burst named; `stand` and `write`
        are jobs that make way, until and while their checkpoint is written; `turn` are nodes that
        stand still because those who share them have their turn. A burst's turns since the sharing
        last changed are shown as one, and before those of its hosts.
    evictions : pd.DataFrame
        One row per eviction: `job`, `attempt`, `burst`, `action` (`kill`, `app` or `sys`),
        `decided`, `since` (when it stopped), `time`, and the progress `done` and `kept` (s).
    checkpoints : pd.DataFrame
        `interval`, `app_write`, `sys_write` (s) of each job.
    reserved : int
        Nodes kept for bursts.
    least_nodes : np.ndarray, optional
        Nodes that each job may shrink to.
    start_up : float, optional
        Seconds that a filler container takes to start; with none, nodes that nobody needs idle.
    """

    rigid: ClassVar[bool] = False
    on_demand: np.ndarray
    mechanism: str
    stretches: pd.DataFrame
    evictions: pd.DataFrame
    checkpoints: pd.DataFrame
    reserved: int = 0
    least_nodes: np.ndarray | None = None
    start_up: float | None = None

    @cached_property
    def allocations(self) -> pd.DataFrame:
        """Nodes held over time: `run`, `killed` (to be done again), `checkpoint`, `reread`, `hold`.

        What a run computes after the checkpoint that it later starts from is `killed`; of `hold`
        are nodes held for a burst, whose job is named, and nodes that stand still, to make way or
        for the turn of others. Of `container`, with job −1, are nodes on which containers work.
        """
        rows = self._uses()
        if self.start_up is not None:
            rows = np.concatenate([rows, self._containers(rows)])
        use = pd.Categorical.from_codes(rows[:, 4].astype(np.int8), categories=list(USES))
        return allocation_table(rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3], use)

    def _uses(self) -> np.ndarray:
        """Rows of job, start, end, nodes, use: stretches, cut where what is computed gets lost."""
        table, kind = self.stretches, self.stretches["kind"].cat.codes.to_numpy()
        job, nodes, start, end, before = (
            table[name].to_numpy() for name in ("job", "nodes", "start", "end", "before")
        )
        speed = nodes / self.workload.jobs["nodes"].to_numpy()[job]
        computes = kind == COMPUTE
        cut = end.copy()
        until_lost = (self._kept() - before)[computes] / speed[computes]
        lost_from = np.maximum(start[computes], start[computes] + until_lost)
        cut[computes] = np.minimum(end[computes], lost_from)
        use = USE_OF_KIND[kind]
        parts = np.empty((len(table), 2, 5))
        parts[:, 0] = np.column_stack([job, start, cut, nodes, use])
        parts[:, 1] = np.column_stack([job, cut, end, nodes, np.full(len(table), KILLED_USE)])
        rows = parts.reshape(-1, 5)
        return rows[(rows[:, 1] < rows[:, 2]) & (rows[:, 3] > 0)]

    def _containers(self, rows: np.ndarray) -> np.ndarray:
        """The rows of containers that work on what these rows leave idle."""
        begin, end = self.span
        if not begin < end:
            return rows[:0]
        idle = step_function(
            np.append(rows[:, 1], begin),
            np.append(rows[:, 2], end),
            np.append(-rows[:, 3], self.total_nodes),
        )
        return _containers(*idle, float(self.start_up or 0.0))

    def _kept(self) -> np.ndarray:
        """Progress of each stretch's attempt that was not lost: infinite if it completed."""
        evicted, kept = attempt_keys(self.evictions), self.evictions["kept"].to_numpy()
        order, attempts = np.argsort(evicted, kind="stable"), attempt_keys(self.stretches)
        evicted, kept = np.append(evicted[order], -1), np.append(kept[order], np.inf)
        place = np.searchsorted(evicted[:-1], attempts)
        return np.where(evicted[place] == attempts, kept[place], np.inf)

    @cached_property
    def bursts(self) -> pd.DataFrame:
        """The bursts, by job: times, nodes, `delay` of the start (s), whether it is `missed`."""
        jobs = self.jobs[self.on_demand]
        if "longest_delay" not in jobs:
            jobs = jobs.assign(longest_delay=np.nan)
        table = jobs[["submit_time", "run_time", "nodes", "longest_delay"]]
        delay = jobs["wait_time"].rename("delay")
        return table.assign(delay=delay, missed=delay > table["longest_delay"])


def ledger(
    schedule: OnDemandSchedule, *, start: float | None = None, end: float | None = None
) -> pd.Series:
    """Node-hours by use (`LEDGER`) in a window; their sum is what the machine offers.

    Parameters
    ----------
    schedule : OnDemandSchedule
    start, end : float, optional
        Seconds; by default from the first submission to the last end.

    Examples
    --------
    >>> import cosimlib as cs
    >>> workload = cs.synthetic.theta(200, seed=0)
    >>> bursts = cs.ondemand.draw_bursts(workload, rate=4, nodes=1024, seed=0)
    >>> schedule = cs.simulate_ondemand(workload, workload.machine, bursts, policy="kill")
    >>> cs.ondemand.ledger(schedule).round()
    use
    batch         172533.0
    bursts          8192.0
    containers         0.0
    lost            2172.0
    writing            0.0
    blocked            0.0
    rereading        392.0
    idle           73156.0
    Name: node_hours, dtype: float64
    """
    first, last = schedule.span
    start, end = first if start is None else start, last if end is None else end
    if not start < end:
        return pd.Series(0.0, index=pd.Index(LEDGER, name="use"), name="node_hours")
    by_use = node_hours_by_use(schedule, start=start, end=end)
    table = schedule.allocations
    of_bursts = schedule.on_demand[table["job"].to_numpy()] & (table["use"] == "run").to_numpy()
    bursts = float(schedule.held(start, end)[of_bursts].sum()) / HOUR
    names = {
        "containers": "container",
        "lost": "killed",
        "writing": "checkpoint",
        "blocked": "hold",
        "rereading": "reread",
        "idle": "idle",
    }
    hours = {name: float(by_use.get(use, 0.0)) for name, use in names.items()}
    hours |= {"batch": float(by_use.get("run", 0.0)) - bursts, "bursts": bursts}
    return pd.Series(hours, name="node_hours").reindex(list(LEDGER)).rename_axis("use")


def measure(schedule: OnDemandSchedule) -> dict[str, float]:
    """Metrics by which schedules with bursts are compared, in one row.

    Returns
    -------
    dict
        `bursts`; of them the shares `missed` and `instant` (started when they came), the mean
        `delay` (s), and `stretch`, the mean of turnaround ÷ run time; `evictions` per burst; node-
        hours per burst of each of `OVERHEAD` and their sum `overhead`; mean bounded `slowdown` and
        mean `wait` (s) of batch jobs, and `malleable`, the mean slowdown of those that could
        shrink; `kept` and `filled`, the shares of the machine's node-hours, from the first
        submission to the last, that are work of batch jobs or bursts, and of containers. NaN if
        there is nothing to take a mean of.

    Examples
    --------
    >>> import cosimlib as cs
    >>> workload = cs.synthetic.theta(200, seed=0)
    >>> bursts = cs.ondemand.draw_bursts(workload, rate=4, nodes=1024, seed=0)
    >>> schedule = cs.simulate_ondemand(workload, workload.machine, bursts, policy="kill")
    >>> round(cs.ondemand.measure(schedule)["overhead"], 1)
    320.5
    """
    bursts, batch = schedule.bursts, ~schedule.on_demand
    run_time = schedule.workload.jobs["run_time"]
    stretch = schedule.jobs["turnaround_time"] / run_time
    row = {
        "bursts": float(len(bursts)),
        "missed": float(bursts["missed"].mean()),
        "instant": float((bursts["delay"] == 0).mean()) if len(bursts) else np.nan,
        "delay": float(bursts["delay"].mean()),
        "stretch": float(stretch.where(run_time > 0)[schedule.on_demand].mean()),
        "evictions": _per(len(schedule.evictions), len(bursts)),
    }
    hours = ledger(schedule)
    row |= {name: _per(float(hours[name]), len(bursts)) for name in OVERHEAD}
    row["overhead"] = sum(row[name] for name in OVERHEAD)
    slowdown = schedule.bounded_slowdown()
    row["slowdown"] = float(slowdown[batch].mean())
    if schedule.least_nodes is not None:
        fewer = schedule.least_nodes < schedule.workload.jobs["nodes"].to_numpy()
        row["malleable"] = float(slowdown[batch & fewer].mean())
    row["wait"] = float(schedule.jobs["wait_time"][batch].mean())
    submit = schedule.workload.jobs["submit_time"]
    window = ledger(schedule, start=float(submit.min()), end=float(submit.max()))
    row["kept"] = _per(float(window["batch"] + window["bursts"]), float(window.sum()))
    row["filled"] = _per(float(window["containers"]), float(window.sum()))
    return row


def _per(amount: float, number: float) -> float:
    return amount / number if number else np.nan


def attempt_keys(table: pd.DataFrame) -> np.ndarray:
    """One number for the `job` and `attempt` of each row, ascending with both."""
    return (table["job"].to_numpy() << 32) + table["attempt"].to_numpy()


def stretch_table(rows: np.ndarray) -> pd.DataFrame:
    """`OnDemandSchedule.stretches` of the log's rows (`state.STRETCH`)."""
    names = ("job", "attempt", "start", "end", "nodes", "before", "after")
    kind = pd.Categorical.from_codes(rows["kind"].astype(np.int8), categories=list(KINDS))
    return pd.DataFrame({"kind": kind} | {name: rows[name].copy() for name in names})


def eviction_table(rows: np.ndarray) -> pd.DataFrame:
    """`OnDemandSchedule.evictions` of the log's rows (`state.EVICTION`)."""
    names = ("job", "attempt", "burst", "action", "decided", "since", "time", "done", "kept")
    table = pd.DataFrame({name: rows[name].copy() for name in names})
    action = pd.Categorical.from_codes(table["action"], categories=list(ACTIONS))
    return table.assign(action=action)


@allocating_kernel
def _containers(times: np.ndarray, idle: np.ndarray, start_up: float) -> np.ndarray:
    """Rows of job (−1), start, end, nodes, use: the useful time of containers.

    `idle` nodes from each of `times` to the next.
    """
    begins, counts, size = np.empty(times.size), np.empty(times.size, np.int64), 0
    rows, n = np.empty((2 * times.size, 5)), 0
    held = 0
    for place in range(times.size):
        now, wanted = times[place], max(int(idle[place]), 0)
        if wanted > held:
            begins[size], counts[size] = now, wanted - held
            size += 1
        while wanted < held:
            leave = min(held - wanted, counts[size - 1])
            if begins[size - 1] + start_up < now:
                rows[n, 0], rows[n, 1], rows[n, 2] = -1.0, begins[size - 1] + start_up, now
                rows[n, 3], rows[n, 4] = leave, CONTAINER_USE
                n += 1
            counts[size - 1] -= leave
            held -= leave
            if counts[size - 1] == 0:
                size -= 1
        held = wanted
    return rows[:n]


def merge(
    workload: Workload, bursts: Workload | None, system: System
) -> tuple[Workload, np.ndarray]:
    """One workload of batch jobs and bursts, and the rows of the batch jobs in it."""
    batch = workload.jobs.drop(columns="mate", errors="ignore").assign(on_demand=False)
    if bursts is None or not len(bursts):
        return replace(workload, jobs=batch), np.arange(len(batch))
    extra = _burst_table(bursts, system)
    table = pd.concat([batch, extra], ignore_index=True)
    order = np.argsort(table["submit_time"].to_numpy(), kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    joined = replace(workload, jobs=table.iloc[order], name=f"{workload.name} + {bursts.name}")
    return joined, place[: len(batch)]


def _burst_table(bursts: Workload, system: System) -> pd.DataFrame:
    """The bursts' jobs with all their columns filled in, and checked."""
    bursts.arrays(system, requested_time=False)
    jobs = bursts.jobs.drop(columns="mate", errors="ignore")
    submit, unknown = jobs["submit_time"], pd.Series(np.nan, jobs.index)
    delay = jobs.get("longest_delay", pd.Series(LONGEST_DELAY, jobs.index)).astype("float64")
    notice, expected = (
        jobs.get(name, unknown).astype("float64") for name in ("notice_time", "expected_time")
    )
    rules = (
        ("longest_delay", delay, (delay >= 0) & (delay < np.inf), "seconds from 0"),
        (
            "notice_time",
            notice,
            notice.isna() | ((notice >= 0) & (notice <= submit)),
            "seconds from 0 to its submit_time, or NaN for no notice",
        ),
        (
            "expected_time",
            expected,
            expected.isna() | ((expected >= notice) & (expected < np.inf)),
            "seconds from its notice_time on, or NaN for no notice",
        ),
    )
    for name, values, fine, text in rules:
        check.rows(name, values, fine, text, row=bursts.label, error=InvalidWorkloadError)
    requested = jobs["requested_time"].fillna(jobs["run_time"].clip(lower=1.0))
    return jobs.assign(
        on_demand=True,
        requested_time=requested,
        longest_delay=delay,
        notice_time=notice,
        expected_time=expected.fillna(submit),
    )
