"""Sequences of preemptions: what they cost a partition in throughput and in wasted cycles.

The paper analyzes single preemptions, for it had no logs of preemptions. Here users' requests come
as a Poisson process of a given rate, all of one size and duration, and the protocol runs
(`elastic.simulation`). A request that finds too few nodes, because other users have or wait for
them, gets those there are; the rest lapses. `served` says how much was granted, beside throughput:
otherwise a policy would look better only because requests were dropped.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.audit import audit
from cosimlib.elastic.schedule import HOST, USER, ElasticSchedule
from cosimlib.elastic.simulation import simulate_elastic
from cosimlib.sweep import Workers, sweep
from cosimlib.system import System
from cosimlib.units import DAY, HOUR
from cosimlib.workload import Workload

TYPICAL: Mapping[str, Any] = {
    "policy": "PAP",
    "rate": 4.0,
    "size": 10,
    "duration": HOUR,
    "grace_period": 120.0,
    "staleness": 0.0,
}
"""Values of what `sweep_preemptions` does not vary."""
MEASURED = ("throughput", "relative", "wasted", "kills", "served")
"""What it measures."""


def draw_preemptions(
    *, rate: float, size: int, duration: float, horizon: float, seed: int = 0
) -> pd.DataFrame:
    """Poisson process of preemptions, as `simulate_elastic` takes them.

    Parameters
    ----------
    rate : float
        Mean number per day; 0 gives none. With one seed, moments scale with the rate.
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
    check.number("rate", rate, least=0)
    check.whole("size", size, 1)
    check.seconds("duration", duration, above=0)
    check.seconds("horizon", horizon)
    check.seed(seed)
    rng = np.random.default_rng(seed)
    expected = rate * horizon / DAY
    gaps = rng.exponential(size=int(expected + 10 * np.sqrt(expected) + 20))
    times = np.cumsum(gaps) * DAY / rate if rate > 0 else np.empty(0)
    times = np.round(times[times < horizon])
    return pd.DataFrame({"time": times, "nodes": size, "duration": float(duration)})


def nodes_owned(schedule: ElasticSchedule, moments: Iterable[float]) -> pd.DataFrame:
    """Number of nodes per owner over time: one row per moment, one column per owner."""
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
    executor: Workers = None,
    folder: str | Path | None = None,
    **varied: Iterable[Any],
) -> pd.DataFrame:
    """Throughput and wasted cycles of sequences, one row per combination of what is varied.

    Parameters
    ----------
    workload : Workload
    system : System
    horizon : float, optional
        Seconds over which preemptions come and results are counted; by default what the workload
        takes undisturbed, so that there is work left to the end.
    seeds : iterable of int, default (0,)
        Every combination runs once per seed, each with preemptions of its own.
    executor, folder
        As for `sweep`: where runs are computed and kept.
    **varied
        Values of `policy`, `rate` (per day), `size`, `duration` (s), `grace_period` (s) and
        `staleness` (s); the others are as in `TYPICAL`.

    Returns
    -------
    pd.DataFrame
        What is varied and `seed`; of the runs that ended within the horizon: `throughput` (nodes
        kept busy by completed ones, on average), `relative` (that divided by the undisturbed),
        `wasted` (the killed ones' share of node-hours), `kills`; and `served`, the share of the
        nodes asked for by users that they got. Without rows where there are no jobs.

    Raises
    ------
    ValueError
        Where no job ends within the horizon.
    """
    seeds, lists = _checked_variation(seeds, varied)
    if not len(workload):
        return pd.DataFrame(columns=[*lists, "seed", *MEASURED], dtype=np.float64)
    undisturbed = simulate_elastic(workload, system)
    if horizon is None:
        horizon = float(max(undisturbed.end_time, default=0.0))
    check.seconds("horizon", horizon, above=0)
    most, _, _ = _yield(undisturbed, horizon)
    if most == 0:
        raise ValueError(
            f"{workload.name}: no job ends by horizon={horizon:g} even undisturbed; take a longer "
            "one"
        )
    shared = {"workload": workload, "system": system, "horizon": horizon, "most": most}
    return sweep(
        _measured, lists, seeds, shared=shared, executor=executor, folder=folder, errors="raise"
    )


def average_sweep(table: pd.DataFrame, varied: str) -> pd.DataFrame:
    """A sweep averaged over seeds, tidy: `measure`, policy, `varied`, `share`.

    Measures are throughput (relative to the undisturbed), waste (of node-hours) and nodes served
    (of those that users asked for).
    """
    measures = {"relative": "throughput", "wasted": "wasted", "served": "users served"}
    averaged = table.groupby(["policy", varied], sort=False)[list(measures)].mean()
    parts = {name: averaged[column] for column, name in measures.items()}
    return pd.concat(parts, names=["measure"]).rename("share").round(4).reset_index()


def _checked_variation(
    seeds: Iterable[int], varied: Mapping[str, Iterable[Any]]
) -> tuple[list[int], dict[str, list]]:
    """Seeds and values as non-empty lists, once all names are known."""
    unknown = sorted(set(varied) - set(TYPICAL))
    if unknown:
        raise ValueError(f"nothing called {unknown[0]!r} to vary; known are {', '.join(TYPICAL)}")
    lists = {}
    for name, values in {"seeds": seeds, **varied}.items():
        several = isinstance(values, Iterable) and not isinstance(values, str)
        lists[name] = list(values) if several else []
        check.that(name, values, bool(lists[name]), "a list of one or more values")
    return lists.pop("seeds"), lists


def _yield(schedule: ElasticSchedule, horizon: float) -> tuple[float, float, int]:
    """Node-seconds of completed and of killed runs that ended by the horizon; how many killed."""
    attempts = schedule.attempts[schedule.attempts["end_time"] <= horizon]
    nodes = schedule.workload.jobs["nodes"].to_numpy()[attempts["job"]]
    held = nodes * (attempts["end_time"] - attempts["start_time"])
    done = attempts["completed"]
    return float(held[done].sum()), float(held[~done].sum()), int((~done).sum())


def _measured(
    workload: Workload, system: System, horizon: float, most: float, seed: int, **point: Any
) -> dict[str, float]:
    """What one run comes to; `most` is the useful node-seconds of the undisturbed one."""
    schedule = _simulate(workload, system, {**TYPICAL, **point}, horizon, seed)
    useful, killed, kills = _yield(schedule, horizon)
    return {
        "throughput": useful / horizon,
        "relative": useful / most,
        "wasted": killed / (useful + killed) if kills else 0.0,
        "kills": kills,
        "served": schedule.served,
    }


def _simulate(
    workload: Workload, system: System, point: Mapping[str, Any], horizon: float, seed: int
) -> ElasticSchedule:
    """One run, audited."""
    drawn = {name: point[name] for name in ("rate", "size", "duration")}
    return audit(
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
