"""Simulators: a workload meets a system and becomes a schedule."""

from collections.abc import Callable

from cosimlib.schedulers.backfilling import simulate_easy, simulate_fcfs

SIMULATORS: dict[str, Callable] = {"FCFS": simulate_fcfs, "EASY": simulate_easy}
"""Every policy by the name that tables and figures call it."""
