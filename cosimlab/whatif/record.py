"""What a log recorded on one pool of nodes, and why each of its jobs waited.

A *pool* is a partition, or several partitions that share their nodes. Waiting jobs are of five
classes. The *latency* is the time that the site takes to start a job whose nodes have become free;
`rules.CYCLE` says how it is read from the log.

========= ==========================================================================================
at once   it waited no longer than the latency
capacity  its nodes were not free until the latency before its start
follows   its nodes had been free for longer, and a *capacity* job started within the latency before
limited   its nodes had been free for longer, and another job of its user ended within the latency
          before its start: a limit per user, or a dependency
held      its nodes had been free for longer, for no reason that the log shows: a hold, a
          reservation, a limit of another kind
========= ==========================================================================================

A replay keeps of each: the wait of *at once*; the job that *follows* and *limited* follow; and the
time for which the nodes had been free, of *capacity* and *held*. So a job that was held from its
submission on waits as long in every replay, and one that was held for an hour after its nodes had
become free waits for its nodes, and then an hour.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlab.closures import closures
from cosimlab.whatif import rules
from cosimlib.batch.replay import NOBODY, free_before, overtakers
from cosimlib.kernels.steps import step_function
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError, Workload

CLASSES = ("at once", "capacity", "follows", "limited", "held")
AT_ONCE, CAPACITY, FOLLOWS, LIMITED, HELD = range(len(CLASSES))

NO_CLOSURES = np.zeros((0, 3))


class Record(NamedTuple):
    """Jobs of one pool of nodes as they happened.

    Parameters
    ----------
    jobs : np.ndarray
        Rows of the workload, in order of submission; the other arrays have a value per row.
    submit_time, start_time, run_time : np.ndarray
        Seconds.
    nodes : np.ndarray
    user : np.ndarray
        Number of each job's user; negative if unknown.
    total_nodes : int
        Of the pool.
    closed : np.ndarray
        Closures: start and end (s), and nodes that stayed open, because jobs held them.
    """

    jobs: np.ndarray
    submit_time: np.ndarray
    start_time: np.ndarray
    run_time: np.ndarray
    nodes: np.ndarray
    user: np.ndarray
    total_nodes: int
    closed: np.ndarray

    @property
    def wait_time(self) -> np.ndarray:
        """Seconds from submission to start."""
        return self.start_time - self.submit_time

    @property
    def end_time(self) -> np.ndarray:
        """Seconds."""
        return self.start_time + self.run_time

    def closures_of(self, total_nodes: int) -> np.ndarray:
        """Closures as windows in which nodes are closed, on a pool of so many."""
        windows = self.closed.copy()
        windows[:, 2] = np.maximum(total_nodes - windows[:, 2], 0)
        return windows


class Classes(NamedTuple):
    """Why the jobs of a record waited, and what a replay keeps of it.

    Parameters
    ----------
    latency : float
        The site's own start latency, seconds.
    code : np.ndarray
        Class of each job, a place in `CLASSES`.
    order : np.ndarray
        Jobs in order of their starts.
    earliest : np.ndarray
        Moment (s) before which no replay starts a job: its start, of a job that was started at
        once; otherwise its submission.
    lag : np.ndarray
        Seconds for which its nodes had been free before its start, of a *capacity* or *held* job.
    follows : np.ndarray
        The job that each one follows; `NOBODY` if none.
    after_end : np.ndarray
        Whether it follows that job's end, not its start.
    strict : bool
        Whether (nearly) no job overtakes.
    free : np.ndarray
        Seconds of each wait in which the job's nodes were free.
    passed_over : float
        Share of the waiting by jobs that many later ones of their size class overtook.
    """

    latency: float
    code: np.ndarray
    order: np.ndarray
    earliest: np.ndarray
    lag: np.ndarray
    follows: np.ndarray
    after_end: np.ndarray
    strict: bool
    free: np.ndarray
    passed_over: float


def records_of(workload: Workload, system: System) -> Iterator[tuple[str, Record]]:
    """Name and record of each pool that has jobs.

    A partition of the system whose name joins names by a plus sign, ``"cpu+gpu"``, is the union of
    partitions that overlap. A system of one partition is one pool for all jobs.

    Raises
    ------
    InvalidWorkloadError
        If the start of a job is unknown, or a job's partition is none of the system's.
    """
    user = pd.factorize(workload.column("user"))[0]
    pool = pools_of(workload, system)
    start_time = workload.column("recorded_start").to_numpy()
    for number, (name, total_nodes) in enumerate(system.partitions.items()):
        rows = np.flatnonzero(pool == number)
        if not rows.size:
            continue
        jobs = workload.jobs.iloc[rows]
        columns = (jobs[each].to_numpy() for each in ("run_time", "nodes"))
        submit_time = jobs["submit_time"].to_numpy()
        run_time, nodes = columns
        found = closures(workload.keep(pool == number, "of another pool"), System.of(total_nodes))
        closed = _closed(found, start_time[rows], run_time, nodes)
        yield (
            name,
            Record(
                rows,
                submit_time,
                start_time[rows],
                run_time,
                nodes,
                user[rows],
                total_nodes,
                closed,
            ),
        )


def pools_of(workload: Workload, system: System) -> np.ndarray:
    """Number of each job's pool among the partitions of a system.

    Raises
    ------
    InvalidWorkloadError
        If a job's partition is none of the system's.
    """
    names = list(system.partitions)
    if len(names) == 1:
        return np.zeros(len(workload), dtype=np.int64)
    places = {
        part: number for number, name in enumerate(names) for part in [name, *name.split("+")]
    }
    named = workload.column("partition").fillna(names[0])
    pool = named.map(places)
    if pool.isna().any():
        job = int(pool.isna().idxmax())
        raise InvalidWorkloadError(
            f"{workload.label(job)} has partition={named[job]!r}; expected one of "
            f"{', '.join(map(repr, places))}: name it in the system, overlapping partitions as one "
            "with a plus sign, such as System.of(**{'cpu+gpu': 128, 'large': 16})"
        )
    return pool.to_numpy(dtype=np.int64)


def _closed(
    found: pd.DataFrame, start_time: np.ndarray, run_time: np.ndarray, nodes: np.ndarray
) -> np.ndarray:
    """Start, end and open nodes of the idle stretches that were closures."""
    rows = []
    for window in found[found["score"] >= rules.LEAST_SCORE].itertuples():
        runs = (start_time < window.end) & (start_time + run_time > window.start)
        ends = (start_time + run_time)[runs]
        held = step_function(start_time[runs], ends, nodes[runs])[1].max(initial=0)
        rows.append((window.start, window.end, held))
    return np.array(rows, dtype=np.float64) if rows else NO_CLOSURES


def classify(record: Record) -> Classes:
    """Class of each job of a record, and the latency of its site."""
    wait, n = record.wait_time, record.nodes.size
    at_last, free = free_before(
        record.submit_time,
        record.start_time,
        record.end_time,
        record.nodes,
        record.total_nodes,
        record.closures_of(record.total_nodes),
    )
    latency = start_latency(wait, at_last)
    order = np.argsort(record.start_time, kind="stable")
    position = np.empty(n, dtype=np.int64)
    position[order] = np.arange(n)
    follows, after_end = np.full(n, NOBODY), np.zeros(n, dtype=bool)
    code = np.where(wait <= latency, AT_ONCE, np.where(at_last <= latency, CAPACITY, HELD))
    leader = _last_before(order, code == CAPACITY)
    near = (leader >= 0) & (record.start_time - record.start_time[leader] <= latency)
    code[(code == HELD) & near] = FOLLOWS
    follows[code == FOLLOWS] = leader[code == FOLLOWS]
    ended = _ended_before(record, position, latency)
    limited = (code == HELD) & (ended >= 0)
    code[limited], follows[limited], after_end[limited] = LIMITED, ended[limited], True
    waited_for_nodes = (code == CAPACITY) | (code == HELD)
    overtakes = record.start_time < np.maximum.accumulate(record.start_time)
    return Classes(
        latency,
        code,
        order,
        np.where(code == AT_ONCE, record.start_time, record.submit_time),
        np.where(waited_for_nodes, at_last, 0.0),
        follows,
        after_end,
        bool(overtakes.mean() < rules.STRICT),
        free,
        _passed_over(record, position, code),
    )


def start_latency(wait: np.ndarray, at_last: np.ndarray) -> float:
    """Seconds that a site takes to start a job whose nodes have become free.

    Parameters
    ----------
    wait : np.ndarray
        Of each job, seconds.
    at_last : np.ndarray
        Seconds for which each job's nodes were free right before its start.
    """
    known = at_last[(wait > rules.NO_WAIT) & (at_last <= rules.LONGEST_LATENCY)]
    if not known.size:
        return rules.NO_WAIT
    return max(rules.NO_WAIT, rules.CYCLE * float(np.median(known)))


def _last_before(order: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The last chosen job up to each job in an order; −1 if there is none."""
    place = np.maximum.accumulate(np.where(chosen[order], np.arange(order.size), -1))
    found = np.empty_like(order)
    found[order] = np.where(place >= 0, order[place], -1)
    return found


