"""Claims about time-sharing: they hold on the paper's numbers, fail on others, or are unknown."""

import math
import re
from functools import cache

import numpy as np
import pandas as pd
import pytest

from cosimlib.timesharing import RunSummary
from cosimlib.timesharing.schedule import LEVELS
from papers.claims import Claims, read_rules
from papers.hofmeyr2016 import (
    BATCH,
    EASY,
    NOT_SPMD,
    NOT_SPMD_BATCH,
    NOT_SPMD_UNLIMITED,
    SHARED,
    UNLIMITED,
    Runs,
    samples,
)
from papers.hofmeyr2016.experiment import NOT_SPMD_EASY
from papers.hofmeyr2016.measures import WITH_MORE_JOBS
from papers.hofmeyr2016.turnaround import gain_at_largest, kept_speedups
from papers.stored import STALE, read_stored

CLAIMS = read_rules().query("system == '3-timesharing'")["claim"].tolist()
HOURS = np.array([0.01, 1.0, 2.5, 5.0, 48.0])
SMALL, LARGE = (600.0, 3.0, 0.3, 0.2), (600.0, 3.0, 1.5, 0.2)
SLOW, LATE = (9.0,) * 4, (9.0, 9.0, 9.0, 0.8)


def sizes_from(large: float) -> np.ndarray:
    """Edges of the bins of size: up to 7 nodes, up to those of large jobs, up to 1,023, more."""
    return np.array([1.0, 8.0, large, 1024.0, 5577.0])


def by_size(few: int, small, many: int, large, most: int, largest) -> np.ndarray:
    """A table by size and length from numbers of jobs and a value of each; none from 8 nodes on."""
    rows = [np.array(small) * few, np.zeros(4), np.array(large) * many, np.array(largest) * most]
    return np.array(rows).astype(type(np.array(small).flat[0].item()))


def summary(
    policy="time-sharing",
    mean=7.9,
    *,
    quartile=7.0,
    small=(1.0,) * 4,
    large=(1.0,) * 4,
    skew=3.0,
    **changed,
) -> RunSummary:
    """Slowdowns of a thousand small and a thousand large jobs in each of four bins of length.

    There is also one job of each length that is larger still, and slowed down `skew` times as much.
    """
    fields = {
        "policy": policy,
        "data": "made (seed 0)",
        "jobs": 8000,
        "utilization": 0.89,
        "cpu_load": 9.0,
        "mean_slowdown": mean,
        "waited": 0.3,
        "node_seconds": 1.0,
        "quantiles": np.full(len(LEVELS), quartile),
        "nodes_edges": sizes_from(60.0),
        "length_edges": 3600 * HOURS,
        "slowdown_sums": by_size(1000, small, 1000, large, 1, skew * np.array(large)),
        "counts": by_size(1000, (1,) * 4, 1000, (1,) * 4, 1, (1,) * 4),
        "weeks": np.array([1.0, 2.0]),
        "weekly_utilization": np.array([0.9, 0.9]),
        "weekly_load": np.array([8.0, 15.0]),
        "correlations": np.full((2, 3), 0.05),
    }
    return RunSummary(**(fields | changed))


