"""Orders of the queue under every policy, and EASY's two ways to decide."""

from functools import partial
from heapq import heappop, heappush
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.audit import audit
from cosimlib.batch import (
    ORDERS,
    simulate_conservative,
    simulate_easy,
    simulate_fcfs,
    simulate_first_fit,
)
from cosimlib.batch.orders import ALIASES, prepare
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError, Workload
from tests.cosimlib.batch import naive
from tests.strategies import workloads

NODES = 8
DECIDE = ("per_instant", "per_event")
POLICIES = {
    "fcfs": simulate_fcfs,
    "easy": simulate_easy,
    "easy per event": partial(simulate_easy, decide="per_event"),
    "first fit": simulate_first_fit,
    "first fit per event": partial(simulate_first_fit, decide="per_event"),
    "kept": simulate_conservative,
    "replanned": partial(simulate_conservative, reservations="replanned"),
}

STRICT = """
submit_time run_time requested_time nodes  submit shortest longest smallest largest  wfp
          0       10             10     4       0        0       0        0       0    0
          1        8              8     2      10       18      10       10      18   18
          2        4              4     3      18       10      18       18      14   10
          3        2              2     1      18       10      26       10      18   10
          4        4              4     4      22       14      22       22      10   14
"""  # on four nodes, without backfilling; wfp scores at t=10: 2.8, 24, 42.9, 13.5

BACKFILLED = """
submit_time run_time requested_time nodes  submit sjbf shortest
          0       10             10     3       0    0        0
          1       10             10     4      10   10       12
          2        8              8     1       2   20        4
          2        2              2     1      20    2        2
"""  # on four nodes: sjbf has the head of `submit`, and lets job 3 overtake before job 2


def test_golden_table_of_orders_without_backfilling():
    jobs = pd.read_csv(StringIO(STRICT), sep=r"\s+")
    workload = Workload(jobs[["submit_time", "run_time", "requested_time", "nodes"]], "golden")
    for order in ("submit", "shortest", "longest", "smallest", "largest", "wfp"):
        schedule = audit(simulate_fcfs(workload, System.of(4), order=order))
        assert schedule.start_time.tolist() == jobs[order].tolist(), order


def test_golden_table_of_orders_with_backfilling():
    jobs = pd.read_csv(StringIO(BACKFILLED), sep=r"\s+")
    workload = Workload(jobs[["submit_time", "run_time", "requested_time", "nodes"]], "golden")
    for order in ("submit", "sjbf", "shortest"):
        schedule = audit(simulate_easy(workload, System.of(4), order=order))
        assert schedule.start_time.tolist() == jobs[order].tolist(), order


@settings(max_examples=150)
@given(workloads(max_jobs=20, max_nodes=NODES, overruns=True), st.sampled_from(ORDERS))
def test_strict_orders_agree_with_the_slow_version(workload, order):
    schedule = simulate_fcfs(workload, System.of(NODES), order=order)
    slow = naive.strict_starts(workload.jobs, NODES, "submit" if order == "sjbf" else order)
    assert schedule.start_time.tolist() == slow


@settings(max_examples=300)
@given(
    workloads(max_jobs=20, max_nodes=NODES, overruns=True),
    st.sampled_from(ORDERS),
    st.sampled_from(DECIDE),
    st.booleans(),
)
def test_easy_agrees_with_the_slow_version_in_every_order(workload, order, decide, extra_nodes):
    knobs = {"order": order, "decide": decide, "extra_nodes": extra_nodes}
    schedule = simulate_easy(workload, System.of(NODES), **knobs)
    assert schedule.start_time.tolist() == naive.easy_starts(workload.jobs, NODES, **knobs)


@settings(max_examples=200)
@given(
    workloads(max_jobs=20, max_nodes=NODES, overruns=True),
    st.sampled_from(ORDERS),
    st.sampled_from(DECIDE),
)
def test_first_fit_agrees_with_the_slow_version_in_every_order(workload, order, decide):
    knobs = {"order": order, "decide": decide}
    schedule = simulate_first_fit(workload, System.of(NODES), **knobs)
    assert schedule.start_time.tolist() == naive.first_fit_starts(workload.jobs, NODES, **knobs)


def crowd(n):
    """Jobs that come far faster than they can run, so that almost all wait together."""
    rng = np.random.default_rng(n)
    times = {"submit_time": np.sort(rng.integers(0, 2 * n, n)), "run_time": rng.integers(0, 90, n)}
    jobs = pd.DataFrame(times).assign(requested_time=rng.choice([20, 40, 60, 80], n))
    return Workload(jobs.assign(nodes=rng.integers(1, NODES + 1, n)), "crowd")


@pytest.mark.parametrize("order", ORDERS)
def test_long_queues_agree_with_the_slow_version(order):
    """With jobs of more than one block (`batch.queue`)."""
    workload, system = crowd(300), System.of(NODES)
    strict = naive.strict_starts(workload.jobs, NODES, "submit" if order == "sjbf" else order)
    assert simulate_fcfs(workload, system, order=order).start_time.tolist() == strict
    slow = naive.easy_starts(workload.jobs, NODES, order)
    assert simulate_easy(workload, system, order=order).start_time.tolist() == slow


