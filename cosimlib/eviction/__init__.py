"""The eviction problem: which running jobs give their nodes back, how, and at what loss."""

from cosimlib.eviction.backtracking import solve_backtracking
from cosimlib.eviction.dynamic import EvictionSpectrum, solve_dynamic, solve_spectrum
from cosimlib.eviction.greedy import solve_greedy
from cosimlib.eviction.plan import EvictionPlan
from cosimlib.eviction.problem import EvictionProblem, InfeasibleEvictionError

SOLVERS = {
    "dynamic": solve_dynamic,
    "greedy": solve_greedy,
    "backtracking": solve_backtracking,
}

__all__ = [
    "SOLVERS",
    "EvictionPlan",
    "EvictionProblem",
    "EvictionSpectrum",
    "InfeasibleEvictionError",
    "solve_backtracking",
    "solve_dynamic",
    "solve_greedy",
    "solve_spectrum",
]