BATCHED = summary(BATCH, 137.0, quartile=13.0, small=SMALL, large=LARGE)
FREED = summary(
    UNLIMITED, 7.0, waited=0.0, utilization=0.88, cpu_load=8.0, weekly_load=np.array([7.0, 14.0]),
    small=(0.8, 1.5, 0.5, 1.0), large=(0.8, 1.5, 2.0, 1.0),
)  # fmt: skip
NOISY = summary(
    "batch, noise", 1009.0, quartile=22.0, small=SLOW, large=SLOW, skew=200.0, node_seconds=1.1
)
PAPER = {
    ("sharing", BATCH): BATCHED,
    ("sharing", SHARED): summary(),
    ("sharing", UNLIMITED): FREED,
    ("sharing", NOT_SPMD): summary(NOT_SPMD, 3.3),
    ("sharing", NOT_SPMD_UNLIMITED): summary(NOT_SPMD_UNLIMITED, 3.0, waited=0.0),
    ("sharing", NOT_SPMD_BATCH): summary(NOT_SPMD_BATCH, 137.0, small=LATE, large=LATE),
    ("batch", BATCH): BATCHED,
    ("noisy batch", BATCH, True): NOISY,
    ("noise", BATCH): BATCHED,
    ("noise", SHARED): summary(),
    ("noise", NOT_SPMD): summary(NOT_SPMD, 3.3),
    ("noise", NOT_SPMD_BATCH): BATCHED,
    ("noise", BATCH, True): NOISY,
    ("noise", SHARED, True): summary(mean=13.0),
    ("noise", NOT_SPMD, True): summary(mean=3.3),
    ("noise", NOT_SPMD_BATCH, True): BATCHED,
    ("overheads", UNLIMITED): summary(mean=8.0),
    ("overheads", UNLIMITED, False, 0.02): summary(mean=8.4, utilization=0.885),
    ("overheads", UNLIMITED, False, 0.05): summary(mean=9.0, utilization=0.88),
    ("overheads", UNLIMITED, False, 0.08): summary(mean=10.0),
    ("overheads", UNLIMITED, False, 0.13): summary(mean=40.0),
    ("greatest overhead", UNLIMITED): summary(weekly_load=np.array([8.0, 12.0])),
    ("greatest overhead", UNLIMITED, False, 0.13): summary(utilization=0.83),
}
"""The paper's own numbers, by kind, policy, noise and overhead."""


EXTRA = {BATCH: EASY, NOT_SPMD_BATCH: NOT_SPMD_EASY}


def under_both(runs: dict) -> dict:
    """The runs, with those under batch scheduling also as runs with extra nodes."""
    extra = {
        (key[0], EXTRA[key[1]], *key[2:]): run._replace(policy=EXTRA[key[1]])
        for key, run in runs.items()
        if key[1] in EXTRA
    }
    return extra | runs


def applications(*sizes) -> pd.DataFrame:
    """Three applications with the same nodes and run times (h)."""
    rows = [(name, nodes, 3600 * hours) for name in "abc" for nodes, hours in sizes]
    return pd.DataFrame(rows, columns=["application", "nodes", "run_time"])


SCALING = applications((1, 10.0), (100, 0.5))


def made(*others: dict, scaling=SCALING, **changed) -> Runs:
    """Runs of the first seed and, with what differs, of others."""
    rows = []
    for seed, different in enumerate([changed.pop("first", {}), *others]):
        for key, run in under_both(PAPER | different).items():
            rows.append((*key, *(False, 0.0)[len(key) - 2 :], seed, run))
    table = pd.DataFrame(rows, columns=["kind", "policy", "noise", "overhead", "seed", "summary"])
    return Runs(table, scaling, 0.001)


def judged(runs: Runs):
    claims = Claims("3-timesharing", data="made")
    claims.judge(samples(runs))
    return claims.verdicts


@cache
def judged_on_the_papers_numbers():
    """Verdicts on the numbers that the paper prints."""
    return judged(made())


def test_every_claim_holds_on_the_papers_own_numbers():
    verdicts = judged_on_the_papers_numbers()
    assert sorted(verdicts) == sorted(CLAIMS)
    built_in = ("same-utilization", "means-near-medians")
    expected = dict.fromkeys(verdicts, "holds") | dict.fromkeys(built_in, "by construction")
    assert {claim: v.verdict for claim, v in verdicts.items()} == expected


