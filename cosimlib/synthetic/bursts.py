"""Bursts of on-demand work: a Poisson process, and notices before its bursts.

*Notices* are of the four kinds of Fan, Rich, Allcock, Papka and Lan (Hybrid Workload Scheduling on
HPC Systems, arXiv 2109.05412): none; accurate, the burst comes when it was expected; early, it
comes at a random moment from its notice to then; late, at a random moment up to `LATEST` after
then. The paper's notices are given 15 to 30 minutes ahead of the expected arrival.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.units import DAY, HOUR, MINUTE
from cosimlib.workload import Workload

NOTICES = ("none", "accurate", "early", "late")
AHEAD, LATEST = (15 * MINUTE, 30 * MINUTE), 30 * MINUTE
"""Seconds from a notice to the expected arrival, and by which late bursts are late at most."""


def bursts(
    *,
    rate: float,
    nodes: int | Sequence[int],
    run_time: float = HOUR,
    horizon: float,
    longest_delay: float = 15 * MINUTE,
    notice: str | Mapping[str, float] = "none",
    seed: int = 0,
) -> Workload:
    """Random stream of bursts, for `simulate_ondemand`.

    Parameters
    ----------
    rate : float
        Mean number per day; 0 gives none. With one seed, moments of a Poisson process scale with
        the rate.
    nodes : int or sequence of int
        Of each burst, or sizes of which each is equally likely.
    run_time : float, default 3600.0
        Seconds; also the requested time.
    horizon : float
        Seconds after which none comes.
    longest_delay : float, default 900.0
        Seconds from its arrival until which a burst should start.
    notice : str or mapping of str to float, default "none"
        One of `NOTICES`, or the share of each.
    seed : int, default 0

    Returns
    -------
    Workload
        In whole seconds, with `longest_delay`, `notice_time` and `expected_time` (s; NaN without a
        notice). Notices before time 0 come at 0.
    """
    sizes = list(nodes) if isinstance(nodes, Sequence) else [nodes]
    check.number("rate", rate, least=0)
    check.that("nodes", nodes, bool(sizes), "a whole number from 1, or some")
    for size in sizes:
        check.whole("nodes", size, 1)
    check.seconds("run_time", run_time, above=0)
    check.seconds("horizon", horizon)
    check.seconds("longest_delay", longest_delay)
    check.seed(seed)
    shares = _shares(notice)
    rng = np.random.default_rng(seed)
    times = _arrivals(rng, rate, horizon)
    table = pd.DataFrame(
        {
            "submit_time": times,
            "run_time": float(run_time),
            "requested_time": float(run_time),
            "nodes": rng.choice(sizes, len(times)).astype(np.int64),
            "longest_delay": float(longest_delay),
        }
    )
    announced, expected = _notices(rng, times, shares)
    table = table.assign(notice_time=announced, expected_time=expected)
    return Workload(table, f"bursts (seed {seed})")


def draw_bursts(workload: Workload, *, seed: int = 0, **stream: Any) -> Workload:
    """Random bursts from the first submission of a workload to its last, as by `bursts`.

    Parameters
    ----------
    workload : Workload
    seed : int, default 0
    **stream
        The other arguments of `bursts`, but `horizon`.
    """
    submit = workload.jobs["submit_time"].to_numpy()
    first = float(submit.min(initial=np.inf)) if submit.size else 0.0
    horizon = float(submit.max(initial=first)) - first
    drawn = bursts(horizon=horizon, seed=seed, **stream)
    times = ["submit_time", "notice_time", "expected_time"]
    moved = drawn.jobs.assign(**{name: drawn.jobs[name] + first for name in times})
    return Workload(moved, drawn.name)


def bursts_from_queue(
    workload: Workload, queue: str, *, longest_delay: float = 15 * MINUTE
) -> tuple[Workload, Workload]:
    """Jobs of one queue, such as a debug queue, as bursts; and the jobs of all other queues.

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
        If no job is of that queue.
    """
    check.seconds("longest_delay", longest_delay)
    named = workload.column("queue")
    known = sorted(named.dropna().unique())
    check.choice("queue", queue, known, where=workload.name)
    chosen = (named == queue).fillna(False).to_numpy(dtype=bool)
    urgent = workload.keep(chosen, f"not of queue {queue}")
    jobs = urgent.jobs.assign(longest_delay=float(longest_delay))
    name = f"queue {queue}"
    return workload.keep(~chosen, f"of {name}, now bursts"), Workload(jobs, name)


def _shares(notice: str | Mapping[str, float]) -> np.ndarray:
    """The share of each of `NOTICES`."""
    given = {notice: 1.0} if isinstance(notice, str) else dict(notice)
    for kind, share in given.items():
        check.choice("notice", kind, NOTICES)
        check.number(f"notice[{kind!r}]", share, least=0, kind="a share")
    total = sum(given.values())
    check.that("notice", notice, total > 0, "shares of which one is above 0")
    return np.array([given.get(kind, 0.0) for kind in NOTICES]) / total


def _arrivals(rng: np.random.Generator, rate: float, horizon: float) -> np.ndarray:
    """Whole seconds before the horizon, ascending."""
    if rate == 0:
        return np.empty(0)
    expected = rate * horizon / DAY
    steps = rng.exponential(size=int(expected + 10 * np.sqrt(expected) + 20))
    first = np.cumsum(steps) * DAY / rate
    times = np.sort(np.floor(first))
    return times[times < horizon]


def _notices(
    rng: np.random.Generator, times: np.ndarray, shares: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """When each burst is announced, and for when; NaN if it is not."""
    kind = np.array(NOTICES)[rng.choice(len(NOTICES), len(times), p=shares)]
    length = np.round(rng.uniform(*AHEAD, len(times)))
    part = rng.uniform(0, 1, len(times))
    expected = times + np.round(
        np.select([kind == "early", kind == "late"], [part * length, -part * LATEST], 0.0)
    )
    expected = np.maximum(expected, 0.0)
    announced = np.clip(expected - length, 0.0, np.minimum(expected, times))
    unknown = kind == "none"
    return np.where(unknown, np.nan, announced), np.where(unknown, np.nan, expected)
