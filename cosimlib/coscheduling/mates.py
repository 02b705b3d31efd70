"""Mates: groups of jobs on coupled machines that must start at the same instant.

A workload for coupled machines has each job's machine in `partition` and a row of its group in
`mate`. Groups are the connected components of these links: two jobs that name each other, or a
chain or ring of three on three machines. One link is enough: a job is also the mate of a job that
names it, whether or not it names that job. A group has at least two jobs, and at most one per
machine.

Before there is such a workload, mates are a table with one column per machine and one row per
group, of rows in the machines' own workloads (NA if a machine takes no part). `couple` makes one
workload of workloads and table.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib import synthetic
from cosimlib.system import System
from cosimlib.traces.account import TraceError
from cosimlib.traces.texts import read_table
from cosimlib.workload import InvalidWorkloadError, Workload


def couple(
    machines: Mapping[str, Workload], mates: pd.DataFrame | None = None, *, name: str | None = None
) -> Workload:
    """One workload made of several machines' workloads, with `partition` and `mate`.

    Parameters
    ----------
    machines : mapping of str to Workload
        By the name of their partition.
    mates : pd.DataFrame, optional
        One column per machine, one row per group; by default no job has a mate.
    name : str, optional
        The workloads' names with a plus sign by default.

    Returns
    -------
    Workload
        In order of submission; at equal times in the order of machines.

    Raises
    ------
    InvalidWorkloadError
        If a group names a job that does not exist or that is in another group, or is no group.
    """
    together = Workload.join(machines, name=name or "")
    partition = together.jobs["partition"]
    rows = {machine: np.flatnonzero(partition == machine) for machine in machines}
    mate = np.full(len(together), -1)
    mates = pd.DataFrame(columns=list(machines)) if mates is None else mates
    for number, members in enumerate(_members(machines, mates)):
        group = [rows[machine][job] for machine, job in members]
        for (machine, job), row in zip(members, group, strict=True):
            if mate[row] >= 0:
                raise InvalidWorkloadError(
                    f"mates, row {number}: job {job} on {machine} is in an earlier group; a job "
                    "has one group"
                )
        mate[group] = np.roll(group, -1)
    links = pd.array(mate, dtype="Int64")
    links[mate < 0] = pd.NA
    return replace(together, jobs=together.jobs.assign(mate=links))


def couple_logs(logs: Mapping[str, Workload], mates: str | Path = "") -> tuple[Workload, System]:
    """One workload made of several machines' logs, and the system of their machines.

    Clocks are not shifted. Jobs wider than their machine are dropped, and missing requested times
    are drawn. A machine of unknown size gets as many nodes as its widest job.

    Parameters
    ----------
    logs : mapping of str to Workload
        By the name of their partition.
    mates : str or Path, default ""
        A CSV file for `read_mates`; empty: no job has a mate.
    """
    machines, sizes = {}, {}
    for name, log in logs.items():
        widest = int(log.jobs["nodes"].max())
        sizes[name] = log.machine.total_nodes if log.machine else widest
        narrow = log.keep(log.jobs["nodes"] <= sizes[name], "wider than its machine")
        machines[name] = synthetic.with_drawn_estimates(narrow)
    groups = read_mates(mates, machines) if mates else None
    return couple(machines, groups), System("+".join(sizes), sizes)


def mate_groups(workload: Workload, partition: pd.Series | None = None) -> np.ndarray:
    """Number of each job's group of mates, in order of their first jobs; −1 without a mate.

    Parameters
    ----------
    workload : Workload
    partition : pd.Series, optional
        The machine of each job, by default the workload's own column.

    Raises
    ------
    InvalidWorkloadError
        If a mate is not a row of the workload or the job itself, or a group has two jobs on one
        machine.
    """
    mate = workload.column("mate")
    linked = np.flatnonzero(mate.notna())
    other = mate.iloc[linked].to_numpy(np.int64)
    wrong = (other < 0) | (other >= len(workload)) | (other == linked)
    if wrong.any():
        place = int(wrong.argmax())
        raise InvalidWorkloadError(
            f"{workload.label(int(linked[place]))} has mate={other[place]}; expected another row "
            f"of the workload, from 0 to {len(workload) - 1}"
        )
    group = np.full(len(workload), -1)
    if not linked.size:
        return group
    grouped = np.union1d(linked, other)
    ends = np.searchsorted(grouped, linked), np.searchsorted(grouped, other)
    group[grouped] = _components(grouped.size, *ends)
    partition = workload.column("partition").fillna("") if partition is None else partition
    _check_machines(workload, group, partition)
    return group


def mates_by_proximity(
    machines: Mapping[str, Workload], *, window: float = 10.0, one_sided: bool = False
) -> pd.DataFrame:
    """Mates by time: pairs of jobs of two machines submitted within `window` seconds.

    In order of submission on the first machine, each job takes the earliest free job of the second
    machine that is near enough, before or after it. With `one_sided`, as in the authors' code (with
    60 s): in order of submission on the second machine, each job takes the last job of the first
    machine submitted before it or with it, if that job is near enough and free.
    """
    if len(machines) != 2:
        raise ValueError(f"{len(machines)} machines; mates by proximity are found between two")
    check.seconds("window", window)
    first, second = (workload.jobs["submit_time"].to_numpy() for workload in machines.values())
    pairs = _last_before(first, second, window) if one_sided else _nearest(first, second, window)
    return pd.DataFrame(pairs, columns=list(machines), dtype="Int64")


def _nearest(first: np.ndarray, second: np.ndarray, window: float) -> list[tuple[int, int]]:
    """Pairs of submissions at most `window` apart: the earliest free one for each of the first."""
    pairs, candidate = [], 0
    for job, time in enumerate(first.tolist()):
        candidate = max(candidate, int(np.searchsorted(second, time - window)))
        if candidate < second.size and second[candidate] <= time + window:
            pairs.append((job, candidate))
            candidate += 1
    return pairs


def _last_before(first: np.ndarray, second: np.ndarray, window: float) -> list[tuple[int, int]]:
    """Pairs of submissions at most `window` apart: for each job of the second, one of the first.

    It is the last job of the first machine that is not submitted later. The earliest job of the
    second machine that is near enough takes it.
    """
    latest = np.searchsorted(first, second, side="right") - 1
    near = (latest >= 0) & (second - first[latest] <= window) if first.size else latest >= 0
    jobs, mates = np.unique(latest[near], return_index=True)
    return list(zip(jobs.tolist(), np.flatnonzero(near)[mates].tolist(), strict=True))


def mates_by_proportion(machines: Mapping[str, Workload], *, share: float) -> pd.DataFrame:
    """Mates by share: evenly spread rows of each machine, the k-th of one with those of the others.

    Parameters
    ----------
    machines : mapping of str to Workload
    share : float
        Share of the smallest workload's jobs that get mates. As many jobs of each other machine get
        mates.
    """
    check.number("share", share, least=0, most=1, kind="a part of the jobs")
    sizes = {machine: len(workload) for machine, workload in machines.items()}
    groups = round(share * min(sizes.values()))
    rows = {machine: np.arange(groups) * n // max(groups, 1) for machine, n in sizes.items()}
    return pd.DataFrame(rows, dtype="Int64")


def read_mates(path: str | Path, machines: Mapping[str, Workload]) -> pd.DataFrame:
    """Mates from a CSV file: a heading of machines, then one group per line, by job numbers.

    Parameters
    ----------
    path : str or Path
        Plain or gzip. A field is empty where a machine takes no part in a group.
    machines : mapping of str to Workload
        By the names in the heading. A job's number is its `job_id`, or its row if there is none.

    Returns
    -------
    pd.DataFrame
        For `couple`.

    Raises
    ------
    FileNotFoundError
    TraceError
        If the heading or a number is wrong, or a line names fewer than two jobs; names the file,
        the line, the value and what was expected.
    """
    lines = read_table(Path(path))
    heading = lines[0][1] if lines else []
    if sorted(heading) != sorted(machines) or len(machines) < 2:
        raise TraceError(
            f"{path}: line {lines[0][0] if lines else 1} names {', '.join(heading) or 'nothing'}; "
            f"expected the machines {', '.join(machines)}"
        )
    table = pd.DataFrame([fields for _, fields in lines[1:]], columns=heading, dtype="str")
    groups = pd.DataFrame()
    for machine, workload in machines.items():
        jobs, numbers = workload.column("job_id"), table[machine]
        jobs = jobs.astype("str") if jobs.notna().any() else jobs.index.astype("str").to_series()
        rows = pd.Series(range(len(jobs)), jobs)[~jobs.duplicated(keep=False).to_numpy()]
        plain = numbers.str.replace("^0+(?=[0-9])", "", regex=True)
        groups[machine] = plain.map(rows).astype("Int64")
        wrong = (numbers != "") & (groups[machine].isna() | plain.duplicated())
        if wrong.any():
            row = int(wrong.idxmax())
            raise TraceError(
                f"{path}: line {lines[row + 1][0]}: {machine} is {numbers[row]!r}; expected the "
                "number of one job, which no line before it has"
            )
    members = groups.notna().sum(axis=1)
    if (few := members < 2).any():
        row = int(few.idxmax())
        raise TraceError(
            f"{path}: line {lines[row + 1][0]} names {'one' if members[row] else 'no'} job; "
            "expected jobs on two machines or more"
        )
    return groups


def _members(machines: Mapping[str, Workload], mates: pd.DataFrame) -> list[list[tuple[str, int]]]:
    """The groups of a table as lists of machine and row, checked."""
    unknown = [machine for machine in mates.columns if machine not in machines]
    if unknown:
        raise InvalidWorkloadError(
            f"mates name the machine {unknown[0]!r}; the machines are {', '.join(machines)}"
        )
    groups = []
    for row, values in enumerate(mates.itertuples(index=False)):
        pairs = zip(mates.columns, values, strict=True)
        members = [(machine, int(job)) for machine, job in pairs if pd.notna(job)]
        for machine, job in members:
            if not 0 <= job < len(machines[machine]):
                raise InvalidWorkloadError(
                    f"mates, row {row}: no job {job} on {machine}, which has "
                    f"{len(machines[machine])} jobs"
                )
        if len(members) < 2:
            raise InvalidWorkloadError(
                f"mates, row {row}: {len(members)} job; a group has jobs on two machines or more"
            )
        groups.append(members)
    return groups


def _components(nodes: int, linked: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The connected component of each node of these links, numbered by its first node."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(linked), dtype=bool), (linked, other)), shape=(nodes, nodes))
    return connected_components(links, directed=False)[1]


def _check_machines(workload: Workload, group: np.ndarray, partition: pd.Series) -> None:
    """Raise an error for the first group with two jobs on one machine."""
    grouped = pd.DataFrame({"group": group, "partition": partition})
    grouped = grouped[grouped["group"] >= 0]
    twice = grouped.duplicated(["group", "partition"])
    if twice.any():
        job = int(twice.idxmax())
        machine = grouped.loc[job, "partition"]
        raise InvalidWorkloadError(
            f"{workload.label(job)} has a mate on its own partition {machine!r}; mates are on "
            "different partitions, one job on each"
        )
