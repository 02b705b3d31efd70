"""Closures that are inferred from recorded starts and ends."""

import numpy as np
import pandas as pd
import pytest

from cosimlab.closures import closures
from cosimlib.audit import audit
from cosimlib.batch import simulate_easy
from cosimlib.calendar import Calendar
from cosimlib.metrics import wait_time
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.traces import load
from cosimlib.units import HOUR
from cosimlib.workload import Workload


def log(*rows):
    """Jobs of submission, start, run time and requested time in hours, and nodes."""
    columns = ["submit_time", "recorded_start", "run_time", "requested_time", "nodes"]
    table = pd.DataFrame(rows, columns=columns).astype(float)
    hours = table[columns[:-1]] * HOUR
    return Workload(hours.assign(nodes=table["nodes"].astype(int)), "log")


def test_a_closure_is_scored_by_the_jobs_that_wait_and_dated_by_the_last_that_crosses_it():
    workload = log((0, 0, 10, 12, 60), (1, 8, 2, 2, 40), (5, 15, 1, 1, 100), (16, 40, 1, 1, 100))
    found = closures(workload, System.of(100))
    assert (found[["start", "end"]] / HOUR).to_numpy().tolist() == [[10, 15], [16, 40]]
    assert found["kind"].tolist() == ["maintenance", "maintenance"]
    assert found["known_from"].tolist() == [np.nextafter(0.0, 1.0), -np.inf]
    assert found["score"].tolist() == [1.0, 1.0] and found["contradicting"].tolist() == [(), ()]
    assert len(Calendar(found)) == 2


def test_jobs_that_cross_to_the_last_show_a_failure_and_small_jobs_within_contradict():
    workload = log((0, 0, 5, 9, 60), (1, 4.5, 0.5, 9, 40), (6, 7, 1, 1, 2), (11, 11, 1, 1, 60))
    found = closures(workload, System.of(100))
    assert found["kind"].tolist() == ["down"] and found["known_from"].tolist() == [5 * HOUR]
    assert found["contradicting"].tolist() == [(2,)]
    assert found["score"].tolist() == [1 / 6]
    assert closures(workload, System.of(100), shortest=7 * HOUR).empty


def test_jobs_that_wait_for_more_nodes_than_are_idle_do_not_show_a_closure():
    """Closed or not, a job of all nodes waits for the one that a long job holds."""
    workload = log((0, 0, 10, 10, 1), (1, 10, 1, 1, 100), (2, 11, 1, 9, 1))
    found = closures(workload, System.of(100))
    assert len(found) == 1 and found["score"].tolist() == [0.0]


def rank_correlation(one, other):
    return float(pd.Series(one).corr(pd.Series(other), method="spearman"))


@pytest.mark.traces
def test_theta_2023_closes_and_its_waits_are_nearer_to_the_recorded_ones(trace_path):
    workload = load(trace_path("theta-2023-prod.swf.gz"))
    machine, recorded = workload.machine, Schedule.recorded(workload)
    found = closures(workload)
    hours = (found["end"] - found["start"]).sum() / HOUR
    assert len(found) == 26 and hours == pytest.approx(567, abs=1)
    closed = audit(simulate_easy(workload, machine, calendar=Calendar(found)))
    always = simulate_easy(workload, machine)
    inside = [
        sum(
            ((schedule.start_time >= start) & (schedule.start_time < end)).sum()
            for start, end in found[["start", "end"]].to_numpy()
        )
        for schedule in (closed, always)
    ]
    assert inside[0] == 0 < inside[1]
    waits, truth = (wait_time(schedule) for schedule in (closed, always)), wait_time(recorded)
    better, worse = (rank_correlation(each, truth) for each in waits)
    assert better > worse
