"""Eviction: running jobs are killed or checkpointed to free nodes by a deadline, at least loss.

An `EvictionProblem` goes into a solver and becomes an `EvictionPlan`; `choose_scenarios` finds
moments of a schedule to solve, `compare_solvers` measures, `judge` judges the paper's claims.

Beyond the paper, waits for checkpoints overlap and only writes come one after another:
`solve_blocked` minimizes the node-hours lost *and* those that stand still until the burst starts,
and returns a `TimedPlan`, which tells when each job stops and is written; `TimedPlan.of` tells it
of any other plan. For compiled loops both are kernels: `writing.order_of_writes` and
`blocked.plan_blocked`.
"""

from cosimlib.eviction.backtracking import solve_backtracking
from cosimlib.eviction.blocked import solve_blocked
from cosimlib.eviction.claims import Evidence, judge, response_times, speedups
from cosimlib.eviction.comparison import (
    compare_solvers,
    relative_loss,
    scale_solvers,
    scaled_problem,
    seconds_by_horizon,
)
from cosimlib.eviction.dynamic import EvictionSpectrum, solve_dynamic, solve_spectrum
from cosimlib.eviction.greedy import solve_greedy
from cosimlib.eviction.plan import EvictionPlan
from cosimlib.eviction.problem import EvictionProblem, InfeasibleEvictionError
from cosimlib.eviction.scenarios import (
    EXPENDABLE,
    Scenario,
    choose_scenario,
    choose_scenarios,
    commonest_occupancy,
)
from cosimlib.eviction.writing import TimedPlan

SOLVERS = {
    "dynamic": solve_dynamic,
    "greedy": solve_greedy,
    "backtracking": solve_backtracking,
}

__all__ = [
    "EXPENDABLE",
    "SOLVERS",
    "EvictionPlan",
    "EvictionProblem",
    "EvictionSpectrum",
    "Evidence",
    "InfeasibleEvictionError",
    "Scenario",
    "TimedPlan",
    "choose_scenario",
    "choose_scenarios",
    "commonest_occupancy",
    "compare_solvers",
    "judge",
    "relative_loss",
    "response_times",
    "scale_solvers",
    "scaled_problem",
    "seconds_by_horizon",
    "solve_backtracking",
    "solve_blocked",
    "solve_dynamic",
    "solve_greedy",
    "solve_spectrum",
    "speedups",
]
