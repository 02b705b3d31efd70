"""Policies as a comparison takes them: names, names with knobs, functions."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from cosimlib import checks as check
from cosimlib.audit import audit
from cosimlib.batch.simulation import function_name, simulate
from cosimlib.policies import BUILT_IN, SIMULATORS
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import Workload

EXPECTED = (
    "names of policies, such as 'EASY', pairs of a name and knobs, such as ('EASY', {'order': "
    "'wfp'}), functions of a workload and a system, or functions of a State"
)


class Contestant(NamedTuple):
    """A policy to be compared.

    Parameters
    ----------
    label : str
        What tables and figures call it.
    simulate : function of a workload and a system
    trusted : bool
        Whether it is one of this package's, so that one audit is enough.
    """

    label: str
    simulate: Callable[..., Schedule]
    trusted: bool

    def run(self, workload: Workload, system: System, *, audited: bool) -> Schedule:
        """The schedule, audited on request and always where the policy is one's own."""
        try:
            schedule = self.simulate(workload, system)
        except Exception as error:
            error.add_note(f"raised by the policy {self.label!r} on {workload.name}")
            raise
        check.instance(f"the result of {self.label!r}", schedule, Schedule)
        return audit(schedule) if audited or not self.trusted else schedule


def contestants(policies: Any) -> list[Contestant]:
    """Policies by distinct labels, in the order given.

    Raises
    ------
    ValueError
        For what is no policy, and where two have the same label.
    """
    plural = isinstance(policies, Iterable) and not isinstance(policies, str)
    check.that("policies", policies, plural, f"a list or dict of {EXPECTED}")
    if isinstance(policies, Mapping):
        found = [_contestant(policy)._replace(label=str(name)) for name, policy in policies.items()]
    else:
        found = [_contestant(policy) for policy in policies]
    check.that("policies", policies, bool(found), "at least one")
    labels = [each.label for each in found]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    check.that("policies", twice, twice is None, "every policy once, or a dict of them by names")
    return found


def _contestant(policy: Any) -> Contestant:
    if isinstance(policy, str):
        check.choice("policy", policy, SIMULATORS)
        simulator = SIMULATORS[policy]
        return Contestant(policy, simulator, simulator is BUILT_IN.get(policy))
    if isinstance(policy, tuple) and len(policy) == 2 and isinstance(policy[1], Mapping):
        whose, knobs = policy[0], dict(policy[1])
        settings = ", ".join(f"{name}={value}" for name, value in knobs.items())
        if callable(whose):
            inner = _contestant(partial(whose, **knobs))
        else:
            inner = _contestant(whose)
            inner = inner._replace(simulate=partial(inner.simulate, **knobs))
        return inner._replace(label=f"{inner.label} ({settings})" if settings else inner.label)
    check.that("policy", policy, callable(policy), EXPECTED)
    label = function_name(policy)
    if _is_decision(policy):
        return Contestant(label, partial(_decided, policy=policy, name=label), True)
    check.that("policy", policy, _takes(policy, 2), EXPECTED)
    return Contestant(label, policy, False)


def _decided(workload: Workload, system: System, *, policy: Callable, name: str) -> Schedule:
    """The schedule under a function of the state."""
    return simulate(workload, system, policy, name=name)


def _is_decision(function: Callable) -> bool:
    """Whether a function needs one argument, a state; others, such as knobs, have defaults."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    by_place = [each for each in parameters if each.kind in positional]
    needed = [each for each in by_place if each.default is each.empty]
    return len(needed) == 1 and not any(each.name == "system" for each in by_place[1:])


def _takes(function: Callable, number: int) -> bool:
    """Whether a function can be called with so many arguments; yes where it does not tell."""
    try:
        inspect.signature(function).bind(*[None] * number)
    except TypeError:
        return False
    except ValueError:
        return True
    return True
