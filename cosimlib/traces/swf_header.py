"""Header of a log in Standard Workload Format: its machine, processors per node, calendar time.

Sizes in SWF are numbers of processors, and a workload counts nodes. Where the header has c
processors per node (MaxProcs ÷ MaxNodes, a whole number) and at least 99 % of the jobs hold
multiples of c, jobs hold whole nodes, and c processors count as one node. Elsewhere jobs share
nodes, and each processor counts as a node. The account says which of the two it is.

The header says how many jobs (MaxJobs) and records (MaxRecords) the log had. Where the file has
fewer, as after cleaning, the account says how many it lacks. It quotes each Note.

Second 0 is UnixStartTime, in the zone of TimeZoneString, or else in that of TimeZone, its seconds
ahead of UTC, or else in UTC.
"""

import re
from collections.abc import Iterable
from datetime import timedelta, timezone
from zoneinfo import ZoneInfo

import pandas as pd

from cosimlib.system import System
from cosimlib.traces.account import Account

HEADER = re.compile(rb"^[ \t]*;+[ \t]*([A-Za-z]+)[ \t]*:[ \t]*(.*?)[ \t\r]*$", re.MULTILINE)

WHOLE_NODES = 0.99
"""Share of jobs that hold whole nodes from which on sizes are counted in nodes."""

PROCESSOR_COUNTS = "each processor counts as a node"
"""Part of the entry in the account of a log whose jobs share nodes."""

ABSENT = "records of its header are not in the file"
"""Part of the entry in the account of a log that has fewer records than its header says."""

NOTE = re.compile(rb"^[ \t]*;+[ \t]*Note[ \t]*:[ \t]*(.*?)[ \t\r]*$", re.MULTILINE)
FIRST_RECORD = re.compile(rb"^[ \t]*[-+\d]", re.MULTILINE)
MOST_NOTES, LONGEST_NOTE = 8, 160
"""Notes of a header that are quoted, and characters of each."""

LAST_START, LARGEST_OFFSET = 2**33, 86_400
"""Seconds: from the former on, in the year 2242, UnixStartTime is no date; of a time zone."""


def parse_header(data: bytes) -> dict[str, str]:
    """Comments of the form ``; Key: value``; of several with one key, the first."""
    header: dict[str, str] = {}
    for key, value in HEADER.findall(data):
        header.setdefault(key.decode(), value.decode("utf-8", "replace"))
    return header


def header_notes(data: bytes) -> list[str]:
    """The first notes of a header, each in one line."""
    first = FIRST_RECORD.search(data)
    found = NOTE.findall(data[: first.start()] if first else data)
    notes = [note.decode("utf-8", "replace") for note in found[:MOST_NOTES]]
    return [note if len(note) <= LONGEST_NOTE else f"{note[: LONGEST_NOTE - 1]}…" for note in notes]


def note_header(header: dict[str, str], notes: list[str], records: int, account: Account) -> None:
    """Enter how many records of the header the file lacks, and quote its notes."""
    promised = max(header_size(header, key) for key in ("MaxJobs", "MaxRecords"))
    account.add("noted", f"of {promised:,} {ABSENT}", max(0, promised - records))
    for note in notes:
        account.add("noted", f'the header says: "{note}"', records)


def absent_share(reasons: Iterable[str], records: Iterable[int]) -> float:
    """Share of the header's records that the file lacks, by the entries of an account; else 0."""
    for reason, absent in zip(reasons, records, strict=True):
        if reason.endswith(ABSENT):
            return absent / int(reason.split()[1].replace(",", ""))
    return 0.0


def infer_cores(header: dict[str, str], processors: pd.Series, account: Account) -> int:
    """Processors that count as one node, given those that each job holds."""
    total, nodes = header_size(header, "MaxProcs"), header_size(header, "MaxNodes")
    if not 0 < nodes < total or not len(processors):
        return 1
    cores, rest = divmod(total, nodes)
    machine = f"{total:,} processors in {nodes:,} nodes"
    if rest or (processors % cores == 0).mean() < WHOLE_NODES:
        why = "not the same in each" if rest else "and jobs hold parts of nodes"
        reason = f"{machine}, {why}: {PROCESSOR_COUNTS}"
        account.add("noted", reason, len(processors))
        return 1
    account.add("noted", f"{machine}: {cores} processors count as a node", len(processors))
    return cores


def header_machine(header: dict[str, str], name: str, cores_per_node: int) -> System | None:
    """The machine in the header; None if its size is unknown."""
    processors, nodes = header_size(header, "MaxProcs"), header_size(header, "MaxNodes")
    if processors:
        nodes = max(1, processors // cores_per_node)
    if not nodes:
        return None
    computer = header.get("Computer") or header.get("Installation") or name
    return System(computer, {"main": nodes}, cores_per_node=cores_per_node)


def header_start(header: dict[str, str]) -> pd.Timestamp | None:
    """The calendar time of second 0; None if the header does not say it."""
    seconds = header_size(header, "UnixStartTime")
    if not 0 < seconds < LAST_START:
        return None
    start = pd.Timestamp(seconds, unit="s", tz="UTC")
    try:
        return start.tz_convert(ZoneInfo(header["TimeZoneString"].strip()))
    except (KeyError, ValueError, OSError):
        found = re.match(r"[+-]?[0-9]{1,5}(?![0-9])", header.get("TimeZone", ""))
        ahead = int(found[0]) if found else 0
    if not 0 < abs(ahead) < LARGEST_OFFSET:
        return start
    return start.tz_convert(timezone(timedelta(seconds=ahead)))


def start_lines(start: pd.Timestamp | None) -> list[str]:
    """Header lines on second 0; none if it is unknown, or on a local clock."""
    if start is None or start.tzinfo is None:
        return []
    name = getattr(start.tzinfo, "key", None)
    ahead = start.tzinfo.utcoffset(start)
    zone = f"TimeZoneString: {name}" if name else f"TimeZone: {ahead.total_seconds():.0f}"
    return [f"UnixStartTime: {start.timestamp():.0f}", *([zone] if name or ahead else [])]


def header_size(header: dict[str, str], key: str) -> int:
    """The number at the beginning of a value: 9216 of ``9,216 (batch)``; 0 if there is none."""
    found = re.match(r"[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+", header.get(key, ""))
    return int(found[0].replace(",", "")) if found else 0
