"""Plans that break a rule are refused, those of our solvers never; your own solver by `solve`."""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import ceil, inf

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from cosimlib import audit
from cosimlib.checks import ArgumentError
from cosimlib.eviction import (
    EvictionPlan,
    EvictionProblem,
    InfeasiblePlanError,
    TimedPlan,
    scaled_problem,
    solve,
    solve_backtracking,
    solve_blocked,
    solve_dynamic,
    solve_gpus,
    solve_greedy,
    solve_overlapping,
)
from cosimlib.eviction.rules import NAMED, PROVING
from tests.cosimlib.eviction.test_gpus import random_problem as gpu_problem
from tests.cosimlib.eviction.test_overlapping import problems as timed_problems
from tests.cosimlib.eviction.test_solvers import frame, problems

KEEP, KILL, APP, SYS = range(4)
ADDED_UP = (solve_dynamic, solve_greedy, solve_backtracking)
TIMED = (solve_overlapping, solve_blocked)


def steps_of(problem, seconds):
    """Steps that a duration takes, in exact arithmetic."""
    return inf if seconds == inf else ceil(Fraction(seconds) / Fraction(problem.step))


def last_write(problem, actions, order):
    """The step in which the last checkpoint is written: added up, or one after another by order."""
    clock = 0
    for job in range(len(actions)) if order is None else order:
        row = problem.jobs.iloc[job]
        app, sys = steps_of(problem, row["app_time"]), steps_of(problem, row["sys_time"])
        if actions[job] == SYS:
            clock += sys
        elif actions[job] == APP and order is None:
            clock += app
        elif actions[job] == APP:
            write = steps_of(problem, row["app_time"] - row["app_wait"]) if app < inf else inf
            clock = max(clock, app - write) + write if app < inf else inf
    return clock


def broken(problem, choices, order=None):
    """The first rule that a table of choices breaks, by the words of the rule; None if none."""
    for row in choices:
        if any(action not in (KEEP, KILL, APP, SYS) for action in row):
            return "actions"
    for row in choices:
        nodes = problem.jobs["nodes"]
        if sum(n for n, action in zip(nodes, row, strict=True) if action) < problem.nodes_needed:
            return "nodes"
    for number, row in enumerate(choices):
        if last_write(problem, row, None if order is None else order[number]) > number:
            return "time"
    return None


def unknown_action(random, plan):
    """A number that is no action, in one place."""
    choices = plan.choices.copy()
    choices[place(random, choices)] = random.integers(4, 256)
    return {"choices": choices}


def fewer_nodes(random, plan):
    """Jobs of one deadline are kept until too few nodes are freed."""
    choices, row = plan.choices.copy(), int(random.integers(len(plan.deadlines)))
    for job in random.permutation(choices.shape[1]):
        choices[row, job] = KEEP
        if (choices[row] > 0) @ plan.problem.arrays.nodes < plan.problem.nodes_needed:
            break
    return {"choices": choices}


