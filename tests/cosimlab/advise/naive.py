"""The least loss by enumeration: every group, every action, every deadline; slow and obvious."""

import math
from dataclasses import dataclass
from itertools import product


@dataclass(frozen=True)
class Plain:
    """A job as the model states it: nodes, seconds until it is gone, loss, and its checkpoints."""

    nodes: frozenset[str]
    until: float
    loss: float
    app_wait: float = math.inf
    app_write: float = math.inf
    sys_write: float = math.inf
    stoppable: bool = True
    leader: int = 0


def least(
    jobs: list[Plain], usable: set[str], nodes_needed: int, deadline: int, step: int
) -> tuple[float, int]:
    """Least loss (inf where the nodes cannot be had by then), and the nodes that can be had."""
    there = [job for job in jobs if job.until > deadline]
    occupied = {node for job in there for node in job.nodes}
    stuck = {node for job in there if not job.stoppable for node in job.nodes}
    already = len(usable - occupied)
    wanted = (usable & occupied) - stuck
    groups = together([job for job in there if job.stoppable], wanted)
    sizes = [len(wanted & frozenset().union(*(job.nodes for job in group))) for group in groups]
    best = math.inf
    for actions in product(("keep", "kill", "app", "sys"), repeat=len(groups)):
        chosen = [(group, action) for group, action in zip(groups, actions, strict=True)]
        freed = sum(size for size, action in zip(sizes, actions, strict=True) if action != "keep")
        if already + freed >= nodes_needed and in_time(chosen, deadline, step):
            lost = sum(job.loss for group, action in chosen if action == "kill" for job in group)
            best = min(best, lost)
    return best, already + sum(sizes)


def together(jobs: list[Plain], wanted: set[str]) -> list[list[Plain]]:
    """Groups of jobs that share a wanted node or a leader; those that free none are left out."""
    groups = [[job] for job in jobs]
    merged = True
    while merged:
        merged = False
        for one in range(len(groups)):
            for other in range(one + 1, len(groups)):
                if any(linked(a, b, wanted) for a in groups[one] for b in groups[other]):
                    groups[one] += groups.pop(other)
                    merged = True
                    break
            if merged:
                break
    return [group for group in groups if any(job.nodes & wanted for job in group)]


def linked(one: Plain, other: Plain, wanted: set[str]) -> bool:
    """Whether two jobs share a node that is wanted, or are parts of one job."""
    return bool(one.nodes & other.nodes & wanted) or (one.leader and one.leader == other.leader)


def in_time(chosen: list, deadline: int, step: int) -> bool:
    """Whether checkpoints one after another, system-level ones first, are written in time."""
    clock, own = 0, []
    for group, action in chosen:
        if action == "sys":
            clock += steps(sum(job.sys_write for job in group), step)
        if action == "app":
            if all(math.isinf(job.app_write) for job in group):
                return False
            wait = max(job.app_wait for job in group if job.app_write < math.inf)
            write = sum(
                min(job.app_write, math.inf) if job.app_write < math.inf else job.sys_write
                for job in group
            )
            if math.isinf(write):
                return False
            # A write that follows the wait at once ends when both do, rounded up.
            length = min(steps(write, step), steps(wait + write, step))
            own.append((steps(wait + write, step) - length, length))
    if clock == math.inf:
        return False
    for ready, write in sorted(own):
        clock = max(clock, ready) + write
    return clock * step <= deadline


def steps(seconds: float, step: int) -> float:
    """Seconds in steps, rounded up."""
    return math.inf if math.isinf(seconds) else math.ceil(seconds / step)
