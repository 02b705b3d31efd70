"""Weng et al. (USENIX ATC 2023): placing pods that share GPUs without leaving fragments."""

from papers.paper import Paper
from papers.weng2023.experiment import LISTS, POLICIES, Study, arrive, place_all, prepare
from papers.weng2023.measures import (
    explain_bars,
    explain_curves,
    means,
    samples,
    savings,
    unallocated,
    unallocated_by_list,
    with_whiskers,
)

__all__ = [
    "LISTS",
    "POLICIES",
    "Study",
    "arrive",
    "explain_bars",
    "explain_curves",
    "means",
    "open_paper",
    "place_all",
    "prepare",
    "samples",
    "savings",
    "unallocated",
    "unallocated_by_list",
    "with_whiskers",
]


def open_paper(study: Study, output: str) -> Paper:
    """This run of the notebook: its figures and its scorecard."""
    return Paper("7-nodes", "Weng et al. 2023", data=study.data, output=output)
