"""Replays beside recorded waits: tables and grades."""

import numpy as np
import pandas as pd
import pytest

from cosimlib.batch import simulate_easy, simulate_fcfs
from cosimlib.report import example_log
from cosimlib.report.policies import Grade, compare_to_recorded, grade, replay
from cosimlib.system import System
from cosimlib.units import HOUR
from cosimlib.workload import Workload

FOUR = System.of(4)


def queue(waits: list[float], **columns) -> Workload:
    """Jobs of an hour on all nodes, submitted at once, with recorded waits in hours."""
    jobs = pd.DataFrame({"submit_time": 0.0, "run_time": HOUR, "requested_time": HOUR, "nodes": 4,
                         "recorded_start": np.array(waits) * HOUR})  # fmt: skip
    return Workload(jobs.assign(**columns), "log", FOUR)


def test_a_policy_that_made_the_log_explains_it():
    graded = grade(simulate_fcfs(queue([0, 1, 2, 3]), FOUR))
    assert (graded.error, graded.correlation, graded.word) == (0, 1, "well")
    assert "explains this log well" in graded.sentence and "(4 jobs)" in graded.sentence


def test_a_policy_that_reverses_the_log_does_not_and_jobs_without_a_start_do_not_count():
    graded = grade(simulate_fcfs(queue([3, 2, 1, 0, np.nan]), FOUR))
    assert graded.jobs == 4 and graded.error == 2 * HOUR
    assert graded.correlation == -1 and graded.word == "hardly at all"


@pytest.mark.parametrize(
    ("correlation", "told", "word"),
    [
        (0.246, "0.25", "poorly"),
        (0.2449, "0.24", "hardly at all"),
        (0.7451, "0.75", "well"),
        (0.4949, "0.49", "poorly"),
    ],
)
def test_the_word_is_that_of_the_number_told(correlation, told, word):
    sentence = Grade("EASY", 4, 0.0, correlation).sentence
    assert f"explains this log {word}: rank correlation of waits {told}," in sentence


def test_no_recorded_start_and_equal_waits_have_no_grade():
    lost = grade(simulate_fcfs(queue([np.nan] * 3), FOUR))
    assert lost.word == "unknown" and "does not tell when its jobs started" in lost.sentence
    equal = grade(simulate_fcfs(queue([1, 1, 1]), FOUR))
    assert equal.word == "unknown" and "all waits are equal" in equal.sentence


def test_the_comparison_has_a_recorded_row_where_starts_are_recorded():
    table = compare_to_recorded([simulate_fcfs(queue([0, 1, 2, 5]), FOUR)])
    assert table.index.tolist() == ["recorded", "FCFS"]
    assert table["mean wait (h)"].tolist() == [2, 1.5]
    assert table["bounded slowdown"].tolist() == [3, 2.5]
    assert table.loc["FCFS", "median |error| (h)"] == 0
    assert compare_to_recorded([simulate_fcfs(queue([np.nan]), FOUR)]).index.tolist() == ["FCFS"]


def test_policies_that_cannot_run_or_would_take_too_long_are_left_out_with_a_reason():
    log = queue([0, 1, 2])
    runs, left_out = replay(log)
    assert [run.policy for run in runs] == ["FCFS", "EASY", "conservative", "EASY (sjbf)"]
    assert not left_out
    runs, left_out = replay(log, most=0.0)
    assert [run.policy for run in runs] == ["FCFS", "EASY", "EASY (sjbf)"]
    assert "jobs wait on average" in left_out["conservative"]
    runs, left_out = replay(queue([0, 1], requested_time=np.nan))
    assert [run.policy for run in runs] == ["FCFS"] and len(left_out) == 3


def test_the_example_log_is_feasible_and_near_easy():
    log = example_log(3, jobs=300)
    assert log.column("user").notna().all() and (log.jobs["recorded_start"] >= 0).all()
    graded = grade(simulate_easy(log, log.machine))
    assert 0.25 < graded.correlation < 1
