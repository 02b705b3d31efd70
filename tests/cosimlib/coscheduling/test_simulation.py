"""Coscheduling: Algorithm 1 case by case, the slow version, laws, deadlock, and bad input."""

from io import StringIO

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings

from cosimlib.audit import audit
from cosimlib.batch import simulate_easy
from cosimlib.coscheduling import audit_coupled, simulate_coscheduling
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError, Workload
from tests.cosimlib.coscheduling.instances import instances, naive_run, simulated
from tests.cosimlib.coscheduling.naive import Coupled
from tests.strategies import workloads

FOUR = System.of(A=4, B=4)
HEADING = "partition submit_time run_time requested_time nodes mate  HH HY YH YY\n"
GOLDEN = {
    "no mates: all jobs start": """
        A            0       10             10     4    -   0  0  0  0
        B            1       10             10     4    -   1  1  1  1
""",
    "unsubmitted: job 0 holds or yields; then its mate finds it holding, or queuing": """
        A            0       10             10     2    1   5  5  5  5
        B            5       10             10     2    0   5  5  5  5
""",
    "queuing, and cannot start yet: what A's job 3 may use meanwhile depends on A's scheme": """
        B            0       10             10     4    -   0  0  0  0
        A            1       10             10     2    2  10 10 10 10
        B            2       10             10     2    1  10 10 10 10
        A            3        5              5     4    -  20 20  3  3
""",
    "queuing, and can start: neither holds nor yields": """
        A            1       10             10     2    1   1  1  1  1
        B            1       10             10     2    0   1  1  1  1
""",
    "A is full at t=1: B's job 2 holds and is ready at t=10, or yields, and job 3 overtakes": """
        A            0       10             10     4    -   0  0  0  0
        A            1       10             10     2    2  10 22 10 22
        B            1       10             10     2    1  10 22 10 22
        B            2       20             20     3    -  20  2 20  2
""",
    "at t=10 A's job 4 has B pass for job 5: job 3 may start, job 2, mate of job 6, not": """
        B            0       10             10     4    -   0  0  0  0
        A            0       10             10     4    -   0  0  0  0
        B            1       10             10     4    6 100 100 100 100
        B            2        5              5     3    -  10 10 10 10
        A            3        5              5     2    5  10 10 10 10
        B            3        5              5     1    4  10 10 10 10
        A          100       10             10     1    2 100 100 100 100
""",
}  # four nodes a machine, all of which may be held; queues in order of submission


def table_of(text):
    return pd.read_csv(StringIO(HEADING + text.strip()), sep=r"\s+", na_values="-")


def coupled(table, name="golden"):
    columns = HEADING.split()[:6]
    return Workload(table[columns].astype({"mate": "Int64"}), name)


def deadlock():
    """a1 holds and waits for b1, behind b2, which holds and waits for a2, behind a1."""
    jobs = pd.DataFrame(
        {
            "submit_time": [0, 60, 120, 180],
            "run_time": 1200,
            "requested_time": 1200,
            "nodes": 3,
            "partition": list("ABBA"),
            "mate": [2, 3, 0, 1],
        }
    )
    return Workload(jobs, "deadlock"), System.of(A=5, B=5)


@pytest.mark.parametrize("scheme", ["HH", "HY", "YH", "YY"])
@pytest.mark.parametrize("case", GOLDEN)
def test_golden_tables(case, scheme):
    table = table_of(GOLDEN[case])
    schedule = simulate_coscheduling(
        coupled(table), FOUR, schemes=scheme, order="submit", held_share=1.0
    )
    assert audit(schedule).start_time.tolist() == table[scheme].tolist()
    assert schedule.policy == scheme


