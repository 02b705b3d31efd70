"""Charts of tables show the numbers that they are given, under titles, units and names."""

import numpy as np
import pandas as pd
import pytest

import cosimlab as lab
from cosimlab.figures import caption, theme
from cosimlab.figures.charts import MARKED, heatmap, lines
from cosimlib.policies import SIMULATORS


def test_steps_hold_and_a_reference_is_named_in_the_legend():
    table = pd.DataFrame({"day": [0.0, 0.5], "nodes": [1.0, 3.0]})
    figure = lines(
        table, x="day", y="nodes", title="Load", steps=True, reference=(4.0, "all 4 nodes")
    )
    line, named = figure.data
    assert list(line.x) == [0.0, 0.5] and list(line.y) == [1.0, 3.0] and line.line.shape == "hv"
    assert not line.showlegend and named.showlegend and named.name == "all 4 nodes"
    assert figure.layout.title.text == "Load" and figure.layout.yaxis.title.text == "nodes"
    assert figure.layout.shapes[0].y0 == 4.0 and figure.layout.yaxis.rangemode == "tozero"


@pytest.mark.parametrize(
    ("began", "title"),
    [
        (pd.Timestamp("2011-03-27 00:30", tz="Europe/Paris"), "date (Europe/Paris)"),
        (pd.Timestamp("2011-03-27 00:30"), "date (local time)"),
        (pd.Timestamp("2011-03-27 00:30", tz="UTC"), "date (UTC)"),
    ],
)
def test_times_of_a_known_beginning_are_dates(began, title):
    dates, axis = theme.over_time(np.array([0.0, 7_200.0]), began)
    # In the small hours of that Sunday, clocks in Paris went forward.
    later = "03:30:00" if "Paris" in title else "02:30:00"
    assert dates.tolist() == ["2011-03-27 00:30:00", f"2011-03-27 {later}"]
    assert (axis["type"], axis["title"]) == ("date", title)


def test_lines_have_a_panel_a_value_and_open_markers_for_bounds():
    table = pd.DataFrame(
        {
            "x": [0, 1] * 4,
            "y": [1.0, 2, 3, 4, 5, 6, 7, 8],
            "k": [1] * 4 + [2048] * 4,
            "who": ["dynamic", "dynamic", "b", "b"] * 2,
            "low": [False] * 7 + [True],
        }
    )
    figure = lines(
        table,
        x="x",
        y="y",
        line="who",
        panel="k",
        bound="low",
        log="y",
        title="T",
        labels={"x": "minutes", "y": "ms", "k": "K ="},
    )
    assert [note.text for note in figure.layout.annotations] == ["(a) K = 1", "(b) K = 2,048"]
    assert [list(trace.y) for trace in figure.data[:4]] == [[1, 2], [3, 4], [5, 6], [7, 8]]
    assert [trace.showlegend for trace in figure.data[:4]] == [True, True, False, False]
    assert list(figure.data[3].marker.symbol) == ["square", "square-open"]
    assert figure.data[4].name == "lower bound (time limit)"
    assert figure.layout.yaxis.type == "log" and figure.layout.xaxis2.title.text == "minutes"
    assert figure.data[0].line.color == figure.data[2].line.color == theme.BLUE


def test_lines_without_a_value_say_so():
    table = pd.DataFrame({"x": [1, 2], "y": [np.nan, np.nan], "who": ["a", "b"]})
    shared = {"x": "x", "y": "y", "line": "who", "title": "t", "labels": {}}
    for why, said in (("", "none of these cases has a value"), ("no job", "no job")):
        drawn = lines(table, why=why, **shared)
        assert not drawn.data and caption(drawn) == [f"Nothing to draw: {said}."]
    assert len(lines(table.fillna({"y": 1.0}), **shared).data) == 2


def test_bands_lie_under_their_lines_and_panels_name_their_own_axes():
    table = pd.DataFrame(
        {
            "x": [0, 1],
            "y": [2.0, 3],
            "low": [1.0, 2],
            "high": [4.0, 5],
            "line": "a",
            "panel": ["jobs", "nodes"],
        }
    )
    shared = {"x": "x", "y": "y", "line": "line", "title": "T"}
    line, band = lines(table, **shared, labels={}, band=("low", "high")).data
    assert list(band.x) == [0, 1, 1, 0] and list(band.y) == [4, 5, 2, 1]
    assert band.legendgroup == line.name and not band.showlegend
    own = {"panel": "panel", "own": "x", "labels": {"jobs": "number of jobs", "x": "any"}}
    layout = lines(table, **shared, **own).layout
    assert (layout.xaxis.title.text, layout.xaxis2.title.text) == ("number of jobs", "any")


