"""Tournament tree of minima: what it finds is what a look at all jobs finds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cosimlib.kernels import tournament
from cosimlib.kernels.backfilling import STEP
from cosimlib.kernels.tournament import NOBODY, ROOT

PLACES = st.integers(1, 40)
NODES, TIMES = st.integers(1, 6), st.integers(1, 6).map(float)
CHANGES = st.lists(st.tuples(st.integers(0, 39), st.none() | st.tuples(NODES, TIMES)))


def tree_of(places):
    """A tree with so many leaves, whose jobs are their places, and the number of its first leaf."""
    width = 1 << (places - 1).bit_length()
    tree = tournament.empty(places)
    for place in range(width):
        tree[width + place] = NOBODY, np.inf, place
    tournament.build(tree, width)
    return tree, width


@given(PLACES, CHANGES, NODES, TIMES, NODES)
def test_the_next_job_that_fits_is_that_of_a_plain_search(places, changes, free, latest, extra):
    tree, width = tree_of(places)
    jobs = {}
    for place, asked in changes:
        if place < places:
            jobs.pop(place, None)
            tournament.put(tree, width + place, *(asked or (NOBODY, np.inf)))
            if asked:
                jobs[place] = asked
    assert tree[ROOT].nodes == min([nodes for nodes, _ in jobs.values()], default=NOBODY)
    fine = [
        place
        for place, (nodes, time) in sorted(jobs.items())
        if nodes <= free and (nodes <= extra or 2.0 + time <= latest)
    ]
    limits = np.array([(latest, extra)], STEP).view(np.recarray)
    found = []
    leaf = tournament.next_fitting(tree, ROOT, free, limits, 1, 2.0)
    while leaf > 0:
        found.append(tree[leaf].job)
        leaf = tournament.next_fitting(tree, tournament.right_of(leaf), free, limits, 1, 2.0)
    assert found == fine


def test_to_the_right_of_a_node():
    assert [tournament.right_of(node) for node in range(1, 8)] == [0, 3, 0, 5, 3, 7, 0]
