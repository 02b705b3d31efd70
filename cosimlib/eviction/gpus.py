"""Eviction for GPUs on few nodes: K GPUs by each deadline, on as few nodes as can give so many.

A job that needs eight GPUs of one node gains nothing from eight GPUs freed on eight nodes. In a
`GpuEvictionProblem` the unit of `nodes` and `nodes_needed` is a whole GPU, `held` says which job
holds how many on which node, and `idle` how many nobody holds. For each deadline a plan, in this
order,

1. has at least `nodes_needed` GPUs, idle or freed, on the fewest nodes whose GPUs suffice,
2. loses the fewest node-hours (of GPUs: GPU-hours),
3. spends the least checkpoint time; checkpoints of all nodes are written one after another.

*One node.* Algorithm 1 (see `dynamic`) fills a table per node, of that node's jobs and GPUs alone:
the least loss of freeing exactly n GPUs there with checkpoints of exactly t steps. The best of all
nodes is the optimum, also where jobs run on several nodes.

*Several nodes.* ``best[c, g, t]`` is the least loss of g GPUs on c chosen nodes in t steps; each
node in turn is left out or chosen with one cell of its table. That is the optimum where each job
runs on one node. A job that runs on two of the chosen nodes is counted on both, so that its plan is
feasible, but perhaps not the best: `proven` is False. `bound` is then the optimum of an easier
problem, in which each node has a part of the job's loss and times, as large as its part of the
job's GPUs, and may evict that part alone.
"""

import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.display import count
from cosimlib.eviction.dynamic import (
    check_memory,
    packed_width,
    relax_all,
    unpack,
)
from cosimlib.eviction.plan import EvictionPlan
from cosimlib.eviction.problem import (
    APP,
    KEEP,
    MILLISECONDS_PER_HOUR,
    SYS,
    EvictionArrays,
    EvictionProblem,
)
from cosimlib.kernels.jit import kernel

HELD = ("job", "node", "gpus")


@dataclass(frozen=True, eq=False, repr=False)
class GpuEvictionProblem(EvictionProblem):
    """Running jobs, the GPUs that each holds per node, and the number of GPUs needed.

    Parameters
    ----------
    jobs : pd.DataFrame
        As of an `EvictionProblem`; `nodes`, the GPUs of the job, may be missing.
    nodes_needed : int
        GPUs needed on as few nodes as possible.
    held : pd.DataFrame
        `job`, `node`, `gpus` (whole ones); several rows of a job and node are added up.
    idle : pd.Series, optional
        GPUs that nobody holds, indexed by node; none if a node is missing. Only `solve_gpus`
        counts them.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlib as cs
    >>> jobs = pd.DataFrame({"loss": [1.0, 1.0, 9.0], "app_time": 600.0, "sys_time": 120.0})
    >>> held = pd.DataFrame({"job": [0, 1, 2], "node": ["a", "b", "b"], "gpus": [4, 2, 2]})
    >>> problem = cs.eviction.GpuEvictionProblem(jobs, 4, 300, held=held)
    >>> plan = cs.eviction.solve_gpus(problem)
    >>> plan.nodes(deadline=0), float(plan.loss[0])
    (['a'], 1.0)
    """

    held: pd.DataFrame = field(kw_only=True)
    idle: pd.Series | None = field(kw_only=True, default=None)
    names: pd.Index = field(init=False, repr=False)
    """All nodes, those of `idle` first."""

    def __post_init__(self) -> None:
        check.columns(self.held, HELD)
        idle = pd.Series(dtype="int64") if self.idle is None else self.idle
        extra = pd.Index(self.held["job"]).difference(self.jobs.index)
        if len(extra):
            raise ValueError(f"held names job {extra[0]}; expected one of the jobs' index")
        _check_whole("gpus", self.held["gpus"], 1)
        _check_whole("idle", idle, 0)
        _check_names(self.held["node"], idle.index)
        whole = self.held.assign(gpus=pd.to_numeric(self.held["gpus"]).astype("int64"))
        held = whole.groupby(["job", "node"], as_index=False, sort=False)["gpus"].sum()
        gpus = held.groupby("job")["gpus"].sum().reindex(self.jobs.index)
        names = idle.index.append(pd.Index(held["node"])).unique()
        object.__setattr__(self, "jobs", self.jobs.assign(nodes=gpus.fillna(0)))
        object.__setattr__(self, "held", held)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "idle", idle.reindex(names, fill_value=0).astype("int64"))
        super().__post_init__()

    @property
    def total_nodes(self) -> int:
        """GPUs of all nodes, held or idle."""
        return int(self.arrays.nodes.sum()) + (0 if self.idle is None else int(self.idle.sum()))

    @classmethod
    def from_schedule(
        cls,
        schedule: Any,
        *,
        at: float,
        nodes_needed: int,
        horizon: float = 900.0,
        step: float = 60.0,
        **options: Any,
    ) -> Self:
        """The problem of the jobs that hold GPUs at the moment `at` of a `cosimlib.nodes` schedule.

        A loss is in GPU-hours. The options are those of `EvictionProblem.from_schedule`, `system`
        with memory and bandwidths among them.

        Raises
        ------
        ValueError
            If jobs share a GPU: its parts cannot be freed one by one.
        """
        others = EvictionProblem.from_schedule(schedule, at=at, nodes_needed=0, **options)
        places = schedule.places
        here = places[(places["start"] <= at) & (at < places["end"])]
        if here.explode("gpus").dropna(subset=["gpus"]).duplicated(["node", "gpus"]).any():
            raise ValueError(f"{schedule.name}: jobs share a GPU at={at:g}; expected whole GPUs")
        held = here.assign(gpus=here["gpus"].map(len)).query("gpus > 0")[list(HELD)]
        gpus = held.groupby("job")["gpus"].sum()
        jobs = others.jobs.loc[gpus.index]
        jobs = jobs.assign(loss=jobs["loss"] * gpus / jobs["nodes"])
        idle = schedule.system.nodes["gpus"].sub(held.groupby("node")["gpus"].sum(), fill_value=0)
        return cls(jobs, nodes_needed, horizon, step, held=held, idle=idle.astype("int64"))

    def _heading(self) -> str:
        on = count(len(self.names), "node")
        return f"{self.nodes_needed:,} GPUs on few of {on} with {count(len(self), 'job')}"


