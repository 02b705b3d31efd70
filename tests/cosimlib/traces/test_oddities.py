"""Oddities of logs: what is taken for a start, what is left out, and what is said of it."""

import numpy as np
import pandas as pd
import pytest

import cosimlib as cs
from cosimlab.report import open_log
from cosimlib.prepare import prepare_schedule, prepare_workload
from cosimlib.traces import load
from cosimlib.traces.oddities import known_starts, unit_of, with_requests
from cosimlib.units import DAY, HOUR
from tests import zoo
from tests.zoo import odd


def test_submissions_that_fill_the_machine_and_fit_are_starts(capsys):
    schedule = prepare_schedule(odd("submissions-are-starts"))
    assert schedule.policy == "recorded" and len(schedule.workload) == zoo.JOBS
    assert "waits are unknown" in capsys.readouterr().out
    assert not known_starts(schedule.workload).waits
    log = open_log(odd("submissions-are-starts"))
    assert "waits" in log.lacks and "starts" not in log.lacks


def test_submissions_without_recorded_waits_are_starts_by_the_same_sign():
    log = load(odd("submissions-are-starts"), verbose=False)
    unknown = cs.Workload(log.jobs.drop(columns="recorded_start"), log.name, log.machine)
    starts = known_starts(unknown)
    assert starts.known.all() and not starts.waits
    start = starts.workload.jobs["recorded_start"]
    assert (start == log.jobs["submit_time"]).all()
    real = load(odd("no-waits"), verbose=False)
    assert not known_starts(real).known.any()
    assert prepare_schedule(odd("no-waits")).policy == "EASY"


def test_a_machine_that_is_never_full_makes_nobody_wait():
    for name in ("only-one-node-jobs", "no-run-lasts", "three-jobs"):
        assert known_starts(load(odd(name), verbose=False)).waits


def test_one_missing_start_leaves_out_one_job(capsys):
    path = odd("one-start-missing")
    schedule = prepare_schedule(path)
    assert schedule.policy == "recorded" and len(schedule.workload) == zoo.JOBS - 1
    assert "the start of 1 job is unknown: left out" in capsys.readouterr().out
    assert len(prepare_workload(path)) == zoo.JOBS
    log = open_log(path)
    assert len(log.workload) == zoo.JOBS - 1 and log.schedule.policy == "recorded"


def test_the_busiest_day_is_none_with_nodes_beyond_the_machine():
    schedule = prepare_schedule(odd("a-day-beyond-the-machine"))
    start, end = cs.metrics.busiest(schedule, DAY)
    held = cs.metrics.occupied_nodes(schedule)
    assert held[(held.index >= start) & (held.index < end)].max() <= zoo.NODES
    assert held.max() > zoo.NODES
    jobs = pd.DataFrame({"submit_time": [0.0, 0], "run_time": 2.0 * DAY, "nodes": [3, 4]})
    only = cs.Schedule.from_starts(cs.Workload(jobs), cs.System.of(5), np.zeros(2), "beyond")
    assert cs.metrics.busiest(only, DAY) == (0, DAY), "where all windows are wrong, the first"


def test_seconds_since_1970_are_dates():
    log = load(odd("seconds-since-1970"), verbose=False)
    first = log.began + pd.Timedelta(log.jobs["submit_time"].iloc[0], "s")
    assert f"{first:%Y-%m-%d %H:%M}" == "2022-12-01 00:00"
    assert "times are seconds since 1970, taken as UTC" in set(log.account["reason"])


def test_a_node_may_be_a_processor(tmp_path):
    rows = [f"{k} {k} 0 60 {size} -1 -1 {size} 90" + " -1" * 9 for k, size in ((1, 3), (2, 8))]
    path = tmp_path / "shared.swf"
    path.write_text("\n".join(["; MaxNodes: 4", "; MaxProcs: 32", *rows, ""]))
    assert unit_of(load(path, verbose=False)) == "processor"
    assert unit_of(load(odd("nodes-of-eight-processors"), verbose=False)) == "node"


def test_jobs_without_a_request_are_counted():
    log, sentences = with_requests(load(odd("six-requested-times-missing"), verbose=False))
    assert log.jobs["requested_time"].notna().all()
    assert sentences[0].startswith("6 of 300 jobs: requested time unknown, set to the user's")
    assert with_requests(load(odd("some-requested-times"), verbose=False))[1] == []


@pytest.mark.parametrize("path", sorted(zoo.ZOO.glob("*.gz")), ids=lambda path: path.name)
def test_own_log_lines_run_on_every_odd_log(path):
    """What README and the page on logs show."""
    schedule = prepare_schedule(str(path))
    workload = prepare_workload(str(path))
    assert np.isfinite(schedule.start_time).all() and HOUR > 0
    known = workload.jobs["requested_time"].notna().all()
    simulate = cs.simulate_easy if known else cs.simulate_fcfs
    run = cs.audit(simulate(workload, workload.machine))
    assert len(run.workload) == len(workload)
