"""The Gymnasium environment: its spaces, its masks, its rewards, its episodes."""

import warnings

import gymnasium
import numpy as np
import pandas as pd
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st

from cosimlab.gym import HORIZONS, BatchEnv
from cosimlib.audit import audit
from cosimlib.batch.simulation import simulate
from cosimlib.metrics import bounded_slowdown
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError, Workload
from tests import pages
from tests.strategies import workloads

first_fit = pages.function(pages.OWN_POLICY, "first_fit")


def of(*rows):
    """A workload of (submit_time, run_time, requested_time, nodes)."""
    columns = ["submit_time", "run_time", "requested_time", "nodes"]
    return Workload(pd.DataFrame(rows, columns=columns), "trial")


def played(environment, choose, **options):
    """Rewards of an episode in which `choose` gets observation and mask and returns an action."""
    observation, info = environment.reset(**options)
    rewards, terminated = [], False
    while not terminated:
        action = choose(observation, info["action_mask"])
        observation, reward, terminated, truncated, info = environment.step(action)
        assert not truncated
        assert environment.observation_space.contains(observation)
        rewards.append(reward)
    return rewards


def first_possible(observation, mask):
    return int(mask.argmax())


@pytest.mark.parametrize(
    ("workload", "system", "message"),
    [("log.swf", System.of(4), "workload is 'log.swf'"), (of((0, 5, 5, 2)), 4, "system is 4")],
)
def test_an_environment_needs_a_workload_and_a_system(workload, system, message):
    with pytest.raises(TypeError, match=f"^{message}; expected a "):
        BatchEnv(workload, system)


def test_gymnasium_makes_an_environment_by_its_id():
    workload = of((0, 5, 5, 2), (1, 9, 9, 3), (1, 2, 4, 1))
    environment = gymnasium.make("cosimlab/Batch-v0", workload=workload, system=System.of(4))
    assert isinstance(environment.unwrapped, BatchEnv)
    assert environment.unwrapped.workload is workload and environment.unwrapped.window == 32
    by_default = gymnasium.make("cosimlab/Batch-v0", window=8, jobs=4)
    assert by_default.unwrapped.system.total_nodes == 128
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(by_default.unwrapped, skip_render_check=True)


