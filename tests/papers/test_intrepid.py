"""Synthetic Intrepid and Eureka have the numbers that they were calibrated to."""

import numpy as np
import pandas as pd
import pytest

from cosimlib import synthetic, traces
from cosimlib.metrics import offered_load
from papers.tang2011.intrepid import EUREKA_JOBS, INTREPID_SIZES, MONTH, eureka, intrepid


@pytest.mark.parametrize("seed", range(3))
def test_intrepid_has_its_jobs_sizes_and_utilization(seed):
    month = intrepid(seed=seed)
    assert len(month) == 9_220
    shares = month.jobs["nodes"].value_counts(normalize=True) * 100
    for nodes, share in INTREPID_SIZES.items():
        assert shares[nodes] == pytest.approx(share, abs=0.1)
    assert month.jobs["submit_time"].agg(["min", "max"]).tolist() == [0, MONTH]
    assert offered_load(month, month.machine) == pytest.approx(0.70, abs=0.001)
    run_time = month.jobs["run_time"]
    assert run_time.median() / run_time.mean() == pytest.approx(3_320 / 4_973, abs=0.01)
    apart = month.jobs["submit_time"].diff()
    assert apart.median() / apart.mean() == pytest.approx(98 / 582, abs=0.02)


@pytest.mark.parametrize("load", EUREKA_JOBS)
def test_eureka_has_its_jobs_and_utilization(load):
    month = eureka(load=load, seed=1)
    assert len(month) == EUREKA_JOBS[load]
    assert offered_load(month, month.machine) == pytest.approx(load, rel=0.005)
    assert month.jobs["nodes"].max() <= 100


@pytest.mark.parametrize(("make", "accuracy"), [(intrepid, 0.44), (eureka, 0.35)])
def test_estimates_cover_run_times_and_have_the_documented_accuracy(make, accuracy):
    jobs = make(seed=2).jobs
    assert (jobs["requested_time"] >= jobs["run_time"]).all()
    assert (jobs["requested_time"] % 300 == 0).all()
    assert (jobs["run_time"] / jobs["requested_time"]).mean() == pytest.approx(accuracy, abs=0.02)


def test_an_offered_load_scales_submissions_and_nothing_else():
    loose = intrepid(500, load=0.1, seed=0)
    dense = synthetic.with_offered_load(loose, 40_960, load=0.7)
    assert offered_load(dense, loose.machine) == pytest.approx(0.7, rel=0.001)
    unchanged = ["run_time", "requested_time", "nodes"]
    pd.testing.assert_frame_equal(dense.jobs[unchanged], loose.jobs[unchanged])
    with pytest.raises(ValueError, match="load=0; expected a number above 0"):
        synthetic.with_offered_load(loose, 40_960, load=0)
    with pytest.raises(ValueError, match="submitted at once"):
        synthetic.with_offered_load(loose.keep(np.arange(500) < 1, "one"), 40_960, load=0.7)


@pytest.mark.traces
def test_the_first_real_jobs_have_the_sizes_that_we_draw(trace_path):
    log = traces.load(trace_path("intrepid-2009-first3000.swf.gz"), verbose=False)
    shares = log.jobs["nodes"].value_counts(normalize=True) * 100
    for nodes in (64, 512, 1_024, 2_048, 4_096, 8_192):
        assert shares[nodes] == pytest.approx(INTREPID_SIZES[nodes], abs=0.4)
