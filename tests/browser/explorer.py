"""An explorer in a notebook as its page shows it."""

import re
import warnings

from tests.browser import lab

SHOWN = ".jupyter-widgets"

STOPWATCH = """() => {
  const title = document.querySelector('.jupyter-widgets .gtitle');
  const plot = title.closest('.js-plotly-plot');
  window.measured = [];
  let began = null, before = title.textContent;
  document.addEventListener('keydown', () => { began = performance.now(); }, true);
  new MutationObserver(() => {
    const now = plot.querySelector('.gtitle')?.textContent;
    if (began === null || !now || now === before) return;
    before = now;
    const start = began;
    began = null;
    requestAnimationFrame(() => setTimeout(() => window.measured.push(performance.now() - start)));
  }).observe(plot, {subtree: true, childList: true, characterData: true});
}"""


class Explorer:
    """The explorer on a page: its controls, title and figure."""

    def __init__(self, page):
        self.page = page
        self.title = page.locator(f"{SHOWN} .gtitle")
        self.plot = page.locator(f"{SHOWN} .js-plotly-plot")

    def open(self, address: str, name: str, begins: str) -> None:
        """Load a notebook, run it and wait until the figure has its title.

        On a busy machine a page may leave a live figure empty; then all cells run again.
        """
        from playwright.sync_api import expect

        expect.set_options(timeout=30_000)
        lab.open_notebook(self.page, address, f"notebooks/explore/{name}.ipynb")
        lab.run_all(self.page)
        try:
            expect(self.title).to_have_text(re.compile(begins), timeout=lab.TIMEOUT)
        except AssertionError:
            warnings.warn(f"{name}: no live figure at first", stacklevel=2)
            lab.run_all(self.page)
            expect(self.title).to_have_text(re.compile(begins), timeout=lab.TIMEOUT)
        lab.wait_until_idle(self.page)
        self.title.scroll_into_view_if_needed()

    def slider(self, name: str):
        """The handle of a slider by its name."""
        box = self.page.locator(".widget-hslider", has_text=re.compile(f"^{re.escape(name)}"))
        return box.locator(".noUi-handle")

    def choose(self, name: str, label: str) -> None:
        """Select an option of a dropdown."""
        box = self.page.locator(".widget-dropdown", has_text=re.compile(f"^{re.escape(name)}"))
        box.locator("select").select_option(label=label)

    def bars(self) -> list[str]:
        """The outlines of the jobs' bars."""
        bars = self.plot.locator(".barlayer .point path").all()
        return [bar.get_attribute("d") for bar in bars]

    def surface(self) -> str:
        """The heat map's pixels."""
        return self.plot.locator(".heatmaplayer image").get_attribute("href")

    def measure(self) -> None:
        """Begin to measure the milliseconds from a key to the new title of the figure."""
        self.page.evaluate(STOPWATCH)

    def milliseconds(self) -> list[float]:
        """One measurement per key that was followed by a new title; printed, not judged."""
        measured = self.page.evaluate("window.measured")
        print("milliseconds from key to picture:", [round(value) for value in measured])
        return measured

    def ranges(self) -> list[list[float]]:
        """Beginning and end of each horizontal axis."""
        return self.plot.evaluate(
            "plot => Object.keys(plot._fullLayout).filter(name => /^xaxis\\d*$/.test(name))"
            ".map(name => Array.from(plot._fullLayout[name].range))"
        )

    def drag(self, subplot: str, left: float, right: float) -> None:
        """Drag across a subplot, between two shares of its width."""
        box = self.plot.locator(f".draglayer .{subplot} .nsewdrag").bounding_box()
        y = box["y"] + box["height"] / 2
        self.page.mouse.move(box["x"] + left * box["width"], y)
        self.page.mouse.down()
        self.page.mouse.move(box["x"] + right * box["width"], y, steps=8)
        self.page.mouse.up()
        self.page.wait_for_timeout(400)

    def picture(self, folder, name: str) -> None:
        """Save a screenshot of the explorer."""
        self.page.wait_for_timeout(500)
        self.page.locator(".jp-OutputArea-child", has=self.plot).first.screenshot(
            path=folder / f"{name}.png"
        )
