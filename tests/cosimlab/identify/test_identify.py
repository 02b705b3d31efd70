"""`identify` names the rule of a schedule, or shows with few jobs that it is none of them."""

import functools
import itertools
import random
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import cosimlab as lab
import cosimlib as cs
from cosimlab.identify import RULES
from cosimlab.identify.command import main
from cosimlab.identify.replay import MOST_WRONG, RIGHT, WRONG
from cosimlab.identify.rules import chosen_rules
from tests.agreement import MACHINES
from tests.cosimlab.identify import accasim
from tests.cosimlab.identify.plain_easy import easy, forgetful_easy, log, running_mutants
from tests.suites import THOROUGH

DATA = Path(__file__).resolve().parents[2] / "data" / "identify"
FOUR = cs.System.of(4)
MOST = 10
"""Jobs of a witness."""

NAMED = {
    "fcfs_pyss": "FCFS",
    "easy_per_instant": "EASY",
    "easy_per_event": "EASY (per event)",
    "easy_per_event_cqsim": "EASY (per event)",
    "conservative_kept": "conservative",
    "conservative_replanned": "conservative (replanned)",
}
NEAREST = {
    "easy_pyss": {"EASY (per event)"},
    "conservative_kept_pyss": {"conservative"},
    "conservative_replanned_cqsim": {"conservative (replanned)"},
}
"""Columns of the oracles whose rule is one of ours; and others, with the nearest where it is not
named."""


def three(nodes=(3, 4, 1), last=9):
    times = {"submit_time": [0, 1, 2], "run_time": [10, 10, last], "requested_time": [10, 10, last]}
    return cs.Workload(pd.DataFrame(times | {"nodes": list(nodes)}), "three jobs")


@functools.cache
def busy(n=300, seed=1):
    """A log with queues, in whole seconds."""
    jobs = cs.synthetic.with_estimates(cs.synthetic.lublin(n, load=1.1, seed=seed), seed=seed).jobs
    run = np.ceil(jobs["run_time"]).clip(lower=1)
    request = np.maximum(np.ceil(jobs["requested_time"]), run)
    submit = np.floor(jobs["submit_time"])
    whole = jobs.assign(submit_time=submit, run_time=run, requested_time=request)
    return cs.Workload(whole, "busy", cs.System.of(128))


def workload_of(submit, run, requested, nodes, total):
    times = {"submit_time": submit, "run_time": run, "requested_time": requested}
    return cs.Workload(pd.DataFrame(times | {"nodes": nodes}), "random"), cs.System.of(total)


@pytest.mark.parametrize(
    ("starts", "sentence"),
    [
        (
            [0, 11, 2],
            "job 2 starts at 2 s; under EASY it would delay job 1's reservation at 10 s",
        ),
        (
            [0, 12, 22],
            "job 1 does not start at 10 s; under EASY it would: it is the head of the queue, and "
            "it fits on the 4 free nodes",
        ),
    ],
)
def test_the_witness_says_who_is_wrong_and_why(starts, sentence):
    found = lab.identify(three(), starts, system=FOUR, rules=["EASY"])
    assert not found.exact
    assert found.witness.sentence == sentence
    assert sentence in str(found)


def test_a_job_that_may_backfill_but_does_not():
    found = lab.identify(three(last=8), [0, 10, 20], system=FOUR, rules=["EASY"])
    assert found.witness.sentence == (
        "job 2 does not start at 2 s; under EASY it would: it fits on the 1 free node, and ends by "
        "job 1's reservation at 10 s"
    )
    found = lab.identify(three((3, 3, 1), last=20), [0, 10, 20], system=FOUR, rules=["EASY"])
    assert "within the 1 extra node of job 1's reservation" in found.witness.sentence


def test_the_reasons_of_other_rules():
    said = {
        rule: lab.identify(three(), [0, 11, 2], system=FOUR, rules=[rule]).witness.sentence
        for rule in ("FCFS", "conservative", "conservative (replanned)")
    }
    assert said["FCFS"].endswith("it would not overtake job 1, the head of the queue")
    assert said["conservative"].endswith("it has its reservation at 20 s")
    assert said["conservative (replanned)"].endswith("it has its reservation at 20 s")


