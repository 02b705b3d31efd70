"""Audit passes what could have happened, and names what could not."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from cosimlib.audit import InfeasibleScheduleError, audit
from cosimlib.policies import SIMULATORS
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import Workload
from tests.strategies import workloads


def schedule(start_time, *, nodes, run_time, system, submit_time=None, **columns) -> Schedule:
    """A schedule of rigid jobs, submitted when they start unless said otherwise."""
    submit_time = (
        np.minimum.accumulate(start_time[::-1])[::-1] if submit_time is None else submit_time
    )
    jobs = {"submit_time": submit_time, "run_time": run_time, "nodes": nodes} | columns
    workload = Workload(pd.DataFrame(jobs), "made up")
    return Schedule.from_starts(workload, system, np.array(start_time, dtype=float), "GREEDY")


@pytest.mark.parametrize("policy", SIMULATORS)
@settings(max_examples=25)
@given(workload=workloads(overruns=True))
def test_every_simulator_passes_and_names_its_policy(policy, workload):
    simulated = SIMULATORS[policy](workload, System.of(8))
    assert audit(simulated) is simulated
    assert simulated.policy == policy


def test_ends_come_before_starts_at_equal_times():
    audit(schedule([0, 10], nodes=[4, 4], run_time=[10, 1], system=System.of(4)))


def test_zero_run_times_hold_nothing():
    audit(schedule([0, 5, 5, 5], nodes=[4, 4, 3, 2], run_time=[9, 0, 0, 0], system=System.of(4)))


def test_one_node_too_many_for_one_second():
    crowded = schedule([0, 9], nodes=[4, 1], run_time=[10, 5], system=System.of(4))
    with pytest.raises(InfeasibleScheduleError, match=r"^GREEDY: 5 nodes busy at t=9; .* has 4$"):
        audit(crowded)


def test_a_job_of_zero_run_time_wider_than_its_partition():
    wide = schedule([0], nodes=[5], run_time=[0], system=System.of(4))
    with pytest.raises(InfeasibleScheduleError, match=r"job 0 holds 5 nodes; .* has 4"):
        audit(wide)


def test_starting_before_submission():
    early = schedule([0, 4], nodes=[1, 1], run_time=[1, 1], submit_time=[0, 5], system=System.of(4))
    with pytest.raises(InfeasibleScheduleError, match=r"job 1 starts at t=4; .* submitted at t=5"):
        audit(early)


@pytest.mark.parametrize("never", [np.nan, np.inf])
def test_never_starting(never):
    forgotten = schedule(
        [0, never], nodes=[1, 1], run_time=[1, 1], submit_time=[0, 0], system=System.of(4)
    )
    with pytest.raises(
        InfeasibleScheduleError,
        match=r"GREEDY: made up: job 1 (starts at t=inf|has no start \(NaN\))",
    ):
        audit(forgotten)


def test_running_shorter_than_the_run_time():
    whole = schedule([0, 2], nodes=[1, 1], run_time=[5, 5], system=System.of(4))
    cut = Schedule(whole.workload, whole.system, "GREEDY", whole.start_time, np.array([5.0, 6.0]))
    with pytest.raises(
        InfeasibleScheduleError, match="job 1 starts at t=2 and ends at t=6; it runs 5"
    ):
        audit(cut)


def test_starts_for_other_jobs():
    whole = schedule([0, 2], nodes=[1, 1], run_time=[5, 5], system=System.of(4))
    short = Schedule(whole.workload, whole.system, "GREEDY", np.array([0.0]), whole.end_time)
    with pytest.raises(InfeasibleScheduleError, match="start_time is 1 number for the 2 jobs"):
        audit(short)


@pytest.mark.parametrize("name", ["start_time", "end_time"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (list, "of type list"),
        (tuple, "of type tuple"),
        (np.ndarray.max, "of type float64"),
        (lambda times: np.append(times, 9.0), "3 numbers for the 2 jobs of made up"),
        (lambda times: times[:, None], "an array of 2 dimensions"),
        (lambda times: times.astype(str), "an array of <U32"),
        (lambda times: times.astype(object), "an array of object"),
        (lambda times: times > 0, "an array of bool"),
    ],
)
def test_times_that_are_not_one_number_per_job(name, change, message):
    whole = schedule([0, 2], nodes=[1, 1], run_time=[5, 5], system=System.of(4))
    other = replace(whole, **{name: change(getattr(whole, name))})
    expected = f"^GREEDY: {name} is {message}; expected an array of one number per job$"
    with pytest.raises(InfeasibleScheduleError, match=expected):
        audit(other)


def test_each_partition_has_its_own_nodes():
    machines = System.of(big=4, small=2)
    given = {"nodes": [4, 2], "run_time": [9, 9], "system": machines}
    audit(schedule([0, 0], partition=["big", "small"], **given))
    audit(schedule([0, 0], partition=[pd.NA, "small"], **given))
    with pytest.raises(InfeasibleScheduleError, match="6 nodes busy at t=0; partition 'big' has 4"):
        audit(schedule([0, 0], partition=["big", "big"], **given))
    with pytest.raises(InfeasibleScheduleError, match="on partition 'gpu'; the system has big, sm"):
        audit(schedule([0, 0], partition=["big", "gpu"], **given))


def test_a_system_of_one_partition_takes_jobs_of_whatever_partition():
    """A trace numbers the partitions of its own machine; the simulated one has them together."""
    given = {"nodes": [1, 3], "run_time": [9, 9], "system": System.of(4)}
    audit(schedule([0, 0], partition=["4", pd.NA], **given))
    with pytest.raises(InfeasibleScheduleError, match="5 nodes busy at t=0"):
        audit(schedule([0, 0], partition=["4", "5"], **(given | {"nodes": [2, 3]})))
