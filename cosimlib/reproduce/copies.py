"""Processes that begin as copies of one that has imported what they need, where systems can."""

import multiprocessing
import signal
from typing import Any

EXECUTION = "cosimlib.reproduce.client"
"""What is imported to execute notebooks."""
COMPILATION = "cosimlib.warm"
"""What is imported to compile kernels."""


def context(*also: str) -> Any:
    """How processes begin: where systems can as copies, of which the first imports `also`, too."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    copies = multiprocessing.get_context("forkserver")
    copies.set_forkserver_preload(["__main__", EXECUTION, *also])
    return copies


def prepare(*also: str) -> None:
    """Begin the imports of the process that is to be copied, while this one goes on."""
    if context(*also).get_start_method() != "forkserver":
        return
    from multiprocessing.forkserver import ensure_running

    # Interrupted in the middle of an import, it would end with a traceback.
    heard = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        ensure_running()
    finally:
        signal.signal(signal.SIGINT, heard)
