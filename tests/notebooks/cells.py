"""Code cells of a notebook run in this process, with other parameters, and what they show.

No kernel, no browser, no files: figures are taken as they are published, tables as they are
displayed. `strange` finds what no reader should see: a number that is none, a figure of nothing.
"""

import ast
import contextlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import nbformat
import numpy as np
import pandas as pd
import plotly.graph_objects as go

from cosimlab.figures.publishing import Publisher
from cosimlib.policies import BUILT_IN, SIMULATORS

NO_NUMBER = re.compile(r"(?<!\w)(?:nan|inf|infinity|nat|<na>|&lt;na&gt;)(?!\w)", re.IGNORECASE)
TAG = re.compile(r"<(?!NA>)[^>]*>")


@dataclass
class Shown:
    """What a run of a notebook shows: texts and tables, published figures with their numbers."""

    texts: list[str] = field(default_factory=list)
    figures: dict[str, go.Figure] = field(default_factory=dict)
    numbers: dict[str, str] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=dict)

    def display(self, *values: object) -> None:
        """Take values as a notebook displays them; figures as they were published."""
        for value in values:
            if value is None or isinstance(value, go.Figure):
                continue
            html = getattr(value, "_repr_html_", lambda: None)()
            self.texts.append(TAG.sub(" ", html) if html else repr(value))


def run_cells(path: Path, **parameters: object) -> Shown:
    """Run the code cells of a notebook, its parameters changed after the cell that has them.

    The notebook sees the package's policies alone, and those that it registers are forgotten.
    """
    shown = Shown()
    shown.names |= {"__name__": "__main__", "display": shown.display}
    publish = Publisher.publish

    def note(
        self: Publisher, figure: go.Figure, name: str, numbers: pd.DataFrame, *, note: str = ""
    ) -> go.Figure:
        shown.figures[name] = publish(self, figure, name, numbers, note=note)
        shown.numbers[name] = numbers.to_csv()
        return shown.figures[name]

    printed = io.StringIO()
    with (
        mock.patch.object(Publisher, "publish", note),
        mock.patch.dict(SIMULATORS, BUILT_IN, clear=True),
        contextlib.redirect_stdout(printed),
    ):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code":
                _run(cell.source, f"{path.name}, {cell.id}", shown)
            if "parameters" in cell.metadata.get("tags", []):
                unknown = set(parameters) - set(shown.names)
                assert not unknown, f"{path.name} has no parameters {unknown}"
                shown.names |= parameters
    shown.texts.append(printed.getvalue())
    return shown


def _run(source: str, where: str, shown: Shown) -> None:
    """Run a cell; the value of its last line is displayed."""
    tree = ast.parse(source, where)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, where, "exec"), shown.names)
    if last is not None:
        shown.display(eval(compile(ast.Expression(last.value), where, "eval"), shown.names))


def strange(shown: Shown) -> list[str]:
    """Where a run shows a number that is none, or a figure without points that does not say why."""
    texts = [("displayed", text) for text in shown.texts]
    texts += [(f"numbers of {name}", text) for name, text in shown.numbers.items()]
    for name, figure in shown.figures.items():
        texts += [(f"figure {name}", text) for text in _words(figure.to_plotly_json())]
    found = [
        f"{where}: …{text[max(0, hit.start() - 60) : hit.end() + 20]}…"
        for where, text in texts
        for hit in [NO_NUMBER.search(text)]
        if hit
    ]
    return found + [f"figure {name}: blank" for name, f in shown.figures.items() if _is_blank(f)]


def _words(value: object) -> Iterator[str]:
    """All texts in a figure, and its infinite numbers, which JSON does not have."""
    if isinstance(value, dict):
        for part in value.values():
            yield from _words(part)
    elif isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        if np.isinf(value).any():
            yield "inf"
    elif isinstance(value, list | tuple | np.ndarray):
        for part in value:
            yield from _words(part)
    elif isinstance(value, str) or (isinstance(value, float) and np.isinf(value)):
        yield str(value)


def _is_blank(figure: go.Figure) -> bool:
    """Whether a figure has neither a point nor words instead."""
    traces = (trace.to_plotly_json() for trace in figure.data)
    return not figure.layout.annotations and not any(map(_has_points, traces))


def _has_points(trace: dict[str, Any]) -> bool:
    """Whether a trace has a number to draw, or cells of a table."""
    if trace["type"] == "table":
        return True
    values = (trace.get(axis) for axis in ("x", "y", "z"))
    values = [np.asarray(v).ravel() for v in values if v is not None]
    return bool(values) and all(pd.notna(pd.Series(v, dtype=object)).any() for v in values)
