"""What a notebook's seconds were spent on: `start` in its kernel, and `read` where it was run.

A thread looks every 20 ms at what the notebook's main thread does. The processor time since the
last look counts for the innermost function that is known:

- *import*: Python loads a module; so counts all that is done before the first cell;
- *compile*: Numba compiles a kernel, or loads it from the disk;
- *draw*: figures are made, written and shown;
- *simulate*: all else.

The processes of a sweep are not looked at: *workers* is what all processes of the run took
together, less the other shares. The process that runs the kernel only loads modules, and waits.
"""

import atexit
import json
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from types import CodeType, FrameType

IMPORT, COMPILE, DRAW, SIMULATE, WORKERS = "import", "compile", "draw", "simulate", "workers"
PERIOD = 0.02
"""Seconds between two looks."""

COMPILES = "_compile_for_args"
"""The function of Numba's dispatcher that compiles a kernel, or loads it, at its first call."""
DRAWS = ("/plotly/", "/cosimlab/figures/", "/papers/images.py", "/IPython/core/formatters.py")
"""Parts of the paths of files whose functions draw."""


class Clock:
    """Processor time of the main thread by share, taken by a thread that runs beside it."""

    def __init__(self) -> None:
        self.seconds = defaultdict(float, {IMPORT: time.process_time()})
        self.main = threading.main_thread().ident
        self.shares: dict[CodeType, str] = {}

    def run(self) -> None:
        """Look for as long as the process lives."""
        last = time.process_time()
        while True:
            time.sleep(PERIOD)
            now = time.process_time()
            self.seconds[self._share()] += now - last
            last = now

    def _share(self) -> str:
        """The share of what the main thread does at the moment."""
        frame: FrameType | None = sys._current_frames().get(self.main or 0)
        while frame is not None:
            code = frame.f_code
            share = self.shares.get(code)
            if share is None:
                share = self.shares[code] = share_of(code)
            if share:
                return share
            frame = frame.f_back
        return SIMULATE


def share_of(code: CodeType) -> str:
    """The share that a function counts for; empty if that depends on what calls it."""
    path = code.co_filename.replace("\\", "/")
    if path.startswith("<frozen importlib"):
        return IMPORT
    if code.co_name == COMPILES:
        return COMPILE
    return DRAW if any(part in path for part in DRAWS) else ""


def start(path: str) -> None:
    """Look at this process from now on; its seconds by share are written as it ends."""
    clock = Clock()
    threading.Thread(target=clock.run, name="shares", daemon=True).start()
    atexit.register(lambda: Path(path).write_text(json.dumps(clock.seconds)))


def read(path: Path, own: float, started: float) -> dict[str, float]:
    """Seconds by share, as `start` wrote them; empty where the kernel was killed before.

    Parameters
    ----------
    path : Path
        That `start` was given.
    own, started : float
        Seconds of processor time of the process that ran the notebook, and of those it started.
    """
    if not path.is_file():
        return {}
    seconds = json.loads(path.read_text())
    seconds[WORKERS] = max(0.0, started - sum(seconds.values()))
    seconds[IMPORT] += own
    order = (IMPORT, COMPILE, SIMULATE, DRAW, WORKERS)
    return {share: round(seconds.get(share, 0.0), 1) for share in order}


def in_words(seconds: dict[str, float]) -> str:
    """The shares as a line, such as "import 2.1 s, compile 5.3 s"; without those of nothing."""
    return ", ".join(f"{share} {spent:.1f} s" for share, spent in seconds.items() if spent)
