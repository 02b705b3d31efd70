"""Runs that are due, and their results in place of older ones: wholly or not at all.

Results of a run that ended well take the place of older ones, whether others failed or not. Kernels
are compiled before the notebooks that need them, which would compile the same at once. The
scorecard joins the claims of all notebooks, and the gallery shows it beside all figures.
"""

import json
import shutil
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.claims import CHECKED, scorecard
from cosimlib.display import count
from cosimlib.figures.images import Images, figures_in, render_images
from cosimlib.figures.publishing import share_library
from cosimlib.files import check_folder, write_whole
from cosimlib.reproduce.execute import execute_all, say
from cosimlib.reproduce.gallery import write_gallery
from cosimlib.reproduce.interrupts import complain
from cosimlib.reproduce.parameters import BadArgumentError
from cosimlib.reproduce.plan import RECORD, Run, given, is_up_to_date, write_record
from cosimlib.reproduce.process import Compilation, Outcome, Task
from cosimlib.reproduce.workspace import PREVIOUS, locked, workspace
from cosimlib.sweep.pools import count_cores
from cosimlib.traces import SYNTHETIC
from cosimlib.warm import NEEDS, PARTS, is_warm

TABS = 4
"""Figures that are drawn at once, at most."""


def run_all(
    runs: list[Run], out: Path, *, force: bool, jobs: int | None, limit: float | None
) -> bool:
    """Run what is due and write the scorecard and the gallery; whether any notebook failed.

    Parameters
    ----------
    runs : list of Run
    out : Path
        Folder of the results.
    force : bool
        Whether what is up to date is run, too.
    jobs : int or None
        Notebooks at once; None for as many as there are cores.
    limit : float or None
        Seconds that a notebook may take; None for any.
    """
    failed = _run_due(runs, out, force, jobs or count_cores(), limit)
    older = " Of runs that failed, results from before count." if failed else ""
    with locked(out):
        counts = write_scorecard(out)
        gallery = write_gallery(out, counts)
    say(f"scorecard: {counts}{older}")
    say(f"gallery: {gallery}")
    return failed


def _run_due(runs: list[Run], out: Path, force: bool, jobs: int, limit: float | None) -> bool:
    """Run what is not up to date; whether any notebook failed."""
    check_folder("--out", out)
    out.mkdir(parents=True, exist_ok=True)
    due = [run for run in runs if force or not is_up_to_date(run, out / run.name)]
    for run in (run for run in runs if run not in due):
        say(f"{run.name}: up to date")
        figures = figures_in(out / run.name)
        if not all(path.with_suffix(".svg").is_file() for path in figures):
            render_images([out / run.name])
    if not due:
        return False
    with workspace(out) as folder:
        outcomes = _execute(due, folder, jobs, limit)
        done = [run for run in due if not outcomes[run.name].error]
        with locked(out):
            for run in done:
                share_library(folder / run.name, out)
                write_record(run, outcomes[run.name].seconds, folder / run.name)
                place(folder / run.name, out / run.name, folder / f"{run.name}{PREVIOUS}")
    return len(done) < len(due)


def _execute(runs: list[Run], folder: Path, jobs: int, limit: float | None) -> dict[str, Outcome]:
    """Execute the runs into folders of a workspace, draw their figures, and say how each went."""
    outcomes: dict[str, Outcome] = {}
    by_name = {run.name: run for run in runs}
    parts = _compilations(folder) if len(runs) > 1 and jobs > 1 and not is_warm() else {}
    # What takes longest is not left for the end.
    longest = sorted(runs, key=lambda run: run.about.get("seconds", np.inf), reverse=True)
    tasks = {run.name: _task(run, folder) for run in longest}
    first = "compiling the kernels and " if parts else ""
    say(f"{first}running {', '.join(by_name)}")
    work: dict[str, Task | Compilation] = {**parts, **tasks}
    with Images(min(jobs, TABS)) as images, closing(execute_all(work, jobs, limit)) as ended:
        for name, outcome in ended:
            outcomes[name] = outcome
            if name in parts:
                if outcome.error:
                    complain(f"{name}: {outcome.error}; notebooks compile what they need")
                continue
            run = by_name[name]
            data = ", ".join(str(run.parameters[key]) for key in ("scale", "trace"))
            if outcome.error:
                shutil.rmtree(tasks[name].folder, ignore_errors=True)  # a disk may be full of it
                complain(f"{run.notebook.name} ({data}): {outcome.error}")
            else:
                say(f"{name}: {count(outcome.cells, 'cell')} in {outcome.seconds:.1f} s ({data})")
                images.draw(tasks[name].folder)
    return outcomes


def _compilations(workspace: Path) -> dict[str, Compilation]:
    """The parts of the kernels as tasks, in the order of `cosimlib.warm`."""
    return {
        _key(part): Compilation(
            part, workspace / f"{_key(part)}.log", frozenset(map(_key, NEEDS.get(part, ())))
        )
        for part in PARTS
    }


def _key(part: str) -> str:
    """The name of a part among tasks, which is no run's."""
    return f"kernels of {part}"


def _task(run: Run, workspace: Path) -> Task:
    """A run as the process that executes it sees it."""
    folder = workspace / run.name
    folder.mkdir()
    trace = str(run.trace) if run.trace else SYNTHETIC
    marks = {"scale": run.parameters["scale"], "trace": trace, "output": str(folder)}
    log = workspace / f"{run.name}.log"
    kernels = run.about.get("kernels", PARTS)
    for part in kernels:
        if part not in PARTS:
            raise BadArgumentError(
                f"{run.notebook.name}: its metadata say kernels: {part!r}; expected parts of "
                f"cosimlib.warm: {', '.join(PARTS)}"
            )
    after = frozenset(map(_key, kernels))
    return Task(run.notebook, folder, marks | dict(run.values), run.parameters, log, after)


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
    record = path.with_name(RECORD)
    if record.is_file():
        parameters = json.loads(record.read_text(encoding="utf-8"))["parameters"]
        table["data"] = ["; ".join([data, *given(parameters)]) for data in table["data"]]
    return table
