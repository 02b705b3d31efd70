"""The two suites of notebooks, and the plugin of pytest that runs both in one go.

nbval is strict or lax for a whole invocation. Here every notebook's folder decides: a strict
notebook's outputs must equal those stored, a lax one must only run without an error. A cell tagged
`nbval-ignore-output` is lax in a strict notebook, one tagged `nbval-check-output` the reverse.
Figures are stored with rounded numbers, so new figures are rounded before they are compared.
"""

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cosimlab.imports import import_jsonschema
from cosimlib.traces import find_trace
from tests.stored import compact

# nbval, which comes later, would take a second and a half in each process.
import_jsonschema()
# Progress bars of slow runs are not outputs to compare.
os.environ.setdefault("TQDM_DISABLE", "1")
# Hundreds of processes import the same modules: compiled by each, that is a third of all the time.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Each of several test processes has a core, and so have the sweeps in it.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("COSIMLIB_WORKERS", "1")

THOROUGH = os.environ.get("COSIMLIB_THOROUGH") == "1"
"""Whether laws draw all of their examples, and all notebooks run in kernels (`AT_NIGHT`)."""

ROOT = Path(__file__).resolve().parents[1]

AT_NIGHT = frozenset(
    (
        *ROOT.glob("notebooks/[1-6]-*.ipynb"),
        *ROOT.glob("notebooks/explore/*.ipynb"),
        *(
            ROOT / "notebooks" / "recipes" / f"{name}.ipynb"
            for name in (
                "baselines",
                "maintenance",
                "more-nodes",
                "my-policy",
                "my-slurm",
                "slowdown-map",
            )
        ),
        *(
            ROOT / "tests" / "cosimlab" / "browser" / f"test_{name}.py"
            for name in (
                "batch",
                "coscheduling",
                "elastic",
                "eviction",
                "filling",
                "nouns",
                "ondemand",
            )
        ),
    )
)
"""Notebooks in kernels, and explorers in JupyterLab, that take long: in a thorough run only.

Otherwise the cells of these notebooks run in this process: those of papers on small experiments
(`tests/notebooks/test_small_notebooks.py`, `tests/papers/test_tang2011_experiment.py`,
`tests/papers/test_bursts.py`), those of recipes on a log (`tests/notebooks/test_recipes.py`), those
of explorers in `tests/notebooks/test_explorers.py`.
And `tests/cosimlab/browser` opens the explorers with most on their pages in the app.
"""

LONGEST = (
    ROOT / "tests" / "notebooks" / "test_small_notebooks.py",
    ROOT / "tests" / "cosimlab" / "slurm" / "test_live.py",
    *ROOT.glob("notebooks/7-*.ipynb"),
)
"""Long files of few tests. They run first, so that at the end no process waits for one.

They also compile the kernels of most rooms: the explorers in the browser and the other tests of
Slurm, which come later, find these on disk and need not compile them at the same time.
"""

SUITES = {
    "strict": ("notebooks/[!i]*.ipynb", "notebooks/recipes/*.ipynb"),
    "lax": ("notebooks/index.ipynb", "notebooks/explore/*.ipynb"),
}


def members(suite: str) -> list[Path]:
    """The notebooks of a suite, in order."""
    return sorted(path for pattern in SUITES[suite] for path in ROOT.glob(pattern))


def has_inputs(path: Path) -> bool:
    """Whether the public traces are here from which a notebook's outputs were stored."""
    metadata = json.loads(path.read_text(encoding="utf-8"))["metadata"]
    named = metadata.get("cosimlib", {}).get("inputs", [])
    return all(find_trace(name) is not None for name in named)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path, parent):
    """Tell nbval's collector whether this notebook's outputs count."""
    collectors = yield
    if file_path.suffix == ".ipynb":
        strict = file_path.resolve() in members("strict") and has_inputs(file_path)
        for collector in collectors:
            collector.compare_outputs = strict
    return collectors


def pytest_collection_modifyitems(items):
    """Compare figures as they are stored, leave what takes long to thorough runs, or do it first.

    A sort keeps the order of tests within a file.
    """
    ranks = {path: rank for rank, path in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(item.path, len(LONGEST)))
    at_night = pytest.mark.skip(reason="takes long: COSIMLIB_THOROUGH=1 runs it")
    for item in items:
        if item.path.suffix == ".ipynb":
            item.sanitize = partial(_as_stored, item.sanitize)
        if item.path in AT_NIGHT and not THOROUGH:
            item.add_marker(at_night)


def _as_stored(sanitize: Callable[[Any], Any], output: Any) -> Any:
    """An output as nbval compares it: a figure's JSON as it is stored, a text sanitized."""
    return compact(output) if isinstance(output, dict) else sanitize(output)
