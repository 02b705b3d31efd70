"""Command line of the runner: what to run, where results go, and the exit status.

A run's results take the place of older ones wholly or not at all, however it ends. Kernels are
compiled before several processes would compile the same at once. The scorecard joins the claims of
all notebooks, and the gallery shows it beside all figures.
"""

import argparse
import shutil
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pandas as pd

from cosimlib import checks as check
from cosimlib.claims import CHECKED, scorecard
from cosimlib.display import count
from cosimlib.figures.images import Images, render_images
from cosimlib.figures.publishing import share_library
from cosimlib.files import FRONT_PAGE, check_folder, checkout, write_whole
from cosimlib.reproduce.execute import execute_all, say
from cosimlib.reproduce.gallery import write_gallery
from cosimlib.reproduce.interrupts import interrupts
from cosimlib.reproduce.parameters import BadArgumentError
from cosimlib.reproduce.plan import (
    CORES,
    NODES,
    OPTIONS,
    Run,
    is_up_to_date,
    plan_runs,
    write_record,
)
from cosimlib.reproduce.process import Outcome, Task
from cosimlib.reproduce.workspace import PREVIOUS, locked, workspace
from cosimlib.sweep.pools import count_cores
from cosimlib.traces import SYNTHETIC
from cosimlib.units import MINUTE
from cosimlib.warm import warm

FAILED, BAD_ARGUMENTS, INTERRUPTED = 1, 2, 130
LONGEST = 1e6
TABS = 4
"""Figures that are drawn at once, at most."""
QUICK_LIMIT = 60 * MINUTE
"""Seconds that a notebook may take at quick scale, unless the command line says otherwise."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is due: 0 where all ran, 1 where a notebook failed, 2 for bad arguments."""
    options = _parser().parse_args(arguments)
    try:
        runs = plan_runs(
            options.notebooks or _default_notebooks(),
            scale=options.scale,
            trace=options.trace,
            values=_values(options.parameters),
            size=_given(options),
        )
    except BadArgumentError as error:
        return _complain(str(error), BAD_ARGUMENTS)
    for name in _given(options):
        without = [run.name for run in runs if name not in run.parameters]
        if without:
            say(f"{OPTIONS[name]} plays no part in {', '.join(without)}: no parameter {name}")
    try:
        with interrupts():
            failed = _run_due(runs, options)
            older = " Of runs that failed, results from before count." if failed else ""
            with locked(options.out):
                counts = write_scorecard(options.out)
                gallery = write_gallery(options.out, counts)
            say(f"scorecard: {counts}{older}")
            say(f"gallery: {gallery}")
        return FAILED if failed else 0
    except OSError as error:
        told = f"{error.strerror}: {error.filename or options.out}" if error.strerror else error
        return _complain(f"{told}; results from before are as they were", FAILED)
    except ValueError as error:
        return _complain(str(error), FAILED)
    except KeyboardInterrupt:
        return _complain("interrupted; results that were not finished are dropped", INTERRUPTED)


def _run_due(runs: list[Run], options: argparse.Namespace) -> bool:
    """Run what is not up to date; whether any notebook failed."""
    check_folder("--out", options.out)
    options.out.mkdir(parents=True, exist_ok=True)
    due = [r for r in runs if options.force or not is_up_to_date(r, options.out / r.name)]
    for run in (run for run in runs if run not in due):
        say(f"{run.name}: up to date")
        if not any((options.out / run.name).glob("*.png")):
            render_images([options.out / run.name])
    if not due:
        return False
    if len(due) > 1 and options.jobs > 1:
        say("compiling the kernels, unless that is done")
        warm(options.jobs)
    with workspace(options.out) as folder:
        outcomes = _execute(due, folder, options)
        done = [run for run in due if not outcomes[run.name].error]
        with locked(options.out):
            for run in done:
                share_library(folder / run.name, options.out)
                write_record(run, outcomes[run.name].seconds, folder / run.name)
                place(folder / run.name, options.out / run.name, folder / f"{run.name}{PREVIOUS}")
    return len(done) < len(due)


def _execute(runs: list[Run], folder: Path, options: argparse.Namespace) -> dict[str, Outcome]:
    """Execute the runs into folders of a workspace, draw their figures, and say how each went."""
    outcomes = {}
    by_name = {run.name: run for run in runs}
    tasks = {run.name: _task(run, folder) for run in runs}
    say(f"running {', '.join(by_name)}")
    limit = QUICK_LIMIT if options.scale == "quick" else None
    if options.limit is not None:
        limit = options.limit * MINUTE
    tabs = min(options.jobs, TABS)
    with Images(tabs) as images, closing(execute_all(tasks, options.jobs, limit)) as ended:
        for name, outcome in ended:
            outcomes[name] = outcome
            run = by_name[name]
            data = ", ".join(str(run.parameters[key]) for key in ("scale", "trace"))
            if outcome.error:
                shutil.rmtree(tasks[name].folder, ignore_errors=True)  # a disk may be full of it
                _complain(f"{run.notebook.name} ({data}): {outcome.error}", FAILED)
            else:
                say(f"{name}: {count(outcome.cells, 'cell')} in {outcome.seconds:.1f} s ({data})")
                images.draw(tasks[name].folder)
    return outcomes


