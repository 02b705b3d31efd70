"""Slurm's accounting: two real versions, odd names, odd records, and a field that is wrong."""

import json
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosimlib.traces import TraceError, hosts
from cosimlib.traces.hosts import expand_hosts
from cosimlib.traces.slurm import read_sacct
from cosimlib.traces.texts import number
from tests.cosimlib.traces.reading import DATA, counts

HEADING = (
    "JobIDRaw|User|Account|Partition|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|"
    "NNodes|NCPUS|AllocTRES|NodeList|State|JobName"
)
JOB = {
    "JobIDRaw": "7",
    "User": "ann",
    "Account": "lab",
    "Partition": "main",
    "Submit": "1000",
    "Eligible": "1000",
    "Start": "1060",
    "End": "1160",
    "ElapsedRaw": "100",
    "TimelimitRaw": "5",
    "NNodes": "2",
    "NCPUS": "8",
    "AllocTRES": "cpu=8,gres/gpu=4,node=2",
    "NodeList": "n[1-2]",
    "State": "COMPLETED",
    "JobName": "run",
}


def text(*changes, heading=HEADING, delimiter="|"):
    """A file of sacct's with a record for each mapping of changes to `JOB`."""
    rows = [heading.split("|")] + [
        [(JOB | change)[column] for column in heading.split("|")] for change in changes
    ]
    return "\n".join(delimiter.join(row) for row in rows) + "\n"


def read(tmp_path, content, name="sacct.txt", **options):
    """What `read_sacct` makes of a text."""
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    return read_sacct(path, verbose=False, **options)


def of(version, name, **options):
    return read_sacct(DATA / f"slurm-{version}" / name, verbose=False, **options)


# Two real Slurms


def test_text_and_json_of_one_slurm_tell_the_same_jobs():
    as_text, as_json = of("24.11", "sacct_X_parsable2_epoch.txt"), of("24.11", "sacct.json")
    columns = [
        "job_id",
        "submit_time",
        "eligible_time",
        "run_time",
        "requested_time",
        "nodes",
        "recorded_start",
        "user",
        "group",
        "queue",
        "status",
        "cores",
        "memory",
    ]
    first, second = (
        workload.jobs[columns].sort_values("job_id", ignore_index=True)
        for workload in (as_text, as_json)
    )
    pd.testing.assert_frame_equal(first, second, check_dtype=False)
    assert len(first) == 23 == len(of("24.11", "sacct_steps_parsable2.txt"))
    assert as_text.machine.total_nodes == as_json.machine.total_nodes == 8


def test_a_name_with_delimiters_is_not_dropped_and_not_misread():
    jobs = of("24.11", "sacct_X_parsable2.txt").jobs.set_index("job_id")
    assert jobs.loc[3, ["run_time", "requested_time", "nodes"]].tolist() == [4, 120, 1]


def test_limits_are_minutes_and_unlimited_is_unknown():
    jobs = of("24.11", "sacct_X_parsable2_epoch.txt").jobs.set_index("job_id")
    assert jobs.loc[7, "requested_time"] == 86_400
    assert np.isnan(jobs.loc[8, "requested_time"])


def test_a_suspended_job_runs_for_less_than_from_start_to_end():
    workload = of("24.11", "sacct_X_parsable2_epoch.txt")
    assert workload.jobs.set_index("job_id").loc[18, "run_time"] == 9
    assert counts(workload)["noted", "suspended for a time, which its run time leaves out"] == 1


def test_local_times_give_the_same_jobs_as_seconds_of_the_epoch():
    local, epoch = (of("24.11", f"sacct_X_parsable2{end}.txt") for end in ("", "_epoch"))
    pd.testing.assert_frame_equal(local.jobs, epoch.jobs)
    assert counts(local)["noted", "times of an unnamed local clock"] == 23


def test_older_slurm_json_and_a_delimiter_of_its_own():
    workload = of("22.05", "sacct_X_delim.txt")
    assert counts(workload)["dropped", "still running"] == 1
    old = of("22.05", "sacct.json")
    assert counts(old)["dropped", "not started"] == 1
    assert old.jobs.set_index("job_id").loc[2, "nodes"] == 4


def test_missing_columns_are_named():
    with pytest.raises(TraceError, match=r"no column Submit, Start, End; expected what sacct"):
        of("22.05", "sacct_default_P.txt")


# Units and arrivals


@pytest.mark.parametrize(("unit", "nodes"), [("nodes", 2), ("cores", 8), ("gpus", 4)])
def test_the_unit_is_chosen_and_not_guessed(tmp_path, unit, nodes):
    workload = read(tmp_path, text({}), unit=unit)
    assert workload.jobs["nodes"].tolist() == [nodes]
    assert (workload.machine is None) == (unit != "nodes")


def test_jobs_on_part_of_their_nodes_are_noted(tmp_path):
    workload = read(tmp_path, text({}, {"JobIDRaw": "8", "NCPUS": "3"}))
    assert counts(workload)["noted", "fewer cores than its nodes have: it may share them"] == 1


