"""Batsim's jobs.csv and workload documents: read, written, refused."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest

from cosimlab.writers import write_batsim
from cosimlib.system import System
from cosimlib.traces import TraceError, read_batsim
from cosimlib.workload import Workload
from tests.cosimlib.traces.reading import DATA, counts


def changed(tmp_path, name, change):
    """The workload of a sample with its text changed."""
    path = tmp_path / name
    path.write_text(change((DATA / name).read_text()))
    return read_batsim(path, verbose=False)


# jobs.csv


def test_rows_of_jobs_csv_become_jobs_with_their_starts():
    workload = read_batsim(DATA / "batsim-jobs.csv", verbose=False)
    jobs = workload.jobs.set_index("job_id")
    assert jobs.loc[1].drop(["application"]).tolist() == [28.946389, 60, 60, 4, 60.034755, 0]
    assert np.isnan(jobs.loc[11, "requested_time"])
    assert jobs.loc[[0, 11, 17], "status"].tolist() == [0, 1, 0]
    assert workload.machine is None
    assert counts(workload)["dropped", "rejected by the scheduler"] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda text: text.replace("10.955026", "soon", 1),
            r"line 2 has submission_time='soon'; expected a number",
        ),
        (lambda text: text.replace("execution_time", "x"), "no column execution_time; exp"),
        (lambda text: "", "the file is empty; expected Batsim's jobs.csv"),
        (lambda text: text.splitlines()[0] + "\n", r"no job left of 0 records"),
    ],
)
def test_a_bad_jobs_csv_is_refused(tmp_path, change, message):
    with pytest.raises(TraceError, match=message):
        changed(tmp_path, "batsim-jobs.csv", change)


# Workload documents


def test_delays_are_run_times_cut_at_the_walltime():
    workload = read_batsim(DATA / "batsim-workload.json", verbose=False)
    jobs = workload.jobs.set_index("job_id")
    assert jobs.loc[[1, 2, 9], "run_time"].tolist() == [42.5, 100, 30]
    assert jobs.loc[[2, 9], "status"].tolist() == [0, 0]
    assert jobs.loc[5, "requested_time"] != jobs.loc[5, "requested_time"]
    assert workload.machine.total_nodes == 32
    assert counts(workload)["dropped", "run time unknown: only a platform gives it"] == 10


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda text: text.replace('"subtime": 81', '"time": 81'),
            r"json: jobs\[1\] has no subtime or res; expected a workload of Batsim's",
        ),
        (lambda text: text.replace('"subtime": 81,', '"subtime": 81'), r"line 4: not JSON"),
        (lambda text: text[:400], r"line \d+: not JSON"),
        (lambda text: text.replace('"jobs"', '"rows"'), "no list of jobs"),
        (lambda text: text + "{}", r"line \d+: not JSON \(Extra data\)"),
        (lambda text: text.replace("42.5", "[" * 100_000), "lists too deep|not JSON"),
    ],
)
def test_a_bad_document_is_refused_with_its_line(tmp_path, change, message):
    with pytest.raises(TraceError, match=message):
        changed(tmp_path, "batsim-workload.json", change)


def test_a_workload_survives_a_round_trip(tmp_path):
    jobs = pd.DataFrame(
        {"submit_time": [0, 1.25, 2], "run_time": [1, 1 / 3, 0], "nodes": [4, 2, 1],
         "requested_time": [2, np.nan, 5], "job_id": [7, 5, 9]}
    )  # fmt: skip
    workload = Workload(jobs, "mine", System.of(16))
    path = write_batsim(workload, tmp_path / "mine.json.gz")
    document = json.loads(gzip.decompress(path.read_bytes()))
    assert document["nb_res"] == 16
    assert document["jobs"][0] == {"id": "7", "subtime": 0, "walltime": 2, "res": 4, "profile": "1"}
    assert "walltime" not in document["jobs"][1]
    read = read_batsim(path, verbose=False)
    columns = list(workload.jobs)
    pd.testing.assert_frame_equal(read.jobs[columns], workload.jobs[:2], check_dtype=False)
    assert path.read_bytes() == write_batsim(workload, tmp_path / "other.json.gz").read_bytes()


def test_jobs_without_numbers_of_their_own_are_numbered(tmp_path):
    jobs = pd.DataFrame({"submit_time": [0, 1], "run_time": 3, "nodes": 1, "job_id": [4, 4]})
    path = write_batsim(Workload(jobs), tmp_path / "x.json")
    assert [job["id"] for job in json.loads(path.read_text())["jobs"]] == ["1", "2"]


def test_no_job_that_batsim_takes_is_refused(tmp_path):
    jobs = pd.DataFrame({"submit_time": [0], "run_time": 0, "nodes": 1})
    with pytest.raises(TraceError, match="no job to write"):
        write_batsim(Workload(jobs), tmp_path / "x.json")
    assert not list(tmp_path.iterdir())
