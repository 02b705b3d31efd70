"""Voilà server of the explorers, without code: `python -m cosimlab.app`, with arguments of Voilà.

One page leads to the explorers. As in Jupyter, visitors need a token. The address that is printed
at the start contains it; ``--token=WORD`` sets another. Each page that is opened starts a kernel of
its own, and says so until its panel is there. With ``--preheat_kernel=True`` a kernel per explorer
starts beforehand; then pages open sooner, and the eight kernels need about 2.5 GB.
"""

import html
import json
import os
import sys
import tempfile
import webbrowser
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from string import Template
from typing import Any

from cosimlab.ending import Arguments, status_of
from cosimlab.folders import checkout
from cosimlab.launch import open_address
from cosimlib.extras import needed_by

try:
    with needed_by("python -m cosimlab.app", extra="app"):
        import nbformat
        from nbformat.sign import NotebookNotary
        from nbformat.v4 import new_code_cell, new_notebook

        from cosimlab.explorers.app import PAGES
except ImportError as error:
    if __name__ != "__main__":
        raise
    if not {"-h", "--help"} & {*sys.argv}:
        sys.exit(str(error))

FRONT_PAGE = Path(__file__).with_name("app.html")
KERNEL = "cosimlib"
LAUNCHER = [
    sys.executable,
    "-m",
    "ipykernel_launcher",
    "-f",
    "{connection_file}",
    "--log-level=ERROR",
]
OPTIONS = ("--Voila.auto_token=True",)
OPENING = '<!doctype html><meta http-equiv="refresh" content="0; url={}">'
"""Page that leads a browser to the app: an address on a command line is seen by other users."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve the explorers until interrupted; status 1 if they cannot be served."""
    options = list(sys.argv[1:] if arguments is None else arguments)
    if {"-h", "--help"} & {*options}:
        parser().print_help()
        return 0
    return status_of("app", partial(_serve, options))


def parser() -> Arguments:
    """Help of the command; all arguments are Voilà's."""
    made = Arguments(
        prog="python -m cosimlab.app",
        usage="%(prog)s [-h] [--no-browser] [--port=NUMBER] [--ip=ADDRESS] [--token=WORD] ...",
        description="Serve the explorers as web pages, without code, until Ctrl-C. Needs the extra "
        'app: pip install "cosimlib[app]".',
        epilog="Further arguments are passed on to Voila, the server; --help-all lists them. With "
        "--preheat_kernel=True pages open sooner, and kernels need about 2.5 GB. Pictures of the "
        "explorers are shown in a checkout only.",
        allow_abbrev=False,
    )
    add = made.add_argument
    add("--no-browser", action="store_true", help="print the address, and open no browser")
    add("--port", metavar="NUMBER", help="port of this machine; default: 8866, or the next free")
    add("--ip", metavar="ADDRESS", help="address at which it serves; default: this machine only")
    add("--token", metavar="WORD", help="what visitors need; default: drawn at random")
    return made


def _serve(options: list[str]) -> int:
    if os.geteuid() == 0 and (address := open_address(options)):
        print(f"app: root must not serve at {address}; take another user", file=sys.stderr)
        return 1
    with needed_by("python -m cosimlab.app"):
        server = _server()
    with tempfile.TemporaryDirectory(prefix="cosimlib-app-") as folder:
        pages, private = Path(folder) / "pages", Path(folder) / "private"
        write_pages(pages, private)
        found = filter(None, [str(private), os.environ.get("JUPYTER_PATH")])
        os.environ["JUPYTER_PATH"] = os.pathsep.join(found)
        given = {option.partition("=")[0] for option in options}
        signed = f"--NotebookNotary.data_dir={private}"
        server.private = private
        ours = [each for each in (*OPTIONS, signed) if each.partition("=")[0] not in given]
        server.launch_instance([str(pages), *ours, *options])
    return 0


def write_pages(pages: Path, private: Path) -> None:
    """Write a notebook of one cell per explorer, and the files that visitors must not see.

    Parameters
    ----------
    pages, private : Path
        Folders, created here. The second has the notebooks' signatures, without which Voilà warns
        of each; the kernel in which they run, that of this Python, which prints errors only; and a
        folder for uploaded files, which are kept only while they are read.
    """
    spec = private / "kernels" / KERNEL
    pages.mkdir(parents=True)
    spec.mkdir(parents=True)
    language = {"display_name": "Python 3", "language": "python"}
    uploads = private / "uploads"
    uploads.mkdir(mode=0o700)
    started = {**language, "argv": LAUNCHER, "env": {"TMPDIR": str(uploads)}}
    (spec / "kernel.json").write_text(json.dumps(started), encoding="utf-8")
    kernel = {**language, "name": KERNEL}
    notary = NotebookNotary(data_dir=str(private))
    with closing(notary.store):
        for name in PAGES:
            source = f"from cosimlab.explorers.app import page\n\npage({name!r})"
            cells = [new_code_cell(source, id=name)]
            notebook = new_notebook(cells=cells, metadata={"kernelspec": kernel})
            nbformat.write(notebook, pages / f"{name}.ipynb")
            notary.sign(notebook)


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
    """The folder of the explorers' pictures; None if there is no checkout."""
    folder = checkout() / "notebooks" / "pictures"
    return folder if folder.is_dir() else None


def _server() -> Any:
    """Voilà with our front page in the place of its list of files."""
    from voila.app import Voila  # first: it brings tornado

    from jupyter_server.base.handlers import JupyterHandler  # isort: skip
    from tornado.web import StaticFileHandler, authenticated  # isort: skip

    class FrontPage(JupyterHandler):
        @authenticated
        def get(self) -> None:
            self.write(front_page())

    class App(Voila):
        name = "cosimlib"
        private = Path()

        def launch_browser(self) -> None:
            page = self.private / "open.html"
            address = f"{self.connection_url}?token={self.identity_provider.token}"
            page.write_text(OPENING.format(html.escape(address)), encoding="utf-8")
            webbrowser.open(page.as_uri())

        def init_handlers(self) -> list:
            handlers = super().init_handlers()
            ours: list = [(self.server_url, FrontPage)]
            if folder := pictures():
                place = f"{self.server_url}pictures/(.*)"
                ours.append((place, StaticFileHandler, {"path": str(folder)}))
            return ours + handlers

        def stop(self) -> None:
            # Kernels hold nothing to keep. Those that are asked to end while they start complain.
            end = self.kernel_manager.shutdown_all
            self.kernel_manager.shutdown_all = partial(end, now=True)
            super().stop()

    return App


if __name__ == "__main__":
    sys.exit(main())
