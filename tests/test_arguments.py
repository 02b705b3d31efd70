"""Arguments that no simulator, audit, metric or solver can take: words, and no AttributeError."""

import inspect
import re
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import cosimlib as cs
from cosimlib import eviction, metrics
from cosimlib.timesharing import simulate_batch
from cosimlib.workload import InvalidWorkloadError

JOBS = pd.DataFrame({"submit_time": [0.0, 1], "run_time": 5.0, "requested_time": 6.0, "nodes": 1})
WORKLOAD, SYSTEM = cs.Workload(JOBS, "W"), cs.System.of(4)
UNKNOWN = "W: its machine is unknown; give a system, e.g. System.of(128)"


def first(state):
    return [0] if state.free_nodes else []


SIMULATORS = {
    "simulate": partial(cs.simulate, policy=first),
    "fcfs": cs.simulate_fcfs,
    "easy": cs.simulate_easy,
    "conservative": cs.simulate_conservative,
    "first fit": cs.simulate_first_fit,
    "filling": cs.simulate_filling,
    "time-sharing": cs.simulate_timesharing,
    "batch in steps": simulate_batch,
    "elastic": cs.simulate_elastic,
    "coscheduling": cs.simulate_coscheduling,
    "on demand": cs.simulate_ondemand,
    "starts": partial(cs.Schedule.from_starts, start_time=[0, 1], policy="given"),
}

PAIRS = {
    "no machine": (WORKLOAD, WORKLOAD.machine, InvalidWorkloadError, UNKNOWN),
    "nodes": (WORKLOAD, 128, TypeError, "system is 128; expected a System, e.g. System.of(128)"),
    "path": (
        "log.swf",
        SYSTEM,
        TypeError,
        "workload is 'log.swf'; expected a Workload; load_trace reads one",
    ),
    "table": (
        JOBS,
        SYSTEM,
        TypeError,
        "workload is of type DataFrame; expected a Workload; load_trace reads one",
    ),
    "exchanged": (
        SYSTEM,
        WORKLOAD,
        TypeError,
        "workload is of type System and system of type Workload; expected the workload first, "
        "then the system",
    ),
}


