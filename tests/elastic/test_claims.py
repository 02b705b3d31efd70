"""Claims about preemption: intervals over seeds that hold, fail, or leave them unknown."""

import numpy as np
import pandas as pd
import pytest

from cosimlib.claims import read_statements
from cosimlib.elastic import Evidence, compare_readings, intervals, judge
from cosimlib.elastic.claims import MATTERS, NO_HTC, NO_JOBS, NO_RATIO, OWN, RULES
from cosimlib.elastic.reading import NUMBERS
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import DAY
from cosimlib.workload import Workload
from tests.elastic.test_reading import reading

CLAIMS = read_statements().query("system == '5-elastic'")["claim"].tolist()
EXTRAS = {"common": 0.8, "same waste": 0.8, "within longest": 0.9, "share 0": 0.07, "share 1": 0.03}


def true_number(claim):
    """A number for which the statement is true."""
    rule = RULES[claim]
    if rule.printed is not None:
        return rule.printed
    inside = (rule.least + rule.most) / 2
    return (
        inside
        if np.isfinite(inside)
        else max(rule.least, -1.0)
        if rule.most > 1
        else rule.most - 0.05
    )


def runs(seeds=3, **changed):
    """Runs in which all statements are true, but for numbers given per seed or per scheduler."""
    rows = []
    for scheduler in ("EASY", "first fit"):
        for seed in range(seeds):
            row = {
                claim: true_number(claim) + 0.01 * (RULES[claim].least > -np.inf) for claim in RULES
            }
            row["htc-samples"] = 14_500
            for claim, values in changed.items():
                own = values[scheduler] if isinstance(values, dict) else values
                row[claim.replace("_", "-")] = own[seed]
            rows.append({"scheduler": scheduler, "seed": seed} | row | EXTRAS)
    return pd.DataFrame(rows)


def sweep(fresh=(0.1, 0.1, 0.1), old=(0.25, 0.28, 0.3), other=None):
    """Wasted shares with fresh and day-old vectors of LIFO, PAP and PAP+; RANDOM wastes 0.3."""
    rows = [
        (policy, staleness, seed, value)
        for seed, aged in ((0, old), (1, other or old))
        for staleness, values in ((0.0, fresh), (DAY, aged))
        for policy, value in zip(("LIFO", "PAP", "PAP+", "RANDOM"), (*values, 0.3), strict=True)
    ]
    return pd.DataFrame(rows, columns=["policy", "staleness", "seed", "wasted"])


def busy(days):
    """On three nodes, a job of one for so many days, beside it 100 of two, in all for a tenth."""
    each = 0.001 * days * DAY
    jobs = pd.DataFrame({"submit_time": 0.0, "run_time": [days * DAY, *[each] * 100],
                         "nodes": [1, *[2] * 100]})  # fmt: skip
    starts = [0.0, *(each * np.arange(100))]
    return Schedule.from_starts(Workload(jobs, "PEREGRINE"), System.of(3), starts, "EASY")


CLASSES = {"bigmem": "queue", "gaussian": "application"}
PAPER = Evidence(runs(), True, CLASSES, busy(56.5), sweep())


def judged(claim, **changed):
    """The verdict on a claim with other numbers."""
    return judge(PAPER._replace(runs=runs(**{claim.replace("-", "_"): changed["values"]})))[claim]


def test_every_claim_holds_where_its_statement_is_true():
    verdicts = judge(PAPER)
    assert sorted(verdicts) == sorted(CLAIMS) and set(RULES) == set(NUMBERS)
    assert all(verdict.holds for verdict in verdicts.values())
    days = verdicts.pop("peregrine-days")
    assert days.built_in and days.ours == "56.5"
    assert days.why.startswith("Table 1's node-hours fill the nodes for 22.6 days")
    assert not any(verdict.why or verdict.built_in for verdict in verdicts.values())


@pytest.mark.parametrize("claim", [claim for claim in RULES if RULES[claim].printed is None])
def test_seeds_decide_a_statement_together(claim):
    """It fails if it is true with no seed, and is unknown if it is with some."""
    rule = RULES[claim]
    good = true_number(claim) + 0.01 * (rule.least > -np.inf)
    good = 14_500 if claim == "htc-samples" else good
    bad = rule.most + 1 if np.isfinite(rule.most) else rule.least - 0.1
    failed = judged(claim, values=[bad, bad, bad])
    assert failed.holds is False and failed.why == rule.why
    edge = rule.most if np.isfinite(rule.most) else rule.least
    assert judged(claim, values=[edge] * 3).holds is False, "limits are not included"
    mixed = judged(claim, values=[good, bad, good])
    assert mixed.holds is None and mixed.why == "true with 2 of 3 seeds"


@pytest.mark.parametrize("claim", [claim for claim in RULES if RULES[claim].printed is not None])
def test_a_printed_number_lies_between_the_least_and_the_greatest(claim):
    rule = RULES[claim]
    value, step = rule.printed, 0.2 * abs(rule.printed)
    assert judged(claim, values=[value - step, value, value + step]).holds is True
    outside = judged(claim, values=[value + step, value + 2 * step, value + step])
    assert outside.holds is False and outside.why.startswith(rule.why)
    near = [value + 0.9 * rule.digit, value + step, value + step]
    assert judged(claim, values=near).holds is True, "to half its last digit"
    wide = judged(claim, values=[value - 3 * step, value, value + 3 * step])
    assert wide.holds is None and wide.why.startswith("with 3 seeds our numbers are farther apart")


