"""Backfill: the plans of Slurm's own code, to the second and the node."""

import re

import numpy as np
import pandas as pd

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
