"""Bursts on a batch machine: ledgers, measures, paired intervals, bursts for a log, and figures."""

import re

import numpy as np
import pandas as pd
import pytest

from cosimlib import figures, synthetic
from cosimlib.claims import read_statements
from cosimlib.ondemand import (
    FAN,
    LEDGER,
    OVERHEAD,
    Evidence,
    best_table,
    bursts_from_queue,
    compare_ondemand,
    draw_bursts,
    interval_table,
    judge,
    ledger,
    measure,
    paired_table,
    simulate_ondemand,
    slowdown_table,
)
from cosimlib.workload import Workload
from tests.ondemand.instances import draw, schedule_of
from tests.ondemand.test_simulation import BATCH, MACHINE, run

POLICIES = {name: {"policy": name} for name in ("wait", "kill", "dynamic", "dynamic_blocked")}
POLICIES |= {f"reserve {n}": {"policy": "reserve", "reserved": n} for n in (1, 4)}
STREAM = {"rate": 200.0, "nodes": 4, "run_time": 60.0, "longest_delay": 240.0}


@pytest.fixture(scope="module")
def jobs() -> Workload:
    draws = np.random.default_rng(1)
    run_time = draws.integers(50, 900, 60).astype(float)
    table = pd.DataFrame({
        "submit_time": np.sort(draws.integers(1_000, 12_000, 60)), "run_time": run_time,
        "requested_time": run_time + 60, "nodes": draws.integers(1, 6, 60),
        "queue": np.where(draws.random(60) < 0.2, "debug", "batch"),
    })  # fmt: skip
    return Workload(table, "sixty")


@pytest.fixture(scope="module")
def runs(jobs) -> pd.DataFrame:
    return compare_ondemand(jobs, MACHINE, POLICIES, {"base": STREAM}, range(4))


@pytest.fixture(scope="module")
def ideas(jobs) -> pd.DataFrame:
    ways = {name: {"policy": name} for name in ("wait", "dynamic_blocked", "share")}
    ways |= {"reserve": {"policy": "reserve", "reserved": 4}} | FAN
    filled = {name: {"start_up": 30.0, **knobs} for name, knobs in ways.items()}
    told = {**STREAM, "notice": {"none": 1, "accurate": 1, "early": 1, "late": 1}}
    return compare_ondemand(jobs, MACHINE, filled, {"told": told}, range(3))


def test_the_ideas_side_by_side_are_measured_by_what_each_does(ideas):
    means = ideas.groupby("policy")[[*OVERHEAD, "filled", "stretch", "instant"]].mean()
    assert (means["filled"] > 0).all()
    assert (means.loc[["wait", "reserve", "share"], ["lost", "writing"]] == 0).all(axis=None)
    assert means.loc["share", "blocked"] > 0 and means.loc["share", "stretch"] > 1.2
    assert means.loc["N & SPAA", "lost"] < means.loc["N & PAA", "lost"]
    assert (means.loc[[n for n in FAN if n[:2] == "CU"], "blocked"] > 0).all()
    assert (means.loc[["N & PAA", "N & SPAA"], "blocked"] == 0).all()
    assert means.loc["N & PAA", "instant"] > means.loc["wait", "instant"]


def test_logs_drawn_anew_are_those_of_resample(jobs):
    table = jobs.jobs.assign(submit_time=jobs.jobs["submit_time"] * 100.0)
    days = Workload(table, "twelve days")
    kill = {"kill": {"policy": "kill"}}
    stream = STREAM | {"rate": 9.0}
    rows = compare_ondemand(days, MACHINE, kill, {"base": stream}, range(2), redrawn=True)
    for seed, row in rows.iterrows():
        new = synthetic.resample(days, seed, unit="weeks")
        bursts = draw_bursts(new, seed=seed, **stream)
        alone = measure(simulate_ondemand(new, MACHINE, bursts, policy="kill", seed=seed))
        assert row[list(alone)].to_dict() == pytest.approx(alone)
    fixed = compare_ondemand(days, MACHINE, kill, {"base": stream}, range(2))
    assert (rows["kept"] != fixed["kept"]).all()


def test_the_ledger_of_one_kill_is_what_one_counts_by_hand():
    """5 nodes do 5,000 s twice, a burst of 4 runs for 100 s, 8 nodes are there for 15,100 s."""
    hours = (ledger(run(policy="kill")) * 3600).round(6)
    assert hours.to_dict() == {
        "batch": 80_000, "bursts": 400, "containers": 0, "lost": 25_000, "writing": 0,
        "blocked": 0, "rereading": 0, "idle": 8 * 15_100 - 105_400,
    }  # fmt: skip
    row = measure(run(policy="kill"))
    assert (row["bursts"], row["missed"], row["delay"], row["evictions"]) == (1, 0, 0, 1)
    assert row["overhead"] == row["lost"] == pytest.approx(25_000 / 3600)
    assert row["slowdown"] == pytest.approx((1.51 + 1) / 2)


