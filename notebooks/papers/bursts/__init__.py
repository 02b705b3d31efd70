"""A study of our own: bursts of on-demand work on a batch machine.

Its claims are those of the introduction of Maurya et al. (2020), of the abstract of Fan et al.
(2021), and our own.
"""

from papers.bursts.experiment import (
    Study,
    bandwidth_runs,
    best_policies,
    cost_table,
    day_of_most_evictions,
    deadline_runs,
    differences,
    explain_best,
    idea_runs,
    ideas,
    ledger_table,
    means,
    policies,
    policy_runs,
    prepare,
    schedules,
    slowdown_table,
    without_repeats,
)
from papers.bursts.figures import plot_best, plot_ledger
from papers.bursts.measures import Inputs, samples
from papers.paper import Paper

__all__ = [
    "Inputs",
    "Study",
    "bandwidth_runs",
    "best_policies",
    "cost_table",
    "day_of_most_evictions",
    "deadline_runs",
    "differences",
    "explain_best",
    "idea_runs",
    "ideas",
    "ledger_table",
    "means",
    "open_paper",
    "plot_best",
    "plot_ledger",
    "policies",
    "policy_runs",
    "prepare",
    "samples",
    "schedules",
    "slowdown_table",
    "without_repeats",
]


def open_paper(study: Study, output: str) -> Paper:
    """This run of the notebook: its figures, and its scorecard where the log is Theta's."""
    return Paper(
        "6-ondemand",
        "after Maurya et al. 2020",
        data=study.data,
        output=output,
        own=study.own,
        used=study.used,
        numbered=False,
    )
