"""Time-sharing against the slow version, closed forms, and what must not change."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.audit import audit
from cosimlib.system import System
from cosimlib.timesharing import draw_noise, simulate_timesharing
from cosimlib.workload import Workload
from tests.cosimlib.timesharing.naive import Shared

NODES = 5
MEMORY = 4.0
SYSTEM = replace(System.of(NODES), memory_per_node=MEMORY)
QUEUE = st.sampled_from(["first_fit", "fcfs"])


def made(**columns) -> Workload:
    return Workload(pd.DataFrame(columns), "made up")


@st.composite
def placed_jobs(draw, max_jobs=10, memory=True):
    """Jobs on whole seconds, some of no length, many at one instant, and nodes for each of them."""
    n = draw(st.integers(1, max_jobs))
    numbers = st.lists(st.integers(0, 90), min_size=n, max_size=n)
    where = st.lists(st.integers(0, NODES - 1), min_size=1, unique=True)
    placement = draw(st.lists(where, min_size=n, max_size=n))
    quarters = st.sampled_from([0, 1, 3, 6, 10, 16, None] if memory else [0])
    jobs = {
        "submit_time": sorted(draw(numbers)),
        "run_time": draw(numbers),
        "nodes": [len(nodes) for nodes in placement],
        "memory": [
            math.nan if part is None else part / 16 * MEMORY
            for part in draw(st.lists(quarters, min_size=n, max_size=n))
        ],
    }
    return made(**jobs), [np.array(nodes) for nodes in placement]


def uneven(workload: Workload) -> Workload:
    """The same jobs with run times that no two sums have in common, so that nothing ties."""
    jobs = workload.jobs
    odd = np.sqrt([number for number in range(2, 200) if all(number % p for p in range(2, number))])
    return Workload(jobs.assign(run_time=jobs["run_time"] + odd[: len(jobs)]), workload.name)


def assert_agree(schedule, slow, places=True):
    jobs = range(len(schedule.workload))
    np.testing.assert_allclose(
        schedule.start_time, [float(slow.starts[j]) for j in jobs], rtol=1e-12, atol=1e-7
    )
    np.testing.assert_allclose(
        schedule.end_time, [float(slow.ends[j]) for j in jobs], rtol=1e-12, atol=1e-7
    )
    for job in jobs if places else ():
        assert schedule.nodes_of(job).tolist() == slow.where[job]


@given(
    placed_jobs(), st.sampled_from([1, 10, 7.5]), QUEUE, st.booleans(), st.sampled_from([0, 0.125])
)
@settings(max_examples=60)
def test_steps_agree_with_the_slow_version(given_jobs, step, queue, spmd, overhead):
    workload, _ = given_jobs
    knobs = {"step": step, "queue": queue, "spmd": spmd, "overhead": overhead}
    schedule = audit(simulate_timesharing(workload, SYSTEM, **knobs))
    assert_agree(schedule, Shared(workload.jobs, NODES, memory=MEMORY, **knobs))


@given(placed_jobs(), QUEUE, st.booleans())
@settings(max_examples=50)
def test_exact_times_agree_with_the_slow_version(given_jobs, queue, spmd):
    workload, _ = given_jobs
    workload = uneven(workload)
    knobs = {"step": None, "queue": queue, "spmd": spmd}
    schedule = audit(simulate_timesharing(workload, SYSTEM, **knobs))
    assert_agree(schedule, Shared(workload.jobs, NODES, memory=MEMORY, **knobs))


@given(placed_jobs(memory=False), st.booleans())
@settings(max_examples=60)
def test_a_given_placement_is_kept(given_jobs, spmd):
    workload, placement = given_jobs
    knobs = {"step": None, "spmd": spmd, "placement": placement}
    schedule = audit(simulate_timesharing(workload, System.of(NODES), **knobs))
    assert_agree(schedule, Shared(workload.jobs, NODES, **knobs))


@given(placed_jobs(), QUEUE)
@settings(max_examples=40)
def test_a_given_placement_waits_for_memory_on_its_own_nodes(given_jobs, queue):
    workload, placement = given_jobs
    knobs = {"step": 10, "placement": placement, "queue": queue}
    schedule = audit(simulate_timesharing(workload, SYSTEM, **knobs))
    assert_agree(schedule, Shared(workload.jobs, NODES, memory=MEMORY, **knobs))


@given(placed_jobs(), st.sampled_from([0.05, 0.5, 1.0]), st.integers(0, 9), st.booleans(), QUEUE)
@settings(max_examples=30)
def test_noise_agrees_with_the_slow_version(given_jobs, noise, seed, spmd, queue):
    workload, _ = given_jobs
    knobs = {"step": 10.0, "spmd": spmd, "queue": queue}
    schedule = audit(simulate_timesharing(workload, SYSTEM, noise=noise, seed=seed, **knobs))
    # As the simulator draws it: five days at once.
    drawn = draw_noise(np.random.default_rng(seed), NODES, 0.0, 43_200, 10.0, noise)
    early = drawn.time < 30_000
    slowed = zip(drawn.time[early], drawn.node[early], drawn.speed[early], strict=True)
    slow = Shared(workload.jobs, NODES, memory=MEMORY, noise=list(slowed), **knobs)
    assert slow.now < 30_000
    assert_agree(schedule, slow)


@given(placed_jobs(), st.booleans(), st.sampled_from([0, 0.25]))
@settings(max_examples=40)
def test_series_are_what_the_slow_version_logs(given_jobs, spmd, overhead):
    """In steps of ten minutes, so that there are several hours."""
    workload, _ = given_jobs
    times = ["submit_time", "run_time"]
    long = Workload(workload.jobs.assign(**{t: 200 * workload.jobs[t] for t in times}))
    knobs = {"step": 600, "spmd": spmd, "overhead": overhead}
    series = simulate_timesharing(long, SYSTEM, **knobs).series
    means = np.array(Shared(long.jobs, NODES, memory=MEMORY, **knobs).means(3_600)).reshape(-1, 3)
    expected = means / [NODES, NODES, 1]
    busy = np.flatnonzero(expected.any(axis=1))
    assert len(series) == (busy[-1] + 1 if busy.size else 0)
    np.testing.assert_allclose(series.to_numpy(), expected[: len(series)], atol=1e-9)


@given(placed_jobs(), st.booleans(), st.sampled_from([None, 10.0]), st.sampled_from([0.5, 4, 1000]))
@settings(max_examples=40)
def test_scaled_times_scale_everything(given_jobs, spmd, step, factor):
    workload, _ = given_jobs
    workload = uneven(workload)
    times = ["submit_time", "run_time"]
    scaled = Workload(workload.jobs.assign(**{t: factor * workload.jobs[t] for t in times}))
    first = simulate_timesharing(workload, SYSTEM, spmd=spmd, step=step)
    other = simulate_timesharing(scaled, SYSTEM, spmd=spmd, step=step and factor * step)
    for name in ("start_time", "end_time"):
        np.testing.assert_allclose(getattr(other, name), factor * getattr(first, name), rtol=1e-9)
    assert other.members.tolist() == first.members.tolist()


@given(placed_jobs(memory=False), st.floats(0, 0.9), st.booleans())
@settings(max_examples=40)
def test_overhead_makes_everything_longer_by_its_factor(given_jobs, overhead, spmd):
    """All jobs at once: a node that does less does the same, later."""
    workload, placement = given_jobs
    at_once = Workload(workload.jobs.assign(submit_time=0.0))
    knobs = {"placement": placement, "step": None, "spmd": spmd}
    free, loaded = (
        simulate_timesharing(at_once, System.of(NODES), overhead=part, **knobs)
        for part in (0.0, overhead)
    )
    np.testing.assert_allclose(loaded.end_time * (1 - overhead), free.end_time, rtol=1e-9)


@given(placed_jobs(memory=False), st.booleans(), st.integers(0, 50))
@settings(max_examples=40)
def test_on_an_empty_system_a_job_runs_alone_and_as_long_as_it_is(given_jobs, spmd, later):
    workload, _ = given_jobs
    jobs = workload.jobs.assign(submit_time=100 * np.arange(len(workload)) + later)
    alone = simulate_timesharing(Workload(jobs), SYSTEM, spmd=spmd, step=None)
    assert alone.start_time.tolist() == jobs["submit_time"].tolist()
    np.testing.assert_allclose(alone.end_time, jobs["submit_time"] + jobs["run_time"], rtol=1e-12)
    assert all(alone.nodes_of(j).tolist() == list(range(jobs["nodes"][j])) for j in jobs.index)


@given(placed_jobs(), QUEUE, st.sampled_from([None, 10.0]))
@settings(max_examples=60)
def test_memory_is_never_exceeded_and_the_queue_keeps_its_order(given_jobs, queue, step):
    workload, _ = given_jobs
    schedule = simulate_timesharing(uneven(workload), SYSTEM, queue=queue, step=step)
    needs = workload.jobs["memory"].fillna(0.0).to_numpy()
    for job, now in enumerate(schedule.start_time):
        there = (schedule.start_time <= now) & (schedule.end_time > now)
        for node in schedule.nodes_of(job):
            on = [other for other in np.flatnonzero(there) if node in schedule.nodes_of(other)]
            assert needs[on].sum() <= MEMORY
    if queue == "fcfs":
        assert (np.diff(schedule.start_time) >= 0).all()
    else:
        waited = schedule.start_time > schedule.workload.jobs["submit_time"].to_numpy()
        assert (needs[waited] > 0).all()


# --- closed forms -----------------------------------------------------------------------------


def test_the_papers_example_of_a_quarter_and_three_quarters():
    """Four jobs crowd node 0, one of them is on node 1 as well: beside it there are 3/4 free."""
    jobs = made(submit_time=[0] * 5, run_time=[100.0] * 5, nodes=[1, 1, 1, 2, 1])
    placement = [np.array(nodes) for nodes in ([0], [0], [0], [0, 1], [1])]
    schedule = simulate_timesharing(jobs, System.of(2), placement=placement, step=None)
    np.testing.assert_allclose(schedule.end_time, [400, 400, 400, 400, 400 / 3], rtol=1e-12)
    # Not SPMD: a quarter of one and half of the other node, 3/8 on average, then (1/4 + 1) / 2.
    equal = simulate_timesharing(jobs, System.of(2), placement=placement, step=None, spmd=False)
    assert equal.end_time[4] == pytest.approx(200)
    assert equal.end_time[3] == pytest.approx(200 + (100 - 3 / 8 * 200) / (5 / 8))


@given(st.lists(st.integers(1, 1_000), min_size=1, max_size=20), st.sampled_from([0, 0.5]))
def test_one_node_is_processor_sharing(run_times, overhead):
    """All at once: the job of rank k ends once the k shorter ones and k-fold the rest are done."""
    jobs = made(submit_time=[0] * len(run_times), run_time=run_times, nodes=[1] * len(run_times))
    for spmd in (True, False):
        schedule = simulate_timesharing(jobs, System.of(1), step=None, spmd=spmd, overhead=overhead)
        expected = [sum(min(mine, other) for other in run_times) for mine in run_times]
        np.testing.assert_allclose(
            schedule.end_time, np.array(expected) / (1 - overhead), rtol=1e-9
        )


def test_the_least_loaded_nodes_are_taken_and_ties_go_to_the_lowest_number():
    jobs = made(submit_time=range(5), run_time=[1000] * 5, nodes=[2, 1, 2, 1, 3])
    schedule = simulate_timesharing(jobs, System.of(4), step=1)
    placed = [schedule.nodes_of(job).tolist() for job in range(5)]
    assert placed == [[0, 1], [2], [0, 3], [1], [0, 2, 3]]


def test_nodes_without_the_memory_are_passed_over():
    jobs = made(
        submit_time=[0] * 4,
        run_time=[50, 90, 70, 10],
        nodes=[1, 2, 1, 3],
        memory=[3.0, 1.0, 2.0, 1.5],
    )
    system = replace(System.of(3), memory_per_node=4.0)
    schedule = simulate_timesharing(jobs, system, step=None)
    assert [schedule.nodes_of(job).tolist() for job in range(4)] == [[0], [1, 2], [1], [0, 1, 2]]
    assert schedule.start_time.tolist() == [0, 0, 0, 140]
