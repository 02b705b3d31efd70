"""Which nodes jobs had: a pure function of when they ran and, on coupled machines, held.

A job takes the free nodes with the lowest numbers, and keeps those that it held when it starts.
"""

import numpy as np
import pandas as pd

from cosimlib.kernels import occupancy
from cosimlib.schedule import Schedule, check_rigid

COLUMNS = ["job", "machine", "state", "start", "end", "node", "nodes"]


def node_blocks(schedule: Schedule) -> pd.DataFrame:
    """Blocks of neighboring nodes that the jobs of one machine held, job by job.

    Returns
    -------
    pd.DataFrame
        `job`, `start` and `end` in seconds, `node` (the lowest, from 0) and `nodes` (how many). A
        job that found no room in one piece has several rows, one of zero run time none.

    Raises
    ------
    ValueError
        Where more nodes are held than there are, or jobs share them.
    """
    check_rigid(schedule, "node_blocks")
    nodes = schedule.workload.jobs["nodes"].to_numpy()
    table = lowest_blocks(schedule.start_time, schedule.end_time, nodes, schedule.total_nodes)
    if (table["node"] == occupancy.IDLE).any():
        raise ValueError(
            f"{schedule.name}: more nodes are held than the {schedule.system.total_nodes} of "
            f"{schedule.system.name}: audit the schedule"
        )
    return table.rename(columns={"row": "job"})


def lowest_blocks(
    start: np.ndarray, end: np.ndarray, nodes: np.ndarray, total_nodes: int
) -> pd.DataFrame:
    """Blocks of neighboring nodes where each row of nodes held takes the lowest free numbers.

    Returns
    -------
    pd.DataFrame
        `row`, `start`, `end`, `node` (the lowest, from 0; -1 where too few are free) and `nodes`,
        row by row.
    """
    start, end = np.array(start, dtype=np.float64), np.array(end, dtype=np.float64)
    line = occupancy.timeline(start, end, np.array(nodes, dtype=np.int64), total_nodes)
    owner = np.repeat(np.arange(start.size), np.diff(line.first))
    begins = np.append(True, (np.diff(line.held) != 1) | (np.diff(owner) != 0))[: owner.size]
    first = np.flatnonzero(begins)
    row = owner[first]
    blocks = {"row": row, "start": start[row], "end": end[row], "node": line.held[first]}
    return pd.DataFrame(blocks | {"nodes": np.diff(first, append=owner.size)})


def node_stretches(schedule: Schedule) -> pd.DataFrame:
    """Rectangles of neighboring nodes and time, in order of time.

    Returns
    -------
    pd.DataFrame
        `job`, `machine`, `state` (``"holds"`` or ``"runs"``), `start` and `end` in seconds
        (infinite for a hold without an end), `node` (the lowest, from 0) and `nodes` (how many).
    """
    rows = []
    for machine, capacity in schedule.system.partitions.items():
        stretches = _stretches(schedule, machine)
        free_from = np.full(capacity, -np.inf)
        kept: dict[int, tuple[float, np.ndarray]] = {}
        for start, _, job, state, end in stretches:
            since, nodes = kept.get(job, (np.nan, np.empty(0, dtype=np.int64)))
            if since != start:
                wanted = int(schedule.workload.jobs["nodes"][job])
                nodes = np.flatnonzero(free_from <= start)[:wanted]
            free_from[nodes] = end
            kept[job] = end, nodes
            for run in np.split(nodes, np.flatnonzero(np.diff(nodes) > 1) + 1):
                rows.append((job, machine, state, start, end, int(run[0]), len(run)))
    return pd.DataFrame(rows, columns=COLUMNS).sort_values(
        "start", kind="stable", ignore_index=True
    )


def _stretches(schedule: Schedule, machine: str) -> list[tuple]:
    """Start, rank, job, state and end of every stretch of one machine, in order.

    At equal times jobs that keep their nodes go first: those that run on from holding.
    """
    table = schedule.allocations
    partition = schedule.workload.column("partition").fillna(next(iter(schedule.system.partitions)))
    table = table[(partition == machine).to_numpy()[table["job"]] & (table["end"] > table["start"])]
    holds = table[table["use"] == "hold"]
    held_until = set(zip(holds["job"], holds["end"], strict=True))
    return sorted(
        (row.start, 1, row.job, "holds", row.end)
        if row.use == "hold"
        else (row.start, int((row.job, row.start) not in held_until), row.job, "runs", row.end)
        for row in table.itertuples()
    )
