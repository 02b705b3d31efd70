"""Schedule of jobs on nodes that they share: its audit, and what it leaves of each resource.

Three measures: the part of each resource that is used; *fragmentation*, the idle parts of GPUs that
typical requests cannot use, as Weng et al. define it (`cosimlib.nodes.placement`); and *stranded*
GPUs, the idle parts on nodes on which no waiting job fits. Each node is judged by itself: a job
that needs two nodes may fit on one of them, and wait.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.audit import (
    InfeasibleScheduleError,
    audit_rule,
    check_columns,
    check_times,
    demand,
    demand_of_jobs,
)
from cosimlib.kernels.jit import allocating_kernel, kernel
from cosimlib.kernels.records import record_type, records
from cosimlib.kernels.steps import step_function
from cosimlib.nodes.placement import (
    FIRST_GPU,
    GIVE_BACK,
    TAKE,
    WHOLE,
    Cluster,
    change,
    fits,
    measure,
)
from cosimlib.nodes.requests import GIGABYTE, cluster_of, gpu_numbers, requests_of, typical_requests
from cosimlib.placement import lowest_blocks
from cosimlib.schedule import Schedule, SharedNodesError, allocation_table
from cosimlib.units import HOUR

END, SUBMISSION, START = range(3)
"""Kinds of events, in their order at one instant."""
CHANGE = record_type(floats="time", integers="kind job")
MOMENT = record_type(floats="time idle fragmented stranded")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class NodeSchedule(Schedule):
    """The schedule of jobs that share nodes, and where each job runs.

    Parameters
    ----------
    workload, system, policy, start_time, end_time
        As of a `Schedule`.
    node, gpu_set : np.ndarray
        The nodes of each job, job after job, and its GPUs on each of them as bits.
    """

    node: np.ndarray
    gpu_set: np.ndarray

    @cached_property
    def places(self) -> pd.DataFrame:
        """One row per job and node: `job`, `node`, `start`, `end` (s), `gpus` (their numbers)."""
        job = self._job_of_place
        start, end = self.start_time[job], self.end_time[job]
        gpus = pd.Series([gpu_numbers(one) for one in self.gpu_set], dtype=object)
        return pd.DataFrame(
            {"job": job, "node": self.node, "start": start, "end": end, "gpus": gpus}
        )

    @cached_property
    def allocations(self) -> pd.DataFrame:
        """Nodes held, one row per job and node, with the number of the `node`.

        Raises
        ------
        SharedNodesError
            If jobs share a node.
        """
        table = self.places
        longer = table[table["end"] > table["start"]].sort_values(["node", "start"])
        before = longer.shift()
        if ((before["node"] == longer["node"]) & (before["end"] > longer["start"])).any():
            raise SharedNodesError(
                f"{self.name}: jobs share nodes, so that counting the nodes of each would count "
                "them several times; take places, or resource_utilization"
            )
        job, start, end = (table[name].to_numpy() for name in ("job", "start", "end"))
        held = allocation_table(job, start, end, np.ones(job.size, np.int64))
        return held.assign(node=table["node"])

    def blocks(self, start: float, end: float) -> pd.DataFrame:
        """Where jobs run in a window, as a chart draws it: each node is divided among its jobs.

        Returns
        -------
        pd.DataFrame
            `job`, `start`, `end` (s, cut to the window), `node` (its number and the part of it that
            lies below) and `nodes` (which part of it).
        """
        table = self.places
        table = table[(table["end"] > table["start"]) & (table["end"] > start)]
        table = table[table["start"] < end].sort_values("start").drop(columns="gpus")
        parts = [pd.DataFrame(columns=[*table.columns, "nodes"])]
        for node, here in table.groupby("node"):
            one_each = np.ones(len(here), np.int64)
            level = lowest_blocks(here["start"], here["end"], one_each, len(here))
            level = level.sort_values("row")["node"].to_numpy()
            height = 1 / (level.max() + 1)
            parts.append(here.assign(node=node + level * height, nodes=height))
        cut = pd.concat(parts[1:] or parts, ignore_index=True)
        return cut.assign(start=cut["start"].clip(lower=start), end=cut["end"].clip(upper=end))

    @property
    def runs(self) -> pd.DataFrame:
        """Every job's run: `job`, `start`, `end` (s)."""
        jobs = np.arange(len(self.workload))
        return pd.DataFrame({"job": jobs, "start": self.start_time, "end": self.end_time})

    def node_seconds(self, edges: np.ndarray) -> np.ndarray:
        """Node-seconds in which a node has a job, from each instant in `edges` (s) to the next."""
        table = self.places.sort_values(["node", "start"])
        node, start, end = (table[name].to_numpy() for name in ("node", "start", "end"))
        latest = table.groupby("node")["end"].cummax().to_numpy()
        opens = np.append(True, (node[1:] != node[:-1]) | (start[1:] > latest[:-1]))[: node.size]
        first = np.flatnonzero(opens)
        closes = np.maximum.reduceat(end, first) if first.size else end
        times, busy = step_function(start[first], closes, np.ones(first.size, np.int64))
        area = np.append(0.0, np.cumsum(busy[:-1] * np.diff(times)))
        return np.diff(np.interp(edges, times, area)) if times.size else np.zeros(edges.size - 1)

    @cached_property
    def _job_of_place(self) -> np.ndarray:
        """The job of each entry of `node`."""
        return np.repeat(np.arange(len(self.workload)), self.workload.jobs["nodes"])


