"""Limits of jobs that start now: how many nodes a job may take, by the moment at which it ends.

Rows in order of time: a job that ends after the time of a row takes no more nodes than the row has.
The first row is at minus infinity, so that it limits all jobs. ``state.limits`` rows count.
"""

import numpy as np

from cosimlib.kernels.jit import kernel

LIMIT = np.dtype([("time", "f8"), ("nodes", "i8")])


@kernel
def clear(limits: np.recarray, state: np.record, nodes: int) -> None:
    """Let every job take up to so many nodes."""
    limits[0].time, limits[0].nodes = -np.inf, nodes
    state.limits = 1


@kernel
def append(limits: np.recarray, state: np.record, time: float, nodes: int) -> None:
    """Let jobs that end after a time take up to so many nodes, whatever the later rows said."""
    while limits[state.limits - 1].time >= time:
        state.limits -= 1
    limits[state.limits].time, limits[state.limits].nodes = time, nodes
    state.limits += 1


@kernel
def may_start(limits: np.recarray, rows: int, nodes: int, end: float) -> bool:
    """Whether a job of so many nodes that ends at a moment may start now, by the first `rows`."""
    row = 0
    while row < rows and limits[row].time < end:
        if nodes > limits[row].nodes:
            return False
        row += 1
    return True


@kernel
def take(limits: np.recarray, state: np.record, nodes: int, end: float) -> None:
    """Let a job start now: as long as it lasts, the others may take fewer nodes."""
    row = 0
    while row < state.limits and limits[row].time < end:
        limits[row].nodes -= nodes
        row += 1


@kernel
def lay(
    limits: np.recarray,
    expected: np.recarray,
    state: np.record,
    now: float,
    begin: float,
    end: float,
    nodes: int,
) -> None:
    """Limits where free nodes change as expected, and `nodes` are kept from `begin` to `end`.

    A row for each moment at which fewer nodes are free than ever before. What comes later than the
    longest request from now on limits no job that starts now.
    """
    clear(limits, state, state.free)
    row, free, least = state.releases - 1, state.free, state.free
    until, now_or_later = now + state.longest, now
    while least > 0:
        time = min(begin, end)
        if row >= 0:
            time = min(time, expected[row].time)
        now_or_later = max(now, time)
        if now_or_later >= until:
            break
        while row >= 0 and expected[row].time <= now_or_later:
            free += expected[row].nodes
            row -= 1
        if begin <= now_or_later:
            free, begin = free - nodes, np.inf
        if end <= now_or_later:
            free, end = free + nodes, np.inf
        if free < least:
            least = free
            append(limits, state, now_or_later, free)
