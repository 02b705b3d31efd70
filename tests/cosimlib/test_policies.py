"""The register: a user's own policy in explorers, tables and figures."""

import inspect
from dataclasses import replace
from unittest import mock

import numpy as np
import pandas as pd
import pytest

import cosimlab as lab
import cosimlib as cs
from cosimlab import palette
from cosimlab.figures import theme
from cosimlab.figures.charts import lines
from cosimlib import synthetic
from cosimlib.audit import InfeasibleScheduleError
from cosimlib.metrics import summarize
from cosimlib.policies import BUILT_IN, SIMULATORS, register, simulator_of, unregister
from tests import audits

NODES = 32
SOURCE = synthetic.lublin(60, nodes=NODES, load=1.2, seed=4)


def first_fit(workload, system):
    """Every job that fits starts, in order of submission: no reservation for anybody."""
    return replace(cs.simulate_first_fit(workload, system), policy="own first fit")


@pytest.fixture(autouse=True)
def built_in(monkeypatch):
    """Only policies of the package in a test, whatever this process registers."""
    monkeypatch.setattr(palette, "_own", {})
    with mock.patch.dict(SIMULATORS, BUILT_IN, clear=True):
        yield


@pytest.fixture
def registered():
    """A user's policy, in the register for one test."""
    register("own first fit", first_fit)
    return "own first fit"


def test_a_policy_of_ones_own_is_explored_compared_drawn_and_audited(registered):
    expected = first_fit(SOURCE, cs.System.of(NODES))
    panel = lab.explore_batch(SOURCE, cs.System.of(NODES), policy=registered)
    assert panel.controls["policy"].options[-1] == registered
    load = cs.metrics.offered_load(SOURCE, cs.System.of(NODES))
    wait = expected.jobs["wait_time"].mean() / 3600
    title = f"own first fit, offered load {load:.2f}: mean wait {wait:,.2f} h"
    assert panel.figure.layout.title.text == title
    workload = audits.runnable(cs.Workload(SOURCE.jobs, "made", cs.System.of(NODES)))
    schedules = [audits.audited(workload, name) for name in ("FCFS", "EASY", registered)]
    table = summarize(schedules)
    assert table.index.tolist() == ["FCFS", "EASY", registered]
    assert table.loc[registered, "wait_time"] == expected.jobs["wait_time"].mean()
    assert len(lab.figures.plot_batch(schedules[-1], title="own").data) == 4


def test_an_order_is_offered_to_policies_that_take_one(registered):
    seen = []

    @register("recorder")
    def recorder(workload, system, *, order="submit"):
        seen.append(order)
        return cs.simulate_fcfs(workload, system, order=order)

    panel = lab.explore_batch(SOURCE, cs.System.of(NODES), policy="recorder", order="largest")
    assert not panel.controls["order"].disabled
    panel.controls["order"].value = "smallest"
    assert seen == ["largest", "smallest"]
    panel.controls["policy"].value = registered
    assert panel.controls["order"].disabled
    panel.controls["policy"].value = "EASY"
    assert not panel.controls["order"].disabled
    assert panel._shown.layout.title.text.startswith("EASY (smallest), ")


def starting(start_time):
    """Register a policy "own" with the given start times, or with what is no schedule."""

    def simulate(workload, system):
        if start_time is None:
            return workload.jobs["submit_time"]
        return cs.Schedule.from_starts(workload, system, start_time, "own")

    return register("own", simulate, replace=True)


def test_jobs_that_never_start_are_counted_and_those_behind_them_overtook():
    system, jobs = cs.System.of(NODES), SOURCE.jobs
    start_time = cs.simulate_fcfs(SOURCE, system).start_time.copy()
    start_time[5:9] = np.nan
    starting(start_time)
    panel = lab.explore_batch(SOURCE, system, policy="own")
    wait = np.nanmean(start_time - jobs["submit_time"]) / 3600
    assert panel.text.value.startswith(f"{SOURCE.name}: mean wait {wait:,.2f} h · ")
    assert panel.text.value.endswith(
        " · 51 of 60 jobs overtook one submitted before them · 4 never start"
    )
    starting(np.full(len(SOURCE), np.nan))
    panel = lab.explore_batch(SOURCE, system, policy="own")
    assert panel.figure.layout.title.text.endswith(": mean wait unknown")
    assert panel.text.value.endswith(" · 60 never start")


@pytest.mark.parametrize("stuck", [False, True])
def test_what_could_not_have_happened_is_not_explored(stuck):
    system, start_time = cs.System.of(NODES), SOURCE.jobs["submit_time"].to_numpy().copy()
    early = cs.simulate_fcfs(SOURCE, system).start_time - 1
    last = slice(-1, None if stuck else -1)
    start_time[last] = early[last] = np.nan
    for times, message in (
        (start_time, f"own: .* nodes busy at t=.* has {NODES}"),
        (early, r"own: .*job 0 starts .* was submitted at"),
    ):
        starting(times)
        with pytest.raises(InfeasibleScheduleError, match=message):
            lab.explore_batch(SOURCE, system, policy="own")
    starting(None)
    message = "the result of 'own' is of type Series; expected a Schedule"
    with pytest.raises(TypeError, match=message):
        lab.explore_batch(SOURCE, system, policy="own")


