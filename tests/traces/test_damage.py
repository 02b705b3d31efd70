"""Damaged files: each is a workload with an account, or refused with a TraceError that names it."""

import pytest

from tests.suites import THOROUGH
from tests.traces.damage import SAMPLES, outcomes


@pytest.mark.parametrize("name", SAMPLES)
def test_a_damaged_file_is_read_or_refused(name, tmp_path):
    if SAMPLES[name][1].endswith(".parquet"):
        pytest.importorskip("pyarrow")
    files = 100 if THOROUGH else 30
    counts = outcomes(name, files, tmp_path)
    assert counts["read"] + counts["refused"] == files
    assert counts["refused"]
