"""Bounds of a long queue: the search finds what a look at every place finds."""

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
@given(seed=st.integers(0, 2**32), jobs=st.integers(1, 300), most=st.sampled_from([4, 40, 5_576]))
def test_the_search_finds_what_a_look_at_every_place_finds(seed, jobs, most):
    """Jobs come, are found and taken, and are moved to the front now and then."""
    rng = np.random.default_rng(seed)
    nodes = np.exp(rng.uniform(0, np.log(most), jobs)).astype(np.int64)
    requested_time = rng.choice([60.0, 600.0, 3_600.0, 86_400.0], jobs)
    submit_time = np.arange(jobs, dtype=np.float64)
    waiting, bounds = queue.empty(jobs), sieve.empty(jobs)
    submitted, last = 0, 0
    for until in np.sort(rng.uniform(0, jobs, 12)):
        came = last
        submitted, last = queue.admit(waiting, submit_time, nodes, submitted, last, until)
        sieve.add(bounds, waiting, requested_time, came, last)
        first = int(rng.integers(0, last + 1))
        free, extra = (int(rng.integers(0, most + 1)) for _ in range(2))
        shadow_time = until + rng.choice([0.0, 60.0, 1_000.0, 90_000.0])
        state = requested_time, first, last, free, until, shadow_time, extra
        for _ in range(10):
            found = sieve.next_fitting(bounds, waiting, *state)
            assert found == plain(waiting, *state)
            if found < last:
                waiting.wanted[found] = TAKEN
        if rng.random() < 0.3:
            last = queue.compact(waiting, 0, last)
            sieve.add(bounds, waiting, requested_time, 0, last)


def test_classes_are_binary_logarithms():
    sizes = [1, 2, 3, 4, 7, 8, 5_576, 2**40]
    assert [sieve.class_of(size) for size in sizes] == [0, 1, 1, 2, 2, 3, 12, sieve.CLASSES - 1]
