"""What `simulate_ondemand` and its helpers refuse, and how they say so."""

import re

import numpy as np
import pandas as pd
import pytest

from cosimlib import synthetic
from cosimlib.calendar import Calendar
from cosimlib.eviction.problem import checkpoint_table, optimum_interval
from cosimlib.ondemand import (
    Checkpoints,
    Evict,
    Notice,
    Reserve,
    Share,
    Shrink,
    simulate_ondemand,
)
from cosimlib.system import THETA, System
from cosimlib.units import DAY
from cosimlib.workload import InvalidWorkloadError, Workload
from tests.cosimlib.ondemand.test_simulation import BATCH, MACHINE, ONE, bursts_of

NAN = np.nan
WINDOW = Calendar([(0, 1)])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"policy": "fair"}, "policy='fair'; expected one of 'wait', 'reserve', 'kill'"),
        ({"policy": "reserve"}, "policy='reserve'; expected Reserve(nodes=…), with nodes from 1"),
        ({"policy": Reserve(9)}, "Reserve: nodes=9; expected a whole number from 1 to 8"),
        ({"notice": True}, "notice=True; expected one of 'ignore', 'collect', 'prepare'"),
        ({"seed": -1}, "seed=-1"),
        ({"start_up": -1}, "start_up=-1; expected seconds from 0"),
        ({"calendar": WINDOW, "policy": "share"}, "policy='share'; expected one that takes a"),
        ({"calendar": WINDOW, "policy": "kill", "start_up": 9}, "start_up=9; expected None"),
        ({"calendar": Calendar([(0, 1)], "kill")}, "on_overrun='kill'; expected 'wait'"),
    ],
)
def test_knobs_out_of_range_say_what_was_expected(wrong, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        simulate_ondemand(BATCH, MACHINE, ONE, **wrong)


@pytest.mark.parametrize(
    ("make", "knobs", "message"),
    [
        (Evict, {"solver": "fair"}, "solver='fair'; expected one of 'kill', 'greedy'"),
        (Evict, {"deadline": "soon"}, "deadline='soon'; expected one of 'least_loss', 'earliest'"),
        (Evict, {"weight": -1}, "weight=-1; expected node-hours per hour of delay, from 0"),
        (Evict, {"step": 0}, "step=0; expected seconds above 0"),
        (Reserve, {"nodes": 0}, "nodes=0; expected a whole number from 1"),
        (Shrink, {"malleable": 1.1}, "malleable=1.1; expected a share from 0 to 1"),
        (Shrink, {"least": -0.1}, "least=-0.1; expected a share from 0 to 1"),
        (Share, {"turn": 0}, "turn=0; expected a part of the time between 0 and 1"),
        (Notice, {"use": "guess"}, "use='guess'; expected one of 'ignore', 'collect', 'prepare'"),
        (Notice, {"lead": -1}, "lead=-1; expected seconds from 0"),
        (Notice, {"patience": -1}, "patience=-1; expected seconds from 0"),
        (Checkpoints, {"interval": 0}, "interval=0; expected seconds above 0, or 'daly', or None"),
        (Checkpoints, {"interval": "hourly"}, "interval='hourly'; expected seconds above 0"),
        (Checkpoints, {"node_mtbf": 0}, "node_mtbf=0; expected seconds above 0"),
    ],
)
def test_knobs_are_checked_where_they_are_made(make, knobs, message):
    with pytest.raises(ValueError, match=re.escape(f"{make.__name__}: {message}")):
        make(**knobs)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((0, 10, 9, 0, NAN, NAN), "bursts: job 0 asks for 9 nodes; partition 'main' has 8"),
        ((0, 10, 2, -1, NAN, NAN), "longest_delay=-1; expected seconds from 0"),
        ((5, 10, 2, 9, -1, 5), "notice_time=-1; expected seconds from 0 to its submit_time"),
        ((5, 10, 2, 9, 6, 7), "notice_time=6; expected seconds from 0 to its submit_time"),
        ((5, 10, 2, 9, 4, 3), "expected_time=3; expected seconds from its notice_time on"),
    ],
)
def test_bursts_that_make_no_sense_are_named(row, message):
    with pytest.raises(InvalidWorkloadError, match=re.escape(message)):
        simulate_ondemand(BATCH, MACHINE, bursts_of(row))


def test_checkpoints_need_a_machine_that_tells_its_memory_and_bandwidths():
    with pytest.raises(ValueError, match="8 nodes: memory_per_node is unknown; give a System"):
        simulate_ondemand(BATCH, System.of(8), ONE)
    assert len(simulate_ondemand(BATCH, System.of(8), ONE, policy="wait").evictions) == 0


def test_batch_jobs_need_requested_times_and_several_partitions_are_refused():
    unknown = Workload(BATCH.jobs.assign(requested_time=NAN), "unknown")
    with pytest.raises(InvalidWorkloadError, match="unknown: job 0 has no requested_time"):
        simulate_ondemand(unknown, MACHINE, ONE)
    with pytest.raises(InvalidWorkloadError, match="2 partitions"):
        simulate_ondemand(BATCH, System.of(a=8, b=8), ONE)


