"""The protocol: closed forms, the laws it keeps, and what it is equal to."""

import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cosimlib.audit import audit
from cosimlib.batch import simulate_easy
from cosimlib.elastic import (
    HOST,
    USER,
    draw_preemptions,
    execution_states,
    preempted_jobs,
    simulate_elastic,
)
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError, Workload
from tests.cosimlib.elastic.instances import (
    elastic_schedules,
    stretched,
    users,
    workload,
)
from tests.strategies import workloads

ONE = workload(
    submit_time=[0, 0, 0], run_time=[300, 100, 200], requested_time=[300, 100, 200], nodes=[2, 1, 1]
)
"""On four nodes: all start at 0, job 0 on nodes 0 and 1, job 1 on 2, job 2 on 3."""


def test_a_preemption_by_hand():
    """FIFO, at t = 50: all nodes are worth 1, so 0 and 1 go. Job 0 is killed at 110, waits for
    two nodes (2 is idle from 100 on, 3 from 200 on), and runs again from 200 to 500. The user has
    both nodes from 110 to 1110."""
    schedule = audit(
        simulate_elastic(
            ONE, System.of(4), policy="FIFO", preemptions=users((50, 2, 1000)), grace_period=60.0
        )
    )
    assert schedule.attempts.to_numpy().tolist() == [
        [0, 0.0, 110.0, False],
        [1, 0.0, 100.0, True],
        [2, 0.0, 200.0, True],
        [0, 200.0, 500.0, True],
    ]
    assert schedule.wasted_node_seconds == 220 and schedule.kills == 1
    assert schedule.start_time.tolist() == [0, 0, 0] and schedule.end_time.tolist() == [
        500,
        100,
        200,
    ]
    taken = schedule.ownership.query("owner == 'user'")
    assert taken["node"].tolist() == [0, 1]
    assert set(taken["start_time"]) == {110.0} and set(taken["end_time"]) == {1110.0}
    reclaims = schedule.reclaims
    assert reclaims["killed"].tolist() == [0, 0] and reclaims["notices"].tolist() == [1, 1]
    assert (reclaims["request"] == 0).all() and set(reclaims["partition"]) == {"main"}


def test_a_node_that_falls_idle_leaves_at_once_and_notices_come_each_minute():
    """LIFO with a PAP tie: node 2 (job 1) ends at 100 within the grace period, no job is killed."""
    schedule = audit(
        simulate_elastic(
            ONE, System.of(4), policy="PAP", preemptions=users((30, 1, 50)), grace_period=600.0
        )
    )
    (row,) = schedule.reclaims.to_dict("records")
    assert (row["node"], row["notified"], row["released"], row["killed"]) == (2, 30.0, 100.0, -1)
    assert row["notices"] == 2, "at 30 and at 90"
    assert schedule.kills == 0


def test_a_job_with_exactly_the_grace_period_to_go_is_killed_as_the_paper_counts():
    for grace, killed in ((70.0, 1), (71.0, 0)):
        schedule = simulate_elastic(
            ONE, System.of(4), preemptions=users((30, 1, 50)), grace_period=grace
        )
        assert schedule.kills == killed


@settings(max_examples=60)
@given(workloads(overruns=True))
def test_alone_and_undisturbed_a_partition_is_easy(batch):
    schedule = audit(simulate_elastic(batch, System.of(8)))
    assert schedule.start_time.tolist() == simulate_easy(batch, System.of(8)).start_time.tolist()


@settings(max_examples=30)
@given(
    batch=workloads(max_jobs=8),
    policy=st.sampled_from(["FIFO", "LIFO", "PAP", "PAP+"]),
    size=st.integers(1, 8),
    grace=st.sampled_from([0.0, 60.0, 137.0]),
    share=st.floats(0, 1),
)
def test_one_preemption_wastes_what_the_analysis_says(batch, policy, size, grace, share):
    """The protocol kills the very jobs, and wastes the very cycles, of the single analysis.

    Idle nodes may be the partition's there and the host's here; both go first, except that a job
    that starts at this very moment is worth no more than an idle node.
    """
    batch = stretched(batch, 25.0, priority=10.0)
    batch = Workload(batch.jobs.assign(submit_time=0.0), batch.name)
    before = simulate_easy(batch, System.of(8))
    states = execution_states(before)
    at = float(states[int(share * (states.size - 1))])
    assume((before.start_time != at).all())
    expected = preempted_jobs(before, at, policy=policy, preempted=size, grace_period=grace)
    schedule = audit(
        simulate_elastic(
            batch,
            System.of(8),
            policy=policy,
            preemptions=users((at, size, 1e4)),
            grace_period=grace,
        )
    )
    killed = schedule.attempts[~schedule.attempts["completed"]]
    assert sorted(killed["job"]) == expected.index[expected["killed"]].tolist()
    assert schedule.wasted_node_seconds == pytest.approx(expected["wasted_cycles"].sum())


