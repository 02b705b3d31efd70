"""Gantt charts of held and used nodes, on a few jobs known by heart."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from cosimlab.figures import caption, plot_coupled_moment, plot_gantt
from cosimlab.figures.gantt import GROUP_COLORS
from cosimlib.coscheduling import simulate_coscheduling
from cosimlib.system import System
from cosimlib.workload import Workload
from tests.cosimlib.coscheduling.instances import held_for_a_mate

NAMES = ["a", "c", "b"]


@pytest.fixture(scope="module")
def schedule():
    return held_for_a_mate()


class Block(NamedTuple):
    name: str
    axis: str
    start: float
    end: float
    nodes: int
    hatched: bool
    color: str


def blocks(picture) -> list[Block]:
    """The blocks of all machines; the last two traces are the legend's."""
    return [
        Block(label[0], bars.yaxis, start, start + length, nodes, shape == "/", color)
        for bars in picture.data[:-2]
        for label, start, length, nodes, shape, color in zip(
            bars.customdata,
            bars.base,
            bars.x,
            bars.width,
            bars.marker.pattern.shape,
            bars.marker.color,
            strict=True,
        )
    ]


def test_gantt_hatches_what_is_held(schedule):
    picture = plot_gantt(schedule, title="Small", names=NAMES)
    hatched = {(block.name, block.start): block.hatched for block in blocks(picture)}
    assert hatched == {
        ("a", 0): True,
        ("a", 20): True,
        ("a", 30): False,
        ("c", 10): False,
        ("b", 30): False,
    }
    assert "gray jobs have no mates" in caption(picture)[0]


def test_gantt_blocks_are_where_and_when_jobs_have_nodes(schedule):
    drawn = blocks(plot_gantt(schedule, title="Small", names=NAMES))
    assert {(bar.name, bar.axis, bar.start, bar.end, bar.nodes) for bar in drawn} == {
        ("a", "y", 0, 20, 5),
        ("a", "y", 20, 30, 5),
        ("a", "y", 30, 90, 5),
        ("c", "y", 10, 70, 2),
        ("b", "y2", 30, 90, 4),
    }


def test_mates_have_one_color_and_jobs_without_mates_are_gray(schedule):
    drawn = blocks(plot_gantt(schedule, title="Small", names=NAMES))
    colors = {bar.name: bar.color for bar in drawn}
    assert colors["a"] == colors["b"] == GROUP_COLORS[0] and colors["c"] not in GROUP_COLORS


def test_a_hold_without_an_end_is_drawn_to_the_end_of_the_picture():
    jobs = {"submit_time": [0, 60], "run_time": 600, "requested_time": 600, "nodes": [3, 2]}
    jobs |= {"partition": list("AB"), "mate": [1, 0]}
    workload = Workload(pd.DataFrame(jobs), "later")
    knobs = {"schemes": "HH", "outages": [("B", 30.0, 600.0)]}
    schedule = simulate_coscheduling(workload, System.of(A=5, B=5), **knobs)
    # A starts its job when B goes down at 30 s; B's waits for its manager until 600 s.
    assert schedule.start_time.tolist() == [30, 600]
    picture = plot_gantt(schedule, title="Cut", end=300.0)
    assert [bar.end for bar in blocks(picture)] == [0.5, 5]


def test_a_moment_shows_what_happened_until_then_and_who_waits(schedule):
    picture = plot_coupled_moment(schedule, at=1500.0, title="Moment", names=NAMES)
    first, second = picture.data[:2]
    ends = np.array(first.base) + np.array(first.x)
    assert sorted(zip(first.base, ends.tolist(), strict=True)) == [(0, 20), (10, 25), (20, 25)]
    assert len(second.x) == 0
    queues = [note.text for note in picture.layout.annotations[:2]]
    assert queues == ["waiting on A: none", "waiting on B: none"]
    (line,) = picture.layout.shapes[:1]
    assert line.x0 == line.x1 == 25


def test_a_queue_names_five_jobs_and_counts_the_rest():
    jobs = {"submit_time": range(9), "run_time": 600, "requested_time": 600, "nodes": 4}
    workload = Workload(pd.DataFrame(jobs).assign(partition="A"), "queue")
    schedule = simulate_coscheduling(workload, System.of(A=4, B=4), order="submit")
    names = [f"j{job}" for job in range(9)]
    picture = plot_coupled_moment(schedule, at=300.0, title="Queue", names=names)
    heading = picture.layout.annotations[0].text
    assert heading == "waiting on A: j1 (4), j2 (4), j3 (4), j4 (4), j5 (4) and 3 more"
