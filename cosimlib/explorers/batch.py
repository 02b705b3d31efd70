"""Explorer of batch policies: Gantt chart, utilization and queue of one machine.

Every control makes the workload anew, or takes days of the one given, and simulates it again, which
takes milliseconds for some hundreds of jobs. Registered policies are offered beside the built-in
ones. A button compares the policy shown with the built-in ones, with intervals over logs drawn
anew.
"""

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go

from cosimlib import checks as check
from cosimlib import synthetic
from cosimlib.audit import audit, check_capacity, check_columns, check_times
from cosimlib.batch import ORDERS
from cosimlib.comparison import Comparison, compare_where_possible
from cosimlib.display import or_unknown, percent
from cosimlib.explorers.intervals import IntervalTable
from cosimlib.explorers.knobs import Knob, Settings
from cosimlib.explorers.logs import mean_wait, partly_estimated
from cosimlib.explorers.panel import Panel, says_compiling
from cosimlib.explorers.timeline import LOAD_STEP, Period, Timeline
from cosimlib.figures.gantt import plot_batch
from cosimlib.metrics import offered_load, overtaking, summarize
from cosimlib.policies import BUILT_IN, SIMULATORS
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import HOUR
from cosimlib.workload import Workload

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
A_LOAD = partial(check.number, above=0)
A_FACTOR = partial(check.number, least=1)


@says_compiling()
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
        How many are made, or taken in a row where the days chosen are busy.
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
        Its `controls` are `policy`, `order`, `load`, `seed`, `estimates` and `factor`; of a source
        of several days also `period`, the first and the last one.

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
    timeline = None if source is None else Timeline(source, system, jobs, partly_estimated)
    if timeline is None:
        machine, own, why = system or System.of(NODES), lambda now: LOAD, lambda now: ""
    else:
        machine, own, why = timeline.log.system, timeline.load, timeline.no_load
    first = timeline.settings if timeline else {}
    given = own(first) if load is None or why(first) else load
    A_LOAD("load", given)
    known = timeline is not None and timeline.has_estimates
    names = [name for name in ESTIMATES if known or name != "given"]
    knobs = [
        Knob("policy", policy, "policy", options=_policies()),
        Knob("order", order, "queue order", options=ORDERS, off_when=_no_order),
        Knob("load", given, "offered load", step=LOAD_STEP, form=".2f",
             low=lambda now: min(0.1, given, own(now)), high=lambda now: max(1.5, given, own(now)),
             off_when=why),
        Knob("seed", seed, "seed", high=50, whole=True),
        Knob("estimates", estimates or names[0], "estimates",
             options=[(ESTIMATES[name], name) for name in names]),
        Knob("factor", factor, "factor", low=1, high=20, step=0.5, form=".1f", check=A_FACTOR,
             off_when=_no_factor),
    ]  # fmt: skip
    made = lru_cache(maxsize=8)(partial(_make, timeline, machine, jobs))
    beneath = IntervalTable(lambda: _compared(made, machine, **panel.settings))
    panel = Panel(knobs, partial(_draw, made, machine), timeline=timeline, below=[beneath])
    beneath.clear_with(panel.controls.values())
    return panel


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


def _no_order(now: Settings) -> str:
    return "" if _takes_order(now["policy"]) else f"{now['policy']} takes no order"


def _no_factor(now: Settings) -> str:
    return "" if now["estimates"] == "factor" else "estimates are not by a factor"


def _make(
    timeline: Timeline | None, machine: System, jobs: int, load: float, seed: int, estimates: str,
    factor: float, period: Period | None = None,
) -> Workload:  # fmt: skip
    """The jobs that the controls ask for; a log's own where the load is its own."""
    if timeline is None:
        workload = synthetic.lublin(jobs, nodes=machine.total_nodes, load=load, seed=seed)
    else:
        workload = timeline.loaded(load, period)
    if estimates == "Tsafrir":
        return synthetic.with_estimates(workload, seed=seed)
    if estimates == "given":
        return workload
    return synthetic.with_scaled_estimates(workload, factor if estimates == "factor" else 1.0)


def _compared(
    made: Callable[..., Workload], machine: System, *, policy: str, order: str, **settings: Any
) -> tuple[Comparison | None, str]:
    """The policy and order that are shown, compared with all built-in policies."""
    ordered = order != "submit" and _takes_order(policy)
    first = {f"{policy} ({order})": (policy, {"order": order})} if ordered else {policy: policy}
    policies = {**first, **{name: name for name in OFFERED if name not in first}}
    return compare_where_possible(
        made(**settings), policies, system=machine, replicates=REPLICATES, seed=settings["seed"]
    )


def _draw(
    made: Callable[..., Workload], machine: System, *, policy: str, order: str, **settings: Any
) -> tuple[go.Figure, str]:
    """Figure and text for the controls' values."""
    knobs = {"order": order} if _takes_order(policy) else {}
    schedule = SIMULATORS[policy](made(**settings), machine, **knobs)
    check.instance(f"the result of {policy!r}", schedule, Schedule)
    if SIMULATORS[policy] is not BUILT_IN.get(policy):
        _audit_started(schedule)
    return plot_batch(schedule, title=_title(schedule)), _text(schedule)


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
    return f"{schedule.policy}, offered load {load}: {mean_wait(schedule.jobs['wait_time'])}"


def _text(schedule: Schedule) -> str:
    """The line under the figure."""
    row, never = summarize([schedule]).iloc[0], int(np.isnan(schedule.start_time).sum())
    facts = (
        mean_wait(schedule.jobs["wait_time"], why=True),
        f"mean bounded slowdown {or_unknown(row['bounded_slowdown'], ',.1f', ' (τ = 10 s)')}",
        f"utilization {percent(row['utilization'], 1)} from first submission to last end",
        f"makespan {or_unknown(row['makespan'] / HOUR, ',.1f', ' h')}",
        f"{int(overtaking(schedule).sum()):,} of {int(row['jobs']):,} jobs overtook one submitted "
        "before them",
        *([f"{never:,} never start"] if never else []),
    )
    return f"{escape(schedule.workload.name)}: {' · '.join(facts)}"
