"""Explorers in a real JupyterLab: controls move the figure, axes are linked, the player plays."""

import re
import warnings

import pytest

from tests.browser import lab
from tests.browser.test_eviction import STOPWATCH

SHOWN = ".jupyter-widgets"


class Explorer:
    """What a reader sees of an explorer on a page."""

    def __init__(self, page):
        self.page = page
        self.title = page.locator(f"{SHOWN} .gtitle")
        self.plot = page.locator(f"{SHOWN} .js-plotly-plot")

    def open(self, address: str, name: str, begins: str) -> None:
        """Load a notebook, run it and wait until the figure has its title.

        A page was once seen to leave a live figure empty, on a busy machine: then, as a reader
        would, run all cells again.
        """
        from playwright.sync_api import expect

        expect.set_options(timeout=30_000)
        lab.open_notebook(self.page, address, f"notebooks/explore/{name}.ipynb")
        lab.run_all(self.page)
        try:
            expect(self.title).to_have_text(re.compile(begins), timeout=lab.PATIENCE)
        except AssertionError:
            warnings.warn(f"{name}: no live figure at first", stacklevel=2)
            lab.run_all(self.page)
            expect(self.title).to_have_text(re.compile(begins), timeout=lab.PATIENCE)
        lab.wait_until_idle(self.page)
        self.title.scroll_into_view_if_needed()

    def slider(self, name: str):
        """The handle of the slider of that name."""
        box = self.page.locator(".widget-hslider", has_text=re.compile(f"^{re.escape(name)}"))
        return box.locator(".noUi-handle")

    def choose(self, name: str, label: str) -> None:
        """Take an option of a dropdown."""
        box = self.page.locator(".widget-dropdown", has_text=re.compile(f"^{re.escape(name)}"))
        box.locator("select").select_option(label=label)

    def ranges(self) -> list[list[float]]:
        """Beginning and end of every horizontal axis."""
        return self.plot.evaluate(
            "plot => Object.keys(plot._fullLayout).filter(name => /^xaxis\\d*$/.test(name))"
            ".map(name => Array.from(plot._fullLayout[name].range))"
        )

    def drag(self, subplot: str, left: float, right: float) -> None:
        """Drag over a subplot, between these shares of its width."""
        box = self.plot.locator(f".draglayer .{subplot} .nsewdrag").bounding_box()
        y = box["y"] + box["height"] / 2
        self.page.mouse.move(box["x"] + left * box["width"], y)
        self.page.mouse.down()
        self.page.mouse.move(box["x"] + right * box["width"], y, steps=8)
        self.page.mouse.up()
        self.page.wait_for_timeout(400)

    def picture(self, folder, name: str) -> None:
        """Keep what the explorer looks like."""
        self.page.wait_for_timeout(500)
        self.page.locator(".jp-OutputArea-child", has=self.plot).first.screenshot(
            path=folder / f"{name}.png"
        )


@pytest.mark.browser
def test_batch_knobs_move_the_figure_and_a_zoom_moves_all(page, address, tmp_path):
    from playwright.sync_api import expect

    explorer = Explorer(page)
    explorer.open(address, "batch", r"^EASY, offered load 0\.90: mean wait [\d.]+ h$")
    explorer.picture(tmp_path, "batch")
    explorer.choose("policy", "FCFS")
    expect(explorer.title).to_have_text(re.compile("^FCFS, offered load 0.90"))
    explorer.choose("queue order", "shortest")
    expect(explorer.title).to_have_text(re.compile(r"^FCFS \(shortest\), offered load 0.90"))
    before = explorer.ranges()
    assert len(before) == 3 and before[0] == before[1] == before[2]
    explorer.drag("x2y2", 0.25, 0.5)
    zoomed = explorer.ranges()
    assert zoomed[0] == zoomed[1] == zoomed[2] != before[0]
    assert zoomed[0][0] > 5 and zoomed[0][1] < 0.7 * before[0][1]
    explorer.slider("offered load").focus()
    page.keyboard.press("ArrowRight")
    expect(explorer.title).to_have_text(re.compile("offered load 0.95"))
    assert explorer.ranges() == zoomed, "a reader's zoom is gone"
    explorer.choose("estimates", "factor × run time")
    explorer.slider("factor").focus()
    explorer.picture(tmp_path, "batch-zoomed")


