"""Simulators: a workload meets a system and becomes a schedule."""

from collections.abc import Callable
from functools import partial

from cosimlib.batch import simulate_conservative, simulate_easy, simulate_fcfs
from cosimlib.filling import simulate_filling

SIMULATORS: dict[str, Callable] = {
    "FCFS": simulate_fcfs,
    "EASY": simulate_easy,
    "EASY (per event)": partial(simulate_easy, decide="per_event"),
    "EASY (sjbf)": partial(simulate_easy, order="sjbf"),
    "EASY (wfp)": partial(simulate_easy, order="wfp"),
    "conservative": simulate_conservative,
    "conservative (replanned)": partial(simulate_conservative, reservations="replanned"),
    "not filled": partial(simulate_filling, policy=None),
    "filling A": simulate_filling,
    "filling B, save": partial(simulate_filling, policy="B"),
    "filling B, kill": partial(simulate_filling, policy="B", reclaim="kill"),
}
"""Every policy of one machine by the name that tables and figures call it.

All take any workload with requested times and any system of one partition. Those that fill act at
the beginnings of minutes only. `simulate_coscheduling` and `simulate_elastic` are called alike but
have no entry: a job's partition counts there, their knobs are of one letter or policy a partition,
and their schedules are called by these (``"HY"``), so that no name stands for every system."""
