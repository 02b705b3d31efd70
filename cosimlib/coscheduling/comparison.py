"""Comparison of coscheduling schemes on coupled machines, by workload and seed.

Four measures per machine, as Tang et al. define them: the average wait and the average slowdown of
all its jobs, the average sync-up overhead of its jobs with mates (from the instant at which a job
first held or yielded to its start), and the loss of capability: node-hours held idle, also as a
share of what the machine offers.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib import synthetic
from cosimlib.audit import audit
from cosimlib.coscheduling.mates import couple, mates_by_proportion, mates_by_proximity, read_mates
from cosimlib.coscheduling.schedule import CoupledSchedule
from cosimlib.coscheduling.simulation import simulate_coscheduling
from cosimlib.metrics import busy_stretch, slowdown
from cosimlib.sweep import Workers, sweep
from cosimlib.synthetic.intrepid import (
    EUREKA_NODES,
    INTREPID_JOBS,
    INTREPID_LOAD,
    INTREPID_NODES,
)
from cosimlib.system import System
from cosimlib.units import DAY, HOUR, MINUTE
from cosimlib.workload import Workload

EUREKA = "eureka"
SCHEMES = ("HH", "HY", "YH", "YY")
UTILIZATIONS = (0.25, 0.50, 0.75)
"""Of Eureka, in the paper's first experiment."""
PROPORTIONS = (0.025, 0.05, 0.10, 0.20, 0.33)
"""Of paired jobs, in the paper's second experiment."""
PROPORTION_LOAD = 0.48
"""Eureka's utilization in the second experiment."""
WINDOW = 10.0
"""Seconds between the submissions of mates in the first experiment, at most."""
MEASURES = ("wait", "slowdown", "sync_up", "lost")


def sync_up_overhead(schedule: CoupledSchedule) -> pd.Series:
    """Sync-up overhead per job with a mate: seconds from its first hold or yield to its start.

    0 for a job that started with its mates at its first turn; NaN for one that never starts.
    """
    paired = np.flatnonzero(schedule.group >= 0)
    start_time, first_try = schedule.start_time[paired], schedule.first_try[paired]
    overhead = np.where(np.isnan(first_try), 0.0, start_time - first_try)
    overhead[np.isnan(start_time)] = np.nan
    return pd.Series(overhead, index=paired, name="sync_up_overhead")


def lost_node_hours(schedule: CoupledSchedule) -> pd.Series:
    """Loss of capability: node-hours held idle, per machine; infinite where a hold never ends."""
    held = schedule.allocations[schedule.allocations["use"] == "hold"]
    idle = (held["end"] - held["start"]) * held["nodes"]
    lost = idle.groupby(schedule.partition.to_numpy()[held["job"]]).sum() / HOUR
    return lost.reindex(list(schedule.system.partitions), fill_value=0.0).rename("lost")


def summarize_machines(schedule: CoupledSchedule) -> pd.DataFrame:
    """Measures of coscheduling, one row per machine.

    Returns
    -------
    pd.DataFrame
        `machine`, `jobs`, `paired` (its jobs with mates), mean `wait` (minutes), mean `slowdown`,
        mean `sync_up` of paired jobs that started (minutes; 0 without any), `lost` (idle
        node-hours) and `lost_share` (of what the machine offers from the first submission to the
        last end).
    """
    overhead, lost = sync_up_overhead(schedule), lost_node_hours(schedule)
    jobs = schedule.jobs.assign(slowdown=slowdown(schedule), sync_up=overhead)
    jobs["paired"] = schedule.group >= 0
    span = (jobs["end_time"].max() - jobs["submit_time"].min()) / HOUR
    rows = []
    for machine, nodes in schedule.system.partitions.items():
        here = jobs[schedule.partition == machine]
        sync_up = here["sync_up"].mean() if here["sync_up"].notna().any() else 0.0
        rows.append(
            {
                "machine": machine,
                "jobs": len(here),
                "paired": int(here["paired"].sum()),
                "wait": here["wait_time"].mean() / MINUTE,
                "slowdown": here["slowdown"].mean(),
                "sync_up": sync_up / MINUTE,
                "lost": lost[machine],
                "lost_share": lost[machine] / (nodes * span) if span > 0 else np.nan,
            }
        )
    return pd.DataFrame(rows)


