"""Job logs of Argonne: columns, incomplete rows, errors."""

import gzip

import pandas as pd
import pytest

from cosimlib.system import THETA
from cosimlib.traces import TraceError, read_alcf
from tests.cosimlib.traces.reading import DATA, counts


def test_each_column_of_a_row_becomes_one_of_a_job(capsys):
    workload = read_alcf(DATA / "alcf.csv")
    jobs = workload.jobs
    assert jobs["job_id"].tolist() == [502, 501, 504]
    assert jobs["submit_time"].tolist() == [0, 599.75, 1799.75]
    assert jobs["run_time"].tolist() == [3600, 600.5, 600]
    assert jobs["requested_time"].fillna(-1).tolist() == [1800, 3600, -1]
    assert jobs["nodes"].tolist() == [8, 128, 1]
    assert jobs["recorded_start"].fillna(-1).tolist() == [299.75, 1199.75, -1]
    assert jobs["status"].fillna(-1).tolist() == [0, 1, -1]
    assert jobs["queue"].tolist() == ["prod,long", "default", "default"]
    assert jobs["user"].tolist() == ["11111111111112", "11111111111111", "11111111111113"]
    assert jobs["group"].tolist() == ["22222222222222", "22222222222222", "22222222222223"]
    assert workload.machine == THETA
    assert workload.name == "alcf"
    assert counts(workload) == {
        ("mended", "run time unknown, end less start taken"): 1,
        ("dropped", "not started"): 1,
        ("noted", "started before it arrived, start taken as unknown"): 1,
        ("noted", "requested nodes unknown, used taken"): 1,
        ("mended", "out of order, put in order of submission"): 1,
        ("noted", "run time over the requested time"): 1,
        ("noted", "requested time unknown"): 1,
        ("noted", "start unknown"): 1,
    }
    assert capsys.readouterr().out.startswith("alcf: 3 jobs from 4 records\n  mended")


def alcf(tmp_path, change, name="log.csv"):
    """The workload that `read_alcf` returns for the sample with its text changed."""
    path = tmp_path / name
    text = change((DATA / "alcf.csv").read_text()).encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return read_alcf(path, verbose=False)


def test_gzip_lower_case_and_newer_column_names_are_read(tmp_path):
    plain = alcf(tmp_path, str)
    packed = alcf(tmp_path, str, "log.csv.gz")
    pd.testing.assert_frame_equal(plain.jobs, packed.jobs)
    head, rest = (DATA / "alcf.csv").read_text().split("\n", 1)
    lower = alcf(tmp_path, lambda text: f"{head.lower()}\n{rest}")
    pd.testing.assert_frame_equal(plain.jobs, lower.jobs)
    newer = alcf(tmp_path, lambda text: text.replace("EXIT_STATUS", "EXIT_CODE"))
    pd.testing.assert_frame_equal(plain.jobs, newer.jobs)
    nameless = alcf(tmp_path, lambda text: text.replace("COBALT_JOBID", "OTHER"))
    pd.testing.assert_frame_equal(plain.jobs, nameless.jobs)
    polaris = alcf(tmp_path, lambda text: text.replace(",theta,", ",polaris,"))
    assert (polaris.machine.name, polaris.machine.total_nodes) == ("Polaris", 560)
    aurora = alcf(tmp_path, lambda text: text.replace(",theta,", ",AURORA,"))
    assert (aurora.machine.name, aurora.machine.total_nodes) == ("Aurora", 10_624)
    assert alcf(tmp_path, lambda text: text.replace(",theta,", ",crux,")).machine is None
    assert alcf(tmp_path, lambda text: text.replace(",theta,", ",Theta,")).machine == THETA


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda text: text.replace("WALLTIME_SECONDS", "W").replace("NODES_REQUESTED", "N"),
            "no column WALLTIME_SECONDS, NODES_REQUESTED; expected a DIM_JOB_COMPOSITE log",
        ),
        (
            lambda text: text.replace("2023-01-01 00:20:00", "yesterday", 1),
            r"line 2 has START_TIMESTAMP='yesterday'; expected seconds of the epoch",
        ),
        (
            lambda text: text.replace(",1800.0,3600.0,", ",1800.0,long,"),
            r"line 3 has RUNTIME_SECONDS='long'; expected a number",
        ),
        (lambda text: "", "the file is empty"),
        (lambda text: text.splitlines()[0], r"no job left of 0 records \(none in it\)"),
        (lambda text: "<html>\n<p>a form</p>", "no column QUEUED_TIMESTAMP.*reads '<html>'"),
        (lambda text: 'A\n"1,2\n3', "not a CSV of job records|no column"),
    ],
)
def test_the_error_for_a_bad_log_names_file_row_and_expectation(tmp_path, change, message):
    with pytest.raises(TraceError, match=message) as error:
        alcf(tmp_path, change)
    assert str(tmp_path / "log.csv") in str(error.value)


def test_a_job_number_that_nearly_all_rows_have_is_unknown(tmp_path):
    heading, row = (DATA / "alcf.csv").read_text().splitlines()[:2]
    rows = [
        row.replace("501.theta,501", f"{600 + n}.polaris-pbs-01,{0 if n else 7}")
        for n in range(150)
    ]
    path = tmp_path / "polaris.csv"
    path.write_text("\n".join([heading, *rows]))
    workload = read_alcf(path, verbose=False)
    assert counts(workload)["noted", "COBALT_JOBID 0 as nearly everywhere, unknown"] == 149
    assert sorted(workload.jobs["job_id"]) == [7, *range(601, 750)]


def test_the_line_of_an_error_counts_blank_lines_and_quoted_breaks(tmp_path):
    def change(text):
        lines = text.splitlines()
        lines[1] = lines[1].replace("501.theta", '"501\ntheta"')
        return "\n".join([lines[0], "", *lines[1:3], lines[3].replace("1800.0", "often")])

    with pytest.raises(TraceError, match=r"line 6 has WALLTIME_SECONDS='often'"):
        alcf(tmp_path, change)
