"""Frontier's SWF of 21 columns: nodes of the descriptor, GPUs, the soft limit."""

import pytest

from cosimlib.traces import TraceError, read_swf
from tests.cosimlib.traces.reading import DATA, counts

NOTE = "made by hand after the description of the logs of 2024 and 2025"


def frontier(tmp_path, change):
    """The workload of the sample with its text changed."""
    path = tmp_path / "frontier.swf"
    path.write_text(change((DATA / "frontier.swf").read_text()))
    return read_swf(path, verbose=False)


def test_nodes_are_those_of_the_descriptor_whatever_the_processors_say():
    workload = read_swf(DATA / "frontier.swf", verbose=False)
    jobs = workload.jobs.set_index("job_id")
    assert jobs.loc[[1, 2, 3, 4, 5], "nodes"].tolist() == [8, 1, 2, 1, 2500]
    assert jobs.loc[[1, 5], "allocated_processors"].tolist() == [512, 2500]
    assert jobs.loc[[2, 3], "used_gpus"].tolist() == [4, 8]
    assert jobs["used_gpus"].isna()[1]
    assert jobs.loc[5, "soft_requested_time"] == 1800
    assert "memory" not in jobs
    assert workload.machine.total_nodes == 9408
    assert workload.machine.cores_per_node == 112
    assert counts(workload) == {
        ("dropped", "run time unknown"): 1,
        ("dropped", "no number of nodes in its descriptor"): 1,
        ("noted", "not exclusive: it may share its nodes"): 1,
        ("noted", "run time over the requested time"): 4,
        ("noted", "requested time unknown"): 1,
        ("noted", "start unknown"): 1,
        ("noted", f'the header says: "{NOTE}"'): 20,
    }


def test_the_header_s_nodes_and_further_columns(tmp_path):
    workload = frontier(
        tmp_path,
        lambda text: "; MaxNodes: 9472\n" + text.replace(":8x112\n", ":8x112 more\n", 1),
    )
    assert workload.machine.total_nodes == 9472
    assert counts(workload)["noted", "more than 21 columns, the rest ignored"] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda text: text.replace(" 1800 frontier", " soon frontier", 1),
            r"line 10 .*soft_requested_time is 'soon'; expected a number",
        ),
        (
            lambda text: text.replace(" 8 -1 frontier:excl:2x112", " 8 -1", 1),
            r"line 8 .*20 columns; expected 21",
        ),
        (
            lambda text: text.replace(" 8 -1 frontier:excl:2x112", "", 1),
            r"line 8 .*18 columns; expected 21",
        ),
    ],
)
def test_a_bad_line_is_named(tmp_path, change, message):
    with pytest.raises(TraceError, match=message):
        frontier(tmp_path, change)
