"""Windows of a machine, for `cosimlib.Calendar`: listed by its scheduler, or inferred from a log.

*Reservations of a live scheduler* are read from Slurm's and PBS's own listings: ``scontrol show
reservation`` as text, in one line each or in several, or as JSON, and ``pbs_rstat -f``. Of each
reservation its start, its end and its number of whole nodes are read. Its kind is ``"maintenance"``
where Slurm lists the flag ``MAINT`` or PBS's name of it begins with M, else ``"reservation"``. PBS
tells when a reservation was made: it is known from then on. Slurm does not tell; its reservations
count as always known. Left out are reservations without nodes, those that PBS has not confirmed or
has deleted, and the later instances of those that recur.

*Closures* of a machine that a log does not name are inferred from recorded starts and ends.

A closure is a stretch of time, at least as long as `shortest`, in which jobs hold no more than a
small share of the nodes. An empty queue empties a machine, too, as does a job that waits for nearly
all nodes: the score tells them apart. It is the share of the closure in which jobs wait and each of
them would fit on the nodes that are idle all the while.

*When it was known.* A scheduler that knows a window starts no job whose requested time crosses its
begin, but for a few that are let through (`EXCEPTIONS`, a share of the starts). One that does not
know it starts such jobs as often as the log has jobs of so long a request. Of all moments before
the window that one is taken from which on the first is the most likely beside the second (a change
point by likelihood), right after a start that crosses. A window for which this moment is within
`shortest_notice` was not announced: it is ``"down"``.
"""

import re
import zoneinfo
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.kernels.steps import step_function
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.traces.account import TraceError, read_bytes
from cosimlib.traces.texts import label, number, read_json
from cosimlib.units import HOUR
from cosimlib.workload import Workload

EXPECTED = "scontrol show reservation, as text or --json, or pbs_rstat -f"
RESERVATIONS = ("name", "start", "end", "nodes", "kind", "known_from")
CLOSURES = ("start", "end", "kind", "known_from", "score", "contradicting")
EXCEPTIONS = 0.02
"""Share of the starts that cross a window although it is known."""

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
        1970, which need none if the log has such times.

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
            yield block.split()[0], known.get("StartTime"), known.get("EndTime"), nodes, kind, None
    elif PBS.search(text):
        for block in PBS.split(text)[1:]:
            known, name = dict(ATTRIBUTE.findall(block)), block.split()[0]
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
        flags = each.get("flags") or []
        yield name, start, end, nodes, _kind("MAINT" in flags), None


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
            each.tz_localize(timezone) if each.tz is None else each for each in (printed, began)
        )
    return (printed - began).total_seconds()


def closures(
    workload: Workload,
    system: System | None = None,
    *,
    shortest: float = 3 * HOUR,
    most_held: float = 0.02,
    shortest_notice: float = HOUR,
) -> pd.DataFrame:
    """Windows in which a log's machine seems to have been closed, for `cosimlib.Calendar`.

    Parameters
    ----------
    workload : Workload
        With recorded starts, and requested times where they are known.
    system : System, optional
        By default the workload's machine.
    shortest : float, default 3 hours
        Seconds that a closure lasts at least.
    most_held : float, default 0.02
        Share of the nodes that jobs hold at most while the machine is closed.
    shortest_notice : float, default 1 hour
        Seconds before its start at which a window is known at the latest, or it was not announced.

    Returns
    -------
    pd.DataFrame
        `start`, `end` (s), `kind` (``"maintenance"`` or ``"down"``), `known_from` (s), `score` from
        0 to 1, and `contradicting`, the rows of the jobs that start within the window, as a tuple.

    Raises
    ------
    InvalidWorkloadError
        If the start of a job, or the system, is not recorded.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlib as cs
    >>> times = {"submit_time": [0, 7000], "run_time": [7200, 60], "recorded_start": [0, 36000]}
    >>> log = cs.Workload(pd.DataFrame(times | {"nodes": [4, 4], "requested_time": 7200}), "log")
    >>> found = cs.traces.closures(log, cs.System.of(4))
    >>> found[["start", "end", "kind", "score"]]
        start      end         kind  score
    0  7200.0  36000.0  maintenance    1.0
    >>> cs.Calendar(found)
    <Calendar 1 window>
    """
    check.seconds("shortest", shortest, above=0.0)
    check.number("most_held", most_held, least=0.0, below=1.0, kind="a share")
    check.seconds("shortest_notice", shortest_notice)
    recorded = Schedule.recorded(workload, system)
    windows = _idle_stretches(recorded, most_held * recorded.total_nodes, shortest)
    known = [_known_from(recorded, start) for start, _ in windows]
    rows = [
        (
            start,
            end,
            "maintenance" if announced else "down",
            moment if announced else start,
            _score(recorded, start, end),
            _started_within(recorded, start, end),
        )
        for (start, end), moment in zip(windows, known, strict=True)
        for announced in [start - moment >= shortest_notice]
    ]
    table = pd.DataFrame(rows, columns=list(CLOSURES))
    return table.astype(dict.fromkeys(["start", "end", "known_from", "score"], np.float64))


