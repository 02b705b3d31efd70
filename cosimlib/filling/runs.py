"""Runs of filled machines, each a cell of a sweep: load, costs of containers, intervals, variants.

What is run is named by numbers and texts alone, so that any process can compute it: jobs after
Lomonosov-1 of so many `days`, or those of a log. Under `load` None synthetic jobs wait from the
start and the queue never runs dry, else they are a Poisson stream; a log has its own arrivals. They
are measured over their days, a log from its first submission to its last end.
"""

from typing import Any

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib import synthetic
from cosimlib.audit import audit
from cosimlib.filling.comparison import full_queue, node_seconds
from cosimlib.filling.saving import save_table
from cosimlib.filling.schedule import FilledSchedule
from cosimlib.filling.simulation import simulate_filling
from cosimlib.metrics import utilization
from cosimlib.units import DAY, HOUR
from cosimlib.workload import Workload

FILLING_POLICIES: dict[str, dict[str, Any]] = {
    "not filled": {"policy": None},
    "filling A": {"policy": "A"},
    "filling B, save": {"policy": "B", "reclaim": "save"},
    "filling B, kill": {"policy": "B", "reclaim": "kill"},
    "filling C, 10 slots": {"policy": "C", "save_every": 10},
}
"""Arguments of `simulate_filling` by the names that tables and figures use."""

VARIANTS: dict[str, dict[str, Any]] = {
    "rescheduled": {},
    "not rescheduled": {"reschedule": False},
    "terminated at request": {"kill_at_request": True},
}
"""The paper's variants of the scheduler: what happens where a job ends early, or outlives its
request. The first is ours by default."""

DAYS = 180.0
"""Days that the paper simulates."""

INTERVALS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 200, 500)
"""Slots between saves that `save_intervals` compares."""


def filled_jobs(
    accuracy: float | None,
    seed: int,
    *,
    days: float = DAYS,
    load: float | None = None,
    log: Workload | None = None,
) -> Workload:
    """Jobs after Lomonosov-1, or those of a log, with estimates of an accuracy (the paper's p).

    Parameters
    ----------
    accuracy : float or None
        None: the log's own requested times.
    seed : int
        Of synthetic jobs and their estimates, and of a log's estimates.
    days : float, default 180
        Of synthetic jobs.
    load : float, optional
        Offered load of synthetic jobs; by default all wait from the start.
    log : Workload, optional
        With a machine.

    Raises
    ------
    ValueError
        For an accuracy out of range, and for none without a log.
    """
    if log is not None and accuracy is None:
        return log
    check.number("accuracy", accuracy, least=0, most=1)
    exact = float(accuracy or 0.0)
    if log is not None:
        return synthetic.with_round_estimates(log, exact, seed=seed)
    return synthetic.lomonosov(days, accuracy=exact, load=load, seed=seed)


def reached_load(
    queue_depth: int,
    accuracy: float,
    seed: int,
    *,
    variant: str = "rescheduled",
    days: float = DAYS,
    log: Workload | None = None,
) -> dict[str, float]:
    """The `load` that the scheduler reaches by itself while `queue_depth` jobs wait.

    All jobs are submitted at once. It is measured while the queue is full, of synthetic jobs within
    their days. `variant` is one of `VARIANTS`.
    """
    check.choice("variant", variant, VARIANTS)
    jobs = filled_jobs(accuracy, seed, days=days, log=log)
    if log is not None:
        jobs = Workload(jobs.jobs.assign(submit_time=0.0), log.name, log.machine)
    run = _run(jobs, policy=None, queue_depth=queue_depth, **VARIANTS[variant])
    start, end = full_queue(run, queue_depth)
    if log is None:
        end = min(end, days * DAY)
    return {"load": utilization(run, start=start, end=end)}


def container_costs(
    policy: str,
    accuracy: float | None,
    seed: int,
    *,
    queue_depth: int | None = None,
    days: float = DAYS,
    load: float | None = None,
    log: Workload | None = None,
) -> dict[str, float]:
    """What containers cost under one of `FILLING_POLICIES`, in parts of one.

    Returns
    -------
    dict
        `held up`, of the regular jobs, those that only containers kept from starting at once;
        `lost`, of the containers' time, what was computed and then killed.
    """
    check.choice("policy", policy, FILLING_POLICIES)
    jobs = filled_jobs(accuracy, seed, days=days, load=load, log=log)
    run = _run(jobs, queue_depth=queue_depth, **FILLING_POLICIES[policy])
    use = node_seconds(run, **_window(days, log)).drop(["regular", "idle"])
    total = use.sum()
    return {
        "held up": float(run.held_up.mean()) if len(jobs) else 0.0,
        "lost": float(use["lost"] / total) if total > 0 else np.nan,
    }


def save_intervals(
    accuracy: float | None,
    seed: int,
    *,
    overheads: list[float],
    queue_depth: int | None = None,
    days: float = DAYS,
    load: float | None = None,
    log: Workload | None = None,
) -> pd.DataFrame:
    """Use of the containers' time under policy C, by overhead and interval: see `save_table`."""
    jobs = filled_jobs(accuracy, seed, days=days, load=load, log=log)
    run = _run(jobs, queue_depth=queue_depth, **FILLING_POLICIES["filling B, kill"])
    return save_table(run, INTERVALS, overheads, **_window(days, log))


def scheduler_variants(
    variant: str,
    accuracy: float | None,
    seed: int,
    *,
    queue_depth: int | None = None,
    days: float = DAYS,
    load: float | None = None,
    log: Workload | None = None,
) -> dict[str, float]:
    """The schedule without containers under one of `VARIANTS`.

    Returns
    -------
    dict
        `load`, of regular jobs; `mean_wait` in hours; `terminated`, the part of the jobs that are
        ended by force.
    """
    check.choice("variant", variant, VARIANTS)
    jobs = filled_jobs(accuracy, seed, days=days, load=load, log=log)
    run = _run(jobs, policy=None, queue_depth=queue_depth, **VARIANTS[variant])
    use = node_seconds(run, **_window(days, log))
    cut = run.workload.jobs["run_time"] < jobs.jobs["run_time"]
    return {
        "load": float(use["regular"] / use.sum()),
        "mean_wait": float(run.jobs["wait_time"].mean()) / HOUR,
        "terminated": float(cut.mean()),
    }


def _run(jobs: Workload, **knobs: Any) -> FilledSchedule:
    """An audited schedule on the jobs' own machine."""
    return audit(simulate_filling(jobs, check.machine(jobs.machine, jobs.name), **knobs))


def _window(days: float, log: Workload | None) -> dict[str, float]:
    """The days of synthetic jobs; all of a log's."""
    return {} if log is not None else {"start": 0.0, "end": days * DAY}