def test_decisions_are_judged_from_the_record_and_not_from_the_rules_own_past():
    workload = busy()
    starts = cs.simulate_easy(workload, workload.machine).start_time
    exact = lab.identify(workload, starts, rules=["EASY"])
    assert exact.exact == ("EASY",)
    moved = starts.copy()
    last = int(np.argmax(starts))
    moved[last] += 5.0
    found = lab.identify(workload, moved, rules=["EASY"])
    assert 1 <= found.table["wrong"][0] <= 2


BY_DAY = list(RULES)[::3]


def test_the_rules_of_the_day_are_of_every_family_and_order():
    words = {word for name in RULES for word in re.split(r" ?[(),] ?", name)}
    assert {word for name in BY_DAY for word in re.split(r" ?[(),] ?", name)} == words


@pytest.mark.compiled("a hundred rules on 300 jobs")
@pytest.mark.parametrize("name", RULES if THOROUGH else BY_DAY)
def test_every_rule_is_true_of_its_own_schedule(name):
    workload = busy()
    rule = RULES[name]
    starts = rule.simulated(workload, workload.machine).start_time
    found = lab.identify(workload, starts, rules=[name])
    assert found.exact == (name,)
    assert found.table["equal_starts"][0] == 1.0


@pytest.mark.compiled("a hundred rules on 300 jobs")
def test_the_plainest_of_equal_rules_is_named():
    workload = busy()
    names = ("FCFS", "EASY", "EASY (per event, wfp)", "conservative")
    for name in names if THOROUGH else names[::2]:
        rule = RULES[name]
        found = lab.identify(workload, rule.simulated(workload, workload.machine))
        assert found.best == name
        assert name in found.sentence()


def test_starts_that_are_printed_in_whole_seconds():
    jobs = busy().jobs
    random_part = np.random.default_rng(1).random((2, len(jobs)))
    jobs = jobs.assign(
        submit_time=np.sort(jobs["submit_time"] + random_part[0]),
        run_time=jobs["run_time"] - 0.9 * random_part[1],
    )
    workload = cs.Workload(jobs, "fractions", cs.System.of(128))
    starts = cs.simulate_easy(workload, workload.machine).start_time
    for printed, precision in (
        (np.round(starts), 1),
        (np.floor(starts), 1),
        (starts.round(2), 0.01),
    ):
        found = lab.identify(workload, printed, rules=["EASY"])
        assert found.precision == precision
        assert found.table["equal_decisions"][0] > 0.98
        assert found.table["equal_starts"][0] > 0.98


def test_a_simulator_is_judged_on_the_smallest_log_that_shows_it():
    def no_extra(workload, system):
        schedule = cs.simulate_easy(workload, system, extra_nodes=False)
        return cs.Schedule.from_starts(workload, system, schedule.start_time, "mine")

    found = lab.identify(busy(100), no_extra, rules=["EASY"])
    assert len(found.smallest) <= 4
    assert len(found.witness.names) <= len(found.smallest)
    again = lab.identify(busy(100), no_extra, rules=["EASY", "EASY (no extra nodes)"])
    assert again.exact == ("EASY (no extra nodes)",)
    assert again.witness is None and again.smallest is None
    pair = ("EASY", {"extra_nodes": False})
    of_pair = lab.identify(busy(100), pair, rules=["EASY", "EASY (no extra nodes)"])
    assert of_pair.exact == ("EASY (no extra nodes)",)
    many = lab.identify(busy(100), "first fit")
    assert f"so do {len(many.exact) - 1} other rules" in many.sentence()


def test_input_that_is_no_schedule():
    with pytest.raises(
        cs.workload.InvalidWorkloadError, match="job 1 has start=0; expected a start"
    ):
        lab.identify(three(), [0, 0, 2], system=FOUR)
    with pytest.raises(cs.workload.InvalidWorkloadError, match="job 1 starts at t=5, when jobs"):
        lab.identify(three(), [0, 5, 2], system=FOUR)
    with pytest.raises(cs.workload.InvalidWorkloadError, match="one start per job, of 3 jobs"):
        lab.identify(three(), [0, 5], system=FOUR)
    with pytest.raises(ValueError, match="rules='SJF'; expected one of 'FCFS'"):
        lab.identify(three(), [0, 10, 20], system=FOUR, rules=["SJF"])
    with pytest.raises(ValueError, match="its machine is unknown"):
        lab.identify(three(), [0, 10, 20])
    with pytest.raises(cs.workload.InvalidWorkloadError, match="job 0 has start='a'; expected a"):
        lab.identify(three(), ["a", "b", "c"], system=FOUR)
    with pytest.raises(TypeError, match="rules is 3; expected names of rules"):
        lab.identify(three(), [0, 10, 20], system=FOUR, rules=3)
    with pytest.raises(TypeError, match="what the simulator returns is None; expected a Schedule"):
        lab.identify(three(), lambda workload, system: None, system=FOUR)
    with pytest.raises(TypeError, match=r"system is 4; expected a System, e\.g\. System\.of"):
        lab.identify(three(), [0, 10, 20], system=4)
    with pytest.raises(cs.workload.InvalidWorkloadError, match="start=1000000000000; expected a"):
        lab.identify(three(), [0, 10, 1e12], system=FOUR)
    with pytest.raises(cs.workload.InvalidWorkloadError, match="at t=1; are all times in seconds"):
        lab.identify(three(), [0, 0, 2], system=FOUR)


