"""Comparisons with intervals: numbers, pairs, words, and the same numbers wherever computed."""

import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cosimlib as cs
from cosimlab import comparison
from cosimlab.comparison import MEASURES, compare
from cosimlab.comparison.intervals import (
    WHOLE,
    in_unit,
    interval_ends,
    interval_level,
    interval_table,
    widen,
)
from cosimlab.comparison.run import SlowPolicyWarning, compare_where_possible, contestants
from cosimlib import policies, synthetic
from cosimlib.audit import InfeasibleScheduleError
from cosimlib.batch import simulate_easy, simulate_fcfs
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import DAY, HOUR, WEEK
from cosimlib.workload import InvalidWorkloadError, Workload
from tests.cosimlab.comparison import naive

SIMULATORS = {"EASY": simulate_easy, "FCFS": simulate_fcfs}
PLAIN = ["log", "median", "low", "high"]


@pytest.fixture(scope="module")
def log() -> Workload:
    """Six whole weeks of the Lublin-Feitelson model, every third job, on a small machine."""
    made = synthetic.lublin(6500, nodes=32, types=False, seed=3)
    made = made.keep(made.jobs["submit_time"] < 7 * WEEK, "later")
    made = made.keep(np.arange(len(made)) % 3 == 0, "others")
    queue = np.where(made.jobs["nodes"] > 4, "wide", "narrow")
    made = Workload(made.jobs.assign(queue=queue), made.name, System.of(12)).keep(
        made.jobs["nodes"] <= 12, "too wide"
    )
    return synthetic.with_estimates(made, seed=3)


@pytest.fixture(scope="module")
def found(log) -> comparison.Comparison:
    return compare(log, ["EASY", "FCFS"], replicates=12, by="queue", seed=7)


def greedy(state):
    """Starts whatever fits, in order."""
    free, chosen = state.free_nodes, []
    for place, nodes in enumerate(state.waiting.nodes):
        if nodes <= free:
            chosen.append(place)
            free -= nodes
    return chosen


def one_after_another(workload, system):
    """No two jobs at once."""
    start, last = [], 0.0
    for submit, run in workload.jobs[["submit_time", "run_time"]].itertuples(index=False):
        start.append(max(submit, last))
        last = start[-1] + run
    return Schedule.from_starts(workload, system, np.array(start), "one after another")


def all_at_once(workload, system):
    """As if the machine had no end."""
    return Schedule.from_starts(workload, system, workload.jobs["submit_time"], "at once")


def never(workload, system):
    return Schedule.from_starts(workload, system, np.full(len(workload), np.nan), "never")


def test_the_table_is_that_of_plain_loops(log, found):
    margin = 0.1 * np.ptp(log.jobs["submit_time"])
    groups = log.column("queue").map("queue {}".format).tolist()
    own = naive.values(log, SIMULATORS, groups, margin)
    drawn = [
        naive.values(new, SIMULATORS, whose, margin)
        for new, whose in naive.drawn_logs(log, 12, seed=7)
    ]
    wide = naive.widened(drawn, 1 + 2.7 / np.sqrt(6))
    assert len(found.table) == 2 * 4 * 3 * 2 + 2 * 2 * 4 * 3
    for row in found.table.to_dict("records"):
        key = row["measure"], row["group"], row["statistic"]

        def number(values, before, row=row, key=key):
            one = values[row["policy"], *key]
            if row["quantity"] == "value":
                return one
            other = values[row["against"], *key]
            if before[row["policy"], *key] == before[row["against"], *key]:
                one = other
            if row["quantity"] == "difference":
                return one - other
            return 1.0 if one == other == 0 else one / other if other else np.inf

        numbers = [number(*each) for each in zip(wide, drawn, strict=True)]
        expected = [number(own, own), np.median(numbers), *naive.ends(numbers)]
        got = [row[name] for name in PLAIN]
        expected[2:] = [min(expected[2], expected[0]), max(expected[3], expected[0])]
        finite = [value if np.isfinite(value) else np.nan for value in expected]
        np.testing.assert_allclose(got, finite, rtol=1e-9, atol=1e-9, err_msg=str(row))


