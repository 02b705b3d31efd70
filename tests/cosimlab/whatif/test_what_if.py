"""What-ifs: classes of waiting jobs, replays of records, changes, answers and their words."""

from dataclasses import replace as with_fields

import numpy as np
import pandas as pd
import pytest

import cosimlab as lab
import cosimlib as cs
from cosimlab.whatif import (
    CLASSES,
    classify,
    compare_answers,
    evidence,
    records_of,
    replay,
    rules,
    what_if,
)
from cosimlab.whatif.answer import _Replays, effect_of, method_error, size_text
from cosimlab.whatif.changes import KINDS, change_of
from cosimlab.whatif.comparing import pair_error
from cosimlab.whatif.evidence import held_truth_of
from cosimlab.whatif.record import start_latency
from cosimlib.batch import simulate_conservative, simulate_easy, simulate_fcfs, simulate_first_fit
from cosimlib.synthetic import lublin, with_estimates
from cosimlib.system import System
from cosimlib.traces import load
from cosimlib.units import DAY, HOUR
from cosimlib.workload import InvalidWorkloadError, Workload
from tests.cosimlab.whatif import coverage, truth


def log(*rows, nodes=4, **columns):
    """Jobs of submission, start and run time in hours, and nodes; on a machine of four."""
    names = ["submit_time", "recorded_start", "run_time", "nodes"]
    table = pd.DataFrame(rows, columns=names).astype(float)
    hours = table[names[:-1]] * HOUR
    jobs = hours.assign(nodes=table["nodes"].astype(int), **columns)
    return Workload(jobs, "log", System.of(nodes))


def record_of(workload):
    [(_, record)] = records_of(workload, workload.machine)
    return record


def recorded(schedule):
    """The workload of a schedule, with its starts."""
    jobs = schedule.workload.jobs.assign(recorded_start=schedule.start_time)
    return Workload(jobs, schedule.workload.name, schedule.system)


@pytest.fixture(scope="module")
def busy() -> Workload:
    """Jobs of the Lublin-Feitelson model with users and queues."""
    made = with_estimates(lublin(4_000, load=0.65, seed=4), seed=4)
    user = pd.Series(np.arange(len(made)) % 7).astype(str)
    queue = np.where(made.jobs["nodes"] > 8, "wide", "narrow")
    jobs = made.jobs.assign(user=user, queue=queue)
    return Workload(jobs, made.name, made.machine)


@pytest.fixture(scope="module")
def first_fit(busy):
    return simulate_first_fit(busy, busy.machine)


def test_classes_of_waiting_jobs():
    jobs = log(
        (0, 0, 10, 3),  # at once
        (1, 10, 5, 2),  # capacity: its nodes are free when the first job ends
        (2, 10, 5, 1),  # follows: a node was free all the time
        (3, 18, 5, 1),  # limited: the job of its user ends at 18
        (3, 13, 5, 1),  # held
        user=["a", "b", "c", "d", "d"],
    )
    record = record_of(jobs.keep(np.ones(5, dtype=bool), ""))
    found = classify(record)
    assert found.latency == rules.NO_WAIT
    names = [CLASSES[code] for code in found.code]
    assert names == ["at once", "capacity", "follows", "limited", "held"]
    assert found.follows.tolist() == [-1, -1, 1, 4, -1]
    assert found.after_end.tolist() == [False, False, False, True, False]
    assert (found.lag / HOUR).tolist() == [0, 0, 0, 0, 10]
    assert (found.free / HOUR).round(9).tolist() == [0, 0, 8, 13, 10]
    assert (replay(record, found) / HOUR).tolist() == [0, 9, 8, 15, 10]


def test_the_latency_is_twice_the_median_time_of_nodes_free_at_last():
    wait, at_last = np.full(5, 1e4), np.array([0.0, 100.0, 150.0, 300.0, 9000.0])
    assert start_latency(wait, at_last) == 250.0
    assert start_latency(wait, np.zeros(5)) == rules.NO_WAIT
    assert start_latency(np.zeros(5), at_last) == rules.NO_WAIT


