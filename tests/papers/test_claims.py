"""The engine of verdicts: each statistic by hand, on either side of its limits."""

import math

import numpy as np
import pandas as pd
import pytest

from papers.claims import (
    RULED,
    STATED,
    Claims,
    Limits,
    Rule,
    Samples,
    decide,
    interval,
    of_enough_jobs,
    of_enough_use,
    read_limits,
    read_rule,
    read_rules,
)

FACT = ["1-trial", "1", "a-claim", "Something is so", "so", "Someone 2020, I"]


def rule(statistic: str, limits: str, reason: str = "set before the run") -> Rule:
    row = pd.Series(dict(zip(RULED, (statistic, limits, reason, "any"), strict=True)))
    return read_rule(row)


def judged(statistic: str, limits: str, values, **given) -> str:
    return decide(Samples(values, why="explained", **given), rule(statistic, limits)).verdict


@pytest.mark.parametrize(
    ("statistic", "limits", "values", "verdict"),
    [
        ("value", "> 0", [1.0], "holds"),
        ("value", "> 0", [0.0], "fails"),
        ("value", "≥ 0", [0.0], "holds"),
        ("value", "0.8 to 1.2", [0.8, 1.2], "holds"),
        ("value", "0.8 to 1.2", [0.8, 1.3], "fails"),
        ("value", "= 1", [1.0], "holds"),
        ("by construction", "= 0", [0.0], "by construction"),
        ("by construction", "= 0", [1.0], "fails"),
        ("mean", "> 0", [1.0, 1.1, 0.9], "holds"),
        ("mean", "> 0", [1.0, -1.1, 0.9], "unknown"),
        ("mean", "> 0", [-1.0, -1.1, -0.9], "fails"),
        ("mean", "≥ 2", [2.0, 2.0], "holds"),
        ("mean", "> 0", [0.0, 0.0], "fails"),
        ("mean", "> 0", [3.0], "holds"),
        ("geometric mean", "1 to 4", [1.9, 2.0, 2.1], "holds"),
        ("geometric mean", "1 to 4", [0.5, 8.0], "unknown"),
        ("mean", "-0.5 to 0.5", [0.1, -0.1, 0.05], "holds"),
        ("mean", "-0.5 to 0.5", [-1.0, 1.1, 0.5], "unknown"),
        ("prediction", "0.143 ± 0.0005", [0.14, 0.15, 0.145], "holds"),
        ("prediction", "0.143 ± 0.0005", [0.15, 0.151, 0.15], "fails"),
        ("prediction", "0.143 ± 0.0005", [0.0, 0.2, 0.1], "unknown"),
        ("prediction", "0.143 ± 0.0005", [0.143], "unknown"),
        ("none", "", [1.0], "unknown"),
    ],
)
def test_each_statistic(statistic, limits, values, verdict):
    assert judged(statistic, limits, values) == verdict


def test_a_wider_level_decides_less():
    values = [1.0, 1.4, 0.9, 0.35]
    assert judged("mean", "> 0", values) == "holds"
    assert judged("mean, 99.9 %", "> 0", values) == "unknown"


def test_several_quantities_must_all_hold_or_any():
    up, down, open_ = [1.0, 1.1], [-1.0, -1.1], [1.0, -1.0]
    assert judged("mean", "> 0", {"a": [1, 1.1, 1], "b": [1, 1.2, 1]}) == "holds"
    assert judged("mean", "> 0", {"a": up, "b": [-1, -1.1, -1], "c": open_}) == "fails"
    assert judged("mean", "> 0", {"a": [1, 1.1, 1], "c": open_}) == "unknown"
    assert judged("any mean", "> 0", {"a": [1, 1.1, 1], "b": down}) == "holds"
    assert judged("any mean", "> 0", {"b": [-1, -1.1, -1], "c": open_}) == "unknown"


def test_the_prediction_interval_is_of_one_more_seed():
    """Mean 3, s = 1, t = 4.303 with two degrees of freedom: 3 ± 4.303 √(1 + 1/3)."""
    one = rule("prediction", "3 ± 0.5")
    assert interval(one, [2.0, 3.0, 4.0]) == pytest.approx((3.0, -1.9684, 7.9684), abs=1e-3)


def test_a_wider_level_of_a_prediction_keeps_a_number_from_failing_and_makes_none_hold():
    """Mean 3, s = 1, 3 seeds: from −1.97 to 7.97 at 95 %; 10 added to both keeps 0 outside."""
    values = [12.0, 13.0, 14.0]
    assert judged("prediction", "17 ± 0.5", values) == "holds"
    assert judged("prediction", "18.5 ± 0.1", values) == "fails"
    assert judged("prediction, 99 %", "18.5 ± 0.1", values) == "unknown"
    assert judged("prediction, 99 %", "17 ± 0.5", values) == "holds"
    assert judged("prediction, 99 %", "40 ± 0.5", values) == "fails"
    samples = Samples(values, why="explained")
    between = decide(samples, rule("prediction, 99 %", "18.5 ± 0.1")).why
    assert between == "the printed number lies between the intervals of 95 % and of 99.0 %"


