"""Sorting inside kernels: one order of real numbers, compiled once for all that ask for it."""

import numpy as np

from cosimlib.kernels.jit import allocating_kernel


@allocating_kernel
def ascending(values: np.ndarray) -> np.ndarray:
    """Positions of contiguous float64 values in ascending order, equal ones as they stand."""
    return np.argsort(values, kind="mergesort")
