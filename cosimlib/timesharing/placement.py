"""Memory of nodes: that of a log's machine, and placement on nodes that have enough of it.

A job is placed on the least loaded nodes that have enough free memory.
"""

import math
import reprlib
from collections.abc import Mapping, Sequence, Set, Sized
from dataclasses import replace

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.kernels.jit import kernel
from cosimlib.metrics import busy_stretch
from cosimlib.timesharing.maxmin import BLOCK, Sharing, signed
from cosimlib.workload import InvalidWorkloadError, Workload

SPARE = 1e-9
"""Gigabytes that count as nothing."""


def with_node_memory(
    workload: Workload,
    *,
    memory_per_node: float | None = None,
    jobs: int | None = None,
    node_starts: int | None = None,
) -> Workload:
    """Workload on its machine, with the memory per node that time-sharing needs.

    Jobs wider than the machine are dropped, and so are jobs that need more memory than a node has.
    The account counts them, and the jobs with unknown memory, which count as 0. Times are counted
    from the first submission. Missing requested times are set to the run times.

    Parameters
    ----------
    workload : Workload
        With a machine.
    memory_per_node : float, optional
        GB; by default twice what 99 % of the jobs need at most. Logs do not contain the memory of
        nodes, and a node that holds just one job cannot be shared. NaN (unlimited) if the memory of
        all jobs is unknown.
    jobs : int, optional
        Number of consecutive jobs to keep, from a busy time on (`metrics.busy_stretch`).
    node_starts : int, optional
        Most node starts (starts times nodes) of the kept jobs; beyond it, fewer jobs are kept. Each
        start and end changes rates on all nodes of a job and of its neighbors, so wide jobs on
        very large machines take long to simulate.

    Raises
    ------
    InvalidWorkloadError
        If the machine is unknown, or no job is left.
    """
    check.whole("jobs", jobs, 1, none=True)
    check.whole("node_starts", node_starts, 1, none=True)
    check.number("memory_per_node", memory_per_node, above=0, kind="GB", none=True)
    if workload.machine is None:
        raise InvalidWorkloadError(
            f"{workload.name}: its machine is unknown; name its nodes in the log's header "
            "(; MaxNodes: 128), or make the Workload with a machine"
        )
    memory = workload.column("memory")
    if memory_per_node is None:
        memory_per_node = 2.0 * float(memory.quantile(0.99))
    table = workload.jobs.drop(columns="partition", errors="ignore")
    requested = table["requested_time"].fillna(table["run_time"].clip(lower=1.0))
    total_nodes = workload.machine.total_nodes
    system = replace(workload.machine.with_nodes(total_nodes), memory_per_node=memory_per_node)
    one = replace(workload, jobs=table.assign(requested_time=requested), machine=system)
    one = one.noted("noted", "memory unknown, counted as none", int(memory.isna().sum()))
    one = one.keep(one.jobs["nodes"] <= total_nodes, "wider than the machine")
    small = ~(one.column("memory") > memory_per_node)
    if len(one) and not small.any():
        raise InvalidWorkloadError(
            f"{workload.name}: no job fits a node of {memory_per_node:.3g} GB; expected more"
        )
    one = one.keep(small, f"more memory than the {memory_per_node:.3g} GB of a node")
    kept = one if jobs is None else busy_stretch(one, int(jobs))
    if node_starts is not None and kept.jobs["nodes"].sum() > node_starts:
        kept = _starting_on(one, int(node_starts), len(kept))
    return _from_first_submission(kept)


def _starting_on(workload: Workload, node_starts: int, most: int) -> Workload:
    """The busiest jobs in a row that together have so many nodes; one job at least."""
    number = min(most, math.ceil(node_starts / workload.jobs["nodes"].mean()))
    busy = busy_stretch(workload, number)
    inside = int((busy.jobs["nodes"].cumsum() <= node_starts).sum())
    started = np.arange(len(busy)) < max(1, inside)
    return busy.keep(started, f"submitted after jobs that start on {node_starts:,} nodes")


def _from_first_submission(workload: Workload) -> Workload:
    """The workload with its times counted from the first submission."""
    if not len(workload):
        return workload
    table, began = workload.jobs, workload.began
    first = float(table["submit_time"].min())
    clocks = [name for name in ("submit_time", "recorded_start") if name in table]
    if began is not None:
        began += pd.Timedelta(seconds=first)
    shifted = table.assign(**{name: table[name] - first for name in clocks})
    return replace(workload, jobs=shifted, began=began)


