"""Jobs that ask for the same: planned together, they start as if they were planned one by one."""

from io import StringIO

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.batch import ORDERS, simulate_conservative
from cosimlib.filling import simulate_filling
from cosimlib.kernels import queue
from cosimlib.system import System
from cosimlib.workload import Workload
from tests.batch import naive
from tests.batch.test_conservative import READINGS, assert_agrees
from tests.filling.naive import Filled
from tests.strategies import arrays

NODES = 8
WAYS = ({"policy": "A"}, {"policy": "B", "reclaim": "save"}, {"policy": "B", "reclaim": "kill"})

OVERTAKEN = """
submit_time run_time requested_time nodes  start
          2       12             12     4      2
          4       10             12     4      4
          5        2              9     1     14
          7       10             12     4     14
         12       10             12     4     16
         15       12             12     4     24
         19        5              9     1     26
         20        3             12     4     36
         21        2              9     1     26
         26       10             12     4     31
"""  # on eight nodes: job 9 gets a hole that opened after the turn of job 7, its like


def batches(seed: int, overruns: bool) -> Workload:
    """Four kinds of jobs submitted up to thirty at a time, so that dozens wait."""
    rng = np.random.default_rng(seed)
    kinds = pd.DataFrame({"nodes": [1, 1, 4, 16], "requested_time": [90, 30, 60, 20]})
    count = rng.integers(1, 30, 10)
    jobs = kinds.iloc[np.repeat(rng.integers(0, 4, 10), count)].reset_index(drop=True)
    run_time = np.ceil(jobs["requested_time"] * rng.uniform(0.1, 1.3 if overruns else 1, len(jobs)))
    submit_time = np.repeat(np.cumsum(rng.integers(0, 80, 10)), count)
    return Workload(jobs.assign(submit_time=submit_time, run_time=run_time), "batches")


def test_a_job_may_move_earlier_than_its_like_that_comes_before_it():
    table = pd.read_csv(StringIO(OVERTAKEN), sep=r"\s+")
    asked, starts = Workload(table.drop(columns="start"), "overtaken"), table["start"].tolist()
    assert naive.conservative_starts(asked.jobs, NODES)[0] == starts
    assert simulate_conservative(asked, System.of(NODES)).start_time.tolist() == starts
    assert simulate_filling(asked, System.of(NODES), slot=1).start_time.tolist() == starts


def test_containers_may_hold_up_several_that_are_alike():
    """Job 0 outlives its request, so the plan is made anew for jobs 1 to 3, which are alike."""
    columns = {"submit_time": [0, 2, 3, 4], "run_time": [6, 1, 5, 1], "nodes": [4, 2, 2, 2]}
    asked = Workload(pd.DataFrame(columns | {"requested_time": [2, 3, 3, 3]}), "held up")
    way = {"policy": "B", "reclaim": "save"}
    schedule = simulate_filling(asked, System.of(NODES), slot=1, **way)
    assert Filled(asked.jobs, NODES, **way).held_up == {1, 2}
    assert schedule.start_time.tolist() == [0, 5, 6, 6]
    assert schedule.held_up.tolist() == [False, True, True, False]


@settings(max_examples=150)
@given(arrays(overruns=True), st.sampled_from(ORDERS), st.sampled_from(READINGS))
def test_arrays_agree_with_the_slow_version_in_every_order(asked, order, reading):
    assert_agrees(asked, NODES, order=order, reservations=reading)


@settings(max_examples=100)
@given(arrays(), st.sampled_from(READINGS))
def test_arrays_agree_where_nobody_outlives_the_request(asked, reading):
    assert_agrees(asked, NODES, reservations=reading)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("overruns", [False, True], ids=["within requests", "overruns"])
def test_arrays_agree_where_dozens_wait(reading, overruns):
    asked = batches(3, overruns)
    schedule = assert_agrees(asked, 24, reservations=reading)
    assert (schedule.jobs["wait_time"] > 0).sum() > 40


@settings(max_examples=100)
@given(arrays(overruns=True), st.sampled_from(WAYS), st.sampled_from([None, 3]))
def test_filled_arrays_agree_with_the_slow_version(asked, way, depth):
    schedule = simulate_filling(asked, System.of(NODES), slot=1, queue_depth=depth, **way)
    slow = Filled(asked.jobs, NODES, depth=depth or len(asked), **way)
    assert schedule.start_time.tolist() == [slow.starts[job] for job in range(len(asked))]
    assert schedule.promised_time.tolist() == [slow.promised[job] for job in range(len(asked))]
    assert set(np.flatnonzero(schedule.held_up)) == slow.held_up


@given(st.lists(st.integers(0, 4), max_size=20), st.randoms())
def test_jobs_in_order_of_their_starts_ties_as_they_come(starts, random):
    waiting = list(range(len(starts)))
    random.shuffle(waiting)
    ours = queue.by_start(np.array(waiting, np.int64), np.array(starts, np.float64))
    assert ours.tolist() == sorted(waiting, key=lambda job: starts[job])


@given(st.lists(st.tuples(st.integers(1, 2), st.integers(1, 2)), min_size=1, max_size=12))
def test_alike_are_those_who_want_as_many_nodes_for_as_long(kinds):
    nodes, lasting = np.array(kinds, np.int64).T.copy()
    waiting = np.arange(len(kinds))
    end = queue.next_different(nodes, lasting.astype(np.float64), waiting, 0)
    assert kinds[:end] == [kinds[0]] * end and kinds[end : end + 1] != [kinds[0]]