@pytest.mark.parametrize("policy", ["wait", "greedy", "dynamic_blocked"])
def test_ledgers_add_up_to_the_machine_in_any_window(policy):
    for seed in range(20):
        schedule = schedule_of(draw(seed, policy))
        for first, last in ((0.0, 30.0), (7.0, 19.0)):
            hours = ledger(schedule, start=first, end=last)
            assert tuple(hours.index) == LEDGER and (hours > -1e-9).all()
            assert hours.sum() * 3600 == pytest.approx(schedule.total_nodes * (last - first))
    assert (ledger(schedule, start=5.0, end=5.0) == 0).all()


def test_policies_see_the_same_bursts_and_runs_are_measures_of_schedules(jobs, runs):
    assert len(runs) == len(POLICIES) * 4
    assert (runs.pivot_table("bursts", "policy", "seed").std() == 0).all()
    bursts = draw_bursts(jobs, seed=2, **STREAM)
    submit = jobs.jobs["submit_time"]
    assert bursts.jobs["submit_time"].between(submit.min(), submit.max()).all()
    alone = measure(simulate_ondemand(jobs, MACHINE, bursts, policy="dynamic", seed=2))
    row = runs[(runs["policy"] == "dynamic") & (runs["seed"] == 2)].iloc[0]
    assert row[list(alone)].to_dict() == pytest.approx(alone)
    assert (runs[list(OVERHEAD)].sum(axis=1) - runs["overhead"]).abs().max() < 1e-9
    assert (runs.loc[runs["policy"] == "wait", "overhead"] == 0).all()


def test_paired_differences_are_those_of_each_seed(runs):
    paired = paired_table(runs, "lost", against="kill").set_index("policy")
    wide = runs.pivot_table("lost", "seed", "policy")
    for policy in ("wait", "dynamic"):
        apart = wide[policy] - wide["kill"]
        assert paired.loc[policy, "difference"] == pytest.approx(apart.mean())
        half = 3.18245 * apart.std(ddof=1) / 2
        assert paired.loc[policy, "high"] - apart.mean() == pytest.approx(half, rel=1e-4)
    means = interval_table(runs, ["lost"]).set_index("policy")["mean"]
    assert means.to_dict() == pytest.approx(wide.mean().to_dict())
    assert paired.loc["wait", "tells"] == "yes"
    alone = paired_table(runs[runs["seed"] == 0], "lost", against="kill")
    assert set(alone["tells"]) == {"unknown"} and alone[["low", "high"]].isna().all(axis=None)
    ends = interval_table(runs[runs["seed"] == 0], ["lost"])[["low", "high"]]
    assert "inf" not in figures.in_words(ends).to_string() and ends.isna().all(axis=None)
    with pytest.raises(ValueError, match="against='best'; expected one of"):
        paired_table(runs, "lost", against="best")


def test_the_best_policy_misses_few_deadlines_and_others_may_be_tied():
    rows = [
        (policy, stream, seed, missed, cost + noise * seed)
        for policy, missed, cost, noise in (("a", 0.0, 5.0, 1.0), ("b", 0.0, 5.5, -1.0),
                                            ("c", 0.0, 9.0, 1.0), ("d", 0.5, 1.0, 0.0),
                                            ("e", 0.0, 1.0, 0.0))
        for stream in ("x", "y")
        for seed in range(4)
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["policy", "stream", "seed", "missed", "overhead"])
    table["stretch"] = np.where(table["policy"] == "e", 1.6, 1.0)
    table.loc[table["stream"] == "y", "missed"] = 1.0
    best = best_table(table).set_index("stream")
    assert best.loc["x", ["policy", "mean", "tied"]].tolist() == ["b", 4.0, "a"]
    assert best.loc["y", "policy"] == "none"


def test_slowdown_by_size_is_of_batch_jobs_only(jobs):
    schedule = simulate_ondemand(jobs, MACHINE, draw_bursts(jobs, **STREAM), policy="kill")
    table = slowdown_table({"kill": schedule})
    assert table["jobs"].sum() == len(jobs)
    mean = table["jobs"] @ table["slowdown"] / len(jobs)
    assert mean == pytest.approx(schedule.bounded_slowdown()[~schedule.on_demand].mean())


def test_a_queue_of_a_log_becomes_bursts(jobs):
    batch, bursts = bursts_from_queue(jobs, "debug", longest_delay=60.0)
    assert len(batch) + len(bursts) == len(jobs)
    assert set(batch.jobs["queue"]) == {"batch"} and set(bursts.jobs["queue"]) == {"debug"}
    schedule = simulate_ondemand(batch, MACHINE, bursts, policy="kill")
    assert schedule.bursts["longest_delay"].unique().tolist() == [60]
    assert not schedule.bursts["missed"].any()
    with pytest.raises(ValueError, match="sixty: queue='fast'; expected one of 'batch', 'debug'"):
        bursts_from_queue(jobs, "fast")


