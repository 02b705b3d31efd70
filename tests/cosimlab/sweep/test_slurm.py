"""Slurm: a sweep on jobs of a real batch system, one of which is cancelled, and as an array.

The former runs where there is a Slurm that takes jobs; docs/cluster.md tells the same story to
users. The array is two processes with the variables that Slurm would set.
"""

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import joblib
import pandas as pd
import pytest

from cosimlab.sweep import sweep
from tests.cosimlab.sweep.functions import product, slowly
from tests.cosimlab.sweep.test_folder import files
from tests.suites import ROOT

distributed = pytest.importorskip("distributed")


def slurm(*command: str) -> str:
    """What a command of Slurm prints; empty where there is none."""
    if shutil.which(command[0]) is None:
        return ""
    return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.strip()


has_slurm = pytest.mark.skipif(
    "idle" not in slurm("sinfo", "--noheader", "--format=%T"), reason="no Slurm with idle nodes"
)


@pytest.fixture
def client(tmp_path):
    """A Dask client whose workers are jobs of Slurm, two to three of them."""
    jobqueue = pytest.importorskip("dask_jobqueue")
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
        connected.wait_for_workers(2)
        yield connected


def on_dask(*arguments, **options):
    with joblib.parallel_config(backend="dask"):
        return sweep(*arguments, **options)


@has_slurm
def test_a_cancelled_job_costs_no_cell_and_no_byte(client, tmp_path):
    visits, grid = tmp_path / "visits", {"x": range(24)}
    visits.mkdir()
    shared = {"folder": str(visits)}
    with ThreadPoolExecutor(1) as thread:
        sweeping = thread.submit(on_dask, slowly, grid, shared=shared, folder=tmp_path / "there")
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


TASK = """
import os, sys
import cosimlab as lab
import cosimlib as cs
from tests.cosimlab.sweep.functions import product
task, tasks = int(os.environ["SLURM_ARRAY_TASK_ID"]), int(os.environ["SLURM_ARRAY_TASK_COUNT"])
lab.sweep(product, {"x": [1, 2]}, range(task, 5, tasks), folder=sys.argv[1])
"""


def test_the_jobs_of_an_array_fill_one_folder(tmp_path):
    folder = tmp_path / "cells"
    for task in range(2):
        own = {"SLURM_ARRAY_TASK_ID": str(task), "SLURM_ARRAY_TASK_COUNT": "2"}
        env = {**os.environ, **own, "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, "-c", TASK, str(folder)], env=env, check=True)
    before = files(folder)
    found = sweep(product, {"x": [1, 2]}, range(5), folder=folder)
    assert len(before) == 10 and files(folder) == before, "nothing is left to compute"
    pd.testing.assert_frame_equal(found, sweep(product, {"x": [1, 2]}, range(5)))