@pytest.mark.parametrize("simulate", SIMULATORS.values(), ids=SIMULATORS)
@pytest.mark.parametrize(("workload", "system", "error", "message"), PAIRS.values(), ids=PAIRS)
def test_simulators_need_a_workload_and_a_system(simulate, workload, system, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        simulate(workload, system)


@pytest.mark.parametrize(("workload", "system"), [("log.swf", SYSTEM), (WORKLOAD, 128)])
def test_comparisons_need_them_too(workload, system):
    with pytest.raises(TypeError, match=r"^(workload is 'log.swf'|system is 128); expected a "):
        cs.compare(workload, ["FCFS"], system=system)


def test_comparisons_of_a_log_without_a_machine_say_the_same():
    with pytest.raises(ValueError, match=f"^{re.escape(UNKNOWN)}$"):
        cs.compare(WORKLOAD, ["FCFS"])


def test_errors_of_policies_name_the_policy_and_the_instant_where_they_are_compared():
    def whole(workload, system):
        raise KeyError("no such thing")

    def moment(state):
        raise KeyError("no such thing")

    on_log = "raised by the policy 'mine' on W"
    log = cs.Workload(pd.concat([JOBS] * 20).assign(submit_time=np.arange(40.0) * 3600), "W")
    for policy, notes in ((whole, [on_log]), (moment, ["raised by moment at t=0", on_log])):
        with pytest.raises(KeyError) as caught:
            cs.compare(log, {"mine": policy}, system=SYSTEM, replicates=2)
        assert caught.value.__notes__ == notes


def test_bursts_are_a_workload():
    with pytest.raises(TypeError, match=r"^bursts is of type DataFrame; expected a Workload, as"):
        cs.simulate_ondemand(WORKLOAD, SYSTEM, JOBS)


def test_workloads_are_made_of_a_table_and_know_a_system():
    with pytest.raises(TypeError, match=r"^jobs is of type dict; expected a DataFrame$"):
        cs.Workload(JOBS.to_dict("list"))
    with pytest.raises(TypeError, match=r"^machine is 128; expected a System, e\.g\. "):
        cs.Workload(JOBS, "W", 128)


@pytest.mark.parametrize(
    ("start_time", "found"),
    [
        ([1], "1 value"),
        ([1, 2, 3], "3 values"),
        (5.0, "1 value in 0 dimensions"),
        (np.ones((2, 1)), "2 values in 2 dimensions"),
    ],
)
def test_there_is_one_start_per_job(start_time, found):
    message = f"W: start_time has {found}; expected one start per job, of 2 jobs"
    with pytest.raises(ValueError, match=f"^{message}$"):
        cs.Schedule.from_starts(WORKLOAD, SYSTEM, start_time, "given")


@pytest.mark.parametrize("recorded", [Path("log.swf"), SYSTEM], ids=repr)
def test_recorded_schedules_are_of_a_workload(recorded):
    with pytest.raises(TypeError, match=r"^workload is .*; expected a Workload; load_trace"):
        cs.Schedule.recorded(recorded)


@pytest.mark.parametrize("value", [WORKLOAD, None, [1]], ids=["workload", "None", "list"])
def test_audits_are_of_schedules(value):
    with pytest.raises(TypeError, match=r"^schedule is .*; expected a Schedule, as simulators"):
        cs.audit(value)


def test_summaries_are_of_lists_of_schedules():
    schedule = cs.simulate_fcfs(WORKLOAD, SYSTEM)
    message = "^schedules is of type Schedule; expected a list of schedules$"
    with pytest.raises(TypeError, match=message):
        metrics.summarize(schedule)
    with pytest.raises(TypeError, match=r"^schedules is None; expected a list of schedules$"):
        metrics.summarize(None)
    with pytest.raises(
        TypeError, match=r"^schedules\[1\] is of type Workload; expected a Schedule$"
    ):
        metrics.summarize([schedule, WORKLOAD])
    assert metrics.summarize(iter([schedule])).index.tolist() == ["FCFS"]


@pytest.mark.parametrize("name", [name for name in dir(eviction) if name.startswith("solve_")])
@pytest.mark.parametrize("value", [None, WORKLOAD], ids=["None", "workload"])
def test_solvers_need_a_problem(name, value):
    message = r"^problem is .*; expected an? (Gpu)?EvictionProblem(,| with)"
    with pytest.raises(TypeError, match=message):
        getattr(eviction, name)(value)


def test_a_job_without_a_request_has_no_others_where_it_is_alone():
    alone = cs.Workload(JOBS.assign(requested_time=[6, np.nan]), "W")
    for simulate in (cs.simulate_easy, cs.simulate_coscheduling):
        with pytest.raises(InvalidWorkloadError, match=r"^W: job 1 has no requested_time, which"):
            simulate(alone, SYSTEM)


@pytest.mark.parametrize("order", [None, 3, np.float64(2), first, {"job": 1}], ids=type)
def test_orders_are_a_name_a_column_or_numbers(order):
    expected = r"expected one of 'submit', .*, a column of the workload, or one number per job$"
    for simulate in (cs.simulate_fcfs, cs.simulate_easy, cs.simulate_conservative):
        with pytest.raises(ValueError, match=f"^order=.*; {expected}"):
            simulate(WORKLOAD, SYSTEM, order=order)


OF_SCHEDULES = (
    "bounded_slowdown", "fairness", "loss_of_capacity", "makespan", "node_hours",
    "node_hours_by_use", "occupied_nodes", "overtaking", "running_jobs", "slowdown",
    "turnaround_time", "utilization", "utilization_series", "wait_time", "waiting_jobs",
    "waiting_nodes", "window",
)  # fmt: skip


@pytest.mark.parametrize("name", OF_SCHEDULES)
@pytest.mark.parametrize("value", [WORKLOAD, None], ids=["workload", "None"])
def test_metrics_are_of_schedules(name, value):
    with pytest.raises(TypeError, match=r"^schedule is .*; expected a Schedule, as simulators"):
        getattr(metrics, name)(value)


@pytest.mark.parametrize("name", ["hourly", "held_durations"])
def test_means_over_hours_are_of_step_functions(name):
    with pytest.raises(TypeError, match=r"^steps is of type Workload; expected a step function"):
        getattr(metrics, name)(WORKLOAD)


@pytest.mark.parametrize(
    ("measure", "arguments"),
    [
        (metrics.job_groups, ("size",)),
        (metrics.busiest, (60.0,)),
        (metrics.busy_stretch, (1,)),
        (metrics.offered_load, (SYSTEM,)),
    ],
)
def test_measures_of_workloads_are_of_workloads(measure, arguments):
    with pytest.raises(TypeError, match=r"^(workload|data) is 'log.swf'; expected a Workload"):
        measure("log.swf", *arguments)


def test_windows_are_seconds():
    schedule = cs.simulate_fcfs(WORKLOAD, SYSTEM)
    with pytest.raises(ValueError, match=r"^start='2 days'; expected seconds$"):
        metrics.wait_time(schedule, start="2 days")


ESTIMATES = {
    "estimates": cs.synthetic.with_estimates,
    "drawn": cs.synthetic.with_drawn_estimates,
    "missing": cs.synthetic.with_missing_estimates,
    "round": partial(cs.synthetic.with_round_estimates, accuracy=0.5),
    "scaled": cs.synthetic.with_scaled_estimates,
    "resampled": cs.synthetic.resample,
}


@pytest.mark.parametrize("change", ESTIMATES.values(), ids=ESTIMATES)
def test_what_changes_a_workload_needs_one(change):
    with pytest.raises(TypeError, match=r"^workload is 'log.swf'; expected a Workload; load_tr"):
        change("log.swf")


def test_evictions_are_of_a_moment_of_a_schedule():
    with pytest.raises(TypeError, match=r"^schedule is of type Workload; expected a Schedule, as"):
        cs.EvictionProblem.from_schedule(WORKLOAD, at=1.0, nodes_needed=1)
    schedule = cs.simulate_fcfs(WORKLOAD, SYSTEM)
    with pytest.raises(TypeError, match=r"^system is 128; expected a System$"):
        cs.EvictionProblem.from_schedule(schedule, at=1.0, nodes_needed=1, system=128)
    for at in ("noon", None, np.nan):
        with pytest.raises(ValueError, match=r"^at=.*; expected seconds of the schedule's clock$"):
            cs.EvictionProblem.from_schedule(schedule, at=at, nodes_needed=1)


FIGURES = sorted(name for name in cs.figures.__all__ if name.startswith("plot_"))


@pytest.mark.parametrize("name", FIGURES)
def test_figures_say_what_they_cannot_draw(name):
    plot = getattr(cs.figures, name)
    needed = [
        parameter
        for parameter in inspect.signature(plot).parameters.values()
        if parameter.default is parameter.empty
    ]
    places = [object() for each in needed if each.kind is not each.KEYWORD_ONLY]
    names = {each.name: object() for each in needed if each.kind is each.KEYWORD_ONLY}
    with pytest.raises(TypeError):
        plot(*places, **names)


def test_tables_instead_of_workloads_and_nothing_instead_of_names_are_told(tmp_path):
    schedule = cs.simulate_fcfs(WORKLOAD, SYSTEM)
    with pytest.raises(TypeError, match="workload is of type Schedule; expected a Workload"):
        cs.write_swf(schedule, tmp_path / "log.swf")
    with pytest.raises(TypeError, match="name_or_path is None; expected the name of a trace or th"):
        cs.load_trace(None)
    with pytest.raises(TypeError, match="workloads is of type Workload; expected a mapping of pa"):
        cs.Workload.join(WORKLOAD)
    with pytest.raises(TypeError, match=r"workloads\['A'\] is of type DataFrame; expected a Workl"):
        cs.Workload.join({"A": JOBS})
