"""Voilà with the explorers, without code: `python -m cosimlib.app`, its arguments are Voilà's.

One page leads to the explorers. Each visitor gets a kernel; one per explorer is started, and draws
its panel, before the first one comes (``--preheat_kernel``).
"""

import html
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Any

from cosimlib.extras import needed_by
from cosimlib.files import checkout
from cosimlib.lab import open_address
from cosimlib.warm import warm

with needed_by("python -m cosimlib.app"):
    from cosimlib.explorers.app import PAGES

FRONT_PAGE = Path(__file__).with_name("app.html")
OPTIONS = ("--preheat_kernel=True", "--pool_size=1")


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve the explorers until interrupted; 1 where that cannot be."""
    options = list(sys.argv[1:] if arguments is None else arguments)
    if os.geteuid() == 0 and (address := open_address(options)):
        print(f"app: root must not serve at {address}; take another user", file=sys.stderr)
        return 1
    try:
        with needed_by("python -m cosimlib.app"):
            server = _server()
    except ImportError as error:
        print(error, file=sys.stderr)
        return 1
    print("compiling the kernels, unless that is done", flush=True)
    warm()
    with tempfile.TemporaryDirectory(prefix="cosimlib-app-") as folder:
        write_pages(Path(folder))
        given = {option.partition("=")[0] for option in options}
        ours = [option for option in OPTIONS if option.partition("=")[0] not in given]
        server.launch_instance([folder, *ours, *options])
    return 0


def write_pages(folder: Path) -> None:
    """Write a notebook per explorer, of one cell each."""
    for name in PAGES:
        source = f"from cosimlib.explorers.app import page\n\npage({name!r}, later=True)"
        cell = {"cell_type": "code", "id": name, "metadata": {}, "source": source}
        notebook = {
            "cells": [cell | {"execution_count": None, "outputs": []}],
            "metadata": {
                "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}
            },
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        (folder / f"{name}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")


def front_page() -> str:
    """The page that leads to the explorers, as HTML."""
    cards = []
    for name, page in PAGES.items():
        picture = f'<img alt="" src="pictures/explore-{name}.png">' if pictures() else ""
        title, words = html.escape(page.title), html.escape(page.words)
        link = f'<a href="voila/render/{name}.ipynb">'
        cards.append(f"{link}{picture}<strong>{title}</strong><span>{words}</span></a>")
    return Template(FRONT_PAGE.read_text(encoding="utf-8")).substitute(cards="\n".join(cards))


def pictures() -> Path | None:
    """The folder of the explorers' pictures; None where there is no checkout."""
    folder = checkout() / "notebooks" / "pictures"
    return folder if folder.is_dir() else None


def _server() -> Any:
    """Voilà with our front page in the place of its list of files."""
    from voila.app import Voila  # first: it brings tornado

    from tornado.web import RequestHandler, StaticFileHandler  # isort: skip

    class FrontPage(RequestHandler):
        def get(self) -> None:
            self.write(front_page())

    class App(Voila):
        name = "cosimlib"

        def init_handlers(self) -> list:
            handlers = super().init_handlers()
            ours: list = [(self.server_url, FrontPage)]
            if folder := pictures():
                place = f"{self.server_url}pictures/(.*)"
                ours.append((place, StaticFileHandler, {"path": str(folder)}))
            return ours + handlers

    return App


if __name__ == "__main__":
    sys.exit(main())
