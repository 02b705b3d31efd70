"""Futures of a machine: what may follow an instant, simulated under a policy.

At an instant the jobs that run, those that wait, and all that had been submitted before are known.
In each future jobs run for times drawn from `History`, and others are submitted: those of the same
weekday and hours of an earlier week, each day from a week drawn anew (of the same hours of an
earlier day, where the log is shorter than `FEWEST` weeks). The policy then schedules them.

A simulator begins with an empty machine. So running jobs are given to it as jobs that begin just
before the first of the waiting jobs is submitted, and one more job holds all other nodes until the
instant. So nothing can start before the instant, running jobs are expected to end when they were
expected to, and waiting jobs keep their times of submission. Some logs have more nodes in use than
the machine has. The running jobs whose requests end last then hold the machine, and the others hold
what is left of it, or nothing.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from cosimlab.forecasting.history import History
from cosimlib import checks as check
from cosimlib.batch.easy import EXTRA_NODES, simulate_in_passes
from cosimlib.batch.orders import HEAD_FIRST, SUBMITTED, WFP, Prepared
from cosimlib.filling import FILLING_POLICIES
from cosimlib.policies import Simulator, simulator_of
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import DAY, HOUR, WEEK
from cosimlib.workload import JobArrays, Workload

FEWEST, LATEST = 4, 26
"""Earlier weeks from which a day is drawn: at least, and at most the latest so many."""

LONGEST = 14 * DAY
"""Seconds for which jobs arrive, at most."""

TRIALS = 8
"""Futures without arrivals that tell for how long arrivals matter."""

SHORTEST = 1e-3
"""A running job that has outlived its request is expected to end after so many seconds."""

REFUSED = dict.fromkeys(FILLING_POLICIES, "acts at the beginnings of minutes only") | {
    "conservative": (
        "keeps reservations from before the instant, which no log records; 'conservative "
        "(replanned)' makes them anew"
    )
}
"""Policies whose schedule cannot be continued from an instant, and why."""

EASY_ORDERS = {"EASY": SUBMITTED, "EASY (wfp)": WFP, "EASY (sjbf)": HEAD_FIRST}
"""Policies whose kernel is called without making a workload of each future."""

RUN_TIMES = ("history", "requested", "exact")

Policy: TypeAlias = str | Simulator


class Setting(NamedTuple):
    """What futures are made of.

    Parameters
    ----------
    policy : str or function
        A name of the register, or a function of a workload and a system.
    nodes : int
        Of the machine.
    futures : int
    run_times : {"history", "requested", "exact"}
        Drawn; as requested, which is how a scheduler plans; or those of the log.
    arrivals : bool
        Whether jobs are submitted after the instant.
    """

    policy: Policy
    nodes: int
    futures: int = 200
    run_times: str = "history"
    arrivals: bool = True


class Snapshot(NamedTuple):
    """Rows of the jobs that run and that wait at an instant (s), just after its pass."""

    at: float
    running: np.ndarray
    waiting: np.ndarray


def snapshot(history: History, at: float) -> Snapshot:
    """The jobs that run and that wait at an instant."""
    submitted = int(np.searchsorted(history.submit_time, at, side="right"))
    started = history.start_time[:submitted] <= at
    running = np.flatnonzero(started & (history.end_time[:submitted] > at))
    return Snapshot(at, running, np.flatnonzero(~started))


def starts_in_futures(
    history: History, now: Snapshot, setting: Setting, rng: np.random.Generator
) -> np.ndarray:
    """The start (s) of each job that waits in each future, a column per future."""
    at, starts = now.at, np.empty((now.waiting.size, setting.futures))
    if not now.waiting.size:
        return starts
    rows = np.concatenate([now.running, now.waiting])
    runs = _run_times(history, rows, at, setting, rng)
    arrivals = [(NOBODY, NEVER)] * setting.futures
    if setting.arrivals:
        trials = [_starts(history, now, setting, run) for run in runs.T[:TRIALS]]
        horizon = min(2.0 * (np.max(trials) - at) + 2 * HOUR, LONGEST)
        arrivals = _arrivals(history, at, horizon, setting.futures, rng)
    order = np.argsort(rows)
    for future, (coming, submit_time) in enumerate(arrivals):
        run = runs[:, future % runs.shape[1]]
        ended = history.end_time[coming] <= at
        run_time = np.empty(coming.size)
        run_time[ended] = history.run_time[coming[ended]]
        run_time[~ended] = run[order[np.searchsorted(rows[order], coming[~ended])]]
        starts[:, future] = _starts(history, now, setting, run, coming, submit_time, run_time)
    return starts


NOBODY = np.empty(0, np.int64)
NEVER = np.empty(0)
NO_WORKLOAD: Workload = None  # type: ignore[assignment]
"""The kernel reads arrays only."""


def _starts(
    history: History,
    now: Snapshot,
    setting: Setting,
    runs: np.ndarray,
    coming: np.ndarray = NOBODY,
    submit_time: np.ndarray = NEVER,
    run_time: np.ndarray = NEVER,
) -> np.ndarray:
    """Starts (s) of the waiting jobs in one future, of these run times and arrivals."""
    running, waiting, nodes = now.running, now.waiting, history.nodes
    before = max(0.0, min(history.submit_time[waiting].min(initial=now.at), now.at) - 1.0)
    expected = history.start_time[running] + history.requested_time[running]
    held = _held_nodes(nodes[running], expected, setting.nodes)
    idle = setting.nodes - int(held.sum())
    hold = int(idle > 0 and now.at > before)
    end = history.start_time[running] + runs[: running.size]
    end, expected, held = end[held > 0], expected[held > 0], held[held > 0]
    last = held.size + hold
    jobs = JobArrays(
        np.concatenate([np.full(last, before), history.submit_time[waiting], submit_time]),
        np.concatenate(
            [
                np.maximum(end, now.at) - before,
                [now.at - before] * hold,
                runs[running.size :],
                run_time,
            ]
        ),
        np.concatenate(
            [
                np.maximum(expected - before, SHORTEST),
                [now.at - before] * hold,
                history.requested_time[waiting],
                history.requested_time[coming],
            ]
        ),
        np.concatenate([held, [idle] * hold, nodes[waiting], nodes[coming]]),
    )
    starts = _simulator(setting.policy)(jobs, setting.nodes)
    return starts[last : last + waiting.size]


def _held_nodes(nodes: np.ndarray, expected: np.ndarray, most: int) -> np.ndarray:
    """Nodes of running jobs, at most the machine's: those expected to end last come first."""
    order, held = np.argsort(-expected, kind="stable"), np.empty_like(nodes)
    held[order] = np.diff(np.minimum(np.cumsum(nodes[order]), most), prepend=0)
    return held


