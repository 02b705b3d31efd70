"""The simulation: the plain version start by start, laws, and settings by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from cosimlib.audit import InfeasibleScheduleError, audit
from cosimlib.batch import simulate_fcfs as fcfs
from cosimlib.slurm import (
    QOS,
    Association,
    Limits,
    Node,
    Partition,
    PreemptionSettings,
    PrioritySettings,
    SchedulerSettings,
    Site,
    simulate,
)
from cosimlib.slurm.bits import count_bits, sets_of, size_of
from cosimlib.slurm.schedule import system_of
from cosimlib.system import System
from cosimlib.units import DAY
from cosimlib.workload import Workload
from tests.cosimlib.slurm import naive
from tests.cosimlib.slurm.cases import naive_jobs, random_site, random_workload
from tests.strategies import workloads
from tests.suites import THOROUGH


def compare(seed, preempts=False):
    rng = np.random.default_rng(seed)
    site = random_site(rng, preempts)
    workload = random_workload(rng, site, longest=1200 if preempts else 600)
    jobs = naive_jobs(workload, site)
    plain = naive.Slurm(site, jobs)
    plain.simulate()
    schedule = simulate(workload, site)
    expected = [(job.start, job.end, sorted(job.where)) for job in jobs]
    wanted = workload.jobs["nodes"].to_numpy()
    nodes = np.split(schedule.node, np.cumsum(wanted)[:-1])
    got = [
        (start, end, sorted(node[node >= 0].tolist()))
        for start, end, node in zip(schedule.start_time, schedule.end_time, nodes, strict=True)
    ]
    for job, (one, other) in enumerate(zip(got, expected, strict=True)):
        same = np.array_equal(one[:2], other[:2], equal_nan=True) and one[2] == other[2]
        assert same, f"seed {seed}: job {job} is {one}; the plain version has {other}"
    stopped = schedule.preempted.assign(nodes=schedule.preempted["nodes"].map(list))
    assert stopped.to_numpy().tolist() == [list(one) for one in plain.preempted], f"seed {seed}"
    if preempts:
        return len(stopped)
    return sum(job.start > job.eligible for job in jobs)


def test_starts_and_nodes_are_those_of_the_plain_version():
    waited = sum(compare(seed) for seed in range(500 if THOROUGH else 60))
    assert waited > 100


def test_jobs_that_are_preempted_are_those_of_the_plain_version():
    stopped = [compare(seed, preempts=True) for seed in range(1000, 1500 if THOROUGH else 1060)]
    assert sum(stopped) > 25 and sum(one > 0 for one in stopped) > 10


def test_sets_of_nodes_are_counted():
    sets = np.random.default_rng(5).random((60, 200)) < np.linspace(0, 1, 60)[:, None]
    sets[-1] = True
    packed = sets_of(sets)
    assert [size_of(one) for one in packed] == sets.sum(axis=1).tolist()
    assert [sum(map(count_bits, one)) for one in packed] == sets.sum(axis=1).tolist()


@pytest.mark.parametrize("seed", range(4000, 4012))
def test_a_pass_that_ends_early_misses_no_start(seed):
    """A deep queue of jobs that run much shorter than their limits, then hours without any event.

    Backfill has room for all plans of the queue, so that where a pass ends decides nothing.
    """
    rng = np.random.default_rng(seed)
    site = random_site(rng)
    scheduler = replace(site.scheduler, backfill=True, queue_depth=1, bf_max_job_test=300)
    site = replace(site, scheduler=replace(scheduler, bf_interval=30.0, interval=600.0))
    jobs = random_workload(rng, site, size=30, longest=300).jobs
    later = jobs.index >= 20
    jobs["submit_time"] += np.where(later, 20_000, 0)
    jobs["eligible_time"] += np.where(later, 20_000, 0)
    jobs["run_time"] = np.where(jobs.index % 7 == 0, 9_000, jobs["run_time"])
    jobs["requested_time"] = jobs["run_time"] + rng.integers(0, 3, len(jobs)) * 4_000
    workload = Workload(jobs, "quiet")
    plain = naive.Slurm(site, naive_jobs(workload, site))
    plain.simulate()
    schedule = simulate(workload, site)
    assert schedule.start_time.tolist() == pytest.approx([j.start for j in plain.jobs], nan_ok=True)


def preempting(**settings):
    """Four nodes; partition `high` takes those of `low`."""
    low, high = (
        Partition(name, (0, 1, 2, 3), tier=tier) for name, tier in [("low", 1), ("high", 2)]
    )
    preemption = PreemptionSettings(**{"by": "partition", "mode": "REQUEUE"} | settings)
    partitions = {"low": low, "high": high}
    return replace(plain_site(4), partitions=partitions, preemption=preemption)


def test_a_job_of_a_higher_tier_stops_the_smallest_jobs():
    """Jobs 0 to 2 have the machine; job 3 needs one node, which it takes from job 1."""
    low = ["low"] * 3
    jobs = jobs_of(
        submit_time=[0, 0, 0, 10], run_time=500, nodes=[2, 1, 1, 1], partition=[*low, "high"]
    )
    schedule = simulate(jobs, preempting())
    assert schedule.preempted.to_numpy().tolist() == [[1, 0, 11, 3, True, (2,)]]
    assert schedule.start_time[[0, 2]].tolist() == [0, 0]
    assert schedule.start_time[3] == pytest.approx(11, abs=1e-5)
    # Job 1 waits for two minutes and a second before it may start again, from its beginning.
    assert schedule.start_time[1] >= 132 and schedule.restarts.tolist() == [0, 1, 0, 0]
    assert schedule.end_time[1] == schedule.start_time[1] + 500


def test_jobs_that_may_not_be_requeued_are_cancelled():
    jobs = jobs_of(submit_time=[0, 10], run_time=500, nodes=4, partition=["low", "high"])
    schedule = simulate(jobs, preempting(requeue=False))
    assert schedule.preempted["requeued"].tolist() == [False]
    assert schedule.end_time[0] == 11 and schedule.restarts[0] == 0


def test_a_job_that_is_exempt_runs_on_for_a_while():
    jobs = jobs_of(submit_time=[0, 10], run_time=500, nodes=4, partition=["low", "high"])
    schedule = simulate(jobs, preempting(exempt_time=100.0))
    assert schedule.preempted["end"].tolist() == [121]  # the full pass of t=120, and a second


@pytest.mark.parametrize(("reset", "first"), [("NONE", "ben"), ("DAILY", "anna")])
def test_a_reset_forgets_what_was_used(reset, first):
    """Anna used more before midnight, Ben less after it; then both wait while Cleo runs."""
    users = ("anna", "ben", "cleo")
    tree = (
        Association("root"),
        Association("lab", "", "root", 1),
        *(Association("lab", user, "lab", 1) for user in users),
    )
    priority = PrioritySettings(fair_share=1_000, half_life=0.0, reset=reset)
    site = replace(plain_site(1), associations=tree, priority=priority)
    jobs = jobs_of(
        submit_time=[0.0, DAY + 100, DAY + 3_000, DAY + 3_100, DAY + 3_100],
        run_time=[500.0, 200, 400, 100, 100],
        user=["anna", "ben", "cleo", "anna", "ben"],
        account="lab",
    )
    schedule = simulate(jobs, site)
    order = dict(zip(schedule.start_time[3:].tolist(), ("anna", "ben"), strict=True))
    assert order[min(order)] == first


PLAIN = PrioritySettings(multifactor=False)


def plain_site(nodes=8, **scheduler):
    """One partition of whole nodes, first come, first served."""
    partitions = {"main": Partition("main", tuple(range(nodes)), exclusive=True)}
    loops = SchedulerSettings(**{"backfill": False, "queue_depth": 1000} | scheduler)
    each = tuple(Node(f"n{number}") for number in range(nodes))
    return Site("plain", each, partitions, priority=PLAIN, scheduler=loops)


def jobs_of(**columns):
    times = {"submit_time": 0, "run_time": 100, "requested_time": 600, "nodes": 1}
    return Workload(pd.DataFrame(times | columns), "W")


@settings(max_examples=100)
@given(workloads())
def test_without_weights_and_backfill_it_is_fcfs(workload):
    schedule = simulate(workload, plain_site(least_interval=0.0))
    assert schedule.start_time.tolist() == fcfs(workload, System.of(8)).start_time.tolist()
    assert schedule.end_time.tolist() == (schedule.start_time + workload.jobs["run_time"]).tolist()


@pytest.mark.parametrize("seed", range(12))
def test_scaled_shares_and_shifted_times_change_nothing(seed):
    rng = np.random.default_rng(seed)
    site = random_site(rng)
    workload = random_workload(rng, site)
    schedule = simulate(workload, site)
    scaled = tuple(replace(one, shares=one.shares * 16) for one in site.associations)
    other = simulate(workload, replace(site, associations=scaled))
    assert np.array_equal(other.start_time, schedule.start_time, equal_nan=True)
    assert np.array_equal(other.node, schedule.node)
    times = ["submit_time", "eligible_time"]
    shifted = workload.jobs.assign(**{name: workload.jobs[name] + 7200 for name in times})
    other = simulate(Workload(shifted), site)
    assert np.array_equal(other.start_time - 7200, schedule.start_time, equal_nan=True)


def test_a_partition_stops_at_its_first_job_that_does_not_fit():
    """Jobs 0 and 1 have two of three nodes; job 2 needs all three and holds up job 3."""
    workload = jobs_of(submit_time=[0, 0, 1, 2], nodes=[1, 1, 3, 1], run_time=[50, 100, 10, 10])
    assert simulate(workload, plain_site(3)).start_time.tolist() == [0, 0, 100, 110]
    # Backfill looks after 30 s: job 3 could run beyond t=600, when job 2 can start by the limits.
    late = simulate(workload, plain_site(3, backfill=True)).start_time.tolist()
    assert late == [0, 0, 100, 110]
    short = Workload(workload.jobs.assign(requested_time=[600, 600, 600, 60]))
    assert simulate(short, plain_site(3, backfill=True)).start_time.tolist() == [0, 0, 100, 30]


def test_jobs_that_outlive_their_limit_end_after_it():
    workload = jobs_of(run_time=[100, 1000, 65], requested_time=[60, 60, 60])
    site = plain_site(over_time_limit=0.0, kill_wait=30.0)
    assert simulate(workload, site).end_time.tolist() == [90, 90, 65]


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"partition": "west"}, "InvalidPartition"),
        ({"nodes": 9}, "BadConstraints"),
        ({"constraint": "fast"}, "BadConstraints"),
        ({"qos": "gold"}, "InvalidQOS"),
        ({"qos": "barred"}, "PartitionQOS"),
        ({"requested_time": 7200}, "PartitionTimeLimit"),
        ({"nodes": 7}, "PartitionNodeLimit"),
        ({"qos": "short", "requested_time": 900}, "QOSMaxWallDurationPerJobLimit"),
        ({"qos": "small", "nodes": 3}, "QOSMaxNodePerJobLimit"),
        ({"qos": "closed"}, "QOSGrpJobsLimit"),
    ],
)
def test_jobs_that_are_refused(columns, reason):
    qos = {
        "normal": QOS("normal"),
        "barred": QOS("barred"),
        "short": QOS("short", limits=Limits(wall_time=600)),
        "small": QOS("small", limits=Limits(tres_per_job={"node": 2})),
        "closed": QOS("closed", limits=Limits(group_jobs=0)),
    }
    site = plain_site()
    main = replace(site.partitions["main"], max_time=3600, max_nodes=6, deny_qos=("barred",))
    wide = replace(main, max_nodes=9) if columns.get("nodes") == 9 else main
    site = replace(site, partitions={"main": wide}, qos=qos, enforce=frozenset({"limits"}))
    schedule = simulate(jobs_of(**{"nodes": 1} | columns, submit_time=[0]), site)
    assert schedule.refused.to_numpy().tolist() == [[0, reason]]


def test_submissions_beyond_a_limit_are_refused():
    qos = {"normal": QOS("normal", limits=Limits(submitted_per_user=2))}
    site = replace(plain_site(1), qos=qos, enforce=frozenset({"limits"}))
    schedule = simulate(jobs_of(submit_time=[0, 1, 2, 150], user="ann"), site)
    assert schedule.refused.to_numpy().tolist() == [[2, "QOSMaxSubmitJobPerUserLimit"]]
    assert schedule.start_time[3] == 200


def test_what_is_not_modeled_is_named():
    site = replace(plain_site(), preemption=PreemptionSettings(by="qos", mode="SUSPEND,GANG"))
    named = simulate(jobs_of(nodes=[1]), site).not_modeled
    assert [one.value for one in named] == ["SUSPEND,GANG"] * 2
    assert simulate(jobs_of(nodes=[1]), plain_site()).not_modeled == ()


def test_nobody_comes():
    nobody = jobs_of(nodes=[1]).keep(np.array([False]), "nobody")
    assert simulate(nobody, plain_site()).start_time.tolist() == []


# --- audit ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3000, 3030))
def test_schedules_are_feasible(seed):
    rng = np.random.default_rng(seed)
    site = random_site(rng, preempts=bool(seed % 2))
    audit(simulate(random_workload(rng, site, longest=1200), site))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start_time": [5, 0, 30]}, "job 0 starts at t=5; it may not before t=10"),
        ({"end_time": [70, 900, 210]}, "ends at t=900; it runs 100 s at most"),
        ({"node": [0, 0, 0, 1, 2]}, "job 1 is on 1 different nodes; it asks for 2"),
        ({"node": [0, 1, 2, 0, 3]}, "job 2 is on node 3, which is not of partition main"),
        ({"node": [1, 1, 2, 0, 2]}, "2 cores of node 1 are taken at t=60; it has 1"),
    ],
)
def test_infeasible_schedules_are_refused(change, message):
    times = {"submit_time": [0, 0, 0], "eligible_time": [10.0, 0, 0], "run_time": [10, 100, 100]}
    jobs = jobs_of(**times, nodes=[1, 2, 2], partition="main")
    schedule = simulate(jobs, plain_site(3))
    audit(schedule)
    arrays = {name: np.array(values, float) for name, values in change.items() if name != "node"}
    if "node" in change:
        arrays["node"] = np.array(change["node"])
    with pytest.raises(InfeasibleScheduleError, match=message):
        audit(replace(schedule, **arrays))


def test_a_site_is_a_system_whose_types_are_runs_of_equal_nodes():
    small, big = (4, 1024.0, {}), (8, 2048.0, {"gpu": 2})
    nodes = [
        Node(f"n{row}", *kind[:2], gres=kind[2]) for row, kind in enumerate([small, small, big])
    ]
    system = system_of(Site("three", (*nodes, Node("last", 4, 1024.0)), {}))
    kinds = [(one.count, one.cores, one.memory, one.gpus) for one in system.node_types]
    assert kinds == [(2, 4, 1.0, 0), (1, 8, 2.0, 2), (1, 4, 1.0, 0)]
