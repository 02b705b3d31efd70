"""A policy of one's own: what it sees, what it may answer, and that EASY so written is EASY."""

from functools import partial

import numba
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import types
from numba.core.errors import TypingError

from cosimlib.audit import audit
from cosimlib.batch import decisions, simulate_easy, simulate_fcfs
from cosimlib.batch.decisions import InvalidDecisionError
from cosimlib.batch.simulation import simulate
from cosimlib.batch.state import State
from cosimlib.kernels.jit import allocating_kernel
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError, Workload
from tests import agreement, pages
from tests.strategies import workloads
from tests.suites import THOROUGH

compiled = pytest.mark.compiled("nothing is compiled")

easy = pages.function(pages.OWN_POLICY, "easy")
first_fit = pages.function(pages.OWN_POLICY, "first_fit")
compiled_easy = numba.njit(easy)


def fcfs(state):
    """Start the head of the queue as long as it fits."""
    return np.flatnonzero(np.cumsum(state.waiting.nodes) <= state.free_nodes)


def every_other_time(state):
    """First fit, but only at even seconds."""
    starts = [0 for _ in range(0)]
    if state.now % 2 > 0:
        return starts, state.now + 1
    free = state.free_nodes
    for position, nodes in enumerate(state.waiting.nodes):
        if nodes <= free:
            starts.append(position)
            free -= nodes
    return starts, np.inf


def of(*rows, name="trial", **columns):
    """A workload of (submit_time, run_time, requested_time, nodes)."""
    frame = pd.DataFrame(rows, columns=["submit_time", "run_time", "requested_time", "nodes"])
    return Workload(frame.assign(**columns), name)


def starts(workload, nodes, policy, **knobs):
    return simulate(workload, System.of(nodes), policy, **knobs).start_time.tolist()


def seen(workload, nodes, policy, **knobs):
    """Every state that a policy is shown, its arrays as lists."""
    states = []

    def spy(state):
        flat = [*state[:3], *state.waiting, *state.running]
        states.append([value.tolist() if hasattr(value, "tolist") else value for value in flat])
        return policy(state)

    simulate(workload, System.of(nodes), spy, **knobs)
    return states


@pytest.mark.oracles
@pytest.mark.parametrize("trace", agreement.MACHINES if THOROUGH else ["sdsc5k", "lublin10k"])
def test_the_pages_easy_starts_every_job_of_a_log_as_others_do(oracle_path, trace):
    table = pd.read_csv(oracle_path(f"{trace}.csv.gz"))
    workload = Workload(table[["submit_time", "run_time", "nodes", "requested_time"]], trace)
    system = System.of(agreement.MACHINES[trace])
    for policy in (easy, compiled_easy):
        schedule = simulate(workload, system, policy)
        assert schedule.start_time.tolist() == table["easy_per_instant"].tolist()
    assert schedule.start_time.tolist() == simulate_easy(workload, system).start_time.tolist()


@given(workloads(overruns=True), st.integers(8, 12))
def test_easy_as_a_policy_is_easy(workload, nodes):
    """In plain Python and compiled: Numba compiles the loop anew for each policy, here for one."""
    wanted = simulate_easy(workload, System.of(nodes)).start_time.tolist()
    assert starts(workload, nodes, easy) == wanted
    assert starts(workload, nodes, compiled_easy) == wanted


@given(workloads(overruns=True), st.integers(8, 12))
def test_fcfs_as_a_policy_is_fcfs(workload, nodes):
    wanted = simulate_fcfs(workload, System.of(nodes)).start_time.tolist()
    assert starts(workload, nodes, fcfs) == wanted


@compiled
@pytest.mark.skipif(not THOROUGH, reason="the loop is compiled anew for each")
@pytest.mark.parametrize("compile_policy", [numba.njit, allocating_kernel], ids=["njit", "kernel"])
@pytest.mark.parametrize("policy", [every_other_time, first_fit, fcfs])
def test_a_policy_does_the_same_compiled(policy, compile_policy):
    dispatcher = compile_policy(policy)

    @given(workloads(overruns=True), st.integers(8, 12))
    def same(workload, nodes):
        plain = audit(simulate(workload, System.of(nodes), policy))
        assert starts(workload, nodes, dispatcher) == plain.start_time.tolist()

    same()


