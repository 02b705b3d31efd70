"""Policies side by side: the ledger of node-hours, delays, slowdown, over seeds and streams."""

from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import pandas as pd

from cosimlib.audit import audit
from cosimlib.metrics import node_hours_by_use
from cosimlib.ondemand.schedule import OnDemandSchedule
from cosimlib.ondemand.simulation import simulate_ondemand
from cosimlib.ondemand.workloads import draw_bursts
from cosimlib.sweep import sweep
from cosimlib.synthetic import resample
from cosimlib.system import System
from cosimlib.workload import Workload

LEDGER = ("batch", "bursts", "containers", "lost", "writing", "blocked", "rereading", "idle")
"""Uses of node-hours: work of batch jobs that is kept, of bursts, of filler containers; work to be
done again; checkpoints written; nodes that stand still for a burst, or for the turn of who shares
them; checkpoints read; idle nodes."""

OVERHEAD = ("lost", "writing", "blocked", "rereading")
"""What evictions cost."""


def ledger(
    schedule: OnDemandSchedule, *, start: float | None = None, end: float | None = None
) -> pd.Series:
    """Node-hours by use in a window, of `LEDGER`; together, what the machine offers in it.

    Parameters
    ----------
    schedule : OnDemandSchedule
    start, end : float, optional
        Seconds; by default from the first submission to the last end.
    """
    first, last = schedule.span
    start, end = first if start is None else start, last if end is None else end
    if not start < end:
        return pd.Series(0.0, index=pd.Index(LEDGER, name="use"), name="node_hours")
    by_use = node_hours_by_use(schedule, start=start, end=end)
    table = schedule.allocations
    of_bursts = schedule.on_demand[table["job"].to_numpy()] & (table["use"] == "run").to_numpy()
    bursts = float(schedule.held(start, end)[of_bursts].sum()) / 3600.0
    names = {"containers": "container", "lost": "killed", "writing": "checkpoint",
             "blocked": "hold", "rereading": "reread", "idle": "idle"}  # fmt: skip
    hours = {name: float(by_use.get(use, 0.0)) for name, use in names.items()}
    hours |= {"batch": float(by_use.get("run", 0.0)) - bursts, "bursts": bursts}
    return pd.Series(hours, name="node_hours").reindex(list(LEDGER)).rename_axis("use")


def measure(schedule: OnDemandSchedule) -> dict[str, float]:
    """What a schedule is compared by, in one row.

    Returns
    -------
    dict
        `bursts`; of them the shares `missed` and `instant` (started when they came), the mean
        `delay` (s), and `stretch`, the mean of turnaround ÷ run time; `evictions` per burst; node-
        hours per burst of each of `OVERHEAD` and their sum `overhead`; mean bounded `slowdown` and
        mean `wait` (s) of batch jobs, and `malleable`, the mean slowdown of those that could
        shrink; `kept` and `filled`, the shares of the machine's node-hours, from the first
        submission to the last, that are work of batch jobs or bursts, and of containers. NaN where
        there is nothing to take a mean of.
    """
    bursts, batch = schedule.bursts, ~schedule.on_demand
    row = {
        "bursts": float(len(bursts)),
        "missed": float(bursts["missed"].mean()),
        "instant": float((bursts["delay"] == 0).mean()) if len(bursts) else np.nan,
        "delay": float(bursts["delay"].mean()),
        "stretch": float(_stretch(schedule)[schedule.on_demand].mean()),
        "evictions": _per(len(schedule.evictions), len(bursts)),
    }
    hours = ledger(schedule)
    row |= {name: _per(float(hours[name]), len(bursts)) for name in OVERHEAD}
    row["overhead"] = sum(row[name] for name in OVERHEAD)
    slowdown = schedule.bounded_slowdown()
    row["slowdown"] = float(slowdown[batch].mean())
    if schedule.least_nodes is not None:
        fewer = schedule.least_nodes < schedule.workload.jobs["nodes"].to_numpy()
        row["malleable"] = float(slowdown[batch & fewer].mean())
    row["wait"] = float(schedule.jobs["wait_time"][batch].mean())
    submit = schedule.workload.jobs["submit_time"]
    window = ledger(schedule, start=float(submit.min()), end=float(submit.max()))
    row["kept"] = _per(float(window["batch"] + window["bursts"]), float(window.sum()))
    row["filled"] = _per(float(window["containers"]), float(window.sum()))
    return row


def _stretch(schedule: OnDemandSchedule) -> pd.Series:
    """Turnaround ÷ run time, of jobs that run at all."""
    run_time = schedule.workload.jobs["run_time"]
    return (schedule.jobs["turnaround_time"] / run_time).where(run_time > 0)


def _per(amount: float, number: float) -> float:
    return amount / number if number else np.nan


def compare_ondemand(
    workload: Workload,
    system: System,
    policies: Mapping[str, Mapping[str, Any]],
    streams: Mapping[str, Mapping[str, Any]],
    seeds: Iterable[int],
    *,
    redrawn: bool = False,
    executor: "int | Executor | Literal['cores'] | None" = None,
) -> pd.DataFrame:
    """Policies on streams of bursts over seeds: one row per policy, stream and seed.

    Every policy sees the same bursts and the same memory of jobs on a seed; schedules are audited.

    Parameters
    ----------
    workload : Workload
    system : System
    policies : dict of str to dict
        Arguments of `simulate_ondemand` by the names that tables show.
    streams : dict of str to dict
        Arguments of `draw_bursts` by name.
    seeds : iterable of int
        Of the bursts, and of the memory drawn per job.
    redrawn : bool, default False
        Whether a seed also draws the log anew, by weeks (`synthetic.resample`): then intervals tell
        how much another log of the same kind would differ, too.
    executor
        As of `sweep`.

    Returns
    -------
    pd.DataFrame
        `policy`, `stream`, `seed`, and what `measure` returns.
    """
    shared = {"workload": workload, "system": system, "policies": dict(policies),
              "streams": dict(streams), "redrawn": redrawn}  # fmt: skip
    # By seed, so that no more than one log drawn anew is kept.
    grid = {"seed": [*seeds], "policy": [*policies], "stream": [*streams]}
    runs = sweep(_run, grid, shared=shared, executor=executor, errors="raise")
    by_policy = np.arange(len(runs)).reshape(-1, len(policies) * len(streams)).T.ravel()
    names = ["policy", "stream", "seed"]
    return runs.iloc[by_policy].reset_index(drop=True)[[*names, *runs.columns.drop(names)]]


def _run(
    policy: str,
    stream: str,
    seed: int,
    workload: Workload,
    system: System,
    policies: Mapping[str, Mapping[str, Any]],
    streams: Mapping[str, Mapping[str, Any]],
    redrawn: bool,
) -> dict[str, float]:
    """One cell of `compare_ondemand`."""
    if redrawn:
        workload = _redrawn(workload, seed)
    bursts = draw_bursts(workload, seed=seed, **streams[stream])
    return measure(
        audit(simulate_ondemand(workload, system, bursts, seed=seed, **policies[policy]))
    )


@lru_cache(maxsize=1)
def _redrawn(workload: Workload, seed: int) -> Workload:
    """The log of a seed, drawn once for all policies."""
    return resample(workload, seed, unit="weeks")
