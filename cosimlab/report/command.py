"""Report on a job log: sentences, tables and one page; the command ``cosim-report``."""

import argparse
import html
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd

from cosimlab.ending import Arguments, check_counts, status_of
from cosimlab.report.history import (
    change_section,
    months_section,
    outcomes_section,
    requests_section,
)
from cosimlab.report.limits import limits_section
from cosimlab.report.log import Log, open_log
from cosimlab.report.nodes import bursts_section, fillers_section, lending_section
from cosimlab.report.overview import OPEN, Changes, Tile, changes, picture, tiles
from cosimlab.report.page import Section, capital, document, folded, table_html, tiles_html
from cosimlab.report.policies import policies_section, timesharing_section
from cosimlab.report.waits import log_section, starts_section, waits_section
from cosimlab.whatif import question_of
from cosimlib import checks as check
from cosimlib.display import count
from cosimlib.files import check_page, write_whole
from cosimlib.system import System
from cosimlib.traces.catalog import path_of
from cosimlib.workload import Workload

SECTIONS = (
    log_section,
    waits_section,
    limits_section,
    starts_section,
    policies_section,
    bursts_section,
    fillers_section,
    lending_section,
    timesharing_section,
    months_section,
    outcomes_section,
    requests_section,
)
"""Sections in order; one that is None stays away."""

COLUMNS = {
    "effect": "mean wait",
    "gains": "who gains",
    "loses": "who loses",
    "held_truth": "such intervals held the truth in",
}
"""Columns of the table of changes, and their names."""

Say = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Report:
    """Report on a log: the findings, tables and pictures of all sections.

    ``print(report)`` shows the findings, ``report`` as the last line of a cell shows everything,
    ``report["waits"]`` is one section.

    Parameters
    ----------
    name : str
        Name of the log.
    sections : tuple of Section
    basis : str
        Text on the data of the report.
    tiles : tuple of Tile
        The numbers of the first screen.
    picture : tuple of str
        Picture of the first screen (SVG), and how to read it.
    changes : Changes, optional
        Changes ranked by what they would bring, or why that is open.
    """

    name: str
    sections: tuple[Section, ...]
    basis: str
    tiles: tuple[Tile, ...] = ()
    picture: tuple[str, str] = ("", "")
    changes: Changes | None = None

    @property
    def findings(self) -> tuple[str, ...]:
        """The findings of all sections, in order."""
        return tuple(finding for section in self.sections for finding in section.findings)

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """All tables by their captions."""
        return {caption: t for section in self.sections for caption, t in section.tables.items()}

    def __getitem__(self, name: str) -> Section:
        check.choice("section", name, [section.name for section in self.sections])
        return next(section for section in self.sections if section.name == name)

    def __str__(self) -> str:
        """What changes would bring, then the findings, in the order of the page."""
        lines = [f"Report on {self.name}", *filter(None, [str(self.changes or "")])]
        return "\n".join([*lines, *(f"- {each}" for each in self.findings)])

    def __repr__(self) -> str:
        return f"<Report {self.name}: {count(len(self.sections), 'section')}>"

    def _repr_html_(self) -> str:
        return self._body()

    def to_html(self, path: str | Path) -> Path:
        """Write the report as one page that needs no network, for screens and for paper.

        Parameters
        ----------
        path : str or Path
            An existing file is replaced once the page is whole.
        """
        path = Path(path)
        write_whole(path, document(f"Report on {self.name}", self._body()).encode())
        return path

    def _body(self) -> str:
        links = "".join(
            f'<a href="#{section.name}">{html.escape(section.title)}</a>'
            for section in self.sections
        )
        parts = "".join(
            f'<section id="{section.name}"><h2>{html.escape(section.title)}</h2>'
            f"{section._repr_html_()}</section>"
            for section in self.sections
        )
        drawn, note = self.picture
        return (
            f"<h1>Report on {html.escape(self.name)}</h1>{tiles_html(self.tiles)}{drawn}"
            f'<p class="note">{html.escape(note)} {html.escape(self.basis)}</p>'
            f"{self._changes()}<nav>{links}</nav>{parts}"
        )

    def _changes(self) -> str:
        """The changes as a table, and sentences on them; without changes only the sentences."""
        if self.changes is None:
            return ""
        found, table = self.changes, ""
        if found.rows:
            rows = pd.DataFrame([vars(each) for each in found.rows]).set_index("rank")
            rows["effect"] = [": ".join(filter(None, (e.effect, e.means))) for e in found.rows]
            rows = rows.drop(columns="means").rename(columns=COLUMNS)
            ranked = {each.rank for each in found.rows} - {OPEN}
            best = ", the best first" if len(ranked) > 1 else ""
            drawn = table_html(rows, f"Changes{best}")
            table = f'<div class="changes">{drawn}</div>'
        sentences = "".join(f"<p>{html.escape(each)}</p>" for each in found.sentences)
        title = f"<h2>{html.escape(found.title)}</h2>"
        return f"{title}{table}{sentences}{folded(found.computed)}"


