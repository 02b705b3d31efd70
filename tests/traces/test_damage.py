"""Damaged files: each is a workload with an account, or refused with a TraceError that names it."""

import pytest

from tests.traces.damage import SAMPLES, outcomes


@pytest.mark.parametrize("name", SAMPLES)
def test_a_damaged_file_is_read_or_refused(name, tmp_path):
    if SAMPLES[name][1].endswith(".parquet"):
        pytest.importorskip("pyarrow")
    counts = outcomes(name, 100, tmp_path)
    assert counts["read"] + counts["refused"] == 100
    assert counts["refused"]
