"""Numbers of Edison's own nodes, stored: they stand beside what quick scale decides otherwise.

`data/paper-scale.csv` has a row per claim: our number on Edison's 5,576 nodes, the verdict that it
led to, and how it was measured. Nothing is judged by them.
"""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from cosimlib.claims import VERDICTS, Verdict, statements_path

DECIDED = {True: "holds", False: "fails", None: "unknown"}
COLUMNS = ["system", "claim", "ours", "verdict", "measured"]


def read_paper_scale(path: Path | None = None) -> pd.DataFrame:
    """Stored numbers: system, claim, ours, verdict, and how they were measured.

    Parameters
    ----------
    path : Path, optional
        By default the table that came with the package.
    """
    path = statements_path().with_name("paper-scale.csv") if path is None else path
    table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
    if list(table.columns) != COLUMNS:
        raise ValueError(
            f"{path.name}: line 1: columns are {', '.join(table.columns)}; "
            f"expected {', '.join(COLUMNS)}"
        )
    strange = ~table["verdict"].isin(VERDICTS)
    if strange.any():
        line = int(strange.to_numpy().argmax())
        found = table["verdict"].iloc[line]
        raise ValueError(
            f"{path.name}: line {line + 2}: verdict {found!r} is none of {', '.join(VERDICTS)}"
        )
    return table


def beside_paper_scale(
    verdicts: Mapping[str, Verdict], *, table: pd.DataFrame | None = None
) -> dict[str, Verdict]:
    """The same verdicts, each with the stored number where that has another verdict, or none holds.

    A claim that holds here and not there says so, in the place where others tell why they fail.

    Parameters
    ----------
    verdicts : mapping of str to Verdict
        As of `judge`.
    table : pd.DataFrame, optional
        As of `read_paper_scale`.
    """
    table = read_paper_scale() if table is None else table
    rows = table[table["system"] == "3-timesharing"].set_index("claim")
    told = {}
    for claim, found in verdicts.items():
        told[claim] = found
        if claim not in rows.index:
            continue
        row, decided = rows.loc[claim], DECIDED[found.holds]
        if decided == row["verdict"] == "holds":
            continue
        contradicts = {decided, row["verdict"]} == {"holds", "fails"}
        stored = f"stored number of {row['measured']}: {row['ours']}, {row['verdict']}"
        stored = f"paper scale contradicts this: {stored}" if contradicts else stored
        told[claim] = found._replace(why=f"{found.why}; {stored}" if found.why else stored)
    return told
