"""The study of bursts: its tables, figures and measures on small inputs, and its notebook."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cosimlab import figures
from cosimlab.comparison.ondemand import compare_ondemand
from cosimlab.figures import caption
from cosimlib.ondemand import (
    LEDGER,
    OVERHEAD,
    Evict,
    Reserve,
    draw_bursts,
    ledger,
    simulate_ondemand,
)
from cosimlib.workload import Workload
from papers import bursts
from papers.bursts.experiment import (
    ALL_ANNOUNCED,
    FAN,
    best_table,
    interval_table,
    paired_table,
    slowdown_table,
)
from papers.bursts.figures import plot_best, plot_ledger
from papers.bursts.measures import Inputs, samples
from papers.claims import Claims, Verdict
from tests.cosimlib.ondemand.instances import SIX, STREAM, sixty_jobs
from tests.cosimlib.ondemand.test_simulation import MACHINE, run
from tests.notebooks.cells import run_cells, strange
from tests.suites import ROOT
from tests.zoo import ZOO

STUDY = {
    "scale": "quick",
    "seed": 3,
    "rate": 4.0,
    "share": 0.25,
    "run_time": 3_600.0,
    "longest_delay": 900.0,
    "bandwidth": 250.0,
}


@pytest.fixture(scope="module")
def jobs() -> Workload:
    return sixty_jobs()


@pytest.fixture(scope="module")
def runs(jobs) -> pd.DataFrame:
    return compare_ondemand(jobs, MACHINE, SIX, {"base": STREAM}, range(4))


def run_ideas(jobs: Workload) -> pd.DataFrame:
    ways = {name: {"policy": name} for name in ("wait", "dynamic_blocked", "share")}
    ways |= {"reserve": {"policy": Reserve(4)}} | FAN
    filled = {name: {"start_up": 30.0, **knobs} for name, knobs in ways.items()}
    stream = {**STREAM, "notice": {"none": 1, "accurate": 1, "early": 1, "late": 1}}
    return compare_ondemand(jobs, MACHINE, filled, {"announced": stream}, range(3))


@pytest.fixture(scope="module")
def ideas(jobs) -> pd.DataFrame:
    return run_ideas(jobs)


def judged(
    runs: pd.DataFrame, ideas: pd.DataFrame, used: float | None = None
) -> dict[str, Verdict]:
    claims = Claims("6-ondemand", data="sixty")
    claims.judge(samples(Inputs(runs, "reserve 1", "reserve 4", ideas), used=used))
    return claims.verdicts


def test_the_ideas_side_by_side_are_measured_by_what_each_does(ideas):
    means = ideas.groupby("policy")[[*OVERHEAD, "filled", "stretch", "instant"]].mean()
    assert (means["filled"] > 0).all()
    assert (means.loc[["wait", "reserve", "share"], ["lost", "writing"]] == 0).all(axis=None)
    assert means.loc["share", "blocked"] > 0 and means.loc["share", "stretch"] > 1.2
    assert means.loc["N & SPAA", "lost"] < means.loc["N & PAA", "lost"]
    assert (means.loc[[n for n in FAN if n[:2] == "CU"], "blocked"] > 0).all()
    assert (means.loc[["N & PAA", "N & SPAA"], "blocked"] == 0).all()
    assert means.loc["N & PAA", "instant"] > means.loc["wait", "instant"]


def test_paired_differences_are_those_of_each_seed(runs):
    paired = paired_table(runs, "lost", against="kill").set_index("policy")
    wide = runs.pivot_table("lost", "seed", "policy")
    for policy in ("wait", "dynamic"):
        apart = wide[policy] - wide["kill"]
        assert paired.loc[policy, "difference"] == pytest.approx(apart.mean())
        half = 3.18245 * apart.std(ddof=1) / 2
        assert paired.loc[policy, "high"] - apart.mean() == pytest.approx(half, rel=1e-4)
    means = interval_table(runs, "lost").set_index("policy")["mean"]
    assert means.to_dict() == pytest.approx(wide.mean().to_dict())
    assert paired.loc["wait", "distinct"] == "yes"
    alone = paired_table(runs[runs["seed"] == 0], "lost", against="kill")
    assert set(alone["distinct"]) == {"unknown"} and alone[["low", "high"]].isna().all(axis=None)
    ends = interval_table(runs[runs["seed"] == 0], "lost")[["low", "high"]]
    assert "inf" not in figures.in_words(ends).to_string() and ends.isna().all(axis=None)
    with pytest.raises(ValueError, match="against='best'; expected one of"):
        paired_table(runs, "lost", against="best")


def test_the_best_policy_misses_few_deadlines_and_others_may_be_tied():
    rows = [
        (policy, stream, seed, missed, cost + noise * seed)
        for policy, missed, cost, noise in (
            ("a", 0.0, 5.0, 1.0),
            ("b", 0.0, 5.5, -1.0),
            ("c", 0.0, 9.0, 1.0),
            ("d", 0.5, 1.0, 0.0),
            ("e", 0.0, 1.0, 0.0),
        )
        for stream in ("x", "y")
        for seed in range(4)
    ]
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


def test_claims_are_judged_by_the_runs(runs, ideas):
    verdicts = judged(runs, ideas)
    assert list(verdicts) == list(Claims("6-ondemand", data="").rules)
    found = {claim: each.verdict for claim, each in verdicts.items()}
    means = runs.groupby("policy")[["missed", "lost", "overhead"]].mean()
    assert (found["kill-misses-none"] == "by construction") == (means.loc["kill", "missed"] == 0)
    assert found["few-reserved-miss"] == "holds" and means.loc["reserve 1", "missed"] > 0
    assert found["plans-lose-less"] == "holds"
    part = means.loc["dynamic", "lost"] / means.loc["dynamic", "overhead"]
    assert (found["loss-is-not-the-cost"] == "holds") == (part < 0.5)
    instant = ideas.groupby("policy")["instant"].mean()
    assert (found["fan-minimal-delay"] == "holds") == (instant[list(FAN)].min() >= 0.95)


@pytest.mark.parametrize(
    ("claim", "policy", "measure", "against", "side"),
    [
        ("kill-slows-batch", "kill", "lost", "wait", 1),
        ("plans-lose-less", "dynamic", "lost", "kill", -1),
        ("counting-blocked-saves", "dynamic_blocked", "overhead", "dynamic", -1),
        ("fan-incentive", "N & SPAA", "malleable", "N & PAA", -1),
        ("stopping-saved-costs-less", "CUP & PAA", "overhead", "N & PAA", -1),
        ("shrinking-costs-less", "N & SPAA", "overhead", "dynamic_blocked", -1),
        ("sharing-costs-less", "share", "overhead", "dynamic_blocked", -1),
        ("fillers-pay-for-reserving", "reserve", "filled", "dynamic_blocked", 1),
    ],
)
def test_a_difference_is_judged_on_either_side_of_0(
    runs, ideas, claim, policy, measure, against, side
):
    """A policy's numbers are those of the one that it is compared with, and something besides."""

    def changed(table: pd.DataFrame, by: float, spread: float) -> pd.DataFrame:
        here, there = (table["policy"] == each for each in (policy, against))
        table = table.copy()
        if here.any() and there.any():
            columns = [*{measure, "kept"}]
            table.loc[here, columns] = table.loc[there, columns].to_numpy()
            table.loc[here, measure] += by + spread * (table.loc[here, "seed"] - 1)
        return table

    for by, spread, verdict in ((side, 0.01, "holds"), (-side, 0.01, "fails"), (0, 9, "unknown")):
        tables = (changed(runs, by, spread), changed(ideas, by, spread))
        assert judged(*tables)[claim].verdict == verdict, (by, spread)


