"""Bursts on a batch machine: ledgers, measures, runs over seeds, and bursts for a log."""

import numpy as np
import pandas as pd
import pytest

from cosimlab.comparison.ondemand import compare_ondemand
from cosimlib import synthetic
from cosimlib.ondemand import (
    LEDGER,
    OVERHEAD,
    Reserve,
    bursts_from_queue,
    draw_bursts,
    ledger,
    measure,
    simulate_ondemand,
)
from cosimlib.workload import Workload
from tests.cosimlib.ondemand.instances import SIX, STREAM, draw, schedule_of, sixty_jobs
from tests.cosimlib.ondemand.test_simulation import BATCH, MACHINE, run


@pytest.fixture(scope="module")
def jobs() -> Workload:
    return sixty_jobs()


@pytest.fixture(scope="module")
def runs(jobs) -> pd.DataFrame:
    return compare_ondemand(jobs, MACHINE, SIX, {"base": STREAM}, range(4))


def test_logs_drawn_anew_are_those_of_resample(jobs):
    table = jobs.jobs.assign(submit_time=jobs.jobs["submit_time"] * 100.0)
    days = Workload(table, "twelve days")
    kill = {"kill": {"policy": "kill"}}
    stream = STREAM | {"rate": 9.0}
    rows = compare_ondemand(days, MACHINE, kill, {"base": stream}, range(2), redrawn=True)
    for seed, row in rows.iterrows():
        new = synthetic.resample(days, seed, unit="weeks")
        bursts = draw_bursts(new, seed=seed, **stream)
        alone = measure(simulate_ondemand(new, MACHINE, bursts, policy="kill", seed=seed))
        assert row[list(alone)].to_dict() == pytest.approx(alone)
    fixed = compare_ondemand(days, MACHINE, kill, {"base": stream}, range(2))
    assert (rows["kept"] != fixed["kept"]).all()


def test_the_ledger_of_one_kill_is_what_one_counts_by_hand():
    """5 nodes do 5,000 s twice, a burst of 4 runs for 100 s, 8 nodes are there for 15,100 s."""
    hours = (ledger(run(policy="kill")) * 3600).round(6)
    assert hours.to_dict() == {
        "batch": 80_000,
        "bursts": 400,
        "containers": 0,
        "lost": 25_000,
        "writing": 0,
        "blocked": 0,
        "rereading": 0,
        "idle": 8 * 15_100 - 105_400,
    }
    row = measure(run(policy="kill"))
    assert (row["bursts"], row["missed"], row["delay"], row["evictions"]) == (1, 0, 0, 1)
    assert row["overhead"] == row["lost"] == pytest.approx(25_000 / 3600)
    assert row["slowdown"] == pytest.approx((1.51 + 1) / 2)


@pytest.mark.parametrize("policy", ["wait", "greedy", "dynamic_blocked"])
def test_ledgers_add_up_to_the_machine_in_any_window(policy):
    for seed in range(20):
        schedule = schedule_of(draw(seed, policy))
        for first, last in ((0.0, 30.0), (7.0, 19.0)):
            hours = ledger(schedule, start=first, end=last)
            assert tuple(hours.index) == LEDGER and (hours > -1e-9).all()
            assert hours.sum() * 3600 == pytest.approx(schedule.total_nodes * (last - first))
    assert (ledger(schedule, start=5.0, end=5.0) == 0).all()


def test_policies_see_the_same_bursts_and_runs_are_measures_of_schedules(jobs, runs):
    assert len(runs) == len(SIX) * 4
    assert (runs.pivot_table("bursts", "policy", "seed").std() == 0).all()
    bursts = draw_bursts(jobs, seed=2, **STREAM)
    submit = jobs.jobs["submit_time"]
    assert bursts.jobs["submit_time"].between(submit.min(), submit.max()).all()
    alone = measure(simulate_ondemand(jobs, MACHINE, bursts, policy="dynamic", seed=2))
    row = runs[(runs["policy"] == "dynamic") & (runs["seed"] == 2)].iloc[0]
    assert row[list(alone)].to_dict() == pytest.approx(alone)
    assert (runs[list(OVERHEAD)].sum(axis=1) - runs["overhead"]).abs().max() < 1e-9
    assert (runs.loc[runs["policy"] == "wait", "overhead"] == 0).all()


def test_a_queue_of_a_log_becomes_bursts(jobs):
    batch, bursts = bursts_from_queue(jobs, "debug", longest_delay=60.0)
    assert len(batch) + len(bursts) == len(jobs)
    assert set(batch.jobs["queue"]) == {"batch"} and set(bursts.jobs["queue"]) == {"debug"}
    schedule = simulate_ondemand(batch, MACHINE, bursts, policy="kill")
    assert schedule.bursts["longest_delay"].unique().tolist() == [60]
    assert not schedule.bursts["missed"].any()
    with pytest.raises(ValueError, match="sixty: queue='fast'; expected one of 'batch', 'debug'"):
        bursts_from_queue(jobs, "fast")


def test_a_log_without_jobs_or_of_one_instant_has_no_bursts():
    nothing = BATCH.keep(np.zeros(2, bool), "all")
    assert len(draw_bursts(nothing, **STREAM)) == len(draw_bursts(BATCH, **STREAM)) == 0
    row = measure(simulate_ondemand(BATCH, MACHINE, draw_bursts(BATCH, **STREAM)))
    assert row["bursts"] == 0 and np.isnan(row["missed"]) and np.isnan(row["overhead"])


def test_theta_s_month_is_accounted_for_under_all_policies():
    month = synthetic.theta(800, seed=1)
    bursts = draw_bursts(month, rate=6.0, nodes=1_024, seed=1)
    for knobs in SIX.values():
        wide = {"policy": Reserve(512)} if isinstance(knobs["policy"], Reserve) else knobs
        schedule = simulate_ondemand(month, month.machine, bursts, **wide)
        work = month.jobs["nodes"] @ month.jobs["run_time"]
        assert ledger(schedule)["batch"] * 3600 == pytest.approx(work)
