"""Explorer of coscheduling: two coupled machines, event by event, with a narrative.

The slider of events and its player move along one schedule; all other controls simulate again and
stay at the same time.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from html import escape
from itertools import product
from typing import Any

import numpy as np
import plotly.graph_objects as go
from ipywidgets import Play, link

from cosimlib import checks as check
from cosimlib import coscheduling
from cosimlib.coscheduling import MACHINES, CoupledSchedule, deadlock_example, event_times
from cosimlib.coscheduling.deadlock import PAIRS
from cosimlib.display import count, percent
from cosimlib.explorers.knobs import Knob, Settings, cached, needs
from cosimlib.explorers.logs import Log, estimated
from cosimlib.explorers.panel import Panel, says_compiling
from cosimlib.explorers.timeline import Timeline
from cosimlib.figures.gantt import plot_coupled_moment
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import MINUTE
from cosimlib.workload import Workload

BASE = "base"
NEVER = 0.0
SHARES = (0.0, 0.05, 0.1, 0.2, 0.33, 0.5, 1.0)
OF_EXAMPLE = tuple(pairs / len(PAIRS) for pairs in range(len(PAIRS) + 1))
INTERVALS = (NEVER, 300.0, 600.0, 1200.0, 1800.0, 3600.0)
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
    """Explorer of coscheduling: Gantt chart up to an event, and sentences about that event.

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
        first of the example, and of a source the last in the first half of the time in which jobs
        start.

    Returns
    -------
    Panel
        Its `controls` are `schemes`, `share`, `release_interval` (seconds, 0: never) and `event`;
        a player moves the last. Of sources of several days also `period`: of several machines
        these are days of the first one; of the others busy days are taken.

    Raises
    ------
    TypeError
        If `source` is none of these.
    InvalidWorkloadError
        If the system lacks a partition that a single workload names: give one that has the
        nodes of each.

    Examples
    --------
    >>> import cosimlib as cs
    >>> panel = cs.explore_coscheduling(schemes="HH", event=4)
    >>> panel.settings["event"]
    4
    """
    check.whole("event", event, 1, none=True)
    check.number("share", share, least=0, most=1, kind="a part of the jobs", none=True)
    machines = _Machines(source, system, jobs, release_after=release_after, order=order)
    names = list(machines.system.partitions)
    letters = schemes or "H"
    letters = letters * len(names) if len(letters) == 1 else letters
    wanted = 1 / 3 if share is None else share
    near = min(machines.shares, key=lambda each: abs(each - wanted), default=wanted)
    own = "" if machines.shares else "this workload has its own mates"
    some = needs("no job has a mate", share=machines.shares[1:] or (near,))
    options = [*map("".join, product("HY", repeat=len(names))), BASE]
    holds = needs("no machine holds nodes", schemes=[each for each in options if "H" in each])
    knobs = [
        Knob("schemes", letters, "schemes", options=options, named=partial(_spelled, names),
             off_when=some),
        Knob("share", near, "jobs with mates", kind="slider", off_when=lambda now: own,
             options=machines.shares or (near,), named=partial(percent, places=0)),
        Knob("release_interval", NEVER if release_interval is None else release_interval,
             "release every", kind="slider", options=INTERVALS, check=check.seconds,
             off_when=lambda now: some(now) or holds(now),
             named=lambda each: "never" if each == NEVER else f"{each / MINUTE:g} min"),
        Knob("event", 1 if source is None and event is None else event, "event", low=1, whole=True,
             high=lambda now: len(machines.events(now)), default=machines.middle,
             follows=machines.event_of),
    ]  # fmt: skip
    player = Play(min=1, interval=FRAME)
    panel = Panel(
        knobs, lambda now: _draw(machines.schedule(now), now), notes=machines.notes,
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
        check.whole("jobs", jobs, 1)
        self._fixed = fixed
        self.shares: tuple[float, ...] = ()
        machines: dict[str, tuple[Workload | Schedule, System | None]] = {}
        if isinstance(source, Workload | Schedule):
            given = source.system if isinstance(source, Schedule) else source.machine
            system = check.machine(system or given, source.name)
            machines = {"": (source, system)}
        elif source is None:
            system = system or MACHINES
            self.shares = OF_EXAMPLE
        else:
            expected = "a Workload, a Schedule, or a mapping of machines to Workloads"
            check.instance("source", source, Mapping, expected=expected)
            check.that("source", list(source), len(source) > 1, "two machines or more")
            nodes = {} if system is None else system.partitions
            own = {name: System(name, {name: nodes[name]}) for name in source if name in nodes}
            machines = {name: (each, own.get(name)) for name, each in source.items()}
            self.shares = SHARES
        self.logs = {name: self._timeline(*each, jobs) for name, each in machines.items()}
        sizes = {name: each.log.system.total_nodes for name, each in self.logs.items()}
        self.system = system or System("+".join(sizes), sizes)
        self.timeline = next(iter(self.logs.values()), None)
        self.schedule = cached(
            self._simulate, "period", "schemes", "share", "release_interval", size=8
        )

    def _timeline(self, source: Workload | Schedule, system: System | None, jobs: int) -> Timeline:
        workload = source.workload if isinstance(source, Schedule) else source
        check.instance("source", workload, Workload)
        return Timeline(workload, system, jobs, estimated, moment=self._at)

    def _simulate(self, now: Settings) -> CoupledSchedule:
        return coscheduling.simulate_coscheduling(
            self._workload(now), self.system, **self._fixed,
            schemes=None if now["schemes"] == BASE else now["schemes"],
            release_interval=now["release_interval"] or None,
        )  # fmt: skip

    def _workload(self, now: Settings) -> Workload:
        """The jobs of the days chosen, their clocks beginning with them; mates by proportion."""
        if not self.logs:
            return deadlock_example(round(now["share"] * len(PAIRS)))
        parts = {}
        for name, part in self._parts(now).items():
            submit = part.workload.jobs["submit_time"]
            shifted = part.workload.jobs.assign(submit_time=submit - submit.min())
            parts[name] = replace(part.workload, jobs=shifted, began=None)
        if not self.shares:
            return parts[""]
        mates = coscheduling.mates_by_proportion(parts, share=now["share"])
        return coscheduling.couple(parts, mates)

    def _parts(self, now: Settings) -> dict[str, Log]:
        """The jobs of the first machine in the days chosen, of the others in busy days."""
        return {name: log.part(now if log is self.timeline else log.settings)
                for name, log in self.logs.items()}  # fmt: skip

    def events(self, now: Settings) -> np.ndarray:
        """Moments of the schedule, seconds."""
        return event_times(self.schedule(now))

    def middle(self, now: Settings) -> int:
        """The last event in the first half of the time in which jobs start."""
        schedule, events = self.schedule(now), self.events(now)
        last = np.nanmax(schedule.start_time, initial=events[0])
        return int(np.searchsorted(events, (events[0] + last) / 2, side="right"))

    def _at(self, now: Settings) -> float:
        """The moment of the event on the clock of the first log."""
        events, part = self.events(now), next(iter(self._parts(now).values()))
        first = part.workload.jobs["submit_time"].min()
        return float(first + events[min(now["event"], len(events)) - 1])

    def event_of(self, before: Settings, now: Settings) -> int | None:
        """Stay at the same time in another schedule of the same jobs, which has other events."""
        if before.get("period") != now.get("period"):
            return self.middle(now)
        if self.schedule(before) is self.schedule(now):
            return None
        events = self.events(before)
        at = events[min(before["event"], len(events)) - 1]
        return max(1, int(np.searchsorted(self.events(now), at, side="right")))

    def notes(self, now: Settings) -> list[str]:
        """What is assumed of each machine's jobs, and mates that are not among those taken."""
        notes = []
        for name, part in self._parts(now).items():
            notes += [f"{name}: {note}" if name else note for note in part.notes]
            mated, left = _mated(self.logs[name].log.workload), _mated(part.workload)
            if left < mated:
                notes.append(f"{left:,} of {mated:,} jobs with mates are among them.")
        return notes


