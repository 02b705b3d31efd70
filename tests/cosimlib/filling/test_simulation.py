"""Containers in the holes of conservative backfilling: closed forms, the slow version, laws."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlab import twins
from cosimlib import traces
from cosimlib.audit import audit
from cosimlib.batch import simulate_conservative
from cosimlib.filling import FilledSchedule, node_seconds, simulate_filling
from cosimlib.system import System
from cosimlib.workload import Workload
from tests.cosimlib.filling.naive import Filled
from tests.strategies import workloads

NODES = 8
WAYS = {
    "none": {"policy": None},
    "A": {"policy": "A"},
    "B, save": {"policy": "B", "reclaim": "save"},
    "B, kill": {"policy": "B", "reclaim": "kill"},
    "C, 1": {"policy": "C", "save_every": 1},
    "C, 3": {"policy": "C", "save_every": 3},
}
WAY_NAMES = st.sampled_from(list(WAYS))
DEPTHS = st.sampled_from([None, 1, 2, 4])


def jobs_of(**columns) -> Workload:
    return Workload(pd.DataFrame(columns), "made up")


def at_least_one_slot(workload: Workload) -> Workload:
    """The same jobs, none of zero run time."""
    run_time = workload.jobs["run_time"].clip(lower=1)
    return Workload(workload.jobs.assign(run_time=run_time), workload.name)


def exact(workload: Workload) -> Workload:
    """The same jobs with true estimates."""
    jobs = at_least_one_slot(workload).jobs
    return Workload(jobs.assign(requested_time=jobs["run_time"]), workload.name)


def container_runs(schedule: FilledSchedule) -> Counter:
    """How often a container ran from one slot to another and was saved, or not."""
    runs: Counter = Counter()
    for row in schedule.containers.itertuples():
        steps = np.linspace(row.start_time, row.end_time, row.starts + 1)
        for begin, end in pairwise(steps):
            runs[begin, end, row.saved] += row.nodes
    return runs


def container_nodes_by_slot(schedule: FilledSchedule) -> Counter:
    """Nodes that containers hold in each slot."""
    nodes: Counter = Counter()
    for row in schedule.containers.itertuples():
        for moment in np.arange(row.start_time, row.end_time, schedule.slot):
            nodes[moment] += row.nodes
    return nodes


@given(workloads(max_nodes=NODES, overruns=True), WAY_NAMES, DEPTHS, st.booleans())
@settings(max_examples=120)
def test_agrees_with_the_slow_version(workload, way, depth, reschedule):
    workload, knobs = at_least_one_slot(workload), WAYS[way] | {"reschedule": reschedule}
    schedule = audit(
        simulate_filling(workload, System.of(NODES), slot=1, queue_depth=depth, **knobs)
    )
    slow = Filled(workload.jobs, NODES, depth=depth or len(workload), **knobs)
    jobs = range(len(workload))
    assert schedule.start_time.tolist() == [slow.starts[job] for job in jobs]
    assert schedule.promised_time.tolist() == [slow.promised[job] for job in jobs]
    assert set(np.flatnonzero(schedule.held_up)) == slow.held_up
    assert container_runs(schedule) == Counter(slow.closed)


@given(workloads(max_nodes=NODES))
@settings(max_examples=40)
def test_without_containers_it_is_conservative_backfilling(workload):
    filled = simulate_filling(workload, System.of(NODES), policy=None, slot=1)
    conservative = simulate_conservative(workload, System.of(NODES), reservations="kept")
    assert filled.start_time.tolist() == conservative.start_time.tolist()
    assert filled.containers.empty


@pytest.mark.oracles
@pytest.mark.parametrize(("file_name", "nodes"), [("kth.csv.gz", 100), ("sdsc5k.csv.gz", 128)])
def test_agrees_job_by_job_with_other_conservative_simulators(oracle_path, file_name, nodes):
    table = pd.read_csv(oracle_path(file_name))
    columns = ["job_id", "submit_time", "run_time", "requested_time", "nodes"]
    schedule = simulate_filling(Workload(table[columns]), System.of(nodes), slot=1)
    assert (schedule.start_time == table["conservative_kept"]).all()


@given(workloads(max_nodes=NODES), WAY_NAMES, DEPTHS)
@settings(max_examples=40)
def test_true_estimates_make_every_job_start_when_it_was_promised(workload, way, depth):
    schedule = simulate_filling(
        exact(workload), System.of(NODES), slot=1, queue_depth=depth, **WAYS[way]
    )
    assert schedule.start_time.tolist() == schedule.promised_time.tolist()


@given(workloads(max_nodes=NODES), WAY_NAMES, DEPTHS)
@settings(max_examples=40)
def test_where_jobs_are_not_rescheduled_each_starts_when_it_was_promised(workload, way, depth):
    knobs = WAYS[way] | {"slot": 1, "queue_depth": depth, "reschedule": False}
    schedule = simulate_filling(workload, System.of(NODES), **knobs)
    assert schedule.start_time.tolist() == schedule.promised_time.tolist()


@given(workloads(max_nodes=NODES, overruns=True), WAY_NAMES, st.sampled_from([1, 3]))
@settings(max_examples=40)
def test_terminated_by_force_no_job_outlives_its_request_nor_breaks_a_promise(workload, way, slot):
    cut = workload.jobs.assign(run_time=workload.jobs[["run_time", "requested_time"]].min(axis=1))
    killed, before = (
        audit(simulate_filling(jobs, System.of(NODES), slot=slot, **WAYS[way], **knobs))
        for jobs, knobs in ((workload, {"kill_at_request": True}), (Workload(cut), {}))
    )
    assert killed.start_time.tolist() == before.start_time.tolist()
    assert killed.jobs["run_time"].tolist() == cut["run_time"].tolist()
    assert (killed.start_time <= killed.promised_time).all()


@given(workloads(max_nodes=NODES, overruns=True), st.integers(1, 9), st.sampled_from([1, 3]))
@settings(max_examples=60)
def test_saving_every_slot_is_policy_a_and_hardly_ever_is_policy_b(workload, every, slot):
    """In between, no progress is lost that policy B keeps, and at most so many slots per kill."""
    a, b, each, seldom, some = (
        audit(simulate_filling(workload, System.of(NODES), slot=slot, overhead=0.25, **knobs))
        for knobs in (
            WAYS["A"],
            WAYS["B, kill"],
            WAYS["C, 1"],
            {"policy": "C", "save_every": 10**6},
            {"policy": "C", "save_every": every},
        )
    )
    assert node_seconds(each).to_dict() == pytest.approx(node_seconds(a).to_dict())
    pd.testing.assert_frame_equal(seldom.containers, b.containers)
    assert some.start_time.tolist() == b.start_time.tolist()
    held, kept = (container_nodes_by_slot(run) for run in (b, some))
    assert held == kept
    killed = some.containers[~some.containers["saved"]]
    assert (killed["end_time"] - killed["start_time"] < every * slot).all()
    assert node_seconds(some)["lost"] <= node_seconds(b)["lost"]


@given(workloads(max_nodes=NODES, overruns=True), st.sampled_from([1, 3, 60]))
@settings(max_examples=40)
def test_containers_that_give_way_delay_no_regular_job(workload, slot):
    starts = [
        simulate_filling(workload, System.of(NODES), slot=slot, **WAYS[way]).start_time.tolist()
        for way in ("none", "A", "B, kill", "C, 3")
    ]
    assert starts[0] == starts[1] == starts[2] == starts[3]


@given(workloads(max_nodes=NODES, overruns=True), WAY_NAMES, st.sampled_from([1, 3]))
@settings(max_examples=40)
def test_regular_jobs_containers_and_idle_nodes_add_up(workload, way, slot):
    """Node by node and slot by slot; only what a job leaves of its last slot may be idle."""
    system = System.of(NODES)
    schedule = audit(simulate_filling(workload, system, slot=slot, overhead=0.25, **WAYS[way]))
    first = np.ceil(workload.jobs["submit_time"].min() / slot) * slot
    jobs, containers = schedule.jobs, schedule.containers
    last_slot_end = np.maximum(np.ceil(jobs["end_time"] / slot) * slot, jobs["start_time"] + slot)
    moments = np.arange(first, last_slot_end.max(), slot)
    for moment in moments:
        regular = jobs["nodes"][(jobs["start_time"] <= moment) & (moment < last_slot_end)].sum()
        running = (containers["start_time"] <= moment) & (moment < containers["end_time"])
        assert regular + containers["nodes"][running].sum() == (
            NODES if WAYS[way]["policy"] else regular
        )
    use = node_seconds(schedule, start=first, end=float(last_slot_end.max()))
    remainder = float((last_slot_end - jobs["end_time"]) @ jobs["nodes"])
    assert (use >= -1e-9).all()
    assert use.sum() == pytest.approx(NODES * slot * len(moments))
    if WAYS[way]["policy"]:
        assert use["idle"] == pytest.approx(remainder)


@given(workloads(max_nodes=NODES), WAY_NAMES, st.integers(1, 50))
@settings(max_examples=40)
def test_shifted_times_shift_everything(workload, way, slots):
    """By whole slots; and twice as long slots with twice as long times are twice as long."""
    jobs, times = workload.jobs, ["submit_time", "run_time", "requested_time"]
    later = Workload(jobs.assign(submit_time=jobs["submit_time"] + 2 * slots))
    twice = Workload(jobs.assign(**{name: 2 * jobs[name] for name in times}))
    system = System.of(NODES)
    first = simulate_filling(workload, system, slot=2, **WAYS[way])
    shifted = simulate_filling(later, system, slot=2, **WAYS[way])
    stretched = simulate_filling(twice, system, slot=4, **WAYS[way])
    assert (shifted.start_time == first.start_time + 2 * slots).all()
    assert (stretched.start_time == 2 * first.start_time).all()
    assert shifted.containers["nodes"].tolist() == first.containers["nodes"].tolist()


# Six nodes; job 0 holds four of them and says 4 slots but ends after 2; job 1 wants five.
EARLY = jobs_of(submit_time=[0, 0], run_time=[120, 60], requested_time=[240, 60], nodes=[4, 5])


@pytest.mark.parametrize(
    ("way", "start", "held_up"),
    [(way, 180 if way == "B, save" else 120, way == "B, save") for way in WAYS],
)
def test_an_early_end_finds_nodes_taken_under_policy_b(way, start, held_up):
    schedule = audit(simulate_filling(EARLY, System.of(6), overhead=0.5, **WAYS[way]))
    assert schedule.start_time.tolist() == [0, start]
    assert schedule.promised_time.tolist() == [0, 240]
    assert schedule.held_up.tolist() == [False, held_up]


def test_a_job_that_no_longer_fits_a_slot_later_is_held_up_too():
    """Job 2 fits from minute 7 to 9 and not from 8 to 10, where job 1 has all; job 3 follows."""
    jobs = {"submit_time": [4, 5, 7, 10], "run_time": [5, 1, 2, 4], "nodes": [1, 6, 5, 2]}
    table = pd.DataFrame(jobs).assign(requested_time=jobs["run_time"])
    table[["submit_time", "run_time", "requested_time"]] *= 60
    runs = {way: simulate_filling(Workload(table), System.of(6), **WAYS[way]) for way in WAYS}
    starts = {way: (run.start_time / 60).tolist() for way, run in runs.items()}
    assert starts == {way: [4, 9, 7, 10] for way in WAYS} | {"B, save": [4, 9, 10, 12]}
    assert runs["B, save"].held_up.tolist() == [False, False, True, False]
    assert not any(runs[way].held_up.any() for way in WAYS if way != "B, save")


@given(workloads(max_nodes=NODES, overruns=True), DEPTHS)
@settings(max_examples=60)
def test_where_no_job_is_held_up_all_start_as_without_containers(workload, depth):
    plain, saved = (
        simulate_filling(workload, System.of(NODES), slot=1, queue_depth=depth, **WAYS[way])
        for way in ("none", "B, save")
    )
    assert saved.held_up.any() or saved.start_time.tolist() == plain.start_time.tolist()


@pytest.mark.parametrize(("reschedule", "starts"), [(True, [0, 120, 180]), (False, [0, 240, 120])])
def test_another_job_fits_the_gap_of_an_early_end_where_none_is_rescheduled(reschedule, starts):
    """The paper's parenthesis: job 0 frees its nodes two slots early, and job 2 comes just then."""
    jobs = pd.concat([EARLY.jobs, EARLY.jobs[1:].assign(submit_time=120.0)], ignore_index=True)
    knobs = {"policy": None, "reschedule": reschedule}
    schedule = audit(simulate_filling(Workload(jobs), System.of(6), **knobs))
    assert schedule.start_time.tolist() == starts


