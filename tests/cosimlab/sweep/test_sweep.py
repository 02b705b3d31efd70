"""`sweep`: its table, its order, and what it refuses before anything runs."""

import itertools
import pickle
import sys
import threading
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cosimlib as cs
from cosimlab.sweep import SweepWarning, sweep
from tests.cosimlab.sweep.functions import fail, multiples, product, size, table


@given(
    st.lists(st.integers(-5, 5), min_size=1, max_size=4, unique=True),
    st.lists(st.floats(-2, 2), min_size=1, max_size=3, unique=True),
    st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True),
)
def test_the_table_is_that_of_three_loops(xs, factors, seeds):
    expected = [
        {"x": x, "by": by, "seed": seed, "product": x * by + seed}
        for x, by, seed in itertools.product(xs, factors, seeds)
    ]
    found = sweep(product, {"x": xs, "by": factors}, seeds)
    pd.testing.assert_frame_equal(found, pd.DataFrame(expected))


def test_the_arrays_of_a_sweep_have_a_dimension_per_argument_and_one_for_seeds():
    pytest.importorskip("xarray")
    arrays = sweep(product, {"x": [1, 2, 3], "by": [0.5, 1.0]}, range(4)).to_xarray()
    assert dict(arrays.sizes) == {"x": 3, "by": 2, "seed": 4} and [*arrays] == ["product"]
    assert arrays["product"].sel(x=3, by=0.5, seed=2) == 3.5


def test_several_rows_of_a_cell_need_a_dimension_of_their_own():
    pytest.importorskip("xarray")
    found = sweep(multiples, {"x": [3, 4]}, [1, 2])
    with pytest.raises(ValueError, match="several rows with x=3, seed=2; expected one: give"):
        found.to_xarray()
    arrays = found.to_xarray("times")
    assert dict(arrays.sizes) == {"x": 2, "seed": 2, "times": 2}
    assert np.isnan(arrays["multiple"].sel(x=3, seed=1, times=1))
    with pytest.raises(ValueError, match="others='scheme'"):
        found.to_xarray("scheme")


def test_without_xarray_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    found = sweep(product, {"x": [1], "by": [2]}, [0])
    with pytest.raises(
        ImportError, match=r'to_xarray needs xarray: pip install "cosimlib\[xarray\]'
    ):
        found.to_xarray()


def test_what_is_computed_from_a_sweep_is_an_ordinary_frame():
    found = sweep(product, {"x": [1, 2], "by": [2]}, [0])
    assert type(found.query("x == 1")) is type(found[["x"]]) is pd.DataFrame
    assert type(pickle.loads(pickle.dumps(found)).copy()) is pd.DataFrame


def test_a_cell_may_have_many_rows_or_none():
    found = sweep(multiples, {"x": [3]}, [2, 0, 1])
    assert found.to_dict("records") == [
        {"x": 3, "seed": 2, "times": 0, "multiple": 0, "even": True},
        {"x": 3, "seed": 2, "times": 1, "multiple": 3, "even": False},
        {"x": 3, "seed": 1, "times": 0, "multiple": 0, "even": True},
    ]
    nothing = sweep(multiples, {"x": [3]}, [0])
    assert nothing.empty and list(nothing) == ["x", "seed"]


def test_tables_keep_their_columns_types_and_named_index():
    found = sweep(table, {"x": [1, 3]})
    assert list(found) == ["x", "which", "tenth", "text"]
    assert found["tenth"].tolist()[::2] == [0.1, 0.3] and found["tenth"].isna().sum() == 2
    assert found["text"].tolist() == ["é", "b"] * 2
    assert found["x"].dtype == np.int64


def test_values_are_labelled_by_name_or_by_key():
    logs = [cs.synthetic.theta(5, seed=seed) for seed in (0, 1)]
    named = sweep(size, {"x": [0], "workload": logs})
    assert named["workload"].tolist() == [log.name for log in logs]
    keyed = sweep(size, {"x": [0], "workload": {"first": logs[0], "second": logs[0]}})
    assert keyed["workload"].tolist() == ["first", "second"]
    assert len(set(keyed["last"])) == 1
    with pytest.raises(ValueError, match=r"repeated value of grid\['x'\]='5 nodes'; expected val"):
        sweep(product, {"x": [cs.System.of(5), cs.System.of(5)]})


def test_shared_arguments_are_no_columns():
    log = cs.synthetic.theta(5)
    assert list(sweep(size, {"x": [0, 1]}, shared={"workload": log})) == ["x", "jobs", "last"]


