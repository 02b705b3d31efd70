"""What `simulate_timesharing` refuses, and how it says so."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cosimlib.system import System
from cosimlib.timesharing import simulate_timesharing
from cosimlib.workload import InvalidWorkloadError, Workload

FOUR = replace(System.of(4), memory_per_node=64.0)


def made(**columns) -> Workload:
    return Workload(pd.DataFrame(columns), "made up")


THREE = made(submit_time=[0, 0, 5], run_time=[60, 30, 30], nodes=[1, 2, 4])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"overhead": 1}, "overhead=1; expected a part of the capacity, from 0 to below 1"),
        ({"noise": 1.01}, "noise=1.01; expected a probability from 0 to 1, or None"),
        ({"noise": 0.1, "step": None}, "noise=0.1 slows nodes for a step; give a step, such as 10"),
        ({"step": 0}, "step=0; expected seconds above 0, or None for exact times"),
        ({"queue": "sjf"}, "queue='sjf'; expected one of 'first_fit', 'fcfs'"),
        ({"seed": -1}, "seed=-1; expected a whole number from 0"),
    ],
    ids=str,
)
def test_knobs_out_of_range_say_what_was_expected(wrong, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        simulate_timesharing(THREE, FOUR, **wrong)


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ([2], "one node too few"),
        ([1, 2, 3], "one too many"),
        ([2, 2], "twice the same"),
        ([0, 4], "beyond the last"),
        ([-1, 0], "below the first"),
        ([0.0, 1.0], "no whole numbers"),
        ([[0, 1]], "rows"),
        ([], "nothing"),
        ([True, False], "truth values"),
    ],
)
def test_a_placement_that_is_none_names_the_job(entry, why):
    placement = [np.array([0]), np.array(entry), np.arange(4)]
    message = r"^made up: job 1 is placed on .*; expected 2 different node numbers from 0 to 3$"
    with pytest.raises(ValueError, match=message):
        simulate_timesharing(THREE, FOUR, placement=placement)


@pytest.mark.parametrize(
    ("knob", "wrong", "message"),
    [
        ("placement", 5, "placement=5; expected a list with an array"),
        ("placement", "012", "placement='012'; expected a list with an array"),
    ],
)
def test_what_is_no_placement_is_refused(knob, wrong, message):
    with pytest.raises(ValueError, match=message):
        simulate_timesharing(THREE, FOUR, **{knob: wrong})


def test_a_placement_may_be_a_column_of_a_table():
    placement = pd.Series([np.array([0]), np.array([0, 1]), np.arange(4)])
    schedule = simulate_timesharing(THREE, FOUR, placement=placement)
    assert [schedule.nodes_of(job).tolist() for job in range(3)] == [[0], [0, 1], [0, 1, 2, 3]]


def test_a_placement_of_other_jobs_is_refused():
    with pytest.raises(ValueError, match="made up: placement has 2 entries for 3 jobs"):
        simulate_timesharing(THREE, FOUR, placement=[np.array([0]), np.array([0, 1])])


def test_a_job_that_no_node_can_hold_is_named():
    jobs = THREE.jobs
    greedy = Workload(jobs.assign(memory=[1.0, 64.5, 70.0]), "made up")
    message = (
        r"made up: job 1 needs 64.5 GB a node; a node of 4 nodes has 64; drop it with "
        "Workload.keep or take nodes with more memory"
    )
    with pytest.raises(InvalidWorkloadError, match=message):
        simulate_timesharing(greedy, FOUR)
    negative = Workload(jobs.assign(memory=[1.0, 2.0, -3.0]), "made up")
    with pytest.raises(InvalidWorkloadError, match="made up: job 2 needs -3 GB a node"):
        simulate_timesharing(negative, FOUR)
    # Where nobody knows what a node has, everything that is a number fits.
    for memory in (math.nan, math.inf):
        system = replace(System.of(4), memory_per_node=memory)
        assert simulate_timesharing(greedy, system).start_time.tolist() == [0, 0, 10]
        endless = Workload(jobs.assign(memory=[1.0, math.inf, 1.0]), "made up")
        with pytest.raises(InvalidWorkloadError, match="made up: job 1 needs inf GB a node"):
            simulate_timesharing(endless, system)


def test_a_job_wider_than_the_machine_and_coupled_machines_are_refused():
    with pytest.raises(InvalidWorkloadError, match=r"made up: job 2 asks for 4 nodes; .* has 3"):
        simulate_timesharing(THREE, System.of(3))
    with pytest.raises(ValueError, match=r"time-sharing runs on one partition; got big, small"):
        simulate_timesharing(THREE, System.of(big=8, small=8))


def test_no_jobs_make_an_empty_schedule():
    schedule = simulate_timesharing(made(submit_time=[], run_time=[], nodes=[]), FOUR)
    assert len(schedule.start_time) == len(schedule.series) == 0