def test_the_policy_sees_what_a_scheduler_may_know():
    workload = of((0, 5, 4, 2), (0, 9, 9, 1), (1, 3, 6, 3), (2, 1, 1, 1))
    states = seen(workload, 3, first_fit)
    assert states[0] == [0, 3, 3, [0, 1], [0, 0], [4, 9], [2, 1], [], [], [], [], [], []]
    assert states[1] == [1, 0, 3, [2], [1], [6], [3], [], [0, 1], [0, 0], [4, 9], [2, 1], []]
    # Job 0 has outlived its request of 4 s when nodes come free at 5, and is gone then.
    assert [state[0] for state in states] == [0, 1, 2, 5, 6, 9]
    assert states[3][3:7] == [[2, 3], [1, 2], [6, 1], [3, 1]]


def test_a_job_that_outlives_its_request_is_expected_to_end_now():
    workload = of((0, 9, 2, 1), (0, 8, 5, 1), (3, 1, 1, 2), (4, 1, 1, 2))
    ends = {state[0]: state[10] for state in seen(workload, 2, first_fit)}
    assert ends == {0: [], 3: [3, 5], 4: [4, 5], 8: [8], 9: [], 10: []}


def test_running_jobs_are_in_order_of_expected_end():
    workload = of((0, 9, 9, 1), (0, 9, 3, 1), (0, 9, 5, 1), (0, 9, 3, 1), (1, 1, 1, 4))
    state = seen(workload, 4, first_fit)[1]
    assert state[8] == [1, 3, 2, 0]
    assert state[10] == [3, 3, 5, 9]


def test_a_job_that_takes_no_time_brings_its_instant_again():
    workload = of((4, 0, 1, 2), (4, 3, 3, 2))
    assert [state[0] for state in seen(workload, 2, first_fit)] == [4, 4]
    assert starts(workload, 2, first_fit) == [4, 4]


def test_unknown_requests_are_infinite():
    workload = of((0, 5, np.nan, 1), (1, 5, np.nan, 1))
    states = seen(workload, 1, first_fit)
    assert states[0][5] == [np.inf]
    assert states[1][10] == [np.inf]


def test_further_columns_are_shown_of_the_waiting_and_of_the_running():
    workload = of((0, 5, 5, 1), (0, 5, 5, 1), (1, 5, 5, 1), qos=[3, 1, 2], user=["b", "a", "b"])
    states = seen(workload, 2, first_fit, columns=["user", "qos"])
    assert states[0][7] == [[0, 1], [3, 1]]
    assert states[1][7] == [[0], [2]]
    assert states[1][12] == [[0, 1], [3, 1]]


def test_missing_text_is_minus_one():
    workload = of((0, 5, 5, 1), (0, 5, 5, 1), user=pd.array([pd.NA, "a"], "string"))
    states = seen(workload, 2, first_fit, columns=["user"])
    assert states[0][7] == [[-1, 0]]


@pytest.mark.parametrize("column", ["run_time", "recorded_start", "status"])
def test_what_is_known_only_afterwards_is_not_shown(column):
    with pytest.raises(InvalidWorkloadError, match=f"column '{column}' is known only after"):
        starts(of((0, 5, 5, 1)), 2, first_fit, columns=[column])


def test_unknown_columns_are_refused():
    with pytest.raises(InvalidWorkloadError, match="no column 'qos'; expected one of submit_time"):
        starts(of((0, 5, 5, 1)), 2, first_fit, columns=["qos"])
    with pytest.raises(InvalidWorkloadError, match="no column 'priority'; expected one of submit"):
        starts(of((0, 5, 5, 1)), 2, first_fit, columns=["priority"])


def test_nothing_that_is_shown_leads_to_a_run_time():
    """Neither a field nor the memory behind an array holds what only the future knows."""
    secret, reached = 777.0, []

    def spy(state):
        arrays = [*state.waiting, *state.running]
        while arrays:
            array = arrays.pop()
            assert isinstance(array, np.ndarray)
            assert state.now >= secret or not (array == secret).any()
            reached.append(array.base)
            arrays += [array.base] if array.base is not None else []
        return first_fit(state)

    simulate(of((0, secret, 1000, 1), (5, secret, 2000, 1)), System.of(1), spy)
    assert sum(base is not None for base in reached) >= 3 * 10
    assert not {"run_time", "machine", "workload"} & set(dir(State))


