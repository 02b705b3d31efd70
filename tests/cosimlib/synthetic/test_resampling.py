"""Logs drawn anew from a log: what stays, what changes, and what is said about it."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib import synthetic, traces
from cosimlib.batch import simulate_easy
from cosimlib.metrics import offered_load
from cosimlib.synthetic.resampling import resampling_plan
from cosimlib.system import System
from cosimlib.units import DAY, HOUR, MINUTE, WEEK
from cosimlib.workload import InvalidWorkloadError, Workload
from tests.zoo import ZOO

SESSION = 20 * MINUTE
KEPT = ["run_time", "requested_time", "nodes"]


@pytest.fixture(scope="module")
def log() -> Workload:
    """Twelve weeks of 40 users, some of whom stay for a week or two, with sessions and weekends."""
    draw = np.random.default_rng(5)
    rows = []
    for user in range(40):
        first, stay = (0, 12) if user < 20 else (draw.integers(0, 11), draw.integers(1, 3))
        for week in range(first, min(12, first + stay)):
            for _ in range(draw.integers(0, 5)):
                day, hour = draw.choice(7, p=[0.19] * 5 + [0.025] * 2), draw.normal(14, 3)
                begin = week * WEEK + day * DAY + np.clip(hour, 0, 23) * HOUR
                for job in range(draw.integers(1, 9)):
                    nodes = 2 ** draw.integers(0, 5)
                    run = np.ceil(draw.lognormal(7, 1))
                    rows.append((round(begin + 5 * MINUTE * job), run, 3 * run, nodes, user))
    table = pd.DataFrame(
        rows, columns=["submit_time", "run_time", "requested_time", "nodes", "user"]
    )
    table = table.sort_values("submit_time", kind="stable", ignore_index=True)
    began = pd.Timestamp("2024-01-01", tz="Europe/Paris")
    return Workload(table, "made log", System.of(64), began=began)


def drawn(log: Workload, seeds=20, **knobs) -> pd.DataFrame:
    """The jobs of several logs drawn anew, together."""
    return pd.concat([synthetic.resample(log, seed, **knobs).jobs for seed in range(seeds)])


def pairs_in_a_session(jobs: pd.DataFrame) -> set[tuple[int, int]]:
    """Jobs of one user submitted within 20 minutes after one another, by their rows in the log."""
    jobs = jobs.sort_values(["user", "submit_time", "source"], kind="stable")
    near = (jobs["user"] == jobs["user"].shift()) & (jobs["submit_time"].diff() <= SESSION)
    before = jobs["source"].shift()[near].astype(int)
    return set(zip(before.tolist(), jobs["source"][near].tolist(), strict=True))


@pytest.mark.parametrize("unit", [None, "weeks"])
def test_jobs_are_jobs_of_the_log_moved_by_whole_weeks(log, unit):
    new = synthetic.resample(log, 3, unit=unit)
    source = log.jobs.loc[new.jobs["source"]].reset_index(drop=True)
    pd.testing.assert_frame_equal(new.jobs[KEPT], source[KEPT])
    moved = new.jobs["submit_time"] - source["submit_time"]
    assert (moved % WEEK == 0).all() and moved.nunique() > 5
    assert new.began == log.began and new.machine is log.machine
    first, last = log.jobs["submit_time"].iloc[[0, -1]]
    assert new.jobs["submit_time"].between(first, last + WEEK).all()


@pytest.mark.parametrize("unit", [None, "weeks"])
def test_marginals_and_cycles_are_those_of_the_log(log, unit):
    new = drawn(log, unit=unit)
    for column in KEPT:
        ranks = np.quantile(log.jobs[column], [0.1, 0.25, 0.5, 0.75, 0.9])
        shares = [
            (new[column] <= rank).mean() - (log.jobs[column] <= rank).mean() for rank in ranks
        ]
        assert np.abs(shares).max() < 0.03
    for length, parts in ((DAY, 24), (WEEK, 7)):
        new_share, share = (
            np.bincount(
                (jobs["submit_time"] % length // (length / parts)).astype(int), minlength=parts
            )
            / len(jobs)
            for jobs in (new, log.jobs)
        )
        assert np.abs(new_share - share).max() < 0.03
    weeks = np.ptp(log.jobs["submit_time"]) / WEEK
    assert len(new) / 20 / 11 == pytest.approx(len(log) / weeks, rel=0.05)


@pytest.mark.parametrize("unit", [None, "weeks"])
def test_sessions_of_users_stay_whole(log, unit):
    """But for the few that are cut at the end of a week."""
    known = pairs_in_a_session(log.jobs.assign(source=log.jobs.index))
    new = synthetic.resample(log, 1, unit=unit).jobs
    found = pairs_in_a_session(new)
    assert len(found) > 300
    assert len(found - known) < 0.05 * len(found)
    # A session of which one job is drawn is drawn as a whole.
    possible = {pair for pair in known if set(pair) <= set(new["source"])}
    assert len(possible - found) < 0.02 * len(possible)


def test_users_are_moved_apart_and_weeks_together(log):
    """Weeks drawn together keep who submits in the same week as whom."""
    week = (log.jobs["submit_time"] // WEEK).to_numpy()
    for unit, together in (("users", False), ("weeks", True)):
        new = synthetic.resample(log, 2, unit=unit).jobs
        moved = (new["submit_time"].to_numpy() // WEEK) - week[new["source"]]
        frame = pd.DataFrame({"to": new["submit_time"] // WEEK, "moved": moved})
        assert (frame.groupby("to")["moved"].nunique().max() <= 2) == together


def test_no_user_comes_twice_at_the_log_s_own_load_and_length(log):
    new = synthetic.resample(log, 4).jobs
    assert set(new["user"]) <= set(log.column("user"))
    stays = (log.jobs["submit_time"] // WEEK).groupby(log.jobs["user"]).agg(lambda w: np.ptp(w) + 1)
    weeks = (new["submit_time"] // WEEK).groupby(new["user"]).nunique()
    # One more, for the weeks drawn may begin within the log's.
    assert (weeks <= stays[weeks.index] + 1).all()


@pytest.mark.parametrize("unit", [None, "weeks"])
@pytest.mark.parametrize("load", [0.1, 1.5])
def test_another_load_is_a_matter_of_users(log, unit, load):
    logs = [synthetic.resample(log, seed, load=load, unit=unit) for seed in range(12)]
    loads = [offered_load(each, log.machine) for each in logs]
    assert np.mean(loads) == pytest.approx(load, rel=0.1)
    own = offered_load(log, log.machine)
    users = np.mean([each.column("user").nunique() for each in logs])
    assert (users > log.column("user").nunique()) == (load > own)
    numbered = [
        each.jobs.assign(user=each.column("user") + f"/{number}")
        for number, each in enumerate(logs)
    ]
    within = pd.concat(numbered).sort_values(["user", "submit_time"])
    old = log.jobs.sort_values(["user", "submit_time"], kind="stable")
    gaps = [
        jobs["submit_time"].diff()[jobs["user"] == jobs["user"].shift()] for jobs in (within, old)
    ]
    short = [(gap <= 5 * MINUTE).mean() for gap in gaps]
    assert short[0] == pytest.approx(short[1], abs=0.05)


@pytest.mark.parametrize("unit", [None, "weeks"])
@pytest.mark.parametrize("weeks", [3, 30])
def test_another_length_has_the_log_s_load(log, unit, weeks):
    logs = [synthetic.resample(log, seed, length=weeks * WEEK, unit=unit) for seed in range(15)]
    assert all(np.ptp(each.jobs["submit_time"]) <= weeks * WEEK for each in logs)
    work = np.mean([each.jobs["nodes"] @ each.jobs["run_time"] for each in logs])
    own = log.jobs["nodes"] @ log.jobs["run_time"] / np.ptp(log.jobs["submit_time"])
    assert work / (weeks * WEEK) == pytest.approx(own, rel=0.15)


@pytest.mark.parametrize("unit", [None, "weeks"])
def test_jobs_of_all_weeks_are_drawn_alike(log, unit):
    """But for those of the first and the last days, in a log of no whole number of weeks."""
    jobs = drawn(log, 60, unit=unit)
    assert jobs["source"].nunique() > 0.98 * len(log)
    per_job = jobs.groupby(jobs["source"]).size().reindex(log.jobs.index, fill_value=0)
    week = (log.jobs["submit_time"] // WEEK).astype(int)
    assert per_job.groupby(week).mean()[1:10].between(45, 80).all()


@given(st.integers(0, 2**63), st.sampled_from([None, "weeks"]), st.sampled_from([None, 0.3, 1.5]))
@settings(max_examples=15, deadline=None)
def test_the_same_seed_draws_the_same_bytes(log, seed, unit, load):
    one, other = (synthetic.resample(log, seed, unit=unit, load=load) for _ in range(2))
    assert one.jobs.to_csv().encode() == other.jobs.to_csv().encode()
    assert one.name == other.name == f"made log (drawn anew, seed {seed})"
    assert not one.jobs.equals(synthetic.resample(log, seed + 1, unit=unit, load=load).jobs)


def test_the_account_says_what_was_drawn(log):
    def said(workload, **knobs):
        return synthetic.resample(workload, 0, **knobs).account["reason"].iloc[-1]

    nameless = Workload(log.jobs.drop(columns="user"), "nameless", log.machine)
    short = log.keep(log.jobs["submit_time"] < 3 * WEEK, "later")
    day = log.keep(log.jobs["submit_time"] < DAY, "later")
    assert said(log) == "weeks of each user drawn anew from 11, weekday and hour kept"
    assert said(log, unit="weeks").startswith("weeks of all users together drawn anew from 11")
    assert said(nameless).startswith("weeks of all users together drawn anew from 11, weekday")
    assert said(nameless).endswith("(it names no users)")
    assert said(short).startswith("days of all users together") and "fewer than 4 weeks" in said(
        short
    )
    assert said(day).startswith("hours of all users together")
    hours = synthetic.resample(day, 0).jobs
    moved = hours["submit_time"] - log.jobs["submit_time"][hours["source"]].to_numpy()
    assert (moved % HOUR == 0).all()


def test_what_is_known_of_another_order_only_is_dropped(log):
    recorded = log.jobs.assign(
        recorded_start=simulate_easy(log, log.machine).start_time, mate=pd.NA, job_id=log.jobs.index
    )
    new = synthetic.resample(Workload(recorded, "recorded", log.machine))
    assert not {"recorded_start", "mate", "job_id"} & set(new.jobs)
    assert simulate_easy(new, log.machine).start_time.min() >= 0


@pytest.mark.parametrize("path", sorted(ZOO.glob("*.swf.gz")), ids=lambda path: path.name)
def test_odd_logs_are_drawn_anew_or_refused_in_words(path):
    odd = traces.load(str(path), verbose=False)
    try:
        new = synthetic.resample(odd, 1)
    except InvalidWorkloadError as error:
        assert "needs at least 4 h" in str(error)
        assert path.name.startswith(("all-at-one-second", "three-jobs"))
        return
    assert new.account["reason"].iloc[-1] == resampling_plan(odd).sentence
    assert set(new.jobs["source"]) <= set(odd.jobs.index)


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"seed": -1}, "resample: seed=-1; expected a whole number from 0"),
        ({"load": 0}, "resample: load=0; expected a number above 0"),
        ({"length": -5.0}, "resample: length=-5.0; expected seconds above 0"),
        ({"unit": "days"}, "resample: unit='days'; expected 'users', 'weeks' or None"),
        ({"load": 1e9}, "would have about .* jobs; expected at most 100,000,000"),
    ],
)
def test_arguments_that_draw_no_log_are_refused(log, knobs, message):
    with pytest.raises(ValueError, match=message):
        synthetic.resample(log, **knobs)


def test_logs_that_lack_what_is_needed_are_refused(log):
    nameless = Workload(log.jobs.drop(columns="user"), "nameless")
    with pytest.raises(InvalidWorkloadError, match="most jobs do not name their user"):
        synthetic.resample(nameless, unit="users")
    with pytest.raises(InvalidWorkloadError, match="nameless: its machine is unknown"):
        synthetic.resample(nameless, load=0.5)
    with pytest.raises(InvalidWorkloadError, match="within 0 s; to be drawn anew"):
        synthetic.resample(log.keep(np.zeros(len(log), bool), "all"))


@pytest.mark.traces
def test_weeks_of_users_vary_more_than_weeks_of_the_machine(trace_path):
    """Users of a real log avoid one another's load, which users drawn apart do not."""
    kth = traces.load(str(trace_path("KTH-SP2-1996-2.1-cln.swf.gz")), verbose=False)

    def scatter(workload):
        jobs = workload.jobs
        work = np.bincount(
            (jobs["submit_time"] // WEEK).astype(int), jobs["nodes"] * jobs["run_time"]
        )
        return (work[1:47] / (100 * WEEK)).std()

    seeds = range(10)
    users = np.mean([scatter(synthetic.resample(kth, seed)) for seed in seeds])
    weeks = np.mean([scatter(synthetic.resample(kth, seed, unit="weeks")) for seed in seeds])
    assert weeks == pytest.approx(scatter(kth), abs=0.015)
    assert users > 1.5 * scatter(kth)
