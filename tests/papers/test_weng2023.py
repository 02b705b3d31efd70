"""Weng et al. (2023): the order in which pods arrive, and the paper's curves."""

import numpy as np

from papers.weng2023 import arrivals
from papers.weng2023.arrivals import GoRandom, draw_arrivals


def test_numbers_of_go() -> None:
    """Go's documentation prints `Intn(100)` after these seeds."""
    random = GoRandom(1)
    assert [random.below(100) for _ in range(10)] == [81, 87, 47, 59, 81, 18, 25, 40, 56, 0]
    random = GoRandom(42)
    assert [random.below(100) for _ in range(2)] == [5, 87]


def test_first_words_of_go() -> None:
    """The words with which Go's source combines a seed, modulo 2**63."""
    words = [word % 2**63 for word in arrivals._warm_words()]
    assert words[:2] == [5041579894721019882, 4646389086726545243]
    assert words[-1] == 4152330101494654406


def test_jump_equals_single_steps() -> None:
    """The power of x says what the generator holds after so many steps."""
    random = GoRandom(7)
    words = list(random._words)
    for _ in range(2000):
        random.int63()
    assert arrivals._words_after(2000, words) == random._words


def test_shuffles_and_permutations_hold_every_number() -> None:
    """Each number below n comes once."""
    random = GoRandom(3)
    assert sorted(random.shuffled(500)) == list(range(500))
    assert sorted(random.permutation(500)) == list(range(500))


def test_pods_are_drawn_again_up_to_the_limit() -> None:
    """A list that demands too little is drawn from again; its own pods all arrive."""
    drawn = draw_arrivals([500] * 10, [8], seed=42)
    assert np.bincount(drawn.pods).min() == 1
    assert drawn.pods.size == 1.3 * 8000 // 500
    assert sorted(drawn.nodes) == [0]


def test_pods_are_left_out_down_to_the_limit() -> None:
    """A list that demands too much loses pods."""
    drawn = draw_arrivals([1000, 0] * 20, [4, 4], seed=42)
    assert np.bincount(drawn.pods).max() == 1
    assert (drawn.pods % 2 == 0).sum() == 10
