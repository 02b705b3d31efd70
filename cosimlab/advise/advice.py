"""Advice for a live cluster: which jobs to stop to free K nodes by a deadline, at the least loss.

`advise` makes one eviction problem per deadline (see `cosimlab.advise.snapshot`) and solves it with
the solvers of `cosimlib.eviction`: waits for checkpoints overlap, and writes come one after another
(`solve_overlapping`). Deadlines with the same jobs share one solution. If its table would be too
large, the greedy plan is used instead. It may lose more than the least, and the advice says so.

The *spectrum* of an advice is the least loss for any number of nodes and every deadline.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from cosimlab.advise.checkpoints import CheckpointModel, read_model
from cosimlab.advise.cluster import Cluster, read_cluster
from cosimlab.advise.snapshot import Moment, Snapshot, useful_groups
from cosimlib import checks as check
from cosimlib.display import Displayed, Facts, count, duration, quantity
from cosimlib.eviction import (
    EvictionProblem,
    TimedPlan,
    least_loss,
    solve_greedy,
    solve_overlapping,
)
from cosimlib.eviction.problem import ACTIONS, KEEP, KILL
from cosimlib.units import DAY, HOUR, MINUTE

MEMORY = 2**28
"""Bytes of choices that the solutions of all deadlines may take together."""
MOST_ROWS = 20
"""Deadlines of an advice at most, but for one that is asked for."""
SPACINGS = [
    unit * number
    for unit, numbers in (
        (1, (1, 2, 5, 10, 15, 30)),
        (MINUTE, (1, 2, 5, 10, 15, 30)),
        (HOUR, (1, 2, 3, 6, 12)),
        (DAY, (1, 2, 5, 10, 30, 100)),
    )
    for number in numbers
]
"""Seconds between deadlines, if they are not every step."""
HIGHEST = 160
"""Numbers of nodes, at most, that the spectrum has a row for."""
CELLS = 4_000_000_000
"""Cells of tables, at most, that are improved for a spectrum; a billion takes about two seconds."""

NO_STOPS = pd.DataFrame(
    {"stop": 0.0, "begin": 0.0, "end": 0.0, "action": 0}, index=np.zeros(0, dtype=np.int64)
)


@dataclass(frozen=True, eq=False)
class Choice:
    """Plan for one deadline: the groups of jobs to stop so that the nodes are free.

    Parameters
    ----------
    moment : Moment
        The groups at the deadline.
    possible : bool
        Whether the nodes can be free by then.
    stops : pd.DataFrame
        One row per group to stop, which is the index: `action`, a number of
        `cosimlib.eviction.problem.ACTIONS`; `stop`, `begin`, `end`, seconds from now at which it
        stops, and its checkpoint's write begins and ends.
    proven : bool
        Whether no plan loses less.
    """

    moment: Moment
    possible: bool
    stops: pd.DataFrame
    proven: bool

    @cached_property
    def loss(self) -> float:
        """Node-hours lost."""
        killed = self.stops.index[self.stops["action"] == KILL]
        return float(self.moment.table["loss"].loc[killed].sum())

    @cached_property
    def freed(self) -> int:
        """Nodes freed by stopping jobs."""
        return int(self.moment.table["nodes"].loc[self.stops.index].sum())

    @cached_property
    def ready(self) -> float:
        """Seconds from now until the last checkpoint is written."""
        return float(self.stops["end"].to_numpy().max(initial=0.0))

    def jobs(self) -> pd.DataFrame:
        """One row per job to stop: `job` (its row in the cluster), `group`, `action` and times."""
        moment = self.moment
        taken = np.isin(moment.group, self.stops.index)
        job, group = moment.jobs[taken], moment.group[taken]
        stops = self.stops.loc[group].reset_index(drop=True)
        itself = np.isfinite(moment.snapshot.judged["app_write"].to_numpy()[job])
        action = np.array(ACTIONS, dtype=object)[stops["action"]]
        action = np.where((action == "app") & ~itself, "sys", action)
        loss = np.where(action == "kill", moment.snapshot.loss[job], 0.0)
        size = moment.table["nodes"].to_numpy()[group]
        table = stops.assign(job=job, group=group, action=action, loss=loss, freed=size)
        columns = ["job", "group", "action", "loss", "stop", "begin", "end", "freed"]
        return table[columns].sort_values(
            ["end", "stop", "group", "job"], kind="stable", ignore_index=True
        )


@dataclass(frozen=True, eq=False, repr=False)
class Advice(Displayed):
    """Advice: the least-loss plan of every deadline, for a number of nodes of a live cluster.

    Parameters
    ----------
    snapshot : Snapshot
        The cluster from the view of a burst.
    nodes_needed : int
    horizon, step : float
        Latest deadline, and time between deadlines, seconds.
    choices : tuple of Choice
        One per deadline, from now to the horizon.
    """

    snapshot: Snapshot
    nodes_needed: int
    horizon: float
    step: float
    choices: tuple[Choice, ...]

    @property
    def cluster(self) -> Cluster:
        """The cluster as Slurm told it."""
        return self.snapshot.cluster

    @property
    def deadlines(self) -> np.ndarray:
        """Seconds from now, one per plan."""
        return np.array([choice.moment.deadline for choice in self.choices])

    @property
    def possible(self) -> bool:
        """Whether the nodes can be had by some deadline."""
        return any(choice.possible for choice in self.choices)

    @cached_property
    def free(self) -> int:
        """Nodes free now."""
        return int(self.snapshot.free.sum())

    def choice(self, deadline: float | None = None) -> Choice:
        """The plan of the last deadline, or of the last one up to `deadline` (seconds)."""
        if deadline is None:
            return self.choices[-1]
        check.seconds("deadline", deadline, most=self.horizon)
        row = np.searchsorted(self.deadlines, deadline + 1e-9 * self.step, side="right") - 1
        return self.choices[int(row)]

    def table(self) -> pd.DataFrame:
        """One row per deadline.

        Returns
        -------
        pd.DataFrame
            `deadline` (s); nodes `free` now, nodes of jobs that `end` in time, nodes `freed` by
            stopping jobs, most `reachable` nodes; `loss` (node-hours; NaN if impossible); jobs to
            `kill`, with `app` and `sys` checkpoints; `ready` (s), when the last is written;
            `proven`.
        """
        rows = []
        for each in self.choices:
            action = each.jobs()["action"].value_counts() if each.possible else {}
            rows.append(
                {
                    "deadline": each.moment.deadline,
                    "free": self.free,
                    "end": each.moment.ended,
                    "freed": each.freed,
                    "reachable": each.moment.reachable,
                    "loss": each.loss if each.possible else np.nan,
                    **{name: int(action.get(name, 0)) for name in ACTIONS[KEEP + 1 :]},
                    "ready": each.ready if each.possible else np.nan,
                    "proven": each.proven,
                }
            )
        return pd.DataFrame(rows)

    def jobs(self, deadline: float | None = None) -> pd.DataFrame:
        """The jobs to stop by a deadline (seconds; by default the last), in the order of doing it.

        Returns
        -------
        pd.DataFrame
            `job_id`, `label` (as Slurm shows it), `user`, `name`, `partition`, `application`,
            `nodes` that it holds, `hosts`, `action`, `group` (jobs with the same one share nodes),
            `freed` (nodes, by the group), `loss` (node-hours), `stop`, `begin`, `end` (seconds).
        """
        taken = self.choice(deadline).jobs()
        jobs, judged = self.cluster.jobs.iloc[taken["job"]], self.snapshot.judged
        shown = jobs[["job_id", "label", "user", "name", "partition", "hosts"]]
        more = judged.iloc[taken["job"]][["application", "nodes"]]
        parts = [part.reset_index(drop=True) for part in (shown, more, taken.drop(columns="job"))]
        table = pd.concat(parts, axis=1)
        group = pd.factorize(table["group"])[0] + 1
        return table.assign(group=group)

    def _heading(self) -> str:
        return f"{count(self.nodes_needed, 'node')} of {self.cluster.name}"

    def _facts(self) -> Facts:
        return {
            "at once": lambda: self._entry(self.choices[0]),
            f"within {duration(self.horizon)}": lambda: self._entry(self.choices[-1]),
        }

    def _entry(self, choice: Choice) -> str:
        """One plan in a few words."""
        if not choice.possible:
            return f"impossible: {count(choice.moment.reachable, 'node')} at most"
        lost = quantity(choice.loss, "node-hours lost", digits=2)
        return f"{count(len(choice.jobs()), 'job')} stopped, {lost}"


def advise(
    nodes_needed: int,
    cluster: Cluster | str | Path | Sequence[str | Path] | None = None,
    *,
    within: float = 15 * MINUTE,
    step: float = MINUTE,
    by: float | None = None,
    model: CheckpointModel | str | Path | None = None,
    partition: str | None = None,
    constraint: str | None = None,
    now: float | None = None,
) -> Advice:
    """Advice on which jobs to stop so that `nodes_needed` whole nodes are free, by each deadline.

    The function only reads: it stops no job.

    Parameters
    ----------
    nodes_needed : int
    cluster : Cluster, path or sequence of paths, optional
        Saved output of ``squeue --json`` and ``sinfo --json``; by default both are run here.
    within : float, default 900.0
        The last deadline, seconds from now.
    step : float, default 60.0
        Durations are rounded up to it (s). Deadlines are its multiples: all of them, or at most 20,
        evenly.
    by : float, optional
        A deadline that is among them in any case.
    model : CheckpointModel or path, optional
        Checkpoint model, or its TOML file (see `read_model`); without one, jobs can only be killed.
    partition, constraint : str, optional
        Only nodes of this partition, with these features, such as ``"gpu&(a100|h100)"``.
    now : float, optional
        Time of the saved output, seconds since 1970 (see `read_cluster`).

    Returns
    -------
    Advice

    Raises
    ------
    ValueError
        If an argument is out of range, or the output of Slurm or the model's file is wrong.

    Examples
    --------
    >>> import cosimlab as lab
    >>> advice = lab.advise(16, ["squeue.json", "sinfo.json"], within=600)
    >>> advice.table().head(2)[["deadline", "free", "freed", "reachable", "kill", "proven"]]
       deadline  free  freed  reachable  kill  proven
    0       0.0     3     13         47     8    True
    1      60.0     3     13         47     8    True
    """
    check.whole("nodes_needed", nodes_needed, 1)
    check.seconds("within", within)
    if not isinstance(cluster, Cluster):
        sources = [cluster] if isinstance(cluster, str | Path) else list(cluster or ())
        cluster = read_cluster(*sources, now=now)
    elif now is not None:
        cluster = replace(cluster, now=now)
    if not isinstance(model, CheckpointModel):
        model = CheckpointModel() if model is None else read_model(model)
    snapshot = Snapshot(cluster, model, partition, constraint)
    check.seconds("by", by, most=within, none="for no other deadline")
    choices = _choices(snapshot, nodes_needed, within, step, by)
    return Advice(snapshot, nodes_needed, within, step, tuple(choices))


def runs_of_deadlines(snapshot: Snapshot, deadlines: np.ndarray) -> Iterator[np.ndarray]:
    """Deadlines in runs at which the same jobs are there."""
    seen = [snapshot.outlasting(deadline).tobytes() for deadline in deadlines.tolist()]
    changes = [n for n in range(1, len(seen)) if seen[n] != seen[n - 1]]
    yield from np.split(deadlines, changes)


def deadlines_of(within: float, step: float, by: float | None = None) -> np.ndarray:
    """Deadlines of an advice (s): every step, or at most `MOST_ROWS` of them; and `by`."""
    every = EvictionProblem.empty(horizon=within, step=step).deadlines
    if every.size <= MOST_ROWS:
        return every
    steps = math.ceil((every.size - 1) / (MOST_ROWS - 2))
    fitting = [round(s / step) for s in SPACINGS if s >= steps * step and (s / step).is_integer()]
    chosen = {*range(0, every.size, fitting[0] if fitting else steps), every.size - 1}
    if by is not None:
        chosen.add(int(np.searchsorted(every, by + 1e-9 * step, side="right")) - 1)
    return every[sorted(chosen)]


def _choices(
    snapshot: Snapshot, needed: int, within: float, step: float, by: float | None
) -> list[Choice]:
    """The plan of each deadline."""
    deadlines = deadlines_of(within, step, by)
    runs = list(runs_of_deadlines(snapshot, deadlines))
    choices = []
    for run in runs:
        moments = [snapshot.at(float(run[-1]))]
        moments = [*(replace(moments[0], deadline=each) for each in run[:-1].tolist()), moments[0]]
        choices += _solved(moments, needed, step, MEMORY // len(runs))
    return choices


def _solved(moments: list[Moment], needed: int, step: float, memory: int) -> list[Choice]:
    """The plans of moments that differ by their deadline only."""
    last = moments[-1]
    wanted = last.needed(needed)
    if last.reachable < needed or wanted == 0:
        possible = last.reachable >= needed
        return [Choice(each, possible, NO_STOPS, proven=True) for each in moments]
    plan, rows = plan_for(last.problem(last.deadline, step), wanted, memory)
    choices = []
    for each in moments:
        row = plan.row(each.deadline)
        chosen = plan.choices[row] != KEEP
        times = plan.writes(each.deadline).sort_index()[["stop", "begin", "end"]].fillna(0.0)
        stops = times.assign(action=plan.choices[row][chosen]).set_axis(rows[chosen])
        choices.append(Choice(each, True, stops, bool(plan.proven[row])))
    return choices


def plan_for(
    problem: EvictionProblem, nodes_needed: int, memory: int = MEMORY
) -> tuple[TimedPlan, np.ndarray]:
    """The best plan that fits in memory, of useful groups only, and their rows."""
    rows = useful_groups(problem, nodes_needed)
    jobs = problem.jobs.iloc[rows].reset_index(drop=True)
    # Freeing more than is needed is of no use, and makes tables wide.
    jobs = jobs.assign(nodes=np.minimum(jobs["nodes"], nodes_needed))
    smaller = EvictionProblem(jobs, nodes_needed, problem.horizon, problem.step)
    try:
        return solve_overlapping(smaller, memory_limit=memory), rows
    except MemoryError:
        return TimedPlan.of(solve_greedy(smaller)), rows


def spectrum_of(advice: Advice) -> pd.DataFrame:
    """Least loss (node-hours) for any number of nodes and every deadline.

    Returns
    -------
    pd.DataFrame
        Rows: numbers of nodes, about `HIGHEST` at most, from 0 to all that can be had; columns:
        deadlines (seconds); NaN if impossible.

    Raises
    ------
    ValueError
        If the cluster is too large; use a longer step, a shorter horizon or one partition.
    """
    snapshot, step = advice.snapshot, advice.step
    runs = list(runs_of_deadlines(snapshot, advice.deadlines))
    moments = [snapshot.at(float(run[-1])) for run in runs]
    _check_size(moments, step)
    most = max(moment.reachable for moment in moments)
    nodes = np.unique(np.linspace(0, most, min(most, HIGHEST) + 1).round().astype(np.int64))
    columns = []
    for run, moment in zip(runs, moments, strict=True):
        losses = least_loss(moment.problem(moment.deadline, step), memory_limit=2**31)
        had = advice.free + moment.ended
        row = np.clip(nodes - had, 0, losses.shape[0] - 1)
        places = np.rint(run / step).astype(np.int64)
        columns.append(np.where(nodes[:, None] <= moment.reachable, losses[row][:, places], np.nan))
    index = pd.Index(nodes, name="nodes_needed")
    deadlines = pd.Index(advice.deadlines, name="deadline")
    return pd.DataFrame(np.hstack(columns), index=index, columns=deadlines)


def _check_size(moments: list, step: float) -> None:
    """Raise an error if the tables of all problems would take minutes."""
    cells = 0.0
    for moment in moments:
        rows = moment.deadline / step + 1
        cells += rows * (rows + 1) / 2 * moment.groups * len(moment.nodes) / 2
    if cells > CELLS:
        raise ValueError(
            f"the spectrum of {moments[0].groups:,} groups and {len(moments[0].nodes):,} nodes has "
            f"{cells:,.0f} cells; expected at most {CELLS:,}: take a longer step, a shorter "
            "horizon or one partition"
        )