def test_a_new_job_finds_nodes_taken_under_policy_b():
    jobs = jobs_of(submit_time=[0, 120], run_time=[300, 60], requested_time=[300, 60], nodes=[3, 2])
    starts = {way: simulate_filling(jobs, System.of(6), **WAYS[way]).start_time[1] for way in WAYS}
    assert starts == dict.fromkeys(WAYS, 120) | {"B, save": 180}


def test_a_queue_that_is_limited_lets_jobs_in_as_places_come_free():
    jobs = jobs_of(
        submit_time=[0] * 3, run_time=[60, 60, 60], requested_time=[60] * 3, nodes=[6, 6, 1]
    )
    schedule = simulate_filling(jobs, System.of(6), queue_depth=1)
    assert schedule.start_time.tolist() == [0, 60, 120]


def test_times_inside_a_slot_are_seen_when_the_next_begins():
    jobs = jobs_of(submit_time=[0.5, 61], run_time=[59, 0], requested_time=[61, 1], nodes=[6, 6])
    schedule = audit(simulate_filling(jobs, System.of(6)))
    assert schedule.start_time.tolist() == [60, 120]
    assert schedule.promised_time.tolist() == [60, 120]
    # The second does nothing, and holds its nodes for a slot.
    assert schedule.containers.empty and node_seconds(schedule)["idle"] == 6 * 61


