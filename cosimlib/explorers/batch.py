"""Explorer of batch policies: Gantt chart, utilization and queue of one machine.

Every control makes the workload anew, or takes the one given, and simulates it again, which takes
milliseconds for some hundreds of jobs. Registered policies are offered beside the built-in ones. A
button compares the policy shown with the built-in ones, with intervals over logs drawn anew.
"""

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go
from ipywidgets import Dropdown, FloatSlider, IntSlider, Widget

from cosimlib import checks as check
from cosimlib import synthetic
from cosimlib.audit import audit, check_capacity, check_columns, check_times
from cosimlib.batch import ORDERS
from cosimlib.comparison import Comparison, compare_where_possible
from cosimlib.compiled import BATCH, CONSERVATIVE
from cosimlib.display import or_unknown, percent
from cosimlib.explorers.intervals import IntervalTable
from cosimlib.explorers.logs import busy, fitting, partly_estimated
from cosimlib.explorers.meanwhile import answered_meanwhile, begin, simulator
from cosimlib.explorers.panel import Panel, disable
from cosimlib.figures.batch import plot_batch
from cosimlib.metrics import offered_load, overtaking, summarize
from cosimlib.policies import BUILT_IN, SIMULATORS
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import HOUR
from cosimlib.workload import Workload

Make = Callable[[float, int], Workload]

OFFERED = ("FCFS", "first fit", "EASY", "conservative", "conservative (replanned)")
"""Built-in policies; those that users register are offered too."""
ESTIMATES = {
    "given": "as the users gave them",
    "exact": "exact",
    "factor": "factor × run time",
    "Tsafrir": "round values (Tsafrir et al.)",
}
NODES, LOAD = 64, 0.9
REPLICATES = 39
"""Logs drawn anew by the button: the fewest that have 95 % intervals."""


def explore_batch(
    source: Workload | Schedule | None = None,
    system: System | None = None,
    *,
    jobs: int = 300,
    policy: str = "EASY",
    order: str = "submit",
    load: float | None = None,
    estimates: str | None = None,
    factor: float = 5.0,
    seed: int = 0,
) -> Panel:
    """Explore a batch policy: its knobs, Gantt chart, utilization, queue and headline numbers.

    Parameters
    ----------
    source : Workload or Schedule, optional
        By default `synthetic.lublin` on 64 nodes. Of a schedule the workload.
    system : System, optional
        Of one partition; by default the source's own machine, or one that holds its jobs.
    jobs : int, default 300
        How many are made, or taken in a row where the source is busy.
    policy : str, default "EASY"
        One of `OFFERED`, or the name of a policy of your own (see `cosimlib.register`).
    order : str, default "submit"
        One of `batch.ORDERS`, for policies that take an order.
    load : float, optional
        Offered load: by default .9 of made jobs, and of a source its own. At its own load a
        source is simulated as it is, else the times between submissions are scaled.
    estimates : str, optional
        One of `ESTIMATES`: by default as given where every job of a source has one, else exact.
    factor : float, default 5.0
        What run times are multiplied by where `estimates` is ``"factor"``.
    seed : int, default 0
        Of made jobs, and of Tsafrir's estimates.

    Returns
    -------
    Panel
        Its `controls` are `policy`, `order`, `load`, `estimates`, `factor` and `seed`.

    Raises
    ------
    TypeError
        Where `source` is no workload or schedule.
    ValueError
        For a source without jobs that fit, and for a setting that is out of range.
    InfeasibleScheduleError
        Where the schedule of a policy of your own could not have happened; jobs that never start
        are counted under the figure.

    Examples
    --------
    >>> import cosimlib as cs
    >>> panel = cs.explore_batch(jobs=40)
    >>> panel.choose(policy="FCFS")
    >>> panel.settings["policy"]
    'FCFS'
    """
    check.whole("jobs", jobs, 1)
    if source is None:
        system = System.of(NODES) if system is None else system
        make: Make = partial(_made, jobs, system.total_nodes)
        own, known, why = LOAD, False, ""
        notes: tuple[str, ...] = ()
    else:
        source, system, notes = partly_estimated(busy(fitting(source, system), jobs))
        own, known = offered_load(source, system), _all_estimated(source)
        why = "" if 0 < own < np.inf else "the jobs offer no load, or all are submitted at once"
        own = 1.0 if why else own
        make = partial(_scaled, source, system.total_nodes, own)
    settings = {
        "policy": policy,
        "order": order,
        "load": own if why or load is None else load,
        "seed": seed,
        "estimates": estimates or ("given" if known else "exact"),
        "factor": factor,
    }
    choices = {"policy": _policies(), "order": list(ORDERS), "estimates": _estimates(known)}
    _check(settings, choices)
    begin(BATCH, CONSERVATIVE)
    controls = _controls(settings, choices)
    disable(controls["load"], why)
    # Before the panel's own observers: a control without effect is grey before anything is drawn.
    for knob in ("policy", "estimates"):
        controls[knob].observe(partial(_switch, controls), names="value")
    _switch(controls)
    made = _maker(make)
    ask = partial(_compared, controls, made, system)
    beneath = IntervalTable(ask, controls.values())
    return Panel(controls, _drawer(made, system), hint=" ".join(notes), below=[beneath])


