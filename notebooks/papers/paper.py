"""A run of a paper's notebook: its data, its figures as they are published, and its scorecard."""

import html
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import plotly.graph_objects as go

from cosimlab.figures import Publisher
from cosimlib import checks as check
from cosimlib.files import write_whole
from papers.claims import Claims, Samples
from papers.stored import read_stored, stored_table, with_stored

if TYPE_CHECKING:
    from pandas.io.formats.style import Styler

MARKUP = re.compile(r"<|&(?=#?\w+;)")
"""What a browser would take for HTML in a table's cell; a log's name may hold it."""
NUMBER = re.compile(r"\d+[a-z]?")
"""A figure's number in the paper."""
TABLE = re.compile(r"table-(\d+)")
PUBLISHED = "published.json"
"""The file of a run that lists its figures: a name, and what of the paper it redraws."""
SHOWN = [
    "number",
    "claim",
    "paper",
    "statistic",
    "limits",
    "ours",
    "data",
    "verdict",
    "best",
    "why",
]


class Paper:
    """One run of a paper's notebook.

    Parameters
    ----------
    system : str
        As in `data/claims.csv`, such as ``"5-elastic"``.
    citation : str
        Such as ``"Duplyakin et al. 2017"``.
    data : str
        What this run shows, such as ``"Theta 2023"``.
    output : str or Path
        The folder of figures and claims; empty: nothing is written.
    own : bool, default True
        Whether these are the paper's data. On others nothing is judged.
    used : float, optional
        Share of a log's node-hours that is used, as `cs.metrics.share_used` gives it.
    numbered : bool, default True
        Whether numbers of figures are those of the paper. A study of our own has its own numbers.
    """

    def __init__(
        self,
        system: str,
        citation: str,
        *,
        data: str,
        output: str | Path = "",
        own: bool = True,
        used: float | None = None,
        numbered: bool = True,
    ) -> None:
        self.system, self.own, self.output = system, own, output
        self.numbered = numbered
        self.publisher = Publisher(output, data, paper=citation, used=used)
        self.data = self.publisher.data

    def stored(
        self, name: str, prepare: Callable[..., pd.DataFrame] | None = None, *arguments: object
    ) -> pd.DataFrame | None:
        """The table behind a figure of the stored run at paper scale; None where there is none.

        Parameters
        ----------
        name : str
            Of the figure, as `show` takes it.
        prepare : callable, optional
            What makes the table that is drawn from the one that was published, and its further
            `arguments`.

        Returns
        -------
        pd.DataFrame or None
            As it was published: the columns of the table that `show` gets. None on other data than
            the paper's, too.
        """
        path = stored_table(self.system, self._file(name))
        if not self.own or not path.is_file():
            return None
        table = pd.read_csv(path, encoding="utf-8")
        return table if prepare is None else prepare(table, *arguments)

    def about_stored(self) -> str:
        """The stored run in words, for the note of a figure: its data, date and commit."""
        path = stored_table(self.system, "about").with_suffix(".json")
        if not self.own or not path.is_file():
            return ""
        about = json.loads(path.read_text(encoding="utf-8"))
        return f"Outlines and pale lines: stored run, {about['data']} ({about['date']})."

    @staticmethod
    def _file(name: str) -> str:
        """The name of a figure's files."""
        return f"figure-{name}" if NUMBER.fullmatch(name) else name

    def show(
        self,
        name: str,
        figure: go.Figure,
        table: pd.DataFrame,
        *,
        note: str = "",
        data: str = "",
        redraws: str = "",
    ) -> go.Figure:
        """Publish a figure, the paper's or your own, with the table that it draws.

        Parameters
        ----------
        name : str
            Of the files; ``"1a"`` stands for ``"figure-1a"``.
        figure : go.Figure
            Of `cosimlab.figures`, of Plotly Express, or any other.
        table : pd.DataFrame
            The numbers that are drawn; they are published as CSV.
        note : str
            What a reader must know who sees the figure alone.
        data : str
            What the figure shows, where that is not the run's data.
        redraws : str
            What of the paper it draws anew, such as ``"slide: Average wait"``. By default a name
            that is a number says so: ``"1a"`` is the paper's figure 1a, ``"table-1"`` its table 1.

        Returns
        -------
        go.Figure
            A copy with its caption, which the notebook shows as the last line of a cell.
        """
        check.instance("figure", figure, go.Figure)
        check.instance("table", table, pd.DataFrame)
        redraws = redraws or (_printed_as(name) if self.numbered else "")
        publisher = self.publisher
        if data:
            publisher = Publisher(self.output, data, paper=publisher.paper)
        published = publisher.publish(figure, self._file(name), table, note=note)
        if self.output:
            self._list(self._file(name), redraws)
        return published

    def _list(self, name: str, redraws: str) -> None:
        """Add a figure to the list of the run; one that is shown again keeps its place."""
        path = Path(self.output) / PUBLISHED
        listed = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        listed[name] = redraws
        write_whole(path, (json.dumps(listed, indent=2, ensure_ascii=False) + "\n").encode())

    def scorecard(
        self,
        samples: Mapping[str, Samples],
        *,
        data: str = "",
        stored: bool = False,
    ) -> "Styler | str":
        """Judge the samples, write `claims.csv` and show the table.

        `data` says what was measured, where the figures' label is not enough ("5 seeds"); `stored`
        puts the verdicts of the stored run at paper scale beside ours.
        """
        if not self.own:
            return (
                f"{self.data} is not the paper's machine, so its claims are not judged here. "
                "notebooks/0-your-log.ipynb reports on a log."
            )
        claims = Claims(self.system, data=data or self.data)
        claims.judge(samples)
        larger = read_stored(self.system) if stored else {}
        for claim in claims.verdicts.keys() & larger.keys():
            claims.verdicts[claim] = with_stored(claims.verdicts[claim], larger[claim])
        table = claims.table()
        if self.output:
            path = Path(self.output) / "claims.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, table.to_csv(index=False, lineterminator="\n").encode())
        return _shown(table, claims.data)


def _printed_as(name: str) -> str:
    """What the paper calls a figure of such a name; "" where the name is no number."""
    if NUMBER.fullmatch(name):
        return f"figure {name}"
    found = TABLE.fullmatch(name)
    return f"table {found[1]}" if found else ""


def _shown(table: pd.DataFrame, data: str) -> "Styler":
    """The scorecard of this run as a notebook shows it, under the data that it was judged on."""
    others = table["data"] != data
    caption = f"Data: {data}" + (", unless another is named" if others.any() else "")
    table = table[SHOWN].assign(data=table["data"].where(others, ""))
    shown = (table if others.any() else table.drop(columns="data")).style
    left = {"text-align": "left"}
    props = {"selector": "caption", "props": [*left.items(), ("caption-side", "top")]}
    shown = shown.format(without_markup).set_caption(without_markup(caption))
    return shown.hide(axis="index").set_properties(**left).set_table_styles([props])


def without_markup(cell: object) -> str:
    """A text in which a browser finds no HTML."""
    return MARKUP.sub(lambda found: html.escape(found[0]), str(cell))
