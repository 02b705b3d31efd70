"""The zoo of policies: what it measures, how policies stand, and how one's own joins."""

import numpy as np
import pandas as pd
import pytest

import cosimlib as cs
from cosimlab import zoo
from cosimlab.sweep import SweepWarning
from cosimlab.zoo import MEASURES, drawn, main, page, ratio_text, run_zoo, zoo_logs
from cosimlib import synthetic
from cosimlib.policies import BUILT_IN, SIMULATORS, unregister
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
        return cs.simulate_fcfs(workload, system, order=-workload.jobs["submit_time"])

    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    more = {**POLICIES, "latest first": latest_first}
    both = run_zoo(logs, more, replicates=3, jobs=350, folder=folder)
    after = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert before.items() < after.items() and len(after) == 18 + 6
    old = both[both["policy"] != "latest first"].reset_index(drop=True)
    pd.testing.assert_frame_equal(old, pd.DataFrame(runs))
    assert page(both).count("| latest first | ") == len(MEASURES) + 1


def at_once(workload, system):
    return cs.Schedule.from_starts(workload, system, workload.jobs["submit_time"], "at once")


def test_a_policy_that_breaks_a_rule_is_named_and_the_others_stand(logs):
    policies = {"EASY": BUILT_IN["EASY"], "at once": at_once}
    with pytest.warns(SweepWarning, match="2 of 4 cells failed.*at once: "):
        runs = run_zoo({"model": logs["model"]}, policies, replicates=2)
    assert runs["error"].notna().tolist() == [False, True] * 2
    text = page(runs)
    assert text.count("| at once | – |") == len(MEASURES) + 1
    assert ": 2 schedules, which passed" in text


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
    ("values", "text"),
    [
        ([2.0, 4.0, 8.0], "="),
        ([1.0, 3.0, 4.0], "**0.5 (0.5–0.75)**"),
        ([3.0, 6.0, 16.0], "**1.5 (1.5–2)**"),
        ([1.0, 4.0, 16.0], "1 (0.5–2)"),
        ([1.0, 4.0, 8.0], "1 (0.5–1)"),
        ([np.nan] * 3, "–"),
    ],
)
def test_standing_is_paired(values, text):
    base = pd.Series([2.0, 4.0, 8.0])
    assert ratio_text(pd.Series(values), base) == text
    whole = page(table(EASY=base.tolist(), other=values))
    assert f"| other | {text} |\n\n## Waits: the 99th" in whole
    assert "| *EASY* | 4 h (2–8) |" in whole


def test_nothing_is_divided_by_waits_that_are_zero():
    zero = pd.Series([0.0, 0.0])
    assert ratio_text(pd.Series([0.0, 1.0]), zero) == "cannot tell"
    assert ratio_text(pd.Series([1.0, 2.0]), zero) == "higher"
    assert "nan" not in page(table(EASY=[0.0, 0.0], other=[0.0, 1.0]))


def test_speeds_are_jobs_per_second_of_processor_time(runs):
    assert page(table(EASY=[1.0, 1.0])).endswith("| EASY | 0.2 |\n")


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


def test_the_command_writes_tables_and_takes_a_file_with_a_policy(
    own, tmp_path, capsys, logs, monkeypatch
):
    monkeypatch.setenv("COSIMLIB_WORKERS", "1")
    cs.write_swf(logs["Theta"], tmp_path / "log.swf")
    out = ["--out", str(tmp_path / "out"), "--replicates", "2"]
    assert main([str(tmp_path / "log.swf"), "--policy", str(own), *out]) == 0
    runs = pd.read_csv(tmp_path / "out" / "zoo.csv")
    assert set(runs["policy"]) == set(SIMULATORS) and "narrow first" in set(runs["policy"])
    text = (tmp_path / "out" / "zoo.md").read_text()
    assert "| narrow first | " in text and "nan" not in text
    number = 2 * len(SIMULATORS)
    assert f"zoo: {number} of {number} schedules; " in capsys.readouterr().out


