"""Claims keep the paper's order, insist on reasons, and end up in one scorecard."""

import shutil

import numpy as np
import pandas as pd
import pytest

from cosimlib import claims
from cosimlib.claims import CHECKED, STATED, Claims, read_statements, statements_path

HEADER = ",".join(STATED) + "\n"


@pytest.fixture
def stated():
    """Three claims about one system, one about another."""
    rows = [
        ("1-a", 1, "first", "A is | faster", "≥ 2×", "P, I"),
        ("1-a", 2, "second", "B_1 is *never* slower", "never", "P, I"),
        ("1-a", 2, "third", "C costs $5 to ~$6", "5", "P, II"),
        ("2-b", 1, "first", "D", "1", "Q, I"),
    ]
    return pd.DataFrame(rows, columns=STATED)


def test_table_keeps_the_papers_order_and_tells_each_verdict(stated):
    kept = Claims("1-a", data="synthetic", table=stated)
    kept.row("third", ours="7", holds=False, why="another machine")
    kept.row("first", ours="3×", holds=np.bool_(True))
    table = kept.table()
    assert list(table.columns) == CHECKED
    assert table["claim"].tolist() == ["first", "second", "third"]
    assert table["verdict"].tolist() == ["holds", "unknown", "fails"]
    assert table["ours"].tolist() == ["3×", "", "7"]
    assert table["paper"].tolist() == ["≥ 2×", "never", "5"]
    assert table["why"].tolist() == ["", "not checked", "another machine"]
    assert set(table["data"]) == {"synthetic"}


def test_verdicts_are_filled_in_at_once_some_of_other_data(stated):
    kept = Claims("1-a", data="synthetic", table=stated)
    verdicts = {"first": claims.verdict("3×", True, "unused"), "third": claims.unknown("-", "few")}
    kept.fill(verdicts, data={"third": "synthetic, noisy"})
    table = kept.table().set_index("claim")
    assert table["verdict"].tolist() == ["holds", "unknown", "unknown"]
    assert table["data"].tolist() == ["synthetic", "synthetic", "synthetic, noisy"]
    assert table.loc["third", "why"] == "few" and table.loc["first", "why"] == ""


def test_a_notebook_shows_what_each_claim_was_judged_on(stated):
    kept = Claims("1-a", data="log <b>", table=stated)
    kept.row("first", ours="3×", holds=True)
    alone = kept.show().to_html()
    assert "<caption>Data: log &lt;b></caption>" in alone and ">data<" not in alone
    kept.row("third", ours="7", holds=True, data="six made-up jobs")
    shown = kept.show().to_html()
    assert "<caption>Data: log &lt;b>, unless another is named</caption>" in shown
    assert ">data<" in shown and shown.count("six made-up jobs") == 1


def test_undecided_is_unknown_with_its_reason(stated):
    kept = Claims("2-b", data="x", table=stated)
    kept.row("first", ours="-", holds=None, why="the trace has no such hour")
    row = kept.table().iloc[0]
    assert (row.verdict, row.why) == ("unknown", "the trace has no such hour")


def test_wrong_rows_are_refused_and_change_nothing(stated):
    kept = Claims("1-a", data="x", table=stated)
    with pytest.raises(KeyError, match="no claim 'fourth'; known are first, second, third"):
        kept.row("fourth", ours="1", holds=True)
    for undecided in (False, None):
        with pytest.raises(ValueError, match=r"'first' got holds=.* no why"):
            kept.row("first", ours="1", holds=undecided, why=" ")
    with pytest.raises(TypeError, match=r"holds=0\.5; expected True, False or None"):
        kept.row("first", ours="1", holds=0.5)
    assert set(kept.table()["verdict"]) == {"unknown"}
    kept.row("first", ours="1", holds=True)
    with pytest.raises(ValueError, match="'first' was checked already"):
        kept.row("first", ours="2", holds=True)
    assert kept.table()["ours"].iloc[0] == "1"


def test_unknown_system_names_those_known(stated):
    with pytest.raises(KeyError, match="no claims about system '9-z'; known are 1-a, 2-b"):
        Claims("9-z", data="x", table=stated)


def test_write_makes_the_folder_and_leaves_only_the_table(stated, tmp_path):
    kept = Claims("1-a", data="x", table=stated)
    kept.write("")
    kept.write(None)
    assert not list(tmp_path.iterdir())
    kept.write(tmp_path / "deep")
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["claims.csv"]
    read = pd.read_csv(tmp_path / "deep" / "claims.csv", dtype=str, keep_default_na=False)
    pd.testing.assert_frame_equal(read, kept.table().astype({"number": str}), check_dtype=False)


