"""Property-based tests of your own eviction solver on small random problems.

`check_solver` checks what is true of every sane solver by definition:

- its plans keep the *rules* (`cosimlib.eviction.rules`): known actions, enough nodes, in time;
- no plan loses less than the *optimum* of `solve_dynamic`, or, where waits for checkpoints overlap,
  of `solve_overlapping`;
- the order of the rows in the table does not matter (*permutation*). Where jobs are equal in what a
  solver sorts by, it may rightly take the first one. So this law is checked on problems without
  ties: no two jobs have the same loss or checkpoint time, and no two sets of jobs the same nodes.
  On problems with ties another loss is not an error; the returned table notes how often it occurs;
- a second run of the same problem loses as much (*repeat*). All times of a problem count from the
  eviction, so the same jobs at another time of day are the same problem.

That a later deadline never loses more is no law: greedy, among others, breaks it.

Random problems have up to six jobs, many with equal nodes, losses and times, some without a
checkpoint, some of no nodes needed or of all. The fourth one has no jobs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cosimlab.testing.policies import BrokenLawError, Law, smaller_numbers, smallest
from cosimlib import checks as check
from cosimlib.eviction import EvictionPlan, EvictionProblem, InfeasiblePlanError, TimedPlan
from cosimlib.eviction.dynamic import solve_dynamic
from cosimlib.eviction.overlapping import solve_overlapping
from cosimlib.eviction.solving import solver_of

MOST_JOBS = 6
CLOSE = 1e-9
"""Node-hours by which equal losses may differ."""


class SolverCase(NamedTuple):
    """The jobs of an eviction problem, and what is asked."""

    jobs: pd.DataFrame
    nodes_needed: int
    horizon: float
    step: float

    @property
    def problem(self) -> EvictionProblem:
        """The problem, of a copy of the jobs."""
        return EvictionProblem(self.jobs.copy(), self.nodes_needed, self.horizon, self.step)


Run = Callable[[SolverCase], EvictionPlan]


class SolverError(AssertionError):
    """A solver breaks a law; `law` and `problem` are the smallest problem found."""

    def __init__(self, message: str, law: str, problem: EvictionProblem) -> None:
        super().__init__(message)
        self.law, self.problem = law, problem


def check_solver(
    solver: Callable | str,
    *,
    laws: Iterable[str] | None = None,
    trials: int = 30,
    seed: int = 0,
    **knobs: Any,
) -> pd.DataFrame:
    """Check that your own eviction solver obeys the laws, or show a problem where it does not.

    Parameters
    ----------
    solver : function or str
        As for `cosimlib.solve`: a function of a problem and a deadline that returns actions, one of
        a problem that returns an `EvictionPlan`, or a name.
    laws : names, optional
        Which of `SOLVER_LAWS` to check; all by default. A solver that draws random numbers without
        a seed rightly breaks ``repeat``; one that takes jobs as they stand, ``permutation``.
    trials : int, default 30
        Random problems per law.
    seed : int, default 0
        Seed of the random problems.
    **knobs
        Keyword arguments of the function.

    Returns
    -------
    pd.DataFrame
        The laws that were checked: `law`, `says`, `problems`, and `note`, which is empty but for
        orders that decide between equal jobs.

    Raises
    ------
    SolverError
        If a law is broken, with the smallest problem found that breaks it.
    ValueError
        If a law or the name of a solver is unknown, or the solver is no such function.
    """
    asked = list(SOLVER_LAWS) if laws is None else list(laws)
    for law in asked:
        check.choice("law", law, SOLVER_LAWS)
    check.whole("trials", trials, 1)
    check.seed(seed)
    name, solve = solver_of(solver, **knobs)

    def run(case: SolverCase) -> EvictionPlan:
        return solve(case.problem)

    rows = []
    for law in (law for law in SOLVER_LAWS if law in asked):
        untied = law == "permutation"
        cases = list(random_problems(np.random.default_rng(seed), trials, untied=untied))
        for case in cases:
            found = _fault(law, run, case)
            if found is not None:
                smaller = smallest(partial(_fault, law, run), case, found, _smaller_cases)
                raise _error(name, law, *smaller)
        note = _note_on_ties(run, trials, seed) if untied else ""
        rows.append((law, SOLVER_LAWS[law].says, len(cases), note))
    return pd.DataFrame(rows, columns=["law", "says", "problems", "note"])


def _note_on_ties(run: Run, trials: int, seed: int) -> str:
    """How often the order of the rows decides between equal jobs; empty if never."""
    cases = list(random_problems(np.random.default_rng(seed), trials))
    changed = sum(isinstance(_fault("permutation", run, case), BrokenLawError) for case in cases)
    if not changed:
        return ""
    return f"among equal jobs the order of rows changes the loss, on {changed} of {trials} problems"


def _error(name: str, law: str, case: SolverCase, cause: Exception) -> SolverError:
    """The error for a problem on which a law is broken."""
    own = isinstance(cause, BrokenLawError | InfeasiblePlanError)
    said = str(cause) if own else f"{type(cause).__name__}: {cause}"
    message = (
        f"{name} breaks the law {law!r}: {SOLVER_LAWS[law].says}\n{said}\n\n"
        f"The smallest problem found that shows it:\n\n{_as_python(case)}"
    )
    error = SolverError(message, law, case.problem)
    error.__cause__ = cause
    return error


def random_problems(
    random: np.random.Generator, count: int, *, untied: bool = False
) -> Iterator[SolverCase]:
    """Random cases of up to six jobs; `untied` ones have no two jobs that are equal in anything."""
    for number in range(count):
        n = int(random.integers(1, MOST_JOBS + 1)) * (number != 3)
        jobs, step, steps = _untied_jobs(random, n) if untied else _tied_jobs(random, n)
        total = int(jobs["nodes"].sum())
        needed = [0, total][number % 2] if number % 10 < 2 else int(random.integers(0, total + 1))
        yield SolverCase(jobs, needed, float(step * steps), float(step))


def _tied_jobs(random: np.random.Generator, n: int) -> tuple[pd.DataFrame, int, int]:
    """Jobs of which many are equal in something, seconds per step, and steps."""
    times = np.array([0.0, 20.0, 30.0, 60.0, 61.0, 90.0, 150.0, 1e4, np.inf])
    app_time, sys_time = random.choice(times, n), random.choice(times, n)
    jobs = {
        "nodes": random.integers(1, 5, n),
        "loss": random.integers(0, 5, n).astype(np.float64),
        "app_time": app_time,
        "sys_time": sys_time,
        "app_wait": np.where(app_time < np.inf, np.floor(app_time / 2), np.inf),
    }
    return pd.DataFrame(jobs), 60, int(random.choice([0, 1, 3, 5]))


def _untied_jobs(random: np.random.Generator, n: int) -> tuple[pd.DataFrame, int, int]:
    """Jobs that differ in all they have, seconds per step, and steps."""
    nodes = random.integers(1, 400, n)
    while np.unique(_sums_of_sets(nodes)).size < 2**n:
        nodes = random.integers(1, 400, n)
    steps = random.permutation(np.arange(1, 17))[: 2 * n]
    app_time, sys_time = 10.0 * steps[:n], 10.0 * steps[n:]
    jobs = {
        "nodes": nodes,
        "loss": random.uniform(0, 50, n),
        "app_time": app_time,
        "sys_time": sys_time,
        "app_wait": app_time - random.uniform(1, 9, n),
    }
    return pd.DataFrame(jobs), 10, int(random.integers(4, 13))


def _sums_of_sets(values: np.ndarray) -> np.ndarray:
    """Sums of all sets of some values."""
    sums = np.zeros(1, dtype=np.int64)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums


def _smaller_cases(case: SolverCase) -> Iterator[SolverCase]:
    """The case without one job, with fewer nodes or deadlines, or one smaller number."""
    jobs, needed, horizon, step = case
    for job in range(len(jobs) - 1, -1, -1):
        fewer = jobs.drop(index=jobs.index[job]).reset_index(drop=True)
        yield SolverCase(fewer, min(needed, int(fewer["nodes"].sum())), horizon, step)
    for number in smaller_numbers(needed, 0):
        yield case._replace(nodes_needed=number)
    for steps in smaller_numbers(int(horizon / step), 0):
        yield case._replace(horizon=steps * step)
    for column in ("nodes", "loss"):
        values = jobs[column].to_numpy()
        for job in range(len(jobs)):
            for number in smaller_numbers(int(np.ceil(values[job])), int(column == "nodes")):
                changed = values.copy()
                changed[job] = number
                smaller = jobs.assign(**{column: changed})
                if smaller["nodes"].sum() >= needed and number < values[job]:
                    yield case._replace(jobs=smaller)


def _as_python(case: SolverCase) -> str:
    """Lines of Python that make the problem."""
    width = max(len(column) for column in case.jobs) + 3
    rows = [
        "    " + f'"{column}":'.ljust(width) + f" {values.tolist()},\n"
        for column, values in case.jobs.items()
    ]
    table = "".join(rows).replace("inf", "np.inf")
    return (
        "import cosimlib as cs\nimport numpy as np\nimport pandas as pd\n\n"
        f"jobs = pd.DataFrame({{\n{table}}})\n"
        f"problem = cs.EvictionProblem(jobs, nodes_needed={case.nodes_needed}, "
        f"horizon={case.horizon:g}, step={case.step:g})"
    )


def _fault(law: str, run: Run, case: SolverCase) -> Exception | None:
    """Error of a law on a case, or None if the law holds."""
    try:
        SOLVER_LAWS[law].check(run, case)
    except Exception as error:
        return error
    return None


def _keeps(*rules: str) -> Callable[[Run, SolverCase], None]:
    """The check of some rules; those who break others are told so by the law of these."""

    def obeyed(run: Run, case: SolverCase) -> None:
        try:
            run(case)
        except InfeasiblePlanError as error:
            if error.rule in rules:
                raise

    return obeyed


def _optimum(run: Run, case: SolverCase) -> None:
    """Raise an error for the first deadline at which a plan loses less than is possible."""
    plan = run(case)
    best = (solve_overlapping if isinstance(plan, TimedPlan) else solve_dynamic)(case.problem)
    better = plan.loss < best.loss - CLOSE
    if better.any():
        row = int(better.argmax())
        raise BrokenLawError(
            f"by {plan.deadlines[row]:g} s it loses {plan.loss[row]:.10g} node-hours; the optimum "
            f"loses {best.loss[row]:.10g}"
        )


def _permutation(run: Run, case: SolverCase) -> None:
    """Raise an error if the rows in the reverse order, or the last row first, change a loss."""
    plan, n = run(case), len(case.jobs)
    for order, words in ((np.arange(n)[::-1], "in reverse"), (np.roll(np.arange(n), 1), "rolled")):
        other = run(case._replace(jobs=case.jobs.iloc[order]))
        _compare(plan, other, f"with the rows of jobs {words}")


def _repeat(run: Run, case: SolverCase) -> None:
    """Raise an error if a second run of the same problem loses more or less."""
    _compare(run(case), run(case), "in a second run")


def _compare(plan: EvictionPlan, other: EvictionPlan, what: str) -> None:
    """Raise an error for the first deadline by which two plans lose unequally."""
    differ = ~np.isclose(plan.loss, other.loss, rtol=0.0, atol=CLOSE)
    if differ.any():
        row = int(differ.argmax())
        raise BrokenLawError(
            f"by {plan.deadlines[row]:g} s it loses {plan.loss[row]:.10g} node-hours; {what} "
            f"{other.loss[row]:.10g}"
        )


SOLVER_LAWS: Mapping[str, Law] = MappingProxyType(
    {
        "actions": Law("each job has a known action", _keeps("actions", "proof", "table")),
        "nodes": Law("enough nodes are freed", _keeps("nodes")),
        "time": Law("checkpoints are written by the deadline", _keeps("time")),
        "optimum": Law("no plan loses less than the optimum", _optimum),
        "repeat": Law("a second run of the same problem loses as much", _repeat),
        "permutation": Law("the order of the jobs does not change the loss", _permutation),
    }
)
"""Every law of eviction solvers by its name."""
