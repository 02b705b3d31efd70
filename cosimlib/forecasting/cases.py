"""Cases of a backtest: waiting jobs at instants of a log, what was forecast, and what happened."""

from typing import Any

import numpy as np
import pandas as pd

from cosimlib.forecasting.futures import Setting, snapshot, starts_in_futures
from cosimlib.forecasting.history import History

LEVELS = np.linspace(0.05, 0.95, 19)
"""Quantiles that are kept of each forecast."""

COLUMNS = [f"q{round(100 * level):02}" for level in LEVELS]
BASELINES = ("static", "user", "queue")
PAST = 20_000
"""Latest starts among which those of a user, or of a queue, are sought."""

ALIKE = 200
"""Of them, the latest of the user or the queue that count."""


def drawn_instants(history: History, share: float, number: int, seed: int) -> np.ndarray:
    """Instants (s) at random at which jobs wait, in order, after a share of the log's time."""
    first, last = history.submit_time[[0, -1]]
    rng = np.random.default_rng(seed)
    at = np.floor(rng.uniform(first + share * (last - first), last, 50 * number))
    started = np.sort(history.start_time)
    waiting = np.searchsorted(history.submit_time, at, "right") - np.searchsorted(
        started, at, "right"
    )
    return np.sort(at[waiting > 0][:number])


def cases_at(
    at: float, history: History, setting: Setting, most: int, seed: int
) -> list[dict[str, Any]]:
    """A row per waiting job, of at most so many at random: its forecast, baselines, its start."""
    rng = np.random.default_rng([seed, int(at)])
    now = snapshot(history, at)
    chosen = np.sort(rng.permutation(now.waiting.size)[:most])
    ahead = np.maximum(starts_in_futures(history, now, setting, rng)[chosen] - at, 0.0)
    plan = setting._replace(run_times="requested", arrivals=False, futures=1)
    planned = starts_in_futures(history, now, plan, rng)[chosen, 0] - at
    rows = now.waiting[chosen]
    table = pd.DataFrame(np.quantile(ahead, LEVELS, axis=1).T, columns=COLUMNS)
    wait = history.start_time[rows] - at
    return table.assign(
        at=at, job=history.jobs.index[rows], waited=at - history.submit_time[rows], wait=wait,
        static=planned, user=_usual(history, now.at, rows, "user"),
        queue=_usual(history, now.at, rows, "queue"),
    ).to_dict("records")  # fmt: skip


def _usual(history: History, at: float, rows: np.ndarray, column: str) -> np.ndarray:
    """How long jobs like these usually went on to wait: the median over those that started.

    Jobs of the same user, or queue, that had waited for longer than this one has so far; else all
    such jobs. Where no job has waited for so long, this one goes on for the longest known wait.
    """
    order, started = history.by_start
    past = order[: np.searchsorted(started, at, "right")][-PAST:]
    waits = history.start_time[past] - history.submit_time[past]
    codes = history.codes[column]
    usual = np.empty(rows.size)
    for place, row in enumerate(rows):
        so_far = at - history.submit_time[row]
        alike = waits[codes[past] == codes[row]][-ALIKE:]
        longer = alike[alike > so_far]
        if not longer.size:
            longer = waits[waits > so_far]
        usual[place] = np.median(longer) - so_far if longer.size else waits.max(initial=0.0)
    return usual
