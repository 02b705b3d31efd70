"""Markup in a figure's texts: ours is drawn, that in names of logs, users and queues is text.

Plotly draws a part of HTML: line breaks, bold and italic letters, but links and styles, too; it
runs no scripts. A tag that is not in `OURS` stands in a figure as it was written.
"""

import operator
import re
from typing import Any

import numpy as np
import plotly.graph_objects as go

OURS = ("b", "i", "br", "sub", "sup", "extra")
"""Tags that our figures use."""
FOREIGN = re.compile(rf"<(?!/?(?:{'|'.join(OURS)})\s*/?>)(?=[A-Za-z/!?])")


def plain(figure: go.Figure) -> go.Figure:
    """The figure, or a copy of it in whose texts foreign markup is text.

    Examples
    --------
    >>> import plotly.graph_objects as go
    >>> figure = go.Figure(layout_title_text="<a href='x'>a</a><br><b>b</b> < c")
    >>> print(plain(figure).layout.title.text)
    &lt;a href='x'>a&lt;/a><br><b>b</b> < c
    """
    content = figure.to_dict()
    changed = _plain(content)
    return figure if changed is content else go.Figure(changed)


def _plain(value: Any) -> Any:
    """A part of a figure; the very same where nothing in it is foreign."""
    if isinstance(value, str):
        return FOREIGN.sub("&lt;", value) if "<" in value and FOREIGN.search(value) else value
    if isinstance(value, dict):
        named = {key: _plain(part) for key, part in value.items()}
        return value if all(named[key] is value[key] for key in value) else named
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "OU":
            return value
        listed = value.tolist()
        parts = _plain(listed)
        return value if parts is listed else parts
    if isinstance(value, list | tuple):
        parts = [_plain(part) for part in value]
        return value if all(map(operator.is_, parts, value)) else type(value)(parts)
    return value
