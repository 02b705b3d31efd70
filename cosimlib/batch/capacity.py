"""Capacity of a machine over time as a batch policy knows it: the edges of a calendar's windows.

A window has three edges: it becomes known, it begins, it ends. Between the first two its nodes are
expected to close, between the last two they are closed. Both are rows of the expected releases
(`kernels.backfilling`) with the ends of running jobs: one profile of free nodes, which rises where
a job or a window ends and falls where a window begins. Nothing of a window is in it before it is
known. At an instant all ends come first, then edges, then submissions.

Windows that overlap add up: a drain of 10 nodes and a maintenance of 10 nodes at the same time
close 20. Together they close the machine at most.
"""

import numpy as np

from cosimlib.calendar import Calendar
from cosimlib.kernels import backfilling
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type, records

ENDS, KNOWN, BEGINS = range(3)
"""Kinds of edges, in their order at equal times."""

EDGE = record_type(floats="time start end known", integers="edge nodes kills")
"""An edge of a window; the window's start, end, nodes, when it is known, and whether it kills."""

FLOATS, INTEGERS = "next_edge next_fall", "edges closed enforced"
"""Fields of a state: when the next edge comes, and when the next window that is known begins; the
edges passed, the nodes closed, those of them for which jobs are killed."""

_LAST = records(1, EDGE, time=np.inf, edge=ENDS)
"""What comes after all edges."""


def edges_of(calendar: Calendar, total_nodes: int, submit_time: np.ndarray) -> np.recarray:
    """The edges of a calendar from the first submission on, and one at infinity after them."""
    if not len(calendar):
        return _LAST.copy()
    windows = calendar.on_machine(total_nodes)
    first = submit_time.min(initial=np.inf)
    columns = {name: windows[name].to_numpy() for name in windows}
    rows = columns["end"] > first
    columns = {name: values[rows] for name, values in columns.items()}
    start, known = (np.maximum(columns[name], first) for name in ("start", "known_from"))
    kills = (calendar.on_overrun == "kill") & (columns["kind"] != "drain")
    edges = np.zeros((3, start.size), EDGE).view(np.recarray)
    edges.time, edges.edge = (columns["end"], known, start), np.array([[ENDS], [KNOWN], [BEGINS]])
    edges.start, edges.end, edges.nodes = start, columns["end"], columns["nodes"]
    edges.known, edges.kills = known, kills
    edges = np.append(edges.ravel(), _LAST).view(np.recarray)
    return edges[np.lexsort((edges.edge, edges.time))].view(np.recarray)


@kernel
def pass_edges(edges: np.recarray, expected: np.recarray, state: np.record, now: float) -> None:
    """Pass all edges up to now."""
    while edges[state.edges].time <= now:
        edge = edges[state.edges]
        state.edges += 1
        if edge.edge == KNOWN:
            backfilling.expect(expected, state, edge.start, -edge.nodes)
            backfilling.expect(expected, state, edge.end, edge.nodes)
        else:
            sign = 1 if edge.edge == BEGINS else -1
            backfilling.expect(expected, state, edge.time, sign * edge.nodes)
            state.free -= sign * edge.nodes
            state.closed += sign * edge.nodes
            if edge.kills:
                state.enforced += sign * edge.nodes
    state.next_edge, state.next_fall = edges[state.edges].time, np.inf
    for row in range(state.edges, edges.size):
        if edges[row].edge == BEGINS and edges[row].known <= now:
            state.next_fall = edges[row].time
            break


@kernel
def cut_length(start_time: float, now: float) -> float:
    """The longest run from a start that ends now at the latest."""
    run_time = now - start_time
    while start_time + run_time > now:
        run_time = np.nextafter(run_time, 0.0)
    return run_time
