"""One JupyterLab on the front page and the explorers, and one headless Chromium, for all tests."""

import os
import shutil
from types import SimpleNamespace

import pytest

from tests.cosimlab.browser import lab
from tests.suites import ROOT, members

SIZE = {"width": 1400, "height": 1240}
PASSED = pytest.StashKey[bool]()


@pytest.fixture(scope="package")
def browser_path() -> str:
    """Chromium; skips where there is none, or no Playwright, or no JupyterLab."""
    pytest.importorskip("jupyterlab", reason="no JupyterLab: pip install -e .[browser]")
    pytest.importorskip("playwright.sync_api", reason="no Playwright: pip install -e .[browser]")
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("BROWSER_PATH") or next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.skip("no Chromium: apt install chromium, or let BROWSER_PATH name one")
    return found


@pytest.fixture(scope="package")
def server(tmp_path_factory, browser_path):
    """A JupyterLab: its address, and the folder of its files."""
    folder = tmp_path_factory.mktemp("lab")
    with lab.serve(folder) as address:
        yield SimpleNamespace(address=address, files=folder / "files")


@pytest.fixture
def files(server):
    """The folder of JupyterLab's files: the notebooks as they are stored, no kernel runs."""
    lab.end_kernels(server.address)
    for old in server.files.iterdir():
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    pictures = (ROOT / "notebooks" / "pictures").glob("*.png")
    for name in [path.relative_to(ROOT) for path in (*members("lax"), *pictures)]:
        copy = server.files / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy)
    return server.files


@pytest.fixture
def address(server, files):
    """The address of JupyterLab on copies of the notebooks, which no test before has touched."""
    yield server.address
    lab.end_kernels(server.address)


@pytest.fixture(scope="package")
def window(browser_path):
    """A headless Chromium, whose pages share what they have loaded."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=browser_path, args=flags)
        yield browser.new_context(viewport=SIZE)
        browser.close()


@pytest.fixture(scope="package")
def pages():
    """JupyterLab's page, if it is loaded: a list of one or none."""
    return []


@pytest.fixture
def page(tmp_path, window, pages, address, request):
    """The page of JupyterLab, loaded once for all tests that pass; ``last.png`` shows its end."""
    if not pages:
        pages.append(window.new_page())
    [page] = pages
    page.set_viewport_size(SIZE)
    yield page
    page.screenshot(path=tmp_path / "last.png")
    if request.node.stash.get(PASSED, False):
        lab.close_notebooks(page)
    else:
        pages.pop().close()


@pytest.fixture
def blank_page(tmp_path, window):
    """A page on which nothing is loaded; ``last.png`` is a screenshot of its end."""
    page = window.new_page()
    try:
        yield page
    finally:
        page.screenshot(path=tmp_path / "last.png")
        page.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Tell the fixture of the page whether its test passed."""
    report = yield
    if report.when == "call":
        item.stash[PASSED] = report.passed
    return report
