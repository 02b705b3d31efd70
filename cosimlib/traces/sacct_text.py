"""Output of ``sacct --parsable2``: its records, and their columns.

``sacct`` escapes nothing: a job's name may hold the delimiter, and line breaks. A record of too
many fields is split where only one division among its free texts lets every other field be what it
should be; where several do, or none, the error names the line.
"""

import io
import re
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from math import comb
from pathlib import Path

import numpy as np
import pandas as pd

from cosimlib.traces.account import TraceError, shortened
from cosimlib.traces.records import COLUMNS
from cosimlib.traces.texts import Texts, batches
from cosimlib.units import MINUTE

DELIMITERS = ("\x1f", "|", "\t", ";", ",")
NO_VALUE = ("", "Unknown", "None", "N/A", "None assigned")
NEEDED = ("Submit", "Start", "End", "State")
FREE = ("JobName", "Comment", "SubmitLine", "WorkDir", "AdminComment", "SystemComment", "Extra",
        "Reason", "Container", "StdOut", "StdErr", "StdIn")  # fmt: skip
TIME = r"[0-9]{4}-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]|[0-9]+|Unknown|None|N/A|"
WHOLE = r"[0-9]+(\.[0-9]+)?[KM]?|"
FORMS = {
    **dict.fromkeys(("Submit", "Eligible", "Start", "End"), re.compile(TIME)),
    **dict.fromkeys(("ElapsedRaw", "NNodes", "NCPUS", "AllocNodes", "AllocCPUS"),
                    re.compile(WHOLE)),
    "JobID": re.compile(r"[0-9]+([_+.\[].*)?"),
    "JobIDRaw": re.compile(r"[0-9]+(\..*)?"),
    "TimelimitRaw": re.compile(r"[0-9]+|UNLIMITED|Partition_Limit|"),
    "State": re.compile(r"[A-Z][A-Z_]+( by \S+)?\+?"),
    "ExitCode": re.compile(r"[0-9]+:[0-9]+|"),
}  # fmt: skip
"""What fields look like that a record is checked by where its division is in doubt."""
LABELS = {"User": "user", "Account": "group", "Partition": "queue", "QOS": "qos",
          "NodeList": "hosts", "State": "state"}  # fmt: skip
READ = {*FORMS, *LABELS, "Elapsed", "Timelimit", "AllocTRES"}

MOST_DIVISIONS = 2_000
GIGABYTES = {"": 2**20 / 1e9, "K": 2**10 / 1e9, "M": 2**20 / 1e9, "G": 2**30 / 1e9,
             "T": 2**40 / 1e9}  # fmt: skip
"""GB of the units of memory; without one it is MiB."""
THOUSANDS = {"K": 1024.0, "M": 1024.0**2}


def is_text(beginning: bytes) -> bool:
    """Whether a file begins with a heading of ``sacct``'s."""
    first = beginning.lstrip().split(b"\n", 1)[0].decode("utf-8-sig", "replace")
    delimiter = max(DELIMITERS, key=first.count)
    columns = {column.strip().lower() for column in first.split(delimiter)}
    return bool({"jobid", "jobidraw"} & columns) and bool({"state", "submit"} & columns)


def read_text(path: Path, data: bytes) -> pd.DataFrame:
    """The records as a table with the columns of `records.COLUMNS`, `hosts`, `step`, `local`."""
    lines = enumerate(io.TextIOWrapper(io.BytesIO(data), "utf-8-sig", "replace", newline="\n"), 1)
    heading = next((line for _, line in lines if line.strip()), "")
    columns, delimiter = _heading(path, heading.rstrip("\r\n"))
    places = [place for place, name in enumerate(columns) if name in READ]
    kept = [0, *(place + 1 for place in places)]
    names = ["line", *(columns[place] for place in places)]
    records = _records(path, lines, columns, delimiter)
    rows = ([fields[place] for place in kept] for fields in records)
    tables = [_columns(path, names, batch) for batch in batches(rows)]
    return pd.concat(tables or [_columns(path, names, [])], ignore_index=True)


