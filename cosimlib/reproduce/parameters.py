"""What a notebook's parameters cell offers, and values for it from the command line."""

import ast
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from papermill.translators import papermill_translators

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
