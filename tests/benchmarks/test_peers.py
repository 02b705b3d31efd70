"""What is read of other simulators, and the jobs that they get; no simulator is needed."""

import pandas as pd

import cosimlib as cs
from tests.benchmarks import peers
from tests.cosimlab.identify import accasim

STARTS = {2: 172, 1: 0}


def test_starts_of_pyss_are_read():
    assert peers.pair_starts("2 172\n1 0\n") == STARTS


def test_starts_of_cqsim_are_read():
    printed = (
        "2;25;25;3600.0;2488.0;0.0;172.0;172.0;2660.0\n1;4;4;53940.0;3477.0;0.0;0.0;0.0;3477.0\n"
    )
    assert peers.cqsim_starts(printed) == STARTS


def test_starts_of_accasim_are_read():
    printed = (
        "2;-1;1970-01-01 00:02:52__5;1#6;1#__1970-01-01 00:02:52;1970-01-01 00:44:20;2;2;NA;3600;\n"
        "1;-1;1970-01-01 00:00:00__1;1#__1970-01-01 00:00:00;1970-01-01 00:57:57;1;1;NA;53940;\n"
    )
    assert accasim.read_starts(printed) == STARTS


def test_jobs_are_in_whole_seconds_and_end_within_their_requests():
    jobs = pd.DataFrame(
        {
            "submit_time": [7.5, 9.0, 30.0],
            "run_time": [0.0, 20.5, 5.0],
            "requested_time": [10.0, 15.0, 5.0],
            "nodes": [1, 2, 1],
        }
    )
    same = peers.same_jobs(cs.Workload(jobs, "three jobs", cs.System.of(4)), [2, 100]).jobs
    assert same["job_id"].tolist() == [1, 2]
    assert same["submit_time"].tolist() == [0, 1]
    assert same["run_time"].tolist() == [1, 21]
    assert same["requested_time"].tolist() == [10, 21]
