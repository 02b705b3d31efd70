"""Claims: the statements of papers, our numbers, and verdicts.

`data/claims.csv` is the one table of what papers state, one row per fact. A notebook fills in its
system's rows; `papers.scorecard` joins the tables of all notebooks. A claim that was not checked,
or that the data cannot decide, is `unknown`: it is never left out. Nor is a claim decided on less
than half of a log's node-hours. What a model or its input cannot but give is `by construction`: it
says nothing about the paper, and is counted apart from what holds.
"""

import html
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.display import percent, used_data
from cosimlib.files import write_whole

if TYPE_CHECKING:
    from pandas.io.formats.style import Styler

PACKAGE = Path(__file__).resolve().parent
STATED = ["system", "number", "claim", "statement", "paper_value", "source"]
CHECKED = [
    "system",
    "number",
    "claim",
    "statement",
    "paper",
    "ours",
    "data",
    "verdict",
    "why",
]
VERDICTS = ("holds", "fails", "unknown", "by construction")
MARKUP = re.compile(r"<|&(?=#?\w+;)")
"""What a browser would take for HTML in a table's cell; a log's name may hold it."""
LEAST_USED = 0.5
"""Share of a log's node-hours from which on numbers tell something about the log."""

LEAST_JOBS = 100
"""Jobs of a log from which on it can decide claims, where a system does not ask for more."""


class Verdict(NamedTuple):
    """Our number beside a claim; whether it holds, None where that is unknown; why not.

    With `built_in` it holds by construction, and `why` says what builds it in.
    """

    ours: str
    holds: bool | None
    why: str = ""
    built_in: bool = False


def verdict(ours: str, holds: bool, why: str) -> Verdict:
    """A claim that is decided: `why` explains it where it fails."""
    return Verdict(ours, bool(holds), "" if holds else why)


def unknown(ours: str, why: str) -> Verdict:
    """A claim that the data cannot decide, with the reason."""
    return Verdict(ours, None, why)


def by_construction(ours: str, holds: bool, why: str) -> Verdict:
    """A claim that the model or its input cannot but meet, with what builds it in.

    Where it does not hold all the same, it fails: then something is wrong with us.
    """
    return Verdict(ours, bool(holds), why if holds else f"although built in: {why}", bool(holds))


def of_enough_jobs(found: Mapping[str, Verdict], jobs: float) -> dict[str, Verdict]:
    """The verdicts; all are unknown where jobs are fewer than `LEAST_JOBS`, of none as found."""
    if not 0 < jobs < LEAST_JOBS:
        return dict(found)
    why = f"too few jobs: {jobs:,}, of at least {LEAST_JOBS}"
    return {claim: unknown(one.ours, why) for claim, one in found.items()}