def test_held_jobs_wait_as_long_on_a_larger_machine_and_others_do_not():
    jobs = log((0, 0, 30, 1), (0, 0, 10, 4), (1, 10, 2, 4), (2, 20, 1, 1), nodes=5)
    record = record_of(jobs)
    found = classify(record)
    assert (replay(record, found) / HOUR).tolist() == [0, 0, 9, 18]
    # Eight hours after its nodes are free, however soon that is.
    assert (replay(record, found, total_nodes=10) / HOUR).tolist() == [0, 0, 0, 8]


@pytest.mark.parametrize("simulate", [simulate_easy, simulate_conservative, simulate_first_fit])
def test_no_job_waits_longer_than_recorded_on_the_same_machine(busy, simulate):
    record = record_of(recorded(simulate(busy, busy.machine)))
    assert (replay(record, classify(record)) <= record.wait_time).all()


def test_a_strict_record_is_met_and_its_change_is_the_truth(busy):
    schedule = simulate_fcfs(busy, busy.machine)
    record = record_of(recorded(schedule))
    found = classify(record)
    assert found.strict
    assert replay(record, found).mean() == pytest.approx(record.wait_time.mean(), rel=1e-3)
    true = simulate_fcfs(busy, System.of(141)).jobs["wait_time"].mean()
    assert replay(record, found, total_nodes=141).mean() == pytest.approx(true, rel=0.03)


def test_a_limit_cuts_jobs_that_are_submitted_anew():
    jobs = log((0, 0, 10, 4), (1, 10, 1, 4))
    record = record_of(jobs)
    waits = replay(record, classify(record), limit=4 * HOUR) / HOUR
    # Three pieces of 4, 4 and 2 hours keep their place before the job that started later.
    assert waits.tolist() == [0, 9]
    late = record_of(log((0, 0, 10, 4), (1, 1, 1, 1), nodes=5))
    assert (replay(late, classify(late), limit=4 * HOUR) / HOUR).tolist() == [0, 0]
    unlimited = replay(record, classify(record), limit=1e9)
    assert unlimited.tolist() == replay(record, classify(record)).tolist()


def test_closures_stay_closed():
    jobs = log((0, 0, 10, 3), (1, 16, 2, 2), (2, 16, 1, 2))
    [window] = record_of(jobs).closed.tolist()
    assert window == [10 * HOUR, 16 * HOUR, 0]
    record = record_of(jobs)
    found = classify(record)
    assert (replay(record, found) / HOUR).tolist() == [0, 15, 14]
    # On eight nodes they would run beside the first job, and end before the closure.
    assert (replay(record, found, total_nodes=8) / HOUR).tolist() == [0, 0, 0]
    # The second job still runs when the machine would close.
    assert (replay(record, found, run_time=np.array([10, 10, 1]) * HOUR, total_nodes=8) / HOUR)[
        1
    ] == 15


def test_partitions_are_pools_and_a_plus_sign_joins_them():
    jobs = log(
        (0, 0, 10, 2), (1, 1, 5, 2), (2, 10, 5, 2), partition=pd.Series(["a", "b", "a"]), nodes=4
    )
    machine = System.of(a=2, b=2)
    pools = dict(records_of(jobs, machine))
    assert {name: record.jobs.tolist() for name, record in pools.items()} == {"a": [0, 2], "b": [1]}
    [(name, union)] = records_of(jobs, System.of(**{"a+b": 4, "c": 1}))
    assert name == "a+b" and union.total_nodes == 4
    with pytest.raises(InvalidWorkloadError, match="job 1 has partition='b'; expected one of 'a'"):
        list(records_of(jobs, System.of(a=2, c=2)))


