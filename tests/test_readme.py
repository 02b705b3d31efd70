"""The README is short; the commands, files and links that pages name are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = ("README.md", "CONTRIBUTING.md", *sorted(f"docs/{p.name}" for p in ROOT.glob("docs/*.md")))


def test_it_is_short():
    assert len(README.split()) <= 600
    first = README.split("```python\n")[1].split("```")[0]
    assert len([line for line in first.splitlines() if line]) <= 10


@pytest.mark.parametrize("page", PAGES)
def test_every_make_target_exists(page):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"(?:`|^)make ([a-z]+)\b(?!/)", text, flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), f"no target {target}"


@pytest.mark.parametrize("page", PAGES)
def test_every_link_inside_the_project_leads_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        if not link.startswith("http"):
            assert ((ROOT / page).parent / link).exists(), f"{link} is not there"


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_names_is_there(page):
    """Paths between backticks that begin with a folder of the project."""
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"`((?:cosimlib|tests|docs|data|notebooks)/[\w./-]+)`", text)
    generated = ("data/cache", "data/traces")
    missing = [name for name in named if not (ROOT / name).exists()]
    assert [name for name in missing if not name.startswith(generated)] == []
