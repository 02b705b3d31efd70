"""First fit: what a schedule without a reservation must satisfy, and what it does to wide jobs."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.audit import audit
from cosimlib.batch import simulate, simulate_easy, simulate_fcfs, simulate_first_fit
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError, Workload
from tests import pages
from tests.cosimlib.batch import naive
from tests.strategies import arrays, workloads

NODES = 8
DECIDE = ("per_instant", "per_event")
one_instant = pages.function(pages.OWN_POLICY, "first_fit")


def made(**columns) -> Workload:
    return Workload(pd.DataFrame(columns), "made up")


@settings(max_examples=100)
@given(workloads(max_nodes=NODES, overruns=True), st.sampled_from(DECIDE))
def test_no_waiting_job_fits_in_the_free_nodes_between_two_events(workload, decide):
    schedule = audit(simulate_first_fit(workload, System.of(NODES), decide=decide))
    jobs = schedule.jobs
    for moment in {*jobs["submit_time"], *jobs["end_time"]}:
        held = (jobs["start_time"] <= moment) & (moment < jobs["end_time"])
        free = NODES - jobs["nodes"][held].sum()
        waits = (jobs["submit_time"] <= moment) & (moment < jobs["start_time"])
        assert (jobs["nodes"][waits] > free).all(), moment


@settings(max_examples=60)
@given(arrays(overruns=True))
def test_it_is_the_policy_that_starts_what_fits_at_each_instant(workload):
    expected = simulate(workload, System.of(NODES), one_instant)
    schedule = simulate_first_fit(workload, System.of(NODES))
    assert schedule.start_time.tolist() == expected.start_time.tolist()


@settings(max_examples=60)
@given(workloads(max_nodes=NODES, overruns=True), st.sampled_from(DECIDE), st.data())
def test_requests_change_nothing_and_may_be_missing(workload, decide, data):
    system = System.of(NODES)
    known = simulate_first_fit(workload, system, decide=decide)
    missing = data.draw(st.lists(st.booleans(), min_size=len(workload), max_size=len(workload)))
    requested = workload.jobs["requested_time"].astype("float64").mask(missing)
    unknown = Workload(workload.jobs.assign(requested_time=requested), "some are missing")
    schedule = simulate_first_fit(unknown, system, decide=decide)
    assert schedule.start_time.tolist() == known.start_time.tolist()
    pd.testing.assert_frame_equal(schedule.workload.jobs, unknown.jobs)


@settings(max_examples=40)
@given(workloads(max_nodes=NODES, overruns=True), st.integers(1, NODES))
def test_jobs_that_want_equally_many_nodes_are_served_in_turn(workload, nodes):
    alike = Workload(workload.jobs.assign(nodes=nodes), "equally wide")
    first_fit, fcfs = (run(alike, System.of(NODES)) for run in (simulate_first_fit, simulate_fcfs))
    assert first_fit.start_time.tolist() == fcfs.start_time.tolist()


def test_per_event_gives_the_nodes_of_the_first_end_away():
    """Jobs 0 and 1 end at t=5; after the first end job 3 fits and job 2 does not yet."""
    workload = made(submit_time=[0, 0, 1, 2], run_time=[5, 5, 4, 3], nodes=[2, 2, 4, 2])
    starts = {
        decide: audit(simulate_first_fit(workload, System.of(4), decide=decide)).start_time.tolist()
        for decide in DECIDE
    }
    assert starts == {"per_instant": [0, 0, 5, 9], "per_event": [0, 0, 8, 5]}
    for decide, expected in starts.items():
        asked = Workload(workload.jobs.assign(requested_time=9.0))
        assert naive.first_fit_starts(asked.jobs, 4, decide=decide) == expected


@pytest.mark.parametrize("narrow", [1, 5, 40])
def test_a_wide_job_waits_for_as_long_as_narrow_ones_come(narrow):
    """One-node jobs of 10 s come every 5 s onto two nodes: both are never free at once."""
    come = 5 * np.arange(narrow + 1)
    workload = made(
        submit_time=[*come[:1], 1, *come[1:]],
        run_time=[10] * (narrow + 2),
        requested_time=[10] * (narrow + 2),
        nodes=[1, 2, *[1] * narrow],
    )
    first_fit, easy = (run(workload, System.of(2)) for run in (simulate_first_fit, simulate_easy))
    assert first_fit.start_time[1] == 5 * narrow + 10
    assert easy.start_time[1] == 10


def test_orders_by_request_and_cut_runs_need_requests():
    workload = made(submit_time=[0], run_time=[1], nodes=[1])
    assert simulate_first_fit(workload, System.of(4)).start_time.tolist() == [0]
    for knobs in ({"order": "sjbf"}, {"order": "shortest"}, {"kill_at_request": True}):
        with pytest.raises(InvalidWorkloadError, match="job 0 has no requested_time"):
            simulate_first_fit(workload, System.of(4), **knobs)
