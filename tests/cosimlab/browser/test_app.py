"""The app in a real browser: links lead to explorers without code, which take a reader's log.

What an explorer says is on a laptop's screen at once: controls, figure, legend, line of text.
"""

import re
import shutil
import urllib.error
import urllib.request

import pytest

from cosimlab.explorers.app import PAGES
from tests.cosimlab.browser import lab
from tests.suites import ROOT, THOROUGH

LAPTOP = {"width": 1366, "height": 768}
FULLEST = ("ondemand", "timesharing")
"""The explorers with most on their pages; at night all of them are opened."""
TITLES = {"ondemand": "^dynamic, day .* node-hours per burst$"}
"""What a figure says before anything is moved; of the others, that it says anything."""

PARTS = """() => {
  const ends = selector => [...document.querySelectorAll(selector)].map(one => {
    const box = one.getBoundingClientRect();
    return [box.left, box.top, box.right, box.bottom];
  }).filter(box => box[2] > box[0]);
  return {
    controls: ends('.widget-dropdown, .widget-hslider'),
    figure: ends('.js-plotly-plot .main-svg'),
    axes: ends('.js-plotly-plot [class$="tick"] text, .js-plotly-plot [class$="title"]'),
    legend: ends('.js-plotly-plot .legend'),
    text: ends('.explorer-text').slice(0, 1),
  };
}"""


@pytest.fixture(scope="module")
def app(tmp_path_factory, browser_path):
    """The address of the app on a free port, whose kernels are made when a page is opened."""
    pytest.importorskip("voila", reason="no Voilà: pip install -e .[browser]")
    with lab.serve_app(tmp_path_factory.mktemp("app")) as address:
        yield address


def choose(page, path):
    """Give the page a file as a reader does, by its button and the browser's dialog."""
    with page.expect_file_chooser() as dialog:
        page.locator("button.jupyter-widgets", has_text="your log").click()
    dialog.value.set_files(path)


@pytest.mark.browser
def test_the_front_page_leads_to_an_explorer_that_moves_and_takes_a_log(blank_page, app, tmp_path):
    from playwright.sync_api import expect

    expect.set_options(timeout=lab.TIMEOUT)
    page = blank_page
    log = shutil.copy(ROOT / "tests/data/zoo/two-sizes.swf.gz", tmp_path)
    page.set_viewport_size({"width": 1366, "height": 900})
    page.goto(f"{app}?token={lab.TOKEN}")
    links = page.locator("main a")
    expect(links).to_have_count(len(list((ROOT / "notebooks" / "explore").glob("*.ipynb"))))
    page.wait_for_function("() => [...document.images].every(one => one.naturalWidth > 0)")
    page.screenshot(path=tmp_path / "front.png")
    links.filter(has_text="A batch scheduler").click()
    title = page.locator(".gtitle")
    expect(title).to_have_text(re.compile("^EASY, offered load 0.90"), timeout=lab.COLD)
    assert page.locator(".jp-InputArea, .highlight").count() == 0, "code is shown"
    page.locator("select").first.select_option(label="FCFS")
    expect(title).to_have_text(re.compile("^FCFS"))
    page.screenshot(path=tmp_path / "batch.png")
    choose(page, log)
    expect(page.get_by_text("shown: two-sizes.swf.gz")).to_be_visible()
    page.screenshot(path=tmp_path / "log.png")
    bad = tmp_path / "<b>no log.swf"
    bad.write_text("nothing\n")
    choose(page, bad)
    expect(page.get_by_text(re.compile(r"<b>no log\.swf cannot be shown: "))).to_be_visible()


@pytest.mark.browser
def test_files_beside_the_pages_are_not_served(app):
    for path in ("voila/files/batch.ipynb", "pictures/../index.ipynb"):
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(f"{app}/{path}?token={lab.TOKEN}", timeout=30)