# --- audit ----------------------------------------------------------------------------------------


@audit_rule.register
def _(schedule: NodeSchedule) -> None:
    """Jobs run as long as they should, on nodes that have what they ask for at each instant."""
    check_times(schedule)
    check_places(schedule)
    check_resources(schedule)


def check_places(schedule: NodeSchedule) -> None:
    """Raise if a job is not on as many different nodes, and GPUs of allowed models, as it asks for.

    Raises
    ------
    InfeasibleScheduleError
        Naming the job, and its node.
    """
    check_columns(schedule)
    wanted, job = schedule.workload.jobs["nodes"].sum(), schedule._job_of_place
    for name in ("node", "gpu_set"):
        values = getattr(schedule, name)
        if values.shape != (wanted,) or values.dtype.kind not in "iu":
            raise InfeasibleScheduleError(
                f"{schedule.policy}: {name} has {values.size} values of {values.dtype}; expected "
                f"{wanted} whole numbers: one for each node of each job"
            )
    node, total = schedule.node, schedule.system.total_nodes
    distinct, number = requests_of(schedule.workload)
    asked = distinct.iloc[number[job]].reset_index(drop=True)
    exists = (node >= 0) & (node < total)
    own = schedule.system.nodes.iloc[np.where(exists, node, 0)].reset_index(drop=True)
    enough = asked["cores"] <= np.rint(own["cores"] * WHOLE)
    enough &= asked["memory"] <= np.rint(own["memory"].fillna(np.inf) * GIGABYTE)
    models = zip(asked["models"].str.split("|"), own["model"], strict=True)
    allowed = [not names[0] or one in names for names, one in models]
    chosen = np.array([int(bits).bit_count() for bits in schedule.gpu_set])
    rules = (
        (exists, "is on a node that does not exist"),
        (~pd.DataFrame({"job": job, "node": node}).duplicated(), "is twice on a node"),
        (chosen == asked["gpus"], "has not as many GPUs as it asks for"),
        (schedule.gpu_set >> own["gpus"] == 0, "is on a GPU that does not exist"),
        (allowed, "is on GPUs of a model that it does not allow"),
        (enough, "asks for more cores or memory than its node has"),
    )
    numbers = schedule.places["gpus"].to_numpy()
    for fine, wrong in rules:
        demand_of_jobs(schedule, fine, wrong + ": node {}, GPUs {}", node, numbers, job=job)


