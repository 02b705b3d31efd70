"""Bounds of a long queue: no block is passed over that has a job that would do."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.kernels import queue, sieve
from cosimlib.kernels.queue import TAKEN


def plain(waiting, requested_time, first, last, free, now, shadow_time, extra):
    """The first place that will do, looking at each."""
    for place in range(first, last):
        wanted = waiting.wanted[place]
        ends_in_time = now + requested_time[waiting.job[place]] <= shadow_time
        if wanted <= free and (wanted <= extra or ends_in_time):
            return place
    return last


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), jobs=st.integers(1, 64), most=st.sampled_from([4, 40, 5_576]))
def test_the_search_finds_the_first_and_bounds_hold_for_all(seed, jobs, most):
    """A block whose bounds would not do has no job that would."""
    rng = np.random.default_rng(seed)
    nodes = np.exp(rng.uniform(0, np.log(most), jobs)).astype(np.int64)
    requested_time = rng.choice([60.0, 600.0, 3_600.0, 86_400.0], jobs)
    waiting, bounds = queue.empty(jobs), sieve.empty(jobs)
    waiting.job[:], waiting.wanted[:] = np.arange(jobs), nodes
    waiting.wanted[rng.random(jobs) < 0.3] = TAKEN
    sieve.clear(bounds, 0)
    for place in range(jobs):
        sieve.include(bounds, waiting, requested_time, place)
    for _ in range(10):
        free, extra = (int(rng.integers(0, most + 1)) for _ in range(2))
        state = free, 0.0, rng.choice([0.0, 60.0, 1_000.0, 90_000.0]), extra
        first = int(rng.integers(0, jobs + 1))
        found = sieve.search(waiting, requested_time, first, jobs, *state)
        assert found == plain(waiting, requested_time, first, jobs, *state)
        in_time = bounds.request[0, sieve.class_of(free)] <= state[2]
        if not (bounds.wanted[0] <= min(free, extra) or (bounds.wanted[0] <= free and in_time)):
            assert found == jobs


def test_classes_are_binary_logarithms():
    sizes = [1, 2, 3, 4, 7, 8, 5_576, 2**40]
    assert [sieve.class_of(size) for size in sizes] == [0, 1, 1, 2, 2, 3, 12, sieve.CLASSES - 1]