OTHERS = {
    "same-utilization": {("sharing", SHARED): summary(utilization=0.83)},
    "slowdown-batch": {("batch", BATCH): BATCHED._replace(mean_slowdown=90.0)},
    "slowdown-timesharing": {("sharing", SHARED): summary(mean=12.0)},
    "slowdown-not-spmd": {("sharing", NOT_SPMD): summary(mean=2.1)},
    "slowdown-order": {("sharing", NOT_SPMD): summary(mean=8.0)},
    "noise-batch": {("noisy batch", BATCH, True): NOISY._replace(mean_slowdown=270.0)},
    "noise-batch-quartile": {("noisy batch", BATCH, True): summary(BATCH, 1009.0, quartile=13.0)},
    "noise-timesharing": {("noise", SHARED, True): summary(mean=34.0)},
    "short-jobs-better": {
        ("sharing", BATCH): summary(
            BATCH, 137.0, small=(490.0, *SMALL[1:]), large=(490.0, *LARGE[1:])
        )
    },
    "long-jobs-worse": {
        ("sharing", BATCH): summary(BATCH, 137.0, small=(*SMALL[:3], 0.3), large=(*LARGE[:3], 0.3))
    },
    "crossover": {
        ("sharing", BATCH): summary(BATCH, 137.0, small=(600.0, 3.0, 1.2, 0.2), large=LARGE)
    },
    "crossover-large": {
        ("sharing", BATCH): summary(
            BATCH, 137.0, small=(*SMALL[:3], 0.1), large=(600.0, 0.5, 0.5, 0.1)
        )
    },
    "overhead-5": {
        ("overheads", UNLIMITED, False, part): summary(mean=12.5) for part in (0.02, 0.05)
    },
    "overhead-knee": {("overheads", UNLIMITED, False, 0.13): summary(mean=12.0)},
    "overhead-13": {("greatest overhead", UNLIMITED, False, 0.13): summary(utilization=0.86)},
    "cpu-load-mean": {("sharing", SHARED): summary(cpu_load=12.5)},
    "cpu-load-week": {("sharing", SHARED): summary(weekly_load=np.array([9.0, 21.0]))},
    "turnaround-scales": {("sharing", SHARED): summary(large=(3.0, 1.0, 1.0, 1.0))},
    "turnaround-batch": {},
    "turnaround-largest": {},
    "noise-wins": {
        ("noise", BATCH, True): NOISY._replace(
            slowdown_sums=by_size(1000, (0.5,) * 4, 1000, SLOW, 1, SLOW)
        )
    },
    "not-spmd-no-noise": {("noise", NOT_SPMD, True): summary(mean=3.7)},
    "slowdown-noise-batch": {("noisy batch", BATCH, True): NOISY._replace(mean_slowdown=1600.0)},
    "quartile-batch": {("batch", BATCH): BATCHED._replace(quantiles=np.full(len(LEVELS), 20.0))},
    "slowdown-noise-timesharing": {("noise", SHARED, True): summary(mean=20.0)},
    "means-near-medians": {("sharing", SHARED): summary(quartile=6.0)},
    "crossover-large-hours": {
        ("sharing", BATCH): summary(BATCH, 137.0, small=SMALL, large=(*LARGE[:3], 0.9))
    },
    "crossover-not-spmd": {("sharing", NOT_SPMD_BATCH): summary(small=SMALL, large=SMALL)},
    "slowdown-uncorrelated": {("sharing", SHARED): summary(correlations=np.full((2, 3), 0.2))},
    "skew-batch": {
        ("batch", BATCH): BATCHED._replace(
            slowdown_sums=by_size(1000, SMALL, 1000, LARGE, 1, LARGE)
        )
    },
    "skew-batch-length": {("batch", BATCH): summary(BATCH, 137.0, quartile=13.0)},
    "skew-noise-batch": {
        ("noisy batch", BATCH, True): NOISY._replace(
            slowdown_sums=by_size(1000, SLOW, 1000, SLOW, 1, SLOW)
        )
    },
    "skew-noise-timesharing": {("noise", SHARED, True): summary(mean=13.0, skew=20.0)},
    "not-spmd-halves": {("sharing", NOT_SPMD): summary(NOT_SPMD, 2.4)},
    "load-climbs": {
        ("greatest overhead", UNLIMITED, False, 0.13): summary(
            utilization=0.83, weekly_load=np.array([8.0, 11.0])
        )
    },
}
OTHER_SCALING = {
    "turnaround-batch": applications((1, 0.9), (2, 0.45)),
    "turnaround-largest": applications((1, 40.0), (100, 3.0)),
}


