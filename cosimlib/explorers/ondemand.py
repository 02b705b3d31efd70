"""Explorer of on-demand bursts on a batch machine: who makes way, and what that costs.

Every control but the day simulates all jobs again, which takes some milliseconds per thousand; the
day chooses what of them is shown. Bursts are drawn anew by rate, size, length, notice and
seed, or are the user's own.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from html import escape
from types import SimpleNamespace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from cosimlib import checks as check
from cosimlib import synthetic
from cosimlib.display import count, or_unknown
from cosimlib.explorers.knobs import Knob, Settings
from cosimlib.explorers.logs import Log, estimated, with_memory
from cosimlib.explorers.panel import Panel, says_compiling
from cosimlib.explorers.timeline import Timeline
from cosimlib.figures.use import plot_day
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

RULES = [(rule.replace("_", " "), rule) for rule in DEADLINES if rule != "weighted"]
PLANNED = ("greedy", "dynamic")
"""Policies that choose among deadlines."""
NO_EVICTIONS = ("wait", "reserve", "share")
RATES = (0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 18.0, 24.0)
START_UPS = (0.0, 30.0, 60.0, 300.0, 900.0)
NONE = "none"
MOST_DAYS = 10_000
A_PART = partial(check.number, above=0, most=1, kind="a part of the machine,")
A_RATE = partial(check.number, least=0, most=1000, kind="bursts per day,")
A_TIME = partial(check.seconds, above=0)
A_BANDWIDTH = partial(check.number, above=0, kind="GB/s,")

CLICK = "Click on the delay of a burst to see its day."
ONE_DAY = "the jobs are of one day"
OWN_BURSTS = "these bursts were given"


@says_compiling()
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
        How many are made, or taken in a row where the days chosen are busy.
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
        Of those chosen, from 1; by default the one with most evictions.
    seed : int, default 0
        Of bursts, of memory drawn per job, and of made jobs.

    Returns
    -------
    Panel
        Its `controls` are `policy`, `deadline`, `rate`, `size` (%), `run_time` (min),
        `longest_delay` (min), `announced`, `notice`, `reserved` (%), `bandwidth` (GB/s), `interval`
        (min), `start_up` (s), `seed` and `day`; of a source of several days also `period`, the
        first and the last one.

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
    check.seed(seed)
    A_PART("size", size)
    made = synthetic.theta(jobs, seed=seed) if source is None else source
    timeline = Timeline(made, system, jobs, _filled)
    machine = timeline.part(timeline.settings).system
    chosen = {} if source is None else timeline.settings
    off = _reasons(bursts)
    of_nodes: dict[str, Any] = {"unit": "%", "low": 1, "high": 100, "scale": 100, "check": A_PART}
    knobs = [
        Knob("policy", policy, "policy", options=POLICIES),
        Knob("deadline", deadline, "which plan", options=RULES, off_when=off["deadline"]),
        Knob("notice", notice, "on a notice", options=NOTICES, off_when=off["notice"]),
        Knob("reserved", size if reserved is None else reserved, "nodes reserved", **of_nodes,
             off_when=off["reserved"]),
        Knob("rate", rate, "bursts per day", options=_rates(rate), kind="slider", check=A_RATE,
             off_when=off["given"], group="bursts"),
        Knob("size", size, "nodes of a burst", **of_nodes, off_when=off["drawn"], group="bursts"),
        Knob("run_time", run_time, "a burst runs", "min", low=10, high=480, step=10,
             scale=1 / MINUTE, check=A_TIME, off_when=off["drawn"], group="bursts"),
        Knob("longest_delay", longest_delay, "longest delay", "min", high=60, scale=1 / MINUTE,
             check=check.seconds, off_when=off["drawn"], group="bursts"),
        Knob("announced", announced, "notice of a burst", options=KINDS, off_when=off["drawn"],
             group="bursts"),
        Knob("seed", seed, "seed", high=50, whole=True, off_when=off["none"], group="bursts"),
        Knob("bandwidth", machine.aggregate_bandwidth if bandwidth is None else bandwidth,
             "file system", "GB/s", low=1.5, high=1, step=0.05, log=True, check=A_BANDWIDTH,
             off_when=off["evictions"], group="machine"),
        Knob("interval", interval, "checkpoint every", "min", low=5, high=480, step=5,
             scale=1 / MINUTE, check=A_TIME, off_when=off["evictions"], group="machine"),
        Knob("start_up", NONE if start_up is None else start_up, "fillers start in", "s",
             options=_start_ups(start_up), kind="slider", group="machine"),
    ]  # fmt: skip
    simulated = lru_cache(maxsize=16)(partial(_simulate, timeline, bursts))
    settings = chosen | {knob.name: knob.setting for knob in knobs}
    days = len(_days(timeline, settings))
    whole = partial(check.whole, least=1, most=days)
    shown = _busiest(timeline, simulated, settings) if day is None else day
    knobs.insert(
        0,
        Knob("day", shown, "day shown", low=1, high=lambda now: len(_days(timeline, now)),
             whole=True, check=whole, readout=_date(timeline),
             off_when=lambda now: ONE_DAY if len(_days(timeline, now)) == 1 else "")
    )  # fmt: skip

    def follow(before: Settings, now: Settings) -> Settings:
        same = before.get("period") == now.get("period")
        return {} if same else {"day": _busiest(timeline, simulated, now)}

    notes = (CLICK,) if source is not None else (CLICK, *timeline.part({}).notes)
    panel = Panel(
        knobs, partial(_draw, timeline, simulated), notes=notes, follow=follow,
        timeline=None if source is None else timeline,
    )  # fmt: skip
    for trace in panel.figure.data[-3:-1]:
        trace.on_click(partial(_choose, panel, timeline))
    return panel


def _filled(log: Log) -> Log:
    """The log with requested times, memory and bandwidths."""
    log = estimated(log)
    machine, note = with_memory(log.system)
    return log._replace(system=machine).noted(note)


def _rates(given: float) -> list[tuple[str, float]]:
    """Bursts per day to choose from, and those asked for."""
    A_RATE("rate", given)
    return [(f"{each:g}", each) for each in sorted({0.0, *RATES, float(given)})]


def _start_ups(given: float | None) -> list[tuple[str, float | str]]:
    """No fillers, or seconds that one takes to start."""
    check.seconds("start_up", given, none=True)
    known = sorted({*START_UPS, *([] if given is None else [float(given)])})
    return [("no fillers", NONE), *((f"{seconds:g}", seconds) for seconds in known)]


def _days(timeline: Timeline, now: Settings) -> np.ndarray:
    """Where the days that can be shown begin, seconds; the first in the hour of a submission."""
    submit = timeline.part(now).workload.jobs["submit_time"]
    begin = np.floor(submit.min() / HOUR) * HOUR
    days = min((submit.max() - begin) // DAY + 1, MOST_DAYS)
    return begin + DAY * np.arange(days)


def _date(timeline: Timeline) -> Callable[[Settings], str] | None:
    """The day shown in words, where the log tells when it began."""
    if timeline.log.workload.began is None:
        return None
    return lambda now: timeline.instant(_days(timeline, now)[now["day"] - 1])


def _reasons(bursts: Workload | None) -> dict[str, Callable[[Settings], str]]:
    """Why controls have no effect: under the policy chosen, without notices, without bursts."""
    given = "" if bursts is None else OWN_BURSTS
    announced = bursts is not None and _are_announced(bursts)

    def none(now: Settings) -> str:
        return "" if bursts is not None or now["rate"] else "no burst comes"

    def deadline(now: Settings) -> str:
        planned = now["policy"] in PLANNED
        return none(now) or ("" if planned else f"{now['policy']} has no choice of plans")

    def notice(now: Settings) -> str:
        noticed = announced if bursts is not None else now["announced"] != "none"
        return none(now) or ("" if noticed else "no burst is announced")

    def evictions(now: Settings) -> str:
        never = now["policy"] in NO_EVICTIONS
        return none(now) or (f"{now['policy']} evicts nobody" if never else "")

    return {
        "none": none, "deadline": deadline, "notice": notice, "evictions": evictions,
        "given": lambda now: given, "drawn": lambda now: given or none(now),
        "reserved": lambda now: "" if now["policy"] == "reserve"
        else f"{now['policy']} reserves none",
    }  # fmt: skip


def _simulate(timeline: Timeline, bursts: Workload | None, **settings: Any) -> OnDemandSchedule:
    """The schedule that the controls ask for."""
    workload, system, *_ = timeline.part(settings)
    now, most = SimpleNamespace(**settings), system.total_nodes
    stream = bursts
    if stream is None:
        stream = draw_bursts(
            workload, rate=now.rate, nodes=_part(now.size, most), run_time=now.run_time * MINUTE,
            longest_delay=now.longest_delay * MINUTE, notice=now.announced, seed=now.seed,
        )  # fmt: skip
    return simulate_ondemand(
        workload, replace(system, aggregate_bandwidth=now.bandwidth), stream, policy=now.policy,
        deadline=now.deadline, notice=now.notice if _are_announced(stream) else "ignore",
        interval=now.interval * MINUTE, seed=now.seed,
        start_up=None if now.start_up == NONE else now.start_up,
        reserved=_part(now.reserved, most) if now.policy == "reserve" else 0,
    )  # fmt: skip


def _are_announced(bursts: Workload) -> bool:
    """Whether a notice is given of any burst."""
    return "notice_time" in bursts.jobs and bool(bursts.jobs["notice_time"].notna().any())


def _part(percent: float, nodes: int) -> int:
    return max(1, round(percent / 100 * nodes))


def _busiest(timeline: Timeline, simulated: Simulate, now: Settings) -> int:
    """The day with most evictions, else with most bursts, else the first."""
    days = _days(timeline, now)
    schedule = simulated(**{name: value for name, value in now.items() if name != "day"})
    for times in (schedule.evictions["time"], schedule.bursts["submit_time"]):
        day = (times - days[0]) // DAY
        day = day[(day >= 0) & (day < days.size)]
        if len(day):
            return int(day.mode().iloc[0]) + 1
    return 1


def _draw(
    timeline: Timeline, simulated: Simulate, *, day: int, **settings: Any
) -> tuple[go.Figure, str]:
    """Figure and text for the controls' values."""
    schedule = simulated(**settings)
    start = float(_days(timeline, settings)[day - 1])
    figures = measure(schedule)
    title = _title(schedule, figures, day, start)
    picture = plot_day(schedule, start=start, end=start + DAY, title=title)
    return picture, _text(schedule, figures)


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
        f"batch jobs: mean bounded slowdown {or_unknown(figures['slowdown'], ',.2f')}, "
        f"{_wait(figures['wait'])}",
        *_used(schedule),
    ]
    name, jobs = escape(schedule.workload.name), count(len(schedule.workload), "job")
    return f"{name}, {jobs} · " + " · ".join(told)


def _wait(seconds: float) -> str:
    """The mean wait of batch jobs in minutes, or that none waits."""
    return f"mean wait {or_unknown(seconds / MINUTE, ',.1f')} min" if seconds else "none waits"


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


def _choose(panel: Panel, timeline: Timeline, trace: Any, points: Any, state: Any) -> None:
    """Show the day of the burst that was clicked."""
    if points.xs:
        days = _days(timeline, panel.settings)
        first = timeline.part(panel.settings).workload.jobs["submit_time"].min()
        moment = first + float(points.xs[0]) * DAY
        panel.choose(day=int(np.clip((moment - days[0]) // DAY + 1, 1, days.size)))