def _mated(workload: Workload) -> int:
    """How many jobs have a mate."""
    return int((workload.column("mate") >= 0).sum())


def _spelled(machines: list[str], schemes: str) -> str:
    """The letters of a scheme, and in words what machines do that do not do the same."""
    if schemes == BASE:
        return f"{BASE}: no coscheduling"
    holding = [machine for machine, letter in zip(machines, schemes, strict=True) if letter == "H"]
    if len(holding) == len(machines):
        return f"{schemes}: all hold"
    return f"{schemes}: {' and '.join(holding)} hold{'s' * (len(holding) == 1)}" if holding else (
        f"{schemes}: all yield")  # fmt: skip


def _draw(schedule: CoupledSchedule, now: Settings) -> tuple[go.Figure, str]:
    """The panel's figure and text for the controls' settings."""
    events, names = event_times(schedule), coscheduling.job_names(schedule)
    interval, place = now["release_interval"], min(now["event"], len(events))
    at = float(events[place - 1])
    how = f"released every {interval / MINUTE:g} min" if interval else "never released"
    when = f"minute {round(at / MINUTE, 2):,.10g}, event {place} of {len(events)}"
    title = f"{schedule.policy}, held nodes {how}: {when}"
    picture = plot_coupled_moment(schedule, at=at, title=title, names=names)
    text = escape("\n".join([*coscheduling.describe(schedule, at, names), _outcome(schedule)]))
    for words in ("Deadlock", "That breaks the circle"):
        text = text.replace(words, f"<b>{words}</b>")
    return picture, text.replace("\n", "<br>")


def _outcome(schedule: CoupledSchedule) -> str:
    """The outcome of a schedule: jobs that never start, sync-up overhead, node-hours held idle."""
    stuck, lost = len(schedule.stuck), coscheduling.lost_node_hours(schedule)
    overhead = coscheduling.sync_up_overhead(schedule).dropna() / MINUTE
    mean = f"mean sync-up overhead {overhead.mean():,.1f} min"
    hours = ", ".join(
        f"{machine} {each:,.2f}" if each < np.inf else f"{machine} no end"
        for machine, each in lost.items()
    )
    facts = [
        f"{count(stuck, 'job')} never start{'s' * (stuck == 1)}" if stuck else "all jobs start",
        "" if overhead.empty else mean if overhead.any() else "no job waits for its mate",
        f"node-hours held idle: {hours}" if lost.any() else "no node is held idle",
    ]
    return f"In the end: {' · '.join(filter(None, facts))}"
