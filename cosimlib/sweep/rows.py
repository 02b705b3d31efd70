"""Rows of a cell as JSON lines: numbers, texts, True, False and nothing, exact to the last bit.

The first line says of which cell and how many rows, so that half a file is never taken for a whole.
"""

import json
from collections.abc import Collection, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd

ROWS = "a dict, a list of dicts or a DataFrame"


class NotRowsError(TypeError):
    """A function swept over has returned what cannot be rows of a table."""


def encode(result: object, taken: Collection[str]) -> list[str]:
    """The lines of a function's result, one per row.

    Raises
    ------
    NotRowsError
        Where the result is not rows, or a row has one of the columns `taken` by the grid.
    """
    return [json.dumps(_plain_row(row, taken)) for row in _rows(result)]


def whole_cell(labels: Mapping[str, object], lines: list[str]) -> bytes:
    """A cell as the content of a file."""
    first = json.dumps({"cell": dict(labels), "rows": len(lines)}, default=str)
    return "".join(f"{line}\n" for line in (first, *lines)).encode()


def decode(content: bytes) -> list[dict[str, Any]] | None:
    """The rows in a file's content; None where it is not whole."""
    try:
        first, *rows = map(json.loads, content.decode().splitlines())
        return rows if first["rows"] == len(rows) else None
    except (ValueError, KeyError, TypeError):
        return None


def _rows(result: object) -> list[Any]:
    """A result as a list of rows."""
    if isinstance(result, Mapping):
        return [result]
    if isinstance(result, pd.DataFrame):
        if not result.columns.is_unique:
            twice = result.columns[result.columns.duplicated()][0]
            raise NotRowsError(f"the function returned a table with two columns {twice!r}")
        named = [name for name in result.index.names if name is not None]
        table = result.reset_index(named) if named else result
        return table.to_dict("records")
    if isinstance(result, list | tuple):
        return list(result)
    raise NotRowsError(f"the function returned {_kind(result)}; expected {ROWS}")


def _plain_row(row: Any, taken: Collection[str]) -> dict[str, Any]:
    """A row of plain values, with names that are free."""
    if not isinstance(row, Mapping):
        raise NotRowsError(f"the function returned a list that holds {_kind(row)}; expected {ROWS}")
    for name in row:
        if not isinstance(name, str):
            raise NotRowsError(f"the function returned a column {name!r}; expected names as texts")
        if name in taken:
            raise NotRowsError(
                f"the function returned a column {name!r}, which the sweep's table has already; "
                "leave it out or give it another name"
            )
    return {name: _plain(name, value) for name, value in row.items()}


def _plain(name: str, value: Any) -> bool | int | float | str | None:
    """A value that JSON holds exactly."""
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, str):
        return str(value)
    raise NotRowsError(
        f"the function returned {_kind(value)} in column {name!r}; expected a number, a text, "
        "True, False or None"
    )


def _kind(value: object) -> str:
    return f"a value of type {type(value).__name__}"
