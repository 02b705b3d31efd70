"""Scores of waiting jobs that change with time."""

from cosimlib.kernels.jit import kernel


@kernel
def cubed_wait(waited: float, requested_time: float, nodes: int) -> float:
    """``(waited / requested_time)³ · nodes``, the score of WFP (Tang et al., Cluster 2009)."""
    ratio = waited / requested_time
    return ratio * ratio * ratio * nodes
