"""Runs of the zoo: logs drawn anew, all policies on each."""

import time
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from cosimlib import checks as check
from cosimlib import synthetic, traces
from cosimlib.audit import audit
from cosimlib.comparison.run import PART
from cosimlib.display import count
from cosimlib.metrics import (
    bounded_slowdown,
    loss_of_capacity,
    utilization,
    wait_time,
    window,
)
from cosimlib.policies import SIMULATORS, Simulator
from cosimlib.prepare import with_assumed_machine
from cosimlib.schedule import Schedule
from cosimlib.sweep import Workers, sweep
from cosimlib.units import DAY, HOUR, WEEK
from cosimlib.workload import Workload

REPLICATES = 20
JOBS = 20_000
"""Jobs of a log drawn anew, about: longer logs give whole weeks of it, at least one."""
MEASURES: Mapping[str, Callable[..., Any]] = {
    "wait": lambda schedule, **limits: wait_time(schedule, **limits).mean() / HOUR,
    "wait_p99": lambda schedule, **limits: wait_time(schedule, **limits).quantile(0.99) / HOUR,
    "bounded_slowdown": lambda schedule, **limits: bounded_slowdown(schedule, **limits).mean(),
    "utilization": utilization,
    "loss_of_capacity": loss_of_capacity,
}
"""Mean wait and 99th percentile of waits in hours, mean bounded slowdown, and of the machine."""


def zoo_logs(
    names: Iterable[str] = (), *, cores_per_node: int | None = None, nodes: int | None = None
) -> dict[str, Workload]:
    """Logs by name, of the jobs that fit their machine, with drawn estimates where there are none.

    A machine that a log does not tell is assumed, and the name says so (`with_assumed_machine`).

    Parameters
    ----------
    names : iterable of str, optional
        Names of known traces or paths of logs; by default the known traces that are here, and two
        synthetic logs where there is none.
    cores_per_node : int, optional
        For `traces.load`.
    nodes : int, optional
        Of the machine of the one log that is named.
    """
    names = list(names)
    if (nodes is not None or cores_per_node is not None) and len(names) != 1:
        raise ValueError(
            f"nodes and cores_per_node are of the machine of one log; {len(names)} are named"
        )
    found = names or [name for name in traces.TRACES if traces.find_trace(name) is not None]
    if found:
        read = {
            name: traces.load(name, cores_per_node=cores_per_node, verbose=False) for name in found
        }
        logs = {Path(name).name: with_assumed_machine(log, nodes) for name, log in read.items()}
        unknown = [name for name in found if read[name].machine is None and nodes is None]
        for name in map(Path, unknown):
            log = logs.pop(name.name)
            size = check.machine(log.machine, log.name).total_nodes
            logs[f"{name.name} ({count(size, 'node')} assumed)"] = log
    else:
        model = synthetic.with_estimates(synthetic.lublin(5_000, load=0.8))
        logs = {"Lublin-Feitelson": model, "synthetic Theta": synthetic.theta(5_000)}
    return {name: _runnable(log) for name, log in logs.items()}


def run_zoo(
    logs: Mapping[str, Workload] | None = None,
    policies: Mapping[str, Simulator] | None = None,
    *,
    replicates: int = REPLICATES,
    jobs: int = JOBS,
    executor: Workers = None,
    folder: str | Path | None = None,
) -> pd.DataFrame:
    """One row per log, replicate and policy, each schedule audited.

    Parameters
    ----------
    logs : mapping of str to Workload, optional
        By default those of `zoo_logs`.
    policies : mapping of str to simulator, optional
        By default all of the register.
    replicates : int, default 20
        Logs drawn anew from each log, all policies on the same ones.
    jobs : int, default 20000
        About as many jobs does a log that is drawn have, if the log has more.
    executor, folder
        As for `sweep`; its cells are one log drawn and one policy.

    Returns
    -------
    pd.DataFrame
        `log`, `replicate`, `policy`, `jobs`, the columns of `MEASURES` over the jobs or the time
        between warm-up and cool-down (a tenth of the log each, at most a week), and `seconds` of
        processor time that the simulation took. A policy that cannot schedule a log, or whose
        schedule does not pass the audit, has its reason in `error`.
    """
    check.whole("replicates", replicates, 2)
    check.whole("jobs", jobs, 1)
    grid = {
        "log": zoo_logs() if logs is None else logs,
        "replicate": range(replicates),
        "policy": dict(SIMULATORS if policies is None else policies),
    }
    return sweep(measured, grid, shared={"jobs": jobs}, executor=executor, folder=folder)


def measured(log: Workload, replicate: int, policy: Simulator, jobs: int) -> dict[str, float]:
    """Measures of a policy's schedule of a log drawn anew."""
    workload = drawn(log, replicate, jobs)
    machine = check.machine(workload.machine, workload.name)
    began = time.process_time()
    schedule = policy(workload, machine)
    seconds = time.process_time() - began
    check.instance("the policy's result", schedule, Schedule)
    limits = _limits(audit(schedule))
    values = {name: float(measure(schedule, **limits)) for name, measure in MEASURES.items()}
    return {"jobs": len(workload), **values, "seconds": seconds}


@lru_cache(2)
def drawn(log: Workload, replicate: int, jobs: int) -> Workload:
    """A log drawn anew by weeks, of whole weeks (days where one week has too many jobs)."""
    if len(log) <= jobs:
        return synthetic.resample(log, replicate, unit="weeks")
    submit_time = log.jobs["submit_time"]
    length = float(submit_time.iloc[-1] - submit_time.iloc[0]) * jobs / len(log)
    whole = WEEK if length >= WEEK else DAY
    return synthetic.resample(log, replicate, length=max(length // whole, 1) * whole, unit="weeks")


def _limits(schedule: Schedule) -> dict[str, float]:
    submit_time = schedule.workload.jobs["submit_time"]
    margin = min(WEEK, PART * float(submit_time.iloc[-1] - submit_time.iloc[0]))
    return window(schedule, warm_up=margin, cool_down=margin)


def _runnable(log: Workload) -> Workload:
    fits = log.jobs["nodes"] <= check.machine(log.machine, log.name).total_nodes
    return synthetic.with_drawn_estimates(log.keep(fits, "wider than its machine"))