def _check(settings: dict[str, Any], choices: dict[str, list[str]]) -> None:
    """Raise for the first setting that its control cannot take."""
    for knob, options in choices.items():
        check.choice(knob, settings[knob], options)
    check.number("load", settings["load"], above=0)
    check.number("factor", settings["factor"], least=1)
    check.seed(settings["seed"])


def _policies() -> list[str]:
    """Names of the policies that can be explored now."""
    own = [name for name, simulate in SIMULATORS.items() if simulate is not BUILT_IN.get(name)]
    return list(dict.fromkeys([*OFFERED, *own]))


def _takes_order(policy: str) -> bool:
    """Whether a policy has the knob `order`."""
    try:
        knobs = inspect.signature(SIMULATORS[policy]).parameters.values()
    except ValueError:
        return False
    return any(knob.name == "order" or knob.kind is knob.VAR_KEYWORD for knob in knobs)


def _made(jobs: int, nodes: int, load: float, seed: int) -> Workload:
    """Jobs of Lublin's and Feitelson's model."""
    return synthetic.lublin(jobs, nodes=nodes, load=load, seed=seed)


def _scaled(source: Workload, nodes: int, own: float, load: float, seed: int) -> Workload:
    """The source itself at its own load, else with the times between submissions scaled."""
    return source if load == own else synthetic.with_offered_load(source, nodes, load=load)


def _all_estimated(source: Workload) -> bool:
    return bool(source.jobs["requested_time"].notna().all())


def _estimates(known: bool) -> list[str]:
    """The estimates that can be chosen."""
    return [name for name in ESTIMATES if known or name != "given"]


def _controls(settings: dict[str, Any], choices: dict[str, list[str]]) -> dict[str, Widget]:
    """One widget per setting."""
    load, factor, seed = settings["load"], settings["factor"], int(settings["seed"])
    return {
        "policy": Dropdown(
            options=choices["policy"], value=settings["policy"], description="policy"
        ),
        "order": Dropdown(
            options=choices["order"], value=settings["order"], description="queue order"
        ),
        "load": FloatSlider(
            load, min=min(0.1, load), max=max(1.5, load), step=0.05,
            description="offered load",
        ),
        "seed": IntSlider(seed, 0, max(50, seed), description="seed"),
        "estimates": Dropdown(
            options=[(ESTIMATES[name], name) for name in choices["estimates"]],
            value=settings["estimates"], description="estimates",
        ),
        "factor": FloatSlider(
            factor, min=1.0, max=max(20.0, factor), step=0.5, readout_format=".1f",
            description="factor",
        ),
    }  # fmt: skip


def _switch(controls: dict[str, Widget], change: object = None) -> None:
    """Disable what has no effect: a factor without estimates by it, an order for no queue."""
    by_factor = controls["estimates"].value == "factor"
    disable(controls["factor"], "" if by_factor else "estimates are not by a factor")
    policy = controls["policy"].value
    disable(controls["order"], "" if _takes_order(policy) else f"{policy} takes no order")


