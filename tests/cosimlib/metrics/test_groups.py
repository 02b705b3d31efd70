"""Means by size and length of jobs, against a loop over the jobs."""

import numpy as np
import pandas as pd
import pytest

import cosimlib as cs
from cosimlib.metrics import by_size_and_length, ratio_by_size_and_length

LOG = cs.synthetic.lublin(400, load=0.8, seed=2)


@pytest.fixture(scope="module")
def fcfs() -> cs.Schedule:
    """The log under FCFS."""
    return cs.simulate_fcfs(LOG, LOG.machine)


@pytest.mark.parametrize("metric", ["bounded_slowdown", "slowdown", "wait_time", "turnaround_time"])
def test_bins_have_the_means_of_their_jobs(metric, fcfs):
    sizes, lengths = [1, 3, 20], [0, 60, 3_600]
    values = getattr(cs.metrics, metric)(fcfs)
    table = by_size_and_length(fcfs, metric, sizes=sizes, lengths=lengths)
    assert table.columns.tolist() == ["nodes", "run_time", "jobs", metric]
    assert table[["nodes", "run_time"]].to_numpy().tolist() == [
        [size, length] for size in sizes for length in lengths
    ]
    for row in table.itertuples():
        found = [
            value
            for value, nodes, run_time in zip(
                values, LOG.jobs["nodes"], LOG.jobs["run_time"], strict=True
            )
            if max(size for size in sizes if size <= nodes) == row.nodes
            and max(length for length in lengths if length <= run_time) == row.run_time
        ]
        assert row.jobs == len(found)
        assert (np.mean(found) if found else np.nan) == pytest.approx(row[4], nan_ok=True)


def test_bins_double_by_themselves_and_short_jobs_are_in_the_first(fcfs):
    table = by_size_and_length(fcfs, "wait_time")
    sizes, lengths = table["nodes"].unique(), table["run_time"].unique()
    assert sizes.tolist() == [2**power for power in range(len(sizes))]
    assert lengths.tolist() == [10.0 * 2**power for power in range(len(lengths))]
    assert sizes[-1] <= LOG.jobs["nodes"].max() < 2 * sizes[-1]
    assert lengths[-1] <= LOG.jobs["run_time"].max() < 2 * lengths[-1]
    assert len(table) == len(sizes) * len(lengths) and table["jobs"].sum() == len(LOG)
    assert (table["wait_time"].isna() == (table["jobs"] == 0)).all()


def test_a_series_of_one_s_own_and_a_window_count(fcfs):
    own = pd.Series(1.0, LOG.jobs.index, name="happy")
    own[:10] = np.nan
    table = by_size_and_length(fcfs, own)
    assert table["jobs"].sum() == len(LOG) - 10 and table["happy"].dropna().eq(1).all()
    middle = float(LOG.jobs["submit_time"].median())
    inside = by_size_and_length(fcfs, "wait_time", start=middle)
    assert inside["jobs"].sum() == (LOG.jobs["submit_time"] >= middle).sum()


def test_a_ratio_is_that_of_the_means(fcfs):
    fit = cs.simulate_first_fit(LOG, LOG.machine)
    table = ratio_by_size_and_length(fcfs, fit, "turnaround_time")
    above, below = (by_size_and_length(one, "turnaround_time") for one in (fcfs, fit))
    expected = above["turnaround_time"] / below["turnaround_time"]
    np.testing.assert_allclose(table["ratio"], expected)
    assert table["jobs"].equals(above["jobs"])


def test_wrong_arguments_are_named(fcfs):
    with pytest.raises(ValueError, match="metric='speed'; expected one of 'bounded_slowdown'"):
        by_size_and_length(fcfs, "speed")
    with pytest.raises(ValueError, match=r"sizes=\[4, 2\]; expected ascending numbers"):
        by_size_and_length(fcfs, "wait_time", sizes=[4, 2])
    other = cs.synthetic.lublin(400, load=0.8, seed=3)
    with pytest.raises(ValueError, match="expected schedules of the same jobs"):
        ratio_by_size_and_length(fcfs, cs.simulate_fcfs(other, other.machine), "wait_time")


def test_medians_are_those_of_the_jobs_of_a_bin_and_other_words_are_refused(fcfs):
    bins = {"sizes": [1, 8], "lengths": [0, 3600]}
    table = by_size_and_length(fcfs, "wait_time", statistic="median", **bins)
    jobs = fcfs.jobs.assign(
        nodes=np.where(fcfs.jobs["nodes"] < 8, 1, 8),
        run_time=np.where(fcfs.jobs["run_time"] < 3600, 0.0, 3600.0),
    )
    expected = jobs.groupby(["nodes", "run_time"])["wait_time"].median()
    found = table.set_index(["nodes", "run_time"])["wait_time"].dropna()
    np.testing.assert_allclose(found, expected.reindex(found.index))
    same = ratio_by_size_and_length(fcfs, fcfs, "bounded_slowdown", statistic="median", **bins)
    assert (same["ratio"].dropna() == 1).all()
    with pytest.raises(ValueError, match="statistic='mode'; expected one of 'mean', 'median'"):
        by_size_and_length(fcfs, "wait_time", statistic="mode")
