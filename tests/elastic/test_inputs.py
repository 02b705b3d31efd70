"""The paper's workloads: draws of public jobs that have Table 1, copies of HTC's trace, twins."""

import numpy as np
import pandas as pd
import pytest

from cosimlib import synthetic, traces
from cosimlib.batch import simulate_easy
from cosimlib.elastic import (
    TABLE_1,
    Inputs,
    describe,
    draw_peregrine,
    execution_states,
    paper_inputs,
)
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError, Workload


def made_up(seed=0):
    """A log with more than PEREGRINE's jobs, of which Table 1 can be drawn: the twin and others."""
    twin = synthetic.peregrine(seed=seed).jobs
    edges = pd.DataFrame({"run_time": [33.0, 439, 440, 1921, 6839, 6842, 85945], "nodes": 1})
    more = twin.sample(3000, random_state=seed)
    gaussian = np.arange(len(twin) + 3007) % 15 == 0
    jobs = pd.concat([twin, more, edges], ignore_index=True)[["run_time", "nodes"]]
    jobs["application"] = np.where(gaussian, "gaussian", "other")
    return Workload(jobs.assign(submit_time=0.0), "made up")


@pytest.mark.parametrize("seed", [0, 1])
def test_a_draw_has_table_1_and_gaussians_jobs(seed):
    drawn = draw_peregrine(made_up(), seed=seed)
    row = describe({"PEREGRINE": drawn}).set_index("workload").loc["PEREGRINE"]
    printed = TABLE_1["PEREGRINE"]
    exact = ["jobs", "run min", "run 25%", "run 50%", "run 75%", "run max", "nodes min",
             "nodes 25%", "nodes 50%", "nodes 75%", "nodes mean"]  # fmt: skip
    assert row[exact].tolist() == printed[exact].tolist()
    near = ["node-hours", "run mean"]
    assert row[near].tolist() == pytest.approx(printed[near].tolist(), rel=5e-4)
    jobs = drawn.jobs
    assert (jobs["application"] == "gaussian").sum() == 341 and (jobs["nodes"] == 1).sum() == 5980
    work = jobs["run_time"] * jobs["nodes"]
    bigmem = jobs["queue"] == "bigmem"
    assert bigmem.sum() == 76 and work[bigmem].sum() / work.sum() == pytest.approx(0.07, abs=0.015)


def test_draws_repeat_and_differ_by_seed_and_requests_change_no_job():
    log = made_up()
    first = draw_peregrine(log, seed=3).jobs
    assert first.equals(draw_peregrine(log, seed=3).jobs)
    assert not first["run_time"].equals(draw_peregrine(log, seed=4).jobs["run_time"])
    asked = draw_peregrine(log, seed=3, request_factor=19.2).jobs
    assert asked["run_time"].equals(first["run_time"])
    factor = asked["requested_time"] / asked["run_time"]
    assert factor.median() == pytest.approx(19.2, rel=0.01) and factor.min() >= 1


def test_jobs_that_cannot_make_table_1_are_refused():
    log = made_up()
    with pytest.raises(InvalidWorkloadError, match=r"made up: no jobs of 33, 439, .* s; expected"):
        draw_peregrine(log.keep(log.jobs["run_time"] != 6839, "the edge"))
    with pytest.raises(InvalidWorkloadError, match=r"\d+ jobs between 440 and 1921 s; expected"):
        draw_peregrine(log.keep(~log.jobs["run_time"].between(500, 1500), "the middle"))
    with pytest.raises(InvalidWorkloadError, match="no draw of its jobs has Table 1's means"):
        draw_peregrine(log.keep(log.jobs["application"] != "gaussian", "gaussian"))


def test_copies_are_shuffled_and_keep_the_trace():
    trace = Workload(
        pd.DataFrame({"submit_time": 0.0, "run_time": [5.0, 7.0, 9.0], "nodes": 1}), "three"
    )
    run_time = synthetic.shuffled_copies(trace, 50, seed=1).jobs["run_time"].to_numpy()
    copies = run_time.reshape(50, 3)
    assert (np.sort(copies, axis=1) == [5, 7, 9]).all()
    assert len({tuple(copy) for copy in copies}) == 6


def test_twins_stand_in_where_files_cannot_be_had(monkeypatch):
    def gone(name, verbose):
        raise ConnectionError(f"{name}: no network")

    monkeypatch.setattr(traces, "load", gone)
    with pytest.warns(UserWarning, match="twin stands in for .*: no network"):
        inputs = paper_inputs("HTC-2017")
    assert inputs == Inputs() == paper_inputs("synthetic")
    assert inputs.words == "synthetic HTC, synthetic PEREGRINE"
    drawn = inputs.draw(seed=2)
    assert drawn["HTC"].jobs.equals(synthetic.htc(seed=2).jobs)
    assert drawn["PEREGRINE"].jobs.equals(synthetic.peregrine(seed=2).jobs)


def test_another_log_is_no_input_of_the_paper():
    assert paper_inputs("KTH-SP2") is None and paper_inputs("some/log.swf.gz") is None


@pytest.mark.traces
def test_public_inputs_make_table_1_and_the_papers_number_of_states(trace_path):
    inputs = paper_inputs(trace_path("htc-2017-condor.submit"))
    if inputs.extract is None:
        pytest.skip("no jobs of Peregrine")
    workloads = inputs.draw()
    assert inputs.words == "HTC's public trace, draws of PEREGRINE's public jobs"
    table = describe(workloads).set_index("workload").T
    assert table["HTC"].tolist() == pytest.approx(TABLE_1["HTC"].tolist(), abs=0.006)
    assert table["PEREGRINE"].tolist() == pytest.approx(TABLE_1["PEREGRINE"].tolist(), rel=5e-4)
    states = execution_states(simulate_easy(workloads["HTC"], System.of(20)))
    assert 14_700 < states.size < 14_900