def test_the_machine_s_size_is_given_or_assumed_and_said(tmp_path):
    line = "{k} {k} {k} 10 4 -1 -1 4 20" + " -1" * 9
    path = tmp_path / "log.swf"
    path.write_text("".join(line.format(k=k) + "\n" for k in (1, 2, 30)))
    ((name, assumed),) = zoo_logs([str(path)]).items()
    assert "8 nodes assumed" in name and assumed.machine.total_nodes == 8
    ((_, known),) = zoo_logs([str(path)], nodes=6, cores_per_node=2).items()
    assert known.machine.total_nodes == 6 and known.jobs["nodes"].max() == 2
    for names in ([], [str(path)] * 2):
        with pytest.raises(ValueError, match=r"cores_per_node of logs=\[.*\]; expected one log"):
            zoo_logs(names, nodes=6)


FAILING = """
import cosimlib as cs

cs.register("five", lambda workload, system: 5)

@cs.register("boom")
def boom(workload, system):
    raise KeyError("boom")
"""


def test_a_policy_that_fails_is_named_with_its_first_error(tmp_path, capsys, logs, monkeypatch):
    monkeypatch.setenv("COSIMLIB_WORKERS", "1")
    path, log = tmp_path / "failing.py", tmp_path / "log.swf"
    path.write_text(FAILING)
    cs.write_swf(logs["Theta"], log)
    out = ["--out", str(tmp_path / "out"), "--replicates", "2"]
    try:
        assert main([str(log), "--policy", str(path), *out]) == 1
    finally:
        unregister("five")
        unregister("boom")
    printed = capsys.readouterr()
    whole = len(SIMULATORS)
    assert f"zoo: {2 * whole} of {2 * whole + 4} schedules; " in printed.out
    five, boom = printed.err.splitlines()[-2:]
    assert five.startswith("zoo: policy 'five' failed on 2 of 2 replicates, first on log: ")
    assert boom.endswith(
        "policy 'boom' failed on 2 of 2 replicates, first on log: KeyError: 'boom'"
    )
    assert "Warning" not in printed.err and "site-packages" not in printed.err
    assert (tmp_path / "out" / "zoo.md").is_file()


def test_lists_of_jobs_that_share_nodes_are_no_logs_of_the_zoo(monkeypatch):
    monkeypatch.setattr(zoo, "find_trace", lambda name: name)
    names = zoo._known_here()
    assert "KTH-SP2" in names and not [name for name in names if name.startswith("openb")]


def test_the_command_says_that_there_is_no_log(tmp_path, capsys, logs, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(zoo, "find_trace", lambda name: None)
    monkeypatch.setattr(zoo, "run_zoo", lambda found, **_: pytest.fail(", ".join(found)))
    with pytest.raises(pytest.fail.Exception, match="Lublin"):
        main([])
    assert "zoo: no known trace in data/traces or COSIMLIB_TRACES: two synthetic logs instead" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("x = 1\ndef f(:\n", ", line 2: no Python, invalid syntax"),
        ("\nimport no_such_module\n", ", line 2: ModuleNotFoundError: No module named"),
        ("x = 1\n", ": registers no policy; expected cosimlib.register"),
        ("\n\n1 / 0\n", ", line 3: ZeroDivisionError: division by zero"),
        (None, "; give the path of a file of Python that registers a policy"),
    ],
)
def test_a_file_without_a_policy_is_named_with_the_line(content, said, tmp_path, capsys):
    path = tmp_path / "own.py"
    if content is not None:
        path.write_text(content)
    assert main(["--policy", str(path), "--out", str(tmp_path / "out")]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{path}{said}" in line and not (tmp_path / "out").exists()


def test_the_command_says_what_is_wrong(tmp_path, capsys):
    out = ["--out", str(tmp_path / "out")]
    (tmp_path / "wrong.py").write_text("import cosimlib as cs\ncs.register('mine', 7)\n")
    wrong = ["--policy", str(tmp_path / "wrong.py")]
    few = [str(ZOO / "three-jobs.swf.gz"), "--replicates", "1"]
    for arguments in (["no-such-log"], ["--policy", str(tmp_path / "none.py")], wrong, few):
        assert main([*arguments, *out]) == 1
        assert capsys.readouterr().err.startswith("zoo: ")
    assert not (tmp_path / "out").exists()