@settings(max_examples=150)
@given(instances())
def test_agrees_with_the_slow_version(instance):
    schedule, expected = simulated(instance), naive_run(instance)
    jobs = range(len(schedule.start_time))
    starts = [expected.start.get(job, np.nan) for job in jobs]
    np.testing.assert_array_equal(schedule.start_time, starts)
    tries = [expected.first_try.get(job, np.nan) for job in jobs]
    np.testing.assert_array_equal(schedule.first_try, tries)
    if not len(schedule.stuck):
        assert schedule.yields.tolist() == [expected.yields[job] for job in jobs]
        assert sorted(schedule.holds.itertuples(index=False, name=None)) == sorted(expected.holds)


@settings(max_examples=60)
@given(instances(releases=(5, 20, 1200)))
def test_with_releases_all_jobs_start_and_the_audit_agrees(instance):
    assert not len(audit(simulated(instance, mate_rule="queuing")).stuck)


@settings(max_examples=40)
@given(instances(outages=False))
def test_yielding_holds_nothing_and_never_deadlocks(instance):
    schedule = audit(simulated(instance, schemes="Y", max_yields=None, release_interval=None))
    assert schedule.holds.empty


@settings(max_examples=40)
@given(instances(outages=False))
def test_shifted_times_shift_the_schedule(instance):
    jobs, *rest = instance
    later = [{**job, "submit": job["submit"] + 4096} for job in jobs]
    np.testing.assert_array_equal(
        simulated((later, *rest)).start_time, simulated(instance).start_time + 4096
    )


@settings(max_examples=60)
@given(workloads(max_jobs=20, overruns=True))
def test_one_machine_in_order_of_submission_is_easy(workload):
    knobs = {"order": "submit", "least_remaining": 0.0}
    schedule = simulate_coscheduling(workload, System.of(8), **knobs)
    expected = simulate_easy(workload, System.of(8))
    assert schedule.start_time.tolist() == expected.start_time.tolist()


@settings(max_examples=30)
@given(instances(outages=False))
def test_the_base_does_not_know_mates(instance):
    jobs, *rest = instance
    single = [{**job, "mates": []} for job in jobs]
    base = simulated(instance, schemes=None)
    assert base.policy == "base"
    assert base.start_time.tolist() == simulated((single, *rest)).start_time.tolist()


def test_a_release_ends_the_deadlock():
    """At 1,200 s a1 and b2 are last in their queues, so a2 starts, and with it b2; then a1, b1."""
    workload, system = deadlock()
    schedule = audit(simulate_coscheduling(workload, system, schemes="HH"))
    assert schedule.start_time.tolist() == [2400, 1200, 2400, 1200]
    assert schedule.holds.to_numpy().tolist() == [[0, 0, 1200], [1, 60, 1200]]
    assert schedule.first_try.tolist()[:2] == [0, 60]


@pytest.mark.parametrize("mate_rule", ["queuing", "yielding"])
@pytest.mark.parametrize("release_offset", [0, 1, 60])
@pytest.mark.parametrize("release_interval", [None, 300, 1200])
def test_releases_end_the_deadlock_by_either_rule_if_not_at_one_instant(
    mate_rule, release_offset, release_interval
):
    """Where a1 and b2 are released at once, each holds again before a2 and b1 have yielded.

    Every 300 s they are not released at once: a1 has held for 600 s at 600 s, b2 at 900 s.
    """
    workload, system = deadlock()
    knobs = {"mate_rule": mate_rule, "release_offset": release_offset}
    schedule = simulate_coscheduling(workload, system, release_interval=release_interval, **knobs)
    at_once = release_interval == 1200 and release_offset == 0
    for_ever = release_interval is None or (mate_rule == "yielding" and at_once)
    assert schedule.stuck.tolist() == ([0, 1, 2, 3] if for_ever else [])
    audit_coupled(schedule, all_start=not for_ever)


def crossed_pairs():
    """Four pairs of which one job fits at a time; A's first two are the mates of B's last two."""
    jobs = {"submit_time": range(0, 80, 10), "run_time": 100, "requested_time": 100, "nodes": 3}
    jobs |= {"partition": list("AABBAABB"), "mate": [6, 7, 4, 5, 2, 3, 0, 1]}
    return Workload(pd.DataFrame(jobs), "crossed pairs"), System.of(A=5, B=5)


