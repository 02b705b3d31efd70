"""Workers: the same table wherever cells are computed, and what becomes of those that die."""

import os
import subprocess
import sys
import time

import joblib
import pytest

import cosimlib as cs
from cosimlab.sweep import BrokenSweepError, SweepWarning, count_cores, sweep
from tests.cosimlab.sweep.functions import die_once, fail, process
from tests.suites import ROOT


def test_a_function_written_on_the_spot_takes_its_surroundings_along():
    factor, log = 7, cs.synthetic.theta(2000)
    for executor in (None, 2):
        found = sweep(lambda x: {"n": factor * len(log) + x}, {"x": [0, 1]}, executor=executor)
        assert found["n"].tolist() == [14000, 14001]


def test_errors_come_from_workers_with_their_text_and_traceback():
    with pytest.warns(SweepWarning):
        found = sweep(fail, {"x": [1, 2]}, [1], executor=2)
    assert found["error"].tolist()[1] == "ValueError: two is wrong, 1"
    with pytest.raises(ValueError, match="two is wrong") as caught:
        sweep(fail, {"x": [1, 2]}, [1], executor=2, errors="raise")
    assert caught.value.__notes__ == ["in the cell x=2, seed=1"]
    assert "functions.py" in str(caught.value.__cause__)


def test_a_killed_worker_ends_the_sweep_and_the_next_call_computes_what_is_missing(tmp_path):
    visits = tmp_path / "visits"
    visits.mkdir()
    given = {"shared": {"folder": str(visits)}, "folder": tmp_path / "cells", "executor": 2}
    with pytest.raises(BrokenSweepError, match=r"unexpectedly terminated.*: use fewer processes"):
        sweep(die_once, {"x": range(8)}, **given)
    done = len(list((tmp_path / "cells").glob("*.json")))
    found = sweep(die_once, {"x": range(8)}, **given)
    assert found["square"].tolist() == [x * x for x in range(8)]
    computed = [len((visits / str(x)).read_text().split()) for x in range(8)]
    assert computed[3] == 2 and sum(times == 1 for times in computed) >= done


def test_cores_are_those_of_this_process_unless_the_environment_says(monkeypatch):
    monkeypatch.setenv("COSIMLIB_WORKERS", "2")
    assert count_cores() == 2
    found = sweep(process, {"x": range(6)}, executor="cores")
    assert os.getpid() not in found["process"].tolist() and found["process"].nunique() <= 2
    monkeypatch.setenv("COSIMLIB_WORKERS", "1")
    assert set(sweep(process, {"x": [1, 2]}, executor="cores")["process"]) == {os.getpid()}
    monkeypatch.setenv("COSIMLIB_WORKERS", "many")
    with pytest.raises(ValueError, match="COSIMLIB_WORKERS='many'; expected a whole number from 1"):
        sweep(process, {"x": [1]}, executor="cores")
    monkeypatch.delenv("COSIMLIB_WORKERS")
    assert count_cores() == joblib.cpu_count()


SCRIPT = """
import os, sys, time
import cosimlab as lab
import cosimlib as cs

def slow(x):
    os.write(1, b"cell\\n")  # in one piece: `print` writes the end of the line on its own
    time.sleep(20)

def quick(x):
    return {"square": x * x}

print(lab.sweep(dict(slow=slow, quick=quick)[sys.argv[1]], {"x": [1, 2]}, executor=2).to_dict())
"""


@pytest.fixture
def script(tmp_path):
    """A function that starts a script which sweeps on two processes."""
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TQDM_DISABLE": "1"}

    def start(*arguments):
        command = [sys.executable, str(path), *arguments]
        return subprocess.Popen(command, env=env, text=True, stdout=subprocess.PIPE)

    return start


def test_a_script_needs_no_guard(script):
    printed, _ = script("quick").communicate(timeout=120)
    assert printed == "{'x': {0: 1, 1: 2}, 'square': {0: 1, 1: 4}}\n"


FORK = """
import os
import cosimlab as lab

def cell(seed):
    return {"process": os.getpid()}

first = set(lab.sweep(cell, {}, range(4), executor=2)["process"])
child = os.fork()
second = set(lab.sweep(cell, {}, range(4), executor=2)["process"])
if child == 0:
    os._exit(0 if first.isdisjoint(second) else 3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), bool(second), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_process_that_is_forked_after_a_sweep_has_workers_of_its_own(tmp_path):
    """It would wait for ever for the answers of its parent's."""
    path = tmp_path / "fork.py"
    path.write_text(FORK)
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TQDM_DISABLE": "1", "PYTHONWARNINGS": "ignore"}
    with subprocess.Popen([sys.executable, path], env=env, text=True, stdout=-1) as parent:
        try:
            assert parent.communicate(timeout=120)[0] == "0 True\n"
        finally:
            parent.kill()


def test_a_backend_that_returns_all_results_at_once_is_refused():
    with (
        joblib.parallel_config(backend="multiprocessing", n_jobs=2),
        pytest.raises(ValueError, match=r"one by one .*such as 'loky', 'threading'"),
    ):
        sweep(process, {"x": [0, 1]})


def test_workers_end_when_their_sweep_is_killed(script):
    caller = script("slow")
    assert [caller.stdout.readline() for _ in range(2)] == ["cell\n"] * 2, "both are at work"
    caller.kill()
    began = time.monotonic()
    caller.stdout.read()  # until the last process that could write has ended
    caller.wait()
    assert time.monotonic() - began < 15