def check_resources(schedule: NodeSchedule) -> None:
    """Raise for the first instant at which a node has less of a resource than its jobs take.

    Raises
    ------
    InfeasibleScheduleError
        Naming the resource, the node, the instant, and both amounts.
    """
    table, held = schedule.system.nodes, _held(schedule)
    capacity = {
        "cores": np.rint(table["cores"].to_numpy() * WHOLE),
        "memory": np.rint(table["memory"].fillna(np.inf).to_numpy() * GIGABYTE),
    }
    for name, most in capacity.items():
        _check_resource(schedule, held, name, held["node"].to_numpy(), most[held["node"]])
    parts = held.explode("gpus").dropna(subset="gpus")
    key = parts["node"].to_numpy() * 64 + parts["gpus"].to_numpy(np.int64)
    _check_resource(schedule, parts, "share", key, np.full(len(parts), WHOLE))


def _check_resource(
    schedule: NodeSchedule, held: pd.DataFrame, name: str, key: np.ndarray, most: np.ndarray
) -> None:
    """Raise if what rows of one key hold together is ever more than they may."""
    rows, amount = np.tile(np.arange(len(held)), 2), held[name].to_numpy()
    time = np.concatenate([held["start"], held["end"]])
    step = np.concatenate([amount, -amount])
    order = np.lexsort((step, time, key[rows]))
    rows, step = rows[order], step[order]
    total = np.cumsum(step)  # over all keys: what others hold has ended, so that they add 0
    what = {"cores": "cores", "memory": "GB", "share": "of a GPU"}[name]
    unit = GIGABYTE if name == "memory" else WHOLE
    message = "jobs take {:.10g} {} of node {} at t={:.15g}; it has {:.10g}"
    amounts = total / unit, what, held["node"].to_numpy()[rows], time[order], most[rows] / unit
    demand(schedule, total <= most[rows], message, *amounts)


def _held(schedule: NodeSchedule) -> pd.DataFrame:
    """`places` with what each job takes of its node: `cores`, `share` (thousandths), `memory`."""
    distinct, number = requests_of(schedule.workload)
    table = schedule.places
    asked = distinct.iloc[number[table["job"]]].reset_index(drop=True)
    own = np.rint(schedule.system.nodes["cores"].to_numpy() * WHOLE)[table["node"]]
    cores = np.where(asked["cores"] < 0, own, asked["cores"]).astype(np.int64)
    return table.assign(cores=cores, memory=asked["memory"], share=asked["share"])


# --- measures -------------------------------------------------------------------------------------


def resource_utilization(
    schedule: NodeSchedule, start: float | None = None, end: float | None = None
) -> pd.Series:
    """Part of each resource that jobs hold: of `nodes` (in use at all), `cores`, `memory`, `gpus`.

    Parameters
    ----------
    schedule : NodeSchedule
    start, end : float, optional
        A window, seconds; by default from the first submission to the last end.

    Returns
    -------
    pd.Series
        From 0 to 1; NaN for a resource that the system has not, or whose amount is unknown.
    """
    check.instance("schedule", schedule, NodeSchedule)
    first, last = schedule.span
    first, last = first if start is None else start, last if end is None else end
    check.window(first, last)
    held, table = _held(schedule), schedule.system.nodes
    seconds = np.maximum(held["end"].clip(upper=last) - held["start"].clip(lower=first), 0.0)
    gpus = held["share"] * held["gpus"].map(len) / WHOLE
    used = {
        "cores": (held["cores"] / WHOLE, table["cores"]),
        "memory": (held["memory"] / GIGABYTE, table["memory"]),
        "gpus": (gpus, table["gpus"]),
    }
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = {
            name: float((amount * seconds).sum())
            / np.float64(most.sum(skipna=False) * (last - first))
            for name, (amount, most) in used.items()
        }
    nodes = {"nodes": schedule.utilization(first, last)}
    return pd.Series(nodes | parts, name="utilization")


