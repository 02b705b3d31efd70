"""Explorer of on-demand bursts on a batch machine: who makes way, and what that costs.

Every control but the day simulates the whole log again, which takes some milliseconds per thousand
jobs; the day chooses what of it is shown. Bursts are drawn anew by rate, size, length, notice and
seed, or are the user's own.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from ipywidgets import (
    Dropdown,
    FloatLogSlider,
    FloatSlider,
    IntSlider,
    SelectionSlider,
    Widget,
)

from cosimlib import checks as check
from cosimlib import synthetic
from cosimlib.compiled import BURSTS
from cosimlib.display import count, or_unknown
from cosimlib.explorers.logs import busy, estimated, fitting, with_memory
from cosimlib.explorers.meanwhile import answered_meanwhile
from cosimlib.explorers.panel import Draw, Panel, disable
from cosimlib.figures.ondemand import plot_day
from cosimlib.ondemand import (
    POLICIES,
    OnDemandSchedule,
    draw_bursts,
    ledger,
    measure,
    simulate_ondemand,
)
from cosimlib.ondemand.simulation import DEADLINES, NOTICES
from cosimlib.schedule import Schedule
from cosimlib.synthetic.bursts import NOTICES as KINDS
from cosimlib.system import System
from cosimlib.units import DAY, HOUR, MINUTE
from cosimlib.workload import Workload

Simulate = Callable[..., OnDemandSchedule]

RULES = tuple(rule for rule in DEADLINES if rule != "weighted")
PLANNED = ("greedy", "dynamic")
"""Policies that choose among deadlines."""
NO_EVICTIONS = ("wait", "reserve", "share")
RATES = (0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 18.0, 24.0)
START_UPS = (0.0, 30.0, 60.0, 300.0, 900.0)
NONE = "none"
MOST_DAYS = 10_000

CLICK = "Click on the delay of a burst to see its day."
OWN_BURSTS = "these bursts were given"


def explore_ondemand(
    source: Workload | Schedule | None = None,
    system: System | None = None,
    bursts: Workload | None = None,
    *,
    jobs: int = 600,
    policy: str = "dynamic",
    deadline: str = "least_loss",
    rate: float = 4.0,
    size: float = 0.25,
    run_time: float = HOUR,
    longest_delay: float = 15 * MINUTE,
    announced: str = "none",
    notice: str = "prepare",
    reserved: float | None = None,
    bandwidth: float | None = None,
    interval: float = HOUR,
    start_up: float | None = None,
    day: int | None = None,
    seed: int = 0,
) -> Panel:
    """Explorer of on-demand bursts: Gantt chart with evictions, ledger of node-hours, delays.

    Parameters
    ----------
    source : Workload or Schedule, optional
        The batch jobs, by default `synthetic.theta`. Requested times that it lacks are run times.
        Of a schedule the workload.
    system : System, optional
        Of one partition; by default the source's own machine, or one that holds its jobs. Memory
        and bandwidths that are unknown are Theta's.
    bursts : Workload, optional
        Your own, on the clock of the source, as for `simulate_ondemand`; by default drawn.
    jobs : int, default 600
        How many are made, or taken in a row where the source is busy.
    policy : str, default "dynamic"
        One of `ondemand.POLICIES`.
    deadline : {"least_loss", "earliest"}
        Which plan `greedy` and `dynamic` take.
    rate : float, default 4.0
        Bursts per day, from 0.
    size : float, default 0.25
        Part of the machine's nodes that a burst wants.
    run_time, longest_delay : float, default 3600.0, 900.0
        Of a burst, seconds.
    announced : {"none", "accurate", "early", "late"}
        The kind of notice that is given 15 to 30 minutes before a burst.
    notice : str, default "prepare"
        What the scheduler does with it, as for `simulate_ondemand`.
    reserved : float, optional
        Part of the machine's nodes kept for bursts, under `reserve`; by default `size`.
    bandwidth : float, optional
        Of the file system, GB/s; by default the system's, or Theta's.
    interval : float, default 3600.0
        Seconds from one application checkpoint to the next.
    start_up : float, optional
        Seconds that filler containers on idle nodes take to start; by default there are none.
    day : int, optional
        From 1; by default the one with most evictions.
    seed : int, default 0
        Of bursts, of memory drawn per job, and of made jobs.

    Returns
    -------
    Panel
        Its `controls` are `policy`, `deadline`, `rate`, `size` (%), `run_time` (min),
        `longest_delay` (min), `announced`, `notice`, `reserved` (%), `bandwidth` (GB/s), `interval`
        (min), `start_up` (s), `seed` and `day`.

    Raises
    ------
    TypeError
        Where `source` is no workload or schedule, or `bursts` no workload.
    ValueError
        For a source without jobs that fit, and for a setting that is out of range.
    InvalidWorkloadError
        Where a burst is wider than the system.

    Examples
    --------
    >>> import cosimlib as cs
    >>> panel = cs.explore_ondemand(jobs=60, policy="kill")
    >>> panel.settings["policy"]
    'kill'
    """
    check.whole("jobs", jobs, 1)
    if bursts is not None:
        check.instance("bursts", bursts, Workload)
    workload, machine, hints = _begin(source, system, jobs, seed)
    own = machine.aggregate_bandwidth
    settings: dict[str, Any] = {
        "policy": policy, "deadline": deadline, "rate": rate, "size": 100.0 * size,
        "run_time": run_time / MINUTE, "longest_delay": longest_delay / MINUTE,
        "announced": announced, "notice": notice,
        "reserved": 100.0 * (size if reserved is None else reserved),
        "bandwidth": own if bandwidth is None else bandwidth, "interval": interval / MINUTE,
        "start_up": NONE if start_up is None else start_up, "seed": seed,
    }  # fmt: skip
    _check(settings)
    submit = workload.jobs["submit_time"]
    begin = np.floor(submit.min() / HOUR) * HOUR
    days = int(min((submit.max() - begin) // DAY + 1, MOST_DAYS))
    simulate = answered_meanwhile(_simulate, BURSTS)
    simulated = lru_cache(maxsize=16)(partial(simulate, workload, machine, bursts))
    if day is None:
        day = _busiest(simulated(**settings), begin, days)
    check.whole("day", day, 1, days)
    shown = _day_slider(day, days, begin, workload.began)
    controls = _controls(settings, shown, bursts is not None)
    for knob in ("policy", "announced", "rate"):
        controls[knob].observe(partial(_switch, controls, bursts), names="value")
    _switch(controls, bursts)
    panel = Panel(controls, _drawer(simulated, begin), hint=" ".join([CLICK, *hints]))
    for trace in panel.figure.data[-3:-1]:
        trace.on_click(partial(_choose, panel, float(submit.min()), begin, days))
    return panel


def _begin(
    source: Workload | Schedule | None, system: System | None, jobs: int, seed: int
) -> tuple[Workload, System, list[str]]:
    """The batch jobs, their machine, and what was supposed of both."""
    if source is None:
        check.seed(seed)
        source = synthetic.theta(jobs, seed=seed)
    workload, machine, notes = estimated(busy(fitting(source, system), jobs))
    machine, note = with_memory(machine)
    return workload, machine, [*notes, note]


def _check(settings: dict[str, Any]) -> None:
    """Raise for the first setting that its control cannot take."""
    check.choice("policy", settings["policy"], POLICIES)
    check.choice("deadline", settings["deadline"], RULES)
    check.choice("announced", settings["announced"], KINDS)
    check.choice("notice", settings["notice"], NOTICES)
    check.number("rate", settings["rate"], least=0, most=1000, kind="bursts per day,")
    for part in ("size", "reserved"):
        value = settings[part] / 100
        check.number(part, value, above=0, most=1, kind="a part of the machine,")
    for minutes in ("run_time", "interval"):
        check.seconds(minutes, settings[minutes] * MINUTE, above=0)
    check.seconds("longest_delay", settings["longest_delay"] * MINUTE)
    check.number("bandwidth", settings["bandwidth"], above=0, kind="GB/s,")
    if settings["start_up"] != NONE:
        check.seconds("start_up", settings["start_up"])
    check.seed(settings["seed"])


def _day_slider(day: int, days: int, begin: float, began: pd.Timestamp | None) -> Widget:
    """A slider of days, by their dates where the log tells when it began."""
    if began is None:
        slider = IntSlider(day, 1, days, description="day shown")
    else:
        # A slider has no room for the zone, which the axis names.
        first = began + pd.Timedelta(round(begin), "s")
        dates = [f"{first + pd.Timedelta(each, 'D'):%Y-%m-%d %H:%M}" for each in range(days)]
        slider = SelectionSlider(
            options=list(zip(dates, range(1, days + 1), strict=True)), value=day,
            description="day shown",
        )  # fmt: skip
    disable(slider, "the jobs are of one day" if days == 1 else "")
    return slider


def _controls(settings: dict[str, Any], shown: Widget, given: bool) -> dict[str, Widget]:
    """One widget per setting; those of drawn bursts are disabled where bursts are given."""
    rate, seed = float(settings["rate"]), int(settings["seed"])
    rates = [(f"{each:g}", each) for each in sorted({0.0, *RATES, rate})]

    def choice(name: str, options: Any, description: str) -> Dropdown:
        return Dropdown(options=list(options), value=settings[name], description=description)

    def slider(name: str, low: float, high: float, step: float, description: str) -> FloatSlider:
        value = float(settings[name])
        return FloatSlider(
            value, min=min(low, value), max=max(high, value), step=step, readout_format=".0f",
            description=description,
        )  # fmt: skip

    controls: dict[str, Widget] = {
        "policy": choice("policy", POLICIES, "policy"),
        "deadline": choice(
            "deadline", [(rule.replace("_", " "), rule) for rule in RULES], "which plan"
        ),
        "rate": SelectionSlider(options=rates, value=rate, description="bursts per day"),
        "size": slider("size", 1, 100, 1, "nodes of a burst (%)"),
        "run_time": slider("run_time", 10, 480, 10, "a burst runs (min)"),
        "longest_delay": slider("longest_delay", 0, 60, 1, "longest delay (min)"),
        "announced": choice("announced", KINDS, "notice of a burst"),
        "notice": choice("notice", NOTICES, "on a notice"),
        "reserved": slider("reserved", 1, 100, 1, "nodes reserved (%)"),
        "bandwidth": _log_slider(float(settings["bandwidth"])),
        "interval": slider("interval", 5, 480, 5, "checkpoint every (min)"),
        "start_up": SelectionSlider(
            options=_start_ups(settings["start_up"]),
            value=settings["start_up"],
            description="fillers start in (s)",
        ),
        "seed": IntSlider(seed, 0, max(50, seed), description="seed"),
        "day": shown,
    }
    if given:
        for name in ("rate", "size", "run_time", "longest_delay", "announced"):
            disable(controls[name], OWN_BURSTS)
    return controls


def _start_ups(given: float | str) -> list[tuple[str, float | str]]:
    """No fillers, or seconds that one takes to start."""
    known = sorted({*START_UPS, *([] if isinstance(given, str) else [float(given)])})
    return [("no fillers", NONE), *((f"{seconds:g}", seconds) for seconds in known)]


def _log_slider(bandwidth: float) -> FloatLogSlider:
    middle = float(np.log10(bandwidth))
    return FloatLogSlider(
        bandwidth, min=middle - 1.5, max=middle + 1, step=0.05, readout_format=".0f",
        description="file system (GB/s)",
    )  # fmt: skip


def _switch(controls: dict[str, Widget], bursts: Workload | None, change: object = None) -> None:
    """Disable what has no effect under the policy chosen, without notices or bursts; say why."""
    policy = controls["policy"].value
    drawn = controls["announced"].value != "none"
    told = drawn if bursts is None else _are_announced(bursts)
    why = {
        "deadline": "" if policy in PLANNED else f"{policy} has no choice of plans",
        "reserved": "" if policy == "reserve" else f"{policy} reserves none",
        "notice": "" if told else "no burst is announced",
        "bandwidth": f"{policy} evicts nobody" if policy in NO_EVICTIONS else "",
    }
    why["interval"] = why["bandwidth"]
    if bursts is None:
        why |= dict.fromkeys(("size", "run_time", "longest_delay", "announced", "seed"), "")
    none = bursts is None and not controls["rate"].value
    for name, reason in why.items():
        disable(controls[name], "no burst comes" if none and name != "reserved" else reason)


def _simulate(
    workload: Workload,
    system: System,
    bursts: Workload | None,
    *,
    policy: str,
    deadline: str,
    rate: float,
    size: float,
    run_time: float,
    longest_delay: float,
    announced: str,
    notice: str,
    reserved: float,
    bandwidth: float,
    interval: float,
    start_up: float | str,
    seed: int,
) -> OnDemandSchedule:
    """The schedule that the controls ask for."""
    most = system.total_nodes
    stream = bursts
    if stream is None:
        stream = draw_bursts(
            workload, rate=rate, nodes=_part(size, most), run_time=run_time * MINUTE,
            longest_delay=longest_delay * MINUTE, notice=announced, seed=seed,
        )  # fmt: skip
    schedule = simulate_ondemand(
        workload, replace(system, aggregate_bandwidth=bandwidth), stream, policy=policy,
        deadline=deadline, notice=notice if _are_announced(stream) else "ignore",
        interval=interval * MINUTE, seed=seed,
        start_up=None if isinstance(start_up, str) else start_up,
        reserved=_part(reserved, most) if policy == "reserve" else 0,
    )  # fmt: skip
    schedule.allocations  # noqa: B018 - kernels reckon them too, and they go with the schedule
    return schedule


def _are_announced(bursts: Workload) -> bool:
    """Whether a notice is given of any burst."""
    return "notice_time" in bursts.jobs and bool(bursts.jobs["notice_time"].notna().any())


def _part(percent: float, nodes: int) -> int:
    return max(1, round(percent / 100 * nodes))


def _busiest(schedule: OnDemandSchedule, begin: float, days: int) -> int:
    """The day with most evictions, else with most bursts, else the first."""
    for times in (schedule.evictions["time"], schedule.bursts["submit_time"]):
        day = (times - begin) // DAY
        day = day[(day >= 0) & (day < days)]
        if len(day):
            return int(day.mode().iloc[0]) + 1
    return 1


def _drawer(simulated: Simulate, begin: float) -> Draw:
    """What the panel calls with the controls' values."""

    def draw(*, day: int, **settings: Any) -> tuple[go.Figure, str]:
        schedule = simulated(**settings)
        start = begin + (day - 1) * DAY
        figures = measure(schedule)
        title = _title(schedule, figures, day, start)
        return plot_day(schedule, start=start, end=start + DAY, title=title), _text(
            schedule, figures
        )

    return draw