def test_an_answer_has_a_ratio_inside_its_interval_and_who_wins(first_fit):
    answer = what_if(first_fit, nodes="+10%")
    row = answer.table.iloc[0]
    assert answer.reason == "" and row["low"] < row["ratio"] < row["high"] < 1
    assert row["expected"] == pytest.approx(row["recorded"] * row["ratio"])
    assert answer.sentence.startswith(
        "With 10 % more nodes (141 in the place of 128), the mean wait would be "
    )
    assert set(answer.table["by"]) == {"all", "size", "queue", "user"}
    known = answer.table["low"].notna()
    inside = answer.table[known]
    assert ((inside["low"] <= inside["ratio"]) & (inside["ratio"] <= inside["high"])).all()
    assert (inside["statistic"] == "mean").all() and known.sum() > 5
    assert answer.waiting["share"].sum() == pytest.approx(1)
    assert "same machine" in str(answer) and repr(answer).startswith("<WhatIf ")
    assert len(answer.figure().data) == 4


def test_changes_are_named_as_they_were_asked_for(busy):
    for nodes, text in {"+10%": "10 % more", "-2.5%": "2.5 % fewer", 141: "10.2 % more"}.items():
        assert change_of(busy, busy.machine, nodes, None, None, None).text.startswith(text)


