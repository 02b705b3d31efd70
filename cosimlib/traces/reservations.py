"""Reservations that a scheduler lists, as windows for `cosimlib.Calendar`.

*Reservations of a live scheduler* are read from Slurm's and PBS's own listings: ``scontrol show
reservation`` as text, in one line each or in several, or as JSON, and ``pbs_rstat -f``. Of each
reservation its start, its end and its number of whole nodes are read. Its kind is ``"maintenance"``
where Slurm lists the flag ``MAINT`` or PBS's name of it begins with M, else ``"reservation"``. PBS
tells when a reservation was made: it is known from then on. Slurm does not tell; its reservations
count as always known. Left out are reservations without nodes, those that PBS has not confirmed or
has deleted, and the later instances of those that recur.
"""

import re
import zoneinfo
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.traces.account import TraceError, parses, read_bytes
from cosimlib.traces.texts import label, number, read_json
from cosimlib.workload import Workload

EXPECTED = "scontrol show reservation, as text or --json, or pbs_rstat -f"
RESERVATIONS = ("name", "start", "end", "nodes", "kind", "known_from")

SLURM = re.compile(r"^ReservationName=", re.MULTILINE)
PBS = re.compile(r"^Resv ID: *", re.MULTILINE)
PAIR = re.compile(r"(?:^|(?<=\s))(\w+)=(\S*)")
ATTRIBUTE = re.compile(r"^\s*([\w.]+) = (.*)$", re.MULTILINE)
NONE_LISTED = "No reservations in the system"
UNHELD = (
    "RESV_NONE",
    "RESV_UNCONFIRMED",
    "RESV_WAIT",
    "RESV_DELETED",
    "RESV_BEING_DELETED",
    "RESV_DELETING_JOBS",
)
"""States of a reservation of PBS that keeps no nodes."""


@parses(EXPECTED)
def read_reservations(
    path: str | Path, log: Workload, *, timezone: str | None = None
) -> pd.DataFrame:
    """The windows that a scheduler lists as reservations, for `cosimlib.Calendar`.

    Parameters
    ----------
    path : str or Path
        What ``scontrol show reservation``, the same with ``--json``, or ``pbs_rstat -f`` printed.
    log : Workload
        Whose times the windows have: its `began` tells when they begin.
    timezone : str, optional
        That of the machine, such as ``"Europe/Berlin"``. Needed where one of listing and log has
        local times and the other has not. ``SLURM_TIME_FORMAT=%s scontrol …`` prints seconds since
        1970, which need none if the log has such times. In the night in which clocks go back, an
        hour comes twice: the first is taken. An hour that clocks leave out stands for the next
        instant that they show.

    Returns
    -------
    pd.DataFrame
        `name`, `start`, `end` (s), `nodes`, `kind` and `known_from` (s; minus infinity if not
        printed).

    Raises
    ------
    TraceError
        For a file that is none of these, and a reservation without a start, an end or nodes.
    ArgumentError
        If the log has no calendar time, or a timezone is needed.
    """
    check.instance("log", log, Workload)
    began = log.began
    if began is None:
        raise check.ArgumentError(
            f"{log.name}: no calendar time; expected a log that tells when it began, or "
            "dataclasses.replace(log, began=pd.Timestamp(…))"
        )
    rows = []
    for name, start, end, nodes, kind, known in _listed(Path(path)):
        times = [_instant(path, name, printed) for printed in (start, end)]
        if not nodes >= 0:
            raise TraceError(f"{path}: reservation {name}: no number of nodes; expected {EXPECTED}")
        since = _instant(path, name, known) if known else None
        if nodes:
            seconds = [_seconds(each, began, timezone) for each in times]
            made = -np.inf if since is None else _seconds(since, began, timezone)
            rows.append((name, *seconds, nodes, kind, min(made, seconds[0])))
    table = pd.DataFrame(rows, columns=list(RESERVATIONS))
    return table.astype(dict.fromkeys(["start", "end", "nodes", "known_from"], np.float64))


def _listed(path: Path) -> Iterator[tuple[str, Any, Any, float, str, Any]]:
    """Name, start, end, nodes, kind and time of making of each, times as they are printed."""
    data = read_bytes(path)
    text = data.decode("utf-8-sig", "replace")
    if text.lstrip().startswith("{"):
        yield from _of_json(path, data)
    elif SLURM.search(text):
        for block in SLURM.split(text)[1:]:
            known = dict(PAIR.findall(block))
            kind = _kind("MAINT" in known.get("Flags", "").split(","))
            nodes = _number(known.get("NodeCnt"))
            yield _name(block), known.get("StartTime"), known.get("EndTime"), nodes, kind, None
    elif PBS.search(text):
        for block in PBS.split(text)[1:]:
            known, name = dict(ATTRIBUTE.findall(block)), _name(block)
            if known.get("reserve_state", "") not in UNHELD:
                times = (known.get("reserve_start"), known.get("reserve_end"))
                nodes = _number(known.get("Resource_List.nodect"))
                yield name, *times, nodes, _kind(name.startswith("M")), known.get("ctime")
    elif text.strip() and NONE_LISTED not in text:
        raise TraceError(f"{path}: no reservations; expected {EXPECTED}")


def _of_json(path: Path, data: bytes) -> Iterator[tuple[str, Any, Any, float, str, Any]]:
    """The reservations of what ``scontrol show reservation --json`` prints."""
    for each in read_json(path, data, EXPECTED, "reservations")[1]:
        name = label(each.get("name")) or "without a name"
        keys = ("start_time", "end_time", "node_count")
        start, end, nodes = (number(each.get(key)) for key in keys)
        flags = each.get("flags")
        flags = flags if isinstance(flags, list) else []
        yield name, start, end, nodes, _kind("MAINT" in flags), None


def _name(block: str) -> str:
    """The first word of what is listed of a reservation."""
    return next(iter(block.split()), "without a name")


def _kind(is_maintenance: bool) -> str:
    return "maintenance" if is_maintenance else "reservation"


def _number(printed: str | None) -> float:
    """A whole number; NaN if there is none."""
    return float(printed) if printed is not None and printed.isdecimal() else np.nan


def _instant(path: str | Path, name: str, printed: Any) -> pd.Timestamp:
    """A time as it is printed: seconds since 1970, or a local time."""
    try:
        number = float(printed)
    except (TypeError, ValueError):
        number = np.nan
    found = pd.to_datetime(str(printed), errors="coerce") if number != number else pd.NaT
    if number > 0 and np.isfinite(number):
        found = pd.Timestamp(number, unit="s", tz="UTC")
    if found is pd.NaT:
        raise TraceError(f"{path}: reservation {name}: time {printed!r}; expected {EXPECTED}")
    return found


def _seconds(printed: pd.Timestamp, began: pd.Timestamp, timezone: str | None) -> float:
    """Seconds of the log at an instant."""
    if (printed.tz is None) != (began.tz is None):
        expected = (
            "the machine's, such as 'Europe/Berlin', as either the listing or the log has local "
            "times"
        )
        known = timezone in zoneinfo.available_timezones()
        check.that("timezone", timezone, known, expected)
        printed, began = (
            each.tz_localize(timezone, ambiguous=True, nonexistent="shift_forward")
            if each.tz is None
            else each
            for each in (printed, began)
        )
    return (printed - began).total_seconds()
