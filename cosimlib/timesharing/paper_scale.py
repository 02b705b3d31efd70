"""Numbers of Edison's own nodes, stored: they stand beside what quick scale decides otherwise.

`data/paper-scale.csv` has a row per claim: our number on Edison's 5,576 nodes, the verdict that it
led to, the nodes, days and seeds that it is of, and a note where it is not of the run that
``python -m cosimlib.timesharing`` makes. Nothing is judged by them.
"""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from cosimlib.claims import VERDICTS, Verdict, read_statements, statements_path
from cosimlib.timesharing.claims import judge
from cosimlib.timesharing.experiment import Measured, Scale

DECIDED = {True: "holds", False: "fails", None: "unknown"}
SYSTEM = "3-timesharing"
COLUMNS = ["system", "claim", "ours", "verdict", "nodes", "days", "warm_up", "seeds", "note"]


def read_paper_scale(path: Path | None = None) -> pd.DataFrame:
    """Stored numbers of paper scale: a row per claim, all as text.

    Columns are the system, the claim, our number and the verdict; nodes, days, of which `warm_up`
    do not count, and seeds; and a note.

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
    rows = table[table["system"] == SYSTEM].set_index("claim")
    told = {}
    for claim, found in verdicts.items():
        told[claim] = found
        if claim not in rows.index:
            continue
        row, decided = rows.loc[claim], DECIDED[found.holds]
        if decided == row["verdict"] == "holds":
            continue
        contradicts = {decided, row["verdict"]} == {"holds", "fails"}
        stored = f"stored number of {_measured(row)}: {row['ours']}, {row['verdict']}"
        stored = f"paper scale contradicts this: {stored}" if contradicts else stored
        told[claim] = found._replace(why=f"{found.why}; {stored}" if found.why else stored)
    return told


def paper_table(measured: Measured, scale: Scale, *, seed: int = 0) -> pd.DataFrame:
    """The table of runs: a row per claim that they judge, as `read_paper_scale` gives it.

    Parameters
    ----------
    measured : Measured
        As of `measure`.
    scale : Scale
        By which it was measured.
    seed : int, default 0
        The first.
    """
    rows = []
    verdicts = judge(*measured.evidence, others=measured.others, levels=scale.levels)
    for claim, found in verdicts.items():
        span, places = scale.judged_by(claim)
        first, last = seed + places[0], seed + places[-1]
        seeds = f"{first} to {last}" if first < last else f"{first}"
        plan = [f"{span.nodes}", f"{span.days:g}", f"{span.warm_up:g}", seeds, ""]
        rows.append([SYSTEM, claim, found.ours, DECIDED[found.holds], *plan])
    return pd.DataFrame(rows, columns=COLUMNS)


def in_place(table: pd.DataFrame, before: pd.DataFrame) -> pd.DataFrame:
    """A table of some claims, and of the others the rows from before, in the order of statements.

    Parameters
    ----------
    table, before : pd.DataFrame
        As of `paper_table` or `read_paper_scale`.
    """
    rows = pd.concat([table, before[~before["claim"].isin(table["claim"])]]).set_index("claim")
    stated = read_statements().query("system == @SYSTEM")["claim"]
    return rows.loc[stated[stated.isin(rows.index)]].reset_index()[COLUMNS]


def _measured(row: pd.Series) -> str:
    """What a stored number is of, in words."""
    days = f"{row['days']} days, of which {row['warm_up']} do not count"
    seeds = f"{'seeds' if ' to ' in row['seeds'] else 'seed'} {row['seeds']}"
    note = f", {row['note']}" if row["note"] else ""
    return f"{int(row['nodes']):,} nodes, {days}, {seeds}{note}"
