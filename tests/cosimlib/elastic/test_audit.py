"""The audit of elastic schedules refuses every tampering with what really happened."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from cosimlib.audit import InfeasibleScheduleError, audit
from cosimlib.elastic import HOST, simulate_elastic
from cosimlib.system import System
from cosimlib.workload import Workload
from tests.cosimlib.elastic.instances import users, workload
from tests.cosimlib.elastic.test_simulation import ONE


@cache
def scene():
    """Four nodes and one of the host's; jobs 0 (nodes 0, 1), 1 (node 2) and 2 (node 3) from 0 on.

    FIFO, 120 s. At 50 a user gets node 4 for 100 s, at once, and nodes 0 and 1, for which job 0 is
    killed at 170. Another one at 60 finds nodes 2 and 3 only and is granted 2 of the 4 it wants:
    job 1 ends at 100 and gives node 2; job 2 is killed at 180.
    """
    return simulate_elastic(
        ONE,
        System.of(4),
        policy="FIFO",
        spare=1,
        grace_period=120.0,
        preemptions=users((50, 3, 100), (60, 4, 500)),
    )


def test_the_scene_is_as_described():
    audit(scene())
    assert scene().preemptions["granted"].tolist() == [3, 2] and scene().served == 5 / 7
    assert scene().reclaims.to_numpy().tolist() == [
        [0, "main", 50.0, 170.0, 0, 0, 2], [1, "main", 50.0, 170.0, 0, 0, 2],
        [2, "main", 60.0, 100.0, 1, -1, 1], [3, "main", 60.0, 180.0, 1, 2, 2],
    ]  # fmt: skip
    used = scene().ownership.query("owner == 'user'").drop(columns="owner")
    assert used.to_numpy().tolist() == [
        [0, 170, 270],
        [1, 170, 270],
        [2, 100, 600],
        [3, 180, 680],
        [4, 50, 150],
    ]


def changed(table, row, **values):
    """One of the scene's tables with other values in one row."""
    copy = getattr(scene(), table).copy()
    for name, value in values.items():
        copy[name] = copy[name].astype(object if isinstance(value, str) else copy[name].dtype)
        copy.loc[copy.index[row], name] = value
    return {table: copy}


def without(table, *rows):
    """One of the scene's tables without some rows."""
    return {table: getattr(scene(), table).drop(list(rows)).reset_index(drop=True)}


def stretch(node, owner):
    """The row of a node's first stretch with an owner."""
    return int(scene().ownership.query("node == @node and owner == @owner").index[0])


def killed_on(node):
    return int(scene().reclaims.query("node == @node").index[0])


def later(table, row, name, seconds):
    """One value of the scene moved by some seconds."""
    return changed(table, row, **{name: getattr(scene(), table)[name].iloc[row] + seconds})


def run_that(completed):
    """The first run that completed, or that did not."""
    return int(np.flatnonzero(scene().attempts["completed"] == completed)[0])


EARLY = {"workload": workload(submit_time=[0, 5, 5], run_time=[300, 100, 200], nodes=[2, 1, 1])}


def again():
    """Job 0 once more, at 100 s."""
    return changed("attempts", len(scene().attempts) - 1, start_time=100.0, end_time=400.0)


def after():
    """Job 1 once more, after its end."""
    more = {"job": [1], "start_time": [900.0], "end_time": [950.0], "completed": [False]}
    return {
        "attempts": pd.concat([scene().attempts, pd.DataFrame(more)], ignore_index=True),
        "end_time": np.where(np.arange(3) == 1, 950.0, scene().end_time),
    }


def stayed():
    """An idle node released to nobody."""
    idle = pd.DataFrame([(4, "main", 90.0, 90.0, -1, -1, 1)], columns=scene().reclaims.columns)
    return {"reclaims": pd.concat([scene().reclaims, idle], ignore_index=True)}


WIDER = workload(submit_time=[0, 0, 0], run_time=[300, 100, 200], nodes=[2, 4, 1])


def wider(*nodes):
    """Job 1 on four nodes: its own and three more."""
    more = pd.DataFrame({"attempt": 1, "node": nodes})
    return {"workload": WIDER, "holdings": pd.concat([scene().holdings, more], ignore_index=True)}


