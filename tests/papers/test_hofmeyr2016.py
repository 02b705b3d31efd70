"""Runs of the paper's experiment, its applications, tables and inverse analysis."""

import math
from dataclasses import replace

import numba
import numpy as np
import pandas as pd
import pytest

from cosimlab import twins
from cosimlab.timesharing import simulate_batch, with_noise
from cosimlib.metrics import bounded_slowdown
from cosimlib.system import System
from cosimlib.timesharing import simulate_timesharing, summarize_run
from cosimlib.workload import Workload
from papers.claims import Claims
from papers.hofmeyr2016 import (
    ASSUMED,
    BATCH,
    EASY,
    NOT_SPMD_BATCH,
    SHARED,
    UNLIMITED,
    Kind,
    Span,
    by_size_and_length,
    compare_printed,
    crossover_by_correlation,
    inverse_table,
    make_paper,
    measure,
    node_hours_by_size,
    noise_cost,
    overheads,
    overview,
    printed_statistics,
    quartiles,
    read_applications,
    samples,
    sharing_factors,
    weeks,
)
from papers.hofmeyr2016.experiment import (
    APPLICATIONS,
    NODE_HOURS,
    applications,
    node_noise,
)
from papers.hofmeyr2016.sensitivity import PRINTED
from papers.hofmeyr2016.turnaround import turnaround_times
from tests.papers.readings import assert_readings
from tests.suites import THOROUGH

SLOW = numba.config.DISABLE_JIT
FEW = 0.3 if SLOW else 2.0
DAY = 86_400.0
WEEK = Span(1.5 * FEW, 0.5 * FEW, 32)
SMALL = {
    "noise": Kind(Span(FEW, 0.0, 32), range(1)),
    "greatest overhead": Kind(Span(FEW, 0.0, 24), range(4, 6)),
    "overheads": Kind(Span(FEW, 0.0, 24), range(1)),
    "sharing": Kind(WEEK, range(2)),
    "batch": Kind(Span(2 * FEW, FEW, 48), range(3)),
    "noisy batch": Kind(Span(2 * FEW, FEW, 48), range(2)),
}


@pytest.fixture(scope="module")
def runs():
    return measure(SMALL, noise=0.0001)


def same(one, other) -> bool:
    return one._replace(policy="").to_json() == other._replace(policy="").to_json()


# --- runs ---------------------------------------------------------------------------------------


def test_runs_are_those_of_the_simulators_on_the_same_jobs(runs):
    for seed in (0, 1):
        jobs = twins.edison(WEEK.days, nodes=32, seed=seed)
        batch = simulate_batch(jobs, jobs.machine, seed=seed)
        expected = summarize_run(batch, warm_up=WEEK.warm_up * DAY)
        assert same(runs.of("sharing", BATCH)[seed], expected)
        free = replace(jobs.machine, memory_per_node=math.nan)
        expected = summarize_run(simulate_timesharing(jobs, free), warm_up=WEEK.warm_up * DAY)
        assert seed or same(runs.first("sharing", UNLIMITED), expected)
        extra = simulate_batch(jobs, jobs.machine, extra_nodes=True, seed=seed)
        expected = summarize_run(extra, warm_up=WEEK.warm_up * DAY)
        assert same(runs.of("sharing", EASY)[seed], expected)
        later = twins.edison(FEW, nodes=24, seed=seed + 4)
        free = replace(later.machine, memory_per_node=math.nan)
        loaded = simulate_timesharing(later, free, overhead=0.13, seed=seed + 4)
        most = runs.of("greatest overhead", UNLIMITED, overhead=0.13)
        assert same(most[seed], summarize_run(loaded, warm_up=0.0))
    few = twins.edison(FEW, nodes=32)
    noisy = simulate_timesharing(few, few.machine, noise=node_noise(0.0001, 32))
    found = runs.first("noise", SHARED, noise=True)
    assert same(found, summarize_run(noisy, warm_up=0.0))
    not_spmd = simulate_batch(few, few.machine, spmd=False)
    assert same(runs.first("noise", NOT_SPMD_BATCH), summarize_run(not_spmd, warm_up=0.0))


