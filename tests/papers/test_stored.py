"""Stored verdicts: beside those of a run, stale where their rule has changed; their history."""

import re

import pandas as pd
import pytest

from papers import stored as module
from papers.claims import JUDGED, VERDICTS, Verdict, read_rules
from papers.stored import (
    HISTORY,
    QUICK,
    STALE,
    STORED,
    mark,
    read_readings,
    read_stored,
    store,
    with_stored,
)
from tests.suites import ROOT


def test_stored_numbers_stand_beside_all_that_does_not_hold_in_both():
    stored = Verdict("1.5 h", "holds", data="600 days")
    number = "stored number of 600 days: 1.5 h, "
    holds, fails = Verdict("2 h", "holds"), Verdict("9 h", "fails", "bursts")
    assert with_stored(holds, stored) == holds._replace(stored="holds")
    against = f"the larger run contradicts this: {number}"
    assert with_stored(holds, stored._replace(verdict="fails")).why == f"{against}fails"
    assert with_stored(fails, stored).why == f"bursts; {against}holds"
    assert with_stored(fails, stored._replace(verdict="fails")).why == f"bursts; {number}fails"
    unknown = with_stored(Verdict("2 h", "unknown", "few"), stored)
    assert unknown == ("2 h", "unknown", f"few; {number}holds", "", "holds", "")
    assert unknown.best == "holds" and fails.best == "fails"
    undecided = with_stored(fails, stored._replace(verdict="unknown"))
    assert undecided.best == "fails", "a larger run that decides nothing leaves the verdict"


def test_stored_numbers_of_the_checkout_are_of_its_statements():
    table = read_rules()
    for system in table["system"].unique():
        stored = read_stored(system)
        assert set(stored) <= set(table.query("system == @system")["claim"])
        assert all(
            one.verdict in (*VERDICTS, STALE) and one.ours and one.data for one in stored.values()
        )


def test_a_mark_changes_with_every_part_of_a_rule():
    first = mark("mean", "> 0", "a log", ["A", "B"])
    assert first == mark("mean", "> 0", "a log", ["B", "A"])
    others = [
        mark("value", "> 0", "a log", ["A", "B"]),
        mark("mean", "> 1", "a log", ["A", "B"]),
        mark("mean", "> 0", "two logs", ["A", "B"]),
        mark("mean", "> 0", "a log", ["A"]),
    ]
    assert len({first, *others}) == 5


def test_a_stale_verdict_is_shown_and_decides_nothing(tmp_path, monkeypatch):
    row = read_rules().iloc[0]
    old = mark(row.statistic, "≤ 99", row.data)
    table = pd.DataFrame([[row.system, row.claim, "7", "fails", "", "a log", "d", "c", old, ""]])
    path = tmp_path / "paper-scale.csv"
    table.set_axis(STORED, axis=1).to_csv(path, index=False)
    monkeypatch.setattr(module, "stored_path", lambda: path)
    found = read_stored(row.system)[row.claim]
    assert found.verdict == STALE
    beside = with_stored(Verdict("8", "unknown", "few"), found)
    assert beside.best == "unknown" and "a log (d, c) is stale" in beside.why


def test_a_verdict_is_stale_once_the_code_finds_other_numbers(tmp_path, monkeypatch):
    row = read_rules().query("claim == 'greedy-excess-grows'").iloc[0]
    path, quick = tmp_path / "paper-scale.csv", tmp_path / "quick-scale.csv"
    monkeypatch.setattr(module, "stored_path", lambda: path)
    monkeypatch.setattr(module, "quick_path", lambda: quick)
    monkeypatch.setattr(module, "rule_marks", lambda: {(row.system, row.claim): "r"})

    def quick_run(ours):
        found = pd.DataFrame([[row.system, row.claim, ours, "holds", "a log"]])
        module.keep_quick(found.set_axis(QUICK, axis=1), quick)
        return module.fingerprints()[row.system, row.claim]

    stored = [row.system, row.claim, "7", "holds", "", "a log", "d", "c", "r", quick_run("5")]
    pd.DataFrame([stored], columns=STORED).to_csv(path, index=False)
    assert read_stored(row.system)[row.claim].verdict == "holds"
    quick_run("6")
    assert read_stored(row.system)[row.claim].verdict == STALE
    stored[-1] = ""  # stored before there were fingerprints
    pd.DataFrame([stored], columns=STORED).to_csv(path, index=False)
    assert read_stored(row.system)[row.claim].verdict == "holds"


