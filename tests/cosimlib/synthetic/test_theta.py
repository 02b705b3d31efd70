"""The synthetic Theta against the statistics of its log, and the distributions in `shapes`."""

import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cosimlib import synthetic
from cosimlib.synthetic import shapes

# first size, jobs %, node-hours %, run mean, run median, request mean: measured on Theta, 2023.
PRINTED = """
     1  30.9   0.0   1184    284   3338
     9   0.1   0.0  35547  29571  57053
   128  47.1   6.2   3828   2535   7405
   256  12.3  11.3  13022  15280  20080
   512   5.7  32.3  28518  19858  43788
  1024   2.9  34.3  35793  21110  50509
  2048   0.9  15.8  21761   4618  39166
"""
COLUMNS = ["jobs", "node_hours", "run_mean", "run_median", "request_mean"]
ROWS = [[float(word) for word in line.split()] for line in PRINTED.strip().splitlines()]
TABLE = pd.DataFrame([row[1:] for row in ROWS], [int(row[0]) for row in ROWS], COLUMNS)
FEW_JOBS = 9  # the class of 9 to 127 nodes has 30 jobs: one of them weighs 3 %
SEEDS = (0, 1, 20_230_101)


@pytest.fixture(scope="module", params=SEEDS)
def jobs(request):
    return synthetic.theta(seed=request.param).jobs


def measured(jobs):
    """The printed table, of synthetic jobs."""
    classes = pd.cut(jobs["nodes"], [*TABLE.index, 10_000], right=False, labels=TABLE.index)
    grouped = jobs.assign(work=jobs["nodes"] * jobs["run_time"]).groupby(classes, observed=True)
    table = pd.DataFrame(
        {
            "jobs": 100 * grouped.size() / len(jobs),
            "node_hours": 100 * grouped["work"].sum() / (jobs["nodes"] @ jobs["run_time"]),
            "run_mean": grouped["run_time"].mean(),
            "run_median": grouped["run_time"].median(),
            "request_mean": grouped["requested_time"].mean(),
        }
    )
    return table.set_index(table.index.astype(int))


def test_classes_have_their_shares(jobs):
    table = measured(jobs)
    assert table.index.tolist() == TABLE.index.tolist()
    assert (table["jobs"] - TABLE["jobs"]).abs().max() < 0.2
    assert (table["node_hours"] - TABLE["node_hours"]).abs().max() < 1.0


def test_classes_have_their_run_times_and_requests(jobs):
    times = ["run_mean", "run_median", "request_mean"]
    off = (measured(jobs)[times] / TABLE[times] - 1).abs()
    assert off.drop(index=FEW_JOBS).max().max() < 0.05
    assert off.loc[FEW_JOBS, ["run_mean", "request_mean"]].max() < 0.10
    assert off.loc[FEW_JOBS, "run_median"] < 0.35


@pytest.mark.parametrize(
    ("column", "value", "percent"),
    [
        ("nodes", 128, 44),
        ("nodes", 1, 16),
        ("nodes", 8, 12),
        ("nodes", 256, 11),
        ("requested_time", 3_600, 35),
        ("requested_time", 10_800, 22),
        ("requested_time", 21_600, 10),
    ],
)
def test_popular_values_have_their_share(jobs, column, value, percent):
    assert 100 * (jobs[column] == value).mean() == pytest.approx(percent, abs=0.5)


def test_accuracy_overruns_and_correlation(jobs):
    accuracy = jobs["run_time"] / jobs["requested_time"]
    assert accuracy.mean() == pytest.approx(0.491, abs=0.02)
    assert accuracy.median() == pytest.approx(0.497, abs=0.02)
    assert 100 * (accuracy > 1).mean() == pytest.approx(21.7, abs=0.2)
    logarithms = np.log(jobs[["run_time", "nodes"]])
    assert logarithms.corr().iloc[0, 1] == pytest.approx(0.447, abs=0.02)
    assert (jobs["run_time"] - jobs["requested_time"]).max() <= 30


def test_the_offered_load_is_the_printed_utilization_over_a_year(jobs):
    work = jobs["nodes"] @ jobs["run_time"]
    span = jobs["submit_time"].iloc[-1]
    assert work / (4_360 * span) == pytest.approx(0.825, rel=1e-5)
    assert span == pytest.approx(365 * 86_400, rel=0.01)
    apart = jobs["submit_time"].diff().dropna()
    assert apart.median() / apart.mean() == pytest.approx(299 / 1_198, rel=0.02)


