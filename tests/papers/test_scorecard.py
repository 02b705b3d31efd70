"""The scorecard joins the verdicts of all notebooks, counts them, and survives GitHub."""

import json

import pandas as pd
import pytest

from papers import scorecard, stored
from papers.claims import JUDGED, Claims, Samples, read_rules
from papers.stored import HISTORY, STORED


def write(figures, name, table, **parameters):
    """The folder of a run with its verdicts."""
    (figures / name).mkdir()
    if table is not None:
        table.to_csv(figures / name / "claims.csv", index=False)
    record = {"parameters": {"scale": "quick", "trace": "synthetic", **parameters}}
    (figures / name / "run.json").write_text(json.dumps(record))


def judged(system, **verdicts):
    """A table as a paper writes it, with one claim per verdict."""
    row = dict.fromkeys(JUDGED, "x") | {"system": system, "data": "a log"}
    row["source"] = "Tang et al. 2011, 3"
    rows = [row | {"claim": c, "verdict": each, "best": each} for c, each in verdicts.items()]
    return pd.DataFrame(rows, columns=JUDGED)


@pytest.fixture
def figures(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["scorecard", str(tmp_path)])
    return tmp_path


def test_verdicts_of_all_notebooks_are_joined_and_counted(figures):
    write(figures, "2-b", judged("2-b", one="holds", two="unknown"), horizon=1800)
    write(figures, "1-a", judged("1-a", one="fails", two="holds", three="by construction"))
    write(figures, "0-log", None)
    (figures / ".writing-1-a").mkdir()
    scorecard.main()
    table = pd.read_csv(figures / "claims.csv")
    assert table.columns.tolist() == JUDGED
    assert table["system"].tolist() == ["1-a"] * 3 + ["2-b"] * 2
    assert table["data"].tolist() == ["a log"] * 3 + ["a log; horizon 1800"] * 2
    lines = (figures / "scorecard.md").read_text().splitlines()
    assert lines[2] == (
        "5 claims of the five papers: 2 hold, 1 fails, 1 unknown, 1 by construction."
    )
    assert lines[6] == (
        "3 claims of the five papers: 1 holds, 1 fails, 0 unknown, 1 by construction."
    )
    assert lines[8] == (
        "| no. | the paper says | its value | statistic | limits | ours | data | verdict "
        "| best evidence | why |"
    )


def test_verdicts_that_differ_from_those_of_another_seed_are_counted():
    here, there = judged("1-a", one="fails", two="holds"), judged("1-a", one="holds", two="holds")
    assert scorecard.differences(here, there).splitlines() == [
        "1-a one: fails (x); there holds (x)",
        "1 of 2 verdicts differ",
    ]


def test_a_table_of_nothing_has_its_columns(figures):
    scorecard.main()
    assert (figures / "claims.csv").read_text() == ",".join(JUDGED) + "\n"
    assert "\n\nno claim: no notebook here" in (figures / "scorecard.md").read_text()


def test_limits_stand_beside_our_number(figures):
    rules = read_rules()
    claims = Claims(
        "1-a",
        data="a log",
        table=rules.iloc[:1].assign(system="1-a", claim="first", statistic="value", limits="≥ 30"),
    )
    claims.judge({"first": Samples([31.0], "{:.0f} times")})
    write(figures, "1-a", claims.table())
    scorecard.main()
    [row] = [line for line in (figures / "scorecard.md").read_text().splitlines() if "≥ 30" in line]
    assert "| value | ≥ 30 | 31 times | a log | holds | holds |  |" in row


def test_others_claims_and_stored_verdicts_are_counted_apart():
    table = judged("1-a", one="unknown", two="holds")
    table.loc[0, "best"] = "fails"
    table.loc[1, "source"] = "this notebook, our own"
    assert scorecard.counts(table) == (
        "1 claim of the five papers: 0 hold, 1 fails, 0 unknown, 0 by construction; "
        "1 other claim: 1 holds, 0 fail, 0 unknown, 0 by construction; "
        "of these, stored runs at paper scale decide 1"
    )


def test_runs_at_paper_scale_take_the_place_of_those_stored(figures, monkeypatch):
    table = judged("1-a", one="holds", left="unknown")
    table.loc[1, "ours"] = ""  # not measured in this run
    write(figures, "1-a", table, scale="paper")
    write(figures, "2-b", judged("2-b", one="fails"))
    path, history = figures / "paper-scale.csv", figures / "history.csv"
    old = [
        ("1-a", "left", "1", "holds", "", "a log", "2026-01-01", "abc", "r", ""),
        ("2-b", "one", "2", "holds", "", "a log", "2026-01-01", "abc", "r", ""),
    ]
    pd.DataFrame(old, columns=STORED).to_csv(path, index=False)
    pd.DataFrame(columns=HISTORY).to_csv(history, index=False)
    monkeypatch.setattr(scorecard, "stored_path", lambda: path)
    monkeypatch.setattr(scorecard, "history_path", lambda: history)
    monkeypatch.setattr("papers.stored.rule_marks", lambda: {("1-a", "one"): "r"})
    assert scorecard.store_runs(figures) == "1 claim of 1 run at paper scale"
    table = pd.read_csv(path, dtype=str)
    assert table[["system", "claim", "verdict"]].to_numpy().tolist() == [
        ["1-a", "left", "holds"],
        ["1-a", "one", "holds"],
        ["2-b", "one", "holds"],
    ]
    assert (table["date"] == "2026-01-01").tolist() == [True, False, True]
    assert table["commit"].notna().all()


def test_runs_at_quick_scale_are_kept_and_others_compared_with_them(figures, monkeypatch):
    path = figures / "quick-scale.csv"
    monkeypatch.setattr(scorecard, "quick_path", lambda: path)
    monkeypatch.setattr(stored, "quick_path", lambda: path)
    table = judged("1-a", one="holds", two="fails", three="unknown")
    table.loc[2, "ours"] = ""  # not measured in this run
    write(figures, "1-a", table)
    write(figures, "2-b", judged("2-b", one="fails"), scale="paper")
    assert scorecard.keep_runs(figures) == "2 claims of 1 run at quick scale"
    kept = pd.read_csv(path, dtype=str)
    assert kept[["system", "claim", "verdict"]].to_numpy().tolist() == [
        ["1-a", "one", "holds"],
        ["1-a", "two", "fails"],
    ]
    committed = "that can be compared are those of data/quick-scale.csv"
    assert stored.compared_with_committed(table) == f"2 of 2 verdicts {committed}"
    table.loc[1, "verdict"] = "holds"
    expected = f"1 of 2 verdicts {committed}; not two (fails, here holds)"
    assert stored.compared_with_committed(table) == expected
    assert stored.compared_with_committed(table.assign(data="another log")) == ""
    scorecard.main()
    assert "2 of 2 verdicts that can be compared" in (figures / "scorecard.md").read_text()


def test_what_github_takes_for_markup_is_escaped(figures):
    table = judged("1-a_b", one="holds").assign(statement="A | B_1 <b> *never*\n$5 ~$6", why="`x`")
    write(figures, "1-a", table)
    scorecard.main()
    text = (figures / "scorecard.md").read_text()
    assert r"A \| B\_1 \<b\> \*never\*<br>\$5 \~\$6" in text
    assert "## 1-a\\_b" in text and r"\`x\`" in text