def _maker(make: Make) -> Callable[[float, int, str, float], Workload]:
    """The function from load, seed, estimates and factor to the jobs that they ask for."""

    @lru_cache(maxsize=8)
    def made(load: float, seed: int, estimates: str, factor: float) -> Workload:
        workload = make(load, seed)
        if estimates == "Tsafrir":
            return synthetic.with_estimates(workload, seed=seed)
        if estimates == "given":
            return workload
        return synthetic.with_scaled_estimates(workload, factor if estimates == "factor" else 1.0)

    return made


def _compared(
    controls: dict[str, Widget], made: Callable[..., Workload], system: System
) -> tuple[Comparison | None, str]:
    """The policy and order that are shown, compared with all built-in policies."""
    shown = {name: control.value for name, control in controls.items()}
    policy, order = shown.pop("policy"), shown.pop("order")
    ordered = order != "submit" and _takes_order(policy)
    first = {f"{policy} ({order})": (policy, {"order": order})} if ordered else {policy: policy}
    policies = {**first, **{name: name for name in OFFERED if name not in first}}
    ours = all(SIMULATORS[name] is BUILT_IN.get(name) for name in {policy, *OFFERED})
    in_turn = answered_meanwhile(compare_where_possible, CONSERVATIVE)
    compare = in_turn if ours else compare_where_possible
    return compare(
        made(**shown), policies, system=system, replicates=REPLICATES, seed=int(shown["seed"])
    )


def _drawer(made: Callable[..., Workload], system: System) -> Callable[..., tuple[go.Figure, str]]:
    """The function that the panel calls with the values of its controls."""

    def draw(
        *, policy: str, order: str, load: float, seed: int, estimates: str, factor: float
    ) -> tuple[go.Figure, str]:
        workload = made(load, seed, estimates, factor)
        knobs = {"order": order} if _takes_order(policy) else {}
        schedule = simulator(policy)(workload, system, **knobs)
        check.instance(f"the result of {policy!r}", schedule, Schedule)
        if SIMULATORS[policy] is not BUILT_IN.get(policy):
            _audit_started(schedule)
        return plot_batch(schedule, title=_title(schedule)), _text(schedule)

    return draw


def _audit_started(schedule: Schedule) -> None:
    """Raise where a schedule could not have happened, whether or not all of its jobs start."""
    check_columns(schedule)
    never = np.isnan(schedule.start_time)
    if not never.any() or type(schedule) is not Schedule:
        audit(schedule)
        return
    jobs = schedule.workload.jobs
    start_time = np.where(never, jobs["submit_time"], schedule.start_time)
    end_time = np.where(never, start_time + jobs["run_time"], schedule.end_time)
    check_times(replace(schedule, start_time=start_time, end_time=end_time))
    check_capacity(schedule)


def _title(schedule: Schedule) -> str:
    """Title of the figure: policy, offered load, mean wait."""
    load = or_unknown(offered_load(schedule.workload, schedule.system), ".2f")
    waited = or_unknown(summarize([schedule])["wait_time"].iloc[0] / HOUR, ",.2f", " h")
    return f"{schedule.policy}, offered load {load}: mean wait {waited}"


def _text(schedule: Schedule) -> str:
    """The line under the figure."""
    row, never = summarize([schedule]).iloc[0], int(np.isnan(schedule.start_time).sum())
    facts = (
        f"mean wait {or_unknown(row['wait_time'] / HOUR, ',.2f', ' h')}",
        f"mean bounded slowdown {or_unknown(row['bounded_slowdown'], ',.1f', ' (τ = 10 s)')}",
        f"utilization {percent(row['utilization'], 1)} from first submission to last end",
        f"makespan {or_unknown(row['makespan'] / HOUR, ',.1f', ' h')}",
        f"{int(overtaking(schedule).sum()):,} of {int(row['jobs']):,} jobs overtook one submitted "
        "before them",
        *([f"{never:,} never start"] if never else []),
    )
    return f"{escape(schedule.workload.name)}: {' · '.join(facts)}"
