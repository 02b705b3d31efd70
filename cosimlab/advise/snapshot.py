"""Eviction problems of a cluster, one per deadline, whose items are groups of jobs.

A burst needs whole nodes. By a deadline it has

1. the nodes that are *free*: usable, in the partition and with the features asked for, no job on
   them;
2. those that become free *by themselves*: each job on them ends by the deadline, at its limit at
   the latest, or is completing already;
3. those of jobs that are stopped. Jobs that outlast the deadline and share such a node go together,
   as do the components of a heterogeneous job; such a *group* is one item of an `EvictionProblem`.

A group is killed as a whole, or checkpointed as a whole: as `app` each job saves itself the way it
can, by its own checkpoint or else at system level; as `sys` all of them at system level. Waits of a
group overlap, its writes add up. A node counts for nothing while a job is on it that cannot be
stopped (protected by the model, in a reservation, or unknown) and outlasts the deadline.

Groups that no least-loss plan needs, left out before a solver runs.

Of groups with checkpoints of equal length, one that frees as many nodes and loses no more can take
the place of another. So a group is of no use where so many others can take its place that they
would free what is needed without it: at least one plan of least loss does without all such groups.
With few nodes needed, few of ten thousand groups are left.
"""

import ast
import re
from bisect import bisect_left, insort
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from cosimlab.advise.checkpoints import CheckpointModel
from cosimlab.advise.cluster import Cluster
from cosimlab.advise.slurm import COMPLETING, RUNNING, SUSPENDED, UNKNOWN
from cosimlib.eviction import EvictionProblem
from cosimlib.traces.account import TraceError
from cosimlib.units import HOUR

