"""When a job would start on a Slurm, from saved output."""

import json
import os
import shutil

import numpy as np
import pytest

from cosimlab.advise import read_cluster, when
from cosimlab.advise.command import main
from cosimlab.advise.when import _accounting, _running, forecast_of
from cosimlib.traces.slurm import read_sacct
from cosimlib.units import HOUR
from tests.suites import ROOT

NOW = 1_800_000_000
DATA = ROOT / "tests" / "data"
PRINTED = ("squeue", "sinfo")
SAVED = [str(ROOT / "docs" / "advise" / f"{name}.json") for name in PRINTED]


def job(job_id, state, nodes, *, start=0, end=0, minutes=60, eligible=NOW - 600, tasks=""):
    hosts = f"n[1-{nodes}]" if state == "RUNNING" else ""
    return {
        "job_id": job_id,
        "job_state": [state],
        "user_name": "ann",
        "partition": "main",
        "nodes": hosts,
        "node_count": nodes,
        "time_limit": minutes,
        "start_time": start,
        "end_time": end,
        "eligible_time": eligible,
        "array_task_string": tasks,
    }


def saved(folder, jobs, *nodes):
    """Paths of a queue and of its machine."""
    listed = [
        {"name": name, "state": ["IDLE"], "partitions": ["main"], "cpus": 4} for name in nodes
    ]
    documents = {"squeue": {"jobs": jobs, "last_update": NOW}, "sinfo": {"nodes": listed}}
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document))
    return [str(folder / f"{name}.json") for name in documents]


@pytest.fixture
def full(tmp_path):
    """Four nodes held for half an hour more at most; one job, an array and a dependent job wait."""
    running = job(1, "RUNNING", 4, start=NOW - 1800, end=NOW + 1800)
    waiting = [
        job(2, "PENDING", 2),
        job(3, "PENDING", 1, minutes=10, tasks="1-3%2"),
        job(4, "PENDING", 1, eligible=0),
    ]
    return saved(tmp_path, [running, *waiting], "n1", "n2", "n3", "n4")


def test_waiting_jobs_are_read_beside_the_running_ones(full):
    cluster = read_cluster(*full)
    assert cluster.queue["job_id"].tolist() == [2, 3, 4]
    assert cluster.queue["tasks"].tolist() == [1, 3, 1]
    assert cluster.queue["limit"].tolist() == [3600.0, 600.0, 3600.0]
    assert cluster.queue["eligible"].isna().tolist() == [False, False, True]


def test_jobs_start_when_the_running_one_ends_at_its_limit_at_the_latest(full):
    made, notes = forecast_of(read_cluster(*full), 1, HOUR)
    assert made.running == 1
    assert made.jobs["job_id"].tolist() == [2, 3, 3, 3]
    first = made.starts[0] - made.at
    assert (first > 0).all()
    assert (first <= 1800).all()
    assert made.asked["nodes"].tolist() == [1, 1, 1]
    assert any("1 job left out" in note for note in notes)
    assert any("without accounting" in note for note in notes)


def test_of_a_running_job_nothing_is_known_but_that_it_runs_on(full):
    cluster = read_cluster(*full)
    [row] = _running(cluster, np.array([0]), np.array([4])).to_dict("records")
    assert (row["recorded_start"], row["nodes"]) == (NOW - 1800, 4)
    assert row["recorded_start"] + row["run_time"] == NOW + 1  # a second later it still runs
    assert row["requested_time"] == HOUR


def test_the_command_tells_when(full, capsys):
    assert main(["2", *full, "--when", "2h"]) == 0
    text = capsys.readouterr().out
    assert "2 nodes for 2 h: in " in text
    assert "if it were 1 node for 2 h" in text
    assert "not tested on this cluster" in text
    assert main(["2", *SAVED, "--when", "2h", "--partition", "main"]) == 0
    assert main(["9", *full, "--when", "2h"]) == 1
    assert "nodes=9" in capsys.readouterr().err


def shared(job_id, node, minutes):
    """A job of some node of four that runs for so long from now on at most."""
    end = NOW + 60 * minutes
    return job(job_id, "RUNNING", 1, start=NOW - 600, end=end) | {"nodes": node}


def test_a_shared_node_is_counted_once(tmp_path):
    """Three jobs share one of two nodes: the other one is free, and there are two in the end."""
    running = [shared(1, "n1", 30), shared(2, "n1", 60), shared(3, "n1", 10)]
    waiting = [job(4, "PENDING", 1), job(5, "PENDING", 2)]
    paths = saved(tmp_path, [*running, *waiting], "n1", "n2")
    made, notes = forecast_of(read_cluster(*paths), 2, HOUR)
    ahead = made.starts - made.at
    assert (ahead[0] == 0).all()
    assert (ahead[1] > 0).all()
    assert (ahead[1] <= 3600 + 3600).all()
    assert any(note.startswith("1 shared node: ") for note in notes)


