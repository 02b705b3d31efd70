"""Applications' scaling: Amdahl's law, a user's own CSV, and expected turnaround."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cosimlib import synthetic
from cosimlib.timesharing import (
    applications,
    read_applications,
    simulate_batch,
    summarize_run,
    turnaround_times,
)
from cosimlib.timesharing.scaling import APPLICATIONS, NODE_HOURS
from cosimlib.traces.account import TraceError

HEADING = "application,nodes,run_time\n"


@pytest.fixture
def written(tmp_path):
    """Writes a file of scaling data."""

    def write(text: str):
        path = tmp_path / "mine.csv"
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize("name", APPLICATIONS)
def test_applications_have_the_efficiency_that_they_are_named_after(name):
    least, efficiency = APPLICATIONS[name]
    table = applications().set_index("application").loc[name].set_index("nodes")["run_time"]
    assert (table.index[0], table.index[-1]) == (least, 960)
    assert table[least] * least == pytest.approx(NODE_HOURS * 3600)
    assert table[least] * least / (table[960] * 960) == pytest.approx(efficiency)
    assert (np.diff(table) < 0).all() and efficiency >= 0.49


def test_a_smaller_machine_has_smaller_applications():
    table = applications(1 / 8)
    assert table["nodes"].between(1, 120).all()
    assert not table.duplicated(["application", "nodes"]).any()
    perfect = table[table["application"] == "perfect"]
    np.testing.assert_allclose(perfect["nodes"] * perfect["run_time"], NODE_HOURS * 3600 / 8)


def test_sizes_are_scaled_to_the_nearest_and_at_least_one():
    """Of 8 nodes, of which an eighth is the first whole one, to 960."""
    table = applications(1 / 8)
    nodes = table[table["application"] == "perfect"]["nodes"]
    assert nodes.tolist() == [1, 2, 4, 6, 9, 14, 21, 33, 50, 78, 120]


@pytest.mark.parametrize("scale", [0, -1, np.nan, np.inf, "1", None, True], ids=str)
def test_a_scale_is_above_zero(scale):
    with pytest.raises(ValueError, match=r"^scale=.*; expected a number above 0"):
        applications(scale)


def test_own_data_are_interpolated_linearly(written):
    table = read_applications(written(HEADING + " mine , 100, 10 \n\nmine,1,1000\nother,4,7.5\n"))
    mine = table[table["application"] == "mine"].set_index("nodes")["run_time"]
    assert mine.index.tolist() == [1, 2, 4, 5, 8, 12, 19, 28, 43, 66, 100]
    assert (mine[1], mine[100]) == (1000, 10)
    np.testing.assert_allclose(mine, 1000 - 10.0 * (mine.index - 1))
    assert table[table["application"] == "other"][["nodes", "run_time"]].to_numpy().tolist() == [
        [4, 7.5]
    ]


def test_the_order_of_columns_and_further_ones_do_not_matter(written):
    text = "run_time , nodes, remark,application\n10,2,fine,a\n"
    assert read_applications(written(text)).to_numpy().tolist() == [["a", 2, 10.0]]


def test_applications_stay_in_the_order_of_the_file(written):
    table = read_applications(written(HEADING + "b,9,1\na,4,2\nb,1,8\n"))
    assert table["application"].drop_duplicates().tolist() == ["b", "a"]
    assert table["nodes"].iloc[0] == 1 and table["nodes"].iloc[-1] == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no columns 'application' in ''; expected application, nodes, run_time"),
        ("application;nodes;run_time\na;1;9\n", "in 'application;nodes;run_time'; expected"),
        ("application,nodes\na,1\n", "no columns 'run_time'"),
        ("application,nodes,nodes,run_time\n", "2 columns 'nodes'"),
        (HEADING, "no rows; expected one for each application"),
        (HEADING + "a,1,10\na,2,,5\n", "line 3 has 4 fields; expected 3"),
        (HEADING + "a,1\n", "line 2 has 2 fields; expected 3"),
        (HEADING + "\n\na,1,\n", "line 4: run_time=''; expected seconds above 0"),
        (HEADING + "a,,10\n", "line 2: nodes=''; expected a whole number from 1"),
        (HEADING + ",1,10\n", "line 2: application=''; expected a name"),
        (HEADING + "a,0,10\n", "line 2: nodes='0'"),
        (HEADING + "a,1.5,10\n", "line 2: nodes='1.5'"),
        (HEADING + "a,1e20,10\n", "line 2: nodes='1e20'"),
        (HEADING + f"a,{10**20},10\n", f"line 2: nodes='{10**20}'"),
        (HEADING + "a,1,nan\n", "line 2: run_time='nan'"),
        (HEADING + "a,1,inf\n", "line 2: run_time='inf'"),
        (HEADING + "a,1,-3\n", "line 2: run_time='-3'"),
        (HEADING + "a,1,10\nb,1,4\na ,1,9\n", "line 4: 'a' has nodes=1 a second time"),
    ],
    ids=str,
)
def test_holes_and_nonsense_are_named(written, text, message):
    with pytest.raises(TraceError) as raised:
        read_applications(written(text))
    assert "mine.csv: " in str(raised.value)
    assert message in str(raised.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file at .*none.csv; give the path of a CSV"):
        read_applications(tmp_path / "none.csv")


def test_turnaround_is_run_time_times_the_slowdown_of_jobs_like_that():
    workload = synthetic.edison(8, nodes=64, seed=1)
    summary = summarize_run(simulate_batch(workload, workload.machine), warm_up=0.0)
    other = replace(summary, policy="twice", slowdown_sums=tuple(
        tuple(2 * value for value in row) for row in summary.slowdown_sums))  # fmt: skip
    table = pd.DataFrame(
        {"application": "a", "nodes": [1, 1, 64, 65, 1], "run_time": [5.0, 700.0, 9.0, 9.0, 1e9]}
    )
    found = turnaround_times(table, summary, other)
    for row, (nodes, length) in enumerate([(1, 10), (1, 700), (64, 10)]):
        size = np.searchsorted(summary.nodes_edges, nodes, side="right") - 1
        column = np.searchsorted(summary.length_edges, length, side="right") - 1
        expected = length * summary.bins[size, column]
        assert found["turnaround_time"][row] == pytest.approx(expected, nan_ok=True)
    assert np.isfinite(found["turnaround_time"][1])
    assert found["turnaround_time"][3:5].isna().all()
    first, second = (part["turnaround_time"] for _, part in found.groupby("policy", sort=False))
    np.testing.assert_allclose(second, 2 * first)


def test_turnarounds_under_no_policy_are_refused():
    with pytest.raises(ValueError, match="no summaries of runs; give at least one"):
        turnaround_times(applications())
    with pytest.raises(TypeError, match=r"summaries\[0\] is 5; expected a RunSummary"):
        turnaround_times(applications(), 5)
    with pytest.raises(TypeError, match="table is 5; expected a DataFrame"):
        turnaround_times(5, 5)


def test_a_turnaround_needs_ten_jobs_like_it():
    """By default; a bin of nine tells nothing."""
    workload = synthetic.edison(4, nodes=64, seed=1)
    run = summarize_run(simulate_batch(workload, workload.machine), warm_up=0.0)
    table = applications(64 / 5576)
    all_of, ten = (turnaround_times(table, run, at_least=n) for n in (1, 10))
    counts = np.array(run.counts)
    row = np.searchsorted(run.nodes_edges, table["nodes"], side="right") - 1
    column = np.searchsorted(run.length_edges, table["run_time"].clip(lower=10), side="right") - 1
    here = counts[row, column]
    assert (ten["turnaround_time"].notna() == (here >= 10)).all() and ten.equals(
        turnaround_times(table, run)
    )
    assert (all_of["turnaround_time"].notna() == (here >= 1)).all() and (here[here > 0] < 10).any()
