"""New holes: where a job that waits finds an earlier start, they had said that one may be."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.kernels import availability, holes
from cosimlib.kernels.holes import LENGTHS, REMEMBERED

pytestmark = pytest.mark.skipif(
    not numba.config.DISABLE_JIT, reason="compiled, these kernels can be called by kernels only"
)
NODES, END, SECONDS = 9, 60, 700
"""All nodes are taken at first, up to `END`; the slow version looks at so many seconds."""


class Machine:
    """A profile and its new holes, the free nodes of every second, and jobs that wait."""

    def __init__(self, kinds):
        self.kinds, self.cells = kinds, np.full(SECONDS, NODES)
        self.profile, self.holes = availability.empty(500, NODES), holes.empty(len(kinds), NODES)
        availability.advance(self.profile, 0.0)
        for kind, (nodes, duration) in enumerate(kinds):
            self.holes.cell[kind] = holes.cell_of(nodes, duration)
        self.change(0, END, -NODES)
        self.start = [END for _ in kinds]
        for kind in range(len(kinds)):
            self.learn(kind)

    def change(self, begin, end, count):
        """Take or give back nodes; places of the first breakpoints at or after both moments."""
        self.cells[begin:end] += count
        return availability.add(self.profile, float(begin), float(end), count)

    def give_back(self, begin, end, count):
        """Open a hole, or widen one; nothing outside the profile's bounds may count."""
        place, after = self.change(begin, end, count)
        times, free, (first, last), _ = self.profile
        times[:first], free[:first] = np.inf, NODES
        there = self.profile._replace(times=times[:last], free=free[:last])
        holes.note(self.holes, there, place, float(begin), after, float(end))
        row = (self.holes.opened[0] - 1) % REMEMBERED
        for nodes_class, hole in enumerate(self.holes_of(begin, end)):
            assert hole[1] == self.holes.end[row, nodes_class]
            assert hole[0] in (self.holes.begin[row, nodes_class], None)

    def holes_of(self, begin, end):
        """For each class of nodes, beginning and end of the hole of what came free; or none."""
        for nodes_class in range(self.holes.begin.shape[1]):
            fits = self.cells >= 1 << nodes_class
            since, until = begin, end
            while fits[begin] and since > 0 and fits[since - 1]:
                since -= 1
            while fits[end - 1] and until < SECONDS and fits[until]:
                until += 1
            found = since, until if until < SECONDS else np.inf
            yield found if fits[begin:end].any() else (None, -np.inf)

    def earliest(self, kind):
        """The first second from which a job fits."""
        nodes, duration = self.kinds[kind]
        busy = np.concatenate([[0], np.cumsum(self.cells < nodes)])
        return int((busy[duration:] == busy[:-duration]).argmax())

    def first_since(self, kind):
        duration = float(self.kinds[kind][1])
        return holes.first_since(self.holes, kind, duration, float(self.start[kind]))

    def learn(self, kind):
        self.start[kind] = self.earliest(kind)
        holes.learn(self.holes, kind, float(self.start[kind]))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_no_job_has_an_earlier_start_before_the_moment_told(seed):
    """Passes look at all kinds in turn; nodes come free before, between and while they do."""
    rng = np.random.default_rng(seed)
    kinds = [(int(rng.integers(1, NODES + 1)), int(rng.integers(1, 24))) for _ in range(4)]
    machine = Machine(kinds)

    def some_come_free(at_most):
        for _ in range(int(rng.integers(at_most + 1))):
            begin = int(rng.integers(END))
            end = min(END, begin + int(rng.integers(1, 20)))
            room = NODES - int(machine.cells[begin:end].max())
            if room > 0:
                machine.give_back(begin, end, int(rng.integers(1, room + 1)))

    for _ in range(6):
        some_come_free(3 if rng.random() < 0.8 else 3 * REMEMBERED)
        holes.begin_pass(machine.holes)
        for kind, (nodes, duration) in enumerate(kinds):
            known, earliest = machine.start[kind], machine.earliest(kind)
            assert earliest >= holes.none_before(machine.holes, kind)
            if earliest < known:
                assert machine.first_since(kind) <= earliest
                assert holes.any_since(machine.holes, kind) <= earliest
            machine.learn(kind)
            assert holes.none_before(machine.holes, kind) == earliest
            if rng.random() < 0.5:
                machine.change(earliest, earliest + duration, -nodes)
            some_come_free(1)
        holes.end_pass(machine.holes)
        if rng.random() < 0.2:
            holes.forget(machine.holes)
            machine.start = [machine.earliest(kind) for kind in range(len(kinds))]
            told = {holes.none_before(machine.holes, kind) for kind in range(len(kinds))}
            assert told == {-np.inf}


