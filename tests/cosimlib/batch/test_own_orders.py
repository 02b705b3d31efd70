"""Orders of the queue from a column of the workload, or from one number per job."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.audit import audit
from cosimlib.batch import promised_starts, simulate_conservative, simulate_easy, simulate_fcfs
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError, Workload
from tests.cosimlib.batch import naive
from tests.strategies import workloads

NODES = 8
READINGS = ("kept", "replanned")
SIMULATORS = (simulate_fcfs, simulate_easy, simulate_conservative)
replanned = partial(simulate_conservative, reservations="replanned")
RANKS = st.one_of(st.integers(-3, 3), st.sampled_from([-0.5, 0.5, float("inf")]))
SAME = {
    "shortest": lambda jobs: jobs["requested_time"],
    "longest": lambda jobs: -jobs["requested_time"],
    "smallest": lambda jobs: jobs["nodes"],
    "largest": lambda jobs: -jobs["nodes"],
    "submit": lambda jobs: jobs["submit_time"],
}


def three(**columns) -> Workload:
    """Three jobs as wide as the machine, submitted while another runs."""
    jobs = {"submit_time": [0, 1, 2, 3], "run_time": 10, "requested_time": 10, "nodes": NODES}
    return Workload(pd.DataFrame(jobs | columns), "three")


def sequence(workload: Workload, order, simulate=simulate_easy) -> list[int]:
    """The jobs in order of start."""
    schedule = audit(simulate(workload, System.of(NODES), order=order))
    return np.argsort(schedule.start_time).tolist()


@st.composite
def ranked(draw):
    """A workload with overruns and one number per job, many of them equal."""
    workload = draw(workloads(max_jobs=20, max_nodes=NODES, overruns=True))
    n = len(workload)
    return workload, draw(st.lists(RANKS, min_size=n, max_size=n))


@settings(max_examples=150)
@given(ranked())
def test_fcfs_agrees_with_the_slow_version(case):
    workload, ranks = case
    schedule = audit(simulate_fcfs(workload, System.of(NODES), order=np.array(ranks)))
    assert schedule.start_time.tolist() == naive.strict_starts(workload.jobs, NODES, ranks)


@settings(max_examples=200)
@given(ranked(), st.sampled_from(["per_instant", "per_event"]))
def test_easy_agrees_with_the_slow_version(case, decide):
    workload, ranks = case
    schedule = simulate_easy(workload, System.of(NODES), order=np.array(ranks), decide=decide)
    assert audit(schedule).start_time.tolist() == naive.easy_starts(
        workload.jobs, NODES, ranks, decide
    )


@settings(max_examples=200)
@given(ranked(), st.sampled_from(READINGS))
def test_conservative_agrees_with_the_slow_version(case, reading):
    workload, ranks = case
    starts, promised = naive.conservative_starts(workload.jobs, NODES, ranks, reading)
    knobs = {"order": np.array(ranks), "reservations": reading}
    schedule = audit(simulate_conservative(workload, System.of(NODES), **knobs))
    assert schedule.start_time.tolist() == starts
    assert promised_starts(workload, System.of(NODES), **knobs).tolist() == promised


@pytest.mark.parametrize("simulate", SIMULATORS)
@settings(max_examples=30)
@given(
    workload=workloads(max_jobs=20, max_nodes=NODES, overruns=True), order=st.sampled_from([*SAME])
)
def test_numbers_that_say_what_a_name_says_make_the_same_schedule(simulate, workload, order):
    expected = simulate(workload, System.of(NODES), order=order).start_time
    series = SAME[order](workload.jobs)
    for numbers in (series, series.to_numpy(), series.sample(frac=1, random_state=3)):
        assert np.array_equal(
            simulate(workload, System.of(NODES), order=numbers).start_time, expected
        )


@pytest.mark.parametrize("simulate", [simulate_fcfs, simulate_easy, replanned])
def test_a_column_is_lowest_first_and_ties_go_to_the_job_submitted_first(simulate):
    assert sequence(three(urgency=[1, 7, 2, 2]), "urgency", simulate) == [0, 2, 3, 1]
    assert sequence(three(nodes=[8, 8, 6, 7]), "nodes", simulate) == [0, 2, 3, 1]


def test_priority_is_greatest_first_for_more_is_more_urgent():
    assert sequence(three(priority=[1, 1, 5, 2]), "priority") == [0, 2, 3, 1]
    assert sequence(three(), "priority") == [0, 1, 2, 3]
    given_as_numbers = three(priority=[1, 1, 5, 2]).jobs["priority"]
    assert sequence(three(), given_as_numbers) == [0, 1, 3, 2]


def test_a_multifactor_priority_is_an_expression():
    """Half the weight on age, half on size: job 3 is late but twice as large as the others."""
    workload = three(nodes=[8, 4, 4, 8])
    jobs = workload.jobs
    priority = 0.5 * (100 - jobs["submit_time"]) / 100 + 0.5 * jobs["nodes"] / NODES
    assert sequence(workload, -priority, simulate_fcfs) == [0, 3, 1, 2]


def test_a_series_is_read_by_its_index_and_an_array_by_place():
    backwards = pd.Series([0, 1, 2, 3], index=[3, 2, 1, 0])
    assert sequence(three(), backwards) == [0, 3, 2, 1]
    assert sequence(three(), backwards.to_numpy()) == [0, 1, 2, 3]


def test_whole_numbers_beyond_floats_stay_apart():
    close = np.array([0, 2**60 + 1, 2**60, 2**60 + 2])
    assert sequence(three(), close) == [0, 2, 1, 3]
    assert sequence(three(), [0, 2**70 + 1, 2**70, 2**70 + 2]) == [0, 2, 1, 3]


def test_schedules_are_named_after_the_column_and_numbers_are_an_own_order():
    workload, system = three(urgency=1), System.of(NODES)
    urgency = workload.jobs["urgency"]
    assert simulate_easy(workload, system, order="urgency").policy == "EASY (urgency)"
    for numbers in (urgency, urgency.rename("wfp"), urgency.rename("priority"), urgency.tolist()):
        assert simulate_easy(workload, system, order=numbers).policy == "EASY (own order)"
    named = simulate_conservative(workload, system, order=urgency, reservations="replanned")
    assert named.policy == "conservative (replanned, own order)"


@pytest.mark.parametrize("simulate", SIMULATORS)
@pytest.mark.parametrize("column", ["run_time", "recorded_start", "status"])
def test_a_column_that_is_known_only_afterwards_orders_no_queue(simulate, column):
    workload = three(recorded_start=5, status=1)
    message = f"three: column '{column}' is known only after a job has ended"
    with pytest.raises(InvalidWorkloadError, match=message):
        simulate(workload, System.of(NODES), order=column)


@pytest.mark.parametrize("simulate", SIMULATORS)
@pytest.mark.parametrize(
    ("order", "message"),
    [
        ("queue", "three: job 0 has queue='short'; expected a number, to order the queue by"),
        ("memory", "three: job 1 has memory=nan; expected a number, to order the queue by"),
        ("exclusive", "three: job 0 has exclusive=True; expected a number"),
        ([1, 2, None, 3], "three: job 2 has order=None; expected a number"),
        (np.array([1, np.nan, 2, 3]), "three: job 1 has order=nan; expected a number"),
        (
            pd.array([1, 2, 3, None], dtype="Int64"),
            "three: job 3 has order=nan; expected a number",
        ),
        (np.arange(3), r"three: order has the shape \(3,\); expected one number per job, 4$"),
        (np.zeros((4, 1)), r"three: order has the shape \(4, 1\); expected one number per job, 4$"),
        (
            pd.Series([1, 2, 3]),
            r"order has the shape \(3,\).* per job, 4, under the index of its jobs",
        ),
        (pd.Series([1, 2, 3, 4], index=[1, 2, 3, 4]), "per job, 4, under the index of its jobs"),
        (pd.Series([1, 2, 3, 4], index=[0, 1, 1, 2]), "per job, 4, under the index of its jobs"),
    ],
)
def test_what_orders_nothing_is_refused_by_job_and_value(simulate, order, message):
    workload = three(queue="short", memory=[1, np.nan, 2, 3], exclusive=True)
    with pytest.raises(InvalidWorkloadError, match=message):
        simulate(workload, System.of(NODES), order=order)


@pytest.mark.parametrize("simulate", SIMULATORS)
def test_an_unknown_column_is_refused_by_name(simulate):
    message = (
        "order='urgency'; expected one of 'submit', .* a column of the workload, or one number"
    )
    with pytest.raises(ValueError, match=message):
        simulate(three(), System.of(NODES), order="urgency")


def test_no_jobs_have_any_order():
    nothing = three().keep(np.zeros(4, bool), "all")
    for order in ("priority", "nodes", np.array([]), pd.Series([], dtype=float)):
        assert sequence(nothing, order) == []
