"""Runs of notebooks: their parameters, their folders, and those that are due.

A run is a notebook with its parameters and a folder under `figures/`. It is up to date where
`run.json` in that folder holds the same fingerprint: of the notebook's sources, the parameters, the
package's source, the table of claims, the trace and files that parameters name.
"""

import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from nbformat import NotebookNode

from cosimlib.claims import statements_path
from cosimlib.kernels.fingerprint import source_hash
from cosimlib.reproduce.parameters import (
    OPTIONS,
    REQUIRED,
    BadArgumentError,
    check_name,
    checked_values,
    read_notebook,
    read_parameters,
)
from cosimlib.traces import SYNTHETIC, TRACES, find_trace, is_log

RECORD = "run.json"
PACKAGES = ("cosimlib", "numba", "numpy", "pandas", "papermill", "plotly")


@dataclass(frozen=True)
class Run:
    """A notebook to run, and where to.

    Parameters
    ----------
    notebook : Path
    name : str
        The folder's name under `figures/`.
    parameters : dict
        As they may be published: files by their names, and not where the output goes.
    values : dict
        Those given on the command line, as they are.
    trace : Path or None
        None where the data are synthetic.
    fingerprint : str
        Changes when the results may.
    about : mapping
        What the notebook's metadata say of how to run it: `kernels`, the parts of `cosimlib.warm`
        that it needs (without them all), and `seconds`, about how long it takes.
    """

    notebook: Path
    name: str
    parameters: dict[str, object]
    values: dict[str, object]
    trace: Path | None
    fingerprint: str
    about: Mapping[str, Any] = field(default_factory=dict)


def plan_runs(
    notebooks: list[Path],
    *,
    scale: str,
    trace: str | None,
    values: dict[str, str],
    size: Mapping[str, int] = MappingProxyType({}),
) -> list[Run]:
    """Every notebook's runs: with the trace given, or else with the one that it names and without.

    Parameters
    ----------
    notebooks : list of Path
    scale : str
    trace : str or None
        A file, the name of a known trace that is there, or ``"synthetic"`` for no trace even where
        a notebook names one.
    values : dict
        Texts for the notebooks' own parameters.
    size : mapping of str to int
        Of the trace given: `parameters.CORES`, `parameters.NODES`, for notebooks that have them.
    """
    file = None if trace in (None, SYNTHETIC) else _given_trace(trace)
    if size and file is None:
        option = OPTIONS[next(iter(size))]
        raise BadArgumentError(f"{option} is of a log's machine; name the log with --trace")
    runs = [run for path in notebooks for run in _runs_of(path, scale, trace, file, values, size)]
    places: dict[str, Path] = {}
    for run in runs:
        if run.name in places:
            first, second = places[run.name].name, run.notebook.name
            raise BadArgumentError(
                f"{first} and {second} would both write '{run.name}'; rename one"
            )
        places[run.name] = run.notebook
    return runs


def is_up_to_date(run: Run, folder: Path) -> bool:
    """Whether a folder holds the whole result of this very run."""
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        whole = all((folder / name).is_file() for name in record["files"])
        return whole and record["fingerprint"] == run.fingerprint
    except (OSError, ValueError, KeyError, TypeError):
        return False