def test_a_hole_concerns_jobs_that_it_can_hold():
    """Four nodes from 10 s to 18 s; seven, of the same class, may be there, nine seconds not."""
    kinds = [(4, 8), (1, 1), (3, 3), (4, 9), (7, 3), (8, 1), (4, 16)]
    machine = Machine(kinds)
    machine.give_back(10, 18, 4)
    found = [machine.first_since(kind) for kind in range(len(kinds))]
    assert found == [10.0, 10.0, 10.0, END, 10.0, np.inf, np.inf]
    begin = [holes.any_since(machine.holes, kind) for kind in range(len(kinds))]
    assert begin == [10.0, 10.0, 10.0, 10.0, 10.0, np.inf, 10.0]


def test_a_hole_without_end_is_for_jobs_of_any_length():
    machine = Machine([(4, 8)])
    machine.holes.cell[0] = holes.cell_of(4, np.inf)
    machine.give_back(10, END, 4)
    assert holes.first_since(machine.holes, 0, np.inf, float(END)) == 10.0


def test_holes_that_touch_are_one():
    """Side by side, 5 s to 15 s; what comes free on top, 8 s to 12 s, has nodes of its own."""
    machine = Machine([(2, 10), (4, 4), (4, 5)])
    machine.give_back(5, 10, 2)
    assert machine.first_since(0) == np.inf
    machine.give_back(10, 15, 2)
    assert [machine.first_since(kind) for kind in range(3)] == [5.0, np.inf, np.inf]
    machine.give_back(8, 12, 2)
    assert [machine.first_since(kind) for kind in range(3)] == [5.0, 8.0, END]


def test_of_holes_long_past_only_classes_are_known():
    """A job for 9 s has no hole of 8 s; after too many holes one of its class may be for it."""
    machine = Machine([(4, 9)])
    machine.give_back(10, 18, 4)
    for _ in range(REMEMBERED - 1):
        machine.give_back(30, 31, 0)
    assert machine.first_since(0) == END
    machine.give_back(30, 31, 0)
    assert machine.first_since(0) == 10.0


def test_of_holes_opened_since_a_kind_was_looked_at_each_is_known():
    """However many there were before."""
    machine = Machine([(4, 9)])
    for _ in range(REMEMBERED):
        machine.give_back(30, 31, 0)
    machine.learn(0)
    machine.give_back(10, 18, 4)
    assert machine.first_since(0) == END


def test_nothing_is_known_of_a_kind_at_first():
    assert holes.none_before(holes.empty(1, NODES), 0) == -np.inf


def test_nothing_is_known_of_a_kind_once_holes_are_forgotten():
    """A plan made anew has room from 10 s on, which is no new hole; then it is widened to 5 s."""
    machine = Machine([(4, 8)])
    machine.change(10, 18, 4)
    holes.forget(machine.holes)
    assert machine.first_since(0) == np.inf
    machine.start = [10]
    machine.give_back(5, 10, 4)
    assert machine.first_since(0) == machine.earliest(0) == 5


def test_a_pass_knows_the_holes_of_the_pass_before_and_its_own():
    machine = Machine([(4, 8)])
    machine.give_back(10, 18, 4)
    holes.begin_pass(machine.holes)
    machine.give_back(30, 40, 4)
    assert holes.any_since(machine.holes, 0) == 10.0
    holes.end_pass(machine.holes)
    assert holes.any_since(machine.holes, 0) == 30.0
    holes.begin_pass(machine.holes)
    assert holes.any_since(machine.holes, 0) == 30.0
    holes.end_pass(machine.holes)
    assert holes.any_since(machine.holes, 0) == np.inf


@pytest.mark.parametrize(
    ("nodes", "duration", "cell"),
    [(1, 0.0, 0), (1, 1.9, 0), (1, 2.0, 1), (3, 7.0, LENGTHS + 2), (8, np.inf, 4 * LENGTHS - 1)],
)
def test_classes_of_nodes_and_lengths(nodes, duration, cell):
    assert holes.cell_of(nodes, duration) == cell