FEATURE = re.compile(r"[^\s&|(),]+")
GRACE = 300.0
"""Seconds after its end for which a job that is still there is expected to go at any moment."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A cluster as a burst sees it: which nodes count, which jobs may be stopped, which end when.

    Parameters
    ----------
    cluster : Cluster
    model : CheckpointModel
    partition, constraint : str, optional
        Nodes that count.
    """

    cluster: Cluster
    model: CheckpointModel
    partition: str | None = None
    constraint: str | None = None

    @cached_property
    def judged(self) -> pd.DataFrame:
        """What the model says of each job, and `nodes`, the number that it holds."""
        _, job, _ = self.cluster.places
        held = np.bincount(job, minlength=len(self.cluster.jobs))
        return self.model.applied(self.cluster.jobs, held).assign(nodes=held)

    @cached_property
    def loss(self) -> np.ndarray:
        """Node-hours that a kill of each job loses."""
        return self.cluster.shares * self.judged["lost"].to_numpy() / HOUR

    @cached_property
    def until(self) -> np.ndarray:
        """Seconds until each job is gone by itself; infinite if nobody knows."""
        jobs, now = self.cluster.jobs, self.cluster.now
        left = (jobs["end"] - now).to_numpy()
        going = (left <= 0) & (left >= -GRACE)
        state = jobs["state"]
        until = np.where(going, 1.0, np.where(left > 0, left, np.inf))
        completing = (state == COMPLETING).to_numpy()
        until = np.where(completing, np.where(left < -GRACE, np.inf, 1.0), until)
        return np.where(state.isin([SUSPENDED, UNKNOWN]), np.inf, until)

    @cached_property
    def stoppable(self) -> np.ndarray:
        """Whether each job may be stopped."""
        jobs = self.cluster.jobs
        fine = (jobs["state"].isin([RUNNING, SUSPENDED]) & (jobs["reservation"] == "")).to_numpy()
        fine = fine & self.judged["evict"].to_numpy()
        # A heterogeneous job goes as a whole, or not at all.
        leader = jobs["leader"].to_numpy()
        return fine & ~((leader > 0) & np.isin(leader, leader[~fine]))

    @cached_property
    def asked(self) -> np.ndarray:
        """Whether each node is in the partition and has the features asked for."""
        nodes, index = self.cluster.nodes, self.cluster.places[0]
        fine = np.arange(len(index)) < len(nodes)
        if self.partition:
            known = {name for each in nodes["partitions"] for name in each}
            if self.partition not in known:
                listed = ", ".join(sorted(known)[:12]) or "none"
                raise TraceError(
                    f"{self.cluster.name}: no partition {self.partition!r}; there are: {listed}"
                )
            fine[: len(nodes)] &= [self.partition in each for each in nodes["partitions"]]
        if self.constraint:
            fine[: len(nodes)] &= satisfying(nodes, self.constraint)
        return fine

    @cached_property
    def why(self) -> np.ndarray:
        """Why each node is of no use; empty if it is usable."""
        index, _, node = self.cluster.places
        known = self.cluster.nodes.reindex(index)
        why = known["why"].fillna("unknown to sinfo").to_numpy()
        unseen = (known["busy"] == True) & (np.bincount(node, minlength=len(index)) == 0)  # noqa: E712
        return np.where((why == "") & unseen, "busy with jobs that squeue does not show", why)

    @cached_property
    def counting(self) -> np.ndarray:
        """Whether each node is asked for and usable."""
        return self.asked & (self.why == "")

    @cached_property
    def free(self) -> np.ndarray:
        """Whether each node is free now."""
        _, _, node = self.cluster.places
        return self.counting & (np.bincount(node, minlength=len(self.counting)) == 0)

    @cached_property
    def planned(self) -> int:
        """Free nodes that Slurm plans for waiting jobs."""
        planned = self.cluster.nodes["planned"].to_numpy()
        return int((self.free[: len(planned)] & planned).sum())

    def outlasting(self, deadline: float) -> np.ndarray:
        """Whether each job is still there at the deadline if nobody stops it."""
        return self.until > deadline

    def at(self, deadline: float) -> "Moment":
        """Nodes and groups as they stand at a deadline (seconds from now)."""
        index, job, node = self.cluster.places
        stays = self.outlasting(deadline)[job]
        n = len(index)
        busy = np.bincount(node[stays], minlength=n) > 0
        blocked = np.bincount(node[stays & ~self.stoppable[job]], minlength=n) > 0
        ended = self.counting & ~self.free & ~busy
        wanted = self.counting & busy & ~blocked
        pair = stays & wanted[node] & self.stoppable[job]
        leader = self._leaders()
        group = _components(job[pair], node[pair], leader, len(self.cluster.jobs), n)
        involved = np.zeros(len(self.cluster.jobs), dtype=bool)
        involved[job[pair]] = True
        # Other components of a heterogeneous job go, too, wherever they are.
        tied = np.isin(group, group[involved]) & self.outlasting(deadline) & self.stoppable
        rows = np.flatnonzero(tied)
        names, place = np.unique(group[rows], return_inverse=True)
        taken = np.flatnonzero(wanted)
        owner = np.full(n, -1)
        owner[node[pair]] = np.searchsorted(names, group[job[pair]])
        return Moment(
            self, deadline, np.flatnonzero(ended), rows, place, len(names), taken, owner[taken]
        )

    def _leaders(self) -> np.ndarray:
        """A number per heterogeneous job, from 0, for each of its components; else -1."""
        leader = self.cluster.jobs["leader"].to_numpy()
        _, place = np.unique(leader, return_inverse=True)
        return np.where(leader > 0, place, -1)


