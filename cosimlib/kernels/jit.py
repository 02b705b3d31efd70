"""Just-in-time compilation by Numba, with a disk cache that cannot be stale.

Numba's own cache looks at the file that holds a function. It does not notice an edit in another
file that the function calls into, and quietly runs the old code. So the cache folder is named by a
hash of what kernels can see of the package (see `kernels.fingerprint`).
"""

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
from numba import types

from cosimlib.kernels import fingerprint
from cosimlib.kernels.fingerprint import kernel_hash, source_hash

KEEP_SECONDS = 24 * 3600.0

Function = TypeVar("Function", bound=Callable)


def kernel(function: Function) -> Function:
    """`function` compiled by Numba without the GIL, cached on disk until what kernels see changes.

    A kernel calls other kernels by name. It takes arrays and numbers, never a function.
    """
    return _compiled(function)


def frugal_kernel(function: Function) -> Function:
    """A kernel that makes no arrays, compiled without counting references to its arguments.

    For small kernels that are called in inner loops with many arrays: counting, one atomic
    operation per array and call, may take most of their time. Numba's switch for it is not
    documented; without it they would be as correct, and slower.
    """
    return _compiled(function, _nrt=False)


def inner_kernel(function: Function) -> Function:
    """A frugal kernel that only kernels call.

    It has none of the wrappers by which Python and C call it. With many arrays as arguments these
    are longer than most kernels, and take as long to compile.
    """
    return _compiled(function, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def allocating_kernel(function: Function) -> Function:
    """A kernel that makes arrays, or is given some by one that does, and that only kernels call."""
    return _compiled(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def inlined_kernel(function: Function) -> Function:
    """An inner kernel whose code goes into each kernel that calls it.

    A call hands over every array's pointers, sizes and strides: with many arrays that takes longer
    than a small kernel itself.
    """
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": True}
    return _compiled(function, _nrt=False, **options)


def embedded_kernel(function: Function) -> Function:
    """A kernel that one other calls in one place: its lines become lines of that one.

    What a kernel calls is optimized and made machine code with each kernel above it. A long one
    is spared that twice.
    """
    return numba.njit(inline="always")(function)


def uncached_kernel(function: Function) -> Function:
    """A kernel that takes functions, compiled in memory once per process and set of functions.

    Numba finds no such kernel on disk again, and keeping it would only fill the cache.
    """
    return numba.njit(nogil=True)(function)


def _compiled(function: Function, **options: bool) -> Function:
    """Compile with the cache folder of this source."""
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_folder())
    try:
        return _for_any_constant(numba.njit(cache=True, nogil=True, **options)(function))
    finally:
        numba.config.CACHE_DIR = previous


def _for_any_constant(compiled: Function) -> Function:
    """Let a kernel be compiled for types only: Numba would do it anew for each constant argument.

    Kernels that are inlined see constants all the same.
    """
    if not is_interpreted():
        ask = compiled.get_call_template  # type: ignore[attr-defined]

        def ask_by_type(args: tuple, kws: dict) -> tuple:
            named = {name: types.unliteral(each) for name, each in kws.items()}
            return ask(tuple(map(types.unliteral, args)), named)

        compiled.get_call_template = ask_by_type  # type: ignore[attr-defined]
    return compiled


def is_interpreted() -> bool:
    """Whether Numba is told to compile nothing, so that kernels are Python."""
    return bool(numba.config.DISABLE_JIT)


@cache
def cache_folder() -> Path:
    """Folder of kernels compiled from this source: beside it, or else in the user's cache."""
    for root in (fingerprint.PACKAGE / "__pycache__", *_user_caches()):
        try:
            root.mkdir(parents=True, exist_ok=True)
            folder = root / f"kernels-{_remembered_hash(root)}"
            folder.mkdir(exist_ok=True)
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
    """Remove folders and hashes of other sources that have not been used for a day."""
    for entry in (*root.glob("kernels-*/.probe"), *root.glob("sources-*")):
        try:
            if entry.parent == current or time.time() - entry.stat().st_mtime <= KEEP_SECONDS:
                continue
            if entry.name == ".probe":
                shutil.rmtree(entry.parent, ignore_errors=True)
            else:
                entry.unlink()
        except OSError:
            continue


def _remembered_hash(root: Path) -> str:
    """`kernel_hash`, kept in a file of `root` for each state of the source: parsing takes long."""
    memo = root / f"sources-{source_hash()}"
    try:
        known = memo.read_text()
        if re.fullmatch("[0-9a-f]{16}", known):
            memo.touch()
            return known
    except (OSError, ValueError):
        pass
    draft = root / f"{memo.name}-{os.getpid()}-{time.time_ns()}"
    draft.write_text(kernel_hash())
    draft.replace(memo)
    return kernel_hash()
