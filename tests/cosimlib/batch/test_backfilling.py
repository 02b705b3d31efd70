"""FCFS, EASY and first fit: golden tables, the slow versions, and what must not change."""

import tracemalloc
from functools import partial
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from cosimlib.audit import audit
from cosimlib.batch import (
    simulate_conservative,
    simulate_easy,
    simulate_fcfs,
    simulate_first_fit,
)
from cosimlib.policies import SIMULATORS
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError, Workload
from tests.benchmarks import large
from tests.cosimlib.batch import naive
from tests.strategies import workloads

NODES = 8
AT_ANY_TIME = {name: run for name, run in SIMULATORS.items() if "fill" not in name}
"""Simulators that act when something happens; those that fill wait for the next minute."""

GOLDEN = {
    "job 2 may overtake job 1 because it ends by t=10, but not before": """
submit_time run_time requested_time nodes  fcfs easy no_extra first_fit
          0       10             10     3     0    0        0         0
          1       10             10     3    10   10       10        10
          2        5              8     1    10    2       10         2
""",
    "job 2 would end after the shadow time, and the head leaves no node over; job 3 ends at it": """
submit_time run_time requested_time nodes  fcfs easy no_extra first_fit
          0       10             10     3     0    0        0         0
          1       10             10     4    10   10       10        13
          2        5              9     1    20   20       20         2
          3        6              7     1    20    3       20         7
""",
    "job 2 is long, but takes the one extra node; job 3 finds none left": """
submit_time run_time requested_time nodes  fcfs easy no_extra first_fit
          0       10             10     2     0    0        0         0
          1       10             10     3    10   10       10        52
          2       50             50     1    10    2       10         2
          3       50             50     1    20   20       20         3
""",
    "job 2 ends at the shadow time, and leaves the one extra node to job 3, which is long": """
submit_time run_time requested_time nodes  fcfs easy no_extra first_fit
          0       10             10     2     0    0        0         0
          1       10             10     3    10   10       10        10
          2        8              8     1    10    2       10         2
          3       50             50     1    18    3       18         3
""",
    "job 0 ends early, yet job 2 ends by the promise made to job 1, which is kept, no better": """
submit_time run_time requested_time nodes  fcfs easy no_extra first_fit
          0        4             10     3     0    0        0         0
          1        5              5     4     4   10        4        10
          2        8              8     1     9    2        9         2
""",
    "job 0 ends early: at t=4 the promise to job 1 is 10 no more but 7, too early for job 3": """
submit_time run_time requested_time nodes  fcfs easy no_extra first_fit
          0        4             10     2     0    0        0         0
          1        6              6     1     1    1        1         1
          2        9              9     4     7    7        7        10
          5        5              5     1    16   16       16         5
""",
    "job 0 outlives its request: it is expected to end now, so no job fits before": """
submit_time run_time requested_time nodes  fcfs easy no_extra first_fit
          0       20              5     3     0    0        0         0
          1        5              5     4    20   20       20        20
          6        1              1     1    25   25       25         6
""",
    "job 0 holds its nodes for one pass of t=0, which makes job 1 the head; then job 1 starts": """
submit_time run_time requested_time nodes  fcfs easy no_extra first_fit
          0        0              5     4     0    0        0         0
          0        6              6     3     0    0        0         0
          0        6              6     2     6    6        6         6
          0        3              3     1     6    0        0         0
""",
}  # all on four nodes

COLUMNS = {
    "fcfs": simulate_fcfs,
    "easy": simulate_easy,
    "no_extra": partial(simulate_easy, extra_nodes=False),
    "first_fit": simulate_first_fit,
}


def made(**columns) -> Workload:
    return Workload(pd.DataFrame(columns), "made up")


def moved(given: Workload, shift: float = 0.0, scale: float = 1.0) -> Workload:
    jobs = given.jobs
    return Workload(
        jobs.assign(
            submit_time=jobs["submit_time"] * scale + shift,
            run_time=jobs["run_time"] * scale,
            requested_time=jobs["requested_time"] * scale,
        ),
        given.name,
    )