def late_checkpoint(random, plan):
    """Jobs that are killed or kept are checkpointed, all of one deadline."""
    choices, row = plan.choices.copy(), int(random.integers(len(plan.deadlines) // 2))
    choices[row] = random.choice([APP, SYS], choices.shape[1])
    return {"choices": choices}


def checkpoint_that_is_none(random, plan):
    """The job that can write no checkpoint of one kind writes it."""
    choices = plan.choices.copy()
    choices[-1, 0] = APP
    return {"choices": choices}


def plans_of_later_deadlines(random, plan):
    """All plans are those of the last deadline."""
    return {"choices": np.broadcast_to(plan.choices[-1], plan.choices.shape).copy()}


def one_job_less(random, plan):
    return {"choices": plan.choices[:, 1:]}


def one_deadline_less(random, plan):
    return {"choices": plan.choices[:-1]}


def fractions(random, plan):
    return {"choices": plan.choices + 0.5}


def false_proof(random, plan):
    return {"solver": "greedy", "proven": random.permutation(len(plan.deadlines)) == 0}


def place(random, choices):
    return tuple(int(random.integers(size)) for size in choices.shape)


MUTATIONS = {
    unknown_action: ("actions", "has action .*; expected 0 .keep., 1 .kill., 2 .app., 3 .sys."),
    fewer_nodes: ("nodes", "nodes are freed; expected at least the .* needed: .* such as job"),
    late_checkpoint: ("time", "checkpoint of job .* is written at|has no app checkpoint"),
    checkpoint_that_is_none: ("time", r"job .* has no app checkpoint \(app_time=inf\)"),
    plans_of_later_deadlines: ("time", "as checkpoints are written one after another"),
    one_job_less: ("actions", "choices is an array .* expected .* deadlines × .* jobs"),
    one_deadline_less: ("actions", "choices is an array .* expected .* deadlines × .* jobs"),
    fractions: ("actions", "choices is an array of float64 .* expected .* whole numbers"),
    false_proof: ("proof", "greedy by .* s: the plan is said to be proven optimal"),
}
"""The rule that each mutation breaks, and what the error says."""
SHAPES = (one_job_less, one_deadline_less, fractions)


def plan_of(seed):
    """A plan of a random problem whose first job writes no checkpoint of its own."""
    random = np.random.default_rng(seed)
    problem = scaled_problem(int(random.integers(4, 9)), 200, needed=0.7, seed=seed)
    jobs = problem.jobs.copy()
    jobs["app_time"] = jobs["app_wait"] % 500 + random.uniform(0, 90, len(jobs))
    jobs["app_wait"] = jobs["app_wait"] % 500
    jobs["sys_time"] = random.uniform(100, 400, len(jobs))
    jobs.iloc[0, [jobs.columns.get_loc("app_time"), jobs.columns.get_loc("app_wait")]] = inf
    problem = EvictionProblem(jobs, problem.nodes_needed, 480.0)
    return [*ADDED_UP, *TIMED][seed % 5](problem), random


def test_200_mutated_plans_are_refused_by_the_rule_that_they_break():
    refused = dict.fromkeys(MUTATIONS, 0)
    seed = 0
    while sum(refused.values()) < 200:
        mutate = list(MUTATIONS)[seed % len(MUTATIONS)]
        plan, random = plan_of(seed)
        seed += 1
        order = getattr(plan, "order", None)
        assert broken(plan.problem, plan.choices.tolist(), order) is None
        changes = mutate(random, plan)
        choices = changes.get("choices", plan.choices)
        expected, message = MUTATIONS[mutate]
        if mutate in SHAPES:
            assert choices.shape != plan.choices.shape or choices.dtype.kind == "f"
        elif mutate is false_proof:
            assert changes["proven"].any() and changes["solver"] == "greedy"
        elif broken(plan.problem, choices.tolist(), order) != expected:
            continue  # the plan of a late deadline may suit an early one
        with pytest.raises(InfeasiblePlanError, match=message) as error:
            replace(plan, **changes)
        assert error.value.rule == expected
        refused[mutate] += 1
    assert min(refused.values()) >= 10 and seed < 300


@given(problems(max_jobs=5))
@settings(max_examples=60)
def test_plans_with_any_actions_are_refused_exactly_if_a_rule_is_broken(problem):
    random = np.random.default_rng(len(problem) + problem.nodes_needed)
    choices = random.integers(0, 4, (len(problem.deadlines), len(problem)))
    # Half of the jobs are as our solver has them, so that some plans keep all rules.
    choices = np.where(random.random(choices.shape) < 0.5, choices, solve_dynamic(problem).choices)
    unproven, seconds = np.zeros(len(choices), dtype=bool), np.zeros(len(choices))
    rule = broken(problem, choices.tolist())
    if rule is None:
        EvictionPlan(problem, "own", choices, unproven, seconds)
    else:
        with pytest.raises(InfeasiblePlanError) as error:
            EvictionPlan(problem, "own", choices, unproven, seconds)
        assert error.value.rule == rule


@given(problems(max_jobs=6))
@settings(max_examples=60)
def test_no_plan_of_our_solvers_is_refused(problem):
    for each in ADDED_UP:
        assert audit(each(problem)).solver == each.__name__.removeprefix("solve_")


@given(timed_problems(max_jobs=5))
@settings(max_examples=60)
def test_no_timed_plan_of_our_solvers_is_refused(problem):
    plans = [
        *(each(problem) for each in TIMED),
        *(TimedPlan.of(each(problem)) for each in ADDED_UP),
    ]
    for plan in plans:
        audit(plan)
        assert (plan._written == plan._timetable.free).all()
        assert broken(problem, plan.choices.tolist(), plan.order) is None


@pytest.mark.parametrize("seed", range(12))
def test_no_plan_for_gpus_is_refused(seed):
    problem = gpu_problem(seed, nodes=4, jobs=8, spanning=seed % 2 == 0).asking(2 * seed)
    plan = audit(solve_gpus(problem))
    if problem.nodes_needed:
        with pytest.raises(InfeasiblePlanError, match="0 nodes are freed"):
            replace(plan, chosen=np.zeros_like(plan.chosen))


@pytest.fixture
def problem():
    jobs = frame((64, 40.0, 120.0, 300.0), (32, 8.0, 60.0, 200.0), (32, 1.0, 300.0, inf))
    return EvictionProblem(jobs.set_index(pd.Index([7, 8, 9])), 64, 300.0)


def test_the_wrong_plans_of_the_first_outside_review(problem):
    """None is freed and yet it is proven; eight late checkpoints; an action that there is not."""
    zeros, ones = np.zeros((6, 3), dtype=int), np.ones(6, dtype=bool)
    plan = partial(EvictionPlan, problem, "bad", proven=~ones, response_time=np.zeros(6))
    with pytest.raises(ValueError, match=r"bad by 0 s: 0 nodes are freed; expected .* 64 needed"):
        plan(zeros, proven=ones)
    with pytest.raises(AssertionError, match="app checkpoint of job 7 is written at 120 s"):
        plan(zeros + APP)
    with pytest.raises(InfeasiblePlanError, match="bad by 0 s: job 7 has action 9"):
        plan(zeros + 9)
    with pytest.raises(
        InfeasiblePlanError, match=r"as only the solvers dynamic, .*, blocked prove"
    ):
        plan(zeros + KILL, proven=ones)
    with pytest.raises(InfeasiblePlanError, match="proven is of type list"):
        plan(zeros + KILL, proven=[False] * 6)
    assert "proven optimal  0 deadlines of 6" in str(plan(zeros + KILL))


def test_audit_finds_what_was_changed_after_it_was_made(problem):
    plan = solve_dynamic(problem)
    assert audit(plan) is plan
    plan.choices[2] = KEEP
    with pytest.raises(InfeasiblePlanError, match="dynamic by 120 s: 0 nodes are freed") as error:
        audit(plan)
    assert (error.value.rule, error.value.deadline, error.value.job) == ("nodes", 120.0, 7)
    plan = solve_greedy(problem)
    problem.jobs.loc[8, "loss"] = 2.0
    with pytest.raises(InfeasiblePlanError, match="greedy: loss of job 8 is not what it was"):
        audit(plan)


def test_a_writing_order_has_each_job_once_and_may_be_too_late():
    """Job a is reached at 120 s and writes for 60 s; job b writes for 120 s, so before it."""
    jobs = frame((5, 5.0, 180.0, inf), (5, 5.0, inf, 120.0)).assign(app_wait=[120.0, inf])
    plan = solve_overlapping(EvictionProblem(jobs, 10, 180.0))
    assert plan.loss[-1] == 0 and plan.order[-1].tolist() == [1, 0]
    with pytest.raises(InfeasiblePlanError, match="sys checkpoint of job 1 is written at 300 s"):
        replace(plan, order=plan.order[:, ::-1])
    for order in (plan.order[:, :1], np.zeros_like(plan.order), plan.order + 1, [[0, 1]]):
        with pytest.raises(
            InfeasiblePlanError, match=r"writing order is wrong; expected .* 0 to 1"
        ):
            replace(plan, order=order)


def kill_all(problem, deadline):
    return ["kill"] * len(problem)


class Cautious:
    """Kills all, and remembers the deadlines that it was asked for."""

    def __init__(self):
        self.asked = []

    def __call__(self, problem, deadline, action="kill"):
        self.asked.append(deadline)
        return pd.Series(action, index=problem.jobs.index[::-1])


def test_a_solver_of_your_own_is_a_function_of_a_problem_and_a_deadline(problem):
    plan = solve(problem, kill_all)
    assert plan.solver == "kill_all" and plan.loss.tolist() == [49.0] * 6 and not plan.proven.any()
    assert (np.diff(plan.response_time) >= 0).all() and plan.response_time[0] > 0
    mine = Cautious()
    assert solve(problem, mine, action=1).solver == "Cautious"
    assert mine.asked == problem.deadlines.tolist()
    assert solve(problem, mine, name="mine").solver == "mine"


def test_a_series_is_read_by_its_index(problem):
    def kill_the_small(problem, deadline):
        by_loss = problem.jobs.sort_values("loss")
        return pd.Series(["kill", "kill", "keep"], index=by_loss.index)

    assert solve(problem, kill_the_small).actions(0.0)["job"].tolist() == [8, 9]


def test_solvers_by_name_and_functions_of_a_problem(problem):
    for name in ("dynamic", "greedy", "backtracking"):
        assert solve(problem, name).solver == name
    assert solve(problem).proven.all() and solve(problem, solve_greedy).solver == "greedy"
    assert solve(problem, "backtracking", time_limit=1.0).loss[0] == solve(problem).loss[0] == 9.0
    assert problem.durations.loc[9].tolist() == [300.0, inf]


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        (["kill", "stop", "keep"], r"mine by 0 s: job 8 has action 'stop'; expected one .*: keep"),
        ([1, 1, 9], "mine by 0 s: job 9 has action 9; expected one action per job"),
        ([True, 1, 1], "job 7 has action True"),
        ([1, None, 1], "job 8 has action None"),
        (["kill", "kill"], "mine by 0 s: 2 actions for 3 jobs"),
        ("kill", "it returns 'kill'"),
        (None, "it returns None"),
        (pd.Series("kill", index=[7, 8, 1]), "job 9 is not in the index"),
        (pd.Series("kill", index=[7, 8, 8]), "job 8 is in the index more than once"),
        ({7: "kill", 8: "kill", 9: "kill"}, "it returns a dict; expected one action per job"),
        (["keep", "keep", "kill"], "mine by 0 s: 32 nodes are freed; .* 64 needed.* as job 7"),
        (["app", "keep", "keep"], "mine by 0 s: the app checkpoint of job 7 is written at 120 s"),
        (["kill", "keep", "sys"], r"mine by 0 s: job 9 has no sys checkpoint \(sys_time=inf\)"),
    ],
)
def test_actions_that_are_refused_name_solver_deadline_job_and_rule(problem, actions, message):
    with pytest.raises(InfeasiblePlanError, match=message):
        solve(problem, lambda problem, deadline: actions, name="mine")


