"""Mates on coupled machines, event by event: who holds, who waits for whom, and who is stuck.

The event's slider and its player move along one schedule; all other controls simulate again and
stay at the same time.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from html import escape
from itertools import product
from typing import Any

import numpy as np
import plotly.graph_objects as go
from ipywidgets import Dropdown, IntSlider, Play, SelectionSlider, Widget, link

from cosimlib.checks import check_whole
from cosimlib.coscheduling import simulate_coscheduling
from cosimlib.coscheduling.comparison import lost_node_hours, sync_up_overhead
from cosimlib.coscheduling.deadlock import moments
from cosimlib.coscheduling.example import MACHINES, PAIRS, deadlock_example
from cosimlib.coscheduling.mates import couple, mates_by_proportion
from cosimlib.coscheduling.narrative import job_names, tell
from cosimlib.coscheduling.schedule import CoupledSchedule
from cosimlib.explorers.panel import Panel
from cosimlib.figures.coscheduling import plot_coupled_moment
from cosimlib.system import System
from cosimlib.units import MINUTE
from cosimlib.workload import Workload

Make = Callable[[float], Workload]
Scheduled = Callable[..., CoupledSchedule]

BASE = "base"
OFF = 0.0
SHARES = (0.0, 0.05, 0.1, 0.2, 0.33, 0.5, 1.0)
INTERVALS = (300.0, 600.0, 1200.0, 1800.0, 3600.0)
FRAME = 1200
"""Milliseconds between two events while the player plays."""


def explore_coscheduling(
    source: Workload | Mapping[str, Workload] | None = None,
    system: System | None = None,
    *,
    jobs: int = 12,
    schemes: str = "",
    share: float | None = None,
    release_interval: float | None = None,
    release_after: float = 600.0,
    order: str = "wfp",
    event: int = 1,
) -> Panel:
    """Knobs of coscheduling, both machines up to an event, and what happened at it in words.

    Parameters
    ----------
    source : Workload or mapping of str to Workload, optional
        The machines' workloads by partition, every n-th job of which becomes a mate, and whose
        clocks begin at their first jobs; or one workload with `partition` and mates of its own. By
        default `deadlock_example`.
    system : System, optional
        By default the machines of the source's workloads; a single workload needs one.
    jobs : int, default 12
        How many are taken from the beginning of each machine's workload, or of the one.
    schemes : str, default ""
        A letter a machine, H (hold) or Y (yield), one letter for all, or ``"base"``; empty: all
        hold.
    share : float, optional
        Part of the smallest machine's jobs that have mates: by default a third.
    release_interval : float, optional
        Seconds between releases of held nodes; by default they are never released.
    release_after, order
        As for `simulate_coscheduling`.
    event : int, default 1
        The event to begin at, from 1; later than the last is the last.

    Returns
    -------
    Panel
        Its `controls` are `schemes`, `share`, `release_interval` (seconds, 0: never) and `event`;
        a player moves the last.

    Raises
    ------
    TypeError
        Where `source` is neither.
    ValueError
        For a source without jobs or of an unknown machine, and for a setting out of range.
    InvalidWorkloadError
        Where a job cannot run on its machine, or mates are no group.
    """
    check_whole("jobs", jobs, 1)
    check_whole("event", event, 1)
    make, system, shares = _source(source, system, jobs)
    letters = schemes or "H"
    spelled = letters * len(system.partitions) if len(letters) == 1 else letters
    asked = {"schemes": spelled, "release_interval": release_interval or OFF,
             "share": 1 / 3 if share is None else share}  # fmt: skip
    if share is not None and not 0 <= share <= 1:
        raise ValueError(f"share={share!r}; expected a part of the jobs, 0 to 1")
    knobs = {"release_after": release_after, "order": order}
    scheduled = lru_cache(maxsize=8)(partial(_schedule, make, system, knobs))
    first = scheduled(**asked)
    controls = _controls(asked, shares, list(system.partitions), _last(first), int(event))
    player = Play(min=1, max=_last(first), interval=FRAME, value=controls["event"].value)
    # Before the panel's own observers: what they draw must fit the other schedule's events.
    for name in asked:
        controls[name].observe(partial(_refit, controls, scheduled, name), names="value")
    for trait in ("max", "value"):
        link((controls["event"], trait), (player, trait))
    hint = "" if shares else "The share is fixed: this workload brought its own mates."
    return Panel(controls, partial(_draw, scheduled), hint=hint, beside=[player])


def _source(
    source: Workload | Mapping[str, Workload] | None, system: System | None, jobs: int
) -> tuple[Make, System, tuple[float, ...]]:
    """From a share of paired jobs to a workload, its system, and the shares to choose from."""
    if source is None:
        shares = tuple(pairs / len(PAIRS) for pairs in range(len(PAIRS) + 1))
        return _crossing, system or MACHINES, shares
    if isinstance(source, Workload):
        _check_jobs(source.name, source)
        if system is None:
            raise ValueError(f"{source.name}: its machines are unknown; give a system")
        kept = source.keep(np.arange(len(source)) < jobs, f"after the first {jobs}")
        return lambda share: kept, system, ()
    if not isinstance(source, Mapping):
        raise TypeError(
            f"source is of type {type(source).__name__}; expected a Workload, or a mapping of "
            "machines to Workloads"
        )
    machines = {}
    for machine, workload in source.items():
        _check_jobs(machine, workload)
        kept = workload.keep(np.arange(len(workload)) < jobs, f"after the first {jobs}")
        since_first = kept.jobs["submit_time"] - kept.jobs["submit_time"].min()
        machines[machine] = replace(kept, jobs=kept.jobs.assign(submit_time=since_first))
    return partial(_paired, machines), system or _system_of(machines), SHARES


def _system_of(machines: Mapping[str, Workload]) -> System:
    """The machines of several workloads as one system."""
    sizes = {}
    for name, workload in machines.items():
        if workload.machine is None:
            raise ValueError(f"{name}: its number of nodes is unknown; give a system")
        sizes[name] = workload.machine.total_nodes
    return System("+".join(sizes), sizes)


def _check_jobs(name: str, workload: Workload) -> None:
    if not len(workload):
        raise ValueError(f"{name}: no jobs; expected at least one")


def _crossing(share: float) -> Workload:
    """The made-up machines with about so many mates."""
    return deadlock_example(round(share * len(PAIRS)))


def _paired(machines: Mapping[str, Workload], share: float) -> Workload:
    """The machines' jobs with every n-th a mate."""
    return couple(machines, mates_by_proportion(machines, share=share))


