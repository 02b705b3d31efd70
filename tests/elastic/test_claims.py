"""Claims about preemption: they hold on the paper's numbers, fail on others, or are unknown."""

import pandas as pd
import pytest

from cosimlib.claims import read_statements
from cosimlib.elastic import Evidence, Reading, compare_readings, judge
from cosimlib.elastic.claims import LIMITS, LONG, NO_JOBS, PRINTED, SHORT
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import DAY
from cosimlib.workload import Workload

CLAIMS = read_statements().query("system == '5-elastic'")["claim"].tolist()


def medians(**changed):
    """Node-hours by policy, one per grace period of 1, 2, 20 and 30 min and of 1 to 6 h."""
    table = {
        "RANDOM": [80.0] * 4 + [70.0, 65.0, 60.0, 55.0, 50.0, 45.0],
        "FIFO": [90.0] * 4 + [85.0, 80.0, 75.0, 70.0, 65.0, 60.0],
        "LIFO": [20.0] * 10,
        "PAP": [22.0] * 10,
    }
    return pd.DataFrame(table | changed, index=pd.Index(SHORT + LONG, name="grace_period"))


HTC = medians(LIFO=[0.5, 0.6, 0.9, 1.0] + [1.0] * 6, RANDOM=[2.5] * 10, FIFO=[3.0] * 10)


def waste(label, **changed):
    """Node-seconds under PAP of 1000 and, of other jobs, what makes the paper's total."""
    printed = {part: PRINTED[f"{label}-{part}"] for part in ("high", "default", "total")} | changed
    # With a part w of high priority, high · w + default · (1 - w) is the total.
    high = 1000.0
    default = high * (printed["high"] - printed["total"]) / (printed["total"] - printed["default"])
    before = {"high": high, "default": default, "total": high + default}
    after = {part: value * (1 + printed[part]) for part, value in before.items()}
    return pd.DataFrame({"PAP": before, "PAP+": after}).T


WASTE = {label: waste(label) for label in ("bigmem", "gaussian")}


def sweep(fresh=(0.1, 0.1, 0.1), old=(0.25, 0.28, 0.3)):
    """Wasted shares with fresh and day-old vectors of LIFO, PAP and PAP+; RANDOM wastes 0.3."""
    rows = [
        (policy, staleness, seed, value)
        for staleness, values in ((0.0, fresh), (DAY, old))
        for policy, value in zip(("LIFO", "PAP", "PAP+", "RANDOM"), (*values, 0.3), strict=True)
        for seed in (0, 1)
    ]
    return pd.DataFrame(rows, columns=["policy", "staleness", "seed", "wasted"])


def busy(days):
    """On three nodes, a job of one node for so many days, beside it one of two for a tenth."""
    jobs = pd.DataFrame({"submit_time": 0.0, "run_time": [days * DAY, 0.1 * days * DAY],
                         "nodes": [1, 2]})  # fmt: skip
    return Schedule.from_starts(Workload(jobs, "PEREGRINE"), System.of(3), [0.0, 0.0], "EASY")


OTHER_TWINS = pd.DataFrame(
    [(0.3, 0.28), (0.78, 0.01), (0.24, 0.31), (0.41, 0.12)],
    pd.MultiIndex.from_tuples(
        [("order", "own"), ("order", "wide first"), ("sizes", "2"), ("sizes", "3")],
        names=["varied", "value"],
    ),
    ["same nodes", "PAP from LIFO, at most"],
)
READING = Reading(medians(), 0.8, HTC, WASTE)
LARGER = Reading(medians(LIFO=[19.0] * 10).loc[SHORT], 0.9)
PAPER = Evidence(
    READING, LARGER, True, {"bigmem": "queue", "gaussian": "application"}, OTHER_TWINS,
    {"htc": 14_800, "peregrine": 168_000}, busy(55.9), sweep(),
)  # fmt: skip


def reading(**changed):
    return PAPER._replace(reading=READING._replace(**changed))


def peregrine(**changed):
    return reading(peregrine=medians(**changed))


def changed_by(claim, value):
    """Another change by PAP+ of one part of the jobs of a class."""
    label, part = claim.split("-")
    table = WASTE[label].copy()
    table.loc["PAP+", part] = table.loc["PAP", part] * (1 + value)
    return reading(waste=WASTE | {label: table})


def test_every_claim_holds_on_the_papers_own_numbers():
    verdicts = judge(PAPER)
    assert list(verdicts) == CLAIMS
    assert {claim: v.holds for claim, v in verdicts.items()} == dict.fromkeys(CLAIMS, True)
    assert all(verdict.ours and not verdict.why for verdict in verdicts.values())


