"""The one way to compile: `kernel`, whose disk cache cannot be stale.

Numba's own cache looks at the file that holds a function. It does not notice an edit in another
file that the function calls into, and quietly runs the old code. So the cache folder is named by a
hash of the whole package's source: any edit begins a new folder.
"""

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar

import numba

PACKAGE = Path(__file__).resolve().parents[1]
KEEP_SECONDS = 24 * 3600.0

Function = TypeVar("Function", bound=Callable)


def kernel(function: Function) -> Function:
    """`function` compiled by Numba without the GIL, cached on disk until any source file changes.

    A kernel calls other kernels by name. It takes arrays and numbers, never a function.
    """
    return _compiled(function)


def frugal_kernel(function: Function) -> Function:
    """A kernel that makes no arrays, and so need not count who holds those that it is given.

    For small kernels that are called in inner loops with many arrays: counting, one atomic
    operation for each array and call, may take most of their time. Numba's switch for it is not
    documented; without it they would be as correct, and slower.
    """
    return _compiled(function, _nrt=False)


def _compiled(function: Function, **options: bool) -> Function:
    """Compile with the cache folder of this source."""
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_folder())
    try:
        return numba.njit(cache=True, nogil=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = previous


@cache
def source_hash() -> str:
    """Sixteen hexadecimal digits that name the package's source as it is on disk."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(PACKAGE).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def cache_folder() -> Path:
    """Where kernels compiled from this source are kept: beside it, or else in the user's cache."""
    for root in (PACKAGE / "__pycache__", *_user_caches()):
        folder = root / f"kernels-{source_hash()}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / ".probe").touch()
        except OSError:
            continue
        _forget_old_ones(root, folder)
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


def _forget_old_ones(root: Path, current: Path) -> None:
    """Remove folders of other sources that nobody has opened for a day."""
    for folder in root.glob("kernels-*"):
        probe = folder / ".probe"
        try:
            if folder != current and time.time() - probe.stat().st_mtime > KEEP_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue
