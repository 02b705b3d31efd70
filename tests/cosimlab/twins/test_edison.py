"""The synthetic Edison against the numbers that are printed about it."""

import importlib
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlab import twins
from cosimlab.twins import assumptions
from cosimlib import metrics

# The package shows the function under the module's name.
edison = importlib.import_module("cosimlab.twins.edison")
LARGEST = 2_788
DAY = 86_400.0
SEEDS = (0, 1, 2)
WEEKS = 8
RUN_TIME_LOGS = {
    "KTH-SP2-1996-2.1-cln": 10.5,
    "SDSC-SP2-1998-4.2-cln": 20.6,
    "HPC2N-2002-2.2-cln": 5.9,
    "CEA-Curie-2011-2.1-cln": 49.7,
    "theta-2023-prod": 3.2,
}


@pytest.fixture(scope="module")
def workloads():
    return [twins.edison(WEEKS * 7, seed=seed) for seed in SEEDS]


@pytest.fixture(scope="module")
def jobs(workloads):
    """All of them together, with node-seconds."""
    frames = pd.concat([workload.jobs for workload in workloads], ignore_index=True)
    return frames.assign(work=frames["nodes"] * frames["run_time"])


def share(jobs, mask):
    """Of the node-hours."""
    return jobs["work"][mask].sum() / jobs["work"].sum()


def test_sizes_are_as_printed(jobs):
    """Large jobs are few, so that their node-hours differ by seed; the shape itself is below."""
    assert (jobs["nodes"] < 32).mean() == pytest.approx(0.9, abs=0.001)
    assert share(jobs, jobs["nodes"] > 100) == pytest.approx(0.5, abs=0.04)
    assert share(jobs, jobs["nodes"] > 1_000) == pytest.approx(0.2, abs=0.04)
    assert jobs["nodes"].min() == 1 and jobs["nodes"].max() <= 5_576 / 2


def test_the_shape_of_sizes_has_the_printed_shares():
    """Run times do not depend on sizes: node-hours are in proportion to sizes."""
    shares = edison._size_shares(LARGEST)
    assert shares.sum() == pytest.approx(1) and (shares > 0).all() and shares[0] == 0.9
    sizes = edison._sizes((np.arange(1_000_000) + 0.5) / 1_000_000, LARGEST, 1.0)
    assert (sizes < 32).mean() == pytest.approx(0.9, abs=1e-5)
    assert sizes[sizes > 100].sum() / sizes.sum() == pytest.approx(0.5, abs=0.005)
    assert sizes[sizes > 1_000].sum() / sizes.sum() == pytest.approx(0.2, abs=0.002)
    for low, high in zip(*edison._class_bounds(LARGEST), strict=True):
        inside = np.log(sizes[(sizes >= low) & (sizes <= high)])
        # Log-uniform: the median is the geometric mean of the bounds.
        assert np.exp(np.median(inside)) == pytest.approx(math.sqrt(low * high), rel=0.1)


def test_jobs_a_day_and_load(workloads):
    for workload in workloads:
        assert len(workload) / (WEEKS * 7) == pytest.approx(4_000, rel=0.001)
        frame = workload.jobs
        work = frame["nodes"] @ frame["run_time"]
        assert work / (5_576 * WEEKS * 7 * DAY) == pytest.approx(0.89, rel=1e-4)
        assert metrics.offered_load(workload, workload.machine) == pytest.approx(0.89, rel=0.001)


def test_run_times_are_as_printed_and_assumed(workloads, jobs):
    run_time = jobs["run_time"]
    assert run_time.min() >= 10 and run_time.max() <= 48 * 3_600
    assert run_time.mean() == pytest.approx(71 * 60, rel=0.06)
    # One by one: each is scaled to its load. In five logs it is 3 to 50, 11.5 on average.
    for alone in (workload.jobs["run_time"] for workload in workloads):
        assert alone.mean() / alone.median() == pytest.approx(9.9, rel=0.02)
    assert (jobs["requested_time"] >= run_time).all()
    assert abs(np.corrcoef(np.log(run_time), np.log(jobs["nodes"]))[0, 1]) < 0.01


def test_memory_is_as_printed():
    jobs = twins.edison(120, memory_spread="tenth").jobs
    jobs = jobs.assign(work=jobs["nodes"] * jobs["run_time"])
    part = jobs["memory"] / 64
    assert (part <= 1).all() and (part > 0).all()
    assert (part < 0.6).mean() == pytest.approx(0.9, abs=1e-4)
    assert share(jobs, part < 0.6) == pytest.approx(0.9, abs=0.02)
    for column in ("nodes", "run_time"):
        assert abs(np.corrcoef(part, np.log(jobs[column]))[0, 1]) < 0.01


def test_any_tenth_of_the_jobs_needs_much_memory():
    part = twins.edison(20, memory_spread="tenth").jobs["memory"] / 64
    assert sorted(part.unique()) == [1e-6, 0.6] and part.mean() == pytest.approx(0.06, abs=1e-4)
    even = twins.edison(20, memory_spread="UniLu-Gaia").jobs["memory"] / 64
    assert even.mean() == pytest.approx(0.189, abs=0.003)


def test_by_default_the_longest_jobs_with_a_tenth_of_the_node_hours_need_much_memory():
    jobs = twins.edison(20).jobs
    heavy = jobs["memory"] >= 0.6 * 64
    work = jobs["nodes"] * jobs["run_time"]
    # A job is wholly among them or not, and one may have 3 % of the node-hours of twenty days.
    assert 0.07 < work[heavy].sum() / work.sum() <= 0.1
    assert jobs["run_time"][heavy].min() >= jobs["run_time"][~heavy].max()
    assert sorted((jobs["memory"] / 64).unique()) == [1e-6, 0.6]


