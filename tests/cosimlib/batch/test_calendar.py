"""Calendars: the slow versions job by job, golden cases, and what must not change."""

from functools import partial

import numba
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.audit import audit
from cosimlib.batch import (
    promised_starts,
    simulate,
    simulate_conservative,
    simulate_easy,
    simulate_fcfs,
    simulate_first_fit,
)
from cosimlib.calendar import COLUMNS, KINDS, UNANNOUNCED, Calendar
from cosimlib.checks import ArgumentError
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import Workload
from tests.cosimlib.batch import naive_calendar as naive
from tests.strategies import workloads
from tests.suites import THOROUGH

NODES = 8
ORDERS = ("submit", "shortest", "largest", "wfp", "sjbf")
IN_PASSES = {
    "fcfs": simulate_fcfs,
    "first fit": simulate_first_fit,
    "easy": simulate_easy,
    "strict": lambda *given, **knobs: simulate_easy(*given, extra_nodes=False, **knobs),
}


@st.composite
def window_lists(draw, kinds=KINDS, most=4, late=True):
    """Up to `most` windows of all kinds, which overlap or not."""
    windows = []
    for _ in range(draw(st.integers(0, most))):
        start, length = draw(st.integers(-3, 30)), draw(st.integers(1, 9))
        kind, nodes = draw(st.sampled_from(kinds)), draw(st.sampled_from([NODES, 1, 3, 5]))
        known = start if kind in UNANNOUNCED or not late else start - draw(st.integers(0, 20))
        windows.append((start, start + length, nodes, kind, known if late else -99))
    return windows


def calendar_of(windows, on_overrun="wait"):
    return Calendar(pd.DataFrame(windows, columns=list(COLUMNS)), on_overrun)


OVERRUNS = st.sampled_from(["wait", "kill"])


@settings(max_examples=500)
@given(workloads(overruns=True), window_lists(), OVERRUNS, st.sampled_from(ORDERS))
@pytest.mark.parametrize("rule", IN_PASSES)
def test_passes_are_those_of_the_slow_version(rule, workload, windows, on_overrun, order):
    calendar = calendar_of(windows, on_overrun)
    schedule = IN_PASSES[rule](workload, System.of(NODES), order=order, calendar=calendar)
    starts, run_time = naive.starts_in_passes(
        workload.jobs,
        NODES,
        windows,
        on_overrun,
        rule,
        "submit" if (rule, order) == ("fcfs", "sjbf") else order,
    )
    assert schedule.start_time.tolist() == starts
    assert schedule.workload.jobs["run_time"].tolist() == run_time
    audit(schedule)


@settings(max_examples=500)
@given(workloads(overruns=True), window_lists(), OVERRUNS, st.sampled_from(ORDERS))
@pytest.mark.parametrize("reservations", ["kept", "replanned"])
def test_conservative_is_the_slow_version(reservations, workload, windows, on_overrun, order):
    calendar, knobs = (
        calendar_of(windows, on_overrun),
        {"order": order, "reservations": reservations},
    )
    schedule = simulate_conservative(workload, System.of(NODES), calendar=calendar, **knobs)
    expected = naive.conservative_starts(workload.jobs, NODES, windows, on_overrun, **knobs)
    assert schedule.start_time.tolist() == expected[0]
    assert schedule.workload.jobs["run_time"].tolist() == expected[1]
    promised = promised_starts(workload, System.of(NODES), calendar=calendar, **knobs)
    assert promised.tolist() == expected[2]
    audit(schedule)


def first_fit(state):
    """The policy of docs/calendar.md: jobs that fit for as long as they ask, in order."""
    times, opened = state.capacity
    taken, ends = list(state.running.nodes), list(state.running.expected_end)
    starts, free = [], state.free_nodes
    for position, nodes in enumerate(state.waiting.nodes):
        end = state.now + state.waiting.requested_time[position]
        ahead = np.flatnonzero((times > state.now) & (times < end))
        held = [sum(n for n, e in zip(taken, ends, strict=True) if e > times[k]) for k in ahead]
        if nodes <= free and all(nodes <= opened[ahead] - held):
            starts.append(position)
            free -= nodes
            taken.append(nodes)
            ends.append(end)
    return starts


