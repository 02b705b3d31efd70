"""The time-sharing explorer in JupyterLab: controls move shares and ratios."""

import re

import pytest

from tests.browser.explorer import Explorer


@pytest.mark.browser
def test_controls_move_shares_and_ratios(page, address, tmp_path):
    from playwright.sync_api import expect

    explorer = Explorer(page)
    explorer.open(address, "timesharing", r"^time-sharing: mean slowdown [\d.]+; batch: [\d,.]+$")
    explorer.picture(tmp_path, "timesharing")
    names = explorer.plot.locator(".legend .legendtext")
    heading = explorer.plot.locator(".annotation-text").first
    expect(names.first).to_have_text(re.compile(r"^job \d+, \d+ nodes?: 0\.\d\d"))
    areas = explorer.plot.locator(".scatterlayer .js-fill")
    begin = heading.text_content(), areas.first.get_attribute("d")
    explorer.count()
    explorer.slider("moment").focus()
    title = explorer.title.text_content()
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    expect(heading).not_to_have_text(begin[0])
    assert areas.first.get_attribute("d") != begin[1], "the areas are as before"
    expect(explorer.title).to_have_text(title)
    explorer.slider("overhead").focus()
    page.keyboard.press("ArrowRight")
    expect(explorer.title).to_have_text(re.compile(r"^time-sharing \(overhead 1\.0 %\): mean"))
    explorer.choose("jobs", "not SPMD: mean of nodes")
    expect(explorer.title).to_have_text(re.compile(r"^time-sharing \(overhead 1\.0 %, not SPMD\)"))
    explorer.slider("noise").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(explorer.title).to_have_text(re.compile(r"overhead 1\.0 %, not SPMD, noise\): mean"))
    assert explorer.pictures(), "no key was followed by a picture"
    explorer.picture(tmp_path, "timesharing-noisy")
