"""Arguments that no simulator, audit, metric or solver can take: words, and no AttributeError."""

import inspect
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest

import cosimlab as lab
import cosimlib as cs
from cosimlab.timesharing import simulate_batch
from cosimlib import eviction, metrics

JOBS = pd.DataFrame({"submit_time": [0.0, 1], "run_time": 5.0, "requested_time": 6.0, "nodes": 1})
WORKLOAD, SYSTEM = cs.Workload(JOBS, "W"), cs.System.of(4)
SCHEDULE = cs.Schedule.from_starts(WORKLOAD, SYSTEM, [0, 1], "given")


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

A_WORKLOAD = "expected a Workload; load_trace reads one"
PAIRS = {
    "no machine": (WORKLOAD, None, "W: its machine is unknown; give a system, e.g. System.of(128)"),
    "nodes": (WORKLOAD, 128, "system is 128; expected a System, e.g. System.of(128)"),
    "path": ("log.swf", SYSTEM, f"workload is 'log.swf'; {A_WORKLOAD}"),
    "table": (JOBS, SYSTEM, f"workload is of type DataFrame; {A_WORKLOAD}"),
    "exchanged": (
        SYSTEM,
        WORKLOAD,
        "workload is of type System and system of type Workload; "
        "expected the workload first, then the system",
    ),
}


@pytest.mark.parametrize("simulate", SIMULATORS.values(), ids=SIMULATORS)
@pytest.mark.parametrize(("workload", "system", "message"), PAIRS.values(), ids=PAIRS)
def test_simulators_need_a_workload_and_a_system(simulate, workload, system, message):
    with pytest.raises(ValueError if system is None else TypeError) as caught:
        simulate(workload, system)
    assert str(caught.value) == message


def test_errors_of_policies_name_the_policy_and_the_instant_where_they_are_compared():
    def whole(workload, system):
        raise KeyError("no such thing")

    def moment(state):
        raise KeyError("no such thing")

    on_log = "raised by the policy 'mine' on W"
    log = cs.Workload(pd.concat([JOBS] * 20).assign(submit_time=np.arange(40.0) * 3600), "W")
    for policy, notes in ((whole, [on_log]), (moment, ["raised by moment at t=0", on_log])):
        with pytest.raises(KeyError) as caught:
            lab.compare(log, {"mine": policy}, system=SYSTEM, replicates=2)
        assert caught.value.__notes__ == notes


EVICTION = cs.EvictionProblem.from_schedule
A_SCHEDULE = "expected a Schedule, as"
WRONG_TYPES = {
    "bursts is of type DataFrame; expected a Workload, as": lambda: cs.simulate_ondemand(
        WORKLOAD, SYSTEM, JOBS
    ),
    "workload is 'log.swf'; expected a ": lambda: lab.compare("log.swf", ["FCFS"], system=SYSTEM),
    "system is 128; expected a System, e.g.": lambda: lab.compare(WORKLOAD, ["FCFS"], system=128),
    "jobs is of type dict; expected a DataFrame": lambda: cs.Workload(JOBS.to_dict("list")),
    "machine is 128; expected a System, e.g. ": lambda: cs.Workload(JOBS, "W", 128),
    "workload is of type System; expected a Workload": lambda: cs.Schedule.recorded(SYSTEM),
    "workload is of type Schedule; expected a Workload": lambda: cs.write_swf(SCHEDULE, "log.swf"),
    "name_or_path is None; expected the name of a trace or th": lambda: cs.load_trace(None),
    "workloads is of type Workload; expected a mapping of pa": lambda: cs.Workload.join(WORKLOAD),
    "workloads['A'] is of type DataFrame; expected a Workl": lambda: cs.Workload.join({"A": JOBS}),
    f"schedule is None; {A_SCHEDULE}": lambda: cs.audit(None),
    "schedules is of type Schedule; expected a list of schedules": lambda: metrics.summarize(
        SCHEDULE
    ),
    "schedules[1] is of type Workload; expected a Schedule": lambda: metrics.summarize(
        [SCHEDULE, WORKLOAD]
    ),
    f"schedule is of type Workload; {A_SCHEDULE}": lambda: EVICTION(
        WORKLOAD, at=1.0, nodes_needed=1
    ),
    "system is 128; expected a System": lambda: EVICTION(
        SCHEDULE, at=1.0, nodes_needed=1, system=128
    ),
}
"""How the error begins, and a call that raises it."""


