"""The explorers as pages for readers: a panel, and a picker for files of their own.

A page loads only its own explorer, and what makes jobs for those that are given none.
"""

import html
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ipywidgets import HTML, FileUpload, HBox, VBox, Widget

from cosimlab import explorers
from cosimlab.explorers.panel import Panel
from cosimlab.folders import checkout
from cosimlib import checks as check
from cosimlib.traces import load
from cosimlib.workload import Workload

SUFFIXES = ".swf,.gz,.csv,.json,.parquet,.txt,.log"
MOST_BYTES = 9_000_000
"""Of uploaded files: Jupyter's servers end connections that send more than 10 MB at once."""
READABLE = "a made-up machine is shown; a log may be SWF, sacct, PBS, Batsim and others"


class Page(NamedTuple):
    """An explorer's page: its title, what it shows, and its panel, of a reader's files or none."""

    title: str
    words: str
    open: Callable[[Sequence[Path]], Panel]
    files: str = "your log"
    shown: str = READABLE
    several: bool = False


def _of_log(name: str, paths: Sequence[Path]) -> Panel:
    """The explorer of this name on a reader's log, or on jobs that it makes."""
    panel: Panel = getattr(explorers, f"explore_{name}")(*_read(paths))
    if paths:
        panel.call = replace(panel.call, lines=[_load(paths[0], "source")])
    return panel


def _load(path: Path, variable: str) -> str:
    """The line of Python that loads a reader's log by its file's name."""
    return f"{variable} = cs.load_trace({json.dumps(path.name, ensure_ascii=False)})"


def _read(paths: Sequence[Path]) -> list[Workload]:
    return [load(path, verbose=False) for path in paths]


def _coscheduling(paths: Sequence[Path]) -> Panel:
    if not paths:
        return explorers.explore_coscheduling(schemes="HH", event=4)
    [log] = _read(paths)
    later = log.jobs["submit_time"] > log.jobs["submit_time"].median()
    panel = explorers.explore_coscheduling(
        {"first": log, "second": log.keep(later, "of the first half")}
    )
    lines = [
        _load(paths[0], "log"),
        'later = log.jobs["submit_time"] > log.jobs["submit_time"].median()',
        'source = {"first": log, "second": log.keep(later, "of the first half")}',
    ]
    panel.call = replace(panel.call, lines=lines)
    return panel


def _advise(paths: Sequence[Path]) -> Panel:
    docs = checkout() / "docs"
    saved = paths or [docs / "advise" / "squeue.json", docs / "advise" / "sinfo.json"]
    if not all(path.is_file() for path in saved):
        raise ValueError("there is no saved queue; give what squeue --json and sinfo --json print")
    model = docs / "advise.example.toml"
    panel = explorers.explore_advise(saved, model=model if model.is_file() else None)
    if paths:
        named = {"source": [path.name for path in paths]}
        panel.call = replace(panel.call, arguments={**panel.call.arguments, **named})
    return panel


PAGES = {
    "batch": Page(
        "A batch scheduler",
        "FCFS, EASY and conservative backfilling by order, load and quality of estimates.",
        partial(_of_log, "batch"),
    ),
    "eviction": Page(
        "An eviction",
        "A burst needs nodes by a deadline: which jobs are killed, which checkpointed, what is "
        "lost?",
        partial(_of_log, "eviction"),
    ),
    "ondemand": Page(
        "Bursts on a batch machine",
        "Bursts come now and then and need nodes soon: who makes way, how late do they start, and "
        "what does that cost?",
        partial(_of_log, "ondemand"),
    ),
    "coscheduling": Page(
        "Coscheduling, event by event",
        "Mates on two machines hold or yield: see a deadlock form, and held nodes released.",
        _coscheduling,
    ),
    "timesharing": Page(
        "Time-sharing",
        "Jobs share nodes: shares at every moment, and who gains.",
        partial(_of_log, "timesharing"),
    ),
    "filling": Page(
        "Containers in the gaps",
        "Jobs of one node fill what a schedule leaves idle: what they bring and cost.",
        partial(_of_log, "filling"),
    ),
    "elastic": Page(
        "A preemption",
        "A host takes nodes back: which ones does a policy give, and which jobs does that kill?",
        partial(_of_log, "elastic"),
    ),
    "what_if": Page(
        "What if the machine were another one?",
        "More or fewer nodes, a run-time limit: waits by size, winners and losers, by a log's own "
        "record.",
        partial(_of_log, "what_if"),
    ),
    "advise": Page(
        "Advice for a live Slurm",
        "Some nodes are needed soon: which jobs of a saved queue should stop, and how?",
        _advise,
        files="your queue",
        shown="a made-up queue is shown; give both files that squeue --json and sinfo --json print",
        several=True,
    ),
}
"""Every explorer's page by its name, in the order in which they are shown."""


def page(name: str) -> VBox:
    """An explorer, one of `PAGES`, with a title and a picker for files."""
    check.choice("page", name, PAGES)
    shown = PAGES[name]
    title, words = html.escape(shown.title), html.escape(shown.words)
    heading = HTML(f'<h2 style="display:inline; margin-right:1em">{title}</h2>{words}')
    try:
        panel: Widget = shown.open([])
    except Exception as error:  # a page without a panel must say why
        panel = HTML(html.escape(str(error)))
    place = VBox([panel])
    return VBox([heading, _picker(shown, place), place])


def _picker(shown: Page, place: VBox) -> HBox:
    """The button that puts a panel of uploaded files in place of the one shown."""
    button = FileUpload(accept=SUFFIXES, multiple=shown.several, description=shown.files)
    message = HTML(html.escape(shown.shown))

    def take(change: dict[str, Any]) -> None:
        uploads = change["new"]
        if not uploads:
            return
        files = {Path(each["name"]).name: bytes(each["content"]) for each in uploads}
        names = html.escape(", ".join(files))
        message.value = f"reading {names} …"
        try:
            panel = _opened(shown, files)
            [before] = place.children
            if isinstance(before, Panel):
                panel.pin(before.pinned)
                before.pin(None)
            place.children = [panel]
            message.value = f"shown: {names}"
        except Exception as error:  # whatever a file holds, the page must say so and live on
            message.value = f"{names} cannot be shown: {html.escape(str(error))}"

    button.observe(take, names="value")
    return HBox([button, message])


def _opened(shown: Page, files: dict[str, bytes]) -> Panel:
    """The panel of uploaded files, which are kept on disk only while they are read."""
    size = sum(map(len, files.values()))
    if size > MOST_BYTES:
        raise ValueError(f"{size:,} bytes; expected at most {MOST_BYTES:,}; gzip them")
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / Path(name).name for name in files]
        for path, content in zip(paths, files.values(), strict=True):
            path.write_bytes(content)
        try:
            return shown.open(paths)
        except Exception as error:  # readers know the names of their files, not where we put them
            raise ValueError(str(error).replace(f"{folder}{os.sep}", "")) from error
