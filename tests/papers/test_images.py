"""Images of published figures: all are drawn in one pass."""

import asyncio
import os
import shutil
import xml.etree.ElementTree as ElementTree

import numpy as np
import plotly.graph_objects as go
import pytest

from cosimlab.figures.publishing import Publisher, caption
from papers.images import CONTROLS, reduce_colors, render_images, static_figure
from tests.cosimlab.figures.test_publishing import NUMBERS, line, names

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

    async def write_fig_from_object(self, pictures):
        errors = []
        for picture in pictures:
            traces = len(picture["fig"]["data"])
            if traces > 2:
                errors.append(RuntimeError("too much"))
            else:
                picture["path"].write_text(str(traces))
        return tuple(errors)


def test_figures_of_all_folders_are_drawn_once_and_one_that_cannot_be_costs_no_other(
    tmp_path, monkeypatch, capsys
):
    kaleido = pytest.importorskip("kaleido", reason="images need kaleido")
    monkeypatch.setattr(kaleido, "Kaleido", Browser)
    reduced = []
    monkeypatch.setattr("papers.images.reduce_colors", lambda path: reduced.append(path.name))
    for name in "abc":
        figure = line().add_bar(y=[1]).add_bar(y=[1]) if name == "b" else line()
        Publisher(tmp_path / "first", "x").publish(figure, name, NUMBERS)
    Publisher(tmp_path / "second", "x").publish(go.Figure(), "d", NUMBERS)
    folders = [tmp_path / "first", tmp_path / "second"]
    assert render_images(folders) == 3
    drawn = {path.name: path.read_text() for path in tmp_path.glob("*/*.png")}
    assert drawn == {"a.png": "1", "c.png": "1", "d.png": "0"}
    assert sorted(reduced) == ["a.png", "c.png", "d.png"]
    assert capsys.readouterr().out == "no PNG and SVG images of b: RuntimeError: too much\n"
    (tmp_path / "second" / "d.svg").write_text("")  # its drawing was ended
    assert render_images(folders) == 1


@pytest.mark.parametrize("when", ["__aenter__", "write_fig_from_object", "__aexit__"])
def test_a_browser_that_does_not_answer_is_left_after_a_while(tmp_path, monkeypatch, capsys, when):
    async def wait_for_ever(*_):
        await asyncio.Event().wait()

    kaleido = pytest.importorskip("kaleido", reason="images need kaleido")
    monkeypatch.setattr(kaleido, "Kaleido", type("Silent", (Browser,), {when: wait_for_ever}))
    monkeypatch.setattr("papers.images.START_SECONDS", 0.1)
    monkeypatch.setattr("papers.images.FIGURE_SECONDS", 0.0)
    Publisher(tmp_path, "x").publish(line(), "one", NUMBERS)
    monkeypatch.setattr("papers.images.reduce_colors", lambda path: None)
    render_images([tmp_path])
    said = capsys.readouterr().out
    assert said.endswith("TimeoutError: the browser does not answer\n")


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


def test_a_picture_keeps_its_colors_and_takes_fewer_bytes(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="images need Pillow")
    drawn = image.effect_noise((300, 200), 40).convert("RGB")
    drawn.paste((0, 114, 178), (0, 0, 300, 100))
    path = tmp_path / "one.png"
    drawn.save(path)
    before = path.stat().st_size
    reduce_colors(path)
    reduced = image.open(path)
    assert reduced.mode == "P" and path.stat().st_size < before
    apart = np.abs(np.asarray(reduced.convert("RGB")).astype(int) - np.asarray(drawn))
    assert apart.max() <= 16


def test_a_static_figure_has_no_controls_and_not_their_height():
    live = line(margin={"b": 160}, height=400, meta={CONTROLS: 100}, sliders=[{"steps": []}])
    live = Publisher(None, "x").publish(live, "one", NUMBERS)
    picture = static_figure(live)
    assert live.layout.sliders and not picture.layout.sliders
    assert (picture.layout.height, picture.layout.margin.b) == (300, 60)
    assert caption(picture) == ["data: x"]
    plain = line()
    assert static_figure(plain) is plain
