"""The tables behind the figure of one time-shared machine, on a few jobs known by heart."""

import numpy as np
import pandas as pd
import pytest

from cosimlab.figures.maps import NO_VALUE
from cosimlab.figures.timesharing_moment import plot_sharing
from cosimlab.timesharing import simulate_batch
from cosimlib.system import System
from cosimlib.timesharing import simulate_timesharing
from cosimlib.timesharing.schedule import (
    BANDS,
    crowd_table,
    crowded_node,
    ratio_table,
    share_table,
)
from cosimlib.workload import Workload

HOUR = 3_600.0


def made(**columns) -> Workload:
    return Workload(pd.DataFrame(columns).assign(requested_time=1e6), "made up")


def placed(*where, hours=1.0, submit=0.0, nodes=3, sample=None):
    """Jobs of some hours on these nodes, sampled every minute for a day."""
    workload = made(
        submit_time=np.broadcast_to(submit, len(where)),
        run_time=np.broadcast_to(hours, len(where)) * HOUR,
        nodes=[len(numbers) for numbers in where],
    )
    sample = np.arange(0, 86_400, 60.0) if sample is None else sample
    placement = [np.array(numbers) for numbers in where]
    return simulate_timesharing(workload, System.of(nodes), placement=placement, sample=sample)


def test_the_most_crowded_node_is_that_with_most_jobs_then_widest_then_lowest():
    schedule = placed([0], [1], [0, 2], [1, 2], [1])
    node, jobs = crowded_node(schedule, 0.0)
    assert (node, jobs.tolist()) == (1, [1, 3, 4])
    node, jobs = crowded_node(placed([0], [0], [1, 2], [1, 2]), 0.0)
    assert (node, jobs.tolist()) == (1, [2, 3])
    assert crowded_node(placed([2], [1]), 0.0)[0] == 1
    node, jobs = crowded_node(placed([2], [1]), 1e6)
    assert (node, jobs.tolist()) == (0, [])


def test_shares_are_those_of_the_papers_example_and_rows_are_changes():
    """Until hour 4/3: quarters on node 0; the job alone on node 1 beside one of them has 3/4."""
    schedule = placed([0], [0], [0], [0, 1], [1])
    table = share_table(schedule, 0.0)
    assert table.columns.tolist() == [0, 1, 2, 3, "others"]
    # Four equal jobs of an hour each are done at hour 4.
    assert table.index.tolist() == pytest.approx([0, 4, 23 + 59 / 60])
    assert table.to_numpy().tolist() == [[0.25] * 4 + [0], [0.0] * 5, [0.0] * 5]


def test_jobs_before_and_after_are_others():
    schedule = placed([0], [0], [1], hours=[1, 2, 9], submit=[0, 7_200, 7_200])
    table = share_table(schedule, 3 * HOUR)
    assert table.columns.tolist() == [1, "others"]
    assert table[1].tolist() == [0, 0, 1, 0, 0] and table["others"].tolist() == [1, 0, 0, 0, 0]
    assert table.index.tolist()[:4] == [0, 1, 2, 4]


def test_only_those_that_have_had_the_most_are_drawn():
    many = placed(*[[0]] * (BANDS + 2), hours=[9, 1, 9, 9, 2, 9, 9, 9])
    table = share_table(many, 0.0)
    assert table.columns.tolist() == [0, 2, 3, 5, 6, 7, "others"]
    assert table["others"].iloc[0] == pytest.approx(2 / 8)
    assert (table.sum(axis=1) <= 1 + 1e-9).all()
    picture = plot_sharing(many, simulate_batch(many.workload, System.of(3)), at=0.0, title="")
    assert picture.layout.legend.title.text == "Shares at the dashed line, 8 jobs there"
    assert [band.name for band in picture.data][:2] == [
        "job 0, 1 node: 0.12",
        "job 2, 1 node: 0.12",
    ]