@dataclass(frozen=True, eq=False, repr=False)
class GpuEvictionPlan(EvictionPlan):
    """An eviction plan that says which nodes have the GPUs.

    Parameters
    ----------
    names : pd.Index
        All nodes.
    chosen : np.ndarray
        Which of them have the GPUs needed: one row per deadline, one bool per node.
    bound : np.ndarray
        GPU-hours that every plan on so few nodes loses at least, one value per deadline.
    """

    names: pd.Index
    chosen: np.ndarray
    bound: np.ndarray

    @property
    def _usable(self) -> np.ndarray:
        """GPUs of the chosen nodes that are idle or freed, one value per deadline."""
        problem: Any = self.problem
        held = problem.held
        job = problem.jobs.index.get_indexer(held["job"])
        node = self.names.get_indexer(held["node"])
        freed = (self.choices[:, job] != KEEP) & self.chosen[:, node]
        return freed @ held["gpus"].to_numpy() + self.chosen @ problem.idle.to_numpy()

    def nodes(self, deadline: float) -> list:
        """Nodes that have the GPUs needed by `deadline` (seconds)."""
        return self.names[self.chosen[self.row(deadline)]].tolist()


class _Table(NamedTuple):
    """A node's jobs, least losses (steps × GPUs freed), and packed choices."""

    jobs: np.ndarray
    arrays: EvictionArrays
    loss: np.ndarray
    choices: np.ndarray


def solve_gpus(problem: GpuEvictionProblem) -> GpuEvictionPlan:
    """The plan of each deadline that has enough GPUs on as few nodes as possible, at least loss.

    Raises
    ------
    MemoryError
        If the stored choices take more than 1 GiB.
    """
    expected = "a GpuEvictionProblem with the GPUs that jobs hold per node"
    check.instance("problem", problem, GpuEvictionProblem, expected=expected)
    begin = time.perf_counter()
    idle = np.asarray(problem.idle, dtype=np.int64)
    tables = _tables(problem)
    size = [table.loss.shape[1] - 1 for table in tables]
    few = _fewest(idle + size, problem.nodes_needed)
    best, sources = _combine_all(problem, tables, idle, few)
    choices = np.zeros((len(problem.deadlines), len(problem)), dtype=np.uint8)
    chosen = np.zeros((len(problem.deadlines), len(tables)), dtype=bool)
    least = best[few, -1]
    for deadline in range(len(least)):
        cell = few, problem.nodes_needed, int(np.argmin(least[: deadline + 1]))
        _read(cell, sources, tables, choices[deadline], chosen[deadline])
    exact = few <= 1 or not problem.held["job"].duplicated().any()
    if not exact:
        parts = _tables(problem, split=True)
        least = _combine_all(problem, parts, idle, few)[0][few, -1]
    bound = np.minimum.accumulate(least) / MILLISECONDS_PER_HOUR
    proven = np.full(len(least), exact)
    response = np.full(len(least), time.perf_counter() - begin)
    return GpuEvictionPlan(problem, "gpus", choices, proven, response, problem.names, chosen, bound)


def _check_whole(name: str, values: pd.Series, least: int) -> None:
    """Raise an error for the first value that is no whole number of GPUs."""
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64)
    fine = (numbers >= least) & (numbers % 1 == 0)
    check.rows(name, values, fine, f"a whole number from {least}", row=lambda row: f"row {row}")


def _check_names(held: pd.Series, idle: pd.Index) -> None:
    """Raise an error for a node without a name, or one that `idle` has twice."""
    if held.isna().any() or idle.isna().any():
        raise ValueError("a node of held or idle has no name; expected one for each")
    if not idle.is_unique:
        twice = idle[idle.duplicated()][0]
        raise ValueError(f"node {twice} stands twice in the index of idle; expected it once")


