"""Malleable jobs give part of their nodes to a burst, and take free nodes back later.

A malleable job on part of its nodes goes slower in proportion: its work is conserved. Each job
gives the same part of the nodes that it can spare, rounded down. What is then lacking is given by
one node each, in order of submission. If all jobs together cannot give enough, none gives any, and
jobs are preempted instead (`planning`). When nodes are free, jobs take them back in order of
submission, before the queue does (`kernel`).
"""

import numpy as np

from cosimlib.kernels.jit import kernel
from cosimlib.ondemand.changes import change_speed
from cosimlib.ondemand.state import Machine


def shrink_jobs(machine: Machine, candidates: np.ndarray, lacking: int) -> bool:
    """Shrink jobs so that so many nodes come free, if that is possible, and say whether it is."""
    jobs = machine.jobs
    spare = jobs.width[candidates] - jobs.least_nodes[candidates]
    if not 0 < lacking <= spare.sum():
        return False
    gives = spare * lacking // spare.sum()
    gives[np.flatnonzero(gives < spare)[: lacking - gives.sum()]] += 1
    take_nodes(machine, candidates, gives)
    return True


@kernel
def take_nodes(machine: Machine, numbers: np.ndarray, gives: np.ndarray) -> None:
    """Let each of these jobs go on with so many nodes fewer."""
    for place in range(numbers.size):
        if gives[place] > 0:
            job = machine.jobs[numbers[place]]
            nodes = job.width - gives[place]
            change_speed(machine, numbers[place], nodes, nodes / job.nodes)
            machine.state.free += gives[place]
