"""Runs of a paper's notebook: figures by their numbers, and verdicts on the paper's data only."""

import pandas as pd
import plotly.graph_objects as go
import pytest

from papers.claims import JUDGED, Samples
from papers.paper import Drawing, Paper

ATTACK = "<img src=x onerror=\"document.title='run'\"></script><script>run()</script><a href='x'>"
TEXT = ATTACK.replace("<", "&lt;")
SAMPLES = {"greedy-fastest": Samples(missing="&lt;img>", ours=f"{ATTACK} a > b & c")}


def draw(points: list[float], *, note: str) -> Drawing:
    return Drawing(go.Figure(go.Scatter(y=points)), pd.DataFrame({"y": points}), note)


def paper(**how) -> Paper:
    figures = {"figure-5": draw, "surface": draw}
    return Paper("1-eviction", "Someone 2020", figures, **{"data": "a log"} | how)


def test_a_figure_is_named_by_its_number_and_published(tmp_path):
    run = paper(output=tmp_path)
    run.figure("5", [1.0, 2.0], note="Two points.")
    run.figure("surface", [1.0], note="")
    assert {path.stem for path in tmp_path.glob("*.csv")} == {"figure-5", "surface"}
    assert (tmp_path / "figure-5.csv").read_text() == "y\n1.0\n2.0\n"
    with pytest.raises(KeyError, match="1-eviction has no figure 'figure-6'; known are"):
        run.figure("6", [1.0], note="")


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