def test_verdicts_follow_the_intervals_of_differences(found):
    pairs = found.table[found.table["quantity"] != "value"]
    for keys, rows in pairs.groupby(["policy", "measure", "group", "statistic"]):
        difference = rows[rows["quantity"] == "difference"].iloc[0]
        low, high = difference["low"], difference["high"]
        expected = "higher" if low > 0 else "lower" if high < 0 else "cannot tell"
        expected = "equal" if low == high == 0 else expected
        assert rows["verdict"].tolist() == [expected, expected], keys
    assert set(found.table.loc[found.table["quantity"] == "value", "verdict"]) == {""}


def test_a_slower_policy_is_told_and_equal_ones_are_equal(log):
    same = {"one": "EASY", "other": ("EASY", {}), "slow": one_after_another}
    told = compare(log, same, replicates=8)
    by_pair = told.rows("difference", statistic="mean").set_index(["policy", "against", "measure"])
    for measure in ("wait_time", "bounded_slowdown"):
        equal = by_pair.loc[("other", "one", measure)]
        assert (equal["low"], equal["high"], equal["verdict"]) == (0.0, 0.0, "equal")
        assert by_pair.loc[("slow", "one", measure)]["verdict"] == "higher"
    sentences = told.sentences()
    assert "mean wait_time, other and one: equal in 77.8 % of logs" in sentences
    assert any(
        s.startswith("mean wait_time, slow ÷ one: ") and s.endswith("slow is higher")
        for s in sentences
    )


def test_what_one_cannot_tell_is_said(log):
    """Two orders that differ by chance alone."""
    chance = {str(seed): _by_chance(seed) for seed in (1, 2)}
    told = compare(log, chance, replicates=40, measures=["wait_time"])
    (sentence,) = told.sentences()
    assert sentence.endswith(" (may miss up to 1 in 8): this log cannot tell")
    assert "in tests, 1 in 4 missed" in told.note
    row = told.rows("ratio", statistic="mean").iloc[0]
    assert row["low"] < 1 < row["high"]
    assert f"95 % interval {row['low']:,.3g} to {row['high']:,.3g}" in sentence


def _by_chance(seed):
    def simulate(workload, system):
        draw = np.random.default_rng([seed, len(workload)]).random(len(workload))
        return simulate_easy(workload, system, order=draw)

    return simulate


def test_numbers_are_the_same_in_processes_and_from_a_folder(log, tmp_path):
    here = compare(log, ["EASY", greedy], replicates=4)
    there = compare(log, ["EASY", greedy], replicates=4, executor=2, folder=tmp_path / "runs")
    pd.testing.assert_frame_equal(here.table, there.table)
    cells = list((tmp_path / "runs").rglob("*.json*"))
    more = compare(log, ["EASY", greedy], replicates=6, folder=tmp_path / "runs")
    pd.testing.assert_frame_equal(more.drawn.loc[here.drawn.index], here.drawn)
    assert len(list((tmp_path / "runs").rglob("*.json*"))) == len(cells) + 2


def test_policies_are_names_pairs_functions_and_decisions(log):
    given = ["EASY", ("EASY", {"order": "wfp"}), simulate_fcfs, greedy]
    labels = ["EASY", "EASY (order=wfp)", "simulate_fcfs", "greedy"]
    assert [each.label for each in contestants(given)] == labels
    told = compare(log, given, replicates=2, measures=["wait_time"])
    assert told.policies == tuple(labels)
    waits = told.rows("value", statistic="mean").set_index("policy")["log"]
    margin = 0.1 * np.ptp(log.jobs["submit_time"])
    ends = cs.metrics.window(simulate_easy(log, log.machine), warm_up=margin, cool_down=margin)
    for label, schedule in {
        "EASY (order=wfp)": simulate_easy(log, log.machine, order="wfp"),
        "greedy": cs.simulate(log, log.machine, greedy),
    }.items():
        assert waits[label] == pytest.approx(cs.metrics.wait_time(schedule, **ends).mean())


