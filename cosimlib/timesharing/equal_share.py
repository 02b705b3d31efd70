"""Egalitarian processor sharing: equal parts of nodes, for jobs whose processes do not wait.

Each of `load` jobs on a node has ``capacity / load`` of it, which here is the node's level. The
rate of a job is the mean over its nodes. So a change of a node moves the rates of all jobs on it.
"""

from cosimlib.kernels.jit import frugal_kernel, inner_kernel
from cosimlib.timesharing import maxmin
from cosimlib.timesharing.maxmin import Sharing


@frugal_kernel
def join(sharing: Sharing, job: int) -> None:
    """Let `job` run on its nodes."""
    maxmin.record_change(sharing, job)
    size = sharing.jobs[job].last - sharing.jobs[job].first
    for place in range(sharing.jobs[job].first, sharing.jobs[job].last):
        node = sharing.members[place]
        load = sharing.load[node]
        part = sharing.capacity[node] / (load + 1)
        _give(sharing, node, part)
        sharing.on[node, load] = job
        sharing.load[node] = load + 1
        sharing.level[node] = part
        sharing.jobs[job].rate += part / size


@frugal_kernel
def leave(sharing: Sharing, job: int) -> None:
    """Take `job` off its nodes."""
    for place in range(sharing.jobs[job].first, sharing.jobs[job].last):
        node = sharing.members[place]
        maxmin.remove_job(sharing, job, node)
        load = sharing.load[node]
        if load > 0:
            _give(sharing, node, sharing.capacity[node] / load)
    sharing.jobs[job].rate = 0.0


@frugal_kernel
def resize(sharing: Sharing, node: int, capacity: float) -> None:
    """Change the capacity of `node`."""
    sharing.capacity[node] = capacity
    if sharing.load[node] > 0:
        _give(sharing, node, capacity / sharing.load[node])


@inner_kernel
def _give(sharing: Sharing, node: int, part: float) -> None:
    """Move all jobs on `node` from the part that they have of it to another."""
    more = part - sharing.level[node]
    for place in range(sharing.load[node]):
        job = sharing.on[node, place]
        maxmin.record_change(sharing, job)
        sharing.jobs[job].rate += more / (sharing.jobs[job].last - sharing.jobs[job].first)
    sharing.level[node] = part
