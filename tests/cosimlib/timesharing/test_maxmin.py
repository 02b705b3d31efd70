"""Max-min fair rates kept up to date, against progressive filling from nothing."""

from copy import deepcopy
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.audit import InfeasibleScheduleError, audit
from cosimlib.system import System
from cosimlib.timesharing import maxmin, simulate_timesharing
from cosimlib.workload import Workload
from tests.cosimlib.timesharing.naive import filled, parted

NODES, JOBS = 6, 12
CAPACITIES = st.sampled_from([0.5, 0.75, 0.9, 1.0])
PLACES = st.lists(
    st.lists(st.integers(0, NODES - 1), min_size=1, max_size=4, unique=True),
    min_size=JOBS,
    max_size=JOBS,
)
JOB_COMES_OR_GOES = st.tuples(st.just("job"), st.integers(0, JOBS - 1))
NODE_CHANGES = st.tuples(st.just("node"), st.integers(0, NODES - 1), CAPACITIES)
CHANGES = st.lists(
    st.lists(st.one_of(JOB_COMES_OR_GOES, JOB_COMES_OR_GOES, NODE_CHANGES), min_size=1, max_size=4),
    max_size=20,
)


class EqualParts:
    """The kernels of equal parts, by the names of those of max-min fair rates."""

    join = staticmethod(maxmin.join_equally)
    leave = staticmethod(maxmin.leave_equally)


class Machine:
    """Nodes, who runs on them, and the kernels that say how fast."""

    def __init__(self, places, total_nodes=NODES, rule=maxmin):
        self.rule, self.places = rule, places
        first = np.concatenate([[0], np.cumsum([len(nodes) for nodes in places])])
        members = np.concatenate(places).astype(np.int32)
        self.sharing = maxmin.empty(first, members, np.ones(total_nodes), len(places))
        self.running = set()

    def change(self, what, at, capacity=None):
        """A node's capacity, or whether a job is there."""
        if what == "node":
            maxmin.resize(self.sharing, at, capacity, self.rule is maxmin)
        elif at in self.running:
            self.running.remove(at)
            maxmin.record_change(self.sharing, at)
            self.rule.leave(self.sharing, at)
        else:
            self.running.add(at)
            self.rule.join(self.sharing, at)

    @property
    def rates(self):
        return {job: self.sharing.jobs.rate[job] for job in sorted(self.running)}

    def expected(self, rule=filled):
        """The rates by the slow version."""
        capacity = {n: Fraction(float(c)) for n, c in enumerate(self.sharing.nodes.capacity)}
        rates = rule({job: self.places[job] for job in self.running}, capacity)
        return {job: float(rates[job]) for job in sorted(rates)}


def assert_max_min_fair(machine):
    """Nothing is overfull, and every job has a full node on which nobody runs faster."""
    sharing, used = machine.sharing, np.zeros(machine.sharing.nodes.capacity.size)
    for job in machine.running:
        used[machine.places[job]] += sharing.jobs.rate[job]
    assert (used <= sharing.nodes.capacity * (1 + 1e-9)).all()
    fastest = np.zeros(used.size)
    for job in machine.running:
        fastest[machine.places[job]] = np.maximum(
            fastest[machine.places[job]], sharing.jobs.rate[job]
        )
    for job in machine.running:
        places = machine.places[job]
        full = used[places] >= sharing.nodes.capacity[places] * (1 - 1e-9)
        assert (full & (fastest[places] <= sharing.jobs.rate[job] * (1 + 1e-9))).any(), job


def assert_books_are_kept(machine):
    """Levels, bottlenecks, sums and loads say what the rates say."""
    sharing = machine.sharing
    by_load = np.bincount(sharing.nodes.load, minlength=sharing.loads.size)
    assert sharing.loads.nodes.tolist() == by_load.tolist()
    for node in range(sharing.nodes.capacity.size):
        on = [job for job in machine.running if node in machine.places[job]]
        assert sharing.nodes.load[node] == len(on)
        assert sorted(sharing.on[node, : len(on)]) == sorted(on)
        if sharing.nodes.level[node] == np.inf:
            assert sharing.nodes.used[node] == pytest.approx(sum(sharing.jobs.rate[on]), abs=1e-12)
        assert on or sharing.nodes.level[node] == np.inf
    for job in machine.running:
        level = sharing.nodes.level[machine.places[job]].min()
        assert sharing.jobs.rate[job] == pytest.approx(level, rel=1e-9)
        assert sharing.nodes.level[sharing.jobs.bottleneck[job]] == pytest.approx(level, rel=1e-9)
    assert sharing.pending.state.length == 0


