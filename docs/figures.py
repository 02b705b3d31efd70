"""Notebooks with live figures: Plotly's JSON becomes HTML that one shared script draws."""

import json
from collections.abc import Callable
from pathlib import Path

from plotly.offline import get_plotlyjs

PLOTLY = "application/vnd.plotly.v1+json"
LIBRARY = "plotly.min.js"


def write_library(folder: Path) -> None:
    """Put Plotly's script into a folder."""
    (folder / LIBRARY).write_text(get_plotlyjs(), encoding="utf-8")


def copy_notebook(origin: Path, target: Path, renew: Callable[[str], str]) -> None:
    """Copy a notebook: texts renewed, figures live, outputs that pages cannot show left out."""
    notebook = json.loads(origin.read_text(encoding="utf-8"))
    above = "../" * (len(target.parts) - target.parts.index("source") - 2)
    script = f'<script src="{above}_static/{LIBRARY}"></script>'
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "markdown":
            cell["source"] = renew("".join(cell["source"]))
        for place, output in enumerate(cell.get("outputs", [])):
            data = output.get("data", {})
            if PLOTLY in data:
                figure = live(data[PLOTLY], f"figure-{number}-{place}")
                output["data"] = {"text/html": script + figure}
                script = ""  # once per page
    target.write_text(json.dumps(notebook, ensure_ascii=False), encoding="utf-8")


def live(content: dict, name: str) -> str:
    """A figure as HTML that fills the width of its column."""
    layout = {key: value for key, value in content["layout"].items() if key != "width"}
    parts = [name, content["data"], {**layout, "autosize": True}, {"responsive": True}]
    # A name in a log must not end the script that it stands in.
    given = ", ".join(json.dumps(part).replace("<", "\\u003c") for part in parts)
    height = layout.get("height", 450)
    return (
        f'<div id="{name}" style="height: {height}px"></div>'
        f"<script>Plotly.newPlot({given});</script>"
    )
