"""What nodes are worth to whoever holds them, and which are worth least.

A preemption vector gives each node a value in [0, 1] (Duplyakin, Johnson and Ricci, ScienceCloud
2017, Section 3.3). With elapsed the seconds that the node's job has run, a busy node's is

- RANDOM: uniform, drawn anew each time;
- FIFO: longest elapsed - elapsed + 1 s: the longer it runs, the lower;
- LIFO: elapsed: the longer it runs, the higher;
- PAP (parallel-aware): elapsed · nodes of the job;
- PAP+: elapsed · nodes · priority;

divided by the vector's maximum (RANDOM: as drawn). An idle node's value is 0 under every policy.
The second in FIFO is ours: without it the oldest job would be worth as little as an idle node.

What preemption vectors are made of, checked: known policies, priorities above 0, seconds.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cosimlib.checks import check_whole, is_number
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.occupancy import IDLE
from cosimlib.workload import InvalidWorkloadError, Workload

RANDOM, FIFO, LIFO, PAP, PAP_PLUS = range(5)
POLICIES = ("RANDOM", "FIFO", "LIFO", "PAP", "PAP+")


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
    """Write the value of each node into `values`.

    `job` and `elapsed` are one a node, `held` (nodes of a job) and `priority` one a job. RANDOM
    draws one number a node, idle nodes included, so that draws do not depend on what is idle.
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
def least(values: np.ndarray, eligible: np.ndarray, wanted: int, chosen: np.ndarray) -> int:
    """Mark in `chosen` the `wanted` eligible nodes of least value, ties to the lower number.

    Returns how many were chosen: fewer where fewer are eligible.
    """
    chosen[:] = False
    found = 0
    for node in np.argsort(values, kind="mergesort"):
        if found == wanted:
            break
        if eligible[node]:
            chosen[node] = True
            found += 1
    return found


def policy_number(policy: str, *, of: str = "") -> int:
    """The number by which kernels know a policy; `of` is the partition whose it is."""
    if policy not in POLICIES:
        raise ValueError(
            f"{f'partition {of!r}: ' if of else ''}no preemption policy {policy!r}; known are "
            f"{', '.join(POLICIES)}"
        )
    return POLICIES.index(policy)


def is_seconds(value: Any) -> bool:
    """Whether it is a finite number of 0 or more."""
    return is_number(value) and 0 <= float(value) < np.inf


def generator(seed: int) -> np.random.Generator:
    """The draws of a seed.

    Raises
    ------
    ValueError
        Where it is not a whole number from 0.
    """
    check_whole("seed", seed, 0)
    return np.random.default_rng(int(seed))


def priorities(workload: Workload, policies: Sequence[int] | np.ndarray) -> np.ndarray:
    """Every job's priority, checked where PAP+ is among the policies, which multiplies by it.

    Raises
    ------
    InvalidWorkloadError
        For the first job whose priority is not a number above 0.
    """
    priority = np.array(workload.column("priority"), dtype=np.float64)
    wrong = ~((priority > 0) & (priority < np.inf))
    if wrong.any() and PAP_PLUS in policies:
        job = int(wrong.argmax())
        raise InvalidWorkloadError(
            f"{workload.label(job)} has priority={priority[job]:g}; expected a number above 0 "
            "(1 is the default); give priorities with prioritize"
        )
    return priority