def test_how_often_intervals_held_the_truth_is_that_of_the_change(first_fit):
    jobs = first_fit.workload.jobs
    work = (jobs["nodes"] * jobs["run_time"]).groupby(jobs["user"]).sum().sort_values()
    largest, other = str(work.index[-1]), str(work.index[len(work) // 2])
    at = {share: str(held) for share, held in evidence.NODES.items()}
    for change, held in (
        ({"nodes": "+10%"}, at[0.1]),
        ({"nodes": 160}, at[0.25]),
        (
            {"nodes": "+50%"},
            f"{at[0.1]} at +10 % and {at[0.25]} at +25 % nodes, this change was not tried",
        ),
        ({"run_time": 0.9}, f"{evidence.TIMES}"),
        ({"without": {"user": largest}}, f"{evidence.USER} without the largest user"),
        (
            {"without": {"user": other}},
            f"{evidence.USER} without the largest user, this change was not tried",
        ),
        (
            {"nodes": "+10%", "run_time": 0.9},
            f"{evidence.EVERY} over all changes that were tried, of which",
        ),
        ({"limit": "2h"}, f"{evidence.LIMIT} with limits that cut"),
    ):
        answer = what_if(first_fit, **change)
        assert answer.held_truth.startswith(held) and answer.held_truth in answer.sentence
        fit = f"the replay meets {100 * answer.fit:.0f} % of the record; such intervals held"
        assert fit in answer.sentence


def test_intervals_of_fewer_nodes_were_judged_by_themselves(busy):
    share = str(evidence.NODES[-0.05])
    for nodes, held in {"-5%": share, "-20%": f"{share} at −5 % nodes, this change was"}.items():
        change = change_of(busy, busy.machine, nodes, None, None, None)
        assert held_truth_of(change, busy, busy.machine).startswith(held)


def test_the_share_that_decides_whether_more_nodes_would_help_is_shown(first_fit):
    answer = what_if(first_fit, nodes="+10%")
    held = answer.waiting.set_index("class").loc[["limited", "held"]]
    share = held["free_node_hours"].sum() / answer.waiting["node_hours"].sum()
    assert f"{100 * share:.3g} % of the waited node-hours, of limited and held jobs" in str(answer)


def test_changes_that_change_nothing_say_so(first_fit):
    for change, why in (
        ({"nodes": 128}, "Nothing changes: the machine has 128 nodes already."),
        ({"nodes": "+0.1%"}, "Nothing changes: the machine has 128 nodes already."),
        ({"limit": "10000h"}, "Nothing changes: no job runs longer than "),
        ({"run_time": 1.0}, "Nothing changes: run times are multiplied by 1."),
    ):
        assert what_if(first_fit, **change).sentence.startswith(why)
    both = what_if(first_fit, nodes="+10%", limit="10000h")
    assert both.sentence.startswith("With 10 % more nodes")


def test_nothing_changes_if_nothing_is_changed(first_fit):
    answer = what_if(first_fit, nodes=128)
    assert (answer.waits["same"] == answer.waits["changed"]).all()
    assert (
        answer.table["ratio"].dropna().eq(1).all() and answer.table["verdict"][0] == "cannot tell"
    )


def test_answers_take_a_workload_with_starts_and_repeat(first_fit):
    one, other = (what_if(log, run_time=0.9) for log in (first_fit, recorded(first_fit)))
    pd.testing.assert_frame_equal(one.table, other.table)
    assert one.change == "run times × 0.9"


def test_users_who_are_gone_do_not_count(busy, first_fit):
    answer = what_if(first_fit, without={"user": ["0", "3"]})
    gone = busy.jobs["user"].isin(["0", "3"])
    assert answer.waits["changed"].isna().tolist() == gone.tolist()
    assert answer.table["jobs"][0] == (~gone).sum() and answer.sentence.startswith("Without user")
    assert answer.too_wide.empty


def test_no_number_where_much_of_the_work_is_too_wide(busy, first_fit):
    """Their absence would count as an effect: it would seem that fewer nodes cut waits."""
    answer = what_if(first_fit, nodes=60)
    assert "node-hours cannot run on the changed machine" in answer.reason
    assert answer.sentence.startswith("No number") and answer.table["ratio"].isna().all()


def test_jobs_too_wide_for_the_changed_machine_are_listed(busy, first_fit):
    answer = what_if(first_fit, nodes=100)
    wide = np.flatnonzero(busy.jobs["nodes"] > 100)
    assert answer.too_wide["job"].tolist() == wide.tolist()
    assert f"{len(wide)} jobs cannot run on the changed machine" in answer.note


def test_jobs_without_a_start_are_left_out_and_counted(first_fit):
    jobs = recorded(first_fit)
    start = jobs.jobs["recorded_start"].where(np.arange(len(jobs)) % 50 != 7)
    answer = what_if(with_fields(jobs, jobs=jobs.jobs.assign(recorded_start=start)), nodes="+10%")
    assert "80 jobs without a start: left out." in answer.note
    assert len(answer.waits) == len(jobs) - 80 and 7 not in set(answer.waits["job"])
    with pytest.raises(InvalidWorkloadError, match="does not record when its jobs started"):
        what_if(with_fields(jobs, jobs=jobs.jobs.drop(columns="recorded_start")), nodes="+10%")


def test_the_error_of_a_comparison_grows_with_the_effect_up_to_a_most():
    assert pair_error(0.0, False, of_nodes=True) == pytest.approx(0.05)
    assert pair_error(-0.5, False, of_nodes=True) == pytest.approx(0.05 + 0.4 * 0.5)
    assert pair_error(0.4, False, of_nodes=False) == pytest.approx(0.15 + 0.5 * 0.4)
    assert pair_error(9.0, False, of_nodes=True) == pair_error(9.0, False, of_nodes=False) == 0.42
    assert pair_error(9.0, True, of_nodes=True) < 0.05


def test_limits_have_an_interval(first_fit):
    answer = what_if(first_fit, limit="2h")
    row = answer.table.iloc[0]
    assert row["low"] < row["ratio"] < row["high"]


def test_held_waits_would_not_be_helped():
    rows = [(hour, hour + 30, 1, 1) for hour in range(0, 400, 3)]
    answer = what_if(log(*rows), nodes="+100%")
    assert answer.sentence == (
        "More nodes would not help: 100 % of the waited node-hours passed while the job's nodes "
        f"were free ({evidence.NO_HELP_WAS_FALSE})."
    )
    assert answer.kind == "more nodes would not help" and answer.why.of_record
    assert answer.table["ratio"].isna().all() and set(answer.table["verdict"]) == {"open"}
    fewer = what_if(log(*rows), nodes="-50%")
    assert "most waiting is held" in fewer.sentence and fewer.kind == "held"


def test_starving_jobs_and_records_that_are_not_met_have_no_number():
    small = [(0.1 * number, 0.1 * number, 1, 1) for number in range(1500)]
    wide = [(number, 200 + number, 1, 3) for number in range(60)]
    others = [(0, 0, 170, 2)]
    rows = sorted([*small, *wide, *others])
    answer = what_if(log(*rows, nodes=16), nodes="+10%")
    assert answer.reason == str(answer.why) and answer.table["ratio"].isna().all()
    assert answer.why.sentence in answer.reason and answer.why.decides.endswith(".")
    assert lab.figures.plot_what_if(answer, title="none").layout.annotations


def test_a_few_short_waits_are_nothing_to_change():
    rows = [(hour, hour, 0.5, 1) for hour in range(100)]
    rows[50] = (50, 51, 0.5, 1)
    assert "the mean wait is below 2 min" in what_if(log(*rows), nodes="+10%").sentence


def test_jobs_that_many_overtake_are_passed_over():
    """One wide job waits while forty later ones of its size start."""
    rows = [(0, 0, 100, 2), (1, 100, 5, 3)]
    rows += [(hour, hour, 1, 2) for hour in range(2, 100, 2)]
    found = classify(record_of(log(*rows)))
    assert found.passed_over == 1.0
    assert classify(record_of(log(*rows[:10]))).passed_over == 0.0


def test_waiting_of_passed_over_jobs_is_weighed_over_all_pools():
    """In one pool nearly all waiting is by a job that many overtake; in the other hardly anyone."""
    starved = [(0, 0, 100, 2), (1, 100, 5, 3), *((hour, hour, 1, 2) for hour in range(2, 100, 2))]
    plain = [(0.001 * number, 300, 1, 1) for number in range(100)]
    rows = sorted([(*row, "a") for row in starved] + [(*row, "b") for row in plain])
    jobs = log(*(row[:4] for row in rows), partition=pd.Series([row[4] for row in rows]))
    machine = System.of(a=4, b=100)
    pools = {name: (each, classify(each)) for name, each in records_of(jobs, machine)}
    assert pools["a"][1].passed_over == 1.0
    waited = [float(record.wait_time.sum()) for record, _ in pools.values()]
    replays = _Replays(jobs, pools, np.zeros(len(jobs)), np.zeros(len(jobs)))
    assert (
        replays.passed_over == pytest.approx(waited[0] / sum(waited)) and waited[1] > 9 * waited[0]
    )


def test_two_changes_are_compared_on_the_same_weeks(first_fit):
    more, most = (what_if(first_fit, nodes=each) for each in ("+10%", "+25%"))
    pair, back = compare_answers(most, more), compare_answers(more, most)
    assert pair.low < pair.ratio < pair.high < 1
    assert pair.ratio * back.ratio == pytest.approx(1)
    assert [pair.low * back.high, pair.high * back.low] == pytest.approx([1, 1])
    alone = most.table["high"][0] / more.table["low"][0]
    assert pair.high < alone, "shorter than the intervals of both effects allow"
    same = compare_answers(more, more)
    assert same.ratio == 1 and same.low * same.high == pytest.approx(1)
    gone = what_if(first_fit, without={"user": "3"})
    assert compare_answers(gone, more).low > 0
    with pytest.raises(ValueError, match="expected an answer with a number"):
        compare_answers(more, what_if(first_fit, nodes=60))
    other = what_if(recorded(first_fit).keep(np.arange(4_000) < 3_000, "later"), nodes="+10%")
    with pytest.raises(ValueError, match="expected an answer about the jobs of"):
        compare_answers(more, other)


def test_sizes_in_words(first_fit):
    assert [size_text(each) for each in ("1", "2-3")] == ["1 node", "2-3 nodes"]
    assert " 1 nodes" not in what_if(first_fit, nodes="+25%").sentence


def test_the_truth_of_a_limit_is_cut_and_submitted_anew():
    """Pieces of 4, 4 and 2 hours; each waits behind the job of an hour or runs before it."""
    jobs = log((0, 0, 10, 4), (1, 10, 1, 4), (6, 11, 1, 1))
    jobs = with_fields(jobs, jobs=jobs.jobs.assign(requested_time=jobs.jobs["run_time"]))
    start = truth.starts_under(jobs, 4 * HOUR, simulate_fcfs)
    # The first piece ends at 4, when job 1 has waited longest; its others run from 5 to 9 and,
    # beside nobody, behind job 2 from 10 to 12. It ends 12 - 10 = 2 hours late.
    assert (start / HOUR).tolist() == [2, 4, 9]
    whole = truth.starts_under(jobs, 100 * HOUR, simulate_fcfs)
    assert whole.tolist() == simulate_fcfs(jobs, jobs.machine).start_time.tolist()


def test_effects_of_groups_lie_half_way_to_all_jobs():
    own = effect_of(3540.0, 1740.0, False, None)
    assert own == pytest.approx(np.log(0.5))
    assert effect_of(3540.0, 1740.0, False, 0.0) == pytest.approx(own / 2)
    assert effect_of(3540.0, 1740.0, True, 0.0) == own


def test_the_error_grows_with_the_effect_up_to_a_bound_and_is_that_of_the_kind():
    for kind in KINDS:
        least, most = rules.ERRORS[kind]
        small = least + rules.ERROR_PER_EFFECT * 0.1
        assert method_error(-0.1, kind, False) == pytest.approx(small)
        assert method_error(-5.0, kind, False) == most
        assert method_error(-0.1, kind, False, group=True) >= method_error(-0.1, kind, False)
        assert method_error(-5.0, kind, True, group=True) == rules.STRICT_ERROR


def test_kinds_of_changes(busy):
    machine, gone = busy.machine, {"user": "2"}
    kinds = {
        "more nodes": ("+10%", None, None, None),
        "fewer nodes": ("-5%", None, None, None),
        "limit": (None, "2h", None, None),
        "jobs gone": (None, None, gone, None),
        "run times": (None, None, None, 0.9),
        "several": ("+10%", None, None, 0.9),
    }
    assert set(kinds) == set(KINDS)
    for kind, arguments in kinds.items():
        assert change_of(busy, machine, *arguments).kind(machine) == kind


def test_a_limit_has_no_number_in_a_strict_order(busy):
    """A job that restarts has another place in the order, which the replay does not know."""
    strict = simulate_fcfs(busy, busy.machine)
    answer = what_if(strict, limit="2h")
    assert answer.strict and answer.kind == "no place" and not answer.why.of_record
    assert "lose their place in the order" in answer.sentence
    assert what_if(strict, nodes="+10%").why is None


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({}, "what_if: change=None; expected one of nodes, limit, without and run_time"),
        ({"nodes": "10%"}, "nodes='10%'; expected a whole number of nodes"),
        ({"nodes": 0}, "nodes=0; expected a whole number of nodes"),
        ({"nodes": "-100%"}, "at least one node afterwards"),
        ({"nodes": 99_999_999}, "nodes=99999999; expected at most 1,280: the record says nothing"),
        ({"limit": "1s"}, "min: shorter ones cut the jobs of this log into more than 1,000,000"),
        ({"run_time": 0}, "run_time=0; expected a factor above 0"),
        ({"nodes": {"gpu": 3}}, "nodes='gpu'; expected one of 'main'"),
        ({"limit": "soon"}, "limit='soon'; expected seconds above 0"),
        ({"limit": -1}, "limit=-1; expected seconds above 0"),
        ({"without": {"user": "nobody"}}, "without='nobody'; expected a user of a job of"),
        ({"without": "alice"}, "expected a dict such as"),
        ({"run_time": -1.0}, "expected a factor above 0"),
        ({"run_time": [1.0]}, "expected a factor above 0"),
    ],
)
def test_errors_name_the_argument(busy, knobs, message):
    arguments = {"nodes": None, "limit": None, "without": None, "run_time": None} | knobs
    with pytest.raises(ValueError) as error:
        change_of(busy, busy.machine, **arguments)
    assert message in str(error.value)