def narrow(state, most=4):
    """First fit of jobs of up to so many nodes, unless the machine is empty."""
    free, starts = state.free_nodes, []
    for position, nodes in enumerate(state.waiting.nodes):
        if nodes <= free and (nodes <= most or free == state.total_nodes):
            starts.append(position)
            free -= nodes
    return starts


def test_decisions_may_have_knobs(log):
    given = [narrow, (narrow, {"most": 12}), partial(narrow, most=1)]
    found = contestants({str(place): policy for place, policy in enumerate(given)})
    starts = [each.run(log, log.machine, audited=True).start_time for each in found]
    assert (starts[1] == cs.simulate(log, log.machine, greedy).start_time).all()
    assert (starts[0] != starts[1]).any() and (starts[2] != starts[0]).any()
    assert [each.label for each in contestants(given[:2])] == ["narrow", "narrow (most=12)"]


@dataclass
class Narrow:
    """A policy with settings, which has no hash."""

    most: int = 1

    def __call__(self, state):
        return narrow(state, most=self.most)


def test_what_has_no_hash_is_compared_and_decisions_are_audited_once():
    found = contestants([Narrow(), narrow, "EASY", ("EASY", {"order": "wfp"}), one_after_another])
    assert [each.label for each in found[:2]] == ["Narrow", "narrow"]
    assert [each.trusted for each in found] == [True, True, True, True, False]


def test_registered_policies_are_compared_in_processes_too(log):
    policies.register("one by one", one_after_another)
    try:
        told = compare(log, ["FCFS", "one by one"], replicates=2, executor=2)
    finally:
        policies.unregister("one by one")
    assert told.rows("difference", measure="wait_time", statistic="mean")["low"].iloc[0] > 0


def test_policies_of_one_s_own_are_audited(log):
    with pytest.raises(InfeasibleScheduleError, match="nodes"):
        compare(log, ["EASY", all_at_once], replicates=2)
    with pytest.raises((ValueError, InfeasibleScheduleError), match="start"):
        compare(log, ["EASY", never], replicates=2)


def test_warm_up_and_cool_down_are_left_out_and_stated(log, found):
    margin = 0.1 * np.ptp(log.jobs["submit_time"])
    first, last = log.jobs["submit_time"].iloc[[0, -1]]
    counted = log.jobs["submit_time"].between(first + margin, last - margin).sum()
    assert f"{counted:,} of {len(log):,} jobs of the log count" in found.note
    assert "first 4.9 days and in the last 4.9 days are left out" in found.note
    assert "84.6 % intervals over 12 logs drawn anew: weeks of all users together" in found.note
    # How often 95 % intervals miss says nothing about others.
    assert "missed" not in found.note
    longer = Workload(log.jobs.assign(submit_time=2 * log.jobs["submit_time"]), "long", log.machine)
    of_long = compare(longer, ["FCFS", "EASY"], replicates=39, measures=["wait_time"])
    assert "in tests, 1 in 4 missed" in of_long.note
    assert "may miss" not in of_long.sentences()[0]
    whole = compare(log, ["FCFS"], replicates=2, warm_up=0, cool_down=0)
    mean = cs.metrics.wait_time(simulate_fcfs(log, log.machine)).mean()
    assert whole.rows("value", measure="wait_time", statistic="mean")["log"][0] == pytest.approx(
        mean
    )
    assert f"{len(log):,} of {len(log):,} jobs" in whole.note


