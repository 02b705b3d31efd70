"""State of the simulation of a time-shared machine: jobs and knobs, progress, noise, series."""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels import heap
from cosimlib.kernels.heap import Heap
from cosimlib.timesharing import placement
from cosimlib.timesharing.maxmin import Sharing
from cosimlib.timesharing.placement import Loads, Memory

NOW, TOTAL, PRESENT, FREED, RESTORE = 0, 1, 2, 3, 4
"""Cells of `Progress.clock`."""

SUBMITTED, QUEUED, SLOWED, DRAWN, UNFINISHED = 0, 1, 2, 3, 4
"""Cells of `Progress.numbers`."""


class Setup(NamedTuple):
    """Jobs as the loop sees them, one value per job, and the knobs.

    `memory` is GB per node; `speed` a node's capacity without overhead; `step` seconds, 0 for exact
    times. `placed`: the jobs' nodes are given. `fcfs`: no job passes one that waits for memory.
    `refill`: rates are found from nothing at each instant, for comparison.
    """

    submit_time: np.ndarray
    run_time: np.ndarray
    nodes: np.ndarray
    memory: np.ndarray
    speed: float
    step: float
    spmd: bool
    placed: bool
    fcfs: bool
    refill: bool


class Progress(NamedTuple):
    """Progress of the jobs, the queue, and the clock.

    Per job: `start_time`, `end_time`; `work_left` at the time `updated`, in seconds at full speed;
    `freed_needed`, what `clock[FREED]` must reach before a queued job can fit. `finish`: running
    jobs by their expected ends. `queue`: jobs that wait for memory, in order. `slowed`: nodes.

    `clock`: the time; the sums of rates × nodes and of nodes over the jobs present; on how many
    nodes memory came free so far; when slowed nodes have their speed back. `numbers`: the jobs
    submitted, those queued, the slowed nodes, the slowdowns used up, and whether the instant of the
    clock has yet to be finished. `loads`: how many nodes have how many jobs.
    """

    start_time: np.ndarray
    end_time: np.ndarray
    work_left: np.ndarray
    updated: np.ndarray
    finish: Heap
    queue: np.ndarray
    freed_needed: np.ndarray
    memory: Memory
    slowed: np.ndarray
    clock: np.ndarray
    numbers: np.ndarray
    loads: Loads


class Noise(NamedTuple):
    """Slowdowns in order of time: start of the step (s), node, speed of the node in that step."""

    time: np.ndarray
    node: np.ndarray
    speed: np.ndarray


class Series(NamedTuple):
    """Integrals over windows of `width` seconds from `begin` on.

    Columns: node-seconds of useful work, jobs × nodes × seconds present, jobs × seconds waiting.
    """

    begin: float
    width: float
    sums: np.ndarray


def with_more_room(sharing: Sharing, progress: Progress) -> tuple[Sharing, Progress]:
    """The same state with rows for twice as many jobs on a node."""
    nodes, room = sharing.on.shape
    on = np.empty((nodes, 2 * room), np.uint32)
    on[:, :room] = sharing.on
    limit, own = np.empty(2 * room), np.empty(2 * room, np.uint32)
    other = np.empty(2 * room, np.int32)
    sharing = sharing._replace(on=on, limit=limit, other=other, own=own)
    counts = np.zeros(2 * room + 2, np.int64)
    counts[: room + 2] = progress.loads.nodes
    loads = progress.loads._replace(nodes=counts, tally=np.zeros_like(counts))
    return sharing, progress._replace(loads=loads)


def empty(run_time: np.ndarray, total_nodes: int, memory: float, room: int) -> Progress:
    """The state before the first submission."""
    n = run_time.size
    return Progress(
        np.full(n, np.nan),
        np.full(n, np.nan),
        run_time.copy(),
        np.zeros(n),
        heap.empty(n),
        np.empty(n, np.int64),
        np.zeros(n),
        placement.empty(total_nodes, memory),
        np.empty(total_nodes, np.int64),
        np.zeros(5),
        np.zeros(5, np.int64),
        placement.no_loads(total_nodes, room),
    )
