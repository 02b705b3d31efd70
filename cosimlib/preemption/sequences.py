"""Sequences of preemptions: what they cost a partition in throughput and in wasted cycles.

The paper analyzes single preemptions, for it had no logs of preemptions. Here users' requests come
as a Poisson process of a given rate, all of one size and duration, and the protocol runs
(`schedulers.elastic`).
"""

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from cosimlib.preemption.auditing import audit_elastic
from cosimlib.preemption.states import HOUR
from cosimlib.schedulers.elastic import HOST, USER, ElasticSchedule, simulate_elastic
from cosimlib.system import System
from cosimlib.workload import Workload

DAY = 24 * HOUR
TYPICAL: Mapping[str, Any] = {
    "policy": "PAP",
    "rate": 4.0,
    "size": 10,
    "duration": HOUR,
    "grace_period": 120.0,
    "staleness": 0.0,
}
"""What `sweep_preemptions` keeps where it does not vary it."""


def draw_preemptions(
    *, rate: float, size: int, duration: float, horizon: float, seed: int = 0
) -> pd.DataFrame:
    """Preemptions at random moments, as `simulate_elastic` takes them.

    Parameters
    ----------
    rate : float
        Mean number a day; 0 gives none. With one seed, rates have the same moments in proportion.
    size : int
        Nodes of each.
    duration : float
        Seconds for which a user keeps a node.
    horizon : float
        Seconds after which none comes.
    seed : int, default 0

    Returns
    -------
    pd.DataFrame
        `time` (s, ascending), `nodes`, `duration` (s).
    """
    for name, value in (("rate", rate), ("horizon", horizon)):
        if not 0 <= value < np.inf:
            raise ValueError(f"{name}={value!r}; expected a finite number of 0 or more")
    rng = np.random.default_rng(seed)
    expected = rate * horizon / DAY
    gaps = rng.exponential(size=int(expected + 10 * np.sqrt(expected) + 20))
    times = np.cumsum(gaps) * DAY / rate if rate > 0 else np.empty(0)
    times = np.round(times[times < horizon])
    return pd.DataFrame({"time": times, "nodes": size, "duration": float(duration)})


def nodes_owned(schedule: ElasticSchedule, moments: Iterable[float]) -> pd.DataFrame:
    """How many nodes each owner has at each moment: one row a moment, one column an owner."""
    at = np.array(list(moments), dtype=np.float64)
    owned = schedule.ownership
    names = [*schedule.system.partitions, USER, HOST]
    counts = {
        name: [int(((part["start_time"] <= now) & (now < part["end_time"])).sum()) for now in at]
        for name, part in ((name, owned[owned["owner"] == name]) for name in names)
    }
    return pd.DataFrame(counts, index=pd.Index(at, name="time"))


def sweep_preemptions(
    workload: Workload,
    system: System,
    *,
    horizon: float | None = None,
    seeds: Iterable[int] = (0,),
    **varied: Iterable[Any],
) -> pd.DataFrame:
    """Throughput and wasted cycles for every combination of what is varied, one row each.

    Parameters
    ----------
    workload : Workload
    system : System
    horizon : float, optional
        Seconds over which preemptions come and results are counted; by default what the workload
        takes undisturbed, so that there is work left to the end.
    seeds : iterable of int, default (0,)
        Every combination runs once a seed, each with preemptions of its own.
    **varied
        Values of `policy`, `rate` (a day), `size`, `duration` (s), `grace_period` (s) and
        `staleness` (s); what is not given is as in `TYPICAL`.

    Returns
    -------
    pd.DataFrame
        What is varied and `seed`; of the runs that ended within the horizon: `throughput` (nodes
        kept busy by completed ones, on average), `relative` (that divided by the undisturbed),
        `wasted` (the killed ones' share of node-hours), `kills`.
    """
    unknown = sorted(set(varied) - set(TYPICAL))
    if unknown:
        raise ValueError(f"nothing called {unknown[0]!r} to vary; known are {', '.join(TYPICAL)}")
    undisturbed = simulate_elastic(workload, system)
    horizon = float(undisturbed.end_time.max()) if horizon is None else horizon
    most, _, _ = _yield(undisturbed, horizon)
    rows = []
    for values in product(*varied.values()):
        point = dict(zip(varied, values, strict=True))
        for seed in seeds:
            schedule = _simulate(workload, system, {**TYPICAL, **point}, horizon, seed)
            useful, killed, kills = _yield(schedule, horizon)
            rows.append(
                {**point, "seed": seed, "throughput": useful / horizon, "relative": useful / most,
                 "wasted": killed / (useful + killed), "kills": kills}
            )  # fmt: skip
    return pd.DataFrame(rows)


def average_sweep(table: pd.DataFrame, varied: str) -> pd.DataFrame:
    """A sweep averaged over seeds: `measure` (throughput or wasted), policy, `varied`, `share`.

    Throughput is relative to the undisturbed.
    """
    averaged = table.groupby(["policy", varied], sort=False)[["relative", "wasted"]].mean()
    parts = {"throughput": averaged["relative"], "wasted": averaged["wasted"]}
    return pd.concat(parts, names=["measure"]).rename("share").round(4).reset_index()


def _yield(schedule: ElasticSchedule, horizon: float) -> tuple[float, float, int]:
    """Node-seconds of completed and of killed runs that ended by the horizon; how many killed."""
    attempts = schedule.attempts[schedule.attempts["end_time"] <= horizon]
    nodes = schedule.workload.jobs["nodes"].to_numpy()[attempts["job"]]
    held = nodes * (attempts["end_time"] - attempts["start_time"])
    done = attempts["completed"]
    return float(held[done].sum()), float(held[~done].sum()), int((~done).sum())


def _simulate(
    workload: Workload, system: System, point: Mapping[str, Any], horizon: float, seed: int
) -> ElasticSchedule:
    """One run, audited."""
    drawn = {name: point[name] for name in ("rate", "size", "duration")}
    return audit_elastic(
        simulate_elastic(
            workload,
            system,
            policy=point["policy"],
            preemptions=draw_preemptions(**drawn, horizon=horizon, seed=seed),
            grace_period=point["grace_period"],
            staleness=point["staleness"],
            seed=seed,
        )
    )
