"""A stable order of real numbers against NumPy's."""

import numpy as np
import pytest

from cosimlib.kernels.jit import uncached_kernel
from cosimlib.kernels.sorting import SHORT, ascending


@uncached_kernel
def sorted_positions(values):
    return ascending(values)


@pytest.mark.parametrize("size", [0, 1, 2, 5, SHORT, SHORT + 1, 2 * SHORT, 5 * SHORT + 3, 300])
@pytest.mark.parametrize("distinct", [2, 10, 10_000])
def test_equal_numbers_stay_as_they_stand(size, distinct):
    rng = np.random.default_rng(size)
    for _ in range(3):
        values = rng.integers(0, distinct, size).astype(np.float64)
        values[rng.random(size) < 0.1] = np.inf
        assert sorted_positions(values).tolist() == np.argsort(values, kind="stable").tolist()
