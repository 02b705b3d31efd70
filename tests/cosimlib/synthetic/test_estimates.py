"""Tsafrir's model of estimates against its printed constants, its rule, and one of its logs."""

import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib import synthetic
from cosimlib.synthetic import estimates as model
from cosimlib.traces import read_swf
from cosimlib.workload import InvalidWorkloadError, Workload

HOUR = 3_600
COMMON = [300, 600, 900, 1_200, 1_800] + [HOUR * h for h in (1, 2, 3, 4, 5, 6, 8, 10, 12, 18)]


def jobs_of(run_time) -> Workload:
    n = len(run_time)
    return Workload(pd.DataFrame({"submit_time": [0] * n, "run_time": run_time, "nodes": [1] * n}))


def shares_of(jobs, maximum, seed=0) -> pd.Series:
    """The distribution of estimates that `with_estimates` draws with a seed."""
    return model._shares(jobs, maximum, np.random.Generator(np.random.PCG64(seed)))


def mostly_short_jobs(n=10_000, longest=60_000, seed=0) -> Workload:
    """Log-uniform run times."""
    return jobs_of(np.rint(longest ** np.random.default_rng(seed).random(n)))


# --- the distribution -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("jobs", "distinct"),
    [
        (20, 10),
        (200, 20),
        (600, 28),
        (1_000, 35),
        (10_000, 90),
        (70_000, 340),
        (160_000, 453),
        (250_000, 565),
        (900_000, 565),
    ],
)
def test_distinct_estimates_are_piecewise_linear_in_the_jobs(jobs, distinct):
    shares = shares_of(jobs, maximum=100 * HOUR)
    assert len(shares) == distinct
    assert shares.sum() == pytest.approx(1)
    assert shares.index.is_monotonic_increasing
    assert shares.index.is_unique


def test_twenty_popular_estimates_take_89_percent():
    for seed in range(5):
        shares = shares_of(10_000, maximum=64_800, seed=seed)
        popular = shares.nlargest(20)
        assert popular.sum() == pytest.approx(0.89)
        assert popular.index[0] == 64_800
        assert popular.iloc[0] == pytest.approx(0.217, abs=0.0005)
        for rank in range(2, 21):
            percent = 14.0491 * math.exp(-0.177531 * rank) + 0.462513
            assert 100 * popular.iloc[rank - 1] == pytest.approx(percent)
        assert set(COMMON) <= set(popular.index)


def test_multiples_of_round_lengths_complete_the_popular_estimates():
    shares = shares_of(10_000, maximum=160 * HOUR)
    others = set(shares.nlargest(20).index) - set(COMMON)
    assert others == {HOUR * h for h in (160, 100, 150, 50, 140)}
    shares = shares_of(10_000, maximum=64_800)
    others = set(shares.nlargest(20).index) - set(COMMON)
    # multiples of 10 h and of 5 h: 10 is there, 15 is new, 5 is there; then of 2 h: 16, 14; 1 h: 17
    assert others == {HOUR * h for h in (15, 16, 14, 17)} | {13 * HOUR}
    assert len(set(shares.nlargest(20).index)) == 20


def test_the_tail_has_power_law_shares_and_is_dense_where_short():
    shares = shares_of(70_000, maximum=100 * HOUR)
    tail = shares.drop(shares.nlargest(20).index)
    power = 795.6 * np.arange(21, 21 + len(tail)) ** -2.267
    expected = 0.11 * power / power.sum()
    assert np.sort(tail.to_numpy())[::-1] == pytest.approx(expected)
    assert (tail.to_numpy() != np.sort(tail.to_numpy())[::-1]).any()
    bend = 1 + 12.1039 * 340**-0.6026
    place = np.arange(1, 321) / 320
    curve = (bend - 1) * place / (bend - place) * 100 * HOUR
    assert len(tail) == 320
    assert np.abs(tail.index.to_numpy() - curve).max() <= 60
    assert (tail.index % 60 == 0).mean() > 0.8


