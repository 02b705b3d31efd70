"""Preparation of experiments: the name of a trace to a workload and to a schedule."""

import pytest

from cosimlab.report import open_log
from cosimlib.prepare import prepare_schedule, prepare_workload
from tests.zoo import odd

LINES = ["; MaxNodes: 8", *(f"{k} {k} {k} 10 4 -1 -1 4 20" + " -1" * 9 for k in (1, 2, 3))]


@pytest.fixture
def log(tmp_path):
    """A function that writes lines as a log and returns its path."""

    def write(*lines):
        (tmp_path / "log.swf").write_text("\n".join(lines) + "\n")
        return str(tmp_path / "log.swf")

    return write


def test_the_default_is_a_simulated_synthetic_workload():
    schedule = prepare_schedule(seed=3)
    assert schedule.name == "EASY, synthetic Theta (seed 3)"
    assert prepare_schedule(seed=3, policy="FCFS").policy == "FCFS"


def test_a_log_with_all_starts_gives_the_recorded_schedule(log):
    path = log(*LINES)
    schedule = prepare_schedule(path, policy="FCFS")
    assert schedule.policy == "recorded" and schedule.start_time.tolist() == [2, 4, 6]


def test_a_log_without_all_starts_is_simulated(log):
    path = log(*LINES, "4 4 -1 10 8 -1 -1 8 20" + " -1" * 9)
    schedule = prepare_schedule(path)
    assert schedule.policy == "EASY" and schedule.start_time.tolist() == [1, 2, 11, 21]


def test_an_unknown_policy_is_refused():
    with pytest.raises(ValueError, match="policy='SJF'; expected one of 'FCFS', 'EASY'"):
        prepare_schedule(policy="SJF")


def test_a_workload_has_no_jobs_wider_than_its_machine(log, capsys):
    path = log(*LINES, "9 9 -1 10 99 -1 -1 99 20" + " -1" * 9)
    workload = prepare_workload(path)
    assert workload.jobs["job_id"].tolist() == [1, 2, 3] and workload.machine.total_nodes == 8
    assert "log: 1 job wider than its machine is left out" in capsys.readouterr().out
    schedule = prepare_schedule(log(*LINES, "9 9 0 10 99 -1 -1 99 20" + " -1" * 9))
    assert schedule.policy == "recorded" and len(schedule.workload) == 3


def test_an_unknown_machine_holds_just_what_was_ever_held_at_once(log):
    path = log(*LINES[1:])
    schedule = prepare_schedule(path)
    assert schedule.name == "recorded, log (12 nodes assumed)" and schedule.total_nodes == 12
    reason = "machine unknown, assumed to have 12 nodes, the most nodes ever held at once"
    assert schedule.workload.account["reason"].tolist()[-1] == reason


def test_an_unknown_machine_without_starts_is_as_wide_as_the_widest_job(log):
    path = log(*LINES[1:], "4 4 -1 10 7 -1 -1 7 20" + " -1" * 9)
    workload = prepare_workload(path)
    assert workload.machine.total_nodes == 7 and workload.name == "log (7 nodes assumed)"
    assert prepare_schedule(path).policy == "EASY"


def test_six_missing_requests_are_filled_in_and_that_is_said(capsys):
    workload = prepare_workload(odd("six-requested-times-missing"))
    assert workload.jobs["requested_time"].notna().all()
    said = "6 of 300 jobs: requested time unknown, set to the user's median, or the run time if"
    assert said in capsys.readouterr().out
    assert workload.account.iloc[-1][["action", "records"]].tolist() == ["mended", 6]


def test_where_fewer_than_half_are_known_nothing_is_filled_in_unless_told():
    path = odd("some-requested-times")
    assert prepare_workload(path).jobs["requested_time"].isna().sum() == 200
    assert prepare_workload(path, estimates="user_median").jobs["requested_time"].notna().all()
    assert prepare_workload(odd("no-requested-times")).jobs["requested_time"].isna().all()
    told = prepare_workload(odd("no-requested-times"), estimates=7200)
    assert told.jobs["requested_time"].min() == 7200


def test_missing_requests_stay_where_one_asks_for_that():
    path = odd("six-requested-times-missing")
    assert prepare_workload(path, estimates="none").jobs["requested_time"].isna().sum() == 6
    recorded = prepare_schedule(path)
    assert recorded.workload.jobs["requested_time"].isna().sum() == 6
    filled = prepare_schedule(path, estimates="run_time")
    assert filled.workload.jobs["requested_time"].notna().all()


def test_six_missing_requests_do_not_stop_easy(log):
    unknown = "4 4 -1 10 8 -1 -1 8 -1" + " -1" * 9
    path = log(*LINES, unknown)
    assert prepare_schedule(path).policy == "EASY"
    assert prepare_schedule(path, estimates="none").policy == "FCFS"


@pytest.mark.parametrize("estimates", ["median", -5, 0])
def test_an_unknown_repair_is_refused(estimates):
    with pytest.raises(ValueError, match=r"(estimates|how)=.*; expected .*'user_median', or seco"):
        prepare_workload(odd("some-requested-times"), estimates=estimates)


@pytest.mark.parametrize("header", ["; MaxNodes: 8", "; Note: no size"])
def test_the_machine_s_size_can_be_told(header, log, capsys):
    wide = "9 9 0 10 10 -1 -1 10 20" + " -1" * 9
    path = log(header, *LINES[1:], wide)
    for nodes, kept in ((9, 3), (12, 4)):
        workload = prepare_workload(path, nodes=nodes)
        assert workload.machine.total_nodes == nodes and len(workload) == kept
        assert f"machine of {nodes} nodes, as given" in set(workload.account["reason"])
        schedule = prepare_schedule(path, nodes=nodes)
        opened = open_log(path, nodes=nodes)
        for told in (schedule, opened.schedule):
            assert told.system.total_nodes == nodes and len(told.workload) == kept
        assert "assumed" not in f"{opened.lacks}{workload.name}{schedule.name}"


@pytest.mark.parametrize("prepare", [prepare_schedule, prepare_workload, open_log])
def test_a_size_that_is_none_is_refused(prepare, log):
    path = log(*LINES)
    for nodes in (0, 2.5, "8"):
        with pytest.raises(ValueError, match=r"^nodes=.*; expected a whole number from 1, or None"):
            prepare(path, nodes=nodes)


@pytest.mark.parametrize("prepare", [prepare_schedule, open_log])
def test_synthetic_workloads_know_their_machine(prepare):
    with pytest.raises(ValueError, match=r"^nodes=8; expected None, as the synthetic"):
        prepare("synthetic", nodes=8)
