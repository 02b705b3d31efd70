"""Reservations as schedulers list them, and the plans of a real Slurm beside them."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cosimlib.batch import promised_starts
from cosimlib.calendar import Calendar
from cosimlib.checks import ArgumentError
from cosimlib.system import System
from cosimlib.traces import TraceError, read_reservations
from cosimlib.workload import Workload

FOLDER = Path(__file__).parents[2] / "data" / "slurm-reservations"
NODES, GRID = 8, 60
FIRST = pd.DataFrame({"submit_time": [0], "run_time": [1], "nodes": [1]})

# As pbs_rstat of OpenPBS prints (src/cmds/pbs_rstat.c), with attributes of its documentation.
PBS = """\
Resv ID: R12.server
Reserve_Name = course
reserve_state = RESV_CONFIRMED
reserve_start = Mon Nov 23 20:00:00 2026
reserve_end = Mon Nov 23 22:00:00 2026
Resource_List.nodect = 2
Resource_List.select = 2:ncpus=4
ctime = Mon Nov 23 18:00:00 2026

Resv ID: R13.server
reserve_state = RESV_UNCONFIRMED
reserve_start = Mon Nov 23 20:00:00 2026
reserve_end = Mon Nov 23 22:00:00 2026

Resv ID: M14.server
reserve_state = RESV_RUNNING
reserve_start = Mon Nov 23 19:00:00 2026
reserve_end = Mon Nov 23 19:30:00 2026
Resource_List.nodect = 8
"""

# As the OpenAPI specification of Slurm 24.11 (v0.0.42) names the fields; 22.05 has plain numbers.
JSON = {
    "reservations": [
        {
            "name": "weekly",
            "start_time": {"set": True, "infinite": False, "number": 1_795_464_000},
            "end_time": {"set": True, "infinite": False, "number": 1_795_467_600},
            "node_count": 8,
            "flags": ["MAINT", "SPEC_NODES"],
        },
        {"name": "some", "start_time": 1_795_464_000, "end_time": 1_795_464_060, "node_count": 3},
        {
            "name": "licenses",
            "start_time": 1_795_464_000,
            "end_time": 1_795_464_060,
            "node_count": 0,
        },
    ]
}


def log_from(moment, timezone="UTC"):
    return Workload(FIRST, "log", began=pd.Timestamp(moment, tz=timezone))


def read(tmp_path, text, log, **options):
    path = tmp_path / "listed.txt"
    path.write_text(text)
    return read_reservations(path, log, **options)


def test_slurm_lists_windows_in_local_times_or_in_seconds_since_1970(tmp_path):
    epoch = read_reservations(FOLDER / "scontrol_epoch.txt", log_from("2026-11-23 18:44:08"))
    assert epoch[["start", "end"]].to_numpy().tolist() == [[3600, 6420], [7020, 8700]]
    assert epoch["nodes"].tolist() == [8, 3] and set(epoch["kind"]) == {"reservation"}
    local = FOLDER / "scontrol.txt"
    pd.testing.assert_frame_equal(
        read_reservations(local, log_from("2026-11-23 18:44:08", None)), epoch
    )
    pd.testing.assert_frame_equal(
        read_reservations(local, log_from("2026-11-23 18:44:08"), timezone="UTC"), epoch
    )
    east = read_reservations(local, log_from("2026-11-23 18:44:08"), timezone="Europe/Berlin")
    assert east["start"].tolist() == [0, 3420]
    assert Calendar(epoch).windows["known_from"].tolist() == [-np.inf, -np.inf]
    assert read(tmp_path, "No reservations in the system\n", log_from("2026-11-23")).empty


def test_json_and_pbs_say_more(tmp_path):
    log = log_from("2026-11-23 19:00:00", None)
    found = read(tmp_path, PBS, log)
    assert found["name"].tolist() == ["R12.server", "M14.server"]
    assert found["kind"].tolist() == ["reservation", "maintenance"]
    assert found[["start", "end"]].to_numpy().tolist() == [[3600, 10_800], [0, 1800]]
    assert found["known_from"].tolist() == [-3600, -np.inf]
    found = read(tmp_path, json.dumps(JSON), log_from("2026-11-23 20:00:00"))
    assert found["kind"].tolist() == ["maintenance", "reservation"]
    assert found[["end", "nodes"]].to_numpy().tolist() == [[3600, 8], [60, 3]]


def test_what_is_missing_is_said(tmp_path):
    log = log_from("2026-11-23")
    with pytest.raises(ArgumentError, match=r"timezone=None; expected the machine's, such as"):
        read_reservations(FOLDER / "scontrol.txt", log)
    with pytest.raises(ArgumentError, match=r"timezone='Mars'; expected the machine's"):
        read_reservations(FOLDER / "scontrol.txt", log, timezone="Mars")
    with pytest.raises(ArgumentError, match=r"log: no calendar time; expected a log that tells"):
        read_reservations(FOLDER / "scontrol.txt", replace(log, began=None))
    with pytest.raises(TraceError, match=r"listed.txt: no reservations; expected scontrol show"):
        read(tmp_path, "JobId=1\n", log)
    with pytest.raises(TraceError, match=r"reservation a: time None; expected scontrol show"):
        read(tmp_path, "ReservationName=a EndTime=3 NodeCnt=2", log)
    with pytest.raises(TraceError, match=r"reservation a: no number of nodes; expected scontrol"):
        read(tmp_path, "ReservationName=a StartTime=2 EndTime=3", log)
    with pytest.raises(TraceError, match=r"reservations\[0\] is int, not a record"):
        read(tmp_path, '{"reservations": [3]}', log)
    with pytest.raises(TraceError, match=r"reservation without a name: time None; expected"):
        read(tmp_path, "ReservationName=", log)
    with pytest.raises(TraceError, match=r"listed.txt: damaged, or not scontrol show reservation"):
        read(tmp_path, "ReservationName=a StartTime=1e22 EndTime=3 NodeCnt=2", log)


def test_flags_that_are_no_list_are_none(tmp_path):
    one = JSON["reservations"][1] | {"flags": 5}
    found = read(tmp_path, json.dumps({"reservations": [one]}), log_from("2026-11-23 20:00:00"))
    assert found["kind"].tolist() == ["reservation"]


@pytest.mark.parametrize(
    ("night", "begins"),
    [
        ("2026-10-25", "2026-10-25 00:30"),  # 02:30 comes twice: the first is in summer time
        ("2026-03-29", "2026-03-29 01:00"),  # 02:30 is left out: clocks show 03:00 next
    ],
)
def test_a_window_in_the_night_in_which_clocks_change(tmp_path, night, begins):
    listed = f"ReservationName=a StartTime={night}T02:30:00 EndTime={night}T06:00:00 NodeCnt=2"
    log = log_from(f"{night} 00:00")
    found = read(tmp_path, listed, log, timezone="Europe/Berlin")
    start = pd.Timestamp(begins, tz="UTC") - log.began
    assert found["start"].tolist() == [start.total_seconds()]


def test_a_reservation_made_after_its_start_is_known_from_its_start(tmp_path):
    late = PBS.replace("Nov 23 18:00:00", "Nov 23 21:00:00")
    found = read(tmp_path, late, log_from("2026-11-23 19:00:00", None))
    assert found["start"].iloc[0] == found["known_from"].iloc[0] == 3600


def planned_by_slurm(lines):
    """Jobs as they were queued, with the starts that Slurm had planned, in seconds since 1970."""
    columns = ["job", "state", "nodes", "planned", "submitted", "limit", "reason"]
    table = pd.DataFrame([line.split("|") for line in lines], columns=columns)
    numbers = ["job", "nodes", "planned", "submitted"]
    table[numbers] = table[numbers].astype(int)
    minutes = table["limit"].where(table["limit"].str.count(":") == 2, "0:" + table["limit"])
    runs = table["state"] == "RUNNING"
    arrival = table["planned"].where(runs, table["submitted"].max() + 1)
    requested = pd.to_timedelta(minutes).dt.total_seconds()
    table = table.assign(submit_time=arrival, run_time=requested, requested_time=requested)
    return table.assign(waits=~runs).sort_values(["submit_time", "job"], ignore_index=True)


def possible(jobs, windows):
    """How many of the first jobs Slurm planned such that none runs into a window."""
    end = jobs["planned"] + jobs["requested_time"]
    for number in range(1, len(jobs) + 1):
        for window in windows.itertuples():
            moment = window.start + GRID
            runs = (jobs["planned"] <= moment) & (moment < end) & (jobs.index < number)
            if jobs["nodes"][runs].sum() > NODES - window.nodes:
                return number - 1
    return len(jobs)


def test_slurm_plans_the_starts_that_conservative_backfilling_promises_within_its_grid(tmp_path):
    """17 recorded cases, up to the first job whose planned run crosses a window.

    Slurm prints such starts: it tests the window as if the job began now. It does not keep them.
    A window may begin a minute later, for Slurm plans by minutes.
    """
    compared = whole = 0
    for case in json.loads((FOLDER / "cases.json").read_text()):
        jobs = planned_by_slurm(case["squeue"])
        zero = jobs["submit_time"].min()
        jobs[["submit_time", "planned"]] -= zero
        log = Workload(
            jobs[["submit_time", "run_time", "requested_time", "nodes"]],
            "queue",
            began=pd.Timestamp(zero, unit="s", tz="UTC"),
        )
        windows = read(tmp_path, "\n".join(case["reservations"]), log)
        rows = jobs.index < possible(jobs, windows)
        apart = [
            (jobs["planned"] - promised_starts(log, System.of(NODES), calendar=calendar)).abs()
            for calendar in (
                Calendar(windows),
                Calendar(windows.assign(start=windows["start"] + GRID, known_from=-np.inf)),
            )
        ]
        assert np.minimum(*apart)[rows].max() <= GRID
        compared += int((rows & jobs["waits"]).sum())
        whole += bool(rows.all())
    assert (compared, whole) == (57, 9)