def test_measures_of_the_machine_and_of_one_s_own(log):
    def long_waits(schedule, start, end):
        return float((cs.metrics.wait_time(schedule, start=start, end=end) > HOUR).mean())

    measures = {"utilization": MEASURES["utilization"], "long": long_waits}
    told = compare(log, ["EASY", "FCFS"], replicates=3, by="size", measures=measures)
    values = told.rows("value").set_index(["policy", "measure"])
    assert set(values["statistic"]) == {"value"} and set(told.table["group"]) == {"all jobs"}
    assert values["log"].between(0, 1).all()
    assert told.brief().shape == (2, 2)
    assert len(told.sentences()) == 2


def test_users_are_drawn_where_they_are_named(log):
    with pytest.raises(InvalidWorkloadError, match="do not name their user"):
        compare(log, ["EASY"], unit="users")


def test_intervals_of_few_logs_have_a_lower_level():
    assert [round(interval_level(n), 4) for n in (2, 19, 39, 100)] == [0.3333, 0.9, 0.95, 0.95]


def test_draws_above_their_mean_are_farther_from_it_by_the_number_of_weeks():
    """Of 2.7² weeks, twice as far: 1, 2, 4, 8 on a log scale, 0, 1, 5 where a draw is 0."""
    columns = pd.MultiIndex.from_tuples(
        [("A", "x", "all", "mean"), ("A", "y", "all", "p50"), ("A", "z", "all", WHOLE)],
        names=["policy", "measure", "group", "statistic"],
    )
    drawn = pd.DataFrame([[1.0, 0.0, 0.5], [4.0, 1.0, 0.7], [2.0, 5.0, 0.9]], columns=columns)
    wide = widen(drawn, 2.7**2).to_numpy()
    np.testing.assert_allclose(wide, [[1, 0, 0.5], [8, 1, 0.7], [2, 8, 0.9]])
    pd.testing.assert_frame_equal(widen(drawn, np.inf), drawn)


def test_what_is_equal_on_a_log_stays_equal():
    """Two policies that differ on one log of six only."""
    keys = ["policy", "measure", "group", "statistic"]
    pair = pd.MultiIndex.from_product(
        [["A", "B"], ["wait_time"], ["all jobs"], ["mean"]], names=keys
    )
    numbers = [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [4.0, 4.0], [5.0, 5.0], [6.0, 5.0]]
    drawn = pd.DataFrame(numbers, columns=pair)
    table = interval_table(drawn.iloc[0], drawn, ("A", "B"), 7)
    difference = table[table["quantity"] == "difference"].iloc[0]
    assert difference["high"] == 0.0 > difference["low"]
    assert difference["verdict"] == "cannot tell"


def pair_of(rows):
    """Draws of two policies' mean waits, and of the log: a row each, the log's first."""
    keys = ["policy", "measure", "group", "statistic"]
    pair = pd.MultiIndex.from_product(
        [["A", "B"], ["wait_time"], ["all jobs"], ["mean"]], names=keys
    )
    table = pd.DataFrame(rows, columns=pair, dtype=float)
    return table.iloc[0], table.iloc[1:]


@pytest.mark.parametrize("weeks", [6, 20, np.inf])
@pytest.mark.parametrize("log", [(1.0, 9.0), (9.0, 1.0), (0.1, 0.1), (50.0, 70.0)])
def test_no_interval_excludes_the_value_of_the_log(log, weeks):
    own, drawn = pair_of([log, (2, 3), (2, 2.5), (3, 4), (2.5, 3)])
    table = interval_table(own, drawn, ("A", "B"), weeks)
    assert (table["low"] <= table["log"]).all() and (table["log"] <= table["high"]).all()
    sign = np.sign(log[1] - log[0])
    verdict = {1: "lower", -1: "higher"}.get(sign)
    assert verdict not in set(table["verdict"])


