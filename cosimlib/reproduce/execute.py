"""Execution of notebooks by papermill, each in a process of its own, several at once.

A process sends ``(cell, cells)`` when it comes to a code cell, and an `Outcome` when it ends. What
it and its kernel print outside cells goes to a log. Where the caller is interrupted, the processes
are terminated, and with them their kernels.
"""

import logging
import multiprocessing
import os
import re
import sys
import tempfile
import time
from collections.abc import Generator
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from tqdm import tqdm

from cosimlib.sweep.pools import count_cores
from cosimlib.sweep.work import WORKERS

PACKAGE = Path(__file__).resolve().parents[1]
INJECTED = "injected-parameters"
TEXTS = {".csv", ".html", ".ipynb", ".json", ".md", ".svg", ".txt"}
GRACE_SECONDS = 10.0


@dataclass(frozen=True)
class Task:
    """A notebook as the process that executes it needs it.

    Parameters
    ----------
    notebook, folder : Path
        The notebook, and where its results go.
    values : dict
        The parameters that the notebook gets, paths and all.
    shown : dict
        The parameters that its published copy shows.
    log : Path
        Where to put what the kernel says outside cells.
    """

    notebook: Path
    folder: Path
    values: dict[str, object]
    shown: dict[str, object]
    log: Path


@dataclass(frozen=True)
class Outcome:
    """The end of a notebook: in how many seconds and cells, or why not."""

    seconds: float = 0.0
    cells: int = 0
    error: str = ""


def execute_all(tasks: dict[str, Task], jobs: int) -> Generator[tuple[str, Outcome], None, None]:
    """Execute tasks, `jobs` at once, which share the cores; name and outcome of each as it ends."""
    waiting = list(tasks)
    workers = max(1, count_cores() // max(1, min(jobs, len(tasks))))
    context = multiprocessing.get_context("spawn")
    running: dict[Any, tuple[str, BaseProcess, tqdm]] = {}
    channel: Any
    process: BaseProcess
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                name = waiting.pop(0)
                receiver, sender = context.Pipe(duplex=False)
                process = context.Process(target=execute, args=(tasks[name], sender, workers))
                process.start()
                sender.close()
                # A bar on a terminal, and none elsewhere.
                bar = tqdm(desc=name, unit="cell", leave=False, disable=None)
                running[receiver] = name, process, bar
            for channel in connection.wait(list(running)):
                name, process, bar = running[channel]
                outcome = _received(channel, process, bar, tasks[name].log)
                if outcome is not None:
                    del running[channel]
                    channel.close()
                    process.join()
                    bar.close()
                    yield name, outcome
    finally:
        for _, process, bar in running.values():
            process.terminate()
            bar.close()
        for _, process, _ in running.values():
            process.join(GRACE_SECONDS)
            process.kill()
            process.join()


def _received(channel: Any, process: BaseProcess, bar: tqdm, log: Path) -> Outcome | None:
    """The outcome of a process, if it has ended; else its bar moves on."""
    try:
        message = channel.recv()
    except EOFError:
        process.join()
        lines = log.read_text(errors="replace").splitlines() if log.is_file() else []
        last = _first_line("\n".join(reversed(lines))) or "no word of why"
        return Outcome(error=f"its process ended with status {process.exitcode}: {last}")
    if isinstance(message, Outcome):
        return message
    cell, bar.total = message
    bar.update(cell - 1 - bar.n)
    return None


def execute(task: Task, channel: Any, workers: int = 1) -> None:
    """Execute a task in this process with as many worker processes, and send how it goes."""
    os.environ[WORKERS] = str(workers)
    os.environ["TQDM_DISABLE"] = "1"  # bars of progress are no results
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
        nbformat.write(_published(executed, task), task.folder / task.notebook.name)
        _strip_paths(task)
        channel.send(Outcome(time.monotonic() - started, len(_own_cells(executed))))
    except _CellError as error:
        channel.send(Outcome(error=str(error)))


class _CellError(Exception):
    """A cell failed; the message says which one and how."""


def _execute(task: Task, channel: Any) -> NotebookNode:
    """The executed notebook."""
    import papermill
    from papermill.exceptions import PapermillExecutionError

    logging.getLogger("papermill").setLevel(logging.ERROR)
    notebook = nbformat.v4.upgrade(nbformat.read(task.notebook, as_version=4))
    numbers = {cell.id: number for number, cell in enumerate(_own_cells(notebook), start=1)}
    current = "before its first cell"

    def announce(cell: NotebookNode, cell_index: int) -> None:
        nonlocal current
        number = numbers.get(cell.id)
        if number:
            current = f"cell {number} ({_first_line(cell.source)})"
            channel.send((number, len(numbers)))

    try:
        return papermill.execute_notebook(
            notebook,
            None,
            parameters=task.values,
            kernel_name="python3",
            language="python",
            progress_bar=False,
            cwd=task.notebook.parent,
            store_widget_state=False,
            extra_arguments=["--log-level=ERROR"],
            on_cell_execute=announce,
        )
    except Exception as error:
        # A kernel that died or did not start: papermill raises what the layer below it did.
        kind, text = type(error).__name__, str(error)
        if isinstance(error, PapermillExecutionError):
            kind, text = error.ename, error.evalue
        raise _CellError(f"{current}: {kind}: {_first_line(text)}".rstrip(": ")) from None


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
    paths = [Path(value) for value in task.values.values() if isinstance(value, str)]
    paths = [path for path in paths if path.is_absolute()]
    folders |= {str(path.parent): path.parent.name for path in paths}
    folders |= {str(path): path.name for path in paths}
    folders |= {str(task.notebook.parent): ".", str(task.folder): "output"}
    text = re.sub(re.escape(tempfile.gettempdir()) + r"/ipykernel_\d+/", "", text)
    for folder in sorted(folders, key=len, reverse=True):
        depth = len(Path(folder).parts) - 1
        if depth < 1:
            continue
        # A folder of one part may be a part of a web address; a deeper one is the folder itself.
        before = r"(?<![\w./-])" if depth == 1 else ""
        # Plotly's pages escape the slashes in their data.
        for written in (folder, folder.replace("/", "\\u002f")):
            text = re.sub(before + re.escape(written) + r"(?![\w-])", folders[folder], text)
    return text


def _own_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """The code cells of a notebook without papermill's."""
    return [c for c in notebook.cells if c.cell_type == "code" and not _is_injected(c)]


def _is_injected(cell: NotebookNode) -> bool:
    """Whether papermill put a cell there."""
    return INJECTED in cell.metadata.get("tags", [])


def _first_line(text: str) -> str:
    """The first line that is not blank."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def say(line: str) -> None:
    """Print a line above the bars that may be there."""
    tqdm.write(line, file=sys.stdout)
    sys.stdout.flush()
