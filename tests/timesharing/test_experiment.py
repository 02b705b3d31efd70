"""All runs that the claims need, over seeds: the right days, noise and jobs, each run once."""

import math

import numba
import pandas as pd
import pytest

from cosimlib import synthetic
from cosimlib.timesharing import (
    ON_NOISY_DAYS,
    SCALES,
    Jobs,
    Run,
    Scale,
    Seeds,
    Span,
    judge,
    measure,
    node_noise,
    paper_table,
    read_paper_scale,
    run_batch,
    run_timesharing,
    with_node_memory,
)
from cosimlib.timesharing import __main__ as command
from cosimlib.timesharing.experiment import _parts, _runs

FEW = 0.3 if numba.config.DISABLE_JIT else 2.0
SMALL = Scale(
    Span(2 * FEW, FEW, 48), Span(1.5 * FEW, 0.5 * FEW, 32), Span(FEW, 0.0, 24),
    Span(FEW, 0.0, 32), Seeds(2, batch=3, noisy_batch=2, taxed=1, most_taxed=2, noisy=1),
    fresh={"most_taxed": 4},
)  # fmt: skip
DAY = 86_400.0


@pytest.fixture(scope="module")
def measured():
    return measure(Jobs(), SMALL, noise=0.0001, overheads=[0.02])


def test_one_evidence_per_seed_and_the_claims_take_it(measured):
    assert len(measured.evidence) == 2
    others = measured.others
    verdicts = judge(*measured.evidence, others=others)
    assert len(verdicts) == 22 and all(v.ours and "nan" not in v.ours for v in verdicts.values())
    number = {claim: len(others.get(claim, measured.evidence)) for claim in verdicts}
    few = {*ON_NOISY_DAYS, "overhead-5", "overhead-knee"}
    assert number["slowdown-batch"] == 3 and number["overhead-13"] == 2
    assert {claim for claim, seeds in number.items() if seeds == 1} == few
    assert "over 3 seeds" in verdicts["slowdown-batch"].ours
    assert "over 2 seeds" in verdicts["noise-batch"].ours
    assert "over 2 seeds" in verdicts["same-utilization"].ours
    batch = measured.evidence[0].noise_free.batch
    assert batch.data == f"synthetic Edison (32 nodes, {1.5 * FEW:g} days, seed 0)"


def test_runs_are_those_of_the_simulators_on_the_same_jobs(measured):
    days, warm_up, nodes = SMALL.shared
    for seed, one in enumerate(measured.evidence):
        jobs = synthetic.edison(days, nodes=nodes, seed=seed)
        knobs = {"warm_up": warm_up * DAY, "seed": seed}
        batch = run_batch(jobs, jobs.machine, **knobs)
        assert one.noise_free.batch.as_dict() == batch.as_dict()
        later = synthetic.edison(SMALL.taxed.days, nodes=24, seed=seed + 4)
        taxed = {"memory": False, "overhead": 0.13, "warm_up": 0.0, "seed": seed + 4}
        most = run_timesharing(later, later.machine, **taxed)
        assert measured.most_taxed[seed].as_dict() == most.as_dict()
        long = synthetic.edison(SMALL.batch.days, nodes=48, seed=seed)
        alone = run_batch(long, long.machine, warm_up=SMALL.batch.warm_up * DAY, seed=seed)
        assert one.long_batch.as_dict() == alone.as_dict()
        assert one.long_batch == measured.batch[seed] and one.edison and one.noise == 0.0001
        assert one.long_noisy_batch == measured.noisy_batch[seed]
    few = synthetic.edison(SMALL.noisy.days, nodes=32)
    noisy = run_timesharing(few, few.machine, warm_up=0.0, noise=node_noise(0.0001, 32))
    first, second = measured.evidence
    full = synthetic.edison(SMALL.taxed.days, nodes=24)
    taxed = run_timesharing(full, full.machine, memory=False, overhead=0.08, warm_up=0.0)
    assert first.by_overhead[0.08].as_dict() == taxed.as_dict() and second.by_overhead == {}
    assert first.noisy.shared.as_dict() == noisy.as_dict() and first.noise_cost > 0
    with pytest.raises(ValueError, match="no run under noise; give evidence of a seed"):
        assert second.both_days


