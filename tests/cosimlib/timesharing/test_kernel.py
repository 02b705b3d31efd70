"""Rates at every event of a time-shared machine, and what noise takes away."""

import math
from itertools import pairwise

import numba
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlab import twins
from cosimlab.timesharing import with_noise
from cosimlib.audit import audit
from cosimlib.kernels.records import records
from cosimlib.system import System
from cosimlib.timesharing import draw_noise, in_steps, kernel, simulate_timesharing, simulation
from cosimlib.timesharing.kernel import RUN, Series, no_noise, noise_between
from cosimlib.workload import Workload
from tests.cosimlib.timesharing.naive import Shared
from tests.cosimlib.timesharing.test_maxmin import (
    Machine,
    assert_books_are_kept,
    assert_max_min_fair,
)

NO_NOISE = no_noise()


def made(**columns) -> Workload:
    return Workload(pd.DataFrame(columns), "made up")


def events(workload, system, noise=NO_NOISE, step=10.0):
    """The machine after every event, driven by the kernels that the simulator calls."""
    sharing = simulation.sharing_of(workload, system, slots=len(workload))
    run = records(1, RUN, speed=1.0, step=step, spmd=True)[0]
    lists, series = kernel.empty_lists(sharing), Series(0.0, 1e12, np.zeros((1, 3)))
    while (now := kernel.next_instant(sharing, run, noise)) < math.inf:
        kernel.advance(sharing, run, lists, noise, series, np.nextafter(now, math.inf))
        yield now, sharing
    assert run.submitted == len(workload)


@pytest.mark.parametrize(("seed", "step", "noise"), [(0, 10.0, 0), (1, 0.0, 0), (2, 10.0, 0.01)])
def test_rates_at_every_event_are_those_of_filling_from_nothing(seed, step, noise):
    """Edison on 32 nodes for half a day, some events against fractions."""
    workload = twins.edison(0.5, nodes=32, load=1.2, seed=seed)
    workload = in_steps(workload) if step else workload
    drawn = NO_NOISE
    if noise:
        drawn = draw_noise(np.random.default_rng(seed), 32, 0.0, 5_000, 10.0, noise)
    machine, busiest = Machine([[0]], 32), 0
    for event, (_, sharing) in enumerate(events(workload, workload.machine, drawn, step)):
        there = np.flatnonzero(~np.isnan(sharing.jobs.start_time) & np.isnan(sharing.jobs.end_time))
        machine.sharing, machine.running = sharing, set(there.tolist())
        machine.places = {
            job: sharing.members[sharing.jobs.first[job] : sharing.jobs.last[job]].tolist()
            for job in machine.running
        }
        busiest = max(busiest, there.size)
        assert_max_min_fair(machine)
        if event % (20 if noise else 5) == 0:
            assert machine.rates == pytest.approx(machine.expected(), rel=1e-9)
            assert_books_are_kept(machine)
    assert event > len(workload) and busiest > 5


def test_a_run_is_what_its_events_are():
    workload = in_steps(twins.edison(1, nodes=32, seed=4))
    schedule = audit(simulate_timesharing(workload, workload.machine))
    *_, (_, sharing) = events(workload, workload.machine)
    assert sharing.jobs.start_time.tolist() == schedule.start_time.tolist()
    assert sharing.jobs.end_time.tolist() == schedule.end_time.tolist()
    assert sharing.members.tolist() == schedule.members.tolist()


def test_many_jobs_on_one_node_find_room():
    """More than the rows that a node begins with have, in one instant and one by one."""
    n = 3 * simulation.SLOTS
    for submit in ([0.0] * n, np.arange(n) * 10.0):
        for spmd in (True, False):
            jobs = made(submit_time=submit, run_time=[5_000] * n, nodes=[2] * n)
            schedule = audit(simulate_timesharing(jobs, System.of(2), spmd=spmd))
            assert (schedule.start_time == schedule.jobs["submit_time"]).all()
            work = 5_000 * n
            assert work <= schedule.end_time.max() <= work + 10 + n


# --- noise ------------------------------------------------------------------------------------


@given(st.integers(1, 20), st.integers(1, 60), st.sampled_from([0, 0.001, 0.3, 1.0]))
@settings(max_examples=60)
def test_noise_strikes_a_node_at_most_once_a_step(nodes, steps, p):
    noise = draw_noise(np.random.default_rng(nodes), nodes, 50.0, steps, 5.0, p)
    step = (noise.time - 50.0) / 5.0
    assert (step % 1 == 0).all() and (step >= 0).all() and (step < steps).all()
    place = step * nodes + noise.node
    assert (np.diff(place) > 0).all()
    assert ((noise.node >= 0) & (noise.node < nodes)).all()
    assert ((noise.speed >= 0.5) & (noise.speed <= 1)).all()
    if p in (0, 1):
        assert noise.time.size == p * nodes * steps


