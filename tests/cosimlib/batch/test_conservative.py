"""Conservative backfilling: golden tables, the slow version, and the promises it makes."""

from io import StringIO

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.audit import audit
from cosimlib.batch import ORDERS, promised_starts, simulate_conservative, simulate_easy
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError, Workload
from tests.cosimlib.batch import naive
from tests.strategies import workloads

NODES = 8
READINGS = ("kept", "replanned")

GOLDEN = {
    "EASY lets job 3 take an extra node and delay job 2; conservative has promised job 2 t=20": """
submit_time run_time requested_time nodes  easy promised kept replanned
          0       10             10     3     0        0    0         0
          1       10             10     2    10       10   10        10
          2        5              5     4    23       20   20        20
          3       20             20     1     3       25   25        25
""",
    "job 0 ends at t=2: kept moves job 4 into the hole, replanned gives it to job 3, before it": """
submit_time run_time requested_time nodes  easy promised kept replanned
          0        2             10     2     0        0    0         0
          0       20             20     2     0        0    0         0
          0       10             10     4    20       20   20        20
          0       15             15     2     2       30   30         2
          0       10             10     2    30       10    2        30
""",
    "job 0 outlives its request: job 1 is expected to start now until it does": """
submit_time run_time requested_time nodes  easy promised kept replanned
          0       20              5     3     0        0    0         0
          1        5              5     4    20        5   20        20
          6        1              1     1    25       11   25        25
""",
    "job 0 holds its nodes for one pass of t=0, in which jobs 1 and 2 are promised t=5": """
submit_time run_time requested_time nodes  easy promised kept replanned
          0        0              5     4     0        0    0         0
          0        6              6     2     0        5    0         0
          0        6              6     2     0        5    0         0
          0        3              3     1     6       11    6         6
""",
}  # all on four nodes


def without_overruns(workload: Workload) -> Workload:
    jobs = workload.jobs
    return Workload(jobs.assign(run_time=jobs[["run_time", "requested_time"]].min(axis=1)))


def crowd(seed: int, n: int, nodes: int, overruns: bool) -> Workload:
    """So many jobs that dozens wait."""
    rng = np.random.default_rng(seed)
    run_time = rng.integers(0, 60, n)
    jobs = {
        "submit_time": np.sort(rng.integers(0, 8 * n, n)),
        "run_time": run_time,
        "requested_time": np.maximum(1, run_time + rng.integers(-20 if overruns else 0, 60, n)),
        "nodes": np.minimum(rng.geometric(0.15, n), nodes),
    }
    return Workload(pd.DataFrame(jobs), "crowd")


def assert_agrees(workload, nodes, **knobs):
    """Starts and first promises are the slow version's; the schedule could have happened."""
    starts, promised = naive.conservative_starts(workload.jobs, nodes, **knobs)
    schedule = audit(simulate_conservative(workload, System.of(nodes), **knobs))
    assert schedule.start_time.tolist() == starts
    assert promised_starts(workload, System.of(nodes), **knobs).tolist() == promised
    return schedule


@pytest.mark.parametrize("table", GOLDEN.values(), ids=GOLDEN)
def test_golden_tables(table):
    jobs = pd.read_csv(StringIO(table), sep=r"\s+")
    workload = Workload(jobs[["submit_time", "run_time", "requested_time", "nodes"]], "golden")
    four = System.of(4)
    assert simulate_easy(workload, four).start_time.tolist() == jobs["easy"].tolist()
    assert promised_starts(workload, four).tolist() == jobs["promised"].tolist()
    for reading in READINGS:
        schedule = audit(simulate_conservative(workload, four, reservations=reading))
        assert schedule.start_time.tolist() == jobs[reading].tolist(), reading


@settings(max_examples=200)
@given(
    workloads(max_jobs=20, max_nodes=NODES, overruns=True),
    st.sampled_from(ORDERS),
    st.sampled_from(READINGS),
)
def test_agrees_with_the_slow_version_in_every_order(workload, order, reading):
    assert_agrees(workload, NODES, order=order, reservations=reading)


@settings(max_examples=100)
@given(workloads(max_jobs=20, max_nodes=NODES), st.sampled_from(READINGS))
def test_agrees_with_the_slow_version_where_no_job_outlives_its_request(workload, reading):
    assert_agrees(workload, NODES, reservations=reading)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("overruns", [False, True], ids=["within requests", "overruns"])
def test_agrees_where_dozens_wait(reading, overruns):
    workload = crowd(0 if overruns else 1, 120, 32, overruns)
    assert_agrees(workload, 32, reservations=reading)


def test_a_reservation_that_moved_after_a_new_plan_is_due_only_at_its_new_start():
    assert_agrees(crowd(76, 25, 8, overruns=True), 8)


@settings(max_examples=15)
@given(st.integers(0, 10_000), st.sampled_from(READINGS))
def test_agrees_where_sums_of_times_are_rounded(seed, reading):
    jobs = crowd(seed, 50, 6, overruns=False).jobs
    tenths = {name: jobs[name] / 10 for name in ("submit_time", "run_time", "requested_time")}
    assert_agrees(Workload(jobs.assign(**tenths), "tenths"), 6, reservations=reading)


@settings(max_examples=100)
@given(workloads(max_jobs=20, max_nodes=NODES, overruns=True), st.sampled_from(ORDERS))
def test_kept_reservations_only_move_earlier(workload, order):
    workload = without_overruns(workload)
    promised = promised_starts(workload, System.of(NODES), order=order)
    schedule = audit(simulate_conservative(workload, System.of(NODES), order=order))
    assert (schedule.start_time <= promised.to_numpy()).all()


@settings(max_examples=50)
@given(workloads(max_jobs=20, max_nodes=NODES))
def test_with_exact_estimates_every_promise_is_the_start_and_both_readings_agree(workload):
    exact = Workload(workload.jobs.assign(requested_time=workload.jobs["run_time"]))
    promised = promised_starts(exact, System.of(NODES)).tolist()
    for reading in READINGS:
        schedule = simulate_conservative(exact, System.of(NODES), reservations=reading)
        assert schedule.start_time.tolist() == promised


@settings(max_examples=50)
@given(workloads(max_nodes=NODES, overruns=True), st.sampled_from(READINGS))
def test_killing_at_request_is_cutting_the_workload(workload, reading):
    killed = simulate_conservative(
        workload, System.of(NODES), reservations=reading, kill_at_request=True
    )
    cut = simulate_conservative(without_overruns(workload), System.of(NODES), reservations=reading)
    assert killed.start_time.tolist() == cut.start_time.tolist()
    assert killed.end_time.tolist() == cut.end_time.tolist()


def test_policies_are_named_after_their_knobs():
    workload = crowd(2, 5, 32, overruns=False)
    knobs = {"reservations": "replanned", "order": "wfp"}
    assert simulate_conservative(workload, System.of(32)).policy == "conservative"
    assert simulate_conservative(workload, System.of(32), **knobs).policy == (
        "conservative (replanned, wfp)"
    )


def test_an_unknown_reading_is_refused():
    workload = crowd(2, 5, 32, overruns=False)
    message = "reservations='held'; expected one of 'kept', 'replanned'"
    with pytest.raises(ValueError, match=message):
        simulate_conservative(workload, System.of(32), reservations="held")


def test_missing_requested_times_are_refused():
    workload = Workload(pd.DataFrame({"submit_time": [0], "run_time": [1], "nodes": [1]}), "bare")
    with pytest.raises(InvalidWorkloadError, match="bare: job 0 has no requested_time"):
        simulate_conservative(workload, System.of(4))