TAMPERINGS = {
    "a job lost": (lambda: without("attempts", len(scene().attempts) - 1), "held by no run 4"),
    "a run of no job": (lambda: changed("attempts", run_that(True), job=9), "there is no job 9"),
    "a run cut short": (
        lambda: later("attempts", run_that(True), "end_time", -1),
        "ends before or after its run",
    ),
    "a kill after the end": (
        lambda: later("attempts", run_that(False), "end_time", 999),
        "killed before its start",
    ),
    "another start": (
        lambda: {"start_time": scene().start_time + 1},
        "job 0 does not start when its runs do",
    ),
    "another end": (
        lambda: {"end_time": scene().end_time + np.array([0, 0, 1])},
        "job 2 does not end when its runs do",
    ),
    "a node taken away": (lambda: without("holdings", 0), "another number of nodes"),
    "a node of no run": (lambda: changed("holdings", 0, attempt=99), "held by no run 99"),
    "a node twice": (lambda: changed("holdings", 3, node=2), "node 2 is on two runs"),
    "a wider job": (
        lambda: {"workload": WIDER},
        "job 1 runs on another number of nodes than it wants",
    ),
    "a wider job on busy nodes": (lambda: wider(0, 1, 3), "node 0 is on two runs"),
    "a wider job on nodes that are not there": (
        lambda: wider(5, 6, 7),
        "job 1 runs on a node of another",
    ),
    "a kill without an order": (
        lambda: without("reclaims", killed_on(3)),
        "job 2 was killed without",
    ),
    "no reclaims at all": (lambda: without("reclaims", 0, 1, 2, 3), "job 0 was killed without"),
    "a reclaim that hides its kill": (
        lambda: changed("reclaims", killed_on(3), killed=-1),
        "node 3 left with a run whose fate was another",
    ),
    "a reclaim of another's kill": (
        lambda: changed("reclaims", killed_on(3), killed=0),
        "node 3 left with a run whose fate was another",
    ),
    "an end recorded as a kill": (
        lambda: changed("reclaims", killed_on(2), killed=1),
        "node 2 left with a run whose fate was another",
    ),
    "a kill before its time": (
        lambda: later("reclaims", killed_on(3), "notified", 10),
        "job 2 was killed without a node whose grace period was over",
    ),
    "a notice too early": (
        lambda: later("reclaims", killed_on(3), "notified", -10),
        "node 3 left after the grace period",
    ),
    "a shorter grace period": (
        lambda: {"grace_period": 100.0},
        "node 0 left after the grace period",
    ),
    "a longer grace period": (lambda: {"grace_period": 121.0}, "job 0 was killed without a node"),
    "a release before the kill": (
        lambda: later("reclaims", killed_on(3), "released", -10),
        "node 3 left at another time than the run on it ended",
    ),
    "a release that never was": (
        lambda: changed("reclaims", killed_on(3), released=np.nan),
        "node 3 left after the grace period, or never",
    ),
    "one notice too many": (
        lambda: changed("reclaims", killed_on(0), notices=3),
        "number of notices",
    ),
    "one notice too few": (
        lambda: changed("reclaims", killed_on(0), notices=1),
        "number of notices",
    ),
    "a reclaim recorded twice": (
        lambda: {"reclaims": pd.concat([scene().reclaims, scene().reclaims.head(1)])},
        "node 0 was wanted back twice",
    ),
    "a reclaim from no partition": (
        lambda: changed("reclaims", 0, partition="other"),
        "from other, which is none",
    ),
    "a reclaim for no user": (
        lambda: changed("reclaims", 0, request=-1),
        "fewer of the host's nodes from t=50",
    ),
    "a reclaim for another": (
        lambda: changed("reclaims", 0, request=1),
        "for preemption 1 at another tim",
    ),
    "a reclaim for no preemption": (
        lambda: changed("reclaims", 0, request=7),
        "preemption 7, which no",
    ),
    "two owners": (
        lambda: {"ownership": pd.concat([scene().ownership, scene().ownership.head(1)])},
        "node 0 has two owners at a time",
    ),
    "a node that is not there": (lambda: changed("ownership", 0, node=12), "there is no node 12"),
    "a node without an owner": (
        lambda: without("ownership", *scene().ownership.query("node == 4").index),
        "node 4 never has an owner",
    ),
    "an owner too late": (
        lambda: changed("ownership", stretch(4, HOST), start_time=1.0),
        "node 4 has no owner once",
    ),
    "an owner too short": (
        lambda: changed("ownership", stretch(4, HOST), end_time=40.0),
        "node 4 has no owner once",
    ),
    "no owner in the end": (lambda: changed("ownership", -1, end_time=1e6), "no owner in the end"),
    "an owner unknown": (lambda: changed("ownership", 0, owner="ghost"), "owner ghost is unknown"),
    "a run before its submission": (lambda: EARLY, "job 1 runs before its submission"),
    "an early start again": (again, "job 0 runs twice at a time"),
    "a run after the end": (after, "job 1 runs again after its end"),
    "a node that stayed": (stayed, "node 4 was released and stayed"),
    "a run on the host's node": (
        lambda: changed("ownership", stretch(0, "main"), owner=HOST),
        "runs on a node of another partition",
    ),
    "another number of nodes": (lambda: {"spare": 2}, "node 5 never has an owner"),
    "more granted than asked": (
        lambda: changed("preemptions", 0, granted=4),
        "more nodes than it asked",
    ),
    "more granted than given": (
        lambda: changed("preemptions", 1, granted=3),
        "host's nodes from t=60",
    ),
    "less granted than given": (
        lambda: changed("preemptions", 1, granted=1),
        "got more nodes than it was",
    ),
    "no preemptions": (
        lambda: without("preemptions", 0, 1),
        "for preemption 0, which no user asked for",
    ),
    "asked at another time": (
        lambda: later("preemptions", 0, "time", 1),
        "at another time than it came",
    ),
    "kept for another time": (
        lambda: later("preemptions", 1, "duration", 1),
        "another time than asked",
    ),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_every_tampering_is_refused(name):
    make, message = TAMPERINGS[name]
    with pytest.raises(InfeasibleScheduleError, match=f"elastic FIFO: .*({message})"):
        audit(replace(scene(), **make()))


@pytest.mark.parametrize("name", ["start_time", "end_time"])
def test_times_that_are_not_one_per_job_are_refused(name):
    short = replace(scene(), **{name: getattr(scene(), name)[:-1]})
    message = f"elastic FIFO: {name} is 2 numbers for the 3 jobs"
    with pytest.raises(InfeasibleScheduleError, match=message):
        audit(short)


@pytest.mark.parametrize(("seconds", "nodes"), [(0.0, 2), (60.0, 5)])
def test_allocations_that_hold_more_nodes_than_there_are_are_refused(seconds, nodes):
    """Job 0 is killed after 170 s, and node 4 is the user's: 4 nodes are held, of 5."""
    assert scene().allocations["nodes"].tolist()[:3] == [2, 1, 1]
    over = scene().allocations.copy()
    over.loc[0, ["start", "nodes"]] = seconds, 2 + nodes
    tampered = replace(scene())
    tampered.__dict__["allocations"] = over
    message = f"elastic FIFO: {4 + nodes} nodes busy at t={seconds:g}; the system has 5"
    with pytest.raises(InfeasibleScheduleError, match=message):
        audit(tampered)


def test_a_run_that_completed_did_so_before_its_grace_period_was_over():
    """Job 1 has 70 s to go: that is enough with a grace period of 71 s only."""
    good = simulate_elastic(ONE, System.of(4), preemptions=users((30, 1, 50)), grace_period=71.0)
    assert audit(good).kills == 0
    with pytest.raises(InfeasibleScheduleError, match="job 1 completed on a node whose grace per"):
        audit(replace(good, grace_period=70.0))


def test_an_idle_node_kills_no_job():
    """Job 0 runs on nodes 0 and 1, job 1 waits for all four: node 2 is idle, and the user's."""
    jobs = workload(submit_time=[0, 0], run_time=[100, 10], requested_time=[100, 10], nodes=[2, 4])
    good = audit(simulate_elastic(jobs, System.of(4), preemptions=users((50, 1, 9))))
    assert good.reclaims.drop(columns="partition").to_numpy().tolist() == [[2, 50, 50, 0, -1, 1]]
    with pytest.raises(InfeasibleScheduleError, match="job 0 was not killed when a reclaim says"):
        audit(replace(good, reclaims=good.reclaims.assign(killed=0)))


def test_nodes_are_wanted_back_from_the_partition_that_has_them():
    jobs = Workload.join({"a": ONE, "b": ONE.keep([False, True, False], "only the second")})
    good = simulate_elastic(jobs, System.of(a=4, b=1), preemptions=users((30, 5, 50)))
    assert set(audit(good).reclaims["partition"]) == {"a", "b"}
    swapped = good.reclaims.replace({"partition": {"a": "b", "b": "a"}})
    with pytest.raises(
        InfeasibleScheduleError, match=r"node \d was wanted back from a partition that d"
    ):
        audit(replace(good, reclaims=swapped))


def moved_user(node, seconds):
    """The scene with a user who gives a node back so much later."""
    owned = scene().ownership.copy()
    row = stretch(node, "user")
    owned.loc[row, "end_time"] += seconds
    owned.loc[row + 1, "start_time"] += seconds
    return replace(scene(), ownership=owned)


def test_a_user_keeps_what_it_was_granted_for_as_long_as_it_asked():
    with pytest.raises(InfeasibleScheduleError, match="a user kept node 3 for another time"):
        audit(moved_user(3, 5))
    with pytest.raises(InfeasibleScheduleError, match="more or fewer of the host's nodes from t="):
        audit(moved_user(4, 5))
    no_user = scene().ownership.replace({"owner": {"user": HOST}})
    with pytest.raises(InfeasibleScheduleError, match="node 0 was released to no user"):
        audit(replace(scene(), ownership=no_user))


def test_no_preemption_may_be_refused_what_is_there():
    """One node asked for on an empty machine, and nothing given."""
    empty = workload(submit_time=[], run_time=[], requested_time=[], nodes=[])
    good = audit(simulate_elastic(empty, System.of(2), preemptions=users((5, 1, 10))))
    assert good.attempts.empty and good.served == 1
    refused = good.preemptions.assign(granted=0)
    idle = good.ownership.replace({"owner": {"user": HOST}})
    with pytest.raises(InfeasibleScheduleError, match="preemption 0 was granted less than it ask"):
        audit(replace(good, preemptions=refused, ownership=idle))


def test_without_any_run_owners_and_users_are_checked_all_the_same():
    empty = workload(submit_time=[], run_time=[], requested_time=[], nodes=[])
    good = simulate_elastic(empty, System.of(2), preemptions=users((5, 1, 10)))
    for change, message in (
        ({"ownership": good.ownership.iloc[1:]}, "node 0 has no owner once"),
        ({"ownership": good.ownership.query("node == 1")}, "node 0 never has an owner"),
        ({"preemptions": good.preemptions.assign(duration=11.0)}, "fewer of the host's nodes"),
        ({"preemptions": good.preemptions.head(0)}, "fewer of the host's nodes"),
    ):
        with pytest.raises(InfeasibleScheduleError, match=message):
            audit(replace(good, **change))
    lost = replace(
        simulate_elastic(ONE, System.of(4)),
        attempts=scene().attempts.head(0),
        holdings=scene().holdings.head(0),
    )
    with pytest.raises(InfeasibleScheduleError, match="job 0 does not end exactly once"):
        audit(lost)


def test_a_busy_node_cannot_leave_as_if_it_were_idle():
    """The reclaim of node 3 recorded as of an idle node, with the user's stretch moved along."""
    owned, row = scene().ownership.copy(), stretch(3, "user")
    owned.loc[row - 1, "end_time"] = owned.loc[row, "start_time"] = 60.0
    owned.loc[row, "end_time"] = owned.loc[row + 1, "start_time"] = 560.0
    idle = changed("reclaims", killed_on(3), released=60.0, killed=-1, notices=1)
    with pytest.raises(InfeasibleScheduleError, match="job 2 runs on a node of another partition"):
        audit(replace(scene(), ownership=owned, **idle))