def test_a_cell_that_fails_is_a_row_with_its_error():
    with pytest.warns(SweepWarning, match="2 of 6 cells failed; see the column 'error'"):
        found = sweep(fail, {"x": [1, 2, 3]}, [1, 2])
    assert found["error"].dropna().tolist() == [f"ValueError: two is wrong, {k}" for k in (1, 2)]
    assert found.loc[found["error"].isna(), "x times seed"].tolist() == [1, 2, 3, 6]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "error" not in sweep(fail, {"x": [1, 3]}, [1, 2])


def test_errors_may_be_raised_and_say_in_which_cell():
    with pytest.raises(ValueError, match="two is wrong, 1") as caught:
        sweep(fail, {"x": [1, 2, 3]}, [1, 2], errors="raise")
    assert caught.value.__notes__ == ["in the cell x=2, seed=1"]


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (7, "returned 7; expected a dict, a list of dicts or a DataFrame"),
        ([7], r"returned \[7\]; expected a dict"),
        ({"x": 1}, "1 in column 'x'; expected .* with a name other than x, error"),
        ({"error": 1}, "in column 'error'; expected"),
        ({1: 1}, "in column 1; expected"),
        ({"y": [1]}, r"returned \[1\] in column 'y'; expected a number, a text, True"),
    ],
)
def test_results_that_are_not_rows_end_the_sweep(result, expected):
    calls = []

    def function(x):
        calls.append(x)
        return result

    with pytest.raises(TypeError, match=expected):
        sweep(function, {"x": [1, 2]})
    assert calls == [1]


def unwanted(*names, **values):
    raise AssertionError("nothing may run before bad input is refused")


def positional(x, /):
    raise AssertionError


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((7, {}), "function=7; expected a function"),
        ((product, [1, 2]), r"grid=\[1, 2\]; expected a dict of values by argument"),
        ((product, {"x": [1], "y": [1]}), "function: got an unexpected keyword argument 'y'; give"),
        ((product, {}), "function: missing a required argument: 'x'; give values in grid, seeds"),
        ((positional, {"x": [1]}), "function: 'x' parameter is positional only"),
        ((unwanted, {"x": 3}), r"grid\['x'\]=3; expected a list of values"),
        ((unwanted, {"x": []}), "expected at least one value"),
        ((unwanted, {"x": [1, 1.0]}), r"value of grid\['x'\]=1; expected values that differ"),
        ((unwanted, {"x": [object()]}), r"a object in grid\['x'\] has no short name; give a dict"),
        ((unwanted, {"x": {"file": Path(__file__).open()}}), r"grid\['x'\].*cannot pickle"),  # noqa: SIM115
        ((unwanted, {"error": [1]}), "expected texts but 'error'"),
        ((unwanted, {"x": [1]}, 20), "seeds=20; expected a list of values"),
        ((unwanted, {"x": [1]}, [-1]), "a seed=-1; expected a whole number from 0"),
        ((unwanted, {"x": [1]}, [1, 1]), "a repeated value of seeds=1"),
        ((unwanted, {"seed": [1]}, [1]), "argument='seed'; expected texts .* each of them once"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(arguments, expected):
    with pytest.raises(ValueError, match=expected):
        sweep(*arguments)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"shared": {"x": 1}}, "argument='x'; expected texts .* each of them once"),
        ({"shared": [1]}, r"shared=\[1\]; expected a dict of values by argument"),
        ({"shared": {"seed": threading.Lock()}}, r"^shared\['seed'\] cannot be identified by its"),
        (
            {"folder": f"{__file__}/x"},
            "lies in '.*test_sweep.py', which is a file; expected",
        ),
        ({"executor": 0}, "executor=0; expected a number of processes, 'cores'"),
        ({"executor": "all"}, "executor='all'; expected a number of processes, 'cores'"),
        ({"executor": object()}, "'cores' or None .elsewhere: within joblib.parallel_config"),
        ({"folder": 7}, "folder=7; expected a path, or None"),
        ({"errors": "ignore"}, "errors='ignore'; expected one of 'table', 'raise'"),
    ],
)
def test_bad_options_are_refused_before_anything_runs(options, expected):
    with pytest.raises(ValueError, match=expected):
        sweep(unwanted, {"x": [1]}, **options)


def test_sweeps_draw_no_bar_into_a_pipe(monkeypatch, capsys):
    monkeypatch.setattr(import_module("cosimlab.sweep"), "DELAY", 0.0)
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    sweep(product, {"x": range(3)})
    assert capsys.readouterr() == ("", "")
