"""Account of the records of a trace; functions that all readers share.

A reader *drops* records that cannot be jobs, *mends* disorder and *notes* oddities. `Account`
counts all three per reason, `Workload.account` keeps the counts, and a verbose reader prints them.
"""

import bz2
import csv
import gzip
import lzma
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import IO, Any, ParamSpec, TypeVar

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.display import quantity
from cosimlib.files import check_readable
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError, Workload, account_table

P = ParamSpec("P")
Read = TypeVar("Read")

COMPRESSIONS = {
    "gzip": (".gz", b"\x1f\x8b"),
    "bzip2": (".bz2", b"BZh"),
    "xz": (".xz", b"\xfd7zXZ\x00"),
    "zip": (".zip", b"PK\x03\x04"),
}
"""Compressions that are read: the ending of a file's name, and how the file begins."""
UNREAD = {"zstd": b"\x28\xb5\x2f\xfd", "7z": b"7z\xbc\xaf\x27\x1c", "compress": b"\x1f\x9d"}
"""Compressions that are not read, and how such a file begins."""

SIZE_LIMIT = "COSIMLIB_LARGEST_LOG"
"""Environment variable: bytes that a log may have, decompressed."""
SHARE_OF_MEMORY = 16
"""By default a log may have this part of the memory: its jobs take up to 13 times their text."""
SHARE_IN_PIECES = 5
"""The same for formats that are read in pieces: reading takes about 3 times the text."""
UNKNOWN_MEMORY = 8e9
CHUNK = 1 << 18
"""Bytes that are decompressed at a time."""
PIECE = 1 << 23
"""Bytes of whole lines that are parsed at a time; parsed, they take some twenty times as many."""

EPOCH = 631_152_000.0
"""Seconds from 1970 to 1990: a log whose first job is submitted later tells times of the epoch."""

DAMAGES = (
    ValueError,
    TypeError,
    KeyError,
    OverflowError,
    MemoryError,
    RecursionError,
    NotImplementedError,
    OSError,
    csv.Error,
)
"""What parsers raise for a damaged file; pyarrow's own exceptions are of these kinds, too."""


class TraceError(ValueError):
    """A file that is damaged or no trace, or a workload that a format cannot hold."""


EXPLAINED = (
    TraceError,
    check.ArgumentError,
    FileNotFoundError,
    IsADirectoryError,
    PermissionError,
)
"""Errors whose messages say already what is wrong with a file."""


class Account:
    """Account: numbers of records dropped, mended and noted while reading a trace, in order."""

    def __init__(self, rows: Iterable[tuple[str, str, int]] = ()) -> None:
        self.rows = list(rows)

    def add(self, action: str, reason: str, records: int) -> None:
        """Enter `records` records; 0 records make no entry."""
        if records:
            self.rows.append((action, reason, int(records)))

    def drop(
        self, table: pd.DataFrame, rules: Iterable[tuple[str, "pd.Series | np.ndarray"]]
    ) -> pd.DataFrame:
        """`table` without the rows that a rule marks; each is entered under its first reason."""
        dropped = np.zeros(len(table), dtype=bool)
        for reason, marked in rules:
            mask = np.asarray(marked, dtype=bool)
            self.add("dropped", reason, int((mask & ~dropped).sum()))
            dropped |= mask
        return table[~dropped] if dropped.any() else table

    def frame(self) -> pd.DataFrame:
        """One row per entry: `action`, `reason`, `records`."""
        return account_table(self.rows)

    def text(self, name: str, jobs: int) -> str:
        """One line of totals and one line per entry; a record is a job, or it is dropped."""
        records = jobs + sum(count for action, _, count in self.rows if action == "dropped")
        lines = [f"{name}: {jobs:,} jobs from {records:,} records"]
        lines += [f"  {action:<7} {count:>9,}  {reason}" for action, reason, count in self.rows]
        return "\n".join(lines)


def parses(expected: str) -> Callable[[Callable[P, Read]], Callable[P, Read]]:
    """Decorator of readers that turns errors of a parser into a `TraceError`.

    Errors that already explain the problem pass: `TraceError`, wrong arguments, missing files and
    packages. `expected` names the format.
    """

    def decorate(read: Callable[P, Read]) -> Callable[P, Read]:
        @wraps(read)
        def checked(*arguments: P.args, **options: P.kwargs) -> Read:
            try:
                return read(*arguments, **options)
            except EXPLAINED:
                raise
            except DAMAGES as error:
                if isinstance(error, OSError) and error.errno is not None:
                    raise
                path = arguments[0] if arguments else options["path"]
                if isinstance(error, InvalidWorkloadError):
                    broken = str(error).removeprefix(f"{base_name(Path(str(path)))}: ")
                    raise TraceError(f"{path}: {broken}") from error
                problem = (str(error).splitlines() or [type(error).__name__])[0]
                raise TraceError(f"{path}: damaged, or not {expected} ({problem})") from error

        return checked

    return decorate


