"""Folder of a sweep: its cells as files, each written wholly or not at all.

``sweep.json`` names the function, ``cells/`` holds one file of JSON lines per cell, by a digest of
function, package source and arguments, ``shared/`` large arguments for workers to read.
"""

import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cosimlib.files import check_folder, write_whole
from cosimlib.sweep.rows import decode, whole_cell

RECORD = "sweep.json"


class Folder:
    """The cells of one sweep on disk, or nowhere without a path.

    Parameters
    ----------
    path : Path or None
    function : str
        The name of the function swept over.

    Raises
    ------
    ValueError
        Where the folder holds something else.
    OSError
        Where it cannot be written.
    """

    def __init__(self, path: Path | None, function: str) -> None:
        self.path = path
        self.function = function
        if path is not None:
            _check(path, function)

    @property
    def shared(self) -> Path | None:
        """Where large arguments go."""
        return None if self.path is None else self.path / "shared"

    def make(self) -> None:
        """Make the folder, and write into it whose it is."""
        if self.path is None:
            return
        self.path.mkdir(parents=True, exist_ok=True)
        record = {"function": self.function, "cosimlib": version("cosimlib")}
        write_whole(self.path / RECORD, f"{json.dumps(record)}\n".encode())
        (self.path / "cells").mkdir(exist_ok=True)

    def rows(self, digest: str) -> list[dict[str, Any]] | None:
        """The rows of a cell that is done; None of one that is not."""
        if self.path is None:
            return None
        try:
            return decode(self._file(self.path, digest).read_bytes())
        except FileNotFoundError:
            return None

    def keep(self, digest: str, labels: Mapping[str, object], lines: list[str]) -> None:
        """Write a cell."""
        if self.path is not None:
            write_whole(self._file(self.path, digest), whole_cell(labels, lines))

    @staticmethod
    def _file(path: Path, digest: str) -> Path:
        return path / "cells" / f"{digest}.jsonl"


def _check(path: Path, function: str) -> None:
    """Refuse a file, a folder of something else, and one of another sweep."""
    check_folder("folder", path)
    # A sweep that was killed at once may have left half a record, under a hidden name.
    if not path.is_dir() or all(one.name.startswith(f".{RECORD}.") for one in path.iterdir()):
        return
    try:
        known = json.loads((path / RECORD).read_text(encoding="utf-8"))["function"]
    except FileNotFoundError:
        raise ValueError(
            f"folder={str(path)!r} holds other files and no {RECORD}; expected a new or empty "
            "folder, or that of an earlier call of this sweep"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{path / RECORD} is not what a sweep writes; give a new folder") from None
    if known != function:
        raise ValueError(
            f"folder={str(path)!r} holds the sweep of {known}, this one is of {function}; give "
            "each function a folder of its own"
        )