def other(claim: str, **changed) -> Runs:
    """Runs on which a claim fails."""
    scaling = OTHER_SCALING.get(claim, SCALING)
    return made(first=OTHERS[claim] | changed.get("first", {}), scaling=scaling)


def test_a_number_that_depends_on_what_is_not_printed_fails_nothing():
    found = judged(
        made(first={("noisy batch", BATCH, True): summary(BATCH, 1009.0, quartile=40.0)})
    )
    verdict = found["quartile-noise-batch"]
    assert (verdict.verdict, verdict.readings) == (
        "unknown",
        "as worded: fails; with extra nodes: fails",
    )
    assert "how sizes go with lengths is not printed" in verdict.why
    found = judged(made(scaling=applications((1, 40.0), (100, 3.0))))
    assert found["turnaround-example"].verdict == "unknown"
    assert found["turnaround-example"].readings == "as worded: fails; with extra nodes: fails"


@pytest.mark.parametrize(
    ("claim", "kind"), [("overhead-knee", "overheads"), ("load-climbs", "greatest overhead")]
)
def test_fewer_days_than_the_papers_do_not_decide_how_nodes_fill(claim, kind):
    runs = other(claim)
    overheads = runs.table["kind"] == kind
    for days, verdict in ((90, "unknown"), (600, "fails")):
        named = [
            summary._replace(data=f"jobs ({days} days, seed 0)") if chosen else summary
            for summary, chosen in zip(runs.table["summary"], overheads, strict=True)
        ]
        found = judged(runs._replace(table=runs.table.assign(summary=named)))[claim]
        assert found.verdict == verdict and (verdict == "fails" or "7 hours" in found.why)


@pytest.mark.parametrize("claim", OTHERS)
def test_every_claim_fails_on_other_numbers_and_says_why(claim):
    verdicts = judged(other(claim))
    assert verdicts[claim].verdict == "fails" and verdicts[claim].why
    assert verdicts[claim].ours != judged_on_the_papers_numbers()[claim].ours
    true = ("holds", "by construction")
    others = {c for c, verdict in verdicts.items() if verdict.verdict not in true} - {claim}
    assert len(others) <= 4, others


OURS = {
    "load-climbs": "first seed 8.0 → 15.0, without overhead 8.0 → 12.0",
    "same-utilization": "first seed: batch 89 %, sharing 89 % (memory unlimited 88 %)",
    "slowdown-timesharing": "first seed 7.9 (memory unlimited 7)",
    "slowdown-order": "first seed 137 and 137, 7.9, 3.3; memory unlimited 7, 3",
    "noise-timesharing": "first seed 7.9 → 13",
    "noise-wins": "first seed 100 % of the bins, 100 % of the jobs (as worded); 100 % of the bins, "
    "100 % of the jobs (with extra nodes)",
    "short-jobs-better": "memory unlimited, first seed: 750 and 750",
    "long-jobs-worse": "memory unlimited, first seed: 5 and 5",
    "crossover": "memory unlimited, first seed: 2.73 and 2.73",
    "crossover-large": "first seed 3.3 → 4.76 and 3.3 → 4.76 h; memory unlimited 2.73 → 2.79 and "
    "2.73 → 2.79 h",
    "cpu-load-mean": "first seed 9 (memory unlimited 8)",
    "cpu-load-week": "first seed 15 (memory unlimited 14)",
    "turnaround-scales": "first seed in 100 % (memory unlimited 100 %) of 3 applications",
    "turnaround-largest": "as worded, memory unlimited, first seed 750",
    "overhead-5": "first seed slowdown 8.0 → 9.0, utilization −1.0 % and 8.4, utilization −0.5 %",
    "overhead-knee": "first seed 0 %: 8.0, 5 %: 9.0, 8 %: 10.0, 13 %: 40.0",
}


