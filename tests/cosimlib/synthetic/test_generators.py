"""All generators: a seed makes one workload, and arguments out of range are named."""

from functools import partial

import pandas as pd
import pytest

from cosimlab import twins
from cosimlib import synthetic
from papers.duplyakin2017.htc import htc
from papers.tang2011.intrepid import eureka, intrepid

MADE = {
    "synthetic Edison (256 nodes, 3 days, seed 6)": partial(twins.edison, 3, nodes=256),
    "synthetic Eureka (seed 6)": partial(eureka, 500, load=0.5),
    "synthetic HTC (seed 6)": htc,
    "synthetic Intrepid (seed 6)": partial(intrepid, 500),
    "synthetic Lomonosov (seed 6)": partial(twins.lomonosov, 2),
    "Lublin-Feitelson (seed 6)": partial(synthetic.lublin, 500),
    "synthetic PEREGRINE (seed 6)": twins.peregrine,
    "synthetic Theta (seed 6)": partial(synthetic.theta, 500),
}


@pytest.mark.parametrize("name", MADE)
def test_a_seed_makes_one_workload(name):
    first, again, other = (MADE[name](seed=seed) for seed in (5, 5, 6))
    pd.testing.assert_frame_equal(first.jobs, again.jobs)
    assert not first.jobs["run_time"].equals(other.jobs["run_time"])
    assert other.name == name


def test_one_seed_makes_other_draws_on_a_coupled_machine():
    large, small = intrepid(500, seed=1), eureka(500, load=0.5, seed=1)
    assert not large.jobs["submit_time"].equals(small.jobs["submit_time"])


@pytest.mark.parametrize(
    ("make", "wrong", "expected"),
    [
        (twins.edison, {"days": 0}, "a number above 0"),
        (twins.edison, {"load": 0}, "a number above 0"),
        (twins.edison, {"nodes": 15}, "a whole number from 16"),
        (htc, {"copies": 0}, "a whole number from 1"),
        (htc, {"request_factor": 0.5}, "a number from 1"),
        (intrepid, {"jobs": 0}, "a whole number from 1"),
        (intrepid, {"load": 0.0}, "a number above 0"),
        (twins.lomonosov, {"days": 0}, "a number above 0"),
        (twins.lomonosov, {"accuracy": 1.01}, "a number from 0 to 1"),
        (twins.lomonosov, {"load": 0}, "a number from 1e-06 to 1,000, or None for jobs"),
        (synthetic.lublin, {"jobs": 0}, "a whole number from 1"),
        (synthetic.lublin, {"nodes": 31}, "a whole number from 32"),
        (synthetic.lublin, {"nodes": 9, "types": False}, "a whole number from 10"),
        (synthetic.lublin, {"types": None}, "True or False"),
        (synthetic.lublin, {"load": 0}, "a number from 1e-06 to"),
        (twins.peregrine, {"request_factor": 0.5}, "a number from 1"),
        (synthetic.theta, {"jobs": 0}, "a whole number from 1"),
        (synthetic.theta, {"load": 0}, "a number from 1e-06 to"),
        *[(make, {"seed": -1}, "a whole number from 0") for make in MADE.values()],
    ],
)
def test_arguments_out_of_range_are_refused(make, wrong, expected):
    name, value = next(iter(wrong.items()))
    with pytest.raises(ValueError, match=f"{name}={value!r}; expected {expected}"):
        make(**wrong)


def test_eureka_without_a_number_of_jobs_has_those_printed():
    with pytest.raises(ValueError, match=r"load=0.6 and no jobs; .* 0\.25, 0\.48, 0\.5, 0\.75"):
        eureka(load=0.6)
