"""Oracles of eviction: enumeration of all plans, and a mixed-integer program."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from cosimlib.eviction import EvictionProblem, GpuEvictionProblem


def enumerate_plans(problem: EvictionProblem) -> list[tuple[float, float]]:
    """Least loss (node-hours), then least checkpoint time (s) per deadline, of all 4^N plans."""
    rows = problem.jobs[["nodes", "loss", "app_time", "sys_time"]].to_numpy().tolist()
    step = Fraction(problem.step)
    best = [(np.inf, np.inf)] * len(problem.deadlines)
    for actions in product(range(4), repeat=len(rows)):
        freed, milliseconds, steps = 0, 0, 0
        for (nodes, loss, app, sys), action in zip(rows, actions, strict=True):
            freed += nodes if action else 0
            milliseconds += round(loss * 3_600_000) if action == 1 else 0
            duration = {2: app, 3: sys}.get(action, 0.0)
            steps += math.inf if duration == math.inf else math.ceil(Fraction(duration) / step)
        if freed >= problem.nodes_needed:
            outcome = (milliseconds / 3_600_000, steps * problem.step)
            for i, deadline in enumerate(problem.deadlines):
                if outcome[1] <= deadline:
                    best[i] = min(best[i], outcome)
    return best


def integer_program(problem: EvictionProblem, *, then_time: bool = True) -> list[tuple]:
    """The same by SciPy's HiGHS; `then_time` asks for the least time among the least losses."""
    columns = (problem.jobs[name].to_numpy() for name in ("nodes", "loss", "app_time", "sys_time"))
    nodes, loss, app, sys = columns
    loss = np.round(loss * 3_600_000)
    last = len(problem.deadlines)
    app, sys = (np.minimum(np.ceil(time / problem.step), last) for time in (app, sys))
    n = len(nodes)
    zeros = np.zeros(n)
    lost = np.concatenate([loss, zeros, zeros])
    steps = np.concatenate([zeros, app, sys]).astype(float)
    freed = LinearConstraint(np.tile(nodes, 3), problem.nodes_needed, np.inf)
    once = LinearConstraint(np.hstack([np.eye(n)] * 3), -np.inf, 1)
    shared = {"integrality": np.ones(3 * n), "bounds": Bounds(0, 1)}
    outcomes = []
    for deadline in range(len(problem.deadlines)):
        rules = [freed, once, LinearConstraint(steps, -np.inf, deadline)]
        scale = max(1.0, loss.max())
        first = milp(lost / scale, constraints=rules, options={"mip_rel_gap": 0.0}, **shared)
        plan = np.round(first.x)
        if then_time:
            rules.append(LinearConstraint(lost / scale, -np.inf, (lost @ plan + 0.5) / scale))
            plan = np.round(milp(steps, constraints=rules, **shared).x)
        outcomes.append((lost @ plan / 3_600_000, steps @ plan * problem.step))
    return outcomes


def fewest_nodes(problem: GpuEvictionProblem) -> int:
    """Nodes that suffice for the GPUs needed, those with the most GPUs first."""
    gpus = problem.held.groupby("node")["gpus"].sum().add(problem.idle, fill_value=0)
    most_first = gpus.sort_values(ascending=False).cumsum()
    return int((most_first < problem.nodes_needed).sum()) + 1 if problem.nodes_needed else 0


def enumerate_gpu_plans(problem: GpuEvictionProblem) -> list[tuple[float, float]]:
    """Least loss (GPU-hours), then least time (s) per deadline, of all 4^N plans on few nodes."""
    few, last = fewest_nodes(problem), len(problem.deadlines)
    actions = np.array(list(product(range(4), repeat=len(problem))))
    usable = problem.idle.to_numpy() + (actions > 0) @ held_gpus(problem)
    enough = np.sort(usable, axis=1)[:, usable.shape[1] - few :].sum(axis=1)
    lost = (actions == 1) @ problem.jobs["loss"].to_numpy()
    steps = np.zeros(len(actions))
    for action, column in ((2, "app_time"), (3, "sys_time")):
        rounded = np.minimum(np.ceil(problem.jobs[column].to_numpy() / problem.step), last)
        steps += (actions == action) @ rounded
    outcomes = [
        zip(lost[fine], steps[fine] * problem.step, strict=True)
        for fine in ((enough >= problem.nodes_needed) & (steps <= row) for row in range(last))
    ]
    return [min(outcome) for outcome in outcomes]


def held_gpus(problem: GpuEvictionProblem) -> np.ndarray:
    """GPUs per job and node."""
    held = np.zeros((len(problem), len(problem.names)))
    for row in problem.held.itertuples():
        held[problem.jobs.index.get_loc(row.job), problem.names.get_loc(row.node)] += row.gpus
    return held


def gpu_program(problem: GpuEvictionProblem) -> float:
    """Least loss (GPU-hours) by the last deadline, by SciPy's HiGHS.

    Variables: kill, app and sys per job; per node whether it is chosen, and the GPUs used of it.
    """
    jobs, nodes, last = len(problem), len(problem.names), len(problem.deadlines)
    held = held_gpus(problem).T
    idle = problem.idle.to_numpy(dtype=float)
    app, sys = (
        np.minimum(np.ceil(problem.jobs[column].to_numpy() / problem.step), last)
        for column in ("app_time", "sys_time")
    )
    zeros, per_node = np.zeros(jobs), np.zeros(nodes)
    lost = np.concatenate([problem.jobs["loss"], zeros, zeros, per_node, per_node])
    steps = np.concatenate([zeros, app, sys, per_node, per_node])
    once = np.hstack([np.eye(jobs)] * 3 + [np.zeros((jobs, 2 * nodes))])
    limited = np.hstack([-held] * 3 + [np.zeros((nodes, nodes)), np.eye(nodes)])
    only_chosen = np.hstack(
        [np.zeros((nodes, 3 * jobs)), -np.diag(held.sum(axis=1) + idle), np.eye(nodes)]
    )
    few = np.concatenate([np.zeros(3 * jobs), np.ones(nodes), per_node])
    used = np.concatenate([np.zeros(3 * jobs), per_node, np.ones(nodes)])
    rules = [
        LinearConstraint(once, -np.inf, 1),
        LinearConstraint(limited, -np.inf, idle),
        LinearConstraint(only_chosen, -np.inf, 0),
        LinearConstraint(few, 0, fewest_nodes(problem)),
        LinearConstraint(used, problem.nodes_needed, np.inf),
        LinearConstraint(steps, 0, last - 1),
    ]
    upper = np.concatenate([np.ones(3 * jobs + nodes), np.full(nodes, np.inf)])
    return milp(
        lost,
        constraints=rules,
        integrality=np.ones(upper.size),
        bounds=Bounds(0, upper),
        options={"mip_rel_gap": 0.0},
    ).fun
