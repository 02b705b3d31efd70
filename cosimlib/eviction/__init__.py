"""Eviction: running jobs are killed or checkpointed to free nodes by a deadline, at least loss.

An `EvictionProblem` goes into a solver and becomes an `EvictionPlan`; `choose_scenario` finds a
moment of a schedule to solve.

- `problem`: the model; from a schedule to a problem
- `plan`: what a solver returns, and when checkpoints are written
- `rules`: what every plan keeps, and the error that names the rule that is broken
- `solving`: solvers by name, and your own as a function of a problem and a deadline
- `dynamic`: the optimum for all deadlines in one pass, for one number of nodes or for all
- `search`: greedy and backtracking, a run per deadline
- `gpus`: the optimum where GPUs are needed on one node, or on as few as possible
- `overlapping`: the optimum where waits for checkpoints overlap, also of nodes blocked until then
- `scenarios`: moments of schedules, and problems of any size

The paper adds waits and writes up. `solve_overlapping` and `solve_blocked` let waits overlap, so
that only writes come one after another, and return a `TimedPlan`, which says when each job stops
and is written; `TimedPlan.of` says it of any other plan. For loops that solve many problems there
are functions of arrays: `plan.order_of_writes`, and the kernels `dynamic.relax_all` and
`read_plans`, `search.evict_greedily`, `overlapping.plan_blocked` and `plan_overlapping`.
"""

from cosimlib.eviction.dynamic import EvictionSpectrum, solve_dynamic, solve_spectrum
from cosimlib.eviction.gpus import GpuEvictionPlan, GpuEvictionProblem, solve_gpus
from cosimlib.eviction.overlapping import least_loss, solve_blocked, solve_overlapping
from cosimlib.eviction.plan import EvictionPlan, TimedPlan
from cosimlib.eviction.problem import EvictionProblem, InfeasibleEvictionError
from cosimlib.eviction.rules import InfeasiblePlanError
from cosimlib.eviction.scenarios import Scenario, choose_scenario, scaled_problem
from cosimlib.eviction.search import solve_backtracking, solve_greedy
from cosimlib.eviction.solving import solve

__all__ = [
    "EvictionPlan",
    "EvictionProblem",
    "EvictionSpectrum",
    "GpuEvictionPlan",
    "GpuEvictionProblem",
    "InfeasibleEvictionError",
    "InfeasiblePlanError",
    "Scenario",
    "TimedPlan",
    "choose_scenario",
    "least_loss",
    "scaled_problem",
    "solve",
    "solve_backtracking",
    "solve_blocked",
    "solve_dynamic",
    "solve_gpus",
    "solve_greedy",
    "solve_overlapping",
    "solve_spectrum",
]
