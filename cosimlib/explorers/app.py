"""The explorers as pages for readers: a panel, and a picker for a log of their own."""

import html
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ipywidgets import HTML, FileUpload, HBox, VBox, Widget

from cosimlib import checks as check
from cosimlib.elastic import as_batch, prioritize
from cosimlib.eviction import choose_scenario
from cosimlib.explorers.batch import explore_batch
from cosimlib.explorers.coscheduling import explore_coscheduling
from cosimlib.explorers.elastic import explore_elastic
from cosimlib.explorers.eviction import explore_eviction
from cosimlib.explorers.filling import explore_filling
from cosimlib.explorers.panel import Panel
from cosimlib.explorers.timesharing import explore_timesharing
from cosimlib.policies import SIMULATORS
from cosimlib.prepare import prepare_schedule, prepare_workload
from cosimlib.schedule import Schedule
from cosimlib.synthetic import peregrine, with_drawn_estimates
from cosimlib.system import THETA, System

SUFFIXES = ".swf,.gz,.csv,.json,.parquet,.txt,.log"
MOST_BYTES = 9_000_000
"""Of an uploaded log: Jupyter's servers end connections that send more than 10 MB at once."""


class Page(NamedTuple):
    """An explorer's page: its title, what it shows, and its panel, of a log or without one."""

    title: str
    words: str
    open: Callable[[str | None], Panel]
    takes_log: bool = True


def _batch(path: str | None) -> Panel:
    return explore_batch(None if path is None else prepare_workload(path))


def _eviction(path: str | None) -> Panel:
    schedule = prepare_schedule("synthetic" if path is None else path)
    system = replace(THETA, name=schedule.system.name, partitions=dict(schedule.system.partitions))
    schedule = Schedule(
        schedule.workload, system, schedule.policy, schedule.start_time, schedule.end_time
    )
    occupied = min(4352, system.total_nodes)
    scenario = choose_scenario(schedule, jobs=24, occupied=occupied, seed=0)
    needed = max(1, scenario.nodes // 2)
    return explore_eviction(scenario.schedule, at=scenario.at, nodes_needed=needed)


def _coscheduling(path: str | None) -> Panel:
    if path is None:
        return explore_coscheduling(schemes="HH", event=4)
    log = with_drawn_estimates(prepare_workload(path), seed=0)
    return explore_coscheduling({"first": log, "second": log}, schemes="HH")


def _timesharing(path: str | None) -> Panel:
    return explore_timesharing()


def _filling(path: str | None) -> Panel:
    return explore_filling(None if path is None else prepare_workload(path))


def _elastic(path: str | None) -> Panel:
    if path is None:
        workload = prioritize(peregrine(seed=0), {"bigmem": 10.0})
    else:
        workload = as_batch(prepare_workload(path), max_nodes=20, jobs=7275)
    return explore_elastic(SIMULATORS["EASY"](workload, System.of(20)))


PAGES = {
    "batch": Page(
        "A batch scheduler",
        "FCFS, EASY and conservative backfilling by order, load and quality of estimates.",
        _batch,
    ),
    "eviction": Page(
        "An eviction",
        "A burst needs nodes by a deadline: which jobs are killed, which checkpointed, what is "
        "lost? Memory and bandwidth are Theta's.",
        _eviction,
    ),
    "coscheduling": Page(
        "Coscheduling, event by event",
        "Mates on two machines hold or yield: see a deadlock form, and held nodes released.",
        _coscheduling,
    ),
    "timesharing": Page(
        "Time-sharing",
        "Jobs share nodes: shares at every moment, and who gains.",
        _timesharing,
        takes_log=False,
    ),
    "filling": Page(
        "Containers in the gaps",
        "Jobs of one node fill what a schedule leaves idle: what they bring and cost.",
        _filling,
    ),
    "elastic": Page(
        "A preemption",
        "A host takes nodes back: which ones does a policy give, and which jobs does that kill?",
        _elastic,
    ),
}
"""Every explorer's page by its name, in the order in which they are shown."""


def page(name: str) -> VBox:
    """An explorer with a title and, where it can show one, a picker for a log.

    Parameters
    ----------
    name : str
        One of `PAGES`.
    """
    check.choice("page", name, PAGES)
    shown = PAGES[name]
    heading = HTML(f"<h2>{html.escape(shown.title)}</h2><p>{html.escape(shown.words)}</p>")
    place = VBox([shown.open(None)])
    parts: list[Widget] = [heading]
    if shown.takes_log:
        parts.append(_picker(shown, place))
    return VBox([*parts, place])


def _picker(shown: Page, place: VBox) -> HBox:
    """The button that puts a panel of an uploaded log in place of the one shown."""
    button = FileUpload(accept=SUFFIXES, multiple=False, description="your log")
    told = HTML("a made-up machine; SWF, sacct, PBS, Batsim and more can be read")

    def take(change: dict[str, Any]) -> None:
        if not change["new"]:
            return
        upload = change["new"][0]
        name = Path(upload["name"]).name
        told.value = f"reading {html.escape(name)} …"
        try:
            place.children = [_opened(shown, name, bytes(upload["content"]))]
            told.value = f"shown: {html.escape(name)}"
        except Exception as error:  # whatever a file holds, the page must say so and live on
            told.value = f"{html.escape(name)} cannot be shown: {html.escape(str(error))}"

    button.observe(take, names="value")
    return HBox([button, told])


def _opened(shown: Page, name: str, content: bytes) -> Panel:
    """The panel of an uploaded log, which is kept on disk only while it is read."""
    if len(content) > MOST_BYTES:
        raise ValueError(f"{len(content):,} bytes; expected at most {MOST_BYTES:,}; gzip it")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        return shown.open(str(path))
