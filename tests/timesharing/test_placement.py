"""Nodes of jobs: those with the fewest jobs that have the memory, on machines of several blocks."""

import numpy as np
import pytest

from cosimlib import synthetic
from cosimlib.timesharing import simulate_timesharing
from cosimlib.timesharing.placement import BLOCK, SPARE

NODES = 3 * BLOCK + 7


def expected_nodes(schedule, memory_per_node):
    """The nodes of each job, found by sorting all of them at its start, and how many had room."""
    jobs = schedule.workload.jobs
    size, needed = jobs["nodes"].to_numpy(), jobs["memory"].to_numpy()
    load, free = np.zeros(NODES, int), np.full(NODES, memory_per_node)
    running, nodes, fitting = set(), {}, []
    # Jobs that wait are older than those submitted at the moment, so that they are in order.
    for job in np.lexsort((np.arange(len(jobs)), schedule.start_time)):
        for other in sorted(running, key=lambda other: schedule.end_time[other]):
            if schedule.end_time[other] <= schedule.start_time[job]:
                running.remove(other)
                load[nodes[other]] -= 1
                free[nodes[other]] += needed[other]
        fit = np.flatnonzero(free >= needed[job] - SPARE)
        fitting.append(fit.size)
        nodes[job] = np.sort(fit[np.argsort(load[fit], kind="stable")[: size[job]]])
        running.add(job)
        load[nodes[job]] += 1
        free[nodes[job]] -= needed[job]
    return nodes, fitting


@pytest.mark.parametrize("spread", ["tenth", "UniLu-Gaia"])
@pytest.mark.parametrize("spmd", [True, False])
def test_jobs_start_on_the_least_loaded_nodes_that_have_the_memory(spread, spmd):
    workload = synthetic.edison(2, nodes=NODES, load=1.3, memory_spread=spread, seed=2)
    schedule = simulate_timesharing(workload, workload.machine, spmd=spmd)
    nodes, fitting = expected_nodes(schedule, workload.machine.memory_per_node)
    for job, expected in nodes.items():
        chosen = schedule.members[schedule.first[job] : schedule.first[job + 1]]
        assert chosen.tolist() == expected.tolist(), job
    assert min(fitting) < NODES == max(fitting)
