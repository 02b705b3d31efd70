"""Equal jobs in conservative backfilling: planned together, they start as if planned one by one."""

from io import StringIO

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.batch import ORDERS, simulate_conservative
from cosimlib.filling import simulate_filling
from cosimlib.system import System
from cosimlib.workload import Workload
from tests.cosimlib.batch import naive
from tests.cosimlib.batch.test_conservative import READINGS, assert_agrees
from tests.strategies import arrays

NODES = 8

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
"""  # on eight nodes: job 9 gets a hole that opened after job 7, an equal one, was planned


def batches(seed: int, overruns: bool) -> Workload:
    """Four kinds of jobs submitted up to thirty at a time, so that dozens wait."""
    rng = np.random.default_rng(seed)
    kinds = pd.DataFrame({"nodes": [1, 1, 4, 16], "requested_time": [90, 30, 60, 20]})
    count = rng.integers(1, 30, 10)
    jobs = kinds.iloc[np.repeat(rng.integers(0, 4, 10), count)].reset_index(drop=True)
    run_time = np.ceil(jobs["requested_time"] * rng.uniform(0.1, 1.3 if overruns else 1, len(jobs)))
    submit_time = np.repeat(np.cumsum(rng.integers(0, 80, 10)), count)
    return Workload(jobs.assign(submit_time=submit_time, run_time=run_time), "batches")


def test_a_job_may_move_earlier_than_an_equal_one_before_it():
    table = pd.read_csv(StringIO(OVERTAKEN), sep=r"\s+")
    workload, starts = Workload(table.drop(columns="start"), "overtaken"), table["start"].tolist()
    assert naive.conservative_starts(workload.jobs, NODES)[0] == starts
    assert simulate_conservative(workload, System.of(NODES)).start_time.tolist() == starts
    assert simulate_filling(workload, System.of(NODES), slot=1).start_time.tolist() == starts


@settings(max_examples=150)
@given(arrays(overruns=True), st.sampled_from(ORDERS), st.sampled_from(READINGS))
def test_arrays_agree_with_the_slow_version_in_every_order(workload, order, reading):
    assert_agrees(workload, NODES, order=order, reservations=reading)


@settings(max_examples=100)
@given(arrays(), st.sampled_from(READINGS))
def test_arrays_agree_where_no_job_outlives_its_request(workload, reading):
    assert_agrees(workload, NODES, reservations=reading)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("overruns", [False, True], ids=["within requests", "overruns"])
def test_arrays_agree_where_dozens_wait(reading, overruns):
    workload = batches(3, overruns)
    schedule = assert_agrees(workload, 24, reservations=reading)
    assert (schedule.jobs["wait_time"] > 0).sum() > 40
