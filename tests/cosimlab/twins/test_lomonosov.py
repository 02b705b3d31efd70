"""The synthetic Lomonosov against the numbers that are printed about it."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlab import twins
from cosimlab.twins.lomonosov import LOMONOSOV, RUN_SHAPE, SLOTS_SHAPE, probabilities
from cosimlib import metrics
from cosimlib.synthetic.estimates import ROUND_VALUES
from cosimlib.units import DAY, MINUTE

PRINTED = {"slots": (SLOTS_SHAPE, 7.5, 16.7, 512), "minutes": (RUN_SHAPE, 255, 1204, 15 * 1440)}


@pytest.mark.parametrize("shape, mean, deviation, largest", PRINTED.values(), ids=PRINTED)
def test_rounded_and_cut_shapes_have_the_printed_moments(shape, mean, deviation, largest):
    shares, values = probabilities(shape, largest), np.arange(1, largest + 1)
    assert shares.sum() == pytest.approx(1) and (shares >= 0).all()
    ours = shares @ values
    assert ours == pytest.approx(mean, rel=0.001)
    assert np.sqrt(shares @ (values - ours) ** 2) == pytest.approx(deviation, rel=0.001)


def test_probabilities_are_differences_of_the_log_normal_distribution():
    from scipy import stats

    shape, whole = (0.5, 1.2), stats.lognorm(1.2, scale=np.exp(0.5))
    expected = np.diff(whole.cdf(np.arange(0, 11))) / whole.cdf(10)
    np.testing.assert_allclose(probabilities(shape, 10), expected, rtol=1e-12)


@pytest.fixture(scope="module")
def many():
    """Ten seeds of 180 days together."""
    return pd.concat([twins.lomonosov(seed=seed).jobs for seed in range(10)])


def test_drawn_jobs_have_the_printed_statistics(many):
    nodes, minutes = many["nodes"], many["run_time"] / MINUTE
    assert nodes.mean() == pytest.approx(7.5, rel=0.02)
    assert nodes.std() == pytest.approx(16.7, rel=0.02)
    assert minutes.mean() == pytest.approx(255, rel=0.02)
    assert minutes.std() == pytest.approx(1204, rel=0.02)
    assert 450 < nodes.max() <= 512 and 20_000 < minutes.max() <= 15 * 1440
    assert (minutes % 1 == 0).all() and minutes.min() == 1


def test_slots_and_run_times_are_independent(many):
    assert abs(np.corrcoef(np.log(many["nodes"]), np.log(many["run_time"]))[0, 1]) < 0.01


@given(st.integers(0, 5), st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=20)
def test_jobs_do_not_depend_on_the_accuracy_and_exact_estimates_stay_exact(seed, one, other):
    low, high = (
        twins.lomonosov(1, accuracy=p, load=0.5, seed=seed).jobs for p in sorted((one, other))
    )
    fixed = ["submit_time", "run_time", "nodes"]
    pd.testing.assert_frame_equal(low[fixed], high[fixed])
    exact = low["requested_time"] == low["run_time"]
    draws_exact = exact & ~low["run_time"].isin(ROUND_VALUES)
    assert (high["requested_time"] == high["run_time"])[draws_exact].all()
    for jobs in (low, high):
        assert (jobs["requested_time"] >= jobs["run_time"]).all()


def test_the_backlog_is_work_for_fifteen_days_more():
    workload = twins.lomonosov(3)
    work = float(workload.jobs["nodes"] @ workload.jobs["run_time"])
    last = workload.jobs.iloc[-1]
    assert work - last["nodes"] * last["run_time"] < 512 * 18 * DAY <= work
    assert (workload.jobs["submit_time"] == 0).all()
    assert workload.machine is LOMONOSOV


def test_a_stream_offers_its_load():
    streams = [twins.lomonosov(30, load=0.8, seed=seed) for seed in range(4)]
    for stream in streams:
        work = stream.jobs["nodes"] * stream.jobs["run_time"]
        assert work[:-1].sum() < 0.8 * 512 * 30 * DAY <= work.sum()
        assert stream.jobs["submit_time"].between(0, 30 * DAY).all()
        assert (stream.jobs["submit_time"] % MINUTE == 0).all()
    apart = np.concatenate([stream.jobs["submit_time"].diff().dropna() for stream in streams])
    assert apart.std() == pytest.approx(apart.mean(), rel=0.05)
    assert metrics.offered_load(streams[0], LOMONOSOV) == pytest.approx(0.8, rel=0.01)
