"""Logs of one's own in the explorers: whatever a log lacks is supposed, and said."""

import re
from dataclasses import replace

import pandas as pd
import pytest

from cosimlab.explorers import (
    explore_batch,
    explore_coscheduling,
    explore_elastic,
    explore_eviction,
    explore_filling,
    explore_ondemand,
    explore_timesharing,
    logs,
)
from cosimlib import synthetic
from cosimlib.batch import simulate_easy
from cosimlib.metrics import busy_stretch
from cosimlib.schedule import Schedule
from cosimlib.system import THETA, System
from cosimlib.traces import read_swf
from cosimlib.traces.oddities import oversubscription
from cosimlib.workload import InvalidWorkloadError, Workload
from tests.zoo import ZOO

EXPLORERS = {
    explore_batch: ("policy", "FCFS"),
    explore_coscheduling: ("event", 2),
    explore_elastic: ("policy", "LIFO"),
    explore_eviction: ("interval", 1800.0),
    explore_filling: ("overhead", 0.2),
    explore_ondemand: ("policy", "wait"),
    explore_timesharing: ("overhead", 0.1),
}
"""A control of each, and another value of it."""

ODD = (
    "no-header",
    "no-requested-times",
    "over-committed",
    "three-jobs",
    "wider-than-the-machine",
)


def log(name: str) -> Workload:
    return read_swf(ZOO / f"{name}.swf.gz", verbose=False)


@pytest.mark.compiled("seven explorers of five logs need compiled kernels")
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ODD)
def test_every_explorer_takes_any_log(name):
    workload = log(name)
    for explore, (knob, value) in EXPLORERS.items():
        source = {"a": workload, "b": workload} if explore is explore_coscheduling else workload
        panel = explore(source, jobs=60) if explore is not explore_eviction else explore(source)
        before = panel.settings
        panel.controls[knob].value = value
        assert panel.settings != before
        told = " ".join([repr(panel), panel.text.value, panel.notes.value])
        assert "nan" not in told and " inf" not in told
        if name == "no-header":
            assert "The log names no machine; 64 nodes are assumed" in panel.notes.value
        if name == "wider-than-the-machine":
            assert "80 jobs wider than its machine are left out." in panel.notes.value


@pytest.mark.parametrize("explore", [explore_batch, explore_filling, explore_ondemand])
def test_a_schedule_is_explored_as_its_workload(explore):
    jobs = synthetic.with_scaled_estimates(synthetic.lublin(60, nodes=32, load=0.9, seed=1))
    schedule = simulate_easy(jobs, System.of(32))
    one, other = explore(schedule), explore(jobs, System.of(32))
    assert repr(one) == repr(other) and one.text.value == other.text.value


def test_records_that_hold_more_nodes_than_there_are_get_a_machine_that_has_them():
    workload = log("over-committed")
    recorded = Schedule.recorded(workload)
    panel = explore_elastic(recorded)
    held = oversubscription(recorded).most
    assert panel.controls["preempted"].max == held > recorded.total_nodes == 64
    assert f"The log holds up to {held:,} nodes at once, more than the 64" in panel.notes.value
    simulated = explore_elastic(simulate_easy(workload, workload.machine))
    assert simulated.controls["preempted"].max == 64
    moment = explore_eviction(recorded)
    assert moment.controls["nodes_needed"].max <= 64, "no moment at which more nodes are held"
    with pytest.raises(ValueError, match="a schedule has its system; leave system out"):
        explore_elastic(recorded, System.of(64))


def test_memory_and_bandwidths_are_theta_s_where_a_machine_has_none():
    workload = log("no-waits")
    own = System("mine", {"main": 64}, memory_per_node=96.0)
    panel = explore_eviction(workload, own)
    assert (
        "This log does not record when its jobs started; the starts shown are EASY's."
        in panel.notes.value
    )
    assert "as on Theta: the file system's bandwidth (250 GB/s), a node's bandwidth (2 GB/s)." in (
        panel.notes.value
    )
    assert panel.settings["bandwidth"] == THETA.aggregate_bandwidth
    whole = replace(THETA, partitions={"main": 64}, aggregate_bandwidth=10.0)
    assert explore_eviction(workload, whole).settings["bandwidth"] == 10.0
    assert "Theta" not in explore_eviction(workload, whole).notes.value


