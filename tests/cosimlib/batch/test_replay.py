"""Replays of starts in a given order: against the slow version, and laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosimlib.batch import simulate_conservative, simulate_easy, simulate_fcfs, simulate_first_fit
from cosimlib.batch.replay import NOBODY, free_before, overtakers, replay_starts
from cosimlib.system import System
from tests.cosimlib.batch import naive
from tests.strategies import workloads

NODES = 8
NO_WINDOWS = np.zeros((0, 3))


def run(order, jobs, nodes, closed=NO_WINDOWS, **knobs):
    """Starts of jobs given as dicts."""
    columns = {name: np.array([job[name] for job in jobs]) for name in jobs[0]}
    return replay_starts(np.array(order), total_nodes=nodes, closed=closed, **columns, **knobs)


def plain(earliest, run_time, nodes, **others):
    """A job without a lag that follows nobody."""
    job = {"earliest": earliest, "run_time": run_time, "nodes": nodes, "lag": 0.0, "latest": np.inf}
    return {**job, "follows": NOBODY, "after_end": False, **others}


@st.composite
def replays(draw):
    """Order, jobs, windows, and whether the order is strict."""
    n, times = draw(st.integers(1, 9)), st.integers(0, 12)
    order = draw(st.permutations(range(n)))
    jobs: list = [None] * n
    for place, number in enumerate(order):
        led = draw(st.sampled_from([NOBODY, *order[:place]]))
        jobs[number] = plain(
            float(draw(times)),
            float(draw(st.integers(0, 9))),
            draw(st.integers(1, NODES)),
            lag=float(draw(st.integers(0, 4))),
            latest=float(draw(st.integers(0, 30))),
            follows=led,
            after_end=draw(st.booleans()),
        )
    windows = []
    for begin in draw(st.lists(st.integers(0, 30), max_size=2, unique=True)):
        windows.append((float(begin), begin + draw(st.integers(1, 6)), draw(st.integers(1, 4))))
    return order, jobs, windows, draw(st.booleans())


@given(replays())
def test_a_replay_agrees_with_the_slow_version(drawn):
    order, jobs, windows, strict = drawn
    closed = np.array(windows, dtype=float).reshape(-1, 3)
    found = run(order, jobs, NODES, closed, strict=strict)
    assert found.tolist() == naive.replay_starts(order, jobs, NODES, windows, strict)


def test_a_lag_begins_when_nodes_are_free_and_ends_at_the_latest_moment():
    first = plain(0.0, 10.0, 2)
    assert run([0, 1], [first, plain(1.0, 5.0, 1, lag=3.0)], 2).tolist() == [0.0, 13.0]
    cut = plain(1.0, 5.0, 1, lag=3.0, latest=11.0)
    assert run([0, 1], [first, cut], 2).tolist() == [0.0, 11.0]
    late = plain(1.0, 5.0, 1, lag=3.0, latest=4.0)
    assert run([0, 1], [first, late], 2).tolist() == [0.0, 10.0]


def test_jobs_follow_a_start_or_an_end():
    led = plain(2.0, 10.0, 1)
    after = [plain(0.0, 1.0, 1, follows=0), plain(0.0, 1.0, 1, follows=0, after_end=True)]
    assert run([0, 1, 2], [led, *after], 4).tolist() == [2.0, 2.0, 12.0]


SIMULATORS = {
    "EASY": simulate_easy,
    "conservative": simulate_conservative,
    "first fit": simulate_first_fit,
    "FCFS": simulate_fcfs,
}


def recorded(workload, start):
    """Order and jobs of a schedule, each with a lag and a latest moment."""
    jobs = [
        plain(job.submit_time, job.run_time, job.nodes, lag=2.0, latest=begun)
        for job, begun in zip(workload.jobs.itertuples(), start, strict=True)
    ]
    return np.argsort(start, kind="stable").tolist(), jobs


@pytest.mark.parametrize("policy", SIMULATORS)
@given(workload=workloads(max_nodes=NODES), strict=st.booleans())
def test_no_job_starts_later_than_recorded_on_the_same_nodes(policy, workload, strict):
    start = SIMULATORS[policy](workload, System.of(NODES)).start_time
    order, jobs = recorded(workload, start)
    assert (run(order, jobs, NODES, strict=strict) <= start).all()


@pytest.mark.parametrize("policy", ["EASY", "FCFS"])
@given(workload=workloads(max_nodes=NODES), more=st.integers(1, 6))
def test_more_nodes_delay_nobody_in_a_strict_order(policy, workload, more):
    start = SIMULATORS[policy](workload, System.of(NODES)).start_time
    order, jobs = recorded(workload, start)
    fewer = run(order, jobs, NODES, strict=True)
    assert (run(order, jobs, NODES + more, strict=True) <= fewer).all()


@given(workload=workloads(max_nodes=NODES))
def test_a_strict_replay_of_fcfs_is_fcfs_on_any_machine(workload):
    start = simulate_fcfs(workload, System.of(NODES)).start_time
    order, jobs = recorded(workload, start)
    jobs = [{**job, "lag": 0.0} for job in jobs]
    for nodes in (NODES, NODES + 3):
        truth = simulate_fcfs(workload, System.of(nodes)).start_time
        assert run(order, jobs, nodes, strict=True).tolist() == truth.tolist()


@given(workload=workloads(max_nodes=NODES), closing=st.integers(0, 4))
def test_free_seconds_agree_with_the_slow_version(workload, closing):
    schedule = simulate_easy(workload, System.of(NODES))
    jobs = workload.jobs
    columns = (
        jobs["submit_time"].to_numpy(),
        schedule.start_time,
        schedule.end_time,
        jobs["nodes"].to_numpy(),
    )
    windows = [(5.0, 15.0, closing)]
    at_last, in_all = free_before(*columns, NODES, np.array(windows))
    expected = naive.free_before(list(zip(*columns, strict=True)), NODES, windows)
    assert list(zip(at_last.tolist(), in_all.tolist(), strict=True)) == expected


@given(st.lists(st.integers(0, 2), min_size=1, max_size=12), st.randoms())
def test_overtakers_agree_with_the_slow_version(kind, random):
    position = list(range(len(kind)))
    random.shuffle(position)
    found = overtakers(np.array(position), np.array(kind))
    assert found.tolist() == naive.overtakers(position, kind)