def largest_log(share: int = SHARE_OF_MEMORY) -> float:
    """Largest decompressed size of a log in bytes: a share of the memory, or SIZE_LIMIT."""
    given = os.environ.get(SIZE_LIMIT)
    if given is None:
        memory = UNKNOWN_MEMORY
        with suppress(AttributeError, OSError, ValueError):
            memory = float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
        return memory / share
    with suppress(ValueError):
        if float(given) > 0:
            return float(given)
    raise ValueError(f"{SIZE_LIMIT}={given!r}; expected a number of bytes above 0, such as 4e9")


class TooLargeError(TraceError):
    """A log is larger than its share of the memory."""


def too_large(path: Path, most: float, share: int = SHARE_OF_MEMORY) -> TooLargeError:
    """The error for a log with more than `most` bytes."""
    return TooLargeError(
        f"{path}: more than {quantity(most / 1e6, 'MB')}, which a log may have here once it is "
        f"decompressed (by default a {share}th of the memory); {SIZE_LIMIT}=4e9 allows "
        "4 GB"
    )


def read_bytes(path: Path) -> bytes:
    """The content of a file, decompressed if it is gzip, bzip2, xz or a zip of one file.

    Raises
    ------
    FileNotFoundError
    IsADirectoryError
    TraceError
        For a compressed file that is cut short or damaged, one whose name has another ending than
        its content, one of another compression, or one with more bytes than `largest_log`.
    """
    kind = _checked_compression(path, SHARE_OF_MEMORY)
    return path.read_bytes() if kind is None else b"".join(_chunks(path, kind, SHARE_OF_MEMORY))


def read_for_error(path: Path) -> bytes | None:
    """The content of a file in which a piece is damaged, to find its first bad line.

    None if the file may only be read in pieces: all of its lines at once take too much memory.
    """
    try:
        return read_bytes(path)
    except TooLargeError:
        return None


def read_pieces(path: Path) -> Iterator[bytes]:
    """The content of a file in pieces of whole lines, each of `PIECE` bytes or a line longer.

    It may have a larger part of the memory than for `read_bytes`, whose errors it raises.
    """
    kind = _checked_compression(path, SHARE_IN_PIECES)
    rest: list[bytes] = []
    size = 0
    for chunk in _chunks(path, kind, SHARE_IN_PIECES):
        size += len(chunk)
        end = chunk.rfind(b"\n") + 1
        if size >= PIECE and end:
            yield b"".join([*rest, chunk[:end]])
            rest, size = [chunk[end:]], len(chunk) - end
        else:
            rest.append(chunk)
    if size:
        yield b"".join(rest)


def _checked_compression(path: Path, share: int) -> str | None:
    """The compression of a file that is there and not too large."""
    check_readable(path, "a log")
    most = largest_log(share)
    if path.stat().st_size > most:
        raise too_large(path, most, share)
    with path.open("rb") as file:
        return compression_of(path, file.read(CHUNK))


def _chunks(path: Path, kind: str | None, share: int) -> Iterator[bytes]:
    """The decompressed content of a file, a chunk at a time."""
    most, size = largest_log(share), 0
    try:
        with path.open("rb") as packed, opened(kind, path, packed) as file:
            while size <= most and (chunk := file.read(CHUNK)):
                size += len(chunk)
                yield chunk
    except BROKEN as error:
        if kind is None:
            raise
        raise TraceError(
            f"{path}: the {kind} file is cut short or damaged ({error}) after "
            f"{path.stat().st_size} bytes; fetch it again"
        ) from error
    if size > most:
        raise too_large(path, most, share)


BROKEN = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, OSError, RuntimeError)
"""What is raised for a compressed file that is damaged."""


def compression_of(path: Path, data: bytes) -> str | None:
    """The compression of a file by its first bytes; None for a plain one."""
    for kind, (_, magic) in COMPRESSIONS.items():
        if data.startswith(magic):
            return kind
    for kind, magic in UNREAD.items():
        if data.startswith(magic):
            read = ", ".join(COMPRESSIONS)
            raise TraceError(f"{path}: compressed by {kind}; decompress it, or give {read}")
    for kind, (ending, _) in COMPRESSIONS.items():
        if data and path.suffix == ending:
            raise TraceError(
                f"{path}: named {ending} but not {kind}, it begins with {shortened(data)}; rename "
                "it if it is plain text, else fetch it again"
            )
    return None


def opened(kind: str | None, path: Path, file: IO[bytes]) -> gzip.GzipFile | IO[bytes]:
    """The content of a file that may be compressed."""
    if kind is None:
        return file
    if kind == "gzip":
        return gzip.GzipFile(fileobj=file)
    if kind == "bzip2":
        return bz2.BZ2File(file)
    if kind == "xz":
        return lzma.LZMAFile(file)
    archive = zipfile.ZipFile(file)
    names = [name for name in archive.namelist() if not name.endswith("/")]
    if len(names) != 1:
        raise TraceError(f"{path}: a zip of {len(names)} files; expected one log in it")
    return archive.open(names[0])