def test_eviction_paper_states_nine_claims():
    table = read_statements()
    eviction = table[table["system"] == "1-eviction"]
    assert eviction["number"].drop_duplicates().tolist() == list(range(1, 10))
    assert eviction["source"].str.match(r"Maurya et al\. 2020, (III-C|IV-[AE])").all()
    theta = eviction[eviction["number"] == 9].set_index("claim")["paper_value"]
    assert theta.to_dict() == {
        "most-frequent-occupancy": "4352 of 4392, 34 days; all for 1.5 days",
        "jobs-near-full": "~25",
        "share-under-30-minutes": "61 %",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("system,claim\n", "line 1: columns are system, claim; expected system, number"),
        (HEADER + "a,1,c,s,p,q\na,2,d,,p,q\n", "line 3: no statement"),
        (HEADER + "a,one,c,s,p,q\n", "line 2: number 'one' is not a number"),
        (HEADER + "a,1,c,s,p,q\na,2,c,s,p,q\n", "line 3: claim 'c' is there twice"),
    ],
)
def test_faulty_statements_are_named_by_line(tmp_path, text, message):
    path = tmp_path / "claims.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_statements(path)


def test_statements_come_from_the_checkout_or_else_from_the_package(tmp_path, monkeypatch):
    package = tmp_path / "cosimlib"
    monkeypatch.setattr(claims, "PACKAGE", package)
    with pytest.raises(FileNotFoundError, match="install it anew"):
        statements_path()
    for folder in (package / "data", tmp_path / "data"):
        folder.mkdir(parents=True)
        (folder / "claims.csv").write_text(HEADER, encoding="utf-8")
    assert statements_path() == package / "data" / "claims.csv"
    (tmp_path / "pyproject.toml").touch()
    assert statements_path() == tmp_path / "data" / "claims.csv"
    shutil.rmtree(tmp_path / "data")
    assert statements_path() == package / "data" / "claims.csv"


def test_on_less_than_half_of_a_log_nothing_is_decided(stated):
    kept = Claims("1-a", data="X", used=0.003, table=stated)
    kept.fill({"first": claims.verdict("3×", True, "unused"), "third": claims.unknown("-", "few")})
    kept.row("second", ours="never", holds=False, why="prices rose", data="synthetic")
    table = kept.table().set_index("claim")
    assert table["verdict"].tolist() == ["unknown", "fails", "unknown"]
    reason = "only 0.3 % of the log's node-hours were used"
    assert table["why"].tolist() == [reason, "prices rose", f"few; {reason}"]
    label = "X, 0.3 % of its node-hours"
    assert table["data"].tolist() == [label, "synthetic", label]
    assert table["ours"].tolist() == ["3×", "never", "-"]


def test_what_is_built_in_is_told_apart_on_whatever_part_of_a_log(stated):
    kept = Claims("1-a", data="X", used=0.003, table=stated)
    kept.fill({"first": claims.by_construction("3×", True, "the input has it")})
    kept.fill({"second": claims.by_construction("2×", False, "the input has it")})
    table = kept.table().set_index("claim")
    assert table.loc["first", ["verdict", "why"]].tolist() == [
        "by construction", "the input has it"
    ]  # fmt: skip
    assert table.loc["second", "verdict"] == "unknown"


def test_what_is_built_in_has_a_reason_and_holds(stated):
    kept = Claims("1-a", data="x", table=stated)
    with pytest.raises(ValueError, match="no why"):
        kept.row("first", ours="1", holds=True, built_in=True)
    with pytest.raises(ValueError, match="what is built in holds"):
        kept.row("first", ours="1", holds=False, why="x", built_in=True)
    assert claims.by_construction("1", False, "x") == ("1", False, "although built in: x", False)


@pytest.mark.parametrize(
    ("used", "label"),
    [(0.5, "X, 50 % of its node-hours"), (0.834, "X, 83.4 % of its node-hours"), (1, "X"),
     (None, "X")],
)  # fmt: skip
def test_on_half_of_a_log_or_more_verdicts_stand(stated, used, label):
    kept = Claims("2-b", data="X", used=used, table=stated)
    kept.row("first", ours="1", holds=True)
    assert kept.table()[["data", "verdict"]].iloc[0].tolist() == [label, "holds"]


@pytest.mark.parametrize("used", [-0.1, 1.1, float("nan"), True])
def test_a_share_that_is_none_is_refused(stated, used):
    with pytest.raises(ValueError, match=r"2-b: used=.*; expected a share from 0 to 1"):
        Claims("2-b", data="X", used=used, table=stated)