def first_machine(log: Workload | None = None) -> tuple[str, int]:
    """Name and nodes of the machine coupled with Eureka: Intrepid, or a log's own."""
    if log is None:
        return "intrepid", INTREPID_NODES
    name = f"{log.name} (log)" if log.name == EUREKA else log.name
    return name, check.machine(log.machine, log.name).total_nodes


def month_of_intrepid(
    *, seed: int = 0, log: Workload | None = None, days: float = 30.0
) -> Workload:
    """Intrepid's workload: synthetic, or jobs of a log at the paper's offered load.

    Of a log as many jobs are taken as `days` of the paper's month have, where it is busy (see
    `metrics.busy_stretch`), on its own machine. They keep their order, sizes and run times; times
    between submissions are scaled to the load of 70 %, evenly spread where all are submitted at
    once, and missing estimates are drawn.
    """
    jobs = max(1, round(INTREPID_JOBS * days / 30))
    if log is None:
        return synthetic.intrepid(jobs, span=days * DAY, seed=seed)
    nodes = first_machine(log)[1]
    narrow = log.keep(log.jobs["nodes"] <= nodes, "wider than the machine")
    few = busy_stretch(narrow, jobs)
    if len(few) > 1 and np.ptp(few.jobs["submit_time"].to_numpy()) == 0:
        evenly = few.jobs.assign(submit_time=np.arange(len(few), dtype=np.float64))
        few = replace(few, jobs=evenly).noted("mended", "submitted at once, spread", len(few))
    if len(few) > 1:
        few = synthetic.with_offered_load(few, nodes, load=INTREPID_LOAD)
    return synthetic.with_drawn_estimates(few, seed=seed)


def by_utilization(
    intrepid: Workload, *, load: float, seed: int = 0, name: str = "intrepid"
) -> Workload:
    """Intrepid's workload coupled with a Eureka of the given load; mates by proximity."""
    eureka = synthetic.eureka(load=load, span=_span(intrepid), seed=seed)
    machines = {name: intrepid, EUREKA: eureka}
    mates = mates_by_proximity(machines, window=WINDOW)
    return couple(machines, mates, name=f"Eureka at {load:.0%}")


def by_proportion(
    intrepid: Workload, *, share: float, seed: int = 0, name: str = "intrepid"
) -> Workload:
    """Intrepid's workload coupled with as many jobs of Eureka at 48 %; mates by proportion.

    The k-th job of Eureka is submitted with the k-th of Intrepid, so that mates come together.
    `name` is that of the machine in Intrepid's place.
    """
    eureka = synthetic.eureka(len(intrepid), load=PROPORTION_LOAD, span=_span(intrepid), seed=seed)
    submit_time = intrepid.jobs["submit_time"].to_numpy()
    together = Workload(eureka.jobs.assign(submit_time=submit_time), eureka.name, eureka.machine)
    machines = {name: intrepid, EUREKA: together}
    return couple(machines, mates_by_proportion(machines, share=share), name=f"{share:.1%} paired")


def _span(workload: Workload) -> float:
    """Seconds from 0 to the last submission, at least a minute."""
    return max(float(workload.jobs["submit_time"].max()), MINUTE)


def couple_logs(logs: Mapping[str, Workload], mates: str | Path = "") -> tuple[Workload, System]:
    """One workload of several machines' logs, and the system of their machines.

    Clocks are not shifted. Jobs wider than their machine are left out and missing estimates are
    drawn. A machine whose nodes the log does not say is as wide as its widest job.

    Parameters
    ----------
    logs : mapping of str to Workload
        By the name of their partition.
    mates : str or Path, default ""
        A CSV file for `read_mates`; empty: no job has a mate.
    """
    machines, sizes = {}, {}
    for name, log in logs.items():
        widest = int(log.jobs["nodes"].max())
        sizes[name] = log.machine.total_nodes if log.machine else widest
        narrow = log.keep(log.jobs["nodes"] <= sizes[name], "wider than its machine")
        machines[name] = synthetic.with_drawn_estimates(narrow)
    groups = read_mates(mates, machines) if mates else None
    return couple(machines, groups), System("+".join(sizes), sizes)


