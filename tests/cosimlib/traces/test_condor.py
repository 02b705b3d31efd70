"""HTCondor submit files, and the public extract of Peregrine's log: the inputs of system 5."""

import pytest

from cosimlib.traces import (
    TraceError,
    load,
    read_condor,
    read_peregrine,
    recognize,
)

SUBMIT = """Universe = vanilla
Executable = sleep
Arguments = 100
Queue
 arguments=54
Queue
"""
EXTRACT = """power,run_time,nodes_used,processors_used,wallclock_used,cpu_used,mem_used,app_name
220.6,7195.0,1,1,7195,84390,0,vasp
0,12.5,4,96,12,1,0,gaussian
0,12.0,0,96,12,1,0,gaussian
0,,2,48,12,1,0,vasp
"""


def test_a_submit_file_is_one_node_jobs_of_so_many_seconds(tmp_path):
    path = tmp_path / "mine.submit"
    path.write_text(SUBMIT)
    assert recognize(path) == "condor"
    workload = load(path, verbose=False)
    assert workload.name == "mine" and workload.jobs["run_time"].tolist() == [100.0, 54.0]
    assert workload.jobs["job_id"].tolist() == [1, 2]
    assert (workload.jobs["nodes"] == 1).all() and (workload.jobs["submit_time"] == 0).all()
    (tmp_path / "plain").write_text(SUBMIT)
    assert recognize(tmp_path / "plain") == "condor"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Universe = vanilla\nQueue\n", "no line 'Arguments = seconds'"),
        ("Arguments = 5\nArguments = ten\n", "line 2: Arguments = 'ten'; expected seconds"),
        ("Arguments =\nQueue\n", "line 1: Arguments = ''; expected seconds"),
    ],
)
def test_a_submit_file_without_seconds_is_refused(tmp_path, text, message):
    path = tmp_path / "bad.submit"
    path.write_text(text)
    with pytest.raises(TraceError, match=message):
        read_condor(path)


def test_the_extract_is_jobs_with_applications_and_an_account_of_the_others(tmp_path):
    path = tmp_path / "extract.csv"
    path.write_text(EXTRACT)
    assert recognize(path) == "peregrine"
    workload = read_peregrine(path, verbose=False)
    assert workload.jobs["run_time"].tolist() == [7195.0, 12.5]
    assert workload.jobs["nodes"].tolist() == [1, 4]
    assert workload.jobs["application"].tolist() == ["vasp", "gaussian"]
    assert workload.account["reason"].tolist()[:2] == [
        "run time unknown",
        "number of nodes unknown, or none",
    ]


@pytest.mark.traces
def test_the_public_inputs_are_those_of_table_1(trace_path):
    trace_path("htc-2017-condor.submit")
    jobs = load("HTC-2017", verbose=False).jobs
    assert len(jobs) == 1_120 and round(jobs["run_time"].mean(), 3) == 443.265
    assert jobs["run_time"].quantile([0, 0.25, 0.5, 0.75, 1]).tolist() == [
        54,
        84,
        106,
        134.25,
        7140,
    ]
    gap = jobs["run_time"].sort_values().to_numpy()[999:1001]
    assert gap.tolist() == [236.0, 2559.0]
    if trace_path("peregrine-10k.anon.csv.gz"):
        jobs = load("PEREGRINE-10k", verbose=False).jobs
    kept = jobs[(jobs["nodes"] <= 20) & (jobs["run_time"] <= 86_400)]
    assert len(jobs) == 9_792 and len(kept) == 9_060 and kept["application"].nunique() == 24