def idle_gpus(schedule: NodeSchedule) -> pd.DataFrame:
    """Idle GPUs over time, and how many of them are fragments, and how many are stranded.

    Parameters
    ----------
    schedule : NodeSchedule
        Fragmentation is measured by the commonest requests of its workload.

    Returns
    -------
    pd.DataFrame
        By time (s), from each instant to the next: `idle` GPUs, parts of GPUs counted as parts;
        `fragmented`, those that typical requests cannot use, and `stranded`, those that no waiting
        job can use on its node, 0 while no job waits for GPUs.
    """
    check.instance("schedule", schedule, NodeSchedule)
    workload = schedule.workload
    distinct, number = requests_of(workload)
    cluster = cluster_of(schedule.system, distinct, typical_requests(workload), "first_fit")
    start, end = schedule.start_time, schedule.end_time
    time = np.concatenate([end, workload.jobs["submit_time"], start])
    kind = np.repeat([END, SUBMISSION, START], len(workload))
    order = np.lexsort((kind, time))
    changes = records(
        time.size, CHANGE, time=time[order], kind=kind[order], job=order % max(1, len(workload))
    )
    changes = changes[(end > start)[changes.job]]  # jobs of no length hold nothing, nor wait
    first = np.concatenate([[0], np.cumsum(workload.jobs["nodes"])])
    held = np.array([schedule.node, schedule.gpu_set])
    moments = records(changes.size, MOMENT)
    size = _replay(cluster, changes, moments, number, first, held)
    table = pd.DataFrame(moments[:size]).set_index("time")
    return table / WHOLE


def stranded_gpu_hours(schedule: NodeSchedule) -> float:
    """GPU-hours of idle GPUs that no waiting job can use, while jobs wait for GPUs.

    Of a part of the schedule, `idle_gpus` says how many are stranded at each time.
    """
    stranded = idle_gpus(schedule)["stranded"]
    return float((stranded.to_numpy()[:-1] * np.diff(stranded.index)).sum()) / HOUR


@allocating_kernel
def _replay(
    cluster: Cluster,
    changes: np.recarray,
    moments: np.recarray,
    request: np.ndarray,
    first: np.ndarray,
    held: np.ndarray,
) -> int:
    """What is idle, fragmented and stranded after each instant; how many instants there are."""
    state, size = cluster.state[0], 0
    waiting = np.zeros(cluster.requests.size, np.int64)
    measure(cluster)
    for row in range(changes.size):
        one = changes[row]
        if one.kind == SUBMISSION:
            waiting[request[one.job]] += 1
        else:
            waiting[request[one.job]] -= one.kind == START
            for place in range(first[one.job], first[one.job + 1]):
                sign = TAKE if one.kind == START else GIVE_BACK
                change(cluster, request[one.job], held[0, place], held[1, place], sign)
        if row + 1 < changes.size and changes[row + 1].time == one.time:
            continue
        moments[size].time, moments[size].idle = one.time, state.idle_gpu
        moments[size].fragmented = state.fragmented
        moments[size].stranded = _stranded(cluster, waiting)
        size += 1
    return size


@kernel
def _stranded(cluster: Cluster, waiting: np.ndarray) -> int:
    """Thousandths of idle GPUs that none of the waiting requests can use; 0 if none is for GPUs."""
    usable, waits = 0, False
    for number in range(waiting.size):
        waits |= waiting[number] > 0 and cluster.requests[number].gpus > 0
    if not waits:
        return 0
    for node in range(cluster.nodes.size):
        least = WHOLE + 1
        for number in range(waiting.size):
            request = cluster.requests[number]
            is_less = waiting[number] > 0 and 0 < request.share < least
            if is_less and fits(cluster.nodes, cluster.idle, node, request):
                least = request.share
        for idle in cluster.idle[node, FIRST_GPU:]:
            usable += idle * (idle >= least)
    return cluster.state[0].idle_gpu - usable
