"""Seconds that an explorer takes to follow a control, the least of some values in turn."""

import time
from collections.abc import Callable, Iterator
from typing import Any

from cosimlib.explorers import explore_timesharing

TIMESHARING = {"load": (0.8, 0.95), "overhead": (0.05, 0.1), "moment": (30.0, 40.0),
               "spmd": (False, True), "seed": (1, 2), "noise": (0.01, 0.02)}  # fmt: skip
EXPLORERS: dict[Callable[[], Any], tuple[dict[str, tuple], str]] = {
    explore_timesharing: (TIMESHARING, "<= 0.5")
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