def test_moments_are_dates_where_a_log_tells_when_it_began():
    jobs = synthetic.with_scaled_estimates(synthetic.lublin(60, nodes=32, load=0.9, seed=1))
    dated = replace(jobs, began=pd.Timestamp("2024-02-28 22:00", tz="Europe/Paris"))
    schedule = simulate_easy(dated, System.of(32))
    assert "on 2024-02-2" in repr(explore_elastic(schedule))
    assert explore_elastic(schedule).picture.layout.xaxis.type == "date"
    for explore in (explore_batch, explore_filling, explore_timesharing):
        axes = explore(dated, System.of(32), jobs=40).picture.layout
        titles = [axes[axis].title.text or "" for axis in axes if axis.startswith("xaxis")]
        assert any(text.startswith("hours since 2024-02-2") for text in titles), explore
    both = {"big": dated, "small": dated}
    assert "from 2024-02-2" in explore_coscheduling(both, jobs=10).notes.value


def test_what_is_taken_of_a_log():
    workload = log("first-weeks-almost-empty")
    part = logs.busy(logs.fitting(workload), 50)
    assert part.workload.jobs.equals(busy_stretch(workload, 50).jobs)
    (note,) = part.notes
    assert note.startswith("50 of 300 jobs, submitted from day 4")
    assert logs.busy(part, 50) is part
    few = log("some-requested-times")
    filled = logs.estimated(logs.fitting(few))
    assert filled.notes == ("200 requested times are unknown; run times are taken instead.",)
    missing = few.jobs["requested_time"].isna()
    given = filled.workload.jobs["requested_time"]
    assert (given[missing] == few.jobs["run_time"][missing].clip(lower=1)).all()
    assert (given[~missing] == few.jobs["requested_time"][~missing]).all()
    with pytest.raises(InvalidWorkloadError, match="all jobs are wider than the 1 nodes of its"):
        logs.fitting(Workload(few.jobs.assign(nodes=2), "wide"), System.of(1))
    with pytest.raises(TypeError, match="system is of type dict"):
        logs.fitting(few, {"main": 3})


@pytest.mark.filterwarnings("error")
def test_a_single_job_and_jobs_that_take_no_time_are_told_in_words():
    few = synthetic.with_scaled_estimates(synthetic.lublin(30, nodes=32, seed=1))
    alone = Workload(few.jobs.head(1), "alone", System.of(32))
    assert "offered load unknown" in repr(explore_batch(alone))
    assert re.search(r"CPU load [\d.]+ jobs on a node", explore_timesharing(alone).text.value)
    idle = Workload(few.jobs.assign(run_time=0.0), "idle", System.of(32))
    told = explore_timesharing(idle).text.value
    assert "utilization unknown, CPU load unknown jobs on a node" in told
    with pytest.raises(ValueError, match="no job ever runs; expected at least one that does"):
        explore_eviction(simulate_easy(idle, System.of(32)))


@pytest.mark.parametrize(
    "explore", [explore_batch, explore_filling, explore_ondemand, explore_timesharing]
)
def test_what_cannot_be_simulated_is_named(explore):
    source = synthetic.with_scaled_estimates(synthetic.lublin(20, nodes=32, seed=1))
    with pytest.raises(TypeError, match="source is of type DataFrame; expected a Workload"):
        explore(source.jobs)
    with pytest.raises(ValueError, match="gone: no jobs; expected at least one"):
        explore(Workload(source.jobs[:0], "gone"), System.of(8))
    wide = Workload(source.jobs.assign(nodes=8), "wide")
    with pytest.raises(InvalidWorkloadError, match="jobs are wider than the 4 nodes of its"):
        explore(wide, System.of(4))
    with pytest.raises(ValueError, match="jobs=0; expected a whole number from 1"):
        explore(source, jobs=0)


@pytest.mark.parametrize("explore", [explore_batch, explore_filling, explore_ondemand])
def test_pictures_stay_light(explore):
    assert len(explore().picture.to_json()) < 200_000
