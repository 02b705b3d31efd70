"""Simulators: a workload meets a system and becomes a schedule."""

from collections.abc import Callable
from functools import partial

from cosimlib.schedulers.backfilling import simulate_conservative, simulate_easy, simulate_fcfs

SIMULATORS: dict[str, Callable] = {
    "FCFS": simulate_fcfs,
    "EASY": simulate_easy,
    "EASY (per event)": partial(simulate_easy, decide="per_event"),
    "EASY (sjbf)": partial(simulate_easy, order="sjbf"),
    "EASY (wfp)": partial(simulate_easy, order="wfp"),
    "conservative": simulate_conservative,
    "conservative (replanned)": partial(simulate_conservative, reservations="replanned"),
}
"""Every policy by the name that tables and figures call it."""
