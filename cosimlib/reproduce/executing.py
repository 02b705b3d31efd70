"""One notebook, executed by papermill in a process of its own."""

import logging
import os
import re
import tempfile
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import nbformat
from nbformat import NotebookNode

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
