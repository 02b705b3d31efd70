"""Shares at moments: those of the slow version, and nothing else changes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlab import twins
from cosimlib.audit import audit
from cosimlib.system import System
from cosimlib.timesharing import draw_noise, simulate_timesharing
from tests.cosimlib.timesharing.naive import Shared
from tests.cosimlib.timesharing.test_simulation import (
    MEMORY,
    NODES,
    QUEUE,
    SYSTEM,
    made,
    placed_jobs,
    uneven,
)

MOMENTS = st.lists(
    st.one_of(st.integers(0, 400), st.floats(0, 400), st.sampled_from([0, 10, 2000])), max_size=12
)


def assert_shares(schedule, slow, sample, *, apart=0.0):
    """A row a moment with the slow version's rates, but where it is `apart` from a change."""
    shares = schedule.shares
    assert shares.index.tolist() == sorted(set(sample))
    for moment in shares.index:
        changes = [float(line[0]) for line in slow.log]
        if apart and min((abs(moment - change) for change in changes), default=1.0) < apart:
            continue
        row = shares.loc[moment]
        running = slow.shares(moment)
        assert row[row > 0].index.tolist() == sorted(running)
        np.testing.assert_allclose(
            row[row > 0], [running[job] for job in sorted(running)], rtol=1e-9
        )


@given(placed_jobs(), MOMENTS, st.sampled_from([1, 10, 7.5]), QUEUE, st.booleans())
@settings(max_examples=30)
def test_shares_in_steps_are_those_of_the_slow_version(given_jobs, sample, step, queue, spmd):
    workload, _ = given_jobs
    knobs = {"step": step, "queue": queue, "spmd": spmd, "overhead": 0.125}
    schedule = simulate_timesharing(workload, SYSTEM, sample=sample, **knobs)
    slow = Shared(workload.jobs, NODES, memory=MEMORY, **knobs)
    assert_shares(schedule, slow, sample)
    # Every start and end, too: what happens at a moment has happened.
    edges = [*schedule.start_time, *schedule.end_time]
    assert_shares(simulate_timesharing(workload, SYSTEM, sample=edges, **knobs), slow, edges)


@given(placed_jobs(memory=False), MOMENTS, st.booleans())
@settings(max_examples=20)
def test_shares_in_exact_times_are_those_of_the_slow_version(given_jobs, sample, spmd):
    workload, placement = given_jobs
    workload = uneven(workload)
    knobs = {"step": None, "spmd": spmd, "placement": placement}
    schedule = simulate_timesharing(workload, System.of(NODES), sample=sample, **knobs)
    assert_shares(schedule, Shared(workload.jobs, NODES, **knobs), sample, apart=1e-6)


@given(placed_jobs(), MOMENTS, st.sampled_from([0.05, 0.5, 1.0]), st.integers(0, 9), st.booleans())
@settings(max_examples=15)
def test_shares_under_noise_are_those_of_the_slow_version(given_jobs, sample, noise, seed, spmd):
    workload, _ = given_jobs
    knobs = {"step": 10.0, "spmd": spmd}
    schedule = simulate_timesharing(
        workload, SYSTEM, noise=noise, seed=seed, sample=sample, **knobs
    )
    drawn = draw_noise(np.random.default_rng(seed), NODES, 0.0, 43_200, 10.0, noise)
    early = drawn.time < 30_000
    slowed = zip(drawn.time[early], drawn.node[early], drawn.speed[early], strict=True)
    slow = Shared(workload.jobs, NODES, memory=MEMORY, noise=list(slowed), **knobs)
    assert_shares(schedule, slow, sample)


@pytest.mark.compiled("thousands of jobs that crowd need compiled kernels")
@pytest.mark.parametrize("knobs", [{}, {"noise": 0.001}, {"spmd": False}, {"step": None}], ids=str)
def test_sampling_changes_no_start_no_end_and_no_series(knobs):
    """Over six days, so that moments are in several stretches, and with more jobs than rows."""
    workload = twins.edison(6, nodes=16, load=1.6, seed=1)
    without = simulate_timesharing(workload, workload.machine, **knobs)
    moments = np.linspace(0, 1.2 * without.end_time.max(), 301)
    # The edge of two stretches, just before it and just after.
    edge = 120 * 3_600.0
    moments = [*moments, edge, np.nextafter(edge, 0), np.nextafter(edge, np.inf)]
    schedule = simulate_timesharing(workload, workload.machine, sample=moments, **knobs)
    assert without.shares is None
    for name in ("start_time", "end_time", "members"):
        assert (getattr(schedule, name) == getattr(without, name)).all()
    np.testing.assert_allclose(schedule.series, without.series, rtol=1e-9, atol=1e-12)
    assert schedule.shares.shape[0] == len(set(moments)) == 304
    audit(schedule)


def test_no_moments_and_no_jobs_make_an_empty_frame():
    jobs = made(submit_time=[5], run_time=[100], nodes=[1])
    assert simulate_timesharing(jobs, SYSTEM, sample=[]).shares.shape == (0, 0)
    assert simulate_timesharing(jobs, SYSTEM, sample=[0, 3e9]).shares.shape == (2, 0)
    empty = made(submit_time=[], run_time=[], nodes=[])
    assert simulate_timesharing(empty, SYSTEM, sample=[7]).shares.shape == (1, 0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([0.0, -1], r"sample\[1\]=-1; expected seconds from 0"),
        ([[1, 2]], r"sample\[0\]=\[1, 2\]"),
        (600.0, r"sample=600\.0; expected a sequence of moments in seconds, or None"),
        ("600", r"sample='600'; expected a sequence"),
    ],
    ids=str,
)
def test_moments_that_are_none_are_named(wrong, message):
    jobs = made(submit_time=[0], run_time=[100], nodes=[1])
    with pytest.raises(ValueError, match=f"^{message}"):
        simulate_timesharing(jobs, SYSTEM, sample=wrong)