@settings(max_examples=60)
@given(elastic_schedules())
def test_nothing_is_lost_and_nothing_held_twice(schedule):
    audit(schedule)
    assert (schedule.attempts.groupby("job")["completed"].sum() == 1).all()
    assert set(schedule.attempts["job"]) == set(range(len(schedule.workload)))
    used, requests = schedule.ownership.query("owner == 'user'"), schedule.preemptions
    seconds = (used["end_time"] - used["start_time"]).sum()
    assert seconds <= (requests["nodes"] * requests["duration"]).sum() + 1e-6


def test_partitions_grow_into_idle_nodes_and_get_their_size_back():
    """`a` takes b's idle nodes at 0; b's job comes at 100 and its two nodes are reclaimed."""
    jobs = Workload.join(
        {
            "a": workload(
                submit_time=[0] * 4, run_time=[500] * 4, requested_time=[500] * 4, nodes=[1] * 4
            ),
            "b": workload(submit_time=[100], run_time=[50], requested_time=[50], nodes=[2]),
        }
    )
    schedule = audit(simulate_elastic(jobs, System.of(a=2, b=2), grace_period=60.0))
    assert schedule.attempts["start_time"].tolist()[:4] == [0, 0, 0, 0]
    assert schedule.kills == 2 and (schedule.reclaims["request"] == -1).all()
    b = int((jobs.jobs["partition"] == "b").to_numpy().argmax())
    assert schedule.start_time[b] == 160 and schedule.end_time[b] == 210
    again = schedule.attempts.query("completed and start_time > 0 and job != @b")
    assert again["start_time"].tolist() == [210, 210], "b gives its nodes back when it is done"


def test_spare_nodes_are_the_hosts_until_a_partition_wants_them():
    jobs = workload(submit_time=[10, 10], run_time=[5, 5], requested_time=[5, 5], nodes=[2, 2])
    schedule = audit(simulate_elastic(jobs, System.of(2), spare=2))
    assert schedule.start_time.tolist() == [10, 10]
    owners = schedule.ownership.query("node == 3")["owner"].tolist()
    assert owners == [HOST, "main", HOST]
    served = simulate_elastic(jobs, System.of(2), spare=2, preemptions=users((0, 2, 100)))
    assert served.reclaims.empty and served.kills == 0, "the host's own nodes go first"
    assert (served.ownership["owner"] == USER).sum() == 2


def test_stale_vectors_misjudge():
    """LIFO at t = 210. Fresh, node 0 with the young job 2 goes. 50 s old, node 0 still has the old
    job 0 and node 1 the younger job 1, which goes though it nearly is the oldest by now."""
    jobs = workload(
        submit_time=[0, 20, 200],
        run_time=[200, 400, 400],
        requested_time=[200, 400, 400],
        nodes=[1, 1, 1],
    )
    killed = {}
    for staleness in (0.0, 50.0):
        schedule = audit(
            simulate_elastic(
                jobs,
                System.of(2),
                policy="LIFO",
                staleness=staleness,
                preemptions=users((210, 1, 10)),
            )
        )
        killed[staleness] = schedule.reclaims["killed"].tolist()
    assert killed == {0.0: [2], 50.0: [1]}


