"""The whole protocol against a slow simulator written from its description alone."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.audit import audit
from cosimlib.elastic import simulate_elastic
from cosimlib.system import System
from cosimlib.workload import Workload
from tests.cosimlib.elastic import naive_protocol
from tests.cosimlib.elastic.instances import preemptions, stretched, users, workload
from tests.strategies import workloads

POLICIES = ("FIFO", "LIFO", "PAP", "PAP+")


def compare(jobs, system, policies, requests, **knobs):
    """Both simulators tell the same runs, nodes, reclaims, owners and grants; the quick one's."""
    schedule = simulate_elastic(jobs, system, policy=policies, preemptions=requests, **knobs)
    naming = {"grace_period": "grace"}
    slow = naive_protocol.simulate(
        jobs,
        system,
        policies,
        requests.to_numpy().tolist(),
        **{naming.get(name, name): value for name, value in knobs.items()},
    )
    runs = [[run.job.number, run.start, run.end, run.completed] for run in slow.runs]
    assert schedule.attempts.to_numpy().tolist() == runs
    held = schedule.holdings.groupby("attempt")["node"].agg(list)
    assert held.tolist() == [run.nodes for run in slow.runs]
    columns = ["node", "partition", "notified", "released", "request", "killed", "notices"]
    mine = sorted(schedule.reclaims[columns].to_numpy().tolist())
    assert mine == sorted(naive_protocol.reclaimed(slow))
    assert schedule.ownership.to_numpy().tolist() == naive_protocol.stretches(slow)
    assert schedule.preemptions["granted"].tolist() == slow.granted
    return audit(schedule)


@settings(max_examples=70, deadline=None)
@given(
    first=workloads(max_jobs=9, overruns=True),
    second=workloads(max_jobs=8, max_nodes=5, overruns=True),
    third=workloads(max_jobs=4, max_nodes=2),
    policies=st.tuples(*[st.sampled_from(POLICIES)] * 3),
    requests=preemptions(15),
    grace_period=st.sampled_from([0.0, 37.0, 60.0, 61.0, 137.0]),
    staleness=st.sampled_from([0.0, 25.0, 50.0, 140.0, 1000.0]),
    spare=st.integers(0, 3),
)
def test_the_protocol_agrees_with_the_oracle(first, second, third, policies, requests, **knobs):
    parts = {
        "a": stretched(first, 25.0, priority=10.0),
        "b": stretched(second, 20.0),
        "c": stretched(third, 60.0),
    }
    compare(
        Workload.join(parts),
        System.of(a=8, b=5, c=2),
        dict(zip("abc", policies, strict=True)),
        requests,
        **knobs,
    )


@settings(max_examples=60, deadline=None)
@given(
    batch=workloads(max_jobs=12, overruns=True),
    policy=st.sampled_from(POLICIES),
    taken=preemptions(8),
    grace_period=st.sampled_from([0.0, 60.0, 120.0]),
    staleness=st.sampled_from([0.0, 75.0]),
)
def test_one_partition_agrees_with_the_oracle(batch, policy, taken, **knobs):
    compare(stretched(batch, 25.0, priority=7.0), System.of(8), {"main": policy}, taken, **knobs)


def test_partitions_that_trade_nodes_agree_with_the_oracle():
    """Ten jobs on each of two partitions in turn: each lends, and each wants back what it lent."""
    turns = [
        workload(submit_time=[0] * 10, run_time=[400] * 10, requested_time=[500] * 10,
                 nodes=[1, 2] * 5),
        workload(submit_time=[150] * 10, run_time=[90] * 10, requested_time=[90] * 10,
                 nodes=[3, 1] * 5),
    ]  # fmt: skip
    schedule = compare(
        Workload.join(dict(zip("ab", turns, strict=True))),
        System.of(a=5, b=5),
        {"a": "PAP", "b": "LIFO"},
        users((300, 4, 100), (310, 9, 50)),
        grace_period=60.0,
        staleness=30.0,
        spare=1,
    )
    assert (schedule.reclaims["request"] == -1).any() and schedule.kills > 3
    assert schedule.preemptions["granted"].tolist()[1] < 9


@pytest.mark.parametrize(("runs", "notices"), [(90, 1), (91, 2), (150, 2), (151, 3)])
def test_notices_are_given_at_once_and_each_full_minute_that_the_node_is_still_there(runs, notices):
    """Wanted back at 30, the only node leaves after 60, 61, 120 and 121 s."""
    job = workload(submit_time=[0], run_time=[runs], requested_time=[runs], nodes=[1])
    schedule = compare(job, System.of(1), {"main": "PAP"}, users((30, 1, 5)), grace_period=600.0)
    assert schedule.reclaims["notices"].tolist() == [notices]


def test_what_finds_no_nodes_lapses_and_never_comes_back():
    """Of two nodes a user has one until 100 and the other drains until 70: a third gets nothing,
    not even when both are free again; a request for two at 110 gets both."""
    job = workload(submit_time=[0], run_time=[70], requested_time=[70], nodes=[1])
    requests = users((10, 1, 90), (20, 1, 30), (25, 2, 40), (110, 2, 40))
    schedule = compare(job, System.of(2), {"main": "PAP"}, requests, grace_period=60.0)
    assert schedule.preemptions["granted"].tolist() == [1, 1, 0, 2]
    assert schedule.served == pytest.approx(4 / 6)
    used = schedule.ownership.query("owner == 'user'")
    assert sorted(used["start_time"]) == [10.0, 70.0, 110.0, 110.0]
    assert sorted(used["end_time"]) == [100.0, 100.0, 150.0, 150.0]


def test_a_node_that_begins_to_drain_lets_its_partition_backfill_at_once():
    """Job 3 waits for three nodes until 100, and job 4 would delay it. At 6 vectors of age 5
    make node 0 drain: job 3 has no promise on the two nodes left, so job 4 takes the idle one."""
    jobs = workload(
        submit_time=[0] * 5,
        run_time=[100, 20, 5, 10, 150],
        requested_time=[100, 20, 5, 10, 150],
        nodes=[1, 1, 1, 3, 1],
    )
    requests = users((6, 1, 500))
    schedule = compare(jobs, System.of(3), {"main": "LIFO"}, requests, staleness=5.0)
    assert schedule.start_time[4] == 6.0
