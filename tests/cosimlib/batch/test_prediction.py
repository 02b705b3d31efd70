"""EASY by predictions: a slow version, and what predictions must not change."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.audit import audit
from cosimlib.batch import simulate_easy
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError, Workload
from tests.cosimlib.batch import naive
from tests.strategies import workloads

DATA = Path(__file__).parents[2] / "data"
NODES = 8
ORDERS = ["submit", "sjbf", "shortest", "largest"]


def naive_last_two(jobs, nodes, order, decide):
    """EASY in which jobs ask for the mean of their user's last two; an overrun for the request."""
    predicted, ended, gone = {}, [], set()

    def asking(job, seconds):
        return job._replace(requested_time=seconds)

    def prediction(job):
        mine = [other.run_time for other in ended if other.user == job.user]
        return min(job.requested_time, sum(mine[-2:]) / 2) if len(mine) > 1 else job.requested_time

    def choose(waiting, running, starts, now):
        still = {job.Index for job in running}
        over = [job for job in begun if job.Index not in still and job.Index not in gone]
        ended.extend(over)
        gone.update(job.Index for job in over)
        known = []
        for job in running:
            seconds = predicted[job.Index]
            known.append(asking(job, seconds) if starts[job.Index] + seconds > now else job)
        asked = [asking(job, prediction(job)) for job in waiting]
        chosen = naive.easy_choice(asked, known, starts, now, nodes, order, True)
        predicted.update((job.Index, job.requested_time) for job in chosen)
        by_row = {job.Index: job for job in waiting}
        taken = [by_row[job.Index] for job in chosen]
        begun.extend(taken)
        return taken

    begun = []
    return naive.starts_in_passes(jobs, decide, choose)


def with_users(workload, users):
    names = [str(users[row % len(users)]) for row in range(len(workload))]
    return Workload(workload.jobs.assign(user=names), workload.name)


@pytest.mark.parametrize("order", ["submit", "sjbf", "shortest"])
@pytest.mark.parametrize("decide", ["per_instant", "per_event"])
@settings(deadline=None, max_examples=40)
@given(jobs=workloads(max_jobs=20), users=st.lists(st.integers(0, 2), min_size=1, max_size=7))
def test_last_two_agree_with_the_slow_version(order, decide, jobs, users):
    workload = with_users(jobs, users)
    schedule = simulate_easy(
        workload, System.of(NODES), order=order, decide=decide, predict="last two"
    )
    assert audit(schedule).start_time.tolist() == naive_last_two(
        workload.jobs, NODES, order, decide
    )


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("extra_nodes", [True, False])
@settings(deadline=None, max_examples=30)
@given(jobs=workloads(max_jobs=20, overruns=True))
def test_predictions_that_are_requests_change_nothing(order, extra_nodes, jobs):
    """Also where jobs outlive their requests: they are expected to end now."""
    for decide in ("per_instant", "per_event"):
        knobs = {"order": order, "extra_nodes": extra_nodes, "decide": decide}
        plain = simulate_easy(jobs, System.of(NODES), **knobs)
        same = simulate_easy(jobs, System.of(NODES), predict=jobs.jobs["requested_time"], **knobs)
        assert same.start_time.tolist() == plain.start_time.tolist()


@settings(deadline=None, max_examples=40)
@given(jobs=workloads(max_jobs=20))
def test_exact_predictions_are_exact_requests(jobs):
    exact = Workload(jobs.jobs.assign(requested_time=jobs.jobs["run_time"]), "exact")
    for order in ("submit", "sjbf"):
        planned = simulate_easy(
            jobs, System.of(NODES), order=order, predict=jobs.jobs["run_time"].to_numpy()
        )
        asked = simulate_easy(exact, System.of(NODES), order=order)
        assert planned.start_time.tolist() == asked.start_time.tolist()


def test_easy_plus_plus_of_pyss_starts_every_job_at_the_same_second():
    """400 jobs of KTH-SP2; pyss has a pass after each event, and whole seconds as predictions."""
    jobs = pd.read_csv(DATA / "pyss" / "easy-plus-plus.csv", dtype={"user": str})
    workload = Workload(jobs.drop(columns="pyss"), "KTH-SP2")
    knobs = {"order": "sjbf", "predict": "last two"}
    ours = simulate_easy(workload, System.of(100), decide="per_event", **knobs)
    assert ours.start_time.tolist() == jobs["pyss"].tolist()
    at_once = simulate_easy(workload, System.of(100), **knobs)
    assert (at_once.start_time == jobs["pyss"]).mean() == 0.9725


def test_predictions_are_named_and_checked():
    times = {"submit_time": [0, 1], "run_time": [9, 9], "requested_time": [9, 9], "nodes": [1, 1]}
    workload = Workload(pd.DataFrame(times), "two")
    system = System.of(1)
    assert simulate_easy(workload, system, predict="last two", order="sjbf").policy == (
        "EASY (last two, sjbf)"
    )
    assert simulate_easy(workload, system, predict=[1, 2]).policy == "EASY (predicted)"
    with pytest.raises(ValueError, match=r"predict='best'; expected 'last two', or the predicted"):
        simulate_easy(workload, system, predict="best")
    with pytest.raises(InvalidWorkloadError, match=r"two: predict has the shape \(3,\)"):
        simulate_easy(workload, system, predict=np.ones(3))
    with pytest.raises(InvalidWorkloadError, match=r"job 1.*predict=-1"):
        simulate_easy(workload, system, predict=np.array([1.0, -1.0]))
