"""Polyakov and Dubenskaya (2018): schedules node by node, their containers, and the load."""

import numpy as np
import pandas as pd

from cosimlib.filling import simulate_filling
from cosimlib.system import System
from cosimlib.workload import Workload
from papers.polyakov2018.experiment import SEVEN as JOBS
from papers.polyakov2018.experiment import load_table
from papers.polyakov2018.figures import node_table, plot_slots

SEVEN = Workload(JOBS)


def test_seven_jobs_node_by_node():
    """Job 5 overtakes job 4, and job 7 gets nodes 0, 1, 4 and 5, which are not neighbors."""
    table = node_table(simulate_filling(SEVEN, System.of(6), policy="B"))
    blocks = [
        (row.label, row.start / 60, row.end / 60, row.first, row.nodes)
        for row in table.itertuples()
    ]
    assert blocks == [
        ("1", 0, 1, 0, 1),
        ("2", 0, 2, 1, 1),
        ("3", 0, 2, 2, 4),
        ("4", 2, 5, 0, 2),
        ("5", 1, 2, 0, 1),
        ("6", 2, 6, 2, 2),
        ("7", 5, 6, 0, 2),
        ("7", 5, 6, 4, 2),
        ("a1", 2, 5, 4, 1),
        ("a2", 2, 5, 5, 1),
    ]
    assert table["kind"].tolist() == ["regular"] * 8 + ["container"] * 2


def test_the_picture_has_one_labeled_rectangle_per_block():
    schedule = simulate_filling(SEVEN, System.of(6), policy="B")
    table = node_table(schedule)
    figure = plot_slots(table, schedule.slot, title="Seven jobs")
    assert len(figure.data) == len(table) == len(figure.layout.annotations)
    first = figure.data[0]
    assert list(first.x) == [0, 1, 1, 0, 0] and list(first.y) == [0, 0, 1, 1, 0]
    hatched = [bool(trace.fillpattern.shape) for trace in figure.data]
    assert hatched == (table["kind"] == "container").tolist()
    assert figure.data[6].fillcolor == figure.data[7].fillcolor
    assert list(figure.layout.xaxis.ticktext) == ["1", "2", "3", "4", "5", "6"]
    assert figure.layout.yaxis.title.text == "CPU slot"


def test_load_is_averaged_over_seeds():
    runs = pd.DataFrame(
        {
            "queue_depth": [10] * 4 + [100] * 2,
            "accuracy": [0.0, 0.0, 1.0, 1.0, 0.0, 1.0],
            "seed": [0, 1, 0, 1, 0, 0],
            "variant": "rescheduled",
            "load": [0.7, 0.9, 0.8, 0.8, 0.95, 0.99],
        }
    )
    table = load_table(runs)
    assert table["load"].round(9).tolist() == [0.8, 0.8, 0.95, 0.99]
    assert table["spread"].round(9).tolist() == [round(np.sqrt(0.02), 9), 0, 0, 0]
    assert table["lowest"].tolist() == [0.7, 0.8, 0.95, 0.99]
    assert table["seeds"].tolist() == [2, 2, 1, 1]
