"""The Lublin-Feitelson model against its published generator and its closed forms."""

import math
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from cosimlib import synthetic
from cosimlib.metrics import offered_load
from cosimlib.synthetic.lublin import (
    BATCH,
    INTERACTIVE,
    TYPELESS,
    _clock_time,
    _half_hours,
)
from cosimlib.system import System

JOBS = 200_000

# Statistics of 200,000 jobs of the published generator, on 128 nodes.
PRINTED = {
    "types": {
        "run_mean": 1_620.9,
        "run_median": 18,
        "size_mean": 8.93,
        "serial": 0.174,
        "interarrival": 527.7,
        "load": 0.395,
    },
    "typeless": {
        "run_mean": 4_368.3,
        "run_median": 108,
        "size_mean": 12.11,
        "serial": 0.245,
        "interarrival": 907.3,
        "load": 0.725,
    },
}


@pytest.fixture(scope="module")
def samples() -> dict:
    """Five samples with types and five without."""
    return {
        name: [synthetic.lublin(JOBS, types=name == "types", seed=seed) for seed in range(5)]
        for name in PRINTED
    }


def statistics(workload) -> dict:
    jobs = workload.jobs
    return {
        "run_mean": jobs["run_time"].mean(),
        "run_median": jobs["run_time"].median(),
        "size_mean": jobs["nodes"].mean(),
        "serial": (jobs["nodes"] == 1).mean(),
        "interarrival": jobs["submit_time"].diff().mean(),
        "load": offered_load(workload, System.of(128)),
    }


@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.parametrize("statistic", PRINTED["types"])
def test_samples_have_the_statistics_of_the_published_generator(samples, name, statistic):
    """The printed numbers are of one sample: near the mean of ours, within their deviation."""
    ours = np.array([statistics(workload)[statistic] for workload in samples[name]])
    printed = PRINTED[name][statistic]
    if statistic == "run_median":
        assert abs(ours.mean() - printed) <= 0.02 * printed
        return
    # Six samples in all: the printed one minus the mean of five has √1.2 standard deviations.
    allowed = stats.t.ppf(0.9995, 4) * math.sqrt(1.2) * ours.std(ddof=1)
    assert abs(ours.mean() - printed) < allowed
    assert abs(ours.mean() / printed - 1) < 0.025


def test_the_tolerances_exclude_other_constants(monkeypatch):
    """`UMed` 5 in place of 4.5 and `ARAR` 1 are outside the tolerances above."""
    # By name, for `synthetic.lublin` is the function.
    module = sys.modules["cosimlib.synthetic.lublin"]
    monkeypatch.setattr(module, "TYPELESS", TYPELESS._replace(u_med=5.0, arar=1.0))
    measured = statistics(synthetic.lublin(JOBS, types=False))
    assert abs(measured["size_mean"] / PRINTED["typeless"]["size_mean"] - 1) > 0.025
    assert abs(measured["interarrival"] / PRINTED["typeless"]["interarrival"] - 1) > 0.025


# --- closed forms -----------------------------------------------------------------------------


def mean_gap(kind) -> float:
    """E[exp(G)] of the gamma variable G, given that it is at most 13: by quadrature."""
    gamma = stats.gamma(kind.arrival.shape * kind.arar, scale=kind.arrival.scale)
    area, _ = integrate.quad(lambda g: math.exp(g) * gamma.pdf(g), 0, 13, limit=200)
    return area / gamma.cdf(13)


def test_mean_interarrival_times_follow_from_the_gamma_integrals(samples):
    gaps = [workload.jobs["submit_time"].diff().mean() for workload in samples["typeless"]]
    assert np.mean(gaps) == pytest.approx(mean_gap(TYPELESS), rel=0.02)
    rate = 1 / mean_gap(BATCH) + 1 / mean_gap(INTERACTIVE)
    gaps = [workload.jobs["submit_time"].diff().mean() for workload in samples["types"]]
    assert np.mean(gaps) == pytest.approx(1 / rate, rel=0.02)
    batch = [(workload.jobs["queue"] == "batch").mean() for workload in samples["types"]]
    assert np.mean(batch) == pytest.approx(1 / mean_gap(BATCH) / rate, rel=0.03)


@pytest.mark.parametrize("name", ["batch", "interactive", "typeless"])
def test_sizes_have_their_probabilities(samples, name):
    kind = {"batch": BATCH, "interactive": INTERACTIVE, "typeless": TYPELESS}[name]
    jobs = pd.concat([w.jobs for w in samples["typeless" if name == "typeless" else "types"]])
    nodes = jobs["nodes"] if name == "typeless" else jobs["nodes"][jobs["queue"] == name]

    def below(log_size):
        low, high = (
            stats.uniform(kind.u_low, kind.u_med - kind.u_low),
            stats.uniform(kind.u_med, kind.u_hi - kind.u_med),
        )
        return kind.u_prob * low.cdf(log_size) + (1 - kind.u_prob) * high.cdf(log_size)

    other = 1 - kind.serial - kind.power_of_two
    for size in (2, 3, 4, 7, 8, 16, 32, 64, 100):
        exponent = math.log2(size)
        share = other * (below(math.log2(size + 0.5)) - below(math.log2(size - 0.5)))
        if exponent == int(exponent):
            share += kind.power_of_two * (below(exponent + 0.5) - below(exponent - 0.5))
        error = math.sqrt(share * (1 - share) / len(nodes))
        assert (nodes == size).mean() == pytest.approx(share, abs=4.5 * error), size
    serial_error = math.sqrt(kind.serial * (1 - kind.serial) / len(nodes))
    assert (nodes == 1).mean() == pytest.approx(kind.serial, abs=4.5 * serial_error)


