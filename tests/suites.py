"""The two suites of notebooks, and the plugin that runs both in one go.

nbval is strict or lax for a whole invocation. Here every notebook's folder decides: a strict
notebook's outputs must equal those stored, a lax one must only run without an error. A cell tagged
`nbval-ignore-output` is lax in a strict notebook, one tagged `nbval-check-output` the reverse.
"""

import os
from pathlib import Path

import pytest

# Progress bars of slow runs are not outputs to compare.
os.environ.setdefault("TQDM_DISABLE", "1")

ROOT = Path(__file__).resolve().parents[1]

SUITES = {
    "strict": "notebooks/*.ipynb",
    "lax": "notebooks/explore/*.ipynb",
}


def members(suite: str) -> list[Path]:
    """The notebooks of a suite, in order."""
    return sorted(ROOT.glob(SUITES[suite]))


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path, parent):
    """Tell nbval's collector whether this notebook's outputs count."""
    collectors = yield
    if file_path.suffix == ".ipynb":
        strict = file_path.resolve() in members("strict")
        for collector in collectors:
            collector.compare_outputs = strict
    return collectors
