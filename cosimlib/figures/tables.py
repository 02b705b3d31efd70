"""Tables as figures."""

import pandas as pd
import plotly.graph_objects as go

from cosimlib.figures import theme


def plot_table(table: pd.DataFrame, *, title: str) -> go.Figure:
    """A table with its column names above it; numbers are set right, texts left."""
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
