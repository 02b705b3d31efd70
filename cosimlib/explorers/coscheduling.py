"""Explorer of coscheduling: two coupled machines, event by event, with a narrative.

The slider of events and its player move along one schedule; all other controls simulate again and
stay at the same time.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from html import escape
from itertools import product
from typing import Any

import numpy as np
import plotly.graph_objects as go
from ipywidgets import Play, link

from cosimlib import checks as check
from cosimlib.coscheduling import (
    MACHINES,
    CoupledSchedule,
    couple,
    deadlock_example,
    describe,
    event_times,
    job_names,
    lost_node_hours,
    mates_by_proportion,
    simulate_coscheduling,
    sync_up_overhead,
)
from cosimlib.coscheduling.deadlock import PAIRS
from cosimlib.display import percent
from cosimlib.explorers.knobs import Knob, Settings
from cosimlib.explorers.logs import Log, estimated
from cosimlib.explorers.panel import Panel, says_compiling
from cosimlib.explorers.timeline import Period, Timeline
from cosimlib.figures.gantt import plot_coupled_moment
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import MINUTE
from cosimlib.workload import InvalidWorkloadError, Workload

BASE = "base"
OFF = 0.0
SHARES = (0.0, 0.05, 0.1, 0.2, 0.33, 0.5, 1.0)
INTERVALS = (300.0, 600.0, 1200.0, 1800.0, 3600.0)
FRAME = 1200
"""Milliseconds between two events while the player plays."""


@says_compiling()
def explore_coscheduling(
    source: Workload | Schedule | Mapping[str, Workload] | None = None,
    system: System | None = None,
    *,
    jobs: int = 12,
    schemes: str = "",
    share: float | None = None,
    release_interval: float | None = None,
    release_after: float = 600.0,
    order: str = "wfp",
    event: int | None = None,
) -> Panel:
    """Explorer of coscheduling: its knobs, a Gantt chart up to an event, and a narrative of it.

    Parameters
    ----------
    source : Workload, Schedule or mapping of str to Workload, optional
        The machines' workloads by partition, every n-th job of which becomes a mate, and whose
        clocks begin at their first jobs; or one workload with `partition` and mates of its own,
        or a schedule of such. By default `deadlock_example`. Requested times that are unknown are
        run times.
    system : System, optional
        By default the machines of the source's workloads, or such as hold their jobs; a single
        workload needs one.
    jobs : int, default 12
        Jobs in a row that are taken of each machine's workload, or of the single one, where the
        days chosen are busy.
    schemes : str, default ""
        One letter per machine, H (hold) or Y (yield), one letter for all, or ``"base"``; empty: all
        hold.
    share : float, optional
        Part of the smallest machine's jobs that have mates, by default a third.
    release_interval : float, optional
        Seconds between releases of held nodes; by default they are never released.
    release_after, order
        As for `simulate_coscheduling`.
    event : int, optional
        Number of the first event to show, from 1; beyond the last, it is the last. By default the
        first of the example, and the middle one of a source, where its machines are at work.

    Returns
    -------
    Panel
        Its `controls` are `schemes`, `share`, `release_interval` (seconds, 0: never) and `event`;
        a player moves the last. Of sources of several days also `period`: of several machines
        these are days of the first one, as far into the logs of the others.

    Raises
    ------
    TypeError
        Where `source` is none of these.
    InvalidWorkloadError
        Where the system lacks a partition that a single workload names.

    Examples
    --------
    >>> import cosimlib as cs
    >>> panel = cs.explore_coscheduling(schemes="HH", event=4)
    >>> panel.settings["event"]
    4
    """
    check.whole("jobs", jobs, 1)
    check.whole("event", event, 1, none=True)
    check.number("share", share, least=0, most=1, kind="a part of the jobs", none=True)
    machines = _Machines(source, system, jobs, release_after=release_after, order=order)
    names = list(machines.system.partitions)
    letters = schemes or "H"
    letters = letters * len(names) if len(letters) == 1 else letters
    every, wanted = release_interval or OFF, 1 / 3 if share is None else share
    near = min(machines.shares, key=lambda each: abs(each - wanted), default=wanted)
    spelled = [*map("".join, product("HY", repeat=len(names))), BASE]
    chosen = machines.timeline.settings if machines.timeline else {}
    start = chosen | {"schemes": letters, "share": near, "release_interval": every}
    last = len(machines.events(start))
    if event is None:
        event = 1 if source is None else last // 2 + 1
    knobs = [
        Knob("schemes", letters, "schemes", off_when=machines.without_mates,
             options=[(f"{each}: {_spelled(each, names)}", each) for each in spelled]),
        Knob("share", near, "jobs with mates", kind="slider", off_when=machines.own_mates,
             options=[(percent(each, 0), each) for each in sorted({*machines.shares, near})]),
        Knob("release_interval", every, "release every", kind="slider", off_when=machines.no_holds,
             options=_intervals(every)),
        Knob("event", int(min(event, last)), "event", low=1, whole=True,
             high=lambda now: len(machines.events(now))),
    ]  # fmt: skip
    player = Play(min=1, max=last, interval=FRAME, value=knobs[-1].value)
    panel = Panel(
        knobs, partial(_draw, machines), notes=machines.notes, follow=machines.follow,
        timeline=machines.timeline, beside=[player],
    )  # fmt: skip
    for trait in ("max", "value"):
        link((panel.controls["event"], trait), (player, trait))
    return panel


class _Machines:
    """The coupled machines, and their schedule under any settings."""

    def __init__(
        self, source: Workload | Schedule | Mapping[str, Workload] | None, system: System | None,
        jobs: int, **fixed: Any,
    ) -> None:  # fmt: skip
        self._fixed = fixed
        self.shares: tuple[float, ...] = SHARES
        self.logs: dict[str, Timeline] = {}
        if source is None:
            self.shares = tuple(pairs / len(PAIRS) for pairs in range(len(PAIRS) + 1))
            system = system or MACHINES
        elif isinstance(source, Workload | Schedule):
            given = source.system if isinstance(source, Schedule) else source.machine
            workload = source.workload if isinstance(source, Schedule) else source
            system = check.machine(system or given, workload.name)
            _check_partitions(workload, system)
            self.shares = ()
            self.logs = {"": Timeline(workload, system, jobs, estimated, moment=self._at)}
        else:
            expected = "a Workload, a Schedule, or a mapping of machines to Workloads"
            check.instance("source", source, Mapping, expected=expected)
            check.that("source", list(source), len(source) > 1, "two machines or more")
            for name, workload in source.items():
                nodes = None if system is None else system.partitions.get(name)
                own = None if nodes is None else System(name, {name: nodes})
                self.logs[name] = Timeline(workload, own, jobs, estimated, moment=self._at)
            sizes = {name: each.log.system.total_nodes for name, each in self.logs.items()}
            system = system or System("+".join(sizes), sizes)
        self.system = system
        self.timeline = next(iter(self.logs.values()), None)
        self._scheduled = lru_cache(maxsize=8)(self._simulate)

    def schedule(self, now: Settings) -> CoupledSchedule:
        """The schedule of the settings."""
        return self._scheduled(
            now.get("period"), now["schemes"], now["share"], now["release_interval"]
        )

    def _simulate(
        self, period: Period | None, schemes: str, share: float, release_interval: float
    ) -> CoupledSchedule:
        return simulate_coscheduling(
            self._workload({"period": period} if period else {}, share), self.system,
            schemes=None if schemes == BASE else schemes, release_interval=release_interval or None,
            **self._fixed,
        )  # fmt: skip

    def _workload(self, now: Settings, share: float) -> Workload:
        """The jobs of the days chosen, their clocks beginning with them; mates by proportion."""
        if not self.logs:
            return deadlock_example(round(share * len(PAIRS)))
        parts = {}
        for name in self.logs:
            jobs = self._part(name, now).workload
            submit = jobs.jobs["submit_time"]
            shifted = jobs.jobs.assign(submit_time=submit - submit.min())
            parts[name] = replace(jobs, jobs=shifted, began=None)
        if not self.shares:
            return parts[""]
        return couple(parts, mates_by_proportion(parts, share=share))

    def _part(self, name: str, now: Settings) -> Log:
        """The jobs of a machine in the days chosen, or in its own busy ones where it has none."""
        log = self.logs[name]
        try:
            return log.part(now if log is self.timeline and now else log.settings | now)
        except ValueError:
            if log is self.timeline:
                raise
            return log.part(log.settings)

    def events(self, now: Settings) -> np.ndarray:
        """Moments of the schedule, seconds."""
        return event_times(self.schedule(now))

    def _at(self, now: Settings) -> float:
        """The moment of the event on the clock of the first log."""
        events = self.events(now)
        first = self._part(next(iter(self.logs)), now).workload.jobs["submit_time"].min()
        return float(first + events[min(now["event"], len(events)) - 1])

    def notes(self, now: Settings) -> list[str]:
        """What was supposed of each machine's jobs, and mates that are not among those taken."""
        parts = {name: self._part(name, now) for name in self.logs}
        notes = [f"{name}: {note}" if name else note
                 for name, part in parts.items() for note in part.notes]  # fmt: skip
        for name, part in parts.items():
            mated, left = _mated(self.logs[name].log.workload), _mated(part.workload)
            if left < mated:
                notes.append(f"{left:,} of {mated:,} jobs with mates are among them.")
        return notes

    def follow(self, before: Settings, now: Settings) -> Settings:
        """Stay at the same time in another schedule of the same jobs, which has other events."""
        if before.get("period") != now.get("period"):
            return {"event": len(self.events(now)) // 2 + 1}
        if all(before[name] == now[name] for name in ("schemes", "share", "release_interval")):
            return {}
        events = self.events(before)
        at = events[min(before["event"], len(events)) - 1]
        return {"event": max(1, int(np.searchsorted(self.events(now), at, side="right")))}

    def without_mates(self, now: Settings) -> str:
        return "no job has a mate" if self.shares and not now["share"] else ""

    def own_mates(self, now: Settings) -> str:
        return "" if self.shares else "this workload has its own mates"

    def no_holds(self, now: Settings) -> str:
        return self.without_mates(now) or (
            "" if "H" in now["schemes"] else "no machine holds nodes"
        )


def _intervals(chosen: float) -> list[tuple[str, float]]:
    """Seconds between releases to choose from, with those asked for."""
    offered = sorted({*INTERVALS, chosen} - {OFF})
    return [("never", OFF), *((f"{each / MINUTE:g} min", each) for each in offered)]


def _check_partitions(workload: Workload, system: System) -> None:
    """Raise where jobs are of a partition that the system has not, and say what to give instead."""
    named = workload.column("partition")
    absent = named[named.notna() & ~named.isin(list(system.partitions))]
    if len(absent):
        widest = workload.jobs["nodes"].groupby(named).max()
        such = ", ".join(f"{name!r}: {nodes:.0f}" for name, nodes in widest.items())
        raise InvalidWorkloadError(
            f"{workload.label(int(absent.index[0]))} is of partition {absent.iloc[0]!r}; "
            f"the system has {', '.join(system.partitions)}: give the nodes of each, as "
            f"system=System('machines', {{{such}}}) with more where there are more, or a mapping "
            "of each machine's name to its workload"
        )


def _mated(workload: Workload) -> int:
    """How many jobs have a mate."""
    return int((workload.column("mate") >= 0).sum())


def _spelled(schemes: str, machines: list[str]) -> str:
    """The letters of a scheme in words."""
    if schemes == BASE:
        return "no coscheduling"
    verbs = {"H": "holds", "Y": "yields"}
    pairs = zip(machines, schemes, strict=True)
    return ", ".join(f"{machine} {verbs[letter]}" for machine, letter in pairs)


def _draw(machines: _Machines, *, event: int, **settings: Any) -> tuple[go.Figure, str]:
    """The panel's figure and text for the controls' settings."""
    schedule = machines.schedule(settings)
    events, names = machines.events(settings), job_names(schedule)
    place = min(event, len(events))
    at = float(events[place - 1])
    interval = settings["release_interval"]
    how = f"released every {interval / MINUTE:g} min" if interval else "never released"
    when = f"minute {round(at / MINUTE, 2):,.10g}, event {place} of {len(events)}"
    title = f"{schedule.policy}, held nodes {how}: {when}"
    picture = plot_coupled_moment(schedule, at=at, title=title, names=names)
    sentences = [_stressed(sentence) for sentence in describe(schedule, at, names)]
    return picture, "<br>".join([*sentences, _outcome(schedule)])


def _stressed(sentence: str) -> str:
    """A sentence as HTML, with a deadlock and its end in bold."""
    text = escape(sentence)
    for word in ("Deadlock", "That breaks the circle"):
        text = text.replace(word, f"<b>{word}</b>")
    return text


def _outcome(schedule: CoupledSchedule) -> str:
    """The outcome of a schedule: jobs that never start, sync-up overhead, node-hours held idle."""
    lost = ", ".join(
        f"{machine} {hours:,.2f}" if hours < np.inf else f"{machine} no end"
        for machine, hours in lost_node_hours(schedule).items()
    )
    overhead = sync_up_overhead(schedule).dropna()
    sync_up = (
        f" · mean sync-up overhead {overhead.mean() / MINUTE:,.1f} min" if len(overhead) else ""
    )
    stuck = f"{len(schedule.stuck)} jobs never start" if len(schedule.stuck) else "all jobs start"
    return escape(f"In the end: {stuck}{sync_up} · node-hours held idle: {lost}")
