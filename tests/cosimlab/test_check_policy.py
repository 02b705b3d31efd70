"""`check_policy` passes good policies, finds seeded faults, and shows them small."""

import itertools
from functools import partial

import numpy as np
import pandas as pd
import pytest

from cosimlab.testing import LAWS, PolicyError, check_policy
from cosimlib.batch import simulate_conservative, simulate_easy, simulate_fcfs
from cosimlib.filling import simulate_filling
from cosimlib.policies import SIMULATORS
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import Workload
from tests import pages
from tests.suites import THOROUGH

TRIALS = 20 if THOROUGH else 8

easy = pages.function(pages.OWN_POLICY, "easy")
first_fit = pages.function(pages.OWN_POLICY, "first_fit")


@pytest.mark.parametrize(
    "policy",
    [
        easy,
        simulate_easy,
        partial(simulate_easy, order="wfp"),
        simulate_conservative,
    ],
)
def test_good_policies_pass_all_laws(policy):
    table = check_policy(policy, trials=TRIALS)
    assert table["law"].tolist() == list(LAWS)
    assert (table["workloads"] == TRIALS).all()


def starts_what_does_not_fit(state):
    return [0]


def waits_for_full_seconds_of_ten(state):
    if state.now % 10 > 0:
        return [], state.now + 10 - state.now % 10
    return first_fit(state)


def knows_a_moment(state):
    """First come, first served until a minute after the beginning of the trace, then first fit."""
    if state.now > 60:
        return first_fit(state)
    return np.flatnonzero(np.cumsum(state.waiting.nodes) <= state.free_nodes)


def knows_a_length(state):
    """Jobs of up to five seconds may overtake."""
    quick = state.waiting.requested_time <= 5
    fits = state.waiting.nodes <= state.free_nodes
    overtaking = np.flatnonzero(quick & fits)[:1]
    return overtaking if overtaking.size else knows_nothing(state)


def knows_nothing(state):
    return np.flatnonzero(np.cumsum(state.waiting.nodes) <= state.free_nodes)


def counts(state, asked=itertools.count(1)):  # noqa: B008
    """First come, first served, but every third time it is asked it starts one job at most."""
    starts = knows_nothing(state)
    return starts[:1] if next(asked) % 3 == 0 else starts


def starts_on_submission(workload, system):
    return Schedule.from_starts(workload, system, workload.jobs["submit_time"], "greedy")


def starts_all_but_the_last(workload, system):
    start_time = simulate_fcfs(workload, system).start_time.copy()
    start_time[-1:] = np.nan
    return Schedule.from_starts(workload, system, start_time, "but one")


def fails_without_jobs(workload, system):
    assert workload.jobs["nodes"].max() > 0
    return simulate_fcfs(workload, system)


def fails_on_wide_jobs(workload, system):
    assert (workload.jobs["nodes"] < system.total_nodes).any() or len(workload) < 2
    return simulate_fcfs(workload, system)


def fails_on_arrays(workload, system):
    assert np.ptp(workload.jobs["submit_time"]) > 0 or len(workload) < 3
    return simulate_fcfs(workload, system)


def fails_on_what_comes_at_once(workload, system):
    assert np.ptp(workload.jobs["submit_time"]) > 0 or len(workload) < 2
    return simulate_fcfs(workload, system)


def knows_run_times(workload, system):
    """Shortest job first, by how long jobs will really run."""
    known = workload.jobs.assign(requested_time=workload.jobs["run_time"].clip(lower=1.0))
    schedule = simulate_fcfs(Workload(known), system, order="shortest")
    return Schedule.from_starts(workload, system, schedule.start_time, "clairvoyant")


def knows_who_comes(workload, system):
    """Waits for the last submission before anybody starts."""
    last = workload.jobs["submit_time"].max()
    late = Workload(workload.jobs.assign(submit_time=last))
    start_time = simulate_fcfs(late, system).start_time
    return Schedule.from_starts(workload, system, start_time, "patient")


def forgets_to_look_after_an_hour(state):
    """First come, first served; what has waited an hour starts even if it does not fit."""
    starts, free = [], state.free_nodes
    for position, nodes in enumerate(state.waiting.nodes):
        if nodes > free and state.now - state.waiting.submit_time[position] <= 3600:
            break
        starts.append(position)
        free -= nodes
    return starts


