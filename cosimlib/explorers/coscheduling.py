"""Explorer of coscheduling: two coupled machines, event by event, with a narrative.

The slider of events and its player move along one schedule; all other controls simulate again and
stay at the same time.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from html import escape
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from ipywidgets import Dropdown, IntSlider, Play, SelectionSlider, Widget, link

from cosimlib import checks as check
from cosimlib.compiled import COSCHEDULING
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
from cosimlib.explorers.logs import Log, busy, estimated, fitting, instant
from cosimlib.explorers.meanwhile import answered_meanwhile
from cosimlib.explorers.panel import Panel, disable
from cosimlib.figures.coscheduling import plot_coupled_moment
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import MINUTE
from cosimlib.workload import InvalidWorkloadError, Workload

Make = Callable[[float], Workload]
Scheduled = Callable[..., CoupledSchedule]

BASE = "base"
OFF = 0.0
SHARES = (0.0, 0.05, 0.1, 0.2, 0.33, 0.5, 1.0)
INTERVALS = (300.0, 600.0, 1200.0, 1800.0, 3600.0)
FRAME = 1200
"""Milliseconds between two events while the player plays."""


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
        Jobs in a row that are taken of each machine's workload, or of the single one, where it is
        busy.
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
        a player moves the last.

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
    make, system, shares, notes = _source(source, system, jobs)
    letters = schemes or "H"
    letters = letters * len(system.partitions) if len(letters) == 1 else letters
    settings = {"schemes": letters, "release_interval": release_interval or OFF,
                "share": 1 / 3 if share is None else share}  # fmt: skip
    knobs = {"release_after": release_after, "order": order}
    schedule = answered_meanwhile(_schedule, COSCHEDULING)
    scheduled = lru_cache(maxsize=8)(partial(schedule, make, system, knobs))
    last = len(event_times(scheduled(**settings)))
    if event is None:
        event = 1 if source is None else last // 2 + 1
    controls = _controls(settings, shares, list(system.partitions), last, int(event))
    player = Play(min=1, max=last, interval=FRAME, value=controls["event"].value)
    # Before the panel's own observers: what they draw must fit the other schedule's events.
    for name in settings:
        controls[name].observe(partial(_refit, controls, scheduled, name), names="value")
        controls[name].observe(partial(_switch, controls, shares), names="value")
    _switch(controls, shares)
    for trait in ("max", "value"):
        link((controls["event"], trait), (player, trait))
    hint = " ".join(notes)
    return Panel(controls, partial(_draw, scheduled), hint=hint, beside=[player])


def _source(
    source: Workload | Schedule | Mapping[str, Workload] | None, system: System | None, jobs: int
) -> tuple[Make, System, tuple[float, ...], list[str]]:
    """A function from a share of paired jobs to a workload; its system, shares offered, notes."""
    if source is None:
        shares = tuple(pairs / len(PAIRS) for pairs in range(len(PAIRS) + 1))
        return _example, system or MACHINES, shares, []
    if isinstance(source, Schedule):
        system, source = system or source.system, source.workload
    if isinstance(source, Workload):
        system = check.machine(system or source.machine, source.name)
        _check_partitions(source, system)
        log = fitting(source, system)
        part, system, notes = estimated(busy(log, jobs))
        mated, left = _mated(log.workload), _mated(part)
        lost = [f"{left:,} of {mated:,} jobs with mates are among them."] if left < mated else []
        kept = replace(part, jobs=_from_zero(part.jobs), began=None)
        return partial(_whatever_share, kept), system, (), [*notes, *lost]
    expected = "a Workload, a Schedule, or a mapping of machines to Workloads"
    check.instance("source", source, Mapping, expected=expected)
    check.that("source", list(source), len(source) > 1, "two machines or more")
    machines, sizes, told = {}, {}, []
    for name, workload in source.items():
        kept, machine, notes = _machine(name, workload, system, jobs)
        told += [f"{name}: {note}" for note in notes]
        machines[name] = replace(kept, jobs=_from_zero(kept.jobs), began=None)
        sizes[name] = machine.total_nodes
    return partial(_paired, machines), system or System("+".join(sizes), sizes), SHARES, told


def _whatever_share(workload: Workload, share: float) -> Workload:
    """A workload whose mates are its own."""
    return workload


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


def _from_zero(jobs: pd.DataFrame) -> pd.DataFrame:
    """The jobs with the first submission at 0."""
    return jobs.assign(submit_time=jobs["submit_time"] - jobs["submit_time"].min())


def _machine(name: str, workload: Workload, system: System | None, jobs: int) -> Log:
    """One machine's log, on its partition of the system where there is such."""
    nodes = None if system is None else system.partitions.get(name)
    own = None if nodes is None else System(name, {name: nodes})
    return estimated(busy(fitting(workload, own), jobs))