def test_changes_in_words(busy):
    arguments = {"nodes": "+25%", "limit": "1d", "without": {"queue": "wide"}, "run_time": None}
    change = change_of(busy, busy.machine, **arguments)
    assert change.nodes == {"main": 160} and change.limit == DAY
    assert change.stays.tolist() == (busy.jobs["queue"] != "wide").tolist()
    assert change.text == (
        "25 % more nodes (160 in the place of 128) and a limit of 24 h after which jobs restart "
        "and without queue wide"
    )
    some = pd.Series(np.where(busy.jobs["user"] == "2", 0.5, 1.0))
    text = change_of(busy, busy.machine, None, None, None, some).text
    assert text == f"run times × 0.5 of {int((busy.jobs['user'] == '2').sum())} jobs"


def test_what_answers_say_of_themselves_is_counted_in_the_stored_cells():
    rows = coverage.stored("held-back")
    numbers = rows[rows["answer"] == "number"]
    cells, pairs = (numbers[numbers["by"] == by] for by in ("all", "pair"))

    def held(part):
        return evidence.Held(int(coverage.holds(part).sum()), len(part))

    by_change = {name: held(part) for name, part in cells.groupby("change")}
    assert by_change == {
        "+10 % nodes": evidence.NODES[0.1],
        "+25 % nodes": evidence.NODES[0.25],
        "-5 % nodes": evidence.NODES[-0.05],
        "run x .9": evidence.TIMES,
        "without a user": evidence.USER,
        "limit": evidence.LIMIT,
    }
    assert (held(cells), held(pairs)) == (evidence.EVERY, evidence.PAIRS)
    assert coverage.ordered(pairs) == evidence.ORDERED
    short = cells["days"] < evidence.SHORT / DAY
    assert (held(cells[short]), held(cells[~short])) == (evidence.OF_SHORT, evidence.OF_LONG)
    said = [coverage.stored(which) for which in ("open", "held-back")]
    counted = np.sum([coverage.no_help(each[each["by"] == "all"]) for each in said], axis=0)
    assert tuple(counted) == evidence.NO_HELP