@pytest.mark.parametrize("claim", OURS)
def test_the_first_seeds_numbers_follow_that_which_decides(claim):
    ours = judged_on_the_papers_numbers()[claim].ours
    assert ours.endswith(f"; {OURS[claim]}")


def test_an_overhead_matters_by_utilization_too():
    high = {("overheads", UNLIMITED, False, 0.05): summary(mean=9.0, utilization=0.86)}
    verdict = judged(made(first=high))["overhead-5"]
    assert verdict.verdict == "unknown"
    assert verdict.readings == "at 5 %: fails; under it, at 2 %: holds"
    both = judged(made({}, first=high))["overhead-5"]
    assert both.verdict == "unknown" and "factor inf (1.12 to inf; 2 seeds)" in both.ours


def test_nothing_is_decided_on_few_jobs():
    verdicts = judged(made(first={("sharing", BATCH): BATCHED._replace(jobs=999)}))
    assert {v.verdict for v in verdicts.values()} == {"unknown"}
    assert all(v.why and v.ours for v in verdicts.values())


LIGHT = {("sharing", UNLIMITED): FREED._replace(cpu_load=5.9)}


def test_few_jobs_on_a_node_decide_only_what_more_could_not_change():
    """Two claims that hold have no limit on the side to which more jobs would move them."""
    verdicts = judged(made(first=LIGHT))
    undecided = {claim for claim, verdict in verdicts.items() if verdict.verdict == "unknown"}
    assert undecided == set(WITH_MORE_JOBS) - {"slowdown-order", "overhead-knee"}
    for claim, goes in (
        ("crossover", "greater or less"),
        ("overhead-5", "greater"),
        ("turnaround-scales", "less"),
    ):
        assert verdicts[claim].why == (
            f"Edison's 5,576 nodes have 9 jobs each, which makes it {goes}; the 5,576 nodes here "
            "have 5.9"
        )
    enough = judged(made({("sharing", UNLIMITED): FREED._replace(cpu_load=6.1)}, first=LIGHT))
    assert enough["slowdown-timesharing"].verdict == "holds"


@pytest.mark.parametrize("claim", sorted(WITH_MORE_JOBS)[::3])
def test_few_jobs_on_a_node_fail_only_what_more_would_fail_the_more(claim):
    beyond = {
        "slowdown-timesharing",
        "cpu-load-mean",
        "cpu-load-week",
        "noise-timesharing",
        "slowdown-noise-timesharing",
        "overhead-5",
        "turnaround-scales",
    }
    found = judged(other(claim, first=LIGHT))[claim].verdict
    assert found == ("fails" if claim in beyond else "unknown")


def test_each_kind_of_run_may_have_seeds_of_its_own():
    runs = made()
    more = [
        ("batch", BATCH, False, 0.0, seed, BATCHED._replace(mean_slowdown=mean))
        for seed, mean in ((1, 130.0), (2, 144.0))
    ]
    table = pd.concat([runs.table, pd.DataFrame(more, columns=runs.table.columns)])
    verdicts, alone = judged(runs._replace(table=table)), judged(runs)
    ours = "as worded: 137 (121 to 155; 3 seeds); with extra nodes: 137"
    assert verdicts["slowdown-batch"].ours == ours
    assert verdicts["slowdown-batch"].data == "made (seeds 0 to 2)"
    assert {claim for claim in CLAIMS if verdicts[claim] != alone[claim]} == {
        "slowdown-batch",
        "quartile-batch",
        "skew-batch",
        "skew-batch-length",
    }


# --- crossovers ---------------------------------------------------------------------------------


def crossing(small, large, **changed):
    """The verdict on large jobs' crossover, from slowdowns under batch by length."""
    batch = summary(BATCH, 137.0, small=small, large=large, **changed)
    return judged(made(first={("sharing", BATCH): batch}))["crossover-large"]


