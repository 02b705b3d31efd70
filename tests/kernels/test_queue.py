"""Order of waiting jobs, and runs of equal ones."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cosimlib.kernels import queue


@given(st.lists(st.integers(0, 4), max_size=20), st.randoms())
def test_jobs_in_order_of_their_starts_ties_as_they_come(starts, random):
    waiting = list(range(len(starts)))
    random.shuffle(waiting)
    sorted_jobs = queue.by_start(np.array(waiting, np.int64), np.array(starts, np.float64))
    assert sorted_jobs.tolist() == sorted(waiting, key=lambda job: starts[job])


@given(st.lists(st.tuples(st.integers(1, 2), st.integers(1, 2)), min_size=1, max_size=12))
def test_equal_jobs_want_as_many_nodes_for_as_long(kinds):
    nodes, duration = np.array(kinds, np.int64).T.copy()
    waiting = np.arange(len(kinds))
    end = queue.next_different(nodes, duration.astype(np.float64), waiting, 0)
    assert kinds[:end] == [kinds[0]] * end and kinds[end : end + 1] != [kinds[0]]