def test_stored_cells_are_those_of_the_lists():
    for which, lists in coverage.LISTS.items():
        rows = coverage.stored(which)
        cells = rows[rows["by"] == "all"]
        assert {*zip(cells["log"], cells["scheduler"], strict=True)} == {
            (name, scheduler) for name, schedulers in lists.items() for scheduler in schedulers
        }
        assert not cells.duplicated(["log", "scheduler", "change"]).any()


def test_a_cell_is_scored_beside_its_truth(tmp_path, monkeypatch):
    monkeypatch.setattr(truth, "CHANGES", {"+10 % nodes": {"nodes": "+10%"}})
    monkeypatch.setitem(truth.SYNTHETIC, "small", (0.6, 3))
    rows = pd.DataFrame(coverage.cell_rows(tmp_path, "small", "first fit"))
    assert rows["by"].tolist()[0] == "all" and (rows["true"] > 0).all()
    found = coverage.summary(rows[rows["by"] == "all"], "change")
    assert found["cells"].tolist() == [1, 1] and found["no answer %"].tolist() == [0, 0]
    assert (rows.loc[rows["by"] == "all", "answer"] == "number").all()


@pytest.mark.traces
def test_latencies_and_answers_of_real_logs(trace_path):
    kth = what_if(load(trace_path("KTH-SP2-1996-2.1-cln.swf.gz")), nodes="+10%")
    assert kth.reason == "" and 600 < kth.latency < 1800 and kth.table["ratio"][0] < 1
    theta = what_if(load(trace_path("theta-2023-prod.swf.gz")), nodes="+10%")
    assert "on the same machine gives" in theta.sentence and 120 < theta.latency < 300


def test_the_front_door_has_it():
    assert lab.what_if is what_if and cs.System is System


def test_a_machine_too_small_for_all_jobs_has_no_number():
    answer = what_if(log((0, 0, 1, 3), (0, 1, 1, 3)), nodes=2)
    assert answer.too_wide["nodes"].tolist() == [3, 3] and answer.sentence.startswith("No number")