def test_run_times_have_the_hyper_gamma_distribution_of_their_size(samples):
    jobs = pd.concat([workload.jobs for workload in samples["typeless"]])
    for size in (1, 4, 32):
        run_time = jobs["run_time"][jobs["nodes"] == size]
        first = TYPELESS.pa * size + TYPELESS.pb
        short, long = (
            stats.gamma(g.shape, scale=g.scale) for g in (TYPELESS.shorter, TYPELESS.longer)
        )
        for seconds in (10, 100, 1_000, 20_000):
            parts = [g.cdf([math.log(seconds), 12]) for g in (short, long)]
            below = first * parts[0] + (1 - first) * parts[1]
            expected = below[0] / below[1]
            error = math.sqrt(expected * (1 - expected) / len(run_time))
            share = (run_time < seconds).mean()
            assert share == pytest.approx(expected, abs=4.5 * error), (size, seconds)


def test_half_hours_are_slices_of_the_day():
    weights = _half_hours(TYPELESS.day)
    known = stats.gamma(TYPELESS.day.shape, scale=TYPELESS.day.scale)
    assert weights.mean() == pytest.approx(1)
    slices = {(number - 1) % 48: number for number in range(11, 59)}
    for bucket in (0, 9, 10, 31, 47):
        number = slices[bucket]
        mass = known.cdf(number + 0.5) - known.cdf(number - 0.5)
        total = known.cdf(58.5) - known.cdf(10.5)
        assert weights[bucket] == pytest.approx(48 * mass / total)
    assert 20 < weights.argmax() < 32  # the rush is between 10 and 16 o'clock


def test_points_are_spent_per_half_hour_by_its_weight():
    """As in the loop of the published generator, one job at a time."""
    rng = np.random.default_rng(0)
    gaps = rng.exponential(3.0, 400)
    weights = _half_hours(INTERACTIVE.day)
    expected, bucket, points = [], 0, 0.0
    for gap in gaps:
        points += gap
        while points > weights[bucket % 48]:
            points -= weights[bucket % 48]
            bucket += 1
        expected.append(1_800 * (bucket + points / weights[bucket % 48]))
    assert _clock_time(np.cumsum(gaps), INTERACTIVE.day) == pytest.approx(expected)


def test_submissions_per_half_hour_follow_its_weight(samples):
    hour = samples["typeless"][0].jobs["submit_time"] % 86_400 // 1_800
    share = hour.value_counts(normalize=True).sort_index()
    weights = _half_hours(TYPELESS.day) / 48
    assert share.to_numpy() == pytest.approx(weights, abs=0.003)


# --- arguments --------------------------------------------------------------------------------


@pytest.mark.parametrize("types", [True, False])
@pytest.mark.parametrize("load", [0.3, 0.7, 1.06])
def test_an_offered_load_scales_submissions_and_nothing_else(types, load):
    own = synthetic.lublin(3_000, types=types, seed=4)
    scaled = synthetic.lublin(3_000, types=types, seed=4, load=load)
    assert offered_load(scaled, System.of(128)) == pytest.approx(load, rel=1e-4)
    assert sorted(scaled.jobs["run_time"]) == sorted(own.jobs["run_time"])
    assert sorted(scaled.jobs["nodes"]) == sorted(own.jobs["nodes"])


def test_an_offered_load_keeps_the_shape_of_days():
    jobs = synthetic.lublin(60_000, types=False, load=1.5).jobs
    share = (jobs["submit_time"] % 86_400 // 1_800).value_counts(normalize=True).sort_index()
    assert share.to_numpy() == pytest.approx(_half_hours(TYPELESS.day) / 48, abs=0.006)


@pytest.mark.parametrize("nodes", [32, 100, 1_000, 4_360])
def test_sizes_scale_with_the_machine(nodes):
    jobs = synthetic.lublin(40_000, nodes=nodes, types=False).jobs
    assert jobs["nodes"].max() <= nodes
    assert jobs["nodes"].max() > nodes / 2
    assert (jobs["nodes"] == 1).mean() == pytest.approx(TYPELESS.serial, abs=0.01)
    upper = 2 ** (TYPELESS.u_med + math.log2(nodes / 128))
    assert (jobs["nodes"] > upper + 1).mean() == pytest.approx(0.756 * 0.14, abs=0.04)


def test_jobs_have_their_machine_and_with_types_a_queue():
    jobs = synthetic.lublin(500)
    assert jobs.machine.total_nodes == 128
    assert set(jobs.jobs["queue"]) == {"batch", "interactive"}
    assert "queue" not in synthetic.lublin(5, types=False).jobs


@settings(max_examples=25)
@given(
    jobs=st.integers(1, 60),
    nodes=st.integers(32, 2_000),
    types=st.booleans(),
    load=st.none() | st.floats(0.01, 5),
    seed=st.integers(0, 2**63),
)
def test_random_arguments_make_a_valid_workload(jobs, nodes, types, load, seed):
    workload = synthetic.lublin(jobs, nodes=nodes, types=types, load=load, seed=seed)
    frame = workload.jobs
    assert len(frame) == jobs
    assert frame["nodes"].between(1, nodes).all()
    assert frame["run_time"].between(1, math.exp(12)).all()
    assert (frame[["submit_time", "run_time"]] % 1 == 0).all(axis=None)
    assert frame["requested_time"].isna().all()


def test_the_smallest_machine_with_and_without_types():
    assert len(synthetic.lublin(10, nodes=32)) == 10
    assert len(synthetic.lublin(10, nodes=10, types=False)) == 10