def _ended_before(record: Record, position: np.ndarray, latency: float) -> np.ndarray:
    """The last job of its user that ended within the latency before each start; −1 if none."""
    found = np.full(position.size, -1)
    by_user = np.argsort(record.user, kind="stable")
    edges = np.flatnonzero(np.diff(record.user[by_user])) + 1
    for rows in np.split(by_user, edges):
        if not rows.size or record.user[rows[0]] < 0:
            continue
        ended = rows[np.argsort(record.end_time[rows], kind="stable")]
        start_time = record.start_time[rows]
        place = np.searchsorted(record.end_time[ended], start_time, side="right") - 1
        last = ended[place]
        fine = (place >= 0) & (start_time - record.end_time[last] <= latency)
        found[rows] = np.where(fine & (position[last] < position[rows]), last, -1)
    return found


def _passed_over(record: Record, position: np.ndarray, code: np.ndarray) -> float:
    """Share of the waiting by jobs that many later ones of their size class overtook."""
    wait = record.wait_time
    many = overtakers(position, np.log2(record.nodes)) > rules.MANY_OVERTAKERS
    for_nodes = (code == CAPACITY) | (code == FOLLOWS)
    total = float(wait.sum())
    return float(wait[many & for_nodes].sum()) / total if total > 0 else 0.0


def shares(waits: Mapping[str, tuple[Record, Classes]]) -> pd.DataFrame:
    """Jobs and waited node-hours of each class, as shares, and the part with nodes free."""
    rows = []
    for number, name in enumerate(CLASSES):
        jobs, hours, free = 0, 0.0, 0.0
        for record, classes in waits.values():
            chosen = classes.code == number
            jobs += int(chosen.sum())
            hours += float((record.wait_time * record.nodes)[chosen].sum()) / 3600
            free += float((classes.free * record.nodes)[chosen].sum()) / 3600
        rows.append((name, jobs, hours, free))
    table = pd.DataFrame(rows, columns=["class", "jobs", "node_hours", "free_node_hours"])
    total = table["node_hours"].sum()
    return table.assign(share=table["node_hours"] / total if total > 0 else np.nan)
