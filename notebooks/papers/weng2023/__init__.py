"""Weng et al. (USENIX ATC 2023): placing pods that share GPUs without leaving fragments."""

from papers.paper import Paper
from papers.weng2023.experiment import LISTS, POLICIES, Study, arrive, place_all, prepare
from papers.weng2023.figures import FIGURES
from papers.weng2023.measures import samples, savings, unallocated

__all__ = [
    "LISTS",
    "POLICIES",
    "Study",
    "arrive",
    "open_paper",
    "place_all",
    "prepare",
    "samples",
    "savings",
    "unallocated",
]


def open_paper(study: Study, output: str) -> Paper:
    """This run of the notebook: its figures and its scorecard."""
    return Paper("7-nodes", "Weng et al. 2023", FIGURES, data=study.data, output=output)
