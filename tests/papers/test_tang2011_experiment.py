"""Tang et al. (2011): comparisons over seeds, workloads of logs, and the notebook on a log."""

import numpy as np
import pandas as pd
import pytest

from cosimlib.coscheduling import SCHEMES, deadlock_example
from cosimlib.metrics import offered_load
from cosimlib.system import System
from cosimlib.workload import Workload
from papers.tang2011 import experiment
from papers.tang2011.experiment import (
    Experiment,
    by_utilization,
    compare,
    compare_own,
    first_machine,
    month_of_intrepid,
    prepare,
)
from papers.tang2011.intrepid import intrepid
from papers.tang2011.measures import (
    SUMMARIZED,
    averages,
    never_started,
    over_ideal,
    yield_minus_hold,
)
from tests.notebooks.cells import run_cells, strange
from tests.suites import ROOT
from tests.zoo import ZOO

HALF_A_DAY = Experiment(days=0.5, seeds=(0, 1))
SWF = "; MaxNodes: {nodes}\n; MaxProcs: {nodes}\n"


@pytest.fixture(scope="module")
def comparison():
    return compare(HALF_A_DAY, {"share": (0.1, 0.33)}, executor=2)


def test_comparisons_have_one_row_per_case(comparison):
    assert len(comparison) == 2 * 2 * 2 * 6
    assert comparison["scheme"].unique().tolist() == ["base", "ideal", *SCHEMES]
    assert comparison["apart"].eq(0).all()
    assert comparison["stuck"].eq(0).all()
    yielding = comparison[comparison["scheme"].isin(["base", "ideal", "YY"])]
    assert yielding["lost"].eq(0).all()
    assert comparison.loc[comparison["scheme"] == "HH", "lost"].gt(0).any()
    shares = comparison[comparison["scheme"] == "YY"].groupby("share")[["paired", "jobs"]].sum()
    assert (shares["paired"] / shares["jobs"]).tolist() == pytest.approx([0.1, 0.33], abs=0.01)


def test_averages_are_means_over_seeds_with_intervals(comparison):
    table = averages(comparison, "share")
    assert set(table["measure"]) == set(SUMMARIZED)
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
    means = averages(table, "share").query("measure == 'wait'")
    assert means["mean"].max() < 1e9
    assert (means.query("scheme == 'HH'")["seeds"] == 1).all()
    ratios = over_ideal(table, "share")
    assert ratios["mean"].max() < 1e3 and ratios.query("scheme == 'HH'")["low"].isna().all()
    assert never_started(comparison, "share") == "All jobs start in every run."
    never = never_started(table, "share")
    assert never.endswith("leave out: share 0.1, seed 0, HH: 1 job; share 0.33, seed 0, HH: 1 job.")


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
            ("base", 0.5, 0),
            ("ideal", 1, 0),
            ("HH", 3, 1),
            ("HY", 2, 3),
            ("YH", 2, 2),
            ("YY", 1.5, 8),
        )
    ]
    columns = ["machine", "share", "seed", "scheme", "wait", "sync_up", "stuck"]
    table = pd.DataFrame(rows, columns=columns)
    ratios = over_ideal(table, "share").set_index(["machine", "scheme"])
    assert ratios.loc["eureka", ["mean", "low", "high"]].to_numpy().tolist() == [
        [3] * 3,
        [2] * 3,
        [2] * 3,
        [1.5] * 3,
    ]
    more = yield_minus_hold(table, "share").set_index(["machine", "scheme"])["mean"]
    assert more.to_dict() == {
        ("intrepid", "other machine holds"): 2 - 1,
        ("intrepid", "other machine yields"): 8 - 3,
        ("eureka", "other machine holds"): 3 - 1,
        ("eureka", "other machine yields"): 8 - 2,
    }


def test_knobs_are_compared_on_the_same_workloads():
    cases = {"never": {"max_yields": None}, "at once": {"max_yields": 0}}
    run = HALF_A_DAY._replace(knobs={"held_share": 0.5})
    varied = {"cases": cases, "by": "threshold", "schemes": ("YY",), "executor": None}
    table = compare(run, {"share": [0.2]}, **varied)
    base = table[table["scheme"] == "base"].pivot_table("wait", ["machine", "seed"], "threshold")
    assert (base["never"] == base["at once"]).all()
    lost = table[table["scheme"] == "YY"].groupby("threshold")["lost"].sum()
    assert lost["never"] == 0 < lost["at once"]


def test_a_log_is_scaled_to_the_load_and_given_estimates():
    log = intrepid(400, load=0.2, seed=3)
    log = Workload(log.jobs.drop(columns="requested_time"), "log", log.machine)
    month = month_of_intrepid(log=log, days=1.0)
    assert len(month) == round(9_220 / 30)
    assert month.jobs["requested_time"].notna().all()
    machines = by_utilization(month, load=0.5).jobs["partition"].value_counts()
    assert machines["intrepid"] == len(month) and machines["eureka"] > 0


