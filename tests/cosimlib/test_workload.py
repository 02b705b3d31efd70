"""Workloads: every rule that they are held to, every sentence in which they say so."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from cosimlib.system import System
from cosimlib.workload import ACCOUNT_COLUMNS, OPTIONAL_COLUMNS, InvalidWorkloadError, Workload
from tests.strategies import workloads


def jobs(**columns):
    """Three fine jobs with some columns replaced, or taken away where None."""
    fine = {
        "submit_time": [0, 5, 5],
        "run_time": [10, 0, 3.5],
        "requested_time": [20, 1, np.nan],
        "nodes": [4, 1, 2],
        "job_id": [11, 12, 13],
    }
    return pd.DataFrame({k: v for k, v in (fine | columns).items() if v is not None})


# At birth


def test_the_columns_come_in_order_with_their_types():
    workload = Workload(jobs(extra=["a", "b", "c"], status=[1, 0, 5]), "W")
    assert list(workload.jobs) == [
        "submit_time",
        "run_time",
        "requested_time",
        "nodes",
        "job_id",
        "extra",
        "status",
    ]
    types = workload.jobs.dtypes.astype(str)
    assert types[["submit_time", "run_time", "requested_time"]].tolist() == ["float64"] * 3
    assert (types["nodes"], types["job_id"], types["status"]) == ("int64", "Int64", "Int64")
    assert len(workload) == 3


def test_rows_are_numbered_anew_and_the_callers_frame_is_left_alone():
    frame = jobs(requested_time=None).set_index(pd.Index([7, 9, 8]))
    before = frame.copy()
    workload = Workload(frame)
    assert workload.jobs.index.tolist() == [0, 1, 2]
    assert workload.jobs["requested_time"].isna().all()
    pd.testing.assert_frame_equal(frame, before)
    frame["run_time"] = -1.0
    frame.iloc[0, 0] = -2.0
    assert (workload.jobs[["submit_time", "run_time"]] >= 0).all(axis=None)


def test_a_workload_may_be_empty_and_numbers_may_come_as_text():
    assert len(Workload(jobs().iloc[:0])) == 0
    assert Workload(jobs(run_time=["10", "0", "3.5"])).jobs["run_time"].tolist() == [10, 0, 3.5]


def test_a_name_of_a_column_stands_once():
    jobs = pd.DataFrame({"submit_time": [0], "run_time": [1], "nodes": [1]})
    twice = pd.concat([jobs, jobs[["nodes"]]], axis=1)
    with pytest.raises(InvalidWorkloadError, match="mine: several columns are called 'nodes'"):
        Workload(twice, "mine")


def test_the_summary_of_no_jobs_says_unknown_once_a_row():
    jobs = pd.DataFrame({"submit_time": [], "run_time": [], "nodes": []})
    assert "run time   unknown" in str(Workload(jobs))


@pytest.mark.parametrize("column", ["submit_time", "run_time", "nodes"])
def test_a_column_that_must_be_there(column):
    message = f"^W: no column '{column}'; expected submit_time, run_time, nodes"
    with pytest.raises(InvalidWorkloadError, match=message):
        Workload(jobs(**{column: None}), "W")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"submit_time": [0, -5, 5]}, r"job 12 has submit_time=-5; expected seconds from 0"),
        ({"submit_time": [0, 1, np.inf]}, r"job 13 has submit_time=inf; expected seconds from"),
        ({"submit_time": [0, 6, 5]}, r"job 13 has submit_time=5; expected jobs in order of subm"),
        ({"run_time": [1, 1, -1]}, r"job 13 has run_time=-1; expected seconds from 0"),
        ({"run_time": [1, "soon", 1]}, r"job 12 has run_time='soon'; expected a number"),
        ({"requested_time": [1, 0, 1]}, r"job 12 has requested_time=0; expected seconds above 0"),
        ({"requested_time": [1, np.inf, 1]}, r"job 12 has requested_time=inf; .*NaN where unkn"),
        ({"nodes": [4, 0, 2]}, r"job 12 has nodes=0; expected a whole number from 1"),
        ({"nodes": [4, 1.5, 2]}, r"job 12 has nodes=1.5; expected a whole number from 1"),
        ({"nodes": [0, 1, 2], "job_id": None}, r"job 0 has nodes=0; expected"),
        ({"nodes": [4, 1, 0], "job_id": [11, 12, None]}, r"job 2 has nodes=0; expected"),
    ],
)
def test_a_job_that_breaks_a_rule_is_named(columns, message):
    with pytest.raises(InvalidWorkloadError, match="^W: " + message):
        Workload(jobs(**columns), "W")


# Reading it


def test_a_missing_column_has_its_declared_default():
    workload = Workload(jobs())
    for name, declared in OPTIONAL_COLUMNS.items():
        column = workload.column(name)
        assert column.name == name
        assert column.index.equals(workload.jobs.index)
        assert str(column.dtype) == declared.dtype
    assert workload.column("job_id").tolist() == [11, 12, 13]
    assert workload.column("priority").tolist() == [1.0] * 3
    assert workload.column("memory").isna().all()
    with pytest.raises(KeyError, match=r"no column .color.; expected one of submit_time, run_"):
        workload.column("color")


@pytest.mark.parametrize(
    "mask", ["nodes < 3", [True], [0, 1, 1], [True, True, None], [[True, True, True]]], ids=repr
)
def test_a_mask_is_one_truth_per_job(mask):
    with pytest.raises(ValueError, match=r"^W: mask is of .*expected one True or False per job, 3"):
        Workload(jobs(), "W").keep(mask, "others")


def test_keep_counts_what_it_drops():
    workload = Workload(jobs(), "W", System.of(4))
    assert len(workload.account) == 0
    narrow = workload.keep(workload.jobs["nodes"] < 4, "too wide")
    none = narrow.keep([True, False], "too late")
    assert narrow.jobs["job_id"].tolist() == [12, 13]
    assert none.jobs.index.tolist() == [0]
    assert none.account.to_numpy().tolist() == [
        ["dropped", "too wide", 1],
        ["dropped", "too late", 1],
    ]
    assert list(none.account) == list(ACCOUNT_COLUMNS)
    assert (none.name, none.machine) == ("W", workload.machine)
    assert len(workload) == 3
    assert len(workload.keep([True] * 3, "nothing").account) == 0


def test_an_entry_in_the_account_leaves_the_jobs_and_the_workload_before_it_alone():
    workload = Workload(jobs(), "W", System.of(4))
    noted = workload.noted("noted", "run time 0", 2)
    assert noted.account.to_numpy().tolist() == [["noted", "run time 0", 2]]
    assert noted.account["records"].dtype == "int64"
    assert noted.jobs.equals(workload.jobs) and noted.machine is workload.machine
    assert len(workload.account) == 0
    assert noted.noted("mended", "no record", 0) is noted
    assert len(noted.noted("dropped", "wide", 1).account) == 2


def test_labels_use_the_traces_number_where_there_is_one():
    assert Workload(jobs(), "KTH-SP2").label(1) == "KTH-SP2: job 12"
    assert Workload(jobs(job_id=None), "KTH-SP2").label(1) == "KTH-SP2: job 1"


# The bridge


@given(workloads())
def test_arrays_are_fresh_contiguous_and_equal(workload):
    arrays = workload.arrays(System.of(8))
    for name, array in arrays._asdict().items():
        assert array.flags.c_contiguous and array.flags.writeable and array.flags.owndata
        assert array.dtype == (np.int64 if name == "nodes" else np.float64)
        assert array.tolist() == workload.jobs[name].tolist()
        array[:] = -1
    assert (workload.jobs[["submit_time", "nodes"]] >= 0).all(axis=None)


def test_arrays_without_a_copy_are_the_columns_and_cannot_be_written():
    workload = Workload(jobs())
    arrays = workload.arrays(System.of(8), requested_time=False, copy=False)
    assert all(each.flags.c_contiguous for each in arrays)
    for name, array in arrays._asdict().items():
        assert np.shares_memory(array, workload.jobs[name].to_numpy())
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_a_job_wider_than_the_system_is_named():
    message = (
        r"^W: job 11 asks for 4 nodes; partition 'main' has 3; drop it with Workload.keep or take "
        "a wider system"
    )
    with pytest.raises(InvalidWorkloadError, match=message):
        Workload(jobs(requested_time=[1, 1, 1]), "W").arrays(System.of(3))


def test_an_unknown_requested_time_is_refused_where_one_is_needed():
    workload = Workload(jobs(requested_time=[1, np.nan, np.nan]), "W")
    message = r"^W: job 12 has no requested_time \(nor has 1 other\), which this policy needs; "
    with pytest.raises(InvalidWorkloadError, match=message):
        workload.arrays(System.of(4))
    assert np.isnan(workload.arrays(System.of(4), requested_time=False).requested_time[1:]).all()


# Of several partitions


def test_workloads_are_joined_in_order_of_submission_and_keep_their_own():
    parts = {
        "a": Workload(jobs(), "A"),
        "b": Workload(jobs(submit_time=[0, 1, 5], mate=[1, 0, None]), "B"),
    }
    joined = Workload.join(parts)
    assert joined.name == "A + B" and Workload.join(parts, name="both").name == "both"
    assert joined.jobs["submit_time"].tolist() == [0, 0, 1, 5, 5, 5]
    assert joined.jobs["partition"].tolist() == ["a", "b", "b", "a", "a", "b"]
    for partition, part in parts.items():
        own = joined.jobs[joined.jobs["partition"] == partition]
        assert own["job_id"].tolist() == part.jobs["job_id"].tolist()
    assert "mate" not in joined.jobs, "a mate is on another partition"


def test_joined_workloads_have_the_default_priority_where_one_of_them_has_priorities():
    plain, dear = Workload(jobs()), Workload(jobs(priority=[3.0, np.nan, 2.0]))
    joined = Workload.join({"a": plain, "b": dear}).jobs.set_index("partition")["priority"]
    assert joined["a"].tolist() == [1.0] * 3
    assert joined["b"].tolist()[::2] == [3.0, 2.0] and np.isnan(joined["b"].iloc[1])
    assert "priority" not in Workload.join({"a": plain, "b": plain}).jobs
    with pytest.raises(InvalidWorkloadError, match="no workloads to join; give at least one"):
        Workload.join({})


# Calendar time


def test_the_calendar_time_of_second_0_is_shown_and_kept():
    moment = pd.Timestamp("2011-02-01 15:38:44", tz="Europe/Paris")
    workload = Workload(jobs(), "W", began=moment)
    assert "began      2011-02-01 15:38 Europe/Paris" in str(workload)
    assert workload.keep([True, False, True], "why").noted("noted", "it", 1).began == moment
    local = Workload(jobs(), "L", began=pd.Timestamp("2011-02-01 15:38:44"))
    assert "2011-02-01 15:38 local time" in str(local)
    assert "began" not in str(Workload(jobs(), "W"))


def test_workloads_that_join_keep_the_calendar_time_on_which_they_agree():
    moment = pd.Timestamp("2011-02-01", tz="UTC")
    known, unknown = Workload(jobs(), "K", began=moment), Workload(jobs(), "U")
    other = Workload(jobs(), "O", began=moment + pd.Timedelta(days=1))
    assert Workload.join({"a": known, "b": unknown, "c": known}).began == moment
    assert Workload.join({"a": known, "b": other}).began is None
    assert Workload.join({"a": unknown}).began is None
