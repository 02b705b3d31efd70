"""The explorer of advice in JupyterLab: sliders move the mark, the surface and the list of jobs."""

import re

import pytest

from tests.browser.explorer import Explorer


@pytest.mark.browser
def test_sliders_move_the_advice(page, address, tmp_path):
    """Nodes and deadline move the mark and the list; bandwidths change the surface."""
    from playwright.sync_api import expect

    explorer = Explorer(page)
    explorer.open(
        address, "advise", r"^queue of example: 16 nodes within 5 min, [\d.]+ node-hours lost$"
    )
    told = page.locator(".jupyter-widgets pre").first
    expect(told).to_contain_text("by 5 min: stop")
    mark = explorer.plot.locator(".scatterlayer .point").first
    before, surface = mark.get_attribute("transform"), explorer.surface()

    explorer.slider("nodes needed").focus()
    for nodes in (17, 18):
        page.keyboard.press("ArrowRight")
        expect(explorer.title).to_have_text(
            re.compile(f"^queue of example: {nodes} nodes within 5 min")
        )
    explorer.slider("deadline").focus()
    page.keyboard.press("ArrowLeft")
    expect(explorer.title).to_have_text(re.compile("^queue of example: 18 nodes within 4 min"))
    expect(told).to_contain_text("by 4 min: stop")
    expect(mark).not_to_have_attribute("transform", before)
    assert explorer.surface() == surface, "neither changes the surface"

    explorer.slider("bandwidths").focus()
    for _ in range(10):
        page.keyboard.press("ArrowLeft")
    explorer.slider("intervals").focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    # Slower checkpoints change it.
    expect(explorer.heat).not_to_have_attribute("href", surface)
    explorer.picture(tmp_path, "advise")