def test_performance_is_judged_by_work_and_by_slowdown(runs, ideas):
    """The abstract does not say which it means."""
    wait, mechanism = (ideas["policy"] == name for name in ("wait", "CUA & SPAA"))

    def verdict(work: float, slowdown: float) -> str:
        table = ideas.copy()
        for name, by in (("kept", work), ("slowdown", slowdown)):
            table.loc[mechanism, name] = table.loc[wait, name].to_numpy() + by
        return judged(runs, table)["fan-performance"].verdict

    assert verdict(0.1, -1.0) == "holds" and verdict(-0.1, 1.0) == "fails"
    assert verdict(0.1, 1.0) == "unknown"


def test_what_must_be_exact_or_most_is_judged_on_either_side(runs, ideas):
    def verdict(claim: str, table: pd.DataFrame, policy: str, **values: float) -> str:
        chosen = table["policy"].str.fullmatch(policy)
        changed = table.assign(**{n: table[n].mask(chosen, v) for n, v in values.items()})
        pair = (changed, ideas) if table is runs else (runs, changed)
        return judged(*pair)[claim].verdict

    assert verdict("kill-misses-none", runs, "kill", missed=0.0) == "by construction"
    assert verdict("kill-misses-none", runs, "kill", missed=0.01) == "fails"
    assert verdict("few-reserved-miss", runs, "reserve 1", missed=0.01) == "holds"
    assert verdict("few-reserved-miss", runs, "reserve 1", missed=0.0) == "fails"
    assert verdict("loss-is-not-the-cost", runs, "dynamic", lost=0.49, overhead=1.0) == "holds"
    assert verdict("loss-is-not-the-cost", runs, "dynamic", lost=0.5, overhead=1.0) == "fails"
    assert verdict("loss-is-not-the-cost", runs, "dynamic", overhead=0.0) == "unknown"
    assert verdict("fan-minimal-delay", ideas, ".*AA", instant=0.96) == "holds"
    assert verdict("fan-minimal-delay", ideas, "CUP & PAA", instant=0.94) == "fails"
    evicting = "kill|dynamic|dynamic_blocked"
    assert verdict("slowdown-tells-nothing", runs, evicting, slowdown=2.0) == "holds"
    assert verdict("slowdown-tells-nothing", runs, "kill", slowdown=99.0) == "fails"
    assert verdict("many-reserved-idle", runs, "reserve 4", slowdown=1e9, kept=0.0) == "holds"
    assert verdict("many-reserved-idle", runs, "reserve 4", slowdown=1e9, kept=1.0) == "fails"
    assert verdict("many-reserved-idle", runs, "reserve 4", slowdown=1.0, kept=0.0) == "fails"


