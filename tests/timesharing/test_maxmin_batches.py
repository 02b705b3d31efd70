"""Several jobs that come, go and slow down at one instant, and rows of jobs that have to grow."""

import numpy as np
import pandas as pd
import pytest

from cosimlib.audit import InfeasibleScheduleError, audit
from cosimlib.kernels import heap
from cosimlib.system import System
from cosimlib.timesharing import maxmin, simulate_timesharing
from cosimlib.timesharing.maxmin import Sharing
from cosimlib.workload import Workload


def made(*rows, memory=None) -> Workload:
    """Jobs from (submit_time, run_time, nodes)."""
    jobs = pd.DataFrame(rows, columns=["submit_time", "run_time", "nodes"])
    return Workload(jobs if memory is None else jobs.assign(memory=memory), "made")


def filled(sharing: Sharing) -> np.ndarray:
    """The rates that filling from nothing gives to the same jobs."""
    fields = {name: getattr(sharing, name) for name in Sharing._fields}
    copies = {name: value.copy() for name, value in fields.items() if isinstance(value, np.ndarray)}
    other = Sharing(**copies, pending=heap.empty(sharing.capacity.size))
    maxmin.fill(other)
    return other.jobs.rate


@pytest.mark.parametrize("seed", range(60))
def test_rates_after_joins_leaves_and_slowdowns_at_once_are_those_of_filling(seed):
    rng = np.random.default_rng(seed)
    nodes, n = int(rng.integers(2, 8)), int(rng.integers(10, 60))
    sizes = rng.integers(1, nodes + 1, n)
    first = np.concatenate([[0], np.cumsum(sizes)])
    placed = [rng.permutation(nodes)[:size] for size in sizes]
    members = np.concatenate(placed).astype(np.int32)
    sharing = maxmin.empty(first, members, np.ones(nodes), n)
    here, coming = [], 0
    while coming < n or here:
        new = list(range(coming, min(n, coming + int(rng.integers(0, 7)))))
        coming += len(new)
        gone = [job for job in here if rng.random() < 0.3]
        here = [job for job in here if job not in gone] + new
        for job in gone:
            maxmin.leave(sharing, job)
        for node in np.flatnonzero(rng.random(nodes) < 0.2):
            maxmin.resize(sharing, node, float(rng.uniform(0.3, 1.0)))
        for job in new:
            maxmin.join(sharing, job)
        maxmin.settle(sharing, maxmin.PATIENCE)
        maxmin.clear_changes(sharing)
        expected = filled(sharing)[here]
        np.testing.assert_allclose(sharing.jobs.rate[here], expected, rtol=1e-9)
        used = np.zeros(nodes)
        for job in here:
            used[placed[job]] += sharing.jobs.rate[job]
        assert (used <= sharing.capacity * (1 + 1e-9)).all()


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
