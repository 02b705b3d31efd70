"""Elastic partitions on a hosting cluster (Duplyakin, Johnson and Ricci, 2017).

A *host* owns a cluster. *Elastic partitions*, each with its own jobs, borrow nodes from the host.
The host's own users may take these nodes back. The paper analyzes one preemption at a time and
leaves sequences of preemptions to future work. Here the protocol of its Section 3 runs completely.
Rules that the paper leaves open are made explicit:

- *AddNodes*: a partition asks for as many nodes as its waiting jobs need beyond its idle nodes. The
  host gives free nodes one by one, each to the partition that has least in proportion to its size.
- *DeleteNodes*: a partition gives idle nodes back as soon as no job waits in it.
- *Preemption*: the host's interactive users ask for nodes at given times and keep each for a given
  time. They get the host's free nodes first, then the least valued nodes of all partitions. If too
  few nodes are left, because users have them or wait for them, a request gets those that are left;
  the rest of the request is dropped for good (`ElasticSchedule.preemptions` says how much each was
  granted). In addition, a partition that has waiting jobs and fewer nodes than its size gets nodes
  back from partitions above their size.
- *NotifyDeletePending* is called at once, and then every minute. A notified node takes no new jobs.
  It leaves when it is idle, or when the grace period ends. A job that still runs on it then is
  killed on all its nodes, and starts again from its beginning.
- *Preemption vectors* (the value of each node) have the age `staleness` when the host decides. A
  node that was idle at that time counts as idle, although a job may have started on it since. Each
  partition's vector is divided by its own maximum. So the host compares shares of maxima, not
  node-seconds, across partitions: a partition with young jobs seems to be worth as much as one with
  old jobs.

Moving a node takes no time. Every job fits the size of its partition, so every job ends once the
users stop. Two parts of the paper are not modeled: the host's own vector of 0 and 1 (its spare
nodes are simply taken first), and DiscoverResources (partitions learn of new nodes at once).
`audit` does not check that the least valued nodes are taken, nor the rebalancing between
partitions; the tests compare both with a slow version of the protocol.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.elastic import schedule
from cosimlib.elastic.kernel import (
    ASK,
    DONE,
    EVENT,
    HOLD,
    HOST_OWNER,
    IDLE,
    JOB,
    LEAVE,
    NODE,
    PARTITION,
    RECLAIM,
    REQUEST,
    RUN,
    START,
    STOP,
    TRANSFER,
    State,
    simulate,
)
from cosimlib.elastic.schedule import HOST, USER, ElasticSchedule
from cosimlib.elastic.vectors import POLICIES, policy_number, priorities
from cosimlib.kernels.backfilling import STEP
from cosimlib.kernels.records import records
from cosimlib.schedule import partition_numbers
from cosimlib.system import System
from cosimlib.units import DAY
from cosimlib.workload import InvalidWorkloadError, Workload, check_run

REQUESTS = ("time", "nodes", "duration")

EVENTS_PER_NODE = 6
"""Events for which the log has room at first, per node of a job, a preemption and the machine."""

VALUES_PER_NODE = 16
"""Values that the simulation keeps of each node, or somewhat fewer."""


def simulate_elastic(
    workload: Workload,
    system: System,
    *,
    policy: str | Mapping[str, str] = "PAP",
    preemptions: pd.DataFrame | None = None,
    grace_period: float = 120.0,
    staleness: float = 0.0,
    spare: int = 0,
    seed: int = 0,
) -> ElasticSchedule:
    """Elastic partitions: a host takes nodes back, and kills jobs that still run on them.

    Parameters
    ----------
    workload : Workload
        Each job is on the partition that it names, or else on the first; PAP+ reads `priority`.
    system : System
        Partitions and their sizes: the nodes that each begins with, and gets when all want more.
    policy : str or mapping of str to str, default "PAP"
        Preemption policy, for all partitions or for each.
    preemptions : pd.DataFrame, optional
        Requests of the host's users: `time` (s, ascending), `nodes`, `duration` (s).
    grace_period : float, default 120.0
        Seconds.
    staleness : float, default 0.0
        Age of the preemption vectors at a decision, seconds.
    spare : int, default 0
        Nodes that the host itself has at the beginning.
    seed : int, default 0
        Seed of the policy RANDOM.

    Returns
    -------
    ElasticSchedule
        `start_time` is each job's first start, `end_time` its only successful end.

    Raises
    ------
    InvalidWorkloadError
        If a job is wider than its partition, names an unknown one, or has no requested time;
        under PAP+, where a priority is not a number above 0.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlib as cs
    >>> times = {"submit_time": [0, 1, 2], "run_time": [10, 10, 5], "requested_time": [10, 10, 8]}
    >>> workload = cs.Workload(pd.DataFrame(times | {"nodes": [3, 3, 1]}), "three jobs")
    >>> taken = pd.DataFrame({"time": [4.0], "nodes": [2], "duration": [60.0]})
    >>> knobs = {"preemptions": taken, "grace_period": 0.0}
    >>> elastic = cs.simulate_elastic(workload, cs.System.of(4), **knobs)
    >>> elastic.attempts
       job  start_time  end_time  completed
    0    0         0.0       4.0      False
    1    2         2.0       4.0      False
    2    2         4.0       9.0       True
    3    0        64.0      74.0       True
    4    1        74.0      84.0       True
    """
    check_run(workload, system)
    check.seconds("grace_period", grace_period)
    check.seconds("staleness", staleness)
    check.whole("spare", spare, 0)
    check.seed(seed)
    names = _partition_names(system)
    sizes = np.array(list(system.partitions.values()), dtype=np.int64)
    total = int(sizes.sum()) + int(spare)
    check.room(
        "values of nodes",
        float(total) * VALUES_PER_NODE,
        "take smaller partitions",
        where=system.name,
    )
    requests = _requests(preemptions, total)
    partition, numbers = _partitions(workload, system), _policies(policy, names)
    order = np.argsort(partition, kind="stable")
    jobs = _jobs(workload, system, partition, order, priorities(workload, numbers))
    nodes, partitions = _nodes(sizes, int(spare)), _queues(partition, sizes, numbers)
    runs = records(1, RUN, grace_period=grace_period, staleness=staleness)
    scratch = records(total, STEP), records(1, STEP)
    begin = State(jobs, nodes, partitions, order, *scratch, runs[0], records(0, EVENT))
    log = _simulate(begin, requests, seed)
    granted = schedule.preemption_table(requests)
    settings = granted, float(grace_period), float(staleness), int(spare)
    return _schedule(workload, system, log, policy, settings)


def draw_preemptions(
    *, rate: float, size: int, duration: float, horizon: float, seed: int = 0
) -> pd.DataFrame:
    """Random preemptions (a Poisson process), for `simulate_elastic`.

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