def test_arrays_cannot_be_written():
    def greedy(state):
        state.waiting.nodes[:] = 0
        return [0]

    with pytest.raises(ValueError, match="read-only") as caught:
        starts(of((0, 5, 5, 1)), 2, greedy)
    assert caught.value.__notes__ == ["raised by greedy at t=0"]


@compiled
def test_arrays_cannot_be_written_by_compiled_policies():
    @numba.njit
    def greedy(state):
        state.waiting.nodes[0] = 0
        return [0]

    with pytest.raises(TypingError, match=r"(?s)cannot compile the policy 'greedy'.*readonly"):
        starts(of((0, 5, 5, 1)), 2, greedy)


def test_a_wake_is_kept_until_the_next_answer():
    """At 0 the policy asks for 7; the submission at 3 comes first, and its answer counts."""
    asked = {0: 7.0, 3: 5.0, 5: np.inf}
    moments = []

    def sleepy(state):
        moments.append(state.now)
        return [], asked.get(state.now, np.inf)

    def then_fit(state):
        answer = sleepy(state)
        return first_fit(state) if state.now >= 9 else answer

    assert starts(of((0, 1, 1, 1), (3, 1, 1, 1), (9, 1, 1, 1)), 3, then_fit) == [9, 9, 9]
    assert moments == [0, 3, 5, 9]


def test_a_wake_at_which_nobody_waits_is_forgotten():
    moments = []

    def spy(state):
        moments.append(state.now)
        return first_fit(state), state.now + 2

    assert starts(of((0, 9, 9, 1), (5, 1, 1, 1)), 1, spy) == [0, 9]
    assert moments == [0, 5, 7, 9]


def test_the_policy_decides_at_the_times_it_asked_for():
    assert starts(of((1, 2, 2, 1), (4, 2, 2, 1)), 1, every_other_time) == [2, 4]


@pytest.mark.parametrize("answer", [[1, 0], np.array([0, 1], np.int32), range(2), ([0, 1], 9.0)])
def test_answers_may_be_any_sequence_of_whole_numbers(answer):
    assert starts(of((0, 5, 5, 1), (0, 5, 5, 1)), 2, lambda state: answer) == [0, 0]


WRONG = {
    "starts a position too high": (
        lambda state: [2],
        "<lambda> at t=0 starts position 2; expected 0 to 1, one per waiting job",
    ),
    "starts a position below zero": (lambda state: [-1], "starts position -1; expected 0 to 1"),
    "starts a job twice": (
        lambda state: [0, 0],
        r"starts trial: job 0 \(position 0\) twice; expected every position once",
    ),
    "starts what does not fit": (
        lambda state: [0, 1],
        r"starts trial: job 1 \(position 1\), which needs 3 nodes; 2 are free then",
    ),
    "wakes now": (lambda state: ([], state.now), "asks to be called at t=0; expected a later time"),
    "wakes at no time": (lambda state: ([], np.nan), "asks to be called at t=nan"),
    "starves": (
        lambda state: [],
        "starts no job on an empty machine.*trial: job 0 waits, and 1 more; expected a start",
    ),
    "never rests": (
        lambda state: ([], state.now + 1),
        "at t=10000 was called 10,000 times in a row.*job 0 waits, and 1 more",
    ),
    "returns nothing": (lambda state: None, "at t=0 returned None; expected a list or an array"),
    "returns a mask": (
        lambda state: state.waiting.nodes < 3,
        r"returned a mask: array.*np.flatnonzero\(mask\)",
    ),
    "returns fractions": (lambda state: [0.5], r"returned \[0.5\]; expected a list"),
    "returns a number": (lambda state: 0, "returned 0; expected a list"),
    "returns three things": (lambda state: ([], 1, 2), "returned a tuple of 3: .*; expected"),
    "wakes at a word": (
        lambda state: ([], "soon"),
        "returned 'soon' as the time of the next call; expected seconds",
    ),
}
"""Policies and what they are told, on two jobs of 2 and 3 nodes and a machine of 4."""