@pytest.mark.parametrize(
    ("release_offset", "first"), [(0, 1200), (1, 1200 * 1201), (60, 1260 * 20), (400, 4800)]
)
def test_jobs_that_hold_in_turn_start_when_both_machines_release_at_one_instant(
    release_offset, first
):
    """A released job is last, so that A holds for one of its first two in turn, and B likewise.

    Neither is the other's mate. Only where both are free at once does A find room for a mate on B;
    intervals of 1,200 and 1,201 s meet once in 16.7 days.
    """
    workload, system = crossed_pairs()
    knobs = {"order": "submit", "release_offset": release_offset}
    schedule = audit(simulate_coscheduling(workload, system, schemes="HH", **knobs))
    assert schedule.start_time.min() == first and not len(schedule.stuck)
    never = {"order": "submit", "release_interval": None}
    assert len(simulate_coscheduling(workload, system, schemes="HH", **never).stuck) == 8


def test_the_slow_version_has_the_patience_for_a_whole_beat():
    workload, system = crossed_pairs()
    table = workload.jobs
    jobs = [
        {
            "id": job,
            "machine": "AB".index(row.partition),
            "submit": row.submit_time,
            "run": 100,
            "requested": 100,
            "nodes": 3,
            "mates": [row.mate],
        }
        for job, row in enumerate(table.itertuples())
    ]
    expected = Coupled(jobs, [5, 5], "HH", order="submit", offset=1).simulate()
    knobs = {"order": "submit", "release_offset": 1.0}
    schedule = simulate_coscheduling(workload, system, schemes="HH", **knobs)
    assert schedule.start_time.tolist() == [expected.start[job] for job in range(8)]


slow = pytest.mark.compiled("two weeks of releases, a second apart, need compiled kernels")


@pytest.mark.parametrize(
    ("mate_rule", "offset"), [("queuing", 0.0), pytest.param("yielding", 1.0, marks=slow)]
)
def test_each_rule_of_mates_has_the_offset_of_its_own_source(mate_rule, offset):
    workload, system = crossed_pairs()
    knobs = {"mate_rule": mate_rule, "order": "submit"}
    default = simulate_coscheduling(workload, system, **knobs)
    given = simulate_coscheduling(workload, system, release_offset=offset, **knobs)
    other = simulate_coscheduling(workload, system, release_offset=1.0 - offset, **knobs)
    np.testing.assert_array_equal(default.start_time, given.start_time)
    assert default.longest_hold == given.longest_hold == 1800 + offset
    assert default.longest_hold != other.longest_hold


def test_each_machine_releases_at_multiples_of_an_interval_of_its_own():
    jobs = {"submit_time": [0, 0, 5000, 5000], "run_time": 60, "requested_time": 60, "nodes": 2}
    table = pd.DataFrame(jobs | {"partition": list("ABAB"), "mate": [3, 2, 1, 0]})
    workload = Workload(table, "late mates")
    schedule = audit(simulate_coscheduling(workload, FOUR, release_offset=7.0, held_share=1.0))
    ends = schedule.holds.groupby("job")["end"].apply(list).to_dict()
    assert ends == {0: [1200, 2400, 3600, 4800, 5000], 1: [1207, 2414, 3621, 4828, 5000]}


def test_releases_may_come_much_more_often_than_a_hold_lasts():
    workload, system = deadlock()
    schedule = simulate_coscheduling(workload, system, schemes="HH", release_interval=0.25)
    assert audit(schedule).start_time.tolist() == [1800, 600, 1800, 600]


def test_a_released_job_holds_again_if_its_nodes_stay_free():
    table = table_of("A 0 10 10 2 1 0 0 0 0\nB 3000 10 10 2 0 0 0 0 0")
    schedule = audit(simulate_coscheduling(coupled(table), FOUR, held_share=1.0))
    intervals = [[0, 0, 1200], [0, 1200, 2400], [0, 2400, 3000]]
    assert schedule.holds.to_numpy().tolist() == intervals
    assert schedule.start_time.tolist() == [3000, 3000]


