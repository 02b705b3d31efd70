"""From printed results back to jobs: the table of assumptions, and the bound of an overhead."""

import math

import numba
import numpy as np
import pandas as pd
import pytest

from cosimlib import synthetic
from cosimlib.system import System
from cosimlib.timesharing import (
    ASSUMED,
    PRINTED,
    compare_in_words,
    compare_printed,
    inverse_table,
    sharing_factor,
    simulate_timesharing,
)
from cosimlib.workload import Workload


def row(name, factor, seed=0):
    return {"assumptions": name, "seed": seed} | {k: v * factor for k, v in PRINTED.items()}


def test_numbers_within_a_factor_are_met_and_means_over_seeds_are_geometric():
    rows = [row("as printed", 1.0), row("off", 1.6), row("two", 1.4), row("two", 1 / 1.4, 1)]
    found = compare_printed(pd.DataFrame(rows).assign(EASY=1.0))
    assert found.index.tolist() == ["printed", "as printed", "off", "two"]
    assert found["met"].tolist() == ["", "8 of 8", "0 of 8", "8 of 8"]
    assert found.loc["two", "batch"] == pytest.approx(137)
    unknown = pd.DataFrame(rows).assign(**{"time-sharing": math.nan})
    few = compare_printed(unknown)
    assert few["met"].iloc[1] == "7 of 7" and "time-sharing" not in few


def test_every_assumption_makes_jobs_and_numbers():
    days, nodes = (1.0, 16) if numba.config.DISABLE_JIT else (3.0, 64)
    fixed = {"nodes": nodes, "days": days, "warm_up": 0.0, "seeds": [0]}
    names = list(ASSUMED)[:: 8 if numba.config.DISABLE_JIT else 1]
    chosen = {name: ASSUMED[name] for name in names}
    table = inverse_table(chosen, shared_days=0.5, **fixed)
    assert table["assumptions"].tolist() == names
    # No day ends in half a day, so that no week does.
    numbers = table.drop(columns=["assumptions", "most in a week"])
    assert np.isfinite(numbers.to_numpy(float)).all()
    alone = inverse_table({"one": ASSUMED["printed inputs"]}, shared_days=0, **fixed)
    assert alone["time-sharing"].isna().all()
    assert alone["batch"].iloc[0] == table["batch"].iloc[0]


def test_numbers_in_words_have_their_intervals():
    rows = [row("two", factor, seed) for seed, factor in enumerate((0.8, 1.25))]
    table = pd.DataFrame([*rows, row("one", 1.0)]).assign(EASY=1.0)
    table.loc[table["assumptions"] == "one", "not SPMD"] = math.nan
    words = compare_in_words(table)
    assert words.loc["printed", ["batch", "batch, noise", "EASY"]].tolist() == [
        "137", "1,009", "not printed"
    ]  # fmt: skip
    assert words.loc["two", "batch"] == "137 (8.04 to 2.33e+03)"
    assert words.loc["one", ["batch", "not SPMD"]].tolist() == ["137", "not simulated"]
    assert words["met"].tolist() == ["", "8 of 8", "7 of 7"]


def test_time_sharing_is_of_some_seeds_and_the_same_where_only_estimates_differ():
    fixed = {"nodes": 16, "days": 0.5, "warm_up": 0.0, "seeds": [0, 1], "shared_seeds": [1]}
    names = ["printed inputs", "estimates × 2"]
    table = inverse_table({name: ASSUMED[name] for name in names}, **fixed)
    assert table["assumptions"].tolist() == [name for name in names for _ in range(2)]
    assert table["seed"].tolist() == [0, 1, 0, 1]
    load = table["jobs per node"]
    assert load.isna().tolist() == [True, False, True, False] and load[1] == load[3] > 0
    assert table["batch"].notna().all() and table["EASY, noise"].notna().all()


def test_an_overhead_slows_by_processor_sharing_as_the_bound_says():
    """One node, Poisson arrivals: the closed form, and a simulation of it."""
    assert sharing_factor(9, 0.05) == pytest.approx(2)
    assert sharing_factor(9, 0.1) == math.inf and sharing_factor(0, 0.0) == 1
    if numba.config.DISABLE_JIT:
        return
    rng, n, load = np.random.default_rng(1), 60_000, 0.7
    jobs = pd.DataFrame({
        "submit_time": np.cumsum(rng.exponential(100 / load, n)),
        "run_time": rng.exponential(100.0, n), "nodes": 1,
    })  # fmt: skip
    workload, one = Workload(jobs, "Poisson"), System.of(1)
    times = []
    for overhead in (0.0, 0.1):
        run = simulate_timesharing(workload, one, step=None, overhead=overhead)
        times.append((run.end_time - run.start_time).mean())
    assert times[1] / times[0] == pytest.approx(sharing_factor(load / (1 - load), 0.1), rel=0.1)


def test_the_register_names_the_two_that_have_names():
    likes = synthetic.assumptions.LIKE
    assert ASSUMED["printed inputs"] == likes["inputs"]
    assert ASSUMED["printed results"] == likes["results"]