def test_bursts_without_columns_of_their_own_have_defaults():
    plain = Workload(ONE.jobs[["submit_time", "run_time", "nodes"]], "plain")
    schedule = simulate_ondemand(BATCH, MACHINE, plain, policy="kill")
    assert schedule.bursts["longest_delay"].tolist() == [900]
    assert schedule.workload.jobs["requested_time"].tolist()[2] == 100
    assert schedule.name == "kill, made up + plain"


def test_no_jobs_at_all_are_an_empty_schedule():
    nothing = BATCH.keep(np.zeros(2, bool), "all")
    assert len(simulate_ondemand(nothing, MACHINE).allocations) == 0
    alone = simulate_ondemand(nothing, MACHINE, ONE)
    assert alone.bursts["delay"].tolist() == [0]


def test_daly_s_interval_is_young_s_for_short_checkpoints_and_the_mtbf_for_endless_ones():
    seconds, mtbf = np.array([1.0, 60.0]), np.array([1e9, 1e6])
    young = np.sqrt(2 * seconds * mtbf)
    assert optimum_interval(seconds, mtbf) == pytest.approx(young - seconds, rel=3e-3)
    assert optimum_interval(np.array([50.0]), np.array([20.0])) == [20.0]
    table = checkpoint_table(BATCH, MACHINE, interval="daly", node_mtbf=1e6)
    expected = optimum_interval(table["app_write"].to_numpy(), 1e6 / np.array([5, 3]))
    assert table["interval"].tolist() == np.round(expected).tolist()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rate": -1}, "rate=-1; expected a number from 0"),
        ({"nodes": 0}, "nodes=0; expected a whole number from 1"),
        ({"nodes": []}, "nodes=[]; expected a whole number from 1, or some"),
        ({"run_time": 0}, "run_time=0; expected seconds above 0"),
        ({"notice": "soon"}, "notice='soon'; expected one of 'none', 'accurate', 'early', 'late'"),
        ({"notice": {"late": -1}}, "notice['late']=-1; expected a share from 0"),
        ({"notice": {"late": 0}}, "expected shares of which one is above 0"),
    ],
)
def test_streams_of_bursts_out_of_range_say_what_was_expected(wrong, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        synthetic.bursts(**{"rate": 1.0, "nodes": 1, "horizon": DAY} | wrong)


def test_streams_of_bursts_have_their_rate_their_sizes_and_their_notices():
    shares = {"none": 0.4, "accurate": 0.2, "early": 0.2, "late": 0.2}
    jobs = synthetic.bursts(
        rate=20.0, nodes=[64, 128], horizon=400 * DAY, notice=shares, seed=3
    ).jobs
    assert len(jobs) == pytest.approx(8_000, rel=0.02)
    assert (jobs["nodes"] == 64).mean() == pytest.approx(0.5, abs=0.02)
    known = jobs.dropna(subset="notice_time")
    assert len(known) / len(jobs) == pytest.approx(0.6, abs=0.02)
    late = known["submit_time"] - known["expected_time"]
    assert (late < 0).mean() == pytest.approx(1 / 3, abs=0.03)
    assert (late > 0).mean() == pytest.approx(1 / 3, abs=0.03)
    assert late.between(-1_800, 1_800).all()
    ahead = (known["expected_time"] - known["notice_time"])[known["notice_time"] > 0]
    assert ahead.between(900, 1_800).all()
    assert (known["notice_time"] <= known["submit_time"]).all()
    gaps = jobs["submit_time"].diff().dropna()
    assert gaps.std() / gaps.mean() == pytest.approx(1.0, abs=0.05)


def test_streams_are_the_same_for_a_seed_and_scale_with_the_rate():
    def times(**knobs):
        return synthetic.bursts(nodes=1, **knobs).jobs["submit_time"].to_numpy()

    once = times(rate=2.0, horizon=50 * DAY, seed=1)
    assert once.tolist() == times(rate=2.0, horizon=50 * DAY, seed=1).tolist()
    assert once.tolist() != times(rate=2.0, horizon=50 * DAY, seed=2).tolist()
    np.testing.assert_allclose(once, times(rate=4.0, horizon=25 * DAY, seed=1) * 2, atol=2)
    assert len(times(rate=0.0, horizon=DAY)) == 0
    assert simulate_ondemand(
        BATCH, THETA, synthetic.bursts(rate=0, nodes=1, horizon=DAY)
    ).end_time.all()


def test_bursts_are_a_workload_whose_columns_are_kept():
    jobs = synthetic.bursts(rate=9.0, nodes=3, horizon=DAY, notice="accurate", seed=1)
    schedule = simulate_ondemand(BATCH, MACHINE, jobs, policy="wait")
    table = schedule.workload.jobs
    assert table["on_demand"].sum() == len(jobs)
    columns = ["submit_time", "notice_time", "expected_time"]
    pd.testing.assert_frame_equal(
        table.loc[schedule.on_demand, columns].reset_index(drop=True), jobs.jobs[columns]
    )
