"""Sequences of preemptions: what they cost a partition in throughput and in wasted cycles.

The paper analyzes single preemptions, for it had no logs of preemptions. Here users' requests come
as a Poisson process of a given rate, all of one size and duration, and the protocol runs
(`schedulers.elastic`). A request that finds too few nodes, because other users have or wait for
them, gets those there are; the rest lapses, and what lapsed is told as `served` beside throughput:
a policy is not to look good because users went away.
"""

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from cosimlib.audit import audit
from cosimlib.checks import check_whole, is_number
from cosimlib.elastic.schedule import HOST, USER, ElasticSchedule
from cosimlib.elastic.simulation import simulate_elastic
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
        Nodes of each, from 1.
    duration : float
        Seconds for which a user keeps a node, above 0.
    horizon : float
        Seconds after which none comes.
    seed : int, default 0
        0 or more.

    Returns
    -------
    pd.DataFrame
        `time` (s, ascending), `nodes`, `duration` (s).
    """
    for name, number in (("rate", rate), ("horizon", horizon)):
        if not _is_number(number) or number < 0:
            raise ValueError(f"{name}={number!r}; expected a finite number of 0 or more")
    for name, whole, least in (("size", size, 1), ("seed", seed, 0)):
        check_whole(name, whole, least)
    if not _is_number(duration) or duration <= 0:
        raise ValueError(f"duration={duration!r}; expected a finite number of seconds above 0")
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
        `wasted` (the killed ones' share of node-hours), `kills`; and `served`, the share of the
        nodes asked for by users that they got, for what is not there to be had lapses.

    Raises
    ------
    ValueError
        For a horizon that is not above 0 or within which no job ends, an unknown name, or values
        that are no iterable of one or more.
    """
    seeds, lists = _checked_variation(seeds, varied)
    undisturbed = simulate_elastic(workload, system)
    if horizon is None:
        horizon = float(max(undisturbed.end_time, default=0.0))
    if not _is_number(horizon) or horizon <= 0:
        raise ValueError(f"horizon={horizon!r}; expected a finite number of seconds above 0")
    most, _, _ = _yield(undisturbed, horizon)
    if most == 0:
        raise ValueError(
            f"{workload.name}: no job ends by horizon={horizon:g} even undisturbed; take a longer "
            "one"
        )
    rows = []
    for values in product(*lists.values()):
        point = dict(zip(lists, values, strict=True))
        for seed in seeds:
            schedule = _simulate(workload, system, {**TYPICAL, **point}, horizon, seed)
            useful, killed, kills = _yield(schedule, horizon)
            rows.append(
                {**point, "seed": seed, "throughput": useful / horizon, "relative": useful / most,
                 "wasted": killed / (useful + killed) if kills else 0.0, "kills": kills,
                 "served": schedule.served}
            )  # fmt: skip
    return pd.DataFrame(rows)


def average_sweep(table: pd.DataFrame, varied: str) -> pd.DataFrame:
    """A sweep averaged over seeds, tidy: `measure`, policy, `varied`, `share`.

    Measures are throughput (relative to the undisturbed), waste (of node-hours) and nodes served
    (of those that users asked for).
    """
    measures = {"relative": "throughput", "wasted": "wasted", "served": "users served"}
    averaged = table.groupby(["policy", varied], sort=False)[list(measures)].mean()
    parts = {name: averaged[column] for column, name in measures.items()}
    return pd.concat(parts, names=["measure"]).rename("share").round(4).reset_index()


def _is_number(value: Any) -> bool:
    """Whether it is a finite number."""
    return is_number(value) and bool(abs(float(value)) < np.inf)


def _checked_variation(
    seeds: Iterable[int], varied: Mapping[str, Iterable[Any]]
) -> tuple[list[int], dict[str, list]]:
    """Seeds and values as lists, once they are some and what varies is known."""
    unknown = sorted(set(varied) - set(TYPICAL))
    if unknown:
        raise ValueError(f"nothing called {unknown[0]!r} to vary; known are {', '.join(TYPICAL)}")
    lists = {}
    for name, values in {"seeds": seeds, **varied}.items():
        if isinstance(values, str) or not isinstance(values, Iterable) or not (some := [*values]):
            raise ValueError(f"{name}={values!r}; expected a list of one or more values")
        lists[name] = some
    return lists.pop("seeds"), lists


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
