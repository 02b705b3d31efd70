"""Laws of `Schedule.allocations` for each policy of one machine, and of the audit that reads it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib import metrics
from cosimlib.audit import InfeasibleScheduleError, audit
from cosimlib.batch import simulate_conservative, simulate_easy, simulate_fcfs
from cosimlib.policies import SIMULATORS
from cosimlib.schedule import USES
from cosimlib.system import System
from cosimlib.units import HOUR
from tests.strategies import workloads

MACHINE = System.of(8)
RIGID = {"FCFS": simulate_fcfs, "EASY": simulate_easy, "conservative": simulate_conservative}


def rows(schedule) -> list[tuple]:
    """Start, end, nodes and use of each allocation."""
    table = schedule.allocations[["start", "end", "nodes", "use"]]
    return list(table.itertuples(index=False, name=None))


@pytest.mark.parametrize("policy", SIMULATORS)
@settings(max_examples=25)
@given(workload=workloads(overruns=True))
def test_nodes_held_together_never_exceed_the_machine(policy, workload):
    """Between two neighboring starts and ends nothing changes: the instants of starts suffice."""
    held = rows(SIMULATORS[policy](workload, MACHINE))
    for now, *_ in held:
        assert sum(nodes for start, end, nodes, _ in held if start <= now < end) <= 8


@pytest.mark.parametrize("policy", SIMULATORS)
@settings(max_examples=25)
@given(workload=workloads(overruns=True), first=st.integers(0, 20), length=st.integers(1, 200))
def test_node_hours_by_use_add_up_to_what_is_occupied_and_offered(policy, workload, first, length):
    schedule = SIMULATORS[policy](workload, MACHINE)
    window = {"start": float(first), "end": float(first + length)}
    by_use = metrics.node_hours_by_use(schedule, **window)
    seconds = dict.fromkeys(USES, 0.0)
    for start, end, nodes, use in rows(schedule):
        seconds[use] += nodes * max(0.0, min(end, window["end"]) - max(start, window["start"]))
    for use in set(by_use.index) - {"idle"}:
        assert by_use[use] == pytest.approx(seconds[use] / HOUR)
    occupied = metrics.hourly(metrics.occupied_nodes(schedule), length, **window).sum() * length
    assert by_use.drop("idle").sum() == pytest.approx(sum(seconds.values()) / HOUR)
    assert by_use.drop("idle").sum() == pytest.approx(occupied / HOUR)
    assert by_use.sum() == pytest.approx(8 * length / HOUR)
    held = metrics.utilization(schedule, **window)
    assert by_use["idle"] == pytest.approx((1 - held) * 8 * length / HOUR)
    parts = metrics.node_hours(schedule, **window)
    assert list(parts.index) == ["useful", "lost", "idle"]
    assert (parts >= -1e-12).all()
    assert parts.sum() == pytest.approx(8 * length / HOUR)


@pytest.mark.parametrize("policy", RIGID)
@settings(max_examples=25)
@given(workload=workloads())
def test_a_rigid_job_holds_its_nodes_once_from_start_to_end(policy, workload):
    schedule = RIGID[policy](workload, MACHINE)
    table = schedule.allocations
    assert table["job"].tolist() == list(range(len(workload)))
    assert table["start"].tolist() == schedule.start_time.tolist()
    assert (table["end"] - table["start"]).tolist() == workload.jobs["run_time"].tolist()
    assert table["nodes"].tolist() == workload.jobs["nodes"].tolist()
    assert set(table["use"]) == {"run"}
    assert metrics.node_hours(schedule)["lost"] == 0


@pytest.mark.parametrize("policy", RIGID)
@settings(max_examples=40)
@given(workload=workloads(), data=st.data())
def test_the_audit_refuses_every_start_and_end_that_is_moved(policy, workload, data):
    schedule = audit(RIGID[policy](workload, MACHINE))
    job = data.draw(st.integers(0, len(workload) - 1))
    by = data.draw(st.sampled_from([-1.0, -0.5, 1e-3, 3.0, np.nan]))
    moved = np.zeros(len(workload))
    moved[job] = by
    early = np.where(moved != 0, schedule.jobs["wait_time"] + abs(by), 0.0)
    for tampered in (
        replace(schedule, end_time=schedule.end_time + moved),
        replace(schedule, start_time=schedule.start_time + moved),
        replace(
            schedule, start_time=schedule.start_time - early, end_time=schedule.end_time - early
        ),
        replace(schedule, start_time=schedule.start_time[:-1]),
        replace(schedule, end_time=np.append(schedule.end_time, 1.0)),
    ):
        with pytest.raises(InfeasibleScheduleError, match=f"^{policy}: "):
            audit(tampered)


@pytest.mark.parametrize("policy", RIGID)
@settings(max_examples=40)
@given(workload=workloads(), data=st.data())
def test_the_audit_refuses_nodes_that_the_machine_does_not_have(policy, workload, data):
    """One node less than the busiest instant needs, or one job with more nodes than are left."""
    schedule = audit(RIGID[policy](workload, MACHINE))
    busiest = int(metrics.occupied_nodes(schedule).max())
    if busiest > 1:
        with pytest.raises(InfeasibleScheduleError, match="nodes"):
            audit(replace(schedule, system=System.of(busiest - 1)))
    audit(replace(schedule, system=System.of(busiest)))
    job = data.draw(st.integers(0, len(workload) - 1))
    start, end = schedule.start_time, schedule.end_time
    most = max(
        workload.jobs["nodes"][(start <= now) & (now < end)].sum()
        for now in start[(start >= start[job]) & (start < end[job])]
    )
    wider = workload.jobs["nodes"].copy()
    wider[job] += 8 - most + 1
    with pytest.raises(InfeasibleScheduleError, match="nodes"):
        audit(replace(schedule, workload=replace(workload, jobs=workload.jobs.assign(nodes=wider))))
