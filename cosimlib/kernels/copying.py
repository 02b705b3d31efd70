"""Copying inside kernels: a loop, because a slice brings the text of its error along.

Numba makes that text of both shapes, and compiling it takes longer than most kernels.
"""

import numpy as np

from cosimlib.kernels.jit import inner_kernel


@inner_kernel
def copy(source: np.ndarray, target: np.ndarray) -> None:
    """Write the values of one array into another of the same length."""
    for place in range(source.size):
        target[place] = source[place]