def test_large_jobs_are_multiples_of_128_nodes_up_to_4352(jobs):
    wide = jobs["nodes"][jobs["nodes"] >= 512]
    assert (wide % 128 == 0).all()
    assert jobs["nodes"].min() == 1
    assert jobs["nodes"].max() == 4_352


def test_run_time_and_size_are_independent_within_a_class(jobs):
    inside = jobs[jobs["nodes"].between(512, 1_023)]
    assert abs(inside["nodes"].corr(inside["run_time"])) < 0.1
    assert abs(inside["nodes"].corr(inside["submit_time"])) < 0.1


def test_without_a_load_interarrival_times_are_the_printed_ones():
    jobs = synthetic.theta(load=None).jobs
    apart = jobs["submit_time"].diff().dropna()
    assert apart.mean() == pytest.approx(1_198, rel=0.01)
    assert apart.median() == pytest.approx(299, rel=0.01)
    offered = (jobs["nodes"] @ jobs["run_time"]) / (4_360 * jobs["submit_time"].iloc[-1])
    assert offered == pytest.approx(0.736, abs=0.01)


def test_an_offered_load_scales_submissions_and_nothing_else():
    half, whole = synthetic.theta(2_000, load=0.5).jobs, synthetic.theta(2_000, load=1.0).jobs
    assert np.allclose(half["submit_time"], 2 * whole["submit_time"], atol=1.5)
    pd.testing.assert_frame_equal(
        half.drop(columns="submit_time"), whole.drop(columns="submit_time")
    )


@settings(max_examples=30)
@given(jobs=st.integers(1, 400), seed=st.integers(0, 2**63))
def test_random_numbers_of_jobs_make_a_valid_workload(jobs, seed):
    workload = synthetic.theta(jobs, seed=seed)
    assert len(workload) == jobs
    frame = workload.jobs
    assert (frame["run_time"] >= 1).all()
    assert (frame["run_time"] <= frame["requested_time"] + 30).all()
    assert (frame[["submit_time", "run_time", "requested_time"]] % 1 == 0).all(axis=None)
    assert frame["submit_time"].iloc[0] == 0


def test_workloads_of_three_jobs_have_the_shares_of_a_year():
    frames = [synthetic.theta(3, seed=seed).jobs for seed in range(250)]
    jobs = pd.concat(frames, ignore_index=True)
    assert (jobs["nodes"] == 128).mean() == pytest.approx(0.44, abs=0.05)
    assert (jobs["nodes"] <= 8).mean() == pytest.approx(0.309, abs=0.05)
    over = jobs["run_time"] > jobs["requested_time"]
    assert over.mean() == pytest.approx(0.217, abs=0.045)


# --- shapes -----------------------------------------------------------------------------------


@given(n=st.integers(1, 50), seed=st.integers(0, 1_000))
def test_spread_has_one_number_in_each_slice(n, seed):
    numbers = np.sort(shapes.spread(n, np.random.default_rng(seed)))
    assert np.floor(numbers * n + 1e-9).astype(int).tolist() == list(range(n))
    assert numbers.max() < 1


def test_whole_counts_are_within_one_of_their_part_and_exact_in_the_mean():
    shares = np.array([0.55, 0.3, 0.15])
    counts = [shapes.whole_counts(7, shares, np.random.default_rng(s)) for s in range(2_000)]
    assert all(count.sum() == 7 for count in counts)
    assert np.abs(np.array(counts) - 7 * shares).max() < 1
    assert np.mean(counts, axis=0) == pytest.approx(7 * shares, abs=0.05)


def test_tilted_shares_reach_the_mean():
    shares = shapes.tilted_shares({1: None, 2: 0.5, 3: None, 9: None}, 3.0)
    assert shares.sum() == pytest.approx(1)
    assert shares @ [1, 2, 3, 9] == pytest.approx(3)
    assert shares[1] == 0.5
    # maximum entropy: the logarithm of the free shares is linear in the value
    assert np.log(shares[2] / shares[0]) / 2 == pytest.approx(np.log(shares[3] / shares[2]) / 6)
    assert shapes.tilted_shares({1: None, 2: 0.5, 3: None}).tolist() == [0.25, 0.5, 0.25]


