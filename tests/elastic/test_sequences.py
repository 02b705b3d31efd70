"""Sequences of preemptions: drawn at random, and swept over their parameters."""

import numpy as np
import pandas as pd
import pytest

from cosimlib import synthetic
from cosimlib.elastic import (
    average_sweep,
    draw_preemptions,
    sweep_preemptions,
)
from cosimlib.system import System
from tests.elastic.instances import (
    three_jobs,
)


def test_drawn_preemptions_come_at_their_rate_and_scale():
    drawn = draw_preemptions(rate=4.0, size=10, duration=60.0, horizon=1000 * 86_400.0)
    assert len(drawn) == pytest.approx(4000, rel=0.05)
    assert drawn["time"].is_monotonic_increasing and set(drawn["nodes"]) == {10}
    assert draw_preemptions(rate=0, size=1, duration=1, horizon=1e6).empty
    with pytest.raises(ValueError, match="rate=-1; expected a number from 0"):
        draw_preemptions(rate=-1, size=1, duration=1, horizon=1e6)


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


def test_sweeps_report_what_preemptions_cost():
    few = synthetic.htc(copies=1)
    table = sweep_preemptions(few, System.of(20), policy=["FIFO", "LIFO"], rate=[0.0, 200.0])
    assert len(table) == 4
    still = table[table["rate"] == 0]
    assert (still["relative"] == 1).all() and (still["wasted"] == 0).all()
    waste = table[table["rate"] > 0].set_index("policy")
    assert (waste["relative"] < 1).all() and (waste["kills"] > 0).all()
    assert waste["wasted"]["LIFO"] < waste["wasted"]["FIFO"]
    again = {"policy": ["FIFO", "LIFO"], "rate": [0.0, 200.0], "executor": 2}
    pd.testing.assert_frame_equal(sweep_preemptions(few, System.of(20), **again), table)
    with pytest.raises(ValueError, match="nothing called 'speed' to vary; known are policy, rate"):
        sweep_preemptions(few, System.of(20), speed=[1])


@pytest.mark.compiled("a dozen simulations need compiled kernels")
def test_sweeps_report_the_share_of_nodes_that_users_got():
    few = synthetic.htc(copies=1)
    table = sweep_preemptions(few, System.of(20), rate=[0.0, 40.0, 400.0], policy=["LIFO", "PAP"])
    served = table.groupby("rate")["served"].mean()
    assert served[0.0] == 1 and 0 < served[400.0] < served[40.0] <= 1


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
        sweep_preemptions(three_jobs(), System.of(2), **{"rate": [1000.0], "size": [1]} | knobs)


def test_a_sweep_without_jobs_has_no_rows():
    empty = three_jobs().keep([False] * 3, "none")
    table = sweep_preemptions(empty, System.of(2), rate=[1.0])
    full = sweep_preemptions(three_jobs(), System.of(3), rate=[1.0], size=[1])
    assert table.empty and set(table.columns) == set(full.columns) - {"size"}
    assert average_sweep(table.assign(policy="PAP"), "rate").empty
