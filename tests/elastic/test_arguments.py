"""What the analysis of preemptions and the elastic protocol refuse, and how they say so."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cosimlib import synthetic
from cosimlib.batch import simulate_easy
from cosimlib.elastic import (
    as_batch,
    compare_policies,
    cumulative_waste,
    draw_preemptions,
    execution_states,
    preempted_jobs,
    preemption_values,
    prioritize,
    priority_classes,
    same_choice,
    simulate_elastic,
    sweep_preemptions,
    wasted_cycles,
)
from cosimlib.explorers import explore_elastic
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError, Workload


def made(**columns):
    """Three one-node jobs of a minute, on two nodes."""
    times = {"submit_time": [0, 0, 0], "run_time": [60] * 3, "requested_time": [60] * 3}
    return Workload(pd.DataFrame({**times, "nodes": 1, **columns}), "made")


@pytest.mark.parametrize("priority", [np.nan, -1.0, 0.0, np.inf])
def test_priorities_are_checked_at_both_doors_where_they_count(priority):
    odd = made(priority=[1.0, priority, 2.0])
    schedule = simulate_easy(odd, System.of(2))
    message = f"made: job 1 has priority={priority:g}; expected a number above 0 .1 is the default"
    for ask in (
        lambda: simulate_elastic(odd, System.of(2), policy="PAP+"),
        lambda: wasted_cycles(schedule, policy="PAP+", preempted=1),
        lambda: preemption_values(schedule, [0.0], policy="PAP+"),
        lambda: preempted_jobs(schedule, 0.0, policy="PAP+", preempted=1),
        lambda: same_choice(schedule, "LIFO", "PAP+", preempted=1),
        lambda: compare_policies(schedule, preempted=1),
        lambda: cumulative_waste(schedule, policies=["PAP"], preempted=1),
    ):
        with pytest.raises(InvalidWorkloadError, match=message):
            ask()
    assert simulate_elastic(odd, System.of(2), policy="PAP").kills == 0
    assert wasted_cycles(schedule, policy="LIFO", preempted=1).notna().all(axis=None)


@pytest.mark.parametrize("seed", [-1, 0.5, "0", None, True])
def test_seeds_are_checked_at_every_door(seed):
    schedule = simulate_easy(made(), System.of(2))
    for ask in (
        lambda: simulate_elastic(made(), System.of(2), seed=seed),
        lambda: wasted_cycles(schedule, preempted=1, seed=seed),
        lambda: preemption_values(schedule, [0.0], seed=seed),
        lambda: preempted_jobs(schedule, 0.0, preempted=1, seed=seed),
        lambda: same_choice(schedule, "LIFO", "RANDOM", preempted=1, seed=seed),
        lambda: compare_policies(schedule, preempted=1, seed=seed),
        lambda: priority_classes(made(), [0.1], seed=seed),
    ):
        with pytest.raises(ValueError, match=f"^seed={seed!r}; expected a whole number from 0$"):
            ask()


def test_one_partition_of_two_is_enough_to_need_priorities():
    both = Workload.join({"a": made(), "b": made(priority=[1.0, np.nan, 1.0])})
    with pytest.raises(InvalidWorkloadError, match="job 4 has priority=nan"):
        simulate_elastic(both, System.of(a=1, b=1), policy={"a": "PAP+", "b": "PAP"})


@pytest.mark.parametrize("priorities", ["bigmem", ["bigmem"], None, 10.0])
def test_priorities_are_a_mapping(priorities):
    with pytest.raises(
        TypeError, match=r"priorities is of type .*; expected a mapping of values of"
    ):
        prioritize(made(queue="bigmem"), priorities)


@pytest.mark.parametrize("priority", ["10", None, -1.0, np.inf])
def test_every_priority_is_a_number_above_0(priority):
    with pytest.raises(InvalidWorkloadError, match=r"made: priority .* for queue='q'; expected a"):
        prioritize(made(queue="q"), {"q": priority})


def test_a_priority_for_a_queue_that_is_not_there_is_refused():
    with pytest.raises(InvalidWorkloadError, match=r"made: no job with queue='debug' .* known are"):
        prioritize(made(queue="q"), {"debug": 2.0})


@pytest.mark.parametrize("every", [np.inf, np.nan, -30.0, 0, "30"])
def test_states_come_at_a_finite_pace(every):
    schedule = simulate_easy(made(), System.of(2))
    with pytest.raises(ValueError, match=r"every=.*; expected seconds above 0"):
        execution_states(schedule, every=every)


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"rate": -1.0}, "rate=-1.0; expected a number from 0"),
        ({"rate": "4"}, "rate='4'; expected a number"),
        ({"size": -2}, "size=-2; expected a whole number from 1"),
        ({"size": 0}, "size=0; expected a whole number from 1"),
        ({"size": 2.5}, "size=2.5; expected a whole number from 1"),
        ({"duration": -3600.0}, "duration=-3600.0; expected seconds above 0"),
        ({"duration": np.inf}, "duration=inf; expected seconds above 0"),
        ({"horizon": -1.0}, "horizon=-1.0; expected seconds from 0"),
        ({"horizon": np.nan}, "horizon=nan; expected"),
        ({"seed": -1}, "seed=-1; expected a whole number from 0"),
    ],
)
def test_preemptions_are_not_drawn_from_nonsense(knobs, message):
    fine = {"rate": 1.0, "size": 1, "duration": 60.0, "horizon": 1e6}
    with pytest.raises(ValueError, match=message):
        draw_preemptions(**fine | knobs)


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"horizon": 0}, "horizon=0; expected seconds above 0"),
        ({"horizon": np.inf}, "horizon=inf; expected"),
        ({"horizon": 59.0}, "made: no job ends by horizon=59 even undisturbed; take a longer one"),
        ({"rate": 4.0}, "rate=4.0; expected a list of one or more values"),
        ({"policy": "PAP"}, "policy='PAP'; expected a list"),
        ({"rate": []}, r"rate=\[\]; expected a list of one or more"),
        ({"seeds": 3}, "seeds=3; expected a list"),
        ({"seeds": []}, r"seeds=\[\]; expected a list"),
        ({"rates": [1.0]}, "nothing called 'rates' to vary; known are policy, rate"),
        ({"size": [3]}, "preemption 0 has nodes=3; expected a whole number from 1 to the 2 nodes"),
    ],
)
def test_sweeps_of_nonsense_are_refused(knobs, message):
    with pytest.raises(ValueError, match=message):
        sweep_preemptions(made(), System.of(2), **{"rate": [1000.0], "size": [1]} | knobs)


def test_a_sweep_of_nobody_is_refused():
    nobody = made().keep([False] * 3, "none")
    with pytest.raises(ValueError, match=r"horizon=0.0; expected seconds above 0"):
        sweep_preemptions(nobody, System.of(2))


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"max_nodes": 0}, "max_nodes=0; expected a whole number from 1"),
        ({"max_nodes": 2.5}, "max_nodes=2.5; expected a whole"),
        ({"max_run_time": 0.0}, "max_run_time=0.0; expected seconds above 0"),
        ({"jobs": -1}, "jobs=-1; expected a whole number from 1"),
        ({"request_factor": -1.0}, "request_factor=-1.0; expected a number from 1"),
        ({"request_factor": 0.5}, "request_factor=0.5; expected a number from 1"),
        ({"request_factor": "2"}, "request_factor='2'; expected a number from 1"),
        ({"max_run_time": True}, "max_run_time=True; expected seconds above 0"),
        ({"request_factor": np.nan}, "request_factor=nan; expected"),
        ({"max_run_time": 30.0}, "made: none of 3 jobs is selected .run time 0 or too long: 3."),
    ],
)
def test_batches_of_nonsense_are_refused(knobs, message):
    with pytest.raises(ValueError, match=message):
        as_batch(made(), **knobs)


def test_what_cannot_be_followed_is_refused():
    elastic = simulate_elastic(made(), System.of(2))
    coupled = replace(simulate_easy(made(), System.of(2)), system=System.of(a=2, b=1))
    for ask in (
        lambda schedule: wasted_cycles(schedule, preempted=1),
        lambda schedule: preemption_values(schedule, [0.0]),
        lambda schedule: same_choice(schedule, "LIFO", "PAP", preempted=1),
        execution_states,
        explore_elastic,
    ):
        with pytest.raises(
            ValueError, match="elastic PAP, made: a preemption needs jobs that run once"
        ):
            ask(elastic)
        with pytest.raises(ValueError, match="EASY, made: the system has 2 partitions, a, b; a pr"):
            ask(coupled)


def test_the_systems_own_bad_input_is_named_at_both_doors():
    schedule = simulate_easy(made(), System.of(2))
    with pytest.raises(ValueError, match=r"preempted=3; .* 1 to the partition's 2 nodes"):
        compare_policies(schedule, preempted=3)
    with pytest.raises(ValueError, match=r"preemption 0 has nodes=3; .* 1 to the 2 nodes of all"):
        asked = pd.DataFrame({"time": [0], "nodes": [3], "duration": [1]})
        simulate_elastic(made(), System.of(2), preemptions=asked)
    with pytest.raises(ValueError, match=r"grace_period=-1.0; expected seconds from 0"):
        compare_policies(schedule, preempted=1, grace_periods=[-1.0])
    with pytest.raises(ValueError, match=r"grace_period=-1.0; expected seconds from 0"):
        simulate_elastic(made(), System.of(2), grace_period=-1.0)
    wide = made(nodes=[1, 3, 1])
    for simulate in (simulate_easy, simulate_elastic):
        with pytest.raises(InvalidWorkloadError, match="made: job 1 asks for 3 nodes; partition"):
            simulate(wide, System.of(2))


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        (
            {"grace_periods": [60, 120.0, 60]},
            r"grace_periods=\[60, 120.0, 60\]; expected .*, each once",
        ),
        ({"grace_periods": ["a"]}, "grace_period='a'; expected seconds from 0"),
        ({"grace_periods": [None]}, "grace_period=None; expected seconds"),
        ({"grace_periods": [True]}, "grace_period=True; expected seconds"),
        ({"grace_periods": [np.nan]}, "grace_period=nan; expected seconds"),
        ({"grace_periods": 60.0}, "grace_periods=60.0; expected a list of one or more numbers"),
        ({"grace_periods": []}, r"grace_periods=\[\]; expected a list of one or more numbers"),
        ({"policies": []}, r"policies=\[\]; expected a list of one or more of RANDOM, FIFO"),
        ({"policies": "PAP"}, "policies='PAP'; expected a list of one or more of"),
        ({"policies": ["PAP", "PAP"]}, r"policies=\['PAP', 'PAP'\]; .*, each once"),
        ({"policies": [None]}, "policy=None; expected one of 'RANDOM'"),
    ],
)
def test_policies_and_grace_periods_are_compared_once_each(knobs, message):
    with pytest.raises(ValueError, match=message):
        compare_policies(simulate_easy(made(), System.of(2)), preempted=1, **knobs)


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"at": "10"}, "at='10'; expected a moment in seconds"),
        ({"window": "day"}, "window='day'; expected seconds above 0"),
        ({"grace_period": "120"}, "grace_period='120'; expected seconds"),
    ],
)
def test_strings_are_no_seconds_to_the_explorer(knobs, message):
    with pytest.raises(ValueError, match=message):
        explore_elastic(simulate_easy(made(), System.of(2)), preempted=1, **knobs)


def test_random_agrees_with_itself_and_not_with_others():
    schedule = simulate_easy(synthetic.htc(copies=1), System.of(20))
    assert same_choice(schedule, "RANDOM", "RANDOM", seed=4) == 1
    assert same_choice(schedule, "RANDOM", "LIFO", seed=4) < 0.1


def test_sweeps_tell_how_much_of_what_users_asked_for_they_got():
    few = synthetic.htc(copies=1)
    table = sweep_preemptions(few, System.of(20), rate=[0.0, 40.0, 400.0], policy=["LIFO", "PAP"])
    served = table.groupby("rate")["served"].mean()
    assert served[0.0] == 1 and 0 < served[400.0] < served[40.0] <= 1