def test_without_bursts_on_three_seeds_nothing_is_decided(runs, ideas):
    for none in (runs.assign(bursts=0.0), runs[runs["seed"] < 2], runs.head(0)):
        verdicts = judged(none, none)
        assert {each.verdict for each in verdicts.values()} == {"unknown"}
        assert {each.why for each in verdicts.values()} == {"bursts came on fewer than 3 seeds"}
    little = judged(runs, ideas, used=0.0675)
    assert {each.verdict for each in little.values()} == {"unknown"}
    assert "only 6.75 % of the log's node-hours were used" in little["fan-incentive"].why


@pytest.mark.filterwarnings("error")
def test_jobs_of_one_processor_cannot_shrink_and_tell_nothing_of_it(runs, jobs):
    narrow = replace(jobs, jobs=jobs.jobs.assign(nodes=1))
    verdict = judged(runs, run_ideas(narrow))["fan-incentive"]
    assert (verdict.verdict, verdict.ours) == ("unknown", "")


def test_notices_change_nothing_about_the_bursts(jobs):
    plain = draw_bursts(jobs, seed=1, **STREAM).jobs
    announced = draw_bursts(jobs, seed=1, notice=ALL_ANNOUNCED, **STREAM).jobs
    same = ["submit_time", "run_time", "nodes"]
    pd.testing.assert_frame_equal(plain[same], announced[same])


