"""The batch explorer in JupyterLab: controls move the figure, axes are linked."""

import re

import pytest

from tests.cosimlab.browser.explorer import Explorer


@pytest.mark.browser
def test_controls_move_the_figure_and_a_zoom_moves_all_axes(page, address, tmp_path):
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
    expect(explorer.title).to_have_text(re.compile("offered load 0.91"))
    assert explorer.ranges() == zoomed, "the zoom is lost"
    explorer.choose("estimates", "factor × run time")
    explorer.slider("factor").focus()
    explorer.picture(tmp_path, "batch-zoomed")
