"""Slurm: a sweep on jobs of a real batch system, one of which is cancelled at work.

Runs where there is a Slurm that takes jobs; docs/cluster.md tells the same story to users.
"""

import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest

from cosimlib.sweep import sweep
from tests.suites import ROOT
from tests.sweep.functions import slowly
from tests.sweep.test_folder import files

jobqueue = pytest.importorskip("dask_jobqueue")
distributed = pytest.importorskip("distributed")


def slurm(*command: str) -> str:
    """What a command of Slurm prints; empty where there is none."""
    if shutil.which(command[0]) is None:
        return ""
    return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.strip()


pytestmark = pytest.mark.skipif(
    "idle" not in slurm("sinfo", "--noheader", "--format=%T"), reason="no Slurm with idle nodes"
)


@pytest.fixture
def client(tmp_path):
    """A Dask client whose workers are jobs of Slurm, two to three of them."""
    with (
        jobqueue.SLURMCluster(
            cores=1,
            processes=1,
            memory="500MB",
            walltime="00:10:00",
            interface="lo",
            python=sys.executable,
            job_script_prologue=[f"export PYTHONPATH={ROOT}"],
            worker_extra_args=["--lifetime", "8m", "--lifetime-stagger", "1m"],
            log_directory=str(tmp_path / "log"),
            scheduler_options={"dashboard_address": None},
        ) as cluster,
        distributed.Client(cluster) as connected,
    ):
        cluster.adapt(minimum_jobs=2, maximum_jobs=3)
        yield connected


def test_a_cancelled_job_costs_no_cell_and_no_byte(client, tmp_path):
    for name in ("visits", "there", "here"):
        (tmp_path / name).mkdir()
    visits, grid = tmp_path / "visits", {"x": range(24)}
    shared = {"folder": str(visits)}
    given = {"executor": client.get_executor(), "folder": tmp_path / "there"}
    with ThreadPoolExecutor(1) as thread:
        sweeping = thread.submit(sweep, slowly, grid, shared=shared, **given)
        while len(list(visits.iterdir())) < 8 and not sweeping.done():
            time.sleep(0.05)
        latest = max(visits.iterdir(), key=lambda path: path.stat().st_mtime)
        slurm("scancel", latest.read_text().split()[-1])
        found = sweeping.result()
    notes = [(visits / str(x)).read_text().split() for x in grid["x"]]
    assert len({job for note in notes for job in note}) >= 2
    assert [len(note) for note in notes].count(1) >= 22, "the others were computed once"
    expected = sweep(slowly, grid, shared=shared, folder=tmp_path / "here")
    pd.testing.assert_frame_equal(found, expected)
    assert files(tmp_path / "here") == files(tmp_path / "there")