@pytest.mark.parametrize(("message", "call"), WRONG_TYPES.items(), ids=WRONG_TYPES)
def test_arguments_of_a_wrong_type_are_named(message, call):
    with pytest.raises(TypeError, match=f"^{re.escape(message)}"):
        call()


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


@pytest.mark.parametrize("name", [name for name in dir(eviction) if name.startswith("solve_")])
@pytest.mark.parametrize("value", [None, WORKLOAD], ids=["None", "workload"])
def test_solvers_need_a_problem(name, value):
    message = r"^problem is .*; expected an? (Gpu)?EvictionProblem(,| with)"
    with pytest.raises(TypeError, match=message):
        getattr(eviction, name)(value)


@pytest.mark.parametrize("order", [None, 3, np.float64(2), {"job": 1}], ids=type)
def test_orders_are_a_name_a_column_numbers_or_a_function(order):
    expected = r"expected one of 'submit', .*, a column of the workload, one number per job, or a f"
    for simulate in (cs.simulate_fcfs, cs.simulate_easy, cs.simulate_conservative):
        with pytest.raises(ValueError, match=f"^order=.*; {expected}"):
            simulate(WORKLOAD, SYSTEM, order=order)


def test_a_decision_function_is_no_order():
    """It takes one argument, too, which is then the jobs' table."""
    with pytest.raises(AttributeError, match="free_nodes") as raised:
        cs.simulate_easy(WORKLOAD, SYSTEM, order=first)
    assert raised.value.__notes__[0].endswith(", which gets the jobs' table")


OF_SCHEDULES = [
    name
    for name in metrics.__all__
    if callable(getattr(metrics, name))
    and next(iter(inspect.signature(getattr(metrics, name)).parameters), "") == "schedule"
]


NEEDED = {
    "by_size_and_length": {"metric": "wait_time"},
    "ratio_by_size_and_length": {"other": WORKLOAD, "metric": "wait_time"},
}
"""Arguments beside the schedule, of metrics that need some."""


@pytest.mark.parametrize("name", OF_SCHEDULES)
def test_metrics_are_of_schedules(name):
    with pytest.raises(TypeError, match=rf"^schedule is of type Workload; {A_SCHEDULE}"):
        getattr(metrics, name)(WORKLOAD, **NEEDED.get(name, {}))


@pytest.mark.parametrize("name", ["hourly", "held_durations"])
def test_means_over_hours_are_of_step_functions(name):
    with pytest.raises(TypeError, match=r"^steps is of type Workload; expected a step function"):
        getattr(metrics, name)(WORKLOAD)


OF_WORKLOADS = {
    "groups": partial(metrics.job_groups, by="size"),
    "busiest": partial(metrics.busiest, length=60.0),
    "load": partial(metrics.offered_load, system=SYSTEM),
    "estimates": cs.synthetic.with_estimates,
    "drawn": cs.synthetic.with_drawn_estimates,
    "missing": cs.synthetic.with_missing_estimates,
    "round": partial(cs.synthetic.with_round_estimates, accuracy=0.5),
    "scaled": cs.synthetic.with_scaled_estimates,
    "resampled": cs.synthetic.resample,
}


@pytest.mark.parametrize("function", OF_WORKLOADS.values(), ids=OF_WORKLOADS)
def test_measures_and_changes_of_workloads_need_one(function):
    with pytest.raises(TypeError, match=r"^(workload|data) is 'log.swf'; expected a Workload"):
        function("log.swf")


def test_windows_are_seconds():
    with pytest.raises(ValueError, match=r"^start='2 days'; expected seconds$"):
        metrics.wait_time(SCHEDULE, start="2 days")


@pytest.mark.parametrize("at", ["noon", None, np.nan])
def test_evictions_are_of_a_moment_of_a_schedule(at):
    with pytest.raises(ValueError, match=r"^at=.*; expected seconds of the schedule's clock$"):
        EVICTION(SCHEDULE, at=at, nodes_needed=1)


FIGURES = sorted(name for name in lab.figures.__all__ if name.startswith("plot_"))


@pytest.mark.parametrize("name", FIGURES)
def test_figures_say_what_they_cannot_draw(name):
    plot = getattr(lab.figures, name)
    needed = [
        parameter
        for parameter in inspect.signature(plot).parameters.values()
        if parameter.default is parameter.empty
    ]
    places = [object() for each in needed if each.kind is not each.KEYWORD_ONLY]
    names = {each.name: object() for each in needed if each.kind is each.KEYWORD_ONLY}
    with pytest.raises(TypeError):
        plot(*places, **names)