def test_each_kind_of_run_has_its_seeds_and_names_its_jobs(runs):
    seeds = runs.table.groupby("kind")["seed"].unique().map(list).to_dict()
    assert seeds == {kind: list(places) for kind, (_, places) in SMALL.items()}
    assert runs.data("batch").endswith(f"(48 nodes, {2 * FEW:g} days, seeds 0 to 2)")
    assert runs.data("overheads").endswith(f"(24 nodes, {FEW:g} days, seed 0)")
    assert runs.noisy_days.endswith("seed 0), noise 0.0001")
    assert runs.first("noise", SHARED, noise=True).policy == "time-sharing, noise"
    with pytest.raises(ValueError, match=r"no run of Run\(policy='EASY'.*among those of 'batch'"):
        runs.of("batch", "EASY")


def test_noise_costs_the_node_seconds_that_it_adds(runs):
    jobs = twins.edison(FEW, nodes=32)
    held = [
        float(jobs.jobs["nodes"] @ with_noise(jobs, noise=noise).jobs["run_time"])
        for noise in (None, node_noise(0.0001, 32))
    ]
    assert noise_cost(runs) == pytest.approx(held[1] / held[0] - 1) and noise_cost(runs) > 0


def test_every_claim_is_measured_and_judged(runs):
    claims = Claims("3-timesharing", data="made")
    measured = samples(runs)
    assert_readings("3-timesharing", measured)
    claims.judge(measured)
    assert len(claims.verdicts) == 37
    assert all(v.ours and "nan" not in v.ours for v in claims.verdicts.values())


def test_the_first_seed_has_further_runs_whichever_number_it_has():
    one = {"sharing": Kind(WEEK, range(3, 5)), "batch": SMALL["batch"]._replace(places=range(1))}
    found = measure(one)
    assert found.first("sharing", UNLIMITED).jobs == found.first("sharing").jobs
    assert len(found.of("sharing", UNLIMITED)) == 1 and len(found.of("sharing")) == 2


def test_runs_are_kept_in_a_folder(tmp_path):
    one = {kind: SMALL[kind]._replace(places=range(1)) for kind in ("sharing", "batch")}
    first = measure(one, folder=tmp_path)
    cells = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    assert len(cells) == 10 and same(
        measure(one, folder=tmp_path).first("batch"), first.first("batch")
    )
    assert {path: path.stat().st_mtime_ns for path in cells} == cells


def test_a_node_of_a_smaller_machine_stands_for_some_of_edisons():
    assert node_noise(0.001, 5_576) == pytest.approx(0.001)
    assert node_noise(0.001, 697) == pytest.approx(1 - 0.999**8)
    assert node_noise(1.0, 697) == 1.0 and node_noise(0.0, 697) == 0.0
    for wrong in (-0.1, 1.5, math.nan, None, "much"):
        with pytest.raises(ValueError, match="noise="):
            measure(SMALL, noise=wrong)


# --- jobs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("nodes", [697, 5576])
def test_long_workloads_have_the_printed_statistics(nodes):
    table = printed_statistics(twins.edison(60, nodes=nodes, seed=4))
    assert table["statistic"].is_unique
    np.testing.assert_allclose(table["ours"], table["paper"], atol=0.12)
    np.testing.assert_allclose(table["ours"][[0, 3]], table["paper"][[0, 3]], atol=0.03)


@pytest.mark.parametrize(
    ("total_nodes", "sizes"),
    [(5_576, (31, 32, 95, 100, 101, 950, 1_000, 1_001)), (697, (4, 5, 12, 13, 14, 120, 125, 126))],
)
def test_statistics_count_from_the_sizes_that_the_paper_prints(total_nodes, sizes):
    """Node-hours of 1, 2, 4, ..., 128: their sums tell which jobs are in them. 255 in all."""
    hours = 2.0 ** np.arange(8)
    memory = np.array([1, 37, 38, 39, 41, 44, 60, 64])
    columns = {"submit_time": 3_600.0 * np.arange(8), "run_time": 3_600 * hours / sizes}
    jobs = pd.DataFrame(columns | {"nodes": sizes, "memory": memory})
    machine = replace(System.of(total_nodes), memory_per_node=64.0)
    ours = printed_statistics(Workload(jobs, "made", machine))["ours"]
    light = 1 + 2 + 4  # below 38.4 GB
    offered = 255 / 7 / total_nodes
    expected = [1 / 8, (16 + 32 + 64 + 128) / 255, 128 / 255, light / 255, offered]
    np.testing.assert_allclose(ours, expected, atol=5e-4)