def _heading(path: Path, line: str) -> tuple[list[str], str]:
    """The columns' names and the delimiter, of which the first line has the most."""
    delimiter = max(DELIMITERS, key=line.count)
    columns = [column.strip() for column in line.split(delimiter)]
    known = {name.lower(): name for name in (*READ, *FREE)}
    columns = [known.get(column.lower(), column) for column in columns]
    missing = [column for column in NEEDED if column not in columns]
    if not {"JobID", "JobIDRaw"} & set(columns):
        missing.insert(0, "JobIDRaw")
    if missing:
        raise TraceError(
            f"{path}: no column {', '.join(missing)}; expected what sacct --parsable2 prints with "
            f"them, the first line reads {shortened(line.encode())}"
        )
    return columns, delimiter


def _records(
    path: Path, lines: Iterator[tuple[int, str]], columns: list[str], delimiter: str
) -> Iterator[list]:
    """The number of its line and the fields of every record."""
    wanted, free = len(columns) - 1, columns[-1] in FREE
    form = FORMS.get(columns[0])
    following = next(lines, None)
    while following is not None:
        number, line = following
        line = line.rstrip("\r\n")
        following = next(lines, None)
        if not line.strip():
            continue
        found, parts = line.count(delimiter), [line]
        while following is not None and (found < wanted or free):
            more = following[1].rstrip("\r\n")
            if _begins(more, form, delimiter, wanted):
                break
            found += more.count(delimiter)
            parts.append(more)
            following = next(lines, None)
        fields = ("\n".join(parts) if len(parts) > 1 else line).split(delimiter)
        if found != wanted:
            fields = _divided(path, number, fields, columns, delimiter)
        yield [number, *fields]


def _begins(line: str, form: re.Pattern[str] | None, delimiter: str, wanted: int) -> bool:
    """Whether a line begins a record: by the form of its first field, or else by its fields."""
    if form is None:
        return line.count(delimiter) >= wanted
    begin, found, _ = line.partition(delimiter)
    return bool(found) and form.fullmatch(begin) is not None


def _divided(
    path: Path, number: int, fields: list[str], columns: list[str], delimiter: str
) -> list[str]:
    """A record of too many fields, with delimiters given back to its free texts."""
    more = len(fields) - len(columns)
    free = [place for place, column in enumerate(columns) if column in FREE]
    found: dict[tuple[str, ...], list[str]] = {}
    possible = more > 0 and bool(free)
    if possible and comb(more + len(free) - 1, len(free) - 1) <= MOST_DIVISIONS:
        for bars in combinations(range(more + len(free) - 1), len(free) - 1):
            edges = (-1, *bars, more + len(free) - 1)
            extra = dict(zip(free, (b - a - 1 for a, b in pairwise(edges)), strict=True))
            trial = _merged(fields, extra, delimiter, len(columns))
            if all(
                FORMS[column].fullmatch(field)
                for column, field in zip(columns, trial, strict=True)
                if column in FORMS
            ):
                key = tuple(f for c, f in zip(columns, trial, strict=True) if c in READ)
                found[key] = trial
    elif possible:
        found = {(): [], ("",): []}
    if len(found) != 1:
        raise TraceError(
            f"{path}: line {number} has {len(fields)} fields, expected {len(columns)}, and "
            f"{'several divisions' if found else 'no division'} among free texts fit: "
            f"{shortened(delimiter.join(fields[:100]).encode())}; ask sacct for "
            "--delimiter=$'\\x1f' and for JobName only, last"
        )
    return next(iter(found.values()))


def _merged(fields: list[str], extra: dict[int, int], delimiter: str, count: int) -> list[str]:
    """Fields where the free text in a column takes so many more of the pieces."""
    result, place = [], 0
    for column in range(count):
        after = place + 1 + extra.get(column, 0)
        result.append(delimiter.join(fields[place:after]))
        place = after
    return result


