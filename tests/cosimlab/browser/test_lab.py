"""The front page of the lab: pictures show, and a link opens its notebook."""

import pytest

from tests.cosimlab.browser import lab
from tests.suites import ROOT


@pytest.mark.browser
def test_the_front_page_shows_pictures_and_leads_to_notebooks(page, address, tmp_path):
    lab.show_notebook(page, address, "notebooks/index.ipynb")
    images = page.locator(".jp-RenderedMarkdown img")
    page.wait_for_function(
        "() => { const all = [...document.querySelectorAll('.jp-RenderedMarkdown img')];"
        " return all.length > 22 && all.every(one => one.complete && one.naturalWidth > 0); }",
        timeout=lab.TIMEOUT,
    )
    named = (ROOT / "notebooks/index.ipynb").read_text(encoding="utf-8").count("](pictures/")
    assert images.count() == named, "notebooks, explorers and recipes"
    page.screenshot(path=tmp_path / "front.png")
    page.locator(".jp-RenderedMarkdown a", has_text="A batch scheduler").click()
    page.locator(".lm-TabBar-tabLabel", has_text="batch.ipynb").wait_for(timeout=lab.TIMEOUT)
