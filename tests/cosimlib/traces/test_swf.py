"""Reading SWF: columns, header, deviations of real logs, errors."""

import gzip

import pytest

from cosimlib.traces import TraceError, read_swf
from cosimlib.workload import OPTIONAL_COLUMNS
from tests.cosimlib.traces.reading import DATA, JOB, counts, swf

# Columns


def test_each_field_of_a_record_becomes_a_column_of_a_job():
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


EACH = "each processor counts as a node"


def test_jobs_that_were_allocated_more_or_fewer_processors_are_counted(tmp_path):
    """Eight processors for the four and the sixteen that were asked for, an hour each."""
    path = tmp_path / "log.swf"
    tail = "3600 -1 1 1 1 1 1 -1 -1 -1"
    path.write_text("".join(f"{n} 0 0 3600 8 -1 -1 {n} {tail}\n" for n in (4, 8, 16)))
    workload = read_swf(path, verbose=False)
    assert workload.jobs["nodes"].tolist() == [4, 8, 16]
    taken = "processors allocated than requested, requested taken"
    found = counts(workload)
    assert found["noted", f"more {taken}: this leaves out 16.7 % of the processor-hours"] == 1
    assert found["noted", f"fewer {taken}: this adds 28.6 % of the processor-hours"] == 1


def test_the_account_counts_records_dropped_mended_and_noted():
    taken = "processors allocated than requested, requested taken"
    assert counts(read_swf(DATA / "odd.swf", verbose=False)) == {
        ("noted", "more than 18 columns, the rest ignored"): 1,
        ("noted", f"338 processors in 9 nodes, not the same in each: {EACH}"): 5,
        ("dropped", "submit time unknown"): 1,
        ("dropped", "part of an execution (status 2, 3 or 4)"): 1,
        ("dropped", "cancelled before it ran (status 5)"): 2,
        ("dropped", "run time unknown"): 1,
        ("dropped", "number of processors unknown"): 1,
        ("noted", "requested processors unknown, allocated taken"): 1,
        ("noted", f"fewer {taken}: this adds 99.1 % of the processor-hours"): 1,
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
    assert len(lines) == 1 + 16


@pytest.mark.parametrize(("cores", "nodes"), [(1, [16, 995, 4, 1, 4]), (8, [2, 125, 1, 1, 1])])
def test_processors_are_rounded_up_to_whole_nodes(cores, nodes):
    workload = read_swf(DATA / "odd.swf", cores_per_node=cores, verbose=False)
    assert workload.jobs["nodes"].tolist() == nodes
    assert workload.machine.total_nodes == 338 // cores
    assert workload.machine.cores_per_node == cores


def test_columns_of_which_nothing_is_known_are_left_out_but_requested_times_stay(tmp_path):
    jobs = swf(tmp_path, "1 0 5 100 4 -1 -1 4 -1 -1 1 -1 3 4 2 1 -1 -1").jobs
    assert jobs["requested_time"].isna().all() and "user" not in jobs and "memory" not in jobs
    assert jobs["group"].tolist() == ["3"]


def test_a_request_of_no_memory_is_none(tmp_path):
    """Fields 7 and 10: 512 KB used; 0 requested, then used; 0 both times, then unknown."""
    asked = JOB.replace("-1 -1 4 200 -1", "-1 512 4 200 0")
    neither = JOB.replace("-1 -1 4 200 -1", "-1 0 4 200 0")
    memory = swf(tmp_path, asked, neither).jobs["memory"]
    assert memory[0] == 512 * 1024 / 1e9 and memory.isna().tolist() == [False, True]


def test_memory_is_in_gigabytes_per_node():
    memory = read_swf(DATA / "odd.swf", cores_per_node=4, verbose=False).jobs["memory"]
    assert memory[0] == 1024 * 4 * 1024 / 1e9  # used: the requested memory is unknown
    assert memory[1] == 2048 * 4 * 1024 / 1e9  # requested
    assert memory[2:].isna().all()


def test_a_cancelled_job_that_ran_is_kept(tmp_path):
    cancelled = "1 0 5 {} 4 -1 -1 4 200 -1 5 7 3 4 2 1 -1 -1"
    kept = swf(tmp_path, *(cancelled.format(run) for run in (0, -1, 1)))
    assert kept.jobs["run_time"].tolist() == [1]


def test_jobs_submitted_at_once_keep_their_order(tmp_path):
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
def test_both_line_endings_are_read(tmp_path, ending):
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
        (["; MaxNodes: 7", "; MaxProcs: 28"], 7),
        (["; MaxNodes: 7", "; MaxProcs: -1"], 7),
        (["; MaxNodes: 7", "; MaxProcs: unknown"], 7),
        (["; MaxProcs: 9", "; MaxProcs: 10"], 9),
        (["; MaxProcs: 9,216 x"], 9_216),
        (["; MaxProcs: 9,21"], 9),
    ],
)
def test_the_size_of_the_machine_in_each_style_of_header(tmp_path, lines, nodes):
    assert swf(tmp_path, *lines, JOB).machine.total_nodes == nodes


