"""The gallery: every figure and claim is there, every link leads somewhere, names stay text."""

import html
import json
import re
from html.parser import HTMLParser
from urllib.parse import unquote

import pandas as pd
import plotly.graph_objects as go
import pytest

from cosimlab.figures import Publisher
from papers import gallery
from papers.claims import JUDGED
from papers.run import share_library
from tests.cosimlab.browser.conftest import browser_path

__all__ = ["browser_path"]

ATTACK = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>"


class Page(HTMLParser):
    """Links, tags and texts of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.tags, self.texts, self.rows = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.tags.append(tag)
        self.links += [given[name] for name in ("href", "src") if name in given]
        if tag == "tr" and "data-verdict" in given:
            self.rows.append((given["data-system"], given["data-verdict"]))

    def handle_data(self, data):
        self.texts.append(data)


def publish(figures, name, titles, trace="KTH.swf.gz"):
    """The folder of a run with a figure per title, in this order."""
    folder = figures / name
    folder.mkdir()
    publisher = Publisher(folder, f"log of {ATTACK}", paper="Someone 2020")
    for number, title in enumerate(titles):
        numbers = pd.DataFrame({"y": [number]})
        figure = go.Figure(go.Bar(y=[number]), {"title": {"text": title}})
        publisher.publish(figure, f"figure-{9 + number}", numbers, note="What it is.")
    cells = [{"cell_type": "markdown", "source": [f"# Run of {ATTACK}\n", "words"]}]
    (folder / "run.ipynb").write_text(json.dumps({"cells": cells}))
    parameters = {"trace": trace, "scale": "quick", "horizon": 1800}
    record = {"notebook": "run.ipynb", "seconds": 3.2, "parameters": parameters}
    (folder / "run.json").write_text(json.dumps(record))
    share_library(folder, figures)


@pytest.fixture
def figures(tmp_path):
    """Two runs and three claims, whose names are HTML; one figure has a picture."""
    publish(tmp_path, "0-log", ["Zero", f"Load of {ATTACK}", "a <b>bold</b> <i>x</i> &lt; y"])
    publish(tmp_path, "1-log synthetic", [], trace=ATTACK)
    (tmp_path / "0-log" / "figure-9.png").write_bytes(b"png")
    row = dict.fromkeys(JUDGED, "x") | {"system": "1-log", "verdict": "holds", "number": "1"}
    rows = [row, row | {"system": ATTACK, "ours": ATTACK, "verdict": "fails", "why": "a & b"}]
    rows.append(row | {"verdict": "by construction"})
    pd.DataFrame(rows).to_csv(tmp_path / "claims.csv", index=False)
    (tmp_path / "scorecard.md").write_text("# Scorecard\n\n3 claims: 1 holds.\n")
    (tmp_path / "index.html").write_text(gallery.gallery(tmp_path), encoding="utf-8")
    return tmp_path


def test_every_link_leads_to_a_file_or_a_place_of_the_page(figures):
    text = (figures / "index.html").read_text(encoding="utf-8")
    links = [unquote(link) for link in Page(text).links]
    assert {"0-log/figure-9.html", "0-log/figure-9.csv"} <= set(links)
    assert not any(link.endswith(".ipynb") for link in links), "a browser would show JSON"
    assert "for JupyterLab: 0-log/run.ipynb" in text
    places = set(re.findall(r'id="([^"]+)"', text))
    for link in links:
        inside = unquote(link).startswith("#")
        assert (link[1:].replace(" ", "%20") in places) if inside else (figures / link).is_file()


def test_figures_stand_in_the_order_of_their_numbers(figures):
    text = (figures / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'src="0-log/(figure-\d+)', text) == ["figure-9"]
    order = [link for link in Page(text).links if re.fullmatch(r"0-log/figure-\d+\.csv", link)]
    assert order == [f"0-log/figure-{n}.csv" for n in (9, 10, 11)]
    assert "This run published no figures." in text and "horizon 1800" in text


def test_names_of_logs_are_text_and_not_html(figures):
    text = (figures / "index.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.tags.count("script") == 1 and page.tags.count("img") == 1
    assert text.count(html.escape(ATTACK)) >= 8
    assert "a bold x < y" in "".join(page.texts), "Plotly's markup is gone, its entities are read"
    assert page.rows == [("1-log", "holds"), (ATTACK, "fails"), ("1-log", "by construction")]


def test_pages_share_one_copy_of_plotly(figures):
    assert [path.parent for path in figures.rglob("plotly.min.js")] == [figures]
    pages = list((figures / "0-log").glob("*.html"))
    assert len(pages) == 3
    assert all('src="../plotly.min.js"' in page.read_text(encoding="utf-8") for page in pages)


@pytest.mark.browser
def test_claims_can_be_filtered_and_pages_open_from_disk(figures, browser_path, tmp_path):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page()
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto((figures / "index.html").as_uri())
        shown = page.locator("#claims tbody tr:visible")
        assert shown.count() == 3 and page.title() == "cosimlib: figures and scorecard"
        page.locator("#verdict").select_option("by construction")
        assert shown.count() == 1 and page.locator("#shown").inner_text() == "1 of 3 claims"
        page.locator("#verdict").select_option("")
        page.locator("#system").select_option(ATTACK)
        assert shown.count() == 1 and shown.locator("td").nth(6).inner_text() == ATTACK
        page.set_viewport_size({"width": 700, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") == 700
        assert "the paper says" in shown.locator("td").nth(2).evaluate(
            "cell => getComputedStyle(cell, '::before').content"
        )
        page.locator("#words").fill("a & nothing")
        assert shown.count() == 0
        page.locator("figure > a").first.click()
        page.locator(".gtitle", has_text="Zero").wait_for()
        browser.close()
    assert not errors