def _example(share: float) -> Workload:
    """The deadlock example with the nearest number of pairs."""
    return deadlock_example(round(share * len(PAIRS)))


def _paired(machines: Mapping[str, Workload], share: float) -> Workload:
    """The machines' workloads coupled, mates by proportion."""
    return couple(machines, mates_by_proportion(machines, share=share))


def _schedule(
    make: Make,
    system: System,
    knobs: dict[str, Any],
    schemes: str,
    share: float,
    release_interval: float,
) -> CoupledSchedule:
    """The schedule of the controls' settings."""
    return simulate_coscheduling(
        make(share),
        system,
        schemes=None if schemes == BASE else schemes,
        release_interval=release_interval or None,
        **knobs,
    )


def _controls(
    settings: dict[str, Any], shares: tuple[float, ...], machines: list[str], last: int, event: int
) -> dict[str, Widget]:
    """One widget per setting, and the event's."""
    letters = ["".join(each) for each in product("HY", repeat=len(machines))]
    interval, share = settings["release_interval"], settings["share"]
    offered = sorted({*INTERVALS, interval} - {OFF})
    intervals = [("never", OFF), *((f"{each / MINUTE:g} min", each) for each in offered)]
    near = min(shares, key=lambda each: abs(each - share), default=share)
    shares = tuple(sorted({*shares, near}))
    return {
        "schemes": Dropdown(
            options=[(f"{each}: {_spelled(each, machines)}", each) for each in [*letters, BASE]],
            value=settings["schemes"], description="schemes",
        ),
        "share": SelectionSlider(
            options=[(percent(each, 0), each) for each in shares], value=near,
            description="jobs with mates",
        ),
        "release_interval": SelectionSlider(
            options=intervals, value=interval, description="release every",
        ),
        "event": IntSlider(min(event, last), 1, last, description="event"),
    }  # fmt: skip


def _switch(controls: dict[str, Widget], shares: tuple[float, ...], change: object = None) -> None:
    """Disable what has no effect, and say why."""
    alone = bool(shares) and not controls["share"].value
    schemes = controls["schemes"].value
    nobody = "" if "H" in schemes else "no machine holds nodes"
    why = "no job has a mate" if alone else nobody
    disable(controls["release_interval"], why)
    disable(controls["schemes"], "no job has a mate" if alone else "")
    disable(controls["share"], "" if shares else "this workload has its own mates")


def _spelled(schemes: str, machines: list[str]) -> str:
    """The letters of a scheme in words."""
    if schemes == BASE:
        return "no coscheduling"
    verbs = {"H": "holds", "Y": "yields"}
    pairs = zip(machines, schemes, strict=True)
    return ", ".join(f"{machine} {verbs[letter]}" for machine, letter in pairs)


def _refit(
    controls: dict[str, Widget], scheduled: Scheduled, name: str, change: dict[str, Any]
) -> None:
    """Stay at the same time in the other schedule, which has other events."""
    now = {knob: controls[knob].value for knob in ("schemes", "share", "release_interval")}
    before = event_times(scheduled(**now | {name: change["old"]}))
    after = event_times(scheduled(**now))
    event = controls["event"]
    at = before[min(event.value, len(before)) - 1]
    place = max(1, int(np.searchsorted(after, at, side="right")))
    # A slider's value never lies beyond its end, so a longer one is made longer first.
    event.max = max(event.max, len(after))
    event.value = place
    event.max = len(after)


def _draw(scheduled: Scheduled, *, event: int, **settings: Any) -> tuple[go.Figure, str]:
    """The panel's figure and text for the controls' settings."""
    schedule = scheduled(**settings)
    events, names = event_times(schedule), job_names(schedule)
    place = min(event, len(events))
    at = float(events[place - 1])
    interval = settings["release_interval"]
    how = f"released every {interval / MINUTE:g} min" if interval else "never released"
    began = schedule.workload.began
    moment = f"minute {round(at / MINUTE, 2):,.10g}" if began is None else instant(at, began)
    when = f"{moment}, event {place} of {len(events)}"
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
