"""Scores of waiting jobs that change with time; the highest comes first."""

import math

from cosimlib.kernels.jit import kernel


@kernel
def cubed_wait(waited: float, requested_time: float, nodes: int) -> float:
    """``(waited / requested_time)³ · nodes``, the score of WFP (Tang et al., Cluster 2009)."""
    ratio = waited / requested_time
    return ratio * ratio * ratio * nodes


@kernel
def small_first(waited: float, requested_time: float, nodes: int) -> float:
    """``waited / (log2(nodes) · requested_time)``, the score of UNICEF (Tang et al., Cluster 2009).

    Of one node, log2 is 0: such jobs have an infinite score.
    """
    if nodes == 1:
        return math.inf
    return waited / (math.log2(nodes) * requested_time)


@kernel
def expansion(waited: float, requested_time: float) -> float:
    """``(waited + requested_time) / requested_time``, the expansion factor so far (LXF).

    Srinivasan, Kettimuthu, Subramani and Sadayappan, Characterization of backfilling strategies for
    parallel job scheduling, ICPP Workshops 2002.
    """
    return (waited + requested_time) / requested_time
