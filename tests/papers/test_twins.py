"""The twins of HTC and PEREGRINE against the printed Table 1, and the sample counts that follow."""

import numpy as np
import pytest

from cosimlab import twins
from cosimlib.batch import simulate_easy
from cosimlib.elastic import execution_states
from cosimlib.synthetic import shapes
from cosimlib.system import System
from papers.duplyakin2017.htc import htc

TWINS = {"htc": htc, "peregrine": twins.peregrine}

# jobs, node-hours; run time mean, min, quartiles, max; node count mean, min, quartiles, max.
TABLE_1 = {
    "htc": (11_200, 1_379.05, (443.27, 54, 84, 106, 134.25, 7_140), (1, 1, 1, 1, 1, 1)),
    "peregrine": (
        7_275, 26_838.58, (7_119.07, 33, 439.5, 1_921, 6_840.5, 85_945), (1.42, 1, 1, 1, 1, 16),
    ),
}  # fmt: skip
SEEDS = (0, 1, 7, 20_170_626)


def measured(column):
    return [column.mean(), *column.quantile([0, 0.25, 0.5, 0.75, 1])]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", TABLE_1)
def test_table_1_is_met_within_one_percent(name, seed):
    jobs = TWINS[name](seed=seed).jobs
    count, node_hours, run_time, nodes = TABLE_1[name]
    assert len(jobs) == count
    assert jobs["nodes"] @ jobs["run_time"] / 3600 == pytest.approx(node_hours, rel=0.01)
    assert measured(jobs["run_time"]) == pytest.approx(run_time, rel=0.01)
    assert measured(jobs["nodes"]) == pytest.approx(nodes, rel=0.01)
    assert jobs["run_time"].min() == run_time[1] and jobs["run_time"].max() == run_time[-1]
    assert (jobs["submit_time"] == 0).all() and (jobs["requested_time"] == jobs["run_time"]).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_peregrine_has_its_queues_and_applications(seed):
    jobs = twins.peregrine(seed=seed).jobs
    assert (jobs["queue"] == "bigmem").sum() == 76 and jobs["queue"].nunique() == 7
    assert (jobs["application"] == "gaussian").sum() == 341 and jobs["application"].nunique() == 24
    assert 0.82 < (jobs["nodes"] == 1).mean() < 0.83
    assert jobs["nodes"].max() <= 20 and jobs["run_time"].max() <= 86_400


def test_peregrine_is_as_wide_as_the_public_extract():
    shares = twins.peregrine().jobs["nodes"].value_counts(normalize=True)
    assert shares[[2, 3, 4]].tolist() == pytest.approx([0.069, 0.051, 0.035], abs=1e-3)
    assert 0.015 < shares[shares.index > 4].sum() < 0.03


@pytest.mark.parametrize("seed", SEEDS)
def test_bigmem_has_seven_percent_of_the_work(seed):
    jobs = twins.peregrine(seed=seed).jobs
    work = jobs["run_time"] * jobs["nodes"]
    assert work[jobs["queue"] == "bigmem"].sum() / work.sum() == pytest.approx(0.07, abs=0.015)
    assert set(jobs["queue"]) == {"batch", "bigmem", "debug", "large", "long", "phi", "short"}


def test_htc_has_two_kinds_of_jobs_with_nothing_between():
    run_time = np.sort(htc(copies=1, seed=3).jobs["run_time"].to_numpy())
    assert run_time[[999, 1000]].tolist() == [236.0, 2559.0]


def test_weighted_choice_is_by_lot_or_by_weight_as_the_share_demands():
    rng = np.random.default_rng(0)
    weights = rng.exponential(size=500) ** 2
    for share in (0.1, 0.3):
        mask = shapes.weighted_choice(weights, 50, share, rng)
        assert mask.sum() == 50
        assert weights[mask].sum() / weights.sum() == pytest.approx(share, abs=0.05)


def test_htc_is_shuffled_copies_of_one_trace():
    run_time = htc(seed=3).jobs["run_time"].to_numpy().reshape(10, 1_120)
    trace = np.sort(run_time[0])
    assert all((np.sort(copy) == trace).all() for copy in run_time)
    assert not any((run_time[0] == copy).all() for copy in run_time[1:])
    assert len(htc(copies=2)) == 2_240


def test_requests_are_spread_around_the_median_of_their_factors():
    for twin in (htc, twins.peregrine):
        jobs, exact = twin(request_factor=19.2).jobs, twin().jobs
        factor = jobs["requested_time"] / jobs["run_time"]
        assert factor.median() == pytest.approx(19.2, rel=2e-3)
        assert factor.min() >= 1 and factor.max() == pytest.approx(19.2**2, rel=0.01)
        assert jobs["run_time"].equals(exact["run_time"]) and jobs["nodes"].equals(exact["nodes"])


def test_sample_counts_are_the_papers():
    counts = {
        name: execution_states(simulate_easy(TWINS[name](), System.of(20))).size for name in TABLE_1
    }
    assert 14_000 < counts["htc"] < 15_000
    assert counts["peregrine"] == pytest.approx(168_000, rel=0.01)


def test_quartiles_and_mean_that_exclude_each_other_are_refused():
    uniform = np.linspace(0, 0.999, 1000)
    quartiles = (1.0, 2.0, 3.0, 4.0, 5.0)
    made = shapes.quartile_quantiles(uniform, quartiles=quartiles, mean=2.9)
    assert made.mean() == pytest.approx(2.9, rel=2e-3)
    assert np.quantile(made, [0.25, 0.5, 0.75]) == pytest.approx([2, 3, 4], rel=5e-3)
    with pytest.raises(ValueError, match=r"a mean of 40 needs a mean of .* in the upper quarter"):
        shapes.quartile_quantiles(uniform, quartiles=quartiles, mean=40.0)
