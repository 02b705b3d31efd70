"""The eviction explorer in JupyterLab: sliders and clicks move the figure, also after a reload."""

import re

import pytest

from tests.cosimlab.browser import lab
from tests.cosimlab.browser.explorer import Explorer

KEYS = range(2_049, 2_054)
"""Nodes needed after each key on the first slider."""


class EvictionExplorer(Explorer):
    """Surface, selected point and bars of the eviction explorer."""

    def __init__(self, page):
        super().__init__(page)
        self.text = page.locator(".jupyter-widgets", has_text=re.compile("^loss ")).last

    def marker(self) -> str:
        """The position of the selected point."""
        return self.plot.locator(".scatterlayer .point").first.get_attribute("transform")

    def state(self) -> tuple:
        """Title, point, bars and surface, once ten looks in a row have found them the same."""
        state, unchanged = None, 0
        while unchanged < 10:
            lab.wait_until_idle(self.page)
            found = self.title.text_content(), self.marker(), self.bars(), self.surface()
            unchanged = unchanged + 1 if found == state else 0
            state = found
            self.page.wait_for_timeout(100)
        return state

    def click_surface(self, across: float, up: float, title: str) -> None:
        """Click on the surface, at two shares of its width and height, until this is the title.

        Plotly's click is on what it found under the pointer before: a busy browser needs a while.
        """
        from playwright.sync_api import expect

        for _ in range(5):
            self._click(across, up)
            try:
                expect(self.title).to_have_text(re.compile(title), timeout=6_000)
                return
            except AssertionError:
                continue
        expect(self.title).to_have_text(re.compile(title))

    def _click(self, across: float, up: float) -> None:
        box = self.plot.locator(".draglayer .xy .nsewdrag").bounding_box()
        x, y = box["x"] + across * box["width"], box["y"] + (1 - up) * box["height"]
        self.page.mouse.move(x - 3, y)
        self.page.mouse.move(x, y, steps=3)
        self.page.wait_for_timeout(200)
        self.page.mouse.click(x, y)


def lengths(bars: list[str]) -> list[float]:
    """The lengths of bars as parts of the longest, which do not depend on the page's width."""
    ends = [float(re.search(r"H([\d.]+)", bar)[1]) for bar in bars]
    return [end / max(ends) for end in ends]


@pytest.mark.browser
def test_sliders_and_clicks_move_the_figure(page, address, files, tmp_path):
    """Sliders, clicks, and the same figure after a reload."""
    from playwright.sync_api import expect

    explorer = EvictionExplorer(page)
    title = r"^2,048 nodes within 5 minutes: [\d.,]+ node-hours lost$"
    explorer.open(address, "eviction", title)
    begin = explorer.state()
    assert len(explorer.bars()) == 24 * 4
    explorer.count()

    explorer.slider("nodes needed").focus()
    for nodes in KEYS:
        page.keyboard.press("ArrowRight")
        expect(explorer.title).to_have_text(re.compile(f"^{nodes:,} nodes within 5 minutes"))
    page.keyboard.press("End")
    expect(explorer.title).to_have_text(re.compile("^4,352 nodes within 5 minutes"))
    expect(explorer.text).to_contain_text("4,352 nodes freed")
    everything = explorer.state()
    assert everything[1] != begin[1], "the point did not move"
    assert everything[2] != begin[2], "the bars are as before"
    assert everything[3] == begin[3], "nodes needed must not change the surface"

    explorer.slider("deadline").focus()
    page.keyboard.press("ArrowRight")
    expect(explorer.title).to_have_text(re.compile("^4,352 nodes within 6 minutes"))
    explorer.slider("file system").focus()
    lost = explorer.title.text_content()
    for _ in range(10):
        page.keyboard.press("ArrowLeft")
    expect(explorer.title).not_to_have_text(lost)
    assert explorer.state()[3] != begin[3], "less bandwidth must change the surface"

    explorer.click_surface(10.5 / 16, 0.5, r"^2,\d\d\d nodes within 10 minutes")
    expect(explorer.slider("deadline")).to_have_attribute("aria-valuenow", re.compile(r"^10"))
    assert explorer.pictures() >= len(KEYS), "a key was not followed by a picture"

    chosen = explorer.state()
    page.screenshot(path=tmp_path / "explorer.png")
    lab.save(page, files / "notebooks" / "explore" / "eviction.ipynb")
    lab.load_again(page, address, "notebooks/explore/eviction.ipynb")
    expect(explorer.title).to_have_text(chosen[0], timeout=lab.TIMEOUT)
    again = lengths(explorer.state()[2])
    assert again == pytest.approx(lengths(chosen[2]), abs=0.01), "the figure is another one"
