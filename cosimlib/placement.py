"""Placement: the node numbers of each allocation of a schedule.

Simulators do not record node numbers; they follow from the allocations: a job takes the free nodes
with the lowest numbers, and keeps the nodes that it already holds when it starts.
"""

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.kernels import occupancy
from cosimlib.kernels.steps import step_function
from cosimlib.schedule import Schedule

MOST_HELD = 2.0**29
"""Node numbers of all jobs at most: 4 GiB."""


def node_blocks(schedule: Schedule) -> pd.DataFrame:
    """Blocks of neighboring nodes that jobs hold on one machine, in order of allocations.

    Returns
    -------
    pd.DataFrame
        `job`, `start` and `end` in seconds, `node` (the lowest, from 0) and `nodes` (how many). An
        allocation of separate blocks has several rows; an allocation of zero length has none.

    Raises
    ------
    ValueError
        If more nodes are held than there are, or jobs share them.
    """
    table = schedule.allocations
    table = table[table["job"] >= 0]
    blocks = _blocks(schedule, table, schedule.total_nodes, schedule.system.name)
    return blocks.assign(row=table["job"].to_numpy()[blocks["row"]]).rename(columns={"row": "job"})


def node_stretches(schedule: Schedule) -> pd.DataFrame:
    """Blocks of neighboring nodes that jobs hold on each machine, in order of time.

    Returns
    -------
    pd.DataFrame
        `job`, `machine`, `state` (``"holds"`` or ``"runs"``), `start` and `end` in seconds
        (infinite for a hold without an end), `node` (the lowest, from 0) and `nodes` (how many).

    Raises
    ------
    ValueError
        If more nodes are held than a machine has, or jobs share them.
    """
    table = schedule.allocations
    table = table[(table["job"] >= 0) & (table["end"] > table["start"])]
    table = table.sort_values(["job", "start"], ignore_index=True)
    machines = schedule.system.partitions
    partition = schedule.partition.to_numpy()
    holds, before = table["use"] == "hold", table.shift()
    kept = (before["use"] == "hold") & (before["job"] == table["job"])
    kept &= before["end"] == table["start"]
    table = table.assign(
        machine=partition[table["job"]],
        state=np.where(holds, "holds", "runs"),
        fresh=~kept | holds,
        interval=(~kept).cumsum() - 1,
    )
    # Nodes are numbered once for all rows through which a job keeps them.
    intervals = table.groupby("interval")[["machine", "start", "nodes"]].first()
    intervals["end"] = table.groupby("interval")["end"].last()
    blocks = []
    for place, (machine, capacity) in enumerate(machines.items()):
        here = intervals[intervals["machine"] == machine]
        numbered = _blocks(schedule, here, capacity, machine)
        interval = here.index.to_numpy()[numbered["row"]]
        blocks.append(numbered[["node", "nodes"]].assign(interval=interval, place=place))
    table = table.drop(columns="nodes").merge(pd.concat(blocks), on="interval")
    table = table.sort_values(["start", "place", "fresh", "job", "node"], ignore_index=True)
    return table[["job", "machine", "state", "start", "end", "node", "nodes"]]


def all_blocks(table: pd.DataFrame, total_nodes: int) -> pd.DataFrame:
    """Result of `lowest_blocks` for a table of allocations, with the `job` of each block.

    If more nodes are held than the machine has, node numbers continue beyond the machine.
    """
    begin, last, nodes = (table[name].to_numpy() for name in ("start", "end", "nodes"))
    peak = int(step_function(begin, last, nodes)[1].max(initial=0))
    blocks = lowest_blocks(begin, last, nodes, max(total_nodes, peak))
    return blocks.assign(job=table["job"].to_numpy()[blocks["row"]])


def lowest_blocks(
    start: np.ndarray, end: np.ndarray, nodes: np.ndarray, total_nodes: int
) -> pd.DataFrame:
    """Blocks of neighboring nodes if each allocation takes the lowest free node numbers.

    Returns
    -------
    pd.DataFrame
        `row`, `start`, `end`, `node` (the lowest, from 0; -1 if too few are free) and `nodes`,
        row by row.

    Raises
    ------
    ValueError
        If there are more node numbers than memory has room for.
    """
    start, end = np.array(start, dtype=np.float64), np.array(end, dtype=np.float64)
    held = float(np.where(end > start, nodes, 0).sum())
    for what, number in (
        ("nodes of a machine, each with a number", float(total_nodes)),
        ("numbers of nodes that jobs hold", held),
    ):
        check.room(what, number, "take fewer jobs, or count each rack as a node", most=MOST_HELD)
    line = occupancy.timeline(start, end, np.array(nodes, dtype=np.int64), total_nodes)
    owner = np.repeat(np.arange(start.size), np.diff(line.first))
    begins = np.append(True, (np.diff(line.held) != 1) | (np.diff(owner) != 0))[: owner.size]
    first = np.flatnonzero(begins)
    row = owner[first]
    blocks = {"row": row, "start": start[row], "end": end[row], "node": line.held[first]}
    return pd.DataFrame(blocks | {"nodes": np.diff(first, append=owner.size)})


def _blocks(schedule: Schedule, table: pd.DataFrame, capacity: int, name: str) -> pd.DataFrame:
    """`lowest_blocks` of a table of allocations; raises where they do not fit."""
    blocks = lowest_blocks(table["start"], table["end"], table["nodes"], capacity)
    if (blocks["node"] == occupancy.IDLE).any():
        raise ValueError(
            f"{schedule.name}: more nodes are held than the {capacity} of {name}: audit the "
            "schedule"
        )
    return blocks
