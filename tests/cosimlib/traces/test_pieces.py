"""Logs that are read in pieces: the same workload, account and errors as in one piece."""

import gzip
import random
import tracemalloc

import numpy as np
import pandas as pd
import pytest

from cosimlib import traces
from cosimlib.traces import TraceError, account, slurm, swf
from tests.benchmarks import large
from tests.cosimlib.traces.damage import SAMPLES, damaged, sample
from tests.cosimlib.traces.reading import JOB
from tests.cosimlib.traces.test_slurm import text

FORMATS = ("swf", "frontier", "sacct-text", "sacct-json")
MORE = {
    "local times": (traces.read_sacct, "slurm-24.11/sacct_X_parsable2.txt"),
    "steps": (traces.read_sacct, "slurm-24.11/sacct_steps_parsable2.txt"),
    "another delimiter": (traces.read_sacct, "slurm-22.05/sacct_X_delim.txt"),
}


@pytest.fixture
def cut(monkeypatch):
    """Lets the following logs be read in pieces of so many bytes, or a line more."""

    def cut(size: int) -> None:
        monkeypatch.setattr(account, "CHUNK", size // 3)
        monkeypatch.setattr(account, "PIECE", size)

    return cut


def outcome(read, path):
    """The jobs, the account, the machine and the beginning of a log, or its error."""
    try:
        workload = read(path, verbose=False)
    except TraceError as error:
        return str(error)
    return workload.jobs, workload.account, str(workload.machine), workload.began


def assert_same(one, other):
    """Equal outcomes, columns with their types."""
    if isinstance(one, str) or isinstance(other, str):
        assert one == other
        return
    for mine, yours in zip(one[:2], other[:2], strict=True):
        pd.testing.assert_frame_equal(mine, yours, check_exact=True)
    assert one[2:] == other[2:]


@pytest.mark.parametrize("kind", [*FORMATS, *MORE])
def test_pieces_and_damages_do_not_change_what_is_read(tmp_path, cut, kind):
    read, stored = (SAMPLES | MORE)[kind]
    whole, chance = sample(stored, tmp_path), random.Random(3)
    files = [whole, *(damaged(whole, chance) for _ in range(4))]
    paths = [tmp_path / f"{place}.log{'.gz' * (place % 2)}" for place in range(len(files))]
    for path, data in zip(paths, files, strict=True):
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    at_once = [outcome(read, path) for path in paths]
    assert not isinstance(at_once[0], str)
    cut(len(whole) // 4)
    for path, expected in zip(paths, at_once, strict=True):
        assert_same(outcome(read, path), expected)


def test_a_piece_ends_with_a_line(tmp_path, cut):
    cut(300)
    lines = [b"%d " % number * (number % 200) + b"\n" for number in range(400)]
    (tmp_path / "log").write_bytes(b"".join(lines) + b"last")
    pieces = list(account.read_pieces(tmp_path / "log"))
    assert b"".join(pieces) == b"".join(lines) + b"last"
    assert len(pieces) > 100 and all(piece.endswith(b"\n") for piece in pieces[:-1])


def test_an_error_in_a_later_piece_has_the_line_of_the_log(tmp_path, cut):
    cut(300)
    path = tmp_path / "log.swf"
    path.write_text("; a comment\n" + f"{JOB}\n" * 50 + "1 2 3\n" + f"{JOB}\n" * 50)
    with pytest.raises(TraceError, match="line 52 reads '1 2 3': 3 columns; expected 18"):
        traces.read_swf(path, verbose=False)
    cut(2_000)
    path = tmp_path / "log.txt"
    path.write_text(text(*[{}] * 40, {"NNodes": "two"}, *[{}] * 40))
    with pytest.raises(TraceError, match="line 42 has NNodes='two'"):
        traces.read_sacct(path, verbose=False)


def test_of_a_log_that_is_too_large_to_be_read_whole_a_bad_line_is_found_in_its_piece(
    tmp_path, cut, monkeypatch
):
    cut(2_000)
    monkeypatch.setattr(account, "largest_log", lambda share=16: 1e9 if share < 16 else 3_000)
    path = tmp_path / "log.swf"
    path.write_text("; a comment\n" + f"{JOB}\n" * 150 + "1 2 3\n" + f"{JOB}\n" * 150)
    with pytest.raises(TraceError, match="line 152 reads '1 2 3': 3 columns; expected 18"):
        traces.read_swf(path, verbose=False)
    path = tmp_path / "log.txt"
    path.write_text(text(*[{}] * 140, {"NNodes": "two"}, *[{}] * 40))
    with pytest.raises(TraceError, match="line 142 has NNodes='two'"):
        traces.read_sacct(path, verbose=False)


def test_a_damaged_compression_is_found_before_a_bad_line(tmp_path, cut):
    cut(300)
    chance = random.Random(1)
    lines = [f"{JOB} {chance.random()}\n" for _ in range(2_000)]
    data = gzip.compress(("1 2 3\n" + "".join(lines)).encode())
    path = tmp_path / "log.swf.gz"
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(TraceError, match="cut short or damaged"):
        traces.read_swf(path, verbose=False)


def test_names_of_jobs_over_several_lines_are_kept_together(tmp_path, cut):
    """A name ends at the next line that begins a record, in whatever piece that is."""
    odd = {"JobName": "one\n\ntwo | three\nfour"}
    path = tmp_path / "log.txt"
    path.write_text(text(*[{}, odd, {}] * 30))
    expected = outcome(traces.read_sacct, path)
    assert len(expected[0]) == 90
    cut(2_000)
    assert_same(outcome(traces.read_sacct, path), expected)


def test_regular_lines_are_split_as_line_by_line(tmp_path, monkeypatch):
    """Numbers that are parsed at once are those of the texts, and odd ones stay texts."""
    changes = [
        {},
        {"Start": "Unknown", "State": "CANCELLED by 7"},
        {"TimelimitRaw": "UNLIMITED"},
        {"NNodes": "2.0", "NCPUS": "1e1"},
        {"JobIDRaw": "0012", "ElapsedRaw": "007"},
        {"AllocTRES": "", "NodeList": "None assigned", "User": ""},
        {"End": "99999999999999999999"},
        {"Submit": "2026-01-31T23:59:59"},
        {"Eligible": "inf"},
        {"ElapsedRaw": "12.25"},
    ]
    paths = [tmp_path / f"{place}.txt" for place in range(len(changes))]
    for path, change in zip(paths, changes, strict=True):
        path.write_text(text({}, change, {}))
        heading, _, lines = path.read_text().partition("\n")
        assert slurm._split(lines.encode(), heading.split("|"), "|") is not None
    at_once = [outcome(traces.read_sacct, path) for path in paths]
    monkeypatch.setattr(slurm, "_split", lambda *_: None)
    for path, expected in zip(paths, at_once, strict=True):
        assert_same(outcome(traces.read_sacct, path), expected)
    refused = sum(isinstance(each, str) for each in at_once)
    assert 0 < refused < len(changes) / 2


def test_a_column_that_grows_is_as_wide_as_its_numbers():
    column, expected = swf.Growing(np.zeros(0, np.int8)), []
    for values in ([1, -5, 7], [300], [70_000, 0], [2**40], [0.5], [3]):
        column.extend(swf._narrow(pd.Series(values)))
        expected += [max(each, -1) for each in values]
        assert column.array.tolist() == expected
    assert column.kind == np.float64
    assert [swf._narrow(pd.Series([most])).dtype for most in (-9, 127, 128, 32_768)] == [
        np.int8,
        np.int8,
        np.int16,
        np.int32,
    ]


def test_records_out_of_order_are_sorted_as_a_table_is(tmp_path):
    chance = random.Random(5)
    jobs = pd.DataFrame({"submit_time": [float(chance.randrange(9)) for _ in range(50)]})
    jobs = jobs.assign(job_id=pd.array([*range(49), None], dtype="Int64"), user="a")
    expected = jobs.sort_values("submit_time", kind="stable")
    pd.testing.assert_frame_equal(account.in_order(jobs, account.Account()), expected)


def test_the_text_of_a_long_log_is_never_in_memory_as_a_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(account, "PIECE", 100_000)
    path = tmp_path / "log.swf"
    path.write_bytes(b"; a long remark\n" * 500_000 + f"{JOB}\n".encode())
    sizes = [len(piece) for piece in account.read_pieces(path)]
    assert max(sizes) < 100_000 + 2 * account.CHUNK and sum(sizes) == path.stat().st_size
    assert len(traces.read_swf(path, verbose=False)) == 1


def test_readers_in_pieces_may_have_larger_logs(monkeypatch):
    monkeypatch.delenv(account.SIZE_LIMIT, raising=False)
    assert account.largest_log(account.SHARE_IN_PIECES) == pytest.approx(
        account.largest_log() * account.SHARE_OF_MEMORY / account.SHARE_IN_PIECES
    )


@pytest.mark.parametrize(
    "read, table, delimiter",
    [(traces.read_swf, large.swf_table, " "), (traces.read_sacct, large.sacct_table, "|")],
)
def test_reading_takes_at_most_four_times_the_text(tmp_path, cut, read, table, delimiter):
    path = tmp_path / "log"
    large.write(path, 3_000, table, delimiter)
    cut(60_000)
    read(path, verbose=False)
    tracemalloc.start()
    try:
        assert len(read(path, verbose=False)) == 3_000
        assert tracemalloc.get_traced_memory()[1] < 4 * path.stat().st_size
    finally:
        tracemalloc.stop()
