"""Preemption beside two runs of a live Slurm: which jobs are stopped, and when jobs start.

150 jobs in three partitions: `urgent` (tier 10), `normal`, and `scrap`, whose jobs are cancelled.
"""

from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from cosimlib import slurm
from cosimlib.workload import Workload
from tests.cosimlab.slurm.live import STORED, site_of

CLOCKS = {1: -36.4, 2: -3.2}
"""When the scheduler of each run was loaded (s from the first submission): its clocks begin."""


def runs():
    """For each run: submissions, last starts, and the jobs that were preempted."""
    found = {}
    for number, table in pd.read_csv(STORED / "preemption" / "runs.csv").groupby("run"):
        last = table.groupby("job").last()
        stopped = set(table.loc[table["state"] == "PREEMPTED", "job"])
        found[number] = last["submit"].to_numpy(), last["start"].to_numpy(), stopped
    return found


def simulated(submit, clocks):
    """Starts and preempted jobs of ours; a job that is refused starts the clocks."""
    stored = pd.read_csv(STORED / "preemption" / "jobs.csv")
    first = stored.head(1).assign(partition="none")
    jobs = pd.concat([first, stored], ignore_index=True)
    whole = np.floor(clocks / 60) * 60
    times = np.concatenate([[clocks], submit]) - whole
    # Release 22.05 does not know requeue_delay; jobs end as the record has it, not by KillWait.
    site = site_of("preemption").with_("requeue_delay=120", "KillWait=600")
    columns = {"submit_time": times, "run_time": jobs["run"], "requested_time": jobs["limit"]}
    rest = jobs[["nodes", "cores", "user", "account", "partition", "qos"]]
    # They were submitted without -N, so that each asked for one node.
    workload = Workload(rest.assign(**columns, requested_nodes=1), "live")
    schedule = slurm.simulate(workload, site)
    numbers = schedule.preempted["job"].to_numpy() - 1
    return schedule.start_time[1:] + whole, set(stored["job"].to_numpy()[numbers])


def table():
    """Jobs preempted in both, median difference of starts (s), rank correlation of waits."""
    rows, recorded = [], runs()
    for (one, a), (other, b) in combinations(recorded.items(), 2):
        rows.append((f"Slurm {one} and Slurm {other}", *apart(a, b)))
    for number, run in recorded.items():
        start, stopped = simulated(run[0], CLOCKS[number])
        rows.append((f"simulated and Slurm {number}", *apart((run[0], start, stopped), run)))
    return pd.DataFrame(rows, columns=["pair", "one", "other", "both", "median", "correlation"])


def apart(one, other):
    submit, start, stopped = one
    difference = np.median(np.abs(start - other[1]))
    correlation = spearmanr(start - submit, other[1] - other[0]).statistic
    return len(stopped), len(other[2]), len(stopped & other[2]), difference, correlation


def test_preemption_is_as_near_to_a_live_slurm_as_its_repetition():
    """3 jobs are preempted in both of Slurm's runs; 5 in ours and each of them."""
    found = table().set_index("pair")
    slurms = found.loc["Slurm 1 and Slurm 2"]
    for pair in ("simulated and Slurm 1", "simulated and Slurm 2"):
        ours = found.loc[pair]
        assert ours["both"] >= slurms["both"] and ours["correlation"] >= slurms["correlation"]
        assert 0.5 <= ours["one"] / ours["other"] <= 1.6


if __name__ == "__main__":
    print(table().round(2).to_string(index=False))
