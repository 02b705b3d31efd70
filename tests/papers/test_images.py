"""Images of published figures: all are drawn in one pass."""

import os
import shutil
import xml.etree.ElementTree as ElementTree

import plotly.graph_objects as go
import pytest

from cosimlib.figures.publishing import Publisher, caption
from papers.images import CONTROLS, TABS, render_images, static_figure
from tests.figures.test_publishing import NUMBERS, line, names

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def has_browser() -> bool:
    return bool(os.environ.get("BROWSER_PATH")) or any(map(shutil.which, BROWSERS))


def test_without_a_browser_one_line_says_so(tmp_path, monkeypatch, capsys):
    pytest.importorskip("kaleido", reason="images need kaleido")
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "nowhere"))
    Publisher(tmp_path / "f", "x").publish(line(), "one", NUMBERS)
    before = names(tmp_path / "f")
    assert render_images([tmp_path / "f"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 1 and "no Chrome or Chromium was found" in printed[0]
    assert names(tmp_path / "f") == before


def test_without_kaleido_one_line_says_so(tmp_path, monkeypatch, capsys):
    Publisher(tmp_path, "x").publish(line(), "one", NUMBERS)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert render_images([tmp_path]) == 0
    assert capsys.readouterr().out.count('needs kaleido: pip install "cosimlib[images]"') == 1


class Browser:
    """In place of a browser session: every picture is the number of its traces."""

    def __init__(self, n, mathjax):
        pass

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        pass

    async def calc_fig(self, figure, opts):
        if len(figure["data"]) > 2:
            raise RuntimeError("too much")
        return str(len(figure["data"])).encode()


def test_figures_of_all_folders_are_drawn(tmp_path, monkeypatch):
    kaleido = pytest.importorskip("kaleido", reason="images need kaleido")
    monkeypatch.setattr(kaleido, "Kaleido", Browser)
    for name in "abcde":
        Publisher(tmp_path / "first", "x").publish(line(), name, NUMBERS)
    Publisher(tmp_path / "second", "x").publish(go.Figure(), "f", NUMBERS)
    assert render_images([tmp_path / "first", tmp_path / "second"]) == 6
    drawn = {path.name: path.read_bytes() for path in tmp_path.glob("*/*.png")}
    assert drawn == dict.fromkeys((f"{name}.png" for name in "abcde"), b"1") | {"f.png": b"0"}


def test_one_figure_that_cannot_be_drawn_costs_no_other(tmp_path, monkeypatch, capsys):
    kaleido = pytest.importorskip("kaleido", reason="images need kaleido")
    monkeypatch.setattr(kaleido, "Kaleido", Browser)
    for name in "abcdefgh":
        figure = line().add_bar(y=[1]).add_bar(y=[1]) if name == "b" else line()
        Publisher(tmp_path / name, "x").publish(figure, name, NUMBERS)
    assert render_images([tmp_path / name for name in "abcdefgh"]) == 7
    assert sorted(path.stem for path in tmp_path.glob("*/*.svg")) == list("acdefgh")
    assert capsys.readouterr().out == "no PNG and SVG images of b: RuntimeError: too much\n"


def test_a_browser_that_is_gone_is_not_asked_for_every_figure(tmp_path, monkeypatch, capsys):
    kaleido = pytest.importorskip("kaleido", reason="images need kaleido")
    asked = []

    class Gone(Browser):
        async def calc_fig(self, figure, opts):
            asked.append(figure)
            raise RuntimeError("gone")

    monkeypatch.setattr(kaleido, "Kaleido", Gone)
    names = [f"f{number}" for number in range(5 * TABS)]
    for name in names:
        Publisher(tmp_path, "x").publish(line(), name, NUMBERS)
    assert render_images([tmp_path]) == 0 and len(asked) == 3 * TABS
    told = f"no PNG and SVG images of {', '.join(sorted(names))}: RuntimeError: gone\n"
    assert capsys.readouterr().out == told


def test_nothing_to_draw_starts_no_browser(tmp_path, capsys):
    (tmp_path / "run.json").write_text("{}")
    assert render_images([tmp_path, tmp_path / "absent"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.browser
@pytest.mark.skipif(not has_browser(), reason="no Chromium found; BROWSER_PATH may name one")
def test_an_image_has_the_figures_texts(tmp_path):
    pytest.importorskip("kaleido", reason="images need kaleido")
    figure = line(width=300, height=200).add_heatmap(z=[[1, 2], [3, 4]])
    Publisher(tmp_path, "Theta 2023").publish(figure, "one", NUMBERS)
    assert render_images([tmp_path]) == 1
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    svg = ElementTree.fromstring((tmp_path / "one.svg").read_text())
    assert "1.5" in [node.text for node in svg.iter() if node.tag.endswith("}text")]


@pytest.mark.browser
@pytest.mark.skipif(not has_browser(), reason="no Chromium found; BROWSER_PATH may name one")
def test_the_page_is_loaded_anew_only_after_a_figure_that_cannot_be_drawn(tmp_path, monkeypatch):
    tabs = pytest.importorskip("kaleido._kaleido_tab", reason="images need kaleido")
    drawn, loaded, tab = [], [], tabs._KaleidoTab
    draw, load = tab._calc_fig, tab.reload

    async def draw_all_but_the_third(self, *given, **knobs):
        drawn.append(given)
        if len(drawn) == 3:
            raise RuntimeError("a picture too many")
        return await draw(self, *given, **knobs)

    async def load_again(self):
        loaded.append(len(drawn))
        await load(self)

    monkeypatch.setattr(tab, "_calc_fig", draw_all_but_the_third)
    monkeypatch.setattr(tab, "reload", load_again)
    for name in "abc":
        Publisher(tmp_path, "Theta 2023").publish(line(width=300, height=200), name, NUMBERS)
    assert render_images([tmp_path]) == 2
    assert loaded == [3] and len(drawn) == 5


def test_a_still_picture_has_no_controls_and_not_their_room():
    live = line(margin={"b": 160}, height=400, meta={CONTROLS: 100}, sliders=[{"steps": []}])
    live = Publisher(None, "x").publish(live, "one", NUMBERS)
    picture = static_figure(live)
    assert live.layout.sliders and not picture.layout.sliders
    assert (picture.layout.height, picture.layout.margin.b) == (300, 60)
    assert caption(picture) == ["data: x"]
    plain = line()
    assert static_figure(plain) is plain
