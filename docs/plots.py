"""A live picture of each plot of `lab.figures`, drawn by the example of its docstring."""

import doctest
import inspect
import json

import plotly.graph_objects as go

import cosimlab as lab
from docs.figures import LIBRARY, live

PLOTS = {
    "Distributions and maps": ("heat_map", "ecdf", "violins", "boxes"),
    "Lines, bars and areas": ("lines", "bars", "areas"),
    "Schedules": ("plot_gantt", "plot_batch", "plot_use"),
    "Eviction": ("plot_trade_off",),
}
"""The plots by the headings of the page."""


def plots() -> str:
    """What stands below the text of docs/plots.md: every plot, as Markdown."""
    parts = [f'```{{raw}} html\n<script src="_static/{LIBRARY}"></script>\n```\n']
    for heading, names in PLOTS.items():
        parts += [f"## {heading}\n", *map(_plot, names)]
    return "\n".join(parts)


def _plot(name: str) -> str:
    """One plot: what it draws, the code of its example, and the picture."""
    function = getattr(lab.figures, name)
    first_line = (inspect.getdoc(function) or "").partition("\n")[0]
    figure = json.loads(example_figure(name).to_json())
    return (
        f"### {name}\n\n{first_line}\n\n```python\n{example_code(name)}```\n\n"
        f"```{{raw}} html\n{live(figure, f'plot-{name}')}\n```\n"
    )


def example_code(name: str) -> str:
    """The example of a plot, up to the line that makes its figure."""
    parsed = doctest.DocTestParser().get_examples(inspect.getdoc(getattr(lab.figures, name)) or "")
    lines = [example.source for example in parsed]
    last = max((at for at, line in enumerate(lines) if line.startswith("figure = ")), default=None)
    if last is None:
        raise ValueError(f"lab.figures.{name}: its docstring has no example with `figure = ...`")
    return "".join(lines[: last + 1])


def example_figure(name: str) -> go.Figure:
    """The figure that the example of a plot makes."""
    names: dict[str, object] = {}
    exec(compile(example_code(name), f"lab.figures.{name}", "exec"), names)
    return names["figure"]
