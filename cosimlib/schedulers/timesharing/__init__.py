"""Jobs that share nodes, against jobs that wait for their own."""

from cosimlib.schedulers.timesharing.noise import NOISE, SLOWEST, STEP, check_noise, draw_noise
from cosimlib.schedulers.timesharing.simulation import (
    QUEUES,
    check_knobs,
    in_steps,
    simulate_timesharing,
)

__all__ = [
    "NOISE",
    "QUEUES",
    "SLOWEST",
    "STEP",
    "check_knobs",
    "check_noise",
    "draw_noise",
    "in_steps",
    "simulate_timesharing",
]
