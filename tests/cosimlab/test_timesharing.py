"""Batch in steps and under noise."""

import math
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cosimlab import twins
from cosimlab.timesharing import simulate_batch, with_noise
from cosimlib.batch import simulate_easy
from cosimlib.system import System
from cosimlib.timesharing import in_steps, simulate_timesharing
from cosimlib.workload import InvalidWorkloadError, Workload
from tests.strategies import workloads

DAY, HOUR = 86_400.0, 3_600.0


def made(**columns) -> Workload:
    return Workload(pd.DataFrame(columns), "made up")


def slow_steps(run_time, nodes, p, spmd, rng):
    """Steps of 10 s that a job takes: each node is slowed or not in each step, one by one."""
    left, steps = run_time / 10, 0
    while left > 1e-9:
        slowed = rng.random(nodes) < p
        speed = np.where(slowed, rng.uniform(0.5, 1.0, nodes), 1.0)
        left -= speed.min() if spmd else speed.mean()
        steps += 1
    return steps


@pytest.mark.parametrize("spmd", [True, False])
@pytest.mark.parametrize(
    ("run_time", "nodes", "p"),
    [(200, 1, 0.2), (300, 6, 0.05), (155, 40, 0.02), (90, 3, 0.7), (100, 5, 1.0), (15, 8, 0.1)],
)
def test_noise_lengthens_as_a_plain_simulation_of_steps_and_nodes(run_time, nodes, p, spmd):
    many = 1_500
    same = made(submit_time=[0.0] * many, run_time=[run_time] * many, nodes=[nodes] * many)
    ours = with_noise(same, noise=p, spmd=spmd, seed=1).jobs["run_time"].to_numpy() / 10
    rng = np.random.default_rng(2)
    slow = np.array([slow_steps(run_time, nodes, p, spmd, rng) for _ in range(many)])
    assert (ours % 1 == 0).all() and ours.min() >= math.ceil(run_time / 10)
    sigma = math.sqrt((ours.var() + slow.var()) / many)
    assert abs(ours.mean() - slow.mean()) < 4 * sigma + 1e-9
    assert stats.ks_2samp(ours, slow, method="asymp").pvalue > 1e-3


@given(workloads(), st.booleans(), st.sampled_from([None, 0, 0.0]))
def test_without_noise_runs_are_rounded_up_to_steps(workload, spmd, noise):
    run_time = with_noise(workload, noise=noise, spmd=spmd, step=5).jobs["run_time"]
    assert run_time.tolist() == (np.ceil(workload.jobs["run_time"] / 5) * 5).tolist()


PAPER = """
  submit_time run_time requested_time nodes  paper easy
            0      100            100     3      0    0
            0       50             50     4    100  100
            0      100            100     1    150    0
            0       90             90     1      0  150
            0       90             90     1    150  150
"""  # four nodes: job 2 asks for just as long as job 1, the head, must wait


def test_a_job_overtakes_if_it_asks_for_less_than_the_head_must_wait():
    """The words of the paper: less, so that a job that ends at the head's start does not."""
    table = pd.read_csv(StringIO(PAPER), sep=r"\s+")
    jobs = Workload(table.drop(columns=["paper", "easy"]), "golden")
    assert simulate_batch(jobs, System.of(4)).start_time.tolist() == table["paper"].tolist()
    easy = simulate_batch(jobs, System.of(4), extra_nodes=True)
    assert easy.start_time.tolist() == table["easy"].tolist()


@given(workloads(overruns=True), st.sampled_from([None, 0.2]), st.booleans(), st.booleans())
@settings(max_examples=40)
def test_batch_is_easy_on_lengthened_jobs(workload, noise, spmd, extra_nodes):
    knobs = {"noise": noise, "spmd": spmd, "step": 2, "seed": 3}
    schedule = simulate_batch(workload, System.of(8), extra_nodes=extra_nodes, **knobs)
    stepped = in_steps(workload, 2)
    easy = simulate_easy(with_noise(stepped, **knobs), System.of(8), extra_nodes=extra_nodes)
    assert schedule.start_time.tolist() == easy.start_time.tolist()
    assert schedule.end_time.tolist() == easy.end_time.tolist()
    pd.testing.assert_frame_equal(schedule.workload.jobs, stepped.jobs)
    assert (schedule.start_time % 2 == 0).all() and (schedule.end_time % 2 == 0).all()


def test_batch_says_what_it_is():
    workload = made(submit_time=[0], run_time=[10], requested_time=[10], nodes=[1])
    names = [
        simulate_batch(workload, System.of(1), **knobs).policy
        for knobs in (
            {},
            {"noise": 0.1},
            {"spmd": False, "noise": 0.1},
            {"spmd": False},
            {"extra_nodes": True, "noise": 0.1},
        )
    ]
    assert names == [
        "batch",
        "batch (noise)",
        "batch (not SPMD, noise)",
        "batch (not SPMD)",
        "batch (extra nodes, noise)",
    ]
    with pytest.raises(ValueError, match="extra_nodes=1; expected True or False"):
        simulate_batch(workload, System.of(1), extra_nodes=1)


def test_a_seed_makes_one_run():
    workload = twins.edison(1, nodes=64)
    runs = [with_noise(workload, noise=0.01, seed=seed).jobs["run_time"] for seed in (1, 1, 2)]
    assert runs[0].equals(runs[1]) and not runs[0].equals(runs[2])


@pytest.mark.parametrize("spmd", [True, False])
def test_a_job_alone_feels_the_same_noise_in_batch_and_time_shared(spmd):
    jobs = made(submit_time=[0], run_time=[300_000], requested_time=[1e6], nodes=[8])
    ends = [
        simulate(jobs, System.of(8), noise=0.02, spmd=spmd).end_time[0]
        for simulate in (simulate_batch, simulate_timesharing)
    ]
    assert ends[0] == pytest.approx(ends[1], rel=0.003 if spmd else 0.0005)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"noise": 1.5}, "noise=1.5; expected a probability from 0 to 1, or None"),
        ({"step": 0}, "step=0; expected seconds above 0"),
        ({"step": None}, "step=None"),
        ({"spmd": "no"}, "spmd='no'; expected True or False"),
    ],
    ids=str,
)
def test_knobs_out_of_range_say_what_was_expected(wrong, message):
    workload = made(submit_time=[0], run_time=[10], requested_time=[10], nodes=[1])
    for run in (
        lambda: simulate_batch(workload, System.of(1), **wrong),
        lambda: with_noise(workload, **wrong),
    ):
        with pytest.raises(ValueError, match=f"^{message}"):
            run()


def test_batch_needs_requested_times():
    with pytest.raises(InvalidWorkloadError, match="made up: job 0 has no requested_time"):
        simulate_batch(made(submit_time=[0], run_time=[10], nodes=[1]), System.of(1))
