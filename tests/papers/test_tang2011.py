"""Tang et al. (2011): claims hold on its numbers and fail on others; steps of a deadlock."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from cosimlab.figures import Publisher
from cosimlib.coscheduling import MACHINES, SCHEMES, deadlock_example, simulate_coscheduling
from papers.claims import Claims, Verdict, decide
from papers.tang2011.figures import plot_steps
from papers.tang2011.measures import (
    Results,
    measure_claims,
)
from tests.cosimlib.coscheduling.instances import held_for_a_mate

RULES = Claims("2-coscheduling", data="made-up numbers").rules
DOWN = (("B", 0.0, 1e5),)


def made_up(by, values) -> pd.DataFrame:
    """Two seeds of the base, the ideal and four schemes in which all is as the paper states.

    At the k-th value jobs wait 10 k minutes in the base, 12 k in the ideal and 15 k with
    coscheduling, for a slowdown of 2 k and 3 k; yielding costs 9 minutes of sync-up overhead,
    holding 6 and 40 node-hours.
    """
    rows = [
        (machine, value, scheme, seed, 500, 50, wait * k, 2.0 * k, 0.0, 0.0)
        if (wait := {"base": 10.0, "ideal": 12.0}.get(scheme))
        else (
            machine,
            value,
            scheme,
            seed,
            500,
            50,
            15.0 * k,
            3.0 * k,
            6.0 + 3.0 * (scheme[at] == "Y"),
            40.0 * (scheme[at] == "H"),
        )
        for k, value in enumerate(values, start=1)
        for seed in (0, 1)
        for scheme in ("base", "ideal", *SCHEMES)
        for at, machine in enumerate(("intrepid", "eureka"))
    ]
    columns = ["machine", by, "scheme", "seed", "jobs", "paired", "wait", "slowdown", "sync_up"]
    table = pd.DataFrame(rows, columns=[*columns, "lost"]).assign(lost_share=0, stuck=0, apart=0)
    table["wait_paired"] = table["wait"] + table["sync_up"]
    return table.assign(drained=np.where(table["scheme"] == "HH", 2.5, 1.25))


BY_LOAD, BY_SHARE = made_up("load", (0.25, 0.5, 0.75)), made_up("share", (0.025, 0.1, 0.33))


def by_threshold(changes):
    """Both machines yield: a threshold of 3 changes the minutes for mates by so many, by seed."""
    rows = [
        (machine, yields, "YY", seed, 500, 50, 0, 9.0 + change * (yields == "3"))
        for machine in ("intrepid", "eureka")
        for yields in ("3", "never")
        for seed, change in enumerate(changes)
    ]
    columns = ["machine", "yields", "scheme", "seed", "jobs", "paired", "stuck", "sync_up"]
    return pd.DataFrame(rows, columns=columns)


def example(pairs=2, **knobs):
    return simulate_coscheduling(deadlock_example(pairs), MACHINES, schemes="HH", **knobs)


@cache
def paper() -> Results:
    """The two comparisons, and the example simulated: locked, released, without machine B."""
    locked, outage = example(release_interval=None), example(release_interval=None, outages=DOWN)
    return Results(BY_LOAD, BY_SHARE, by_threshold((-1.0, -1.1)), locked, example(), outage)


def with_runs(where, *, tables=("by_load", "by_share"), **changed) -> Results:
    """Other numbers in the rows of the tables that a query finds."""
    other = {name: getattr(paper(), name).astype(dict.fromkeys(changed, float)) for name in tables}
    for table in other.values():
        table.loc[table.query(where).index, list(changed)] = list(changed.values())
    return paper()._replace(**other)


def judged(results: Results) -> dict[str, Verdict]:
    """The verdict on each claim by its rule in the table."""
    samples = measure_claims(results)
    return {claim: decide(samples[claim], rule) for claim, rule in RULES.items()}


def test_every_claim_that_has_a_number_holds_on_the_paper_s_own():
    verdicts = judged(paper())
    built_in = {"mates-start-together", "only-hold-loses", "nobody-waits-for-ever"}
    expected = dict.fromkeys(RULES, "holds") | dict.fromkeys(built_in, "by construction")
    no_number = {"modest-factor", "threshold-reduces-overhead"}
    expected |= dict.fromkeys(no_number, "unknown")
    assert {claim: v.verdict for claim, v in verdicts.items()} == expected
    assert {claim for claim, v in verdicts.items() if v.why} == built_in | no_number
    assert {claim: v.ours for claim, v in verdicts.items()} == {
        "mates-start-together": "4,800 of 4,800 paired jobs",
        "yield-costs-sync-up": "since the first hold or yield: intrepid +3.0 min; eureka +3.0 min; "
        "more than without coscheduling: intrepid +3.0 min; eureka +3.0 min",
        "threshold-reduces-overhead": "3 yields −1.0 min (−1.1 to −1.0; 2 seeds)",
        "only-hold-loses": "0 node-hours by yielding, 1,920 by holding",
        "grows-with-utilization": "intrepid: wait 3.00×, slowdown 3.00× (base 3.00×, 3.00×); "
        "eureka: wait 3.00×, slowdown 3.00× (base 3.00×, 3.00×)",
        "grows-with-proportion": "intrepid: wait 3.00×, slowdown 3.00× (base 3.00×, 3.00×); "
        "eureka: wait 3.00×, slowdown 3.00× (base 3.00×, 3.00×)",
        "modest-factor": "wait over the ideal's: HH 1.25× to 1.25×, HY 1.25× to 1.25×, YH 1.25× to "
        "1.25×, YY 1.25× to 1.25×; over the base's: 1.50× to 1.50×",
        "holding-may-deadlock": "4 of 4 jobs stuck",
        "release-solves-deadlock": "0 jobs stuck, with releases every 1200 s; the last job "
        "starts 2.5 days after the last submission (base 1.2)",
        "nobody-waits-for-ever": "machine A's jobs wait at most 8 min for nodes, none for B",
    }


def delayed(times=1.0, later=60.0):
    """The schedule without machine B, with other starts."""
    start_time = times * paper().outage.start_time + later
    return replace(paper().outage, start_time=start_time)


FAILS = {
    "mates-start-together": (lambda: with_runs("load == .5", tables=["by_load"], apart=1)),
    "yield-costs-sync-up": (
        lambda: with_runs(
            "machine == 'eureka' and scheme in ('HY', 'YY')", sync_up=1.0, wait_paired=1.0
        )
    ),
    "only-hold-loses": lambda: with_runs("scheme == 'YY'", lost=1.0),
    "grows-with-utilization": lambda: paper()._replace(by_load=BY_LOAD.assign(slowdown=3.0)),
    "grows-with-proportion": (
        lambda: paper()._replace(by_share=BY_SHARE.assign(wait=20.0, slowdown=3.0))
    ),
    "holding-may-deadlock": lambda: paper()._replace(locked=paper().released),
    "release-solves-deadlock": lambda: paper()._replace(released=paper().locked),
    "nobody-waits-for-ever": lambda: paper()._replace(outage=delayed()),
}


@pytest.mark.parametrize("claim", FAILS)
def test_every_claim_fails_on_other_numbers(claim):
    verdicts = judged(FAILS[claim]())
    assert verdicts[claim].verdict == "fails" and verdicts[claim].why
    failed = {other for other, v in verdicts.items() if v.verdict == "fails"}
    assert len(failed) <= 2, failed


def no_mates():
    return with_runs("jobs > 0", paired=0)


def no_example_of_mates():
    return paper()._replace(locked=example(0))


UNKNOWN = [
    ("mates-start-together", no_mates, "no job has a mate"),
    ("yield-costs-sync-up", no_mates, "no job has a mate"),
    ("only-hold-loses", no_mates, "no job has a mate"),
    (
        "grows-with-utilization",
        lambda: paper()._replace(by_load=BY_LOAD.query("load == .5")),
        "compared at one load only",
    ),
    (
        "grows-with-proportion",
        lambda: with_runs("share == .025", tables=["by_share"], wait=0.0),
        "no job of a machine waits at",
    ),
    (
        "modest-factor",
        lambda: with_runs("scheme == 'base'", wait=0.0),
        "no job of a machine waits in the",
    ),
    ("holding-may-deadlock", no_example_of_mates, "no job has a mate"),
    ("release-solves-deadlock", no_example_of_mates, "no deadlock without releases"),
    (
        "nobody-waits-for-ever",
        lambda: paper()._replace(outage=paper().released),
        "machine B is never down",
    ),
    (
        "yield-costs-sync-up",
        lambda: with_runs("seed == 1 and scheme == 'YY' and machine == 'eureka'", sync_up=2.0),
        "yield: the interval of eureka over 2 seeds contains the limit",
    ),
    (
        "yield-costs-sync-up",
        lambda: with_runs("machine == 'eureka' and scheme in ('HY', 'YY')", wait_paired=1.0),
        "since the first hold or yield: holds; more than without coscheduling: fails",
    ),
    (
        "grows-with-utilization",
        lambda: with_runs(
            "seed == 1 and load == .25 and machine != 'eureka'", tables=["by_load"], wait=44
        ),
        "the interval of the wait of intrepid over 2 seeds contains the limit",
    ),
    (
        "grows-with-proportion",
        lambda: paper()._replace(by_share=BY_SHARE.query("seed == 0")),
        "one seed has no confidence interval",
    ),
]


@pytest.mark.parametrize(("claim", "make", "why"), UNKNOWN)
def test_too_little_data_decides_nothing_and_the_verdict_says_why(claim, make, why):
    verdict = judged(make())[claim]
    assert verdict.verdict == "unknown" and why in verdict.why
    assert not re.search("nan|inf", verdict.ours)


def test_seeds_in_which_jobs_never_start_count_for_the_deadlock_alone():
    """Both machines' rows have the count of the schedule: 7 stuck in each of three runs."""
    where = "scheme == 'HH' and seed == 0"
    results = with_runs(where, tables=["by_load"], stuck=7, lost=np.inf, sync_up=1e9, wait=np.nan)
    verdicts, before = judged(results), judged(paper())
    solved = verdicts["release-solves-deadlock"]
    assert solved.verdict == "fails" and "s, in 3 of 48 runs; the last" in solved.ours
    assert solved.ours.startswith("21 jobs stuck")
    for claim in ("grows-with-proportion", "modest-factor", "mates-start-together"):
        assert verdicts[claim] == before[claim]
    sync_up = verdicts["yield-costs-sync-up"]
    assert sync_up.ours.startswith("since the first hold or yield: intrepid +3.0 min; eureka +3.0")
    assert sync_up.why == "one seed has no confidence interval"
    assert verdicts["only-hold-loses"].ours == "0 node-hours by yielding, 1,680 by holding"