def test_sharing_at_fresh_seeds_stands_beside_noise_and_overheads_of_the_first(measured):
    plan = SMALL._replace(seeds=Seeds(), fresh={"shared": 1})
    found = measure(Jobs(), plan, noise=0.0001)
    (one,), (first, second) = found.evidence, measured.evidence
    pairs = [*zip(one.noise_free, second.noise_free, strict=True)]
    pairs += [*zip(one.noisy, first.noisy, strict=True), (one.long_batch, first.long_batch)]
    pairs += [(one.overhead(part), first.overhead(part)) for part in (0.0, 0.05, 0.08, 0.13)]
    assert all(run.as_dict() == same.as_dict() for run, same in pairs)
    assert one.noise_cost == first.noise_cost and one.long_batch is found.batch[0]
    assert plan.judged_by("crossover")[1] == range(1, 2)
    assert plan.judged_by("noise-wins")[1] == plan.judged_by("overhead-13")[1] == range(1)
    assert not any(run.span == plan.shared for run in found.first)


def test_what_decides_nothing_is_run_for_the_first_seed_only(measured):
    assert list(measured.by_overhead("unlimited_memory")) == [0.0, 0.02, 0.05, 0.08, 0.13]
    assert list(measured.by_overhead("shared")) == [0.0, 0.05]
    assert measured.first[Run(SMALL.noisy, "fcfs")].policy == "time-sharing (FCFS)"
    assert not any(run.policy == "fcfs" or run.overhead == 0.02 for run in _runs(SMALL, 1))
    most = Run(SMALL.taxed, "unlimited_memory", overhead=0.13)
    assert _runs(SMALL, 2) == [Run(SMALL.batch, "batch")]
    assert _runs(SMALL, 3) == [] and _runs(SMALL, 4) == _runs(SMALL, 5) == [most]
    assert SMALL.places("most_taxed") == range(4, 6) and SMALL.places("batch") == range(3)
    assert most in _runs(SMALL._replace(fresh={}), 1)
    assert Seeds.all(3) == (3,) * 6
    asked = SMALL._replace(seeds=SMALL.seeds.only("batch"))
    assert asked.seeds == Seeds(2, batch=3, noisy_batch=0, taxed=0, most_taxed=0, noisy=0)
    assert {run.span for run in _runs(asked, 0)} == {SMALL.batch, SMALL.shared}
    assert SMALL.seeds.only("noisy_batch") == SMALL.seeds._replace(taxed=0, most_taxed=0)


def test_the_table_of_numbers_has_the_runs_that_each_claim_is_judged_by(
    measured, tmp_path, monkeypatch, capsys
):
    """The command writes it in the form in which it is read."""
    asked = {}
    monkeypatch.setattr(command, "measure", lambda *a, **given: asked.update(given) or measured)
    monkeypatch.setitem(SCALES, "quick", SMALL)
    path = tmp_path / "numbers.csv"
    command.main(["--scale", "quick", "--output", str(path)])
    assert asked["seed"] == 0 and f"{path}: 22 claims" in capsys.readouterr().out
    table = read_paper_scale(path)
    pd.testing.assert_frame_equal(table, paper_table(measured, SMALL), check_dtype=False)
    rows = table.set_index("claim")
    evidence = measured.others
    for claim, row in rows.iterrows():
        span, places = SMALL.judged_by(claim)
        assert len(evidence.get(claim, measured.evidence)) == len(places)
        assert row["nodes"] == str(span.nodes)
    assert rows.loc["overhead-13", "seeds"] == "4 to 5"
    assert rows.loc["overhead-5", "seeds"] == rows.loc["noise-wins", "seeds"] == "0"
    assert rows.loc["slowdown-batch", "seeds"] == "0 to 2"
    assert rows.loc["noise-batch", "seeds"] == rows.loc["cpu-load-mean", "seeds"] == "0 to 1"
    for wrong in (["--scale", "quick"], ["--output", str(tmp_path / "none" / "x.csv")]):
        with pytest.raises(SystemExit):
            command.main(wrong)


