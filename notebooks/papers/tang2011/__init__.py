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
from papers.tang2011.figures import plot_steps
from papers.tang2011.measures import (
    Results,
    averages,
    drawable,
    explain_bars,
    explain_lines,
    in_percent,
    lost_shares,
    measure_claims,
    never_started,
    over_ideal,
    over_ideal_by_kind,
    paired_shares,
    waits_for_mates,
    yield_minus_hold,
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
    "drawable",
    "explain_bars",
    "explain_lines",
    "in_percent",
    "lost_shares",
    "measure_claims",
    "never_started",
    "over_ideal",
    "over_ideal_by_kind",
    "paired_shares",
    "plot_steps",
    "prepare",
    "simulate_circle",
    "waits_for_mates",
    "yield_minus_hold",
]


def begin(run: Experiment, *, output: str = "") -> Paper:
    """The run's figures and scorecard; on a log that is not Intrepid's nothing is judged."""
    return Paper(
        "2-coscheduling",
        "Tang et al. 2011",
        data=run.data,
        output=output,
        own=run.own,
        used=run.used,
    )
