"""Drain or evict: costs that are known exactly, and laws of them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlab.comparison import drain_or_evict, mean_costs
from cosimlib.calendar import Calendar
from cosimlib.checks import ArgumentError
from cosimlib.system import System
from cosimlib.units import DAY, HOUR
from cosimlib.workload import Workload
from tests.strategies import workloads

SYSTEM = System("small", {"main": 8}, 1, 100.0, 1.0, 1.0)
"""A checkpoint takes a minute or more, as a node has at least 40 GB to write."""

NO_CHECKPOINTS = {"interval": 365 * DAY, "horizon": 0.0}


def workload_of(*jobs):
    """Jobs as submission (h), run time (h), requested time (h) and nodes."""
    table = pd.DataFrame(jobs, columns=["submit_time", "run_time", "requested_time", "nodes"])
    hours = dict.fromkeys(["submit_time", "run_time", "requested_time"], HOUR)
    return Workload(table.assign(**{name: table[name] * hours[name] for name in hours}), "made")


def at(hour, length=3.0, **columns):
    window = {"start": [hour * HOUR], "end": [(hour + length) * HOUR]}
    return Calendar(pd.DataFrame(window | columns))


def costs(workload, windows, notices, **knobs):
    """The table of one seed, by notice."""
    table = drain_or_evict(
        workload, windows, notices=notices, system=SYSTEM, seeds=[0], **{**NO_CHECKPOINTS, **knobs}
    )
    return table.set_index("notice")


def test_draining_costs_idle_nodes_and_evicting_lost_work():
    # Six nodes for ten hours from 5 h on, two for one hour from 8 h on; a window at 12 h.
    workload = workload_of((5, 10, 10, 6), (8, 1, 1, 2), (11, 4, 6, 2))
    table = costs(workload, at(12), [0, 1, 2, 6, 7, 8])
    assert table["running"].tolist() == [8, 6, 6, 6, 0, 0]
    assert table["idle"].tolist() == [0, 2, 2, 2, 7 * 6 + 2, 7 * 6 + 2]
    assert table["lost"].tolist() == [7 * 6 + 2, 42, 42, 42, 0, 0]
    assert (table["killed"] == table["lost"]).all() and (table["blocked"] == 0).all()
    assert (table["cost"] == 44).all()


def test_hourly_checkpoints_save_the_work_before_them():
    workload = workload_of((5.25, 10, 10, 8))
    row = costs(workload, at(12), [0], interval=HOUR).loc[0]
    assert row["killed"] == row["lost"] == 8 * 0.75
    # The next checkpoint comes at 12.25 h, of 40 to 90 GB, of which 20 to 60 % are critical.
    later = costs(workload, at(12), [0], interval=HOUR, horizon=2 * HOUR).loc[0]
    assert later["lost"] == 0 < later["blocked"] < 8 * 0.2
    assert later["cost"] < row["cost"]


def test_nodes_that_wait_for_a_checkpoint_are_blocked_too():
    # Six minutes of work on one node are cheaper than eight nodes for the minute of a write.
    one = costs(workload_of((11.9, 4, 4, 1)), at(12), [0], horizon=HOUR).loc[0]
    assert one["lost"] == one["cost"] == pytest.approx(0.1)
    # Where the window is of one node, nothing else waits for the write.
    jobs = workload_of((11.9, 4, 4, 1), (11.9, 4, 4, 7))
    alone = costs(jobs, at(12, nodes=[1]), [0], horizon=HOUR).loc[0]
    assert alone["lost"] == 0 < alone["cost"] == alone["blocked"] < 0.1 and alone["running"] == 8


def test_a_window_of_some_nodes_takes_idle_ones_first():
    workload = workload_of((5, 10, 10, 4))
    assert costs(workload, at(12, nodes=[4]), [0, 24])["cost"].tolist() == [0, 0]
    assert costs(workload, at(12, nodes=[5]), [0, 24])["cost"].tolist() == [28, 28]


def test_only_windows_that_end_before_close_nodes():
    workload = workload_of((5, 10, 10, 8), (12.5, 1, 1, 8))
    later = Calendar(pd.concat([at(12).windows, at(14).windows, at(20).windows]))
    assert costs(workload, at(12), [0, 8], calendar=later).equals(costs(workload, at(12), [0, 8]))
    early = costs(workload, at(12), [0, 8], calendar=at(4, 4))
    assert early["lost"].tolist() == [32, 0] and early["idle"].tolist() == [0, 32]


@settings(max_examples=50, deadline=None)
@given(workloads(), st.integers(1, 40))
def test_laws_of_costs(workload, start):
    windows = Calendar([(start, start + 5)])
    kept = workload.jobs["submit_time"] < start
    if not kept.any():
        return
    longest = float(workload.jobs["requested_time"].max())
    notices = [0, 1 / HOUR, 3 / HOUR, (start + longest) / HOUR]
    table = costs(workload, windows, notices, interval=4.0, horizon=6.0)
    free = table.iloc[-1]
    assert free["running"] == free["lost"] == free["blocked"] == free["killed"] == 0
    assert table["idle"].iloc[0] == 0
    assert (table["cost"] == table["idle"] + table["lost"] + table["blocked"]).all()
    assert (table["cost"] <= table["idle"] + table["killed"] + 1e-9).all()
    longer = costs(workload, windows, notices, interval=4.0, horizon=120.0)
    assert (longer["cost"] <= table["cost"] + 1e-9).all()


def test_where_no_job_waits_more_notice_is_more_idle_and_less_lost():
    random = np.random.default_rng(3)
    run = random.integers(1, 20, 60)
    jobs = np.column_stack([np.sort(random.integers(0, 48, 60)), run, run, np.ones(60)])
    large = System("large", {"main": 60}, 1, 100.0, 1.0, 1.0)
    table = drain_or_evict(
        workload_of(*jobs.tolist()),
        at(40),
        notices=range(26),
        system=large,
        seeds=[0, 1],
        **NO_CHECKPOINTS,
    )
    first, second = (table[table["seed"] == seed].drop(columns="seed") for seed in (0, 1))
    assert first.reset_index(drop=True).equals(second.reset_index(drop=True))
    assert (first["idle"].diff().dropna() >= 0).all() and first["idle"].iloc[-1] > 0
    for name in ("running", "lost"):
        assert (first[name].diff().dropna() <= 0).all() and first[name].iloc[0] > 0


def test_each_window_is_for_itself_and_has_all_seeds():
    workload = workload_of((5, 10, 10, 8), (16, 10, 10, 8))
    both = Calendar(pd.concat([at(12).windows, at(20).windows]))
    knobs = {"notices": [0, 2], "system": SYSTEM, "horizon": HOUR, "interval": 365 * DAY}
    table = drain_or_evict(workload, both, seeds=iter([3, 4]), **knobs)
    assert table["window"].tolist() == [0] * 4 + [1] * 4 and table["seed"].tolist() == [3, 4] * 4
    second = drain_or_evict(workload, at(20), seeds=[3, 4], **knobs)
    assert table[table["window"] == 1].reset_index(drop=True).equals(second.assign(window=1))


def test_means_are_paired_by_window_and_over_seeds_first():
    rows = [
        (0, 0.0, 0, 4.0),
        (0, 0.0, 1, 6.0),
        (1, 0.0, 0, 9.0),
        (1, 0.0, 1, 9.0),
        (0, 8.0, 0, 6.0),
        (0, 8.0, 1, 6.0),
        (1, 8.0, 0, 10.0),
        (1, 8.0, 1, 10.0),
    ]
    table = pd.DataFrame(rows, columns=["window", "notice", "seed", "cost"])
    parts = dict.fromkeys(["running", "idle", "lost", "blocked", "killed"], 0.0)
    means = mean_costs(table.assign(**parts))
    assert means["notice"].tolist() == [0, 8]
    assert means["mean"].tolist() == [7, 8] and means["above"].tolist() == [0, 1]
    assert means["above_low"].tolist() == [0, 1] == means["above_high"].tolist()
    assert (means["low"] < means["mean"]).all() and (means["mean"] < means["high"]).all()


def test_what_cannot_be_answered_is_refused():
    workload = workload_of((5, 10, 10, 4))
    with pytest.raises(ArgumentError, match="jobs are submitted in the stretch"):
        costs(workload, at(2), [0])
    with pytest.raises(ArgumentError, match="notices"):
        costs(workload, at(12), [-1])
    with pytest.raises(ValueError, match="memory_per_node is unknown"):
        drain_or_evict(workload, at(12), system=System.of(8))
