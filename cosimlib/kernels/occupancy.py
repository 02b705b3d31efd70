"""Nodes held by rigid jobs: each holds the lowest numbers that are free when it starts.

The numbers follow from starts and ends, so simulators need not record them. At equal times ends
come before starts, and the lower job starts first. A job of zero run time holds no nodes.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels.jit import allocating_kernel, kernel

IDLE = -1
"""The job on a free node."""


class Timeline(NamedTuple):
    """Jobs in order of start and of end, and the node numbers of each.

    `held[first[job] : first[job + 1]]` are the numbers of a job's nodes, ascending.
    """

    start_time: np.ndarray
    end_time: np.ndarray
    nodes: np.ndarray
    by_start: np.ndarray
    by_end: np.ndarray
    first: np.ndarray
    held: np.ndarray


class Occupancy(NamedTuple):
    """The job on each node at a moment, and how many starts and ends have passed by then."""

    job: np.ndarray
    passed: np.ndarray


def timeline(
    start_time: np.ndarray, end_time: np.ndarray, nodes: np.ndarray, total_nodes: int
) -> Timeline:
    """Timeline of a schedule; nodes beyond the `total_nodes` that there are get the number -1."""
    lasts = end_time > start_time
    by_start = np.lexsort((np.arange(start_time.size), start_time))
    by_end = np.lexsort((np.arange(end_time.size), end_time))
    by_start, by_end = by_start[lasts[by_start]], by_end[lasts[by_end]]
    first = np.zeros(start_time.size + 1, dtype=np.int64)
    np.cumsum(np.where(lasts, nodes, 0), out=first[1:])
    held = np.full(first[-1], IDLE, dtype=np.int64)
    line = Timeline(start_time, end_time, nodes, by_start, by_end, first, held)
    _take_lowest(line, total_nodes)
    return line


@allocating_kernel
def empty(total_nodes: int) -> Occupancy:
    """All nodes free, before the first start."""
    return Occupancy(np.full(total_nodes, IDLE), np.zeros(2, np.int64))


@kernel
def advance(line: Timeline, occupancy: Occupancy, now: float) -> None:
    """Apply all ends and starts up to `now`, which must not decrease from call to call."""
    starts, ends = occupancy.passed
    while ends < line.by_end.size and line.end_time[line.by_end[ends]] <= now:
        # A job that ends now may itself have started since the last call.
        job = line.by_end[ends]
        while starts < line.by_start.size and (
            line.start_time[line.by_start[starts]] < line.end_time[job]
        ):
            _hold(line, occupancy, line.by_start[starts])
            starts += 1
        for place in range(line.first[job], line.first[job + 1]):
            occupancy.job[line.held[place]] = IDLE
        ends += 1
    while starts < line.by_start.size and line.start_time[line.by_start[starts]] <= now:
        _hold(line, occupancy, line.by_start[starts])
        starts += 1
    occupancy.passed[0] = starts
    occupancy.passed[1] = ends


@kernel
def elapsed_at(start_time: np.ndarray, job: np.ndarray, now: float, elapsed: np.ndarray) -> None:
    """Fill `elapsed` with the seconds for which the job on each node has run; 0 on free nodes."""
    for node in range(job.size):
        elapsed[node] = now - start_time[job[node]] if job[node] != IDLE else 0.0


@kernel
def _hold(line: Timeline, occupancy: Occupancy, job: int) -> None:
    """Enter a job on its nodes."""
    for place in range(line.first[job], line.first[job + 1]):
        occupancy.job[line.held[place]] = job


@allocating_kernel
def _take_lowest(line: Timeline, total_nodes: int) -> None:
    """Fill `held`; a job for which too few nodes are free keeps -1 for those it lacks."""
    free = np.ones(total_nodes, np.bool_)
    ends = 0
    for job in line.by_start:
        now = line.start_time[job]
        while ends < line.by_end.size and line.end_time[line.by_end[ends]] <= now:
            ended = line.by_end[ends]
            for place in range(line.first[ended], line.first[ended + 1]):
                if line.held[place] != IDLE:
                    free[line.held[place]] = True
            ends += 1
        place = line.first[job]
        for node in range(total_nodes):
            if place == line.first[job + 1]:
                break
            if free[node]:
                free[node] = False
                line.held[place] = node
                place += 1
