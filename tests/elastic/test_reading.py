"""What claims are decided by: numbers by hand, readings against the functions they come from."""

import numpy as np
import pandas as pd
import pytest

from cosimlib.batch import simulate_easy
from cosimlib.claims import read_statements
from cosimlib.elastic import (
    ASSUMPTIONS,
    SCHEDULERS,
    Inputs,
    compare_choices,
    compare_policies,
    cumulative_waste,
    execution_states,
    final_waste,
    measure,
    measure_assumption,
    measure_seed,
    medians,
    prioritize,
    read,
)
from cosimlib.elastic import reading as numbers
from cosimlib.elastic.reading import FOUR, LONG, NUMBERS, SHORT, Reading
from cosimlib.elastic.vectors import Agreement
from cosimlib.synthetic import peregrine
from cosimlib.system import System
from cosimlib.workload import Workload
from tests.elastic.instances import scheduled


def summary(**changed):
    """Statistics by policy and grace period: medians as given, quartiles 5 below and 9 above."""
    table = {
        "RANDOM": [80.0] * 4 + [70.0, 65.0, 60.0, 55.0, 50.0, 45.0],
        "FIFO": [90.0] * 4 + [85.0, 80.0, 75.0, 70.0, 65.0, 60.0],
        "LIFO": [20.0] * 10,
        "PAP": [22.0] * 10,
    } | changed
    rows = [
        {"policy": policy, "grace_period": period, "25%": value - 5, "50%": value, "75%": value + 9}
        for policy, values in table.items()
        for period, value in zip(SHORT + LONG, values, strict=True)
    ]
    return pd.DataFrame(rows)


def reading(table=None, **changed):
    """A reading of the medians above."""
    htc = summary(LIFO=[1.0, 1.1, 2.6, 2.9] + [3.0] * 6, RANDOM=[4.0] * 4 + [3.0] * 6,
                  FIFO=[5.0, 5.0, 4.5, 2.5] + [2.0] * 6)  # fmt: skip
    parts = {
        "peregrine": summary() if table is None else table, "choice": Agreement(0.3, 0.8),
        "same_waste": 0.3, "tails": pd.DataFrame({"low": [0.1, 0.2], "high": [0.05, 0.1]}),
        "outlasting": 0.7, "within_longest": 0.9, "states": {"htc": 14_500, "peregrine": 168_000},
        "htc": htc, "larger": summary(LIFO=[24.0] * 10), "larger_choice": Agreement(0.1, 0.9),
    }  # fmt: skip
    return Reading(**(parts | changed))


def test_every_number_by_hand():
    found = measure(reading()).round(6)
    assert list(found.index) == list(NUMBERS)
    expected = {
        "htc-lifo-wastes-less-60": (1.0 - 4.0) / 4, "htc-lifo-wastes-less-120": (1.1 - 4.0) / 4,
        "htc-lifo-wastes-less-1200": (2.6 - 4.0) / 4, "htc-lifo-wastes-less-1800": (2.9 - 2.5) / 4,
        "htc-short-grace-better": (1.1 - 2.6) / 4,
        "peregrine-lifo-pap-waste-less": (22 - 80) / 80, "peregrine-lifo-pap-alike": 2 / 80,
        "peregrine-same-nodes": 0.3, "peregrine-short-grace-no-matter": 0.0,
        # (22 - 80) / 80 and (24 - 80) / 80, 2 / 80 both, 0.8 and 0.9
        "larger-partition-similar": 0.1,
        "fifo-random-medians-fall": -5.0, "fifo-random-quartiles-fall": -5.0,
        "lifo-pap-medians-stay": 0.0, "lifo-pap-quartiles-stay": 0.0, "lifo-pap-tails-grow": 0.05,
        "waste-goes-to-zero": 45 / 80,
        # RANDOM on PEREGRINE: (80 - 45) / 80; FIFO on HTC: (5 - 2.5) / 4
        "shorter-grace-wastes-less": 2.5 / 4,
        "most-jobs-outlast-grace": 0.7, "htc-samples": 14_500, "peregrine-samples": 168_000,
    }  # fmt: skip
    assert found[list(expected)].to_dict() == pytest.approx(expected, abs=1e-6)
    assert found.drop(list(expected)).isna().all(), "no class of high priority"


def test_a_median_that_moves_counts_relative_to_random():
    table = summary(PAP=[22.0] * 4 + [22.0, 22.0, 24.0, 29.0, 22.0, 15.0])
    assert numbers.moved(reading(table), LONG, ["LIFO", "PAP"], ["50%"]) == 7 / 70
    assert numbers.moved(reading(table), SHORT[:3], FOUR, ["50%", "75%"]) == 0


