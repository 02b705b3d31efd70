"""Workers: the same table wherever cells are computed, and what becomes of those that die."""

import os
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest

import cosimlib as cs
from cosimlib.sweep import SweepWarning, sweep
from cosimlib.sweep.pools import BrokenSweepError, LostWorkerError
from cosimlib.sweep.work import SCRATCH
from tests.suites import ROOT
from tests.sweep.functions import (
    deaths,
    die,
    die_often,
    die_once,
    fail,
    leave,
    multiples,
    process,
    size,
)

GRID, SEEDS = {"x": [1, 2.5, 3]}, [2, 0, 3]


@pytest.fixture(scope="module")
def pool():
    with ProcessPoolExecutor(2) as executor:
        yield executor


def test_the_table_is_the_same_in_processes_and_threads(pool):
    expected = sweep(multiples, GRID, SEEDS)
    with ThreadPoolExecutor(2) as threads:
        for executor in (1, 2, pool, threads):
            pd.testing.assert_frame_equal(
                sweep(multiples, GRID, SEEDS, executor=executor), expected
            )


def test_a_function_written_on_the_spot_takes_its_surroundings_along(pool):
    factor, log = 7, cs.synthetic.theta(2000)
    for executor in (None, 2, pool):
        found = sweep(lambda x: {"n": factor * len(log) + x}, {"x": [0, 1]}, executor=executor)
        assert found["n"].tolist() == [14000, 14001]


@pytest.mark.parametrize("folder", [False, True])
def test_large_arguments_reach_workers(pool, tmp_path, folder):
    log = cs.synthetic.theta(5000)
    place = {"folder": tmp_path / "sweep"} if folder else {}
    expected = sweep(size, {"x": [0, 1]}, shared={"workload": log})
    for executor in (2, pool):
        found = sweep(size, {"x": [0, 1]}, shared={"workload": log}, executor=executor, **place)
        pd.testing.assert_frame_equal(found, expected)
    assert len(list(tmp_path.glob("sweep/shared/*"))) == folder


def test_errors_come_from_workers_with_their_text_and_traceback(pool):
    for executor in (2, pool):
        with pytest.warns(SweepWarning):
            found = sweep(fail, {"x": [1, 2]}, [1], executor=executor)
        assert found["error"].tolist()[1] == "ValueError: two is wrong, 1"
        with pytest.raises(ValueError, match="two is wrong") as caught:
            sweep(fail, {"x": [1, 2]}, [1], executor=executor, errors="raise")
        assert "functions.py" in caught.value.__notes__[0]


def test_results_that_are_not_rows_come_from_workers_too():
    with pytest.raises(TypeError, match="returned a value of type str; expected a dict"):
        sweep(lambda x: "no rows", {"x": range(9)}, executor=2)


def test_a_killed_worker_is_replaced_and_only_its_cell_is_computed_again(tmp_path):
    found = sweep(die_once, {"x": range(8)}, shared={"folder": str(tmp_path)}, executor=2)
    assert found["square"].tolist() == [x * x for x in range(8)] and "error" not in found
    visits = {x: len((tmp_path / str(x)).read_text().split()) for x in range(8)}
    assert visits.pop(3) == 2 and set(visits.values()) == {1}


def test_a_cell_that_kills_its_workers_is_given_up_after_three_tries():
    with pytest.warns(SweepWarning, match="1 of 6 cells"):
        found = sweep(die, {"x": range(6)}, executor=2)
    lost = "LostWorkerError: its worker process died 3 times"
    assert found["error"].tolist()[3] == lost and found["error"].notna().sum() == 1
    assert found["square"].dropna().tolist() == [0, 1, 4, 16, 25]
    with pytest.raises(LostWorkerError, match="3 times"):
        sweep(die, {"x": [3]}, executor=1, errors="raise")


