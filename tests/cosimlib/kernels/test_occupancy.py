"""Node numbers against sets of free nodes, moment by moment."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cosimlib.kernels import occupancy

TOTAL = 8
JOBS = st.lists(
    st.tuples(st.integers(0, 10), st.integers(0, 5), st.integers(1, 5)), min_size=1, max_size=8
)
"""Start, run time, nodes; together they may want more nodes than there are."""


def lowest_free(rows):
    """The sorted node numbers of each job, -1 for each that it lacks: ends come before starts."""
    held = [[] for _ in rows]
    for job in sorted(range(len(rows)), key=lambda job: (rows[job][0], job)):
        now, length, nodes = rows[job]
        if not length:
            continue
        taken = set()
        for other, (start, lasts, _) in enumerate(rows):
            if start + lasts > now:
                taken |= set(held[other])
        free = [node for node in range(TOTAL) if node not in taken][:nodes]
        held[job] = free + [occupancy.IDLE] * (nodes - len(free))
    return held


def line_of(rows):
    """The jobs as a timeline."""
    start, length, nodes = np.array(rows, np.int64).T
    return occupancy.timeline(start.astype(float), (start + length).astype(float), nodes, TOTAL)


@given(JOBS)
def test_each_job_holds_the_lowest_numbers_that_are_free(rows):
    line, expected = line_of(rows), lowest_free(rows)
    found = [line.held[line.first[job] : line.first[job + 1]].tolist() for job in range(len(rows))]
    assert found == expected


@given(JOBS, st.lists(st.integers(0, 17), min_size=1))
def test_the_job_on_each_node_is_the_one_that_runs_there_at_the_moment(rows, moments):
    """Whatever happened between two moments, also jobs that started and ended there."""
    held = lowest_free(rows)
    kept = [row for row, nodes in zip(rows, held, strict=True) if occupancy.IDLE not in nodes]
    if not kept:
        return
    line, held = line_of(kept), lowest_free(kept)
    state = occupancy.empty(TOTAL)
    assert state.job.tolist() == [occupancy.IDLE] * TOTAL
    elapsed = np.empty(TOTAL)
    for now in sorted(moments):
        occupancy.advance(line, state, float(now))
        expected = np.full(TOTAL, occupancy.IDLE)
        for job, (start, length, _) in enumerate(kept):
            if start <= now < start + length:
                expected[held[job]] = job
        assert state.job.tolist() == expected.tolist()
        occupancy.elapsed_at(line.start_time, state.job, float(now), elapsed)
        since = [now - kept[job][0] if job != occupancy.IDLE else 0 for job in expected]
        assert elapsed.tolist() == since
