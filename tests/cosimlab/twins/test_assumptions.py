"""What a synthetic Edison assumes: families of run times, correlation, estimates, names."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosimlab import twins
from cosimlab.twins.assumptions import LIKE, RUN_TIMES, Assumptions, correlated, run_times
from cosimlib.synthetic import shapes

UNIFORM = (np.arange(200_000) + 0.5) / 200_000
MEAN = 4_260.0


@pytest.mark.parametrize("family", RUN_TIMES)
@pytest.mark.parametrize("mean", [1_000.0, MEAN, 10_000.0])
def test_every_family_has_the_mean_and_the_limits(family, mean):
    drawn = run_times(UNIFORM, mean, Assumptions(run_times=family, shape=0.9))
    assert drawn.mean() == pytest.approx(mean, rel=1e-3)
    assert drawn.min() >= 10 and drawn.max() <= 48 * 3_600 and (np.diff(drawn) >= 0).all()


def test_maximum_entropy_of_the_logarithm_is_a_tilted_log_uniform_density():
    """Between two lengths the log density falls by their difference over the scale."""
    drawn = run_times(UNIFORM, MEAN, Assumptions())
    edges = np.array([10.0, 100.0, 1_000.0, 10_000.0, 30_000.0, 100_000.0])
    shares = np.histogram(drawn, edges)[0] / drawn.size

    def expected(scale):
        grid = [np.geomspace(low, high, 4_001) for low, high in pairwise(edges)]
        parts = [np.trapezoid(np.exp(-t / scale) / t, t) for t in grid]
        whole = np.geomspace(10.0, 48 * 3_600.0, 40_001)
        return np.array(parts) / np.trapezoid(np.exp(-whole / scale) / whole, whole)

    scales = np.geomspace(1e3, 1e6, 2_000)
    best = scales[np.argmin([np.abs(expected(s)[-1] - shares[-1]) for s in scales[::10]]) * 10]
    assert shares == pytest.approx(expected(best), abs=2e-3)
    assert drawn.mean() / np.median(drawn) == pytest.approx(9.9, abs=0.05)


def test_no_other_family_with_that_mean_has_more_entropy_of_the_logarithm():
    def entropy(family):
        log = np.log(run_times(UNIFORM, MEAN, Assumptions(run_times=family, shape=2.2)))
        share = np.histogram(log, 50, (math.log(10), math.log(48 * 3_600)))[0] / log.size
        return -np.sum(share[share > 0] * np.log(share[share > 0]))

    entropies = {family: entropy(family) for family in RUN_TIMES}
    assert max(entropies, key=entropies.get) == "maximum entropy"


def test_the_log_normal_has_its_shape():
    drawn = run_times(UNIFORM, MEAN, Assumptions(run_times="log-normal", shape=1.0))
    assert np.log(drawn).std() == pytest.approx(1.0, abs=0.02)


@given(correlation=st.floats(-0.9, 0.9), seed=st.integers(0, 99))
def test_sizes_and_run_times_go_together_and_stay_the_same(correlation, seed):
    rng = np.random.default_rng(seed)
    sizes, lengths = rng.permutation(2_000) + 1, rng.permutation(2_000) + 10.0
    ordered = correlated(lengths, sizes, correlation, rng)
    assert np.sort(ordered).tolist() == np.sort(lengths).tolist()
    ranks = np.corrcoef(sizes, ordered)[0, 1]
    assert ranks == pytest.approx(6 / math.pi * math.asin(correlation / 2), abs=0.1)


def test_likes_have_names_and_differ():
    made = {like: twins.edison(2, nodes=64, like=like) for like in LIKE}
    assert made["inputs"].name == "synthetic Edison (64 nodes, 2 days, seed 0)"
    assert made["results"].name.endswith("seed 0, as its results imply)")
    assert not made["inputs"].jobs["run_time"].equals(made["results"].jobs["run_time"])
    own = twins.edison(2, nodes=64, like=replace(LIKE["results"], estimates=2.0))
    assert own.name.endswith("seed 0, other assumptions)")
    assert own.jobs.eval("requested_time == 2 * run_time | requested_time == 172800").all()
    drawn = twins.edison(2, nodes=64, like=Assumptions(estimates="accuracy")).jobs
    assert (drawn["requested_time"] >= drawn["run_time"]).all()
    with pytest.raises(ValueError, match="like='paper'; expected one of 'inputs', 'results'"):
        twins.edison(2, like="paper")


def test_steady_weeks_and_poisson_hours_vary_less():
    def spread(width, **assumed):
        jobs = twins.edison(84, nodes=64, like=Assumptions(**assumed)).jobs["submit_time"]
        counts = np.bincount((jobs // width).astype(int))[: int(84 * 86_400 / width)]
        return counts.std() / counts.mean()

    week, hour = 7 * 86_400, 3_600
    assert spread(week, weeks=0.0, bursts=0.0) < 0.3 * spread(week, weeks=0.3, bursts=0.0)
    assert spread(hour, bursts=0.0) < 0.8 * spread(hour, bursts=1.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"run_times": "short"}, "run_times='short'; expected one of 'maximum entropy'"),
        ({"shape": 0}, "shape=0; expected a number above 0"),
        ({"correlation": 1}, "correlation=1; expected a number from -0.99 to 0.99"),
        ({"largest": 1_000}, "largest=1000; expected a whole number from 1,002"),
        ({"estimates": 0.5}, "estimates=0.5; expected a factor"),
        ({"estimates": "none"}, "estimates='none'; expected one of 'Tsafrir', 'accuracy'"),
        ({"weeks": -1}, "weeks=-1"),
        ({"bursts": -1}, "bursts=-1"),
    ],
    ids=str,
)
def test_assumptions_out_of_range_say_what_was_expected(wrong, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        Assumptions(**wrong)


def test_a_mean_out_of_reach_is_refused():
    with pytest.raises(ValueError, match="no scale makes the mean 5 between 10 and 100"):
        shapes.scaled_quantiles(
            UNIFORM, lambda log, scale: -np.exp(log - scale), shortest=10, longest=100, mean=5
        )
