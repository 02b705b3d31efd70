"""The advice is the least loss that enumeration finds, whatever shares which node."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlab.advise import CheckpointModel, advise, commands_of, read_cluster, text_of
from cosimlab.advise import advice as advice_module
from cosimlab.advise.advice import plan_for, spectrum_of
from cosimlab.advise.checkpoints import Application
from cosimlab.advise.snapshot import useful_groups
from cosimlib.eviction import EvictionProblem, solve_overlapping
from tests.cosimlab.advise import naive
from tests.cosimlab.advise.queues import DIALECTS, NOW, Job, machine_of

STEP = 60
BANDWIDTH = 1.0
MODEL = CheckpointModel(
    (
        Application(
            "both", {"job_name": "both*"}, ("app", "sys"), interval=1800, memory=120, critical=45
        ),
        Application("app", {"job_name": "app*"}, ("app",), interval=600, memory=60, critical=70),
        Application("sys", {"job_name": "sys*"}, ("sys",), memory=100),
        Application("kept", {"job_name": "kept*"}, evict=False),
    ),
    aggregate_bandwidth=BANDWIDTH,
    node_bandwidth=BANDWIDTH,
)
RULES = {
    "both": (1800, 45, 120),
    "app": (600, 70, math.inf),
    "sys": (None, math.inf, 100),
    "kill": (None, math.inf, math.inf),
    "kept": (None, math.inf, math.inf),
}
"""Interval, critical data and memory (GB per node) of `MODEL`, by kind of job."""


def plain(job: Job) -> naive.Plain:
    """What the model says of a job, reckoned by hand."""
    interval, critical, memory = RULES[job.name]
    n = len(job.hosts)
    lost = job.ran if interval is None else job.ran % interval
    share = (job.cpus or 4 * n) / (4 * n)
    alive = job.state == "RUNNING"
    until = math.inf if job.left is None or job.state == "SUSPENDED" else job.left
    if job.state == "COMPLETING":
        until = 1.0
    return naive.Plain(
        frozenset(job.hosts),
        until,
        n * share * lost / 3600,
        interval - job.ran % interval if interval and alive else math.inf,
        n * critical / BANDWIDTH if interval and alive else math.inf,
        n * memory / BANDWIDTH if alive else math.inf,
        job.name != "kept" and job.state != "COMPLETING" and not job.reservation,
        job.leader,
    )


@st.composite
def clusters(draw):
    """Up to six jobs on up to seven nodes, some shared, some drained."""
    total = draw(st.integers(1, 7))
    names = [f"n{n}" for n in range(1, total + 1)]
    jobs = []
    for number in range(1, draw(st.integers(0, 6)) + 1):
        hosts = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
        state = draw(st.sampled_from(["RUNNING"] * 6 + ["SUSPENDED", "COMPLETING"]))
        ran = draw(st.integers(0, 7200))
        jobs.append(
            Job(
                number,
                tuple(sorted(hosts)),
                ran,
                draw(st.sampled_from([None, 30, 90, 200, 9000])),
                state,
                draw(st.sampled_from(list(RULES))),
                cpus=draw(st.integers(1, 4)) * len(hosts),
                leader=draw(st.sampled_from([0, 0, 0, 900])),
                resumed=(50, ran) if state == "SUSPENDED" else None,
                reservation=draw(st.sampled_from([""] * 7 + ["maint"])),
            )
        )
    drained = draw(st.lists(st.sampled_from(names), max_size=2, unique=True))
    flags = dict.fromkeys(drained, ("MIXED", "DRAIN"))
    return machine_of(tuple(jobs), total, **flags), set(names) - set(drained)


@settings(deadline=None, max_examples=60)
@given(clusters(), st.sampled_from(DIALECTS), st.integers(1, 7))
def test_the_loss_is_the_least_over_all_sets_of_groups(tmp_path_factory, made, dialect, needed):
    machine, usable = made
    cluster = read_cluster(*machine.save(tmp_path_factory.mktemp("q"), dialect), now=NOW)
    advice = advise(needed, cluster, within=240, step=STEP, model=MODEL)
    jobs = [plain(job) for job in machine.jobs]
    leaders = {job.leader for job in jobs if job.leader and not job.stoppable}
    jobs = [
        naive.Plain(**{**vars(job), "stoppable": False}) if job.leader in leaders else job
        for job in jobs
    ]
    for row in advice.table().itertuples():
        loss, reachable = naive.least(jobs, usable, needed, int(row.deadline), STEP)
        assert row.reachable == reachable
        if math.isinf(loss):
            assert math.isnan(row.loss) and reachable < needed
            continue
        assert row.loss == pytest.approx(loss, abs=1e-6)
        assert row.proven
        assert row.free + row.end + row.freed >= needed or row.free + row.end >= needed
        assert row.ready <= row.deadline
    feasible = advice.table()["loss"].dropna().tolist()
    assert feasible == sorted(feasible, reverse=True), "more time must not cost more"


@settings(deadline=None, max_examples=25)
@given(clusters(), st.integers(1, 7))
def test_what_is_stopped_frees_what_is_promised(tmp_path_factory, made, needed):
    machine, usable = made
    cluster = read_cluster(*machine.save(tmp_path_factory.mktemp("q")))
    advice = advise(needed, cluster, within=240, step=STEP, model=MODEL)
    for choice in advice.choices:
        if not choice.possible:
            continue
        gone = set(choice.jobs()["job"].tolist())
        stay = {
            row
            for row, job in enumerate(machine.jobs)
            if row not in gone and plain(job).until > choice.moment.deadline
        }
        occupied = {host for row in stay for host in machine.jobs[row].hosts}
        assert len(usable - occupied) >= needed
        told = {machine.jobs[row].leader for row in gone} - {0}
        split = [row for row in stay if machine.jobs[row].leader in told]
        assert not split, "a heterogeneous job goes as a whole"
        assert commands_of(advice, choice.moment.deadline)


@settings(deadline=None, max_examples=25)
@given(clusters())
def test_the_spectrum_is_the_advice_for_every_number_of_nodes(tmp_path_factory, made):
    machine, _ = made
    cluster = read_cluster(*machine.save(tmp_path_factory.mktemp("q")))
    first = advise(1, cluster, within=240, step=STEP, model=MODEL)
    losses = spectrum_of(first)
    most = max(choice.moment.reachable for choice in first.choices)
    assert losses.index.tolist() == list(range(most + 1))
    assert (losses.loc[0] == 0).all()
    for needed in range(1, most + 1):
        told = advise(needed, cluster, within=240, step=STEP, model=MODEL).table()["loss"]
        assert losses.loc[needed].tolist() == pytest.approx(told.tolist(), abs=1e-6, nan_ok=True)


GROUPS = st.lists(
    st.tuples(
        st.integers(1, 5),
        st.integers(0, 4),
        st.sampled_from([0.0, 60.0, 120.0, 900.0]),
        st.sampled_from([20.0, 60.0, 100.0, math.inf]),
        st.sampled_from([30.0, 90.0, math.inf]),
    ),
    min_size=1,
    max_size=30,
)


@settings(deadline=None, max_examples=60)
@given(GROUPS, st.integers(1, 12))
def test_groups_that_are_left_out_are_not_missed(groups, needed):
    """The least loss is that of all groups, and fewer of them do."""
    rows = [
        (n, float(loss), wait * (write < math.inf) + write, sys, wait * (write < math.inf))
        for n, loss, wait, write, sys in groups
    ]
    jobs = pd.DataFrame(rows, columns=["nodes", "loss", "app_time", "sys_time", "app_wait"])
    problem = EvictionProblem(jobs, 0, 240.0, 60.0)
    if needed > problem.total_nodes:
        return
    plan, kept = plan_for(problem, needed)
    assert plan.loss.tolist() == pytest.approx(solve_overlapping(problem.asking(needed)).loss)
    assert kept.tolist() == useful_groups(problem, needed).tolist()


def test_of_equal_groups_only_as_many_are_kept_as_can_be_needed():
    """Seven nodes in twos need four groups, the four of least loss."""
    jobs = pd.DataFrame(
        {
            "nodes": 2,
            "loss": np.arange(100.0)[::-1],
            "app_time": np.inf,
            "sys_time": np.inf,
            "app_wait": 0.0,
        }
    )
    assert useful_groups(EvictionProblem(jobs, 0, 60.0), 7).tolist() == [96, 97, 98, 99]


@pytest.mark.parametrize(("memory", "solver"), [(2**28, "overlapping"), (1, "greedy")])
def test_where_tables_are_too_large_a_plan_that_is_not_proven_takes_their_place(memory, solver):
    jobs = pd.DataFrame(
        {
            "nodes": [2, 3, 4],
            "loss": [1.0, 2.0, 4.0],
            "app_time": [90.0, 100, 110],
            "sys_time": np.inf,
            "app_wait": 60.0,
        }
    )
    plan, _ = plan_for(EvictionProblem(jobs, 0, 600.0, 60.0), 6, memory)
    assert plan.solver == solver
    assert plan.proven.all() == (solver == "overlapping") and plan.proven.any() == plan.proven.all()
    assert (plan.nodes_freed >= 6).all()


def test_an_advice_whose_least_is_not_proven_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(advice_module, "MEMORY", 1)
    jobs = (Job(1, ("n1",)), Job(2, ("n2",), 60))
    advice = advise(1, read_cluster(*machine_of(jobs, 2).save(tmp_path)), within=60)
    assert not advice.table()["proven"].any() and "* not proven" in text_of(advice)