def test_claims_are_judged_by_the_runs_and_unknown_without_bursts(runs, ideas):
    evidence = Evidence(runs, "reserve 1", "reserve 4", ideas)
    verdicts = judge(evidence)
    stated = read_statements().query("system == '6-ondemand'")["claim"].tolist()
    assert sorted(verdicts) == sorted(stated)
    missed = runs.groupby("policy")["missed"].mean()
    assert verdicts["kill-misses-none"].holds == (missed["kill"] == 0)
    assert verdicts["few-reserved-miss"].holds == (missed["reserve 1"] > 0)
    assert verdicts["plans-lose-less"].holds
    instant = ideas.groupby("policy")["instant"].mean()
    assert verdicts["fan-minimal-delay"].holds == (instant[list(FAN)].min() >= 0.95)
    worse = ideas.assign(overhead=ideas["overhead"] + 1e6 * (ideas["policy"] == "share"))
    for changed, holds in ((worse, False), (ideas.assign(overhead=0.0), None)):
        told = judge(Evidence(runs, "reserve 1", "reserve 4", changed))["sharing-costs-less"]
        assert told.holds is holds
    better = ideas.assign(malleable=1.0 + (ideas["policy"] == "N & PAA") + ideas["seed"] / 100)
    told = judge(Evidence(runs, "reserve 1", "reserve 4", better))["fan-incentive"]
    assert told.holds is True and told.ours.startswith("-1.0 (-1.0 to -1.0)")
    lost = float(runs.loc[runs["policy"] == "dynamic", "lost"].mean())
    cost = float(runs.loc[runs["policy"] == "dynamic", "overhead"].mean())
    assert verdicts["loss-is-not-the-cost"].holds == (lost < cost / 2)
    swapped = runs.assign(policy=runs["policy"].replace({"dynamic": "kill", "kill": "dynamic"}))
    assert judge(Evidence(swapped, *evidence[1:]))["plans-lose-less"].holds is False
    for none in (runs.assign(bursts=0.0), runs[runs["seed"] == 0], runs.head(0)):
        told = judge(Evidence(none, "reserve 1", "reserve 4", none))
        assert all(one.holds is None and one.why for one in told.values())


def test_figures_show_what_their_tables_hold(runs):
    schedule = run(policy="dynamic", step=1.0)
    hours = pd.DataFrame({"dynamic": ledger(schedule)}).T
    costs = runs.groupby("policy")[list(OVERHEAD)].mean().loc[["dynamic"]].assign(low=0.0, high=1.0)
    picture = figures.plot_ledger(hours, costs, title="ledger")
    shares = [bar.x[0] for bar in picture.data[: len(LEDGER)]]
    assert sum(shares) == pytest.approx(100, abs=0.01)
    assert shares[0] == pytest.approx(100 * hours["batch"].iloc[0] / hours.iloc[0].sum(), abs=1e-3)
    listed = {bar.name for bar in picture.data[: len(LEDGER)] if bar.showlegend}
    assert {"batch jobs", "bursts"} <= listed and "filler containers" not in listed
    gantt = figures.plot_ondemand(schedule, start=0.0, end=20_000.0, title="day")
    (arrival,) = (trace for trace in gantt.data if trace.name == "a burst comes")
    assert {line.line.color for line in gantt.layout.shapes} == {arrival.line.color}
    drawn = sum(
        float(np.dot(bar.x, bar.width)) for bar in gantt.data if bar.type == "bar" and len(bar.x)
    )
    held = float(schedule.held(0.0, 20_000.0).sum()) / 3600
    assert drawn == pytest.approx(held, abs=0.01)
    table = pd.DataFrame({"rate": [1, 1], "nodes": [2, 4], "policy": ["kill", "none"],
                          "mean": [3.0, np.nan], "tied": ["greedy", ""]})  # fmt: skip
    squares = figures.plot_best(table, x="rate", y="nodes", title="map", labels={})
    texts = [text for trace in squares.data for text in trace.text]
    assert texts == ["<b>kill</b><br>3.0<br>or greedy", "none"]
    for nothing in (
        figures.plot_ledger(hours.head(0), costs.head(0), title="t"),
        figures.plot_best(table.head(0), x="rate", y="nodes", title="t", labels={}),
        figures.plot_ondemand(schedule, start=1e6, end=2e6, title="t"),
    ):
        assert not nothing.data and re.search("burst|job", str(nothing.layout.annotations))


def test_a_log_without_jobs_or_of_one_instant_has_no_bursts():
    nothing = BATCH.keep(np.zeros(2, bool), "all")
    assert len(draw_bursts(nothing, **STREAM)) == len(draw_bursts(BATCH, **STREAM)) == 0
    row = measure(simulate_ondemand(BATCH, MACHINE, draw_bursts(BATCH, **STREAM)))
    assert row["bursts"] == 0 and np.isnan(row["missed"]) and np.isnan(row["overhead"])


def test_theta_s_month_is_accounted_for_under_all_policies():
    month = synthetic.theta(800, seed=1)
    bursts = draw_bursts(month, rate=6.0, nodes=1_024, seed=1)
    for knobs in POLICIES.values():
        wide = knobs | ({"reserved": 512} if "reserved" in knobs else {})
        schedule = simulate_ondemand(month, month.machine, bursts, **wide)
        work = month.jobs["nodes"] @ month.jobs["run_time"]
        assert ledger(schedule)["batch"] * 3600 == pytest.approx(work)
