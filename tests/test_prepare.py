"""Preparation of experiments: the name of a trace to a workload and to a schedule."""

import pytest

from cosimlib.prepare import prepare_schedule, prepare_workload

LINES = ["; MaxNodes: 8", *(f"{k} {k} {k} 10 4 -1 -1 4 20" + " -1" * 9 for k in (1, 2, 3))]


def test_the_default_is_a_simulated_synthetic_workload():
    schedule = prepare_schedule(seed=3)
    assert schedule.name == "EASY, synthetic Theta (seed 3)"
    assert prepare_schedule(seed=3, policy="FCFS").policy == "FCFS"


def test_a_log_with_all_starts_gives_the_recorded_schedule(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text("\n".join(LINES) + "\n")
    schedule = prepare_schedule(str(path), policy="FCFS")
    assert schedule.policy == "recorded" and schedule.start_time.tolist() == [2, 4, 6]


def test_a_log_without_all_starts_is_simulated(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text("\n".join([*LINES, "4 4 -1 10 8 -1 -1 8 20" + " -1" * 9]) + "\n")
    schedule = prepare_schedule(str(path))
    assert schedule.policy == "EASY" and schedule.start_time.tolist() == [1, 2, 11, 21]


def test_a_log_without_requested_times_is_simulated_by_fcfs(tmp_path, capsys):
    path = tmp_path / "log.swf"
    wide = "3 3 -1 10 99 -1 -1 99 -1" + " -1" * 9
    path.write_text("\n".join([LINES[0], "1 1 -1 10 4 -1 -1 4 -1" + " -1" * 9, wide]) + "\n")
    schedule = prepare_schedule(str(path))
    assert schedule.policy == "FCFS" and len(schedule.workload) == 1
    assert "1 jobs wider than its machine are left out" in capsys.readouterr().out


def test_an_unknown_policy_is_refused():
    with pytest.raises(ValueError, match="policy='SJF'; expected one of 'FCFS', 'EASY'"):
        prepare_schedule(policy="SJF")


def test_a_workload_has_no_jobs_wider_than_its_machine(tmp_path, capsys):
    path = tmp_path / "log.swf"
    path.write_text("\n".join([*LINES, "9 9 -1 10 99 -1 -1 99 20" + " -1" * 9]) + "\n")
    workload = prepare_workload(str(path))
    assert workload.jobs["job_id"].tolist() == [1, 2, 3] and workload.machine.total_nodes == 8
    assert "log: 1 jobs wider than its machine are left out" in capsys.readouterr().out


def test_a_recorded_schedule_has_no_jobs_wider_than_its_machine(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text("\n".join([*LINES, "9 9 0 10 99 -1 -1 99 20" + " -1" * 9]) + "\n")
    schedule = prepare_schedule(str(path))
    assert schedule.policy == "recorded" and len(schedule.workload) == 3


def test_an_unknown_machine_holds_just_what_was_ever_held_at_once(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text("\n".join(LINES[1:]) + "\n")
    schedule = prepare_schedule(str(path))
    assert schedule.name == "recorded, log (12 nodes assumed)" and schedule.total_nodes == 12
    reason = "machine unknown, assumed to have 12 nodes, the most nodes ever held at once"
    assert schedule.workload.account["reason"].tolist()[-1] == reason


def test_an_unknown_machine_without_starts_is_as_wide_as_the_widest_job(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text("\n".join([*LINES[1:], "4 4 -1 10 7 -1 -1 7 20" + " -1" * 9]) + "\n")
    workload = prepare_workload(str(path))
    assert workload.machine.total_nodes == 7 and workload.name == "log (7 nodes assumed)"
    assert prepare_schedule(str(path)).policy == "EASY"