@dataclass(frozen=True, eq=False)
class Moment:
    """The groups of jobs that outlast a deadline.

    Parameters
    ----------
    snapshot : Snapshot
    deadline : float
        Seconds from now.
    gone : np.ndarray
        Nodes that are free by then by themselves.
    jobs : np.ndarray
        Rows of the jobs that may be stopped.
    group : np.ndarray
        The group of each of them, from 0.
    groups : int
    nodes, owner : np.ndarray
        Nodes that stopping can free, and the group that holds each.
    """

    snapshot: Snapshot
    deadline: float
    gone: np.ndarray
    jobs: np.ndarray
    group: np.ndarray
    groups: int
    nodes: np.ndarray
    owner: np.ndarray

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per group, with the columns of an eviction problem (node-hours, seconds)."""
        rows, n = self.snapshot.judged.iloc[self.jobs], self.groups
        app_write, sys_write = (rows[name].to_numpy() for name in ("app_write", "sys_write"))
        by_app = np.isfinite(app_write)
        wait = np.zeros(n)
        np.maximum.at(wait, self.group, np.where(by_app, rows["app_wait"].to_numpy(), 0.0))
        own = np.bincount(self.group, np.where(by_app, app_write, sys_write), minlength=n)
        any_app = np.bincount(self.group, by_app, minlength=n) > 0
        own = np.where(any_app, own, np.inf)
        wait = np.where(np.isfinite(own), wait, 0.0)
        return pd.DataFrame(
            {
                "nodes": np.bincount(self.owner, minlength=n),
                "loss": np.bincount(self.group, self.snapshot.loss[self.jobs], minlength=n),
                "app_time": wait + own,
                "sys_time": np.bincount(self.group, sys_write, minlength=n),
                "app_wait": wait,
            }
        )

    @property
    def ended(self) -> int:
        """Number of nodes that are free by the deadline by themselves."""
        return len(self.gone)

    @property
    def reachable(self) -> int:
        """Nodes that can be free by the deadline if every group is stopped."""
        return int(self.snapshot.free.sum()) + self.ended + len(self.nodes)

    def needed(self, nodes_needed: int) -> int:
        """Nodes that stopping has to free."""
        return max(0, nodes_needed - int(self.snapshot.free.sum()) - self.ended)

    def problem(self, horizon: float, step: float) -> EvictionProblem:
        """The eviction problem over the groups, for no node as yet."""
        return EvictionProblem(self.table, 0, horizon, step)


def satisfying(nodes: pd.DataFrame, constraint: str) -> np.ndarray:
    """Whether each node has the features of a constraint: ``a&b``, ``a|b``, ``(a|b)&c``; ``a,b``.

    Raises
    ------
    ValueError
        Naming the constraint and what was expected.
    """
    names: dict[str, str] = {}
    # Names of features need not be Python's: each stands as f0, f1 and so on.
    text = FEATURE.sub(lambda found: names.setdefault(found[0], f"f{len(names)}"), constraint)
    has = {
        short: np.array([name in features for features in nodes["features"]], dtype=bool)
        for name, short in names.items()
    }
    try:
        return _satisfying(ast.parse(text.strip().replace(",", "&"), mode="eval").body, has)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(
            f"constraint={constraint!r}; expected features joined by & and |, such as 'a&(b|c)'"
        ) from error


def _satisfying(part: ast.expr, has: dict[str, np.ndarray]) -> np.ndarray:
    """Whether each node satisfies a part of a constraint; raise for what is none."""
    if isinstance(part, ast.Name):
        return has[part.id]
    if not isinstance(part, ast.BinOp) or not isinstance(part.op, ast.BitAnd | ast.BitOr):
        raise SyntaxError("neither a feature nor & or |")
    combine = np.logical_and if isinstance(part.op, ast.BitAnd) else np.logical_or
    return combine(_satisfying(part.left, has), _satisfying(part.right, has))


def _components(
    job: np.ndarray, node: np.ndarray, leader: np.ndarray, jobs: int, nodes: int
) -> np.ndarray:
    """A label per job: equal for jobs joined by pairs of job and node, or by their leader."""
    led = np.flatnonzero(leader >= 0)
    one = np.concatenate([job, led])
    other = np.concatenate([jobs + node, jobs + nodes + leader[led]])
    size = jobs + nodes + int(leader.max(initial=-1)) + 1
    joined = coo_array((np.ones(one.size, dtype=np.int8), (one, other)), shape=(size, size))
    return connected_components(joined, directed=False)[1][:jobs]


def useful_groups(problem: EvictionProblem, nodes_needed: int) -> np.ndarray:
    """Rows of the groups that a plan of least loss may need for `nodes_needed` nodes."""
    if nodes_needed == 0:
        return np.zeros(0, dtype=np.int64)
    release, app_write, sys_write, _ = problem.writes
    beyond = len(problem.deadlines)
    reached = release + app_write < beyond
    kind = np.stack(
        [
            np.where(reached, release, -1),
            np.where(reached, app_write, -1),
            np.minimum(sys_write, beyond),
        ]
    )
    nodes = np.minimum(problem.arrays.nodes, nodes_needed)
    loss = problem.arrays.loss
    order = np.lexsort((-nodes, loss, *kind))
    change = np.any(np.diff(kind[:, order], axis=1) != 0, axis=0)
    starts = np.concatenate([[True], change]) if order.size else np.zeros(0, dtype=bool)
    kept: list[int] = []
    cheaper: list[int] = []
    listed = zip(order.tolist(), nodes[order].tolist(), starts.tolist(), strict=True)
    for row, size, begins in listed:
        if begins:
            cheaper = []
        place = bisect_left(cheaper, size)
        if len(cheaper) - place < -(-nodes_needed // size):
            kept.append(row)
            insort(cheaper, size)
    return np.sort(np.array(kept, dtype=np.int64))