class Claims:
    """The claims about one system, to be filled in with our numbers.

    Parameters
    ----------
    system : str
        As in the first column of `data/claims.csv`, such as ``"1-eviction"``.
    data : str
        What our numbers were measured on, as the scorecard prints it.
    used : float, optional
        Share of the log's node-hours that they were measured on, such as `metrics.share_used`. It
        is printed after `data`, and below a half no claim is decided.
    table : pd.DataFrame, optional
        What papers state, by default `read_statements()`.

    Examples
    --------
    >>> import cosimlib as cs
    >>> claims = cs.Claims("1-eviction", data="a log")
    >>> claims.row("greedy-fastest", ours="12 to 40 times", holds=False, why="less is left to gain")
    >>> claims.table()["verdict"].value_counts()
    verdict
    unknown    15
    fails       1
    Name: count, dtype: int64
    """

    def __init__(
        self,
        system: str,
        *,
        data: str,
        used: float | None = None,
        table: pd.DataFrame | None = None,
    ) -> None:
        check.number("used", used, least=0, most=1, kind="a share", none=True, where=system)
        table = read_statements() if table is None else table
        rows = table[table["system"] == system]
        if rows.empty:
            known = ", ".join(table["system"].drop_duplicates())
            raise KeyError(f"no claims about system '{system}'; known are {known}")
        self.system = system
        self.data = used_data(data, used)
        self.used = 1.0 if used is None else float(used)
        self._stated = rows.set_index("claim")
        self._checked: dict[str, tuple[str, str, str, str]] = {}

    def row(
        self,
        claim: str,
        *,
        ours: str,
        holds: bool | None,
        why: str = "",
        data: str = "",
        built_in: bool = False,
    ) -> None:
        """Set our number beside a claim: it holds, fails, or (None) cannot be decided.

        Parameters
        ----------
        claim : str
            Its id in the table.
        ours : str
            Our number, written like the paper's.
        holds : bool or None
        why : str
            What explains a claim that does not hold, cannot be decided, or is built in; required
            there.
        data : str, optional
            What this number was measured on, where that is not what the others were; how much of
            the others' log was used then does not count.
        built_in : bool, default False
            Whether the claim holds by construction, on whatever data.
        """
        self._check(claim, holds, why, built_in)
        if self.used < LEAST_USED and not data and not built_in:
            part = f"only {percent(self.used)} of the log's node-hours were used"
            holds, why = None, part if holds is not None else f"{why.strip()}; {part}"
        decided = "unknown" if holds is None else "holds" if holds else "fails"
        decided = "by construction" if built_in else decided
        self._checked[claim] = (str(ours), data or self.data, decided, why.strip())

    def fill(self, verdicts: Mapping[str, Verdict], *, data: Mapping[str, str] = {}) -> None:
        """Set a verdict beside each claim named, as `row` does; `data` by claim, where another."""
        for claim, found in verdicts.items():
            self.row(claim, data=data.get(claim, ""), **found._asdict())

    def _check(self, claim: str, holds: bool | None, why: str, built_in: bool) -> None:
        """Raise where a row would be wrong."""
        if claim not in self._stated.index:
            known = ", ".join(self._stated.index)
            raise KeyError(f"{self.system} has no claim '{claim}'; known are {known}")
        if claim in self._checked:
            raise ValueError(f"{self.system}: claim '{claim}' was checked already; check it once")
        if holds is not None and not isinstance(holds, bool | np.bool_):
            raise TypeError(
                f"{self.system}: claim '{claim}' got holds={holds!r}; expected True, False or None"
            )
        if built_in and not holds:
            raise ValueError(
                f"{self.system}: claim '{claim}' got holds={holds} and built_in; what is built in "
                "holds"
            )
        if (built_in or not holds) and not why.strip():
            raise ValueError(
                f"{self.system}: claim '{claim}' got holds={holds} and no why; say what explains it"
            )

    def table(self) -> pd.DataFrame:
        """Every claim about the system, in the table's order, with our number and the verdict."""
        unchecked = ("", self.data, "unknown", "not checked")
        checked = [self._checked.get(claim, unchecked) for claim in self._stated.index]
        ours, data, verdict, why = zip(*checked, strict=True)
        table = self._stated.reset_index().rename(columns={"paper_value": "paper"})
        return table.assign(ours=ours, data=data, verdict=verdict, why=why)[CHECKED]

    def show(self) -> "Styler":
        """The scorecard of this run as a notebook shows it, under the data that it was judged on.

        Where some claims were judged on others, a column names them.
        """
        table = self.table()[["number", "claim", "paper", "ours", "data", "verdict", "why"]]
        others = table["data"] != self.data
        told = f"Data: {self.data}" + (", unless another is named" if others.any() else "")
        table = table.assign(data=table["data"].where(others, "")) if others.any() else table.drop(
            columns="data")  # fmt: skip
        shown = table.style.format(_without_markup).set_caption(_without_markup(told))
        left = {"text-align": "left"}
        caption = {"selector": "caption", "props": [*left.items(), ("caption-side", "top")]}
        return shown.hide(axis="index").set_properties(**left).set_table_styles([caption])

    def write(self, folder: str | Path | None) -> None:
        """Write the table as `claims.csv` into a folder; nowhere where the folder is empty."""
        if not folder:
            return
        path = Path(folder) / "claims.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, self.table().to_csv(index=False, lineterminator="\n").encode())


def read_statements(path: Path | None = None) -> pd.DataFrame:
    """Statements of papers: system, number, claim, statement, paper_value and source, in order.

    Parameters
    ----------
    path : Path, optional
        By default the table that came with the package.
    """
    path = statements_path() if path is None else path
    table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
    if list(table.columns[: len(STATED)]) != STATED:
        raise ValueError(
            f"{path.name}: line 1: columns are {', '.join(table.columns)}; "
            f"expected {', '.join(STATED)}"
        )
    table = table[STATED]  # what follows are rules, which `papers.claims` reads
    for line, row in enumerate(table.itertuples(index=False), start=2):
        empty = [name for name in STATED if not getattr(row, name).strip()]
        if empty:
            raise ValueError(f"{path.name}: line {line}: no {empty[0]}; every column is needed")
        if not row.number.isdecimal():
            raise ValueError(f"{path.name}: line {line}: number {row.number!r} is not a number")
    twice = table.duplicated(["system", "claim"])
    if twice.any():
        line = int(twice.to_numpy().argmax())
        claim = table["claim"].iloc[line]
        raise ValueError(f"{path.name}: line {line + 2}: claim '{claim}' is there twice; rename it")
    return table.assign(number=table["number"].astype(int))


def statements_path() -> Path:
    """Path of the table of statements: in the checkout's `data/`, else inside the package."""
    for folder in (PACKAGE.parent, PACKAGE):
        path = folder / "data" / "claims.csv"
        # Installed, the folder above the package is site-packages, whose data/ is not ours.
        if path.is_file() and (folder == PACKAGE or (folder / "pyproject.toml").is_file()):
            return path
    raise FileNotFoundError("no data/claims.csv beside the package or in it; install it anew")


def _without_markup(cell: object) -> str:
    """A text in which a browser finds no HTML."""
    return MARKUP.sub(lambda found: html.escape(found[0]), str(cell))