def test_a_job_beyond_the_cap_yields_instead():
    table = table_of(next(table for case, table in GOLDEN.items() if "cannot start yet" in case))
    schedule = simulate_coscheduling(
        coupled(table), FOUR, schemes="HH", order="submit", held_share=0.25
    )
    assert schedule.start_time.tolist() == table["YY"].tolist()
    assert schedule.holds.empty and schedule.yields[1] > 0


def test_a_machine_of_one_node_may_hold_it_but_no_job_may_hold_more_than_the_limit():
    """60 % of one node is less than a node. A's limit is two nodes: its job of three yields."""
    table = table_of(
        """
        Q            0       10             10     1    1   5  5  5  5
        A            5       10             10     2    0   5  5  5  5
        A           20       10             10     3    3  25 25 25 25
        Q           25       10             10     1    2  25 25 25 25
        """
    )
    machines = System.of(A=4, Q=1)
    schedule = audit(simulate_coscheduling(coupled(table), machines, schemes="H"))
    assert schedule.start_time.tolist() == table["HH"].tolist()
    assert schedule.holds.to_numpy().tolist() == [[0, 0, 5]]
    assert schedule.yields.tolist() == [0, 0, 1, 0]
    nothing = audit(simulate_coscheduling(coupled(table), machines, schemes="H", held_share=0))
    assert nothing.holds.empty and nothing.yields.tolist() == [1, 0, 1, 0]


@settings(max_examples=30)
@given(instances(outages=False))
def test_yielding_no_times_is_holding(instance):
    never = simulated(instance, schemes="Y", max_yields=0)
    holding = simulated(instance, schemes="H", max_yields=None, most_idle=None)
    np.testing.assert_array_equal(never.start_time, holding.start_time)


def test_a_hold_is_refused_where_it_is_expected_to_cost_more_than_it_may():
    """A's job of 2 nodes may hold until job 0 ends, in 360 s: for 0.2 node-hours."""
    table = table_of(
        """
        B            0      360            360     4    -   0  0  0  0
        A            0       10             10     2    2   0  0  0  0
        B            0       10             10     2    1   0  0  0  0
        """
    )
    for most_idle, held in ((None, 1), (0.2, 1), (0.19, 0), (0, 0)):
        schedule = audit(simulate_coscheduling(coupled(table), FOUR, most_idle=most_idle))
        assert len(schedule.holds) == held and schedule.yields[1] == (not held)
        assert schedule.start_time.tolist() == [0, 360, 360]
    unknown = table.assign(submit_time=[0, 0, 1])
    for most_idle, held in ((None, 1), (1e9, 0)):
        schedule = audit(simulate_coscheduling(coupled(unknown), FOUR, most_idle=most_idle))
        assert len(schedule.holds) == held


def test_the_authors_code_tries_only_mates_that_yielded():
    """Mates submitted at once: by the slides the first tries the second, by the code it waits."""
    table = table_of("A 0 10 10 2 1 0 0 0 0\nB 0 10 10 2 0 0 0 0 0")
    slides = simulate_coscheduling(coupled(table), FOUR, schemes="Y")
    code = simulate_coscheduling(coupled(table), FOUR, schemes="Y", mate_rule="yielding")
    assert slides.start_time.tolist() == code.start_time.tolist() == [0, 0]
    assert slides.yields.tolist() == [0, 0]
    assert code.yields.tolist() == [1, 0]


def test_no_job_waits_for_a_machine_that_is_down():
    table = table_of("A 1 10 10 2 1 0 0 0 0\nB 2 10 10 2 0 0 0 0 0")
    schedule = audit(simulate_coscheduling(coupled(table), FOUR, outages=[("B", 0, 100)]))
    assert schedule.start_time.tolist() == [1, 100]


