"""Polyakov and Dubenskaya (2018): schedules node by node, their containers, and the load."""

import numpy as np
import pandas as pd

from cosimlib.filling import simulate_filling
from cosimlib.system import System
from cosimlib.workload import Workload
from papers.polyakov2018.experiment import SEVEN as JOBS
from papers.polyakov2018.figures import FIGURES, load_table, node_table, plot_load

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
    figure, table, _, data = FIGURES["figure-3"](schedule)
    assert data == "seven jobs, made up"
    pd.testing.assert_frame_equal(table, node_table(schedule))
    assert len(figure.data) == len(table) == len(figure.layout.annotations)
    first = figure.data[0]
    assert list(first.x) == [0, 1, 1, 0, 0] and list(first.y) == [0, 0, 1, 1, 0]
    hatched = [bool(trace.fillpattern.shape) for trace in figure.data]
    assert hatched == (table["kind"] == "container").tolist()
    assert figure.data[6].fillcolor == figure.data[7].fillcolor
    assert list(figure.layout.xaxis.ticktext) == ["1", "2", "3", "4", "5", "6"]
    assert figure.layout.yaxis.title.text == "CPU slot"
    assert figure.layout.title.text == "Figure 3. The same with containers a1 and a2"


def test_load_is_averaged_over_seeds_and_its_spread_shaded():
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
    figure = plot_load(table, title="Load")
    line, band, *_ = figure.data
    assert list(line.y) == [0.8, 0.8] and line.name == "10 jobs wait"
    assert list(band.x) == [0, 1, 1, 0] and band.fill == "toself"
    np.testing.assert_allclose(band.y, [0.8 + np.sqrt(0.02), 0.8, 0.8, 0.8 - np.sqrt(0.02)], 1e-4)
    assert len(figure.data) == 5 and figure.data[-1].name.startswith("0.9: real machines in the")
    assert figure.layout.shapes[0].y0 == figure.layout.shapes[0].y1 == 0.9
    both = pd.concat([table, table.assign(variant="not rescheduled", load=0.5)])
    figure = plot_load(both, title="Load")
    assert [note.text for note in figure.layout.annotations[:2]] == [
        "(a) rescheduled",
        "(b) not rescheduled",
    ]
    drawn = [list(line.y) for line in figure.data[:-1:2]]
    assert drawn == [[0.8, 0.8], [0.95, 0.99], [0.5, 0.5], [0.5, 0.5]]
    assert [line.showlegend for line in figure.data[:-1:2]] == [True, True, False, False]
    assert [line.xaxis for line in figure.data[:-1:2]] == ["x", "x", "x2", "x2"]