def test_a_parameter_that_a_solver_does_not_take_is_refused_by_name(problem):
    with pytest.raises(ArgumentError, match=r"^kill_all: argument='weight'; expected none, as it"):
        solve(problem, kill_all, weight=2)
    with pytest.raises(
        ArgumentError, match=r"^Cautious: argument='weight'; expected one of 'action'"
    ):
        solve(problem, Cautious(), weight=2)
    with pytest.raises(ArgumentError, match="argument='weight'; expected"):
        solve(problem, "greedy", weight=2)


def test_what_is_no_solver_is_refused(problem):
    with pytest.raises(ArgumentError, match="solver='best'; expected one of 'dynamic', 'greedy'"):
        solve(problem, "best")
    with pytest.raises(ArgumentError, match=r"expected an object of the class, such as Cautious\("):
        solve(problem, Cautious)
    for wrong in (3, lambda: 0, lambda a, b, c: 0):
        with pytest.raises(ArgumentError, match=r"expected the name of a solver, .* a function of"):
            solve(problem, wrong)
    with pytest.raises(TypeError, match="the result of 'f' is 3; expected an EvictionPlan"):
        solve(problem, lambda problem: 3, name="f")
    with pytest.raises(ArgumentError, match="expected the problem it was given"):
        solve(problem, lambda each: solve_greedy(each.asking(1)), name="f")
    with pytest.raises(ArgumentError, match="name='dynamic'; expected a name that no solver of th"):
        solve(problem, kill_all, name="dynamic")


