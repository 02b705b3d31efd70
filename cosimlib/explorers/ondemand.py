"""Explorer of on-demand bursts on a batch machine: who makes way, and what that costs.

Every control but the day simulates all jobs again, which takes some milliseconds per thousand; the
day chooses what of them is shown. Bursts are drawn anew by rate, size, length, notice and seed, or
are the user's own.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from cosimlib import checks as check
from cosimlib import synthetic
from cosimlib.display import count, or_unknown, percent
from cosimlib.explorers.knobs import Knob, Settings, cached, needs
from cosimlib.explorers.logs import Log, estimated, with_memory
from cosimlib.explorers.panel import Drawn, Panel, says_compiling
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

RULES = tuple(rule for rule in DEADLINES if rule != "weighted")
PLANNED = ("greedy", "dynamic")
"""Policies that choose among deadlines."""
EVICTING = tuple(policy for policy in POLICIES if policy not in ("wait", "reserve", "share"))
RATES = (0.0, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 18.0, 24.0)
NONE = "none"
SIZE = 0.25
"""Part of the machine that a burst wants."""
START_UPS = (NONE, 0.0, 30.0, 60.0, 300.0, 900.0)
COSTS = ("lost", "writing", "blocked", "rereading")
"""Uses of node-hours that evictions cost."""
ASKED = ("policy", "deadline", "notice", "reserved", "rate", "size", "run_time", "longest_delay",
         "announced", "seed", "bandwidth", "interval", "start_up")  # fmt: skip
"""Settings that a schedule depends on."""

CLICK = "Click on the delay of a burst to see its day."


@says_compiling()
def explore_ondemand(
    source: Workload | Schedule | None = None,
    system: System | None = None,
    bursts: Workload | None = None,
    *,
    jobs: int = 600,
    **settings: Any,
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
    **settings
        First values of the controls, see below.

    Returns
    -------
    Panel
        Its `controls` are `policy`, `deadline`, `rate`, `size` (%), `run_time` (min),
        `longest_delay` (min), `announced`, `notice`, `reserved` (%), `bandwidth` (GB/s), `interval`
        (min), `start_up` (s), `seed` and `day`; of a source of several days also `period`, the
        first and the last one.

    Other Parameters
    ----------------
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
        Of bursts and of memory drawn per job, and of made jobs; the control is of the former.

    Raises
    ------
    TypeError
        If `source` is no workload or schedule, or `bursts` no workload.
    ValueError
        If no job of the source fits, or a setting is out of range.
    InvalidWorkloadError
        If a burst is wider than the system.

    Examples
    --------
    >>> import cosimlib as cs
    >>> panel = cs.explore_ondemand(jobs=60, policy="kill")
    >>> panel.settings["policy"]
    'kill'
    """
    if source is None:
        source = synthetic.theta(jobs, seed=settings.get("seed") or 0)
    if bursts is not None:
        check.instance("bursts", bursts, Workload)
    batch = _Batch(source, system, jobs, bursts)
    machine = batch.part(batch.settings).system
    given = "" if bursts is None else "these bursts were given"

    def off(why: str = "", **values: Any) -> Callable[[Settings], str]:
        """Why a control has no effect: no burst comes, or others have none of these values."""
        fits = needs(why, **values)
        return lambda now: fits(now) if given or now["rate"] else "no burst comes"

    part: dict[str, Any] = {"unit": "%", "low": 1, "high": 100, "scale": 100, "most": 1}
    minutes: dict[str, Any] = {"unit": "min", "scale": 1 / MINUTE}
    burst: dict[str, Any] = {"group": "bursts", "off_when": lambda now: given or off()(now)}
    evicts = off("{policy} evicts nobody", policy=EVICTING)
    node: dict[str, Any] = {"group": "machine", "off_when": evicts}
    announced = bursts is not None and _are_announced(bursts)
    knobs = [
        Knob("day", batch.busiest, "day shown", low=1, whole=True,
             high=lambda now: len(batch.starts(now)),
             readout=None if batch.log.workload.began is None
             else lambda now: batch.instant(batch.start(now))),
        Knob("policy", "dynamic", "policy", options=POLICIES),
        Knob("deadline", "least_loss", "which plan", options=RULES,
             named=lambda rule: rule.replace("_", " "),
             off_when=off("{policy} has no choice of plans", policy=PLANNED)),
        Knob("notice", "prepare", "on a notice", options=NOTICES,
             off_when=off() if announced else off("no burst is announced", announced=KINDS[1:])),
        Knob("reserved", 100 * (settings.get("size") or SIZE), "nodes reserved", **part,
             off_when=off("{policy} reserves none", policy=("reserve",))),
        Knob("rate", 4.0, "bursts per day", options=RATES, kind="slider", free=True, most=1000,
             named="{:g}".format, group="bursts", off_when=lambda now: given),
        Knob("size", 100 * SIZE, "nodes of a burst", **part, **burst),
        Knob("run_time", 60, "a burst runs", low=10, high=480, step=10, **minutes, **burst),
        Knob("longest_delay", 15, "longest delay", high=60, **minutes, **burst),
        Knob("announced", KINDS[0], "notice of a burst", options=KINDS, **burst),
        Knob("seed", 0, "seed", high=50, whole=True, group="bursts", off_when=off()),
        Knob("bandwidth", machine.aggregate_bandwidth, "file system", "GB/s", low=1.5, high=1,
             step=0.05, log=True, **node),
        Knob("interval", 60, "checkpoint every", low=5, high=480, step=5, **minutes, **node),
        Knob("start_up", NONE, "fillers start in", "s", options=START_UPS, kind="slider",
             free=True, group="machine",
             named=lambda seconds: "no fillers" if seconds == NONE else f"{seconds:g}"),
    ]  # fmt: skip
    panel = Panel(knobs, batch.drawn, settings, timeline=batch)

    def choose(trace: Any, points: Any, state: Any) -> None:
        """Show the day of the burst that was clicked."""
        if points.xs:
            starts = batch.starts(panel.settings)
            first = batch.part(panel.settings).workload.jobs["submit_time"].min()
            day = (first + float(points.xs[0]) * DAY - starts[0]) // DAY + 1
            panel.choose(day=int(np.clip(day, 1, starts.size)))

    for trace in panel.figure.data[-3:-1]:
        trace.on_click(choose)
    return panel


