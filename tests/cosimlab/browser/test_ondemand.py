"""The on-demand explorer in JupyterLab: controls move nodes and ledger."""

import re

import pytest

from tests.cosimlab.browser import lab
from tests.cosimlab.browser.explorer import SHOWN, Explorer


@pytest.mark.browser
def test_it_fits_the_page_and_controls_move_nodes_and_ledger(page, address, tmp_path):
    """Narrow and wide; then policies, and days by key."""
    from playwright.sync_api import expect

    explorer = Explorer(page)
    page.set_viewport_size({"width": 768, "height": 1100})
    explorer.open(
        address,
        "ondemand",
        r"^dynamic, day \d+: \d+ of \d+ late ?all days: .* node-hours per burst$",
    )
    page.keyboard.press("Control+b")  # the list of files gives its room to the notebook
    fits(explorer, tmp_path, beside=False)
    page.keyboard.press("Control+b")
    page.set_viewport_size({"width": 1366, "height": 768})
    fits(explorer, tmp_path, beside=True)
    before = explorer.bars()
    explorer.choose("policy", "wait")
    expect(explorer.title).to_have_text(
        re.compile(r"^wait, day .* late, 0\.0 node-hours per burst$")
    )
    lab.wait_until_idle(page)
    assert explorer.bars() != before
    told = page.locator(
        f"{SHOWN}", has_text=re.compile("No effect of .*: the policy wait evicts no job")
    ).last
    expect(told).to_contain_text("file system (GB/s)")
    explorer.choose("policy", "kill")
    expect(explorer.title).to_have_text(re.compile("^kill, day "))
    explorer.count()
    explorer.slider("day shown").focus()
    for key in ("ArrowLeft", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
        page.wait_for_timeout(700)
    assert explorer.pictures() >= 2, "a day was not drawn"
    explorer.picture(tmp_path, "ondemand-kill")


def fits(explorer, folder, beside):
    """Figure and sliders are within the page, the sliders beside the figure or above it."""
    page = explorer.page
    page.wait_for_timeout(1500)
    explorer.picture(folder, f"ondemand-{beside}")
    page.screenshot(path=folder / f"page-{beside}.png")
    box = explorer.plot.bounding_box()
    drawn = explorer.plot.locator(".main-svg").first.bounding_box()
    room = page.locator(".jp-Cell .jp-OutputArea-output", has=explorer.plot).first.bounding_box()
    assert drawn["width"] == pytest.approx(box["width"], abs=2)
    assert drawn["x"] + drawn["width"] <= room["x"] + room["width"] + 1
    sliders = page.locator(f"{SHOWN} .widget-hslider").all()
    places = [slider.bounding_box() for slider in sliders]
    assert all(place["x"] + place["width"] <= room["x"] + room["width"] + 1 for place in places)
    if beside:
        assert all(
            place["x"] + place["width"] <= box["x"] or place["y"] + place["height"] <= box["y"] + 20
            for place in places
        ), "a slider is on the figure"
        lowest = max(place["y"] + place["height"] for place in (*places, box))
        assert lowest - min(place["y"] for place in places) < 600, "not on one screen"
    else:
        assert max(place["y"] + place["height"] for place in places) <= box["y"] + 20
        assert drawn["width"] > 0.9 * room["width"]
    tracks = page.locator(f"{SHOWN} .widget-hslider .slider-container").all()
    assert all(track.bounding_box()["width"] > 40 for track in tracks)


@pytest.mark.browser
@pytest.mark.parametrize("name", ["ondemand", "timesharing"])
def test_beside_the_list_of_files_sliders_and_figure_have_room(page, address, tmp_path, name):
    """On a laptop's screen: at least 120 pixels of each slider, and the figure is seen whole."""
    explorer = Explorer(page)
    page.set_viewport_size({"width": 1366, "height": 768})
    explorer.open(address, name, "^(dynamic|time-sharing)")
    page.wait_for_timeout(2000)
    output = page.locator(".jp-Cell .jp-OutputArea-output", has=explorer.plot).first
    output.evaluate("output => output.scrollIntoView({ block: 'start' })")
    page.wait_for_timeout(500)
    page.screenshot(path=tmp_path / f"{name}.png")
    assert page.locator(".jp-FileBrowser").is_visible()
    tracks = page.locator(f"{SHOWN} .widget-hslider .slider-container").all()
    assert min(track.bounding_box()["width"] for track in tracks) >= 120
    figure, status = explorer.plot.bounding_box(), page.locator("#jp-bottom-panel").bounding_box()
    assert figure["y"] + figure["height"] <= status["y"] + 1, "the legend is below the screen"
