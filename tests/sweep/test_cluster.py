"""Dask: the same cells, byte by byte, on a cluster whose worker is killed at work."""

import logging
import os

import pandas as pd
import pytest

import cosimlib as cs
from cosimlib.sweep import SweepWarning, sweep
from tests.sweep.functions import die_once, fail, process, size
from tests.sweep.test_folder import files

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    """Two worker processes that Dask starts, and replaces when they die."""
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        distributed.LocalCluster(**options, silence_logs=logging.CRITICAL) as cluster,
        distributed.Client(cluster) as connected,
    ):
        yield connected


def test_a_cluster_whose_worker_is_killed_makes_the_same_cells(client, tmp_path):
    grid = {"x": range(12)}
    for name in ("here", "there", "visits"):
        (tmp_path / name).mkdir()
    visits = tmp_path / "visits"
    (visits / "3").write_text("nobody\n")  # here nothing dies
    expected = sweep(die_once, grid, shared={"folder": str(visits)}, folder=tmp_path / "here")
    (visits / "3").unlink()
    given = {"executor": client.get_executor(), "folder": tmp_path / "there"}
    found = sweep(die_once, grid, shared={"folder": str(visits)}, **given)
    assert len((visits / "3").read_text().split()) == 2, "the worker was killed and the cell redone"
    pd.testing.assert_frame_equal(found, expected)
    assert files(tmp_path / "here") == files(tmp_path / "there")


def test_a_cluster_gets_large_arguments_with_a_folder_and_without(client, tmp_path):
    log = cs.synthetic.theta(5000)
    expected = sweep(size, {"x": [0, 1]}, shared={"workload": log})
    for place in ({}, {"folder": tmp_path / "sweep"}):
        given = {"shared": {"workload": log}, "executor": client.get_executor(), **place}
        pd.testing.assert_frame_equal(sweep(size, {"x": [0, 1]}, **given), expected)


def test_a_cluster_s_errors_are_the_function_s(client):
    with pytest.warns(SweepWarning):
        found = sweep(fail, {"x": [1, 2]}, [1], executor=client.get_executor())
    assert found["error"].tolist()[1] == "ValueError: two is wrong, 1"


def test_a_worker_of_a_cluster_starts_no_processes_of_its_own(client):
    found = sweep(process, {"x": range(4)}, executor=client.get_executor())
    assert set(found["cores"]) == {1} and os.getpid() not in set(found["process"])


def test_a_client_is_not_its_executor(client):
    with pytest.raises(ValueError, match=r"of a Dask client give client.get_executor\(\)"):
        sweep(process, {"x": [1]}, executor=client)
