"""Memory of nodes: that of a log's machine, and placement on nodes that have enough of it.

A job is placed on the least loaded nodes that have enough free memory.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.kernels.jit import inner_kernel
from cosimlib.metrics import busy_stretch
from cosimlib.timesharing.maxmin import Sharing
from cosimlib.workload import InvalidWorkloadError, Workload

SPARE = 1e-9
"""Gigabytes that count as nothing."""

SHELVES = 256
"""Bins of the histogram of free memory."""

BLOCK = 64
"""Neighboring nodes of which a bound of the load is kept."""


def with_node_memory(
    workload: Workload,
    *,
    memory_per_node: float | None = None,
    jobs: int | None = None,
    node_starts: int | None = None,
) -> Workload:
    """The workload on its machine, whose nodes get the memory that time-sharing needs.

    Jobs wider than the machine are left out, and so are those that need more memory than a node
    has; the account says how many, and how many do not say what they need, which counts as
    nothing. Times are from the first submission. Requested times that are missing are the run
    times.

    Parameters
    ----------
    workload : Workload
        With a machine.
    memory_per_node : float, optional
        GB; by default twice what 99 % of the jobs need at most: logs do not say what their nodes
        had, and a node that just holds one job cannot be shared. NaN, which is unlimited, where no
        job says how much it needs.
    jobs : int, optional
        Number of consecutive jobs to keep, from where the log is busy (`metrics.busy_stretch`).
    node_starts : int, optional
        Fewer jobs are kept where these together start on more nodes than that: each start and end
        changes rates on all nodes of a job, and of the jobs beside it, so that on very large
        machines a simulation is more work the wider jobs are.

    Raises
    ------
    InvalidWorkloadError
        Where the machine is unknown, or no job is left.
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


class Memory(NamedTuple):
    """Free memory per node, `free` (GB), and its histogram `shelves`, of `SHELVES` equal bins.

    `size[0]` is the memory of an empty node.
    """

    free: np.ndarray
    shelves: np.ndarray
    size: np.ndarray


class Loads(NamedTuple):
    """Jobs on nodes: for each number of jobs, how many `nodes` have it.

    `least`, one per block of nodes: none of them has fewer jobs. `tally` is scratch, as long as
    `nodes`.
    """

    nodes: np.ndarray
    least: np.ndarray
    tally: np.ndarray


def no_loads(total_nodes: int, room: int) -> Loads:
    """No node has a job; `room` for so many on a node."""
    nodes = np.zeros(room + 2, np.int64)
    nodes[0] = total_nodes
    return Loads(nodes, np.zeros(-(-total_nodes // BLOCK), np.int64), np.zeros(room + 2, np.int64))


@inner_kernel
def count_more(loads: Loads, load: int) -> None:
    """A node of this load has one job more."""
    loads.nodes[load] -= 1
    loads.nodes[load + 1] += 1


@inner_kernel
def count_fewer(loads: Loads, node: int, load: int) -> None:
    """`node` of this load has one job fewer."""
    loads.nodes[load] -= 1
    loads.nodes[load - 1] += 1
    loads.least[node // BLOCK] = min(loads.least[node // BLOCK], load - 1)


def empty(total_nodes: int, memory_per_node: float) -> Memory:
    """No memory is used."""
    shelves = np.zeros(SHELVES + 1, np.int64)
    shelves[SHELVES] = total_nodes
    return Memory(np.full(total_nodes, memory_per_node), shelves, np.full(1, memory_per_node))


@inner_kernel
def use(memory: Memory, node: int, amount: float) -> None:
    """Take `amount` of what `node` has free; a negative amount gives back."""
    memory.shelves[_shelf(memory, memory.free[node])] -= 1
    memory.free[node] -= amount
    memory.shelves[_shelf(memory, memory.free[node])] += 1


@inner_kernel
def missing_nodes(memory: Memory, sharing: Sharing, job: int, amount: float, placed: bool) -> int:
    """Lower bound on how many more nodes need `amount` GB free for `job`; 0 if it can start now."""
    first, last = sharing.jobs[job].first, sharing.jobs[job].last
    least = amount - SPARE
    missing = last - first
    if amount <= 0.0:
        return 0
    if placed:
        for place in range(first, last):
            missing -= memory.free[sharing.members[place]] >= least
        return missing
    # Two bounds that need no look at the nodes: those on the shelf of `least` may have enough.
    shelf = _shelf(memory, least)
    missing -= memory.shelves[shelf + 1 :].sum()
    if missing <= 0 or missing > memory.shelves[shelf]:
        return max(0, missing - memory.shelves[shelf])
    missing = last - first
    for node in range(memory.free.size):
        missing -= memory.free[node] >= least
    return max(0, missing)


@inner_kernel
def _shelf(memory: Memory, amount: float) -> int:
    """The bin of nodes that have `amount` free."""
    return min(SHELVES, max(0, int(amount / memory.size[0] * SHELVES)))


@inner_kernel
def place(memory: Memory, loads: Loads, sharing: Sharing, job: int, amount: float) -> None:
    """Place `job` on the nodes with the fewest jobs, ties by node number."""
    shelf = _shelf(memory, amount - SPARE)
    if amount <= 0.0 or memory.shelves[shelf + 1 :].sum() == memory.free.size:
        _place_anywhere(loads, sharing, job)
    else:
        _place_where_it_fits(memory, loads.tally, sharing, job, amount - SPARE)


@inner_kernel
def _place_anywhere(loads: Loads, sharing: Sharing, job: int) -> None:
    """Place `job`, for which all nodes have the memory; look only at blocks that have its nodes."""
    next_place, last, load = sharing.jobs[job].first, sharing.jobs[job].last, sharing.load
    wanted, bound = last - next_place, 0
    while loads.nodes[bound] < wanted:
        wanted -= loads.nodes[bound]
        bound += 1
    for block in range(loads.least.size):
        if loads.least[block] >= bound + (wanted > 0):
            continue
        least = bound + 1
        for node in range(block * BLOCK, min(load.size, (block + 1) * BLOCK)):
            least = min(least, load[node])
            if load[node] < bound or (load[node] == bound and wanted > 0):
                wanted -= load[node] == bound
                sharing.members[next_place] = node
                next_place += 1
                if next_place == last:
                    return
        loads.least[block] = least


@inner_kernel
def _place_where_it_fits(
    memory: Memory, tally: np.ndarray, sharing: Sharing, job: int, least: float
) -> None:
    """Place `job` on nodes with `least` GB free, of which there are enough."""
    free, load = memory.free, sharing.load
    highest = 0
    for node in range(load.size):
        if free[node] >= least:
            tally[load[node]] += 1
            highest = max(highest, load[node])
    wanted, bound = sharing.jobs[job].last - sharing.jobs[job].first, 0
    while tally[bound] < wanted:
        wanted -= tally[bound]
        bound += 1
    tally[: highest + 1] = 0
    next_place = sharing.jobs[job].first
    for node in range(load.size):
        if free[node] < least or load[node] > bound:
            continue
        if load[node] == bound:
            if wanted == 0:
                continue
            wanted -= 1
        sharing.members[next_place] = node
        next_place += 1
        if next_place == sharing.jobs[job].last:
            break
