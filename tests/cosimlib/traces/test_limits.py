"""Logs that are too large, compressed or not, are refused before they are in memory."""

import gzip
import tracemalloc
from pathlib import Path

import pytest

from cosimlib.traces import TraceError, load_trace
from cosimlib.traces.account import SIZE_LIMIT as KNOB
from cosimlib.traces.account import largest_log, read_bytes

SMALL = 1_000_000


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setenv(KNOB, str(SMALL))


@pytest.fixture(scope="module")
def large() -> bytes:
    """Forty megabytes in a small gzip file."""
    return gzip.compress(b"1 " * 20_000_000)


def written(path: Path, content: bytes) -> Path:
    """A gzip file."""
    path.write_bytes(gzip.compress(content))
    return path


@pytest.mark.parametrize(
    "ending", [".swf", ".csv", ".txt", ".json", ".acct", ".submit", ".unheard-of"]
)
def test_a_log_that_would_fill_the_memory_is_refused(tmp_path, small, large, ending):
    path = tmp_path / f"log{ending}.gz"
    path.write_bytes(large)
    tracemalloc.start()
    try:
        with pytest.raises(TraceError, match=rf"log{ending}.gz: more than 1.0 MB.*{KNOB}=4e9"):
            load_trace(path, verbose=False)
        assert tracemalloc.get_traced_memory()[1] < 10 * SMALL
    finally:
        tracemalloc.stop()


def test_a_plain_file_is_refused_by_its_size(tmp_path, small):
    path = tmp_path / "log.swf"
    with path.open("wb") as file:
        file.truncate(10**12)  # takes no room on the disk
    with pytest.raises(TraceError, match=r"log\.swf: more than 1.0 MB"):
        read_bytes(path)


def test_what_may_be_read_is_read(tmp_path, small):
    content = b"1" * SMALL
    assert read_bytes(written(tmp_path / "a.gz", content)) == content
    assert read_bytes(written(tmp_path / "b.gz", b"")) == b""
    with pytest.raises(TraceError, match="more than"):
        read_bytes(written(tmp_path / "a.gz", content + b"1"))


@pytest.mark.parametrize("most", ["inf", "1e13", "1e20"])
def test_a_limit_beyond_any_memory_asks_for_no_memory(tmp_path, monkeypatch, most):
    monkeypatch.setenv(KNOB, most)
    assert read_bytes(written(tmp_path / "a.gz", b"1" * SMALL)) == b"1" * SMALL


def test_the_limit_is_a_part_of_the_memory_or_what_the_knob_says(monkeypatch):
    monkeypatch.delenv(KNOB, raising=False)
    assert 10**7 < largest_log() < 10**12
    monkeypatch.setenv(KNOB, "4e9")
    assert largest_log() == 4e9
    for told in ("much", "-1", "nan", "0"):
        monkeypatch.setenv(KNOB, told)
        with pytest.raises(ValueError, match=f"{KNOB}='{told}'; expected a number of bytes"):
            largest_log()
