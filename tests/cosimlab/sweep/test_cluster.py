"""Dask: the same cells, byte by byte, on a cluster whose worker is killed at work."""

import logging
import os

import joblib
import pandas as pd
import pytest

import cosimlib as cs
from cosimlab.sweep import sweep
from tests.cosimlab.sweep.functions import die_once, process, size
from tests.cosimlab.sweep.test_folder import files


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes that Dask starts, and replaces when they die."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        distributed.LocalCluster(**options, silence_logs=logging.CRITICAL) as cluster,
        distributed.Client(cluster),
    ):
        yield cluster


def on_dask(*arguments, **options):
    """A sweep on the cluster of the current client; of one core, joblib computes here."""
    from distributed import get_client

    get_client().wait_for_workers(2)
    with joblib.parallel_config(backend="dask"):
        return sweep(*arguments, **options)


def test_a_cluster_whose_worker_is_killed_makes_the_same_cells(cluster, tmp_path):
    grid = {"x": range(12)}
    visits = tmp_path / "visits"
    visits.mkdir()
    (visits / "3").write_text("nobody\n")  # here nothing dies
    shared = {"folder": str(visits)}
    expected = sweep(die_once, grid, shared=shared, folder=tmp_path / "here")
    (visits / "3").unlink()
    found = on_dask(die_once, grid, shared=shared, folder=tmp_path / "there")
    assert len((visits / "3").read_text().split()) == 2, "the worker was killed and the cell redone"
    pd.testing.assert_frame_equal(found, expected)
    assert files(tmp_path / "here") == files(tmp_path / "there")


def test_a_cluster_gets_large_arguments_and_functions_written_on_the_spot(cluster):
    log = cs.synthetic.theta(5000)
    expected = sweep(size, {"x": [0, 1]}, shared={"workload": log})
    found = on_dask(size, {"x": [0, 1]}, shared={"workload": log})
    pd.testing.assert_frame_equal(found, expected)
    lengths = on_dask(lambda x: {"n": len(cs.synthetic.theta(x))}, {"x": [5, 6]})
    assert lengths["n"].tolist() == [5, 6]


def test_cells_are_computed_by_the_cluster_s_workers(cluster):
    found = on_dask(process, {"x": range(40)})
    workers = {worker.pid for worker in cluster.workers.values()}
    assert set(found["process"]) == workers and os.getpid() not in workers
