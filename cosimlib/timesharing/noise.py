"""Noise: in each step each node is slowed with a probability, to a speed uniform in [0.5, 1].

The paper (Hofmeyr et al., HPCC 2016) prints a probability of 0.0001, but both numbers that it
derives, 5 or 6 of 5,576 nodes in a step and 0.025 % of the capacity, need 0.001.
"""

import math

import numpy as np

from cosimlib import checks as check
from cosimlib.timesharing.state import Noise

STEP = 10.0
"""Seconds of a step."""

ROUNDING = 1e-9
"""Part of a step that counts as nothing."""

NOISE = 0.001
"""Probability that a node is slowed in a step, as the paper's own numbers need it."""

SLOWEST = 0.5
"""The least speed of a slowed node."""


def check_noise(noise: float | None, step: float | None, seed: int) -> None:
    """Validate the probability of slowdowns, the step, which they need, and the seed."""
    check.number("noise", noise, least=0.0, most=1.0, kind="a probability", none=True)
    check.seconds("step", step, above=0.0, none="for exact times")
    if noise and step is None:
        raise ValueError(f"noise={noise!r} slows nodes for a step; give a step, such as {STEP:g}")
    check.seed(seed)


def empty() -> Noise:
    """No slowdowns."""
    return Noise(np.empty(0), np.empty(0, np.int64), np.empty(0))


def noise_between(
    rng: np.random.Generator, total_nodes: int, begin: float, until: float, step: float, p: float
) -> Noise:
    """The noise of the steps that begin from `begin` to before `until`."""
    if not p:
        return empty()
    first = math.ceil(begin / step - ROUNDING)
    steps = math.ceil(until / step - ROUNDING) - first
    return draw_noise(rng, total_nodes, first * step, steps, step, p)


def draw_noise(
    rng: np.random.Generator, total_nodes: int, begin: float, steps: int, step: float, p: float
) -> Noise:
    """The noise of `steps` steps from `begin` on; each node is slowed with probability `p`."""
    places = total_nodes * steps
    found = [np.empty(0, np.int64)]
    last = -1
    while p > 0 and last < places:
        gaps = rng.geometric(p, size=max(16, int(1.1 * (places - last) * p)))
        # No gap need be longer than all there is: sums of those of a tiny p would overflow.
        gaps = np.minimum(gaps, places + 1)
        found.append(last + np.cumsum(gaps))
        last = int(found[-1][-1])
    at = np.concatenate(found)
    at = at[at < places]
    speed = rng.uniform(SLOWEST, 1.0, at.size)
    return Noise(begin + at // total_nodes * step, at % total_nodes, speed)
