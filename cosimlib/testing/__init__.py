"""Property-based tests of a scheduling policy of your own, on small random workloads.

`check_policy` runs the laws that the policies of this package obey. Where one is broken it looks
for a smaller workload that still breaks it, and prints that as Python.
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
    """Check that a policy of your own obeys the laws of scheduling, or show where it does not.

    Parameters
    ----------
    policy : function or str
        A decision for `simulate`, ``policy(state)``, a whole simulator,
        ``policy(workload, system, **knobs) -> Schedule``, or the name of a registered one. Its
        schedule must be of the jobs and the system that it was given; only runs may be cut at the
        requested time.
    laws : names, optional
        Which of `LAWS` to check; all by default. A policy that knows a constant in seconds may
        break ``scale``, one that decides at full minutes only ``alone``, and rightly so.
    trials : int, default 50
        Random workloads per law.
    seed : int, default 0
        Of the random workloads.
    columns : sequence of str, optional
        Further columns that the policy reads: random workloads have whole numbers there, and
        `simulate` shows them to a decision.
    **knobs
        Handed to a simulator.

    Returns
    -------
    pd.DataFrame
        The laws that were checked: `law`, `says`, `workloads`.

    Raises
    ------
    PolicyError
        For the first broken law, with the smallest workload found that breaks it.
    TypeError
        If the policy is neither a function of a state nor one of a workload and a system.
    ValueError
        For an unknown law, or the name of no registered policy.
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
