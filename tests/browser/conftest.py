"""JupyterLab on a copy of the front page and the explorers, and a page of a headless Chromium."""

import os
import shutil

import pytest

from tests.browser import lab
from tests.suites import ROOT, members


@pytest.fixture
def browser_path() -> str:
    """Chromium; skips where there is none, or no Playwright, or no JupyterLab."""
    pytest.importorskip("jupyterlab", reason="no JupyterLab: pip install -e .[browser]")
    pytest.importorskip("playwright.sync_api", reason="no Playwright: pip install -e .[browser]")
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("BROWSER_PATH") or next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.skip("no Chromium: apt install chromium, or let BROWSER_PATH name one")
    return found


@pytest.fixture
def address(tmp_path, browser_path):
    """The address of a JupyterLab on copies of the notebooks."""
    pictures = (ROOT / "notebooks" / "pictures").glob("*.png")
    for name in [str(path.relative_to(ROOT)) for path in (*members("lax"), *pictures)]:
        copy = tmp_path / "files" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy)
    with lab.serve(tmp_path) as address:
        yield address


@pytest.fixture
def page(tmp_path, browser_path, address):
    """A page of a headless Chromium; ``last.png`` is a screenshot of its end."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=browser_path, args=flags)
        page = browser.new_page(viewport={"width": 1400, "height": 1240})
        try:
            yield page
        finally:
            page.screenshot(path=tmp_path / "last.png")
            browser.close()
