"""Idle nodes by stretch, nodes to lend, nodes freed for a burst, in closed form."""

import numpy as np
import pandas as pd
import pytest

from cosimlib.eviction import EvictionProblem, solve_dynamic
from cosimlib.report.bursts import freeable_nodes, mean_costs
from cosimlib.report.idle import fill_idle, filled_window, idle_by_length, lendable_nodes
from cosimlib.schedule import Schedule
from cosimlib.system import THETA, System
from cosimlib.units import HOUR, MINUTE
from cosimlib.workload import Workload


def scheduled(jobs: list[tuple], nodes: int) -> Schedule:
    """A recorded schedule of jobs given as start, run time, requested time (h) and nodes."""
    columns = ["recorded_start", "run_time", "requested_time", "nodes"]
    table = pd.DataFrame(jobs, columns=columns)
    table[columns[:3]] *= HOUR
    table = table.sort_values("recorded_start", ignore_index=True)
    return Schedule.recorded(
        Workload(table.assign(submit_time=table["recorded_start"]), "log", System.of(nodes))
    )


def test_stretches_of_idleness_take_the_last_node_first():
    """Ten nodes: 4 idle for 10 h, and 6 more of them for the 2 h between two jobs."""
    schedule = scheduled([(0, 4, 4, 6), (6, 4, 4, 6)], nodes=10)
    table = idle_by_length(schedule, 0, 10 * HOUR)
    assert table["node_hours"].to_dict() == {
        "under 5 min": 0, "5–15 min": 0, "15–60 min": 0, "1–4 h": 12, "4–24 h": 40, "over a day": 0,
    }  # fmt: skip
    assert table["share"].sum() == pytest.approx(52 / 100)


def test_nodes_to_lend_are_the_fewest_idle_over_the_lease():
    schedule = scheduled([(0, 4, 4, 6), (6, 4, 4, 6)], nodes=10)
    table = lendable_nodes(schedule, 0, 10 * HOUR, leases=(1, 2, 4, 48)).set_index("hours")
    assert table.index.tolist() == [1, 2, 4], "no lease longer than the window"
    assert table["mean"].tolist() == [(8 * 4 + 2 * 10) / 10, (8 * 4 + 10) / 9, 4]
    assert (table["p10"] == 4).all()
    assert lendable_nodes(schedule, 0, 10.0).empty


def test_a_record_that_overruns_its_machine_has_no_idle_nodes():
    schedule = scheduled([(0, 4, 4, 6), (0, 4, 4, 6)], nodes=10)
    assert idle_by_length(schedule, 0, 4 * HOUR)["node_hours"].sum() == 0
    assert freeable_nodes(schedule, np.array([HOUR])).nodes["idle"].tolist() == [0] * 4


def test_ends_count_by_request_and_never_what_is_past():
    """Ten minutes before its requested end a job of 3 nodes is due; one of 2 outlived its own."""
    schedule = scheduled([(0, 4, 2, 3), (0, 4, 1, 2)], nodes=8)
    at = 2 * HOUR - 10 * MINUTE
    table = freeable_nodes(schedule, np.array([at])).nodes.set_index("deadline")
    assert table["idle"].tolist() == [3] * 4 and table["ending"].tolist() == [0, 0, 3, 3]
    assert table["saved"].tolist()[0] == 0
    nothing = freeable_nodes(scheduled([(0, 4, 2, 3)], nodes=8), np.empty(0))
    assert nothing.nodes.empty and mean_costs(nothing).empty
    unknown = scheduled([(0, 4, np.nan, 3)], nodes=8)
    assert (freeable_nodes(unknown, np.array([at])).nodes["ending"] == 0).all()


def test_costs_are_those_of_the_optimal_plan():
    schedule = scheduled([(0, 9, 12, 3), (0.5, 9, 12, 4), (0.7, 9, 12, 2)], nodes=10)
    at, system = 3.3 * HOUR, THETA.with_nodes(10)
    costs = freeable_nodes(schedule, np.array([at]), shares=(0.1, 0.5, 1.0), seed=5).costs
    for (deadline, wanted), row in costs.groupby(["deadline", "nodes"]):
        knobs = {"horizon": deadline * MINUTE, "system": system, "seed": 5}
        need = wanted - 1  # one node is idle
        problem = EvictionProblem.from_schedule(schedule, at=at, nodes_needed=need, **knobs)
        assert row["loss"].tolist() == [solve_dynamic(problem).loss[-1]]
    table = mean_costs(freeable_nodes(schedule, np.array([at, at + HOUR])))
    assert table["within"].unique().tolist() == [
        "at once",
        *(f"within {m} min" for m in (5, 10, 15)),
    ]
    assert (table["p90"] >= 0).all() and table["percent"].iloc[-1] == 75


def test_an_empty_machine_is_free():
    schedule = scheduled([(0, 1, 1, 3), (9, 1, 1, 3)], nodes=8)
    freeable = freeable_nodes(schedule, np.array([5 * HOUR]))
    assert (freeable.nodes["idle"] == 8).all() and (freeable.costs["loss"] == 0).all()


def test_fillers_take_what_is_idle_in_the_window():
    schedule = scheduled([(0, 4, 4, 6), (6, 4, 4, 6)], nodes=10)
    plain, *filled = fill_idle(schedule.workload, schedule.system, 0, 10 * HOUR)
    assert [run.policy for run in filled[:2]] == ["filling A", "filling B, save"]
    assert plain.policy == "not filled" and plain.containers.empty
    assert all(run.utilization(0, 10 * HOUR) == pytest.approx(1) for run in filled)


def test_fillers_are_measured_while_jobs_come_and_run():
    """Recorded for ten hours more than a replay takes; jobs come from half a minute on."""
    schedule = scheduled([(0.5 / 60, 4, 4, 6), (10, 4, 4, 6)], nodes=10)
    jobs = schedule.workload.jobs.assign(submit_time=30.0)
    runs = fill_idle(Workload(jobs, "log", System.of(10)), System.of(10), 0, 14 * HOUR)
    first, last = filled_window(runs, 0, 14 * HOUR)
    assert (first, last) == (MINUTE, MINUTE + 8 * HOUR)
    assert all(run.utilization(first, last) == pytest.approx(1) for run in runs[1:])
    assert filled_window(runs, 20 * HOUR, 22 * HOUR) == (last - 2 * HOUR, last)
    assert filled_window(runs, HOUR, 2 * HOUR) == (HOUR, 2 * HOUR)


def test_fillers_are_saved_as_often_as_young_has_it():
    """Ten nodes idle for 6 h, when a job comes that wants six: of 3,600 slots, six kills.

    The four others run on for its 4 h, 960 slots more: √(2 · 0.1 · 4,560 / 6) is 12 slots.
    """
    schedule = scheduled([(0, 0.1, 0.1, 10), (6.1, 4, 4, 6)], nodes=10)
    plain, _, saved, often = fill_idle(schedule.workload, schedule.system, 0.1 * HOUR, 10.1 * HOUR)
    assert often.policy == "filling C, 12 slots"
    assert (often.start_time == plain.start_time).all()
    assert saved.start_time[1] == plain.start_time[1] + MINUTE


def test_fillers_that_are_never_killed_need_no_saves():
    schedule = scheduled([(0, 10, 10, 6)], nodes=10)
    *_, often = fill_idle(schedule.workload, schedule.system, 0, 10 * HOUR)
    assert often.policy == "filling C, 600 slots" and often.containers["saved"].all()