def test_starts_follow_their_index_and_a_schedule_is_of_the_same_jobs():
    jobs = three()
    sorted_otherwise = pd.Series([20, 10, 0], index=[2, 1, 0])
    found = lab.identify(jobs, sorted_otherwise, system=FOUR, rules=["EASY"])
    assert found.exact == ("EASY",)
    with pytest.raises(cs.workload.InvalidWorkloadError, match="the index of starts is not that"):
        lab.identify(jobs, pd.Series([0, 10, 20], index=[7, 8, 9]), system=FOUR)
    others = cs.Workload(jobs.jobs.assign(run_time=[10, 9, 9]))
    with pytest.raises(cs.workload.InvalidWorkloadError, match="job 1: differs in the schedule"):
        lab.identify(jobs, cs.simulate_easy(others, FOUR), system=FOUR)


def test_without_requests_only_rules_that_need_none_are_tried():
    workload = cs.Workload(three().jobs.drop(columns="requested_time"))
    found = lab.identify(workload, [0, 10, 20], system=FOUR)
    assert found.best == "FCFS"
    plans = ~found.table["rule"].str.contains("by true run times")
    assert set(found.table["rule"][plans].str.split().str[0]) == {"FCFS", "first"}


def test_rules_that_are_not_asked_are_counted_with_the_reason():
    jobs = three().jobs.assign(requested_time=[10.0, np.nan, 9.0])
    found = lab.identify(cs.Workload(jobs), [0, 10, 20], system=FOUR)
    said = (
        "144 rules (EASY, conservative …) were not asked: 1 job has no requested_time; fill it in"
    )
    assert said in found.sentence()
    assert said in str(found)
    both = lab.identify(cs.Workload(jobs), [0, 10, 20], system=FOUR, rules=["EASY", "FCFS"])
    assert "1 rule (EASY) was not asked" in both.sentence()
    assert lab.identify(three(), [0, 10, 20], system=FOUR).not_asked == ""
    with pytest.raises(
        cs.workload.InvalidWorkloadError, match="job 1 has no requested_time, which"
    ):
        lab.identify(cs.Workload(jobs), [0, 10, 20], system=FOUR, rules=["EASY"])


def test_the_witness_of_jobs_without_requests_runs_as_long_as_they_ran():
    workload = cs.Workload(three().jobs.drop(columns="requested_time"))
    found = lab.identify(workload, [0, 11, 2], system=FOUR, rules=["FCFS"])
    assert found.witness.sentence.endswith("would not overtake job 1, the head of the queue")
    assert found.witness.expected.jobs["run_time"].tolist() == [10, 10, 9]


def crowded(total=100):
    """A hundred jobs of one node, one by one, the last three with two on a machine of one."""
    submit_time = np.arange(total) * 10.0
    submit_time[-1] -= 5.0
    times = {"submit_time": submit_time, "run_time": 10.0, "requested_time": 10.0}
    return cs.Workload(pd.DataFrame(times | {"nodes": 1}), "crowded"), cs.System.of(1)


def test_instants_at_which_a_record_holds_too_many_nodes_are_left_out_and_counted():
    workload, system = crowded()
    starts = workload.jobs["submit_time"].to_numpy()
    found = lab.identify(workload, starts, system=system)
    assert {"FCFS", "EASY", "conservative", "conservative (replanned)"} <= set(found.exact)
    assert found.decisions == 99
    assert "1 job of 100 starts when more nodes are held than the 1 of the machine (up to 2)" in (
        str(found)
    )
    with pytest.raises(cs.workload.InvalidWorkloadError, match="and in all 1 job of 100 starts so"):
        lab.identify(
            workload,
            lambda jobs, machine: cs.Schedule.from_starts(jobs, machine, starts, "two"),
            system=system,
        )


