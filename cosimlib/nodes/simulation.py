"""Queues on nodes: FCFS, first fit, EASY and conservative backfilling where jobs fit on nodes.

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
- *Conservative* reserves particular nodes and GPUs for every waiting job, anew at every instant,
  and also acts when a reservation begins (`cosimlib.nodes.reservations`).

A job that outlives its request is expected to end now. With one core per node and jobs that take
whole nodes, starts are those of `simulate_fcfs`, `simulate_first_fit` and `simulate_easy`.

*Arrivals* (`place_jobs`): jobs come to nodes one by one and never leave. This is how Weng et al.
(*Beware of Fragmentation*, USENIX ATC 2023) compare placements: how many GPUs are allocated when so
many have been asked for, and how many of the idle ones are fragments.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.kernels.jit import allocating_kernel
from cosimlib.kernels.records import record_type, records
from cosimlib.nodes.placement import (
    PLACE,
    TAKE,
    WHOLE,
    Cluster,
    change,
    choose,
    count_fitting,
    measure,
)
from cosimlib.nodes.queue import CONSERVATIVE, EASY, JOB, POLICIES, queue_of, simulate_passes
from cosimlib.nodes.requests import cluster_of, gpu_numbers, requests_of, typical_requests
from cosimlib.nodes.reservations import simulate_reservations
from cosimlib.nodes.schedule import NodeSchedule
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError, Workload, check_run

NAMES = dict(zip(POLICIES, ("FCFS", "first fit", "EASY", "conservative"), strict=True))
ASKED = ("nodes", "cores", "memory", "gpus", "gpu_share", "gpu_models")
"""Columns of a workload that say what a job asks for."""

ARRIVAL = record_type(
    floats="fragmented", integers="request nodes first placed arrived allocated idle"
)


@dataclass(frozen=True, eq=False, repr=False)
class Placed:
    """Placement of jobs on nodes, one by one, without departures.

    Parameters
    ----------
    arrivals : pd.DataFrame
        One row per job: `placed`; and after it came `arrived`, `allocated`, `idle` and `fragmented`
        GPUs: those asked for by then, those that jobs hold, those idle, and fragments among these.
    places : pd.DataFrame
        One row per job that is placed and node: `job`, `node`, `gpus` (their numbers).
    """

    arrivals: pd.DataFrame
    places: pd.DataFrame


def simulate_nodes(
    workload: Workload,
    system: System,
    *,
    policy: str = "easy",
    placement: str = "first_fit",
    seed: int = 0,
) -> NodeSchedule:
    """Queue jobs for nodes with cores, memory and GPUs, of which each takes what it asks for.

    Parameters
    ----------
    workload : Workload
        With some of the columns `cores`, `memory`, `gpus`, `gpu_share`, `gpu_models`
        (`cosimlib.nodes.requests`); with requested times for EASY and conservative.
    system : System
        Of one partition, with node types (`System.of_types`).
    policy : {"fcfs", "first_fit", "easy", "conservative"}, default "easy"
    placement : str, default "first_fit"
        On which nodes that fit a job goes: one of `PLACEMENTS` (`cosimlib.nodes.placement`).
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
    check.seed(seed)
    rule = POLICIES.index(policy)
    jobs = workload.arrays(system, requested_time=rule >= EASY)
    distinct, number = requests_of(workload)
    typical = typical_requests(workload) if placement == "fgd" else typical_requests(workload)[:0]
    cluster = cluster_of(system, distinct, typical, placement)
    _check_fitting(workload, system, cluster, distinct, number)
    first, places = _places(jobs.nodes, seed)
    requested_time = np.where(np.isnan(jobs.requested_time), np.inf, jobs.requested_time)
    columns = jobs._asdict() | {"requested_time": requested_time, "first": first}
    cluster.state["policy"], cluster.state["next_start"] = rule, np.inf
    records_of_jobs = records(len(workload), JOB, request=number, start_time=np.nan, **columns)
    queue = queue_of(records_of_jobs, places, cluster)
    simulate = simulate_reservations if rule == CONSERVATIVE else simulate_passes
    simulate(cluster, queue)
    start_time = np.array(queue.jobs.start_time)
    _check_overdue(workload, start_time)
    return NodeSchedule(
        workload=workload,
        system=system,
        policy=f"{NAMES[policy]}, {placement.replace('_', ' ')}",
        start_time=start_time,
        end_time=start_time + jobs.run_time,
        node=np.array(places.node),
        gpu_set=np.array(places.gpus),
    )


