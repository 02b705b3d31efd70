"""Output of a live Slurm that is stored: sites, and jobs as they were submitted."""

import numpy as np
import pandas as pd

import cosimlab as lab
from cosimlib.workload import Workload
from tests.cosimlab.slurm.test_slurm import shared
from tests.suites import ROOT

STORED = ROOT / "tests" / "data" / "slurm-live"
RELEASE = "22.05.8"


def site_of(name):
    """A site as its files say, under the release that ran."""
    return lab.slurm.read_site(STORED / name).with_(f"SLURM_VERSION={RELEASE}")


def micro_jobs(name, *, gpus):
    """The 500 jobs of micro as they were submitted to a site, by their number; or a skip.

    Some were submitted to the partition `debug`; `gpus` is whether GPUs were asked for.
    """
    jobs = lab.slurm.read_jobs(shared("micro") / "jobs500_shrinked.events", site_of(name)).jobs
    jobs = jobs.set_axis(np.arange(1, len(jobs) + 1))
    debug = pd.read_csv(STORED / name / "debug.csv")["job"]
    jobs.loc[debug, "partition"] = "debug"
    return jobs if gpus else jobs.assign(gpus=0)


def queue_of(jobs, **columns):
    """Some jobs that are all in the queue."""
    return Workload(jobs.reset_index(drop=True).assign(submit_time=0.0, run_time=1.0, **columns))
