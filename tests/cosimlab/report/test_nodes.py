"""Nodes to lend, nodes freed for a burst, and fillers, in closed form."""

import numpy as np
import pandas as pd
import pytest

from cosimlab.report import lending_section, open_log
from cosimlab.report.nodes import burst_costs, fill_idle, filled_window, lendable_nodes
from cosimlib.eviction import EvictionProblem, solve_dynamic
from cosimlib.schedule import Schedule
from cosimlib.system import THETA, System
from cosimlib.units import HOUR, MINUTE
from cosimlib.workload import Workload

SLOW = System("slow", {"main": 8}, 1, 64.0, 0.001, 0.001)
"""A file system on which no checkpoint is written in time."""


def scheduled(jobs: list[tuple], nodes: int) -> Schedule:
    """A recorded schedule of jobs given as start, run time, requested time (h) and nodes."""
    columns = ["recorded_start", "run_time", "requested_time", "nodes"]
    table = pd.DataFrame(jobs, columns=columns)
    table[columns[:3]] *= HOUR
    table = table.sort_values("recorded_start", ignore_index=True)
    return Schedule.recorded(
        Workload(table.assign(submit_time=table["recorded_start"]), "log", System.of(nodes))
    )


def test_nodes_to_lend_are_the_fewest_idle_over_the_lease():
    schedule = scheduled([(0, 4, 4, 6), (6, 4, 4, 6)], nodes=10)
    table = lendable_nodes(schedule, 0, 10 * HOUR, leases=(1, 2, 4, 48)).set_index("hours")
    assert table.index.tolist() == [1, 2, 4], "no lease longer than the window"
    assert table["mean"].tolist() == [(8 * 4 + 2 * 10) / 10, (8 * 4 + 10) / 9, 4]
    assert (table["p10"] == 4).all()
    assert lendable_nodes(schedule, 0, 10.0).empty


def test_a_record_that_overruns_its_machine_has_no_idle_nodes():
    schedule = scheduled([(0, 4, 4, 6), (0, 4, 4, 6)], nodes=10)
    assert (lendable_nodes(schedule, 0, 4 * HOUR)["mean"] == 0).all()
    loss = burst_costs(schedule, np.array([HOUR / 2]), deadlines=[0], shares=[0.1])["mean"]
    assert loss.tolist() == [6 / 2], "half an hour of work on six nodes"


def test_ends_count_by_request_and_never_what_is_past():
    """Ten minutes before its requested end a job of 3 nodes is due; one of 2 outlived its own."""
    schedule = scheduled([(0, 4, 2, 3), (0, 4, 1, 2)], nodes=8)
    at = np.array([2 * HOUR - 10 * MINUTE])
    knobs = {"deadlines": (0, 5, 10), "shares": [3 / 8, 6 / 8, 7 / 8], "system": SLOW}
    table = burst_costs(schedule, at, **knobs)["mean"].unstack(0)  # noqa: PD010
    assert table[0].tolist() == table[5].tolist() == [0, 3 * 5 / 6, 5 * 5 / 6]
    assert table[10].tolist() == [0, 0, 2 * 5 / 6]
    unknown = scheduled([(0, 4, np.nan, 3)], nodes=3)
    assert burst_costs(unknown, at, **knobs)["mean"].loc[10].tolist() == [2.5] * 3


def test_costs_are_those_of_the_optimal_plan():
    schedule = scheduled([(0, 9, 12, 3), (0.5, 9, 12, 4), (0.7, 9, 12, 2)], nodes=10)
    at, system = 3.3 * HOUR, THETA.with_nodes(10)
    costs = burst_costs(schedule, np.array([at]), shares=(0.1, 0.5, 1.0), seed=5)["mean"]
    for (deadline, percent, wanted), loss in costs.items():
        knobs = {"horizon": deadline * MINUTE, "system": system, "seed": 5}
        need = wanted - 1  # one node is idle
        problem = EvictionProblem.from_schedule(schedule, at=at, nodes_needed=need, **knobs)
        assert loss == solve_dynamic(problem).loss[-1] and percent == 10 * wanted
    two = burst_costs(schedule, np.array([at, at + HOUR / 10]))
    one = burst_costs(schedule, np.array([at]))
    assert (two["p90"] >= two["mean"]).all() and (one["p90"] == one["mean"]).all()


def test_a_moment_at_which_no_job_runs_is_refused():
    schedule = scheduled([(0, 1, 1, 3), (9, 1, 1, 3)], nodes=8)
    with pytest.raises(ValueError, match="no job runs at=18000"):
        burst_costs(schedule, np.array([5 * HOUR]))


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


def test_nothing_is_lent_before_the_first_start():
    """The first job waits for 20 h on a machine of which the log does not tell who held it."""
    schedule = scheduled([(20, 10, 10, 6), (30, 10, 10, 8)], nodes=10)
    jobs = schedule.workload.jobs.assign(submit_time=[0.0, 30 * HOUR])
    section = lending_section(open_log(Workload(jobs, "log", System.of(10)), budget=1))
    (table,) = section.tables.values()
    assert table.loc[1, "mean"] == 3