def write_record(run: Run, seconds: float, folder: Path) -> None:
    """Write the record of a run, all that made its results, beside them."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != RECORD)
    record = {
        "notebook": run.notebook.name,
        "parameters": run.parameters,
        "fingerprint": run.fingerprint,
        "seconds": round(seconds, 1),
        "versions": _versions(),
        "files": sorted(path.relative_to(folder).as_posix() for path in files),
    }
    text = json.dumps(record, indent=2, ensure_ascii=False, default=repr)
    (folder / RECORD).write_text(text + "\n", encoding="utf-8")


def given(parameters: Mapping[str, object]) -> list[str]:
    """What a run was given besides its scale and trace, in words."""
    return [f"{name} {value}" for name, value in parameters.items() if name not in REQUIRED]


def _given_trace(trace: str) -> Path:
    """The file that a path or the name of a known trace stands for."""
    if Path(trace).is_file():
        return Path(trace)
    found = find_trace(trace) if trace in TRACES else None
    if Path(trace).is_dir():
        logs = sorted(path.name for path in Path(trace).iterdir() if is_log(path.name))
        such = f", such as {Path(trace) / logs[0]}" if logs else ""
        raise BadArgumentError(f"trace {trace} is a folder; give the path of a log{such}")
    if found is None:
        name = trace if trace in TRACES else "NAME"
        raise BadArgumentError(
            f"trace {trace} is neither a file nor a known trace that is here; give a path, "
            f"'{SYNTHETIC}', or fetch one of {', '.join(TRACES)} by "
            f"python -c \"import cosimlib; cosimlib.load_trace('{name}')\""
        )
    return found


def _runs_of(
    path: Path,
    scale: str,
    trace: str | None,
    file: Path | None,
    values: dict[str, str],
    size: Mapping[str, int],
) -> list[Run]:
    """The runs of one notebook."""
    check_name(path)
    notebook = read_notebook(path)
    declared = read_parameters(notebook, path.name)
    converted = checked_values(declared, values, path.name)
    own = {name: _as_file(name, value, path.name) for name, value in converted.items()}
    own = {name: number for name, number in size.items() if name in declared} | own
    files: dict[str, Path | None] = {path.stem: file.resolve() if file else None}
    about = _about(notebook, path.name)
    if trace is None and (found := _named_trace(about, path.name)) is not None:
        files = {path.stem: found.resolve(), f"{path.stem}-{SYNTHETIC}": None}
    runs = []
    for name, file in files.items():
        marks = {"scale": scale, "trace": file.name if file else SYNTHETIC}
        shown = {key: _shown(value) for key, value in own.items()} | marks
        fingerprint = _fingerprint(notebook, own | marks, file)
        runs.append(Run(path.resolve(), name, shown, own, file, fingerprint, about))
    return runs


def _as_file(name: str, value: object, label: str) -> object:
    """A text that names a file, by its whole path: notebooks run in a folder of their own."""
    if not isinstance(value, str):
        return value
    if Path(value).is_file():
        return str(Path(value).resolve())
    if is_log(value):
        raise BadArgumentError(
            f"{label}: parameter '{name}' got {value!r}, which is no file; give the path of one"
        )
    return value


def _shown(value: object) -> object:
    """A value as it may be published: a path on this machine by its last part."""
    is_path = isinstance(value, str) and Path(value).is_absolute()
    return Path(str(value)).name if is_path else value


def _about(notebook: NotebookNode, label: str) -> Mapping[str, Any]:
    """What a notebook's metadata say of how to run it."""
    about = notebook.metadata.get("cosimlib", {})
    fine = isinstance(about, Mapping)
    _expect(label, "cosimlib", about, fine, "names with values, such as {'seconds': 30}")
    kernels, seconds = about.get("kernels", ()), about.get("seconds", 0)
    fine = isinstance(kernels, list | tuple) and all(isinstance(part, str) for part in kernels)
    _expect(label, "kernels", kernels, fine, "a list of names of parts of cosimlib.warm")
    fine = isinstance(seconds, int | float) and seconds >= 0
    _expect(label, "seconds", seconds, fine, "a number from 0 on")
    return about


def _expect(label: str, name: str, value: object, fine: bool, expected: str) -> None:
    """Refuse a value of a notebook's metadata."""
    if not fine:
        raise BadArgumentError(f"{label}: its metadata say {name}: {value!r}; expected {expected}")


def _named_trace(about: Mapping[str, Any], label: str) -> Path | None:
    """The file of the trace that a notebook names in its metadata."""
    name = about.get("trace")
    if name is None:
        return None
    try:
        return find_trace(name)
    except (KeyError, ValueError) as error:
        reason = error.args[0] if error.args else error
        raise BadArgumentError(f"{label}: its metadata name trace {name!r}: {reason}") from error


def _fingerprint(notebook: NotebookNode, parameters: dict[str, object], trace: Path | None) -> str:
    """A hash of all that the results depend on, but for the versions of other packages."""
    texts = [Path(value) for value in parameters.values() if isinstance(value, str)]
    parts = [
        [(cell.cell_type, cell.source) for cell in notebook.cells],
        sorted((name, repr(value)) for name, value in parameters.items()),
        source_hash(),
        _file_hash(statements_path()),
        _file_hash(trace) if trace else "",
        *(_file_hash(path) for path in texts if path.is_absolute() and path.is_file()),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _file_hash(path: Path) -> str:
    """The hash of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _versions() -> dict[str, str]:
    """Versions of Python and of the packages that shape the results."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions
