"""Logs that are compressed: read, or the compression is named in the error."""

import bz2
import gzip
import io
import lzma
import zipfile

import pytest

import cosimlib as cs
from cosimlib.traces import TraceError, recognize
from tests.cosimlib.traces.reading import DATA


def zipped(data: bytes, *names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names or ("log.swf",):
            archive.writestr(name, data)
    return file.getvalue()


WAYS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zip": zipped}


@pytest.mark.parametrize("ending", WAYS)
@pytest.mark.parametrize("name", ["odd.swf", "alcf.csv", "batsim-jobs.csv"])
def test_a_compressed_log_is_the_same_log(tmp_path, ending, name):
    data = (DATA / name).read_bytes()
    plain = cs.load_trace(DATA / name, verbose=False)
    for written in (f"{name}{ending}", f"log{ending}"):
        path = tmp_path / written
        path.write_bytes(WAYS[ending](data))
        assert recognize(path) == recognize(DATA / name)
        read = cs.load_trace(path, verbose=False)
        assert read.jobs.equals(plain.jobs) and read.name in (plain.name, "log")


@pytest.mark.parametrize("ending", WAYS)
def test_a_damaged_file_is_named_with_its_compression(tmp_path, ending):
    kind = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zip": "zip"}[ending]
    data = WAYS[ending]((DATA / "odd.swf").read_bytes())
    path = tmp_path / f"log.swf{ending}"
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(TraceError, match=f"the {kind} file is cut short or damaged"):
        cs.load_trace(path, verbose=False)
    path.write_bytes(b"1 2 3")
    with pytest.raises(TraceError, match=f"named {ending} but not {kind}, it begins with '1 2 3'"):
        cs.load_trace(path, verbose=False)


def test_what_is_not_read_is_named(tmp_path):
    path = tmp_path / "log.swf"
    path.write_bytes(b"\x28\xb5\x2f\xfd rest")
    with pytest.raises(TraceError, match="compressed by zstd; decompress it, or give gzip, bzip2"):
        cs.load_trace(path, verbose=False)
    path.write_bytes(zipped(b"x", "a.swf", "b.swf"))
    with pytest.raises(TraceError, match="a zip of 2 files; expected one log in it"):
        cs.load_trace(path, verbose=False)


def test_a_small_file_that_would_be_huge_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("COSIMLIB_LARGEST_LOG", "1e5")
    for ending, way in WAYS.items():
        path = tmp_path / f"log.swf{ending}"
        path.write_bytes(way(b"1" * 3_000_000)[:90_000])
        with pytest.raises(TraceError):
            cs.load_trace(path, verbose=False)