@kernel
def place(sharing: Sharing, number: int, placed: int) -> int:
    """Place a job on the nodes with the fewest jobs that have memory for it; ties by node number.

    Returns how many more nodes need the memory; 0 if there are enough. Where the job is `placed`
    already, they are its own.
    """
    job, nodes = sharing.jobs[number], sharing.nodes
    least, wanted = job.memory - SPARE, job.last - job.first
    if placed:
        for member in range(job.first, job.last):
            wanted -= nodes[signed(sharing.members[member])].memory >= least
        return wanted
    _count_nodes(sharing, least)
    bound = 0
    while bound < sharing.slots.size and sharing.slots[bound].tally < wanted:
        wanted -= sharing.slots[bound].tally
        bound += 1
    if bound == sharing.slots.size:
        return wanted
    _take_least_loaded(sharing, number, bound, wanted)
    return 0


@kernel
def take_memory(nodes: np.recarray, node: int, memory: float) -> None:
    """Take memory of a node."""
    block = nodes[node // BLOCK]
    nodes[node].memory -= memory
    block.least_free = min(block.least_free, nodes[node].memory)


@kernel
def _count_nodes(sharing: Sharing, least: float) -> None:
    """Tally the nodes with so much memory free by their number of jobs.

    All that there are, but for those that lack it: only in blocks with less can there be any.
    """
    nodes, slots = sharing.nodes, sharing.slots
    for load in range(slots.size):
        slots[load].tally = slots[load].nodes
    for first in range(0, nodes.size, BLOCK):
        if nodes[first // BLOCK].least_free >= least:
            continue
        free = np.inf
        for node in range(first, min(nodes.size, first + BLOCK)):
            slots[nodes[node].load].tally -= nodes[node].memory < least
            free = min(free, nodes[node].memory)
        nodes[first // BLOCK].least_free = free


@kernel
def _take_least_loaded(sharing: Sharing, number: int, bound: int, wanted: int) -> None:
    """Place a job on the nodes with fewer jobs than `bound`, and on `wanted` with as many.

    A block of nodes is passed over if all have more jobs; one that is looked at has its bound anew.
    """
    job, nodes = sharing.jobs[number], sharing.nodes
    member, least = job.first, job.memory - SPARE
    for first in range(0, nodes.size, BLOCK):
        if nodes[first // BLOCK].least_load >= bound + (wanted > 0):
            continue
        fewest = bound + 1
        for node in range(first, min(nodes.size, first + BLOCK)):
            load = nodes[node].load
            fewest = min(fewest, load)
            if load > bound or nodes[node].memory < least or (load == bound and wanted == 0):
                continue
            wanted -= load == bound
            sharing.members[member] = node
            member += 1
            if member == job.last:
                return
        nodes[first // BLOCK].least_load = fewest


def members_of(
    workload: Workload,
    nodes: np.ndarray,
    total_nodes: int,
    placement: Sequence[np.ndarray] | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Where each job's nodes begin, and the nodes: the placement's, or room for those to come."""
    first = np.concatenate([[0], np.cumsum(nodes)])
    if placement is None:
        return first, np.empty(first[-1], np.int32)
    if not isinstance(placement, Sized) or isinstance(placement, str | Mapping | Set):
        raise ValueError(
            f"placement={reprlib.repr(placement)}; expected a list with an array of node numbers "
            "per job, or None for the least loaded nodes"
        )
    if len(placement) != len(workload):
        raise ValueError(
            f"{workload.name}: placement has {len(placement)} entries for {len(workload)} jobs"
        )
    for job, numbers in enumerate(placement):
        own = np.asarray(numbers)
        integers = own.dtype.kind in "iu" and own.ndim == 1
        distinct = integers and np.unique(own).size == own.size == nodes[job]
        if not distinct or own.min() < 0 or own.max() >= total_nodes:
            raise ValueError(
                f"{workload.label(job)} is placed on {numbers!r}; expected {nodes[job]} "
                f"different node numbers from 0 to {total_nodes - 1}"
            )
    return first, np.concatenate([np.empty(0, np.int32), *placement]).astype(np.int32)
