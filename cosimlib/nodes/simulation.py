"""Queues on nodes: FCFS, first fit and EASY backfilling where a job must fit on nodes.

The policies are those of `cosimlib.batch`, with another meaning of "fits": a job fits if as many
nodes as it wants each have the cores, the memory and the GPUs that it asks for idle. At every
instant all ends and then all submissions are absorbed, and there is one pass over the queue.

- *FCFS* starts the head of the queue while it fits, *first fit* every job that fits, in order.
- *EASY* reserves for a blocked head its *shadow time*: the first expected release after which it
  fits on nodes, given who runs where and if all running jobs end at their requested times. A later
  job starts if it fits now and either ends by the shadow time, or leaves the head enough nodes on
  which it fits then. The nodes that the head leaves over are spare: a job that ends later may take
  as many nodes as are spare of those on which the head then fits, and would not beside it; if not
  all of them, those of the lowest numbers.

A job that outlives its request is expected to end now. With one core per node and jobs that take
whole nodes, starts are those of `simulate_fcfs`, `simulate_first_fit` and `simulate_easy`.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.display import count
from cosimlib.kernels.records import records
from cosimlib.nodes.placement import ALL_CORES, WHOLE, Cluster, count_fitting
from cosimlib.nodes.queue import (
    EASY,
    EVENT,
    JOB,
    NOBODY,
    POLICIES,
    STATE,
    WAITING,
    Queue,
    simulate_passes,
)
from cosimlib.nodes.requests import GIGABYTE, cluster_of, requests_of, typical_requests
from cosimlib.nodes.schedule import NodeSchedule
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError, Workload, check_run

NAMES = dict(zip(POLICIES, ("FCFS", "first fit", "EASY"), strict=True))


def simulate_nodes(
    workload: Workload,
    system: System,
    *,
    policy: str = "easy",
    placement: str = "first_fit",
    kill_at_request: bool = False,
    seed: int = 0,
) -> NodeSchedule:
    """Queue jobs for nodes with cores, memory and GPUs, of which each takes what it asks for.

    Parameters
    ----------
    workload : Workload
        With some of the columns `cores`, `memory`, `gpus`, `gpu_share`, `gpu_models`
        (`cosimlib.nodes.requests`); with requested times for EASY.
    system : System
        Of one partition, with node types (`System.of_types`).
    policy : {"fcfs", "first_fit", "easy"}, default "easy"
    placement : str, default "first_fit"
        On which nodes that fit a job goes: one of `PLACEMENTS` (`cosimlib.nodes.placement`).
    kill_at_request : bool, default False
        Cut runs at the requested time; the schedule's workload then holds the cut run times.
    seed : int, default 0
        Of random placement.

    Returns
    -------
    NodeSchedule

    Raises
    ------
    InvalidWorkloadError
        If a job fits on too few nodes even of the empty system, a requested time is missing, or
        the system has several partitions.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlib as cs
    >>> system = cs.System.of_types([cs.NodeType(2, cores=8, gpus=2)])
    >>> times = {"submit_time": [0, 0, 1], "run_time": [10, 10, 5], "requested_time": [10, 10, 8]}
    >>> asked = {"nodes": 1, "cores": 4, "gpus": [1, 2, 2]}
    >>> workload = cs.Workload(pd.DataFrame(times | asked), "three jobs")
    >>> cs.audit(cs.simulate_nodes(workload, system, placement="best_fit")).places
       job  node  start   end    gpus
    0    0     0    0.0  10.0    (0,)
    1    1     1    0.0  10.0  (0, 1)
    2    2     0   10.0  15.0  (0, 1)
    """
    check_run(workload, system)
    check.choice("policy", policy, POLICIES)
    check.flag("kill_at_request", kill_at_request)
    check.seed(seed)
    rule = POLICIES.index(policy)
    jobs = workload.arrays(system, requested_time=kill_at_request or rule >= EASY)
    if kill_at_request:
        run_time = np.minimum(jobs.run_time, jobs.requested_time)
        killed = int((run_time < jobs.run_time).sum())
        workload = replace(workload, jobs=workload.jobs.assign(run_time=run_time))
        workload = workload.noted("mended", "run_time cut at requested_time", killed)
        jobs = jobs._replace(run_time=run_time)
    distinct, number = requests_of(workload)
    typical = typical_requests(workload) if placement == "fgd" else typical_requests(workload)[:0]
    cluster = cluster_of(system, distinct, typical, placement)
    shadow = cluster_of(system, distinct, typical[:0], placement)
    _check_fitting(workload, system, cluster, distinct, number)
    first = np.concatenate([[0], np.cumsum(jobs.nodes)])
    requested_time = np.where(np.isnan(jobs.requested_time), np.inf, jobs.requested_time)
    columns = jobs._asdict() | {"requested_time": requested_time, "first": first[:-1]}
    queue = Queue(
        records(jobs.nodes.size, JOB, request=number, **columns),
        records(len(distinct), WAITING),
        np.zeros(len(distinct), np.int64),
        records(jobs.nodes.size, EVENT),
        records(jobs.nodes.size, EVENT),
        np.random.default_rng(seed).random((first[-1], 2)),
        np.zeros(first[-1], np.int64),
        np.zeros(first[-1], np.int64),
        records(1, STATE, policy=rule, head=NOBODY, last=NOBODY),
    )
    simulate_passes(cluster, shadow, queue)
    start_time = np.array(queue.jobs.start_time)
    return NodeSchedule(
        workload=workload,
        system=system,
        policy=f"{NAMES[policy]}, {placement.replace('_', ' ')}",
        start_time=start_time,
        end_time=start_time + jobs.run_time,
        node=queue.node,
        gpu_set=queue.gpu_set,
    )


def _check_fitting(
    workload: Workload,
    system: System,
    cluster: Cluster,
    distinct: pd.DataFrame,
    number: np.ndarray,
) -> None:
    """Raise for the first job that never fits."""
    fitting = count_fitting(cluster)
    wanted = workload.jobs["nodes"].to_numpy()
    broken = wanted > fitting[number]
    if broken.any():
        job = int(broken.argmax())
        asked, have = distinct.iloc[number[job]], int(fitting[number[job]])
        table = system.nodes
        raise InvalidWorkloadError(
            f"{workload.label(job)} asks for {count(int(wanted[job]), 'node')} with "
            f"{_in_words(asked)}; {have} of {system.name} {'has' if have == 1 else 'have'} that "
            f"(at most {table['cores'].max():.10g} cores, {table['memory'].max():.10g} GB, "
            f"{table['gpus'].max()} GPUs per node); drop it with Workload.keep"
        )


def _in_words(asked: pd.Series) -> str:
    """What a request asks for per node."""
    cores = "all cores" if asked["cores"] == ALL_CORES else f"{asked['cores'] / WHOLE:.10g} cores"
    parts = [cores]
    if asked["memory"]:
        parts.append(f"{asked['memory'] / GIGABYTE:.10g} GB")
    if asked["gpus"]:
        share = "" if asked["share"] == WHOLE else f"{asked['share'] / WHOLE:.10g} of "
        model = f" ({asked['models']})" if asked["models"] else ""
        parts.append(f"{share}{count(int(asked['gpus']), 'GPU')}{model}")
    return ", ".join(parts)