def test_where_jobs_never_start_in_each_seed_nothing_is_measured():
    verdicts = judged(with_runs("scheme == 'HH'", stuck=7, lost=np.inf))
    why = "in each seed some jobs never start"
    unsure = {claim for claim, v in verdicts.items() if v.why == why and v.verdict == "unknown"}
    assert unsure == {"yield-costs-sync-up", "grows-with-utilization", "grows-with-proportion"}
    assert not any(re.search("nan|inf", v.ours) for v in verdicts.values())


def test_a_handful_of_jobs_decides_nothing_that_was_compared():
    verdicts = judged(with_runs("machine == 'intrepid'", jobs=3))
    decided = {claim for claim, v in verdicts.items() if v.verdict != "unknown"}
    assert decided == {"holding-may-deadlock", "release-solves-deadlock", "nobody-waits-for-ever"}
    assert verdicts["modest-factor"].why == "too few jobs: 3, of at least 100"


def test_ratios_without_a_wait_are_given_in_words():
    verdicts = judged(
        with_runs("scheme in ('base', 'ideal') or load == .25", tables=("by_load",), wait=0)
    )
    assert "wait unknown" in verdicts["grows-with-utilization"].ours
    assert not any(re.search("nan|inf", v.ours) for v in verdicts.values())


@pytest.fixture(scope="module")
def small():
    return held_for_a_mate()


def test_a_slider_steps_through_the_events(small):
    picture = plot_steps(small, ["a", "c", "b"], 5_670.0, title="Small")
    steps = picture.layout.sliders[0].steps
    assert [step.label for step in steps] == ["0", "10", "20", "30", "70", "90", "94.5"]
    assert len(picture.frames) == len(steps)
    assert list(picture.frames[1].data[0].x) == [10, None, None, None]
    assert list(picture.frames[-1].data[0].x) == list(picture.data[0].x)


def test_frames_are_drawn_anew_never_moved_and_none_before_a_click(small, tmp_path):
    """Plotly throws where it moves a hatched bar."""
    picture = plot_steps(small, ["a", "c", "b"], 5_670.0, title="Small")
    (play,) = picture.layout.updatemenus[0].buttons
    assert play.label == "Play" and play.args[0] is None
    for step in (play, *picture.layout.sliders[0].steps):
        assert step.args[1]["transition"]["duration"] == 0 and step.args[1]["frame"]["redraw"]
    Publisher(tmp_path, "x").publish(picture, "small", small.jobs)
    page = (tmp_path / "small.html").read_text()
    assert "Plotly.addFrames" in page and "Plotly.animate" not in page