@pytest.mark.compiled("crowded machines need compiled kernels")
def test_a_log_is_coupled_on_its_own_machine_under_its_own_name():
    small = Workload(intrepid(50, seed=3).jobs.assign(nodes=4), "small", System.of(16))
    assert first_machine(small) == ("small", 16)
    month = month_of_intrepid(log=small, days=1.0)
    assert offered_load(month, System.of(16)) == pytest.approx(0.7, rel=0.01)
    run = Experiment(small, days=1.0, seeds=[0])
    table = compare(run, {"load": [0.5]}, schemes=["HH"], executor=None)
    assert table["machine"].unique().tolist() == ["small", "eureka"]


def test_the_authors_mates_reach_the_workload_and_the_comparison():
    """With 60 s and one side, no mate of Eureka comes before its mate, none later than 60 s."""
    intrepid = month_of_intrepid(days=2.0)
    knobs = {"window": 60.0, "one_sided": True}
    jobs = by_utilization(intrepid, load=0.5, **knobs).jobs
    eureka = jobs[(jobs["partition"] == "eureka") & jobs["mate"].notna()]
    later = (
        eureka["submit_time"].to_numpy()
        - jobs["submit_time"].to_numpy()[eureka["mate"].to_numpy(dtype=int)]
    )
    assert len(eureka) > 10 and (later >= 0).all() and (later <= 60).all() and later.max() > 10
    both = by_utilization(intrepid, load=0.5, window=60.0).jobs
    assert both["mate"].notna().sum() > jobs["mate"].notna().sum()
    run = Experiment(days=2.0, seeds=[0], pairing=knobs)
    table = compare(run, {"load": [0.5]}, schemes=["YY"], executor=None)
    paired = table[(table["scheme"] == "YY") & (table["machine"] == "eureka")]["paired"]
    assert paired.tolist() == [len(eureka)]


def write_log(path, nodes, jobs):
    """A log of (job, submitted, run time, nodes)."""
    lines = [
        f"{job} {submitted} 0 {run} {wide} -1 -1 {wide} {2 * run} -1 1 1 1 -1 1 -1 -1 -1\n"
        for job, submitted, run, wide in jobs
    ]
    path.write_text(SWF.format(nodes=nodes) + "".join(lines))
    return str(path)


@pytest.fixture
def logs(tmp_path):
    big = write_log(tmp_path / "big.swf", 8, [(1, 0, 600, 4), (2, 60, 600, 4), (3, 90, 300, 2)])
    small = write_log(tmp_path / "small.swf", 4, [(7, 30, 600, 3), (9, 45, 600, 2)])
    return prepare(big), small


def test_two_logs_and_their_mates_are_compared(logs, tmp_path):
    (tmp_path / "mates.csv").write_text("trace,second\n1,7\n2,9\n")
    own = compare_own(*logs, str(tmp_path / "mates.csv"))
    assert own["machine"].unique().tolist() == ["trace", "second"]
    assert own["scheme"].unique().tolist() == ["base", "ideal", "HH", "HY", "YH", "YY"]
    assert own["jobs"].tolist() == [3, 2] * 6
    assert own["paired"].tolist() == [0, 0] + [2, 2] * 5
    assert (own[["stuck", "apart"]] == 0).all(axis=None)
    # Job 1 holds 4 nodes for 30 s, until its mate comes; job 2 for 570 s, until job 7 ends.
    held = own.set_index(["scheme", "machine"])["lost"]
    assert held["HY", "trace"] == round(4 * (30 + 570) / 3600, 2)
    assert held["YY", "trace"] == 0


def test_mates_need_a_second_log(logs):
    with pytest.raises(ValueError, match="no second_trace; give the second machine's log, too"):
        compare_own(logs[0], mates="mates.csv")


@pytest.mark.compiled("a notebook needs compiled kernels")
def test_on_another_machine_s_log_figures_are_drawn_and_nothing_is_judged(monkeypatch):
    monkeypatch.setattr(experiment, "PROPORTIONS", (0.025, 0.33))
    monkeypatch.setenv("COSIMLIB_WORKERS", "1")
    log, notebook = ZOO / "three-jobs.swf.gz", ROOT / "notebooks/2-coscheduling.ipynb"
    shown = run_cells(notebook, trace=str(log), days=0.5, seeds=1)
    assert not strange(shown)
    assert len(shown.figures) == 15 and {"deadlock", "sync-up-by-load"} <= shown.figures.keys()
    assert any("three-jobs" in text and "not judged here" in text for text in shown.texts)


def test_intrepid_s_log_is_the_paper_s_own():
    assert Experiment().own
    for name, own in (
        ("intrepid-2009-first3000", True),
        ("ANL-Intrepid-2009-1", True),
        ("Theta", False),
    ):
        log = Workload(deadlock_example().jobs, name, System.of(16))
        assert Experiment(log).own is own
