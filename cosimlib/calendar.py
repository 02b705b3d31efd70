"""Calendars: windows in which nodes of a machine are closed, and when these become known.

A window closes nodes from its start to before its end. Its kind says how:

============= =================================================================================
`maintenance` announced: known from `known_from` on, by default always
`reservation` the same; the nodes are kept for users whose jobs are not in the workload
`down`        not announced: nodes fail; known from the window's start on
`drain`       no job may start on the nodes; running jobs end. Known from the window's start on
============= =================================================================================

The rule is that of Slurm's reservations. A job whose requested time would cross a known window does
not start, unless enough nodes stay open until its end. Nodes are alike: a window takes idle nodes
first. When a window begins, running jobs may hold more nodes than stay open, because they exceed
their requests or started before the window was known. Then `on_overrun` decides:

``"wait"``: the jobs run on, and their nodes close as they end. Until then no job starts.

``"kill"``: jobs are killed at the start of the window until the others fit: first those that exceed
their requests, then those that started last (ties: the higher row). A drain kills no job. A killed
job is not queued again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.display import Displayed, Facts, count, duration
from cosimlib.kernels.steps import step_function
from cosimlib.units import LATEST

KINDS = ("maintenance", "reservation", "down", "drain")
UNANNOUNCED = ("down", "drain")
"""Kinds of windows that are known from their start on."""

ON_OVERRUN = ("wait", "kill")
COLUMNS = ("start", "end", "nodes", "kind", "known_from")
NOTES = ("name", "score", "contradicting")
"""Columns that `cosimlab.closures` and `traces.read_reservations` have beside them.

A calendar leaves them out."""
TABLE = f"a table with columns of {', '.join(COLUMNS)}, or pairs of a start and an end"


@dataclass(frozen=True, eq=False, repr=False)
class Calendar(Displayed):
    """Windows in which nodes of a machine are closed.

    Parameters
    ----------
    windows : pd.DataFrame, mapping or sequence of (start, end)
        One row per window: `start` and `end` (s from the start of the trace), `nodes` (all if
        missing), `kind` (one of `KINDS`, ``"maintenance"`` if missing), `known_from` (s; if
        missing, an announced window is always known). By default there is no window.
    on_overrun : {"wait", "kill"}, default "wait"
        What happens to jobs that still run when a window begins; see the module's text.

    Raises
    ------
    ArgumentError
        If a window has no length, a number that is none, another kind, or is known too late.

    Examples
    --------
    >>> import cosimlib as cs
    >>> calendar = cs.Calendar([(100, 200)])
    >>> calendar.windows
       start    end  nodes         kind  known_from
    0  100.0  200.0    NaN  maintenance        -inf
    >>> calendar.capacity(cs.System.of(4).total_nodes).to_dict()
    {-inf: 4, 100.0: 0, 200.0: 4}
    """

    windows: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(COLUMNS)))
    on_overrun: str = "wait"

    def __post_init__(self) -> None:
        check.choice("on_overrun", self.on_overrun, ON_OVERRUN)
        object.__setattr__(self, "windows", _table(self.windows))

    def __len__(self) -> int:
        return len(self.windows)

    def on_machine(self, total_nodes: int) -> pd.DataFrame:
        """The windows with whole numbers of nodes, on a machine of so many.

        Raises
        ------
        ArgumentError
            If a window closes more nodes than the machine has.
        """
        nodes = self.windows["nodes"].fillna(total_nodes).astype(np.int64)
        fine, expected = nodes <= total_nodes, f"at most {count(total_nodes, 'node')}"
        check.rows("nodes", nodes, fine, expected, row=_label, error=check.ArgumentError)
        return self.windows.assign(nodes=nodes)

    def capacity(self, total_nodes: int) -> pd.Series:
        """Open nodes of a machine of so many, from each instant (s) to the next."""
        windows = self.on_machine(total_nodes)
        start, end, nodes = (windows[name].to_numpy() for name in ("start", "end", "nodes"))
        times, closed = step_function(start, end, nodes)
        opened = np.maximum(total_nodes - np.append(0, closed), 0).astype(np.int64)
        index = pd.Index(np.append(-np.inf, times), name="time")
        return pd.Series(opened, index, name="capacity")

    def _heading(self) -> str:
        return count(len(self), "window")

    def _facts(self) -> Facts:
        length = self.windows["end"] - self.windows["start"]
        kinds = self.windows["kind"].value_counts()
        return {
            "kinds": lambda: ", ".join(f"{kind} {n:,}" for kind, n in kinds.items()),
            "together": lambda: duration(float(length.sum())),
            "running jobs": lambda: {"wait": "waited for", "kill": "killed"}[self.on_overrun],
        }


def _table(given: "pd.DataFrame | Mapping | Sequence") -> pd.DataFrame:
    """Windows in order of their starts, every column of which is known."""
    try:
        is_table = isinstance(given, pd.DataFrame | Mapping)
        pairs = {} if is_table else {"columns": ["start", "end"]}
        table = pd.DataFrame(given if is_table else [tuple(pair) for pair in given], **pairs)
    except (TypeError, ValueError) as error:
        raise check.ArgumentError(f"windows={given!r}; expected {TABLE}") from error
    check.columns(table, ("start", "end"), where="calendar", error=check.ArgumentError)
    for name in table.columns.difference([*COLUMNS, *NOTES], sort=False):
        raise check.ArgumentError(f"calendar: unknown column {name!r}; expected {TABLE}")
    table = table.reindex(columns=list(COLUMNS))
    numbers = {name: _numbers(name, table[name]) for name in COLUMNS if name != "kind"}
    table = table.assign(**numbers).sort_values(["start", "end"], ignore_index=True)
    kind = table["kind"].astype(object).where(table["kind"].notna(), "maintenance").astype("str")
    start, end, nodes = table["start"], table["end"], table["nodes"]
    unannounced = kind.isin(UNANNOUNCED)
    known_from = table["known_from"].fillna(-np.inf)
    at_start = unannounced & (table["known_from"].isna() | (known_from == start))
    known_from = known_from.mask(at_start, start)
    limit = f"{LATEST:,.0f}"
    rules = [
        ("kind", kind, kind.isin(KINDS), f"one of {', '.join(KINDS)}"),
        ("start", start, start.abs() < LATEST, f"seconds within ±{limit}"),
        ("end", end, (end > start) & (end < LATEST), f"seconds after the start, below {limit}"),
        ("nodes", nodes, nodes.isna() | ((nodes >= 1) & (nodes % 1 == 0)), "whole nodes from 1"),
        ("known_from", known_from, known_from <= start, "seconds up to the start of the window"),
        (
            "known_from",
            known_from,
            ~unannounced | at_start,
            f"the window's start or none, for {' and '.join(UNANNOUNCED)} are not announced",
        ),
    ]
    for name, values, holds, expected in rules:
        check.rows(name, values, holds, expected, row=_label, error=check.ArgumentError)
    return table.assign(kind=kind, known_from=known_from)


def _numbers(name: str, values: pd.Series) -> pd.Series:
    """A column as floats; refused where it holds anything else, such as dates or truth values."""
    missing = values.isna()
    fine = missing | values.map(check.is_number).astype(bool)
    kinds = "a number, as seconds from the start of the trace are"
    check.rows(name, values, fine, kinds, row=_label, error=check.ArgumentError)
    return values.where(~missing, np.nan).astype(np.float64)


def _label(row: int) -> str:
    return f"window {row} of the calendar"


ALWAYS_OPEN = Calendar()
"""The calendar of a machine that never closes."""
