"""Traces: every oddity of real logs, every error, and a round trip that loses nothing."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.alcf import read_alcf
from cosimlib.swf import TraceError, read_swf, write_swf
from cosimlib.swf_lines import leading_number
from cosimlib.system import THETA, System
from cosimlib.workload import OPTIONAL_COLUMNS, Workload

DATA = Path(__file__).parent / "data"
JOB = "1 0 5 100 4 -1 -1 4 200 -1 1 7 3 4 2 1 -1 -1"


def swf(tmp_path, *lines, name="log.swf", **options):
    """What `read_swf` makes of these lines."""
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n")
    return read_swf(path, verbose=False, **options)


def counts(workload):
    """The account as a dictionary."""
    account = workload.account
    keys = zip(account["action"], account["reason"], strict=True)
    return dict(zip(keys, account["records"], strict=True))


# What the columns mean


def test_a_record_becomes_a_job_column_by_column():
    jobs = read_swf(DATA / "odd.swf", verbose=False).jobs
    assert jobs["job_id"].tolist() == [1, 2, 3, 4, 11]
    assert jobs["submit_time"].tolist() == [0, 10, 20, 30, 41]
    assert jobs["run_time"].tolist() == [100, 60, 10, 0, 10]
    assert jobs["nodes"].tolist() == [16, 995, 4, 1, 4]
    assert jobs["recorded_start"].fillna(-1).tolist() == [5, -1, 21, 30, 42]
    assert jobs["requested_time"].fillna(-1).tolist() == [200, 50, -1, -1, 60]
    assert jobs["status"].tolist() == [1, 0, 1, 0, 5]
    assert jobs["user"].fillna("?").tolist() == ["7", "8", "7", "?", "7"]
    assert jobs["group"].fillna("?").tolist() == ["3", "3", "3", "?", "3"]
    assert jobs["application"].fillna("?").tolist() == ["4", "?", "4", "?", "4"]
    assert jobs["queue"].tolist() == ["2", "2", "0", "2", "2"]
    assert jobs["partition"].fillna("?").tolist() == ["1", "2", "1", "?", "1"]
    assert jobs["preceding_job"].fillna(-1).tolist() == [-1, 1, -1, -1, -1]
    assert jobs["think_time"].fillna(-1).tolist() == [-1, 30, -1, -1, -1]
    assert jobs["average_cpu_time"].fillna(-1).tolist() == [90.5, -1, -1, -1, -1]


def test_declared_columns_have_their_declared_types():
    jobs = read_swf(DATA / "odd.swf", verbose=False).jobs
    for column in set(jobs) & set(OPTIONAL_COLUMNS):
        assert str(jobs[column].dtype) == OPTIONAL_COLUMNS[column].dtype


def test_the_account_counts_every_record_dropped_and_everything_odd():
    assert counts(read_swf(DATA / "odd.swf", verbose=False)) == {
        ("noted", "more than 18 columns, the rest ignored"): 1,
        ("dropped", "submit time unknown"): 1,
        ("dropped", "part of an execution (status 2, 3 or 4)"): 1,
        ("dropped", "cancelled before it ran (status 5)"): 2,
        ("dropped", "run time unknown"): 1,
        ("dropped", "number of processors unknown"): 1,
        ("noted", "requested processors unknown, allocated taken"): 1,
        ("noted", "requested memory unknown, used taken"): 1,
        ("mended", "out of order, put in order of submission"): 1,
        ("noted", "run time 0"): 1,
        ("noted", "run time over the requested time"): 1,
        ("noted", "requested time unknown"): 2,
        ("noted", "start unknown"): 1,
        ("noted", "wider than the 338 nodes of its machine"): 1,
    }


def test_the_account_is_printed_when_verbose_and_only_then(capsys):
    read_swf(DATA / "odd.swf", verbose=False)
    assert capsys.readouterr() == ("", "")
    read_swf(DATA / "odd.swf", name="Small")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Small: 5 jobs from 11 records"
    assert "  dropped         2  cancelled before it ran (status 5)" in lines
    assert len(lines) == 1 + 14


@pytest.mark.parametrize(("cores", "nodes"), [(1, [16, 995, 4, 1, 4]), (8, [2, 125, 1, 1, 1])])
def test_processors_make_whole_nodes(cores, nodes):
    workload = read_swf(DATA / "odd.swf", cores_per_node=cores, verbose=False)
    assert workload.jobs["nodes"].tolist() == nodes
    assert workload.machine.total_nodes == 338 // cores
    assert workload.machine.cores_per_node == cores


def test_memory_is_gigabytes_a_node():
    memory = read_swf(DATA / "odd.swf", cores_per_node=4, verbose=False).jobs["memory"]
    assert memory[0] == 1024 * 4 * 1024 / 1e9  # used, for want of a request
    assert memory[1] == 2048 * 4 * 1024 / 1e9  # requested
    assert memory[2:].isna().all()


def test_a_cancelled_job_that_ran_is_kept(tmp_path):
    cancelled = "1 0 5 {} 4 -1 -1 4 200 -1 5 7 3 4 2 1 -1 -1"
    kept = swf(tmp_path, *(cancelled.format(run) for run in (0, -1, 1)))
    assert kept.jobs["run_time"].tolist() == [1]


def test_jobs_at_the_same_instant_keep_their_order(tmp_path):
    line = "{} {} 5 100 4 -1 -1 4 200 -1 1 7 3 4 2 1 -1 -1"
    read = swf(tmp_path, *(line.format(i, s) for i, s in enumerate([5, 3, 5, 3, 9, 4])))
    assert read.jobs["job_id"].tolist() == [1, 3, 5, 0, 2, 4]
    assert counts(read)["mended", "out of order, put in order of submission"] == 3


def test_columns_without_any_value_are_left_out(tmp_path):
    read = swf(tmp_path, "-1 0 -1 10 1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1")
    first = ["submit_time", "run_time", "requested_time", "nodes"]
    assert list(read.jobs) == [*first, "allocated_processors"]


def test_a_job_number_used_twice_is_noted(tmp_path):
    assert counts(swf(tmp_path, JOB, JOB))["noted", "job number used before"] == 1


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_every_kind_of_line_ending_is_read(tmp_path, ending):
    path = tmp_path / "log.swf"
    text = ["; MaxProcs: 12", "; Computer: X", JOB, "", JOB]
    path.write_bytes(ending.join(text).encode())
    read = read_swf(path, verbose=False)
    assert len(read) == 2
    assert (read.machine.name, read.machine.total_nodes) == ("X", 12)


# The header


@pytest.mark.parametrize(
    ("lines", "nodes"),
    [
        (["; MaxProcs: 338 (batch 336)"], 338),
        ([";MaxProcs:338"], 338),
        (["  ;\tMaxProcs :\t338  "], 338),
        ([";; MaxProcs: 1,338"], 1338),
        (["; MaxNodes: 7"], 7),
        (["; MaxNodes: 7", "; MaxProcs: 28"], 28),
        (["; MaxNodes: 7", "; MaxProcs: -1"], 7),
        (["; MaxNodes: 7", "; MaxProcs: unknown"], 7),
        (["; MaxProcs: 9", "; MaxProcs: 10"], 9),
    ],
)
def test_sizes_in_every_style_of_header(tmp_path, lines, nodes):
    assert swf(tmp_path, *lines, JOB).machine.total_nodes == nodes


@pytest.mark.parametrize("lines", [[], ["; MaxProcs: 0"], ["; Note: MaxProcs 12"]])
def test_without_a_size_the_machine_is_unknown(tmp_path, lines):
    assert swf(tmp_path, *lines, JOB).machine is None


def test_the_machine_is_called_by_its_header_or_by_the_workload(tmp_path):
    size, computer, place = "; MaxProcs: 8", "; Computer: SP2", "; Installation: KTH"
    assert swf(tmp_path, size, computer, place, JOB).machine.name == "SP2"
    assert swf(tmp_path, size, place, JOB).machine.name == "KTH"
    assert swf(tmp_path, size, JOB).machine.name == "log"


def test_a_header_in_another_encoding_is_no_obstacle(tmp_path):
    path = tmp_path / "log.swf"
    path.write_bytes(b"; Computer: \xc5ke\n; MaxProcs: 8\n" + JOB.encode())
    assert read_swf(path, verbose=False).machine.total_nodes == 8


@pytest.mark.parametrize(
    ("text", "number"), [("12", 12), ("9,216 x", 9216), ("9,21", 9), ("x", 0), ("", 0)]
)
def test_leading_number(text, number):
    assert leading_number(text) == number


# Errors


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["; c", JOB, "1 2 3"], r"line 3 reads '1 2 3': 3 columns; expected 18"),
        ([JOB, JOB.replace("100", "abc")], r"line 2 .*run_time is 'abc'; expected a number"),
        ([JOB, JOB.replace("100", "nan")], r"line 2 .*run_time is 'nan'; expected a number"),
        ([JOB, JOB.replace("100", "inf")], r"line 2 .*run_time is 'inf'; expected a number"),
        ([JOB, JOB.replace("100", "9" * 30)], r"line 2 .*run_time is '9+'; expected a number"),
        ([JOB, JOB.replace("100", "1_0")], r"line 2 .*run_time is '1_0'; expected a number"),
        ([JOB, "1.5" + JOB[1:]], r"line 2 .*job_id is '1.5'; expected a whole number"),
        (["<html>", "<p>404 Not Found</p>"], r"not an SWF, no line has 18 .*line 1 reads '<html>'"),
        (["a,b,c", "1,2,3"], r"not an SWF.*line 1 reads 'a,b,c': job_id is 'a,b,c'"),
        (["x" * 500], r"line 1 reads 'x{60} \.\.\.': job_id is 'x{20}'"),
        (["1 2 3"], r"not an SWF.*3 columns; expected 18"),
        (["; only", "; comments"], r"no job in it; expected lines of 18 numbers"),
        ([JOB.replace("100", "-1")], r"no job left of 1 records \(1 run time unknown\)"),
    ],
)
def test_a_bad_file_is_named_with_line_and_expectation(tmp_path, lines, message):
    with pytest.raises(TraceError, match=message) as error:
        swf(tmp_path, *lines)
    assert str(tmp_path / "log.swf") in str(error.value)


def test_errors_of_files(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no trace at .*missing\.swf.*known trace"):
        read_swf(tmp_path / "missing.swf")
    with pytest.raises(FileNotFoundError, match="no trace at"):
        read_swf(tmp_path)
    (tmp_path / "empty.swf").write_bytes(b"")
    with pytest.raises(TraceError, match="no job in it"):
        read_swf(tmp_path / "empty.swf")
    (tmp_path / "page.swf.gz").write_text("<html>moved</html>")
    with pytest.raises(TraceError, match=r"named \.gz but not gzip, it begins with '<html>moved"):
        read_swf(tmp_path / "page.swf.gz")
    whole = gzip.compress("\n".join([JOB] * 1000).encode())
    (tmp_path / "cut.swf.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TraceError, match="cut short or damaged"):
        read_swf(tmp_path / "cut.swf.gz")
    damaged = bytearray(whole)
    damaged[20:40] = bytes(20)
    (tmp_path / "damaged.swf.gz").write_bytes(bytes(damaged))
    with pytest.raises(TraceError, match="cut short or damaged"):
        read_swf(tmp_path / "damaged.swf.gz")
    (tmp_path / "binary.swf").write_bytes(bytes(range(256)))
    with pytest.raises(TraceError, match="not an SWF"):
        read_swf(tmp_path / "binary.swf")


@pytest.mark.parametrize("cores", [0, -4, 1.5])
def test_cores_per_node_is_a_whole_number(cores, tmp_path):
    with pytest.raises(ValueError, match=r"cores_per_node=.*expected a whole number from 1"):
        swf(tmp_path, JOB, cores_per_node=cores)


# Writing


@st.composite
def recorded(draw, cores_per_node=1):
    """A workload as a trace may give it, with any of the optional columns; binary fractions."""
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
def test_what_is_written_is_read_back(tmp_path, name, cores):
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


def test_milliseconds_come_back_to_the_last_bit_or_two(tmp_path):
    times = np.random.default_rng(1).integers(0, 10**9, (1000, 2)) / 1000
    jobs = pd.DataFrame(times, columns=["submit_time", "run_time"]).sort_values("submit_time")
    jobs = jobs.assign(nodes=1, recorded_start=jobs["submit_time"] + jobs["run_time"])
    read = read_swf(write_swf(Workload(jobs), tmp_path / "log.swf"), verbose=False).jobs
    assert read["submit_time"].tolist() == jobs["submit_time"].tolist()
    assert read["run_time"].tolist() == jobs["run_time"].tolist()
    np.testing.assert_allclose(read["recorded_start"], jobs["recorded_start"], rtol=1e-15)


def test_a_log_comes_back_from_writing(tmp_path):
    for cores in (1, 4):
        read = read_swf(DATA / "odd.swf", cores_per_node=cores, verbose=False)
        path = write_swf(read, tmp_path / "copy.swf", cores_per_node=cores)
        copy = read_swf(path, cores_per_node=cores, verbose=False)
        pd.testing.assert_frame_equal(copy.jobs, read.jobs)
        assert copy.machine.total_nodes == read.machine.total_nodes


def test_lines_are_written_as_the_format_wants_them(tmp_path):
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


def test_memory_that_was_changed_goes_before_what_the_log_said(tmp_path):
    read = read_swf(DATA / "odd.swf", verbose=False)
    changed = Workload(read.jobs.assign(memory=16.0), "changed")
    copy = read_swf(write_swf(changed, tmp_path / "log.swf"), verbose=False)
    assert copy.jobs["memory"].tolist() == [16.0] * 5
    other = read_swf(write_swf(read, tmp_path / "log.swf", cores_per_node=2), verbose=False)
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
def test_a_value_that_the_format_cannot_hold_is_named(tmp_path, column, value, message):
    jobs = pd.DataFrame({"submit_time": [0, 10], "run_time": 1, "nodes": 1, "job_id": [8, 9]})
    jobs[column] = [0, value] if column != "recorded_start" else [0.0, value]
    path = tmp_path / "log.swf"
    path.write_text("precious")
    with pytest.raises(TraceError, match=message):
        write_swf(Workload(jobs, "mine"), path)
    assert [p.name for p in tmp_path.iterdir()] == ["log.swf"]
    assert path.read_text() == "precious"


def test_nothing_half_written_is_left_behind(tmp_path, monkeypatch):
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


# Argonne's logs


def test_a_row_of_argonnes_becomes_a_job(capsys):
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
        ("dropped", "never started"): 1,
        ("noted", "started before it was queued, start taken as unknown"): 1,
        ("noted", "requested nodes unknown, used taken"): 1,
        ("mended", "out of order, put in order of submission"): 1,
        ("noted", "run time over the requested time"): 1,
        ("noted", "requested time unknown"): 1,
        ("noted", "start unknown"): 1,
    }
    assert capsys.readouterr().out.startswith("alcf: 3 jobs from 4 records\n  mended")


def alcf(tmp_path, change, name="log.csv"):
    """What `read_alcf` makes of the sample after a change of its text."""
    path = tmp_path / name
    text = change((DATA / "alcf.csv").read_text()).encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return read_alcf(path, verbose=False)


def test_argonnes_logs_in_their_other_shapes(tmp_path):
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
    assert polaris.machine is None
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
            r"record 1 \(line 2\) has START_TIMESTAMP='yesterday'; expected a time such as",
        ),
        (
            lambda text: text.replace(",1800.0,3600.0,", ",1800.0,long,"),
            r"record 2 \(line 3\) has RUNTIME_SECONDS='long'; expected a number",
        ),
        (lambda text: "", "the file is empty"),
        (lambda text: text.splitlines()[0], r"no job left of 0 records \(none in it\)"),
        (lambda text: "<html>\n<p>a form</p>", "no column QUEUED_TIMESTAMP.*reads '<html>'"),
        (lambda text: 'A\n"1,2\n3', "not a CSV of job records|no column"),
    ],
)
def test_a_bad_log_of_argonnes_is_named(tmp_path, change, message):
    with pytest.raises(TraceError, match=message) as error:
        alcf(tmp_path, change)
    assert str(tmp_path / "log.csv") in str(error.value)


def test_a_log_of_argonnes_can_be_written_as_swf(tmp_path):
    jobs = read_alcf(DATA / "alcf.csv", verbose=False)
    read = read_swf(write_swf(jobs, tmp_path / "theta.swf"), verbose=False)
    columns = [column for column in jobs.jobs if column != "queue"]
    pd.testing.assert_frame_equal(read.jobs[columns], jobs.jobs[columns])
    assert read.jobs["queue"].tolist() == ["1", "2", "2"]


# Real logs


@pytest.mark.traces
@pytest.mark.parametrize(
    ("file_name", "jobs", "nodes", "dropped"),
    [
        ("theta-2023-prod.swf.gz", 29_520, 4_360, 0),
        ("KTH-SP2-1996-2.1-cln.swf.gz", 28_475, 100, 1),
        ("SDSC-SP2-1998-4.2-cln.swf.gz", 54_034, 128, 5_681),
        ("UniLu-Gaia-2014-2.swf.gz", 51_860, 2_004, 127),
        ("CEA-Curie-2011-2.1-cln.swf.gz", 298_092, 93_312, 14_734),
        ("mira-2018-aug27-dec31.swf.gz", 22_508, 49_152, 0),
        ("intrepid-2009-first3000.swf.gz", 3_000, 40_960, 0),
    ],
)
def test_real_logs(trace_path, file_name, jobs, nodes, dropped):
    workload = read_swf(trace_path(file_name), verbose=False)
    assert len(workload) == jobs
    assert workload.machine.total_nodes == nodes
    account = workload.account
    assert account.loc[account["action"] == "dropped", "records"].sum() == dropped


@pytest.mark.traces
def test_kth_sp2_comes_back_from_writing(trace_path, tmp_path):
    read = read_swf(trace_path("KTH-SP2-1996-2.1-cln.swf.gz"), verbose=False)
    copy = read_swf(write_swf(read, tmp_path / "copy.swf.gz"), verbose=False)
    pd.testing.assert_frame_equal(copy.jobs, read.jobs)
    submit_span = read.jobs["submit_time"].iloc[-1] - read.jobs["submit_time"].iloc[0]
    work = read.jobs["allocated_processors"].fillna(0) * read.jobs["run_time"]
    assert work.sum() / submit_span / 100 == pytest.approx(0.701, abs=5e-4)
