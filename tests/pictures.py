"""Small pictures of the notebooks for the docs: ``python -m tests.pictures`` draws them anew.

``python -m tests.pictures recipes/dask`` draws those of the notebooks that are named.
Each is one of the images that its notebook is stored with, drawn smaller by Chromium.
"""

import base64
import json
import os
import shutil
import sys
from pathlib import Path

from tests.suites import ROOT

FOLDER = ROOT / "notebooks" / "pictures"
WIDTH = 480
SHOWN = {
    "0-your-log": "",
    "1-eviction": "Least node-hours lost",
    "2-coscheduling": "Deadlock",
    "3-timesharing": "Figure 7. Mean slowdown",
    "4-filling": "Figure 3",
    "5-elastic": "Figure 3",
    "6-ondemand": "Figure 1",
    "7-nodes": "Figure 9a",
    **{f"explore/{path.stem}": "" for path in ROOT.glob("notebooks/explore/*.ipynb")},
    **{f"recipes/{path.stem}": "" for path in ROOT.glob("notebooks/recipes/*.ipynb")},
}
"""Notebooks, and how the title of the picture begins that stands for each."""


def main() -> None:
    """Draw all pictures, or those of the notebooks that are named."""
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("BROWSER_PATH") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        for name in sys.argv[1:] or SHOWN:
            image = stored_image(ROOT / "notebooks" / f"{name}.ipynb", SHOWN[name])
            page.set_content(f'<img width={WIDTH} src="data:image/{image}">')
            page.locator("img").screenshot(path=picture(name))
        browser.close()


def picture(name: str) -> Path:
    """Where the picture of a notebook is."""
    return FOLDER / f"{name.replace('/', '-')}.png"


def stored_image(notebook: Path, title: str) -> str:
    """The first image of a notebook's outputs whose figure has such a title, as kind and data."""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            layout = data.get("application/vnd.plotly.v1+json", {}).get("layout", {})
            shown = layout.get("title", {}).get("text", "")
            if "image/svg+xml" in data and not title:
                drawn = base64.b64encode("".join(data["image/svg+xml"]).encode()).decode()
                return f"svg+xml;base64,{drawn}"
            if "image/png" in data and shown.startswith(title):
                return f"png;base64,{''.join(data['image/png']).strip()}"
    raise ValueError(f"{notebook.name} has no image of a figure called '{title}...'")


if __name__ == "__main__":
    main()
