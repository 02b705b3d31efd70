"""The gallery: every figure and claim is there, every link leads somewhere, names stay text."""

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
from papers.reading import PLOTLY
from papers.results import Run, read_runs
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
        if tag == "details" and "data-verdict" in given:
            self.rows.append((given["data-system"], given["data-verdict"]))

    def handle_data(self, data):
        self.texts.append(data)


def publish(figures, name, titles, trace="KTH.swf.gz", redraws=None):
    """The folder of a run with a figure per title, in this order, and what they redraw."""
    folder = figures / name
    folder.mkdir()
    publisher = Publisher(folder, f"log of {ATTACK}", paper="Someone 2020")
    for number, title in enumerate(titles):
        numbers = pd.DataFrame({"y": [number]})
        figure = go.Figure(go.Bar(y=[number]), {"title": {"text": title}})
        publisher.publish(figure, f"figure-{9 + number}", numbers, note="What it is.")
    question = ["\n", "\n", f"Words. What of {ATTACK} then? More."]
    answer = [f"**The answer, in short** (3 seeds). Yes. It is {ATTACK}. And more."]
    output = {"output_type": "stream", "text": [ATTACK]}
    cells = [
        {"cell_type": "markdown", "source": [f"# Run of {ATTACK}", *question]},
        {"cell_type": "markdown", "source": answer},
        {"cell_type": "code", "source": [f"# {ATTACK}\n", "1 + 1"], "outputs": [output, live()]},
    ]
    (folder / "run.ipynb").write_text(json.dumps({"cells": cells}))
    parameters = {"trace": trace, "scale": "quick", "horizon": 1800}
    record = {"notebook": "run.ipynb", "seconds": 3.2, "parameters": parameters}
    (folder / "run.json").write_text(json.dumps(record))
    (folder / "published.json").write_text(json.dumps(redraws or {}))
    share_library(folder, figures)


def live():
    """The output of a cell that shows a figure."""
    figure = go.Figure(go.Bar(y=[1]), {"title": {"text": ATTACK}})
    return {"output_type": "display_data", "data": {PLOTLY: json.loads(figure.to_json())}}


@pytest.fixture
def figures(tmp_path):
    """Two runs and three claims, whose names are HTML; one figure has a picture."""
    titles = ["Zero", f"Load of {ATTACK}", "a <b>bold</b> <i>x</i> &lt; y", "Ours"]
    redraws = {"figure-10": "figure 10", "figure-12": "", "figure-9": "figure 9"}
    publish(tmp_path, "0-log", titles, redraws=redraws)
    publish(tmp_path, "1-log synthetic", [], trace=ATTACK)
    (tmp_path / "1-log synthetic" / "report.html").write_text("a report")
    (tmp_path / "0-log" / "figure-9.png").write_bytes(b"png")
    row = dict.fromkeys(JUDGED, "x") | {"system": "1-log", "verdict": "holds", "number": "1"}
    rows = [row, row | {"system": ATTACK, "ours": ATTACK, "verdict": "fails", "why": "a & b"}]
    rows.append(row | {"verdict": "by construction"})
    rows = [row | {"best": row["verdict"]} for row in rows]
    for folder in (tmp_path, tmp_path / "0-log"):
        pd.DataFrame(rows).to_csv(folder / "claims.csv", index=False)
    (tmp_path / "scorecard.md").write_text("# Scorecard\n\n3 claims: 1 holds.\n")
    gallery.write_pages(tmp_path, read_runs(tmp_path))
    return tmp_path


def written(figures):
    """All pages that the gallery writes, by name."""
    names = [
        "index",
        "scorecard",
        "0-log",
        "1-log synthetic",
        "0-log/run.ipynb",
        "1-log synthetic/run.ipynb",
    ]
    return {name: (figures / f"{name}.html").read_text(encoding="utf-8") for name in names}


def test_every_link_leads_to_a_file_of_the_folder(figures):
    for name, text in written(figures).items():
        links = [unquote(link) for link in Page(text).links]
        assert links
        for link in links:
            assert (figures / name).parent.joinpath(link).is_file(), (name, link)


def test_the_first_page_leads_to_pages_notebooks_and_the_report(figures):
    links = {unquote(link) for link in Page((figures / "index.html").read_text()).links}
    assert links == {
        "scorecard.html",
        "0-log.html",
        "0-log/figure-9.png",
        "0-log/run.ipynb.html",
        "0-log/run.ipynb",
        "1-log synthetic.html",
        "1-log synthetic/run.ipynb.html",
        "1-log synthetic/run.ipynb",
        "1-log synthetic/report.html",
    }