def test_first_fit_is_told_but_does_not_decide():
    values = {"EASY": [0.25, 0.26, 0.27], "first fit": [0.77, 0.76, 0.84]}
    verdict = judged("peregrine-same-nodes", values=values)
    assert verdict.holds is False
    assert verdict.ours.startswith("EASY 26 % (25 % to 27 %); first fit 79 % (76 % to 84 %)")
    assert verdict.why.endswith("; with first fit, an inference, it holds")
    turned = {"EASY": values["first fit"], "first fit": values["EASY"]}
    assert judged("peregrine-same-nodes", values=turned)[1:3] == (True, "")


def test_a_failing_class_tells_its_share_of_the_waste():
    verdict = judged("gaussian-total", values=[0.01, 0.01, 0.01])
    assert verdict.why.startswith("which jobs are of the class is not printed: ")
    assert "under PAP they make 3.0 % of all waste here, about 3 % in the paper" in verdict.why


def test_beyond_half_an_hour_lifo_loses_on_htc():
    verdict = judged("htc-lifo-wastes-less-1800", values=[0.15, 0.2, 0.16])
    assert verdict.holds is False and "few long jobs hold most of the node time" in verdict.why
    assert verdict.ours == "+17 % of RANDOM's median (+15 % to +20 %)"
    assert RULES["htc-lifo-wastes-less-1800"].most == -MATTERS


def test_a_log_decides_nothing_about_the_papers_own_workloads():
    log = PAPER._replace(own=False, classes={"7": "user", "1": "user"})
    unknown = {claim: v.why for claim, v in judge(log).items() if v.holds is None}
    assert set(unknown) == {*OWN, "peregrine-days"}
    assert unknown["gaussian-high"] == "user 1 stands in for gaussian, which this log does not have"
    assert unknown["htc-samples"] == "the data are another workload"


def test_missing_numbers_say_what_is_missing():
    names = [claim for claim in RULES if claim.startswith("htc")]
    without = judge(PAPER._replace(runs=runs().assign(**dict.fromkeys(names, np.nan)), own=False))
    assert {without[claim].why for claim in names} == {NO_HTC}
    zero = judge(PAPER._replace(runs=runs().assign(**{"lifo-pap-medians-stay": np.nan})))
    assert zero["lifo-pap-medians-stay"][:3] == ("", None, NO_RATIO)
    nobody = runs().assign(**{"bigmem-high": np.nan})
    assert "waste nothing" in judge(PAPER._replace(runs=nobody))["bigmem-high"].why
    few = judge(PAPER._replace(runs=nobody, classes={}))["bigmem-high"]
    assert few.holds is None and few.why.startswith("too few jobs for a class")


def test_a_number_that_first_fit_does_not_have_is_unknown():
    """The verdict is EASY's; of first fit it is told that there is no number."""
    none = [np.nan] * 3
    for claim, number in (("peregrine-lifo-pap-alike", 0.05), ("peregrine-same-nodes", 0.8)):
        some = {claim.replace("-", "_"): {"EASY": [number] * 3, "first fit": none}}
        measured = runs(**some)
        measured.loc[measured["scheduler"] == "first fit", ["common", "same waste"]] = np.nan
        found = judge(PAPER._replace(runs=measured))[claim]
        assert found.holds and "first fit unknown" in found.ours
        assert "nan" not in found.ours and intervals(measured)["first fit"][claim] == "unknown"


def test_vectors_degrade_with_every_seed_or_none():
    def verdict(ages):
        return judge(PAPER._replace(ages=ages))["stale-vectors-degrade"]

    assert verdict(sweep()).holds is True
    kept = verdict(sweep(old=(0.19, 0.28, 0.3)))
    assert kept.holds is False and kept.ours.startswith("LIFO keeps 55 % to 55 %, PAP keeps 10 %")
    mixed = verdict(sweep(other=(0.19, 0.28, 0.3)))
    assert (mixed.holds, mixed.why) == (None, "true with 1 of 2 seeds")
    none = verdict(sweep(fresh=(0.3, 0.1, 0.1)))
    assert none.holds is None and "no advantage over RANDOM here" in none.why


def test_a_log_of_no_jobs_leaves_all_unknown():
    nothing = busy(1.0).workload
    empty = Schedule.from_starts(
        nothing.keep(nothing.jobs.index < 0, "all"), System.of(3), [], "EASY"
    )
    none = runs(1).assign(**dict.fromkeys(RULES, np.nan))
    verdicts = judge(Evidence(none, False, {}, empty, sweep().head(0)))
    assert {verdict.holds for verdict in verdicts.values()} == {None}
    assert not any("nan" in text for v in verdicts.values() for text in (v.ours, v.why))
    assert verdicts["peregrine-lifo-pap-alike"].why == NO_JOBS
    assert (intervals(none) == "unknown").all(axis=None)


def test_intervals_stand_side_by_side():
    table = intervals(runs(peregrine_same_nodes={"EASY": [0.2, 0.3, 0.4], "first fit": [0.8] * 3}))
    assert list(table) == ["EASY", "first fit"] and list(table.index) == list(RULES)
    assert table.loc["peregrine-same-nodes"].tolist() == ["30 % (20 % to 40 %)", "80 %"]


def test_readings_of_the_sampling_rule_stand_side_by_side():
    table = compare_readings(reading(), reading(outlasting=0.9, htc=None))
    assert list(table) == ["after the last state", "literally", "difference"]
    assert table.loc["most-jobs-outlast-grace"].tolist() == pytest.approx([0.7, 0.9, 0.2])
    assert np.isnan(table.loc["htc-short-grace-better", "literally"])


def test_a_handful_of_jobs_decides_nothing():
    workload = PAPER.schedule.workload
    few = Schedule.from_starts(
        Workload(workload.jobs[:99], "few"), System.of(3), PAPER.schedule.start_time[:99], "EASY"
    )
    verdicts = judge(PAPER._replace(schedule=few))
    assert {verdict.why for verdict in verdicts.values()} == {"too few jobs: 99, of at least 100"}
