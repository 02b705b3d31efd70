"""Seconds that an explorer takes to follow a control, the least of some values in turn."""

import time
from collections.abc import Callable, Iterator
from typing import Any

from cosimlib import synthetic
from cosimlib.batch import simulate_easy
from cosimlib.explorers import explore_elastic as _explore_elastic
from cosimlib.explorers import explore_timesharing
from cosimlib.system import System


def explore_elastic() -> Any:
    """The explorer of preemptions on the 57 days of PEREGRINE's twin."""
    return _explore_elastic(simulate_easy(synthetic.peregrine(), System.of(20)))


TIMESHARING = {"load": (0.8, 0.95), "overhead": (0.05, 0.1), "moment": (30.0, 40.0),
               "spmd": (False, True), "seed": (1, 2), "noise": (0.01, 0.02)}  # fmt: skip
ELASTIC = {"nodes": (30, 25, 24), "policy": ("LIFO", "FIFO", "PAP+"), "at": (2e6, 1e6, 5e5)}
EXPLORERS: dict[Callable[[], Any], tuple[dict[str, tuple], str]] = {
    explore_timesharing: (TIMESHARING, "<= 0.5"),
    explore_elastic: (ELASTIC, "<= 0.3"),
}
"""Values of each explorer's controls, and the goal in seconds."""


def explorer_rows() -> Iterator[tuple]:
    """The slowest control of each explorer."""
    for explore, (controls, goal) in EXPLORERS.items():
        panel = explore()
        seconds = {name: _least_seconds(panel, name, values) for name, values in controls.items()}
        slowest = max(seconds, key=seconds.__getitem__)
        yield (f"{explore.__name__}: {slowest}, the slowest control", seconds[slowest], "s", goal)


def _least_seconds(panel: Any, name: str, values: tuple) -> float:
    """Least wall-clock seconds of one change, where a control takes `values` in turn."""
    measured = []
    for value in values:
        begin = time.perf_counter()
        panel.controls[name].value = value
        measured.append(time.perf_counter() - begin)
    return min(measured)
