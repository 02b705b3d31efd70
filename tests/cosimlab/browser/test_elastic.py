"""The elastic explorer in JupyterLab: the policy changes vectors and bars."""

import re

import pytest

from tests.cosimlab.browser.explorer import Explorer


@pytest.mark.browser
def test_the_policy_changes_vectors_and_bars(page, address):
    """Each job has a bar: a live figure without any passes the tests of the figure's numbers."""
    from playwright.sync_api import expect

    explorer = Explorer(page)
    title = r"^PAP preempts 10 of 20 nodes on day 29\.10: [\d.]+ node-hours wasted$"
    explorer.open(address, "elastic", title)
    seen = {}
    for policy in ("FIFO", "PAP"):
        page.locator(".jupyter-widgets select").first.select_option(policy)
        expect(explorer.title).to_have_text(re.compile(f"^{policy} preempts"), timeout=30_000)
        page.wait_for_timeout(1000)
        names = explorer.plot.locator(".y2tick text").all_text_contents()
        outlines = [re.match(r"M([\d.]+),.*H([\d.]+)V", bar) for bar in explorer.bars()]
        wide = [outline for outline in outlines if outline[1] != outline[2]]
        assert len(names) >= 4 and all(name.startswith("job ") for name in names)
        assert len(wide) == len(names), "one bar per job"
        seen[policy] = explorer.surface(), tuple(names)
    assert seen["FIFO"][0] != seen["PAP"][0], "the vectors must change with the policy"
    assert sorted(seen["FIFO"][1]) == sorted(seen["PAP"][1]), "the same jobs run"