@pytest.mark.browser
def test_without_the_token_there_is_only_a_page_that_asks_for_it(app):
    for path in ("", "voila/render/batch.ipynb", "?token=wrong"):
        with urllib.request.urlopen(f"{app}/{path}", timeout=30) as answer:
            assert "/login?next=" in answer.url
            assert b"explorers" not in answer.read()
    for path in ("api/kernels/00000000-0000-0000-0000-000000000000", "api/kernels"):
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(f"{app}/{path}", timeout=30)


@pytest.mark.browser
def test_an_answer_is_pinned_copied_and_saved(blank_page, app, tmp_path):
    """The pin stays when a log is given; the cell is selected; the table is the file."""
    from playwright.sync_api import expect

    expect.set_options(timeout=lab.TIMEOUT)
    page = blank_page
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(f"{app}/voila/render/batch.ipynb?token={lab.TOKEN}", timeout=lab.COLD)
    titles = page.locator(".gtitle")
    expect(titles).to_have_text(re.compile("^EASY, offered load 0.90"), timeout=lab.COLD)
    page.get_by_role("button", name="pin", exact=True).click()
    expect(titles).to_have_count(2)
    page.locator("select").first.select_option(label="FCFS")
    compared = page.locator(".explorer-comparison")
    expect(compared).to_contain_text("policy EASY → FCFS")
    expect(titles).to_have_text([re.compile("^FCFS, "), re.compile("^EASY, ")])
    with page.expect_download() as saved:
        page.get_by_role("button", name="download CSV").click()
    assert saved.value.suggested_filename == "batch-policy=FCFS.csv"
    assert saved.value.path().read_text(encoding="utf-8").count("\n") == 301
    page.get_by_role("button", name="copy as Python").click()
    code = page.locator("textarea")
    expect(code).to_have_value(re.compile(r'lab\.explore_batch\(policy="FCFS"\)'))
    page.wait_for_function("() => window.getSelection().toString().includes('explore_batch')")
    page.screenshot(path=tmp_path / "code.png")
    choose(page, ROOT / "tests/data/zoo/two-sizes.swf.gz")
    expect(page.get_by_text("shown: two-sizes.swf.gz")).to_be_visible()
    expect(compared).to_contain_text("data Lublin-Feitelson (seed 0) → ")
    expect(titles).to_have_count(2)
    page.screenshot(path=tmp_path / "pinned.png")
    page.get_by_role("button", name="unpin").click()
    expect(titles).to_have_count(1)
    expect(compared).to_have_count(0)


@pytest.mark.browser
@pytest.mark.parametrize("name", PAGES if THOROUGH else FULLEST)
def test_controls_figure_and_text_are_on_a_laptop_s_screen_at_once(blank_page, app, tmp_path, name):
    from playwright.sync_api import expect

    page = blank_page
    page.set_viewport_size(LAPTOP)
    page.goto(f"{app}/voila/render/{name}.ipynb?token={lab.TOKEN}", timeout=lab.COLD)
    title = re.compile(TITLES.get(name, ".{4}"))
    expect(page.locator(".gtitle").first).to_have_text(title, timeout=lab.COLD)
    if name != "advise":
        choose(page, shutil.copy(ROOT / "tests/data/zoo/two-sizes.swf.gz", tmp_path))
        page.get_by_text(re.compile("^shown: ")).wait_for(timeout=lab.COLD)
    page.wait_for_timeout(2000)
    page.screenshot(path=tmp_path / f"{name}.png")
    parts = page.evaluate(PARTS)
    assert parts["controls"] and parts["figure"] and parts["axes"] and parts["text"]
    for part, boxes in parts.items():
        for left, top, right, bottom in boxes:
            inside = left >= 0 and top >= 0 and right <= LAPTOP["width"] + 1
            assert inside and bottom <= LAPTOP["height"] + 1, (part, left, top, right, bottom)
    lowest = max(bottom for *_, bottom in parts["figure"])
    assert all(bottom <= lowest + 1 for *_, bottom in parts["axes"] + parts["legend"]), "cut off"
