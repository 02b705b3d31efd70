"""Folders that are written completely or not at all, locks, and the project's checkout."""

import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cosimlib.files import TEMPORARY

try:
    import fcntl
except ImportError:  # no POSIX
    fcntl = None  # type: ignore[assignment]

PACKAGE = Path(__file__).resolve().parent
FRONT_PAGE = "index.ipynb"
"""The one notebook of `notebooks/` that computes nothing: it leads to the others."""
NEW, OLD = "new", "old"


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """A new folder that replaces the target if the block ends without an error.

    Until then it is in a temporary folder beside the target. If the process is killed, the
    temporary folder stays until the next call for the same target. Of two processes that write the
    same target, the one that ends last is in its place.

    Raises
    ------
    OSError
        If nothing can be written beside the target; it names the target.
    """
    target = target.absolute()
    with ExitStack() as held:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with locked(target.parent):
                _clear_left(target)
                work = Path(tempfile.mkdtemp(prefix=_prefix(target), dir=target.parent))
                held.enter_context(locked(work))
        except OSError as error:
            raise type(error)(
                f"{target}: cannot be written, {error.strerror or error}; "
                "take a folder that can be written"
            ) from error
        try:
            (work / NEW).mkdir()
            yield work / NEW
            with locked(target.parent):
                if target.exists():
                    target.rename(work / OLD)
                (work / NEW).rename(target)
        finally:
            _clear(work, target)


def _prefix(target: Path) -> str:
    """How names of the temporary folders of a target begin."""
    return f"{TEMPORARY}{target.name}-"


def _clear_left(target: Path) -> None:
    """Delete the temporary folders that killed processes left beside a target."""
    for left in target.parent.glob(f"{glob.escape(_prefix(target))}*"):
        with locked(left, wait=False) as is_free:
            if is_free:
                _clear(left, target)


def _clear(work: Path, target: Path) -> None:
    """Delete a temporary folder, once an older target that was moved into it is back."""
    if (work / OLD).exists() and not target.exists():
        (work / OLD).rename(target)
    shutil.rmtree(work, ignore_errors=True)


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold the lock of a file or folder during the block; whether the lock was free.

    Locks (`flock`) are valid on this machine and end with their process. On a file system without
    locks, every block gets one.
    """
    mark = _lock(path, wait)
    try:
        yield mark is not None
    finally:
        if mark is not None:
            os.close(mark)


def _lock(path: Path, wait: bool) -> int | None:
    """A file descriptor that holds a file's or folder's lock; None if it cannot be had."""
    if fcntl is None:
        return None
    try:
        mark = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(mark, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(mark)
        return None
    return mark


def checkout() -> Path:
    """The checkout that contains the package, else the current folder."""
    above = PACKAGE.parent
    return above if (above / "pyproject.toml").is_file() else Path.cwd()


def check_folder(name: str, path: Path) -> None:
    """Raise an error for a path that cannot be a folder: it is a file, or is inside one."""
    for place in (path, *path.parents):
        if place.exists() and not place.is_dir():
            what = "is a file" if place == path else f"lies in {str(place)!r}, which is a file"
            raise ValueError(f"{name}={str(path)!r} {what}; expected a folder")
