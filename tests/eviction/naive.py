"""Oracles of eviction: enumeration of all plans, and a mixed-integer program."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from cosimlib.eviction import EvictionProblem


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