@pytest.mark.parametrize("table", GOLDEN.values(), ids=GOLDEN)
def test_golden_tables(table):
    jobs = pd.read_csv(StringIO(table), sep=r"\s+")
    workload = Workload(jobs[["submit_time", "run_time", "requested_time", "nodes"]], "golden")
    for column, simulate in COLUMNS.items():
        schedule = audit(simulate(workload, System.of(4)))
        assert schedule.start_time.tolist() == jobs[column].tolist(), column


@settings(max_examples=100)
@given(workloads(max_nodes=NODES, overruns=True))
def test_fcfs_agrees_with_the_slow_version(workload):
    schedule = simulate_fcfs(workload, System.of(NODES))
    assert schedule.start_time.tolist() == naive.fcfs_starts(workload.jobs, NODES)


@settings(max_examples=200)
@given(workloads(max_jobs=20, max_nodes=NODES, overruns=True))
def test_easy_agrees_with_shadow_time_and_extra_nodes(workload):
    schedule = simulate_easy(workload, System.of(NODES))
    assert schedule.start_time.tolist() == naive.easy_starts(workload.jobs, NODES)


@pytest.mark.parametrize("seed", range(6))
def test_backfilling_agrees_where_hundreds_of_jobs_wait(seed):
    rng = np.random.default_rng(seed)
    n = 250
    run_time = rng.integers(0, 60, n)
    crowd = made(
        submit_time=np.sort(rng.integers(0, 400, n)),
        run_time=run_time,
        requested_time=np.maximum(1, run_time + rng.integers(-20, 40, n)),
        nodes=np.minimum(rng.geometric(0.15, n), 32),
    )
    system = System.of(32)
    easy = audit(simulate_easy(crowd, system))
    assert easy.start_time.tolist() == naive.easy_starts(crowd.jobs, 32)
    easy = audit(simulate_easy(crowd, system, extra_nodes=False))
    assert easy.start_time.tolist() == naive.easy_starts(crowd.jobs, 32, extra_nodes=False)
    first_fit = audit(simulate_first_fit(crowd, system))
    assert first_fit.start_time.tolist() == naive.first_fit_starts(crowd.jobs, 32)


@pytest.mark.parametrize("simulate", AT_ANY_TIME.values(), ids=AT_ANY_TIME)
@given(workload=workloads(max_nodes=NODES, overruns=True))
@settings(max_examples=25)
def test_shifted_and_scaled_times_shift_and_scale_the_schedule(simulate, workload):
    start_time = simulate(workload, System.of(NODES)).start_time
    shifted = simulate(moved(workload, shift=1024.0), System.of(NODES)).start_time
    scaled = simulate(moved(workload, scale=2.0), System.of(NODES)).start_time
    assert shifted.tolist() == (start_time + 1024.0).tolist()
    assert scaled.tolist() == (start_time * 2.0).tolist()


@pytest.mark.parametrize("simulate", AT_ANY_TIME.values(), ids=AT_ANY_TIME)
@given(workload=workloads(max_nodes=NODES, overruns=True))
@settings(max_examples=25)
def test_schedules_could_have_happened_and_no_job_waits_where_all_fit(simulate, workload):
    audit(simulate(workload, System.of(NODES)))
    wide = audit(simulate(workload, System.of(int(workload.jobs["nodes"].sum()))))
    assert (wide.jobs["wait_time"] == 0).all()


@settings(max_examples=25)
@given(workloads(max_nodes=NODES, overruns=True))
def test_fcfs_starts_in_order_of_submission(workload):
    assert (np.diff(simulate_fcfs(workload, System.of(NODES)).start_time) >= 0).all()


@settings(max_examples=25)
@given(workloads(max_nodes=NODES))
def test_easy_without_overtaking_candidates_is_fcfs(workload):
    endless = Workload(workload.jobs.assign(requested_time=1e9, nodes=NODES), "whole machine")
    fcfs, easy = (run(endless, System.of(NODES)) for run in (simulate_fcfs, simulate_easy))
    assert easy.start_time.tolist() == fcfs.start_time.tolist()


def test_fcfs_needs_no_requested_times():
    workload = made(submit_time=[0, 0], run_time=[3, 4], nodes=[2, 3])
    assert simulate_fcfs(workload, System.of(4)).start_time.tolist() == [0, 3]