def test_accounting_is_of_the_partition_asked_for(tmp_path):
    lines = ["JobIDRaw|Partition|User|Submit|Start|End|ElapsedRaw|TimelimitRaw|NNodes|NCPUS|State"]
    for place, partition in enumerate(["main", "main", "gpu"]):
        start = NOW - 9000 + place
        lines.append(
            f"{place + 1}|{partition}|ann|{start}|{start}|{start + 60}|60|10|1|1|COMPLETED"
        )
    path = tmp_path / "sacct.txt"
    path.write_text("\n".join(lines))
    assert len(_accounting(str(path), False, NOW, None)) == 3
    assert _accounting(str(path), False, NOW, "main")["job_id"].tolist() == [1, 2]
    assert _accounting(str(path), False, NOW, "gpu")["job_id"].tolist() == [3]
    assert _accounting(str(path), False, NOW, "other").empty


@pytest.mark.parametrize(
    ("user", "ago", "notes"),
    [
        ("ann", 0, []),
        ("ann", 30, ["the latest job of the accounting ended 30 days ago"]),
        ("bob", 0, ["nobody in the queue is in the accounting: it may be of another cluster"]),
        (
            "ann",
            -1,
            [
                "no job of the accounting had ended by now and has a limit: run times are "
                "uniform up to the limit, no job is submitted"
            ],
        ),
    ],
)
def test_what_the_accounting_lacks_is_said(full, tmp_path, user, ago, notes):
    start = NOW - ago * 86_400 - 120
    path = tmp_path / "sacct.txt"
    path.write_text(
        "JobIDRaw|Partition|User|Submit|Start|End|ElapsedRaw|TimelimitRaw|NNodes|NCPUS|State\n"
        f"9|main|{user}|{start}|{start}|{start + 60}|60|10|1|1|COMPLETED\n"
    )
    _, found = forecast_of(read_cluster(*full), 1, HOUR, history=str(path))
    assert [note for note in found if "accounting" in note and "lab.backtest" not in note] == notes


@pytest.mark.parametrize("release", ["slurm-22.05", "slurm-24.11"])
def test_real_queues_with_their_accounting(release, capsys):
    folder = DATA / release
    history = next(iter(sorted(folder.glob("sacct*epoch*"))), None)
    options = [] if history is None else ["--history", str(history)]
    paths = [str(folder / "squeue-2.json"), str(folder / "sinfo.json")]
    assert main(["1", *paths, "--when", "10m", *options]) == 0
    assert "1 node for 10 min" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options", [["--json"], ["--constraint", "gpu"], ["--within", "20m"], ["--html", "x.html"]]
)
def test_options_of_advice_are_refused_beside_a_start(options, capsys):
    assert main(["1", str(DATA / "slurm-22.05/squeue-2.json"), "--when", "10m", *options]) == 1
    assert f"--when='10m'; expected no {options[0]} beside it" in capsys.readouterr().err


def test_accounting_alone_is_refused(capsys):
    assert main(["1", str(DATA / "slurm-22.05/squeue-2.json"), "--history", "x"]) == 1
    assert "--history='x'; expected --when beside it" in capsys.readouterr().err


def test_accounting_that_is_asked_for_leaves_nothing_on_the_disk(full, tmp_path, monkeypatch):
    monkeypatch.setattr(when.tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    modes = []

    def read(path, verbose):
        modes.append(path.parent.stat().st_mode & 0o777)
        return read_sacct(path, verbose=verbose)

    text = (
        "JobIDRaw|Partition|User|Submit|Start|End|ElapsedRaw|TimelimitRaw|NNodes|NCPUS|State\n"
        f"9|main|ann|{NOW - 120}|{NOW - 120}|{NOW - 60}|60|10|1|1|COMPLETED\n"
    )
    monkeypatch.setattr(when, "read_sacct", read)
    monkeypatch.setattr(when, "printed_by", lambda *_, **__: text.encode())
    forecast_of(read_cluster(*full), 1, HOUR, live=True)
    assert modes == [0o700] and not any((tmp_path / "temporary").iterdir())


def test_a_doubtful_moment_is_said(tmp_path, capsys):
    paths = [shutil.copy(DATA / "slurm-22.05" / f"{name}.json", tmp_path) for name in PRINTED]
    os.utime(paths[0], (NOW, NOW))
    assert main(["4", *paths, "--when", "1h"]) == 0
    told = "note: 5 of 5 running jobs past their limits by the time of the file"
    assert told in capsys.readouterr().out