class _Batch(Timeline):
    """The batch jobs of a source's days, and their schedule with bursts."""

    def __init__(
        self, source: Workload | Schedule, system: System | None, jobs: int,
        bursts: Workload | None,
    ) -> None:  # fmt: skip
        super().__init__(source, system, jobs, _filled, moment=self.start)
        self._bursts = bursts
        self._simulated = cached(self._simulate, "period", *ASKED, size=16)

    def _simulate(self, now: Settings) -> OnDemandSchedule:
        """The schedule that the controls ask for."""
        workload, system = self.part(now).workload, self.part(now).system
        nodes = {name: max(1, round(now[name] / 100 * system.total_nodes))
                 for name in ("size", "reserved")}  # fmt: skip
        bursts = self._bursts
        if bursts is None:
            bursts = draw_bursts(
                workload, rate=now["rate"], nodes=nodes["size"], run_time=now["run_time"] * MINUTE,
                longest_delay=now["longest_delay"] * MINUTE, notice=now["announced"],
                seed=now["seed"],
            )  # fmt: skip
        return simulate_ondemand(
            workload, replace(system, aggregate_bandwidth=now["bandwidth"]), bursts,
            policy=now["policy"], deadline=now["deadline"], seed=now["seed"],
            notice=now["notice"] if _are_announced(bursts) else "ignore",
            interval=now["interval"] * MINUTE,
            start_up=None if now["start_up"] == NONE else now["start_up"],
            reserved=nodes["reserved"] if now["policy"] == "reserve" else 0,
        )  # fmt: skip

    def starts(self, now: Settings) -> np.ndarray:
        """Where the days that can be shown begin, s; the first in the hour of a submission."""
        submit = self.part(now).workload.jobs["submit_time"]
        begin = np.floor(submit.min() / HOUR) * HOUR
        return begin + DAY * np.arange((submit.max() - begin) // DAY + 1)

    def start(self, now: Settings) -> float:
        """Where the day shown begins, seconds."""
        return float(self.starts(now)[now["day"] - 1])

    def busiest(self, now: Settings) -> int:
        """The day with most evictions, else with most bursts, else the first."""
        schedule, starts = self._simulated(now), self.starts(now)
        for times in (schedule.evictions["time"], schedule.bursts["submit_time"]):
            day = (times - starts[0]) // DAY
            day = day[(day >= 0) & (day < starts.size)]
            if len(day):
                return int(day.mode().iloc[0]) + 1
        return 1

    def drawn(self, now: Settings) -> Drawn:
        """Figure, text and notes for the controls' values."""
        schedule, start = self._simulated(now), self.start(now)
        measured = measure(schedule)
        late, here = schedule.bursts["missed"], schedule.bursts["submit_time"]
        there = late[here.between(start, start + DAY, inclusive="left")]
        title = (
            f"{schedule.policy}, day {now['day']}: {int(there.sum()):,} of {len(there):,} late<br>"
            f"all days: {int(late.sum()):,} of {len(late):,} late, "
            f"{or_unknown(measured['overhead'], ',.1f')} node-hours per burst"
        )
        picture = plot_day(schedule, start=start, end=start + DAY, title=title)
        return picture, _facts(schedule, measured), (CLICK, *self.part(now).notes)


def _filled(log: Log) -> Log:
    """The log with requested times, memory and bandwidths."""
    log = estimated(log)
    machine, note = with_memory(log.system)
    return log.of(replace(log.workload, machine=machine), note)


def _are_announced(bursts: Workload) -> bool:
    """Whether a notice is given of any burst."""
    return "notice_time" in bursts.jobs and bool(bursts.jobs["notice_time"].notna().any())


def _facts(schedule: OnDemandSchedule, measured: dict[str, float]) -> list[str]:
    """The line under the figure."""
    delay, actions = schedule.bursts["delay"] / MINUTE, schedule.evictions["action"].value_counts()
    shares = ledger(schedule) / ledger(schedule).sum()
    costs = [f"{name} {or_unknown(measured[name], ',.1f')}" for name in COSTS]
    return [
        f"{schedule.workload.name}, {count(len(schedule.workload), 'job')}",
        f"delay of bursts: mean {or_unknown(delay.mean(), ',.1f')} min, longest "
        f"{or_unknown(delay.max(), ',.1f')} min",
        f"{count(int(actions.get('kill', 0)), 'job')} killed, "
        f"{actions.get('app', 0) + actions.get('sys', 0):,} evicted by a checkpoint",
        f"node-hours per burst: {', '.join(costs)}",
        f"batch jobs: mean bounded slowdown {or_unknown(measured['slowdown'], ',.2f')}, mean wait "
        f"{or_unknown(measured['wait'] / MINUTE, ',.1f')} min",
        f"batch jobs and bursts work on {percent(shares['batch'] + shares['bursts'], 1)} of the "
        f"machine, fillers on {percent(shares['containers'], 1)}",
    ]
