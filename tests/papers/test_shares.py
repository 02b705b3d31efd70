"""Shares of a notebook's processor time: what counts for what, and what a run says of it."""

import json
import sys
import types

import pytest

from papers import shares


def code(path: str, name: str) -> types.CodeType:
    """The code of a function of this name in a file of this path."""
    return compile("0", path, "exec").replace(co_name=name)


@pytest.mark.parametrize(
    ("path", "name", "share"),
    [
        ("<frozen importlib._bootstrap>", "_find_and_load", "import"),
        ("/site-packages/numba/core/dispatcher.py", "_compile_for_args", "compile"),
        ("/site-packages/plotly/basedatatypes.py", "to_json", "draw"),
        ("/checkout/cosimlab/figures/charts.py", "lines", "draw"),
        ("C:\\checkout\\cosimlab\\figures\\charts.py", "lines", "draw"),
        ("/checkout/cosimlib/batch/easy.py", "simulate_easy", ""),
    ],
)
def test_what_functions_count_for(path, name, share):
    assert shares.share_of(code(path, name)) == share


def test_the_innermost_known_function_counts(monkeypatch):
    clock = shares.Clock()
    assert clock.seconds["import"] > 0
    draws, compiles, simulates = (
        types.SimpleNamespace(f_code=code(path, name))
        for path, name in (
            ("/cosimlab/figures/maps.py", "heat_map"),
            ("/numba/core/dispatcher.py", "_compile_for_args"),
            ("/cosimlib/batch/easy.py", "simulate_easy"),
        )
    )
    simulates.f_back, compiles.f_back, draws.f_back = compiles, draws, None
    for innermost, share in ((simulates, "compile"), (draws, "draw"), (None, "simulate")):
        monkeypatch.setattr(sys, "_current_frames", lambda frame=innermost: {clock.main: frame})
        assert clock._share() == share


def test_what_processes_of_the_kernel_took_is_of_workers(tmp_path):
    path = tmp_path / "shares.json"
    assert shares.read(path, 1.0, 9.0) == {}
    path.write_text(json.dumps({"import": 1.0, "simulate": 3.0}))
    spent = shares.read(path, 0.5, 9.0)
    assert spent == {"import": 1.5, "compile": 0.0, "simulate": 3.0, "draw": 0.0, "workers": 5.0}
    assert shares.in_words(spent) == "import 1.5 s, simulate 3.0 s, workers 5.0 s"
