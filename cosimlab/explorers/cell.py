"""The cell of Python that makes an explorer's answer anew.

A panel remembers the call that made it. The cell repeats this call with the settings of now. Values
such as numbers and paths are written as they are. A workload or another large object is written by
the name of the variable that holds it, or by the name of its public trace. Where there is neither,
the cell has a place for it.
"""

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from IPython import get_ipython

from cosimlab.explorers.knobs import Settings, same
from cosimlib.system import System
from cosimlib.traces import TRACES
from cosimlib.workload import Workload

WIDEST = 88
"""Characters of a line; a longer call has a line per argument."""


@dataclass(frozen=True)
class Call:
    """A call of an explorer, without the settings of its controls.

    Parameters
    ----------
    name : str
        Of the explorer, such as ``"explore_batch"``.
    arguments : mapping of str to object
        Those that differ from the defaults.
    lines : sequence of str
        Lines of Python that make the argument `source`; by default it is written as it is.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    lines: Sequence[str] = ()

    @classmethod
    def of(cls, bound: inspect.BoundArguments, name: str) -> Self:
        """The call of a function of this name with these arguments."""
        given = {key: value for key, value in bound.arguments.items() if key != "settings"}
        defaults = {key: each.default for key, each in bound.signature.parameters.items()}
        different = [key for key in given if not _is_default(given[key], defaults[key])]
        return cls(name, {key: given[key] for key in different})

    def cell(self, settings: Settings) -> str:
        """The cell that makes the answer to the settings."""
        lines, written = list(self.lines), []
        for name, value in {**self.arguments, **settings}.items():
            text, line = _written(name, value)
            if name == "source" and self.lines:
                text, line = name, ""
            lines += [line] if line else []
            written.append(text if name == "source" else f"{name}={text}")
        call = f"panel = lab.{self.name}({', '.join(written)})"
        if len(call) > WIDEST:
            arguments = "".join(f"    {argument},\n" for argument in written)
            call = f"panel = lab.{self.name}(\n{arguments})"
        imports = ["import cosimlab as lab"]
        if any("cs." in line for line in (*lines, call)):
            imports.append("import cosimlib as cs")
        return "\n".join([*imports, "", *lines, call, "panel"])


def _is_default(value: Any, default: Any) -> bool:
    """Whether an argument is as if it were not given."""
    return value is default or (isinstance(value, str | int | float) and same(value, default))


def _expression(value: Any) -> str | None:
    """A value as Python; None if it is no plain value."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str | Path):
        return json.dumps(str(value), ensure_ascii=False)
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    if isinstance(value, System) and value == System.of(value.total_nodes):
        return f"cs.System.of({value.total_nodes})"
    if isinstance(value, tuple | list):
        return _sequence(value)
    return None


def _sequence(values: Sequence[Any]) -> str | None:
    """A tuple or a list of plain values as Python; None if one of them is no plain value."""
    parts = [_expression(each) for each in values]
    if None in parts:
        return None
    inside = ", ".join(filter(None, parts))
    if isinstance(values, list):
        return f"[{inside}]"
    return f"({inside},)" if len(parts) == 1 else f"({inside})"


def _written(name: str, value: Any) -> tuple[str, str]:
    """A value as Python, and the line of Python that must come before it, if there must be one."""
    text = _expression(value)
    if text is not None:
        return text, ""
    shell = get_ipython()
    variables = shell.user_ns if shell is not None else {}
    for variable, held in variables.items():
        if held is value and not variable.startswith("_"):
            return variable, ""
    if isinstance(value, Workload) and value.name in TRACES:
        return "workload", f"workload = cs.load_trace({json.dumps(value.name)})  # all of it"
    return name, f"{name} = ...  # in place of the points: {' '.join(repr(value).split())}"