def clear_changes(sharing):
    """Begin a new list of jobs whose rate changed, as the event loop does."""
    sharing.jobs.is_changed = False
    sharing.counts.changed = 0


def assert_changes_are_listed(machine, before):
    """Every job whose rate moved is on the list, once, with the rate that it had."""
    sharing = machine.sharing
    listed = sharing.changed[: sharing.counts.changed].tolist()
    assert len(set(listed)) == len(listed)
    assert {job for job, old in enumerate(before) if old != sharing.jobs.rate[job]} <= set(listed)
    assert all(sharing.jobs.before[job] == before[job] for job in listed)
    assert np.flatnonzero(sharing.jobs.is_changed).tolist() == sorted(listed)
    clear_changes(sharing)


@given(PLACES, CHANGES)
@settings(max_examples=150)
def test_settled_rates_are_those_of_filling_from_nothing(places, changes):
    machine = Machine(places)
    for batch in changes:
        before = machine.sharing.jobs.rate.copy()
        for change in batch:
            machine.change(*change)
        maxmin.settle(machine.sharing, maxmin.MOST_ROUNDS)
        assert machine.rates == pytest.approx(machine.expected(), rel=1e-9)
        assert_max_min_fair(machine)
        assert_books_are_kept(machine)
        assert_changes_are_listed(machine, before)


@given(PLACES, CHANGES)
@settings(max_examples=60)
def test_filling_from_nothing_may_take_over_at_any_time(places, changes):
    """Every other batch; what `settle` then finds is what it would have left itself."""
    machine = Machine(places)
    for turn, batch in enumerate(changes):
        before = machine.sharing.jobs.rate.copy()
        for change in batch:
            machine.change(*change)
        if turn % 2:
            maxmin.fill(machine.sharing)
        else:
            maxmin.settle(machine.sharing, maxmin.MOST_ROUNDS)
        assert machine.rates == pytest.approx(machine.expected(), rel=1e-9)
        assert_books_are_kept(machine)
        assert_changes_are_listed(machine, before)


@pytest.mark.parametrize("most_rounds", [0, 1])
def test_a_settling_that_takes_too_long_fills_from_nothing(most_rounds):
    machine, rng = random_machine(60, 8, seed=most_rounds)
    too_long = 0
    for _ in range(120):
        before = machine.sharing.jobs.rate.copy()
        machine.change("job", int(rng.integers(60)))
        machine.change("node", int(rng.integers(8)), rng.uniform(0.5, 1.0))
        too_long += maxmin.settle(machine.sharing, most_rounds) > 8 * most_rounds
        assert machine.rates == pytest.approx(machine.expected(), rel=1e-9)
        assert_books_are_kept(machine)
        assert_changes_are_listed(machine, before)
    assert too_long > 10


def random_machine(jobs, nodes, seed):
    """Jobs of all sizes, most of them small."""
    rng = np.random.default_rng(seed)
    sizes = np.minimum(nodes, np.ceil(np.exp(rng.exponential(1.0, jobs)))).astype(int)
    return Machine([rng.choice(nodes, size, replace=False) for size in sizes], nodes), rng


@pytest.mark.parametrize("seed", [0, 1])
def test_many_jobs_on_many_nodes(seed):
    """Against the kernel that fills from nothing, which small cases have checked."""
    machine, rng = random_machine(400, 50, seed)
    turns = 0
    for _ in range(300):
        machine.change("job", int(rng.integers(400)))
        if rng.random() < 0.3:
            machine.change("node", int(rng.integers(50)), rng.uniform(0.5, 1.0))
        turns += maxmin.settle(machine.sharing, maxmin.MOST_ROUNDS)
        settled = machine.sharing.jobs.rate.copy()
        copied = deepcopy(machine.sharing)
        maxmin.fill(copied)
        np.testing.assert_allclose(settled, copied.jobs.rate, rtol=1e-9)
        clear_changes(machine.sharing)
    assert_max_min_fair(machine)
    assert_books_are_kept(machine)
    # The point of it: a change is settled by a few nodes. Measured: 16.
    assert turns / 300 < 20