def _simulate(begin: State, requests: np.recarray, seed: int) -> np.recarray:
    """The log of a simulation from this beginning; in `requests` is what they are granted.

    If the log is too short for its events, it is made longer, and all is simulated again.
    """
    wanted = begin.jobs.nodes.sum() + requests.nodes.sum()
    room = EVENTS_PER_NODE * int(wanted + begin.jobs.size + begin.nodes.size)
    while True:
        state = begin._replace(
            jobs=begin.jobs.copy(),
            nodes=begin.nodes.copy(),
            partitions=begin.partitions.copy(),
            run=begin.run.copy(),
            log=np.recarray(room, EVENT),
        )
        simulate(state, requests, np.random.default_rng(seed))
        events = int(state.run.events)
        if events <= room:
            return state.log[:events].view(np.recarray)
        room = 2 * events


def _jobs(
    workload: Workload,
    system: System,
    partition: np.ndarray,
    order: np.ndarray,
    priority: np.ndarray,
) -> np.recarray:
    """Jobs before the first submission."""
    arrays = workload.arrays(replace(system, partitions={"all": system.total_nodes}))
    jobs = records(partition.size, JOB, priority=priority, home=partition)
    for name, column in arrays._asdict().items():
        jobs[name] = column
    jobs.place[order] = np.arange(partition.size)
    return jobs


def _nodes(sizes: np.ndarray, spare: int) -> np.recarray:
    """Nodes at the beginning: partitions have the first, in order, the host the last `spare`."""
    owner = np.append(np.repeat(np.arange(sizes.size), sizes), np.full(spare, HOST_OWNER))
    return records(
        owner.size, NODE, owner=owner, job=IDLE, former=IDLE, deadline=np.inf, back=np.inf
    )


def _queues(partition: np.ndarray, sizes: np.ndarray, policies: np.ndarray) -> np.recarray:
    """Partitions before the first submission."""
    head = np.searchsorted(np.sort(partition), np.arange(sizes.size))
    return records(
        sizes.size, PARTITION, nodes=sizes, policy=policies, head=head, last=head, changed=1
    )


def _partition_names(system: System) -> list[str]:
    """The names of the partitions, none of which tables need for another owner."""
    for name in (HOST, USER):
        if name in system.partitions:
            raise ValueError(
                f"system {system.name!r} has a partition called {name!r}, as tables call the owner "
                "of nodes that no partition has; rename it"
            )
    return list(system.partitions)


