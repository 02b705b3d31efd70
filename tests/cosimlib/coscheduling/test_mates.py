"""Mates: coupling workloads, finding mates, reading them, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.coscheduling.mates import (
    couple,
    mate_groups,
    mates_by_proportion,
    mates_by_proximity,
    read_mates,
)
from cosimlib.traces import swf
from cosimlib.traces.account import TraceError
from cosimlib.workload import InvalidWorkloadError, Workload


def workload(*submit_time, name="jobs", **columns):
    table = {"submit_time": submit_time, "run_time": 5.0, "requested_time": 9.0, "nodes": 1}
    return Workload(pd.DataFrame(table | columns), name)


def two(first=(0, 10, 20), second=(5, 10, 30)):
    return {"big": workload(*first, name="one"), "small": workload(*second, name="two")}


def submissions():
    """Up to twelve whole seconds, in order."""
    return st.lists(st.integers(0, 120), max_size=12).map(sorted)


def test_coupling_orders_by_submission_and_keeps_mates_together():
    mates = pd.DataFrame({"big": [0, 2], "small": [1, 2]})
    together = couple(two(), mates)
    assert together.name == "one + two"
    assert together.jobs["submit_time"].tolist() == [0, 5, 10, 10, 20, 30]
    assert together.jobs["partition"].tolist() == ["big", "small", "big", "small", "big", "small"]
    assert together.jobs["mate"].fillna(-1).tolist() == [3, -1, -1, 0, 5, 4]
    assert mate_groups(together).tolist() == [0, -1, -1, 0, 1, 1]


def test_three_machines_link_in_a_ring_and_may_be_left_out():
    machines = {name: workload(0, 1) for name in "abc"}
    mates = pd.DataFrame({"a": [0, pd.NA], "b": [0, 1], "c": [1, 0]}, dtype="Int64")
    together = couple(machines, mates)
    groups = mate_groups(together)
    members = [set(np.flatnonzero(groups == group)) for group in range(2)]
    partition = together.jobs["partition"]
    assert [sorted(partition[list(m)]) for m in members] == [["a", "b", "c"], ["b", "c"]]


def test_one_link_is_enough():
    linked = workload(0, 0, 0, partition=list("abc"), mate=[1, None, None])
    assert mate_groups(linked).tolist() == [0, 0, -1]


def test_without_mates_no_job_has_a_group():
    assert mate_groups(couple(two())).tolist() == [-1] * 6
    assert mate_groups(workload()).tolist() == []


@pytest.mark.parametrize(
    ("window", "pairs"),
    [
        (0, [(1, 1)]),
        (5, [(0, 0), (1, 1)]),
        (10, [(0, 0), (1, 1), (2, 2)]),
        (100, [(0, 0), (1, 1), (2, 2)]),
    ],
)
def test_mates_by_proximity(window, pairs):
    found = mates_by_proximity(two(), window=window)
    assert list(found.itertuples(index=False, name=None)) == pairs


def test_proximity_is_one_to_one_and_within_the_window():
    rng = np.random.default_rng(3)
    first, second = (np.sort(rng.integers(0, 3000, 200)) for _ in range(2))
    found = mates_by_proximity(two(first, second), window=7.0)
    apart = first[found["big"].astype(int)] - second[found["small"].astype(int)]
    assert len(found) > 50 and (abs(apart) <= 7).all()
    assert found["big"].is_unique and found["small"].is_unique


@pytest.mark.parametrize(
    ("window", "pairs"), [(0, [(1, 1)]), (5, [(0, 0), (1, 1)]), (60, [(0, 0), (1, 1), (2, 2)])]
)
def test_one_sided_mates_are_the_last_submitted_before(window, pairs):
    """The second's 5 goes with 0, not with the nearer 10 that comes later."""
    machines = two(first=(0, 10, 20), second=(5, 10, 30))
    found = mates_by_proximity(machines, window=window, one_sided=True)
    assert list(found.itertuples(index=False, name=None)) == pairs
    late = mates_by_proximity(two(first=(5,), second=(0,)), window=60.0, one_sided=True)
    assert late.empty
    again = mates_by_proximity(two(first=(0, 0), second=(1, 2)), window=60.0, one_sided=True)
    assert list(again.itertuples(index=False, name=None)) == [(1, 0)]