def test_requested_nodes_and_constraints_are_read(tmp_path):
    """A job that asks for tasks alone has one requested node, on however many it runs."""
    heading = HEADING.replace("NCPUS", "ReqNodes|NCPUS|Constraints")
    asked = [{"ReqNodes": "1", "Constraints": "gpu&big"}, {"ReqNodes": "2", "Constraints": ""}]
    jobs = read(tmp_path, text(*asked, heading=heading)).jobs
    assert jobs["requested_nodes"].tolist() == [1, 2] and jobs["nodes"].tolist() == [2, 2]
    assert jobs["constraint"][0] == "gpu&big" and pd.isna(jobs["constraint"][1])


def test_arrival_is_submission_or_eligibility_and_both_are_kept(tmp_path):
    content = text({}, {"JobIDRaw": "8", "Submit": "1010", "Eligible": "1050"})
    submitted = read(tmp_path, content).jobs
    assert submitted["submit_time"].tolist() == [0, 10]
    assert submitted["eligible_time"].tolist() == [0, 50]
    eligible = read(tmp_path, content, arrival="eligible").jobs
    assert eligible["submit_time"].tolist() == [0, 50]
    assert eligible["recorded_start"].tolist() == [60, 60]


# Records that are no jobs


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"JobIDRaw": "7.batch"}, "step of a job"),
        ({"Submit": "Unknown"}, "time of submission unknown"),
        ({"Start": "Unknown", "State": "CANCELLED by 0"}, "cancelled before its start"),
        (
            {"Start": "1160", "State": "CANCELLED by 0", "NodeList": "None assigned"},
            "cancelled before its start",
        ),
        ({"Start": "Unknown", "State": "PENDING"}, "not started"),
        ({"End": "Unknown", "State": "RUNNING"}, "still running"),
        ({"NNodes": "0"}, "number of nodes unknown, or none"),
    ],
)
def test_a_record_that_is_no_job_is_dropped_with_its_reason(tmp_path, change, reason):
    workload = read(tmp_path, text({}, change))
    assert len(workload) == 1
    assert counts(workload)["dropped", reason] == 1


# Free texts


def test_a_line_break_in_a_name_continues_its_record(tmp_path):
    workload = read(tmp_path, text({"JobName": "two\nlines | and a bar"}, {"JobIDRaw": "8"}))
    assert workload.jobs["job_id"].tolist() == [7, 8]


def test_two_divisions_that_differ_in_what_is_read_are_refused(tmp_path):
    heading = "JobName|User|Comment|JobIDRaw|Submit|Start|End|ElapsedRaw|NNodes|State"
    row = "a|b|c|d|7|1000|1060|1160|100|2|COMPLETED"
    with pytest.raises(TraceError, match="line 2 has 11 fields, expected 10, and several division"):
        read(tmp_path, f"{heading}\n{row}\n")


def test_a_record_of_too_few_fields_is_refused(tmp_path):
    content = text({}) + "8|ann|lab\n" + text({"JobIDRaw": "9"}).split("\n", 1)[1]
    with pytest.raises(TraceError, match="line 3 has 3 fields, expected 16, and no division"):
        read(tmp_path, content)


@given(st.text(alphabet="ab|\n,;", max_size=8))
def test_any_name_leaves_the_other_fields_alone(tmp_path_factory, name):
    folder = tmp_path_factory.mktemp("named")
    workload = read(folder, text({"JobName": name or "x"}, {"JobIDRaw": "8"}))
    assert workload.jobs["job_id"].tolist() == [7, 8]


# Bad input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"NNodes": "two"}, r"line 3.*NNodes='two'; expected a whole number"),
        ({"Start": "noon"}, r"line 3.*Start='noon'; expected seconds of the epoch, a time such as"),
        ({"ElapsedRaw": "1e"}, r"line 3.*ElapsedRaw='1e'; expected a whole number"),
    ],
)
def test_a_wrong_value_is_named_with_its_line(tmp_path, change, message):
    with pytest.raises(TraceError, match=message):
        read(tmp_path, text({}, change))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        ("{", "not JSON"),
        ("[]", "no list of jobs"),
        ('{"jobs": {}}', "no list of jobs"),
        ('{"jobs": [1]}', r"jobs\[0\] is int, not a record"),
        ('{"jobs": [{}]}', r"jobs\[0\] has no times"),
        ('{"jobs": []}', "no job left of 0 records"),
    ],
)
def test_what_is_no_output_of_sacct_is_refused(tmp_path, content, message):
    with pytest.raises(TraceError, match=message):
        read(tmp_path, content)


def test_values_of_another_kind_in_json_are_unknown(tmp_path):
    document = json.loads((DATA / "slurm-24.11" / "sacct.json").read_text())
    for job, odd in zip(document["jobs"], (None, "x", [], {}, {"set": True}, 1e400), strict=False):
        job["time"]["limit"] = odd
        job["tres"] = odd
        job["nodes"] = odd
    workload = read(tmp_path, json.dumps(document), "sacct.json")
    assert counts(workload)["dropped", "number of nodes unknown, or none"] == 6


