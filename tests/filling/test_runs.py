"""Runs as cells of a sweep: they measure what the simulator and the measures say."""

import numpy as np
import pandas as pd
import pytest

from cosimlib import metrics, synthetic
from cosimlib.filling import (
    container_costs,
    filled_jobs,
    full_queue,
    node_seconds,
    reached_load,
    save_intervals,
    save_table,
    scheduler_variants,
    simulate_filling,
)
from cosimlib.filling.runs import FILLING_POLICIES, INTERVALS, VARIANTS
from cosimlib.sweep import sweep
from cosimlib.system import System
from cosimlib.units import DAY, HOUR
from cosimlib.workload import Workload

LOG = synthetic.with_estimates(synthetic.lublin(150, nodes=32, load=0.9, seed=4), seed=7)
# Every third job outlives its request.
JOBS = LOG.jobs.assign(
    requested_time=np.where(LOG.jobs.index % 3 == 0, 60.0, LOG.jobs["requested_time"])
)
LOG = Workload(JOBS, "a log", System.of(32))
SOURCES = [{"days": 1.0}, {"log": LOG}, {"days": 1.0, "load": 0.8}]
IDS = ["backlog", "log", "stream"]


def test_jobs_are_those_of_lomonosov_or_of_the_log():
    made = filled_jobs(0.3, 2, days=1.0, load=0.8)
    pd.testing.assert_frame_equal(
        made.jobs, synthetic.lomonosov(1.0, accuracy=0.3, load=0.8, seed=2).jobs
    )
    assert filled_jobs(None, 2, log=LOG) is LOG
    drawn = synthetic.with_round_estimates(LOG, 0.3, seed=2).jobs
    pd.testing.assert_frame_equal(filled_jobs(0.3, 2, log=LOG).jobs, drawn)
    with pytest.raises(ValueError, match="accuracy=None; expected a number from 0 to 1"):
        filled_jobs(None, 2)


@pytest.mark.parametrize("source", SOURCES[:2], ids=IDS[:2])
def test_loads_are_measured_while_the_queue_is_full(source):
    jobs = filled_jobs(0.5, 3, **source)
    waiting = Workload(jobs.jobs.assign(submit_time=0.0), jobs.name, jobs.machine)
    run = simulate_filling(waiting, jobs.machine, policy=None, queue_depth=20)
    start, end = full_queue(run, 20)
    end = min(end, DAY) if "days" in source else end
    expected = metrics.utilization(run, start=start, end=end)
    assert reached_load(20, 0.5, 3, **source) == {"load": expected}


@pytest.mark.parametrize("policy", FILLING_POLICIES)
@pytest.mark.parametrize("source", SOURCES, ids=IDS)
def test_costs_are_those_of_the_schedule(source, policy):
    jobs = filled_jobs(0.5, 3, **source)
    run = simulate_filling(jobs, jobs.machine, queue_depth=20, **FILLING_POLICIES[policy])
    assert run.policy == policy
    window = {"start": 0.0, "end": DAY} if "days" in source else {}
    use = node_seconds(run, **window)
    time = use[["computing", "overhead", "lost"]].sum()
    costs = container_costs(policy, 0.5, 3, queue_depth=20, **source)
    assert costs["held up"] == run.held_up.mean()
    assert costs["lost"] == pytest.approx(use["lost"] / time if time else np.nan, nan_ok=True)


@pytest.mark.parametrize("accuracy", [0.5, None])
def test_intervals_are_those_of_the_schedule(accuracy):
    jobs = filled_jobs(accuracy, 3, log=LOG)
    run = simulate_filling(jobs, jobs.machine, policy="B", reclaim="kill")
    expected = save_table(run, INTERVALS, [0.1, 0.3])
    pd.testing.assert_frame_equal(
        save_intervals(accuracy, 3, overheads=[0.1, 0.3], log=LOG), expected
    )


@pytest.mark.parametrize("variant", VARIANTS)
def test_variants_are_the_scheduler_s(variant):
    run = simulate_filling(LOG, LOG.machine, policy=None, **VARIANTS[variant])
    use = node_seconds(run)
    expected = {
        "load": use["regular"] / use.sum(),
        "mean_wait": run.jobs["wait_time"].mean() / HOUR,
        "terminated": (LOG.jobs["run_time"] > LOG.jobs["requested_time"]).mean()
        if "terminate" in variant
        else 0.0,
    }
    found = scheduler_variants(variant, None, 0, log=LOG)
    assert found == pytest.approx(expected)
    assert ("terminate" in variant) == (found["terminated"] > 0)


def test_they_run_as_cells_of_a_sweep():
    grid = {"policy": ["filling A", "filling B, save"], "accuracy": [0.0, 1.0]}
    table = sweep(container_costs, grid, range(2), shared={"log": LOG}, errors="raise")
    assert table["seed"].tolist() == [0, 1] * 4
    for row in table.itertuples(index=False):
        costs = container_costs(row.policy, row.accuracy, row.seed, log=LOG)
        assert (row.lost, row[3]) == (costs["lost"], costs["held up"])


def test_what_is_not_known_is_refused_by_name():
    with pytest.raises(ValueError, match="policy='A'; expected one of 'not filled', 'filling A'"):
        container_costs("A", 0.5, 0, log=LOG)
    message = "variant='no'; expected one of 'rescheduled', 'not"
    with pytest.raises(ValueError, match=message):
        scheduler_variants("no", 0.5, 0, log=LOG)
    with pytest.raises(ValueError, match=message):
        reached_load(10, 0.5, 0, variant="no", log=LOG)
