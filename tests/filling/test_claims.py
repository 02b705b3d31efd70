"""Verdicts on the claims about filling: they hold on the paper's numbers, and fail on others."""

from itertools import product

import pandas as pd
import pytest

from cosimlib import synthetic
from cosimlib.audit import audit
from cosimlib.claims import read_statements
from cosimlib.filling import Evidence, efficiency, judge, load_table, node_seconds, simulate_filling
from cosimlib.filling.claims import FULL

CLAIMS = read_statements().query("system == '4-filling'")["claim"].tolist()


def loads(*values: float, spread: float = 0.01, seeds: int = 10, depth: int = 100) -> pd.DataFrame:
    """Mean loads at accuracies evenly spaced from 0 to 1."""
    accuracy = [place / max(1, len(values) - 1) for place in range(len(values))]
    columns = {"queue_depth": depth, "accuracy": accuracy, "load": values, "spread": spread}
    return pd.DataFrame(columns | {"seeds": seeds})


def uses(load: float = 0.9, *, idle: float = 0.0, killed: float = 0.0, a_killed: float = 0.0):
    """A thousand node-seconds: under each policy containers have what regular jobs leave."""
    rest = 1000 * (1 - load - idle)
    rows = {
        "not filled": (1000 * load, 0.0, 0.0, 0.0, 1000 * (1 - load)),
        "filling A": (1000 * load, 0.9 * rest, 0.1 * rest, a_killed, 1000 * idle),
        "filling B, save": (1000 * load, rest, 0.0, 0.0, 1000 * idle),
        "filling B, kill": (1000 * load, rest - killed, 0.0, killed, 1000 * idle),
    }
    columns = ["regular", "computing", "overhead", "lost", "idle"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def efficiencies(load: float = 0.9, *, gain: float = 1.0) -> pd.DataFrame:
    """Policy A gains `gain` times the paper's (1 - load)(1 - t)c."""
    rows = []
    for t, c in product((0.0, 0.1, 0.5), (0.5, 1.0)):
        rows.append(("not filled", t, c, load))
        rows.append(("filling A", t, c, load + gain * (1 - load) * (1 - t) * c))
    return pd.DataFrame(rows, columns=["policy", "t", "c", "efficiency"])


PAPER = Evidence(loads(0.86, 0.9, 0.94), uses(0.7, killed=20.0), efficiencies(), 0.1, 0)


def test_every_claim_holds_on_the_papers_numbers():
    verdicts = judge(PAPER)
    assert list(verdicts) == CLAIMS
    assert all(verdict.holds is True and not verdict.why for verdict in verdicts.values())
    assert {claim: verdict.ours for claim, verdict in verdicts.items()} == {
        "load-about-0.9": "0.900",
        "load-as-low-as-0.7": "0.700",
        "inaccurate-estimates-idle": "0.860 at p = 0, 0.940 at 1",
        "fillers-fill-all": "100.00%",
        "gain-of-policy-a": "1.0000 of it",
        "policy-b-delays": "10.0% of the jobs wait a slot or longer",
        "policy-b-loses-progress": "6.7% of the containers' time",
        "policy-a-does-neither": "0 jobs, 0 node-seconds",
    }


def test_lowest_load_is_of_queues_only_where_these_had_half_of_the_log():
    low = PAPER._replace(loads=loads(0.5, 0.6), uses=uses(0.8))
    assert judge(low)["load-as-low-as-0.7"].ours == "0.500"
    assert judge(low._replace(queued=0.4))["load-as-low-as-0.7"].ours == "0.800"


@pytest.mark.parametrize(
    ("claim", "changed", "ours", "why"),
    [
        ("load-about-0.9", {"loads": loads(0.96, 0.98)}, "0.970", "0.97 with 100"),
        ("load-about-0.9", {"loads": loads(0.7, 0.9)}, "0.800", "how many jobs wait"),
        ("load-as-low-as-0.7", {"uses": uses(0.8)}, "0.800", "always has jobs waiting"),
        (
            "inaccurate-estimates-idle",
            {"loads": loads(0.9, 0.8, 0.94, spread=0.05)},
            "0.900 at p = 0, 0.940 at 1",
            "jobs that end early",
        ),
        ("inaccurate-estimates-idle", {"loads": loads(0.9, 0.9, spread=0.0)}, "0.900 at p", "jobs"),
        ("fillers-fill-all", {"uses": uses(idle=0.006)}, "99.40%", "the rest of it stays idle"),
        (
            "gain-of-policy-a",
            {"efficiencies": efficiencies(gain=0.99), "uses": uses(idle=0.001)},
            "0.9900 of it",
            "0.10% of the machine is what jobs leave of their last slot, too short for containers",
        ),
        ("policy-b-delays", {"held_up": 0.0}, "0.0% of the jobs", "no job waited"),
        ("policy-b-loses-progress", {"uses": uses()}, "0.0% of the containers'", "nothing lost"),
        ("policy-a-does-neither", {"moved": 3}, "3 jobs, 0 node-seconds", "in the way"),
        ("policy-a-does-neither", {"uses": uses(a_killed=5)}, "0 jobs, 5 node-seconds", "killed"),
    ],
)
def test_a_claim_fails_on_other_numbers_and_says_why(claim, changed, ours, why):
    verdict = judge(PAPER._replace(**changed))[claim]
    assert verdict.holds is False
    assert verdict.ours.startswith(ours) and why in verdict.why


@pytest.mark.parametrize(
    ("claim", "changed", "why"),
    [
        ("load-about-0.9", {"loads": loads(float("nan"))}, "no load was measured"),
        ("load-as-low-as-0.7", {"loads": loads(float("nan"))}, "no load was measured"),
        ("load-about-0.9", {"loads": loads().head(0)}, "no load was measured"),
        ("load-about-0.9", {"queued": 0.2}, "only 20 % of the log's node-hours waited"),
        ("inaccurate-estimates-idle", {"loads": loads().head(0)}, "no load was measured"),
        ("inaccurate-estimates-idle", {"queued": 0.2}, "only 20 % of the log's node-hours waited"),
        ("inaccurate-estimates-idle", {"loads": loads(0.9)}, "two accuracies"),
        ("inaccurate-estimates-idle", {"loads": loads(0.8, 0.9, seeds=1)}, "two seeds"),
        ("gain-of-policy-a", {"efficiencies": efficiencies(1.0)}, FULL),
        ("policy-b-delays", {"uses": uses(1.0), "held_up": 0.0}, FULL),
        ("policy-b-loses-progress", {"uses": uses(1.0)}, FULL),
        ("policy-a-does-neither", {"uses": uses(1.0)}, FULL),
        ("fillers-fill-all", {"uses": uses(1.0)}, FULL),
    ],
)
def test_a_claim_is_unknown_where_the_runs_cannot_tell(claim, changed, why):
    verdict = judge(PAPER._replace(**changed))[claim]
    assert verdict.holds is None and why in verdict.why


def test_the_last_queue_depth_counts_and_the_others_are_named():
    both = pd.concat([loads(0.8, 0.8, depth=30), loads(0.97, 0.99, depth=10)])
    verdicts = judge(PAPER._replace(loads=both))
    assert verdicts["load-about-0.9"].ours == "0.980"
    assert verdicts["load-about-0.9"].why.endswith("0.80 with 30, 0.98 with 10")
    assert verdicts["inaccurate-estimates-idle"].ours == "0.970 at p = 0, 0.990 at 1"


def test_verdicts_of_runs_are_those_of_their_schedules():
    """A day of Lomonosov's jobs under each policy."""
    workload = synthetic.lomonosov(1, accuracy=0.5, seed=1)
    ways = [(None, "save"), ("A", "save"), ("B", "save"), ("B", "kill")]
    runs = [
        audit(
            simulate_filling(
                workload, workload.machine, policy=policy, reclaim=reclaim, queue_depth=30
            )
        )
        for policy, reclaim in ways
    ]
    window = {"start": 0.0, "end": 86_400.0}
    table = pd.DataFrame({run.policy: node_seconds(run, **window) for run in runs}).T
    rows = [(run.policy, 0.1, 1.0, efficiency(run, **window)) for run in runs[:2]]
    grid = pd.DataFrame(rows, columns=["policy", "t", "c", "efficiency"])
    measured = {"queue_depth": 30, "accuracy": [0.0, 0.0, 1.0, 1.0], "seed": [0, 1, 0, 1]}
    load = load_table(pd.DataFrame(measured | {"load": [0.85, 0.87, 0.93, 0.95]}))
    moved = int((runs[1].start_time != runs[0].start_time).sum())
    verdicts = judge(Evidence(load, table, grid, float(runs[2].held_up.mean()), moved))
    assert verdicts["gain-of-policy-a"].ours == "1.0000 of it"
    assert verdicts["load-about-0.9"].holds and verdicts["inaccurate-estimates-idle"].holds
    for claim in CLAIMS[3:]:
        assert verdicts[claim].holds is True, claim
