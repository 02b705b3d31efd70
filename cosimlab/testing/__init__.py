"""Tests of your own policy or eviction solver on small random inputs, by laws.

A law consists of a sentence and a function that raises an error if it is broken. If a law is
broken, the smallest input found that breaks it is printed as Python code.

- `check_policy`, `LAWS`, `PolicyError`: the laws of scheduling
- `check_solver`, `SOLVER_LAWS`, `SolverError`: the laws of eviction
"""

from cosimlab.testing.policies import LAWS, PolicyError, check_policy
from cosimlab.testing.solvers import SOLVER_LAWS, SolverError, check_solver

__all__ = ["LAWS", "SOLVER_LAWS", "PolicyError", "SolverError", "check_policy", "check_solver"]