def test_a_policy_is_gone_when_it_is_unregistered(registered):
    unregister(registered)
    assert SIMULATORS == BUILT_IN
    with pytest.raises(ValueError, match="policy='own first fit'; expected one of 'FCFS', "):
        lab.explore_batch(SOURCE, cs.System.of(NODES), policy=registered)
    with pytest.raises(ValueError, match="name='own first fit'; expected a policy of your own"):
        unregister(registered)


def test_registering_returns_the_function_and_lists_it_last(registered):
    assert [*SIMULATORS] == [*BUILT_IN, registered]
    assert register(registered, first_fit, replace=True) is first_fit
    assert register(registered, replace=True)(first_fit) is first_fit
    assert cs.register is register


def test_a_built_in_policy_cannot_be_taken_over():
    with pytest.raises(ValueError, match="name='EASY'; expected a name that no policy has yet"):
        register("EASY", first_fit, replace=True)


def test_colors_are_distinct_from_the_built_in_ones_and_stay(registered):
    others = [f"own {number}" for number in range(3)]
    for name in others:
        register(name, first_fit)
    tints = [theme.color(name) for name in (registered, *others)]
    assert len(set(tints[:3])) == 3 and tints[3] == tints[0]
    built_in = {theme.NAMED[name] for name in (*BUILT_IN, "recorded") if name in theme.NAMED}
    assert not built_in & set(tints)
    assert [theme.color(name, place=3) for name in (registered, *others)] == tints
    register(others[1], first_fit, replace=True)
    assert theme.color(others[1]) == tints[2]


def test_a_color_named_by_hand_stays(monkeypatch):
    monkeypatch.setitem(palette.NAMED, "own", "#123456")
    register("own", first_fit)
    register("later", first_fit)
    monkeypatch.setitem(palette.NAMED, "later", "#654321")
    assert [palette.color(name) for name in ("own", "later")] == ["#123456", "#654321"]


def decide(state, most=1):
    """At most so many jobs at a time; as many as fit in front."""
    return np.flatnonzero(np.cumsum(state.waiting.nodes) <= state.free_nodes)[:most]


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("EASY", "^EASY: argument='bogus'; expected one of 'order', 'decide', "),
        (decide, "^decide: argument='bogus'; expected one of 'most'$"),
        (first_fit, "^first_fit: argument='bogus'; expected none, as it takes none$"),
    ],
)
def test_arguments_that_a_policy_does_not_take_are_refused_by_name(policy, message):
    with pytest.raises(ValueError, match=message):
        simulator_of(policy, bogus=1)


def test_functions_that_tell_no_signature_take_any_argument():
    class Silent:
        @property
        def __signature__(self):
            raise ValueError("no signature found")

        def __call__(self, workload, system, order="submit"):
            return cs.simulate_fcfs(workload, system, order=order)

    name, simulate = simulator_of(Silent(), order="largest")
    expected = cs.simulate_fcfs(SOURCE, cs.System.of(NODES), order="largest").start_time
    assert name == "Silent"
    assert (simulate(SOURCE, cs.System.of(NODES)).start_time == expected).all()


def test_lines_have_the_color_of_the_policy(registered):
    table = pd.DataFrame(
        {"policy": ["EASY", registered] * 2, "load": [0.5, 0.5, 1, 1], "wait": [1, 2, 3, 4]}
    )
    drawn = lines(table, x="load", y="wait", line="policy", title="T", labels={}).data
    tints = {line.name: line.line.color for line in drawn}
    assert tints == {"EASY": theme.BLUE, registered: palette.color(registered)}


@pytest.mark.parametrize(
    ("name", "simulator", "message"),
    [
        ("EASY", first_fit, "name='EASY'; expected a name that no policy has yet; replace=T"),
        ("", first_fit, "name=''; expected a text"),
        (first_fit, None, "name=<function first_fit .*; expected a text"),
        ("own", "EASY", "simulator='EASY'; expected a function of a workload and a system"),
        ("own", lambda state: [], "simulator=<function .*; expected a function of a workload"),
    ],
)
def test_what_is_no_policy_is_refused(name, simulator, message):
    with pytest.raises(ValueError, match=message):
        register(name, simulator)
    assert SIMULATORS == BUILT_IN


def test_built_in_policies_take_a_workload_and_a_system():
    for simulate in BUILT_IN.values():
        assert [*inspect.signature(simulate).parameters][:2] == ["workload", "system"]