def test_a_chain_hands_on_what_its_first_node_frees():
    """Node k has jobs k and k + 1; without job 0 everybody's bottleneck is another one."""
    machine = Machine([[0], *([node, node + 1] for node in range(5)), [5]])
    for job in range(7):
        machine.change("job", job)
    machine.change("node", 0, 0.5)
    maxmin.settle(machine.sharing, maxmin.MOST_ROUNDS)
    quarters = {0: 1 / 4, 1: 1 / 4, 2: 1 / 2, 3: 1 / 2, 4: 1 / 2, 5: 1 / 2, 6: 1 / 2}
    assert machine.rates == pytest.approx(machine.expected())
    assert machine.rates == pytest.approx(quarters)
    machine.change("job", 0)
    maxmin.settle(machine.sharing, maxmin.MOST_ROUNDS)
    assert machine.rates == pytest.approx(dict.fromkeys(range(1, 7), 1 / 2))


@given(PLACES, CHANGES)
@settings(max_examples=60)
def test_equal_parts_are_means_of_parts(places, changes):
    machine = Machine(places, rule=EqualParts)
    for batch in changes:
        before = machine.sharing.jobs.rate.copy()
        for change in batch:
            machine.change(*change)
        assert machine.rates == pytest.approx(machine.expected(parted), rel=1e-9)
        assert_changes_are_listed(machine, before)


def test_who_leaves_a_node_last_leaves_nothing_to_share():
    machine = Machine([[0]], 1, EqualParts)
    machine.change("job", 0)
    with np.errstate(all="raise"):
        machine.change("job", 0)
    assert machine.sharing.nodes.load[0] == 0 and np.isfinite(machine.sharing.nodes.level[0])


# --- several changes at one instant, and rows of jobs that have to grow ---------------------------


def made(*rows, memory=None) -> Workload:
    """Jobs from (submit_time, run_time, nodes)."""
    jobs = pd.DataFrame(rows, columns=["submit_time", "run_time", "nodes"])
    return Workload(jobs if memory is None else jobs.assign(memory=memory), "made")


def test_a_job_does_not_rise_past_a_node_that_filled_up_in_the_same_instant():
    workload = made((0, 3000, 4), (0, 3000, 1), (10, 3000, 2), (10, 3000, 2), (10, 3000, 2))
    placement = [np.array(nodes) for nodes in ([0, 1, 2, 3], [0], [1, 3], [0, 2], [0, 3])]
    schedule = audit(simulate_timesharing(workload, System.of(4), placement=placement))
    assert schedule.end_time[2] - schedule.start_time[2] >= 6000


@pytest.mark.parametrize("others", [30, 31, 32, 33, 63, 64])
def test_a_row_that_must_grow_for_a_queued_job_changes_nothing(others):
    rows = [(0, 1000, 1)] * others + [(0, 10, 1), (0, 1000, 1), (0, 1000, 1)]
    memory = [np.nan] * others + [10.0, 5.0, 5.0]
    system = System("one", {"main": 1}, memory_per_node=10.0)
    schedule = audit(simulate_timesharing(made(*rows, memory=memory), system))
    # All of them together keep the node busy until their work is done, and not much longer.
    assert schedule.start_time[-2:].tolist() == [schedule.end_time[others]] * 2
    assert schedule.end_time.max() <= 1000 * (others + 2) + 20


@pytest.mark.parametrize("step", [0.1, 0.3, 7.0])
def test_noise_lasts_a_step_of_any_length(step):
    workload = made(*[(0, 20 * step, 4)] * 3)
    schedule = simulate_timesharing(workload, System.of(4), noise=0.5, step=step, seed=1)
    assert 60 * step <= schedule.end_time.max() <= 120 * step
    always = simulate_timesharing(workload, System.of(4), noise=1.0, step=step, seed=1)
    assert always.end_time.max() > schedule.end_time.max()


def test_the_audit_sees_a_node_that_does_more_than_it_can():
    schedule = simulate_timesharing(made((0, 1000, 2), (0, 1000, 1), (0, 1000, 1)), System.of(2))
    audit(schedule)
    schedule.end_time[:] = 1000.0
    with pytest.raises(InfeasibleScheduleError, match="does more work than its speed"):
        audit(schedule)