def _fewest(gpus: np.ndarray, needed: int) -> int:
    """Number of nodes that suffice, those with the most GPUs first."""
    return int(np.searchsorted(np.append(0, np.cumsum(np.sort(gpus)[::-1])), needed))


def _tables(problem: GpuEvictionProblem, *, split: bool = False) -> list[_Table]:
    """Algorithm 1 on each node's own jobs, as if it were a machine of GPUs.

    `split` divides a job's loss and times over its nodes.
    """
    rows = len(problem.deadlines)
    position = problem.jobs.index.get_indexer(problem.held["job"])
    gpus = problem.held["gpus"].to_numpy(dtype=np.int64)
    node = problem.names.get_indexer(problem.held["node"])
    whole = EvictionArrays(*(values[position] for values in problem.arrays))
    held = _parts(whole, gpus, rows) if split else whole._replace(nodes=gpus)
    tables = []
    for number in range(len(problem.names)):
        here = np.flatnonzero(node == number)
        arrays = EvictionArrays(*(values[here] for values in held))
        width = int(arrays.nodes.sum()) + 1
        loss = np.full((rows, width), np.inf)
        loss[0, 0] = 0.0
        choices = np.zeros((len(here), rows, packed_width(width)), dtype=np.uint8)
        relax_all(arrays, 0, width, loss, choices)
        tables.append(_Table(position[here], arrays, loss, choices))
    return tables


def _parts(whole: EvictionArrays, gpus: np.ndarray, rows: int) -> EvictionArrays:
    """The part of each job on one node, rounded down; what no deadline allows remains so."""
    total, loss = whole.nodes, whole.loss.astype(np.int64)
    # Apart, because loss × GPUs may be too large a number.
    part = loss // total * gpus + loss % total * gpus // total
    times = (
        np.where(steps < rows, steps * gpus // total, steps)
        for steps in (whole.app_steps, whole.sys_steps)
    )
    return EvictionArrays(gpus, part.astype(np.float64), *times)


def _combine_all(
    problem: GpuEvictionProblem, tables: list[_Table], idle: np.ndarray, few: int
) -> tuple[np.ndarray, np.ndarray]:
    """Least losses (nodes chosen × GPUs × steps), and per node the cells that they come from."""
    shape = few + 1, problem.nodes_needed + 1, len(problem.deadlines)
    needed = 8 * len(tables) * int(np.prod(shape))
    check_memory(f"{len(tables)} nodes × {few} × {shape[1]} GPUs × {shape[2]} deadlines", needed)
    best = np.full(shape, np.inf)
    best[0, 0, 0] = 0.0
    sources = np.full((len(tables), *shape), -1, dtype=np.int64)
    for number, table in enumerate(tables):
        _combine(best, table.loss, idle[number], sources[number])
    return best, sources


@kernel
def _combine(best: np.ndarray, loss: np.ndarray, idle: int, sources: np.ndarray) -> None:
    """Choose one node more with a cell of its table, or leave it out.

    A source is the number of a cell of `best` and of the node's table, both in one.
    """
    few, most, rows = best.shape[0] - 1, best.shape[1] - 1, best.shape[2]
    for chosen in range(few - 1, -1, -1):
        for gpus in range(most + 1):
            for t in range(rows):
                if best[chosen, gpus, t] == np.inf:
                    continue
                for steps in range(rows - t):
                    for freed in range(loss.shape[1]):
                        to = min(most, gpus + freed + idle)
                        total = best[chosen, gpus, t] + loss[steps, freed]
                        if total < best[chosen + 1, to, t + steps]:
                            best[chosen + 1, to, t + steps] = total
                            source = (gpus * rows + t) * loss.size + steps * loss.shape[1] + freed
                            sources[chosen + 1, to, t + steps] = source


def _read(
    cell: tuple[int, int, int],
    sources: np.ndarray,
    tables: list[_Table],
    choice: np.ndarray,
    chosen: np.ndarray,
) -> None:
    """Write one deadline's choices and chosen nodes, traced back from its best cell."""
    count_left, gpus, t = cell
    for number in range(len(tables) - 1, -1, -1):
        source = int(sources[number, count_left, gpus, t])
        if source < 0 or count_left == 0:
            continue
        table = tables[number]
        before, inside = divmod(source, table.loss.size)
        steps, freed = divmod(inside, table.loss.shape[1])
        chosen[number] = True
        count_left, (gpus, t) = count_left - 1, divmod(before, sources.shape[3])
        durations = {APP: table.arrays.app_steps, SYS: table.arrays.sys_steps}
        for job in range(len(table.jobs) - 1, -1, -1):
            action = unpack(table.choices[job, steps], freed)
            choice[table.jobs[job]] = max(choice[table.jobs[job]], action)
            freed -= table.arrays.nodes[job] if action != KEEP else 0
            steps -= durations[action][job] if action in durations else 0
