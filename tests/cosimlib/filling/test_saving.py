"""Policy C at every interval: closed forms, the slow count of kills, Young's formula."""

import math

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.audit import audit
from cosimlib.filling import (
    saved_every,
    simulate_filling,
    slots_between_kills,
    young_interval,
)
from cosimlib.system import System
from tests.cosimlib.filling.test_simulation import EARLY, NODES, WAYS
from tests.strategies import workloads


def killing(workload, slot=1, nodes=NODES, **knobs):
    return simulate_filling(workload, System.of(nodes), slot=slot, **WAYS["B, kill"], **knobs)


@given(workloads(max_nodes=NODES, overruns=True), st.integers(1, 9), st.sampled_from([1, 3]))
@settings(max_examples=60)
def test_a_schedule_saved_every_so_many_slots_is_the_one_that_is_simulated_so(
    workload, every, slot
):
    knobs = {"slot": slot, "overhead": 0.25}
    ours = audit(saved_every(killing(workload, **knobs), every))
    simulated = simulate_filling(workload, System.of(NODES), policy="C", save_every=every, **knobs)
    assert (ours.policy, ours.filling, ours.save_every) == (simulated.policy, "C", every)
    assert ours.start_time.tolist() == simulated.start_time.tolist()
    pd.testing.assert_frame_equal(ours.containers, simulated.containers)


def test_kills_are_counted_per_container_and_within_the_window():
    """Two containers from 0 to 120 s, of which one is killed; the other runs on to 180 s."""
    schedule = simulate_filling(EARLY, System.of(6), **WAYS["B, kill"])
    assert slots_between_kills(schedule) == 5
    assert slots_between_kills(schedule, start=60, end=120) == 2
    assert slots_between_kills(schedule, end=90) == math.inf
    with pytest.raises(ValueError, match="window from 60 to 60 s"):
        slots_between_kills(schedule, start=60, end=60)


def test_young_s_interval_is_the_minimum_of_what_saves_and_kills_cost():
    for t, between in ((0.1, 161.0), (0.5, 40.0), (0.9, 1e4)):
        young = young_interval(t, between)
        cost = [t / k + k / (2 * between) for k in (0.99 * young, young, 1.01 * young)]
        assert min(cost) == cost[1]
    assert young_interval(0.1, math.inf) == math.inf
    assert young_interval(0.0, math.inf) == young_interval(0.0, 5.0) == 0.0


def test_what_cannot_be_saved_so_is_refused():
    a, kill = (simulate_filling(EARLY, System.of(6), **WAYS[way]) for way in ("A", "B, kill"))
    with pytest.raises(ValueError, match="policy='filling A'; expected 'filling B, kill'"):
        saved_every(a, 3)
    with pytest.raises(ValueError, match="slots=0; expected a whole number from 1"):
        saved_every(kill, 0)
    with pytest.raises(ValueError, match="between_kills=0; expected slots above 0"):
        young_interval(0.1, 0)
    with pytest.raises(ValueError, match="overhead=-1; expected a number from 0"):
        young_interval(-1, 5)
