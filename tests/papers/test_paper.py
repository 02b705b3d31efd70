"""Runs of a paper's notebook: figures by their numbers, and verdicts on the paper's data only."""

import json

import pandas as pd
import plotly.express as px
import plotly.graph_objects as go
import pytest

import cosimlab as lab
from cosimlab.figures import caption
from papers.claims import JUDGED, Samples
from papers.paper import PUBLISHED, Paper

ATTACK = "<img src=x onerror=\"document.title='run'\"></script><script>run()</script><a href='x'>"
TEXT = ATTACK.replace("<", "&lt;")
SAMPLES = {"greedy-fastest": Samples(missing="&lt;img>", ours=f"{ATTACK} a > b & c")}


TABLE = pd.DataFrame({"y": [1.0, 2.0]})


def paper(**how) -> Paper:
    return Paper("1-eviction", "Someone 2020", **{"data": "a log"} | how)


def test_a_figure_is_named_by_its_number_and_published(tmp_path):
    shown = paper(output=tmp_path).show("5", px.scatter(TABLE, y="y"), TABLE, note="Two points.")
    assert {path.name for path in tmp_path.glob("figure-5.*")} == {
        f"figure-5.{suffix}" for suffix in ("csv", "html", "json", "txt")
    }
    assert (tmp_path / "figure-5.csv").read_text() == "y\n1.0\n2.0\n"
    assert caption(shown) == ["Two points.", "Someone 2020 · data: a log"]


def test_a_reader_s_own_figure_is_published_under_any_name(tmp_path):
    figure = lab.figures.lines(TABLE.reset_index(), x="index", y="y", title="Mine")
    shown = paper(output=tmp_path).show("mine", figure, TABLE, data="six made-up jobs")
    assert {path.stem for path in tmp_path.glob("*.csv")} == {"mine"}
    assert caption(shown) == ["Someone 2020 · data: six made-up jobs"]
    assert paper().show("mine", figure, TABLE).layout.title.text == "Mine"


def test_a_run_lists_its_figures_in_order_and_what_they_redraw(tmp_path):
    figure = px.scatter(TABLE, y="y")
    run = paper(output=tmp_path)
    for name in ("7b", "mine", "table-1", "7b"):
        run.show(name, figure, TABLE)
    run.show("wait", figure, TABLE, redraws="slides: waits")
    listed = json.loads((tmp_path / PUBLISHED).read_text())
    assert list(listed.items()) == [
        ("figure-7b", "figure 7b"),
        ("mine", ""),
        ("table-1", "table 1"),
        ("wait", "slides: waits"),
    ]


def test_numbers_of_our_own_study_are_not_those_of_a_paper(tmp_path):
    paper(output=tmp_path, numbered=False).show("1", px.scatter(TABLE, y="y"), TABLE)
    assert json.loads((tmp_path / PUBLISHED).read_text()) == {"figure-1": ""}


@pytest.mark.parametrize(
    ("figure", "table", "named"),
    [(TABLE, TABLE, "figure"), (go.Figure(), go.Figure(), "table")],
    ids=["no figure", "no table"],
)
def test_what_is_no_figure_or_no_table_is_named(figure, table, named):
    with pytest.raises(TypeError, match=f"{named} is of type"):
        paper().show("mine", figure, table)


def test_verdicts_are_shown_as_text_and_written(tmp_path):
    page = paper(data=ATTACK, output=tmp_path).scorecard(SAMPLES).to_html()
    assert "<img" not in page and "<script" not in page
    assert f"{TEXT} a > b & c" in page and "&amp;lt;img>" in page
    assert f"Data: {TEXT}" in page and ">data<" not in page
    table = pd.read_csv(tmp_path / "claims.csv", keep_default_na=False)
    assert table.columns.tolist() == JUDGED and set(table["verdict"]) == {"unknown"}


def test_a_table_names_other_data_where_a_verdict_has_them():
    [(claim, samples)] = SAMPLES.items()
    page = paper().scorecard({claim: samples._replace(data="six made-up jobs")}).to_html()
    assert "Data: a log, unless another is named" in page and ">data<" in page
    assert page.count("six made-up jobs") == 1


def test_on_another_s_data_nothing_is_judged(tmp_path):
    said = paper(own=False, output=tmp_path).scorecard(SAMPLES)
    assert said.startswith("a log is not the paper's machine") and not list(tmp_path.iterdir())
