"""Fair share and priorities, line by line as ``sshare`` and ``sprio`` of a live Slurm print them.

A tree of three levels, Fair Tree, two QOS, two partitions, weights for age, fair share, size,
partition, QOS, CPUs and memory; 300 to 50 jobs waited while 145 pairs of outputs were recorded.
"""

import numpy as np
import pandas as pd

from cosimlib.slurm.fairshare import fair_shares, tree_of
from cosimlib.slurm.jobs import jobs_of
from cosimlib.slurm.preemption import set_preemption
from cosimlib.slurm.priority import set_parts, set_priority
from cosimlib.slurm.simulation import settings_of
from tests.cosimlab.slurm.live import STORED, micro_jobs, queue_of, site_of


def test_fair_share_factors_are_those_of_sshare():
    """The usage is that of the printed factors: Slurm's own, to six digits."""
    site = site_of("accounts")
    lines = pd.read_csv(STORED / "accounts" / "sshare.csv", keep_default_na=False)
    for _, printed in lines.groupby("snapshot"):
        key = list(zip(printed["account"], printed["user"], strict=True))
        factors = fair_shares(site, dict(zip(key, printed["norm_usage"], strict=True)))
        got = factors.set_index(["account", "user"])["factor"].loc[key]
        assert np.abs(got.to_numpy() - printed["fair_share"].to_numpy()).max() <= 1e-6
    assert len(lines) > 800


def test_priorities_are_those_of_sprio():
    """Each part and their sum, to one unit, from the printed age and fair share."""
    site = site_of("accounts")
    stored = micro_jobs("accounts", gpus=True)
    lines = pd.read_csv(STORED / "accounts" / "sprio.csv")
    tree, branches = tree_of(site)
    jobs = jobs_of(queue_of(stored), site, branches)
    set_parts(jobs, site)
    set_preemption(jobs, site)
    jobs.table.accrues = 0.0
    row = {job: number for number, job in enumerate(stored.index)}
    weights = settings_of(site, False)
    for line in lines.itertuples():
        job = jobs.table[row[line.job]]
        tree.branches.factor[:] = 0.0
        tree.branches[job.association].factor = line.fair_share_factor
        now = line.age_factor * site.priority.max_age
        set_priority(jobs.table, row[line.job], tree, weights, now)
        tres = sum(float(part.partition("=")[2]) for part in line.tres.split(","))
        got = [job.priority, job.size_part, job.partition_part, job.qos_part, job.tres_part]
        printed = [line.priority, line.size, line.partition, line.qos, tres]
        assert np.abs(np.subtract(got, printed)).max() <= 1, (line, got)
    assert len(lines) > 2000
