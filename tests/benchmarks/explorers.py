"""Seconds that an explorer takes to follow a control, the least of some values in turn."""

import time
from collections.abc import Callable, Iterator
from typing import Any

from cosimlab import explorers, twins
from cosimlab.folders import checkout
from cosimlib import synthetic
from cosimlib.batch import simulate_easy
from cosimlib.system import System

GOAL = "<= 0.3"


def explore_elastic() -> Any:
    """The explorer of preemptions on the 57 days of PEREGRINE's twin."""
    return explorers.explore_elastic(simulate_easy(twins.peregrine(), System.of(20)))


def explore_eviction() -> Any:
    """The explorer of evictions on a fullest moment of a year like Theta's."""
    workload = synthetic.theta(seed=0)
    return explorers.explore_eviction(simulate_easy(workload, workload.machine))


def explore_advise() -> Any:
    """The explorer of advice on the saved queue of the documentation."""
    docs = checkout() / "docs"
    saved = [docs / "advise" / name for name in ("squeue.json", "sinfo.json")]
    return explorers.explore_advise(saved, model=docs / "advise.example.toml")


EXPLORERS: dict[Callable[[], Any], dict[str, tuple]] = {
    explore_advise: {"nodes_needed": (8, 9), "deadline": (60.0, 120.0), "bandwidth": (0.5, 0.2)},
    explorers.explore_batch: {
        "policy": ("conservative", "FCFS", "EASY"),
        "load": (0.8, 0.95),
        "estimates": ("Tsafrir",),
    },
    explorers.explore_coscheduling: {"event": (2, 3), "schemes": ("HH", "YH"), "share": (0.0, 1.0)},
    explore_elastic: {
        "policy": ("LIFO", "FIFO", "PAP+"),
        "at": (2e6, 1e6, 5e5),
    },
    explore_eviction: {
        "nodes_needed": (500, 501),
        "bandwidth": (125.0, 50.0),
        "interval": (1800.0, 2700.0),
        "solver": ("greedy", "dynamic", "greedy"),
    },
    explorers.explore_filling: {"overhead": (0.2, 0.3), "accuracy": (0.3, 0.7), "seed": (1, 2)},
    explorers.explore_ondemand: {
        "policy": ("kill", "share", "wait"),
        "rate": (8.0, 2.0),
        "day": (2, 3),
        "seed": (1, 2),
    },
    explorers.explore_timesharing: {
        "load": (0.8, 0.95),
        "overhead": (0.05, 0.1),
        "at": (108_000.0, 144_000.0),
        "spmd": (False, True),
        "seed": (1, 2),
        "noise": (0.005, 0.01),
    },
}
"""Values of each explorer's controls in turn."""


def explorer_rows() -> Iterator[tuple]:
    """The slowest control of each explorer."""
    for explore, controls in EXPLORERS.items():
        panel = explore()
        seconds = {name: _least_seconds(panel, name, values) for name, values in controls.items()}
        slowest = max(seconds, key=seconds.__getitem__)
        yield (f"{explore.__name__}: {slowest}, the slowest control", seconds[slowest], "s", GOAL)


def _least_seconds(panel: Any, name: str, values: tuple) -> float:
    """Least wall-clock seconds of one change, where a control takes `values` in turn."""
    measured = []
    for value in values:
        begin = time.perf_counter()
        panel.controls[name].value = value
        measured.append(time.perf_counter() - begin)
    return min(measured)