def _task(run: Run, workspace: Path) -> Task:
    """A run as the process that executes it sees it."""
    folder = workspace / run.name
    folder.mkdir()
    trace = str(run.trace) if run.trace else SYNTHETIC
    marks = {"scale": run.parameters["scale"], "trace": trace, "output": str(folder)}
    log = workspace / f"{run.name}.log"
    return Task(run.notebook, folder, marks | dict(run.values), run.parameters, log)


def place(folder: Path, target: Path, spare: Path) -> None:
    """Put a finished folder in a target's place; the target's old content goes to `spare`.

    All three are on one file system. Where the move fails, the old content is put back.
    """
    try:
        if target.exists():
            target.rename(spare)
        folder.rename(target)
    except BaseException:
        if spare.exists() and not target.exists():
            spare.rename(target)
        raise


def write_scorecard(figures: Path) -> str:
    """Write `claims.csv` and `claims.md` from those of every notebook; the line of counts."""
    tables = [_read_claims(path) for path in sorted(figures.glob("[!.]*/claims.csv"))]
    text, markdown = scorecard(tables)
    for name, content in {"claims.csv": text, "claims.md": markdown}.items():
        write_whole(figures / name, content.encode())
    return markdown.splitlines()[2]


def _read_claims(path: Path) -> pd.DataFrame:
    """One notebook's claims."""
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
    except pd.errors.EmptyDataError:
        table = pd.DataFrame()
    check.columns(table, CHECKED, where=f"{path.parent.name}/{path.name}")
    return table


def _parser() -> argparse.ArgumentParser:
    """What the command line may say."""
    parser = argparse.ArgumentParser(
        prog="python -m cosimlib.reproduce",
        description="Run notebooks into figures/, those whose results are out of date.",
    )
    add = parser.add_argument
    add("notebooks", nargs="*", type=Path, metavar="NOTEBOOK", help="default: notebooks/*.ipynb")
    add("--scale", choices=["quick", "paper"], default="quick", help="default: quick")
    add("--trace", metavar="PATH", help="a trace file for all notebooks, or 'synthetic'")
    add("--cores", type=_positive, metavar="N", help="of each node; default: as the trace says")
    add("--nodes", type=_positive, metavar="N", help="of its machine; default: as the trace says")
    add(
        "--out",
        type=Path,
        default=checkout() / "figures",
        metavar="FOLDER",
        help="default: figures",
    )
    cores = count_cores()
    add("--jobs", type=_positive, default=cores, metavar="N", help="at once; default: cores")
    add(
        "--limit",
        type=_minutes,
        metavar="MINUTES",
        help="of each notebook; default: 60 at quick scale, none at paper scale",
    )
    add("--force", action="store_true", help="run what is up to date, too")
    add(
        "-p",
        dest="parameters",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "VALUE"),
        help="a parameter of the notebooks",
    )
    return parser


def _given(options: argparse.Namespace) -> dict[str, int]:
    """What the command line says of the trace's machine, by the notebooks' parameters."""
    told = {CORES: options.cores, NODES: options.nodes}
    return {name: number for name, number in told.items() if number is not None}


def _positive(text: str) -> int:
    """A whole number from 1 on."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"got {text!r}; expected a whole number from 1 on")
    return int(text)


def _minutes(text: str) -> float:
    """A number above 0."""
    try:
        minutes = float(text)
    except ValueError:
        minutes = 0.0
    if not 0 < minutes < LONGEST:
        raise argparse.ArgumentTypeError(f"got {text!r}; expected a number of minutes above 0")
    return minutes


def _values(pairs: list[list[str]]) -> dict[str, str]:
    """The `-p` pairs by name."""
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise BadArgumentError(f"parameter '{name}' is given twice")
    return dict(pairs)


def _default_notebooks() -> list[Path]:
    """The checkout's notebooks."""
    notebooks = sorted((checkout() / "notebooks").glob("*.ipynb"))
    notebooks = [path for path in notebooks if path.name != FRONT_PAGE]
    if not notebooks:
        raise BadArgumentError("no notebooks/*.ipynb here; name the notebooks to run")
    return notebooks


def _complain(line: str, status: int) -> int:
    """Say on the error stream what is wrong."""
    sys.stdout.flush()
    print(f"reproduce: {line}", file=sys.stderr)
    return status
