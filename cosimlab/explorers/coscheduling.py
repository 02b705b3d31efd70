"""Explorer of coscheduling: two coupled machines, event by event, with a narrative.

The slider of events and its player move along one schedule; all other controls simulate again.
"""

from collections.abc import Mapping
from dataclasses import replace
from html import escape
from itertools import product
from typing import Any

import numpy as np
from ipywidgets import Play, link

from cosimlab.coscheduling import describe, job_names
from cosimlab.explorers.answer import Answer, jobs_of
from cosimlab.explorers.knobs import Knob, Settings, cached, needs
from cosimlab.explorers.logs import Log, estimated
from cosimlab.explorers.panel import Panel, explorer
from cosimlab.explorers.timeline import Timeline
from cosimlab.figures.gantt import plot_coupled_moment
from cosimlib import checks as check
from cosimlib import coscheduling
from cosimlib.coscheduling import MACHINES, CoupledSchedule, deadlock_example, event_times
from cosimlib.coscheduling.deadlock import PAIRS
from cosimlib.display import count, or_unknown, percent
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


@explorer
def explore_coscheduling(
    source: Mapping[str, Workload] | None = None,
    system: System | None = None,
    *,
    jobs: int = 12,
    **settings: Any,
) -> Panel:
    """Explorer of coscheduling: Gantt chart up to an event, and sentences about that event.

    Parameters
    ----------
    source : mapping of str to Workload, optional
        The machines' workloads by partition, every n-th job of which becomes a mate, and whose
        clocks begin at their first jobs. By default `deadlock_example`. Requested times that are
        unknown are run times.
    system : System, optional
        By default the machines of the workloads, or such as hold their jobs.
    jobs : int, default 12
        Jobs in a row that are taken of each workload, where the days chosen are busy.
    **settings
        First values of the controls, see below.

    Returns
    -------
    Panel
        Its `controls` are `schemes`, `share`, `release_interval` (seconds, 0: never) and `event`;
        a player moves the last. Of sources of several days also `period`: days of the first
        machine; of the others busy days are taken.

    Other Parameters
    ----------------
    schemes : str, optional
        One letter per machine, H (hold) or Y (yield), or ``"base"``.
    share : float, optional
        Part of the smallest machine's jobs that have mates, by default a third: one of `SHARES`,
        or of `OF_EXAMPLE`.
    release_interval : float, default 0.0
        Seconds between releases of held nodes, one of `INTERVALS`; 0: they are never released.
    event : int, optional
        Number of the first event to show, from 1. By default the first of the example, and of a
        source the last in the first half of the time in which jobs start.

    Raises
    ------
    TypeError
        If `source` is no mapping of workloads.
    ValueError
        If it has fewer than two, a workload has no jobs, or a setting is out of range.

    Examples
    --------
    >>> import cosimlab as lab
    >>> panel = lab.explore_coscheduling(schemes="HH", event=4)
    >>> panel.settings["event"]
    4
    """
    machines = _Machines(source, system, jobs)
    names, shares = list(machines.system.partitions), SHARES if machines.logs else OF_EXAMPLE
    some = needs("no job has a mate", share=shares[1:])
    options = [*map("".join, product("HY", repeat=len(names))), BASE]
    holds = needs("no machine holds nodes", schemes=[each for each in options if "H" in each])
    knobs = [
        Knob("schemes", "H" * len(names), "schemes", options=options, off_when=some),
        Knob(
            "share",
            min(shares, key=lambda each: abs(each - 1 / 3)),
            "jobs with mates",
            kind="slider",
            options=shares,
            named=lambda share: percent(share, 0),
        ),
        Knob(
            "release_interval",
            NEVER,
            "release every",
            kind="slider",
            options=INTERVALS,
            off_when=lambda now: some(now) or holds(now),
            named=lambda each: f"{each / MINUTE:g} min" if each else "never",
        ),
        Knob(
            "event",
            machines.first_event,
            "event",
            low=1,
            whole=True,
            high=lambda now: len(event_times(machines.schedule(now))),
        ),
    ]
    panel = Panel(knobs, machines.drawn, settings, timeline=machines.timeline)
    player = Play(min=1, interval=FRAME)
    for trait in ("max", "value"):
        link((panel.controls["event"], trait), (player, trait))
    panel.grid.children = [*panel.grid.children, player]
    return panel


