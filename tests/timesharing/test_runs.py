"""Runs of both policies, and what makes them other runs to the cache."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tqdm import tqdm

from cosimlib.system import System
from cosimlib.timesharing import (
    SCALES,
    Jobs,
    cached_summary,
    measure,
    project_cache,
    run_batch,
    run_policies,
    run_timesharing,
    runs,
    simulate_batch,
    simulate_timesharing,
    summarize_run,
)
from cosimlib.workload import Workload

JOBS = pd.DataFrame(
    {
        "submit_time": [0.0, 100, 200, 86_400],
        "run_time": [1_000.0, 2_000, 500, 300],
        "requested_time": [1_000.0, 2_500, 500, 300],
        "nodes": [2, 1, 2, 1],
        "memory": [40.0, 40, 40, np.nan],
    }
)
WORKLOAD = Workload(JOBS, "four jobs")
SYSTEM = replace(System.of(2), memory_per_node=64.0)
RUNS = {"batch": (run_batch, simulate_batch), "sharing": (run_timesharing, simulate_timesharing)}


@pytest.fixture(params=RUNS)
def policy(request):
    return RUNS[request.param]


def with_(**columns) -> Workload:
    return replace(WORKLOAD, jobs=JOBS.assign(**columns))


def forbid(monkeypatch):
    """No simulator runs from here on."""

    def never(*args, **knobs):
        raise AssertionError("this run is known")

    monkeypatch.setattr(runs, "simulate_batch", never)
    monkeypatch.setattr(runs, "simulate_timesharing", never)


def test_the_runs_that_are_compared_are_the_same_in_other_processes():
    knobs = {"warm_up": 0.0, "seed": 3, "noise": 0.2}
    here = run_policies(WORKLOAD, SYSTEM, **knobs)
    expected = {
        "batch": run_batch(WORKLOAD, SYSTEM, **knobs),
        "not_spmd": run_timesharing(WORKLOAD, SYSTEM, spmd=False, **knobs),
        "unlimited_memory": run_timesharing(WORKLOAD, SYSTEM, memory=False, **knobs),
    }
    # Representations, for what is unknown equals nothing.
    assert {name: repr(getattr(here, name)) for name in expected} == {
        name: repr(summary) for name, summary in expected.items()
    }
    assert repr(run_policies(WORKLOAD, SYSTEM, **knobs, executor=2)) == repr(here)


def test_a_run_is_the_summary_of_its_schedule(policy):
    run, simulate = policy
    knobs = {"noise": 0.2, "spmd": False, "seed": 3}
    expected = summarize_run(simulate(WORKLOAD, SYSTEM, **knobs), warm_up=50.0)
    found = run(WORKLOAD, SYSTEM, warm_up=50.0, **knobs)
    assert found.as_dict() == expected.as_dict() and found.jobs == 3


def test_the_same_run_is_read_from_its_file(policy, tmp_path, monkeypatch):
    run, _ = policy
    knobs = {"warm_up": 0.0, "noise": 0.1, "seed": 2}
    first = run(WORKLOAD, SYSTEM, cache=tmp_path, **knobs)
    forbid(monkeypatch)
    again = run(replace(WORKLOAD, jobs=JOBS.copy()), SYSTEM, cache=tmp_path, **knobs)
    assert again.as_dict() == first.as_dict()
    assert len(list(tmp_path.iterdir())) == 1
    with pytest.raises(AssertionError, match="this run is known"):
        run(WORKLOAD, SYSTEM, **knobs)


@pytest.mark.parametrize("run", [run_batch, run_timesharing])
def test_a_default_that_is_named_is_the_same_run(run, tmp_path, monkeypatch):
    first = run(WORKLOAD, SYSTEM, warm_up=0.0, cache=tmp_path)
    forbid(monkeypatch)
    named = {"noise": None, "spmd": True, "step": 10.0, "seed": 0}
    named |= (
        {"overhead": 0.0, "queue": "first_fit", "placement": None} if run is run_timesharing else {}
    )
    assert run(WORKLOAD, SYSTEM, warm_up=0.0, cache=tmp_path, **named).as_dict() == first.as_dict()


OTHERS = [
    {"workload": with_(submit_time=[0.0, 100, 210, 86_400])},
    {"workload": with_(run_time=[1_000.0, 2_000, 500, 299])},
    {"workload": with_(requested_time=[1_000.0, 2_000, 500, 300])},
    {"workload": with_(nodes=[2, 1, 1, 1])},
    {"workload": with_(memory=[40.0, 40, 40, 1])},
    {"workload": Workload(JOBS.drop(columns="memory"), "four jobs")},
    {"workload": Workload(JOBS, "other name")},
    {"system": replace(System.of(3), memory_per_node=64.0)},
    {"system": replace(SYSTEM, memory_per_node=65.0)},
    {"system": System.of(2)},
    {"warm_up": 1.0},
    {"noise": 0.1},
    {"spmd": False},
    {"seed": 1},
    {"step": 5.0},
]
OTHERS_OF_SHARING = [{"memory": False}, {"overhead": 0.1}, {"queue": "fcfs"}, {"step": None}]


@pytest.mark.parametrize(
    ("run", "changed"),
    [
        *((run_batch, changed) for changed in OTHERS),
        *((run_timesharing, changed) for changed in [*OTHERS, *OTHERS_OF_SHARING]),
    ],
)
def test_other_jobs_machines_and_knobs_are_other_runs(run, changed, tmp_path, monkeypatch):
    given = {"workload": WORKLOAD, "system": SYSTEM, "warm_up": 0.0, "cache": tmp_path}
    run(**given)
    other = run(**given | changed)
    assert len(list(tmp_path.iterdir())) == 2
    assert other.as_dict() == run(**given | changed | {"cache": None}).as_dict()
    forbid(monkeypatch)
    assert run(**given | changed).as_dict() == other.as_dict()


def test_one_policy_does_not_read_the_other_s_file(tmp_path):
    batch = run_batch(WORKLOAD, SYSTEM, warm_up=0.0, cache=tmp_path)
    shared = run_timesharing(WORKLOAD, SYSTEM, warm_up=0.0, cache=tmp_path)
    assert (batch.policy, shared.policy) == ("batch", "time-sharing")


# --- equal knobs --------------------------------------------------------------------------------

EQUAL = [
    ("seed", 1, [np.int64(1), np.uint8(1)]),
    ("noise", 0.25, [np.float32(0.25), np.float64(0.25)]),
    ("noise", 0, [0.0, np.float32(0), np.int64(0)]),
    ("spmd", True, [np.bool_(True)]),
    ("step", 10.0, [10, np.int16(10), np.float32(10)]),
    ("warm_up", 50, [50.0, np.int32(50), np.float64(50)]),
]


@pytest.mark.parametrize(("name", "value", "equal"), EQUAL, ids=str)
def test_equal_knobs_are_the_same_run(policy, name, value, equal, tmp_path, monkeypatch):
    run, _ = policy
    plain = {"warm_up": 0.0, name: value}
    expected = run(WORKLOAD, SYSTEM, **plain).as_dict()
    for each in equal:
        assert run(WORKLOAD, SYSTEM, **plain | {name: each}).as_dict() == expected
    run(WORKLOAD, SYSTEM, **plain | {name: equal[0]}, cache=tmp_path)
    (path,) = tmp_path.iterdir()
    assert json.loads(path.read_text())["parameters"][name] == value
    forbid(monkeypatch)
    for each in (value, *equal):
        known = run(WORKLOAD, SYSTEM, **plain | {name: each}, cache=tmp_path)
        assert known.as_dict() == expected


@pytest.mark.parametrize(
    ("right", "wrong"),
    [({"seed": 1}, {"seed": 1.0}), ({"spmd": True}, {"spmd": 1}), ({"seed": 1}, {"seed": True})],
    ids=str,
)
def test_a_wrong_knob_is_an_error_also_where_the_right_one_is_known(policy, right, wrong, tmp_path):
    run, _ = policy
    run(WORKLOAD, SYSTEM, warm_up=0.0, cache=tmp_path, **right)
    ((name, value),) = wrong.items()
    with pytest.raises(ValueError, match=f"^{name}={value!r}; expected"):
        run(WORKLOAD, SYSTEM, warm_up=0.0, cache=tmp_path, **wrong)


def test_a_parameter_that_names_no_file_is_named(tmp_path):
    with pytest.raises(TypeError, match=r"^sizes=\[1, 2\] is of type list, which names no file"):
        cached_summary(tmp_path, {"sizes": [1, 2]}, lambda: None)
    assert not list(tmp_path.iterdir())


# --- memory -------------------------------------------------------------------------------------


def test_limited_memory_makes_jobs_wait_and_unlimited_memory_nobody():
    """Two jobs of 40 GB do not fit on a node of 64: the second and the third wait, one of four."""
    limited = run_timesharing(WORKLOAD, SYSTEM, warm_up=0.0)
    unlimited = run_timesharing(WORKLOAD, SYSTEM, warm_up=0.0, memory=False)
    assert (limited.waited, unlimited.waited) == (0.5, 0.0)
    # Alone: ends at 1,000, 3,000 and 3,500. Together: work of 1,000 and 2,000 and 500, shared.
    assert limited.mean_slowdown == pytest.approx((1 + 2_900 / 2_000 + 3_300 / 500 + 1) / 4)
    without = simulate_timesharing(WORKLOAD, System.of(2))
    assert unlimited.mean_slowdown == summarize_run(without, warm_up=0.0).mean_slowdown


@pytest.mark.parametrize(
    ("knobs", "name"),
    [
        ({}, "time-sharing (memory unlimited)"),
        ({"spmd": False}, "time-sharing (not SPMD, memory unlimited)"),
        (
            {"overhead": 0.1, "noise": 0.1},
            "time-sharing (overhead 10.0 %, noise, memory unlimited)",
        ),
    ],
    ids=str,
)
def test_the_policy_s_name_says_that_memory_is_unlimited(knobs, name):
    assert run_timesharing(WORKLOAD, SYSTEM, warm_up=0.0, memory=False, **knobs).policy == name
    limited = run_timesharing(WORKLOAD, SYSTEM, warm_up=0.0, **knobs)
    assert "memory" not in limited.policy


# --- while it lasts -----------------------------------------------------------------------------


def many() -> Workload:
    """A job a day for 40 days: several looks at the clock."""
    days = 86_400.0 * np.arange(40)
    table = {"submit_time": days, "run_time": 600.0, "requested_time": 600.0, "nodes": 1}
    return Workload(pd.DataFrame(table), "a job a day")


def shown_bar(**given) -> tqdm:
    """A bar that shows every step, whatever the environment says."""
    return tqdm(**given | {"mininterval": 0.0, "disable": False})


def test_a_long_run_shows_how_far_it_is_and_then_nothing(monkeypatch, capsys):
    run_timesharing(many(), SYSTEM, warm_up=0.0)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(runs, "SHOWN_AFTER", 0.0)
    monkeypatch.setattr(runs, "tqdm", shown_bar)
    run_timesharing(many(), SYSTEM, warm_up=0.0)
    shown = capsys.readouterr()
    lines = [line for line in shown.err.split("\r") if line.strip()]
    numbers = [int(re.search(r"(\d+)/40 ", line)[1]) for line in lines]
    assert numbers[0] == 0 and numbers == sorted(numbers) and len(set(numbers)) > 4
    assert numbers[-1] == 40 and all("jobs" in line for line in lines)
    assert shown.out == "" and shown.err.split("\r")[-2].isspace(), "the bar is still there"


def test_a_run_that_is_interrupted_leaves_nothing(tmp_path, monkeypatch, capsys):
    seen = []

    def interrupted(bar):
        def look(now: float, submitted: int) -> None:
            seen.append(submitted)
            if submitted > 10:
                raise KeyboardInterrupt

        return look

    monkeypatch.setattr(runs, "_shown_on", interrupted)
    monkeypatch.setattr(runs, "tqdm", shown_bar)
    monkeypatch.setattr(runs, "SHOWN_AFTER", 0.0)
    with pytest.raises(KeyboardInterrupt):
        run_timesharing(many(), SYSTEM, warm_up=0.0, cache=tmp_path / "cache")
    assert 10 < seen[-1] < 40 and len(seen) > 1
    assert not list(tmp_path.iterdir())
    assert capsys.readouterr().err.split("\r")[-2].isspace()
    monkeypatch.undo()
    run_timesharing(many(), SYSTEM, warm_up=0.0, cache=tmp_path / "cache")
    assert len(list((tmp_path / "cache").iterdir())) == 1


# --- where files are kept -----------------------------------------------------------------------


def test_the_cache_is_the_project_s_from_anywhere_inside(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "claims.csv").write_text("")
    inside = tmp_path / "notebooks" / "explore"
    inside.mkdir(parents=True)
    for folder in (tmp_path, inside.parent, inside):
        monkeypatch.chdir(folder)
        assert project_cache() == tmp_path / "data" / "cache"
    assert not project_cache().exists()


def test_outside_of_a_project_the_cache_is_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert project_cache() == tmp_path / "data" / "cache"
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("cache", [3, "", b"data", True], ids=repr)
def test_a_cache_is_a_folder(cache):
    message = r"^cache=.*; expected a folder, such as 'data/cache', or None$"
    with pytest.raises(ValueError, match=message):
        run_batch(WORKLOAD, SYSTEM, warm_up=0.0, cache=cache)
    with pytest.raises(ValueError, match=message):
        run_timesharing(WORKLOAD, SYSTEM, warm_up=0.0, cache=cache)
    with pytest.raises(ValueError, match=message):
        measure(Jobs(), SCALES["quick"], cache=cache)
