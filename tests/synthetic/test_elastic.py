"""The twins of HTC and PEREGRINE against the printed Table 1, and the sample counts that follow."""

import numpy as np
import pytest

from cosimlib import synthetic
from cosimlib.batch import simulate_easy
from cosimlib.elastic import execution_states
from cosimlib.synthetic import shapes
from cosimlib.system import System

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
    jobs = getattr(synthetic, name)(seed=seed).jobs
    count, node_hours, run_time, nodes = TABLE_1[name]
    assert len(jobs) == count
    assert jobs["nodes"] @ jobs["run_time"] / 3600 == pytest.approx(node_hours, rel=0.01)
    assert measured(jobs["run_time"]) == pytest.approx(run_time, rel=0.01)
    assert measured(jobs["nodes"]) == pytest.approx(nodes, rel=0.01)
    assert jobs["run_time"].min() == run_time[1] and jobs["run_time"].max() == run_time[-1]
    assert (jobs["submit_time"] == 0).all() and (jobs["requested_time"] == jobs["run_time"]).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_peregrine_has_its_queues_and_applications(seed):
    jobs = synthetic.peregrine(seed=seed).jobs
    assert (jobs["queue"] == "bigmem").sum() == 76 and jobs["queue"].nunique() == 7
    assert (jobs["application"] == "gaussian").sum() == 341 and jobs["application"].nunique() == 24
    assert 0.82 < (jobs["nodes"] == 1).mean() < 0.83
    assert jobs["nodes"].max() <= 20 and jobs["run_time"].max() <= 86_400


MENUS = ((2, 16), (3, 4, 16), (2, 4, 8, 16), (2, 3, 4, 5, 6, 16), tuple(range(2, 17)))


@pytest.mark.parametrize("sizes", MENUS)
def test_other_sizes_match_table_1_as_well(sizes):
    jobs = synthetic.peregrine(sizes=sizes).jobs
    _, node_hours, run_time, nodes = TABLE_1["peregrine"]
    assert {1, sizes[0], 16} <= set(jobs["nodes"]) <= {1, *sizes}
    assert jobs["nodes"] @ jobs["run_time"] / 3600 == pytest.approx(node_hours, rel=0.01)
    assert measured(jobs["nodes"]) == pytest.approx(nodes, rel=0.01)
    assert measured(jobs["run_time"]) == pytest.approx(run_time, rel=0.01)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((1, 16), r"sizes=\(1, 16\); expected ascending whole numbers from 2"),
        ((16, 2), "expected ascending"),
        ((), "expected ascending"),
        ((2, 2.5), "expected ascending"),
        ((2, 3), "no split of .* makes the mean 1.42"),
    ],
)
def test_sizes_that_make_no_peregrine_are_refused(sizes, message):
    with pytest.raises(ValueError, match=message):
        synthetic.peregrine(sizes=sizes)


def test_htc_is_shuffled_copies_of_one_trace():
    run_time = synthetic.htc(seed=3).jobs["run_time"].to_numpy().reshape(10, 1_120)
    trace = np.sort(run_time[0])
    assert all((np.sort(copy) == trace).all() for copy in run_time)
    assert not any((run_time[0] == copy).all() for copy in run_time[1:])
    assert len(synthetic.htc(copies=2)) == 2_240


def test_seeds_differ_and_repeat():
    for twin in (synthetic.htc, synthetic.peregrine):
        first = twin(seed=5)
        assert first.jobs.equals(twin(seed=5).jobs) and not first.jobs.equals(twin(seed=6).jobs)
        assert "synthetic" in first.name and "seed 5" in first.name


def test_requests_are_a_factor_of_run_times():
    for twin in (synthetic.htc, synthetic.peregrine):
        jobs = twin(request_factor=19.2).jobs
        assert (jobs["requested_time"] / jobs["run_time"]).median() == pytest.approx(19.2)
        with pytest.raises(ValueError, match=r"request_factor=0.5; expected a number from 1"):
            twin(request_factor=0.5)
        with pytest.raises(ValueError, match="seed=-1; expected a whole number from 0"):
            twin(seed=-1)
    with pytest.raises(ValueError, match="copies=0; expected a whole number from 1"):
        synthetic.htc(copies=0)


def test_sample_counts_are_the_papers():
    counts = {
        name: execution_states(simulate_easy(getattr(synthetic, name)(), System.of(20))).size
        for name in TABLE_1
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
