"""Workloads, systems, schedules and plans in a real JupyterLab, in its light and dark themes."""

import re
from pathlib import Path

import nbformat
import pytest

from tests.cosimlab.browser import lab

CELLS = (
    "import cosimlib as cs\n"
    "workload = cs.synthetic.theta(300)\n"
    "workload = workload.keep(workload.jobs.index > 9, 'the first ten')\n"
    "workload",
    "workload.machine",
    "schedule = cs.audit(cs.simulate_fcfs(workload, workload.machine))\nschedule",
    "problem = cs.EvictionProblem.from_schedule(schedule, at=2e5, nodes_needed=64)\n"
    "cs.solve_dynamic(problem)",
    "[workload, schedule]",
)
SHOWN = ("290 jobs", "4,360 nodes", "FCFS, .*290 jobs on Theta", "64 of .* nodes", r"\[<Workload")
CONTRAST = """cell => {
  const light = color => color.match(/[\\d.]+/g).slice(0, 3).map(part => {
    const value = part / 255;
    return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  }).reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
  const backing = element => {
    const color = getComputedStyle(element).backgroundColor;
    return /rgba\\(.*, 0\\)|transparent/.test(color) ? backing(element.parentElement) : color;
  };
  const [a, b] = [light(getComputedStyle(cell).color), light(backing(cell))];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}"""


def write_notebook(path: Path) -> None:
    """A notebook of one cell per object."""
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(notebook, path)


@pytest.mark.browser
def test_objects_are_tables_that_can_be_read_in_light_and_in_dark(page, address, files, tmp_path):
    from playwright.sync_api import expect

    write_notebook(files / "nouns.ipynb")
    lab.open_notebook(page, address, "nouns.ipynb")
    lab.run_all(page)
    outputs = page.locator(".jp-OutputArea-output")
    for place, text in enumerate(SHOWN):
        expect(outputs.nth(place)).to_contain_text(re.compile(text), timeout=lab.TIMEOUT)
    lab.wait_until_idle(page)
    tables = page.locator(".jp-RenderedHTML table")
    expect(tables).to_have_count(4)
    assert tables.nth(0).locator("tr", has_text="account").inner_text().count("the first ten") == 1
    for theme in ("Dark", "Light"):
        choose_theme(page, f"JupyterLab {theme}")
        page.screenshot(path=tmp_path / f"{theme.lower()}.png")
        for element in [*tables.locator("th").all(), *tables.locator("td").all()]:
            assert element.evaluate(CONTRAST) > 4.5, (theme, element.inner_text())
            assert element.evaluate("cell => getComputedStyle(cell).textAlign") == "left"


def choose_theme(page, name: str) -> None:
    """Take a theme from the menu, and wait until the page has it."""
    page.get_by_role("menuitem", name="Settings", exact=True).click()
    items = page.locator(".lm-Menu-item")
    items.filter(has_text=re.compile("^Theme")).click()
    items.filter(has_text=re.compile(f"^{name}$")).click()
    page.wait_for_function(
        "name => document.body.dataset.jpThemeName === name", arg=name, timeout=lab.TIMEOUT
    )
    page.wait_for_timeout(500)  # styles come after the name