def test_large_jobs_cross_later_than_all_on_the_same_runs():
    """The factor decides, wherever both are."""
    longer = {
        key: run._replace(length_edges=10 * run.length_edges)
        for key, run in PAPER.items()
        if key[0] == "sharing"
    }
    moved = judged(made(first=longer))
    assert moved["crossover"].verdict == "fails" and moved["crossover-large"].verdict == "holds"
    same = crossing(LARGE, LARGE)
    assert same.verdict == "fails" and "wait for memory" in same.why


def test_crossovers_at_the_ends_are_said_in_words():
    """Batch scheduling better for all, or for none, or no large jobs: nothing to compare."""
    whatever = "one of them is better whatever the run time, for large jobs and for all"
    for slow, word in (((1e-3,) * 4, "0"), ((9e6,) * 4, "never")):
        found = crossing(slow, slow)
        assert found.verdict == "unknown" and found.why == whatever
        assert f"first seed {word} → {word} and {word} → {word} h" in found.ours
    ones = (1,) * 4
    alone = {"counts": by_size(1000, ones, 0, ones, 0, ones)}
    none = {"large": (0.0,) * 4, **alone}
    few = {("sharing", policy): summary(policy, **none) for policy in (SHARED, UNLIMITED)}
    few[("sharing", BATCH)] = summary(BATCH, 137.0, small=SMALL, **none)
    found = judged(made(first=few))["crossover-large"]
    assert (found.verdict, found.why) == ("unknown", "no jobs of 1 % of the machine or more")
    assert "→ none" in found.ours


@pytest.mark.parametrize(("least", "hours"), [(55.0, "3.3 → none and"), (56.0, "3.3 → 4.76 and")])
def test_large_jobs_have_a_hundredth_of_the_machine(least, hours):
    """Bins of 56 nodes and more of 5,576 are large, those of 55 are not."""
    edges = {"nodes_edges": sizes_from(least)}
    changed = {
        key: run._replace(**edges, slowdown_sums=run.slowdown_sums * [[1], [1], [1], [0]])
        for key, run in PAPER.items()
        if key[0] == "sharing"
    }
    assert f"first seed {hours}" in judged(made(first=changed))["crossover-large"].ours


# --- noise, memory, applications ----------------------------------------------------------------


def test_noise_that_does_hardly_anything_to_batch_decides_nothing_against_it():
    idle = {("noise", BATCH, True): NOISY._replace(mean_slowdown=1.04 * 137)}
    verdicts = judged(made(first=idle))
    for claim in ("noise-timesharing", "not-spmd-no-noise"):
        assert verdicts[claim].verdict == "unknown"
        assert verdicts[claim].why.startswith("noise does next to nothing to batch here: first")
    assert verdicts["noise-wins"].verdict == "holds"


def test_bins_without_ten_jobs_decide_nothing():
    nobody = {("noise", BATCH, True): NOISY._replace(counts=np.ones((4, 4), int))}
    verdict = judged(made(first=nobody))["noise-wins"]
    assert (verdict.verdict, verdict.why) == ("unknown", "no bin has ten jobs")


def test_jobs_that_wait_for_memory_are_said_to():
    verdicts = judged(other("slowdown-timesharing"))
    assert verdicts["slowdown-timesharing"].why.startswith(
        "30.0 % of the jobs wait for memory, and"
    )
    idle = {("sharing", SHARED): summary(mean=12.0, waited=0.0)}
    why = judged(made(first=idle))["slowdown-timesharing"].why
    assert why == "how sizes go with lengths and estimates is not printed"


@pytest.mark.parametrize(
    ("busy", "verdict"), [(0.85, "by construction"), (0.83, "fails"), (0.95, "fails")]
)
def test_utilizations_are_near_one_another_and_the_printed_one(busy, verdict):
    both = {
        ("sharing", BATCH): BATCHED._replace(utilization=busy),
        ("sharing", SHARED): summary(utilization=busy),
    }
    assert judged(made(first=both))["same-utilization"].verdict == verdict


