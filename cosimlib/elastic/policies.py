"""Preemption policies: the value of each node in a preemption vector, and the least valued nodes.

A preemption vector gives each node a value in [0, 1] (Duplyakin, Johnson and Ricci, ScienceCloud
2017, Section 3.3). With elapsed the seconds that a node's job has run, a busy node's value is

- RANDOM: uniform, drawn anew each time;
- FIFO: longest elapsed - elapsed + 1 s: the longer it runs, the lower;
- LIFO: elapsed: the longer it runs, the higher;
- PAP (parallel-aware): elapsed · nodes of the job;
- PAP+: elapsed · nodes · priority;

divided by the vector's maximum (RANDOM: as drawn). An idle node's value is 0 under every policy.
The 1 s in FIFO is ours: without it the oldest job's nodes would have the value of an idle node.
"""

from collections.abc import Sequence

import numpy as np

from cosimlib import checks as check
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.occupancy import IDLE
from cosimlib.kernels.sorting import ascending
from cosimlib.workload import InvalidWorkloadError, Workload

RANDOM, FIFO, LIFO, PAP, PAP_PLUS = range(5)
POLICIES = ("RANDOM", "FIFO", "LIFO", "PAP", "PAP+")


def policy_number(policy: str, *, where: str = "") -> int:
    """The number by which kernels know a preemption policy."""
    check.choice("policy", policy, POLICIES, where=where)
    return POLICIES.index(policy)


def priorities(workload: Workload, policies: Sequence[int] | np.ndarray) -> np.ndarray:
    """Priorities, one per job, checked where PAP+ is among the policies: it multiplies by them.

    Raises
    ------
    InvalidWorkloadError
        For the first job whose priority is not a number above 0.
    """
    priority = np.array(workload.column("priority"), dtype=np.float64)
    if PAP_PLUS in policies:
        fine = (priority > 0) & (priority < np.inf)
        expected = "a number above 0 (1 is the default); give priorities with prioritize"
        check.rows(
            "priority", priority, fine, expected, row=workload.label, error=InvalidWorkloadError
        )
    return priority


@kernel
def evaluate(
    policy: int,
    job: np.ndarray,
    elapsed: np.ndarray,
    held: np.ndarray,
    priority: np.ndarray,
    rng: np.random.Generator,
    values: np.ndarray,
) -> None:
    """Write the preemption vector, one value per node, into `values`.

    `job` and `elapsed` (s) are per node, `held` (nodes of a job) and `priority` per job. RANDOM
    draws one number per node, idle nodes included, so that draws do not depend on what is idle.
    """
    longest = 0.0
    if policy == FIFO:
        for node in range(job.size):
            if job[node] != IDLE:
                longest = max(longest, elapsed[node])
    largest = 0.0
    for node in range(job.size):
        draw = 1.0 - rng.random() if policy == RANDOM else 0.0
        values[node] = 0.0
        if job[node] == IDLE:
            continue
        if policy == RANDOM:
            values[node] = draw
            largest = 1.0
            continue
        value = longest - elapsed[node] + 1.0 if policy == FIFO else elapsed[node]
        if policy >= PAP:
            value *= held[job[node]]
        if policy == PAP_PLUS:
            value *= priority[job[node]]
        values[node] = value
        largest = max(largest, value)
    if largest > 0.0:
        for node in range(job.size):
            values[node] /= largest


@kernel
def choose(values: np.ndarray, chosen: np.ndarray) -> bool:
    """Mark the nodes of least value, as many as are marked already, ties to the lower number.

    Returns whether they are others than before. From one moment to the next they rarely are, and
    to see that takes one look at each node.
    """
    highest, last, lowest, first, wanted = -np.inf, 0, np.inf, 0, 0
    for node in range(values.size):
        if chosen[node]:
            wanted += 1
            if values[node] >= highest:
                highest, last = values[node], node
        elif values[node] < lowest:
            lowest, first = values[node], node
    if highest < lowest or (highest == lowest and last < first):
        return False
    chosen[:] = False
    for node in ascending(values)[:wanted]:
        chosen[node] = True
    return True


@kernel
def least(values: np.ndarray, eligible: np.ndarray, wanted: int, chosen: np.ndarray) -> int:
    """Mark in `chosen` the `wanted` eligible nodes of least value, ties to the lower number.

    Returns how many were chosen: fewer where fewer are eligible.
    """
    chosen[:] = False
    found = 0
    for node in ascending(values):
        if found == wanted:
            break
        if eligible[node]:
            chosen[node] = True
            found += 1
    return found