UNPRINTED = "the order of jobs is not printed and decides: wide jobs earlier (above) give "
FAILING = {
    "htc-lifo-wastes-less": (
        reading(htc=HTC.assign(LIFO=[0.5, 0.6, 0.9, 1.3] + [1.0] * 6)),
        "20% / 24% / 36% / 52% of the next policy's median at 60 / 120 / 1200 / 1800 s; our "
        "limit: 50%",
        "one is above half, which is our limit; the paper prints none",
    ),
    "htc-short-grace-better": (
        reading(htc=HTC.assign(LIFO=[0.5, 0.9, 0.9, 1.0] + [1.0] * 6)),
        "0.50 / 0.90 / 0.90 / 1.00 node-hours",
        "they are not",
    ),
    "peregrine-lifo-pap-waste-less": (
        peregrine(PAP=[41.0] * 10),
        "at most 51%",
        "above half, which is our limit; the paper prints none",
    ),
    "peregrine-lifo-pap-alike": (
        peregrine(PAP=[25.0] * 10),
        "medians differ by up to 25%",
        UNPRINTED + "1% to 28%, other sizes that match Table 1 12% to 31%",
    ),
    "peregrine-same-nodes": (
        reading(same_nodes=0.75),
        "75%",
        UNPRINTED + "30% to 78%, other sizes that match Table 1 24% to 41%",
    ),
    "peregrine-short-grace-no-matter": (
        peregrine(FIFO=[90.0, 90.0, 100.0, 100.0, *medians()["FIFO"][4:]]),
        "at most 11.1%",
        "FIFO changes most",
    ),
    "larger-partition-similar": (
        PAPER._replace(larger=LARGER._replace(same_nodes=0.7)),
        "N: at most 28% of the next median, LIFO and PAP 10% apart, other nodes in 20%; "
        "10 N: at most 28% of the next median, LIFO and PAP 16% apart, other nodes in 30%",
        "another conclusion about peregrine-same-nodes",
    ),
    "fifo-random-medians-fall": (
        peregrine(RANDOM=[80.0] * 4 + [70.0, 60.0, 60.0, 50.0, 45.0, 42.0]),
        "RANDOM by 40%, FIFO by 29%",
        "one does not fall at every step",
    ),
    "lifo-pap-medians-stay": (
        peregrine(LIFO=[20.0] * 9 + [22.5]),
        "LIFO within 12%, PAP within 0%",
        "LIFO's median moves more",
    ),
    "htc-samples": (
        PAPER._replace(states={"htc": 15_000, "peregrine": 168_000}),
        "15,000",
        "see the deviations",
    ),
    "peregrine-samples": (
        PAPER._replace(states={"htc": 14_000, "peregrine": 166_000}),
        "166,000",
        "see the deviations",
    ),
    "peregrine-days": (
        PAPER._replace(schedule=busy(58.0)),
        "58.0, of which 23.2 are built in by Table 1's node-hours",
        "see the deviations",
    ),
    "stale-vectors-degrade": (
        PAPER._replace(ages=sweep(old=(0.19, 0.28, 0.3))),
        "LIFO keeps 55% to 55%, PAP keeps 10% to 10%, PAP+ keeps 0% to 0% of its advantage "
        "(2 seeds)",
        "one of them keeps more than half with some seed",
    ),
}


@pytest.mark.parametrize("claim", FAILING)
def test_every_claim_fails_on_other_numbers_and_says_why(claim):
    evidence, ours, why = FAILING[claim]
    assert judge(evidence)[claim][:3] == (ours, False, why)


@pytest.mark.parametrize("claim", PRINTED)
def test_a_printed_percentage_is_met_within_five_points_and_a_quarter_of_itself(claim):
    """Beyond that it is not, on either side."""
    for sign in (-1, 1):
        for share, holds in ((0.9, True), (1.1, False)):
            value = PRINTED[claim] + sign * share * LIMITS[claim]
            verdict = judge(changed_by(claim, value))[claim]
            assert verdict.ours == f"{value:+.1%}" and verdict.holds is holds
            assert holds or verdict.why.startswith("which jobs are of the class is not printed: ")
    assert LIMITS[claim] < abs(PRINTED[claim]), "the sign is met, too"