@pytest.mark.parametrize(
    "simulate", [simulate_fcfs, simulate_easy, simulate_conservative, simulate_first_fit]
)
def test_killing_at_request_cuts_runs_and_says_so(simulate):
    workload = made(submit_time=[0, 0], run_time=[9, 4], requested_time=[5, 6], nodes=[4, 4])
    schedule = audit(simulate(workload, System.of(4), kill_at_request=True))
    assert schedule.start_time.tolist() == [0, 5]
    assert schedule.end_time.tolist() == [5, 9]
    assert schedule.jobs["run_time"].tolist() == [5, 4]
    assert schedule.workload.account.to_numpy().tolist() == [
        ["mended", "run_time cut at requested_time", 1]
    ]
    assert workload.jobs["run_time"].tolist() == [9, 4]


@settings(max_examples=25)
@given(workloads(max_nodes=NODES, overruns=True))
def test_killing_at_request_is_cutting_the_workload(workload):
    cut = workload.jobs[["run_time", "requested_time"]].min(axis=1)
    cut_before = Workload(workload.jobs.assign(run_time=cut), workload.name)
    killed = simulate_easy(workload, System.of(NODES), kill_at_request=True)
    assert killed.start_time.tolist() == naive.easy_starts(cut_before.jobs, NODES)


@pytest.mark.parametrize("simulate", SIMULATORS.values(), ids=SIMULATORS)
def test_no_jobs_make_an_empty_schedule(simulate):
    none = made(submit_time=[], run_time=[], requested_time=[], nodes=[])
    assert len(audit(simulate(none, System.of(4))).start_time) == 0


@pytest.mark.parametrize("simulate", SIMULATORS.values(), ids=SIMULATORS)
def test_a_job_wider_than_the_system_is_refused(simulate):
    workload = made(submit_time=[0, 0], run_time=[1, 1], requested_time=[1, 1], nodes=[4, 5])
    with pytest.raises(InvalidWorkloadError, match=r"made up: job 1 asks for 5 .*'small' has 4"):
        simulate(workload, System.of(small=4))


@pytest.mark.parametrize("simulate", SIMULATORS.values(), ids=SIMULATORS)
def test_a_system_of_two_partitions_is_refused(simulate):
    workload = made(submit_time=[0], run_time=[1], requested_time=[1], nodes=[4])
    message = (
        r"^made up: the system 'small\+big' has 2 partitions, small, big; this policy schedules "
        r"one machine: .*System\.of\(small=4\), or take simulate_coscheduling or simulate_elastic$"
    )
    with pytest.raises(InvalidWorkloadError, match=message):
        simulate(workload, System.of(small=4, big=100))


def test_missing_requested_times_are_refused_where_they_are_needed():
    workload = made(submit_time=[0], run_time=[1], nodes=[1])
    with pytest.raises(InvalidWorkloadError, match="job 0 has no requested_time"):
        simulate_easy(workload, System.of(4))
    with pytest.raises(InvalidWorkloadError, match="job 0 has no requested_time"):
        simulate_fcfs(workload, System.of(4), kill_at_request=True)


@pytest.mark.compiled("memory of arrays, and not of Python's numbers")
def test_easy_keeps_one_copy_of_the_jobs_beside_the_workload():
    """64 bytes of a record, 8 of a rank, 16 of lists, 96 of a tree, 16 of results: 200 per job."""
    jobs, system = 20_000, System.of(large.machine_nodes())
    workload = large.grid(jobs)
    simulate_easy(large.grid(100), system)
    tracemalloc.start()
    try:
        simulate_easy(workload, system)
        assert tracemalloc.get_traced_memory()[1] < 225 * jobs
    finally:
        tracemalloc.stop()


def test_jobs_of_a_grid_start_as_in_the_slow_version():
    workload, nodes = large.grid(500), 200
    starts = simulate_easy(workload, System.of(nodes)).start_time
    assert (starts > workload.jobs["submit_time"]).mean() > 0.3
    assert starts.tolist() == naive.easy_starts(workload.jobs, nodes)