def test_a_prediction_that_may_have_either_sign_is_unknown():
    found = decide(Samples([0.01, 0.02, 0.03], why="w"), rule("prediction", "0.038 ± 0.0005"))
    assert found.verdict == "unknown"
    assert found.why == "the interval of one more seed contains 0"


@pytest.mark.parametrize("seeds", [5, 20, 80])
def test_more_seeds_do_not_make_a_printed_number_hold(seeds):
    """Two and a half standard deviations away it fails in most draws, however many seeds are."""
    rng = np.random.default_rng(seeds)
    found = [judged("prediction", "12.5 ± 0.0", rng.normal(10, 1, seeds)) for _ in range(200)]
    held = found.count("holds") / len(found)
    assert held < {5: 0.75, 20: 0.4, 80: 0.3}[seeds] and found.count("unknown") == 0


def test_numbers_in_words():
    mean = decide(Samples([0.1, 0.2, 0.3], "{:+.1f} % more", why="w"), rule("mean", "> 0.5"))
    assert mean == ("+20.0 % more (−4.8 % to +44.8 %; 3 seeds)", "fails", "w", "", "", "")
    one = decide(Samples({"A": [2.0], "B": [3.0]}, "{:.0f} h", why="w"), rule("value", "> 0"))
    assert one.ours == "A 2 h; B 3 h"
    detailed = Samples([2.0], "{:.1f} h", why="no jobs", details="of 3")
    assert decide(detailed, rule("value", "> 2")).ours == "2.0 h; of 3"


def test_a_verdict_that_needs_a_reason_has_one():
    with pytest.raises(ValueError, match="nothing says why"):
        decide(Samples([1.0]), rule("value", "> 2"))
    missing = decide(Samples(ours="–", missing="no job waits"), rule("value", "> 2"))
    assert missing == ("–", "unknown", "no job waits", "", "", "")
    assert judged("mean", "> 0", [1.0, math.nan]) == "unknown"


def test_numbers_in_doubt_may_hold_but_never_fail():
    holds = decide(Samples([5.0], doubt="the search was stopped"), rule("value", "≥ 4.5"))
    assert holds == ("5", "holds", "", "", "", "")
    unknown = decide(Samples([4.0], doubt="the search was stopped"), rule("value", "≥ 4.5"))
    assert unknown == ("4", "unknown", "the search was stopped", "", "", "")


def test_what_stands_beside_does_not_decide():
    beside = {"B": [3.499, 3.501]}
    failed = decide(Samples({"A": [1.0, 1.0]}, beside=beside, why="w"), rule("mean", "> 2"))
    assert failed == (
        "A 1; B 3.5 (3.49 to 3.51; 2 seeds)",
        "fails",
        "w; with B it holds",
        "",
        "",
        "",
    )
    held = decide(Samples({"A": [3.0]}, beside={"B": [1.0]}), rule("mean", "> 2"))
    assert held == ("A 3; B 1", "holds", "", "", "", "")
    none = decide(Samples({"A": [3.0]}, beside={"B": [math.nan]}), rule("mean", "> 2"))
    assert none.ours == "A 3; B unknown" and none.verdict == "holds"


@pytest.mark.parametrize(
    ("limits", "values", "bias", "verdict"),
    [
        ("≥ 2", [3.0, 3.0], 1, "holds"),
        ("≥ 2", [3.0, 3.0], -1, "unknown"),
        ("≥ 2", [1.0, 1.0], 1, "unknown"),
        ("≥ 2", [1.0, 1.0], -1, "fails"),
        ("1 to 2", [3.0, 3.0], 1, "fails"),
        ("1 to 2", [1.5, 1.5], 1, "unknown"),
        ("≤ 2", [1.9, 2.1], 1, "unknown"),
        ("≥ 2", [3.0, 3.0], 0, "unknown"),
    ],
)
def test_data_of_another_kind_decide_only_what_the_right_ones_could_not_change(
    limits, values, bias, verdict
):
    assert judged("mean", limits, values, missing="a smaller machine", bias=bias) == verdict