def test_fails_tell_how_much_of_the_waste_the_class_makes():
    verdict = judge(changed_by("bigmem-total", 0.0))["bigmem-total"]
    assert verdict.why.endswith(
        "under PAP they make 7.0% of all waste here, about 7 % in the paper"
    )
    verdict = judge(changed_by("gaussian-total", 0.0))["gaussian-total"]
    assert verdict.why.endswith(
        "under PAP they make 3.2% of all waste here, about 3 % in the paper"
    )


def unknown(evidence):
    """Why claims are unknown, by claim; our numbers are left out of them."""
    verdicts = judge(evidence)
    assert all(not verdict.ours for verdict in verdicts.values() if verdict.holds is None)
    return {claim: verdict.why for claim, verdict in verdicts.items() if verdict.holds is None}


def test_a_log_decides_nothing_about_the_papers_own_workloads():
    waste = {"7": WASTE["bigmem"], "1": WASTE["gaussian"]}
    log = reading(waste=waste, same_nodes=0.5)._replace(
        twins=False, classes=dict.fromkeys(waste, "user"), other_twins=pd.DataFrame()
    )
    reasons = unknown(log)
    assert list(reasons) == [*PRINTED, "htc-samples", "peregrine-samples", "peregrine-days"]
    assert reasons["gaussian-high"] == (
        "user 1 stands in for gaussian, which this log does not have: -97.2%"
    )
    assert reasons["htc-samples"] == "the data are another workload"
    assert judge(log)["peregrine-same-nodes"].why == (
        "jobs of several nodes have 17% of the node-hours here, and rank differently"
    )


def test_a_log_without_one_node_jobs_decides_nothing_about_htc():
    reason = "this log has no one-node jobs"
    assert unknown(reading(htc=None)) == {
        "htc-lifo-wastes-less": reason, "htc-short-grace-better": reason
    }  # fmt: skip


def test_medians_of_0_decide_nothing():
    still = unknown(reading(peregrine=medians() * 0, htc=HTC * 0))
    ratio = "a median of 0 leaves no ratio"
    of_medians = [claim for claim in CLAIMS if CLAIMS.index(claim) < CLAIMS.index("bigmem-high")]
    assert still == dict.fromkeys((c for c in of_medians if c != "peregrine-same-nodes"), ratio) | {
        "fifo-random-medians-fall": "one begins with 0, from which nothing can fall"
    }
    assert unknown(PAPER._replace(larger=LARGER._replace(peregrine=LARGER.peregrine * 0))) == {
        "larger-partition-similar": ratio
    }


def test_a_class_that_wastes_nothing_decides_nothing():
    nothing = WASTE["bigmem"].assign(high=0.0)
    assert unknown(reading(waste=WASTE | {"bigmem": nothing})) == {
        "bigmem-high": "jobs of this class waste nothing under PAP here"
    }


def test_without_an_advantage_there_is_none_to_lose():
    assert unknown(PAPER._replace(ages=sweep(fresh=(0.3, 0.1, 0.1)))) == {
        "stale-vectors-degrade": "one of them has no advantage over RANDOM here, even with fresh "
        "vectors"
    }


def test_readings_of_the_sampling_rule_stand_side_by_side():
    table = compare_readings(READING, READING._replace(same_nodes=0.7, htc=None))
    assert list(table) == [
        "after the last state", "literally", "limit", "holds", "holds literally"
    ]  # fmt: skip
    assert table.index.tolist() == list(LIMITS) and table["limit"].tolist() == [*LIMITS.values()]
    assert (table["holds"] == "yes").all()
    changed = table["holds literally"]
    assert changed[changed != "yes"].to_dict() == {
        "htc-lifo-wastes-less": "unknown", "htc-short-grace-better": "unknown",
        "peregrine-same-nodes": "no",
    }  # fmt: skip
    assert table.loc["peregrine-same-nodes", "literally"] == pytest.approx(0.3)


def test_a_log_of_no_jobs_leaves_all_unknown():
    nothing = busy(1.0).workload
    empty = Schedule.from_starts(
        nothing.keep(nothing.jobs.index < 0, "all"), System.of(3), [], "EASY"
    )
    none = Reading(medians() * float("nan"), float("nan"))
    evidence = PAPER._replace(
        reading=none, larger=none, twins=False, classes={}, schedule=empty, ages=sweep().head(0)
    )
    verdicts = judge(evidence)
    assert {verdict.holds for verdict in verdicts.values()} == {None}
    assert not any("nan" in text for v in verdicts.values() for text in (v.ours, v.why))
    assert verdicts["peregrine-lifo-pap-alike"].why == NO_JOBS
