"""The range of times in which simulators are exact: refused beyond it, laws at its ends.

And every simulator's own schedule passes the audit, of whatever kind it is.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib import metrics
from cosimlib.audit import InfeasibleScheduleError, audit
from cosimlib.batch import (
    ORDERS,
    simulate,
    simulate_conservative,
    simulate_easy,
    simulate_fcfs,
)
from cosimlib.coscheduling import simulate_coscheduling
from cosimlib.elastic import POLICIES as ELASTIC
from cosimlib.elastic import simulate_elastic
from cosimlib.filling import simulate_filling
from cosimlib.ondemand import POLICIES as ONDEMAND
from cosimlib.ondemand import Reserve, simulate_ondemand
from cosimlib.ondemand.policies import NOTICES
from cosimlib.policies import SIMULATORS
from cosimlib.system import THETA, System
from cosimlib.timesharing import simulate_batch, simulate_timesharing
from cosimlib.units import DAY, HOUR
from cosimlib.workload import HORIZON, LATEST, InvalidWorkloadError, Workload
from tests.strategies import extremes

SIX = System.of(6)
few = settings(max_examples=6)


def jobs(submit_time, run_time, requested_time=None, nodes=1, **columns):
    """A workload of jobs that ask for what they need, unless said otherwise."""
    times = {"submit_time": submit_time, "run_time": run_time}
    times["requested_time"] = (
        [time or 1.0 for time in run_time] if requested_time is None else requested_time
    )
    return Workload(pd.DataFrame(times | {"nodes": nodes} | columns), "made")


@pytest.mark.parametrize("time", [1e11, 1e15, 2.0**52, np.inf])
@pytest.mark.parametrize("column", ["submit_time", "run_time", "requested_time"])
def test_times_from_the_latest_on_are_refused(column, time):
    times = {name: [1.0, 2.0] for name in ("submit_time", "run_time", "requested_time")}
    jobs(**times | {column: [1.0, np.nextafter(LATEST, 0)]})
    with pytest.raises(InvalidWorkloadError, match=rf"^made: job 1 has {column}=.*100,000,000,000"):
        jobs(**times | {column: [1.0, time]})


@pytest.mark.parametrize("column", ["run_time", "requested_time"])
def test_a_time_that_is_lost_beside_the_others_is_refused(column):
    times = {"run_time": [1.0, 1.0], "requested_time": [1.0, 1.0]}
    with pytest.raises(InvalidWorkloadError, match=rf"job 1 has {column}=1e-09; .* 8.88e-06 s or"):
        jobs([0.0, 1e10], **times | {column: [1.0, 1e-9]})
    jobs([0.0, 1e5], **times | {column: [1.0, 1e-9]})


def test_the_horizon_is_that_of_all_jobs_one_after_another():
    most = int(HORIZON // 9e10)
    jobs(np.zeros(most), np.full(most, 9e10))
    with pytest.raises(InvalidWorkloadError, match=r"job 0 takes 90000000000 s, .* t=1.13e\+15 at"):
        jobs(np.zeros(most + 1), np.full(most + 1, 9e10))


@pytest.mark.parametrize("policy", SIMULATORS)
@few
@given(workload=extremes(overruns=False))
def test_registered_policies_at_the_ends_of_the_range(policy, workload):
    audit(SIMULATORS[policy](workload, SIX))


@settings(max_examples=20)
@given(extremes(), st.sampled_from(list(ORDERS)), st.sampled_from(["kept", "replanned"]))
def test_conservative_in_every_order_ends_or_says_what_takes_so_long(workload, order, reservations):
    over = (workload.jobs["run_time"] - workload.jobs["requested_time"]).max()
    knobs = {"order": order, "reservations": reservations}
    if over > 1e4 * workload.jobs["requested_time"].min():
        knobs["kill_at_request"] = True
    schedule = audit(simulate_conservative(workload, SIX, **knobs))
    assert (schedule.jobs["wait_time"] >= 0).all()


def test_a_plan_is_not_made_anew_without_end():
    """While job 0 outlives its request, job 1 is planned for now, and a nanosecond later again."""
    workload = jobs([0, 1, 2], [1e4, 1, 1], [1, 1e-9, 5], [6, 6, 6])
    with pytest.raises(ValueError, match=r"job 0 outlives its request by 9999 s: 9,999,0.* job 1"):
        simulate_conservative(workload, SIX)
    audit(simulate_conservative(workload, SIX, kill_at_request=True))


@few
@given(extremes(longest=60.0, overruns=False), st.booleans(), st.sampled_from([None, 1e-5]))
def test_time_sharing_with_noise_at_the_ends_of_the_range(workload, spmd, noise):
    audit(simulate_timesharing(workload, SIX, noise=noise, spmd=spmd))
    audit(simulate_batch(workload, SIX, noise=noise, spmd=spmd))


@settings(max_examples=20)
@given(extremes(), st.booleans())
def test_time_sharing_in_exact_times_at_the_ends_of_the_range(workload, spmd):
    audit(simulate_timesharing(workload, SIX, step=None, spmd=spmd))


@pytest.mark.parametrize("n", [3, 40])
def test_the_audit_of_time_sharing_allows_for_the_distance_of_floats(n):
    """Each end is rounded, by up to 7.6e-6 s near the latest times; a hundredth is a fault."""
    rng = np.random.default_rng(0)
    late = 9e10 + np.sort(rng.random(n)) * n / 2
    workload = jobs(late, 0.05 + rng.random(n), nodes=rng.integers(1, 3, n))
    audit(simulate_timesharing(workload, System.of(2), step=None, spmd=False))
    exact = audit(simulate_timesharing(workload, System.of(2), step=None))
    with pytest.raises(InfeasibleScheduleError, match=r"more work than|sooner than alone"):
        audit(replace(exact, end_time=exact.end_time - 0.01))


@pytest.mark.parametrize("begin", [1e9, 9e10])
def test_noise_does_not_walk_the_time_before_the_first_job(begin):
    """Nor that between jobs: the work in the series is all there, and samples are too."""
    workload = jobs([begin, begin, begin + 9e9], [100.0, 50.0, 70.0])
    sample = [0.0, begin, begin + 1e6, begin + 9e9]
    shared = audit(simulate_timesharing(workload, SIX, noise=1e-4, sample=sample))
    width = shared.resolution
    # A job counts until the end of the step in which it is done.
    assert 220.0 <= (shared.series["utilization"] * width * 6).sum() <= 250.0
    assert shared.series.index[-1] == (begin + 9e9) // width * width
    assert (shared.shares > 0).sum(axis=1).tolist() == [0, 2, 0, 1]


def test_a_gap_changes_nothing_of_what_comes_before_it():
    """Jobs of the first hours, with and without one years later, under the same noise."""
    near = jobs([0.0, 5e3], [9e3, 4e3])
    far = jobs([0.0, 5e3, 1e7], [9e3, 4e3, 50.0])
    ends = [simulate_timesharing(each, SIX, noise=0.01).end_time[:2] for each in (near, far)]
    assert np.array_equal(*ends)


def test_windows_of_a_series_grow_with_the_time_that_sharing_takes():
    shared = audit(simulate_timesharing(jobs([0.0] * 20, [1e8] * 20), System.of(1), spmd=False))
    assert 24_000 < len(shared.series) <= 240_000
    assert (shared.series["utilization"] * shared.resolution).sum() == pytest.approx(2e9)


@pytest.mark.parametrize(
    "knobs",
    [
        {"noise": 0.5},
        {"noise": 1.0, "step": 1e-6},
        {"step": 1e-9},
    ],
)
def test_time_sharing_without_bounds_is_refused(knobs):
    with pytest.raises(ValueError, match=r"^made: .* at most: take a longer step"):
        simulate_timesharing(jobs([0.0], [5e10]), SIX, **knobs)


def test_machines_without_bounds_are_refused():
    for run in (simulate_timesharing, simulate_elastic):
        with pytest.raises(ValueError, match=r"^1000000000 nodes: .* at most: take"):
            run(jobs([0.0], [1.0]), System.of(10**9))
    audit(simulate_easy(jobs([0.0], [1.0]), System.of(10**15)))


@pytest.mark.parametrize("policy", ["A", "B", "C", None])
def test_filling_of_a_job_of_three_thousand_years_and_of_ten_million_million_nodes(policy):
    workload = jobs([0, 5, 70], [9e10, 30, 30], [9e10, 60, 60], [5, 1, 6])
    filled = audit(simulate_filling(workload, SIX, policy=policy))
    assert len(filled.allocations) < 100
    filled = simulate_filling(jobs([0, 5], [30, 90]), System.of(10**13), policy=policy)
    assert len(audit(filled).allocations) < 10, "nothing is kept per node"


@pytest.mark.parametrize("policy", ["A", "B", "C", None])
def test_slots_beside_a_job_that_outlives_its_request_are_not_walked_for_ever(policy, monkeypatch):
    """While job 0 is overdue job 2 is planned for the next slot, again and again."""
    monkeypatch.setattr("cosimlib.filling.simulation.MOST_PLANNED", 1000)
    monkeypatch.setattr("cosimlib.filling.simulation.MOST_PLANNED_PER_JOB", 0)
    knobs = {"run_time": [9e10, 30, 30], "requested_time": [60, 60, 60], "nodes": [5, 1, 6]}
    with pytest.raises(InvalidWorkloadError, match=r"^made: job 0 outlives .* than 1,000 times"):
        simulate_filling(jobs([0, 5, 70], **knobs), SIX, policy=policy)
    audit(simulate_filling(jobs([0, 5, 70], **knobs), SIX, policy=policy, kill_at_request=True))
    alone = jobs([0], [9e10], [60], [5])
    assert len(audit(simulate_filling(alone, SIX, policy=policy)).allocations) < 10


@few
@given(extremes(max_nodes=3), extremes(max_jobs=2), st.sampled_from(ELASTIC), st.booleans())
def test_elastic_at_the_ends_of_the_range(workload, users, policy, grace):
    partition = pd.array(["a", "b"] * 3, dtype="string")[: len(workload)]
    workload = Workload(workload.jobs.assign(partition=partition), "extreme")
    taken = users.jobs.rename(columns={"submit_time": "time", "requested_time": "duration"})
    audit(
        simulate_elastic(
            workload,
            System.of(a=3, b=3),
            policy=policy,
            grace_period=120.0 * grace,
            preemptions=taken[["time", "nodes", "duration"]],
        )
    )


@few
@given(extremes(), st.sampled_from(["HH", "HY", "YY"]), st.sampled_from(["wfp", "submit"]))
def test_coscheduling_at_the_ends_of_the_range(workload, schemes, order):
    n = len(workload)
    mates = [job ^ 1 if job ^ 1 < n else None for job in range(n)]
    partition = pd.array(["a", "b"] * 3, dtype="string")[:n]
    table = workload.jobs.assign(partition=partition, mate=pd.array(mates, dtype="Int64"))
    longest = float(workload.jobs[["submit_time", "run_time"]].max(axis=None))
    audit(
        simulate_coscheduling(
            Workload(table, "extreme"),
            System.of(a=6, b=6),
            schemes=schemes,
            order=order,
            release_interval=max(1200.0, longest / 50),
        )
    )


def test_releases_of_held_nodes_are_not_walked_for_millennia():
    mates = {"partition": ["a", "a", "b"], "mate": pd.array([None, 2, 1], dtype="Int64")}
    coupled, machines = jobs([0, 0, 0], [9e10, 1, 1], nodes=6, **mates), System.of(a=6, b=6)
    with pytest.raises(ValueError, match=r"job 0 runs for 90000000000 s: 75,000,000 releases .*"):
        simulate_coscheduling(coupled, machines)
    held = audit(simulate_coscheduling(coupled, machines, release_interval=1e9))
    assert held.start_time.tolist() == [0.0, 9e10, 9e10]
    apart = Workload(coupled.jobs.drop(columns="mate"), "apart")
    audit(simulate_coscheduling(apart, machines, release_interval=1e-9))


@pytest.mark.parametrize("policy", ONDEMAND)
@settings(max_examples=3)
@given(extremes(max_jobs=8, overruns=False), st.sampled_from(list(NOTICES)))
def test_bursts_at_the_ends_of_the_range(policy, workload, notice):
    third = np.arange(len(workload)) % 3 == 2
    batch, bursts = (workload.keep(rows, "other") for rows in (~third, third))
    given = Reserve(1) if policy == "reserve" else policy
    audit(simulate_ondemand(batch, THETA.with_nodes(6), bursts, policy=given, notice=notice))


@given(extremes(), extremes(max_jobs=3))
@settings(max_examples=3)
def test_bursts_that_jobs_share_nodes_with_come_at_any_instant(workload, bursts):
    """Also between two millionths of a second, to which times are rounded where jobs go slower."""
    shared = []
    for each in (workload, bursts):
        submit_time, run_time = each.jobs["submit_time"] * 1e-9, 1.0 + each.jobs["run_time"] % 60
        times = {"submit_time": submit_time, "run_time": run_time, "requested_time": 90.0}
        shared.append(Workload(each.jobs.assign(**times), "near"))
    for policy in ("share", "shrink"):
        audit(simulate_ondemand(shared[0], THETA.with_nodes(6), shared[1], policy=policy))


@pytest.mark.parametrize("gap", [9e8, 9e10])
def test_series_over_a_gap_of_years(gap):
    """25 years by the hour are drawn, 2,850 years are refused in words; by the month they are."""
    schedule = simulate_fcfs(jobs([0, gap], [HOUR, HOUR], nodes=6), SIX)
    occupied = metrics.occupied_nodes(schedule)
    drawn = (
        lambda: metrics.utilization_series(schedule),
        lambda: metrics.hourly(occupied),
        schedule.use_by_hour,
    )
    for series in drawn:
        if gap > 1e10:
            with pytest.raises(ValueError, match=r"windows of 3600 s .* expected 10,000,000 at"):
                series()
        else:
            assert len(series()) == 250_001
    assert metrics.utilization_series(schedule, 30 * DAY).iloc[0] == pytest.approx(1 / 720)
    assert metrics.hourly(occupied, DAY).iloc[0] == pytest.approx(6 / 24)
    assert metrics.utilization(schedule) == pytest.approx(2 * HOUR / (gap + HOUR))


@few
@given(extremes(overruns=False))
def test_a_policy_of_ones_own_and_the_environment_at_the_ends_of_the_range(workload):
    def first(state):
        fits = np.cumsum(state.waiting.nodes) <= state.free_nodes
        return np.flatnonzero(fits)

    assert np.array_equal(
        audit(simulate(workload, SIX, first)).start_time, simulate_fcfs(workload, SIX).start_time
    )
    environments = pytest.importorskip("cosimlab.gym")
    environment = environments.BatchEnv(workload, SIX, window=3, jobs=None)
    _, info = environment.reset(seed=0)
    done = False
    while not done:
        _, _, done, _, info = environment.step(int(np.argmax(info["action_mask"])))
    assert len(audit(environment.schedule).start_time) == len(workload)


@pytest.mark.parametrize("step", [0.1, 1 / 3, 10.0])
@pytest.mark.parametrize("begin", [0.0, 1e9 + 0.3, 9e9])
def test_slowed_nodes_have_their_speed_back_however_late_it_is(begin, step):
    """Late times are rounded: the end of a slow step and the next one are not the same float."""
    workload = jobs([begin], [300 * step], nodes=1)
    for spmd in (True, False):
        shared = audit(
            simulate_timesharing(workload, System.of(1), noise=1.0, step=step, spmd=spmd)
        )
        steps = (shared.end_time - shared.start_time) / step
        # A speed is between 1/2 and 1 in each step, 3/4 on average.
        assert 380 < steps[0] < 420