def _columns(path: Path, names: list[str], rows: list[list]) -> pd.DataFrame:
    """The columns of records from those that ``sacct`` printed."""
    text = pd.DataFrame(rows, columns=names, dtype="str")
    text = text.loc[:, ~text.columns.duplicated()]
    line = text.pop("line").astype("int64").tolist()
    submitted = text["Submit"]
    texts = Texts(path, text, line.__getitem__, NO_VALUE)
    table = {column: _seconds(texts, column.capitalize())
             for column in ("submit", "eligible", "start", "end")}  # fmt: skip
    elapsed = texts.numbers("ElapsedRaw", "a whole number")
    table["elapsed"] = _filled(elapsed, texts, "Elapsed", _lengths)
    minutes = pd.to_numeric(texts.labels("TimelimitRaw"), errors="coerce").astype("float64")
    table["limit"] = _filled(minutes * MINUTE, texts, "Timelimit", _lengths)
    table["nodes"] = _filled(_counts(texts, "NNodes"), texts, "AllocNodes", _counts)
    table["cores"] = _filled(_counts(texts, "NCPUS"), texts, "AllocCPUS", _counts)
    table["gpus"] = _gpus(texts.labels("AllocTRES"))
    number = texts.labels("JobIDRaw").fillna(texts.labels("JobID"))
    table["job"] = pd.to_numeric(number.str.extract(r"^([0-9]{1,15})", expand=False)).astype(
        "float64"
    )
    labels = {column: texts.labels(name) for name, column in LABELS.items()}
    others = {
        "step": number.str.contains(".", regex=False).fillna(False).astype("bool"),
        "local": submitted.str.contains("T", regex=False).astype("bool"),
        "memory": _memory(texts.labels("AllocTRES")),
        "rounded": texts.labels("NNodes").str.contains("[KM]").fillna(False).astype("bool"),
    }
    frame = pd.DataFrame(table | labels | others)
    return frame.astype({name: COLUMNS[name] for name in COLUMNS})


def _filled(
    values: pd.Series, texts: Texts, column: str, convert: Callable[[Texts, str], pd.Series]
) -> pd.Series:
    """Values, and where they are unknown those of another column."""
    missing = values.isna()
    if column not in texts or not missing.any():
        return values
    return values.fillna(convert(texts, column))


def _seconds(texts: Texts, column: str) -> pd.Series:
    """Times of the epoch or of a local clock; 0 is unknown."""
    seconds = texts.instants(column, "Unknown")
    return seconds.where(seconds > 0)


def _lengths(texts: Texts, column: str) -> pd.Series:
    """Seconds of the lengths in a column; unknown if they are words such as UNLIMITED."""
    values = texts.labels(column)
    words = values.str.fullmatch(r"[A-Za-z_]+").fillna(False).astype("bool")
    table = pd.DataFrame({column: values.mask(words)})
    return Texts(texts.path, table, texts.line).lengths(column)


def _counts(texts: Texts, column: str) -> pd.Series:
    """Whole numbers, also as ``9.20K``, which ``sacct`` prints unless it is told --noconvert."""
    values = texts.labels(column)
    scaled = values.str.endswith(tuple(THOUSANDS)).fillna(False).astype("bool")
    if not scaled.any():
        return texts.numbers(column, "a whole number")
    parts = values.where(scaled).str.extract(r"^([0-9]{1,9}(?:\.[0-9]+)?)([KM])$")
    numbers = pd.to_numeric(parts[0]).astype("float64") * parts[1].map(THOUSANDS).astype("float64")
    others = Texts(texts.path, pd.DataFrame({column: values.mask(numbers.notna())}), texts.line)
    return others.numbers(column, "a whole number").fillna(numbers.round())


def _gpus(granted: pd.Series) -> pd.Series:
    """GPUs of AllocTRES: the total, or the sum over their types if there is none."""
    total = pd.to_numeric(granted.str.extract(r"gres/gpu=([0-9]{1,9})", expand=False)).astype(
        "float64"
    )
    typed = granted[total.isna() & granted.str.contains("gres/gpu:", regex=False).fillna(False)]
    if not len(typed):
        return total
    counts = typed.str.extractall(r"gres/gpu:[^=,]+=([0-9]{1,9})")[0].astype("float64")
    sums = counts.groupby(level=0).sum()
    return total.fillna(sums.reindex(granted.index).where(sums.reindex(granted.index) > 0, np.nan))


def _memory(granted: pd.Series) -> pd.Series:
    """GB of AllocTRES."""
    parts = granted.str.extract(r"(?:^|,)mem=([0-9]{1,12}(?:\.[0-9]+)?)([KMGT]?)")
    return pd.to_numeric(parts[0]).astype("float64") * parts[1].map(GIGABYTES).astype("float64")
