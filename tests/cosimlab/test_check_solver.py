"""`check_solver` passes good solvers, finds seeded faults, and shows them small."""

import itertools

import numpy as np
import pandas as pd
import pytest

from cosimlab.testing import SOLVER_LAWS, SolverError, check_solver
from cosimlab.testing.solvers import _sums_of_sets, random_problems
from cosimlib.eviction import EvictionPlan, EvictionProblem, solve, solve_greedy, solve_overlapping
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import Workload

TRIALS = 20


def kill_by_loss(problem, deadline):
    """Kill by ascending loss until enough nodes are free."""
    by_loss = problem.jobs.sort_values("loss", kind="stable")
    before = by_loss["nodes"].cumsum() - by_loss["nodes"]
    return pd.Series(np.where(before < problem.nodes_needed, "kill", "keep"), by_loss.index)


@pytest.mark.parametrize(
    "solver", ["dynamic", "greedy", solve_overlapping, "blocked", kill_by_loss]
)
def test_good_solvers_obey_all_laws(solver):
    table = check_solver(solver, trials=TRIALS)
    assert table["law"].tolist() == list(SOLVER_LAWS)
    assert (table["problems"] == TRIALS).all()


def test_an_order_that_decides_between_equal_jobs_is_noted():
    notes = check_solver(solve_greedy).set_index("law")["note"]
    assert "among equal jobs the order of rows changes the loss, on" in notes["permutation"]
    assert not notes.drop("permutation").any()
    assert not check_solver("dynamic").set_index("law")["note"].any()


def unknown(problem, deadline):
    return ["kill", "stop"][: len(problem)] + ["kill"] * (len(problem) - 2)


def forgets_a_job(problem, deadline):
    return ["kill"] * (len(problem) - 1)


def keeps_one(problem, deadline):
    return [*["kill"] * (len(problem) - 1), *["keep"] * (len(problem) > 0)]


def rounds_down(problem, deadline):
    times = problem.jobs["sys_time"] // problem.step * problem.step
    return np.where((times.cumsum() <= deadline) & (times < np.inf), "sys", "kill")


def by_rows(problem, deadline):
    """Kill from the first row on."""
    nodes = problem.jobs["nodes"].cumsum() - problem.jobs["nodes"]
    return np.where(nodes < problem.nodes_needed, "kill", "keep")


def draws(problem, deadline, count=itertools.count()):  # noqa: B008
    """Each second time all are killed."""
    return kill_by_loss(problem, deadline) if next(count) % 5 else ["kill"] * len(problem)


def needs_jobs(problem, deadline):
    assert problem.jobs["nodes"].max() > 0
    return ["kill"] * len(problem)


def tampers(problem, deadline):
    problem.jobs["loss"] = 0.0
    return ["kill"] * len(problem)


class FreePlan(EvictionPlan):
    """A plan that claims to lose nothing."""

    @property
    def loss(self):
        return np.zeros(len(self.deadlines))


def claims(problem):
    plan = solve_greedy(problem)
    return FreePlan(problem, "claims", plan.choices, plan.proven, plan.response_time)


@pytest.mark.parametrize(
    ("solver", "law", "message"),
    [
        (unknown, "actions", "has action 'stop'; expected one action per job"),
        (forgets_a_job, "actions", "0 actions for 1 jobs"),
        (needs_jobs, "actions", "AssertionError"),
        (tampers, "actions", "loss of job 0 is not what it was"),
        (keeps_one, "nodes", "0 nodes are freed; expected at least the 1 needed"),
        (rounds_down, "time", "the sys checkpoint of job 0 is written at 60 s"),
        (claims, "optimum", "by 0 s it loses 0 node-hours; the optimum loses 1"),
        (by_rows, "permutation", "node-hours; with the rows of jobs in reverse"),
        (draws, "repeat", "node-hours; in a second run"),
    ],
)
def test_seeded_faults_are_found_and_shown_small(solver, law, message):
    with pytest.raises(SolverError, match=message) as error:
        check_solver(solver, laws=[law] if solver is draws else None)
    assert error.value.law == law
    assert len(error.value.problem) <= 3 and solver.__name__ in str(error.value)
    names = {}
    exec(str(error.value).split("that shows it:")[1], names)
    assert names["problem"].jobs.to_dict("list") == error.value.problem.jobs.to_dict("list")
    assert names["problem"].nodes_needed == error.value.problem.nodes_needed


def test_laws_may_be_left_out():
    laws = SOLVER_LAWS.keys() - {"permutation"}
    assert len(check_solver(by_rows, laws=laws, trials=TRIALS)) == 5
    with pytest.raises(ValueError, match="law='fair'; expected one of 'actions'"):
        check_solver(by_rows, laws=["fair"])


def test_problems_without_ties_have_none_and_all_have_their_edges():
    untied = list(random_problems(np.random.default_rng(0), 40, untied=True))
    for case in untied:
        jobs = case.jobs
        assert np.unique(_sums_of_sets(jobs["nodes"].to_numpy())).size == 2 ** len(jobs)
        times = jobs[["app_time", "sys_time"]].to_numpy().ravel()
        assert np.unique(times).size == times.size and jobs["loss"].is_unique
    cases = [*untied, *random_problems(np.random.default_rng(1), 40)]
    needed = [(case.nodes_needed, case.jobs["nodes"].sum()) for case in cases if len(case.jobs)]
    assert any(some == 0 for some, _ in needed) and any(some == every for some, every in needed)
    assert any(case.jobs.empty for case in cases) and any(case.horizon == 0 for case in cases)


def test_a_problem_has_no_clock():
    """Why no law shifts the clock: the same jobs sixteen days later are the same problem."""
    jobs = {"run_time": [7000.0, 9000.0, 5000.0], "nodes": [3, 2, 4]}
    system = System("ten", {"main": 10}, 1, 64.0, 5.0, 1.0)

    def posed(later):
        submitted = np.array([0.0, 10.0, 700.0]) + later
        table = pd.DataFrame({"submit_time": submitted, "requested_time": 1e4, **jobs})
        schedule = Schedule.from_starts(Workload(table, "three"), system, submitted, "recorded")
        return EvictionProblem.from_schedule(schedule, at=3000.0 + later, nodes_needed=5, seed=3)

    here, there = posed(0.0), posed(16 * 86_400.0)
    assert here.jobs.equals(there.jobs)
    assert solve(here, kill_by_loss).loss.tolist() == solve(there, kill_by_loss).loss.tolist()
