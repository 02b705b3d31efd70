"""Comparison of schemes: closed forms, tables and figures."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

import cosimlib.coscheduling as comparisons
from cosimlib import synthetic
from cosimlib.audit import InfeasibleScheduleError, audit, check_capacity
from cosimlib.coscheduling import simulate_coscheduling
from cosimlib.coscheduling.example import MACHINES, deadlock_example
from cosimlib.metrics import offered_load
from cosimlib.system import System
from cosimlib.traces.account import TraceError
from cosimlib.workload import Workload
from tests.coscheduling.instances import instances, simulated

TEN = System.of(A=10, B=10)


@pytest.fixture
def schedule():
    """A's job 0 holds five nodes for 1,800 s, released once at 1,200 s; B's mate comes then."""
    jobs = {"submit_time": [0, 600, 1800], "run_time": 3600, "requested_time": 3600}
    jobs |= {"nodes": [5, 2, 4], "partition": list("AAB"), "mate": [2, None, 0]}
    return simulate_coscheduling(Workload(pd.DataFrame(jobs), "small"), TEN, schemes="HH")


def test_measures_in_closed_form(schedule):
    assert schedule.start_time.tolist() == [1800, 600, 1800]
    table = comparisons.summarize_machines(audit(schedule)).set_index("machine")
    assert comparisons.sync_up_overhead(schedule).to_dict() == {0: 1800, 2: 0}
    assert table.loc["A", ["jobs", "paired"]].tolist() == [2, 1]
    assert table["lost"].tolist() == [5 * 1800 / 3600, 0]
    assert table["lost_share"].tolist() == [5 * 1800 / (10 * 5400), 0]
    assert table["wait"].tolist() == [15, 0]
    assert table["slowdown"].tolist() == [(1.5 + 1) / 2, 1]
    assert table["sync_up"].tolist() == [30, 0]
    assert table["drained"].tolist() == [1200 / 86_400, 0]
    assert not len(schedule.apart)


def test_mates_that_never_start_are_paired_all_the_same():
    schedule = simulate_coscheduling(deadlock_example(), MACHINES, release_interval=None)
    table = comparisons.summarize_machines(schedule)
    assert np.isnan(schedule.start_time[schedule.group >= 0]).any()
    assert table["paired"].tolist() == [2, 2]


@pytest.fixture(scope="module")
def comparison():
    return comparisons.compare_schemes(
        comparisons.by_proportion, (0.1, 0.33), by="share", seeds=(0, 1), days=0.5, executor=2
    )


def test_comparisons_have_one_row_per_case(comparison):
    assert len(comparison) == 2 * 2 * 2 * 6
    assert comparison["scheme"].unique().tolist() == ["base", "ideal", *comparisons.SCHEMES]
    assert comparison["apart"].eq(0).all()
    assert comparison["stuck"].eq(0).all()
    yielding = comparison[comparison["scheme"].isin(["base", "ideal", "YY"])]
    assert yielding["lost"].eq(0).all()
    assert comparison.loc[comparison["scheme"] == "HH", "lost"].gt(0).any()
    shares = comparison[comparison["scheme"] == "YY"].groupby("share")[["paired", "jobs"]].sum()
    assert (shares["paired"] / shares["jobs"]).tolist() == pytest.approx([0.1, 0.33], abs=0.01)


def test_averages_are_means_over_seeds_with_intervals(comparison):
    table = comparisons.averages(comparison, "share")
    assert set(table["measure"]) == set(comparisons.SUMMARIZED)
    row = table.query("machine == 'eureka' and share == .33 and scheme == 'HY'")
    part = comparison.query("machine == 'eureka' and share == .33 and scheme == 'HY'")
    wait = row[row["measure"] == "wait"].iloc[0]
    assert wait["mean"] == pytest.approx(part["wait"].mean()) and wait["seeds"] == 2
    # Student's t with one degree of freedom is tan(0.475 π), s/√2 is half the difference.
    half = np.tan(0.475 * np.pi) * np.ptp(part["wait"]) / 2
    assert wait["high"] - wait["mean"] == pytest.approx(half)
    assert wait["mean"] - wait["low"] == pytest.approx(half)


def test_runs_with_jobs_that_never_start_are_left_out_of_averages(comparison):
    first = (comparison["seed"] == 0) & (comparison["scheme"] == "HH")
    table = comparison.assign(stuck=first.astype(int), wait=comparison["wait"].mask(first, 1e9))
    means = comparisons.averages(table, "share").query("measure == 'wait'")
    assert means["mean"].max() < 1e9
    assert (means.query("scheme == 'HH'")["seeds"] == 1).all()
    ratios = comparisons.over_ideal(table, "share")
    assert ratios["mean"].max() < 1e3 and ratios.query("scheme == 'HH'")["low"].isna().all()
    assert comparisons.never_started(comparison, "share") == "All jobs start in every run."
    told = comparisons.never_started(table, "share")
    assert told.endswith("leave out: share 0.1, seed 0, HH: 1 job; share 0.33, seed 0, HH: 1 job.")


def test_the_ideal_is_the_later_of_two_base_starts_and_nobody_else_moves():
    """a1 waits from 0 to 300 s for b1, which waits for b0; a2 and b0 are as in the base."""
    jobs = {"submit_time": [0, 0, 0, 0], "run_time": [300, 60, 300, 60], "nodes": [4, 2, 4, 4]}
    table = pd.DataFrame(jobs).assign(requested_time=300.0, partition=list("AABB"))
    table = table.assign(mate=pd.array([3, None, None, 0], dtype="Int64"))
    workload = Workload(table, "four", System.of(4))
    machines = System.of(A=4, B=4)
    base = simulate_coscheduling(workload, machines, schemes=None, order="submit")
    assert base.start_time.tolist() == [0, 300, 0, 300]
    ideal = comparisons.ideal_schedule(base)
    assert ideal.start_time.tolist() == [300, 300, 0, 300] and not len(ideal.apart)
    assert comparisons.sync_up_overhead(ideal).tolist() == [300, 0]
    measured = comparisons.summarize_machines(ideal).set_index("machine")
    assert measured["wait"].tolist() == [5, 2.5] and measured["sync_up"].tolist() == [5, 0]
    assert measured["waited"].tolist() == [1, 0] and measured["paired"].tolist() == [1, 1]
    assert measured["wait_paired"].tolist() == [5, 5] and measured["wait_alone"].tolist() == [5, 0]
    # The two jobs of A overlap: nobody makes room for the other.
    with pytest.raises(InfeasibleScheduleError, match="6 nodes busy"):
        check_capacity(ideal)


@settings(max_examples=30)
@given(instances(outages=False))
def test_the_ideal_starts_no_job_before_the_base_and_all_mates_at_once(instance):
    base = simulated(instance, schemes=None)
    ideal = comparisons.ideal_schedule(base)
    assert (ideal.start_time >= base.start_time).all() and not len(ideal.apart)
    alone = ideal.group < 0
    assert (ideal.start_time[alone] == base.start_time[alone]).all()
    waits = comparisons.sync_up_overhead(ideal)
    paired = np.flatnonzero(~alone)
    assert waits.tolist() == (ideal.start_time - base.start_time)[paired].tolist()


def test_medians_late_jobs_and_those_that_wait_at_all(comparison):
    for row in comparison.itertuples():
        assert 0 <= row.sync_up_median <= row.sync_up_late and 0 <= row.waited <= 1
        assert (row.waited > 0) == (row.sync_up > 0)
        paired = {"base": 0}.get(row.scheme, row.paired)
        mixed = (paired * row.wait_paired + (row.jobs - paired) * row.wait_alone) / row.jobs
        assert row.scheme == "base" or mixed == pytest.approx(row.wait)


def test_ratios_to_the_ideal_and_differences_are_paired_by_seed():
    """Wait 20 and 40 in the ideal; HH 3 times that, YY 1.5 times; sync-up of YH and YY one more."""
    rows = [
        (machine, 0.1, seed, scheme, 20.0 * (seed + 1) * times, 7.0 * seed + more, 0)
        for machine in ("intrepid", "eureka")
        for seed in (0, 1)
        for scheme, times, more in (
            ("base", 0.5, 0), ("ideal", 1, 0), ("HH", 3, 1), ("HY", 2, 3), ("YH", 2, 2),
            ("YY", 1.5, 8),
        )
    ]  # fmt: skip
    columns = ["machine", "share", "seed", "scheme", "wait", "sync_up", "stuck"]
    table = pd.DataFrame(rows, columns=columns)
    ratios = comparisons.over_ideal(table, "share").set_index(["machine", "scheme"])
    assert ratios.loc["eureka", ["mean", "low", "high"]].to_numpy().tolist() == [
        [3] * 3, [2] * 3, [2] * 3, [1.5] * 3
    ]  # fmt: skip
    more = comparisons.yield_minus_hold(table, "share").set_index(["machine", "scheme"])["mean"]
    assert more.to_dict() == {
        ("intrepid", "other machine holds"): 2 - 1,
        ("intrepid", "other machine yields"): 8 - 3,
        ("eureka", "other machine holds"): 3 - 1,
        ("eureka", "other machine yields"): 8 - 2,
    }


def test_knobs_are_compared_on_the_same_workloads():
    table = comparisons.compare_knobs(
        {"never": {"max_yields": None}, "at once": {"max_yields": 0}},
        by="threshold", make=comparisons.by_proportion, at={"share": 0.2}, seeds=(0, 1), days=0.5,
        schemes=("YY",), held_share=0.5,
    )  # fmt: skip
    base = table[table["scheme"] == "base"].pivot_table("wait", ["machine", "seed"], "threshold")
    assert (base["never"] == base["at once"]).all()
    lost = table[table["scheme"] == "YY"].groupby("threshold")["lost"].sum()
    assert lost["never"] == 0 < lost["at once"]


def test_a_log_is_scaled_to_the_load_and_given_estimates():
    log = synthetic.intrepid(400, load=0.2, seed=3)
    log = Workload(log.jobs.drop(columns="requested_time"), "log", log.machine)
    month = comparisons.month_of_intrepid(log=log, days=1.0)
    assert len(month) == round(9_220 / 30)
    assert month.jobs["requested_time"].notna().all()
    machines = comparisons.by_utilization(month, load=0.5).jobs["partition"].value_counts()
    assert machines["intrepid"] == len(month) and machines["eureka"] > 0


@pytest.mark.compiled("crowded machines need compiled kernels")
def test_a_log_is_coupled_on_its_own_machine_under_its_own_name():
    small = Workload(synthetic.intrepid(50, seed=3).jobs.assign(nodes=4), "small", System.of(16))
    assert comparisons.first_machine(small) == ("small", 16)
    month = comparisons.month_of_intrepid(log=small, days=1.0)
    assert offered_load(month, System.of(16)) == pytest.approx(0.7, rel=0.01)
    table = comparisons.compare_schemes(
        comparisons.by_utilization,
        (0.5,),
        by="load",
        seeds=(0,),
        log=small,
        schemes=("HH",),
        days=1.0,
    )
    assert table["machine"].unique().tolist() == ["small", "eureka"]


def test_jobs_submitted_at_once_are_spread_evenly():
    jobs = synthetic.intrepid(50, seed=3).jobs.assign(nodes=4, submit_time=0.0)
    month = comparisons.month_of_intrepid(log=Workload(jobs, "burst", System.of(16)), days=1.0)
    apart = np.diff(month.jobs["submit_time"])
    assert apart.min() > 0 and np.ptp(apart) <= 1
    assert ("mended", "submitted at once, spread", 50) in month.account.itertuples(index=False)


def test_two_logs_and_a_csv_of_mates_make_one_workload(tmp_path):
    """A job wider than its machine is left out, numbers are the logs' own, a lack is drawn."""
    jobs = {"submit_time": [0, 5, 9], "run_time": 60.0, "nodes": [2, 9, 4], "job_id": [7, 8, 9]}
    big = Workload(pd.DataFrame(jobs), "big log", System.of(4))
    small = Workload(pd.DataFrame(jobs).assign(requested_time=90.0, nodes=1), "small log")
    (tmp_path / "mates.csv").write_text("small,big\n9,7\n")
    together, system = comparisons.couple_logs({"big": big, "small": small}, tmp_path / "mates.csv")
    assert dict(system.partitions) == {"big": 4, "small": 1}
    rows = together.jobs[["partition", "job_id", "mate"]].astype(object).fillna("-")
    assert rows.to_numpy().tolist() == [
        ["big", 7, 4], ["small", 7, "-"], ["small", 8, "-"], ["big", 9, "-"], ["small", 9, 0]
    ]  # fmt: skip
    requested = together.jobs["requested_time"]
    assert (requested[together.jobs["partition"] == "small"] == 90).all()
    assert (requested >= 60).all()
    table = comparisons.compare_on(together, system)
    assert table.groupby("scheme")["paired"].sum().to_dict() == {
        "base": 0, "ideal": 2, "HH": 2, "HY": 2, "YH": 2, "YY": 2
    }  # fmt: skip
    assert (table["apart"] == 0).all() and (table["stuck"] == 0).all()
    alone, _ = comparisons.couple_logs({"big": big, "small": small})
    assert alone.column("mate").isna().all()


def test_mates_that_name_a_job_that_was_left_out_are_refused(tmp_path):
    jobs = {"submit_time": [0, 5], "run_time": 60.0, "nodes": [2, 9], "job_id": [7, 8]}
    logs = {name: Workload(pd.DataFrame(jobs), name, System.of(4)) for name in ("big", "small")}
    (tmp_path / "mates.csv").write_text("big,small\n7,8\n")
    with pytest.raises(TraceError, match=r"mates.csv: line 2: no job with the number 8 on small"):
        comparisons.couple_logs(logs, tmp_path / "mates.csv")