@settings(max_examples=300)
@given(workloads(overruns=True), window_lists(), OVERRUNS)
def test_an_own_policy_sees_free_nodes_and_capacity_ahead(workload, windows, on_overrun):
    calendar, system = calendar_of(windows, on_overrun), System.of(NODES)
    own = simulate(workload, system, first_fit, calendar=calendar)
    built_in = simulate_first_fit(workload, system, calendar=calendar)
    assert audit(own).start_time.tolist() == built_in.start_time.tolist()
    assert own.end_time.tolist() == built_in.end_time.tolist()


@settings(max_examples=100)
@given(workloads(overruns=True), window_lists(), window_lists(), OVERRUNS, st.integers(0, 30))
def test_an_own_policy_is_not_told_of_windows_before_they_are_known(
    workload, windows, others, on_overrun, now
):
    seen = []
    for chosen in (
        windows,
        [w for w in windows if w[4] < now] + [w for w in others if w[4] >= now],
    ):
        seen.append([])

        def policy(state, seen=seen[-1]):
            seen.append((state.now, state.free_nodes, *(list(each) for each in state.capacity)))
            fits = np.cumsum(state.waiting.nodes) <= state.free_nodes
            return np.flatnonzero(fits), state.now + 40

        audit(
            simulate(workload, System.of(NODES), policy, calendar=calendar_of(chosen, on_overrun))
        )
    one, other = ([each for each in told if each[0] < now] for told in seen)
    assert one == other


def test_a_policy_of_ones_own_is_told_of_windows_also_if_compiled():
    """The loop is compiled anew for each policy: at night only."""

    def greedy(state):
        free, starts = state.free_nodes, [0 for _ in range(0)]
        ahead = state.capacity.nodes.min()
        for position in range(state.waiting.nodes.size):
            if state.waiting.nodes[position] <= free and ahead > 0:
                starts.append(position)
                free -= state.waiting.nodes[position]
        return starts

    rows = [(0, 15, 9, 5), (0, 12, 9, 3), (11, 1, 1, 1), (12, 5, 5, 8)]
    calendar = Calendar({"start": [10], "end": [14], "nodes": [3]}, on_overrun="kill")
    for policy in (greedy, numba.njit(greedy))[: 2 if THOROUGH else 1]:
        own = schedule_of(rows, calendar, partial(simulate, policy=policy))
        assert own.start_time.tolist() == [0, 0, 14, 15]
        assert own.end_time.tolist() == [15, 10, 15, 20]
        assert own.policy == "greedy (calendar)"


def schedule_of(rows, calendar, simulate=simulate_easy, nodes=NODES):
    """Jobs of submission, run time, requested time, nodes."""
    columns = ["submit_time", "run_time", "requested_time", "nodes"]
    workload = Workload(pd.DataFrame(rows, columns=columns), "some jobs")
    return simulate(workload, System.of(nodes), calendar=calendar)


SIMULATORS = [simulate_fcfs, simulate_first_fit, simulate_easy, simulate_conservative]


@pytest.mark.parametrize("simulate", SIMULATORS)
def test_a_job_whose_request_crosses_a_window_waits_for_its_end_and_others_pass_or_wait(simulate):
    rows = [(0, 5, 12, 2), (0, 5, 5, 2)]
    whole = schedule_of(rows, Calendar([(10, 20)]), simulate)
    assert whole.start_time.tolist() == [20, 20 if simulate is simulate_fcfs else 0]
    half = Calendar({"start": [10], "end": [20], "nodes": [NODES - 2]})
    assert schedule_of(rows, half, simulate).start_time.tolist() == [0, 0]
    assert whole.policy.endswith("(calendar)")


def test_a_job_may_outlast_the_reservation_of_the_head_beside_it():
    """The head has its three nodes from 10 to 20; the fourth is free until the machine closes."""
    rows = [(0, 10, 10, 3), (1, 10, 10, 3), (2, 50, 50, 1), (3, 1200, 1200, 1)]
    schedule = schedule_of(rows, Calendar([(1000, 1100)]), simulate_easy, nodes=4)
    assert schedule.start_time.tolist() == [0, 10, 2, 1100]


