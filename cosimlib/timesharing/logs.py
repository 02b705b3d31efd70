"""Logs for time-sharing: nodes get memory; what does not fit is dropped and counted."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.metrics import busy_stretch
from cosimlib.units import DAY
from cosimlib.workload import InvalidWorkloadError, Workload


def with_node_memory(
    workload: Workload,
    *,
    memory_per_node: float | None = None,
    jobs: int | None = None,
    node_days: float | None = None,
) -> Workload:
    """The workload on its machine, whose nodes get the memory that time-sharing needs.

    Jobs wider than the machine are left out, and so are those that need more memory than a node
    has; the account says how many, and how many do not say what they need, which counts as
    nothing. Times are from the first submission. Requested times that are missing are the run
    times.

    Parameters
    ----------
    workload : Workload
        With a machine.
    memory_per_node : float, optional
        GB; by default twice what 99 % of the jobs need at most: logs do not say what their nodes
        had, and a node that just holds one job cannot be shared. NaN, which is unlimited, where no
        job says how much it needs.
    jobs : int, optional
        Number of consecutive jobs to keep, from where the log is busy (`metrics.busy_stretch`).
    node_days : float, optional
        Fewer jobs are kept where their submissions span more than so many days times nodes: the
        work of simulating noise, which strikes idle nodes, too, grows with both.

    Raises
    ------
    InvalidWorkloadError
        Where the machine is unknown, or no job is left.
    """
    check.whole("jobs", jobs, 1, none=True)
    check.number("node_days", node_days, above=0, none=True)
    check.number("memory_per_node", memory_per_node, above=0, kind="GB", none=True)
    if workload.machine is None:
        raise InvalidWorkloadError(
            f"{workload.name}: its machine is unknown; name its nodes in the log's header "
            "(; MaxNodes: 128), or make the Workload with a machine"
        )
    memory = workload.column("memory")
    if memory_per_node is None:
        memory_per_node = 2.0 * float(memory.quantile(0.99))
    table = workload.jobs.drop(columns="partition", errors="ignore")
    requested = table["requested_time"].fillna(table["run_time"].clip(lower=1.0))
    total_nodes = workload.machine.total_nodes
    system = replace(workload.machine.with_nodes(total_nodes), memory_per_node=memory_per_node)
    one = replace(workload, jobs=table.assign(requested_time=requested), machine=system)
    one = one.noted("noted", "memory unknown, counted as none", int(memory.isna().sum()))
    one = one.keep(one.jobs["nodes"] <= total_nodes, "wider than the machine")
    small = ~(one.column("memory") > memory_per_node)
    if len(one) and not small.any():
        raise InvalidWorkloadError(
            f"{workload.name}: no job fits a node of {memory_per_node:.3g} GB; expected more"
        )
    one = one.keep(small, f"more memory than the {memory_per_node:.3g} GB of a node")
    kept = one if jobs is None else busy_stretch(one, int(jobs))
    span = float(np.ptp(kept.jobs["submit_time"])) * total_nodes / DAY if len(kept) else 0.0
    if node_days is not None and span > node_days:
        kept = busy_stretch(one, math.ceil(len(kept) * node_days / span))
    return _from_first_submission(kept)


def _from_first_submission(workload: Workload) -> Workload:
    """The workload with its times counted from the first submission."""
    if not len(workload):
        return workload
    table, began = workload.jobs, workload.began
    first = float(table["submit_time"].min())
    clocks = [name for name in ("submit_time", "recorded_start") if name in table]
    if began is not None:
        began += pd.Timedelta(seconds=first)
    shifted = table.assign(**{name: table[name] - first for name in clocks})
    return replace(workload, jobs=shifted, began=began)