def place_jobs(
    workload: Workload,
    system: System,
    placement: str = "fgd",
    *,
    typical: Workload | None = None,
    seed: int = 0,
) -> Placed:
    """Placement of jobs on nodes in order; jobs never leave; jobs that do not fit are skipped.

    Ties between nodes go to the lowest number: the order of the nodes in the system matters.

    Parameters
    ----------
    workload : Workload
        With some of the columns `cores`, `memory`, `gpus`, `gpu_share`, `gpu_models`
        (`cosimlib.nodes.requests`). Times do not matter.
    system : System
        With node types, `System.of_types`.
    placement : str, default "fgd"
        One of `PLACEMENTS` (`cosimlib.nodes.placement`).
    typical : Workload, optional
        Whose commonest requests fragmentation is measured by; by default those of the workload.
    seed : int, default 0
        Of random placement.

    Returns
    -------
    Placed

    Raises
    ------
    InvalidWorkloadError
        If a job asks for more nodes than there are, or the system has several partitions.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlib as cs
    >>> system = cs.System.of_types([cs.NodeType(2, cores=8, gpus=2)])
    >>> asked = {"cores": [2, 2, 2, 4], "gpus": [1, 1, 2, 2], "gpu_share": [0.5, 0.5, 1, 1]}
    >>> jobs = pd.DataFrame(asked | {"submit_time": 0, "run_time": 1, "nodes": 1})
    >>> cs.nodes.place_jobs(cs.Workload(jobs), system, "gpu_packing").places
       job  node    gpus
    0    0     0    (0,)
    1    1     0    (0,)
    2    2     1  (0, 1)
    """
    check_run(workload, system)
    check.seed(seed)
    wanted = workload.arrays(system, requested_time=False).nodes
    distinct, number = requests_of(workload)
    common = typical_requests(workload if typical is None else typical)
    cluster = cluster_of(system, distinct, common, placement)
    first, places = _places(wanted, seed)
    arrivals = records(len(workload), ARRIVAL, request=number, nodes=wanted, first=first)
    _arrive(cluster, arrivals, places)
    gpus = {name: arrivals[name] / WHOLE for name in ("arrived", "allocated", "idle", "fragmented")}
    table = pd.DataFrame({"placed": arrivals.placed == 1, **gpus})
    job = np.repeat(np.arange(len(workload)), wanted)
    where = pd.DataFrame({"job": job, "node": places.node, "gpus": places.gpus})
    where = where[where["node"] >= 0].reset_index(drop=True)
    return Placed(table, where.assign(gpus=[gpu_numbers(one) for one in where["gpus"]]))


def _places(nodes: np.ndarray, seed: int) -> tuple[np.ndarray, np.recarray]:
    """The first place of each job, and the places of all jobs with their random numbers."""
    check.room("nodes of all jobs together", float(nodes.sum()), "take fewer jobs")
    bounds = np.append(0, np.cumsum(nodes))
    draws = np.random.default_rng(seed).random((bounds[-1], 2))
    places = records(len(draws), PLACE, draw=draws[:, 0], gpu_draw=draws[:, 1])
    return bounds[:-1], places


def _check_fitting(
    workload: Workload,
    system: System,
    cluster: Cluster,
    distinct: pd.DataFrame,
    number: np.ndarray,
) -> None:
    """Raise for the first job that never fits."""
    fitting = np.array([count_fitting(cluster, each) for each in range(len(distinct))])
    wanted = workload.jobs["nodes"].to_numpy()
    broken = wanted > fitting[number]
    if broken.any():
        job = int(broken.argmax())
        jobs, table, have = workload.jobs, system.nodes, int(fitting[number[job]])
        asked = ", ".join(f"{name}={jobs[name][job]}" for name in ASKED if name in jobs)
        raise InvalidWorkloadError(
            f"{workload.label(job)} asks for {asked}; {have} of {system.name} "
            f"{'has' if have == 1 else 'have'} that (at most {table['cores'].max():.10g} cores, "
            f"{table['memory'].max():.10g} GB, {table['gpus'].max()} GPUs per node); drop it with "
            "Workload.keep"
        )


def _check_overdue(workload: Workload, start_time: np.ndarray) -> None:
    """Raise for the job that outlives its request by most if the simulation ended early."""
    started = np.isfinite(start_time)
    if started.all():
        return
    over = np.where(started, workload.jobs["run_time"] - workload.jobs["requested_time"], -np.inf)
    job = int(over.argmax())
    raise InvalidWorkloadError(
        f"{workload.label(job)} outlives its request by {over[job]:.15g} s, while jobs of short "
        "requests wait, whose reservations are made again and again; cut run times at requested "
        "times, or drop it with Workload.keep"
    )


@allocating_kernel
def _arrive(cluster: Cluster, arrivals: np.recarray, places: np.recarray) -> None:
    """Place one job after the other, and note the sums after each."""
    state, arrived, allocated = cluster.state[0], 0, 0
    measure(cluster)
    for job in range(arrivals.size):
        one = arrivals[job]
        request, own = cluster.requests[one.request], places[one.first : one.first + one.nodes]
        one.placed = choose(cluster, one.request, job, own)
        asked = one.nodes * request.gpus * request.share
        arrived += asked
        allocated += asked * one.placed
        for place in own:
            if one.placed:
                change(cluster, one.request, place.node, place.gpus, TAKE)
            else:
                place.node = -1
        one.arrived, one.allocated = arrived, allocated
        one.idle, one.fragmented = state.idle_gpu, state.fragmented