@pytest.mark.parametrize("lines", [[], ["; MaxProcs: 0"], ["; MaxProcs:"], ["; Note: MaxProcs 12"]])
def test_without_a_size_the_machine_is_unknown(tmp_path, lines):
    assert swf(tmp_path, *lines, JOB).machine is None


def test_the_machine_is_named_by_the_header_or_else_by_the_workload(tmp_path):
    size, computer, place = "; MaxProcs: 8", "; Computer: SP2", "; Installation: KTH"
    assert swf(tmp_path, size, computer, place, JOB).machine.name == "SP2"
    assert swf(tmp_path, size, place, JOB).machine.name == "KTH"
    assert swf(tmp_path, size, JOB).machine.name == "log"


def test_a_header_in_another_encoding_is_read(tmp_path):
    path = tmp_path / "log.swf"
    path.write_bytes(b"; Computer: \xc5ke\n; MaxProcs: 8\n" + JOB.encode())
    assert read_swf(path, verbose=False).machine.total_nodes == 8


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
def test_the_error_for_a_bad_line_names_file_line_and_expectation(tmp_path, lines, message):
    with pytest.raises(TraceError, match=message) as error:
        swf(tmp_path, *lines)
    assert str(tmp_path / "log.swf") in str(error.value)


def test_missing_empty_and_damaged_files_are_refused(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"no file at .*missing\.swf; give the path of a log"
    ):
        read_swf(tmp_path / "missing.swf")
    with pytest.raises(IsADirectoryError, match="is a directory; give the path of a log"):
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


# Real logs


@pytest.mark.traces
@pytest.mark.parametrize(
    ("file_name", "jobs", "nodes", "dropped"),
    [
        ("theta-2023-prod.swf.gz", 29_520, 4_360, 0),
        ("KTH-SP2-1996-2.1-cln.swf.gz", 28_475, 100, 1),
        ("SDSC-SP2-1998-4.2-cln.swf.gz", 54_034, 128, 5_681),
        ("UniLu-Gaia-2014-2.swf.gz", 51_959, 2_004, 28),
        ("CEA-Curie-2011-2.1-cln.swf.gz", 298_092, 93_312, 14_734),
        ("mira-2018-aug27-dec31.swf.gz", 22_508, 49_152, 0),
        ("intrepid-2009-first3000.swf.gz", 3_000, 40_960, 0),
        ("HPC2N-2002-2.2-cln.swf.gz", 202_871, 240, 0),
        ("RICC-2010-2+hdr.swf.gz", 447_786, 8_192, 8),
    ],
)
def test_real_logs_have_their_jobs_nodes_and_dropped_records(
    trace_path, file_name, jobs, nodes, dropped
):
    workload = read_swf(trace_path(file_name), verbose=False)
    assert len(workload) == jobs
    assert workload.machine.total_nodes == nodes
    account = workload.account
    assert account.loc[account["action"] == "dropped", "records"].sum() == dropped


# Parts of executions, and what the header says


def test_only_a_status_whose_job_has_another_record_marks_a_part(tmp_path):
    """Job 1 has two parts; where statuses are exit codes, 2 is a job that failed."""
    line = "{} {} 0 10 4 -1 -1 4 60 -1 {} 1 1 1 1 1 -1 -1"
    rows = [(1, 0, 2), (1, 5, 4), (1, 0, 1), (2, 7, 2), (3, 8, 3), (4, 9, 127)]
    path = tmp_path / "codes.swf"
    path.write_text("\n".join(line.format(*row) for row in rows))
    read = read_swf(path, verbose=False)
    assert read.jobs["job_id"].tolist() == [1, 2, 3, 4]
    assert counts(read)["dropped", "part of an execution (status 2, 3 or 4)"] == 2


def test_jobs_that_the_header_counts_and_the_file_lacks_are_noted(tmp_path):
    record = "1 0 0 10 4 -1 -1 4 60 -1 1 1 1 1 1 1 -1 -1"
    header = "; MaxJobs: 1,200\n; MaxRecords: 7\n; Note: a cleaned log\n;Note: twice\n"
    path = tmp_path / "cleaned.swf"
    path.write_text(f"{header}{record}\n; Note: no header\n")
    noted = counts(read_swf(path, verbose=False))
    assert noted["noted", "of 1,200 records of its header are not in the file"] == 1199
    assert noted["noted", 'the header says: "a cleaned log"'] == 1
    assert noted["noted", 'the header says: "twice"'] == 1
    assert not any("no header" in reason for _, reason in noted)
    path.write_text(f"; MaxJobs: 1\n{record}\n")
    assert not any("of its header" in reason for _, reason in counts(read_swf(path, verbose=False)))