def test_workers_that_die_all_the_time_lose_nothing_and_do_nothing_twice(tmp_path):
    cells, folder = range(120), {"folder": str(tmp_path)}
    with pytest.warns(SweepWarning, match="3 of 120 cells"):
        found = sweep(die_often, {"x": cells}, shared=folder, executor=3)
    visits = [(tmp_path / str(x)).stat().st_size for x in cells]
    assert visits == [min(deaths(x) + 1, 3) for x in cells]
    fine = found[found["error"].isna()]
    assert fine["x"].tolist() == [x for x in cells if deaths(x) < 3]
    assert (fine["square"] == fine["x"] ** 2).all()


def test_another_s_pool_that_breaks_ends_the_sweep_with_advice():
    with ProcessPoolExecutor(1) as executor:
        with pytest.raises(
            BrokenSweepError, match="call sweep again with a new one, or with a num"
        ):
            sweep(die, {"x": [3, 4]}, executor=executor)
        with pytest.raises(ValueError, match="ProcessPoolExecutor that is shut down"):
            sweep(die, {"x": [4]}, executor=executor)


def test_a_function_that_exits_fails_its_cell_only():
    with pytest.warns(SweepWarning):
        found = sweep(leave, {"x": [5]}, executor=1)
    assert found["error"].tolist() == [
        "LostWorkerError: its worker process died 3 times (SystemExit: 5)"
    ]


def test_what_cannot_be_sent_is_refused_before_anything_runs(tmp_path):
    with Path(__file__).open() as file:
        with pytest.raises(ValueError, match="function"):
            sweep(lambda x: {"y": file.read()}, {"x": [1]}, executor=1, folder=tmp_path / "sweep")
        assert not (tmp_path / "sweep").exists()


def test_cores_are_those_of_this_process_unless_the_environment_says(monkeypatch):
    monkeypatch.setenv("COSIMLIB_WORKERS", "2")
    found = sweep(process, {"x": range(6)}, executor="cores")
    assert os.getpid() not in found["process"].tolist() and found["process"].nunique() <= 2
    assert set(found["cores"]) == {1}, "a sweep within a worker must not start more"
    monkeypatch.setenv("COSIMLIB_WORKERS", "1")
    assert set(sweep(process, {"x": [1, 2]}, executor="cores")["process"]) == {os.getpid()}
    monkeypatch.setenv("COSIMLIB_WORKERS", "many")
    with pytest.raises(ValueError, match="COSIMLIB_WORKERS='many'; expected a whole number from 1"):
        sweep(process, {"x": [1]}, executor="cores")


SCRIPT = """
import sys, time
from multiprocessing import set_start_method
import cosimlib as cs

def slow(x):
    print("cell", flush=True)
    time.sleep(60)

def quick(x):
    return {"square": x * x}

if __name__ == "__main__":
    set_start_method(sys.argv[2])
    print(cs.sweep(dict(slow=slow, quick=quick)[sys.argv[1]], {"x": [1, 2]}, executor=2).to_dict())
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


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_other_ways_to_start_processes_give_the_same(script, method):
    printed, _ = script("quick", method).communicate(timeout=120)
    assert printed == "{'x': {0: 1, 1: 2}, 'square': {0: 1, 1: 4}}\n"


def test_workers_end_when_their_sweep_is_killed(script):
    caller = script("slow", "fork")
    assert caller.stdout.readline().startswith(
        "cell"
    )  # the other process may write at the same time
    caller.kill()
    began = time.monotonic()
    caller.stdout.read()  # until the last process that could write has ended
    caller.wait()
    assert time.monotonic() - began < 30


def beside(number: int) -> dict[str, int]:
    return {"folders": len(list(Path(os.environ[SCRATCH]).iterdir()))}


def test_what_lasts_as_long_as_a_sweep_is_where_it_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv(SCRATCH, str(tmp_path))
    assert sweep(beside, {"number": range(2)}, executor=2)["folders"].tolist() == [1, 1]
    assert list(tmp_path.iterdir()) == []
