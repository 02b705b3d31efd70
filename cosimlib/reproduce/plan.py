"""Runs of notebooks: their parameters, their folders, and those that are due.

A run is a notebook with its parameters and a place under `figures/`. It is up to date where
`run.json` in that place holds the same fingerprint: of the notebook's sources, the parameters, the
package's source, the table of claims, the trace and files that parameters name.

What a notebook's parameters cell offers, and values for it from the command line.
"""

import ast
import hashlib
import importlib.metadata
import json
import platform
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from papermill.translators import papermill_translators

from cosimlib.claims import statements_path
from cosimlib.kernels.fingerprint import source_hash
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
    """

    notebook: Path
    name: str
    parameters: dict[str, object]
    values: dict[str, object]
    trace: Path | None
    fingerprint: str


def plan_runs(
    notebooks: list[Path], *, scale: str, trace: str | None, values: dict[str, str]
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
    """
    file = None if trace in (None, SYNTHETIC) else _given_trace(trace)
    runs = [run for path in notebooks for run in _runs_of(path, scale, trace, file, values)]
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
    """Write down beside the results what made them."""
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


def _given_trace(trace: str) -> Path:
    """The file that a path or the name of a known trace stands for."""
    if Path(trace).is_file():
        return Path(trace)
    found = find_trace(trace) if trace in TRACES else None
    if found is None:
        raise BadArgumentError(
            f"trace {trace} is neither a file nor a known trace that is here; give a path, "
            f"'{SYNTHETIC}', or fetch one of {', '.join(TRACES)}"
        )
    return found


def _runs_of(
    path: Path, scale: str, trace: str | None, given_file: Path | None, values: dict[str, str]
) -> list[Run]:
    """The runs of one notebook."""
    if not path.is_file():
        raise BadArgumentError(f"notebook {path} is not there")
    notebook = read_notebook(path)
    given = checked_values(read_parameters(notebook, path.name), values, path.name)
    given = {name: _as_file(name, value, path.name) for name, value in given.items()}
    files: dict[str, Path | None] = {path.stem: None}
    if given_file is not None:
        files = {path.stem: given_file.resolve()}
    elif trace is None and (found := _named_trace(notebook, path.name)) is not None:
        files = {path.stem: found.resolve(), f"{path.stem}-{SYNTHETIC}": None}
    runs = []
    for name, file in files.items():
        marks = {"scale": scale, "trace": file.name if file else SYNTHETIC}
        shown = {key: _shown(value) for key, value in given.items()} | marks
        fingerprint = _fingerprint(notebook, given | marks, file)
        runs.append(Run(path.resolve(), name, shown, given, file, fingerprint))
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


def _named_trace(notebook: NotebookNode, label: str) -> Path | None:
    """The file of the trace that a notebook names in its metadata."""
    name = notebook.metadata.get("cosimlib", {}).get("trace")
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


REQUIRED = ("scale", "trace", "output")
CONVERTERS = {"int": int, "float": float, "str": str}
CONTAINERS = {"list": list, "tuple": tuple, "dict": dict, "set": set}
SCALARS = {"int": int, "float": (int, float), "str": str, "bool": bool}


class BadArgumentError(ValueError):
    """The command line, or a notebook that it names, is at fault."""


@dataclass(frozen=True)
class Parameter:
    """A name in the parameters cell, its type and default as written there, its help comment."""

    name: str
    kind: str
    default: str
    help: str

    def __str__(self) -> str:
        return f"{self.name}: {self.kind or 'any'} = {self.default}  # {self.help}".rstrip("# ")


