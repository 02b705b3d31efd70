"""Where tests find real traces and other simulators' schedules, and why they skip without."""

import os
from functools import partial
from pathlib import Path

import numba
import pytest
from hypothesis import HealthCheck, settings

from tests.suites import ROOT, THOROUGH

settings.register_profile(
    "cosimlib",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("cosimlib")


def pytest_collection_modifyitems(items):
    """Draw a twelfth of the examples and five, all of them in a thorough run.

    Without the JIT, what needs it is left out.
    """
    if numba.config.DISABLE_JIT:
        for item in items:
            if marked := item.get_closest_marker("compiled"):
                item.add_marker(pytest.mark.skip(reason=marked.args[0]))
    elif THOROUGH:
        return
    for test in {item.obj for item in items if hasattr(item, "obj")}:
        drawn = getattr(test, "_hypothesis_internal_use_settings", None)
        if drawn is not None:
            few = min(drawn.max_examples, 5 + drawn.max_examples // 12)
            test._hypothesis_internal_use_settings = settings(drawn, max_examples=few)


@pytest.fixture
def trace_path():
    """A function from a trace's file name to its path; skips where the trace is not there."""
    folders = (os.environ.get("COSIMLIB_TRACES"), ROOT / "data" / "traces")
    return partial(_found, folders, "in data/traces or where COSIMLIB_TRACES points")


@pytest.fixture
def oracle_path():
    """A function from an oracle's file name to its path; skips where there are no oracles."""
    folders = (os.environ.get("COSIMLIB_ORACLES"),)
    return partial(_found, folders, "where COSIMLIB_ORACLES points")


def _found(folders, where: str, file_name: str) -> Path:
    """The path of a file in the first of the folders that has it; the test is skipped without."""
    for folder in filter(None, folders):
        if (Path(folder) / file_name).is_file():
            return Path(folder) / file_name
    pytest.skip(f"no {file_name} {where}")