def test_a_stale_vector_is_scaled_by_the_nodes_of_its_time():
    """At 580 `a` has nodes 0 and 3 (580 and 280 s), `b` 1 and 2 (480 s each), all LIFO. At 600 a
    user gets node 0, which is idle from 590 on. At 640 the host knows 280/580 of node 3, as `a`
    reported it with node 0 beside, and 1 of the others: 3 goes, not the lowest of three equals."""
    jobs = Workload.join(
        {
            "a": workload(
                submit_time=[0, 300], run_time=[590, 2000], requested_time=[590, 2000], nodes=[1, 1]
            ),
            "b": workload(
                submit_time=[100] * 2, run_time=[2000] * 2, requested_time=[2000] * 2, nodes=[1, 1]
            ),
        }
    )
    requests = users((600, 1, 3600), (640, 1, 3600))
    knobs = {"policy": "LIFO", "preemptions": requests, "grace_period": 0.0, "staleness": 60.0}
    schedule = audit(simulate_elastic(jobs, System.of(a=2, b=2), **knobs))
    taken = schedule.ownership.query("owner == 'user'").sort_values("start_time")
    assert taken["node"].tolist() == [0, 3]
    assert schedule.reclaims["node"].tolist() == [3]


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"grace_period": -1.0}, "grace_period=-1.0; expected seconds from 0"),
        ({"staleness": -1.0}, "staleness=-1.0"),
        ({"spare": -1}, "spare=-1; expected a whole number"),
        ({"policy": None}, "policy=None; expected one of RANDOM, FIFO, .* for each of main"),
        ({"policy": {}}, "policies for no partition; expected one for main"),
        ({"policy": "BEST"}, "partition 'main': policy='BEST'; expected one of"),
        ({"policy": {"other": "PAP"}}, "policies for other; expected one for main"),
        ({"preemptions": users((0, 5, 1))}, "preemption 0 has nodes=5; expected .* 1 to the 4"),
        ({"preemptions": users((9, 1, 1), (3, 1, 1))}, "preemption 1 has time=3; .* order of time"),
        ({"preemptions": users((0, 1, 0))}, "preemption 0 has duration=0"),
        (
            {"preemptions": pd.DataFrame({"time": [0]})},
            "preemptions: no column 'nodes'; expected time, nodes, dur",
        ),
    ],
)
def test_wrong_knobs_are_refused(knobs, message):
    with pytest.raises(ValueError, match=message):
        simulate_elastic(ONE, System.of(4), **knobs)


def test_wrong_workloads_are_refused():
    wide = workload(
        submit_time=[0, 0],
        run_time=[1, 1],
        requested_time=[1, 1],
        nodes=[1, 5],
        partition=["a", "b"],
    )
    with pytest.raises(InvalidWorkloadError, match="job 1 asks for 5 nodes; partition 'b' has 4"):
        simulate_elastic(wide, System.of(a=9, b=4))
    with pytest.raises(InvalidWorkloadError, match="job 0 has partition='a'; expected one of c"):
        simulate_elastic(wide, System.of(c=9))


@pytest.mark.parametrize("name", [HOST, USER])
def test_partitions_are_not_called_as_the_owners_of_other_nodes(name):
    message = f"has a partition called '{name}', as tables call the owner .* rename it"
    with pytest.raises(ValueError, match=message):
        simulate_elastic(ONE, System("two", {"a": 2, name: 4}))


def test_no_jobs_make_an_empty_schedule():
    empty = workload(submit_time=[], run_time=[], requested_time=[], nodes=[])
    schedule = audit(simulate_elastic(empty, System.of(4)))
    assert len(schedule.start_time) == 0 and schedule.wasted_node_seconds == 0


def test_drawn_preemptions_come_at_their_rate_and_scale():
    drawn = draw_preemptions(rate=4.0, size=10, duration=60.0, horizon=1000 * 86_400.0)
    assert len(drawn) == pytest.approx(4000, rel=0.05)
    assert drawn["time"].is_monotonic_increasing and set(drawn["nodes"]) == {10}
    assert draw_preemptions(rate=0, size=1, duration=1, horizon=1e6).empty


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"rate": -1.0}, "rate=-1.0; expected a number from 0"),
        ({"size": 0}, "size=0; expected a whole number from 1"),
        ({"duration": -3600.0}, "duration=-3600.0; expected seconds above 0"),
        ({"horizon": -1.0}, "horizon=-1.0; expected seconds from 0"),
        ({"seed": -1}, "seed=-1; expected a whole number from 0"),
    ],
)
def test_preemptions_are_not_drawn_from_nonsense(knobs, message):
    fine = {"rate": 1.0, "size": 1, "duration": 60.0, "horizon": 1e6}
    with pytest.raises(ValueError, match=message):
        draw_preemptions(**fine | knobs)
