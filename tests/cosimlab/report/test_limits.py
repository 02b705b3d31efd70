"""Which limit makes jobs wait: known limits are found, and none where there is none."""

from dataclasses import replace
from typing import Any

import numba
import numpy as np
import pytest

from cosimlab.report import limits_section, open_log
from cosimlab.report.limits import limits_of
from cosimlab.report.page import MOST_WORDS
from cosimlib.batch import simulate
from cosimlib.schedule import Schedule
from cosimlib.synthetic import lublin, with_estimates
from cosimlib.workload import Workload
from tests.cosimlab.whatif.truth import simulator
from tests.suites import THOROUGH

SCHEDULERS = (
    "EASY",
    "conservative",
    "first fit",
    "FCFS",
    "every 5 min",
    "reservation",
    "EASY wfp",
    "EASY shortest",
    "EASY smallest",
    "EASY largest",
    "EASY longest",
    "EASY F1",
    "EASY LXF",
    "fair share",
)
"""Without any limit."""


def random_log(seed: int, jobs: int = 6_000) -> Workload:
    """Jobs of 40 users in 6 groups and 3 queues, some of whom submit most of them."""
    random = np.random.default_rng(seed)
    load = random.uniform(0.6, 0.95)
    log = with_estimates(lublin(jobs, load=load, seed=seed), seed=seed)
    user = random.zipf(random.uniform(1.3, 2.0), jobs) % 40
    columns = {"user": user, "group": user % 6, "queue": random.integers(0, 3, jobs)}
    return replace(log, jobs=log.jobs.assign(**{k: v.astype(str) for k, v in columns.items()}))


@numba.njit
def limited(state: Any) -> Any:
    """First fit among the jobs whose user (queue, ...) stays below a number of jobs or nodes.

    The first column is whose job it is, the second the limit, the third whether it is of nodes:
    as constants of the function, each limit would be another function to compile.
    """
    starts, free = [], state.free_nodes
    waiting, active = state.waiting.columns[0], state.running.columns[0]
    held = np.zeros(int(max(waiting.max(), np.append(active, 0.0).max())) + 1)
    most, of_nodes = state.waiting.columns[1][0], state.waiting.columns[2][0] == 1
    for place, user in enumerate(active):
        held[int(user)] += state.running.nodes[place] if of_nodes else 1
    for position, nodes in enumerate(state.waiting.nodes):
        user, more = int(waiting[position]), nodes if of_nodes else 1
        if nodes <= free and held[user] + more <= most:
            starts.append(position)
            free -= nodes
            held[user] += more
    return starts


@numba.njit
def fair_share(state: Any) -> Any:
    """First fit, jobs of users with the fewest running nodes first: no limit, but many passings."""
    starts, free = [], state.free_nodes
    waiting, active = state.waiting.columns[0], state.running.columns[0]
    held = np.zeros(int(max(waiting.max(), np.append(active, 0.0).max())) + 1)
    for place, user in enumerate(active):
        held[int(user)] += state.running.nodes[place]
    shares = np.array([held[int(user)] for user in waiting])
    for share in range(int(shares.max()) + 1):
        for position, nodes in enumerate(state.waiting.nodes):
            if shares[position] == share and nodes <= free:
                starts.append(position)
                free -= nodes
    return starts


def recorded(log: Workload, scheduler: str) -> Schedule:
    """The schedule of a log by a scheduler."""
    if scheduler == "fair share":
        return simulate(log, log.machine, fair_share, columns=["user"])
    return simulator(scheduler)(log, log.machine)


def under_limit(log: Workload, by: str, of: str, most: int) -> Schedule:
    """The schedule of a log under a limit."""
    if of == "nodes":
        log = log.keep(log.jobs["nodes"] <= most, "wider than the limit")
    known = replace(log, jobs=log.jobs.assign(most=most, of_nodes=int(of == "nodes")))
    run = simulate(known, log.machine, limited, columns=[by, "most", "of_nodes"])
    return replace(run, workload=log)


LIMITS = [("user", "jobs", 8), ("user", "jobs", 3), ("queue", "jobs", 6)]


@pytest.mark.compiled("thousands of jobs")
@pytest.mark.parametrize(("by", "of", "most"), LIMITS)
def test_a_known_limit_is_found(by, of, most):
    """Where a log can tell: on the others, nobody is passed often enough to be judged."""
    told = 0
    for seed in range(1_000, 1_010 if THOROUGH else 1_002):
        found, judged = limits_of(under_limit(random_log(seed), by, of, most))
        assert all((each.of, each.most) == (of, most) for each in found if each.by == by)
        told += any(each.by == by for each in found)
        assert judged or not found
    assert told >= 1


@pytest.mark.compiled("thousands of jobs")
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_no_limit_is_found_where_there_is_none(scheduler):
    seeds = range(10 if THOROUGH else 1)
    found = [limits_of(recorded(random_log(seed), scheduler))[0] for seed in seeds]
    assert not any(found), found


@pytest.mark.compiled("thousands of jobs")
def test_the_section_names_who_is_limited():
    run = under_limit(random_log(1_000), "queue", "jobs", 6)
    jobs = run.workload.jobs.assign(recorded_start=run.start_time)
    section = limits_section(open_log(replace(run.workload, jobs=jobs), budget=1))
    assert section.findings[0].startswith("3 queues seem to be limited to 6 running jobs each")
    assert all(len(each.split()) <= MOST_WORDS for each in section.findings)
    (table,) = section.tables.values()
    assert set(table.index) == {"queue 0", "queue 1", "queue 2"}
    assert set(table["plateau"]) == {"6 running jobs"}


def test_the_section_stays_away_where_the_log_cannot_tell():
    log = random_log(0, jobs=100)
    assert limits_section(open_log(log, budget=1)) is None, "it has no starts"
    run = recorded(log, "FCFS")
    known = replace(log, jobs=run.workload.jobs.assign(recorded_start=run.start_time))
    assert limits_section(open_log(known, budget=1)) is None, "no job is passed"