def test_ranks_are_drawn_from_the_ranks_in_four_logs():
    """No rank comes before its first row in the logs, nor more than three rows after its last."""
    latest = {r: row for row, ranks in enumerate(model.RANKS_IN_LOGS) for r in ranks}
    seen = set()
    for seed in range(200):
        ranks = model._drawn_ranks(np.random.default_rng(seed)).tolist()
        assert sorted(ranks) == list(range(1, 21))
        assert ranks[0] == 1
        earliest = {
            r: row for row, four in reversed(list(enumerate(model.RANKS_IN_LOGS))) for r in four
        }
        assert all(row >= earliest[rank] for row, rank in enumerate(ranks) if rank > 1)
        late = [row - latest[rank] for row, rank in enumerate(ranks)]
        # Several may be due at once; then they follow one another.
        assert max(late) <= 3
        seen.add(tuple(ranks))
    assert len(seen) > 150
    columns = np.array(model.RANKS_IN_LOGS).T
    assert all(sorted(column) == list(range(1, 21)) for column in columns.tolist())


def test_of_two_ranks_drawn_the_more_popular_is_taken():
    """The rank of 5 minutes: two draws among 3 (of the maximum's row) and 3, 4, 6."""
    draws = [model._drawn_ranks(np.random.default_rng(seed))[1] for seed in range(2_000)]
    shares = pd.Series(draws).value_counts(normalize=True)
    assert shares.index.tolist() == [3, 4, 6]
    assert shares.tolist() == pytest.approx([3 / 4, 3 / 16, 1 / 16], abs=0.035)


@pytest.mark.traces
def test_the_ranks_of_sdsc_sp2_are_those_in_its_log(trace_path):
    """The rank of 18 hours first, then those of the others by length."""
    log = read_swf(trace_path("SDSC-SP2-1998-4.2-cln.swf.gz"), verbose=False)
    popular = log.jobs["requested_time"].value_counts().index[:20].tolist()
    by_length = [18 * HOUR, *sorted(value for value in popular if value != 18 * HOUR)]
    measured = [popular.index(value) + 1 for value in by_length]
    assert measured == [ranks[0] for ranks in model.RANKS_IN_LOGS]
    assert log.jobs["requested_time"].isin(popular).mean() == pytest.approx(0.87, abs=0.03)


def test_few_jobs_have_only_the_most_popular_estimates():
    shares = shares_of(20, maximum=64_800)
    whole = shares_of(10_000, maximum=64_800)
    assert set(shares.index) == set(whole.nlargest(10).index)
    assert shares.sum() == pytest.approx(1)
    assert shares_of(1, maximum=HOUR).to_dict() == {HOUR: 1.0}


def test_a_short_maximum_has_fewer_popular_estimates():
    shares = shares_of(10_000, maximum=HOUR)
    popular = [300, 600, 900, 1_200, 1_500, 1_800, 2_100, 2_400, 2_700, 3_000, 3_300, HOUR]
    assert sorted(shares.nlargest(12).index) == popular
    assert shares.nlargest(12).sum() == pytest.approx(0.89)
    assert len(shares) <= 90
    assert shares.index.max() == HOUR


# --- assignment to jobs -----------------------------------------------------------------------


def test_estimates_have_the_distribution_and_no_job_outruns_its_own():
    workload = mostly_short_jobs()
    estimated = synthetic.with_estimates(workload, maximum=64_800)
    shares = shares_of(10_000, maximum=64_800)
    jobs = estimated.jobs
    assert (jobs["run_time"] <= jobs["requested_time"]).all()
    counts = jobs["requested_time"].value_counts().sort_index()
    assert counts.index.tolist() == shares.index.tolist()
    assert np.abs(counts.to_numpy() - 10_000 * shares.to_numpy()).max() <= 1
    assert counts.nlargest(20).sum() == pytest.approx(8_900, abs=20)
    assert counts[64_800] == pytest.approx(2_173, abs=1)
    others = ["submit_time", "run_time", "nodes"]
    pd.testing.assert_frame_equal(jobs[others], workload.jobs[others])
    assert estimated.account["records"].tolist() == [10_000]


def test_each_job_draws_among_the_estimates_that_are_long_enough():
    """Jobs of one run time draw from one distribution; long jobs from the long estimates."""
    run_time = np.concatenate([np.ones(4_000), np.full(1_000, 30_000.0)])
    jobs = synthetic.with_estimates(jobs_of(run_time), maximum=64_800).jobs
    first, second = jobs["requested_time"][:2_000], jobs["requested_time"][2_000:4_000]
    assert first.mean() == pytest.approx(second.mean(), rel=0.1)
    menu = jobs["requested_time"].value_counts()
    long_enough = menu[menu.index >= 30_000]
    long = jobs["requested_time"][4_000:].value_counts().reindex(long_enough.index, fill_value=0)
    expected = 1_000 * long_enough / long_enough.sum()
    error = np.sqrt(expected.clip(lower=1))
    assert (np.abs(long - expected) < 4.5 * error).all()