@pytest.mark.browser
def test_filling_knobs_move_the_figure(page, address, tmp_path):
    from playwright.sync_api import expect

    explorer = Explorer(page)
    explorer.open(address, "filling", r"^filling A: utilization [\d.]+% to [\d.]+%$")
    explorer.picture(tmp_path, "filling")
    text = explorer.title.text_content()
    explorer.slider("start and save").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    expect(explorer.title).not_to_have_text(text)
    explorer.choose("policy", "filling B, kill")
    expect(explorer.title).to_have_text(re.compile("^filling B, kill: utilization"))
    text = explorer.title.text_content()
    explorer.slider("accuracy").focus()
    page.keyboard.press("ArrowLeft")
    expect(explorer.title).not_to_have_text(text)
    explorer.picture(tmp_path, "filling-killed")


@pytest.mark.browser
def test_coscheduling_steps_into_a_deadlock_and_out_of_it(page, address, tmp_path):
    from playwright.sync_api import expect

    explorer = Explorer(page)
    explorer.open(address, "coscheduling", "^HH, held nodes never released: minute 12, event 4 of")
    words = page.locator(f"{SHOWN}", has_text=re.compile("^Minute ")).last
    expect(words).to_contain_text("Deadlock: a1 → b2 → b1 → a2 → a1")
    explorer.picture(tmp_path, "coscheduling")
    explorer.slider("event").focus()
    page.keyboard.press("ArrowLeft")
    expect(explorer.title).to_have_text(re.compile("minute 8, event 3 of"))
    expect(words).not_to_contain_text("Deadlock")
    explorer.slider("release every").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(explorer.title).to_have_text(
        re.compile("^HH, held nodes released every 20 min: minute 8")
    )
    page.locator(".jupyter-widgets.widget-play button").first.click()
    expect(explorer.title).to_have_text(re.compile("minute 20, event 7 of"))
    expect(words).to_contain_text("That breaks the circle.")
    expect(explorer.title).to_have_text(re.compile("event (8|9) of"))
    explorer.picture(tmp_path, "coscheduling-released")


@pytest.mark.browser
def test_timesharing_knobs_move_shares_crowds_and_ratios(page, address, tmp_path):
    from playwright.sync_api import expect

    explorer = Explorer(page)
    explorer.open(address, "timesharing", r"^time-sharing: mean slowdown [\d.]+; batch: [\d,.]+$")
    explorer.picture(tmp_path, "timesharing")
    names = explorer.plot.locator(".legend .legendtext")
    heading = explorer.plot.locator(".annotation-text").first
    expect(names.first).to_have_text(re.compile(r"^job \d+, \d+ nodes?: 0\.\d\d"))
    areas = explorer.plot.locator(".scatterlayer .js-fill")
    begin = heading.text_content(), areas.first.get_attribute("d")
    page.evaluate(STOPWATCH)
    explorer.slider("moment").focus()
    title = explorer.title.text_content()
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    expect(heading).not_to_have_text(begin[0])
    assert areas.first.get_attribute("d") != begin[1], "the areas are as before"
    expect(explorer.title).to_have_text(title)
    explorer.slider("overhead").focus()
    page.keyboard.press("ArrowRight")
    expect(explorer.title).to_have_text(re.compile(r"^time-sharing \(overhead 1\.0%\): mean"))
    explorer.choose("jobs", "not SPMD: the mean of all nodes")
    expect(explorer.title).to_have_text(re.compile(r"^time-sharing \(overhead 1\.0%, not SPMD\)"))
    explorer.slider("noise").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(explorer.title).to_have_text(re.compile(r"overhead 1\.0%, not SPMD, noise\): mean"))
    took = page.evaluate("window.took")
    print("milliseconds from key to picture:", [round(value) for value in took])
    assert min(took) < 3_000
    explorer.picture(tmp_path, "timesharing-noisy")
