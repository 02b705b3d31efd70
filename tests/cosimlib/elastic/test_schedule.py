"""Laws of elastic schedules: what holds nodes, and that every metric counts the same."""

import numpy as np
import pytest
from hypothesis import assume, given, settings

from cosimlab import twins
from cosimlib import metrics
from cosimlib.audit import audit
from cosimlib.elastic import draw_preemptions, simulate_elastic
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import HOUR
from tests.cosimlib.elastic.instances import elastic_schedules


@settings(max_examples=60)
@given(elastic_schedules())
def test_allocations_never_hold_more_nodes_than_partitions_and_host_have(schedule):
    audit(schedule)
    assert schedule.total_nodes == 13 + schedule.spare
    table = schedule.allocations
    lent = schedule.ownership.query("owner in ['a', 'b']")
    for now in table["start"].unique():
        held = table["nodes"][(table["start"] <= now) & (now < table["end"])].sum()
        partitions = ((lent["start_time"] <= now) & (now < lent["end_time"])).sum()
        assert held <= partitions <= schedule.total_nodes


@settings(max_examples=60)
@given(elastic_schedules())
def test_metrics_equal_the_schedules_own_account(schedule):
    """Each run counts from its own start to its own end; the others are killed."""
    jobs, runs = schedule.workload.jobs, schedule.attempts
    work = float(jobs["nodes"] @ jobs["run_time"])
    assume(work > 0)
    seconds = (runs["end_time"] - runs["start_time"]).to_numpy()
    held = float(jobs["nodes"].to_numpy()[runs["job"]] @ seconds)
    assert held == pytest.approx(work + schedule.wasted_node_seconds)
    offered = schedule.total_nodes * (schedule.end_time.max() - jobs["submit_time"].min())
    assert metrics.utilization(schedule) == pytest.approx(held / offered)
    by_use = metrics.node_hours_by_use(schedule)
    assert by_use.get("killed", 0.0) == pytest.approx(schedule.wasted_node_seconds / HOUR)
    assert by_use["run"] == pytest.approx(work / HOUR)
    assert by_use.sum() == pytest.approx(offered / HOUR)
    lost = metrics.node_hours(schedule)["lost"]
    assert lost == pytest.approx(schedule.wasted_node_seconds / HOUR, abs=1e-9)


@settings(max_examples=40)
@given(elastic_schedules())
def test_allocations_are_the_nodes_of_the_runs(schedule):
    """One row per run, with as many nodes as its holdings name."""
    table = schedule.allocations
    counts = schedule.holdings.groupby("attempt")["node"].nunique()
    assert table["nodes"].tolist() == counts.reindex(range(len(table)), fill_value=0).tolist()
    assert (table["use"] == "killed").sum() == schedule.kills


def test_runs_that_are_killed_are_not_counted_as_if_jobs_ran_all_the_time():
    """Jobs killed 180 times: from first start to last end they would hold 23 of 20 nodes."""
    first = twins.peregrine()
    first = first.keep(first.jobs.index < 300, "after the first 300")
    drawn = draw_preemptions(rate=10, size=10, duration=HOUR, horizon=3 * 24 * HOUR)
    schedule = audit(simulate_elastic(first, System.of(20), preemptions=drawn))
    rigid = Schedule(first, schedule.system, "rigid", schedule.start_time, schedule.end_time)
    assert schedule.kills == 180
    measured = {
        name: [
            metrics.utilization(each),
            metrics.occupied_nodes(each).max(),
            metrics.node_hours(each)["lost"],
        ]
        for name, each in (("elastic", schedule), ("as if rigid", rigid))
    }
    assert np.round(measured["elastic"], 3).tolist() == [0.846, 20, 610.757]
    assert np.round(measured["as if rigid"], 3).tolist() == [0.964, 23, 831.396]
    by_use = metrics.node_hours_by_use(schedule)
    assert by_use["run"] == pytest.approx(977.107, abs=1e-3)
    assert by_use["killed"] == pytest.approx(schedule.wasted_node_seconds / HOUR)