def wide_at_night(state):
    """Wide jobs start from 20:00 to 8:00 only."""
    time_of_day = state.now % 86_400
    night = time_of_day >= 20 * 3_600 or time_of_day < 8 * 3_600
    starts, free = [], state.free_nodes
    for position, nodes in enumerate(state.waiting.nodes):
        if nodes <= free and (night or nodes <= state.total_nodes // 2):
            starts.append(position)
            free -= nodes
    return starts, (np.inf if night else state.now - time_of_day + 20 * 3_600)


FAULTS = {
    forgets_to_look_after_an_hour: ("starts", 3),
    wide_at_night: ("scale", 2),
    starts_what_does_not_fit: ("starts", 2),
    waits_for_full_seconds_of_ten: ("alone", 1),
    knows_a_moment: ("shift", 3),
    knows_a_length: ("scale", 3),
    counts: ("repeat", 10),
    starts_on_submission: ("audit", 2),
    starts_all_but_the_last: ("starts", 1),
    fails_without_jobs: ("audit", 0),
    fails_on_wide_jobs: ("audit", 2),
    fails_on_arrays: ("audit", 3),
    knows_run_times: ("foresight", 2),
    knows_who_comes: ("foresight", 2),
}
"""Policies with a fault, the law that each breaks, and the jobs that suffice to show it."""


@pytest.mark.parametrize("seed", range(5))
def test_the_first_cases_have_jobs_and_jobs_at_once_and_none(seed):
    def fails_on_two(workload, system):
        assert len(workload) < 2
        return simulate_fcfs(workload, system)

    trials = {fails_on_two: 2, fails_on_what_comes_at_once: 13, fails_without_jobs: 4}
    for policy, number in trials.items():
        with pytest.raises(PolicyError):
            check_policy(policy, trials=number, laws=["audit"], seed=seed)
    with pytest.raises(PolicyError):
        check_policy(fails_on_two, trials=1)


def test_a_policy_that_knows_the_time_of_day_makes_a_job_wait_alone():
    with pytest.raises(PolicyError) as caught:
        check_policy(wide_at_night, laws=["alone"])
    assert len(caught.value.workload) == 1
    table = check_policy(wide_at_night, laws=LAWS.keys() - {"alone", "scale"}, trials=20)
    assert (table["longest_wait"] > 86_400).all()


@pytest.mark.parametrize("policy", FAULTS, ids=lambda policy: policy.__name__)
def test_seeded_faults_are_found_and_shown_small(policy):
    law, jobs = FAULTS[policy]
    with pytest.raises(PolicyError) as caught:
        check_policy(policy, laws=[law], trials=100)
    error = caught.value
    assert error.law == law
    assert len(error.workload) <= jobs, str(error)


def test_the_smallest_workload_is_python_that_makes_it():
    with pytest.raises(PolicyError) as caught:
        check_policy(starts_what_does_not_fit)
    message = str(caught.value)
    assert message.startswith(
        "starts_what_does_not_fit breaks the law 'starts': every job starts\nInvalidDecisionError: "
    )
    code = message.split("\n\n")[-1]

    class Front:
        Workload, System = Workload, System

    names = {"pd": pd, "cs": Front}
    exec(code, names)
    assert names["workload"].jobs.equals(caught.value.workload.jobs)
    assert names["system"] == caught.value.system
    assert names["workload"].jobs.to_numpy().tolist() == [[0, 2, 1, 1], [1, 0, 1, 1]]


def narrow_jobs(workload, system):
    return simulate_fcfs(Workload(workload.jobs.assign(nodes=1), workload.name), system)


def twice_the_system(workload, system):
    return simulate_fcfs(workload, System.of(2 * system.total_nodes))


def no_run_times(workload, system):
    return simulate_fcfs(Workload(workload.jobs.assign(run_time=0)), system)


def narrow_jobs_in_place(workload, system):
    workload.jobs["nodes"] = 1
    return simulate_fcfs(workload, system)


CHEATS = {
    narrow_jobs: "its schedule has nodes=1 for job 0; expected 2, as in the workload",
    twice_the_system: r"of a system of {'main': 2} nodes; .* it was given, {'main': 1}",
    no_run_times: "its schedule has run_time=0 for job 0; expected 1, as in the workload",
    narrow_jobs_in_place: "it changes the workload's jobs in place; expected a copy",
}
"""Simulators that schedule another case than the one they were given, and what is said of it."""


@pytest.mark.parametrize("policy", CHEATS, ids=lambda policy: policy.__name__)
def test_a_schedule_of_another_case_is_refused(policy):
    with pytest.raises(PolicyError, match=CHEATS[policy]):
        check_policy(policy)


@pytest.mark.parametrize(
    "policy",
    [
        partial(simulate_fcfs, kill_at_request=True),
        partial(simulate_easy, kill_at_request=True),
        simulate_filling,
    ],
)
def test_runs_cut_at_the_request_and_containers_are_no_cheat(policy):
    check_policy(policy, trials=TRIALS, laws=["audit"])


def test_laws_can_be_chosen():
    laws = LAWS.keys() - {"alone", "scale"}
    table = check_policy(waits_for_full_seconds_of_ten, laws=laws, trials=TRIALS)
    assert table["law"].tolist() == [law for law in LAWS if law not in ("alone", "scale")]


def test_knobs_go_to_simulators_and_columns_to_decisions():
    check_policy(simulate_easy, trials=5, order="shortest")
    seen = set()

    def by_rank(state):
        seen.update(state.waiting.columns[0].tolist())
        return first_fit(state)

    check_policy(by_rank, trials=5, columns=["rank"])
    assert seen == {1, 2, 3}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (partial(check_policy, easy, laws=["speed"]), ValueError, "law='speed'; expected one of"),
        (
            partial(check_policy, easy, order="submit"),
            ValueError,
            "argument='order'; expected none",
        ),
        (partial(check_policy, 7), ValueError, "policy=7; expected the name of a policy"),
        (partial(check_policy, "EASYY"), ValueError, "policy='EASYY'; expected one of 'FCFS', "),
        (partial(check_policy, lambda: 0), ValueError, "expected the name of a policy"),
        (partial(check_policy, lambda w, s: 0), PolicyError, "returns 0; expected a Schedule"),
    ],
)
def test_what_cannot_be_checked_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_registered_policies_are_checked_by_name(monkeypatch):
    assert check_policy("EASY", trials=3)["law"].tolist() == list(LAWS)
    monkeypatch.setitem(SIMULATORS, "late", lambda workload, system: late(workload, system))

    def late(workload, system):
        start_time = simulate_fcfs(workload, system).start_time + 1
        return Schedule.from_starts(workload, system, start_time, "late")

    with pytest.raises(PolicyError, match=r"^late breaks the law 'alone'"):
        check_policy("late", trials=3)


def test_a_schedule_of_other_jobs_is_refused():
    def of_one(workload, system):
        return simulate_fcfs(workload.keep(workload.jobs.index < 1, "others"), system)

    with pytest.raises(PolicyError, match="its schedule is of 1 jobs; expected 2"):
        check_policy(of_one)
