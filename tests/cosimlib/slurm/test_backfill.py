"""Backfill: the plans of Slurm's own code, to the second and the node."""

import re

import numpy as np
import pandas as pd
import pytest

from cosimlib.slurm.simulation import plan
from cosimlib.slurm.site import Node, Partition, PrioritySettings, SchedulerSettings, Site
from cosimlib.workload import Workload


def numbers(text):
    """``node[01-03,07]`` as (0, 1, 2, 6)."""
    parts = re.sub(r"[^\d,-]", "", text).split(",")
    bounds = [part.split("-") for part in parts]
    return tuple(
        node for first, *last in bounds for node in range(int(first) - 1, int([first, *last][-1]))
    )


def test_plans_are_those_of_slurm(oracle_path):
    """600 jobs of 16 queues on 32 idle nodes: starts to the second, and nodes."""
    plans = pd.read_csv(oracle_path("slurm/backfill-plans.csv"))
    nodes = tuple(Node(f"node{number + 1:02}") for number in range(32))
    site = Site(
        "32 nodes",
        nodes,
        {"main": Partition("main", nodes=tuple(range(32)), exclusive=True)},
        priority=PrioritySettings(multifactor=False),
        scheduler=SchedulerSettings(bf_window=20_000 * 60),
    )
    seen = 0
    for _, queue in plans.groupby("queue"):
        queue = queue.sort_values("priority", ascending=False, kind="stable")
        now = queue["now_mod_60"].iloc[0]
        limit = queue["limit_minutes"].to_numpy() * 60
        columns = {"submit_time": now, "run_time": limit, "requested_time": limit}
        jobs = pd.DataFrame(columns | {"nodes": queue["nodes"].to_numpy()})
        got = plan(Workload(jobs), site)
        assert (got["start"] - now).tolist() == queue["slurm_start_s"].tolist()
        assert got["nodes"].tolist() == queue["slurm_nodes"].map(numbers).tolist()
        seen += len(queue)
    assert seen == 600
    assert np.isfinite(seen)


@pytest.mark.parametrize(("end", "start"), [(961, 961), (1000, 1000), (1020, 1020), (1021, 1021)])
def test_a_job_may_start_just_before_the_next_time_to_be_tried(end, start):
    """Node 1 becomes free in the map at t=600 and node 2 at t=1020; job 3 needs node 0.

    Job 0 has node 0 until its limit. Jobs 1 and 2 start at once. Job 3 is tried at t=100, when it
    cannot start by t=600, and then at t=600. It is planned for the second at which job 0 ends.
    """
    nodes = tuple(Node(f"n{each}", features=frozenset({f"has{each}"})) for each in range(3))
    partitions = {"main": Partition("main", nodes=(0, 1, 2), exclusive=True)}
    site = Site("three nodes", nodes, partitions, priority=PrioritySettings(multifactor=False))
    limits = [600, 480, 900, 6000]
    columns = {"submit_time": 0, "run_time": limits, "requested_time": limits, "nodes": 1}
    jobs = pd.DataFrame(columns | {"constraint": ["has0", "has1", "has2", "has0"]})
    running = pd.DataFrame({"job": [0], "start": [end - 600.0], "nodes": [(0,)]})
    got = plan(Workload(jobs), site, running, now=100.0)
    assert got["start"].tolist() == [end - 600, 100, 100, start]
    assert got["nodes"].tolist() == [(0,), (1,), (2,), (0,)]
