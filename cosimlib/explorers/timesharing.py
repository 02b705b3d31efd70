"""Explorer of time-sharing against batch on a small machine: sharing, noise, overhead, memory.

Jobs are made like Edison's and simulated twice, time-shared with the shares around the moment
recorded, and in batch. Every control simulates time-sharing anew, but batch only where it can
differ: not for overhead, memory and moment. A picture takes about 0.3 s,
under noise half a second.
"""

from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np
import plotly.graph_objects as go
from ipywidgets import Dropdown, FloatSlider, IntSlider, Widget

from cosimlib import checks as check
from cosimlib import synthetic
from cosimlib.explorers.panel import Panel
from cosimlib.figures.timesharing_moment import plot_sharing
from cosimlib.schedule import Schedule
from cosimlib.synthetic import EDISON
from cosimlib.timesharing import (
    STEP,
    RunSummary,
    simulate_batch,
    simulate_timesharing,
    summarize_run,
)
from cosimlib.timesharing.schedule import TimesharedSchedule
from cosimlib.units import DAY, HOUR

SHOWN = 6 * HOUR
"""Seconds in which shares are shown, the moment in their middle."""

KINDS = (("SPMD: as fast as the slowest node", True), ("not SPMD: the mean of all nodes", False))
MEMORY = (("a tenth of the jobs needs 60 %", "tenth"), ("the longest jobs need 60 %", "longest"),
          ("spread as on UniLu-Gaia", "UniLu-Gaia"))  # fmt: skip

Run = Callable[..., tuple[TimesharedSchedule, Schedule]]


def explore_timesharing(
    *,
    days: int = 7,
    nodes: int = 64,
    load: float = 0.89,
    overhead: float = 0.0,
    noise: float = 0.0,
    spmd: bool = True,
    memory_spread: str = "tenth",
    seed: int = 0,
    at: float | None = None,
) -> Panel:
    """Widget: knobs of time-sharing and its jobs, shares on a crowded node, gain over batch.

    Parameters
    ----------
    days, nodes : int
        For how long `synthetic.edison` submits jobs, and the nodes of its machine, from 16.
    load : float, default 0.89
        Offered load.
    overhead : float, default 0
        Part of every node's capacity that sharing costs; batch has none.
    noise : float, default 0
        Probability that a node is slowed in a step of 10 s, in batch too.
    spmd : bool, default True
        Whether a job runs everywhere at the speed of its slowest node.
    memory_spread : {"tenth", "longest", "UniLu-Gaia"}, default "tenth"
        Which jobs need how much memory, see `synthetic.edison`.
    seed : int, default 0
        Of the jobs and of the noise.
    at : float, optional
        The moment (s) around which shares are shown, by default in the most crowded hour.

    Returns
    -------
    Panel
        Its `controls` are `load`, `overhead`, `noise`, `spmd`, `memory_spread`, `seed` and `moment`
        (hours); `choose` takes what they offer.

    Examples
    --------
    >>> import cosimlib as cs
    >>> panel = cs.explore_timesharing(days=2, nodes=16)
    >>> panel.settings["overhead"]
    0.0
    """
    check.whole("days", days, 1)
    check.number("noise", noise, least=0.0, most=1.0, kind="a probability")
    crowded = "for the most crowded hour"
    check.number("at", at, least=0.0, most=days * DAY, kind="seconds", none=crowded)
    _compile()
    run = _runner(days, nodes)
    settings: dict[str, Any] = {"load": load, "overhead": overhead, "noise": noise, "spmd": spmd}
    settings |= {"memory_spread": memory_spread, "seed": seed}
    shared, _ = run(None, **settings)
    moment = _most_crowded(shared, days * DAY) if at is None else float(at)
    return Panel(_controls(settings, moment, days * DAY), partial(_draw, run))


def _most_crowded(shared: TimesharedSchedule, span: float) -> float:
    """The middle of the hour with the most jobs on a node while jobs are submitted."""
    crowd = shared.series["cpu_load"]
    return float(crowd[crowd.index < span].idxmax()) + HOUR / 2


@cache
def _compile() -> None:
    """Compile what the controls call, so that none of them is slow at first."""
    workload, machine = synthetic.edison(0.2, nodes=16), EDISON.with_nodes(16)
    for spmd in (True, False):
        simulate_timesharing(workload, machine, spmd=spmd, noise=0.1)
        simulate_batch(workload, machine, spmd=spmd, noise=0.1)


