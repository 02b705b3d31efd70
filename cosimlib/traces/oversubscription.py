"""Oversubscription: records that hold more nodes than their machine has, and how many more.

Clocks that are not exact, and machines that grow, overrun by little. Jobs that share nodes, of
which each counts for all of each node, and sizes in another unit than the machine's, overrun by
much: the record does not show what is idle on such a machine.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.display import count, percent
from cosimlib.kernels.steps import step_function
from cosimlib.schedule import Schedule
from cosimlib.workload import Workload

TOLERATED = 0.01
"""Share of the node-seconds beyond the machine up to which idle nodes are known all the same."""


class Oversubscription(NamedTuple):
    """Nodes held beyond those of the machine.

    Parameters
    ----------
    most : int
        Nodes held at once at most.
    nodes : int
        Of the machine.
    share : float
        Node-seconds held beyond the machine's nodes ÷ all that are held; 0 where none is held.
    jobs : int
        That run at such times.
    """

    most: int
    nodes: int
    share: float
    jobs: int

    @property
    def held(self) -> str:
        """The most nodes held, of the machine's, in words."""
        return f"up to {self.most:,} of {count(self.nodes, 'node')} held at once"

    @property
    def note(self) -> str:
        """An entry of an account."""
        return f"{self.held}, {percent(self.share)} of the node-hours beyond the machine"

    @property
    def lack(self) -> str:
        """Why idle nodes are unknown and what to do, in a sentence; empty where they are known."""
        if self.share <= TOLERATED:
            return ""
        return (
            f"{self.held}: count cores if jobs share nodes, or give NODES= (see docs/your-log.md)"
        )


def oversubscription(schedule: Schedule) -> Oversubscription:
    """How far a schedule holds more nodes than its machine has."""
    allocations, nodes = schedule.allocations, schedule.total_nodes
    columns = (allocations[name].to_numpy() for name in ("start", "end", "nodes"))
    times, held = step_function(*columns)
    length = np.diff(times, append=times[-1:])
    over, beyond = length * (held > nodes), length * np.maximum(held - nodes, 0)
    total = float((length * held).sum())
    # Time overrun until each instant, so that jobs of which some is overrun have more at their end.
    until = np.append(0.0, np.cumsum(over))[:-1] if times.size else np.zeros(0)
    ends = (schedule.start_time, schedule.end_time)
    begin, end = (np.interp(at, times, until) if times.size else np.zeros_like(at) for at in ends)
    return Oversubscription(
        int(held.max(initial=0)),
        nodes,
        float(beyond.sum()) / total if total > 0 else 0.0,
        int((end > begin).sum()),
    )


def print_oversubscription(workload: Workload) -> None:
    """Print how far a log's records hold more nodes than its machine has, if they do.

    Jobs that are wider than the machine, or whose start is unknown, do not count.
    """
    if workload.machine is None:
        return
    starts = workload.column("recorded_start").notna()
    fitting = starts & (workload.jobs["nodes"] <= workload.machine.total_nodes)
    held = oversubscription(Schedule.recorded(workload.keep(fitting, "unknown start, or too wide")))
    if held.most > held.nodes:
        print(f"{workload.name}: {held.note}")