def test_the_ends_of_an_interval_are_order_statistics():
    """Of 39 values the least and the largest; of 79 the second; of 100 the second, too."""
    for n, rank in ((2, 1), (39, 1), (40, 1), (78, 1), (79, 2), (100, 2), (119, 3), (1_000, 25)):
        assert interval_ends(np.arange(n)[::-1]) == (rank - 1, n - rank)
        assert interval_ends(np.arange(n)) == naive.ends(range(n))
        assert 1 - 2 * rank / (n + 1) >= interval_level(n) - 1e-12


@st.composite
def close_pairs(draw):
    """Values of a log and of logs drawn anew, of two policies that are much alike."""
    rows, few = draw(st.integers(3, 130)), draw(st.integers(0, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    one = np.exp(rng.normal(0.0, 2.0, rows))
    apart = np.abs(rng.normal(0.0, draw(st.sampled_from([1e-15, 1e-3, 0.02, 0.3, 2.0])), rows))
    apart[1 : 1 + few] *= -1.0  # in a few logs, about as many as an interval leaves out
    values = np.column_stack([one, one * np.exp(apart)])
    values[rng.random((rows, 2)) < draw(st.sampled_from([0.0, 0.0, 0.05, 0.5]))] = 0.0
    return values[:, draw(st.permutations([0, 1]))]


@given(close_pairs(), st.sampled_from([6, 7, 20, np.inf]))
def test_the_interval_of_a_ratio_and_that_of_the_difference_never_contradict_each_other(
    rows, weeks
):
    own, drawn = pair_of(rows)
    table = interval_table(own, drawn, ("A", "B"), weeks)
    difference, ratio = (
        table[table["quantity"] == quantity].iloc[0] for quantity in ("difference", "ratio")
    )
    for end in ("low", "high", "log"):
        if np.isfinite(ratio[end]):
            assert np.sign(difference[end]) == np.sign(ratio[end] - 1)
    assert difference["verdict"] == ratio["verdict"]
    told = comparison.Comparison("log", ("A", "B"), table, drawn, "drawn", "left out", weeks)
    (sentence,) = told.sentences()
    if "÷" in sentence:
        interval = sentence.split("interval ")[1].split(":")[0].split(" (")[0]
        low, high = interval.replace(",", "").split(" to ")
        verdict = "higher" if float(low) > 1 else "lower" if float(high) < 1 else "cannot tell"
        assert verdict == ratio["verdict"] and sentence.endswith(verdict)


def test_there_is_no_ratio_to_a_negative_value():
    own, drawn = pair_of([(-2.0, -4.0), (-1.0, -3.0), (2.0, 1.0), (2.0, 1.0)])
    ratio = interval_table(own, drawn, ("A", "B"), 20).iloc[-1]
    assert ratio["quantity"] == "ratio" and ratio[["log", "median", "low", "high"]].isna().all()
    assert ratio["verdict"] == "lower"


def test_logs_of_less_than_six_weeks_have_no_intervals(log):
    """The value is told, and why there is no interval."""
    short = log.keep(log.jobs["submit_time"] < 5.9 * WEEK, "later")
    told = compare(short, ["EASY", "FCFS"], replicates=2, measures=["wait_time"])
    assert told.weeks == 5 and not told.has_intervals
    assert told.table[["low", "high"]].isna().all(axis=None)
    assert set(told.table["verdict"]) == {"", "unknown"} and told.table["log"].notna().all()
    (sentence,) = told.sentences()
    ratio = told.rows("ratio", statistic="mean")["log"].iloc[0]
    why = "no interval: it needs 6 whole weeks, and the log has 5"
    assert sentence == f"mean wait_time, FCFS ÷ EASY: {ratio:,.3g}; {why}"
    assert why in told.note and "(" not in told.brief().to_string() and "nan" not in str(told)
    days = log.keep(log.jobs["submit_time"] < 20 * DAY, "later")
    assert "and the log has 2" in compare(days, ["EASY"], replicates=2).note
    expected = None, "the log has 5 whole weeks, and intervals need 6"
    assert compare_where_possible(short, ["EASY"]) == expected


def test_a_mean_whose_interval_is_wide_is_not_determined():
    own, drawn = pair_of([(2, 2), (1, 1), (4, 11), (2, 2)])
    table = interval_table(own, drawn, ("A", "B"))
    told = comparison.Comparison("log", ("A", "B"), table, drawn, "drawn", "left out", 20)
    text = "The log does not determine the mean wait time of B; compare by ratio."
    assert text in told.note


ORDER = np.random.default_rng(5).random(20_000)


def by_nodes(jobs):
    """Widest first."""
    return -jobs["nodes"]


def waited(jobs, now):
    """As `submit`, asked for at every moment."""
    return -(now - jobs["submit_time"])


def test_orders_per_job_follow_the_jobs_into_the_logs_drawn(log):
    """An order by column, by numbers and by a function of the table are the same on all logs."""
    n = len(log)
    column = Workload(log.jobs.assign(place=ORDER[:n]), log.name, log.machine)
    series = pd.Series(ORDER[:n], index=log.jobs.index).sample(frac=1, random_state=1)
    given = {
        "column": ("EASY", {"order": "place"}),
        "array": ("EASY", {"order": ORDER[:n]}),
        "list": (simulate_easy, {"order": ORDER[:n].tolist()}),
        "series": ("EASY", {"order": series}),
        "function": ("EASY", {"order": lambda jobs: jobs["place"]}),
    }
    told = compare(column, given, replicates=3, measures=["wait_time"])
    for name in given:
        pd.testing.assert_frame_equal(told.drawn[name], told.drawn["column"])
    values = told.rows("value", statistic="mean")["log"]
    assert (values == values[0]).all()


def test_named_scores_and_functions_are_compared(log, tmp_path):
    given = [
        "EASY",
        ("EASY", {"order": "F1"}),
        ("EASY", {"order": "SQF"}),
        ("EASY", {"order": by_nodes}),
        ("EASY", {"order": "largest"}),
        ("FCFS", {"order": waited}),
        "FCFS",
        ("EASY", {"order": ORDER[: len(log)]}),
    ]
    labels = [each.label for each in contestants(given, log)]
    assert labels[1:4] == ["EASY (order=F1)", "EASY (order=SQF)", "EASY (order=by_nodes)"]
    assert labels[-1] == "EASY (order=own order)"
    few = log.keep(log.jobs["submit_time"] < 4.1 * WEEK, "later")
    given[-1] = ("EASY", {"order": ORDER[: len(few)]})
    knobs = {"replicates": 2, "measures": ["wait_time"]}
    here = compare(few, given, **knobs)
    there = compare(few, given, executor=2, folder=tmp_path / "runs", **knobs)
    pd.testing.assert_frame_equal(here.table, there.table)
    for one, other in (("EASY (order=by_nodes)", "EASY (order=largest)"), (labels[5], "FCFS")):
        pd.testing.assert_frame_equal(here.drawn[one], here.drawn[other])
    with pytest.raises(InvalidWorkloadError, match="order has the shape"):
        compare(few, [("EASY", {"order": [1, 2]})], replicates=2)


def test_values_that_few_logs_have_are_unknown():
    keys = [("wait_time", "all jobs", "mean"), ("wait_time", "queue 7", "mean")]
    own = pd.Series({(p, *key): 1.0 for p in ("A", "B") for key in keys})
    own.index.names = ["policy", "measure", "group", "statistic"]
    drawn = pd.DataFrame([own * n for n in (1, 2, 3)])
    drawn.loc[[0, 1], [column for column in drawn if column[2] == "queue 7"]] = np.nan
    table = interval_table(own, drawn, ("A", "B"))
    rare = table[table["group"] == "queue 7"]
    assert rare[["low", "high"]].isna().all(axis=None)
    assert set(rare["verdict"]) == {"", "unknown"}
    assert set(table.loc[table["group"] == "all jobs", "verdict"]) == {"", "equal"}


def test_what_the_table_does_not_have_is_refused(found):
    with pytest.raises(ValueError, match="against='SJF'; expected one of 'EASY', 'FCFS', or None"):
        found.sentences(against="SJF")
    assert found.sentences(against="FCFS") == [] != found.sentences(against="EASY")


def test_a_value_and_its_interval_have_one_unit():
    units = {"days": DAY, "h": HOUR}
    values = pd.DataFrame({"log": [44 * HOUR], "low": [3.6 * HOUR], "high": [4 * DAY]})
    for size, unit in ((1.0, "h"), (24.0, "days")):
        row = (values * size).to_dict("records")[0]
        told = in_unit(row, "wait_time")
        assert [text.split()[1] for text in told] == [unit] * 3
        assert told[0] == f"{44 * HOUR * size / units[unit]:.15g} {unit}"
    assert in_unit({"log": 0.123456, "low": None, "high": 12_345.0}, "slowdown") == [
        "0.123",
        "unknown",
        "12,345",
    ]


def test_it_shows_itself(found):
    text = str(found)
    assert "EASY, wait_time" in text and "mean bounded_slowdown, FCFS ÷ EASY" in text
    assert "nan" not in text + found._repr_html_()
    assert found.brief().index.tolist() == ["EASY", "FCFS"]


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"policies": "EASY"}, "policies='EASY'; expected a list or dict of policies"),
        ({"policies": ["EASY", "EASY"]}, "policies='EASY'; expected every policy once"),
        ({"policies": ["EAZY"]}, "policy='EAZY'; expected one of 'FCFS'"),
        ({"policies": [5]}, "policy=5; expected the name of a policy"),
        ({"replicates": 1}, "replicates=1; expected a whole number from 2"),
        ({"measures": "wait_time"}, "measures='wait_time'; expected names of measures"),
        ({"measures": ["waits"]}, "measure='waits'; expected one of 'wait_time'"),
        (
            {"by": "hour"},
            "by='hour'; expected one of 'size', 'length', 'user', 'group', 'queue',",
        ),
        ({"by": "user"}, "by='user'; expected jobs that name their user"),
        ({"unit": "days"}, "unit='days'; expected one of 'users', 'weeks'"),
        ({"warm_up": 100 * WEEK}, "0 jobs between the first 700 days and the last"),
        ({"executor": 0}, "executor=0; expected a number of processes"),
    ],
)
def test_arguments_that_compare_nothing_are_refused(log, knobs, message):
    with pytest.raises(ValueError, match=message):
        compare(log, **{"policies": ["EASY", "FCFS"], "replicates": 2, **knobs})


def test_logs_that_cannot_be_compared_are_refused(log):
    few = log.keep(np.arange(len(log)) % 100 == 0, "others")
    with pytest.raises(ValueError, match="to compare policies on, a log needs at least 20"):
        compare(few, ["EASY"])
    nowhere = Workload(log.jobs, "nowhere")
    with pytest.raises(ValueError, match="nowhere: its machine is unknown"):
        compare(nowhere, ["EASY"])
    assert compare(nowhere, ["FCFS"], replicates=2, system=System.of(12)).name == "nowhere"
    unknown = Workload(log.jobs.assign(requested_time=np.nan), "without requests", log.machine)
    with pytest.raises(InvalidWorkloadError, match="has no requested_time"):
        compare(unknown, ["EASY"])


def test_a_policy_that_is_not_compiled_is_said_to_take_long(log, monkeypatch):
    monkeypatch.setattr("cosimlab.comparison.run.SLOW", 0.0)
    with pytest.warns(SlowPolicyWarning, match=r"2 replicates will take about .* as 'greedy' is"):
        compare(log, ["FCFS", greedy], replicates=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SlowPolicyWarning)
        compare(log, ["FCFS", "EASY"], replicates=2)