def test_every_reading_is_judged_and_all_must_agree():
    """Both hold, both fail on one side, they differ, or they fail on opposite sides."""
    one = rule("mean", "2 to 4")
    cases = {
        ((3.0, 3.1), (2.9, 3.0)): "holds",
        ((9.0, 9.1), (8.0, 8.1)): "fails",
        ((3.0, 3.1), (8.0, 8.1)): "unknown",
        ((1.0, 1.1), (8.0, 8.1)): "unknown",
        ((1.0, 9.0), (3.0, 3.1)): "unknown",
    }
    for (first, second), verdict in cases.items():
        samples = Samples(why="w", readings={"A": first, "B": second})
        assert decide(samples, one).verdict == verdict, (first, second)
    differ = decide(Samples(why="w", readings={"A": [3.0, 3.1], "B": [8.0, 8.1]}), one)
    assert differ.readings == "A: holds; B: fails"
    assert differ.why == ("the paper's words leave more than one reading open (A: holds; B: fails)")
    assert differ.ours.startswith("A: 3.05 (") and "; B: 8.05 (" in differ.ours
    doubtful = Samples(readings={"A": [9.0, 9.1], "B": [8.0, 8.1]}, why="w", doubt="a twin's jobs")
    found = decide(doubtful, one)
    assert (found.verdict, found.why) == ("unknown", "a twin's jobs")
    assert found.readings == "A: fails; B: fails"
    open_ = decide(
        Samples(why="w", readings={"A": [1.0, 9.0], "B": [3.0, 3.1], "C": [1, 8.0]}), one
    )
    assert open_.why == "A / C: the interval over 2 seeds contains the limit (2 to 4)"
    apart = decide(Samples(why="w", readings={"A": [1.0, 1.1], "B": [8.0, 8.1]}), one)
    assert apart.why == "the readings fail on opposite sides of the limits (2 to 4)"


def test_a_reading_may_have_several_quantities():
    readings = {"A": {"x": [1.0, 1.1, 1.0], "y": [2.0, 2.1, 2.0]}, "B": {"x": [1.0, 1.1, 1.0]}}
    assert decide(Samples(readings=readings), rule("mean", "> 0")).verdict == "holds"
    readings["B"]["y"] = [-1.0, -1.1, -1.0]
    found = decide(Samples(readings=readings, why="w"), rule("mean", "> 0"))
    assert (found.verdict, found.readings) == ("unknown", "A: holds; B: fails")


def test_what_is_built_in_or_missing_is_so_under_every_reading():
    readings = {"A": [1.0], "B": [1.0]}
    one = rule("by construction", "= 1")
    assert decide(Samples(readings=readings, why="w"), one).verdict == "by construction"
    missing = decide(Samples(readings=readings, missing="no log"), rule("value", "= 1"))
    assert (missing.verdict, missing.why) == ("unknown", "no log")


def test_few_jobs_decide_nothing():
    samples = {"a": Samples([1.0])}
    assert of_enough_jobs(samples, 100) == samples
    assert of_enough_jobs(samples, 99)["a"].missing == "too few jobs: 99, of at least 100"


def test_a_small_part_of_a_log_decides_nothing():
    samples = {"a": Samples([1.0]), "b": Samples(missing="no job waits")}
    assert of_enough_use(samples, None) == of_enough_use(samples, 0.5) == samples
    little = of_enough_use(samples, 0.0675)
    part = "only 6.75 % of the log's node-hours were used"
    assert [one.missing for one in little.values()] == [part, f"no job waits; {part}"]


@pytest.mark.parametrize("text", ["", "> x", "between 1 and 2", "≈ 3", "1 to"])
def test_limits_that_cannot_be_read_are_named(text):
    with pytest.raises(ValueError, match=r"claims.csv: limits"):
        read_limits(text)


def test_limits():
    assert read_limits("> 0") == Limits(0.0, math.inf, True)
    assert read_limits("14.3 ± 0.5") == Limits(13.8, 14.8)
    assert not read_limits("≥ 1").hold(math.nan)


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("number", "one", "line 2: number 'one' is not a number"),
        ("source", " ", "line 2: no source"),
        ("statistic", "median", "line 2: statistic 'median'"),
        ("limits", "about 3", "line 2: limits 'about 3'"),
        ("reason", "", "line 2: no reason"),
    ],
)
def test_a_table_with_a_bad_row_is_refused(tmp_path, column, value, said):
    row = dict(zip(STATED + RULED, [*FACT, "value", "> 0", "why", "any"], strict=True))
    pd.DataFrame([row | {column: value}]).to_csv(tmp_path / "claims.csv", index=False)
    with pytest.raises(ValueError, match=said):
        read_rules(tmp_path / "claims.csv")


def test_a_statement_is_judged_once_and_unjudged_ones_are_unknown():
    facts = [[*FACT, "value", "> 0", "why", "any"], [*FACT, "value", "> 0", "why", "any"]]
    table = pd.DataFrame(facts, columns=STATED + RULED)
    table.loc[1, "claim"] = "another"
    claims = Claims("1-trial", data="a log", table=table.assign(number=1))
    claims.judge({"a-claim": Samples([1.0])})
    assert claims.table()["verdict"].tolist() == ["holds", "unknown"]
    with pytest.raises(ValueError, match="judged already"):
        claims.judge({"a-claim": Samples([1.0])})
    with pytest.raises(KeyError, match="has no claim 'b'"):
        claims.judge({"b": Samples([1.0])})


def test_the_table_of_the_checkout_can_be_read():
    table = read_rules()
    assert table["system"].nunique() == 7
    assert len(table) >= 101