@pytest.mark.parametrize("what", WRONG)
def test_errors_name_policy_instant_and_job(what):
    policy, message = WRONG[what]
    with pytest.raises(InvalidDecisionError, match=message):
        starts(of((0, 5, 5, 2), (0, 5, 5, 3)), 4, policy)


@compiled
@pytest.mark.parametrize("what", list(WRONG)[: 8 if THOROUGH else 1])
def test_compiled_policies_get_the_same_errors(what):
    """An empty list has no type in Numba, so that these return one that was emptied."""
    plain, message = WRONG[what]
    policies = {
        "wakes now": lambda state: (state.waiting.job[:0], state.now),
        "wakes at no time": lambda state: (state.waiting.job[:0], np.nan),
        "starves": lambda state: state.waiting.job[:0],
        "never rests": lambda state: (state.waiting.job[:0], state.now + 1),
    }
    with pytest.raises(InvalidDecisionError, match=message):
        starts(of((0, 5, 5, 2), (0, 5, 5, 3)), 4, numba.njit(policies.get(what, plain)))


@compiled
@pytest.mark.parametrize(
    "policy",
    [lambda state: 0, lambda state: None, lambda state: (0, 1.0), lambda state: ([0.5])][
        : 4 if THOROUGH else 1
    ],
)
def test_compiled_policies_that_return_something_else_do_not_compile(policy):
    with pytest.raises(TypingError, match=r"a policy returns .*; expected a list or an array"):
        starts(of((0, 5, 5, 2)), 4, numba.njit(policy))


@pytest.mark.parametrize(
    ("answer", "fine"),
    [
        (types.List(types.int64), True),
        (types.int32[:], True),
        (types.Tuple((types.ListType(types.intp), types.float64)), True),
        (types.Tuple((types.int64[:], types.int64)), True),
        (types.int64, False),
        (types.none, False),
        (types.boolean[:], False),
        (types.float64[:], False),
        (types.int64[:, :], False),
        (types.UniTuple(types.int64, 2), False),
        (types.Tuple((types.int64[:], types.none)), False),
        (types.Tuple((types.int64[:], types.float64, types.float64)), False),
    ],
    ids=str,
)
def test_types_of_compiled_answers(answer, fine):
    if fine:
        assert callable(decisions._compiled_decision(answer))
    else:
        with pytest.raises(TypingError, match="expected a list or an array of positions"):
            decisions._compiled_decision(answer)


def test_a_list_of_positions_is_copied_in_order():
    assert decisions._copied(np.array([7, 0, 3])).tolist() == [7, 0, 3]


def test_errors_of_the_policy_itself_say_when_it_was_asked():
    def broken(state):
        raise KeyError("no such thing")

    with pytest.raises(KeyError) as caught:
        starts(of((3, 5, 5, 2)), 4, broken)
    assert caught.value.__notes__ == ["raised by broken at t=3"]


def test_schedules_are_called_after_the_function():
    workload = of((0, 5, 5, 2))
    assert simulate(workload, System.of(4), first_fit).policy == "first_fit"
    assert simulate(workload, System.of(4), first_fit, name="first fit").policy == "first fit"
    assert simulate(workload, System.of(4), compiled_easy).policy == "easy"
    assert simulate(workload, System.of(4), partial(first_fit)).policy == "first_fit"


def test_no_jobs_and_one_job():
    assert starts(of(), 4, first_fit) == []
    assert starts(of((3, 5, 5, 2)), 4, compiled_easy) == [3]


def test_jobs_wider_than_the_machine_are_refused():
    with pytest.raises(InvalidWorkloadError, match="job 0 asks for 5 nodes"):
        starts(of((3, 5, 5, 5)), 4, first_fit)


@pytest.mark.parametrize(
    ("policy", "columns", "message"),
    [
        ("EASY", (), "policy='EASY'; expected a function of a State"),
        (first_fit, "priority", "columns='priority'; expected a list of names"),
    ],
)
def test_arguments_of_another_kind_are_refused(policy, columns, message):
    with pytest.raises(ValueError, match=message):
        starts(of((3, 5, 5, 2)), 4, policy, columns=columns)
