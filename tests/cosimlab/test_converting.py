"""Own columns, formats recognized by their content, logs converted with an account of losses."""

import gzip
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import cosimlab as lab
from cosimlab.convert import WRITERS
from cosimlab.writers import write_csv, write_parquet
from cosimlib.system import THETA, System
from cosimlib.traces import (
    TraceError,
    load,
    read_columns,
    read_swf,
    recognize,
)
from cosimlib.workload import OPTIONAL_COLUMNS, Workload
from tests.cosimlib.traces.damage import SAMPLES, sample
from tests.cosimlib.traces.reading import DATA, counts


@pytest.fixture
def log():
    return read_swf(DATA / "odd.swf", verbose=False)


# Own columns


def test_csv_gives_back_the_columns(log, tmp_path):
    read = read_columns(write_csv(log, tmp_path / "log.csv.gz"), verbose=False)
    for column in log.jobs:
        declared = column in OPTIONAL_COLUMNS
        left, right = read.jobs[column], log.jobs[column]
        pd.testing.assert_series_equal(left, right, check_dtype=declared)
    assert (read.name, read.machine) == ("log", None)


def test_parquet_gives_back_everything(log, tmp_path):
    pytest.importorskip("pyarrow")
    for began in (pd.Timestamp("1996-09-23T11:00", tz="Europe/Stockholm"), None):
        given = Workload(log.jobs, "given", THETA, log.account, began)
        read = read_columns(write_parquet(given, tmp_path / "x.parquet"), verbose=False)
        pd.testing.assert_frame_equal(read.jobs, given.jobs)
        pd.testing.assert_frame_equal(read.account, given.account)
        assert (read.name, read.machine, read.began) == ("given", THETA, began)


def test_parquet_of_another_program_is_read(tmp_path):
    pytest.importorskip("pyarrow")
    table = pd.DataFrame({"submit_time": [5, 1], "run_time": [2, 3], "nodes": [1, 4]})
    table.to_parquet(tmp_path / "other.parquet")
    read = read_columns(tmp_path / "other.parquet", system=System.of(8), name="mine", verbose=False)
    assert read.jobs["submit_time"].tolist() == [1, 5]
    assert (read.name, read.machine.total_nodes) == ("mine", 8)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("submit_time,run_time\n1,2\n", "no column nodes; expected a workload's own columns"),
        ("a,b\n1,2\n", "no column submit_time, run_time, nodes; .*DIM_JOB_COMPOSITE.*reads 'a,b'"),
        ("submit_time,run_time,nodes\n1,2,3\n1,x,3\n", r"line 3 has run_time='x'; expected a num"),
        ("submit_time,run_time,nodes\n1,2,3\n\n1,,3\n", r"line 4 has run_time=''; expected a num"),
        ("submit_time,run_time,nodes\n1,nan,3\n", r"line 2 has run_time='nan'; expected a number"),
        ("submit_time,run_time,nodes\n1,2,0\n", r"x\.csv: line 2 has nodes=0; expected a whole"),
        ("submit_time,run_time,nodes\n5,2,1\n\n9,2,-4\n1,1,2\n", r"line 4 has nodes=-4; expected"),
        (
            'submit_time,run_time,nodes,user\n1,2,3,a\n1,2,3,"b\n1,2,3,c\n',
            "line 3 cannot be read as",
        ),
        (
            "submit_time,run_time,nodes,requested_time\n1,2,1,\n1,2,1,0\n",
            r"line 3 has requested_time=0; expected seconds above 0 .*, or nothing where unknown",
        ),
        ("submit_time,run_time,nodes\n", "no job left of 0 records"),
        ("", "the file is empty; expected a workload's own columns, submit_time, run_time, nodes"),
    ],
)
def test_a_bad_table_is_refused(tmp_path, content, message):
    (tmp_path / "x.csv").write_text(content)
    with pytest.raises(TraceError, match=message) as error:
        read_columns(tmp_path / "x.csv")
    assert str(tmp_path / "x.csv") in str(error.value)