@pytest.mark.parametrize("simulate", SIMULATORS)
def test_who_overruns_into_a_window_is_killed_or_waited_for(simulate):
    rows = [(0, 15, 9, 5), (0, 12, 9, 3), (11, 1, 1, 1)]
    waits = schedule_of(rows, Calendar({"start": [10], "end": [14], "nodes": [3]}), simulate)
    assert waits.start_time.tolist() == [0, 0, 14] and waits.end_time.tolist() == [15, 12, 15]
    kills = Calendar({"start": [10], "end": [14], "nodes": [3]}, on_overrun="kill")
    killed = schedule_of(rows, kills, simulate)
    assert killed.start_time.tolist() == [0, 0, 14] and killed.end_time.tolist() == [15, 10, 15]
    assert (killed.workload.account["reason"] == "run_time cut where nodes close").any()
    drained = Calendar({"start": [10], "end": [14], "nodes": [3], "kind": ["drain"]}, "kill")
    assert schedule_of(rows, drained, simulate).end_time.tolist()[:2] == [15, 12]


def test_a_failure_is_not_known_before_it_comes():
    rows = [(0, 30, 30, 8), (31, 5, 5, 8)]
    announced = Calendar({"start": [10], "end": [20], "known_from": [-5]})
    assert schedule_of(rows, announced).start_time.tolist() == [20, 50]
    failed = Calendar({"start": [10], "end": [20], "kind": ["down"]}, on_overrun="kill")
    assert schedule_of(rows, failed).start_time.tolist() == [0, 31]


@settings(max_examples=100)
@given(workloads(overruns=True), window_lists(), window_lists(), OVERRUNS, st.integers(0, 30))
@pytest.mark.parametrize("simulate", SIMULATORS)
def test_what_is_not_known_yet_changes_no_decision(
    simulate, workload, windows, others, on_overrun, now
):
    """Other windows, of which nothing is known before `now`, in place of those that are not."""
    known = [window for window in windows if window[4] < now]
    later = [window for window in others if window[4] >= now]
    one, other = (
        simulate(workload, System.of(NODES), calendar=calendar_of(chosen, on_overrun)).start_time
        for chosen in (windows, known + later)
    )
    before = np.minimum(one, other) < now
    assert one[before].tolist() == other[before].tolist()


@settings(max_examples=200)
@given(workloads(), st.integers(1, 20), st.integers(1, 20), st.data())
@pytest.mark.parametrize("reservations", ["kept", "replanned"])
def test_a_reservation_is_an_immovable_job_of_a_conservative_plan(
    reservations, workload, first, second, data
):
    """Two windows, one after the other, or two jobs before all others that do not fit at once."""
    nodes = data.draw(st.integers(1, NODES), label="nodes of the first")
    others = data.draw(st.integers(NODES + 1 - nodes, NODES), label="nodes of the second")
    windows = {"start": [0, first], "end": [first, first + second], "nodes": [nodes, others]}
    calendar = Calendar({**windows, "kind": ["reservation"] * 2})
    lengths = [first, second]
    held = {"submit_time": 0, "run_time": lengths, "requested_time": lengths}
    jobs = workload.jobs.assign(submit_time=workload.jobs["submit_time"] + 1)
    both = pd.concat([pd.DataFrame(held | {"nodes": windows["nodes"]}), jobs], ignore_index=True)
    machine = System.of(NODES)
    knobs = {"calendar": calendar, "reservations": reservations}
    planned = simulate_conservative(Workload(jobs, "jobs"), machine, **knobs)
    immovable = simulate_conservative(Workload(both, "both"), machine, reservations=reservations)
    assert immovable.start_time[:2].tolist() == [0, first]
    assert planned.start_time.tolist() == immovable.start_time[2:].tolist()


@settings(max_examples=100)
@given(workloads(), workloads())
@pytest.mark.parametrize("simulate", SIMULATORS)
def test_a_window_of_all_nodes_splits_a_log_in_two_runs(simulate, before, after):
    """The window begins once all has ended, and the second log begins with its end."""
    alone = simulate(before, System.of(NODES))
    start = float(alone.end_time.max()) + 21.0
    end = start + 7.0
    later = after.jobs.assign(submit_time=after.jobs["submit_time"] + end)
    both = Workload(pd.concat([before.jobs, later], ignore_index=True), "both")
    schedule = simulate(both, System.of(NODES), calendar=Calendar([(start, end)]))
    second = simulate(after, System.of(NODES)).start_time + end
    assert schedule.start_time.tolist() == [*alone.start_time.tolist(), *second.tolist()]