def test_applications_unlike_the_jobs_decide_nothing():
    few = "fewer than 3 applications have turnarounds at two sizes: "
    verdicts = judged(made(scaling=applications((8_000, 10.0), (9_000, 0.5))))
    for claim in ("turnaround-batch", "turnaround-scales", "turnaround-largest"):
        assert (verdicts[claim].verdict, verdicts[claim].why) == ("unknown", f"{few}0")
        assert "nan" not in verdicts[claim].ours.split("; ", 1)[-1]
    two = judged(made(scaling=SCALING.query("application != 'c'")))
    assert two["turnaround-largest"].why == f"{few}2"


def test_speedups_are_between_the_sizes_that_all_policies_know():
    rows = [
        ("a", 1, 100.0, 200.0, 300.0), ("a", 4, 25.0, 200.0, 75.0), ("a", 8, 10.0, math.nan, 10.0),
        ("b", 2, 50.0, 50.0, 50.0),
    ]  # fmt: skip
    table = pd.concat(
        pd.DataFrame(
            [(p, r[0], r[1], r[2], r[place]) for r in rows],
            columns=["policy", "application", "nodes", "run_time", "turnaround_time"],
        )
        for p, place in (("batch", 3), ("time-sharing", 4))
    )
    kept = kept_speedups(table)
    assert kept.index.tolist() == ["a"]
    assert kept.loc["a"].to_dict() == pytest.approx({"batch": 0.25, "time-sharing": 1.0})
    assert gain_at_largest(table, "batch", "time-sharing") == pytest.approx((200 / 75 + 1) / 2)
    none = table.assign(turnaround_time=math.nan)
    assert kept_speedups(none).empty
    assert math.isnan(gain_at_largest(none, "batch", "time-sharing"))


# --- stored numbers -----------------------------------------------------------------------------


OF_MANY_DAYS = ("overhead-knee", "noise-wins")
"""Claims whose number grows with the days: a saturated machine's backlog, batch's tail."""


def verdict_of(text: str, limits) -> str:
    """What the intervals of a text decide: holds, fails, or unknown."""
    ends = re.findall(r"\(([−+\d.e]+|inf) to ([−+\d.e]+|inf)(?:; \d+ seeds)?\)", text)
    intervals = [tuple(float(end.replace("−", "-")) for end in pair) for pair in ends]
    inside = [limits.hold(end) for pair in intervals for end in pair]
    outside = [high < limits.least or low > limits.most for low, high in intervals]
    return "holds" if all(inside) else "fails" if any(outside) else "unknown"


def test_every_stored_number_is_of_a_stated_claim_and_has_the_verdict_of_its_interval():
    stored, rules = read_stored("3-timesharing"), Claims("3-timesharing", data="made").rules
    assert set(stored) <= set(CLAIMS)
    for claim, found in stored.items():
        if found.verdict == STALE:
            continue
        if "600 days" not in found.data and claim in OF_MANY_DAYS:
            assert found.verdict == "unknown"
            continue
        assert "5,576 nodes" in found.data and "do not count, seed" in found.data and not found.why
        limits = rules[claim].limits
        if found.readings:
            each = dict(part.rsplit(": ", 1) for part in found.readings.split("; "))
            names = "|".join(map(re.escape, each))
            parts = re.split(f"; (?=(?:{names}): )", found.ours)
            assert [verdict_of(part, limits) for part in parts] == list(each.values()), claim
            agree = len(set(each.values())) == 1 and found.verdict in (*each.values(), "unknown")
            assert agree or found.verdict == "unknown", claim
            continue
        if claim == "turnaround-scales":  # all seeds have the same number
            assert found.verdict == "holds" and "applications 1;" in found.ours
            continue
        built_in = rules[claim].statistic == "by construction"
        true = "by construction" if built_in else "holds"
        expected = verdict_of(found.ours, limits)
        assert found.verdict == (true if expected == "holds" else expected), claim