def compare_schemes(
    make: Callable[..., Workload],
    values: Iterable[float],
    *,
    by: str,
    seeds: Sequence[int],
    log: Workload | None = None,
    days: float = 30.0,
    schemes: Sequence[str] = SCHEMES,
    executor: Workers = None,
    folder: str | Path | None = None,
    **knobs: Any,
) -> pd.DataFrame:
    """The base and each scheme, on each workload and seed.

    Parameters
    ----------
    make : callable
        `by_utilization` or `by_proportion`.
    values : iterable of float
        The values of its keyword `by`.
    by : str
        ``"load"`` or ``"share"``, also the column of the values.
    seeds : sequence of int
    log, days
        As for `month_of_intrepid`.
    schemes : sequence of str
        Besides ``"base"``, without coscheduling.
    executor, folder
        As for `sweep`, whose cells are one value and seed: where they are computed and kept.
    **knobs
        For `simulate_coscheduling`.

    Returns
    -------
    pd.DataFrame
        `by` and `seed`, the rows of `summarize_machines`, `scheme`, `stuck` (jobs that never start)
        and `apart` (jobs that did not start with their mates). Each schedule was audited.
    """
    shared = {"make": make, "log": log, "days": days, "schemes": tuple(schemes), "knobs": knobs}
    return sweep(
        _compare,
        {by: values},
        seeds,
        shared=shared,
        executor=executor,
        folder=folder,
        errors="raise",
    )


def compare_on(
    workload: Workload, system: System, *, schemes: Sequence[str] = SCHEMES, **knobs: Any
) -> pd.DataFrame:
    """The base and each scheme on one workload, each schedule audited.

    Returns
    -------
    pd.DataFrame
        The rows of `summarize_machines` with `scheme`, `stuck` and `apart`.
    """
    tables: list[pd.DataFrame] = []
    for scheme in (None, *schemes):
        schedule = audit(simulate_coscheduling(workload, system, schemes=scheme, **knobs))
        table = summarize_machines(schedule).assign(scheme=schedule.policy)
        tables.append(table.assign(stuck=len(schedule.stuck), apart=len(schedule.apart)))
    return pd.concat(tables, ignore_index=True)


def averages(comparison: pd.DataFrame, by: str) -> pd.DataFrame:
    """Mean, minimum and maximum over seeds of what `compare_schemes` measured.

    Returns
    -------
    pd.DataFrame
        `machine`, `by`, `scheme`, `measure` (one of `MEASURES` or `lost_share`), `mean`, `least`,
        `most`.
    """
    measures = [*MEASURES, "lost_share"]
    keys = ["machine", by, "scheme", "measure"]
    long = comparison.melt(["machine", by, "scheme", "seed"], measures, "measure")
    cells = long.groupby(keys, sort=False)["value"]
    table = {"mean": cells.mean(), "least": cells.min(), "most": cells.max()}
    return pd.DataFrame(table).reset_index()


def _compare(
    make: Callable[..., Workload],
    log: Workload | None,
    days: float,
    schemes: Sequence[str],
    knobs: Mapping[str, Any],
    seed: int,
    **value: float,
) -> pd.DataFrame:
    """The base and all schemes on one workload and seed."""
    intrepid = month_of_intrepid(seed=seed, log=log, days=days)
    name, nodes = first_machine(log)
    workload = make(intrepid, seed=seed, name=name, **value)
    system = System(f"{name}+{EUREKA}", {name: nodes, EUREKA: EUREKA_NODES})
    return compare_on(workload, system, schemes=schemes, **knobs)