def test_panels_fill_rows_and_name_their_own_vertical_axes():
    table = pd.DataFrame({"x": [0, 1] * 5, "y": range(10), "k": np.repeat(list("abcde"), 2)})
    figure = lines(table, x="x", y="y", panel="k", columns=2, title="T")
    assert [trace.yaxis for trace in figure.data] == ["y", "y2", "y3", "y4", "y5"]
    titles = [figure.layout[f"xaxis{number}"].title.text for number in ("", 2, 3, 4, 5)]
    assert titles == [None, None, None, "x", "x"]
    own = lines(
        table,
        x="x",
        y="y",
        panel="k",
        columns=1,
        own="y",
        title="T",
        labels={each: f"of {each}" for each in "abcde"},
    )
    assert [own.layout[f"yaxis{number}"].title.text for number in ("", 5)] == ["of a", "of e"]
    assert not own.layout.annotations and own.layout.xaxis5.title.text == "x"


def test_many_points_have_no_markers_and_a_line_is_listed_where_it_is_first():
    table = pd.DataFrame({"x": range(MARKED + 1), "y": 1.0, "k": "a", "line": "long"})
    few = pd.DataFrame({"x": [1], "y": 2.0, "k": "b", "line": ["few"]})
    figure = lines(pd.concat([table, few]), x="x", y="y", panel="k", line="line", title="T")
    assert [trace.mode for trace in figure.data if len(trace.x)] == ["lines", "lines+markers"]
    assert [trace.name for trace in figure.data if trace.showlegend] == ["long", "few"]


@pytest.mark.parametrize(
    ("values", "dtick", "ends"),
    [
        ([1, 1_000], 1, None),
        ([2, 150], "D2", None),
        ([3, 4], "D2", (2, 5)),
        ([7, 7], "D2", (5, 10)),
        ([0.01, 0.01], "D2", (0.01, 0.02)),
    ],
)
def test_logarithmic_axes_have_two_ticks_or_more(values, dtick, ends):
    axis = theme.log_axis([0.0, np.nan, *values])
    assert axis["dtick"] == dtick and ("range" in axis) == (ends is not None)
    if ends:
        np.testing.assert_allclose(
            axis["range"], np.log10(ends) + np.array([-0.03, 0.03]), atol=1e-9
        )


def test_heat_maps_are_empty_where_there_is_no_number():
    table = pd.DataFrame([[0.0, 10.0], [np.nan, 1e6]], index=[1, 2], columns=["a", "b"])
    drawn = heatmap(table, powers=(0.0, 3.0), colorbar={"title": {"text": "h"}})
    assert drawn.z.tolist() == [[-1.0, 1.0], [None, 6.0]] and (drawn.zmin, drawn.zmax) == (0, 3)
    assert list(drawn.colorbar.ticktext) == ["≤ 1", "10", "100", "1,000"]
    assert drawn.colorbar.title.text == "h" and list(drawn.x) == ["a", "b"]
    assert heatmap(table.fillna(0)).z.tolist() == [[0, 10], [0, 1e6]]


def test_nothing_to_draw_is_a_title_and_a_sentence():
    picture = lab.figures.plot_empty("Figure 9", "no job of this log waits.")
    assert caption(picture) == ["Nothing to draw: no job of this log waits."]
    assert picture.layout.title.text == "Figure 9" and not picture.layout.xaxis.visible
    marked = lab.figures.Publisher("", "a log").publish(picture, "t", pd.DataFrame())
    assert caption(marked) == [*caption(picture), "data: a log"]


def test_numbers_that_are_none_are_words():
    table = pd.DataFrame({"a": [1.5, np.nan], "b": [1.0, 2.0]})
    shown = lab.figures.in_words(table)
    assert shown["a"].tolist() == [1.5, "unknown"] and shown["b"].equals(table["b"])


@pytest.mark.parametrize(
    ("last", "most", "step"),
    [
        (5, 5, 1),
        (6, 5, 2),
        (64, 7, 10),
        (100, 7, 20),
        (512, 6, 100),
        (40_960, 5, 10_000),
        (1, 6, 1),
    ],
)
def test_whole_steps_are_round_and_few(last, most, step):
    assert theme.whole_step(last, most) == step and last / step <= most