def report(
    log: str | Path | Workload | Log,
    *,
    system: System | None = None,
    memory_per_node: float | None = None,
    bandwidth: float | None = None,
    seed: int = 0,
    budget: float = 60.0,
    since: str | float | None = None,
    what_if: Sequence[str] = (),
    progress: Say | None = None,
) -> Report:
    """Report on a job log: how the machine is used, who waits, and what would change that.

    Parameters
    ----------
    log : str, Path, Workload or Log
        A path, the name of a public trace, or jobs; or the result of `open_log`, whose settings
        then count.
    system : System, optional
        The machine, if the log's is missing or wrong.
    memory_per_node : float, optional
        GB; by default that of the system, or a range from small machines to Theta.
    bandwidth : float, optional
        Bandwidth of the parallel file system, GB/s; the same default.
    seed : int, default 0
        Seed of logs drawn anew, and of the memory of jobs.
    budget : float, default 60.0
        Approximate CPU seconds for a log of 250,000 jobs; it limits the number of logs drawn anew.
    since : str or float, optional
        A date, or seconds of the log: the report compares the weeks before and after it.
    what_if : sequence of str, optional
        Changes of the first screen, such as ``"nodes=+10%"``, ``"limit=24h"``, ``"run_time=0.9"``
        or ``"without=user:7"``. By default a short list is tried.
    progress : callable, optional
        Called with a line of text before each section.

    Returns
    -------
    Report

    Examples
    --------
    >>> import cosimlab as lab
    >>> lab.report("three-jobs.swf.gz", budget=1)
    <Report three-jobs: 8 sections>
    """
    asked = [what_if] if isinstance(what_if, str) else list(what_if)
    for text in asked:
        question_of(text, "what_if")
    say = progress or (lambda line: None)
    say("reading the log")
    opened = (
        log
        if isinstance(log, Log)
        else open_log(
            log,
            system=system,
            memory_per_node=memory_per_node,
            bandwidth=bandwidth,
            seed=seed,
            budget=budget,
        )
    )
    # A date that is none of the log's is an error at once, not after minutes.
    changed = None if since is None else change_section(opened, since=since)
    say(f"what if: {len(opened.workload):,} jobs")
    found = changes(opened, asked)
    sections: list[Section] = []
    for make in SECTIONS:
        say(f"{make.__name__.removesuffix('_section')}: {len(opened.workload):,} jobs")
        section = make(opened)
        sections += [section] if section is not None else []
    sections += [] if changed is None else [changed]
    jobs = count(len(opened.schedule.workload), "job")
    basis = (
        f"{capital(opened.schedule.policy)} schedule of {jobs} on {opened.machine.name}; seed "
        f"{opened.seed}, budget {opened.budget:g} s."
    )
    if opened.unit != "node":
        basis += f" A node of this log is a {opened.unit}."
    first = tiles(opened), picture(opened), found
    return Report(opened.workload.name, tuple(sections), basis, *first)


def parser() -> argparse.ArgumentParser:
    """Arguments of the command line."""
    made = Arguments(
        prog="cosim-report",
        description="Write a report on a job log as one HTML page: load, waits, policies, bursts.",
        epilog="example: cosim-report my.log -o report.html",
    )
    add = made.add_argument
    add("log", help="path of a job log (SWF, sacct, PBS, ...), or the name of a public trace")
    add(
        "-o",
        "--output",
        type=Path,
        default=Path("report.html"),
        metavar="PATH",
        help="page to write; default: report.html",
    )
    add("--nodes", type=int, help="size of the machine; default: the log's")
    add("--unit", choices=("nodes", "cores", "gpus"), help="what is counted; default: nodes")
    add("--partition", help="only the jobs of this partition, or queue")
    add(
        "--columns",
        metavar="OURS=THEIRS,...",
        help="columns of a CSV, such as submit_time=queued,run_time=elapsed,nodes=size",
    )
    add("--cores", type=int, help="processors per node; default: the log's")
    add("--since", metavar="DATE", help="compare the weeks before and after it, as 2024-03-01")
    add(
        "--what-if",
        action="append",
        default=[],
        metavar="CHANGE",
        help="such as nodes=+10%%, limit=24h, without=user:7 or run_time=0.9; may be repeated",
    )
    add("--memory", type=float, metavar="GB", help="memory per node; default: a range")
    add("--bandwidth", type=float, help="of the parallel file system, GB/s; default: a range")
    add("--seed", type=int, default=0, help="random seed; default: 0")
    add(
        "--budget",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="approximate CPU time; default: 60",
    )
    return made


def columns_of(text: str) -> dict[str, str]:
    """Names of a file's columns by ours, from ``submit_time=queued,nodes=size``."""
    pairs = [part.partition("=") for part in text.split(",")]
    for ours, equal, theirs in pairs:
        fine = bool(ours.strip() and equal and theirs.strip())
        check.that("--columns", text, fine, "pairs such as submit_time=queued,nodes=size")
    return {ours.strip(): theirs.strip() for ours, _, theirs in pairs}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the report on a log; status 0 for success, 1 and a message for an error."""
    return status_of("cosim-report", partial(_report, parser().parse_args(arguments)))


def _report(given: argparse.Namespace) -> int:
    """Write the report, and say how far it is."""
    began = time.monotonic()

    def say(line: str) -> None:
        print(f"{time.monotonic() - began:6.1f} s  {line}", file=sys.stderr, flush=True)

    check_page("--output", given.output, path_of(given.log))
    check_counts(nodes=given.nodes, cores=given.cores)
    check.whole("--seed", given.seed, 0)
    for option, unit in (("memory", "GB"), ("bandwidth", "GB/s"), ("budget", "seconds")):
        value = getattr(given, option)
        if value is not None:
            check.number(f"--{option}", value, above=0, kind=unit)
    for text in given.what_if:
        question_of(text, "--what-if")
    say(f"opening {given.log}")
    log = open_log(
        given.log,
        cores_per_node=given.cores,
        unit=given.unit,
        partition=given.partition,
        columns=None if given.columns is None else columns_of(given.columns),
        nodes=given.nodes,
        memory_per_node=given.memory,
        bandwidth=given.bandwidth,
        seed=given.seed,
        budget=given.budget,
    )
    made = report(log, since=given.since, what_if=given.what_if, progress=say)
    say(f"wrote {made.to_html(given.output)}")
    print(made)
    return 0
