"""Streams of bursts for a log: drawn over its span, or taken from one of its queues."""

from typing import Any

import numpy as np

from cosimlib import checks as check
from cosimlib import synthetic
from cosimlib.units import MINUTE
from cosimlib.workload import Workload


def draw_bursts(workload: Workload, *, seed: int = 0, **stream: Any) -> Workload:
    """Bursts as of `synthetic.bursts`, from the first submission of a workload to its last.

    Parameters
    ----------
    workload : Workload
    seed : int, default 0
    **stream
        The other arguments of `synthetic.bursts`, but `horizon`.
    """
    submit = workload.jobs["submit_time"].to_numpy()
    first = float(submit.min(initial=np.inf)) if submit.size else 0.0
    horizon = float(submit.max(initial=first)) - first
    drawn = synthetic.bursts(horizon=horizon, seed=seed, **stream)
    times = ["submit_time", "notice_time", "expected_time"]
    moved = drawn.jobs.assign(**{name: drawn.jobs[name] + first for name in times})
    return Workload(moved, drawn.name)


def bursts_from_queue(
    workload: Workload, queue: str, *, longest_delay: float = 15 * MINUTE
) -> tuple[Workload, Workload]:
    """The jobs of all other queues, and those of one as bursts, such as a debug queue's.

    Parameters
    ----------
    workload : Workload
        With the column `queue`.
    queue : str
        Its name, or its number as a text.
    longest_delay : float, default 900.0
        Of each burst, seconds.

    Returns
    -------
    batch, bursts : Workload

    Raises
    ------
    ValueError
        Where no job is of that queue.
    """
    check.seconds("longest_delay", longest_delay)
    named = workload.column("queue")
    known = sorted(named.dropna().unique())
    check.choice("queue", queue, known, where=workload.name)
    chosen = (named == queue).fillna(False).to_numpy(dtype=bool)
    bursts = workload.keep(chosen, f"not of queue {queue}")
    jobs = bursts.jobs.assign(longest_delay=float(longest_delay))
    name = f"queue {queue}"
    return workload.keep(~chosen, f"of {name}, now bursts"), Workload(jobs, name)
