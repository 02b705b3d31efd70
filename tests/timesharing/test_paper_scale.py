"""Stored numbers of paper scale: what they are of, and where they stand."""

import re

import pandas as pd
import pytest

from cosimlib.claims import read_statements, unknown, verdict
from cosimlib.timesharing import SCALES, beside_paper_scale, read_paper_scale
from cosimlib.timesharing.claims import DECIDED_BY, LIMITS
from cosimlib.timesharing.paper_scale import COLUMNS

NUMBER = re.compile(
    r"(?P<what>.+?) (?P<mean>[\d.e+-]+) "
    r"(?:\((?P<low>[\d.e+-]+) to (?P<high>[\d.e+-]+)\) over|in all) (?P<seeds>\d+) seeds; "
    r"one of them: ."
)
ROW = ["3-timesharing", "crossover", "1.5 h", "holds", "5576", "600", "100", "0", ""]


def test_every_stored_number_is_of_a_stated_claim_and_says_how_it_was_measured():
    table = read_paper_scale()
    stated = read_statements().query("system == '3-timesharing'")["claim"]
    assert table["claim"].isin(stated).all() and not table["claim"].duplicated().any()
    assert len(table) and table["ours"].str.strip().ne("").all()
    assert table["nodes"].eq("5576").all() and table["seeds"].str.fullmatch(r"\d+ to \d+").all()
    assert (table["days"].astype(float) > table["warm_up"].astype(float)).all()
    own = scale_rows(SCALES["paper"], table["claim"])
    other = table.set_index("claim")[list(own.columns)].ne(own).any(axis=1)
    assert (table.set_index("claim").loc[other, "note"] != "").all()


def scale_rows(scale, claims):
    """Days, warm-up and seeds by claim, as of a scale."""
    plans = {claim: scale.judged_by(claim) for claim in claims}
    rows = {
        claim: (f"{span.days:g}", f"{span.warm_up:g}", f"{places[0]} to {places[-1]}")
        for claim, (span, places) in plans.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=["days", "warm_up", "seeds"])


def test_every_stored_verdict_is_that_of_its_interval():
    """The texts have the form that `judge` gives them, and its limits decide."""
    table = read_paper_scale().set_index("claim")
    seeds = {"overhead-5"}  # an overhead that costs too much utilization in one seed of three
    assert table.loc["overhead-5", "ours"].endswith("; so in 2 of 3 seeds")
    for claim, row in table.drop(index=seeds).iterrows():
        found = NUMBER.match(row["ours"])
        assert found and found["what"] == DECIDED_BY.get(claim, "mean"), row["ours"]
        mean, (least, greatest) = float(found["mean"]), LIMITS[claim]
        low, high = float(found["low"] or mean), float(found["high"] or mean)
        inside = least <= low and high <= greatest
        outside = high < least or low > greatest
        expected = "holds" if inside else "fails" if outside else "unknown"
        assert row["verdict"] == expected, claim
        first, last = map(int, row["seeds"].split(" to "))
        assert int(found["seeds"]) == last - first + 1, claim


def test_they_stand_beside_all_that_does_not_hold_in_both_and_decide_nothing():
    stored = {"crossover": "holds", "noise-wins": "holds", "turnaround-scales": "fails",
              "cpu-load-week": "unknown", "short-jobs-better": "holds"}  # fmt: skip
    rows = [[ROW[0], claim, ROW[2], found, *ROW[4:]] for claim, found in stored.items()]
    rows[0][-2:] = ["0 to 2", "its own"]
    verdicts = {
        "crossover": unknown("2.6 h", "few jobs"),
        "noise-wins": verdict("95 %", True, ""),
        "turnaround-scales": verdict("100 %", True, ""),
        "cpu-load-week": verdict("6.3", True, ""),
        "short-jobs-better": verdict("188", False, "bursts"),
        "overhead-5": verdict("2", False, "it matters"),
    }
    told = beside_paper_scale(verdicts, table=pd.DataFrame(rows, columns=COLUMNS))
    counted = "stored number of 5,576 nodes, 600 days, of which 100 do not count"
    number = f"{counted}, seed 0: 1.5 h"
    against = f"paper scale contradicts this: {number}"
    assert {claim: found.why for claim, found in told.items()} == {
        "crossover": f"few jobs; {counted}, seeds 0 to 2, its own: 1.5 h, holds",
        "noise-wins": "",
        "turnaround-scales": f"{against}, fails",
        "cpu-load-week": f"{number}, unknown",
        "short-jobs-better": f"bursts; {against}, holds",
        "overhead-5": "it matters",
    }
    assert all(found._replace(why="") == verdicts[claim]._replace(why="")
               for claim, found in told.items())  # fmt: skip


def test_a_table_of_other_columns_or_verdicts_is_refused(tmp_path):
    path = tmp_path / "paper-scale.csv"
    pd.DataFrame([ROW], columns=[*COLUMNS[:-1], "how"]).to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"line 1: columns are .*how; expected .*note"):
        read_paper_scale(path)
    pd.DataFrame([[*ROW[:3], "maybe", *ROW[4:]]], columns=COLUMNS).to_csv(path, index=False)
    with pytest.raises(ValueError, match="line 2: verdict 'maybe' is none of holds"):
        read_paper_scale(path)
