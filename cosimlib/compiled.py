"""Notes of the parts of the package that are compiled, beside the kernels.

`cosimlib.warm` says what the parts are. A note holds when the package's files were changed, since
Numba compiles anew what was touched since.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from cosimlib.files import locked, write_whole
from cosimlib.kernels.fingerprint import PACKAGE
from cosimlib.kernels.jit import cache_folder

BATCH, CONSERVATIVE, FILLING = "batch", "conservative backfilling", "filling"
BURSTS, TIMESHARING, COSCHEDULING = "bursts", "time-sharing", "coscheduling"
ELASTIC, EVICTION = "elastic partitions", "eviction"


def is_compiled(part: str) -> bool:
    """Whether a part is compiled from the files as they were when this process first asked."""
    note = _note(part)
    return note.exists() and note.read_bytes() == _changed()


@contextmanager
def compiling(part: str) -> Iterator[bool]:
    """Whether a part is still to be compiled, which one process at a time does; then a note."""
    mark = _note(part).with_suffix(".lock")
    mark.touch()
    with locked(mark):
        needed = not is_compiled(part)
        yield needed
        if needed:
            write_whole(_note(part), _changed())


def _note(part: str) -> Path:
    """Where it is noted that a part is compiled."""
    return cache_folder() / f".{part.replace(' ', '-')}"


@cache
def _changed() -> bytes:
    """When each of the package's files was changed, as a hash."""
    times = [(str(path), path.stat().st_mtime_ns) for path in sorted(PACKAGE.rglob("*.py"))]
    return hashlib.sha256(repr(times).encode()).hexdigest().encode()
