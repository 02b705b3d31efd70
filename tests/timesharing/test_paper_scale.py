"""Stored numbers of paper scale: what they are of, and where they stand."""

import pandas as pd
import pytest

from cosimlib.claims import Verdict, read_statements, unknown, verdict
from cosimlib.timesharing import beside_paper_scale, read_paper_scale
from cosimlib.timesharing.paper_scale import COLUMNS

ROW = ["3-timesharing", "crossover", "1.5 h", "holds", "600 days, one seed"]


def test_every_stored_number_is_of_a_stated_claim_and_says_how_it_was_measured():
    table = read_paper_scale()
    stated = read_statements().query("system == '3-timesharing'")["claim"]
    assert table["claim"].isin(stated).all() and not table["claim"].duplicated().any()
    assert len(table) and table["ours"].str.strip().ne("").all()
    assert table["measured"].str.contains("seed").all()


def test_they_stand_beside_what_fails_or_is_unknown_and_decide_nothing():
    table = pd.DataFrame([ROW, [*ROW[:1], "noise-wins", *ROW[2:]]], columns=COLUMNS)
    verdicts = {
        "crossover": unknown("2.6 h", "few nodes"),
        "noise-wins": verdict("95 %", True, ""),
        "overhead-5": verdict("2", False, "it matters"),
    }
    told = beside_paper_scale(verdicts, table=table)
    why = "few nodes; stored number of 600 days, one seed: 1.5 h, holds"
    assert told["crossover"] == Verdict("2.6 h", None, why)
    assert {claim: told[claim] for claim in list(told)[1:]} == dict(list(verdicts.items())[1:])


def test_a_table_of_other_columns_or_verdicts_is_refused(tmp_path):
    path = tmp_path / "paper-scale.csv"
    pd.DataFrame([ROW], columns=[*COLUMNS[:-1], "how"]).to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"line 1: columns are .*how; expected .*measured"):
        read_paper_scale(path)
    pd.DataFrame([[*ROW[:3], "maybe", ROW[4]]], columns=COLUMNS).to_csv(path, index=False)
    with pytest.raises(ValueError, match="line 2: verdict 'maybe' is none of holds"):
        read_paper_scale(path)
