"""Register of batch policies: simulators by name."""

import inspect
import re
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, overload

from cosimlib import checks as check
from cosimlib.batch import (
    simulate_conservative,
    simulate_easy,
    simulate_fcfs,
    simulate_first_fit,
)
from cosimlib.filling import FILLING_POLICIES, simulate_filling
from cosimlib.palette import register_color, unregister_color
from cosimlib.schedule import Schedule

Simulator = Callable[..., Schedule]
F = TypeVar("F", bound=Simulator)

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

SIMULATORS: dict[str, Callable[..., Any]] = dict(BUILT_IN)
"""The register: all policies by name, those of users included."""


@overload
def register(name: str, simulator: F, *, color: str | None = None, replace: bool = False) -> F: ...


@overload
def register(
    name: str, simulator: None = None, *, color: str | None = None, replace: bool = False
) -> Callable[[F], F]: ...


def register(
    name: str,
    simulator: Simulator | None = None,
    *,
    color: str | None = None,
    replace: bool = False,
) -> Callable[..., Any]:
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
    color : str, optional
        Color of its lines, such as ``"#CC79A7"``. By default purple, yellow and wine red in turn,
        which no built-in policy uses; the fourth policy shares the color of the first.
    replace : bool, default False
        Replace a policy of the same name, for example when a cell runs again.

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
    free = replace or name not in SIMULATORS
    check.that("name", name, free, "a name that no policy has yet; replace=True takes it over")
    hexadecimal = isinstance(color, str) and re.fullmatch("#[0-9a-fA-F]{6}", color)
    check.that("color", color, bool(hexadecimal), "a color such as '#CC79A7'", none=True)
    if simulator is None:
        return partial(register, name, color=color, replace=replace)
    check.that("simulator", simulator, _is_simulator(simulator),
               "a function of a workload and a system")  # fmt: skip
    SIMULATORS[name] = simulator
    register_color(name, color)
    return simulator


def unregister(name: str) -> None:
    """Remove a policy from the register; a built-in policy of the same name comes back."""
    own = [known for known in SIMULATORS if SIMULATORS[known] is not BUILT_IN.get(known)]
    if not own:
        raise ValueError(
            f"name={name!r}: no policy of your own is registered; see cosimlib.register"
        )
    check.choice("name", name, own)
    unregister_color(name)
    if name in BUILT_IN:
        SIMULATORS[name] = BUILT_IN[name]
    else:
        del SIMULATORS[name]


def _is_simulator(simulator: object) -> bool:
    """Whether this can be called with a workload and a system."""
    if not callable(simulator):
        return False
    try:
        inspect.signature(simulator).bind(None, None)
        return True
    except TypeError:
        return False
    except ValueError:  # functions that tell no signature
        return True
