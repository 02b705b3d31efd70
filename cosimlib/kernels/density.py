"""How densely numbers lie along a line."""

import numpy as np

BINS = 2048


def density(values: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """A Gaussian kernel density of numbers from 0 up, on an ascending grid from 0.

    Values are counted in bins first, so that millions of them cost no more than thousands. The
    bandwidth is Silverman's, ``0.9 min(deviation, interquartile range / 1.34) n^(-1/5)``, at least
    half a grid step; what it would put below 0 is reflected. Values beyond the grid count for the
    total only, so the integral over the grid is their share of values within it.
    """
    if values.size == 0:
        return np.zeros(grid.size)
    low, high = np.quantile(values, [0.25, 0.75])
    deviation = float(values.std())
    spread = min(deviation, (high - low) / 1.34) if high > low else deviation
    bandwidth = max(0.9 * spread * values.size**-0.2, 0.5 * (grid[1] - grid[0]))
    limit = grid[-1] + 5 * bandwidth
    counts, edges = np.histogram(values, bins=BINS, range=(0.0, limit))
    middles = (edges[:-1] + edges[1:]) / 2
    filled = counts > 0
    counts, middles = counts[filled], middles[filled]
    kernels = np.exp(-0.5 * ((grid[:, None] - middles) / bandwidth) ** 2)
    kernels += np.exp(-0.5 * ((grid[:, None] + middles) / bandwidth) ** 2)
    return kernels @ counts / (values.size * bandwidth * np.sqrt(2 * np.pi))
