"""The filling explorer in a browser too slow to load Plotly in the time that anywidget allows."""

import re

import pytest

from tests.cosimlab.browser import lab
from tests.cosimlab.browser.explorer import Explorer

HASTE = """
const deadline = AbortSignal.timeout.bind(AbortSignal);
AbortSignal.timeout = milliseconds => deadline(milliseconds / 10);
"""


@pytest.fixture
def page(window):
    """A page that has loaded nothing before."""
    context = window.browser.new_context(viewport={"width": 1400, "height": 1240})
    yield context.new_page()
    context.close()


@pytest.mark.browser
def test_controls_move_the_figure_and_a_slow_browser_shows_it_again(page, address, files, tmp_path):
    """With a tenth of the time Plotly's own widget stays empty; saved notebooks open as well."""
    from playwright.sync_api import expect

    page.add_init_script(HASTE)
    explorer = Explorer(page)
    explorer.open(address, "filling", r"^filling A: utilization [\d.]+ % to [\d.]+ %$")
    explorer.count()
    explorer.picture(tmp_path, "filling")
    text = explorer.title.text_content()
    explorer.slider("start and save").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    expect(explorer.title).not_to_have_text(text)
    explorer.choose("policy", "filling B, kill")
    expect(explorer.title).to_have_text(re.compile("^filling B, kill: utilization"))
    assert explorer.pictures() >= 1
    text = explorer.title.text_content()
    explorer.slider("accuracy").focus()
    page.keyboard.press("ArrowLeft")
    expect(explorer.title).not_to_have_text(text)
    explorer.picture(tmp_path, "filling-killed")
    lab.wait_until_idle(page)
    chosen = explorer.title.text_content()
    lab.save(page, files / "notebooks" / "explore" / "filling.ipynb")
    lab.load_again(page, address, "notebooks/explore/filling.ipynb")
    expect(explorer.title).to_have_text(chosen, timeout=lab.TIMEOUT)
