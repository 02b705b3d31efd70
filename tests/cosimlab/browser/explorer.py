"""An explorer in a notebook as its page shows it."""

import re

from tests.cosimlab.browser import lab

SHOWN = ".jupyter-widgets"

COUNTER = """() => {
  const plot = document.querySelector('.jupyter-widgets .js-plotly-plot');
  window.pictures = 0;
  plot.on('plotly_afterplot', () => { window.pictures += 1; });
}"""


class Explorer:
    """The explorer on a page: its controls, title and figure."""

    def __init__(self, page):
        self.page = page
        self.title = page.locator(f"{SHOWN} .gtitle")
        self.plot = page.locator(f"{SHOWN} .js-plotly-plot")
        self.heat = self.plot.locator(".heatmaplayer image")

    def open(self, address: str, name: str, begins: str) -> None:
        """Load a notebook, run it and wait until the figure has its title."""
        from playwright.sync_api import expect

        expect.set_options(timeout=30_000)
        lab.open_notebook(self.page, address, f"notebooks/explore/{name}.ipynb")
        lab.run_all(self.page)
        expect(self.title).to_have_text(re.compile(begins), timeout=lab.COLD)
        lab.wait_until_idle(self.page, timeout=lab.COLD)
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
        bars = self.plot.locator(".barlayer .point path")
        return bars.evaluate_all("bars => bars.map(bar => bar.getAttribute('d'))")

    def surface(self) -> str:
        """The heat map's pixels."""
        return self.heat.get_attribute("href")

    def count(self) -> None:
        """Begin to count the pictures that are drawn."""
        self.page.evaluate(COUNTER)

    def pictures(self) -> int:
        """Pictures drawn since `count`."""
        return self.page.evaluate("window.pictures")

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