def test_gymnasiums_own_checks_pass():
    environment = BatchEnv(of((0, 5, 5, 2), (1, 9, 9, 3), (1, 2, 4, 1)), System.of(4), jobs=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(environment, skip_render_check=True)


@given(workloads(overruns=True), st.integers(1, 4), st.integers(0, 3))
def test_rewards_add_up_to_minus_the_bounded_slowdown(workload, window, seed):
    """Whatever the agent does, and whatever it cannot do."""
    environment = BatchEnv(workload, System.of(8), window=window, jobs=None)
    random = np.random.default_rng(seed)
    rewards = played(environment, lambda seen, mask: int(random.integers(window + 1)))
    schedule = audit(environment.schedule)
    assert sum(rewards) == pytest.approx(1 - bounded_slowdown(schedule).mean())
    assert max(rewards) <= 0


@given(workloads(overruns=True))
def test_who_starts_the_first_that_fits_is_first_fit(workload):
    environment = BatchEnv(workload, System.of(8), jobs=None)
    played(environment, first_possible)
    wanted = simulate(workload, System.of(8), first_fit).start_time
    assert environment.schedule.start_time.tolist() == wanted.tolist()


def test_observations_are_what_the_page_says():
    environment = BatchEnv(
        of((0, 3000, 3600, 3), (0, 9, 60, 2), (59, 9, 604_800, 1), (60, 9, 60, 4)),
        System.of(4),
        window=2,
        jobs=None,
    )
    environment.reset()
    # Once job 0 runs, job 1 does not fit; the next decision is about job 2, at 59 s.
    observation, _, _, _, info = environment.step(0)
    assert info["now"] == 59
    scaled = np.log1p([59, 60, 0, 604_800]) / np.log1p(604_800)
    rows = [[1, scaled[0], scaled[1], 0.5, 0], [1, scaled[2], scaled[3], 0.25, 1]]
    assert observation["waiting"] == pytest.approx(np.array(rows), rel=1e-6)
    shares = [0.25] + [1.0] * (len(HORIZONS) - 1)
    waiting = np.log1p(2) / np.log1p(4)
    assert observation["machine"] == pytest.approx([0.25, waiting, *shares], rel=1e-6)
    assert environment.action_masks().tolist() == [False, True, True]


def test_time_passes_only_while_there_is_something_to_wait_for():
    environment = BatchEnv(of((0, 5, 5, 2), (3, 5, 5, 3)), System.of(4), window=2, jobs=None)
    _, info = environment.reset()
    assert (info["now"], info["action_mask"].tolist()) == (0, [True, False, True])
    _, _, _, _, info = environment.step(2)
    # Both wait, nothing runs and nothing is to come.
    assert (info["now"], info["action_mask"].tolist()) == (3, [True, True, False])
    _, _, _, _, info = environment.step(1)
    assert info["now"] == 8


def test_an_impossible_action_is_taken_for_the_first_possible():
    environment = BatchEnv(of((0, 5, 5, 2), (0, 5, 5, 3)), System.of(4), window=3, jobs=None)
    environment.reset()
    environment.step(2)
    environment.step(0)
    assert environment.schedule.start_time.tolist() == [0, 5]


def test_episodes_are_stretches_of_the_workload_drawn_from_the_seed():
    workload = of(*[(10 * row, 1 + row, 50, 1) for row in range(20)])
    environment = BatchEnv(workload, System.of(4), jobs=5)
    begins = set()
    for seed in range(6):
        rewards = played(environment, first_possible, seed=seed)
        runs = environment.schedule.workload.jobs["run_time"].tolist()
        assert runs == list(np.arange(runs[0], runs[0] + 5))
        assert played(environment, first_possible, seed=seed) == rewards
        begins.add(runs[0])
    assert len(begins) > 2
    played(environment, first_possible, options={"first": 15})
    assert environment.schedule.workload.jobs["run_time"].tolist() == [16, 17, 18, 19, 20]


def test_it_runs_in_gymnasiums_vectors():
    workload = of(*[(10 * row, 25, 50, 2) for row in range(20)])
    vector = gymnasium.vector.SyncVectorEnv([lambda: BatchEnv(workload, System.of(4))] * 2)
    assert vector.reset(seed=1)[0]["waiting"].shape == (2, 32, 5)
    assert vector.step(np.array([0, 0]))[1].shape == (2,)


@pytest.mark.parametrize("use", ["step", "action_masks", "schedule"])
def test_nothing_can_be_done_before_the_first_episode(use):
    environment = BatchEnv(of((0, 5, 5, 2)), System.of(4))
    with pytest.raises(ResetNeeded, match=use + r".* needs an episode; call reset\(\) first"):
        environment.step(0) if use == "step" else np.array(getattr(environment, use)())


def test_a_terminated_episode_takes_no_further_step():
    environment = BatchEnv(of((0, 5, 5, 2)), System.of(4))
    rewards = played(environment, first_possible)
    with pytest.raises(ResetNeeded, match=r"the episode has terminated; call reset\(\) to begin"):
        environment.step(0)
    assert environment.schedule.start_time.tolist() == [0]
    assert played(environment, first_possible) == rewards


def test_a_workload_without_jobs_is_refused():
    with pytest.raises(InvalidWorkloadError, match="trial: no jobs; expected at least one"):
        BatchEnv(of(), System.of(4))


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"window": 0}, "window=0; expected a whole number from 1"),
        ({"tau": 0.0}, "tau=0.0; expected seconds above 0"),
        ({"jobs": 0}, "jobs=0; expected a whole number from 1, or None for all of the workload"),
    ],
)
def test_knobs_out_of_range_are_refused(knobs, message):
    with pytest.raises(ValueError, match=message):
        BatchEnv(of((0, 5, 5, 2), (0, 5, 5, 3)), System.of(4), **({"jobs": 2} | knobs))


def test_actions_and_beginnings_out_of_range_are_refused():
    environment = BatchEnv(of((0, 5, 5, 2), (0, 5, 5, 3)), System.of(4), window=2, jobs=1)
    with pytest.raises(ValueError, match=r"options\['first'\]=2; expected a whole number from 0"):
        environment.reset(options={"first": 2})
    environment.reset()
    with pytest.raises(ValueError, match="action=3; expected a whole number from 0 to 2"):
        environment.step(3)
    with pytest.raises(ValueError, match="1 of the episode's 1 jobs have not started yet"):
        _ = environment.schedule
