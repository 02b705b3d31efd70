"""Leaving after a checkpoint: jobs that lose nothing make way for a burst that is announced.

This is the mechanism CUP of Fan et al. From its notice on, a burst counts on the nodes of the jobs
that are expected to end before it comes, besides those that it holds. For what is still lacking,
jobs are chosen that will write a checkpoint of their application before the burst is expected. Each
leaves right after the last one of these, so that it loses nothing. The job that leaves the fewest
node-seconds idle until the arrival is chosen first; of equal ones, the job submitted first. What no
such job can give is left to the arrival itself.
"""

import numpy as np

from cosimlib.eviction.problem import KILL
from cosimlib.kernels.jit import kernel
from cosimlib.ondemand.changes import choose_jobs
from cosimlib.ondemand.state import (
    NO_JOB,
    RUNNING,
    Machine,
    last_checkpoint,
    progress,
    time_of,
)


def leave_after_checkpoints(machine: Machine, candidates: np.ndarray, lacking: int) -> None:
    """Choose the jobs that leave after a checkpoint, for the burst that asks."""
    jobs, state = machine.jobs, machine.state
    arrival = jobs[state.asking].expected_arrival
    running = machine.lists[RUNNING, : machine.lengths[RUNNING]]
    makes_way_for = jobs.makes_way_for[running]
    ends = (makes_way_for == NO_JOB) & (jobs.expected_end[running] <= arrival)
    lacking -= int(jobs.width[running[ends | (makes_way_for == state.asking)]].sum())
    leaves, width = np.full(candidates.size, np.inf), jobs.width[candidates]
    find_last_checkpoints(jobs, machine.rules, candidates, state.now, arrival, leaves)
    useful = (jobs.expected_end[candidates] > arrival) & (leaves < np.inf)
    idle = np.where(useful, width * (arrival - leaves), np.inf)
    order = np.argsort(idle, kind="stable")
    chosen = order[: np.searchsorted(width[order].cumsum(), lacking) + 1]
    chosen = chosen[useful[chosen]]
    choose_jobs(machine, candidates[chosen], KILL)
    jobs.checkpoint_time[candidates[chosen]] = leaves[chosen]


@kernel
def find_last_checkpoints(
    jobs: np.recarray,
    rules: np.record,
    numbers: np.ndarray,
    now: float,
    arrival: float,
    leaves: np.ndarray,
) -> None:
    """Write when each job reaches its last checkpoint from now to the arrival, if there is one."""
    for place in range(numbers.size):
        job = jobs[numbers[place]]
        saved = last_checkpoint(job, progress(job, rules, arrival))
        if saved > last_checkpoint(job, progress(job, rules, now)):
            work = job.read_time + saved - job.saved
            leaves[place] = max(time_of(job, rules, work), now)