def _idle_stretches(recorded: Schedule, most: float, shortest: float) -> list[tuple[float, float]]:
    """Stretches of at least a length in which jobs hold no more than so many nodes."""
    nodes = recorded.workload.jobs["nodes"].to_numpy()
    times, held = step_function(recorded.start_time, recorded.end_time, nodes)
    is_idle = held <= most
    changes = np.flatnonzero(np.diff(np.concatenate([[False], is_idle[:-1], [False]])))
    begins, ends = times[changes[::2]], times[changes[1::2]]
    long = ends - begins >= shortest
    return list(zip(begins[long].tolist(), ends[long].tolist(), strict=True))


def _known_from(recorded: Schedule, start: float) -> float:
    """The moment from which on few jobs start whose request crosses the start of a window."""
    requested = recorded.workload.jobs["requested_time"].fillna(0.0).to_numpy()
    rows = np.argsort(-recorded.start_time, kind="stable")  # from the latest start back
    rows = rows[recorded.start_time[rows] < start]
    started = recorded.start_time[rows]
    crosses = started + requested[rows] > start
    if not crosses.any():
        return -np.inf
    longer = 1.0 - np.searchsorted(np.sort(requested), start - started, "right") / requested.size
    usual = np.clip(longer, 1 / requested.size, 1 - 1 / requested.size)
    chance = np.where(crosses, EXCEPTIONS / usual, (1 - EXCEPTIONS) / (1 - usual))
    best = int(np.argmax(np.append(0.0, np.cumsum(np.log(chance)))))
    before = crosses[best:]
    return float(np.nextafter(started[best:][before][0], np.inf)) if before.any() else -np.inf


def _score(recorded: Schedule, start: float, end: float) -> float:
    """Share of a window in which jobs wait that all fit on the nodes idle throughout."""
    jobs, started, ended = recorded.workload.jobs, recorded.start_time, recorded.end_time
    submitted, nodes = jobs["submit_time"].to_numpy(), jobs["nodes"].to_numpy()
    runs = (started < end) & (ended > start)
    _, held = step_function(started[runs], ended[runs], nodes[runs])
    begin, until = np.maximum(submitted, start), np.minimum(started, end)
    waits = begin < until
    too_wide = nodes[waits] > recorded.total_nodes - held.max(initial=0)
    # One job that does not fit outweighs all others.
    times, fitting = step_function(begin[waits], until[waits], np.where(too_wide, -waits.size, 1))
    return float(np.diff(times) @ (fitting[:-1] > 0)) / (end - start) if times.size else 0.0


def _started_within(recorded: Schedule, start: float, end: float) -> tuple[int, ...]:
    """The rows of the jobs that start within a window."""
    within = (recorded.start_time >= start) & (recorded.start_time < end)
    return tuple(np.flatnonzero(within).tolist())
