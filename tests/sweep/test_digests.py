"""Digests: equal for equal content in every process, different for different content."""

import subprocess
import sys
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cosimlib as cs
from cosimlib.sweep.digests import digest
from tests.suites import ROOT

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=8,
)


def same(one, other):
    """Equality as a function sees it: 1, 1.0 and True are three values, 0.0 and -0.0 two."""
    return repr(one) == repr(other)


@given(plain, plain)
def test_digests_are_equal_where_values_are(one, other):
    assert (digest(one) == digest(other)) == same(one, other)
    assert len(digest(one)) == 32


def test_numbers_count_by_value_and_kind():
    assert digest(1) == digest(np.int64(1)) == digest(np.int8(1))
    assert digest(0.5) == digest(np.float64(0.5))
    assert len({digest(one) for one in (1, 1.0, True, "1", b"1", None, [1], (1,), {1})}) == 9
    assert digest({1, 2, 3}) == digest({3, 2, 1}) != digest({1, 2})
    assert digest({"a": 1, "b": 2}) != digest({"b": 2, "a": 1})
    assert digest(Fraction(1, 3)) == digest(Fraction(2, 6)) != digest(Fraction(1, 2))
    assert digest(Path("a")) != digest(Path("b"))


FRAMES = [
    pd.DataFrame({"a": [1, 2]}),
    pd.DataFrame({"a": [1.0, 2.0]}),
    pd.DataFrame({"b": [1, 2]}),
    pd.DataFrame({"a": [1, 2]}, index=[1, 2]),
    pd.DataFrame({"a": [1, None]}, dtype="Int64"),
    pd.DataFrame({"a": [1, 0]}, dtype="Int64"),
    pd.DataFrame({"a": ["x", "yz"]}),
    pd.DataFrame({"a": ["xy", "z"]}),
    pd.DataFrame({"a": ["xyz", None]}),
    pd.DataFrame({"a": ["xyz", ""]}),
    pd.DataFrame({"a": [1, "x"]}, dtype=object),
    pd.DataFrame({"a": [True, False]}),
    pd.DataFrame({"a": pd.to_datetime(["2020-01-01", "2020-01-02"])}),
    pd.DataFrame({"a": [1, 2], "b": [1, 2]}),
    pd.DataFrame(),
]


def test_tables_count_by_columns_types_and_values():
    assert len({digest(frame) for frame in FRAMES}) == len(FRAMES)
    assert [digest(frame.copy()) for frame in FRAMES] == [digest(frame) for frame in FRAMES]


def test_workloads_and_systems_count_by_content():
    first, again, other = (cs.synthetic.theta(50, seed=seed) for seed in (0, 0, 1))
    assert digest(first) == digest(again) != digest(other)
    assert digest(first) != digest(first.noted("noted", "a remark", 1))
    assert digest(cs.System.of(5)) == digest(cs.System.of(5)) != digest(cs.System.of(6))
    schedule = cs.simulate_easy(first, first.machine)
    before = digest(schedule)
    assert not schedule.allocations.empty and digest(schedule) == before, (
        "what is cached is no content"
    )


def compiled(code):
    exec(code, scope := {"__name__": "__main__"})
    return scope["f"]


def test_functions_count_by_what_they_do():
    codes = [
        "def f(x): return x + 1",
        "def f(x): return x + 2",
        "def f(x, y=1): return x + 1",
        "def f(x, y=2): return x + 1",
        "k = 1\ndef f(x): return x + k",
        "k = 2\ndef f(x): return x + k",
        "def g(x): return x + 1\ndef f(x): return g(x)",
        "def g(x): return x + 2\ndef f(x): return g(x)",
        "class C:\n  def m(self): return 1\ndef f(x): return C().m()",
        "class C:\n  def m(self): return 2\ndef f(x): return C().m()",
        "def f(x): return [y + 1 for y in x]",
        "def f(x): return [y + 2 for y in x]",
        "import math\ndef f(x): return math.sin(x)",
        "import cmath as math\ndef f(x): return math.sin(x)",
        "def f(n): return n and f(n - 1)",
    ]
    digests = [digest(compiled(code)) for code in codes]
    assert len(set(digests)) == len(codes)
    assert [digest(compiled(f"# a remark\nunused = 1\n{code}")) for code in codes] == digests


def test_closures_and_partial_functions_count_by_what_they_hold():
    def adder(k):
        return lambda x: x + k

    assert digest(adder(1)) == digest(adder(1)) != digest(adder(2))
    assert digest(partial(pow, 2)) == digest(partial(pow, 2)) != digest(partial(pow, 3))


def test_kernels_count_by_their_code():
    from numba import njit

    assert digest(njit(compiled("def f(x): return x + 1"))) != digest(
        njit(compiled("def f(x): return x + 2"))
    )


PROGRAM = """
import cosimlib as cs
from cosimlib.sweep.digests import digest
log = cs.synthetic.theta(50)
def f(x, s={"a", "b", "c"}): return log, s, lambda y: {"u", "v", "w"} & y
print(digest([log, log.machine, {"one", "two", "three"}, f, cs.simulate_easy]))
"""


def test_digests_are_the_same_in_every_process():
    printed = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(printed) == 1 and len(printed.pop()) == 33


def test_what_cannot_be_taken_apart_is_an_error():
    with Path(__file__).open() as file, pytest.raises(TypeError, match="pickle"):
        digest([file])