def test_named_things_keep_their_colors():
    assert theme.color("greedy") == theme.GREEN and theme.color("other", 1) == theme.CYCLE[1]
    filling = [name for name in SIMULATORS if "fill" in name]
    assert len(filling) == len({theme.NAMED[name] for name in filling}) == 5
    assert len(set(theme.CYCLE)) == len(theme.MARKERS) == len(theme.DASHES)


def test_bars_stand_in_groups_with_patterns_and_whiskers():
    table = pd.DataFrame(
        {
            "share": ["5 %", "10 %"] * 2,
            "scheme": ["HH", "HH", "ideal", "ideal"],
            "mean": [1.0, 2.0, 3.0, 4.0],
            "low": [0.5, -np.inf, 2.0, 3.0],
            "high": [2.5, np.inf, 4.0, 6.0],
        }
    )
    figure = lab.figures.bars(
        table, x="share", y="mean", group="scheme", interval=("low", "high"), title="Waits"
    )
    hold, ideal = figure.data
    assert list(hold.x) == ["5 %", "10 %"] and hold.name == "HH"
    assert list(hold.error_y.array) == [1.5, None] and list(hold.error_y.arrayminus) == [0.5, None]
    assert (ideal.marker.color, ideal.marker.pattern.shape) == ("white", "x")
    assert figure.layout.barmode == "group" and figure.layout.xaxis.type == "category"
    stacked = lab.figures.bars(
        table, x="share", y="mean", group="scheme", stacked=True, marks={"HH": (theme.SKY, ".")}
    )
    assert stacked.layout.barmode == "stack" and stacked.data[0].marker.color == theme.SKY


def test_bars_of_panels_are_listed_once():
    table = pd.DataFrame(
        {"x": ["a"] * 4, "y": range(4), "who": ["p", "q"] * 2, "machine": ["A", "A", "B", "B"]}
    )
    figure = lab.figures.bars(table, x="x", y="y", group="who", panel="machine")
    assert [bar.showlegend for bar in figure.data] == [True, True, False, False]
    assert [note.text for note in figure.layout.annotations] == ["(a) A", "(b) B"]
    nothing = lab.figures.bars(table[:0], x="x", y="y", why="no burst came")
    assert caption(nothing) == ["Nothing to draw: no burst came."]


def test_areas_stand_on_one_another_and_hold_until_the_next_point():
    table = pd.DataFrame({"main": [4, 2], "user": [0, 2]}, index=pd.Index([0.0, 60.0], name="time"))
    tidy = table.reset_index().melt("time", var_name="owner", value_name="nodes")
    figure = lab.figures.areas(tidy, x="time", y="nodes", group="owner", title="O")
    assert [trace.name for trace in figure.data] == ["main", "user"]
    assert list(figure.data[0].y) == table["main"].tolist()
    assert {(trace.line.shape, trace.stackgroup) for trace in figure.data} == {("hv", "nodes")}
    assert figure.data[1].fillpattern.shape == "/"
    nothing = lab.figures.areas(tidy[:0], x="time", y="nodes", group="owner", why="no jobs")
    assert caption(nothing) == ["Nothing to draw: no jobs."]


def test_a_table_is_drawn_with_its_numbers_to_the_right():
    table = pd.DataFrame({"log": ["KTH", "SDSC"], "jobs": [28_475, 59_725]})
    drawn = lab.figures.plot_table(table, title="Logs").data[0]
    assert drawn.header["values"] == ("<b>log</b>", "<b>jobs</b>")
    assert drawn.cells["values"][1] == ["28,475", "59,725"]
    assert drawn.cells.align == ("left", "right")


def test_a_column_that_is_missing_is_named():
    table = pd.DataFrame({"x": [1], "y": [2]})
    with pytest.raises(ValueError, match="table: no column 'policy'"):
        lines(table, x="x", y="y", line="policy")


@pytest.mark.parametrize(("width", "inches"), [("column", 3.5), ("page", 7.16)])
def test_a_figure_for_print_is_small_and_leaves_the_title_to_the_caption(width, inches):
    table = pd.DataFrame({"x": [1, 2], "y": [1, 2]})
    figure = lines(table, x="x", y="y", title="T")
    printed = lab.figures.paper_style(figure, width, height=2)
    assert (printed.layout.width, printed.layout.height) == (round(96 * inches), 192)
    assert printed.layout.title.text is None and figure.layout.title.text == "T"
    assert printed.layout.xaxis.tickfont.size < printed.layout.font.size < 11
    with pytest.raises(ValueError, match="width='poster'; expected one of 'column', 'page'"):
        lab.figures.paper_style(figure, "poster")