def _title(schedule: OnDemandSchedule, figures: dict[str, float], day: int, start: float) -> str:
    """Policy, and the two prices: deadlines missed, on all days and on that shown; node-hours."""
    bursts = schedule.bursts
    if bursts.empty:
        return f"{schedule.policy}, day {day}: no burst comes"
    here = bursts.loc[bursts["submit_time"].between(start, start + DAY, inclusive="left"), "missed"]
    shown = f"{int(here.sum()):,} of {len(here):,} late" if len(here) else "no burst"
    return (
        f"{schedule.policy}, day {day}: {shown};<br>all days: {int(bursts['missed'].sum()):,} of "
        f"{len(bursts):,} late, {figures['overhead']:,.1f} node-hours per burst"
    )


def _text(schedule: OnDemandSchedule, figures: dict[str, float]) -> str:
    """The line under the figure."""
    bursts, actions = schedule.bursts, schedule.evictions["action"].value_counts()
    told = []
    if len(bursts):
        delay = bursts["delay"] / MINUTE
        told = [
            f"delay of bursts: mean {delay.mean():,.1f} min, longest {delay.max():,.1f} min",
            f"{actions.get('kill', 0):,} jobs killed, "
            f"{actions.get('app', 0) + actions.get('sys', 0):,} evicted by a checkpoint",
            "node-hours per burst: "
            + ", ".join(f"{name} {figures[name]:,.1f}" for name in _costs(figures)),
        ]
    told += [
        f"batch jobs: mean bounded slowdown {or_unknown(figures['slowdown'], ',.2f')}, mean wait "
        f"{or_unknown(figures['wait'] / MINUTE, ',.1f')} min",
        *_used(schedule),
    ]
    name, jobs = escape(schedule.workload.name), count(len(schedule.workload), "job")
    return f"{name}, {jobs} · " + " · ".join(told)


def _used(schedule: OnDemandSchedule) -> list[str]:
    """What works on how much of the machine, as the bar of all days shows it."""
    hours = ledger(schedule)
    if not hours.sum():
        return []
    shares = 100 * hours / hours.sum()
    told = [
        "from the first submission to the last end batch jobs and bursts work on "
        f"{shares['batch'] + shares['bursts']:.1f} % of the machine"
    ]
    return told + ([f"fillers on {shares['containers']:.1f} %"] if shares["containers"] else [])


def _costs(figures: dict[str, float]) -> list[str]:
    """Uses of node-hours that evictions cost, those that occur."""
    names = [name for name in ("lost", "writing", "blocked", "rereading") if figures[name] > 0]
    return names or ["lost"]


def _choose(
    panel: Panel, first: float, begin: float, days: int, trace: Any, points: Any, state: Any
) -> None:
    """Show the day of the burst that was clicked."""
    if points.xs:
        moment = first + float(points.xs[0]) * DAY
        panel.choose(day=int(np.clip((moment - begin) // DAY + 1, 1, days)))