def test_the_starts_of_a_real_log_with_a_few_overfull_instants_are_judged():
    """Three jobs of a busy log start too early, as if a clock were wrong."""
    workload = busy()
    starts = cs.simulate_easy(workload, workload.machine).start_time.copy()
    waits = starts - workload.jobs["submit_time"].to_numpy()
    run_time = workload.jobs["run_time"].where(waits > 600, np.inf)
    early = run_time.nsmallest(3).index
    starts[early] -= waits[early]
    found = lab.identify(workload, starts, rules=["EASY", "conservative"])
    assert found.best == "EASY"
    assert found.table["equal_decisions"][0] > 0.9
    assert "such instants are not judged" in str(found)


def test_job_numbers_that_several_jobs_have_are_not_used():
    jobs = three().jobs.assign(job_id=[7, 7, 8])
    found = lab.identify(cs.Workload(jobs), [0, 11, 2], system=FOUR, rules=["EASY"])
    assert found.witness.sentence.startswith("job 2 starts at 2 s")
    assert "job_id 7 names several jobs" in str(found)


def test_the_smallest_log_has_its_machine_and_is_python_that_shows_the_difference():
    def no_extra(workload, system):
        schedule = cs.simulate_easy(workload, system, extra_nodes=False)
        return cs.Schedule.from_starts(workload, system, schedule.start_time, "mine")

    found = lab.identify(busy(100), no_extra, rules=["EASY"])
    code = str(found).split("shows it:\n\n")[-1]
    names: dict = {}
    exec(code, names)
    workload, system = names["workload"], names["system"]
    assert system.total_nodes == found.smallest.machine.total_nodes < 128
    mine, easy_starts = (run(workload, system).start_time for run in (no_extra, cs.simulate_easy))
    assert (mine != easy_starts).any()
    assert ".0" not in code


@pytest.mark.compiled("hundreds of small replays")
def test_the_smallest_log_of_an_easy_that_forgets_to_count_extra_nodes_has_few_jobs():
    one = forgetful_easy()
    found = lab.identify(busy(200), as_simulator(one), rules=["EASY"])
    assert len(found.smallest) <= 5
    assert len(found.witness.names) <= len(found.smallest)


def test_errors_of_the_simulator_name_it_and_the_log():
    def fails(workload, system):
        raise RuntimeError("no")

    with pytest.raises(RuntimeError) as caught:
        lab.identify(three(), fails, system=FOUR)
    assert caught.value.__notes__ == ["raised by the simulator 'fails' on three jobs, 3 jobs"]


def test_the_orders_are_those_of_the_package():
    assert {rule.order for rule in chosen_rules(None)} == set(cs.batch.ORDERS)


def test_rules_by_true_run_times_are_asked_where_they_may_differ():
    """FCFS and first fit read the lengths of jobs for their order only."""
    by_run_time = {name for name in RULES if "by true run times" in name}
    assert not by_run_time & {"FCFS (by true run times)", "first fit (by true run times)"}
    assert {
        "FCFS (by true run times, shortest)",
        "first fit (per event, by true run times, sjbf)",
        "EASY (per event, no extra nodes, by true run times)",
        "conservative (by true run times, F1)",
    } <= by_run_time
    assert len(RULES) == 269 and "FCFS (sjbf)" not in RULES
    workload = busy(120)
    for name, rule in RULES.items():
        if rule.family.plans_by or ("first fit" not in name and "FCFS" not in name):
            continue
        plain = rule.simulated(workload, workload.machine).start_time
        by_run = rule._replace(family=rule.family._replace(plans_by="by true run times"))
        other = by_run.simulated(workload, workload.machine).start_time
        if by_run.equals_another:
            assert (plain == other).all(), name


