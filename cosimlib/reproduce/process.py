"""Execution of one notebook by papermill, in a process of its own.

The process sends the runner its kernel's process group, ``(cell, cells, words)`` when it comes to a
code cell, and an `Outcome` when it ends. What it and its kernel print outside cells goes to a log.
The kernel ends with the process, and the process with the runner, whatever ends them.
"""

import logging
import multiprocessing
import os
import re
import signal
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import connection
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from cosimlib.files import PACKAGE, importing_this

INJECTED = "injected-parameters"
TEXTS = {".csv", ".html", ".ipynb", ".json", ".md", ".svg", ".txt"}
BEFORE = "before its first cell"
GRACE_SECONDS = 10.0
LINE = 300
"""Letters of an error's line that are told."""


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
    after : frozenset of str, optional
        Tasks that must have ended before.
    """

    notebook: Path
    folder: Path
    values: dict[str, object]
    shown: dict[str, object]
    log: Path
    after: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Compilation:
    """Kernels to compile before notebooks need them: a part of `cosimlib.warm.PARTS`."""

    part: str
    log: Path
    after: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Outcome:
    """The end of a notebook: in how many seconds and cells, or why not."""

    seconds: float = 0.0
    cells: int = 0
    error: str = ""


def compile_kernels(task: Compilation, channel: Any, environment: Mapping[str, str]) -> None:
    """Compile a part's kernels in this process, and send that it is done."""
    _begin(task.log, environment)
    from cosimlib.warm import compile_part

    _Kernel(channel)
    started = time.monotonic()
    compile_part(task.part)
    channel.send(Outcome(time.monotonic() - started))


def _begin(path: Path, environment: Mapping[str, str]) -> None:
    """Take the runner's environment, and print into a log."""
    os.environ.clear()
    os.environ.update(environment)
    os.environ["TQDM_DISABLE"] = "1"  # bars of progress are no results
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)


def execute(task: Task, channel: Any, environment: Mapping[str, str]) -> None:
    """Execute a task in this process, in the runner's environment, and send how it goes."""
    _begin(task.log, environment)
    # The kernel runs elsewhere, and must import the package whose source was fingerprinted.
    os.environ.update(importing_this(os.environ))
    started = time.monotonic()
    kernel = _Kernel(channel)
    try:
        executed = _execute(task, kernel)
        nbformat.write(_published(executed, task), task.folder / task.notebook.name)
        _strip_paths(task)
        channel.send(Outcome(time.monotonic() - started, len(_own_cells(executed))))
    except _CellError as error:
        channel.send(Outcome(error=str(error)))
    except OSError as error:
        name = Path(error.filename).name if isinstance(error.filename, str) else "its results"
        channel.send(Outcome(error=f"writing {name}: {error.strerror or error}"))


class _Kernel:
    """The process group of this process's kernel, which ends with this process.

    It does so when this process is told to end, and when the one that started it is gone.
    """

    def __init__(self, channel: Any) -> None:
        self.channel, self.group = channel, 0
        # An interrupt from the keyboard is for the runner, which ends this process.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, self._end)
        parent = multiprocessing.parent_process()
        if parent is not None:
            threading.Thread(target=self._end_with, args=(parent.sentinel,), daemon=True).start()

    def started(self, group: int) -> None:
        """Note the group, and let the runner know."""
        self.group = group
        self.channel.send(group)

    def _end(self, *_: Any) -> None:
        """End the kernel, then this process, which clears up behind its kernel."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        end_group(self.group)
        raise SystemExit(1)

    def _end_with(self, sentinel: Any) -> None:
        connection.wait([sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(GRACE_SECONDS)
        os._exit(1)


class _CellError(Exception):
    """A cell failed; the message says which one and how."""


def _execute(task: Task, kernel: _Kernel) -> NotebookNode:
    """The executed notebook."""
    import papermill
    from papermill.exceptions import PapermillExecutionError

    from cosimlib.reproduce.client import ENGINE

    logging.getLogger("papermill").setLevel(logging.ERROR)
    notebook = nbformat.v4.upgrade(nbformat.read(task.notebook, as_version=4))
    numbers = {cell.id: number for number, cell in enumerate(_own_cells(notebook), start=1)}
    current = BEFORE

    def announce(cell: NotebookNode, cell_index: int) -> None:
        nonlocal current
        number = numbers.get(cell.id)
        if number:
            current = f"cell {number} ({first_line(cell.source)})"
            kernel.channel.send((number, len(numbers), current))

    try:
        return papermill.execute_notebook(
            notebook,
            None,
            engine_name=ENGINE,
            parameters=task.values,
            kernel_name="python3",
            language="python",
            progress_bar=False,
            cwd=task.notebook.parent,
            store_widget_state=False,
            extra_arguments=["--log-level=ERROR"],
            on_cell_execute=announce,
            on_start=kernel.started,
        )
    except Exception as error:
        # A kernel that died or did not start: papermill raises what the layer below it did.
        kind, text = type(error).__name__, str(error)
        if isinstance(error, PapermillExecutionError):
            kind, text = error.ename, error.evalue
        raise _CellError(f"{current}: {kind}: {first_line(text)}".rstrip(": ")) from None


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
        # What a link leads to is not the run's own.
        if path.suffix not in TEXTS or not path.is_file() or path.is_symlink():
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


def first_line(text: str) -> str:
    """The first line that is not blank, as far as it is told."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return f"{line[:LINE]} …" if len(line) > LINE else line


def end_group(group: int) -> None:
    """End the processes of a kernel's group at once; 0 is none."""
    if group > 1 and hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