def test_a_job_that_holds_starts_when_the_other_machine_goes_down():
    table = table_of("A 1 10 10 2 1 0 0 0 0\nB 900 10 10 2 0 0 0 0 0")
    schedule = audit(simulate_coscheduling(coupled(table), FOUR, outages=[("B", 50, 60)]))
    assert schedule.start_time.tolist() == [50, 900]
    assert schedule.holds.to_numpy().tolist() == [[0, 1, 50]]


def test_three_machines_start_a_group_together():
    jobs = {"submit_time": [0, 5, 9], "run_time": 4, "requested_time": 4, "nodes": 2}
    table = pd.DataFrame(jobs | {"partition": list("ABC"), "mate": [1, 2, None]})
    system = System.of(A=2, B=2, C=2)
    schedule = audit(
        simulate_coscheduling(Workload(table, "three"), system, schemes="HYH", held_share=1.0)
    )
    assert schedule.start_time.tolist() == [9, 9, 9]
    assert schedule.holds.to_numpy().tolist() == [[0, 0, 9]]


def test_no_jobs_make_an_empty_schedule():
    empty = Workload(pd.DataFrame({"submit_time": [], "run_time": [], "nodes": []}), "no jobs")
    assert len(audit(simulate_coscheduling(empty, FOUR)).start_time) == 0


@given(instances())
@settings(max_examples=20)
def test_dropped_jobs_take_their_mates_links_along(instance):
    workload = simulated(instance).workload
    assume(len(workload) > 1)
    kept = workload.keep(np.arange(len(workload)) != 0, "the first")
    links = kept.jobs["mate"].dropna()
    for row, mate in links.items():
        assert workload.jobs["mate"][row + 1] == mate + 1


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"schemes": "HX"}, r"schemes='HX'; expected H .* for each of A, B, such as 'HY'"),
        ({"schemes": "HYH"}, "schemes='HYH'"),
        ({"order": "lifo"}, "order='lifo'; expected one of 'wfp', 'submit'"),
        ({"mate_rule": "all"}, "mate_rule='all'; expected one of 'queuing', 'yielding'"),
        ({"release_interval": 0}, "release_interval=0; expected seconds above 0, or None"),
        ({"release_after": -1}, "release_after=-1"),
        ({"most_idle": -1}, "most_idle=-1; expected node-hours from 0, or None for any number"),
        ({"release_offset": -1}, "release_offset=-1; expected seconds from 0"),
        ({"held_share": 60}, "held_share=60; expected a part of the machine from 0 to 1"),
        ({"max_yields": -1}, "max_yields=-1"),
        ({"least_remaining": np.nan}, "least_remaining=nan"),
        (
            {"outages": [("C", 0, 1)]},
            "partition='C'; expected one of 'A', 'B'",
        ),
        ({"outages": [("B", "1", "3")]}, r"outage=\('B', '1', '3'\); expected 0 <= start < end"),
        ({"outages": [("A", 5, 5)]}, "expected 0 <= start < end"),
        ({"outages": [("A", 5)]}, r"outage=\('A', 5\); expected \(partition, start, end\)"),
    ],
)
def test_knobs_that_make_no_sense_are_refused(knobs, message):
    workload, _ = deadlock()
    with pytest.raises(ValueError, match=message):
        simulate_coscheduling(workload, FOUR, **knobs)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mate": [9, 3, 0, 1]}, "deadlock: job 0 has mate=9; expected another row .* 0 to 3"),
        ({"mate": [0, 3, 0, 1]}, "job 0 has mate=0; expected another row"),
        ({"mate": [3, 2, 1, 0]}, "job 2 has a mate on its own partition 'B'"),
        ({"partition": list("ABBC")}, "job 3 asks for partition 'C'; the system has A, B"),
        ({"nodes": [3, 9, 3, 3]}, "job 1 asks for 9 nodes; partition 'B' has 5"),
        ({"requested_time": np.nan}, "job 0 has no requested_time"),
    ],
)
def test_workloads_that_cannot_run_are_refused(changes, message):
    workload, system = deadlock()
    with pytest.raises(InvalidWorkloadError, match=message):
        simulate_coscheduling(Workload(workload.jobs.assign(**changes), "deadlock"), system)
