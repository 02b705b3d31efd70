"""The numbers by which policies are compared, and the classes that get priorities."""

import numpy as np
import pandas as pd
import pytest

from cosimlib import synthetic
from cosimlib.batch import simulate_easy
from cosimlib.elastic import compare_policies, medians, prioritize, priority_classes
from cosimlib.elastic.waste import advantage, difference, largest_step, shift
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError, Workload

TABLE = pd.DataFrame(
    {"RANDOM": [40.0, 30.0, 20.0], "FIFO": [50.0, 40.0, 40.0], "LIFO": [10.0, 12.0, 9.0],
     "PAP": [12.0, 12.0, 12.0]}, index=[60.0, 120.0, 1200.0],
)  # fmt: skip


def test_numbers_by_hand():
    assert advantage(TABLE, ["LIFO", "PAP"], ["FIFO", "RANDOM"]).tolist() == [0.3, 0.4, 0.6]
    assert difference(TABLE, "PAP", "LIFO") == pytest.approx(3 / 9)
    assert shift(TABLE, ["LIFO", "PAP"]).to_dict() == pytest.approx({"LIFO": 0.2, "PAP": 0.0})
    assert largest_step(TABLE, ["RANDOM"]) == -10
    assert largest_step(TABLE, ["RANDOM", "FIFO"]) == 0, "to stay is not to fall"


def test_who_has_fallen_to_0_has_fallen():
    table = pd.DataFrame({"FIFO": [9.0, 4.0, 0.0, 0.0], "RANDOM": [8.0, 6.0, 5.0, 3.0],
                          "PAP": [9.0, 0.0, 0.0, 2.0], "LIFO": [0.0, 0.0, 0.0, 0.0]})  # fmt: skip
    assert largest_step(table, ["FIFO"]) == -4
    assert largest_step(table, ["FIFO", "RANDOM"]) == -1
    assert largest_step(table, ["PAP"]) == 2, "to rise again is not to fall"
    assert np.isnan(largest_step(table, ["FIFO", "LIFO"])), "nothing falls from 0"


def test_what_cannot_be_told_is_nan():
    still = TABLE * 0
    assert np.isnan(advantage(still, ["LIFO"], ["FIFO"])).all()
    assert np.isnan(largest_step(still, ["FIFO"]))
    assert np.isnan(difference(still, "PAP", "LIFO")) and shift(still, ["LIFO"]).isna().all()
    unknown = TABLE * np.nan
    assert np.isnan(difference(unknown, "PAP", "LIFO"))
    assert np.isnan(largest_step(unknown, ["FIFO"]))


def test_medians_are_those_of_the_comparison():
    schedule = simulate_easy(synthetic.htc(copies=1), System.of(20))
    comparison = compare_policies(schedule, policies=["FIFO", "LIFO"], grace_periods=[120.0, 60.0])
    table = medians(comparison)
    assert table.index.tolist() == [60.0, 120.0] and list(table) == ["FIFO", "LIFO"]
    row = comparison.summary.query("policy == 'LIFO' and grace_period == 60")
    assert table.loc[60.0, "LIFO"] == row["50%"].item()
    nobody = simulate_easy(synthetic.htc(copies=1).keep(np.zeros(1120), "all"), System.of(20))
    assert medians(compare_policies(nobody)).isna().all(axis=None)


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
    assert classes == {"1.0%": "lot", "5.0%": "lot"}
    counts = workload.jobs["lot"].value_counts()
    assert counts.to_dict() == {"": 94, "5.0%": 5, "1.0%": 1}
    assert (prioritize(workload, {"5.0%": 10.0}, by="lot").jobs["priority"] == 10).sum() == 5
    again, _ = priority_classes(log(**columns), (0.01, 0.05))
    other, _ = priority_classes(log(**columns), (0.01, 0.05), seed=1)
    assert workload.jobs.equals(again.jobs) and not workload.jobs.equals(other.jobs)


def test_classes_of_nonsense_are_refused():
    for shares in ((), (0.0, 0.1), (0.3, 0.3)):
        with pytest.raises(ValueError, match=r"shares=.*; expected parts above 0 that sum to l"):
            priority_classes(log(), shares)
    with pytest.raises(InvalidWorkloadError, match="log: 2 jobs do not make 2 classes and others"):
        priority_classes(log().keep(np.arange(100) < 2, "two"), (0.01, 0.05))