def test_three_jobs_have_the_outcomes_of_the_rule(monkeypatch):
    """All outcomes of three jobs, with the probabilities worked out by hand."""
    menu = pd.Series([1 / 3, 1 / 3, 1 / 3], index=[600, HOUR, 2 * HOUR])
    monkeypatch.setattr(model, "_shares", lambda *_: menu)
    outcomes: Counter = Counter()
    workload = jobs_of([100, 1_000, 200])
    for seed in range(200):
        jobs = synthetic.with_estimates(workload, seed=seed, maximum=7_200).jobs
        outcomes[tuple(jobs["requested_time"])] += 1
    # The job of 1,000 s takes one hour or two; those of 200 s and 100 s share the rest.
    expected = {(600, 3_600, 7_200), (7_200, 3_600, 600), (600, 7_200, 3_600), (3_600, 7_200, 600)}
    assert set(outcomes) == expected
    assert all(abs(count - 50) < 28 for count in outcomes.values())


def test_lengthened_estimates_are_counted_in_the_account():
    """Half of the jobs run to the maximum, a fifth of the estimates reach it."""
    workload = jobs_of([60.0] * 500 + [64_800.0] * 500)
    estimated = synthetic.with_estimates(workload, maximum=64_800)
    assert (estimated.jobs["requested_time"] >= estimated.jobs["run_time"]).all()
    at_maximum = round(1_000 * shares_of(1_000, maximum=64_800)[64_800])
    assert estimated.account["reason"].str.contains("lengthened").tolist() == [False, True]
    assert estimated.account["records"].tolist() == [1_000, 500 - at_maximum]


def test_the_default_maximum_is_the_longest_run_time_in_whole_hours():
    assert synthetic.with_estimates(jobs_of([10.0] * 50)).jobs["requested_time"].max() == HOUR
    longest = synthetic.with_estimates(jobs_of([10.0] * 500 + [7_201.0])).jobs["requested_time"]
    assert longest.max() == 3 * HOUR


def test_requested_times_are_replaced_and_the_account_grows():
    workload = mostly_short_jobs(400)
    first = synthetic.with_estimates(workload, seed=1)
    second = synthetic.with_estimates(first, seed=2)
    assert not first.jobs["requested_time"].equals(second.jobs["requested_time"])
    assert second.account["records"].tolist() == [400, 400]
    assert workload.jobs["requested_time"].isna().all()
    again = synthetic.with_estimates(workload, seed=1)
    pd.testing.assert_frame_equal(first.jobs, again.jobs)


@settings(max_examples=40)
@given(
    run_time=st.lists(st.integers(0, 90_000), max_size=80),
    seed=st.integers(0, 2**63),
)
def test_random_workloads_get_estimates_of_at_least_the_run_time(run_time, seed):
    jobs = synthetic.with_estimates(jobs_of([float(r) for r in run_time]), seed=seed).jobs
    assert (jobs["requested_time"] >= jobs["run_time"]).all()
    assert (jobs["requested_time"] > 0).all()


# --- bad input --------------------------------------------------------------------------------


def test_a_run_time_beyond_the_maximum_is_refused():
    with pytest.raises(
        InvalidWorkloadError,
        match=r"^workload: job 1 has run_time=7201; the longest estimate is maximum=7200 s "
        r"\(as for 1 others\); give a longer one",
    ):
        synthetic.with_estimates(jobs_of([10.0, 7_201.0, 9_000.0]), maximum=7_200)


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        ({"seed": -1}, "from 0"),
        ({"maximum": 3_599}, "from 3,600"),
    ],
    ids=str,
)
def test_arguments_out_of_range_are_refused(bad, expected):
    [(name, value)] = bad.items()
    with pytest.raises(ValueError, match=f"^estimates: {name}=") as caught:
        synthetic.with_estimates(jobs_of([10.0] * 50), **bad)
    assert f"{name}={value!r}; expected a whole number {expected}" in str(caught.value)
