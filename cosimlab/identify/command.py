"""Which rule made a schedule: ``python -m cosimlab.identify jobs.csv --nodes 128``."""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cosimlab.ending import Arguments, check_counts, status_of
from cosimlab.identify.identification import Identification, identify
from cosimlab.identify.printed import UNITS
from cosimlab.identify.witness import Witness
from cosimlib import checks as check
from cosimlib import traces
from cosimlib.display import count
from cosimlib.extras import needed_by
from cosimlib.files import check_writable, write_whole
from cosimlib.system import System
from cosimlib.traces import TraceError
from cosimlib.traces.account import read_bytes
from cosimlib.traces.catalog import path_of
from cosimlib.traces.columns import FORMAT, NEEDED
from cosimlib.traces.texts import is_parquet, read_csv
from cosimlib.units import LATEST
from cosimlib.workload import InvalidWorkloadError, Workload

STARTS = "start_time"
"""The column of starts, if no other one is named."""

NO_RULE = 3
"""Status where it is none of the rules."""

PAGE, IMAGES = ".html", (".png", ".pdf", ".svg", ".jpg", ".webp")
"""Endings of figures: a page, or an image, which Kaleido writes."""


def parser() -> argparse.ArgumentParser:
    """Arguments of the command line."""
    made = Arguments("python -m cosimlab.identify", description=__doc__)
    add = made.add_argument
    add(
        "jobs",
        help="a CSV with submit_time, run_time, requested_time (seconds), nodes and the starts, or "
        "a log of any format with starts",
    )
    add("--starts", help=f"column of starts, by default {STARTS}")
    add("--nodes", type=int, help="nodes of the machine")
    add("--precision", type=float, help="seconds to which starts are known")
    add("--rules", nargs="+", help="names of rules, by default all")
    add("--figure", help="where to write the witness: .html, .png, .pdf or .svg")
    add("--table", help="where to write the shares of all rules, as CSV")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; status 0 if a rule was named, 3 if it is none of them, 1 for an error."""
    return status_of("identify", partial(_identify, parser().parse_args(arguments)))


def _identify(chosen: argparse.Namespace) -> int:
    """Print what was found, and write what was asked for."""
    check_counts(nodes=chosen.nodes)
    for written in (chosen.figure, chosen.table):
        if written is not None:
            check_writable(written, path_of(chosen.jobs))
    fine = chosen.table is None or chosen.table != chosen.figure
    check.that("--table", chosen.table, fine, "another file than that of --figure")
    _check_figure(chosen.figure)
    path = Path(chosen.jobs)
    workload = traces.load(chosen.jobs, verbose=False)
    try:
        found = _found(path, workload, chosen)
    except InvalidWorkloadError as error:
        broken = str(error).removeprefix(f"{workload.name}: ")
        raise TraceError(f"{path}: {broken}") from error
    print(found)
    if chosen.table is not None:
        write_whole(Path(chosen.table), found.table.to_csv(index=False).encode())
    if chosen.figure is not None and found.witness is not None:
        _write(found.witness, Path(chosen.figure))
    elif chosen.figure is not None:
        print(f"{chosen.figure} is not written: there is no witness to draw")
    return 0 if found.exact else NO_RULE


def _found(path: Path, workload: Workload, chosen: argparse.Namespace) -> Identification:
    """The rules of the starts of a log that is read."""
    system = _machine(path, workload, chosen.nodes)
    column = _column_of_starts(path, workload, chosen.starts)
    _check_jobs(path, workload, system, column, chosen.precision)
    starts = None if column is None else workload.jobs[column]
    return identify(workload, starts, system=system, rules=chosen.rules, precision=chosen.precision)


def _check_figure(figure: str | None) -> None:
    """Refuse a figure that cannot be drawn: its name has another ending, or an extra is missing."""
    if figure is None:
        return
    ending = Path(figure).suffix.lower()
    expected = f"a name that ends in {PAGE}, {', '.join(IMAGES[:-1])} or {IMAGES[-1]}"
    check.that("--figure", figure, ending in (PAGE, *IMAGES), expected)
    _drawing()
    if ending in IMAGES:
        with needed_by(f"a figure in {ending}"):
            import kaleido  # noqa: F401  Plotly needs it


def _drawing() -> Callable[[Witness], Any]:
    """What draws a witness; it is loaded for `--figure` alone, and needs an extra."""
    with needed_by("--figure"):
        from cosimlab.figures.gantt import plot_witness
    return plot_witness


def _write(witness: Witness, path: Path) -> None:
    """Write a figure as a page or as an image, as the ending says."""
    figure, ending = _drawing()(witness), path.suffix.lower()
    if ending == PAGE:
        content = figure.to_html().encode()
    else:
        content = figure.to_image(format=ending.removeprefix("."), scale=2)
    write_whole(path, content)


def _machine(path: Path, workload: Workload, nodes: int | None) -> System:
    """The machine of so many nodes, or the log's own."""
    if nodes is not None:
        return System.of(nodes)
    if workload.machine is None:
        raise TraceError(f"{path}: the nodes of the machine are unknown; give them, as --nodes 128")
    return workload.machine


def _column_of_starts(path: Path, workload: Workload, name: str | None) -> str | None:
    """The column of starts; None for those that the log recorded."""
    wanted = name or STARTS
    if wanted in workload.jobs:
        return wanted
    if name is None and "recorded_start" in workload.jobs:
        return None
    known = [column for column in workload.jobs if workload.jobs[column].notna().any()]
    raise TraceError(
        f"{path}: no column {wanted}; name the column of starts, as --starts NAME; the columns are "
        f"{', '.join(known)}"
    )


def _check_jobs(
    path: Path, workload: Workload, system: System, column: str | None, precision: float | None
) -> None:
    """Raise an error for the first line of a CSV with a job that is too wide or a wrong start."""
    most = system.total_nodes
    if not path.is_file() or traces.recognize(path) != "columns" or is_parquet(path):
        wide = workload.jobs["nodes"] > most
        if wide.any():
            job = workload.label(int(wide.idxmax())).removeprefix(f"{workload.name}: ")
            nodes = count(int(workload.jobs["nodes"].max()), "node")
            raise TraceError(
                f"{path}: {job} and others have up to {nodes}; the machine has {most}: give its "
                "size with --nodes, or leave these jobs out"
            )
        return
    texts = read_csv(path, read_bytes(path), None, needed=NEEDED, format_name=FORMAT)
    nodes, submit_time = texts.numbers("nodes"), texts.numbers("submit_time")
    expected = f"{count(most, 'node')} at most, as the machine has; give its size with --nodes"
    texts.fine("nodes", nodes <= most, expected)
    if column is None:
        return
    start_time = texts.numbers(column)
    expected = f"a start in seconds below {LATEST:,.0f}; leave out jobs that did not start"
    texts.fine(column, start_time < LATEST, expected)
    early = (start_time < submit_time - max(1.0, precision or 0.0)).to_numpy()
    if early.any():
        submitted = float(submit_time[int(np.argmax(early))])
        expected = f"a start that is not before its submission at {submitted:.15g}{UNITS}"
        check.rows(
            column,
            start_time,
            ~early,
            expected,
            row=lambda row: f"{path}: {texts.place(row)}",
            error=TraceError,
        )
