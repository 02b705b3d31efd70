"""The two suites of notebooks, and the plugin that runs both in one go, on several processes.

nbval is strict or lax for a whole invocation. Here every notebook's folder decides: a strict
notebook's outputs must equal those stored, a lax one must only run without an error. A cell tagged
`nbval-ignore-output` is lax in a strict notebook, one tagged `nbval-check-output` the reverse.
"""

import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

from cosimlib.extras import import_jsonschema
from cosimlib.traces import find_trace

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

SLOW = frozenset(
    ROOT / "tests" / name
    for name in (
        "advise/test_command.py", "kernels/test_jit.py", "papers/test_run.py",
        "sweep/test_workers.py", "test_docs.py", "test_front_door.py", "test_make.py",
        "test_suites.py",
    )
)  # fmt: skip
"""Files of few tests that take long, for most of them start other processes."""

COMPILING = frozenset(
    ROOT / "tests" / name for name in ("test_check_policy.py", "test_examples.py", "test_ranges.py")
)
"""Files that need most kernels."""

AT_NIGHT = frozenset(
    ROOT / "notebooks" / f"{name}.ipynb"
    for name in (
        "3-timesharing", "4-filling", "6-ondemand",
        *(f"explore/{path.stem}" for path in ROOT.glob("notebooks/explore/*.ipynb")),
    )
)  # fmt: skip
"""Notebooks that run in kernels in a thorough run only: they take a quarter of the suite's time.

Otherwise `tests/papers/test_small_notebooks.py`, `tests/papers/test_bursts.py` and
`tests/explorers/test_notebooks.py` run their cells.
"""

SUITES = {
    "strict": ("notebooks/[!i]*.ipynb",),
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


class ByFolder(LoadScopeScheduling):
    """Gives a folder of tests to one process, so that only this one compiles a room's kernels.

    The files that need most kernels go together, too. The other files of `tests/`, those of
    `tests/papers/` and the notebooks need many rooms: they are dealt out one by one.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        if ROOT / file in COMPILING:
            return "compiling"
        folder = file.rpartition("/")[0]
        alone = folder in ("tests", "tests/papers") or folder.startswith("notebooks")
        return file if alone else folder


def pytest_xdist_make_scheduler(config, log):
    """How tests are dealt out to processes: in the order in which they were collected."""
    config.option.loadscopereorder = False
    return ByFolder(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Begin with what compiles most kernels; then what takes long.

    So notebooks find kernels compiled, and no process is left alone with a long file at the end.
    """
    files = Counter(item.path for item in items)
    at_night = pytest.mark.skip(reason="long notebooks in kernels: COSIMLIB_THOROUGH=1")
    for item in items:
        if item.path in AT_NIGHT and not THOROUGH:
            item.add_marker(at_night)

    def place(item):
        first = (
            item.path in COMPILING,
            item.path in SLOW,
            item.path.parent.name == "browser",
            item.path in AT_NIGHT,
            item.path.suffix == ".ipynb",
        )
        return [not each for each in first], -files[item.path], str(item.path)

    items.sort(key=place)