def read_notebook(path: Path) -> NotebookNode:
    """The notebook in a file, in the newest format, where every cell has an id."""
    try:
        return nbformat.v4.upgrade(nbformat.read(path, as_version=4))
    except (OSError, ValueError, nbformat.ValidationError, AttributeError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise BadArgumentError(f"{path.name} cannot be read as a notebook: {reason}") from error


def read_parameters(notebook: NotebookNode, label: str) -> dict[str, Parameter]:
    """The parameters that a notebook declares in its cell tagged `parameters`.

    Raises
    ------
    BadArgumentError
        Where there is no such cell, a line of it is beyond papermill, or `scale`, `trace` or
        `output` is missing.
    """
    cells = [c for c in notebook.cells if "parameters" in c.metadata.get("tags", [])]
    if not cells:
        raise BadArgumentError(f"{label} has no cell tagged 'parameters'; add one")
    found = papermill_translators.find_translator("python3", "python").inspect(cells[0])
    parameters = {
        p.name: Parameter(p.name, _kind(p.inferred_type_name, p.default), p.default, p.help)
        for p in found
    }
    unread = [name for name in _assigned(cells[0].source, label) if name not in parameters]
    if unread:
        raise BadArgumentError(
            f"{label}: papermill cannot read parameter '{unread[0]}'; write it on one line as "
            "'name: type = value  # help' with one '=' and a type without '|'"
        )
    missing = [name for name in REQUIRED if name not in parameters]
    if missing:
        raise BadArgumentError(
            f"{label} has no parameter '{missing[0]}'; its cell tagged 'parameters' must set "
            f"{', '.join(REQUIRED)}; explorers do not, open them with `make lab`"
        )
    return parameters


def checked_values(
    parameters: dict[str, Parameter], texts: dict[str, str], label: str
) -> dict[str, object]:
    """The values of `-p NAME VALUE`, converted to what the notebook declares."""
    for name in texts:
        if name in REQUIRED:
            how = "the runner sets it" if name == "output" else f"use --{name}"
            raise BadArgumentError(f"parameter '{name}' is not for -p: {how}")
        if name not in parameters:
            offered = [str(p) for p in parameters.values() if p.name not in REQUIRED]
            known = "".join(f"\n  {line}" for line in offered) or " none"
            raise BadArgumentError(f"{label} has no parameter '{name}'; known are:{known}")
    return {name: _converted(parameters[name], text, label) for name, text in texts.items()}


def _kind(annotation: str, default: str) -> str:
    """The type that a parameter is annotated with, or else that its default has; "" if unclear."""
    if annotation != "None":
        return annotation.replace(" ", "")
    try:
        value = ast.literal_eval(default)
    except (ValueError, SyntaxError):
        return ""
    return "" if value is None else type(value).__name__


def _assigned(source: str, label: str) -> list[str]:
    """The names that a cell assigns, whatever papermill makes of it."""
    try:
        statements = ast.parse(source).body
    except SyntaxError as error:
        raise BadArgumentError(f"{label}: its parameters cell is no Python: {error}") from error
    targets = [s.targets for s in statements if isinstance(s, ast.Assign)]
    targets += [[s.target] for s in statements if isinstance(s, ast.AnnAssign)]
    return [t.id for group in targets for t in group if isinstance(t, ast.Name)]


def _converted(parameter: Parameter, text: str, label: str) -> object:
    """A value for a parameter, from text."""
    kind = parameter.kind
    wrong = BadArgumentError(
        f"{label}: parameter '{parameter.name}' got {text!r}; expected {kind}, such as "
        f"{parameter.default}"
    )
    if kind == "bool":
        if text.lower() not in ("true", "false"):
            raise wrong
        return text.lower() == "true"
    try:
        if kind in CONVERTERS:
            return CONVERTERS[kind](text)
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        if kind in CONVERTERS or kind.split("[")[0] in CONTAINERS:
            raise wrong from None
        return text
    if not _fits(value, kind):
        raise wrong
    return value


def _fits(value: object, kind: str) -> bool:
    """Whether a value is of a container type such as ``list[int]``; other types are not known."""
    outer, _, inner = kind.rstrip("]").partition("[")
    if outer not in CONTAINERS:
        return True
    if not isinstance(value, CONTAINERS[outer]):
        return False
    element = SCALARS.get(inner.removesuffix(",..."))
    if element is None or outer == "dict":
        return True
    allows_bool = inner == "bool"
    return all(isinstance(v, element) and isinstance(v, bool) <= allows_bool for v in value)
