"""Figures of time-sharing: tables tell what is drawn, and what is drawn is the table."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cosimlib import synthetic
from cosimlib.figures import timesharing as figures
from cosimlib.metrics import bounded_slowdown
from cosimlib.system import System
from cosimlib.timesharing import (
    applications,
    simulate_batch,
    simulate_timesharing,
    summarize_run,
    turnaround_times,
)
from cosimlib.workload import Workload


@pytest.fixture(scope="module")
def schedules():
    workload = synthetic.edison(15, nodes=64, seed=3)
    system = workload.machine
    return simulate_batch(workload, system), simulate_timesharing(workload, system)


@pytest.fixture(scope="module")
def runs(schedules):
    return [summarize_run(each, warm_up=0.0) for each in schedules]


def test_node_hours_by_size_add_up_in_order_of_size():
    table = figures.size_table([4, 1, 4, 2], [10, 100, 5, 20])
    assert table["nodes"].tolist() == [1, 2, 4]
    np.testing.assert_allclose(table["share"], [0.5, 0.7, 1.0])


def test_slowdowns_have_their_share_of_jobs_at_most(schedules, runs):
    table = figures.slowdown_table(runs)
    for schedule, (policy, part) in zip(
        schedules, table.groupby("policy", sort=False), strict=True
    ):
        assert policy == schedule.policy and part["share"].iloc[-1] == 1.0
        row = part.iloc[150]
        assert (bounded_slowdown(schedule) <= row["slowdown"]).mean() == pytest.approx(
            row["share"], abs=0.02
        )
        assert part["slowdown"].iloc[-1] == pytest.approx(bounded_slowdown(schedule).max())


def test_lines_show_the_table_with_markers_where_points_are_few(runs):
    table = figures.week_table(runs, ["a", "b"])
    labels = {"day": "day", "cpu_load": "jobs on a node"}
    many = figures.plot_lines(table, x="day", y="cpu_load", line="policy", title="t", labels=labels)
    assert [(t.name, t.mode) for t in many.data] == [("a", "lines"), ("b", "lines")]
    assert list(many.data[1].y) == table[table["policy"] == "b"]["cpu_load"].tolist()
    assert many.layout.yaxis.title.text == "jobs on a node"
    few = figures.plot_lines(table[:1], x="day", y="cpu_load", title="t", labels=labels, log="y")
    assert few.data[0].mode == "lines+markers" and not few.data[0].showlegend
    assert few.layout.yaxis.type == "log" and few.layout.xaxis.type is None


def test_a_map_has_a_color_for_each_bin_with_jobs(runs):
    batch, shared = runs
    for other in (None, shared):
        table = figures.bin_table(batch, other)
        drawn = figures.plot_bins(batch, other, title="t")
        value = table["slowdown" if other is None else "ratio"]
        colors = np.array(drawn.data[0].z, float)
        assert np.isfinite(colors).sum() == len(table)
        np.testing.assert_allclose(np.sort(colors[np.isfinite(colors)]), np.sort(np.log10(value)))
        assert drawn.layout.plot_bgcolor == figures.NO_JOBS
        assert table["jobs"].sum() == batch.jobs
    assert drawn.data[0].zmin == -drawn.data[0].zmax == -3


def test_a_map_has_sizes_upwards_and_batch_over_sharing():
    """One node or 2 to 9, ten hours or a hundred: batch is 10 times, half, 100 and a tenth."""
    edges = {"nodes_edges": (1.0, 2.0, 10.0), "length_edges": (3_600.0, 36_000.0, 360_000.0)}
    plain = summarize_run(simulate_batch(*lonely()), warm_up=0.0)
    counts = ((2, 4), (5, 1))
    batch = replace(plain, slowdown_sums=((100.0, 8.0), (1000.0, 1.0)), counts=counts, **edges)
    shared = replace(batch, policy="time-sharing", slowdown_sums=((10.0, 16.0), (10.0, 10.0)))
    drawn = figures.plot_bins(batch, shared, title="t")
    heat, veil = drawn.data
    np.testing.assert_allclose(veil.z, np.log10([[2, 4], [5, 1]]))
    assert np.array(heat.text).tolist() == [[2, 4], [5, 1]]
    assert (list(heat.y), list(heat.x)) == ([1, 2, 10], [3_600, 36_000, 360_000])
    np.testing.assert_allclose(heat.z, [[1, np.log10(0.5)], [2, -1]])
    np.testing.assert_allclose(heat.customdata, [[10, 0.5], [100, 0.1]])
    assert heat.colorbar.title.text == "batch ÷<br>time-sharing<br> "
    long = replace(shared, policy="time-sharing (memory unlimited)")
    heat, _ = figures.plot_bins(batch, long, title="t").data
    assert heat.colorbar.title.text == "batch ÷<br>time-sharing<br>(memory unlimited)<br> "
    assert drawn.layout.xaxis.title.text.startswith("dedicated run time")
    assert drawn.layout.yaxis.title.text == "nodes"
    np.testing.assert_allclose(figures.plot_bins(batch, title="t").data[0].z,
                               np.log10([[50, 2], [200, 1]]))  # fmt: skip
    table = figures.bin_table(batch, shared)
    assert table[["nodes", "run_time", "jobs"]].to_numpy().tolist() == [
        [1, 3_600, 2], [1, 36_000, 4], [2, 3_600, 5], [2, 36_000, 1]
    ]  # fmt: skip
    np.testing.assert_allclose(table["ratio"], [10, 0.5, 100, 0.1])


def lonely() -> tuple[Workload, System]:
    """A job alone on a machine."""
    job = {"submit_time": [0.0], "run_time": [60.0], "requested_time": [60.0], "nodes": [1]}
    return Workload(pd.DataFrame(job), "one job"), System.of(1)


def test_boxes_have_quartiles_whiskers_and_means(schedules, runs):
    table = figures.box_table(dict(zip(["batch", "sharing"], runs, strict=True)))
    values = bounded_slowdown(schedules[1])
    expected = np.quantile(values, [0.25, 0.5, 0.75])
    np.testing.assert_allclose(table.loc[1, ["25%", "50%", "75%"]].astype(float), expected)
    reach = expected[2] + 1.5 * (expected[2] - expected[0])
    assert table["upper whisker"][1] == pytest.approx(values[values <= reach].max(), rel=0.05)
    assert table["mean"][1] == pytest.approx(values.mean())
    drawn = figures.plot_boxes(table, title="t")
    assert [t.name for t in drawn.data if t.type == "box"] == ["batch", "sharing"]


@pytest.mark.parametrize(
    ("utilizations", "batch", "expected"),
    [((0.6291, 0.6293), 0.629, (60.915, 64.915)), ((0.7, 0.8), 0.6, (58.4, 81.6))],
    ids=["equal", "different"],
)
def test_utilizations_that_are_about_equal_look_so(utilizations, batch, expected):
    """An axis of four points at least, or all and a little more."""
    costs = pd.DataFrame({"memory": "limited", "overhead": [0.0, 0.1],
                          "utilization": utilizations, "slowdown": 2.0})  # fmt: skip
    drawn = figures.plot_overheads(costs, batch=batch, title="t")
    assert drawn.layout.yaxis.range == pytest.approx(expected)


def test_overheads_and_turnarounds_are_drawn_by_memory_and_application(runs):
    costs = pd.DataFrame(
        [("limited", 0.0, 0.8, 3.0), ("limited", 0.1, 0.7, 5.0), ("unlimited", 0.0, 0.8, 2.0)],
        columns=["memory", "overhead", "utilization", "slowdown"],
    )
    drawn = figures.plot_overheads(costs, batch=0.75, title="t")
    assert [list(t.y) for t in drawn.data] == [[80.0, 70.0], [3.0, 5.0], [80.0], [2.0]]
    table = turnaround_times(applications(64 / 5576), *runs)
    drawn = figures.plot_turnarounds(table, title="t")
    assert len(drawn.data) == 12 and {t.name for t in drawn.data} == {"batch", "time-sharing"}
    many = pd.concat([table.assign(application=str(n)) for n in range(40)])
    assert figures.plot_turnarounds(many, title="t").layout.height > 4_000
    known = table.loc[table["turnaround_time"].notna(), "nodes"].max()
    first = table[(table["application"] == "perfect") & (table["policy"] == "batch")]
    first = first[first["nodes"] <= known]
    np.testing.assert_allclose(drawn.data[0].y, first["turnaround_time"] / 60)


def test_sizes_that_no_job_has_do_not_stretch_the_axis(runs):
    table = turnaround_times(applications(64 / 5576), *runs)
    beyond = table.head(1).assign(application="huge", nodes=100_000, turnaround_time=np.nan)
    drawn = figures.plot_turnarounds(pd.concat([beyond, table]), title="t")
    listed = [trace.name for trace in drawn.data if trace.showlegend]
    assert listed == ["batch", "time-sharing"]
    assert max(max(trace.x) for trace in drawn.data if len(trace.x)) < 100


def test_a_logarithmic_axis_with_few_powers_of_ten_has_more_ticks():
    for most, ticks in ((99, "D2"), (100, 1)):
        table = pd.DataFrame({"nodes": [1, most], "share": [0.1, 1.0]})
        labels = {"nodes": "nodes", "share": "share"}
        drawn = figures.plot_lines(table, x="nodes", y="share", title="t", labels=labels, log="x")
        assert drawn.layout.xaxis.dtick == ticks and drawn.layout.xaxis.title.text == "nodes"
