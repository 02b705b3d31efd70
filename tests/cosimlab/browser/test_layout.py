"""What an explorer says is on a laptop's screen at once: controls, figure, legend, line of text."""

import re
import shutil

import pytest

from cosimlab.explorers.app import PAGES
from tests.cosimlab.browser import lab
from tests.suites import ROOT, THOROUGH

LAPTOP = {"width": 1366, "height": 768}
FULLEST = ("ondemand", "timesharing")
"""The explorers with most on their pages; at night all of them are opened."""

TITLE = "() => (document.querySelector('.gtitle')?.textContent ?? '').length > 3"
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


@pytest.mark.browser
@pytest.mark.parametrize("name", PAGES if THOROUGH else FULLEST)
def test_controls_figure_and_text_are_on_a_laptop_s_screen_at_once(blank_page, app, tmp_path, name):
    page = blank_page
    page.set_viewport_size(LAPTOP)
    page.goto(f"{app}/voila/render/{name}.ipynb?token={lab.TOKEN}", timeout=lab.COLD)
    page.wait_for_function(TITLE, timeout=lab.COLD)
    if name != "advise":
        give_log(page, shutil.copy(ROOT / "tests/data/zoo/two-sizes.swf.gz", tmp_path))
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


def give_log(page, path):
    """Give the page a log, and wait until it is shown."""
    with page.expect_file_chooser() as dialog:
        page.locator("button.jupyter-widgets", has_text="your log").click()
    dialog.value.set_files(path)
    page.get_by_text(re.compile("^shown: ")).wait_for(timeout=lab.COLD)