def one_sided_pairs(first, second, window):
    """By the definition, job by job of the second machine."""
    pairs, taken = [], set()
    for mate, submitted in enumerate(second):
        before = [job for job, time in enumerate(first) if time <= submitted]
        if before and submitted - first[before[-1]] <= window and before[-1] not in taken:
            taken.add(before[-1])
            pairs.append((before[-1], mate))
    return pairs


@settings(max_examples=100)
@given(submissions(), submissions(), st.sampled_from([0, 1, 7, 60]))
def test_one_sided_mates_agree_with_the_definition(first, second, window):
    found = mates_by_proximity(two(first, second), window=window, one_sided=True)
    assert list(found.itertuples(index=False, name=None)) == one_sided_pairs(first, second, window)


@pytest.mark.parametrize("share", [0.0, 0.025, 0.1, 0.33, 1.0])
def test_mates_by_proportion_are_evenly_spread(share):
    machines = {"big": workload(*range(400)), "small": workload(*range(800))}
    found = mates_by_proportion(machines, share=share)
    assert len(found) == round(share * 400)
    for column, n in (("big", 400), ("small", 800)):
        steps = found[column].diff().dropna()
        assert steps.empty or steps.max() - steps.min() <= 1
        assert found.empty or found[column].iloc[-1] < n


@pytest.mark.parametrize(
    ("mates", "message"),
    [
        ({"big": [0], "other": [0]}, "machine 'other'; the machines are big, small"),
        ({"big": [3], "small": [0]}, "row 0: no job 3 on big, which has 3 jobs"),
        ({"big": [0, 0], "small": [0, 1]}, "row 1: job 0 on big is in an earlier group"),
        ({"big": [0]}, "row 0: 1 job; a group has jobs on two machines or more"),
    ],
)
def test_mates_that_are_none_are_refused(mates, message):
    with pytest.raises(InvalidWorkloadError, match=message):
        couple(two(), pd.DataFrame(mates))


def test_a_share_or_window_that_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="share=33; expected a part"):
        mates_by_proportion(two(), share=33)
    with pytest.raises(ValueError, match="window=-1"):
        mates_by_proximity(two(), window=-1)
    with pytest.raises(ValueError, match="3 machines; mates by proximity are found between two"):
        mates_by_proximity({name: workload(0) for name in "abc"})


@pytest.fixture
def logs(tmp_path):
    """Two logs in SWF whose jobs have the numbers 11, 12, 13 and 1, 2, 3."""
    machines = two()
    numbered = {
        name: Workload(jobs.jobs.assign(job_id=np.arange(3) + first), jobs.name)
        for (name, jobs), first in zip(machines.items(), (11, 1), strict=True)
    }
    paths = [swf.write_swf(jobs, tmp_path / f"{name}.swf") for name, jobs in numbered.items()]
    return {name: swf.read_swf(path, verbose=False) for name, path in zip("xy", paths, strict=True)}


def test_two_logs_and_a_file_of_mates(tmp_path, logs):
    path = tmp_path / "mates.csv"
    path.write_text("y, x\n01,11\n\n3,0013\n")
    mates = read_mates(path, logs)
    assert mates.to_dict("list") == {"x": [0, 2], "y": [0, 2]}
    assert (mate_groups(couple(logs, mates)) >= 0).sum() == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"mates.csv: line 1 names nothing; expected the machines x, y"),
        ("x,z\n11,1\n", "line 1 names x, z; expected the machines x, y"),
        ("x,y\n11,1,2\n", "line 2 has 3 fields; expected 2"),
        ("x,y\n11,one\n", "line 2: y is 'one'; expected the number of one job"),
        ("x,y\n11,1\n12,7\n", "line 3: y is '7'; expected the number of one job"),
        ("x,y\n11,1\n11,2\n", "line 3: x is '11'; expected .* which no line before it has"),
        ("x,y\n11,1\n12,01\n", "line 3: y is '01'; expected .* which no line before it has"),
        ("x,y\n11,\n", "line 2 names one job; expected jobs on two machines or more"),
        ("x,y\n11,1\n,\n", "line 3 names no job; expected jobs on two machines or more"),
    ],
)
def test_files_of_mates_that_are_wrong_are_refused(tmp_path, logs, text, message):
    path = tmp_path / "mates.csv"
    path.write_text(text)
    with pytest.raises(TraceError, match=message):
        read_mates(path, logs)
    with pytest.raises(FileNotFoundError):
        read_mates(tmp_path / "nowhere.csv", logs)
