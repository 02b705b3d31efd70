"""Eviction: running jobs are killed or checkpointed to free nodes by a deadline, at least loss.

An `EvictionProblem` goes into a solver and becomes an `EvictionPlan`; `choose_scenario` finds a
moment of a schedule to solve.

- `problem`: the model; from a schedule to a problem
- `plan`: what a solver returns, and when checkpoints are written
- `dynamic`: the optimum for all deadlines in one pass, for one number of nodes or for all
- `search`: greedy and backtracking, a run per deadline
- `overlapping`: the optimum where waits for checkpoints overlap, also of nodes blocked until then
- `scenarios`: moments of schedules, and problems of any size

The paper adds waits and writes up. `solve_overlapping` and `solve_blocked` let waits overlap, so
that only writes come one after another, and return a `TimedPlan`, which says when each job stops
and is written; `TimedPlan.of` says it of any other plan. For compiled loops there are kernels:
`plan.order_of_writes`, `dynamic.relax_all` and `read_plans`, `search.evict_greedily`,
`overlapping.plan_blocked` and `plan_overlapping`.
"""

from cosimlib.eviction.claims import judge
from cosimlib.eviction.comparison import (
    compare_solvers,
    equal_to_separate_runs,
    losses_over_seeds,
    relative_loss,
    scale_solvers,
    seconds_by_horizon,
)
from cosimlib.eviction.dynamic import (
    EvictionSpectrum,
    solve_as_printed,
    solve_dynamic,
    solve_spectrum,
)
from cosimlib.eviction.evidence import Evidence, response_times, speedups
from cosimlib.eviction.moments import (
    FullMoments,
    full_moments,
    kinds_of_evictions,
    mean_losses,
    summarize_moments,
    survey_moments,
)
from cosimlib.eviction.overlapping import least_loss, solve_blocked, solve_overlapping
from cosimlib.eviction.plan import EvictionPlan, TimedPlan
from cosimlib.eviction.problem import EvictionProblem, InfeasibleEvictionError, daly_interval
from cosimlib.eviction.scenarios import (
    EXPENDABLE,
    NEARLY_FULL,
    Scenario,
    choose_scenario,
    choose_scenarios,
    commonest_occupancy,
    draw_scenario,
    find_scenario,
    scaled_problem,
    short_shares,
)
from cosimlib.eviction.search import solve_backtracking, solve_greedy

SOLVERS = {
    "dynamic": solve_dynamic,
    "greedy": solve_greedy,
    "backtracking": solve_backtracking,
}

__all__ = [
    "EXPENDABLE",
    "NEARLY_FULL",
    "SOLVERS",
    "EvictionPlan",
    "EvictionProblem",
    "EvictionSpectrum",
    "Evidence",
    "FullMoments",
    "InfeasibleEvictionError",
    "Scenario",
    "TimedPlan",
    "choose_scenario",
    "choose_scenarios",
    "commonest_occupancy",
    "compare_solvers",
    "daly_interval",
    "draw_scenario",
    "equal_to_separate_runs",
    "find_scenario",
    "full_moments",
    "judge",
    "kinds_of_evictions",
    "least_loss",
    "losses_over_seeds",
    "mean_losses",
    "relative_loss",
    "response_times",
    "scale_solvers",
    "scaled_problem",
    "seconds_by_horizon",
    "short_shares",
    "solve_as_printed",
    "solve_backtracking",
    "solve_blocked",
    "solve_dynamic",
    "solve_greedy",
    "solve_overlapping",
    "solve_spectrum",
    "speedups",
    "summarize_moments",
    "survey_moments",
]