def _schedule(
    make: Make,
    system: System,
    knobs: dict[str, Any],
    schemes: str,
    share: float,
    release_interval: float,
) -> CoupledSchedule:
    """What the controls ask for."""
    return simulate_coscheduling(
        make(share),
        system,
        schemes=None if schemes == BASE else schemes,
        release_interval=release_interval or None,
        **knobs,
    )


def _last(schedule: CoupledSchedule) -> int:
    """The number of the last event."""
    return len(moments(schedule))


def _controls(
    asked: dict[str, Any], shares: tuple[float, ...], machines: list[str], last: int, event: int
) -> dict[str, Widget]:
    """The widgets; the share's is disabled where there is nothing to choose."""
    letters = ["".join(each) for each in product("HY", repeat=len(machines))]
    offered = sorted(
        {*INTERVALS, *([asked["release_interval"]] if asked["release_interval"] else [])}
    )
    intervals = [("never", OFF), *((f"{each / MINUTE:g} min", each) for each in offered)]
    near = min(shares, key=lambda each: abs(each - asked["share"])) if shares else asked["share"]
    shares = tuple(sorted({*shares, near}))
    return {
        "schemes": Dropdown(
            options=[(f"{each}: {_spelled(each, machines)}", each) for each in [*letters, BASE]],
            value=asked["schemes"], description="schemes",
        ),
        "share": SelectionSlider(
            options=[(f"{each:.0%}", each) for each in shares], value=near,
            description="jobs with mates", disabled=len(shares) == 1,
        ),
        "release_interval": SelectionSlider(
            options=intervals, value=asked["release_interval"],
            description="release every",
        ),
        "event": IntSlider(min(event, last), 1, last, description="event"),
    }  # fmt: skip


def _spelled(schemes: str, machines: list[str]) -> str:
    """What the letters mean."""
    if schemes == BASE:
        return "no coscheduling"
    told = {"H": "holds", "Y": "yields"}
    return ", ".join(
        f"{name} {told[letter]}" for name, letter in zip(machines, schemes, strict=True)
    )


def _refit(
    controls: dict[str, Widget], scheduled: Scheduled, name: str, change: dict[str, Any]
) -> None:
    """Stay at the same time in the other schedule, which has other events."""
    now = {knob: controls[knob].value for knob in ("schemes", "share", "release_interval")}
    before, after = moments(scheduled(**now | {name: change["old"]})), moments(scheduled(**now))
    event = controls["event"]
    at = before[min(event.value, len(before)) - 1]
    place = max(1, int(np.searchsorted(after, at, side="right")))
    # A slider's value never lies beyond its end, so a longer one is made longer first.
    event.max = max(event.max, len(after))
    event.value = place
    event.max = len(after)


def _draw(scheduled: Scheduled, *, event: int, **asked: Any) -> tuple[go.Figure, str]:
    """What the panel shows for the controls' values."""
    schedule = scheduled(**asked)
    every, names = moments(schedule), job_names(schedule)
    place = min(event, len(every))
    at = float(every[place - 1])
    released = asked["release_interval"]
    how = f"released every {released / MINUTE:g} min" if released else "never released"
    when = f"minute {at / MINUTE:g}, event {place} of {len(every)}"
    title = f"{schedule.policy}, held nodes {how}: {when}"
    picture = plot_coupled_moment(schedule, at=at, title=title, names=names)
    told = [_stressed(sentence) for sentence in tell(schedule, at, names)]
    return picture, "<br>".join([*told, _outcome(schedule)])


def _stressed(sentence: str) -> str:
    """A sentence as HTML, in bold what a reader should not miss."""
    text = escape(sentence)
    for word in ("Deadlock", "That breaks the circle"):
        text = text.replace(word, f"<b>{word}</b>")
    return text


def _outcome(schedule: CoupledSchedule) -> str:
    """What it comes to in the end."""
    lost = lost_node_hours(schedule).items()
    told = ", ".join(f"{m} {hours:,.2f}" if hours < np.inf else f"{m} no end" for m, hours in lost)
    overhead = sync_up_overhead(schedule).dropna()
    sync_up = (
        f" · mean sync-up overhead {overhead.mean() / MINUTE:,.1f} min" if len(overhead) else ""
    )
    stuck = f"{len(schedule.stuck)} jobs never start" if len(schedule.stuck) else "all jobs start"
    return escape(f"In the end: {stuck}{sync_up} · node-hours held idle: {told}")