def test_an_error_of_your_own_solver_says_when_it_was_raised(problem):
    def fails(problem, deadline):
        return 1 / (120 - deadline)

    with pytest.raises(InfeasiblePlanError, match=r"fails by 0 s: it returns 0.0083"):
        solve(problem, fails)

    def fails_later(problem, deadline):
        assert deadline < 120
        return kill_all(problem, deadline)

    with pytest.raises(AssertionError) as error:
        solve(problem, fails_later)
    assert error.value.__notes__ == ["raised by the solver 'fails_later' at deadline 120 s"]


def test_a_solver_that_changes_the_problem_is_refused(problem):
    def spoils(problem, deadline):
        problem.jobs["loss"] = 0.0
        return kill_all(problem, deadline)

    with pytest.raises(InfeasiblePlanError, match=r"spoils: loss of job 7 .* change a copy of it"):
        solve(problem, spoils)


@pytest.mark.parametrize("name", PROVING)
def test_a_false_proof_in_the_name_of_a_solver_is_refused(name):
    """All jobs are killed and the plan is said to be optimal, in the name of a solver."""
    table = {"nodes": [64, 32, 32], "loss": [40.0, 8.0, 1.0]}
    times = {"app_time": [120.0, 60.0, 300.0], "sys_time": [300.0, 200.0, 240.0], "app_wait": 0.0}
    problem = EvictionProblem(pd.DataFrame(table | times), nodes_needed=64, horizon=300)
    best = solve(problem, name) if name in NAMED else solve_dynamic(problem)
    assert audit(best) is best
    false = replace(best, solver=name, choices=np.full_like(best.choices, KILL))
    with pytest.raises(
        InfeasiblePlanError, match=r"loses [\d.]+ node-hours; the optimum is .*: expected"
    ):
        audit(false)


def test_a_false_proof_of_gpus_is_refused():
    refused = 0
    for seed in range(20):
        problem = gpu_problem(seed)
        best = solve_gpus(problem)
        false = replace(best, choices=np.full_like(best.choices, KILL), proven=best.proven | True)
        if (false.loss > best.bound * 1.01).any():
            refused += 1
            with pytest.raises(InfeasiblePlanError, match="the optimum is"):
                audit(false)
    assert refused > 5
