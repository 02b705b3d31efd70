"""Summaries kept in files named by what they depend on: parameters and code."""

import hashlib
import json
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np

from cosimlib.files import write_whole
from cosimlib.kernels.compiling import source_hash
from cosimlib.timesharing.summary import RunSummary


def cached_summary(
    folder: str | Path | None, parameters: Mapping[str, Any], run: Callable[[], RunSummary]
) -> RunSummary:
    """What `run` returns, from its file where these parameters and this code have been run before.

    Parameters
    ----------
    folder : str, Path or None
        Where files are kept, such as ``data/cache``; None: keep none.
    parameters : mapping of str to numbers, strings, booleans or None
        All that the run depends on besides the package's source; NumPy's are as good as Python's,
        and equal ones are the same run.
    run : callable
        Simulates and summarizes. If it fails or is interrupted no file is written.

    Raises
    ------
    TypeError
        For a parameter that is none of these, where a folder is given.

    Notes
    -----
    A file that cannot be read as a summary is ignored and written anew.
    """
    if folder is None:
        return run()
    folder = Path(folder)
    plain = {name: _plain(name, value) for name, value in parameters.items()}
    path = folder / f"timesharing-{_key(plain)}.json"
    kept = _read(path)
    if kept is not None:
        return kept
    summary = run()
    folder.mkdir(parents=True, exist_ok=True)
    record = {"parameters": plain, "summary": summary.as_dict()}
    write_whole(path, json.dumps(record).encode())
    return summary


def project_cache() -> Path:
    """``data/cache`` of the project at or above the working directory, else inside it."""
    here = Path.cwd()
    for root in (here, *here.parents):
        if (root / "data" / "claims.csv").is_file():
            return root / "data" / "cache"
    return here / "data" / "cache"


def _key(parameters: Mapping[str, Any]) -> str:
    """Sixteen hexadecimal digits for these parameters and the package's source."""
    text = json.dumps([source_hash(), dict(parameters)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain(name: str, value: Any) -> str | int | float | bool | None:
    """A parameter as JSON writes it, the same for equal ones: 1 for 1.0, but not for True."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        number = float(value)
        return int(number) if number.is_integer() else number
    raise TypeError(
        f"{name}={value!r} is of type {type(value).__name__}, which names no file; expected a "
        "number, a string, True, False or None, or no cache"
    )


def _read(path: Path) -> RunSummary | None:
    """The summary in a file, if there is one."""
    try:
        return RunSummary.from_dict(json.loads(path.read_text())["summary"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