def test_a_queue_of_thousands_is_worked_off_in_order():
    """A queue that grows and shrinks, so that its leaves are given out anew."""
    workload, n = crowd(3_000), 3_000
    jobs = workload.arrays(System.of(NODES))
    free, now, coming, starts = NODES, 0.0, 0, np.zeros(n)
    waiting: list[tuple[float, int]] = []
    ends: list[tuple[float, int]] = []
    while coming < n or ends:
        now = min([*jobs.submit_time[coming : coming + 1], *[end for end, _ in ends[:1]]])
        while ends and ends[0][0] <= now:
            free += jobs.nodes[heappop(ends)[1]]
        while coming < n and jobs.submit_time[coming] <= now:
            heappush(waiting, (jobs.requested_time[coming], coming))
            coming += 1
        while waiting and jobs.nodes[waiting[0][1]] <= free:
            job = heappop(waiting)[1]
            starts[job], free = now, free - jobs.nodes[job]
            heappush(ends, (now + jobs.run_time[job], job))
    schedule = simulate_fcfs(workload, System.of(NODES), order="shortest")
    assert schedule.start_time.tolist() == starts.tolist()


@pytest.mark.parametrize("simulate", POLICIES.values(), ids=POLICIES)
@settings(max_examples=30)
@given(workload=workloads(max_nodes=NODES, overruns=True), order=st.sampled_from(ORDERS))
def test_every_order_is_a_schedule_that_could_have_happened(simulate, workload, order):
    audit(simulate(workload, System.of(NODES), order=order))


@pytest.mark.parametrize("simulate", POLICIES.values(), ids=POLICIES)
@settings(max_examples=20)
@given(workload=workloads(max_nodes=NODES, overruns=True))
def test_orders_cannot_tell_equal_jobs_apart(simulate, workload):
    twins = Workload(workload.jobs.assign(requested_time=7.0, nodes=3))
    submit = simulate(twins, System.of(NODES)).start_time.tolist()
    for order in ORDERS:
        assert simulate(twins, System.of(NODES), order=order).start_time.tolist() == submit


@pytest.mark.parametrize(
    ("order", "column", "ascending"),
    [
        ("shortest", "requested_time", True),
        ("longest", "requested_time", False),
        ("smallest", "nodes", True),
        ("largest", "nodes", False),
    ],
)
@settings(max_examples=20)
@given(workload=workloads(max_nodes=NODES, overruns=True))
def test_jobs_submitted_together_start_in_that_order(workload, order, column, ascending):
    together = Workload(workload.jobs.assign(submit_time=0.0))
    schedule = simulate_fcfs(together, System.of(NODES), order=order)
    key = together.jobs[column].to_numpy() * (1 if ascending else -1)
    assert (np.diff(schedule.start_time[np.argsort(key, kind="stable")]) >= 0).all()


def test_per_event_decides_between_two_ends_of_one_instant():
    """Jobs 0 and 1 both end at t=5. Per event the first end is followed by a pass that does not
    know of the second: job 2 is promised job 1's request, t=9, and job 3 ends by then.
    """
    jobs = {
        "submit_time": [0, 0, 1, 2],
        "run_time": [5, 5, 5, 3],
        "requested_time": [5, 9, 5, 3],
        "nodes": [2, 2, 4, 2],
    }
    workload = Workload(pd.DataFrame(jobs), "two ends")
    per_instant, per_event = (
        audit(simulate_easy(workload, System.of(4), decide=decide)).start_time.tolist()
        for decide in DECIDE
    )
    assert per_instant == [0, 0, 5, 10]
    assert per_event == [0, 0, 8, 5]


def test_a_submission_may_find_another_head_where_scores_grow():
    """At t=1 job 1 is the head, which leaves no node over. By t=10 job 2 has the highest score, and
    leaves nodes over at t=100: job 3 may start, though neither has a node come free nor does the
    job that has just been submitted fit.
    """
    jobs = {
        "submit_time": [0, 1, 1, 1, 10],
        "run_time": [100, 10, 10, 150, 1],
        "requested_time": [100, 1000, 20, 150, 1],
        "nodes": [8, 10, 5, 1, 9],
    }
    workload = Workload(pd.DataFrame(jobs), "growing scores")
    starts = audit(simulate_easy(workload, System.of(10), order="wfp")).start_time.tolist()
    assert starts[3] == 10
    assert starts == naive.easy_starts(workload.jobs, 10, "wfp")


SCORED = """
submit_time run_time requested_time nodes  SAF LXF UNICEF
          0       10             10     4    0   0      0
          1        8            8.5     2   20  16     10
          2        4              4     4   16  12     18
          3        2              2     1   10  10     10
          4        6              6     1   10  16     10
"""  # on four nodes, without backfilling; at t=10 UNICEF: 1.06, 1, inf, inf; LXF: 2.06, 3, 4.5, 2