@pytest.mark.compiled("a dozen rules on 2,000 jobs")
def test_rules_that_are_left_early_do_not_look_better():
    """All rules have the same decisions; the greater share has no more wrong ones in those of both.

    A rule is left after a thousand wrong decisions: so it never looks better than one that is not.
    """
    workload = busy(2000)
    starts = cs.simulate_fcfs(workload, workload.machine).start_time
    orders = ("shortest", "largest", "wfp", "F1")
    names = ["FCFS", "first fit", "EASY", *(f"EASY ({order})" for order in orders)]
    names += [f"FCFS ({order})" for order in orders]
    asked = [RULES[name].prepared(workload, workload.machine) for name in names]
    found = [RULES[name].asked(run, starts).noted for name, run in zip(names, asked, strict=True)]
    last = np.concatenate([starts, starts + workload.jobs["run_time"]]).max()
    whole = [
        RULES[name].asked(run, starts, until=last).noted
        for name, run in zip(names, asked, strict=True)
    ]
    judged = [noted[np.isin(noted, (RIGHT, WRONG))] == WRONG for noted in found]
    decisions = [np.flatnonzero(np.isin(noted, (RIGHT, WRONG))) for noted in whole]
    assert all((each == decisions[0]).all() for each in decisions)
    for noted, wrong, all_noted in zip(found, judged, whole, strict=True):
        until = np.flatnonzero(noted)[-1] + 1
        assert (noted[:until] == all_noted[:until]).all()
        assert len(wrong) == len(decisions[0]) or wrong.sum() == MOST_WRONG
    is_left = [len(wrong) < len(decisions[0]) for wrong in judged]
    assert any(is_left) and not all(is_left)
    for one, other in itertools.permutations(judged, 2):
        if one.mean() < other.mean():
            both = min(len(one), len(other))
            assert one[:both].sum() <= other[:both].sum()


def test_jobs_that_begin_together_end_in_the_order_in_which_the_rule_began_them():
    """Job 4 and then job 3 begin at 9 s, and end at 12 s: the nodes of job 4 are free first."""
    jobs = pd.DataFrame(
        {
            "submit_time": [0, 0, 0, 1, 1, 1],
            "run_time": [9, 9, 3, 3, 3, 9],
            "requested_time": [19, 19, 13, 13, 8, 9],
            "nodes": [3, 1, 2, 1, 2, 3],
        }
    )
    workload = cs.Workload(jobs, "together")
    rule = "first fit (per event, shortest)"
    starts = RULES[rule].simulated(workload, FOUR).start_time
    assert lab.identify(workload, starts, system=FOUR, rules=[rule]).exact == (rule,)


def test_a_simulator_that_makes_no_schedule_of_small_logs():
    """What raises an error, or starts jobs too early or never, is no schedule of a smaller log."""

    def picky(workload, system):
        schedule = cs.simulate_easy(workload, system, extra_nodes=False)
        starts, n = schedule.start_time.copy(), len(workload)
        if n < 5:
            raise {0: ZeroDivisionError, 1: KeyError, 2: RuntimeError}[n % 3](n)
        if n < 8:
            starts[0] = np.nan if n % 2 else -1.0
        return cs.Schedule.from_starts(workload, system, starts, "picky")

    found = lab.identify(busy(60), picky, rules=["EASY"])
    assert len(found.smallest) >= 8 and found.witness is not None


def test_the_stored_schedule_is_what_accasim_makes():
    """The jobs are drawn anew; AccaSim, where this environment has it, schedules them anew."""
    stored, table = pd.read_csv(DATA / "accasim.csv"), accasim.jobs()
    pd.testing.assert_frame_equal(stored[accasim.COLUMNS], table)
    reason = accasim.missing(sys.executable)
    if reason:
        pytest.skip(reason)
    assert accasim.starts(sys.executable, table).tolist() == stored["start_time"].tolist()


def test_accasim_leaves_nodes_idle_for_a_reservation_that_is_over():
    jobs = pd.read_csv(DATA / "accasim.csv")
    found = lab.identify(cs.Workload(jobs, "AccaSim"), jobs["start_time"], system=cs.System.of(128))
    assert not found.exact
    assert found.best == "EASY (no extra nodes, by true run times, largest)"
    assert 0.82 < found.table["equal_decisions"][0] < 0.83
    shares = found.table.set_index("rule")
    assert 0.78 < shares.loc["first fit", "equal_decisions"] < 0.80
    assert shares["equal_starts"].idxmax() == "first fit"
    assert len(found.witness.names) <= MOST


