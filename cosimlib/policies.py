"""Register of batch policies: simulators by name; functions of yours as simulators."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, overload

from cosimlib import checks as check
from cosimlib.batch import (
    simulate_conservative,
    simulate_easy,
    simulate_fcfs,
    simulate_first_fit,
)
from cosimlib.batch.simulation import function_name, simulate
from cosimlib.filling import FILLING_POLICIES, simulate_filling
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import Workload

Simulator = Callable[..., Schedule]
Own = TypeVar("Own", bound=Simulator)

BUILT_IN: dict[str, Simulator] = {
    "FCFS": simulate_fcfs,
    "EASY": simulate_easy,
    "EASY (per event)": partial(simulate_easy, decide="per_event"),
    "EASY (sjbf)": partial(simulate_easy, order="sjbf"),
    "EASY (wfp)": partial(simulate_easy, order="wfp"),
    "EASY (no extra nodes)": partial(simulate_easy, extra_nodes=False),
    "first fit": simulate_first_fit,
    "first fit (per event)": partial(simulate_first_fit, decide="per_event"),
    "conservative": simulate_conservative,
    "conservative (replanned)": partial(simulate_conservative, reservations="replanned"),
    **{name: partial(simulate_filling, **knobs) for name, knobs in FILLING_POLICIES.items()},
}
"""Policies of this package, of one machine, by the names that tables and figures use.

All take any workload with requested times and any system of one partition. Those that fill act at
the beginnings of minutes only. `simulate_coscheduling` and `simulate_elastic` have no entry: they
take one letter or policy per partition, and the names of their schedules say which (``"HY"``)."""

A_POLICY = (
    "the name of a policy, such as 'EASY', a function of a workload and a system, or a function of "
    "a State"
)

SIMULATORS: dict[str, Callable[..., Any]] = dict(BUILT_IN)
"""The register: all policies by name, those of users included."""


@overload
def register(name: str, simulator: Own, *, replace: bool = False) -> Own: ...


@overload
def register(name: str, *, replace: bool = False) -> Callable[[Own], Own]: ...


def register(name: str, simulator: Simulator | None = None, *, replace: bool = False) -> Any:
    """Add your own policy to explorers and figures, under a name.

    As a function, ``register("in turn", in_turn)``, or as a decorator::

        @register("in turn")
        def in_turn(workload, system):
            ...
            return Schedule.from_starts(workload, system, start_time, "in turn")

    Parameters
    ----------
    name : str
        Name in explorers. Give the schedule the same name, because tables and figures show it.
    simulator : function of a workload and a system, optional
        Returns a `Schedule`; may take other keyword arguments. If it takes `order`,
        `explore_batch` offers queue orders. A decision function becomes a simulator by
        ``lambda workload, system: simulate(workload, system, policy)``.
    replace : bool, default False
        Replace a policy of yours of the same name, for example when a cell runs again.

    Returns
    -------
    Simulator
        The function itself; without one, a decorator.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlib as cs
    >>> times = {"submit_time": [0, 1, 2], "run_time": [10, 10, 5], "requested_time": [10, 10, 8]}
    >>> workload = cs.Workload(pd.DataFrame(times | {"nodes": [3, 3, 1]}), "three jobs")
    >>> @cs.register("EASY (small first)", replace=True)
    ... def small_first(workload, system):
    ...     return cs.simulate_easy(workload, system, order="nodes")
    >>> from cosimlib.policies import SIMULATORS, unregister
    >>> SIMULATORS["EASY (small first)"](workload, cs.System.of(4)).start_time
    array([ 0., 10.,  2.])
    >>> unregister("EASY (small first)")
    """
    check.that("name", name, isinstance(name, str) and bool(name.strip()), "a text")
    free = name not in (BUILT_IN if replace else SIMULATORS)
    check.that("name", name, free, "a name that no policy has yet; replace=True replaces yours")
    if simulator is None:
        return partial(register, name, replace=replace)
    fine = callable(simulator) and _takes_two(simulator)
    check.that("simulator", simulator, fine, "a function of a workload and a system")
    SIMULATORS[name] = simulator
    return simulator


def unregister(name: str) -> None:
    """Remove a policy of your own from the register."""
    own = name in SIMULATORS and name not in BUILT_IN
    check.that("name", name, own, "a policy of your own that is registered")
    del SIMULATORS[name]


def simulator_of(
    policy: Any, /, *, columns: Sequence[str] = (), **knobs: Any
) -> tuple[str, Simulator]:
    """Name and simulator of a policy.

    Parameters
    ----------
    policy : str or function
        A registered name, a function of a workload and a system, or a decision function, that is of
        a `State`; arguments with defaults are knobs.
    columns : sequence of str, optional
        Columns that a decision function reads.
    **knobs
        Keyword arguments of the function.
    """
    if isinstance(policy, str):
        check.choice("policy", policy, SIMULATORS)
        return policy, _with_knobs(policy, SIMULATORS[policy], knobs)
    check.that("policy", policy, callable(policy), A_POLICY)
    name = function_name(policy)
    function = _with_knobs(name, policy, knobs)
    if _is_decision(function):
        return name, partial(decided, policy=function, name=name, columns=columns)
    check.that("policy", policy, _takes_two(function), A_POLICY)
    return name, function


def with_knobs_of(policy: Any) -> tuple[Any, Mapping[str, Any]]:
    """A policy and its knobs: of a pair of both, or the policy without knobs."""
    is_pair = isinstance(policy, tuple) and len(policy) == 2 and isinstance(policy[1], Mapping)
    return policy if is_pair else (policy, {})


def _with_knobs(name: str, function: Callable, knobs: dict[str, Any]) -> Callable:
    """A function with keyword arguments, which it must take; any where it does not tell."""
    if not knobs:
        return function
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return partial(function, **knobs)
    by_name = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    known = [p.name for p in parameters[1:] if p.kind in by_name and p.name != "system"]
    takes_any = any(each.kind == each.VAR_KEYWORD for each in parameters)
    expected = f"one of {', '.join(map(repr, known))}" if known else "none, as it takes none"
    for knob in knobs:
        check.that("argument", knob, takes_any or knob in known, expected, where=name)
    return partial(function, **knobs)


def decided(
    workload: Workload, system: System, *, policy: Callable, name: str, columns: Sequence[str]
) -> Schedule:
    """The schedule under a function of the state."""
    return simulate(workload, system, policy, name=name, columns=columns)


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


def _takes_two(function: Callable) -> bool:
    """Whether a function can be called with two arguments; yes where it does not tell."""
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        return False
    except ValueError:
        return True
    return True