class _Machines:
    """The coupled machines, and their schedule under any settings."""

    def __init__(
        self, source: Mapping[str, Workload] | None, system: System | None, jobs: int
    ) -> None:
        self.logs: dict[str, Timeline] = {}
        if source is not None:
            expected = "a mapping of machines to Workloads"
            check.instance("source", source, Mapping, expected=expected)
            check.that("source", list(source), len(source) > 1, "two machines or more")
            nodes = {} if system is None else system.partitions
            own = {name: System(name, {name: nodes[name]}) for name in source if name in nodes}
            self.logs = {
                name: self._timeline(each, own.get(name), jobs) for name, each in source.items()
            }
        sizes = {name: each.log.system.total_nodes for name, each in self.logs.items()}
        self.system = system or (System("+".join(sizes), sizes) if sizes else MACHINES)
        self.timeline = next(iter(self.logs.values()), None)
        self.schedule = cached(
            self._simulate, "period", "schemes", "share", "release_interval", size=8
        )

    def _timeline(self, workload: Workload, system: System | None, jobs: int) -> Timeline:
        check.instance("source", workload, Workload)
        return Timeline(workload, system, jobs, estimated, moment=self._at)

    def _simulate(self, now: Settings) -> CoupledSchedule:
        return coscheduling.simulate_coscheduling(
            self._workload(now),
            self.system,
            schemes=None if now["schemes"] == BASE else now["schemes"],
            release_interval=now["release_interval"] or None,
        )

    def _workload(self, now: Settings) -> Workload:
        """The jobs of the days chosen, their clocks beginning with them; mates by proportion."""
        if not self.logs:
            return deadlock_example(round(now["share"] * len(PAIRS)))
        parts = {}
        for name, part in self._parts(now).items():
            submit = part.workload.jobs["submit_time"]
            shifted = part.workload.jobs.assign(submit_time=submit - submit.min())
            parts[name] = replace(part.workload, jobs=shifted, began=None)
        mates = coscheduling.mates_by_proportion(parts, share=now["share"])
        return coscheduling.couple(parts, mates)

    def _parts(self, now: Settings) -> dict[str, Log]:
        """The jobs of the first machine in the days chosen, of the others in busy days."""
        return {
            name: log.part(now if log is self.timeline else log.settings)
            for name, log in self.logs.items()
        }

    def first_event(self, now: Settings) -> int:
        """The last event in the first half of the time in which jobs start; of the example 1."""
        if not self.logs:
            return 1
        schedule = self.schedule(now)
        events = event_times(schedule)
        last = np.nanmax(schedule.start_time, initial=events[0])
        return int(np.searchsorted(events, (events[0] + last) / 2, side="right"))

    def _at(self, now: Settings) -> float:
        """The moment of the event on the clock of the first log."""
        first = next(iter(self._parts(now).values())).workload.jobs["submit_time"].min()
        return float(first + event_times(self.schedule(now))[now["event"] - 1])

    def drawn(self, now: Settings) -> Answer:
        """Figure, text and notes for the controls' settings."""
        schedule = self.schedule(now)
        events, names = event_times(schedule), job_names(schedule)
        at, interval = float(events[now["event"] - 1]), now["release_interval"] / MINUTE
        how = f"released every {interval:g} min" if interval else "never released"
        when = f"minute {round(at / MINUTE, 2):,.10g}, event {now['event']} of {len(events)}"
        title = f"{schedule.policy}, held nodes {how}: {when}"
        picture = plot_coupled_moment(schedule, at=at, title=title, names=names)
        lines = [*describe(schedule, at, names), _outcome(schedule)]
        text = "<br>".join(map(escape, lines))
        for words in ("Deadlock", "That breaks the circle"):
            text = text.replace(words, f"<b>{words}</b>")
        notes = [
            f"{name}: {note}" for name, part in self._parts(now).items() for note in part.notes
        ]
        return Answer(picture, text, notes, _numbers(schedule), lambda: jobs_of(schedule))


def _numbers(schedule: CoupledSchedule) -> dict[str, float]:
    """What two schedules are compared by."""
    held = coscheduling.lost_node_hours(schedule)
    return {
        "jobs that never start": float(len(schedule.stuck)),
        "mean wait of those that start (min)": float(schedule.jobs["wait_time"].mean()) / MINUTE,
        "mean sync-up overhead (min)": coscheduling.sync_up_overhead(schedule).mean() / MINUTE,
        **{f"held idle on {name} (node-hours)": float(hours) for name, hours in held.items()},
    }


def _outcome(schedule: CoupledSchedule) -> str:
    """The outcome of a schedule: jobs that never start, sync-up overhead, node-hours held idle."""
    overhead = coscheduling.sync_up_overhead(schedule).mean() / MINUTE
    hours = [
        f"{machine} {each:,.2f}".replace("inf", "no end")
        for machine, each in coscheduling.lost_node_hours(schedule).items()
    ]
    return (
        f"In the end: {count(len(schedule.stuck), 'job')} never start · mean sync-up overhead "
        f"{or_unknown(overhead, ',.1f', ' min')} · node-hours held idle: {', '.join(hours)}"
    )