def test_tilted_shares_refuse_a_mean_out_of_reach():
    with pytest.raises(ValueError, match=r"makes the mean 8; they would need a mean of 14"):
        shapes.tilted_shares({1: None, 2: 0.5, 9: None}, 8.0)


@pytest.mark.parametrize("below", [0.3, 0.5, 0.61])
def test_two_piece_quantiles_have_mean_and_pivot(below):
    uniform = (np.arange(200_000) + 0.5) / 200_000
    known = {"shortest": 10, "pivot": 300, "longest": 3_600, "below": below, "mean": 700}
    quantiles = shapes.two_piece_quantiles(uniform, **known)
    assert quantiles.mean() == pytest.approx(700, rel=1e-4)
    assert (quantiles < 300).mean() == pytest.approx(below, abs=1e-5)
    assert (np.diff(quantiles) >= 0).all()
    assert quantiles[0] == pytest.approx(10, rel=1e-3)
    assert quantiles[-1] == pytest.approx(3_600, rel=1e-3)


def test_two_piece_quantiles_refuse_a_mean_out_of_reach():
    known = {"shortest": 10, "pivot": 300, "longest": 600, "below": 0.5, "mean": 700}
    with pytest.raises(ValueError, match=r"mean of 700 needs .* between 300 and 600"):
        shapes.two_piece_quantiles(np.array([0.5]), **known)


def test_weibull_agrees_with_scipy():
    shape = shapes.weibull_shape(299 / 1_198)
    known = stats.weibull_min(shape, scale=1_198 / math.gamma(1 + 1 / shape))
    assert known.median() == pytest.approx(299)
    assert known.mean() == pytest.approx(1_198)
    uniform = np.array([0.0, 0.01, 0.5, 0.9, 0.9999])
    ours = shapes.weibull_quantiles(uniform, mean=1_198, shape=shape)
    assert ours == pytest.approx(known.ppf(uniform))


def tsafrir_one_by_one(run_time, estimates, rng):
    """The paper's rule: by descending run time, each job draws among the unused estimates."""
    unused, assigned = list(estimates), np.empty(len(run_time))
    for job in np.argsort(-run_time, kind="stable"):
        fits = [place for place, estimate in enumerate(unused) if estimate >= run_time[job]]
        assigned[job] = unused.pop(fits[rng.integers(len(fits))])
    return assigned


def test_fitting_estimates_have_the_distribution_of_the_rule():
    run_time = np.array([7.0, 3.0, 3.0, 1.0])
    estimates = np.array([2.0, 5.0, 5.0, 10.0, 10.0])
    menu = np.array([2.0, 5.0, 10.0])
    draws = 3_000
    ours, theirs = Counter(), Counter()
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        ours[tuple(shapes.fitting_estimates(run_time, estimates, menu, snug=0, rng=rng))] += 1
        theirs[tuple(tsafrir_one_by_one(run_time, estimates, rng))] += 1
    assert ours.keys() == theirs.keys()
    assert max(abs(ours[o] - theirs[o]) for o in ours) < 0.04 * draws


@given(
    estimates=st.lists(st.sampled_from([10.0, 20.0, 60.0]), min_size=1, max_size=30),
    shorter=st.lists(st.floats(0.01, 1.0), min_size=30, max_size=30),
    snug=st.floats(0, 1),
)
def test_fitting_estimates_are_used_once_each(estimates, shorter, snug):
    run_time = np.array(estimates) * np.array(shorter[: len(estimates)])
    menu, rng = np.array([10.0, 20.0, 60.0]), np.random.default_rng(0)
    fitting = shapes.fitting_estimates(run_time, np.array(estimates), menu, snug=snug, rng=rng)
    assert (fitting >= run_time).all()
    assert sorted(fitting) == sorted(estimates)


def test_fitting_estimates_take_the_next_value_where_none_is_long_enough():
    menu = np.array([10.0, 20.0, 60.0])
    rng = np.random.default_rng(0)
    run_time, estimates = np.array([15.0, 12.0]), np.array([10.0, 60.0])
    fitting = shapes.fitting_estimates(run_time, estimates, menu, snug=0, rng=rng)
    assert sorted(fitting) == [20, 60]
