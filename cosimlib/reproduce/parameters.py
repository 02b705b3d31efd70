"""Parameters of a notebook: what its cell tagged `parameters` declares, and texts as values of it.

No module is imported here that takes long, so that what is wrong is told at once.

papermill finds the names, types, defaults and help comments. A text from the command line is
converted to the declared type, or to that of the default.
"""

import ast
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cosimlib.extras import import_jsonschema

import_jsonschema()

import nbformat  # noqa: E402
from nbformat import NotebookNode  # noqa: E402
from papermill.models import Parameter  # noqa: E402
from papermill.translators import PythonTranslator  # noqa: E402

CORES, NODES = "cores_per_node", "machine_nodes"
"""Of notebooks: processors of the log that count as one node, and nodes of its machine; 0 as its
header and sizes say."""
OPTIONS = {CORES: "--cores", NODES: "--nodes"}
"""The command's options that set them."""
OURS = {"claims.csv", "claims.md", "index.html", "plotly.min.js", "readme.md"}
"""Names under `figures/` that are no run's, in small letters."""
REQUIRED = ("scale", "trace", "output")
TYPES: dict[str, Any] = {
    "int": int, "float": float, "str": str, "bool": bool,
    "list": list, "tuple": tuple, "dict": dict, "set": set,
}  # fmt: skip


class BadArgumentError(ValueError):
    """The command line, or a notebook that it names, is at fault."""


def check_notebooks(paths: Iterable[Path], texts: dict[str, str]) -> None:
    """Refuse the first notebook that cannot be run, or that has no such parameters.

    Raises
    ------
    BadArgumentError
    """
    for path in paths:
        check_name(path)
        checked_values(read_parameters(read_notebook(path), path.name), texts, path.name)


def check_name(path: Path) -> None:
    """Refuse a notebook whose results would not have a folder of their own inside `figures/`."""
    if not path.is_file():
        raise BadArgumentError(f"notebook {path} is not there")
    name = path.stem
    if path.suffix != ".ipynb":
        raise BadArgumentError(f"{path} is no notebook; expected a name that ends in .ipynb")
    if name.startswith(".") or name.lower() in OURS or not name.isprintable():
        raise BadArgumentError(
            f"notebook {path.name!r}: its results would lie in figures/{name}, which is not a "
            "run's; rename the notebook"
        )


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
    parameters = {parameter.name: parameter for parameter in PythonTranslator.inspect(cells[0])}
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
            offered = [_line(p) for p in parameters.values() if p.name not in REQUIRED]
            known = "".join(f"\n  {line}" for line in offered) or " none"
            raise BadArgumentError(f"{label} has no parameter '{name}'; known are:{known}")
    return {name: _converted(parameters[name], text, label) for name, text in texts.items()}


def _converted(parameter: Parameter, text: str, label: str) -> object:
    """A text as a value of the parameter's type; of an unknown type, as Python or as it is."""
    declared = _type(parameter)
    outer, _, inner = declared.rstrip("]").partition("[")
    try:
        if outer in ("int", "float", "str"):
            return TYPES[outer](text)
        value = ast.literal_eval(text.capitalize() if outer == "bool" else text)
        if outer not in TYPES or _fits(value, outer, inner.removesuffix(",...")):
            return value
    except (ValueError, SyntaxError):
        if outer not in TYPES:
            return text
    raise BadArgumentError(
        f"{label}: parameter '{parameter.name}' got {text!r}; expected {declared}, such as "
        f"{parameter.default}"
    )


def _fits(value: Any, outer: str, inner: str) -> bool:
    """Whether a value is of a type such as ``list[int]``; other inner types are not known."""
    if not isinstance(value, TYPES[outer]):
        return False
    if outer in ("bool", "dict") or inner not in ("int", "float", "str", "bool"):
        return True
    element = (int, float) if inner == "float" else TYPES[inner]
    return all(isinstance(v, element) and isinstance(v, bool) == (inner == "bool") for v in value)


def _type(parameter: Parameter) -> str:
    """The type that a parameter is annotated with, or that its default has; "" where unknown."""
    if parameter.inferred_type_name != "None":
        return parameter.inferred_type_name.replace(" ", "")
    try:
        value = ast.literal_eval(parameter.default)
    except (ValueError, SyntaxError):
        return ""
    return "" if value is None else type(value).__name__


def _line(parameter: Parameter) -> str:
    """A parameter as its cell declares it."""
    kind = _type(parameter) or "any"
    return f"{parameter.name}: {kind} = {parameter.default}  # {parameter.help}".rstrip("# ")


def _assigned(source: str, label: str) -> list[str]:
    """The names that a cell assigns, whatever papermill makes of it."""
    try:
        statements = ast.parse(source).body
    except SyntaxError as error:
        raise BadArgumentError(f"{label}: its parameters cell is no Python: {error}") from error
    targets = [s.targets for s in statements if isinstance(s, ast.Assign)]
    targets += [[s.target] for s in statements if isinstance(s, ast.AnnAssign)]
    return [t.id for group in targets for t in group if isinstance(t, ast.Name)]
