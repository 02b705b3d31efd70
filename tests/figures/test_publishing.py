"""Published figures name their data and are the same bytes twice."""

import json
import re

import pandas as pd
import plotly.graph_objects as go
import pytest

from cosimlib.figures.footnotes import FOOTER_HEIGHT, LINE_HEIGHT, footnote
from cosimlib.figures.publishing import Publisher
from cosimlib.figures.still import CONTROLS, still

NUMBERS = pd.DataFrame({"y": [1.5, 2.0]})


def line(**layout) -> go.Figure:
    return go.Figure(go.Scatter(y=[1.5, 2.0], name="a"), layout=layout)


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_footer_names_the_data_below_the_plot_and_leaves_the_given_figure_alone():
    figure = line(margin={"b": 60}, height=400)
    marked = Publisher(None, "Theta 2023").publish(figure, "one", NUMBERS)
    assert not figure.layout.annotations and figure.layout.height == 400
    (note,) = marked.layout.annotations
    assert note.text == "data: Theta 2023" and not note.showarrow
    assert marked.layout.margin.b == 60 + FOOTER_HEIGHT
    assert marked.layout.height == 400 + FOOTER_HEIGHT
    # The text stands on the picture's lower edge, so what was in the margin stays above it.
    assert (note.yref, note.y, note.yanchor) == ("paper", 0, "bottom")
    assert note.yshift == -marked.layout.margin.b


@pytest.mark.parametrize(
    ("used", "text"),
    [(None, "RICC"), (1.0, "RICC"), (0.83, "RICC, 83 % of its node-hours"),
     (0.003, "RICC, 0.3 % of its node-hours")],
)  # fmt: skip
def test_footer_says_how_much_of_the_log_is_shown(used, text):
    marked = Publisher(None, "RICC", used=used).publish(line(), "one", NUMBERS)
    assert marked.layout.annotations[0].text == f"data: {text}"
    with pytest.raises(ValueError, match="used=2; expected a share from 0 to 1, or None"):
        Publisher(None, "RICC", used=2)


def test_a_footer_names_the_paper_and_a_note_stands_above_it():
    note = "K: nodes needed. " * 12
    marked = Publisher(None, "x", paper="A et al. 2020").publish(
        line(margin={"b": 60}, height=400), "one", NUMBERS, note=note
    )
    above, below = marked.layout.annotations
    lines = above.text.split("<br>")
    assert " ".join(lines) == note.strip() and len(lines) == 2
    assert below.text == "A et al. 2020 · data: x"
    assert above.yshift == -(60 + 2 * LINE_HEIGHT) == below.yshift + FOOTER_HEIGHT
    assert marked.layout.height == 400 + 2 * LINE_HEIGHT + FOOTER_HEIGHT
    again = Publisher(None, "y").publish(marked, "one", NUMBERS, note=note)
    assert [each.text for each in again.layout.annotations] == [above.text, "data: y"]


def test_notes_are_joined_in_order():
    picture = footnote(footnote(line(margin={"b": 60}), "First."), "Second.")
    (note,) = picture.layout.annotations
    assert note.text == "First.<br>Second." and note.yshift == -(60 + 2 * LINE_HEIGHT)


def test_a_note_beside_long_names_has_shorter_lines():
    text = "K: nodes needed. " * 20
    lines = [
        footnote(line(margin={"b": 60, "l": left}), text).layout.annotations[0].text.split("<br>")
        for left in (75, 250)
    ]
    assert max(map(len, lines[0])) <= 104 and max(map(len, lines[1])) <= 75
    assert len(lines[1]) > len(lines[0]) and " ".join(lines[1]) == text.strip()


def test_a_still_picture_has_no_controls_and_not_their_room():
    live = line(margin={"b": 160}, height=400, meta={CONTROLS: 100}, sliders=[{"steps": []}])
    live = Publisher(None, "x").publish(live, "one", NUMBERS)
    picture = still(live)
    assert live.layout.sliders and not picture.layout.sliders
    assert (picture.layout.height, picture.layout.margin.b) == (318, 78)
    assert picture.layout.annotations[0].yshift == -78
    plain = line()
    assert still(plain) is plain


def test_footer_heeds_the_templates_margin_and_plotlys():
    template = go.layout.Template(layout={"margin": {"b": 30}, "height": 300})
    marked = Publisher(None, "x").publish(line(template=template), "one", NUMBERS)
    assert (marked.layout.margin.b, marked.layout.height) == (48, 318)
    marked = Publisher(None, "x").publish(line(template="none"), "one", NUMBERS)
    assert (marked.layout.margin.b, marked.layout.height) == (98, None)


def test_footer_is_renewed_not_repeated():
    marked = Publisher(None, "x").publish(line(height=400), "one", NUMBERS)
    again = Publisher(None, "y").publish(marked, "one", NUMBERS)
    assert [note.text for note in again.layout.annotations] == ["data: y"]
    assert again.layout.margin.b == marked.layout.margin.b
    assert again.layout.height == marked.layout.height


@pytest.mark.parametrize("folder", ["", None])
def test_without_a_folder_nothing_is_written(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert isinstance(Publisher(folder, "x").publish(line(), "one", NUMBERS), go.Figure)
    assert not names(tmp_path)


def test_files_hold_the_figure_and_its_numbers(tmp_path):
    folder = tmp_path / "deep" / "er"
    marked = Publisher(str(folder), "x").publish(line(), "fig-1a", NUMBERS)
    assert names(folder) == ["fig-1a.csv", "fig-1a.html", "fig-1a.json", "plotly.min.js"]
    assert (folder / "fig-1a.csv").read_text() == "y\n1.5\n2.0\n"
    assert go.Figure(json.loads((folder / "fig-1a.json").read_text())) == marked
    page = (folder / "fig-1a.html").read_text()
    assert 'id="fig-1a"' in page and 'src="plotly.min.js"' in page and len(page) < 20_000


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
