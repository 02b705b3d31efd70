"""Odd files on which parsers fail: each is a workload or a `TraceError`, nothing else."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from cosimlib import traces
from cosimlib.traces import TraceError
from cosimlib.workload import InvalidWorkloadError, Workload
from tests.cosimlib.traces.reading import DATA, fugaku_table, pm100_table

SWF_JOB = "1 0 0 60 4 -1 -1 4 60 -1 1 1 1 1 1 1 -1 -1\n"


def read(path):
    """The number of jobs, or the words of the refusal."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return len(traces.load(path, verbose=False))
        except TraceError as error:
            return str(error)


@pytest.mark.parametrize("state", ["", "Unknown"])
def test_sacct_without_any_state(tmp_path, state):
    heading = "JobIDRaw|Submit|Start|End|NNodes|State"
    path = tmp_path / "log.txt"
    path.write_text(f"{heading}\n1|100|110|200|2|{state}\n2|120|130|210|1|{state}\n")
    assert read(path) == 2


def test_sacct_json_without_any_state(tmp_path):
    document = json.loads((DATA / "slurm-24.11/sacct.json").read_text())
    for job in document["jobs"]:
        job["state"] = {"current": None}
    path = tmp_path / "log.json"
    path.write_text(json.dumps(document))
    assert read(path)


def test_a_lone_surrogate_in_a_name(tmp_path):
    path = tmp_path / "log.json"
    text = (DATA / "batsim-workload.json").read_text()
    path.write_text(text.replace('"profile": "', '"profile": "\\ud800', 1))
    assert read(path)
    text = (DATA / "slurm-24.11/sacct.json").read_text()
    document = json.loads(text)
    for job in document["jobs"]:
        job["user"] = "\ud800"
    path.write_text(json.dumps(document))
    assert read(path)


@pytest.mark.parametrize("make", [pm100_table, fugaku_table])
def test_parquet_without_rows(tmp_path, make):
    path = tmp_path / "log.parquet"
    make().iloc[:0].to_parquet(path, index=False)
    assert "no row in it" in read(path)


@pytest.mark.parametrize("value", [1.5, np.inf, 1e30])
def test_parquet_with_floats_for_labels(tmp_path, value):
    path = tmp_path / "log.parquet"
    pm100_table().assign(user_id=value, partition=value).to_parquet(path, index=False)
    assert read(path)
    fugaku_table().assign(usr=value).to_parquet(path, index=False)
    assert read(path)


@pytest.mark.parametrize("year", ["9999", "10000", "99999"])
def test_times_beyond_the_year_9999(tmp_path, year):
    path = tmp_path / "log.txt"
    heading = "JobIDRaw|Submit|Start|End|NNodes|State"
    times = f"{year}-01-01T00:00:00|{year}-01-01T00:01:00|{year}-01-01T00:02:00"
    path.write_text(f"{heading}\n1|{times}|2|COMPLETED\n")
    assert read(path)


@pytest.mark.parametrize("key", ["MaxNodes", "MaxProcs", "UnixStartTime", "TimeZone"])
def test_headers_with_numbers_of_many_digits(tmp_path, key):
    path = tmp_path / "log.swf"
    path.write_text(f"; MaxNodes: 64\n; MaxProcs: 64\n; {key}: {'9' * 25}\n" + SWF_JOB)
    assert read(path)


def test_digits_that_are_not_ascii(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text("; MaxNodes: ٤\n; UnixStartTime: ٤٤٤\n" + SWF_JOB)
    assert read(path) == 1
    path = tmp_path / "log.txt"
    path.write_text("JobIDRaw|Submit|Start|End|NNodes|State\n٤|100|110|200|٤|COMPLETED\n")
    assert isinstance(read(path), str | int)
    path = tmp_path / "log.acct"
    record = "02/11/2026 20:12:21;E;٤.s;ctime=1 start=2 end=٤٤ Resource_List.nodect=٤\n"
    path.write_text(record)
    assert isinstance(read(path), str | int)


def test_a_workload_of_odd_objects_is_refused_in_words():
    table = {"submit_time": [0.0], "run_time": [1.0], "requested_time": [1.0], "nodes": [1]}
    for odd in (["\ud800"], [{"a": 1}], [b"\xff"]):
        try:
            Workload(pd.DataFrame(table | {"user": pd.Series(odd, dtype=object)}), "odd")
        except InvalidWorkloadError as error:
            assert "user" in str(error)


def test_reading_leaves_no_file_open(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("submit_time,run_time,nodes\n0,10,1\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        assert len(traces.read_columns(path, verbose=False)) == 1
