"""Property-based tests of your own scheduling policy, on small random workloads.

`check_policy` checks laws that all policies of this package obey. If a law is broken, it looks for
a smaller workload that still breaks it, and prints that workload as Python.
"""

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.batch.simulation import function_name, simulate
from cosimlib.policies import SIMULATORS
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.testing.cases import Case, as_python, random_cases, smallest
from cosimlib.testing.laws import LAWS, BrokenLawError, Run, fault
from cosimlib.workload import Workload

__all__ = ["LAWS", "PolicyError", "check_policy"]


class PolicyError(AssertionError):
    """A policy breaks a law; `law`, `workload` and `system` are the smallest case found."""

    def __init__(self, message: str, law: str, workload: Workload, system: System) -> None:
        super().__init__(message)
        self.law, self.workload, self.system = law, workload, system


def check_policy(
    policy: Callable | str,
    *,
    laws: Iterable[str] | None = None,
    trials: int = 50,
    seed: int = 0,
    columns: Sequence[str] = (),
    **knobs: Any,
) -> pd.DataFrame:
    """Check that your own policy obeys the laws of scheduling, or show a case in which it does not.

    Parameters
    ----------
    policy : function or str
        A decision function for `simulate`, ``policy(state)``; a whole simulator,
        ``policy(workload, system, **knobs) -> Schedule``; or a registered name. The schedule must
        be for the given jobs and system; runs may be cut only at the requested time.
    laws : names, optional
        Which of `LAWS` to check; all by default. Some policies rightly break a law: one that uses
        a constant in seconds may break ``scale``; one that decides only at full minutes,
        ``alone``.
    trials : int, default 50
        Random workloads per law.
    seed : int, default 0
        Seed of the random workloads.
    columns : sequence of str, optional
        Other columns that the policy reads. Random workloads have whole numbers in them.
    **knobs
        Keyword arguments of the simulator.

    Returns
    -------
    pd.DataFrame
        The laws that were checked: `law`, `says`, `workloads`.

    Raises
    ------
    PolicyError
        If a law is broken, with the smallest workload found that breaks it.
    TypeError
        If the policy is neither a function of a state nor one of a workload and a system.
    ValueError
        If a law or the name of a policy is unknown.
    """
    asked = list(LAWS) if laws is None else list(laws)
    for law in asked:
        check.choice("law", law, LAWS)
    check.whole("trials", trials, 1)
    check.seed(seed)
    if isinstance(policy, str):
        check.choice("policy", policy, SIMULATORS)
    simulator = SIMULATORS[policy] if isinstance(policy, str) else policy
    name = policy if isinstance(policy, str) else function_name(policy)
    run = _runner(simulator, columns, knobs)
    rows = []
    for law in (law for law in LAWS if law in asked):
        cases = list(random_cases(np.random.default_rng(seed), trials, columns))
        for case in cases:
            found = fault(law, run, case)
            if found is not None:
                smaller = smallest(partial(fault, law, run), case, found)
                raise _error(name, law, *smaller)
        rows.append((law, LAWS[law].says, len(cases)))
    return pd.DataFrame(rows, columns=["law", "says", "workloads"])


def _runner(policy: Callable, columns: Sequence[str], knobs: dict[str, Any]) -> Run:
    """A function from a case to its schedule, for a decision or a simulator."""
    check.that("policy", policy, callable(policy), "a function, or the name of a policy")
    name, parameters = function_name(policy), inspect.signature(policy).parameters.values()
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p.name for p in parameters if p.kind in positional and p.default is p.empty]
    if len(needed) == 1 and knobs:
        raise TypeError(f"{name} is a function of a state; expected no knob, got {min(knobs)!r}")
    if len(needed) == 1:
        return lambda case: simulate(case.workload, case.system, policy, columns=columns)
    if len(needed) != 2:
        raise TypeError(
            f"{name} needs {len(needed)} arguments ({', '.join(needed)}); expected a function of "
            "a state, or one of a workload and a system"
        )

    def run(case: Case) -> Schedule:
        workload = case.workload
        schedule = policy(workload, case.system, **knobs)
        if not isinstance(schedule, Schedule):
            raise BrokenLawError(f"it returns {schedule!r}; expected a Schedule")
        if len(schedule.start_time) != len(case.jobs):
            raise BrokenLawError(
                f"it returns {len(schedule.start_time)} starts of {len(case.jobs)} jobs"
            )
        if not workload.jobs.equals(case.workload.jobs):
            raise BrokenLawError("it changes the workload's jobs in place; expected a copy")
        return schedule

    return run


def _error(name: str, law: str, case: Case, cause: Exception) -> PolicyError:
    """The error for a case that breaks a law."""
    case = LAWS[law].prepare(case)
    said = str(cause) if isinstance(cause, BrokenLawError) else f"{type(cause).__name__}: {cause}"
    message = (
        f"{name} breaks the law {law!r}: {LAWS[law].says}\n{said}\n\n"
        f"The smallest workload found that shows it:\n\n{as_python(case)}"
    )
    error = PolicyError(message, law, case.workload, case.system)
    error.__cause__ = cause
    return error
