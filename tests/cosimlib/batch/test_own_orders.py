"""Orders of the queue from a column of the workload, or from one number per job."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.audit import audit
from cosimlib.batch import (
    promised_starts,
    simulate_conservative,
    simulate_easy,
    simulate_fcfs,
    simulate_first_fit,
)
from cosimlib.batch.orders import takes_moment
from cosimlib.calendar import Calendar
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
        "order='urgency'; expected one of 'submit', .* a column of the workload, one number per job"
    )
    with pytest.raises(ValueError, match=message):
        simulate(three(), System.of(NODES), order="urgency")


@pytest.mark.parametrize("column", ["priority", "user", "memory"])
def test_a_declared_column_that_the_workload_lacks_is_refused_like_any_other(column):
    message = f"three: order='{column}'; .* the columns are submit_time, requested_time, nodes$"
    with pytest.raises(ValueError, match=message):
        simulate_easy(three(), System.of(NODES), order=column)


def test_what_an_order_function_returns_is_named_with_the_moment():
    for order, message in (
        (lambda jobs: None, "three: the function order returns None; expected one number per job"),
        (lambda jobs, now: 5, "three: the function order returns 5 at t=0; expected one number"),
        (lambda jobs, now: [1, 2, 3, 4, 5], r"order has the shape \(5,\) at t=0; expected one"),
        (
            lambda jobs, now: jobs["nodes"] * np.nan,
            r"job 0 has order=nan; expected a number, to order the queue by, asked at t=0$",
        ),
    ):
        with pytest.raises(InvalidWorkloadError, match=message):
            simulate_easy(three(), System.of(NODES), order=order)


def test_no_jobs_have_any_order():
    nothing = three(priority=1.0).keep(np.zeros(4, bool), "all")
    for order in ("priority", "nodes", np.array([]), pd.Series([], dtype=float)):
        assert sequence(nothing, order) == []


SCORES = {
    "shortest": lambda jobs: jobs["requested_time"],
    "largest": lambda jobs: -jobs["nodes"].to_numpy(),
    "SAF": lambda jobs: jobs.requested_time * jobs.nodes,
}
AGED = {
    "wfp": lambda jobs, now: (
        -(((now - jobs["submit_time"]) / jobs["requested_time"]) ** 3) * jobs["nodes"]
    ),
    "LXF": lambda jobs, now: (
        -((now - jobs["submit_time"] + jobs["requested_time"]) / jobs["requested_time"]).to_numpy()
    ),
    "smallest": lambda jobs, now: jobs["nodes"].tolist(),
}
EVERYWHERE = {
    "FCFS": simulate_fcfs,
    "EASY": simulate_easy,
    "EASY per event": partial(simulate_easy, decide="per_event"),
    "EASY by predictions": partial(simulate_easy, predict="last two"),
    "first fit": simulate_first_fit,
    "kept": simulate_conservative,
    "replanned": replanned,
}


@pytest.mark.parametrize("simulate", EVERYWHERE.values(), ids=EVERYWHERE)
@settings(max_examples=15)
@given(
    workload=workloads(max_jobs=20, max_nodes=NODES, overruns=True),
    order=st.sampled_from(["largest", "SAF", *AGED]),
)
def test_functions_that_say_what_a_name_says_make_the_same_schedule(simulate, workload, order):
    schedule = simulate(workload, System.of(NODES), order=(SCORES | AGED)[order])
    expected = simulate(workload, System.of(NODES), order=order).start_time
    assert audit(schedule).start_time.tolist() == expected.tolist()


@pytest.mark.parametrize("simulate", EVERYWHERE.values(), ids=EVERYWHERE)
def test_a_function_of_the_moment_sees_the_jobs_that_wait(simulate):
    """Jobs 1 to 3 come while job 0 runs, and start one after another."""
    seen = []

    def last_first(jobs, now):
        seen.append((now, jobs.index.tolist()))
        return -jobs["submit_time"]

    schedule = simulate(three(), System.of(NODES), order=last_first)
    asked = {now: jobs for now, jobs in seen if len(jobs) > 1}
    assert asked[10.0] == [1, 2, 3]
    if simulate is not simulate_conservative:
        assert np.argsort(schedule.start_time).tolist() == [0, 3, 2, 1]


def test_first_promises_are_made_by_functions_of_the_moment_too():
    workload, system = three(requested_time=[10, 30, 20, 10]), System.of(NODES)
    for reading in READINGS:
        knobs = {"reservations": reading}
        aged = promised_starts(workload, system, order=AGED["wfp"], **knobs)
        assert aged.tolist() == promised_starts(workload, system, order="wfp", **knobs).tolist()


def test_windows_close_under_functions_of_the_moment_too():
    workload, closed = three(requested_time=[10, 30, 20, 10]), Calendar([(15, 40)])
    for simulate in (simulate_fcfs, simulate_easy, simulate_first_fit, simulate_conservative):
        starts, expected = (
            simulate(workload, System.of(NODES), order=order, calendar=closed).start_time.tolist()
            for order in (AGED["wfp"], "wfp")
        )
        assert starts == expected


@pytest.mark.parametrize("simulate", SIMULATORS)
@pytest.mark.parametrize("column", ["run_time", "recorded_start", "status"])
def test_functions_do_not_see_what_is_known_only_afterwards(simulate, column):
    workload = three(recorded_start=5, status=1)
    message = f"three: column '{column}' is known only after a job has ended"
    for order in (
        lambda jobs: jobs[column],
        lambda jobs: getattr(jobs, column),
        lambda jobs, now: jobs[column] + now,
    ):
        with pytest.raises(InvalidWorkloadError, match=message):
            simulate(workload, System.of(NODES), order=order)
    with pytest.raises(KeyError, match="urgency"):
        simulate(workload, System.of(NODES), order=lambda jobs: jobs["urgency"])


@pytest.mark.parametrize(
    ("order", "error", "message"),
    [
        (lambda: 1, ValueError, "expected a function of one argument, the jobs' table; or of two"),
        (lambda a, b, c: a, ValueError, "expected a function of one argument"),
        (5, ValueError, r"order=5; expected one of 'submit', .*one number per job, or a function"),
        (lambda jobs: 5, InvalidWorkloadError, r"order returns 5; expected one number per job, 4"),
        (lambda jobs, now: [1], InvalidWorkloadError, r"shape \(1,\) at t=10; expected one number"),
        (
            lambda jobs, now: jobs["submit_time"].where(jobs.index != 2),
            InvalidWorkloadError,
            "three: job 2 has order=nan; expected a number",
        ),
        (lambda jobs: ["a"] * 4, InvalidWorkloadError, "three: job 0 has order='a'; expected a n"),
        (lambda jobs, now: ["a"] * len(jobs), InvalidWorkloadError, "has order='a'; expected a nu"),
    ],
)
def test_functions_that_order_nothing_are_refused(order, error, message):
    with pytest.raises(error, match=message):
        simulate_easy(three(), System.of(NODES), order=order)


def test_arguments_with_a_default_do_not_count():
    def small(jobs, most=4):
        return (jobs["nodes"] > most).astype(int)

    def aged(jobs, now, half_life=100.0):
        return -(2 ** ((now - jobs["submit_time"]) / half_life))

    assert not takes_moment(small) and takes_moment(aged)
    assert takes_moment(partial(aged, half_life=5.0))
    simulate_easy(three(), System.of(NODES), order=small)
    schedule = simulate_easy(three(), System.of(NODES), order=aged)
    assert schedule.policy == "EASY (own order)"


def test_numbers_that_are_missing_name_what_fills_them_in():
    workload = three(requested_time=[10, np.nan, 10, 10])
    for order in (workload.jobs["requested_time"], lambda jobs: jobs["requested_time"]):
        with pytest.raises(InvalidWorkloadError, match=r"job 1 has order=nan.*prepare_workload"):
            simulate_fcfs(workload, System.of(NODES), order=order)


@pytest.mark.parametrize("kind", [bool, str, complex])
def test_a_function_of_the_moment_gives_numbers_as_one_of_the_table_does(kind):
    workload = Workload(pd.DataFrame({"submit_time": [0.0], "run_time": [1.0], "nodes": [1]}))
    for order in (
        lambda jobs: jobs["nodes"].astype(kind),
        lambda jobs, now: jobs["nodes"].astype(kind),
    ):
        with pytest.raises(InvalidWorkloadError, match=r"order=.*; expected a number") as error:
            simulate_fcfs(workload, System.of(2), order=order)
        assert "prepare_workload" not in str(error.value)
