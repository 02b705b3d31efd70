"""A study of our own: bursts of on-demand work on a batch machine.

Its claims are those of the introduction of Maurya et al. (2020), of the abstract of Fan et al.
(2021), and our own.
"""

from papers.bursts.experiment import (
    Study,
    bandwidth_runs,
    best_policies,
    deadline_runs,
    differences,
    idea_runs,
    ideas,
    means,
    policies,
    policy_runs,
    prepare,
    schedules,
)
from papers.bursts.figures import FIGURES
from papers.bursts.measures import Inputs, samples
from papers.paper import Paper

__all__ = [
    "Inputs",
    "Study",
    "bandwidth_runs",
    "best_policies",
    "deadline_runs",
    "differences",
    "idea_runs",
    "ideas",
    "means",
    "open_paper",
    "policies",
    "policy_runs",
    "prepare",
    "samples",
    "schedules",
]


def open_paper(study: Study, output: str) -> Paper:
    """This run of the notebook: its figures, and its scorecard where the log is Theta's."""
    return Paper(
        "6-ondemand",
        "after Maurya et al. 2020",
        FIGURES,
        data=study.data,
        output=output,
        own=study.own,
        used=study.used,
    )
