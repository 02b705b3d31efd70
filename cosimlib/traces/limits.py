"""The largest log that is read: beyond it there is an error before memory runs out.

A gzip file may hold a thousand times its size. Once read, the jobs of a log take up to 13 times the
bytes of its text. So a log may have a sixteenth of the memory that this process may use, counted
once it is decompressed; `COSIMLIB_LARGEST_LOG`, in bytes, says otherwise.
"""

import os
from contextlib import suppress
from pathlib import Path

from cosimlib import checks as check
from cosimlib.display import quantity

KNOB = "COSIMLIB_LARGEST_LOG"
SHARE = 16
CGROUPS = ("memory.max", "memory/memory.limit_in_bytes")
UNKNOWN_MEMORY = 8e9
"""Bytes of memory where the system does not tell."""


def largest() -> float:
    """Bytes that a log may have."""
    told = os.environ.get(KNOB)
    if told is None:
        return _memory() / SHARE
    try:
        size = float(told)
    except ValueError:
        size = float("nan")
    check.that(KNOB, told, size > 0, "a number of bytes above 0, such as 4e9")
    return size


def excess(most: float) -> str:
    """What an error says of a log with more than `most` bytes."""
    return (
        f"more than {quantity(most / 1e6, 'MB')}, which a log may have here once it is "
        f"decompressed (by default a {SHARE}th of the memory); {KNOB}=4e9 allows 4 GB"
    )


def _memory() -> float:
    """Bytes of memory that this process may use: of the machine, or its part of that."""
    known = []
    with suppress(AttributeError, OSError, ValueError):
        known.append(float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE"))
    for name in CGROUPS:
        with suppress(OSError, ValueError):  # absent, or "max"
            known.append(float((Path("/sys/fs/cgroup") / name).read_text()))
    with suppress(ImportError):
        import resource

        known.append(float(resource.getrlimit(resource.RLIMIT_AS)[0]))
    return min((size for size in known if size > 0), default=UNKNOWN_MEMORY)