def test_an_empty_machine_is_drawn_with_as_many_traces():
    schedule = placed([0], [1])
    batch = simulate_batch(schedule.workload, System.of(3))
    pictures = [plot_sharing(schedule, batch, at=at, title="x") for at in (0.0, 5e4)]
    assert [len(picture.data) for picture in pictures] == [BANDS + 6] * 2
    assert pictures[1].layout.legend.title.text == "Shares at the dashed line, no job there"
    assert [trace.showlegend for trace in pictures[1].data[: BANDS + 1]] == [False] * BANDS + [True]


def test_shares_that_were_not_kept_are_asked_for():
    workload = made(submit_time=[0], run_time=[60], nodes=[1])
    schedule = simulate_timesharing(workload, System.of(1))
    message = "time-sharing, made up: no shares are kept; simulate with sample="
    with pytest.raises(ValueError, match=message):
        share_table(schedule, 0.0)


def test_ratios_are_those_of_the_mean_slowdowns_in_bins():
    """One node: in batch jobs run one after the other, time-shared all at once."""
    workload = made(submit_time=[0, 0, 0], run_time=[600, 30, 50], nodes=[1, 1, 1])
    batch = simulate_batch(workload, System.of(1))
    shared = simulate_timesharing(workload, System.of(1))
    table = ratio_table(batch, shared).set_index("run_time")
    assert table.index.tolist() == [10, 600] and table["jobs"].tolist() == [2, 1]
    # Batch ends: 600, 630, 680. Time-shared: the short ones at 90 and 130, the long one at 680.
    assert table["batch"].tolist() == pytest.approx([(630 / 30 + 680 / 50) / 2, 1])
    assert table["shared"].tolist() == pytest.approx([(90 / 30 + 130 / 50) / 2, 680 / 600])
    assert table["ratio"].tolist() == pytest.approx((table["batch"] / table["shared"]).tolist())


@pytest.mark.parametrize(("nodes", "bins"), [([1, 2, 3, 4, 7, 8], [1, 2, 4, 8])])
def test_sizes_go_from_one_power_of_two_to_the_next(nodes, bins):
    workload = made(submit_time=[0] * 6, run_time=[100] * 6, nodes=nodes)
    table = ratio_table(
        simulate_batch(workload, System.of(8)), simulate_timesharing(workload, System.of(8))
    )
    assert table["nodes"].tolist() == bins and table["jobs"].tolist() == [1, 2, 2, 1]


def test_crowds_in_batch_are_nodes_held_and_jobs_queued_by_the_hour():
    workload = made(submit_time=[0, 0], run_time=[1.5 * HOUR] * 2, nodes=[2, 2])
    batch = simulate_batch(workload, System.of(4))
    assert crowd_table(batch)["cpu_load"].tolist() == [1, 0.5]
    shared = simulate_timesharing(workload, System.of(4))
    assert crowd_table(shared)["cpu_load"].tolist() == [1, 0.5]
    queued = crowd_table(simulate_batch(workload, System.of(2)))
    assert queued["waiting"].tolist() == pytest.approx([1, 0.5, 0])
    assert queued["cpu_load"].tolist() == pytest.approx([1, 1, 1])
    assert queued.index.tolist() == [0, 1, 2]


def test_the_map_is_gray_where_there_are_no_jobs():
    """A ratio of about 1 is white: bins without jobs are not."""
    schedule = placed([0, 1, 2], [0])
    batch = simulate_batch(schedule.workload, System.of(3))
    picture = plot_sharing(schedule, batch, at=0.0, title="x")
    behind = [shape for shape in picture.layout.shapes if shape.type == "rect"]
    assert [(shape.fillcolor, shape.layer) for shape in behind] == [(NO_VALUE, "below")]
    (heat,) = (trace for trace in picture.data if trace.type == "heatmap")
    assert behind[0].xref == f"{heat.xaxis} domain" and behind[0].yref == f"{heat.yaxis} domain"
    assert None in heat.z.ravel() and not heat.hoverongaps