def test_a_workload_without_jobs_has_a_schedule_without_containers():
    schedule = simulate_filling(jobs_of(submit_time=[], run_time=[], nodes=[]), System.of(6))
    assert len(schedule.start_time) == 0 and schedule.containers.empty


@pytest.mark.compiled("three days need compiled kernels")
def test_a_backlog_of_lomonosov_jobs_fills_the_machine():
    workload = twins.lomonosov(3, accuracy=0.5, seed=1)
    end = 3 * 86_400.0
    for way in WAYS:
        schedule = simulate_filling(workload, workload.machine, queue_depth=30, **WAYS[way])
        use = node_seconds(audit(schedule), start=0, end=end)
        assert 0.7 < use["regular"] / use.sum() < 1
        assert (use["idle"] == 0) == (way != "none")


@pytest.mark.traces
def test_a_real_trace_is_filled(trace_path):
    workload = traces.load(trace_path("KTH-SP2-1996-2.1-cln.swf.gz"), verbose=False)
    workload = Workload(workload.jobs[:3000], workload.name, workload.machine)
    plain = simulate_filling(workload, workload.machine, policy=None)
    for way in ("A", "B, save", "B, kill", "C, 3"):
        schedule = audit(simulate_filling(workload, workload.machine, **WAYS[way]))
        use = node_seconds(schedule)
        assert use["idle"] / use.sum() < 0.005
        same = (schedule.start_time == plain.start_time).all()
        assert same == (way != "B, save")
        assert (use["lost"] > 0) == (way in ("B, kill", "C, 3"))
