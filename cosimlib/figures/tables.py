"""Tables as figures."""

import pandas as pd
import plotly.graph_objects as go

from cosimlib import checks as check
from cosimlib.display import UNKNOWN
from cosimlib.figures import theme
from cosimlib.figures.nothing import plot_nothing


def in_words(table: pd.DataFrame) -> pd.DataFrame:
    """A table as a notebook shows it: "unknown" in the place of a number that is none."""
    check.instance("table", table, pd.DataFrame)
    return table.apply(lambda column: column.astype(object).where(column.notna(), UNKNOWN)
                       if column.isna().any() else column)  # fmt: skip


def plot_table(table: pd.DataFrame, *, title: str) -> go.Figure:
    """A table with its column names above it; numbers are set right, texts left."""
    check.instance("table", table, pd.DataFrame)
    if table.empty:
        return plot_nothing(title, "the table has no rows")
    numeric = [pd.api.types.is_numeric_dtype(table[name]) for name in table]
    align = ["right" if number else "left" for number in numeric]
    cells = [
        [f"{value:,.10g}" for value in table[name]] if number else table[name].tolist()
        for name, number in zip(table, numeric, strict=True)
    ]
    picture = theme.figure(title=title, height=150 + 26 * len(table), margin={"b": 30, "l": 25})
    return picture.add_table(
        header={"values": [f"<b>{name}</b>" for name in table], "align": align,
                "fill": {"color": "#EEEEEE"}, "line": {"color": theme.GREY}},
        cells={"values": cells, "align": align, "height": 26, "fill": {"color": "white"},
               "line": {"color": theme.GREY}},
        columnwidth=[max([len(str(name)), *map(len, column)]) + 2
                     for name, column in zip(table, cells, strict=True)],
    )  # fmt: skip