def test_what_fell_to_0_has_fallen():
    down = [9.0, 4.0, 0.0, 0.0, 0.0, 0.0]
    for values, step in ((down, -4.0), ([9.0, 0.0, 0.0, 2.0, 0.0, 0.0], 2.0)):
        table = summary(FIFO=[9.0] * 4 + values, RANDOM=[80.0] * 4 + [70, 65, 60, 55, 50, 45.0])
        assert numbers.largest_step(reading(table), ["50%"]) == step
    nothing = summary(FIFO=[0.0] * 10)
    assert np.isnan(numbers.largest_step(reading(nothing), ["50%"])), "nothing falls from 0"


def test_medians_of_0_and_missing_workloads_leave_no_number():
    zero = measure(reading(summary(RANDOM=[0.0] * 10)))
    relative = ["peregrine-lifo-pap-alike", "lifo-pap-medians-stay", "waste-goes-to-zero"]
    assert zero[relative].isna().all() and not np.isnan(zero["peregrine-same-nodes"])
    alone = measure(reading(htc=None, larger=None, larger_choice=None, states={"peregrine": 5}))
    gone = [name for name in NUMBERS if name.startswith("htc")] + ["larger-partition-similar"]
    assert alone[gone].isna().all() and alone["shorter-grace-wastes-less"] == pytest.approx(35 / 80)


@pytest.fixture(scope="module")
def batch():
    """The first jobs of a twin."""
    twin = peregrine(seed=1)
    return Workload(twin.jobs.head(400), "few")


def test_a_reading_is_made_of_the_rooms_own_functions(batch):
    system, preferred = System.of(20), prioritize(batch, {"gaussian": 10.0}, by="application")
    schedule, high = simulate_easy(batch, system), simulate_easy(preferred, system)
    found = read(schedule, schedule, preferred={"gaussian": high}, grace_period=120.0, seed=3)
    middle = medians(compare_policies(schedule, policies=FOUR, seed=3))
    pd.testing.assert_frame_equal(numbers.quantiles(found.peregrine, "50%"), middle)
    assert found.choice == compare_choices(schedule, "LIFO", "PAP")
    summed = final_waste(cumulative_waste(high, grace_period=120.0))
    pd.testing.assert_frame_equal(
        found.waste["gaussian"], summed[["high", "default", "total"]], check_names=False
    )
    assert found.states == {"peregrine": execution_states(schedule).size} | {
        "htc": execution_states(schedule).size
    }
    assert 0 < found.same_waste < 1 and 0 <= found.white <= 1 and found.larger is None


def test_the_white_of_figure_5_by_hand():
    """Job 1 is preferred. At 10 s and later elapsed times are equal, so with priority 10 the others
    are worth a tenth, or, with four nodes, four tenths."""
    rows = [(0, 300, 1), (0, 300, 1), (0, 300, 4)]
    high = scheduled(*rows, nodes=6, priority=[1.0, 10.0, 1.0])
    # One node of 0.1 is white, four of 0.4 are not; at the first state all are 0.
    states = execution_states(high)[::10]
    white = [1.0 if at == 0 else 0.2 for at in states]
    assert numbers._white(high) == pytest.approx(np.mean(white))


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_seed_gives_every_number(batch, scheduler):
    found = measure_seed(scheduler, 1, workloads={"HTC": batch, "PEREGRINE": batch}, preempted=10)
    claims = read_statements().query("system == '5-elastic'")["claim"]
    assert set(claims) - set(found) == {"peregrine-days", "stale-vectors-degrade"}
    assert all(isinstance(value, int | float) for value in found.values())
    again = measure_seed(scheduler, 1, workloads={"HTC": batch, "PEREGRINE": batch}, preempted=10)
    assert pd.Series(found).equals(pd.Series(again))


@pytest.mark.compiled("four long queues need compiled kernels")
def test_an_assumption_gives_the_printed_results():
    easy, fit = (
        measure_assumption(name, 0, inputs=Inputs()) for name in ("EASY", "first fit, per event")
    )
    assert easy == measure_assumption("EASY, the twin's jobs", 0, inputs=Inputs())
    assert fit["same nodes"] > 2 * easy["same nodes"] and fit["apart"] < easy["apart"]
    assert fit["same waste"] >= fit["same nodes"] - 1e-9
    assert max(fit["high"], easy["high"]) < 0 < min(fit["default"], easy["default"])
    narrow = measure_assumption("EASY, narrow jobs first", 0, inputs=Inputs())
    assert narrow["same nodes"] > 0.95, "equally wide jobs rank alike"
    assert set(ASSUMPTIONS) >= {"conservative", "FCFS without backfilling"}


def test_a_log_of_no_jobs_gives_no_numbers(batch):
    nothing = batch.keep(np.zeros(len(batch), bool), "all")
    found = pd.Series(measure_seed("EASY", 0, workloads={"log": nothing}, classes={}))
    assert found.drop("peregrine-samples").isna().all() and found["peregrine-samples"] == 0