def _partitions(workload: Workload, system: System) -> np.ndarray:
    """Partition numbers, one per job, once each job is known to fit its partition."""
    names, partition = list(system.partitions), partition_numbers(workload, system)
    if "partition" in workload.jobs:
        check.rows(
            "partition",
            workload.jobs["partition"],
            partition >= 0,
            f"one of {', '.join(names)}",
            row=workload.label,
            error=InvalidWorkloadError,
        )
    sizes = np.array(list(system.partitions.values()), dtype=np.int64)[partition]
    wide = workload.jobs["nodes"].to_numpy() > sizes
    if wide.any():
        job = int(wide.argmax())
        raise InvalidWorkloadError(
            f"{workload.label(job)} asks for {workload.jobs['nodes'][job]} nodes; partition "
            f"{names[partition[job]]!r} has {sizes[job]}; drop it with Workload.keep or widen it"
        )
    return partition


def _policies(policy: str | Mapping[str, str], names: list[str]) -> np.ndarray:
    """Policy numbers, one per partition."""
    expected = f"one of {', '.join(POLICIES)}, or a mapping of one for each of {', '.join(names)}"
    check.that("policy", policy, isinstance(policy, str | Mapping), expected)
    by_name = dict.fromkeys(names, policy) if isinstance(policy, str) else dict(policy)
    if set(by_name) != set(names):
        listed = ", ".join(map(str, by_name)) or "no partition"
        raise ValueError(f"policies for {listed}; expected one for {', '.join(names)}")
    numbers = [policy_number(by_name[name], where=f"partition {name!r}") for name in names]
    return np.array(numbers, dtype=np.int64)


def _requests(preemptions: pd.DataFrame | None, total_nodes: int) -> np.recarray:
    """Preemptions as records."""
    if preemptions is None:
        return records(0, REQUEST)
    check.columns(preemptions, REQUESTS, where="preemptions")
    rows = np.ascontiguousarray(preemptions[list(REQUESTS)], dtype=np.float64)
    rules = (
        ("time", (rows[:, 0] >= 0) & np.isfinite(rows[:, 0]), "seconds, 0 or more"),
        ("time", ~(np.diff(rows[:, 0], prepend=0.0) < 0), "preemptions in order of time"),
        (
            "nodes",
            (rows[:, 1] >= 1) & (rows[:, 1] <= total_nodes) & (rows[:, 1] % 1 == 0),
            f"a whole number from 1 to the {total_nodes} nodes of all partitions and the host",
        ),
        ("duration", (rows[:, 2] > 0) & np.isfinite(rows[:, 2]), "seconds above 0"),
    )
    for column, fine, expected in rules:
        values = rows[:, REQUESTS.index(column)]
        check.rows(column, values, fine, expected, row="preemption {}".format)
    return records(len(rows), REQUEST, time=rows[:, 0], nodes=rows[:, 1], duration=rows[:, 2])


def _schedule(
    workload: Workload,
    system: System,
    log: np.recarray,
    policy: str | Mapping[str, str],
    settings: tuple[pd.DataFrame, float, float, int],
) -> ElasticSchedule:
    """The log as tables; first start and last end per job."""
    attempts, holdings, transfers, reclaims = _tables(log)
    job = attempts["job"].to_numpy()
    first, last = np.full(len(workload), np.inf), np.full(len(workload), -np.inf)
    np.minimum.at(first, job, attempts["start_time"].to_numpy())
    np.maximum.at(last, job, attempts["end_time"].to_numpy())
    names = list(system.partitions)
    named = policy if isinstance(policy, str) else "/".join(policy[name] for name in names)
    return ElasticSchedule(
        workload,
        system,
        f"elastic {named}",
        first,
        last,
        attempts,
        holdings,
        schedule.ownership_table(transfers, names),
        schedule.reclaim_table(reclaims, names),
        *settings,
    )


def _tables(log: np.recarray) -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray, np.ndarray]:
    """Attempts and holdings, and the columns of transfers and reclaims, from a log of events."""
    starts, holds, transfers, reclaims, asks = (
        log[log.kind == kind] for kind in (START, HOLD, TRANSFER, RECLAIM, ASK)
    )
    stops, leaves = _following(log, STOP, starts), _following(log, LEAVE, reclaims)
    attempts = {"job": starts.subject, "start_time": starts.time, "end_time": stops.time}
    # A job holds its nodes as soon as it starts.
    attempt = (np.cumsum(log.kind == START) - 1)[log.kind == HOLD]
    notices = reclaims.subject, reclaims.other, reclaims.time
    return (
        pd.DataFrame(attempts | {"completed": stops.other == DONE}),
        pd.DataFrame({"attempt": attempt, "node": holds.subject}),
        np.stack([transfers.time, transfers.subject, transfers.other]),
        np.stack([*notices, leaves.time, asks.other, leaves.other]),
    )


def _following(log: np.recarray, kind: int, earlier: np.recarray) -> np.recarray:
    """The next event of a kind after each earlier one, of the same job or node."""
    later = log[log.kind == kind]
    following = np.empty_like(later)
    order = np.argsort(earlier.subject, kind="stable")
    following[order] = later[np.argsort(later.subject, kind="stable")]
    return following
