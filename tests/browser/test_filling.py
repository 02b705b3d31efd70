"""The filling explorer in JupyterLab: controls move the figure."""

import re

import pytest

from tests.browser.explorer import Explorer


@pytest.mark.browser
def test_controls_move_the_figure(page, address, tmp_path):
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
