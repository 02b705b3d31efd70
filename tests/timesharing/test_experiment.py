"""All runs that the claims need, over seeds: the right days, noise and jobs, each run once."""

import math

import numba
import pytest

from cosimlib import synthetic
from cosimlib.timesharing import (
    SCALES,
    Jobs,
    Scale,
    Span,
    judge,
    measure,
    node_noise,
    run_batch,
    run_timesharing,
    with_node_memory,
)
from cosimlib.timesharing.experiment import _parts, _runs

FEW = 0.3 if numba.config.DISABLE_JIT else 2.0
SMALL = Scale(32, Span(2 * FEW, FEW), Span(1.5 * FEW, 0.5 * FEW), Span(FEW, 0.0), 2)
DAY = 86_400.0


@pytest.fixture(scope="module")
def evidence():
    return measure(Jobs(nodes=32), SMALL, noise=0.0001)


def test_one_evidence_per_seed_and_the_claims_take_it(evidence):
    assert len(evidence) == 2
    verdicts = judge(*evidence)
    assert len(verdicts) == 22 and all(v.ours and "nan" not in v.ours for v in verdicts.values())
    assert evidence[0].noise_free.batch.data == "synthetic Edison (32 nodes, 3 days, seed 0)" or (
        numba.config.DISABLE_JIT
    )


def test_runs_are_those_of_the_simulators_on_the_same_jobs(evidence):
    days, warm_up = SMALL.shared
    for seed, one in enumerate(evidence):
        jobs = synthetic.edison(days, nodes=32, seed=seed)
        knobs = {"warm_up": warm_up * DAY, "seed": seed}
        batch = run_batch(jobs, jobs.machine, **knobs)
        assert one.noise_free.batch.as_dict() == batch.as_dict()
        taxed = run_timesharing(jobs, jobs.machine, memory=False, overhead=0.08, **knobs)
        assert one.by_overhead[0.08].as_dict() == taxed.as_dict()
        few = synthetic.edison(SMALL.noisy.days, nodes=32, seed=seed)
        noise = node_noise(0.0001, 32)
        noisy = run_timesharing(few, few.machine, warm_up=0.0, seed=seed, noise=noise)
        assert one.noisy.shared.as_dict() == noisy.as_dict()
        long = synthetic.edison(SMALL.batch.days, nodes=32, seed=seed)
        calm = run_batch(long, long.machine, warm_up=SMALL.batch.warm_up * DAY, seed=seed)
        assert one.long_batch[0].as_dict() == calm.as_dict()
        assert one.all_days == one.long_batch and one.edison and one.noise == 0.0001
        assert one.noise_cost > 0


def test_a_log_is_simulated_on_its_own_days_each_run_once():
    made = synthetic.edison(FEW, nodes=16)
    log = with_node_memory(made)
    span = Span(FEW, 0.0)
    plan = Scale(16, span, span, span, 1)
    runs = _runs(plan)
    assert len(runs) == len(set(runs)) == 14
    one = measure(Jobs(log=log), plan, seeds=[3], noise=0.001)[0]
    assert not one.edison
    assert one.noisy_days_without_noise == one.noise_free
    assert one.all_days == (one.noise_free.batch, one.noisy.batch)
    noisy = run_batch(log, log.machine, warm_up=0.0, seed=3, noise=0.001)
    assert one.noisy.batch.as_dict() == noisy.as_dict()


def test_paper_scale_is_one_run_per_process_and_quick_scale_a_span():
    for name, parts in (("quick", 3), ("paper", 20)):
        scale = SCALES[name]
        found = _parts(scale, _runs(scale))
        assert len(found) == parts
        together = [run for part in found.values() for run in part]
        assert sorted(map(repr, together)) == sorted(map(repr, _runs(scale)))


def test_a_node_of_a_smaller_machine_stands_for_some_of_edison_s():
    assert node_noise(0.001, 5_576) == pytest.approx(0.001)
    assert node_noise(0.001, 697) == pytest.approx(1 - 0.999**8)
    assert node_noise(1.0, 697) == 1.0 and node_noise(0.0, 697) == 0.0
    for wrong in (-0.1, 1.5, math.nan, None, "much"):
        with pytest.raises(ValueError, match="noise="):
            node_noise(wrong, 697)
