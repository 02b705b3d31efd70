"""Replays beside recorded waits."""

import numpy as np
import pandas as pd
import pytest

from cosimlab.report import example_log, open_log, policies_section
from cosimlab.report.policies import _would_decide, compare_to_recorded, replay
from cosimlib.batch import simulate_easy, simulate_fcfs
from cosimlib.system import System
from cosimlib.units import HOUR
from cosimlib.workload import Workload

FOUR = System.of(4)


def queue(waits: list[float], **columns) -> Workload:
    """Jobs of an hour on all nodes, submitted at once, with recorded waits in hours."""
    jobs = pd.DataFrame(
        {
            "submit_time": 0.0,
            "run_time": HOUR,
            "requested_time": HOUR,
            "nodes": 4,
            "recorded_start": np.array(waits) * HOUR,
        }
    )
    return Workload(jobs.assign(**columns), "log", FOUR)


def correlation(workload: Workload) -> float:
    """Rank correlation of FCFS's waits with those of a log."""
    table = compare_to_recorded([simulate_fcfs(workload, FOUR)])
    return table.loc["FCFS", "rank correlation"]


def test_a_policy_that_made_the_log_explains_it():
    assert correlation(queue([0, 1, 2, 3])) == 1
    section = policies_section(open_log(example_log(), budget=1))
    assert "EASY describes this site: rank correlation 0.61, mean wait 9.5 h" in section.findings[1]
    assert "0.5 or more" in section.computed[section.findings[1]] and section.tables


def test_where_no_policy_describes_the_site_one_sentence_is_all():
    """The waits are those of FCFS in reverse order, or three times as long."""
    for waits in ([3, 2, 1, 0], [0, 3, 6, 9]):
        section = policies_section(open_log(queue(waits), budget=1))
        (finding,) = section.findings
        assert finding.startswith("No policy tried describes this site; ")
        assert "rank correlation" in finding and "recorded" in finding
        assert not section.tables and not section.pictures


def test_a_policy_that_reverses_the_log_does_not_and_jobs_without_a_start_do_not_count():
    assert correlation(queue([3, 2, 1, 0, np.nan])) == pytest.approx(-1)


def test_equal_waits_have_no_correlation():
    assert np.isnan(correlation(queue([1, 1, 1])))


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((0.9, 0.8, 1.05), "About 2 times as long a log"),
        ((0.95, 0.85, 1.05), "About 5 times as long a log"),
        ((0.99, 0.8, 1.2), "is unlikely to decide"),
        ((0.9, 0.95, 1.2), "is unlikely to decide"),
    ],
)
def test_what_is_open_says_what_would_decide(numbers, words):
    assert words in _would_decide(*numbers)


def test_the_comparison_has_a_recorded_row_where_starts_are_recorded():
    table = compare_to_recorded([simulate_fcfs(queue([0, 1, 2, 5]), FOUR)])
    assert table.index.tolist() == ["recorded", "FCFS"]
    assert table["mean wait (h)"].tolist() == [2, 1.5]
    assert table["bounded slowdown"].tolist() == [3, 2.5]
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
    table = compare_to_recorded([simulate_easy(log, log.machine)])
    assert 0.25 < table.loc["EASY", "rank correlation"] < 1