def test_a_card_has_the_first_question_the_short_answer_and_the_verdicts(figures):
    text = (figures / "index.html").read_text(encoding="utf-8")
    card = text.partition("<article")[2].partition("</article>")[0]
    said = "".join(Page(card).texts)
    assert f"What of {ATTACK} then?" in said and f"Yes. It is {ATTACK}." in said
    assert "More." not in said and "And more" not in said and "3 seeds" not in said
    assert all(words in said for words in ("1 holds", "1 fails", "1 by construction"))
    assert "horizon 1800" in card


def test_the_paper_s_figures_come_first_in_the_paper_s_order(figures):
    text = (figures / "0-log.html").read_text(encoding="utf-8")
    redrawn, own = text.index("The paper's figures"), text.index("Beyond the paper")
    order = [link for link in Page(text).links if re.fullmatch(r"0-log/figure-\d+\.csv", link)]
    assert order == [f"0-log/figure-{number}.csv" for number in (9, 10, 12, 11)]
    assert redrawn < text.index("figure-10.csv") < own < text.index("figure-12.csv")
    assert "Redraws Someone 2020, figure 9." in text
    assert re.findall(r'src="0-log/(figure-\d+)', text) == ["figure-9"]


def test_a_run_without_figures_says_so_unless_it_wrote_a_report(figures):
    name = "1-log synthetic"
    assert "The report on this log" in (figures / f"{name}.html").read_text()
    (figures / name / "report.html").unlink()
    assert "This run published no figures." in gallery.run_page(Run(figures / name))


def test_names_of_logs_are_text_and_not_html(figures):
    pages = written(figures)
    scripts = {name: Page(text).tags.count("script") for name, text in pages.items()}
    assert scripts == {
        "index": 0,
        "scorecard": 1,
        "0-log": 0,
        "1-log synthetic": 0,
        "0-log/run.ipynb": 3,
        "1-log synthetic/run.ipynb": 3,
    }
    images = {name: Page(text).tags.count("img") for name, text in pages.items()}
    assert {name for name, count in images.items() if count} == {"index", "0-log"}
    assert all("onerror" in text for text in pages.values()), "as text it is there"
    assert "a bold x < y" in "".join(Page(pages["0-log"]).texts), "Plotly's markup is gone"
    rows = [("1-log", "holds"), (ATTACK, "fails"), ("1-log", "by construction")]
    assert Page(pages["scorecard"]).rows == Page(pages["0-log"]).rows == rows


def test_a_stored_run_s_verdict_is_marked(figures):
    path = figures / "0-log" / "claims.csv"
    pd.read_csv(path).assign(verdict="unknown", best="fails").to_csv(path, index=False)
    text = gallery.run_page(Run(figures / "0-log"))
    assert text.count("fails <small>stored run</small>") == 3
    assert "3 fail" in text and "<dt>this run</dt><dd>unknown</dd>" in text


def test_pages_share_one_copy_of_plotly(figures):
    assert [path.parent for path in figures.rglob("plotly.min.js")] == [figures]
    pages = list((figures / "0-log").glob("*.html"))
    assert len(pages) == 5
    assert all('src="../plotly.min.js"' in page.read_text(encoding="utf-8") for page in pages)


@pytest.mark.browser
def test_claims_can_be_filtered_and_pages_open_from_disk(figures, browser_path, tmp_path):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page()
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto((figures / "scorecard.html").as_uri())
        shown = page.locator(".claims details:visible")
        assert shown.count() == 3 and page.title() == "cosimlib: Scorecard"
        page.locator("#verdict").select_option("by construction")
        assert shown.count() == 1 and page.locator("#shown").inner_text() == "1 of 3 claims"
        page.locator("#verdict").select_option("")
        page.locator("#system").select_option(ATTACK)
        assert shown.count() == 1 and shown.locator("summary span").nth(3).inner_text() == ATTACK
        shown.locator("summary").click()
        assert shown.locator("dd").last.inner_text() == "a & b"
        page.set_viewport_size({"width": 390, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        assert "it prints" in shown.locator("summary span").nth(2).evaluate(
            "cell => getComputedStyle(cell, '::before').content"
        )
        page.locator("#words").fill("a & nothing")
        assert shown.count() == 0
        page.goto((figures / "0-log.html").as_uri())
        page.locator("figure > a").first.click()
        page.locator(".gtitle", has_text="Zero").wait_for()
        page.goto((figures / "0-log" / "run.ipynb.html").as_uri())
        page.locator(".gtitle").wait_for()
        browser.close()
    assert not errors