# --- applications -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", APPLICATIONS)
def test_applications_have_the_efficiency_that_they_are_named_after(name):
    least, efficiency = APPLICATIONS[name]
    table = applications().set_index("application").loc[name].set_index("nodes")["run_time"]
    assert (table.index[0], table.index[-1]) == (least, 960)
    assert table[least] * least == pytest.approx(NODE_HOURS * 3600)
    assert table[least] * least / (table[960] * 960) == pytest.approx(efficiency)
    assert (np.diff(table) < 0).all() and efficiency >= 0.49


def written(path, text: str):
    path = path / "mine.csv"
    path.write_text(text)
    return path


def test_own_data_are_interpolated_linearly_in_the_order_of_the_file(tmp_path):
    text = "run_time, nodes, remark,application\n10, 100,fine,mine\n1000,1,,mine\n7.5,4,,alone\n"
    table = read_applications(written(tmp_path, text))
    mine = table[table["application"] == "mine"].set_index("nodes")["run_time"]
    assert mine.index.tolist() == [1, 2, 4, 5, 8, 12, 19, 28, 43, 66, 100]
    np.testing.assert_allclose(mine, 1000 - 10.0 * (mine.index - 1))
    assert table["application"].unique().tolist() == ["mine", "alone"]
    alone = table[table["application"] == "alone"]
    assert alone[["nodes", "run_time"]].to_numpy().tolist() == [[4, 7.5]]