def test_the_command(tmp_path, capsys):
    path, figure, table = tmp_path / "jobs.csv", tmp_path / "w.html", tmp_path / "t.csv"
    three().jobs.assign(start_time=[0, 11, 2]).to_csv(path, index=False)
    asked = [str(path), "--nodes", "4", "--rules", "EASY", "--figure", str(figure)]
    assert main([*asked, "--table", str(table)]) == 3
    assert "would delay job 1's reservation at 10 s" in capsys.readouterr().out
    assert "as recorded" in figure.read_text(encoding="utf-8")
    assert pd.read_csv(table)["rule"].tolist() == ["EASY"]
    three().jobs.assign(begin=[0, 10, 20]).to_csv(path, index=False)
    no_witness = tmp_path / "none.html"
    exact = [str(path), "--nodes", "4", "--starts", "begin"]
    assert main([*exact, "--figure", str(no_witness)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Identification jobs: FCFS")
    assert "none.html is not written: there is no witness" in printed and not no_witness.exists()
    assert main([str(path), "--nodes", "4", "--starts", "other"]) == 1
    assert "no column other; name the column of starts, as --starts NAME; the columns are" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("columns", "more", "said"),
    [
        ({}, ["--nodes", "4"], "no column start_time; name the column of starts, as --starts"),
        ({"start_time": [0, 10, 20]}, [], "the nodes of the machine are unknown; give them, as"),
        (
            {"start_time": [0, 10, 20]},
            ["--nodes", "3"],
            "line 3 has nodes=4; expected 3 nodes at most, as the machine has; give its size",
        ),
        (
            {"start_time": [0, 0.2, 20]},
            ["--nodes", "4"],
            "line 3 has start_time=0.2; expected a start that is not before its submission at 100; "
            "are all times in seconds?",
        ),
        (
            {"start_time": [0, None, 20]},
            ["--nodes", "4"],
            "line 3 has start_time=''; expected a start in seconds",
        ),
        (
            {"start_time": [0, 110, 300], "requested_time": [None] * 3},
            ["--nodes", "4", "--rules", "EASY"],
            "job 0 has no requested_time",
        ),
    ],
)
def test_errors_of_the_command_name_the_file_and_say_what_to_do(
    columns, more, said, tmp_path, capsys
):
    path = tmp_path / "mine.csv"
    jobs = three().jobs.assign(submit_time=[0, 100, 200], **columns)
    jobs.to_csv(path, index=False)
    assert main([str(path), *more]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"identify: {path}: ")
    assert said in error


def test_the_command_says_which_rules_are_not_asked(tmp_path, capsys):
    path = tmp_path / "mine.csv"
    jobs = three().jobs.drop(columns="requested_time").assign(start_time=[0, 10, 20])
    jobs.to_csv(path, index=False)
    assert main([str(path), "--nodes", "4"]) == 0
    assert "144 rules (EASY, conservative …) were not asked: 3 jobs" in capsys.readouterr().out


def test_the_figure_of_the_command_is_what_its_name_says(tmp_path, capsys):
    path = tmp_path / "jobs.csv"
    three().jobs.assign(start_time=[0, 11, 2]).to_csv(path, index=False)
    asked = [str(path), "--nodes", "4", "--rules", "EASY", "--figure"]
    assert main([*asked, str(tmp_path / "witness.doc")]) == 1
    assert "expected a name that ends in .html, .png, .pdf, .svg" in capsys.readouterr().err
    assert not (tmp_path / "witness.doc").exists()


def test_the_picture_has_both_plans():
    found = lab.identify(three(), [0, 11, 2], system=FOUR, rules=["EASY"])
    figure = lab.figures.plot_witness(found.witness)
    assert [each.text for each in figure.layout.annotations][:2] == ["as recorded", "under EASY"]
    named = {trace.name for trace in figure.data if len(trace.y)}
    assert "starts now, in one of the two only" in named
    assert figure.layout.title.text == "Job 2: a decision that EASY would not make"
    assert figure.layout.xaxis2.title.text == "seconds from the decision at 2 s"
    assert tuple(figure.layout.xaxis.range) == (-2.0, 27.0)


def test_the_name_of_a_thin_job_stands_outside_of_its_bar():
    jobs = three((30, 40, 1)).jobs
    found = lab.identify(cs.Workload(jobs), [0, 11, 2], system=cs.System.of(40), rules=["EASY"])
    nodes = found.witness.workload.jobs["nodes"].tolist()
    figure = lab.figures.plot_witness(found.witness)
    outside = [each.text for each in figure.layout.annotations[2:]]
    assert outside == [
        f"<b>{name}</b>"
        for _ in range(2)
        for name, width in zip(found.witness.names, nodes, strict=True)
        if width < 0.12 * found.witness.expected.total_nodes
    ]
    assert outside
    with pytest.raises(TypeError, match="expected a Witness"):
        lab.figures.plot_witness(found)


def test_only_a_witness_can_be_drawn():
    found = lab.identify(three(), [0, 11, 2], system=FOUR, rules=["EASY"])
    with pytest.raises(TypeError, match="expected a Witness"):
        lab.figures.plot_witness(found)


# --- oracles --------------------------------------------------------------------------------------


@pytest.mark.oracles
@pytest.mark.compiled("a hundred rules on thousands of jobs")
@pytest.mark.parametrize("name", MACHINES if THOROUGH else ["sdsc5k"])
def test_the_schedules_of_other_simulators(name, oracle_path):
    table = pd.read_csv(oracle_path(f"{name}.csv.gz"))
    workload = cs.Workload(table[["submit_time", "run_time", "nodes", "requested_time"]], name)
    columns = table.columns.intersection([*NAMED, *NEAREST])
    for column in columns if THOROUGH else columns[::3]:
        found = lab.identify(workload, table[column], system=cs.System.of(MACHINES[name]))
        if column in NAMED:
            assert NAMED[column] in found.exact, (column, found)
        elif found.exact:
            same = [NAMED.get(other) for other in columns if table[other].equals(table[column])]
            assert {*same, *NEAREST[column]}.intersection(found.exact), (column, found)
        else:
            assert found.best in NEAREST[column], (column, found)
        if found.witness is not None:
            assert len(found.witness.names) <= MOST, (column, found.witness)


# --- mutants --------------------------------------------------------------------------------------


def test_the_plain_easy_is_easy():
    drawn, plain = random.Random(0), easy()
    for _ in range(60):
        jobs = log(drawn)
        assert plain(*jobs) == cs.simulate_easy(*workload_of(*jobs)).start_time.tolist()


def as_simulator(one):
    """A mutant as a simulator that `identify` may call."""

    def simulate(workload, system):
        jobs = workload.jobs[["submit_time", "run_time", "requested_time", "nodes"]].astype(int)
        starts = one(*(jobs[name].tolist() for name in jobs), system.total_nodes)
        return cs.Schedule.from_starts(workload, system, np.array(starts), "mutant")

    return simulate


def caught(one, jobs):
    """Jobs of the smallest log and of the witness of a mutant; None where no starts are possible.

    No machine could follow such starts: a job starts too early, or more nodes are held than are
    there. The error names the job.
    """
    workload, system = workload_of(*jobs)
    try:
        found = lab.identify(workload, as_simulator(one), system=system, rules=["EASY"])
    except cs.workload.InvalidWorkloadError as error:
        assert "job" in str(error)
        return None
    assert not found.exact
    return len(found.smallest), len(found.witness.names)


def first_difference(one, plain, logs):
    """The first log on which a mutant is not EASY; None where it is on all."""
    return next((jobs for jobs in logs if one(*jobs) != plain(*jobs)), None)


@pytest.mark.compiled("hundreds of small replays")
def test_mutants_of_easy_are_caught_with_a_small_witness():
    """Mutants are chosen on the first logs; those that are EASY there are compared on all."""
    drawn, plain = random.Random(1), easy()
    logs = [log(drawn) for _ in range(10_000 if THOROUGH else 150)]
    first = logs[: 1_000 if THOROUGH else 150]
    equal, impossible, sizes = [], [], {}
    for seed, one in running_mutants(200 if THOROUGH else 10, first):
        differs = first_difference(one, plain, logs)
        if differs is None:
            equal.append(seed)
            continue
        size = caught(one, differs)
        if size is None:
            impossible.append(seed)
            continue
        assert max(size) <= MOST, (seed, size)
        sizes[seed] = size
    largest = [max(each) for each in zip(*sizes.values(), strict=True)]
    print(f"caught {len(sizes)}, impossible {len(impossible)}, equal {equal}; largest {largest}")
    if THOROUGH:
        assert (len(sizes), len(impossible), len(equal)) == (145, 41, 14)
    else:
        assert len(sizes) >= 6
