"""Headers of SWF: processors per node, announced; calendar time, kept and written back."""

import pandas as pd
import pytest

from cosimlib.system import System
from cosimlib.traces import load, read_swf, write_swf
from cosimlib.workload import Workload
from tests import zoo
from tests.cosimlib.traces.reading import DATA, counts, swf

MACHINE = "; MaxNodes: 8", "; MaxProcs: 64"
EACH = "each processor counts as a node"


def record(requested, allocated=None, submit=0):
    """A line of a log with its numbers of processors."""
    allocated = requested if allocated is None else allocated
    return f"1 {submit} 5 100 {allocated} -1 -1 {requested} 200 -1 1 7 3 4 2 1 -1 -1"


def noted(workload):
    """The account's entries about processors."""
    return [(why, n) for (_, why), n in counts(workload).items() if "processors" in why]


# Processors per node


def test_whole_nodes_are_counted_in_nodes(tmp_path):
    workload = swf(tmp_path, *MACHINE, *map(record, (8, 64, 24)))
    assert workload.jobs["nodes"].tolist() == [1, 8, 3]
    assert workload.machine.total_nodes == 8 and workload.machine.cores_per_node == 8
    assert noted(workload) == [("64 processors in 8 nodes: 8 processors count as a node", 3)]


def test_parts_of_nodes_are_counted_in_processors(tmp_path):
    workload = swf(tmp_path, *MACHINE, *map(record, (8, 64, 24, 1)))
    assert workload.jobs["nodes"].tolist() == [8, 64, 24, 1]
    assert workload.machine.total_nodes == 64 and workload.machine.cores_per_node == 1
    assert noted(workload) == [
        (f"64 processors in 8 nodes, and jobs hold parts of nodes: {EACH}", 4)
    ]


def test_one_odd_job_among_a_hundred_is_rounded_up(tmp_path):
    sizes = [*[16] * 99, 3]
    assert swf(tmp_path, *MACHINE, *map(record, sizes)).jobs["nodes"].tolist() == [2] * 99 + [1]
    assert swf(tmp_path, *MACHINE, *map(record, [*sizes, 3])).jobs["nodes"].tolist()[0] == 16


def test_held_processors_tell_and_requested_ones_count(tmp_path):
    workload = swf(tmp_path, *MACHINE, record(3, allocated=8), record(9, allocated=16))
    assert workload.jobs["nodes"].tolist() == [1, 2]
    workload = swf(tmp_path, *MACHINE, record(16, allocated=-1))
    assert workload.jobs["nodes"].tolist() == [2]


def test_nodes_that_are_not_alike_are_counted_in_processors(tmp_path):
    workload = swf(tmp_path, "; MaxNodes: 5", "; MaxProcs: 64", record(64))
    assert workload.jobs["nodes"].tolist() == [64]
    assert noted(workload) == [(f"64 processors in 5 nodes, not the same in each: {EACH}", 1)]


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["; MaxNodes: 64"],
        ["; MaxProcs: 64"],
        ["; MaxNodes: 64", "; MaxProcs: 64"],
        ["; MaxNodes: 128", "; MaxProcs: 64"],
    ],
)
def test_where_the_header_says_nothing_a_processor_is_a_node(tmp_path, lines):
    workload = swf(tmp_path, *lines, record(8))
    assert workload.jobs["nodes"].tolist() == [8] and noted(workload) == []


def test_a_number_given_is_not_argued_with(tmp_path):
    lines = [*MACHINE, *map(record, (8, 64, 24))]
    assert swf(tmp_path, *lines, cores_per_node=1).jobs["nodes"].tolist() == [8, 64, 24]
    workload = swf(tmp_path, *lines, cores_per_node=16)
    assert workload.jobs["nodes"].tolist() == [1, 4, 2] and workload.machine.total_nodes == 4
    assert noted(workload) == [("not a multiple of 16 processors, rounded up to whole nodes", 2)]
    assert load(tmp_path / "log.swf", cores_per_node=4, verbose=False).machine.total_nodes == 16
    with pytest.raises(ValueError, match="cores_per_node=0; expected a whole number from 1"):
        load(tmp_path / "log.swf", cores_per_node=0)


def test_readers_that_do_not_count_processors_refuse_the_number():
    with pytest.raises(
        ValueError, match="cores_per_node=4, which read_alcf does not take; leave it"
    ):
        load(DATA / "alcf.csv", cores_per_node=4)
    assert len(load(DATA / "alcf.csv", verbose=False))


def test_of_the_zoo_only_nodes_of_eight_processors_are_counted_in_nodes():
    logs = {path.name: read_swf(path, verbose=False) for path in zoo.ZOO.iterdir()}
    machines = {name.partition(".")[0]: log.machine for name, log in logs.items() if log.machine}
    cores = {name for name, machine in machines.items() if machine.cores_per_node > 1}
    assert cores == {"nodes-of-eight-processors"}
    assert machines["nodes-of-eight-processors"].total_nodes == 8
    assert all(
        len(log) == (3 if name.startswith("three") else zoo.JOBS) for name, log in logs.items()
    )


# Calendar time


@pytest.mark.parametrize(
    ("lines", "began"),
    [
        (
            ["UnixStartTime: 1296571124", "TimeZoneString: Europe/Paris"],
            pd.Timestamp("2011-02-01 15:38:44", tz="Europe/Paris"),
        ),
        (
            ["UnixStartTime: 893466664", "TimeZone: -28800"],
            pd.Timestamp("1998-04-24 17:11:04-08:00"),
        ),
        (
            ["UnixStartTime: 893466664", "TimeZone: 3600", "TimeZoneString: Nowhere/Atlantis"],
            pd.Timestamp("1998-04-25 02:11:04+01:00"),
        ),
        (["UnixStartTime: 893466664"], pd.Timestamp("1998-04-25 01:11:04", tz="UTC")),
        (
            ["UnixStartTime: 893466664", "TimeZone: 999999", "TimeZoneString: ../../etc"],
            pd.Timestamp("1998-04-25 01:11:04", tz="UTC"),
        ),
        (["UnixStartTime: 0", "TimeZoneString: UTC"], None),
        (["UnixStartTime: -1"], None),
        (["UnixStartTime: unknown"], None),
        (["UnixStartTime: 99999999999999999999"], None),
        (["TimeZoneString: Europe/Paris"], None),
    ],
)
def test_second_0_is_that_of_the_header(tmp_path, lines, began):
    workload = swf(tmp_path, *(f"; {line}" for line in lines), record(1))
    assert workload.began == began
    if began is not None:
        assert workload.began.utcoffset() == began.utcoffset()
        path = write_swf(workload, tmp_path / "copy.swf")
        assert str(read_swf(path, verbose=False).began) == str(workload.began)


def test_a_local_clock_is_not_written(tmp_path):
    jobs = pd.DataFrame({"submit_time": [0], "run_time": 1, "nodes": 1})
    workload = Workload(jobs, "W", System.of(1), began=pd.Timestamp("2020-01-01"))
    assert read_swf(write_swf(workload, tmp_path / "log.swf"), verbose=False).began is None
