"""Logs as batches, and classes of jobs that get priorities."""

import numpy as np
import pandas as pd
import pytest

from cosimlib.elastic import (
    as_batch,
    describe,
    prioritize,
    priority_classes,
)
from cosimlib.workload import Workload
from tests.elastic.instances import (
    three_jobs,
)


def log(**columns):
    """A hundred jobs."""
    times = {"submit_time": 0.0, "run_time": 60.0, "requested_time": 60.0, "nodes": 1}
    jobs = pd.DataFrame({name: [value] * 100 for name, value in times.items()})
    return Workload(jobs.assign(**columns), "log")


def test_classes_are_the_users_nearest_to_the_shares():
    users = ["a"] * 40 + ["b"] * 30 + ["c"] * 20 + ["d"] * 7 + ["e"] * 3
    workload, classes = priority_classes(log(user=users), (0.01, 0.05))
    assert classes == {"e": "user", "d": "user"} and "lot" not in workload.jobs
    _, same = priority_classes(log(user=["a", "b"] * 25 + ["c"] * 50), (0.2, 0.25))
    assert len(same) == 2 and "c" not in same, "each once, and none with half of the jobs"


@pytest.mark.parametrize("columns", [{}, {"user": "one"}, {"user": ["one"] * 95 + ["other"] * 5}])
def test_without_users_or_with_one_that_has_most_jobs_are_drawn_by_lot(columns):
    workload, classes = priority_classes(log(**columns), (0.01, 0.05))
    assert classes == {"1.0 %": "lot", "5.0 %": "lot"}
    counts = workload.jobs["lot"].value_counts()
    assert counts.to_dict() == {"": 94, "5.0 %": 5, "1.0 %": 1}
    assert (prioritize(workload, {"5.0 %": 10.0}, by="lot").jobs["priority"] == 10).sum() == 5
    again, _ = priority_classes(log(**columns), (0.01, 0.05))
    other, _ = priority_classes(log(**columns), (0.01, 0.05), seed=1)
    assert workload.jobs.equals(again.jobs) and not workload.jobs.equals(other.jobs)


def test_classes_of_nonsense_are_refused():
    for shares in ((), (0.0, 0.1), (0.3, 0.3)):
        with pytest.raises(ValueError, match=r"shares=.*; expected parts above 0 that sum to l"):
            priority_classes(log(), shares)


def test_jobs_that_are_no_more_than_the_shares_make_no_classes():
    two = log().keep(np.arange(100) < 2, "two")
    assert priority_classes(two, (0.01, 0.05)) == (two, {})


def test_batch_is_of_the_partition_with_most_node_hours():
    partition = ["small"] * 60 + ["large"] * 40
    jobs = log(partition=partition, run_time=[60.0] * 60 + [600.0] * 40)
    batch = as_batch(jobs)
    assert len(batch) == 40 and "partition" not in batch.jobs
    assert batch.account["reason"].tolist() == ["not of partition large, which has most node-hours"]
    assert len(as_batch(log(partition="7"))) == 100, "one name alone tells nothing apart"


def test_batch_of_some_jobs_is_of_a_busy_stretch():
    run_time = [60.0] * 50 + [600.0] * 10 + [60.0] * 40
    batch = as_batch(log(run_time=run_time, submit_time=3600.0 * 24 * np.arange(100)), jobs=10)
    assert (batch.jobs["run_time"] == 600).all() and len(batch) == 10
    assert batch.account["records"].tolist() == [50, 40]


def test_batch_without_jobs_says_what_was_dropped_and_is_described_in_no_row():
    batch = as_batch(three_jobs(), max_run_time=30.0)
    assert not len(batch) and batch.account["records"].tolist() == [3]
    assert describe({"none": batch}).empty and len(describe({"a": log(), "none": batch})) == 1


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"max_nodes": 0}, "max_nodes=0; expected a whole number from 1"),
        ({"max_nodes": 2.5}, "max_nodes=2.5; expected a whole"),
        ({"max_run_time": 0.0}, "max_run_time=0.0; expected seconds above 0"),
        ({"jobs": -1}, "jobs=-1; expected a whole number from 1"),
        ({"request_factor": -1.0}, "request_factor=-1.0; expected a number from 1"),
        ({"request_factor": 0.5}, "request_factor=0.5; expected a number from 1"),
        ({"request_factor": "2"}, "request_factor='2'; expected a number from 1"),
        ({"max_run_time": True}, "max_run_time=True; expected seconds above 0"),
        ({"request_factor": np.nan}, "request_factor=nan; expected"),
    ],
)
def test_batches_of_nonsense_are_refused(knobs, message):
    with pytest.raises(ValueError, match=message):
        as_batch(three_jobs(), **knobs)