def test_the_quick_run_of_the_checkout_is_of_its_statements_and_times_have_no_fingerprint():
    stated = set(read_rules().set_index(["system", "claim"]).index)
    prints = module.fingerprints()
    assert set(prints) <= stated - module.TIMED and stated >= module.TIMED
    assert len(prints) > 100


@pytest.fixture
def files(tmp_path):
    path, history = tmp_path / "paper-scale.csv", tmp_path / "history.csv"
    pd.DataFrame(columns=STORED).to_csv(path, index=False)
    pd.DataFrame(columns=HISTORY).to_csv(history, index=False)
    return path, history


def test_what_is_stored_again_is_appended_to_the_history_and_says_what_was_changed(
    files, monkeypatch
):
    path, history = files
    row = read_rules().iloc[0]
    found = pd.DataFrame([dict.fromkeys(JUDGED, "") | row.astype(str).to_dict()])
    found = found.assign(ours="1", verdict="holds", data="a log, seed 0")
    other = read_rules().iloc[1]
    found = pd.concat([found, found.assign(claim=other.claim, ours="")])
    assert store(found, path, history) == 1, "a claim without a number is not stored"
    assert store(found.assign(verdict="fails"), path, history) == 1
    assert store(found.assign(data="a log, seeds 0 to 7"), path, history) == 1
    monkeypatch.setattr(module, "rule_marks", lambda: {(row.system, row.claim): "changed"})
    store(found.assign(data="a log, seeds 0 to 7"), path, history)
    monkeypatch.setattr(module, "rule_marks", lambda: {(row.system, row.claim): "again"})
    store(found.assign(data="a log, seeds 0 to 9"), path, history)
    table = pd.read_csv(history, dtype=str)
    assert table["revised"].tolist() == ["no", "no", "runs", "rule", "rule, runs"]
    assert table["verdict"].tolist() == ["holds", "fails", "holds", "holds", "holds"]
    stored = pd.read_csv(path, dtype=str)
    assert stored[["claim", "rule"]].to_numpy().tolist() == [[row.claim, "again"]]


def test_every_verdict_that_is_stored_is_the_last_of_its_history():
    history = pd.read_csv(module.history_path(), dtype=str, keep_default_na=False)
    last = history.drop_duplicates(["system", "claim"], keep="last")
    stored = pd.read_csv(module.stored_path(), dtype=str, keep_default_na=False)
    both = stored.merge(last, on=["system", "claim"], suffixes=("", " last"))
    assert len(both) == len(stored)
    assert (both["verdict"] == both["verdict last"]).all()
    parts = {part for revised in history["revised"] for part in revised.split(", ")}
    assert parts <= {"no", "rule", "runs", "measure", "not known"}


def test_readings_are_of_stated_claims_two_or_more_each_with_their_words():
    readings, rules = read_readings(), read_rules()
    keys = ["system", "claim"]
    known = pd.MultiIndex.from_frame(rules[keys])
    assert pd.MultiIndex.from_frame(readings[keys]).isin(known).all()
    assert not readings.duplicated([*keys, "reading"]).any()
    assert (readings != "").all(axis=None)
    admitted = readings.query("admissible == 'yes'").groupby(keys).size()
    assert (admitted >= 2).all()


def test_the_page_of_changes_names_every_verdict_that_changed():
    """Against the verdicts before 2026-11-25, when claims were judged under every reading."""
    page = (ROOT / "docs" / "verdict-changes.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ")][1:]
    said = {
        name: (before, now)
        for claims, before, now, _ in rows
        for name in re.findall(r"`([\w.-]+)`", claims)
    }
    history = pd.read_csv(module.history_path(), dtype=str, keep_default_na=False)
    old = history[history["date"] < "2026-11-25"].drop_duplicates("claim", keep="last")
    before = old.set_index("claim")["verdict"]
    now = pd.read_csv(module.stored_path(), dtype=str, keep_default_na=False)
    now = now.set_index("claim")["verdict"]
    changed = {
        claim: (before[claim], now[claim])
        for claim in before.index.intersection(now.index)
        if before[claim] != now[claim]
    }
    assert said == changed
    new = now.index.difference(before.index)
    assert all(f"`{claim}`" in page for claim in new)
