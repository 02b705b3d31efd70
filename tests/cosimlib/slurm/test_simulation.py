"""The simulation: the plain version start by start, laws, and settings by hand."""

import numpy as np
import pytest

from cosimlib.slurm import simulate
from tests.cosimlib.slurm import naive
from tests.cosimlib.slurm.cases import naive_jobs, random_site, random_workload
from tests.suites import THOROUGH


def compare(seed):
    rng = np.random.default_rng(seed)
    site = random_site(rng)
    workload = random_workload(rng, site)
    jobs = naive_jobs(workload, site)
    naive.Slurm(site, jobs).simulate()
    schedule = simulate(workload, site)
    expected = [(job.start, job.end, sorted(job.where)) for job in jobs]
    wanted = workload.jobs["nodes"].to_numpy()
    nodes = np.split(schedule.node, np.cumsum(wanted)[:-1])
    got = [
        (start, end, sorted(node[node >= 0].tolist()))
        for start, end, node in zip(schedule.start_time, schedule.end_time, nodes, strict=True)
    ]
    for job, (one, other) in enumerate(zip(got, expected, strict=True)):
        same = np.array_equal(one[:2], other[:2], equal_nan=True) and one[2] == other[2]
        assert same, f"seed {seed}: job {job} is {one}; the plain version has {other}"
    return sum(job.start > job.eligible for job in jobs)


@pytest.mark.compiled("some sites with many passes")
def test_starts_and_nodes_are_those_of_the_plain_version():
    waited = sum(compare(seed) for seed in range(500 if THOROUGH else 60))
    assert waited > 100
