"""Eviction: running jobs are killed or checkpointed to free nodes by a deadline, at least loss.

An `EvictionProblem` goes into a solver and becomes an `EvictionPlan`; `choose_scenarios` finds
moments of a schedule to solve, `compare_solvers` measures, `judge` judges the paper's claims.

Beyond the paper, waits for checkpoints overlap and only writes come one after another:
`solve_overlapping` then loses least, `solve_blocked` minimizes the node-hours lost *and* those that
stand still until the burst starts. Both return a `TimedPlan`, which tells when each job stops and
is written; `TimedPlan.of` tells it of any other plan. For compiled loops there are kernels:
`writing.order_of_writes`, `blocked.plan_blocked`, `overlapping.plan_overlapping`.
"""

from cosimlib.eviction.backtracking import solve_backtracking
from cosimlib.eviction.blocked import solve_blocked
from cosimlib.eviction.checkpointing import daly_interval
from cosimlib.eviction.claims import judge
from cosimlib.eviction.comparison import (
    compare_solvers,
    equal_to_separate_runs,
    losses_over_seeds,
    relative_loss,
    scale_solvers,
    scaled_problem,
    seconds_by_horizon,
)
from cosimlib.eviction.dynamic import EvictionSpectrum, solve_dynamic, solve_spectrum
from cosimlib.eviction.evidence import Evidence, response_times, speedups
from cosimlib.eviction.greedy import solve_greedy
from cosimlib.eviction.literal import solve_literal
from cosimlib.eviction.moments import (
    FullMoments,
    full_moments,
    kinds_of_evictions,
    mean_losses,
    summarize_moments,
    survey_moments,
)
from cosimlib.eviction.overlapping import least_losses, solve_overlapping
from cosimlib.eviction.plan import EvictionPlan
from cosimlib.eviction.problem import EvictionProblem, InfeasibleEvictionError
from cosimlib.eviction.scenarios import (
    EXPENDABLE,
    NEARLY_FULL,
    Scenario,
    choose_scenario,
    choose_scenarios,
    commonest_occupancy,
    short_shares,
)
from cosimlib.eviction.writing import TimedPlan

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
    "equal_to_separate_runs",
    "full_moments",
    "judge",
    "kinds_of_evictions",
    "least_losses",
    "losses_over_seeds",
    "mean_losses",
    "relative_loss",
    "response_times",
    "scale_solvers",
    "scaled_problem",
    "seconds_by_horizon",
    "short_shares",
    "solve_backtracking",
    "solve_blocked",
    "solve_dynamic",
    "solve_greedy",
    "solve_literal",
    "solve_overlapping",
    "solve_spectrum",
    "speedups",
    "summarize_moments",
    "survey_moments",
]