def test_some_kinds_of_runs_judge_their_claims_and_leave_the_other_rows(
    measured, tmp_path, monkeypatch
):
    """Without a seed of a kind none of it is run, and its rows stay as they were."""
    path, before = tmp_path / "numbers.csv", paper_table(measured, SMALL).set_index("claim")
    before.reset_index()[["system", "claim", *before.columns[1:]]].to_csv(path, index=False)
    other = SMALL._replace(seeds=Seeds(most_taxed=1), fresh={"shared": 1, "most_taxed": 5})
    monkeypatch.setitem(SCALES, "quick", other)
    here = {"executor": None}  # not in other processes, which take long to begin
    monkeypatch.setattr(command, "measure", lambda *a, **how: measure(*a, **(how | here)))
    command.main(["--scale", "quick", "--output", str(path), "--kinds", "most_taxed"])
    after = read_paper_scale(path).set_index("claim")
    assert list(after.index) == list(before.index) and len(after) == 22
    own = {claim for claim in after.index if other.judged_by(claim)[1][0]}
    assert set(after.index[after["seeds"] != before["seeds"]]) == own and len(own) == 14
    assert after.drop(index=own).equals(before.drop(index=own).astype(str))
    assert after.loc["overhead-13", "seeds"] == "5" and after.loc["crossover", "seeds"] == "1"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"shared": 0}, "shared=0; expected a whole number from 1"),
        ({"taxed": -1}, "taxed=-1; expected a whole number from 0"),
        ({"shared": True}, "shared=True; expected a whole number from 1"),
        ({"noisy": 3}, "noisy=3; expected at most shared=2: only those seeds are used"),
        ({"taxed": 3}, "taxed=3; expected at most shared=2: only those seeds are used"),
        ({"noisy_batch": 4}, "noisy_batch=4; expected at most batch=3: only those seeds are used"),
    ],
)
def test_seeds_that_decide_nothing_or_are_missing_are_refused(wrong, said):
    with pytest.raises(ValueError, match=f"Seeds: {said}"):
        measure(Jobs(), SMALL._replace(seeds=SMALL.seeds._replace(**wrong)))
    for fresh, said in (
        ({"shared": -1}, r"fresh\['shared'\]=-1; expected a whole number from 0"),
        ({"noisy": 1}, "fresh='noisy'; expected one of 'shared', 'most_taxed'"),
    ):
        with pytest.raises(ValueError, match=f"Scale: {said}"):
            measure(Jobs(), SMALL._replace(fresh=fresh))


def test_evidence_of_seeds_without_noise_needs_that_of_others(measured):
    with pytest.raises(ValueError, match="claim 'noise-timesharing': no run under noise; give"):
        judge(*measured.evidence)


def test_a_log_is_simulated_on_its_own_days_each_run_once():
    made = synthetic.edison(FEW, nodes=16)
    log = with_node_memory(made)
    span = Span(FEW, 0.0, 16)
    plan = Scale(span, span, span, span)
    runs = _runs(plan, 0)
    assert len(runs) == len(set(runs)) == 15
    one = measure(Jobs(log=log), plan, seed=3, noise=0.001).evidence[0]
    assert not one.edison
    assert one.noisy_days_without_noise.shared == one.noise_free.shared
    assert one.calm_batch == one.noise_free.batch
    assert one.batch_pair == (one.noise_free.batch, one.noisy.batch)
    noisy = run_batch(log, log.machine, warm_up=0.0, seed=3, noise=0.001)
    assert one.noisy.batch.as_dict() == noisy.as_dict()


def test_paper_scale_is_one_run_per_process_and_quick_scale_a_span():
    for name, parts in (("quick", 3), ("paper", 17)):
        runs = _runs(SCALES[name], 0)
        found = _parts(SCALES[name], runs)
        assert len(found) == parts
        together = [run for part in found.values() for run in part]
        assert sorted(map(repr, together)) == sorted(map(repr, runs))


def test_a_node_of_a_smaller_machine_stands_for_some_of_edison_s():
    assert node_noise(0.001, 5_576) == pytest.approx(0.001)
    assert node_noise(0.001, 697) == pytest.approx(1 - 0.999**8)
    assert node_noise(1.0, 697) == 1.0 and node_noise(0.0, 697) == 0.0
    for wrong in (-0.1, 1.5, math.nan, None, "much"):
        with pytest.raises(ValueError, match="noise="):
            node_noise(wrong, 697)