@pytest.mark.parametrize("p", [0.001, 0.1, 0.6])
def test_noise_strikes_as_often_as_it_should(p):
    n = 400_000
    noise = draw_noise(np.random.default_rng(0), 100, 0.0, n // 100, 10.0, p)
    sigma = math.sqrt(n * p * (1 - p))
    assert abs(noise.time.size - n * p) < 4 * sigma
    assert np.bincount(noise.node, minlength=100).std() < 1.3 * math.sqrt(n / 100 * p * (1 - p))
    assert abs(noise.speed.mean() - 0.75) < 4 * math.sqrt(1 / 48 / noise.time.size)


@pytest.mark.parametrize("p", [5e-324, 1e-300, 1e-19, 1e-18])
def test_noise_that_never_strikes_is_drawn_too(p):
    """Gaps between strikes are then longer than any number of 64 bits, and so are their sums."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        assert draw_noise(rng, 5_576, 0.0, 43_200, 10.0, p).time.size == 0
    jobs = made(submit_time=[0, 5], run_time=[100, 100], nodes=[2, 1])
    schedule = simulate_timesharing(jobs, System.of(2), noise=p)
    noise_free = simulate_timesharing(jobs, System.of(2))
    assert schedule.end_time.tolist() == noise_free.end_time.tolist()
    assert with_noise(jobs, noise=p).jobs["run_time"].tolist() == [100, 100]


def slowest(nodes, p):
    """Expected speed of the slowest of some nodes, uniform in [0.5, 1] with probability p."""
    return 0.5 + (1 - (1 - p) ** (nodes + 1)) / (2 * p * (nodes + 1))


@pytest.mark.parametrize("p", [0.001, 0.05, 1.0])
@pytest.mark.parametrize("nodes", [1, 8])
@pytest.mark.parametrize("spmd", [True, False])
def test_noise_takes_its_share(p, nodes, spmd):
    """A job alone on all nodes is as slow as its slowest node, or loses a quarter where slowed."""
    steps = 4_000 if numba.config.DISABLE_JIT else 40_000
    jobs = made(submit_time=[0], run_time=[10 * steps], nodes=[nodes])
    schedule = simulate_timesharing(jobs, System.of(nodes), noise=p, spmd=spmd, seed=3)
    speed = slowest(nodes, p) if spmd else 1 - p / 4
    expected = 10 * steps / speed
    scatter = 10 * math.sqrt(steps * p * nodes) * 0.6
    assert abs(schedule.end_time[0] - expected) < 5 * scatter + 10
    assert schedule.series["utilization"].iloc[:-1].mean() == pytest.approx(speed, abs=0.01)


def test_without_noise_no_seed_matters_and_with_it_a_seed_makes_one_run():
    workload = twins.edison(2, nodes=32, seed=0)
    ends = [
        simulate_timesharing(workload, workload.machine, noise=noise, seed=seed).end_time.tolist()
        for noise, seed in ((None, 0), (0, 1), (0.0, 2), (0.01, 3), (0.01, 3), (0.01, 4))
    ]
    assert ends[0] == ends[1] == ends[2]
    assert ends[3] == ends[4]
    assert ends[3] != ends[5] and ends[3] != ends[0]


def test_noise_is_drawn_for_every_step_once(monkeypatch):
    """Stretch by stretch, also where steps do not divide an hour."""
    rng = np.random.default_rng(0)
    for step in (10.0, 7.0, 0.7, 5_000.0):
        edges = 3_600.0 * np.arange(9)
        drawn = [noise_between(rng, 1, *both, step, 1.0).time for both in pairwise(edges)]
        times = np.concatenate(drawn)
        expected = step * np.arange(math.ceil(edges[-1] / step - 1e-9))
        np.testing.assert_allclose(times, expected, rtol=1e-12)
    jobs = made(submit_time=[0, 0], run_time=[50_000] * 2, nodes=[4, 4])
    monkeypatch.setattr(simulation, "MOST_SLOWDOWNS", 1)
    schedule = simulate_timesharing(jobs, System.of(4), noise=1.0, step=7.0)
    assert schedule.end_time.max() == pytest.approx(100_000 / slowest(4, 1.0), rel=0.01)


def test_noise_on_an_idle_machine_is_passed_over():
    """Two jobs a day apart on slow nodes: instants are theirs, none of the 8,630 steps between."""
    jobs = made(submit_time=[0.0, 86_400.0], run_time=[100.0, 50.0], nodes=[1, 2])
    system = System.of(2)
    noise = draw_noise(np.random.default_rng(1), 2, 0.0, 9_000, 10.0, 0.9)
    *instants, (last, sharing) = events(jobs, system, noise)
    assert len(instants) < 40 and last == sharing.jobs.end_time[1]
    steps = np.isin(noise.time, [*np.arange(0, 1e3, 10), *np.arange(86_400, 86_900, 10)])
    near = zip(noise.time[steps], noise.node[steps], noise.speed[steps], strict=True)
    slow = Shared(jobs.jobs, 2, step=10.0, noise=list(near))
    assert sharing.jobs.end_time.tolist() == [float(slow.ends[job]) for job in (0, 1)]
