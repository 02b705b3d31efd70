"""Tang et al. (2011): coscheduling of mates on coupled machines."""

from papers.paper import Paper
from papers.tang2011.experiment import (
    CIRCLE,
    NAMES,
    Experiment,
    compare_intervals,
    compare_limits,
    compare_loads,
    compare_own,
    compare_shares,
    compare_thresholds,
    prepare,
    simulate_circle,
)
from papers.tang2011.figures import FIGURES
from papers.tang2011.measures import (
    Results,
    averages,
    lost_shares,
    measure_claims,
    never_started,
    paired_shares,
    waits_for_mates,
)

__all__ = [
    "CIRCLE",
    "NAMES",
    "Results",
    "averages",
    "begin",
    "compare_intervals",
    "compare_limits",
    "compare_loads",
    "compare_own",
    "compare_shares",
    "compare_thresholds",
    "lost_shares",
    "measure_claims",
    "never_started",
    "paired_shares",
    "prepare",
    "simulate_circle",
    "waits_for_mates",
]


def begin(run: Experiment, *, output: str = "") -> Paper:
    """The run's figures and scorecard; on a log that is not Intrepid's nothing is judged."""
    return Paper(
        "2-coscheduling",
        "Tang et al. 2011",
        FIGURES,
        data=run.data,
        output=output,
        own=run.own,
        used=run.used,
    )