def test_a_schedules_start_time_is_the_recorded_start(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("submit_time,start_time,run_time,nodes\n0,3,5,1\n1,4,5,1\n")
    jobs = read_columns(path, verbose=False).jobs
    assert jobs["recorded_start"].tolist() == jobs["start_time"].tolist() == [3, 4]
    path.write_text("submit_time,start_time,run_time,nodes\n0,early,5,1\n1,late,5,1\n")
    assert "recorded_start" not in read_columns(path, verbose=False).jobs
    path.write_text("submit_time,start_time,run_time,nodes,recorded_start\n0,3,5,1,8\n1,4,5,1,9\n")
    jobs = read_columns(path, verbose=False).jobs
    assert jobs["recorded_start"].tolist() == [8, 9] and jobs["start_time"].tolist() == [3, 4]


def test_a_table_of_ones_own_has_an_account(tmp_path, capsys):
    (tmp_path / "x.csv").write_text(
        "submit_time,run_time,nodes,requested_time,recorded_start\n"
        "100,5,2,10,40\n50,0,2,,60\n70,8,1,5,\n200,5,1,9,200\n"
    )
    read = load(tmp_path / "x.csv")
    expected = {
        ("mended", "out of order, put in order of submission"): 2,
        ("noted", "started before it arrived, start taken as unknown"): 1,
        ("noted", "run time 0"): 1,
        ("noted", "run time over the requested time"): 1,
        ("noted", "requested time unknown"): 1,
        ("noted", "start unknown"): 2,
    }
    assert counts(read) == expected
    assert read.jobs["recorded_start"].fillna(-1).tolist() == [60, -1, -1, 200]
    assert "  mended          2  out of order" in capsys.readouterr().out
    pytest.importorskip("pyarrow")
    again = load(write_parquet(read, tmp_path / "x.parquet"))
    assert counts(again) == expected
    assert capsys.readouterr().out == "x: 4 jobs from 4 records\n"
    pd.read_csv(tmp_path / "x.csv").to_parquet(tmp_path / "other.parquet")
    assert counts(load(tmp_path / "other.parquet")) == expected


def test_a_broken_rule_of_a_parquet_names_the_log_once(tmp_path):
    pytest.importorskip("pyarrow")
    table = pd.DataFrame({"submit_time": [1], "run_time": [2], "nodes": [-4]})
    table.to_parquet(tmp_path / "un.parquet")
    with pytest.raises(TraceError, match=r"un\.parquet: row 0 has nodes=-4.*; expected"):
        load(tmp_path / "un.parquet")
    table.assign(submit_time="x").to_parquet(tmp_path / "un.parquet")
    with pytest.raises(TraceError, match=r"un\.parquet: row 0 has submit_time='x'; expected"):
        load(tmp_path / "un.parquet")


@pytest.mark.parametrize("row", ["7,0,5,9,2", "0,5,9,2,", '0,5,9,2,"a\nb"', "0,5,9,2,\r"])
def test_a_row_with_more_fields_than_the_heading_is_refused(row, tmp_path):
    (tmp_path / "x.csv").write_bytes(f"submit_time,run_time,requested_time,nodes\n{row}\n".encode())
    with pytest.raises(TraceError, match=r"x\.csv: line 2 has 5 fields; expected 4$"):
        load(tmp_path / "x.csv")


def test_wide_rows_are_named_by_their_line_and_short_ones_read(tmp_path):
    heading = "submit_time,run_time,nodes,user,queue\n"
    (tmp_path / "x.csv").write_text(heading + '0,5,2\n\n1,5,2,"a,b\nc",q\n2,5,2,u,q,\n')
    with pytest.raises(TraceError, match=r"line 6 has 6 fields; expected 5$"):
        load(tmp_path / "x.csv")
    (tmp_path / "x.csv").write_text("\n" + heading + '0,5,2\n1,5,2,"a,b\nc",q\n')
    jobs = load(tmp_path / "x.csv", verbose=False).jobs
    assert jobs["user"].fillna("").tolist() == ["", "a,b\nc"]
    assert jobs["submit_time"].tolist() == [0, 1]


# Recognizing


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("packed", [False, True])
def test_a_format_is_recognized_by_its_content(name, packed, tmp_path):
    read, stored = SAMPLES[name]
    content = sample(stored, tmp_path)
    is_parquet = content[:4] == b"PAR1"
    ending = "" if is_parquet else ".swf" if stored.endswith(".swf") else ".log"
    path = tmp_path / f"log{ending}{'.gz' if packed and not is_parquet else ''}"
    path.write_bytes(gzip.compress(content) if packed and not is_parquet else content)
    assert recognize(path) == name.removesuffix("-csv").split("-")[0].replace("frontier", "swf")
    if not is_parquet:
        assert len(load(path, verbose=False)) == len(read(path, verbose=False))


def test_what_is_not_recognized_is_read_by_its_ending_or_as_swf(tmp_path):
    for name, expected in (
        ("x.json", "sacct"),
        ("x.csv", "columns"),
        ("x.txt", "sacct"),
        ("x", "swf"),
    ):
        (tmp_path / name).write_text("<html>")
        assert recognize(tmp_path / name) == expected
        with pytest.raises(TraceError, match=name):
            load(tmp_path / name)


# Converting


@pytest.mark.parametrize("ending", WRITERS)
def test_each_format_is_converted_into_each(ending, tmp_path):
    pytest.importorskip("pyarrow")
    for name in SAMPLES:
        stored = SAMPLES[name][1]
        source = tmp_path / f"source-{stored.replace('/', '-')}"
        source.write_bytes(sample(stored, tmp_path))
        target = tmp_path / f"{name}{ending}"
        account = lab.convert(source, target, verbose=False)
        before, after = load(source, verbose=False), load(target, verbose=False)
        zero = int((before.jobs["run_time"] == 0).sum()) if ending == ".json" else 0
        assert len(after) == len(before) - zero
        if not zero:
            for column in ("submit_time", "nodes"):
                assert after.jobs[column].tolist() == before.jobs[column].tolist()
        lost = account[account["action"] == "lost"]
        assert lost["records"].gt(0).all()
        assert len(lost) == 0 if ending == ".parquet" else ending == ".swf" or len(lost)


def test_the_account_tells_what_is_lost(tmp_path, capsys):
    account = lab.convert(DATA / "slurm-24.11" / "sacct.json", tmp_path / "x.swf")
    lost = account[account["action"] == "lost"].set_index("reason")["records"].to_dict()
    assert lost == {
        "column cores": 23,
        "column eligible_time": 23,
        "column qos": 23,
        "names of users, numbered": 23,
        "names of groups, numbered": 23,
        "names of queues, numbered (they stand in the header)": 23,
    }
    printed = capsys.readouterr().out
    assert "sacct: 23 jobs from 23 records" in printed
    assert "  lost           23  column qos" in printed


def test_what_batsim_loses(tmp_path):
    jobs = pd.DataFrame(
        {
            "submit_time": 0.0,
            "run_time": [0, 5, 9],
            "requested_time": [1, 4, np.nan],
            "nodes": 1,
            "job_id": [1, 2, 2],
            "user": ["a", "b", None],
        }
    )
    path = write_csv(Workload(jobs), tmp_path / "own.csv")
    account = lab.convert(path, tmp_path / "x.json", verbose=False)
    lost = account[account["action"] == "lost"].set_index("reason")["records"].to_dict()
    assert lost == {
        "job of run time 0, which Batsim refuses": 1,
        "job number, not one per job: numbered from 1": 2,
        "run time over the requested time: Batsim stops it there": 1,
        "column user": 2,
    }


def test_a_unit_goes_to_the_reader_that_takes_it(tmp_path):
    lab.convert(DATA / "pbs-accounting", tmp_path / "x.csv", unit="cores", verbose=False)
    assert load(tmp_path / "x.csv", verbose=False).jobs["nodes"].max() == 2048
    with pytest.raises(ValueError, match=r"unit='cores', which read_swf does not take; leave it"):
        lab.convert(DATA / "odd.swf", tmp_path / "y.csv", unit="cores")
    lab.convert(DATA / "odd.swf", tmp_path / "z.swf", cores_per_node=4, verbose=False)
    assert counts(load(tmp_path / "z.swf", verbose=False))
    with pytest.raises(ValueError, match=r"target's ending='\.xlsx'; expected one of '\.swf'"):
        lab.convert(DATA / "odd.swf", tmp_path / "y.xlsx")


def test_a_log_is_not_converted_into_itself(tmp_path, monkeypatch):
    log = tmp_path / "log.swf"
    log.write_bytes((DATA / "odd.swf").read_bytes())
    (tmp_path / "folder").mkdir()
    (tmp_path / "other.swf").symlink_to(log)
    (tmp_path / "hard.swf").hardlink_to(log)
    monkeypatch.chdir(tmp_path)
    for source, target in (
        (log, log),
        ("log.swf", log),
        (log, "folder/../log.swf"),
        (log, "other.swf"),
        ("other.swf", log),
        (log, "hard.swf"),
    ):
        with pytest.raises(ValueError, match="overwritten; give another name") as error:
            lab.convert(source, target)
        assert str(error.value).startswith(f"{target}: the target is the source {source} itself")
    assert log.read_bytes() == (DATA / "odd.swf").read_bytes()
    lab.convert(log, "new.swf", verbose=False)
    lab.convert(log, "new.swf", verbose=False)


@pytest.mark.parametrize("ending", WRITERS)
def test_a_missing_folder_and_a_directory_are_named(ending, tmp_path):
    pytest.importorskip("pyarrow")
    target = tmp_path / "none" / f"x{ending}"
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*none; make it first$"):
        lab.convert(DATA / "odd.swf", target, verbose=False)
    target.mkdir(parents=True)
    with pytest.raises(IsADirectoryError, match=r"is a directory; give the name of a file$"):
        lab.convert(DATA / "odd.swf", target, verbose=False)
    for source in (target, target.parent):
        with pytest.raises(IsADirectoryError, match=r"is a directory; give the path of a log$"):
            load(source)
    assert list(target.parent.iterdir()) == [target]


def test_the_command_converts_or_says_why_not(tmp_path):
    command = [sys.executable, "-m", "cosimlab.convert"]
    target = tmp_path / "x.csv"
    done = subprocess.run([*command, DATA / "odd.swf", target], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "x.csv: 5 jobs from 5 records" in done.stdout
    done = subprocess.run([*command, tmp_path / "no.swf", target], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("convert: no trace at ")


def test_an_index_is_a_column(tmp_path):
    pytest.importorskip("pyarrow")
    table = pd.DataFrame({"submit_time": [0.0, 5.0], "run_time": 7.0, "nodes": [1, 2]})
    table.set_index("submit_time").to_parquet(tmp_path / "named.parquet")
    table.set_index(np.array([4, 2])).to_parquet(tmp_path / "unnamed.parquet")
    for name in ("named", "unnamed"):
        jobs = read_columns(tmp_path / f"{name}.parquet", verbose=False).jobs
        assert jobs["submit_time"].tolist() == [0, 5] and "run_time" in jobs
        assert not [column for column in jobs if "index" in column]


def test_quotes_within_a_field_are_read_and_one_that_is_not_closed_is_refused(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('submit_time,run_time,nodes,user\n0,5,1,"a" b\n1,5,1,"c\nd"\n2,5,1,"e"\n')
    assert read_columns(path, verbose=False).jobs["user"].tolist() == ["a b", "c\nd", "e"]
    path.write_text('submit_time,run_time,nodes,user\n0,5,1,a\n1,5,1,"b\n2,5,1,c\n')
    with pytest.raises(TraceError, match=r"x\.csv: line 3 cannot be read as CSV: unexpected end"):
        read_columns(path, verbose=False)
