"""Claims about eviction: on the paper's numbers, on others, and on too little data."""

from itertools import product

import pandas as pd
import pytest

from cosimlib.claims import read_statements
from cosimlib.eviction import Evidence, judge, speedups

DEADLINES = (0.0, 300.0, 600.0, 900.0)
PAPER_SECONDS = {
    ("12 jobs", 512): (4e-3, 1e-5, 1e-3),
    ("12 jobs", 1024): (4e-3, 1e-5, 1.0),
    ("24 jobs", 512): (4e-3, 1e-5, 1e-2),
    ("24 jobs", 1024): (4e-3, 1e-5, 400.0),
}
"""Seconds of dynamic programming, greedy and backtracking per case, as in figures 5 to 7."""
OPTIMUM, GREEDY = (90.0, 40.0, 10.0, 0.0), (90.0, 50.0, 30.0, 40.0)


def table(seconds=None, optimum=OPTIMUM, greedy=GREEDY, bound=False, optimal=True):
    """A table of `compare_solvers` with these response times and losses."""
    seconds = PAPER_SECONDS if seconds is None else seconds
    rows = []
    for (scenario, needed), times in seconds.items():
        losses = (optimum, greedy, optimum)
        solvers = zip(("dynamic", "greedy", "backtracking"), times, losses, strict=True)
        for solver, spent, loss in solvers:
            searched = solver == "backtracking"
            for deadline, lost in zip(DEADLINES, loss, strict=True):
                rows.append((scenario, needed, solver, deadline, spent, lost,
                             bound and searched, optimal))  # fmt: skip
    columns = ["scenario", "nodes_needed", "solver", "deadline", "response_time", "loss", "bound",
               "optimal"]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def evidence(**changes):
    """The paper's own numbers, with changes."""
    numbers = {
        "comparison": table(),
        "horizons": dict.fromkeys((180.0, 360.0, 900.0, 3600.0), 3e-3),
        "time_limit": 60.0,
        "most_frequent": 4352,
        "total_nodes": 4392,
        "days": 100.0,
        "jobs_near_full": 25,
        "share_short": 0.61,
        "theta": True,
    }
    return Evidence(**numbers | changes)


def slower(solver, factor):
    """The paper's seconds, those of one solver (0 dynamic, 1 greedy, 2 search) times `factor`."""
    return {
        case: tuple(t * factor if place == solver else t for place, t in enumerate(times))
        for case, times in PAPER_SECONDS.items()
    }


def test_every_claim_holds_on_the_papers_own_numbers():
    verdicts = judge(evidence())
    stated = read_statements()
    assert list(verdicts) == stated.loc[stated["system"] == "1-eviction", "claim"].tolist()
    assert {claim: given.holds for claim, given in verdicts.items()} == dict.fromkeys(
        verdicts, True
    )
    assert verdicts["five-orders-of-magnitude"].ours == "5.0 orders"


FAILING = {
    "constant-in-deadline": {"horizons": {180.0: 1.0, 900.0: 2.1, 3600.0: 8.0}},
    "greedy-fastest": {"comparison": table(slower(1, 10.0))},
    "backtracking-wins-small": {"comparison": table(slower(2, 4.0))},
    "dynamic-wins-large": {"comparison": table(slower(0, 1e6))},
    "five-orders-of-magnitude": {"comparison": table(slower(2, 1e-2))},
    "greedy-excess-not-negative": {"comparison": table(greedy=(90.0, 39.0, 30.0, 40.0))},
    "greedy-excess-grows": {"comparison": table(greedy=(190.0, 80.0, 30.0, 0.0))},
    "optimum-falls": {"comparison": table(optimum=(10.0, 10.0, 10.0, 10.0))},
    "optimum-reaches-zero": {"comparison": table(optimum=(9.0, 8.0, 7.0, 6.0))},
    "dynamic-in-milliseconds": {"comparison": table(slower(0, 3.0))},
    "most-frequent-occupancy": {"most_frequent": 4360},
    "jobs-near-full": {"jobs_near_full": 31},
    "share-under-30-minutes": {"share_short": 0.47},
}


@pytest.mark.parametrize("claim", FAILING)
def test_a_claim_fails_on_other_numbers_and_says_why(claim):
    given = judge(evidence(**FAILING[claim]))[claim]
    assert given.holds is False
    assert given.ours and given.why


def test_same_optimum_fails_where_a_completed_search_finds_another():
    comparison = table()
    searched = comparison["solver"] == "backtracking"
    comparison["loss"] = comparison["loss"].mask(searched, comparison["loss"] + 1)
    assert judge(evidence(comparison=comparison))["same-optimum"].holds is False


def test_optimum_falls_counts_the_cases_in_which_it_rises():
    given = judge(evidence(comparison=table(optimum=(5.0, 6.0, 4.0, 0.0))))["optimum-falls"]
    assert given.holds is False and given.ours == "comes down in 4 of 4 cases, rises in 4"


UNKNOWN = {
    "five-orders-of-magnitude": (
        {"comparison": table(slower(2, 1e-2), bound=True)}, "stopped after 60 s"
    ),
    "same-optimum": ({"comparison": table(optimal=False)}, "no search came to its end"),
    "greedy-excess-grows": ({"comparison": table(greedy=OPTIMUM)}, "the same at every deadline"),
    "most-frequent-occupancy": ({"theta": False}, "not a log of Theta"),
    "jobs-near-full": ({"theta": False}, "not a log of Theta"),
    "share-under-30-minutes": ({"theta": False}, "not a log of Theta"),
}  # fmt: skip


@pytest.mark.parametrize("claim", UNKNOWN)
def test_too_little_data_leaves_a_claim_unknown(claim):
    changes, why = UNKNOWN[claim]
    given = judge(evidence(**changes))[claim]
    assert given.holds is None
    assert why in given.why


def test_one_case_leaves_claims_about_larger_ones_unknown():
    one = {case: times for case, times in PAPER_SECONDS.items() if case == ("12 jobs", 512)}
    verdicts = judge(evidence(comparison=table(one)))
    for claim in ("dynamic-wins-large", "five-orders-of-magnitude"):
        assert verdicts[claim].holds is None
    assert verdicts["backtracking-wins-small"].holds is True


@pytest.mark.parametrize("bound", [False, True])
def test_speedups_are_those_at_the_last_deadline(bound):
    found = speedups(table(bound=bound))
    expected = [PAPER_SECONDS[case][2] / PAPER_SECONDS[case][0] for case in PAPER_SECONDS]
    assert found["backtracking / dynamic"].tolist() == pytest.approx(expected)
    assert found["bound"].tolist() == [bound] * 4
    assert list(found.index) == list(product(("12 jobs", "24 jobs"), (512, 1024)))


def test_a_log_without_scenarios_decides_nothing_that_was_to_be_solved():
    nothing = evidence(comparison=table().head(0), theta=False)
    assert {v.holds for v in judge(nothing).values()} == {None}
    assert judge(nothing)["greedy-fastest"].why.endswith("no case was solved")
    assert speedups(nothing.comparison).empty
