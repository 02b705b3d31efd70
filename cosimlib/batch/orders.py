"""What all policies do before they begin: check their knobs, cut runs, rank the jobs."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib.system import System
from cosimlib.workload import ACCOUNT_COLUMNS, JobArrays, Workload

ORDERS = ("submit", "shortest", "longest", "smallest", "largest", "wfp", "sjbf")
"""Known orders of the queue."""

BY_REQUEST = ("shortest", "longest", "wfp")
"""Orders that need requested times whatever the policy."""


class Prepared(NamedTuple):
    """A workload with its runs cut if asked, its arrays, and the nodes of the system."""

    workload: Workload
    jobs: JobArrays
    total_nodes: int


def prepare(
    workload: Workload, system: System, order: str, kill_at_request: bool, *, requested_time: bool
) -> Prepared:
    """Check `order` and the workload, and cross to arrays; `requested_time` where one is needed."""
    check("order", order, ORDERS)
    if kill_at_request:
        workload = _killed_at_request(workload, system)
    jobs = workload.arrays(system, requested_time=requested_time or order in BY_REQUEST)
    return Prepared(workload, jobs, system.total_nodes)


def check(knob: str, value: str, known: tuple[str, ...]) -> None:
    """Raise ValueError where `value` is not one of those known."""
    if value not in known:
        raise ValueError(f"{knob}={value!r}; expected one of {', '.join(map(repr, known))}")


def rank(jobs: JobArrays, order: str) -> np.ndarray:
    """For every job a number, lower for those whose turn is earlier, equal where `order` is silent.

    WFP's ranks depend on the time; the kernels write them.
    """
    n = jobs.submit_time.size
    if order in ("shortest", "sjbf"):
        return jobs.requested_time.copy()
    if order == "longest":
        return -jobs.requested_time
    if order == "smallest":
        return jobs.nodes.astype(np.float64)
    if order == "largest":
        return -jobs.nodes.astype(np.float64)
    return np.zeros(n)


def policy_name(name: str, order: str, *details: str) -> str:
    """How tables call a policy: ``EASY``, or ``EASY (per event, wfp)`` where knobs are turned."""
    told = [*details, *([order] if order != "submit" else [])]
    return f"{name} ({', '.join(told)})" if told else name


def _killed_at_request(workload: Workload, system: System) -> Workload:
    """The workload with run times cut at the requested time, and that said in its account."""
    jobs = workload.arrays(system)
    run_time = np.minimum(jobs.run_time, jobs.requested_time)
    killed = int((run_time < jobs.run_time).sum())
    entry = pd.DataFrame(
        [("mended", "run_time cut at requested_time", killed)], columns=list(ACCOUNT_COLUMNS)
    )
    return replace(
        workload,
        jobs=workload.jobs.assign(run_time=run_time),
        account=pd.concat([workload.account, entry], ignore_index=True),
    )
