"""Oracles of eviction with waits that overlap: all plans, all orders of writing, in exact numbers.

A write takes whole steps; where an application's follows its wait at once, it ends with the step in
which both have passed. The burst starts when the last write ends, and every write is as late as
that allows.
"""

import math
from fractions import Fraction
from itertools import permutations, product
from typing import NamedTuple

from cosimlib.eviction import EvictionProblem

KILL, APP, SYS = 1, 2, 3


class Write(NamedTuple):
    """One checkpoint: its first step, its length in steps, and the wait in milliseconds."""

    job: int
    release: int
    steps: int
    wait: int | None


def plans(problem: EvictionProblem):
    """Every set of actions that frees enough nodes: actions per job, loss (ms), its writes."""
    step = Fraction(problem.step)
    columns = ["nodes", "loss", "app_time", "sys_time", "app_wait"]
    rows = problem.jobs[columns].to_numpy().tolist()
    far = len(problem.deadlines)
    for actions in product(range(4), repeat=len(rows)):
        nodes = sum(int(row[0]) for row, action in zip(rows, actions, strict=True) if action)
        if nodes < problem.nodes_needed:
            continue
        lost = sum(
            round(row[1] * 3_600_000)
            for row, action in zip(rows, actions, strict=True)
            if action == KILL
        )
        writes = []
        for job, (row, action) in enumerate(zip(rows, actions, strict=True)):
            if action == SYS:
                writes.append(Write(job, 0, steps_up(row[3], step, far), None))
            if action == APP:
                release, length = application_write(row[2], row[4], step, far)
                writes.append(Write(job, release, length, round(min(row[4], 1e9) * 1000)))
        yield actions, lost, writes


def steps_up(seconds: float, step: Fraction, far: int) -> int:
    """Whole steps that a duration takes, at most `far`."""
    return far if seconds == math.inf else min(far, math.ceil(Fraction(seconds) / step))


def application_write(app: float, wait: float, step: Fraction, far: int) -> tuple[int, int]:
    """The first step for the write of an application's checkpoint, and its length in steps."""
    if app == math.inf:
        return far, 0
    length = math.ceil((Fraction(app) - Fraction(wait)) / step)
    return math.ceil(Fraction(app) / step) - length, length


def last_end(writes: list[Write]) -> int:
    """The step in which the last of these writes ends, one after another in this order."""
    now = 0
    for write in writes:
        now = max(now, write.release) + write.steps
    return now


def stops(problem: EvictionProblem, actions, writes: list[Write]) -> dict[int, Fraction]:
    """Milliseconds after which each evicted job stands still, writes as late as possible."""
    step = Fraction(problem.step) * 1000
    stop = {job: Fraction(0) for job, action in enumerate(actions) if action == KILL}
    now = last_end(writes)
    for write in reversed(writes):
        now -= write.steps
        assert now >= write.release
        stop[write.job] = now * step if write.wait is None else Fraction(write.wait)
    return stop


def usual_order(problem: EvictionProblem) -> list[int]:
    """Jobs without a checkpoint of their own in time by Smith's rule, then the others by it."""
    step, far = Fraction(problem.step), len(problem.deadlines)

    def key(job: int):
        nodes, app, sys, wait = (
            problem.jobs[name].iloc[job] for name in ("nodes", "app_time", "sys_time", "app_wait")
        )
        if steps_up(app, step, far) < far:
            return (1, application_write(app, wait, step, far)[0], 0, 0, job)
        length = steps_up(sys, step, far)
        return (0, 0, math.inf if not length else Fraction(int(nodes), length), 0, job)

    return sorted(range(len(problem)), key=key)


def blocked_plans(problem: EvictionProblem, *, any_order: bool = False) -> list[tuple]:
    """Least node-milliseconds lost or blocked, then the earliest start, per deadline."""
    nodes = problem.jobs["nodes"].astype(int).tolist()
    step = Fraction(problem.step) * 1000
    place = {job: rank for rank, job in enumerate(usual_order(problem))}
    best = [(math.inf, math.inf)] * len(problem.deadlines)
    for actions, lost, writes in plans(problem):
        usual = sorted(writes, key=lambda write: place[write.job])
        for order in permutations(writes) if any_order else [usual]:
            free = last_end(order)
            if free >= len(best):
                continue
            stop = stops(problem, actions, order)
            still = sum(nodes[job] * (free * step - moment) for job, moment in stop.items())
            for row in range(free, len(best)):
                best[row] = min(best[row], (lost + still, free))
    return best


def overlapping_plans(problem: EvictionProblem) -> list[tuple]:
    """Least node-milliseconds lost, then the earliest start, per deadline, of all orders."""
    best = [(math.inf, math.inf)] * len(problem.deadlines)
    for _, lost, writes in plans(problem):
        free = min(last_end(order) for order in permutations(writes))
        for row in range(free, len(best)):
            best[row] = min(best[row], (lost, free))
    return best
