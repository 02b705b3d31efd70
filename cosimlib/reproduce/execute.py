"""One notebook, executed by papermill in a process of its own.

Several notebooks at once, each in its own process, and what they say meanwhile.

Results go to where they belong, wholly or not at all; then the scorecard of them all.
"""

import logging
import multiprocessing
import os
import re
import sys
import tempfile
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
from nbformat import NotebookNode
from tqdm import tqdm

from cosimlib import checks as check
from cosimlib.claims import CHECKED, scorecard
from cosimlib.files import write_whole

PACKAGE = Path(__file__).resolve().parents[1]
INJECTED = "injected-parameters"
TEXTS = {".csv", ".html", ".ipynb", ".json", ".md", ".svg", ".txt"}


@dataclass(frozen=True)
class Task:
    """What the process needs to know.

    Parameters
    ----------
    notebook, folder : Path
        The notebook, and where its results go.
    given : dict
        The parameters that the notebook gets, paths and all.
    shown : dict
        The parameters that its published copy shows.
    log : Path
        Where to put what the kernel says outside cells.
    """

    notebook: Path
    folder: Path
    given: dict[str, object]
    shown: dict[str, object]
    log: Path


def execute(task: Task, channel: Connection) -> None:
    """Run a task, and tell through the channel: ("cell", k, n)…, then "done" or "failed"."""
    log = os.open(task.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    if (PACKAGE.parent / "pyproject.toml").is_file():
        # The kernel runs elsewhere, and must import the package whose source was fingerprinted.
        paths = [str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    started = time.monotonic()
    try:
        executed = _execute(task, channel)
        path = task.folder / task.notebook.name
        nbformat.write(_published(executed, task), path)
        _strip_paths(task)
        channel.send(("done", time.monotonic() - started, _count(executed)))
    except _CellError as error:
        channel.send(("failed", str(error)))


class _CellError(Exception):
    """A cell failed; the message says which one and how."""


def _execute(task: Task, channel: Connection) -> NotebookNode:
    """The executed notebook."""
    import papermill
    from papermill.exceptions import PapermillExecutionError

    logging.getLogger("papermill").setLevel(logging.ERROR)
    notebook = nbformat.v4.upgrade(nbformat.read(task.notebook, as_version=4))
    cells = [c for c in notebook.cells if c.cell_type == "code" and not _is_injected(c)]
    numbers = {cell.id: number for number, cell in enumerate(cells, start=1)}
    current = "before its first cell"

    def announce(cell: NotebookNode, cell_index: int) -> None:
        nonlocal current
        number = numbers.get(cell.id)
        if number:
            current = f"cell {number} ({_first_line(cell.source)})"
            channel.send(("cell", number, len(cells)))

    try:
        return papermill.execute_notebook(
            notebook,
            None,
            parameters=task.given,
            kernel_name="python3",
            language="python",
            progress_bar=False,
            cwd=task.notebook.parent,
            store_widget_state=False,
            extra_arguments=["--log-level=ERROR"],
            on_cell_execute=announce,
        )
    except PapermillExecutionError as error:
        reason = f"{error.ename}: {_first_line(error.evalue)}".rstrip(": ")
        raise _CellError(f"{current}: {reason}") from None
    except Exception as error:
        # A kernel that died or did not start: papermill raises what the layer below it did.
        reason = f"{type(error).__name__}: {_first_line(str(error))}".rstrip(": ")
        raise _CellError(f"{current}: {reason}") from None


def _published(executed: NotebookNode, task: Task) -> NotebookNode:
    """The executed notebook without times, random ids, or where its results were written."""
    import papermill.translators

    for part in (executed, *executed.cells):
        for key in ("papermill", "execution"):
            part.metadata.pop(key, None)
        if not part.metadata.get("tags", True):
            del part.metadata["tags"]
    for cell in filter(_is_injected, executed.cells):
        cell.id = INJECTED
        cell.source = papermill.translators.translate_parameters(
            "python3", "python", task.shown, "Parameters"
        ).strip()
    return executed


def _strip_paths(task: Task) -> None:
    """Cut folders of this machine out of every text that the run wrote."""
    for path in sorted(task.folder.rglob("*")):
        if path.suffix not in TEXTS or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        stripped = _without_folders(text, task)
        if stripped != text:
            path.write_text(stripped, encoding="utf-8", errors="surrogateescape")


def _without_folders(text: str, task: Task) -> str:
    """A text in which files are named as seen from the folder that they belong to."""
    folders = {os.environ.get("HOME", ""): "~", str(PACKAGE.parent): "."}
    paths = [Path(value) for value in task.given.values() if isinstance(value, str)]
    paths = [path for path in paths if path.is_absolute()]
    folders |= {str(path.parent): path.parent.name for path in paths}
    folders |= {str(path): path.name for path in paths}
    folders |= {str(task.notebook.parent): ".", str(task.folder): "output"}
    text = re.sub(re.escape(tempfile.gettempdir()) + r"/ipykernel_\d+/", "", text)
    for folder in sorted(folders, key=len, reverse=True):
        depth = len(Path(folder).parts) - 1
        if depth < 1:
            continue
        # A folder like /root may be a part of a web address; a deeper one is the folder itself.
        before = r"(?<![\w./-])" if depth == 1 else ""
        # Plotly's pages escape the slashes in their data.
        for written in (folder, folder.replace("/", "\\u002f")):
            text = re.sub(before + re.escape(written) + r"(?![\w-])", folders[folder], text)
    return text


def _is_injected(cell: NotebookNode) -> bool:
    """Whether papermill put a cell there."""
    return INJECTED in cell.metadata.get("tags", [])


def _count(notebook: NotebookNode) -> int:
    """How many code cells of its own a notebook has."""
    return sum(c.cell_type == "code" and not _is_injected(c) for c in notebook.cells)


def _first_line(text: str) -> str:
    """The first line that is not blank."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


GRACE_SECONDS = 10.0


@dataclass(frozen=True)
class Outcome:
    """How a notebook ended: in how many seconds and cells, or why not."""

    seconds: float = 0.0
    cells: int = 0
    error: str = ""


def supervise(tasks: dict[str, Task], jobs: int) -> Generator[tuple[str, Outcome], None, None]:
    """Execute tasks, `jobs` at once; name and outcome of each as it ends."""
    waiting = list(tasks.items())
    context = multiprocessing.get_context("spawn")
    with _running() as running, _Bars() as bars:
        while waiting or running:
            while waiting and len(running) < jobs:
                name, task = waiting.pop(0)
                receiver, sender = context.Pipe(duplex=False)
                process: BaseProcess = context.Process(target=execute, args=(task, sender))
                process.start()
                running[receiver] = (name, process)
                sender.close()
            for channel in _with_news(running):
                name, process = running[channel]
                outcome = _heard(channel, process, tasks[name], bars, name)
                if outcome is not None:
                    del running[channel]
                    channel.close()
                    process.join()
                    bars.close(name)
                    yield name, outcome


def say(line: str) -> None:
    """Print a line above the bars that may be there."""
    tqdm.write(line, file=sys.stdout)
    sys.stdout.flush()


def _with_news(channels: Iterable[Any]) -> list[Any]:
    """Those channels, at least one, that have something to say or were closed."""
    return connection.wait(list(channels))


def _heard(
    channel: Any, process: BaseProcess, task: Task, bars: "_Bars", name: str
) -> Outcome | None:
    """The outcome, where that is what a process told or its end tells."""
    try:
        kind, *facts = channel.recv()
    except EOFError:
        process.join()
        said = task.log.read_text(errors="replace").splitlines() if task.log.is_file() else []
        last = next((line.strip() for line in reversed(said) if line.strip()), "no word of why")
        return Outcome(error=f"its process ended with status {process.exitcode}: {last}")
    if kind == "cell":
        bars.update(name, *facts)
        return None
    return Outcome(error=facts[0]) if kind == "failed" else Outcome(*facts)


@contextmanager
def _running() -> Iterator[dict[Any, tuple[str, BaseProcess]]]:
    """The processes at work, which are ended where the caller is."""
    running: dict[Any, tuple[str, BaseProcess]] = {}
    try:
        yield running
    finally:
        processes = [process for _, process in running.values()]
        for process in processes:
            process.terminate()
        for process in processes:
            process.join(GRACE_SECONDS)
            if process.is_alive():
                process.kill()
                process.join()


class _Bars:
    """On a terminal a bar for each notebook at work; elsewhere nothing."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._bars: dict[str, tqdm] = {}

    def __enter__(self) -> "_Bars":
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self._bars):
            self.close(name)

    def update(self, name: str, cell: int, cells: int) -> None:
        """Show that a notebook is at its `cell`-th code cell of `cells`."""
        if self._shown and name not in self._bars:
            self._bars[name] = tqdm(total=cells, desc=name, unit="cell", leave=False)
        if self._shown:
            bar = self._bars[name]
            bar.update(cell - 1 - bar.n)

    def close(self, name: str) -> None:
        """Take a notebook's bar away."""
        if name in self._bars:
            self._bars.pop(name).close()


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
    tables = [_read(path) for path in sorted(figures.glob("[!.]*/claims.csv"))]
    text, markdown = scorecard(tables)
    for name, content in {"claims.csv": text, "claims.md": markdown}.items():
        write_whole(figures / name, content.encode())
    return markdown.splitlines()[2]


def _read(path: Path) -> pd.DataFrame:
    """One notebook's claims."""
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
    except pd.errors.EmptyDataError:
        table = pd.DataFrame()
    check.columns(table, CHECKED, where=f"{path.parent.name}/{path.name}")
    return table
