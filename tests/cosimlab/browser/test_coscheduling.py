"""The coscheduling explorer in JupyterLab: events step into a deadlock and out of it."""

import re

import pytest

from tests.cosimlab.browser.explorer import SHOWN, Explorer


@pytest.mark.browser
def test_events_step_into_a_deadlock_and_out_of_it(page, address, tmp_path):
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
    explorer.slider("event").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    expect(explorer.title).to_have_text(re.compile("minute 20, event 7 of"))
    expect(words).to_contain_text("That breaks the circle.")
    page.locator(".jupyter-widgets.widget-play button").first.click()
    expect(explorer.title).not_to_have_text(re.compile("event 7 of"))
    explorer.picture(tmp_path, "coscheduling-released")