def test_audit_names_what_runs_on_closed_nodes():
    workload = Workload(
        pd.DataFrame({"submit_time": [0.0], "run_time": [20.0], "nodes": [5]}), "one"
    )
    calendar, machine = Calendar({"start": [10], "end": [20], "nodes": [4]}), System.of(NODES)

    def run(start, on_overrun):
        windows = Calendar(calendar.windows, on_overrun)
        return audit(Schedule.from_starts(workload, machine, [start], "hand", calendar=windows))

    run(0, "wait")
    run(20, "kill")
    with pytest.raises(AssertionError, match="5 nodes busy at t=10; the calendar leaves 4 open"):
        run(0, "kill")
    with pytest.raises(AssertionError, match="5 nodes held where a job starts at t=15"):
        run(15, "wait")


def test_closed_nodes_are_not_offered():
    schedule = schedule_of([(0, 10, 10, 4), (30, 10, 10, 8)], Calendar([(10, 30)]))
    assert schedule.utilization(0, 40) == (40 + 80) / (20 * 8)
    assert "75.0 % of 40 s, closed nodes not counted" in str(schedule)
    half = schedule_of([(30, 10, 10, 8)], Calendar({"start": [5], "end": [15], "nodes": [6]}))
    assert half.offered_node_seconds(np.array([0.0, 10.0, 40.0])).tolist() == [50, 210]


def test_no_more_than_all_nodes_are_in_use_where_jobs_run_on_while_nodes_drain():
    """A node that a job holds while it is closed counts as offered, until the job ends."""
    drain = Calendar({"start": [5], "end": [15], "nodes": [6], "kind": ["drain"]})
    schedule = schedule_of([(0, 10, 10, 8)], drain)
    assert schedule.offered_node_seconds(np.array([0.0, 5.0, 15.0])).tolist() == [40, 40 + 10]
    assert schedule.utilization(5, 10) == 1.0
    assert schedule.utilization(5, 15) == 40 / 50


@pytest.mark.parametrize(
    ("windows", "message"),
    [
        ([(5, 5)], "window 0 of the calendar has end=5; expected seconds after the start"),
        ({"start": [1], "end": [2], "kind": ["party"]}, "kind='party'; expected one of maint"),
        ({"start": [1], "end": [2], "nodes": [0.5]}, "nodes=0.5; expected whole nodes from 1"),
        ({"start": [1], "end": [2], "known_from": [3]}, "known_from=3; expected seconds up to"),
        ({"start": [1], "end": [2], "known_from": [1.5]}, "known_from=1.5; expected seconds up to"),
        ({"start": [1]}, "no column 'end'"),
        ([(1, 2, 3)], "expected a table with columns of .*, or pairs of a start and an end"),
        (5, "windows=5; expected a table"),
        ({"start": 1, "end": 5}, "expected a table"),
        ([("a", "b")], "window 0 of the calendar has start='a'; expected a number"),
        ({"start": [True], "end": [2]}, "start=.*True.*; expected a number"),
        ({"start": [pd.Timestamp(0)], "end": [2]}, "expected a number, as seconds"),
        ({"start": [1], "end": [2], "Nodes": [8]}, "unknown column 'Nodes'"),
        ([(0, 5e18)], "end=5e.18; expected seconds after the start, below 100,000,000,000"),
        ({"start": [1], "end": [5], "kind": ["down"], "known_from": [0]}, "known_from=0; expected"),
    ],
)
def test_what_is_no_window_is_refused(windows, message):
    with pytest.raises(ArgumentError, match=message):
        Calendar(windows)


def test_windows_are_in_order_of_their_starts():
    windows = Calendar({"start": [3, 1, 1], "end": [4, 9, 5]}).windows
    assert windows[["start", "end"]].to_numpy().tolist() == [[1, 5], [1, 9], [3, 4]]


def test_overlapping_windows_close_their_nodes_together():
    calendar = Calendar({"start": [0, 5, 6], "end": [10, 20, 7], "nodes": [3, 4, 5]})
    opened = calendar.capacity(8)
    assert opened.to_dict() == {-np.inf: 8, 0: 5, 5: 1, 6: 0, 7: 1, 10: 4, 20: 8}


def test_a_window_of_more_nodes_than_the_machine_has_is_refused():
    with pytest.raises(ArgumentError, match="nodes=9; expected at most 8 nodes"):
        schedule_of([(0, 1, 1, 1)], Calendar({"start": [1], "end": [2], "nodes": [9]}))
