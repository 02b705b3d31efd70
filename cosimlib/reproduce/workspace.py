"""Folders for results: a workspace in them that goes with its run, and one writer at a time.

A run that is killed cannot clear up. Its workspace carries a lock that went with it, by which the
next run knows it: results that it had moved aside come back, and the rest is deleted. Where a file
system has no locks, runs at once are told apart by their workspaces alone, and nothing of others is
deleted.
"""

import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cosimlib.files import TEMPORARY, lock, locked

PREVIOUS = ".previous"
"""Ending of older results that were moved aside."""


@contextmanager
def workspace(results: Path) -> Iterator[Path]:
    """A new folder inside `results`, gone afterwards; those that killed runs left go before."""
    prefix = f".reproduce-{re.sub(r'[^A-Za-z0-9]', '', platform.node())}-"
    with locked(results):
        _clear(results, prefix)
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=results)).resolve()
        mark = lock(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if mark is not None:
            os.close(mark)


def _clear(results: Path, prefix: str) -> None:
    """Delete what killed runs of this machine left, once older results are back in their place."""
    for folder in results.glob(f"{prefix}*"):
        mark = lock(folder)
        if mark is None:
            continue
        for previous in folder.glob(f"*{PREVIOUS}"):
            target = results / previous.name.removesuffix(PREVIOUS)
            if not target.exists():
                previous.rename(target)
        shutil.rmtree(folder, ignore_errors=True)
        os.close(mark)
    for torn in results.glob(f"{TEMPORARY}*"):
        with suppress(OSError):
            torn.unlink()
