"""Running jobs against a plain list of them."""

import math

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.kernels import running
from cosimlib.kernels.jit import uncached_kernel
from cosimlib.system import System
from cosimlib.workload import Workload

TOTAL = 30
JOBS = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 6), st.integers(1, 5), st.integers(1, 3)),
    min_size=1,
    max_size=10,
)
"""Submission, run time, request, nodes; many end or are expected to at the same time."""


def arrays_of(rows):
    """The rows as kernels see them, in order of submission."""
    names = ["submit_time", "run_time", "requested_time", "nodes"]
    jobs = pd.DataFrame(sorted(rows), columns=names)
    return Workload(jobs, "random").arrays(System.of(TOTAL))


@uncached_kernel
def started_on_submission(jobs):
    """Each instant, what has ended at it, whether a job overruns, and the releases afterwards."""
    n = jobs.run_time.size
    state = running.empty(n, TOTAL)
    instants, counts = np.full(2 * n + 1, np.inf), np.zeros((2 * n + 1, 4), np.int64)
    times, nodes = np.zeros((2 * n + 1, n)), np.zeros((2 * n + 1, n), np.int64)
    submitted, row = 0, 0
    while True:
        now = running.next_instant(jobs.submit_time, submitted, state.ends)
        instants[row] = now
        if now == np.inf:
            return instants[: row + 1], counts, times, nodes, state.start_time
        ended, freed = 0, 0
        while len(state.ends) > 0 and state.ends[0][0] <= now:
            ended, freed = ended + 1, freed + jobs.nodes[running.end_next(jobs, state)]
        while submitted < n and jobs.submit_time[submitted] <= now:
            running.start(jobs, state, submitted, now)
            submitted += 1
        counts[row] = [ended, freed, running.overrun(state, now), state.size[0]]
        times[row, : state.times.size], nodes[row, : state.nodes.size] = state.times, state.nodes
        row += 1


@uncached_kernel
def ended_one_by_one(jobs, order):
    """Jobs in the order in which they end that are started together, in this order."""
    state, ended = running.empty(order.size, TOTAL), np.zeros(order.size, np.int64)
    for job in order:
        running.start(jobs, state, job, 5.0)
    for place in range(order.size):
        ended[place] = running.end_next(jobs, state)
    return ended


@given(JOBS)
@settings(max_examples=60)
def test_jobs_started_on_submission_leave_at_their_ends_and_are_expected_at_their_requests(rows):
    jobs = arrays_of(rows)
    instants, counts, times, nodes, start_time = started_on_submission(jobs)
    start, end = jobs.submit_time, jobs.submit_time + jobs.run_time
    request = start + jobs.requested_time
    assert start_time.tolist() == start.tolist()
    # A job of zero run time ends at its start, in an instant of its own.
    assert sorted(set(instants)) == sorted({*start, *end, math.inf})
    present, submitted = set(), 0
    for row, now in enumerate(instants[:-1]):
        ended = {job for job in present if end[job] <= now}
        present -= ended
        while submitted < start.size and start[submitted] <= now:
            present.add(submitted)
            submitted += 1
        expected = {}
        for job in present:
            expected[request[job]] = expected.get(request[job], 0) + jobs.nodes[job]
        freed = sum(jobs.nodes[job] for job in ended)
        overrun = any(moment <= now for moment in expected)
        assert counts[row].tolist() == [len(ended), freed, overrun, len(expected)]
        assert times[row, : len(expected)].tolist() == sorted(expected)
        assert nodes[row, : len(expected)].tolist() == [expected[at] for at in sorted(expected)]
    assert not present


@given(JOBS, st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_of_jobs_that_end_together_the_one_that_started_first_ends_first(rows, chance):
    jobs, n = arrays_of(rows), len(rows)
    order = chance.sample(range(n), n)
    ended = ended_one_by_one(jobs, np.array(order)).tolist()
    assert ended == sorted(order, key=lambda job: (jobs.run_time[job], order.index(job)))
