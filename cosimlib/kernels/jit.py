"""Just-in-time compilation by Numba, with a disk cache that cannot be stale.

Numba's own cache looks at the file that holds a function. It does not notice an edit in another
file that the function calls into, and quietly runs the old code. So the cache folder is named by a
hash of the texts of all files that hold kernels, or the named tuples and constants that these take.
"""

import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar

import numba

PACKAGE = Path(__file__).resolve().parents[1]
SEEN_BY_KERNELS = re.compile(rb"^ *@kernel$|\(NamedTuple\):$", re.MULTILINE)
"""A line that every file has which holds kernels, or what they see of other files."""
KEEP_SECONDS = 24 * 3600.0

Function = TypeVar("Function", bound=Callable)


def kernel(function: Function) -> Function:
    """`function` compiled by Numba without the GIL, cached on disk until a kernel's file changes.

    A kernel calls other kernels by name. It takes arrays and numbers, never a function.
    """
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_folder())
    try:
        return numba.njit(cache=True, nogil=True)(function)
    finally:
        numba.config.CACHE_DIR = previous


def is_interpreted() -> bool:
    """Whether Numba is set to compile nothing, so that kernels are Python."""
    return bool(numba.config.DISABLE_JIT)


@cache
def cache_folder() -> Path:
    """Folder of kernels compiled from this source: beside it, or else in the user's cache."""
    texts = [path.read_bytes() for path in sorted(PACKAGE.rglob("*.py"))]
    seen = [text for text in texts if SEEN_BY_KERNELS.search(text)]
    name = f"kernels-{hashlib.sha256(repr(seen).encode()).hexdigest()[:16]}"
    for root in (PACKAGE / "__pycache__", *_user_caches()):
        folder = root / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / ".probe").touch()
        except OSError:
            continue
        _remove_old(root, folder)
        return folder
    return Path(tempfile.mkdtemp(prefix="cosimlib-kernels-"))


def _user_caches() -> list[Path]:
    """The user's cache folder, where there is one."""
    named = os.environ.get("XDG_CACHE_HOME")
    if named:
        return [Path(named) / "cosimlib"]
    try:
        return [Path.home() / ".cache" / "cosimlib"]
    except RuntimeError:
        return []


def _remove_old(root: Path, current: Path) -> None:
    """Remove folders of other sources that have not been used for a day."""
    for probe in root.glob("kernels-*/.probe"):
        try:
            if probe.parent != current and time.time() - probe.stat().st_mtime > KEEP_SECONDS:
                shutil.rmtree(probe.parent, ignore_errors=True)
        except OSError:
            continue
