"""Which jobs to evict, by how many nodes are needed, how soon, and how fast checkpoints are.

Knobs for the number of nodes and for the deadline read plans from one solved spectrum; those for
the file system's bandwidth and for the interval between application checkpoints pose the problem
anew and solve it again.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from ipywidgets import FloatLogSlider, FloatSlider, IntSlider, SelectionSlider, Widget

from cosimlib.eviction import EvictionPlan, EvictionProblem, EvictionSpectrum, solve_spectrum
from cosimlib.explorers.panel import Panel
from cosimlib.figures.eviction import plot_trade_off
from cosimlib.metrics import occupied_nodes
from cosimlib.schedule import Schedule

MINUTE = 60.0
OWN_TIMES = (
    "Bandwidth and interval play no part here: this problem came with its checkpoint times. "
    "Explore a Schedule to change them."
)


def explore_eviction(
    source: Schedule | EvictionProblem,
    *,
    at: float | None = None,
    nodes_needed: int | None = None,
    horizon: float = 900.0,
    step: float = 60.0,
    interval: float = 3600.0,
    seed: int = 0,
) -> Panel:
    """Sliders, the loss surface with the point chosen on it, and what happens to which job.

    A click on the surface chooses nodes and deadline.

    Parameters
    ----------
    source : Schedule or EvictionProblem
        A problem brings its own horizon, step and checkpoint times.
    at : float, optional
        The moment of the eviction, seconds of the schedule's clock; by default the middle of the
        longest stretch in which most nodes are held.
    nodes_needed : int, optional
        To begin with; the problem's own by default, or a quarter of the nodes that are held.
    horizon, step, interval, seed
        As for `EvictionProblem.from_schedule`.

    Returns
    -------
    Panel
        Whose `controls` are `nodes_needed`, `deadline` (seconds), `bandwidth` (GB/s) and
        `interval` (minutes).

    Raises
    ------
    TypeError
        Where the source is neither.
    ValueError
        Where no job runs at `at`, or `at` is given for a problem.
    """
    if isinstance(source, Schedule):
        at = _moment(source, at)
        options = {"at": at, "horizon": horizon, "step": step, "seed": seed}
        pose = _posed_by(source, options, interval)
    elif isinstance(source, EvictionProblem):
        if at is not None:
            raise ValueError(f"at={at!r}; a problem has its moment already: leave `at` out")
        pose = _given(source)
    else:
        raise TypeError(
            f"source is a {type(source).__name__}; expected a Schedule or an EvictionProblem"
        )
