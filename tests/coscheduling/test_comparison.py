"""Comparison of schemes: closed forms, tables and figures."""

import numpy as np
import pandas as pd
import pytest

from cosimlib import synthetic
from cosimlib.audit import audit
from cosimlib.coscheduling import comparison as comparisons
from cosimlib.coscheduling import simulate_coscheduling
from cosimlib.coscheduling.example import MACHINES, deadlock_example
from cosimlib.metrics import offered_load
from cosimlib.system import System
from cosimlib.traces.account import TraceError
from cosimlib.workload import Workload

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
    assert len(comparison) == 2 * 2 * 2 * 5
    assert comparison["apart"][comparison["scheme"] != "base"].eq(0).all()
    assert comparison["stuck"].eq(0).all()
    yielding = comparison[(comparison["scheme"] == "YY") | (comparison["scheme"] == "base")]
    assert yielding["lost"].eq(0).all()
    assert comparison.loc[comparison["scheme"] == "HH", "lost"].gt(0).any()
    shares = comparison[comparison["scheme"] == "YY"].groupby("share")[["paired", "jobs"]].sum()
    assert (shares["paired"] / shares["jobs"]).tolist() == pytest.approx([0.1, 0.33], abs=0.01)


def test_averages_are_means_over_seeds(comparison):
    table = comparisons.averages(comparison, "share")
    row = table.query("machine == 'eureka' and share == .33 and scheme == 'HY'")
    part = comparison.query("machine == 'eureka' and share == .33 and scheme == 'HY'")
    wait = row[row["measure"] == "wait"].iloc[0]
    assert wait["mean"] == pytest.approx(part["wait"].mean())
    assert wait[["least", "most"]].tolist() == sorted(part["wait"])


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
        "base": 0, "HH": 2, "HY": 2, "YH": 2, "YY": 2
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