@pytest.mark.parametrize(
    ("rows", "row"),
    [
        ("", ""),
        ("a,,10\n", "a, nan, 10"),
        (",1,10\n", "nan, 1.0, 10.0"),
        ("a,0,10\n", "a, 0, 10"),
        ("a,1.5,10\n", "a, 1.5, 10"),
        ("a,1,nan\n", "a, 1, nan"),
        ("a,1,inf\n", "a, 1, inf"),
        ("a,1,-3\n", "a, 1, -3"),
        ("a,1,10\nb,1,4\na,1,9\n", "a, 1, 9"),
        ("a,one,9\n", "a, one, 9"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(tmp_path, rows, row):
    path = written(tmp_path, f"application,nodes,run_time\n{rows}")
    message = f"mine.csv: a row of application, nodes, run_time is '{row}'; expected a name"
    with pytest.raises(ValueError, match=message):
        read_applications(path)
    with pytest.raises(ValueError, match="no column 'run_time'; expected application, nodes"):
        read_applications(written(tmp_path, "application,nodes\na,1\n"))


def test_turnaround_is_run_time_times_the_slowdown_of_ten_jobs_like_that(runs):
    run = runs.first("sharing")
    other = run._replace(policy="twice", slowdown_sums=2 * run.slowdown_sums)
    table = pd.DataFrame(
        {"application": "a", "nodes": [1, 1, 32, 33, 1], "run_time": [5.0, 700.0, 9.0, 9.0, 1e9]}
    )
    found = turnaround_times(table, run, other, at_least=1)
    for row, (nodes, length) in enumerate([(1, 10), (1, 700), (32, 10)]):
        size = np.searchsorted(run.nodes_edges, nodes, side="right") - 1
        column = np.searchsorted(run.length_edges, length, side="right") - 1
        expected = length * run.bins[size, column]
        assert found["turnaround_time"][row] == pytest.approx(expected, nan_ok=True)
    assert np.isfinite(found["turnaround_time"][1])
    assert found["turnaround_time"][3:5].isna().all()
    first, second = (part["turnaround_time"] for _, part in found.groupby("policy", sort=False))
    np.testing.assert_allclose(second, 2 * first)
    size = np.searchsorted(run.nodes_edges, table["nodes"][:3], side="right") - 1
    column = np.searchsorted(run.length_edges, [10, 700, 10], side="right") - 1
    ten = turnaround_times(table, run)["turnaround_time"][:3].notna()
    assert (ten == (run.counts[size, column] >= 10)).all()


# --- inverse analysis ---------------------------------------------------------------------------


def row(name, factor, seed=0):
    return {"assumptions": name, "seed": seed} | {k: v * factor for k, v in PRINTED.items()}


def test_numbers_within_a_factor_are_met_and_means_over_seeds_are_geometric():
    rows = [row("as printed", 1.0), row("off", 1.6), row("two", 0.8), row("two", 1.25, 1)]
    words = compare_printed(pd.DataFrame(rows).assign(EASY=1.0))
    assert words.index.tolist() == ["printed", "as printed", "off", "two"]
    assert words["met"].tolist() == ["", "8 of 8", "0 of 8", "8 of 8"]
    assert words.loc["printed", ["batch", "batch, noise", "EASY"]].tolist() == [
        "137",
        "1,009",
        "not printed",
    ]
    assert words.loc["two", "batch"] == "137 (8.04 to 2.33e+03)"
    table = pd.DataFrame([*rows, row("one", 1.0)])
    table.loc[table["assumptions"] == "one", "not SPMD"] = math.nan
    words = compare_printed(table)
    assert words.loc["one", ["batch", "not SPMD", "met"]].tolist() == [
        "137",
        "not simulated",
        "7 of 7",
    ]


def test_every_assumption_makes_jobs_and_numbers():
    names = list(ASSUMED)[:: 8 if SLOW else 1 if THOROUGH else 3]
    chosen = {name: ASSUMED[name] for name in names}
    batch = Kind(Span(1.0, 0.0, 16), range(2))
    table = inverse_table(chosen, batch, Kind(Span(0.5, 0.0, 16), range(1, 2)))
    assert table["assumptions"].tolist() == [name for name in names for _ in range(2)]
    assert table["seed"].tolist() == [0, 1] * len(names)
    numbers = table.drop(columns=["assumptions", "most in a week"])
    assert np.isfinite(numbers[table["seed"] == 1].to_numpy(float)).all()
    load = table["jobs per node"]
    assert load.isna().tolist() == [True, False] * len(names)
    alone = inverse_table({"one": ASSUMED["printed inputs"]}, batch)
    assert "time-sharing" not in alone and alone["batch"].iloc[0] == table["batch"].iloc[0]


def test_where_all_jobs_are_large_their_crossover_is_that_of_all():
    table = crossover_by_correlation([0.3], Kind(Span(0.5, 0.0, 16), range(2)))
    assert table.index.tolist() == [0.3]
    assert table["all jobs (h)"].tolist() == table["large jobs (h)"].tolist()


def test_an_overhead_slows_by_processor_sharing_as_the_bound_says():
    """One node, Poisson arrivals: the closed form, and a simulation of it."""
    factors = sharing_factors([0.0, 9.0, 7 / 3], [0.0, 0.05, 0.1])
    assert factors.loc["5 %", 9.0] == 2 and factors.loc["10 %", 9.0] == math.inf
    assert factors.loc["0 %", 0.0] == 1
    if SLOW:
        return
    rng, n, load = np.random.default_rng(1), 60_000, 0.7
    jobs = pd.DataFrame(
        {
            "submit_time": np.cumsum(rng.exponential(100 / load, n)),
            "run_time": rng.exponential(100.0, n),
            "nodes": 1,
        }
    )
    workload, one = Workload(jobs, "Poisson"), System.of(1)
    times = []
    for overhead in (0.0, 0.1):
        run = simulate_timesharing(workload, one, step=None, overhead=overhead)
        times.append((run.end_time - run.start_time).mean())
    assert times[1] / times[0] == pytest.approx(factors.loc["10 %", 7 / 3], rel=0.1)


# --- tables -------------------------------------------------------------------------------------


def test_on_other_loads_nothing_is_judged():
    outside = make_paper(twins.edison(WEEK.days, nodes=32), own=False).scorecard({})
    assert "is not the paper's machine" in outside


def test_node_hours_by_size_add_up_in_order_of_size():
    jobs = pd.DataFrame({"submit_time": 0, "run_time": [10, 100, 5, 20], "nodes": [4, 1, 4, 2]})
    table = node_hours_by_size(Workload(jobs, "made"))
    assert table["nodes"].tolist() == [1, 2, 4]
    np.testing.assert_allclose(table["share"], [0.5, 0.7, 1.0])


def test_tables_of_slowdowns_are_those_of_the_jobs():
    workload = twins.edison(15, nodes=64, seed=3)
    schedule = simulate_batch(workload, workload.machine)
    run, values = summarize_run(schedule, warm_up=0.0), bounded_slowdown(schedule)
    table = quartiles({"batch": run})
    expected = np.quantile(values, [0.25, 0.5, 0.75])
    np.testing.assert_allclose(table.loc[0, ["25%", "50%", "75%"]].astype(float), expected)
    reach = expected[2] + 1.5 * (expected[2] - expected[0])
    assert table["upper whisker"][0] == pytest.approx(values[values <= reach].max(), rel=0.05)
    assert table["mean"][0] == pytest.approx(values.mean())
    seen = overview([run])
    assert seen["mean slowdown"][0] == pytest.approx(values.mean(), abs=5e-4)
    assert seen["median"][0] == pytest.approx(expected[1], abs=5e-4)
    assert by_size_and_length(run)["jobs"].sum() == run.jobs == len(workload)


def test_bins_have_sizes_and_lengths_and_batch_over_sharing(runs):
    """One node or 2 to 9, ten hours or a hundred: batch is 10 times, half, 100 and a tenth."""
    edges = {
        "nodes_edges": np.array([1.0, 2.0, 10.0]),
        "length_edges": np.array([3_600.0, 36_000.0, 360_000.0]),
    }
    counts = np.array([[2, 4], [5, 1]])
    sums = np.array([[100.0, 8.0], [1000.0, 1.0]]), np.array([[10.0, 16.0], [10.0, 10.0]])
    batch = runs.first("sharing")._replace(slowdown_sums=sums[0], counts=counts, **edges)
    shared = batch._replace(policy=UNLIMITED, slowdown_sums=sums[1])
    alone = by_size_and_length(batch)
    np.testing.assert_allclose(alone["slowdown"], [50, 2, 200, 1])
    table = by_size_and_length(batch, shared)
    assert table[["nodes", "run_time", "jobs"]].to_numpy().tolist() == [
        [1, 3_600, 2],
        [1, 36_000, 4],
        [2, 3_600, 5],
        [2, 36_000, 1],
    ]
    np.testing.assert_allclose(table["ratio"], [10, 0.5, 100, 0.1])


def test_a_bin_without_jobs_has_a_row_without_a_slowdown(runs):
    run = runs.first("sharing")
    table = by_size_and_length(run)
    assert len(table) == run.counts.size and table["jobs"].sum() == run.jobs
    assert (table["slowdown"].isna() == (table["jobs"] == 0)).all()


def test_weeks_and_overheads_are_those_of_the_runs(runs):
    table = weeks({"one": runs.first("batch"), "two": runs.first("sharing")})
    assert table["policy"].unique().tolist() == ["one", "two"]
    first = table[table["policy"] == "one"]
    np.testing.assert_allclose(first["day"], runs.first("batch").weeks / DAY)
    costs = overheads(runs, {"unlimited": UNLIMITED, "limited": SHARED})
    of_limited = costs[costs["memory"] == "limited"]["overhead"].tolist()
    assert of_limited == [0.0, 0.05]
    row = costs.query("memory == 'unlimited' and overhead == 0.13").iloc[0]
    run = runs.first("overheads", UNLIMITED, overhead=0.13)
    assert (row["utilization"], row["slowdown"]) == (run.utilization, run.mean_slowdown)