def test_golden_table_of_scores_without_backfilling():
    jobs = pd.read_csv(StringIO(SCORED), sep=r"\s+")
    workload = Workload(jobs[["submit_time", "run_time", "requested_time", "nodes"]], "golden")
    for order in ("SAF", "LXF", "UNICEF"):
        schedule = audit(simulate_fcfs(workload, System.of(4), order=order))
        assert schedule.start_time.tolist() == jobs[order].tolist(), order


@pytest.mark.parametrize(
    ("order", "scores"),
    [
        ("F1", (2 * 4 + 870 * 3, 4 * 1 + 870 * 0)),
        ("F2", (10 * 4 + 25_600 * 3, 100 * 1 + 25_600 * 0)),
        ("F3", (100 * 4 + 6_860_000 * 3, 10_000 * 1 + 6_860_000 * 0)),
        ("F4", (100 * 2 + 530_000 * 3, 10_000 * 1 + 530_000 * 0)),
    ],
)
def test_learned_scores_by_hand(order, scores):
    """Jobs of 100 s on 4 nodes, 1,000 s after the first, and of 10,000 s on one, the first."""
    jobs = {"submit_time": [7, 1007], "run_time": 1, "requested_time": [1e4, 100], "nodes": [1, 4]}
    workload = Workload(pd.DataFrame(jobs))
    run = prepare(workload, System.of(4), order, False, requested_time=True)
    assert run.rank.tolist() == pytest.approx(scores[::-1], rel=1e-15)


@pytest.mark.parametrize("simulate", POLICIES.values(), ids=POLICIES)
@settings(max_examples=20)
@given(workload=workloads(max_nodes=NODES, overruns=True), order=st.sampled_from(ORDERS))
def test_orders_do_not_depend_on_when_a_log_begins(simulate, workload, order):
    late = Workload(workload.jobs.assign(submit_time=workload.jobs["submit_time"] + 4096.0))
    starts = simulate(workload, System.of(NODES), order=order).start_time + 4096.0
    assert simulate(late, System.of(NODES), order=order).start_time.tolist() == starts.tolist()


@pytest.mark.parametrize("simulate", POLICIES.values(), ids=POLICIES)
def test_orders_have_other_names_in_papers(simulate):
    for alias, order in ALIASES.items():
        same, named = (simulate(crowd(60), System.of(NODES), order=name) for name in (alias, order))
        assert same.start_time.tolist() == named.start_time.tolist()
        assert same.policy == named.policy


def test_policies_are_named_after_their_knobs():
    workload = Workload(
        pd.DataFrame({"submit_time": [0], "run_time": [1], "requested_time": [1], "nodes": [1]})
    )
    assert simulate_fcfs(workload, System.of(1), order="largest").policy == "FCFS (largest)"
    assert simulate_easy(workload, System.of(1)).policy == "EASY"
    assert simulate_easy(workload, System.of(1), order="sjbf", decide="per_event").policy == (
        "EASY (per event, sjbf)"
    )
    assert simulate_easy(workload, System.of(1), extra_nodes=False).policy == (
        "EASY (no extra nodes)"
    )
    assert simulate_first_fit(workload, System.of(1)).policy == "first fit"
    assert simulate_first_fit(workload, System.of(1), order="wfp", decide="per_event").policy == (
        "first fit (per event, wfp)"
    )


@pytest.mark.parametrize("simulate", POLICIES.values(), ids=POLICIES)
def test_an_unknown_order_is_refused_by_name(simulate):
    workload = Workload(
        pd.DataFrame({"submit_time": [0], "run_time": [1], "requested_time": [1], "nodes": [1]})
    )
    message = "order='random'; expected one of 'submit', 'shortest', 'longest', 'smallest', "
    with pytest.raises(ValueError, match=message):
        simulate(workload, System.of(1), order="random")


def test_an_unknown_way_to_decide_is_refused_by_name():
    workload = Workload(
        pd.DataFrame({"submit_time": [0], "run_time": [1], "requested_time": [1], "nodes": [1]})
    )
    for simulate in (simulate_easy, simulate_first_fit):
        with pytest.raises(ValueError, match="decide='often'; expected one of 'per_instant', 'per"):
            simulate(workload, System.of(1), decide="often")
    with pytest.raises(ValueError, match="extra_nodes=1; expected True or False"):
        simulate_easy(workload, System.of(1), extra_nodes=1)


def test_orders_by_request_need_requested_times_and_others_do_not():
    workload = Workload(pd.DataFrame({"submit_time": [0, 0], "run_time": [3, 4], "nodes": [3, 2]}))
    assert simulate_fcfs(workload, System.of(4), order="smallest").start_time.tolist() == [4, 0]
    for order in sorted({*ORDERS} - {"submit", "smallest", "largest", "sjbf"}):
        with pytest.raises(InvalidWorkloadError, match="job 0 has no requested_time"):
            simulate_fcfs(workload, System.of(4), order=order)
