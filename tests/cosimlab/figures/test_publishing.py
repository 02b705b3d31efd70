"""Published figures name their data and are the same bytes twice."""

import dataclasses
import json
import re

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

import cosimlib as cs
from cosimlab.figures.publishing import Publisher, caption, captioned, page, plain

ATTACK = "<img src=x onerror=\"document.title='run'\"></script><script>run()</script><a href='x'>"
TEXT = ATTACK.replace("<", "&lt;")
NUMBERS = pd.DataFrame({"y": [1.5, 2.0]})


def line(**layout) -> go.Figure:
    return go.Figure(go.Scatter(y=[1.5, 2.0], name="a"), layout=layout)


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_caption_names_the_data_and_leaves_the_given_figure_alone():
    figure = line(height=400)
    marked = Publisher(None, "Theta 2023").publish(figure, "one", NUMBERS)
    assert figure.layout.meta is None and caption(figure) == []
    assert caption(marked) == ["data: Theta 2023"]
    assert marked.layout.height == 400 and not marked.layout.annotations


@pytest.mark.parametrize(
    ("used", "text"),
    [
        (None, "RICC"),
        (1.0, "RICC"),
        (0.83, "RICC, 83 % of its node-hours"),
        (0.003, "RICC, 0.3 % of its node-hours"),
    ],
)
def test_the_caption_says_how_much_of_the_log_is_shown(used, text):
    marked = Publisher(None, "RICC", used=used).publish(line(), "one", NUMBERS)
    assert caption(marked) == [f"data: {text}"]
    with pytest.raises(ValueError, match="used=2; expected a share from 0 to 1, or None"):
        Publisher(None, "RICC", used=2)


def test_a_caption_has_the_notes_in_order_then_the_paper_and_the_data():
    figure = captioned(captioned(line(), "First."), "Second.")
    marked = Publisher(None, "x", paper="A et al. 2020").publish(
        figure, "one", NUMBERS, note="Third."
    )
    assert caption(marked) == ["First. Second. Third.", "A et al. 2020 · data: x"]
    again = Publisher(None, "y").publish(marked, "one", NUMBERS, note="Third.")
    assert caption(again) == ["First. Second. Third.", "data: y"]


def test_a_notebook_shows_the_caption_beneath_the_figure(monkeypatch):
    shown = []
    monkeypatch.setattr(go.Figure, "_ipython_display_", lambda figure: shown.append(figure))
    monkeypatch.setattr("IPython.display.display", lambda text: shown.append(text.data))
    marked = Publisher(None, "a <b> c").publish(line(), "one", NUMBERS, note="What it is.")
    marked._ipython_display_()
    assert shown[0] is marked and "What it is.<br>data: a &lt;b&gt; c" in shown[1]
    captioned(line())._ipython_display_()
    assert len(shown) == 3, "a figure without a caption is shown alone"


def test_a_page_has_the_caption_after_the_figure():
    text = page(captioned(line(), "A < B."), include_plotlyjs=False)
    assert text.index("plotly-graph-div") < text.index("A &lt; B.") < text.index("</body>")
    assert '<p class="caption"' not in page(line(), include_plotlyjs=False)


@pytest.mark.parametrize("folder", ["", None])
def test_without_a_folder_nothing_is_written(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert isinstance(Publisher(folder, "x").publish(line(), "one", NUMBERS), go.Figure)
    assert not names(tmp_path)


def test_files_hold_the_figure_and_its_numbers(tmp_path):
    folder = tmp_path / "deep" / "er"
    marked = Publisher(str(folder), "x").publish(line(), "fig-1a", NUMBERS)
    assert names(folder) == [
        *(f"fig-1a.{kind}" for kind in ("csv", "html", "json", "txt")),
        "plotly.min.js",
    ]
    assert (folder / "fig-1a.csv").read_text() == "y\n1.5\n2.0\n"
    assert go.Figure(json.loads((folder / "fig-1a.json").read_text())) == marked
    text = (folder / "fig-1a.html").read_text()
    assert 'id="fig-1a"' in text and 'src="plotly.min.js"' in text and len(text) < 20_000
    assert (folder / "fig-1a.txt").read_text() == "fig-1a\ndata: x\n"


def test_named_index_is_written(tmp_path):
    numbers = NUMBERS.set_index(pd.Index([60.0, 120.0], name="deadline"))
    Publisher(tmp_path, "x").publish(line(), "one", numbers)
    assert (tmp_path / "one.csv").read_text() == "deadline,y\n60.0,1.5\n120.0,2.0\n"


def test_same_figure_same_bytes(tmp_path):
    for folder in ("a", "b"):
        Publisher(tmp_path / folder, "x").publish(line(), "one", NUMBERS)
    assert names(tmp_path / "a") == names(tmp_path / "b")
    for name in names(tmp_path / "a"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "two words"])
def test_names_that_are_no_file_names_are_refused(name, tmp_path):
    with pytest.raises(ValueError, match=f"{re.escape(repr(name))} is not a file name"):
        Publisher(tmp_path, "x").publish(line(), name, NUMBERS)
    assert not names(tmp_path)


def test_foreign_markup_is_text_in_every_part_of_a_figure():
    figure = go.Figure(go.Bar(x=np.array([ATTACK, "a<br>b"], dtype=object), y=[1, 2], name=ATTACK))
    figure.add_table(header={"values": [f"<b>{ATTACK}</b>"]}, cells={"values": [[ATTACK, 1.5]]})
    figure.update_layout(title=f"{ATTACK}<br>a < b <5 &lt;", template="plotly_white")
    figure.add_annotation(text=ATTACK)
    before = figure.to_json()
    drawn = plain(figure)
    assert figure.to_json() == before
    assert list(drawn.data[0].x) == [TEXT, "a<br>b"] and drawn.data[0].name == TEXT
    assert drawn.data[1].header["values"][0] == f"<b>{TEXT}</b>"
    assert list(drawn.data[1].cells["values"][0]) == [TEXT, 1.5]
    assert drawn.layout.title.text == f"{TEXT}<br>a < b <5 &lt;"
    assert drawn.layout.annotations[0].text == TEXT
    assert plain(drawn) is drawn


def test_what_is_published_names_the_data_in_text(tmp_path):
    publish = Publisher(tmp_path, ATTACK, paper=ATTACK).publish
    numbers = pd.DataFrame({"y": [1]})
    figure = publish(go.Figure(go.Bar(y=[1], name=ATTACK)), "a", numbers, note=f"of {ATTACK}")
    published = json.loads((tmp_path / "a.json").read_text())
    assert published == json.loads(figure.to_json())
    assert published["data"][0]["name"] == TEXT
    assert caption(figure) == [f"of {ATTACK}", f"{ATTACK} · data: {ATTACK}"]
    text = (tmp_path / "a.html").read_text()
    assert "<img" not in text and text.count("<script") == text.count("</script>")


@pytest.mark.parametrize("name", ["batch", "filling"])
def test_explorers_tell_the_log_in_text(name):
    explore = pytest.importorskip("cosimlab.explorers")
    workload = dataclasses.replace(cs.synthetic.theta(1, seed=1), name=ATTACK)
    panel = getattr(explore, f"explore_{name}")(workload, workload.machine)
    assert "<img" not in panel.text.value and "&lt;img" in panel.text.value
