"""LIFO with and without knowledge of remaining run times, on a partition."""

from itertools import product

import pytest

from cosimlab.twins import peregrine
from cosimlib.batch import simulate_easy
from cosimlib.elastic import execution_states, least_waste, wasted_cycles
from cosimlib.system import System
from cosimlib.units import HOUR
from cosimlib.workload import Workload
from docs.memory import PAGE, read_table
from papers.open_questions import EVERY, GRACE, LOADS, MEMORY, lifo_waste


@pytest.fixture(scope="module")
def schedule():
    whole = peregrine(seed=1)
    jobs = whole.jobs.head(300).reset_index(drop=True)
    return simulate_easy(Workload(jobs, "some of PEREGRINE's twin"), System.of(20))


def test_lifo_that_knows_nothing_wastes_what_the_policy_wastes(schedule):
    knobs = {"grace_periods": GRACE, "moments": execution_states(schedule)[::EVERY]}
    wasted = wasted_cycles(schedule, policy="LIFO", **knobs).mean() / HOUR
    assert lifo_waste(schedule, None) == pytest.approx(wasted.tolist())


def test_lifo_that_knows_all_wastes_no_less_than_the_optimum(schedule):
    knobs = {"grace_periods": GRACE, "moments": execution_states(schedule)[::EVERY]}
    least = least_waste(schedule, known_ends=True, **knobs).mean() / HOUR
    known = lifo_waste(schedule, 0.0)
    assert all(one >= best - 1e-9 for one, best in zip(known, least, strict=True))
    assert known[-1] < lifo_waste(schedule, None)[-1]


def test_the_picture_shows_the_whole_table_of_memory_and_load():
    table = read_table(PAGE.read_text(encoding="utf-8"))
    assert [*zip(table["memory"], table["load"], strict=True)] == [*product(MEMORY, LOADS)]
    assert table["mean"].between(table["low"], table["high"]).all()
