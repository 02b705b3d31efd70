"""Bursts on a batch machine: closed forms, the oracle second by second, and laws."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib import metrics
from cosimlib.audit import audit
from cosimlib.batch import simulate_easy
from cosimlib.calendar import Calendar
from cosimlib.ondemand import POLICIES, Checkpoints, Evict, Notice, Reserve, simulate_ondemand
from cosimlib.ondemand.kernel import simulate
from cosimlib.system import System
from cosimlib.units import HOUR
from cosimlib.workload import Workload
from tests.cosimlib.ondemand.instances import (
    Instance,
    arguments,
    draw,
    draw_windows,
    schedule_of,
    theirs,
)
from tests.strategies import workloads
from tests.suites import THOROUGH

MACHINE = System(
    "small", {"main": 8}, memory_per_node=10.0, aggregate_bandwidth=8.0, node_bandwidth=2.0
)
EVICTING = [policy for policy in POLICIES if policy not in ("wait", "reserve", "share")]
FULL_SPEED = [policy for policy in POLICIES if policy not in ("shrink", "share")]


def workload_of(*rows, name="made up") -> Workload:
    """Jobs of submission, run time, requested time, nodes."""
    columns = ["submit_time", "run_time", "requested_time", "nodes"]
    return Workload(pd.DataFrame(rows, columns=columns), name)


def bursts_of(*rows) -> Workload:
    """Bursts of submission, run time, nodes, longest delay, notice, expected time."""
    columns = ["submit_time", "run_time", "nodes", "longest_delay", "notice_time", "expected_time"]
    return Workload(pd.DataFrame(rows, columns=columns), "bursts")


BATCH = workload_of((0, 10_000, 10_000, 5), (0, 10_000, 10_000, 3))
ONE = bursts_of((5_000, 100, 4, 60, np.nan, np.nan))


NO_CHECKPOINTS = Checkpoints(interval=None)


def run(jobs=BATCH, bursts=ONE, **knobs):
    knobs = {"checkpoints": NO_CHECKPOINTS} | knobs
    return audit(simulate_ondemand(jobs, MACHINE, bursts, **knobs))


def test_kill_starts_at_once_and_does_the_work_again():
    """The job of 5 nodes alone is wide enough, and has done 5,000 s that no checkpoint holds."""
    schedule = run(policy="kill")
    assert schedule.start_time.tolist() == [0, 0, 5_000]
    assert schedule.end_time.tolist() == [15_100, 10_000, 5_100]
    hours = schedule.node_hours_by_use(0, 20_000) * HOUR
    assert hours.round(6).to_dict() == {"run": 80_000 + 400, "killed": 25_000}
    evictions = schedule.evictions[["job", "action", "done", "kept"]]
    assert evictions.to_dict("list") == {
        "job": [0],
        "action": ["kill"],
        "done": [5_000],
        "kept": [0],
    }


def test_application_checkpoints_are_what_a_killed_job_goes_on_from():
    """It did 5,000 s, of which 3,600 are saved; rereading takes what writing would have taken."""
    schedule = run(policy="kill", checkpoints=Checkpoints(3_600.0))
    write = schedule.checkpoints["app_write"][0]
    assert write >= 1 and write % 1 == 0
    assert schedule.end_time[0] == 5_100 + write + 6_400
    hours = schedule.node_hours_by_use(0, 20_000) * HOUR
    assert hours.to_dict() == {
        "run": pytest.approx(80_400),
        "killed": pytest.approx(5 * 1_400),
        "reread": pytest.approx(5 * write),
    }


def test_a_system_level_checkpoint_delays_the_burst_and_loses_nothing():
    schedule = run(policy=Evict("dynamic", step=1.0))
    write = schedule.checkpoints["sys_write"][0]
    assert schedule.start_time[2] == 5_000 + write
    assert schedule.bursts["delay"].tolist() == [write]
    assert not schedule.bursts["missed"].any()
    assert schedule.end_time[0] == 5_000 + write + 100 + write + 5_000
    hours = schedule.node_hours_by_use(0, 20_000) * HOUR
    assert hours.round(6).to_dict() == {
        "run": 80_400,
        "checkpoint": 5 * write,
        "reread": 5 * write,
    }


def test_the_deadline_decides_between_loss_and_delay():
    """Killing loses 25,000 node-seconds; a checkpoint takes `write` seconds."""
    write = run(policy=Evict("dynamic", step=1.0)).checkpoints["sys_write"][0]
    worth = 25_000 / write
    for knobs, starts in (
        ({"deadline": "earliest"}, 5_000),
        ({"deadline": "weighted", "weight": worth * 1.01}, 5_000),
        ({"deadline": "weighted", "weight": worth * 0.99}, 5_000 + write),
        ({"deadline": "weighted", "weight": 0.0}, 5_000 + write),
    ):
        assert run(policy=Evict("dynamic", step=1.0, **knobs)).start_time[2] == starts


def test_of_deadlines_that_are_as_good_the_earliest_is_taken():
    """Notice comes when the job has just saved its work: a kill loses as little as a checkpoint,
    and by 5,000 s either is done."""
    told = bursts_of((5_000, 100, 4, 60, 4_000, 5_000))
    for deadline in ("earliest", "least_loss", "weighted"):
        policy, notice = Evict("greedy", step=1.0, deadline=deadline), Notice("prepare", lead=1_000)
        hourly = Checkpoints(1_000.0)
        schedule = run(bursts=told, policy=policy, notice=notice, checkpoints=hourly)
        assert schedule.evictions["action"].tolist() == ["kill"]


@pytest.mark.parametrize(
    ("policy", "killed"),
    [("kill", [0, 1]), ("dynamic", [0, 1]), ("preempt", [0, 1]), ("greedy", [2, 3])],
)
def test_of_sets_that_lose_equally_little_the_one_of_the_docstring_is_taken(policy, killed):
    """Four equal jobs on all nodes, and a burst that needs two of them and must not wait."""
    jobs = workload_of(*[(0, 10_000, 10_000, 2)] * 4)
    schedule = run(jobs, bursts_of((5_000, 100, 4, 0, np.nan, np.nan)), policy=policy)
    assert schedule.evictions["job"].tolist() == killed


def test_waiting_bursts_are_first_in_the_queue_and_nobody_is_evicted():
    late = workload_of(*BATCH.jobs.itertuples(index=False), (1, 10, 10, 8))
    schedule = run(late, policy="wait")
    assert schedule.start_time.tolist() == [0, 0, 10_100, 10_000]
    assert schedule.bursts["missed"].tolist() == [True]


def test_reserved_nodes_are_free_for_bursts_and_for_jobs_that_fit_on_no_others():
    jobs = workload_of((0, 100, 100, 4), (0, 100, 100, 3), (0, 50, 50, 8))
    bursts = bursts_of((10, 20, 2, 0, np.nan, np.nan))
    schedule = run(jobs, bursts, policy=Reserve(2))
    assert schedule.start_time.tolist() == [0, 100, 200, 10]
    assert schedule.bursts["delay"].tolist() == [0]


def test_nodes_prepared_for_a_burst_are_there_when_it_comes():
    """Expected at 5,000: the checkpoint is written just before; who does not come is given up."""
    told = bursts_of((5_000, 100, 4, 60, 4_000, 5_000))
    schedule = run(bursts=told, policy=Evict("dynamic", step=1.0), notice="prepare")
    write = schedule.checkpoints["sys_write"][0]
    assert schedule.bursts["delay"].tolist() == [0]
    assert schedule.end_time[0] == 5_100 + write + 5_000 + write
    absent = bursts_of((9_000, 100, 4, 60, 4_000, 5_000))
    schedule = run(
        bursts=absent, policy=Evict("dynamic", step=1.0), notice=Notice("prepare", patience=200.0)
    )
    held = schedule.stretches[schedule.stretches["kind"] == "hold"]
    assert held["end"].max() == 5_200


def test_collecting_holds_what_is_free_from_the_notice_on():
    told = bursts_of((5_000, 100, 2, 60, 4_000, 5_000))
    jobs = workload_of((0, 10_000, 10_000, 5), (4_500, 10_000, 10_000, 2))
    schedule = run(jobs, told, policy="kill", notice="collect")
    assert schedule.start_time.tolist() == [0, 5_100, 5_000]
    assert run(jobs, told, policy="kill").start_time.tolist() == [0, 4_500, 5_000]


@pytest.mark.parametrize("policy", FULL_SPEED)
def test_the_oracle_second_by_second_sees_the_same_happen(policy):
    evicted, seeds = 0, 40 if THOROUGH else 20
    for seed in range(seeds):
        evicted += evictions_as_in_the_oracle(draw(seed, policy), f"{policy}, seed {seed}")
    assert (evicted > seeds // 2) == (policy in EVICTING)


def test_bursts_that_each_hold_a_part_of_the_machine_do_not_wait_for_ever():
    """Job 0 leaves two nodes to burst 1 and burst 2 each; nobody runs, and both need three.

    The first to collect takes a node from the other.
    """
    instance = draw(0, "shrink")
    columns = {
        "submit": [6.0, 17, 18, 19], "run": [6, 13, 8, 6], "requested": [14, 13, 6, 10],
        "nodes": [2, 3, 3, 1], "burst": [False, True, True, False], "least": [2, 1, 2, 1],
        "interval": [4.0, 2, 4, 7], "app": [3, 1, 2, 2], "sys": [6, 2, 4, 2],
        "longest": [3, 0, 10, 4], "call": [np.inf, 10, 10, np.inf],
        "expected_at": [6.0, 20, 19, 19],
    }  # fmt: skip
    rules = instance.rules | {"deadline": "earliest", "weight": 0.0, "notice": "predict"}
    rules |= {"reserved": 0, "step": 2, "patience": 2, "turn": 0.5}
    stuck = instance._replace(table=pd.DataFrame(columns), nodes=4, rules=rules)
    evictions_as_in_the_oracle(stuck, "three of four nodes each")
    assert schedule_of(stuck).start_time.tolist() == [6, 18, 31, 31]


def evictions_as_in_the_oracle(instance, where):
    """How many there are, if all that happens is the same."""
    schedule, machine = audit(schedule_of(instance)), theirs(instance)
    assert schedule.start_time.tolist() == [job.start for job in machine.jobs], where
    assert schedule.end_time.tolist() == [job.end for job in machine.jobs], where
    columns = ["job", "action", "time", "done", "kept"]
    rows = schedule.evictions[columns].itertuples(index=False, name=None)
    assert sorted(rows) == sorted(machine.evictions), where
    held = Counter(
        (second, row.job, row.nodes, row.use)
        for row in schedule.allocations.itertuples()
        for second in range(int(row.start), int(row.end))
    )
    assert held == Counter(machine.uses), where
    return len(machine.evictions)


@pytest.mark.parametrize("policy", [p for p in FULL_SPEED if p != "reserve"])
def test_the_oracle_sees_the_same_happen_where_nodes_close(policy):
    for seed in range(40 if THOROUGH else 6):
        instance = draw_windows(seed, draw(seed, policy))
        evictions_as_in_the_oracle(instance, f"{policy}, seed {seed}")


def test_a_burst_runs_into_a_window_and_a_batch_job_does_not():
    """The window of 6 nodes waits for the burst; a job of 4 that would cross it starts after it."""
    jobs = workload_of((0, 100, 100, 2), (0, 100, 100, 4), (0, 40, 40, 4))
    calendar = Calendar({"start": [50], "end": [300], "nodes": [6]})
    burst = bursts_of((45, 20, 4, 60, np.nan, np.nan))
    schedule = run(jobs, burst, policy="kill", calendar=calendar)
    assert schedule.start_time.tolist() == [0, 300, 0, 45]
    waiting = run(jobs, burst, policy="wait", calendar=calendar)
    assert waiting.start_time.tolist() == [0, 300, 0, 300]


@settings(max_examples=25)
@given(workload=workloads(overruns=True), start=st.integers(0, 30), nodes=st.integers(1, 8))
def test_without_bursts_it_is_easy_with_the_same_calendar(workload, start, nodes):
    windows = {"start": [start, start + 9], "end": [start + 12, start + 15], "nodes": nodes}
    calendar = Calendar(windows | {"kind": ["maintenance", "down"]})
    schedule = audit(simulate_ondemand(workload, MACHINE, policy="wait", calendar=calendar))
    easy = simulate_easy(workload, MACHINE, calendar=calendar)
    assert schedule.start_time.tolist() == easy.start_time.tolist()


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=25)
@given(workload=workloads(overruns=True), some=st.booleans())
def test_without_bursts_it_is_easy(policy, workload, some):
    policy = "wait" if policy == "reserve" else policy
    empty = workload.keep(np.zeros(len(workload), bool), "all") if some else None
    schedule = audit(simulate_ondemand(workload, MACHINE, empty, policy=policy))
    easy = simulate_easy(workload, MACHINE)
    assert schedule.start_time.tolist() == easy.start_time.tolist()
    assert schedule.end_time.tolist() == easy.end_time.tolist()


@pytest.mark.parametrize("policy", POLICIES)
def test_work_is_conserved_and_uses_add_up_to_the_machine(policy):
    for seed in range(100, 130 if THOROUGH else 110):
        schedule = audit(schedule_of(draw(seed, policy)))
        jobs = schedule.workload.jobs
        assert np.isfinite(schedule.end_time).all()
        first, last = 0.0, float(schedule.end_time.max())
        hours = metrics.node_hours_by_use(schedule, start=first, end=last)
        assert hours["run"] * HOUR == pytest.approx(jobs["run_time"] @ jobs["nodes"])
        assert hours.sum() * HOUR == pytest.approx(schedule.total_nodes * last)
        assert hours["idle"] > -1e-6
        late = schedule.start_time < jobs["submit_time"]
        assert not late.any()


@pytest.mark.parametrize("policy", EVICTING)
def test_all_times_may_be_shifted(policy):
    for seed in range(200, 215):
        instance = draw(seed, policy)
        moved = ["submit", "call", "expected_at"]
        later = instance._replace(
            table=instance.table.assign(**{name: instance.table[name] + 1_000 for name in moved})
        )
        before, after = schedule_of(instance), schedule_of(later)
        assert (after.end_time - before.end_time == 1_000).all()


@pytest.mark.parametrize("policy", ["kill", "dynamic"])
def test_a_log_that_outgrows_its_room_is_kept_whole(policy):
    jobs, rules = arguments(draw(7, policy))
    whole, again = simulate(jobs, rules), simulate(jobs, rules, room=1)
    for table, same in zip(whole, again, strict=True):
        np.testing.assert_array_equal(table, same)
    assert len(whole[2]) > 1


def machine_of(jobs, burst, *, nodes, writes, **rules):
    """Jobs of submission and nodes, and one burst, on a machine where times may be fractions."""
    named = ["submit", "run", "requested", "nodes"]
    table = pd.DataFrame([*jobs, burst[:4]], columns=named)
    table = table.assign(burst=[False] * len(jobs) + [True], least=table["nodes"], longest=900.0)
    table = table.assign(call=[np.inf] * len(jobs) + [burst[4]], expected_at=burst[0])
    for name, seconds in zip(("interval", "app", "sys"), writes, strict=True):
        table[name] = seconds
    known = {"deadline": "least_loss", "weight": 0.0, "notice": "ignore", "reserved": 0}
    known |= {"step": 60, "patience": 600, "turn": 0.5}
    return Instance(table, nodes, known | rules)


def test_a_write_that_is_due_before_the_one_before_it_ends_waits_for_it():
    """Sums of fractions are rounded: writes that are planned back to back overlap by a digit."""
    submits = (
        2899.1235187680522,
        2976.667079251071,
        3146.7232594960906,
        3363.5295379369,
        3527.475443488932,
    )
    jobs = [(submit, 4096.0, 4505.6, 1) for submit in submits]
    burst = (4031.4848124479154, 1000.0, 1200.0, 5, np.inf)
    instance = machine_of(jobs, burst, nodes=5, writes=(100.1, 30.0, 60.0), policy="dynamic")
    schedule = audit(schedule_of(instance))
    writes = schedule.stretches[schedule.stretches["kind"] == "write"].sort_values("start")
    assert len(writes) == 5
    assert (writes["start"].to_numpy()[1:] >= writes["end"].to_numpy()[:-1]).all()


@pytest.mark.parametrize(
    ("submit", "arrival", "interval", "kept"),
    [(2811.328, 8426.334, 3600.0, 3600.0), (2582.328, 8200.005, 100.1, 56 * 100.1)],
)
def test_a_job_that_leaves_at_its_checkpoint_keeps_it(submit, arrival, interval, kept):
    """The difference of two times in milliseconds is not exactly the progress of a checkpoint."""
    instance = machine_of(
        [(submit, 10_000.0, 10_800.0, 8)],
        (arrival, 1000.0, 1200.0, 4, arrival - 3000),
        nodes=8,
        writes=(interval, 60.0, 60.0),
        policy="preempt",
        notice="predict",
    )
    evictions = audit(schedule_of(instance)).evictions
    assert evictions["kept"].tolist() == evictions["done"].tolist() == [kept]


def test_checkpoints_of_applications_at_fractions_of_a_second_pass_the_audit():
    random = np.random.default_rng(2)
    for _ in range(20):
        submit = round(random.random() * 5000, 3)
        arrival = submit + 3580 + round(random.random() * 10, 3)
        instance = machine_of(
            [(submit, 10_000.0, 10_800.0, 8)],
            (arrival, 1000.0, 1200.0, 4, np.inf),
            nodes=8,
            writes=(3600.0, 60.0, 300.0),
            policy="dynamic",
        )
        evictions = audit(schedule_of(instance)).evictions
        assert evictions["action"].tolist() == ["app"]
        assert evictions["done"].tolist() == evictions["kept"].tolist() == [3600.0]
