"""Output of a live Slurm that is stored: sites, and jobs as they were submitted."""

import pandas as pd

import cosimlab as lab
from cosimlib.workload import Workload
from tests.suites import ROOT

STORED = ROOT / "tests" / "data" / "slurm-live"
RELEASE = "22.05.8"


def site_of(name):
    """A site as its files say, under the release that ran."""
    return lab.slurm.read_site(STORED / name).with_(f"SLURM_VERSION={RELEASE}")


def workload_of(jobs, **columns):
    """Jobs of a stored table, submitted without ``-N``, so that each asks for one node."""
    missing = pd.Series(float("nan"), index=jobs.index)
    table = pd.DataFrame(
        {
            "submit_time": 0.0,
            "run_time": jobs.get("run", 1.0),
            "requested_time": jobs["limit"],
            "nodes": jobs["nodes"],
            "requested_nodes": 1,
            "cores": jobs["cores"].astype(float),
            "memory": jobs.get("memory", missing) / 1024,
            "gpus": jobs.get("gpus", 0),
            "constraint": jobs.get("constraint", pd.Series("", index=jobs.index)).fillna(""),
        }
    )
    names = ["user", "account", "partition", "qos"]
    return Workload(table.assign(**jobs[names].to_dict("series"), **columns), "live")