def test_parts_of_cpus_in_json_are_kept(tmp_path):
    document = json.loads((DATA / "slurm-24.11" / "sacct.json").read_text())
    job = document["jobs"][0] | {
        "tres": {
            "allocated": [
                {"type": "cpu", "count": 8.5},
                {"type": "node", "count": 1},
                {"type": "mem", "count": 1000.5},
            ]
        }
    }
    content = json.dumps({"jobs": [job]})
    assert read(tmp_path, content, "x.json", unit="cores").jobs["nodes"].tolist() == [9]
    jobs = read(tmp_path, content, "x.json").jobs
    assert jobs[["cores", "memory"]].iloc[0].tolist() == [8.5, 1000.5 * 2**20 / 1e9]


def test_a_first_column_that_is_no_number_begins_records_by_its_fields(tmp_path):
    heading = "User|" + HEADING.replace("|User", "")
    workload = read(tmp_path, text({}, {"JobIDRaw": "8"}, heading=heading))
    assert workload.jobs["job_id"].tolist() == [7, 8]


def test_typed_gpus_and_rounded_nodes(tmp_path):
    """Rounded to thousands, a number is not what was held."""
    typed = text({"AllocTRES": "cpu=8,gres/gpu:a100=3,gres/gpu:v100=1,node=2"})
    assert read(tmp_path, typed, unit="gpus").jobs["nodes"].tolist() == [4]
    with pytest.raises(TraceError, match=r"line 2.*NNodes='1.50K'; .* as sacct --noconvert prints"):
        read(tmp_path, text({"NNodes": "1.50K"}))


def test_a_try_that_was_requeued_held_its_nodes(tmp_path):
    workload = read(tmp_path, text({"State": "REQUEUED"}, {"Start": "1200", "End": "1300"}))
    assert workload.jobs["status"].tolist() == [0, 1]


def test_too_many_divisions_are_refused_and_not_tried(tmp_path):
    heading = "JobIDRaw|Submit|Start|End|ElapsedRaw|NNodes|State|JobName|Comment|WorkDir|Extra"
    row = "7|1000|1060|1160|100|2|COMPLETED" + "|x" * 60
    with pytest.raises(TraceError, match="line 2 has 67 fields, expected 11, and several div"):
        read(tmp_path, f"{heading}\n{row}\n")


def test_host_lists_of_more_hosts_than_any_machine_are_none():
    assert expand_hosts("n[1-99999999999]") == []
    assert expand_hosts("n[0-99999]m[0-99999]") == []


def test_hosts_of_all_lists_are_counted_up_to_the_most(monkeypatch):
    monkeypatch.setattr(hosts, "MOST", 4)
    assert hosts.count_hosts(["n[1-3]", "n[2-3],m1"]) == 4
    assert hosts.count_hosts(["n[1-3]", "m[1-2]"]) == 0
    assert hosts.expand_hosts("n[1-4]") == ["n1", "n2", "n3", "n4"]
    assert hosts.expand_hosts("n[1-5]") == hosts.expand_hosts("n[1-3],m[1-2]") == []


def test_ranges_are_counted_together_before_the_next_is_expanded(monkeypatch):
    monkeypatch.setattr(hosts, "MOST", 10_000)
    ranges = ",".join(["0-9998"] * 60)
    tracemalloc.start()
    try:
        assert expand_hosts(f"n[{ranges}]") == []
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5e6  # three ranges are; all of them would be 40 MB


def test_whole_numbers_of_json_are_exact_up_to_2_to_the_53():
    assert number(2**53 - 1) == 2**53 - 1
    assert np.isnan(number(2**53))


# What a job asks for per node, and the unit that is scarce


def test_cores_gpus_and_memory_are_those_per_node(tmp_path):
    granted = "cpu=8,mem=16G,node=2,gres/gpu=4"
    jobs = read(tmp_path, text({"AllocTRES": granted}, {"AllocTRES": "cpu=8,node=2"})).jobs
    assert jobs[["nodes", "cores", "gpus"]].to_numpy().tolist() == [[2, 4, 2], [2, 4, 0]]
    assert jobs["memory"].iloc[0] == pytest.approx(8 * 2**30 / 1e9)
    assert {"cores", "memory"}.isdisjoint(read(tmp_path, text({}), unit="cores").jobs)


@pytest.mark.parametrize(
    ("changes", "unit"),
    [
        ([{}, {}], "nodes"),
        ([{}, {"NCPUS": "2", "AllocTRES": ""}], "cores"),
        ([{"AllocTRES": ""}, {"NCPUS": "2", "AllocTRES": ""}], "cores"),
        ([{"NCPUS": "16"}, {"NCPUS": "2", "ElapsedRaw": "9"}], "gpus"),
        ([{"NCPUS": "16", "AllocTRES": "gres/gpu=1"}, {"AllocTRES": "gres/gpu=4"}], "cores"),
    ],
)
def test_auto_counts_what_is_scarce(tmp_path, changes, unit):
    """Nodes that are not shared, or else the resource that was held the more of."""
    content = text(*changes)
    chosen, wanted = (read(tmp_path, content, unit=each) for each in ("auto", unit))
    assert chosen.jobs.equals(wanted.jobs)
    assert any(f"counted in {unit}" in reason for _, reason in counts(chosen))
