"""Strong scaling of applications, and their expected turnaround under a policy.

The paper measured five applications on Edison, of which it prints that all run on 960 nodes with an
efficiency of 49 % or more, and adds a perfect one. Ours follow Amdahl's law, ``t(n) = t(1) · (s +
(1 - s) / n)``, with a serial part s that gives a stated efficiency at 960 nodes, relative to the
least number of nodes, which memory dictates.
"""

import math
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.timesharing.summary import RunSummary
from cosimlib.traces.account import TraceError, read_table
from cosimlib.units import HOUR

MOST_NODES = 960
NODE_HOURS = 40.0
"""Work of every application on its least number of nodes: 2.5 minutes on 960 nodes if perfect."""

APPLICATIONS = {
    "perfect": (1, 1.0),
    "Amdahl 90 %": (4, 0.9),
    "Amdahl 80 %": (16, 0.8),
    "Amdahl 70 %": (32, 0.7),
    "Amdahl 60 %": (64, 0.6),
    "Amdahl 49 %": (256, 0.49),
}
"""Least number of nodes, and efficiency at 960 nodes relative to it."""

COLUMNS = ("application", "nodes", "run_time")
POINTS = 12
"""Sizes of an application, at most."""
MOST_IN_FILE = 2**31 - 1


def applications(scale: float = 1.0) -> pd.DataFrame:
    """Six applications on up to 960 nodes.

    Parameters
    ----------
    scale : float, default 1
        Part of Edison that the machine is: an application that takes so long on 80 of Edison's
        nodes takes it on 10 of an eighth of it. The least size is one whole node.

    Returns
    -------
    pd.DataFrame
        `application`, `nodes`, `run_time` (s, dedicated).
    """
    check.number("scale", scale, above=0)
    tables = []
    for name, (least, efficiency) in APPLICATIONS.items():
        sizes = np.geomspace(max(1.0, least * scale), max(1.0, MOST_NODES * scale), POINTS)
        nodes = np.unique(sizes.round())
        # From efficiency = least · t(least) / (n · t(n)) at n = 960.
        more = MOST_NODES * efficiency
        serial = (1.0 - efficiency) / (1.0 - efficiency + more - least)
        on_one = NODE_HOURS * HOUR / (least * serial + 1.0 - serial)
        run_time = on_one * (serial + (1.0 - serial) / (nodes / scale))
        columns = {"application": name, "nodes": nodes.astype(int), "run_time": run_time}
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def read_applications(path: str | Path) -> pd.DataFrame:
    """Scaling data of one's own: CSV with `application`, `nodes`, `run_time` (s, dedicated).

    Between the sizes given, run times are interpolated linearly, as in the paper. Applications stay
    in the file's order; further columns are not read.
    """
    path = Path(path)
    lines = read_table(path)
    heading = lines[0][1] if lines else []
    for name in COLUMNS:
        if heading.count(name) != 1:
            found = f"{heading.count(name) or 'no'} columns {name!r}"
            wanted = f"expected {', '.join(COLUMNS)}, each once, between commas"
            raise TraceError(f"{path}: {found} in {','.join(heading)!r}; {wanted}")
    if len(lines) < 2:
        raise TraceError(f"{path}: no rows; expected one for each application and number of nodes")
    places = [heading.index(name) for name in COLUMNS]
    rows = [_row(f"{path}: line {n}", [fields[p] for p in places]) for n, fields in lines[1:]]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    twice = table.duplicated(["application", "nodes"])
    if twice.any():
        row = int(twice.to_numpy().argmax())
        name, nodes, _ = rows[row]
        raise TraceError(
            f"{path}: line {lines[row + 1][0]}: {name!r} has nodes={nodes} a second time; expected "
            "each number of nodes once"
        )
    table = table.sort_values("nodes")
    order = dict.fromkeys(name for name, _, _ in rows)
    parts = [_interpolated(table[table["application"] == name]) for name in order]
    return pd.concat(parts, ignore_index=True)


def _row(place: str, fields: list[str]) -> tuple[str, int, float]:
    """One line's application, nodes and run time."""
    name, nodes, text = fields
    demand = partial(check.that, where=place, error=TraceError)
    demand("application", name, bool(name), "a name")
    possible = nodes.isdecimal() and 1 <= int(nodes) <= MOST_IN_FILE
    demand("nodes", nodes, possible, f"a whole number from 1 to {MOST_IN_FILE:,}")
    try:
        run_time = float(text)
    except ValueError:
        run_time = math.nan
    demand("run_time", text, 0 < run_time < math.inf, "seconds above 0")
    return name, int(nodes), run_time


def _interpolated(part: pd.DataFrame) -> pd.DataFrame:
    """The application on sizes between those given too."""
    between = np.geomspace(part["nodes"].min(), part["nodes"].max(), POINTS).round()
    nodes = np.unique(np.concatenate([between, part["nodes"]])).astype(int)
    run_time = np.interp(nodes, part["nodes"], part["run_time"])
    name = part["application"].iloc[0]
    return pd.DataFrame({"application": name, "nodes": nodes, "run_time": run_time})


def turnaround_times(
    table: pd.DataFrame, *summaries: RunSummary, at_least: int = 10
) -> pd.DataFrame:
    """Expected turnaround of applications: dedicated time × mean slowdown of jobs like that.

    Times below 10 s count as that, as in slowdowns.

    Parameters
    ----------
    table : pd.DataFrame
        As of `applications`.
    *summaries : RunSummary
        One per policy.
    at_least : int, default 10
        Bins with fewer jobs give no turnaround.

    Returns
    -------
    pd.DataFrame
        `policy`, `application`, `nodes`, `run_time`, `turnaround_time` (s; NaN for few
        jobs).
    """
    if not summaries:
        raise ValueError("no summaries of runs; give at least one, such as run_batch's")
    check.instance("table", table, pd.DataFrame, expected="a DataFrame, as of applications()")
    check.columns(table, COLUMNS, where="table of applications")
    for place, summary in enumerate(summaries):
        expected = "a RunSummary, as of run_batch"
        check.instance(f"summaries[{place}]", summary, RunSummary, expected=expected)
    tables = []
    for summary in summaries:
        row = np.searchsorted(summary.nodes_edges, table["nodes"], side="right") - 1
        length = table["run_time"].clip(lower=summary.length_edges[0])
        column = np.searchsorted(summary.length_edges, length, side="right") - 1
        inside = (row < summary.bins.shape[0]) & (column >= 0) & (column < summary.bins.shape[1])
        slowdown = np.full(len(table), np.nan)
        counts = np.array(summary.counts)
        bins = np.where(counts >= max(1, at_least), summary.bins, np.nan)
        slowdown[inside] = bins[row[inside], column[inside]]
        turnaround = length * slowdown
        tables.append(table.assign(policy=summary.policy, turnaround_time=turnaround))
    return pd.concat(tables, ignore_index=True)
