"""Lines of the Standard Workload Format: text of a log to a table of 18 columns and back.

What the columns mean for a workload is the business of `cosimlib.swf`.
"""

import csv
import io
import re
from pathlib import Path
from typing import NoReturn

import numpy as np
import pandas as pd

from cosimlib.intake import TraceError, shortened

FIELDS = (
    "job_id", "submit_time", "wait_time", "run_time", "allocated_processors", "average_cpu_time",
    "used_memory", "requested_processors", "requested_time", "requested_memory", "status", "user",
    "group", "application", "queue", "partition", "preceding_job", "think_time",
)  # fmt: skip
LABELS = ("user", "group", "application", "queue", "partition")
NUMBERS = ("job_id", "allocated_processors", "status", "preceding_job")
QUANTITIES = ("average_cpu_time", "used_memory", "requested_memory", "think_time")
WHOLE = (*LABELS, *NUMBERS, "requested_processors")

LIMIT = 2.0**53
NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
INDENTED_COMMENT = re.compile(rb"^[ \t]+;", re.MULTILINE)
HEADER = re.compile(rb"^[ \t]*;+[ \t]*([A-Za-z]+)[ \t]*:[ \t]*(.*?)[ \t\r]*$", re.MULTILINE)


def parse_table(path: Path, data: bytes) -> pd.DataFrame:
    """The jobs of a log as 18 columns of numbers, NaN where they are below 0: unknown.

    Raises
    ------
    TraceError
        Naming the file, the line, its text and what was expected.
    """
    # pandas would take a comment after blanks for a row of empty fields
    lines = INDENTED_COMMENT.sub(b";", data)
    try:
        table = pd.read_csv(
            io.BytesIO(lines), sep=r"\s+", header=None, names=list(FIELDS), usecols=list(FIELDS),
            comment=";", quoting=csv.QUOTE_NONE, na_filter=False, low_memory=False,
            encoding="latin-1",
        )  # fmt: skip
    except ValueError as error:
        _complain(path, data, str(error))
    if not len(table):
        raise TraceError(f"{path}: no job in it; expected lines of {len(FIELDS)} numbers")
    for field in FIELDS:
        values = table[field]
        fine = values.dtype.kind in "if" and bool((values.abs() < LIMIT).all())
        if not fine or (field in WHOLE and values.dtype.kind == "f" and (values % 1 != 0).any()):
            _complain(path, data, f"{field} is not a number in every line")
    return table.where(table >= 0)


def wide_lines(data: bytes) -> int:
    """How many jobs have more than 18 columns."""
    return sum(len(tokens) > len(FIELDS) for tokens in map(_tokens, data.splitlines()))


def parse_header(data: bytes) -> dict[str, str]:
    """What the comments of the form ``; Key: value`` say; the first one where a key comes twice."""
    header: dict[str, str] = {}
    for key, value in HEADER.findall(data):
        header.setdefault(key.decode(), value.decode("utf-8", "replace"))
    return header


def leading_number(text: str) -> int:
    """338 of ``338 (batch partition)``, 9216 of ``9,216``; 0 where there is none."""
    found = re.match(r"\d{1,3}(?:,\d{3})+(?!\d)|\d+", text)
    return int(found[0].replace(",", "")) if found else 0


def format_lines(header: list[str], table: pd.DataFrame) -> bytes:
    """Comment lines, then a line a job: −1 for NaN, whole numbers without a point."""
    comments = "".join(f"; {' '.join(line.split())}\n" for line in header)
    columns = {field: _written(table[field].fillna(-1.0)) for field in FIELDS}
    lines = pd.DataFrame(columns).to_csv(sep=" ", header=False, index=False, lineterminator="\n")
    return (comments + lines).encode()


def _written(values: pd.Series) -> pd.Series:
    """A column of floats as it is written, fractions to the last bit."""
    if (values % 1 == 0).all():
        return values.astype("int64")
    written = [int(value) if value.is_integer() else value for value in values.tolist()]
    return pd.Series(written, index=values.index, dtype="object")


def _complain(path: Path, data: bytes, reason: str) -> NoReturn:
    """Find the first bad line, slowly, and name it."""
    first, fine = "", 0
    for number, line in enumerate(data.splitlines(), start=1):
        problem = _problem(_tokens(line))
        if problem is None:
            fine += 1
        elif problem and not first:
            first = f"line {number} reads {shortened(line)}: {problem}"
    if first and not fine:
        raise TraceError(f"{path}: not an SWF, no line has {len(FIELDS)} numbers; {first}")
    raise TraceError(f"{path}: {first or reason}; mend the line or put a ';' before it")


def _problem(tokens: list[bytes]) -> str | None:
    """What is wrong with a line: a sentence; None where it is a job, "" where it is blank."""
    if not tokens:
        return ""
    for field, token in zip(FIELDS, tokens, strict=False):
        whole = field in WHOLE
        value = float(token) if NUMBER.fullmatch(token) else np.nan
        if not abs(value) < LIMIT or (whole and value % 1 != 0):
            shown = token[:20].decode("utf-8", "replace")
            return f"{field} is {shown!r}; expected a {'whole ' if whole else ''}number below 2**53"
    if len(tokens) < len(FIELDS):
        return f"{len(tokens)} columns; expected {len(FIELDS)}"
    return None


def _tokens(line: bytes) -> list[bytes]:
    return line.partition(b";")[0].split()
