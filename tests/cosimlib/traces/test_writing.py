"""Writing SWF: round trips, the format of lines, errors."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cosimlib as cs
from cosimlab.writers import write_parquet
from cosimlib.system import THETA, System
from cosimlib.traces import TraceError, read_swf, write_swf
from cosimlib.workload import Workload
from tests.cosimlib.traces.reading import DATA


@st.composite
def recorded(draw, cores_per_node=1):
    """A workload with any of the optional columns; times are binary fractions."""
    n = draw(st.integers(1, 8))

    def column(values, missing=True):
        entry = st.one_of(st.none(), values) if missing else values
        return draw(st.lists(entry, min_size=n, max_size=n))

    seconds = st.one_of(st.integers(0, 10**7), st.integers(0, 10**9).map(lambda k: k / 1024))
    positive = seconds.filter(lambda s: s > 0)
    numbers = st.integers(0, 10**6)
    labels = numbers.map(str)
    submit = pd.Series(sorted(column(seconds, missing=False)), dtype="float64")
    kilobytes = st.integers(1, 10**7).map(lambda k: k * 1024 * cores_per_node / 1e9)
    jobs = pd.DataFrame(
        {
            "submit_time": submit,
            "run_time": column(seconds, missing=False),
            "requested_time": pd.Series(column(positive), dtype="float64"),
            "nodes": column(st.integers(1, 10**5), missing=False),
        }
    )
    optional = {
        "recorded_start": lambda: submit + pd.Series(column(seconds), dtype="float64"),
        "memory": lambda: pd.Series(column(kilobytes), dtype="float64"),
        "job_id": lambda: pd.Series(column(numbers), dtype="Int64"),
        "status": lambda: pd.Series(column(st.integers(0, 1)), dtype="Int64"),
        "allocated_processors": lambda: pd.Series(column(numbers), dtype="Int64"),
        "preceding_job": lambda: pd.Series(column(numbers), dtype="Int64"),
        "think_time": lambda: pd.Series(column(seconds), dtype="float64"),
        "average_cpu_time": lambda: pd.Series(column(seconds), dtype="float64"),
    }
    for label in ("user", "group", "application", "queue", "partition"):
        optional[label] = lambda: pd.Series(column(labels), dtype="string")
    for name in draw(st.sets(st.sampled_from(sorted(optional)))):
        values = optional[name]()
        if values.notna().any():
            jobs[name] = values
    machine = draw(st.sampled_from([None, System.of(64), THETA]))
    return Workload(jobs, "random", machine)


@pytest.mark.parametrize(("name", "cores"), [("log.swf", 1), ("log.swf.gz", 4)])
def test_random_workloads_survive_a_round_trip(tmp_path, name, cores):
    @settings(max_examples=15)
    @given(recorded(cores))
    def round_trip(workload):
        path = write_swf(workload, tmp_path / name, cores_per_node=cores)
        read = read_swf(path, cores_per_node=cores, verbose=False)
        pd.testing.assert_frame_equal(read.jobs[list(workload.jobs)], workload.jobs)
        again = read_swf(
            write_swf(read, tmp_path / "again.swf", cores_per_node=cores),
            cores_per_node=cores,
            verbose=False,
        )
        pd.testing.assert_frame_equal(again.jobs, read.jobs)
        if workload.machine is None:
            assert read.machine is None
        else:
            assert read.machine.total_nodes == workload.machine.total_nodes
            assert read.machine.name == workload.machine.name

    round_trip()


def test_milliseconds_survive_a_round_trip_within_rounding(tmp_path):
    times = np.random.default_rng(1).integers(0, 10**9, (1000, 2)) / 1000
    jobs = pd.DataFrame(times, columns=["submit_time", "run_time"]).sort_values("submit_time")
    jobs = jobs.assign(nodes=1, recorded_start=jobs["submit_time"] + jobs["run_time"])
    read = read_swf(write_swf(Workload(jobs), tmp_path / "log.swf"), verbose=False).jobs
    assert read["submit_time"].tolist() == jobs["submit_time"].tolist()
    assert read["run_time"].tolist() == jobs["run_time"].tolist()
    np.testing.assert_allclose(read["recorded_start"], jobs["recorded_start"], rtol=1e-15)


def test_comments_and_fields_are_written_in_the_format(tmp_path):
    jobs = {"submit_time": [0.0, 1.25], "run_time": [3.0, 2.0], "nodes": [4, 2]}
    jobs |= {"recorded_start": [0.0, np.nan], "queue": ["prod long", "debug"], "memory": [0.5, 1.0]}
    jobs |= {"partition": ["007", None], "user": ["12", None]}
    workload = Workload(pd.DataFrame(jobs), "two\njobs", System.of(8))
    path = write_swf(workload, tmp_path / "log.swf", cores_per_node=2)
    assert path.read_text().splitlines() == [
        "; Version: 2.2",
        "; Computer: 8 nodes",
        "; MaxNodes: 8",
        "; MaxProcs: 16",
        "; MaxJobs: 2",
        "; MaxRecords: 2",
        "; Note: two jobs, written by cosimlib; processors a node: 2",
        "; Queue: 1 prod long",
        "; Queue: 2 debug",
        "; Partition: 1 007",
        "1 0 0 3 8 -1 -1 8 -1 244140.625 -1 12 -1 -1 1 1 -1 -1",
        "2 1.25 -1 2 4 -1 -1 4 -1 488281.25 -1 -1 -1 -1 2 -1 -1 -1",
    ]


def test_a_changed_memory_column_overrides_that_of_the_log(tmp_path):
    read = read_swf(DATA / "odd.swf", verbose=False)
    changed = Workload(read.jobs.assign(memory=16.0), "changed")
    copy = read_swf(write_swf(changed, tmp_path / "log.swf"), verbose=False)
    assert copy.jobs["memory"].tolist() == [16.0] * 5
    path = write_swf(read, tmp_path / "log.swf", cores_per_node=2)
    other = read_swf(path, cores_per_node=1, verbose=False)
    np.testing.assert_allclose(other.jobs["memory"] * 2, read.jobs["memory"])


def test_the_same_workload_gives_the_same_bytes(tmp_path):
    read = read_swf(DATA / "odd.swf", verbose=False)
    first = write_swf(read, tmp_path / "a.swf.gz").read_bytes()
    assert write_swf(read, tmp_path / "b.swf.gz").read_bytes() == first
    assert gzip.decompress(first) == write_swf(read, tmp_path / "a.swf").read_bytes()


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("recorded_start", 5.0, r"job 9 has wait_time=-5; SWF holds numbers from 0"),
        ("memory", np.inf, r"job 9 has requested_memory=inf; SWF holds"),
        ("status", -3, r"job 9 has status=-3; SWF holds"),
        ("job_id", 2**60, r"job \d+ has job_id=1.15\S*; SWF holds numbers from 0 below 2\*\*53"),
    ],
)
def test_the_error_for_a_value_outside_the_format_names_job_and_field(
    tmp_path, column, value, message
):
    jobs = pd.DataFrame({"submit_time": [0, 10], "run_time": 1, "nodes": 1, "job_id": [8, 9]})
    jobs[column] = [0, value] if column != "recorded_start" else [0.0, value]
    path = tmp_path / "log.swf"
    path.write_text("precious")
    with pytest.raises(TraceError, match=message):
        write_swf(Workload(jobs, "mine"), path)
    assert [p.name for p in tmp_path.iterdir()] == ["log.swf"]
    assert path.read_text() == "precious"


def test_a_failed_write_leaves_no_file(tmp_path, monkeypatch):
    read = read_swf(DATA / "odd.swf", verbose=False)

    def full(self, data):
        self.touch()
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="no space"):
        write_swf(read, tmp_path / "log.swf")
    assert list(tmp_path.iterdir()) == []


def test_a_workload_without_jobs_is_not_written(tmp_path):
    empty = read_swf(DATA / "odd.swf", verbose=False).keep(np.zeros(5, dtype=bool), "all")
    with pytest.raises(TraceError, match="odd: no job to write"):
        write_swf(empty, tmp_path / "log.swf")


@pytest.mark.traces
def test_kth_sp2_survives_a_round_trip(trace_path, tmp_path):
    read = read_swf(trace_path("KTH-SP2-1996-2.1-cln.swf.gz"), verbose=False)
    copy = read_swf(write_swf(read, tmp_path / "copy.swf.gz"), verbose=False)
    pd.testing.assert_frame_equal(copy.jobs, read.jobs)
    submit_span = read.jobs["submit_time"].iloc[-1] - read.jobs["submit_time"].iloc[0]
    work = read.jobs["allocated_processors"].fillna(0) * read.jobs["run_time"]
    assert work.sum() / submit_span / 100 == pytest.approx(0.701, abs=5e-4)


def test_node_types_are_kept_in_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    kinds = [cs.NodeType(2, cores=8, memory=64, gpus=2, model="A"), cs.NodeType(1, memory=4)]
    jobs = pd.DataFrame({"submit_time": [0], "run_time": [1], "nodes": [1], "gpus": [1]})
    workload = cs.Workload(jobs, "W", machine=cs.System.of_types(kinds))
    path = write_parquet(workload, tmp_path / "w.parquet")
    again = cs.traces.read_columns(path, verbose=False)
    assert again.machine.node_types == workload.machine.node_types
    assert again.jobs["gpus"].tolist() == [1]
