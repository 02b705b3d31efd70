"""Who shares which nodes, and whose rates have moved: what both ways to share keep track of."""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels import agenda
from cosimlib.kernels.agenda import Agenda
from cosimlib.kernels.compiling import frugal_kernel, kernel


class Sharing(NamedTuple):
    """Who runs where, and how fast.

    Per job: `members[first[job]:first[job + 1]]` are its nodes; `rate`; `bottleneck`, a node at
    whose level it runs (−1: none). Per node: `capacity`; `level`; `used`, the sum of its rates;
    `load`, how many jobs are there, and `on`, a row of them. `pending` are nodes to be settled;
    `changed[:moved[0]]` jobs whose rate moved, once each, `is_changed` marks them, and `before` is
    the rate they had. `limit` and `other` are scratch for one node's jobs.
    """

    first: np.ndarray
    members: np.ndarray
    rate: np.ndarray
    bottleneck: np.ndarray
    bound: np.ndarray
    runner_up: np.ndarray
    capacity: np.ndarray
    level: np.ndarray
    used: np.ndarray
    load: np.ndarray
    on: np.ndarray
    pending: Agenda
    changed: np.ndarray
    is_changed: np.ndarray
    before: np.ndarray
    moved: np.ndarray
    limit: np.ndarray
    other: np.ndarray


@kernel
def nobody_runs(first: np.ndarray, members: np.ndarray, capacity: np.ndarray, room: int) -> Sharing:
    """All nodes empty; `room` for so many jobs on a node."""
    n, nodes = first.size - 1, capacity.size
    return Sharing(
        first,
        members,
        np.zeros(n),
        np.full(n, -1, np.int64),
        np.zeros(n),
        np.full(n, -1, np.int64),
        capacity,
        np.full(nodes, np.inf),
        np.zeros(nodes),
        np.zeros(nodes, np.int64),
        np.empty((nodes, room), np.int64),
        agenda.empty_agenda(nodes),
        np.empty(n, np.int64),
        np.zeros(n, np.bool_),
        np.zeros(n),
        np.zeros(1, np.int64),
        np.empty(room),
        np.empty(room, np.int64),
    )


@frugal_kernel
def take_off(sharing: Sharing, job: int, node: int) -> None:
    """Strike `job` from those on `node`."""
    position = 0
    while sharing.on[node, position] != job:
        position += 1
    sharing.load[node] -= 1
    sharing.on[node, position] = sharing.on[node, sharing.load[node]]


@frugal_kernel
def note(sharing: Sharing, job: int) -> None:
    """Remember that the rate of `job` moves."""
    if not sharing.is_changed[job]:
        sharing.is_changed[job] = True
        sharing.before[job] = sharing.rate[job]
        sharing.changed[sharing.moved[0]] = job
        sharing.moved[0] += 1


@frugal_kernel
def forget_changes(sharing: Sharing) -> None:
    """Begin a new list of jobs whose rate moved."""
    for place in range(sharing.moved[0]):
        sharing.is_changed[sharing.changed[place]] = False
    sharing.moved[0] = 0
