"""The zoo of policies: what it measures, how policies stand, and how one's own joins."""

import warnings

import numpy as np
import pandas as pd
import pytest

import cosimlib as cs
from cosimlib import synthetic
from cosimlib.policies import BUILT_IN, SIMULATORS, unregister
from cosimlib.sweep import SweepWarning
from cosimlib.zoo import MEASURES, page, run_zoo, semantics, standing
from cosimlib.zoo.command import main
from cosimlib.zoo.runs import drawn, zoo_logs
from cosimlib.zoo.standing import speeds
from tests.zoo import ZOO

NAMES = ("FCFS", "EASY", "EASY (sjbf)")
POLICIES = {name: BUILT_IN[name] for name in NAMES}


@pytest.fixture(scope="module")
def logs():
    model = synthetic.lublin(400, nodes=32, load=0.9, seed=2)
    return {"model": synthetic.with_estimates(model, seed=1), "Theta": synthetic.theta(300)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("zoo") / "cells"


@pytest.fixture(scope="module")
def runs(logs, folder):
    return run_zoo(logs, POLICIES, replicates=3, jobs=350, folder=folder)


def test_each_policy_is_measured_on_the_same_logs(runs, logs):
    assert len(runs) == 2 * 3 * 3
    assert list(runs)[:4] == ["log", "replicate", "policy", "jobs"]
    jobs = runs.groupby(["log", "replicate"])["jobs"]
    assert (jobs.min() == jobs.max()).all()
    log = drawn(logs["model"], 1, 350)
    schedule = cs.simulate_easy(log, log.machine)
    span = log.jobs["submit_time"].iloc[-1] - log.jobs["submit_time"].iloc[0]
    first = log.jobs["submit_time"].iloc[0] + span / 10
    jobs = schedule.jobs[schedule.jobs["submit_time"].between(first, first + 0.8 * span)]
    row = runs.query("log == 'model' and replicate == 1 and policy == 'EASY'").iloc[0]
    assert row["wait"] == pytest.approx(jobs["wait_time"].mean() / 3600)
    assert row["wait_p99"] == pytest.approx(np.quantile(jobs["wait_time"], 0.99) / 3600)
    slowdown = (jobs["wait_time"] + jobs["run_time"]) / jobs["run_time"].clip(lower=10)
    assert row["bounded_slowdown"] == pytest.approx(slowdown.clip(lower=1).mean())


def test_long_logs_are_drawn_shorter_by_whole_weeks_or_days():
    log = synthetic.theta(2_000)
    days = (log.jobs["submit_time"].iloc[-1] - log.jobs["submit_time"].iloc[0]) / 86_400
    for jobs in (1_500, 100):
        short = drawn(log, 0, jobs)
        assert 0.2 * jobs < len(short) < 2 * jobs
        assert short.jobs["submit_time"].iloc[-1] < days * 86_400 * max(jobs / 2_000, 7 / days)
    assert drawn(log, 0, 2_000).jobs["submit_time"].iloc[-1] > 0.8 * days * 86_400


def test_a_policy_of_one_s_own_joins_and_the_others_are_not_run_again(runs, logs, folder):
    def latest_first(workload, system):
        """The latest job first."""
        return cs.simulate_fcfs(workload, system, order=-workload.jobs["submit_time"])

    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    more = {**POLICIES, "latest first": latest_first}
    both = run_zoo(logs, more, replicates=3, jobs=350, folder=folder)
    after = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert before.items() < after.items() and len(after) == 18 + 6
    old = both[both["policy"] != "latest first"].reset_index(drop=True)
    pd.testing.assert_frame_equal(old, runs)
    assert "| latest first | The latest job first |" in page(both, more)


def test_a_policy_that_breaks_a_rule_is_named_and_the_others_stand(logs):
    def at_once(workload, system):
        return cs.Schedule.from_starts(workload, system, workload.jobs["submit_time"], "at once")

    policies = {"EASY": BUILT_IN["EASY"], "at once": at_once}
    with pytest.warns(SweepWarning, match="2 of 4 cells failed"):
        runs = run_zoo({"model": logs["model"]}, policies, replicates=2)
    assert runs["error"].notna().tolist() == [False, True] * 2
    assert set(standing(runs)["policy"]) == {"EASY"}
    text = page(runs, policies)
    assert "- at once on model, 2 of its logs drawn: InfeasibleScheduleError: at once" in text
    assert "| at once | unknown |" in text and "\n2 schedules, all audited" in text


def test_the_command_tells_in_one_line_how_much_failed(logs, tmp_path, capsys, monkeypatch):
    def at_once(workload, system):
        return cs.Schedule.from_starts(workload, system, workload.jobs["submit_time"], "at once")

    def few(*_, **__):
        policies = {"EASY": BUILT_IN["EASY"], "at once": at_once}
        return run_zoo({"model": logs["model"]}, policies, replicates=2)

    monkeypatch.setattr("cosimlib.zoo.command.run_zoo", few)
    monkeypatch.setattr("cosimlib.zoo.command.zoo_logs", lambda *_, **__: logs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main(["--out", str(tmp_path)]) == 0
    told = capsys.readouterr()
    assert "zoo: 2 schedules, 2 failed: see 'Not scheduled' in zoo.md" in told.out
    assert not told.err and "## Not scheduled" in (tmp_path / "zoo.md").read_text()


def table(**policies):
    """Runs in which a policy's numbers are those given, whatever the measure."""
    rows = [
        {"log": "one", "replicate": k, "policy": name, "jobs": 100, "seconds": 0.5}
        | dict.fromkeys(MEASURES, value)
        for name, values in policies.items()
        for k, value in enumerate(values)
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("values", "ratios", "verdict"),
    [
        ([2.0, 4.0, 8.0], (1.0, 1.0, 1.0), "equal"),
        ([1.0, 3.0, 4.0], (0.5, 0.5, 0.75), "lower"),
        ([3.0, 6.0, 16.0], (1.5, 1.5, 2.0), "higher"),
        ([1.0, 4.0, 16.0], (1.0, 0.5, 2.0), "cannot tell"),
        ([1.0, 4.0, 8.0], (1.0, 0.5, 1.0), "cannot tell"),
    ],
)
def test_standing_is_paired(values, ratios, verdict):
    found = standing(table(EASY=[2.0, 4.0, 8.0], other=values))
    row = found.query("policy == 'other' and measure == 'wait'").iloc[0]
    assert tuple(row[["ratio", "ratio_low", "ratio_high"]]) == ratios
    assert row["verdict"] == verdict
    assert row[["median", "low", "high"]].tolist() == [np.median(values), min(values), max(values)]


def test_nothing_is_divided_by_waits_that_are_zero():
    runs = table(EASY=[0.0, 0.0], other=[0.0, 1.0])
    assert standing(runs).query("policy == 'other'")["ratio"].isna().all()
    text = page(runs, {"EASY": BUILT_IN["EASY"]})
    assert "| other | cannot tell |" in text and "nan" not in text


def test_speeds_are_jobs_per_second_of_processor_time(runs):
    assert speeds(table(EASY=[1.0])).loc["EASY", "one"] == 200
    assert (speeds(runs) > 0).all(axis=None)


def test_semantics_are_the_docstring_and_the_settings():
    assert semantics(BUILT_IN["EASY"]) == "Backfill around one reservation, the queue head's"
    assert semantics(BUILT_IN["EASY (sjbf)"]).endswith("(`order='sjbf'`)")
    assert semantics(lambda workload, system: None) == "unknown"


OWN = """
import cosimlib as cs

@cs.register("narrow first")
def narrow_first(workload, system):
    "FCFS by width."
    return cs.simulate_fcfs(workload, system, order="smallest")
"""


@pytest.fixture
def own(tmp_path):
    """A file that registers a policy, which is forgotten after the test."""
    path = tmp_path / "own.py"
    path.write_text(OWN)
    yield path
    unregister("narrow first")


def test_the_command_writes_tables_and_takes_a_file_with_a_policy(own, tmp_path, capsys, logs):
    cs.write_swf(logs["Theta"], tmp_path / "log.swf")
    out = ["--out", str(tmp_path / "out"), "--replicates", "2", "--workers", "1"]
    assert main([str(tmp_path / "log.swf"), "--policy", str(own), *out]) == 0
    runs = pd.read_csv(tmp_path / "out" / "zoo.csv")
    assert set(runs["policy"]) == set(SIMULATORS) and "narrow first" in set(runs["policy"])
    text = (tmp_path / "out" / "zoo.md").read_text()
    assert "| narrow first | FCFS by width |" in text and "nan" not in text
    assert capsys.readouterr().out.startswith(f"zoo: {2 * len(SIMULATORS)} schedules")


def test_the_machine_s_size_is_told_or_assumed_and_said(tmp_path):
    line = "{k} {k} {k} 10 4 -1 -1 4 20" + " -1" * 9
    path = tmp_path / "log.swf"
    path.write_text("".join(line.format(k=k) + "\n" for k in (1, 2, 30)))
    ((name, assumed),) = zoo_logs([str(path)]).items()
    assert name == "log.swf (8 nodes assumed)" and assumed.machine.total_nodes == 8
    ((name, told),) = zoo_logs([str(path)], nodes=6, cores_per_node=2).items()
    assert name == "log.swf" and told.machine.total_nodes == 6 and told.jobs["nodes"].max() == 2
    for names in ([], [str(path)] * 2):
        with pytest.raises(ValueError, match=f"of one log; {len(names)} are named"):
            zoo_logs(names, nodes=6)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "policy {path} is not there; give a file of Python"),
        ("folder", "policy {path} is a folder; give a file of Python"),
        ("x = 1\n", "policy {path} registers nothing; expected @cosimlib.register("),
        ("\nimport no_such_module\n", "policy {path}, line 2: ModuleNotFoundError: No module "),
        ("def f(:\n", "policy {path}, line 1: SyntaxError: "),
        ("x = 1\nexit(3)\n", "policy {path}, line 2: SystemExit: 3"),
        ("import cosimlib as cs\ncs.register('mine', 7)\n", "2: ArgumentError: simulator=7; exp"),
    ],
    ids=["missing", "folder", "nothing", "import", "syntax", "exit", "no simulator"],
)
def test_a_file_without_a_policy_is_refused_in_words(content, said, tmp_path, capsys):
    path = tmp_path / "own.py"
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_text(content)
    before = dict(SIMULATORS)
    assert main(["--policy", str(path), "--out", str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err
    assert said.format(path=path) in error and error.count("\n") == 1
    assert before == SIMULATORS and not (tmp_path / "out").exists()


def test_a_log_that_no_policy_can_schedule_is_said(tmp_path, capsys):
    line = "{k} {k} {k} 10 4 -1 -1 4 20" + " -1" * 9
    path = tmp_path / "log.swf"
    path.write_text("".join(line.format(k=k) + "\n" for k in (1, 2)))
    out = ["--out", str(tmp_path / "out"), "--workers", "1", "--replicates", "2"]
    assert main([str(path), *out]) == 1
    said = capsys.readouterr().err
    assert said.startswith("zoo: EASY, with which the others are compared, could schedule none")
    assert "needs at least 4 h" in said and not (tmp_path / "out" / "zoo.csv").exists()


def test_the_command_says_what_is_wrong(tmp_path, capsys):
    out = ["--out", str(tmp_path / "out")]
    no_jobs = [str(ZOO / "three-jobs.swf.gz"), "--jobs", "0"]
    for arguments in (["no-such-log"], ["--policy", str(tmp_path / "none.py")], no_jobs):
        assert main([*arguments, *out]) == 1
        assert capsys.readouterr().err.startswith("zoo: ")
    assert not (tmp_path / "out").exists()
