"""Computation of one cell, in whatever process it runs."""

import multiprocessing
import os
import pickle
import signal
import socket
import threading
import time
import traceback
from collections.abc import Callable, Collection, Mapping
from multiprocessing import connection
from typing import Any, NamedTuple

from cosimlib.kernels.fingerprint import source_hash
from cosimlib.sweep.parcels import Parcel, ParcelError, unpack
from cosimlib.sweep.rows import NotRowsError, encode

WORKERS = "COSIMLIB_WORKERS"
"""Environment variable: how many processes ``executor="cores"`` means."""
SCRATCH = "COSIMLIB_SCRATCH"
"""Environment variable: a folder for what lasts as long as a sweep; by default the system's."""


class Outcome(NamedTuple):
    """A cell's rows as JSON lines, or why there are none.

    `broken` says that the sweep itself is at fault, so that no other cell need be tried.
    """

    lines: list[str]
    error: Exception | None = None
    broken: bool = False
    seconds: float = 0.0


def compute(
    function: Callable[..., Any], arguments: Mapping[str, Any], taken: Collection[str]
) -> Outcome:
    """The rows of one cell."""
    began = time.monotonic()
    try:
        result = function(**arguments)
    except Exception as error:  # a sweep goes on whatever one cell does
        return Outcome([], error)
    try:
        return Outcome(encode(result, taken), seconds=time.monotonic() - began)
    except NotRowsError as error:
        return Outcome([], error, broken=True)


def compute_remotely(
    function: Parcel, arguments: Mapping[str, Parcel], taken: Collection[str], source: str
) -> Outcome:
    """The rows of one cell whose function and arguments were sent to this process."""
    if source_hash() != source:
        where = f"process {os.getpid()} on {socket.gethostname()}"
        problem = f"{where} has another source of cosimlib than the caller; install the same there"
        return Outcome([], ParcelError(f"{problem}, or restart what was edited"), broken=True)
    try:
        values = {name: unpack(parcel) for name, parcel in arguments.items()}
        outcome = compute(unpack(function), values, taken)
    except ParcelError as error:
        return Outcome([], error, broken=True)
    if outcome.error is None:
        return outcome
    return outcome._replace(error=_portable(outcome.error))


def prepare_worker() -> None:
    """Make this process a worker that its sweep ends, and that ends with its sweep."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ[WORKERS] = "1"
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def is_ready() -> bool:
    """Something to ask a new worker."""
    return True


def _end_with(sentinel: Any) -> None:
    """Leave at once when the parent is gone."""
    connection.wait([sentinel])
    os._exit(1)


def _portable(error: Exception) -> Exception:
    """An error that another process can load, with the traceback of this one as a note."""
    note = "".join(traceback.format_exception(error))
    try:
        error = pickle.loads(pickle.dumps(error))
    except Exception:  # errors with a constructor of their own often cannot be pickled
        error = RuntimeError(f"{type(error).__name__}: {error}")
    error.add_note(f"in a worker:\n{note}")
    return error
