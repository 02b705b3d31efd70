"""Gantt charts: blocks against the slow numbering, one machine's linked axes, any schedule."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from cosimlab.figures import caption
from cosimlab.figures.gantt import MOST_LABELED, TURNS, plot_batch, plot_gantt, turn_blocks
from cosimlib.batch import simulate_easy
from cosimlib.calendar import Calendar
from cosimlib.elastic import simulate_elastic
from cosimlib.filling import simulate_filling
from cosimlib.metrics import overtaking
from cosimlib.ondemand import Evict
from cosimlib.placement import node_blocks
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.timesharing import simulate_timesharing
from cosimlib.workload import Workload
from tests.cosimlab.figures.naive import node_numbers
from tests.cosimlib.ondemand.test_simulation import run
from tests.strategies import workloads

NODES = 8


def made(*rows, nodes=6) -> Schedule:
    """Rows of submission, start, run time, nodes."""
    table = pd.DataFrame(rows, columns=["submit_time", "start", "run_time", "nodes"])
    workload = Workload(table.drop(columns="start"), "made up")
    return Schedule.from_starts(workload, System.of(nodes), table["start"], "given")


@given(workloads(max_jobs=16, max_nodes=NODES, overruns=True))
@settings(max_examples=60)
def test_blocks_are_the_lowest_free_nodes_in_pieces(workload):
    schedule = simulate_easy(workload, System.of(NODES))
    blocks = node_blocks(schedule)
    start, end = schedule.start_time, schedule.end_time
    numbers = node_numbers(start, end, workload.jobs["nodes"].to_numpy(), NODES)
    for job, expected in enumerate(numbers):
        own = blocks[blocks["job"] == job]
        held = [np.arange(block.node, block.node + block.nodes) for block in own.itertuples()]
        assert np.concatenate([*held, []]).tolist() == (
            expected.tolist() if end[job] > start[job] else []
        )
        assert all(one[-1] + 1 < other[0] for one, other in pairwise(held))
        assert (own["start"] == start[job]).all() and (own["end"] == end[job]).all()


def test_a_job_between_two_others_is_in_two_pieces():
    blocks = node_blocks(made((0, 0, 9, 1), (0, 0, 2, 2), (0, 0, 9, 2), (3, 3, 5, 3)))
    assert blocks[["job", "node", "nodes"]].to_numpy().tolist() == [
        [0, 0, 1],
        [1, 1, 2],
        [2, 3, 2],
        [3, 1, 2],
        [3, 5, 1],
    ]


def test_more_nodes_than_there_are_are_refused():
    with pytest.raises(
        ValueError, match="given, made up: more nodes are held than the 6 of 6 nodes"
    ):
        node_blocks(made((0, 0, 9, 4), (0, 5, 9, 3)))


@given(workloads(max_jobs=16, max_nodes=NODES, overruns=True))
@settings(max_examples=40)
def test_overtaking_is_starting_before_a_job_submitted_earlier(workload):
    start = simulate_easy(workload, System.of(NODES)).start_time
    schedule = Schedule.from_starts(workload, System.of(NODES), start, "EASY")
    expected = [any(start[job] < start[other] for other in range(job)) for job in range(len(start))]
    assert overtaking(schedule).tolist() == expected


def test_the_chart_has_four_traces_on_one_clock():
    """Hours from the first submission, at 3600 s; job 2 overtakes job 1 for half an hour."""
    schedule = made((3600, 3600, 3600, 4), (3600, 7200, 7200, 5), (3660, 3660, 1800, 2))
    in_turn, overtook, busy, waiting = plot_batch(schedule, title="T").data
    assert [in_turn.name, overtook.name] == list(TURNS)
    assert list(in_turn.base) == [0, 1] and in_turn.x.tolist() == [1, 2]
    assert in_turn.y.tolist() == [2, 2.5] and in_turn.width.tolist() == [4, 5]
    assert list(overtook.base) == [0.0167] and overtook.x.tolist() == [0.5]
    assert overtook.customdata.tolist() == [[2, 2, 0]]
    assert in_turn.customdata.tolist() == [[0, 4, 0], [1, 5, 1]]
    assert busy.x.tolist() == [0, 0.0167, 0.5167, 1, 3]
    assert busy.y.tolist() == [66.667, 100, 66.667, 83.333, 0]
    assert waiting.x.tolist() == [0, 0.0167, 1] and waiting.y.tolist() == [1, 1, 0]


def test_a_zoom_of_one_is_a_zoom_of_all():
    layout = plot_batch(made((0, 0, 9, 4)), title="T").layout
    assert {layout.xaxis.matches, layout.xaxis2.matches, layout.xaxis3.matches} <= {"x3", None}
    assert [layout.xaxis.matches, layout.xaxis2.matches].count("x3") == 2
    assert layout.xaxis3.title.text == "hours since the first submission"
    assert layout.yaxis.range == (0, 6) and layout.title.text == "T"


def test_jobs_of_zero_run_time_and_no_jobs_have_no_blocks():
    assert turn_blocks(made((0, 0, 0, 4), (0, 0, 3600, 2)))["job"].tolist() == [1]
    assert turn_blocks(made()).empty and len(plot_batch(made(), title="T").data) == 4


def held(picture) -> float:
    """Node-hours of all bars."""
    return sum(float(np.dot(bar.x, bar.width)) for bar in picture.data)


REQUESTS = pd.DataFrame({"time": [1_800.0], "nodes": 4, "duration": 3_600.0})
SIMULATED = {
    "batch": lambda jobs: (simulate_easy(jobs, System.of(6)), {"batch jobs"}),
    "filled": lambda jobs: (
        simulate_filling(jobs, System.of(6), policy="B"),
        {"batch jobs", "filler containers"},
    ),
    "elastic": lambda jobs: (
        simulate_elastic(jobs, System.of(6), policy="FIFO", preemptions=REQUESTS),
        {"batch jobs", "lost: done again"},
    ),
    "on demand": lambda _: (
        run(policy=Evict("dynamic", step=1.0)),
        {"batch jobs", "bursts", "checkpoints written"},
    ),
}


@pytest.mark.parametrize("kind", SIMULATED)
def test_any_schedule_is_drawn_by_the_use_of_its_nodes(kind):
    jobs = made((0, 0, 7200, 4), (60, 0, 3600, 2), (120, 0, 3600, 6)).workload.jobs
    workload = Workload(jobs.assign(requested_time=jobs["run_time"]), "made up")
    schedule, uses = SIMULATED[kind](workload)
    picture = plot_gantt(schedule)
    assert {bar.name for bar in picture.data} >= uses
    assert picture.layout.title.text == schedule.name
    assert held(picture) == pytest.approx(schedule.held(*schedule.span).sum() / 3600, abs=0.01)
    begin, end = schedule.span
    middle = (begin + end) / 2
    part = plot_gantt(schedule, start=begin, end=middle, title="half")
    expected = schedule.held(begin, middle).sum() / 3600
    assert held(part) == pytest.approx(expected, abs=0.01)
    assert part.layout.xaxis.range == pytest.approx((0, (middle - begin) / 3600))


def test_few_blocks_have_the_names_of_their_jobs():
    schedule = made((0, 0, 3600, 4), (0, 0, 3600, 2))
    (bars,) = plot_gantt(schedule, names=["a", "b"]).data
    assert list(bars.text) == ["<b>a</b>", "<b>b</b>"]
    many = made(*[(0, 3600 * k, 3600, 1) for k in range(MOST_LABELED + 1)])
    assert plot_gantt(many).data[0].text is None


def test_jobs_that_share_nodes_have_a_row_each():
    workload = made((0, 0, 3600, 6), (0, 0, 3600, 6)).workload
    workload = Workload(workload.jobs.assign(requested_time=3600), "made up")
    picture = plot_gantt(simulate_timesharing(workload, System.of(6)))
    (bars,) = picture.data
    assert bars.y.tolist() == [0.5, 1.5] and bars.width.tolist() == [1, 1]
    assert bars.x.tolist() == [2, 2] and "order of their starts" in picture.layout.yaxis.title.text


def test_a_record_beyond_the_machine_is_drawn_and_nothing_is_a_sentence():
    schedule = made((0, 0, 3600, 4), (0, 0, 3600, 4))
    assert held(plot_gantt(schedule)) == 8
    empty = plot_gantt(schedule, start=1e6, end=2e6, title="t")
    assert not empty.data and "no job runs" in caption(empty)[0]
    with pytest.raises(TypeError, match="expected a Schedule"):
        plot_gantt(schedule.jobs)


def test_windows_of_a_calendar_are_shaded_on_all_axes():
    rows = made((0, 0, 3600, 4), (0, 10800, 3600, 4)).workload
    calendar = Calendar({"start": [3600, 9e9], "end": [7200, 9.1e9], "nodes": [3, 3]})
    schedule = Schedule.from_starts(rows, System.of(6), [0, 10800], "given", calendar=calendar)
    (window,) = plot_gantt(schedule).layout.shapes
    assert (window.x0, window.x1, window.opacity) == pytest.approx((1, 2, 0.2))
    windows = plot_batch(schedule, title="t").layout.shapes
    assert [(each.x0, each.x1) for each in windows] == [(1, 2)] * 3