def _simulator(policy: Policy) -> Callable[[JobArrays, int], np.ndarray]:
    """Start times of jobs on so many nodes under a policy."""
    kind = EASY_ORDERS.get(policy) if isinstance(policy, str) else None
    if kind is None:
        return lambda jobs, nodes: _by_simulator(policy, jobs, nodes)

    def by_kernel(jobs: JobArrays, nodes: int) -> np.ndarray:
        rank = jobs.requested_time if kind == HEAD_FIRST else np.zeros(jobs.nodes.size)
        run = Prepared(NO_WORKLOAD, jobs, rank, kind, System.of(nodes))
        return simulate_in_passes(run, EXTRA_NODES)[0]

    return by_kernel


def _by_simulator(policy: Policy, jobs: JobArrays, nodes: int) -> np.ndarray:
    _, simulate = simulator_of(policy)
    table = pd.DataFrame(jobs._asdict())
    unknown = ~np.isfinite(table["requested_time"])
    table.loc[unknown, "requested_time"] = np.nan
    schedule = simulate(Workload(table, "a future"), System.of(nodes))
    check.instance("the result of the policy", schedule, Schedule)
    return schedule.start_time


def _run_times(
    history: History, rows: np.ndarray, at: float, setting: Setting, rng: np.random.Generator
) -> np.ndarray:
    """Run times (s) of jobs that have not ended, a column per future, or one if all are equal."""
    check.choice("run_times", setting.run_times, RUN_TIMES)
    if setting.run_times == "requested":
        return history.requested_time[rows][:, np.newaxis]
    if setting.run_times == "exact":  # a job asked for has none: it runs for its request
        exact = history.run_time[rows]
        known = np.isfinite(exact)
        return np.where(known, exact, history.requested_time[rows])[:, np.newaxis]
    uniform = rng.random((rows.size, setting.futures))
    return history.run_times(rows, np.full(rows.size, at), uniform)


def _arrivals(
    history: History, at: float, horizon: float, futures: int, rng: np.random.Generator
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows of the jobs that are submitted again in each future, and their submissions (s)."""
    submit_time = history.submit_time
    parts: list[list[tuple[np.ndarray, np.ndarray]]] = [[] for _ in range(futures)]
    for day in np.arange(at, at + horizon, DAY):
        opening, closing = max(day, np.nextafter(at, np.inf)), min(day + DAY, at + horizon)
        back = _offsets(day - submit_time[0], closing - at, futures, rng)
        first, last = (np.searchsorted(submit_time, time - back) for time in (opening, closing))
        for future in range(futures if back.size else 0):
            rows = np.arange(first[future], last[future])
            parts[future].append((rows, submit_time[rows] + back[future]))
    nobody = (NOBODY, NEVER)
    return [
        tuple(np.concatenate(each) for each in zip(nobody, *days, strict=True))  # type: ignore[misc]
        for days in parts
    ]


def _offsets(past: float, ahead: float, futures: int, rng: np.random.Generator) -> np.ndarray:
    """By how many seconds the jobs of an earlier day move in each future; none if it has none.

    `past` are the seconds from the log's beginning, `ahead` those from the instant to the day's
    end: that earlier day must be over.
    """
    for period in (WEEK, DAY):
        fewest, most = int(np.ceil(ahead / period)), int(past // period)
        if most - fewest + 1 >= (FEWEST if period == WEEK else 1):
            most = min(most, fewest + LATEST - 1)
            return rng.integers(fewest, most + 1, futures) * period
    return NEVER