def _runner(days: int, nodes: int) -> Run:
    """A function that simulates both policies, with shares around a moment if any; cached."""
    workload_of = lru_cache(maxsize=4)(partial(synthetic.edison, days, nodes=nodes))

    @lru_cache(maxsize=4)
    def shared(
        at: float | None, *, load: float, memory_spread: str, seed: int, **knobs: Any
    ) -> TimesharedSchedule:
        workload = workload_of(load=load, memory_spread=memory_spread, seed=seed)
        sample = None if at is None else _around(at)
        machine = EDISON.with_nodes(nodes)
        return simulate_timesharing(workload, machine, seed=seed, sample=sample, **knobs)

    @lru_cache(maxsize=4)
    def batch(*, load: float, seed: int, **knobs: Any) -> Schedule:
        workload = workload_of(load=load, seed=seed)
        return simulate_batch(workload, EDISON.with_nodes(nodes), seed=seed, **knobs)

    def run(
        at: float | None, *, overhead: float, memory_spread: str, **knobs: Any
    ) -> tuple[TimesharedSchedule, Schedule]:
        crowd = shared(at, overhead=overhead, memory_spread=memory_spread, **knobs)
        return crowd, batch(**knobs)

    return run


def _around(at: float) -> np.ndarray:
    """The steps around a moment: shares change with steps only."""
    first = max(0.0, np.floor((at - SHOWN / 2) / STEP) * STEP)
    return np.arange(first, first + SHOWN + STEP, STEP)


def _controls(settings: dict[str, Any], at: float, span: float) -> dict[str, Widget]:
    """The widgets, with ranges that include the first settings."""
    load, overhead, noise, seed = (settings[name] for name in ("load", "overhead", "noise", "seed"))
    return {
        "load": FloatSlider(
            load, min=min(0.1, load), max=max(1.2, load), step=0.01, description="offered load"
        ),
        "overhead": FloatSlider(
            overhead, min=0.0, max=max(0.3, overhead), step=0.01, description="overhead"
        ),
        "noise": FloatSlider(
            noise, min=0.0, max=max(0.05, noise), step=0.001, readout_format=".3f",
            description="noise (probability)",
        ),
        "spmd": Dropdown(options=KINDS, value=settings["spmd"], description="jobs"),
        "memory_spread": Dropdown(
            options=MEMORY, value=settings["memory_spread"], description="memory"
        ),
        "seed": IntSlider(seed, 0, max(50, seed), description="seed"),
        "moment": FloatSlider(
            at / HOUR, min=0.0, max=span / HOUR, step=0.25, readout_format=".2f",
            description="moment (h)",
        ),
    }  # fmt: skip


def _draw(run: Run, *, moment: float, **settings: Any) -> tuple[go.Figure, str]:
    """Figure and text for the controls' values."""
    at = moment * HOUR
    shared, batch = run(at, **settings)
    runs = [summarize_run(schedule, warm_up=0.0) for schedule in (shared, batch)]
    picture = plot_sharing(shared, batch, at=at, title=_title(*runs))
    return picture, _text(shared, *runs)


def _title(shared: RunSummary, batch: RunSummary) -> str:
    """Mean slowdown under both policies."""
    return (
        f"{shared.policy}: mean slowdown {shared.mean_slowdown:,.2f}; "
        f"{batch.policy}: {batch.mean_slowdown:,.2f}"
    )


def _text(schedule: TimesharedSchedule, shared: RunSummary, batch: RunSummary) -> str:
    """The line under the figure."""
    most = schedule.series["cpu_load"].max()
    return (
        f"{shared.data}, {shared.jobs:,} jobs · time-sharing: {_numbers(shared)}, CPU load "
        f"{shared.cpu_load:.2f} jobs on a node (at most {most:.2f} in an hour), "
        f"{round(shared.waited * shared.jobs):,} jobs wait for memory · batch: {_numbers(batch)}, "
        f"{round(batch.waited * batch.jobs):,} jobs wait for nodes"
    )


def _numbers(run: RunSummary) -> str:
    """Slowdown and utilization of one policy."""
    return (
        f"slowdown {run.quantile(0.5):,.2f} (median), {run.mean_slowdown:,.2f} (mean), "
        f"utilization {run.utilization:.1%}"
    )
