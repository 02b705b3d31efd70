"""Builds the documentation into build/docs/html, offline: ``python -m docs.build``.

Sphinx reads a folder of copies: the pages of `docs/`, those of other folders that they lead to, the
executed notebooks with live figures, a page per system, the plots and the reference. Links between
files of the repository become links between pages; to files without a page, they become text.
"""

import os
import re
import shutil
import sys
from pathlib import Path

from docs.figures import copy_notebook, write_library
from docs.plots import plots
from docs.reference import reference_pages
from docs.systems import stored_table, system_pages

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "build" / "docs"
WORDS, PLACE = r"[^\[\]]*", r"\(([^)#\s]*)(#[^)\s]*)?\)"
LINKS = (
    re.compile(rf"(!)\[({WORDS})\]{PLACE}"),
    re.compile(rf"(?<!!)()\[((?:[^\[\]]|!\[{WORDS}\]\([^)]*\))*)\]{PLACE}"),
)
"""Pictures; then links, whose words may be a picture."""
MOVED = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "data/traces/README.md": "traces.md",
}
"""Pages of other folders, and their names here."""


def main() -> int:
    """Build all pages; Sphinx's status, where a warning is an error."""
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    source = TARGET / "source"
    stage(source)
    from sphinx.cmd.build import main as sphinx

    options = ["-b", "html", "-W", "--keep-going", "-q", "-E", "-d", str(TARGET / "doctrees")]
    status = sphinx([*options, str(source), str(TARGET / "html")])
    if status == 0:
        print(f"docs: {(TARGET / 'html' / 'index.html').relative_to(ROOT)}")
    return status


def stage(source: Path) -> None:
    """Put together what Sphinx reads."""
    shutil.rmtree(source, ignore_errors=True)
    (source / "_static").mkdir(parents=True)
    for path in [*ROOT.glob("docs/*.png"), *ROOT.glob("docs/_static/*"), ROOT / "docs/conf.py"]:
        shutil.copy(path, source / path.relative_to(ROOT / "docs"))
    shutil.copytree(ROOT / "notebooks" / "pictures", source / "notebooks" / "pictures")
    write_library(source / "_static")
    places = staged_places()
    for origin, place in places.items():
        target = source / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if origin.suffix == ".ipynb":
            copy_notebook(origin, target, lambda text, at=origin: relink(text, at, places))
        else:
            text = relink(origin.read_text(encoding="utf-8"), origin, places)
            if origin.parent.name == "results":
                stored = stored_table(ROOT, notebook_of(origin))
                text += f"\n## Verdicts of runs at paper scale\n\n{stored}\n"
            if origin.name == "plots.md":
                text += f"\n{plots()}"
            target.write_text(text, encoding="utf-8")
    systems = system_pages(ROOT, lambda text, at: relink(text, at, places))
    for name, text in {**systems, **reference_pages()}.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text, encoding="utf-8")


def notebook_of(page: Path) -> str:
    """Name of the notebook whose results are on a page, such as ``1-eviction``."""
    return next((ROOT / "notebooks").glob(f"[0-9]-{page.stem}.ipynb")).stem


def staged_places() -> dict[Path, str]:
    """Every file of the repository that is a page, and where it is put."""
    places = {ROOT / name: place for name, place in MOVED.items()}
    places |= {
        path: path.relative_to(ROOT / "docs").as_posix()
        for path in ROOT.glob("docs/**/*.md")
        if path.parent.name != "joss"  # a paper for a journal, which is no page
    }
    notebooks = (ROOT / "notebooks").rglob("[!.]*.ipynb")
    kept = (path for path in notebooks if ".ipynb_checkpoints" not in path.parts)
    return places | {path: path.relative_to(ROOT).as_posix() for path in kept}


def relink(text: str, origin: Path, places: dict[Path, str]) -> str:
    """A page's text whose links lead to pages; those to other files of the repository are text."""
    depth = places[origin].count("/")

    def renewed(link: re.Match[str]) -> str:
        mark, words, path, anchor = link.groups()
        if not path or path.startswith(("http:", "https:", "mailto:")):
            return link[0]
        file = (origin.parent / path).resolve()
        if file in places:
            return f"{mark}[{words}]({'../' * depth}{places[file]}{anchor or ''})"
        if mark and file.is_relative_to(ROOT):
            inside = file.relative_to(ROOT).as_posix().removeprefix("docs/")
            return f"![{words}]({'../' * depth}{inside})"
        return words

    for pattern in LINKS:
        text = pattern.sub(renewed, text)
    return text


if __name__ == "__main__":
    sys.exit(main())