def compressed(path: Path, data: bytes) -> bytes:
    """Content of a file: gzip if its name ends in ``.gz``, the same bytes each time."""
    return gzip.compress(data, mtime=0) if path.suffix == ".gz" else data


def written(table: pd.DataFrame, **options: Any) -> bytes:
    """A table as CSV: numbers in full, whole ones without a point."""

    def number(value: float) -> str:
        return str(int(value)) if float(value).is_integer() else repr(float(value))

    text = table.to_csv(index=False, lineterminator="\n", float_format=number, **options)
    return str(text).encode()


def without_compression(name: str) -> str:
    """A file's name without the ending of its compression."""
    for ending, _ in COMPRESSIONS.values():
        name = name.removesuffix(ending)
    return name


def base_name(path: Path) -> str:
    """The file's name without its endings, for a workload; bytes that are no UTF-8 become �."""
    name = path.name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    plain = without_compression(name)
    return Path(plain).stem or plain


def shortened(text: bytes, length: int = 60) -> str:
    """First characters of a text, in quotes, for errors."""
    lines = text[: 1 << 16].strip().splitlines() or [b""]
    shown = lines[0]
    more = " ..." if len(shown) > length else ""
    return repr(shown[:length].decode("utf-8", "replace") + more)


def assemble(
    jobs: pd.DataFrame,
    name: str | None,
    machine: System | None,
    account: Account,
    *,
    path: Path,
    verbose: bool,
    began: pd.Timestamp | None = None,
) -> Workload:
    """Workload of the jobs of a reader: sorted by submission, with oddities noted.

    It is named after the file if it has no name. Columns without any known value are left out.
    Times of the epoch have their second 0 in 1970.
    """
    if not len(jobs):
        reasons = "; ".join(f"{count} {reason}" for _, reason, count in account.rows)
        records = sum(count for action, _, count in account.rows if action == "dropped")
        raise TraceError(f"{path}: no job left of {records} records ({reasons or 'none in it'})")
    jobs = in_order(jobs, account)
    if began is None and jobs["submit_time"].iloc[0] >= EPOCH:
        began = pd.Timestamp(0, unit="s", tz="UTC")
        account.add("noted", "times are seconds since 1970, taken as UTC", len(jobs))
    note(jobs, machine, account)
    empty = [column for column in jobs if column != "requested_time" and jobs[column].isna().all()]
    name = name or base_name(path)
    workload = Workload(jobs.drop(columns=empty), name, machine, account.frame(), began)
    if verbose:
        print(account.text(name, len(jobs)))
    return workload


def in_order(jobs: pd.DataFrame, account: Account) -> pd.DataFrame:
    """Jobs in order of submission; the account counts those that were not.

    Columns out of order are taken out of `jobs` one by one, so that no two tables are in memory;
    `jobs` is empty afterwards.
    """
    submit_time = jobs["submit_time"]
    out_of_order = int((submit_time < submit_time.cummax()).sum())
    account.add("mended", "out of order, put in order of submission", out_of_order)
    if not out_of_order:
        return jobs
    order = np.argsort(submit_time.to_numpy(), kind="stable")
    index = jobs.index.take(order)
    columns = {
        name: pd.Series(jobs.pop(name).array.take(order), index, copy=False) for name in [*jobs]
    }
    return pd.DataFrame(columns, copy=False)


def known_start(start: pd.Series, submit_time: pd.Series, account: Account) -> pd.Series:
    """Starts, unknown where a job would have begun before it was submitted."""
    early = start < submit_time
    account.add("noted", "started before it arrived, start taken as unknown", int(early.sum()))
    return start.where(~early)


def note(jobs: pd.DataFrame, machine: System | None, account: Account) -> None:
    """Add oddities of jobs that matter for results to the account."""
    run_time = jobs["run_time"]
    unknown = pd.Series(np.nan, index=jobs.index)
    requested, start = (jobs.get(name, unknown) for name in ("requested_time", "recorded_start"))
    account.add("noted", "run time 0", int((run_time == 0).sum()))
    account.add("noted", "run time over the requested time", int((run_time > requested).sum()))
    account.add("noted", "requested time unknown", int(requested.isna().sum()))
    account.add("noted", "start unknown", int(start.isna().sum()))
    if "job_id" in jobs:
        account.add("noted", "job number used before", _repeated(jobs["job_id"]))
    if machine is not None:
        wide = int((jobs["nodes"] > machine.total_nodes).sum())
        account.add("noted", f"wider than the {machine.total_nodes} nodes of its machine", wide)


def _repeated(numbers: pd.Series) -> int:
    """How many known numbers have come before; sorted, which takes less memory than a table."""
    known = np.sort(numbers.dropna().to_numpy())
    return int((known[1:] == known[:-1]).sum())
