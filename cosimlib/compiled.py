"""Notes of the parts of the package that are compiled, beside the kernels.

`cosimlib.warm` says what the parts are. A note records the text of the files that hold kernels, by
which Numba they were compiled and for which processor: it compiles anew where one is another.
"""

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from llvmlite import binding

from cosimlib.files import importing_this, locked, write_whole
from cosimlib.kernels.fingerprint import PACKAGE
from cosimlib.kernels.jit import cache_folder, is_interpreted

BATCH, CONSERVATIVE, FILLING = "batch", "conservative backfilling", "filling"
BURSTS, TIMESHARING, COSCHEDULING = "bursts", "time-sharing", "coscheduling"
ELASTIC, EVICTION = "elastic partitions", "eviction"

DECORATED = re.compile(rb"^ *@\w*kernel$", re.MULTILINE)
"""A line that every file that holds kernels has."""


def part_of(policy: str) -> str:
    """The part that compiles a policy of `policies.BUILT_IN`."""
    if "fill" in policy:
        return FILLING
    return CONSERVATIVE if policy.startswith("conservative") else BATCH


def compile_apart(*options: str) -> subprocess.Popen:
    """Begin ``python -m cosimlib.warm`` with options; it goes on when this process ends.

    Whoever comes later finds what it compiled.
    """
    return subprocess.Popen(
        [sys.executable, "-m", "cosimlib.warm", *options], env=importing_this(os.environ),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip


def compile_meanwhile() -> None:
    """Compile all parts beside this process and say so; without room for that, as they are used."""
    with suppress(OSError):
        compile_apart()
        print("kernels are compiled in the background, unless they are; also when this ends")


def is_compiled(part: str) -> bool:
    """Whether a part is compiled from the files as they were when this process first asked."""
    note = _note(part)
    return note.exists() and note.read_bytes() == _state()


@contextmanager
def compiling(part: str) -> Iterator[bool]:
    """Whether a part is still to be compiled, which one process at a time does; then a note.

    Where Numba is told to compile nothing, nothing is noted.
    """
    mark = _note(part).with_suffix(".lock")
    mark.touch()
    with locked(mark):
        needed = not is_compiled(part)
        yield needed
        if needed and not is_interpreted():
            write_whole(_note(part), _state())


def _note(part: str) -> Path:
    """Where it is noted that a part is compiled."""
    return cache_folder() / f".{part.replace(' ', '-')}"


@cache
def _state() -> bytes:
    """The files that hold kernels, and what compiles them, as a hash."""
    texts = [path.read_bytes() for path in sorted(PACKAGE.rglob("*.py"))]
    holding = [text for text in texts if DECORATED.search(text)]
    processor = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    compiler = version("numba"), sys.implementation.cache_tag, *processor
    return hashlib.sha256(repr((holding, compiler)).encode()).hexdigest().encode()