def test_spreads_of_memory_have_names():
    made = {s: twins.edison(2, nodes=64, memory_spread=s) for s in edison.MEMORY_SPREADS}
    assert [
        each.name[len("synthetic Edison (64 nodes, 2 days, seed 0") :] for each in made.values()
    ] == [")", ", memory in any tenth)", ", memory as UniLu-Gaia's)"]
    longest, tenth, even = (each.jobs for each in made.values())
    for other in (longest, even):
        assert tenth.drop(columns="memory").equals(other.drop(columns="memory"))
    assert ((tenth["memory"] >= 0.6 * 64) == (even["memory"] >= 0.6 * 64)).all()
    for wrong in ("x", None, ["tenth"], np.array(["tenth"])):
        with pytest.raises(ValueError, match=r"memory_spread=.*; expected one of 'longest'"):
            twins.edison(2, nodes=64, memory_spread=wrong)


def test_memory_spreads_like_that_of_gaia():
    memory = edison._memory((np.arange(1_000_000) + 0.5) / 1_000_000, "UniLu-Gaia")
    assert np.mean(memory < 0.6 * 64) == pytest.approx(0.9, abs=1e-5)
    ratio = np.quantile(memory, 0.95) / np.median(memory)
    assert ratio == pytest.approx(11.38, abs=0.01)
    assert ratio == pytest.approx(829_440 / 72_875, abs=0.01)


def test_the_skew_of_run_times_is_the_mean_of_five_logs():
    mean = math.prod(RUN_TIME_LOGS.values()) ** (1 / len(RUN_TIME_LOGS))
    assert pytest.approx(mean, abs=0.05) == assumptions.RUN_SKEW


def records(path, field):
    """A field of every job of a log, as its file has it."""
    table = pd.read_csv(path, sep=r"\s+", comment=";", header=None, usecols=[field - 1])
    return table.to_numpy(float).ravel()


@pytest.mark.traces
@pytest.mark.parametrize(("log", "skew"), RUN_TIME_LOGS.items())
def test_the_five_logs_have_that_skew(trace_path, log, skew):
    run_time = records(trace_path(f"{log}.swf.gz"), 4)
    run_time = run_time[run_time >= 0]
    assert run_time.mean() / np.median(run_time) == pytest.approx(skew, abs=0.05)


@pytest.mark.traces
def test_gaia_has_that_memory(trace_path):
    used = records(trace_path("UniLu-Gaia-2014-2.swf.gz"), 7)
    assert np.quantile(used[used > 0], [0.5, 0.95]).tolist() == [72_875, 829_440]


def test_submissions_have_days_and_weekends(jobs):
    hours = np.bincount((jobs["submit_time"] // 3_600 % 24).astype(int), minlength=24)
    days = np.bincount((jobs["submit_time"] // DAY % 7).astype(int), minlength=7)
    assert hours[12:18].sum() / hours[0:6].sum() == pytest.approx(2.7, abs=0.4)
    assert days[5:].mean() / days[:5].mean() == pytest.approx(edison.WEEKENDS, abs=0.08)
    assert (jobs[["submit_time", "run_time"]] % 1 == 0).all(axis=None)


def test_an_hour_has_more_or_less_than_that_hour_of_other_weeks(workloads):
    for workload in workloads:
        hours = (workload.jobs["submit_time"] // 3_600).astype(int)
        weeks = np.bincount(hours, minlength=WEEKS * 168)[: WEEKS * 168].reshape(WEEKS, 168)
        expected = np.outer(weeks.sum(axis=1), weeks.sum(axis=0)) / weeks.sum()
        variance = (weeks / expected).var() * WEEKS / (WEEKS - 1)
        assert variance == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize("nodes", [16, 100, 512, 6_000])
def test_another_machine_has_jobs_as_large_a_part_of_it(nodes):
    small = twins.edison(30, nodes=nodes, seed=0)
    assert small.machine.total_nodes == nodes and small.machine.memory_per_node == 64
    assert small.jobs["nodes"].max() <= math.ceil(nodes / 2)
    work = small.jobs["nodes"] @ small.jobs["run_time"]
    # Rounded run times leave a little on a small machine.
    assert work / (nodes * 30 * DAY) == pytest.approx(0.89, rel=0.005)
    uniform = (np.arange(1_000) + 0.5) / 1_000
    there = edison._sizes(uniform, LARGEST, 1.0)
    here = edison._sizes(uniform, LARGEST, nodes / 5_576)
    assert here.tolist() == np.ceil(there * (nodes / 5_576) - 1e-9).tolist()


def test_more_load_is_more_jobs():
    less, more = (len(twins.edison(20, nodes=512, load=load)) for load in (0.445, 1.78))
    assert more == pytest.approx(4 * less, rel=0.001)


@settings(max_examples=25)
@given(
    days=st.floats(0.001, 4),
    nodes=st.integers(16, 600),
    load=st.floats(0.01, 3),
    seed=st.integers(0, 2**63),
)
def test_any_size_and_length_is_a_workload(days, nodes, load, seed):
    workload = twins.edison(days, nodes=nodes, load=load, seed=seed)
    frame = workload.jobs
    assert len(frame) >= 1
    assert frame["submit_time"].between(0, days * DAY).all()
    assert frame["run_time"].between(10, 48 * 3_600).all()
    assert frame["nodes"].between(1, nodes).all()
    assert frame["memory"].between(0, 64).all()


def test_a_load_of_ones_own_is_named():
    assert twins.edison(1, nodes=16).name == "synthetic Edison (16 nodes, 1 days, seed 0)"
    other = twins.edison(1, nodes=16, load=0.5)
    assert other.name == "synthetic Edison (16 nodes, 1 days, seed 0, load 0.5)"