def test_figures_show_what_their_tables_hold(runs):
    schedule = run(policy=Evict("dynamic", step=1.0))
    hours = pd.DataFrame({"dynamic": ledger(schedule)}).T
    costs = runs.groupby("policy")[list(OVERHEAD)].mean().loc[["dynamic"]].assign(low=0.0, high=1.0)
    picture = plot_ledger(hours, costs, title="ledger")
    shares = [bar.x[0] for bar in picture.data[: len(LEDGER)]]
    assert sum(shares) == pytest.approx(100, abs=0.01)
    assert shares[0] == pytest.approx(100 * hours["batch"].iloc[0] / hours.iloc[0].sum(), abs=1e-3)
    listed = {bar.name for bar in picture.data[: len(LEDGER)] if bar.showlegend}
    assert {"batch jobs", "bursts"} <= listed and "filler containers" not in listed
    table = pd.DataFrame(
        {
            "rate": [1, 1],
            "nodes": [2, 4],
            "policy": ["kill", "none"],
            "mean": [3.0, np.nan],
            "tied": ["greedy", ""],
        }
    )
    squares = plot_best(table, title="map", labels={})
    texts = [text for trace in squares.data for text in trace.text]
    assert texts == ["<b>kill</b><br>3.0<br>or greedy", "none"]
    for empty in (
        plot_ledger(hours.head(0), costs.head(0), title="t"),
        plot_best(table.head(0), title="t", labels={}),
    ):
        assert not empty.data and "no burst came" in caption(empty)[0]


def test_the_map_of_the_best_says_when_notices_change_nothing():
    square = {"rate": "1 a day", "nodes": 2, "stream": "2 nodes, 1 a day", "mean": 1.0, "tied": ""}
    ahead = square | {"rate": "1 a day, announced", "stream": "2 nodes, 1 a day, announced"}
    same = pd.DataFrame([square | {"policy": "kill"}, ahead | {"policy": "kill"}])
    other = pd.DataFrame([square | {"policy": "kill"}, ahead | {"policy": "CUP & PAA"}])
    one, two = (bursts.without_repeats(table) for table in (same, other))
    assert len(one) == 1 and "give the same map" in bursts.explain_best(one, range(5))
    assert len(two) == 2 and "give the same map" not in bursts.explain_best(two, range(5))


def test_a_study_is_of_theta_or_of_another_log():
    own = bursts.prepare(trace="synthetic", **STUDY)
    assert (len(own.workload), own.used, own.own, own.redrawn) == (2_500, None, True, True)
    assert own.stream["nodes"] == round(0.25 * own.machine.total_nodes)
    assert (own.seeds, own.fewer) == (list(range(3, 23)), list(range(3, 8)))
    assert list(bursts.policies(own))[-2:] == ["reserve 545", "reserve 2,180"]
    other = bursts.prepare(trace=str(ZOO / "three-jobs.swf.gz"), **STUDY)
    assert not other.own and other.data.endswith(", on memory and bandwidths of Theta")
    with pytest.raises(ValueError, match="scale='fast'; expected one of 'quick', 'paper'"):
        bursts.prepare(trace="synthetic", **STUDY | {"scale": "fast"})


@pytest.mark.filterwarnings("error")
def test_the_notebook_on_another_log_draws_its_figures_and_judges_nothing():
    few = {"seeds": 1, "rates": [4], "trace": str(ZOO / "three-jobs.swf.gz")}
    shown = run_cells(ROOT / "notebooks/6-ondemand.ipynb", **few)
    assert not strange(shown)
    assert shown.figures.keys() == {f"figure-{number}" for number in range(1, 7)}
    assert "is not the paper's machine" in " ".join(shown.texts)
