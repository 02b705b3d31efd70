"""Pages are short or begin with their contents; commands, files and links that they name exist."""

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
    assert re.findall("^## (.+)", README, flags=re.MULTILINE) == [
        "Install", "Two commands", "Ten lines of Python", "Your own log", "Links",
    ]  # fmt: skip


def anchor(heading: str) -> str:
    """The name by which GitHub and the built pages link to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("path", sorted(ROOT.glob("docs/**/*.md")), ids=lambda path: path.stem)
def test_a_page_has_up_to_900_words_or_its_contents(path):
    """Contents are a link to each heading of the second level, below the title."""
    text = path.read_text(encoding="utf-8")
    headings = re.findall(
        "^## (.+)", re.sub("^```.*?^```", "", text, flags=re.DOTALL | re.M), flags=re.M
    )
    contents = re.search(r"^Contents: (.+?)\n\n", text, flags=re.DOTALL | re.MULTILINE)
    assert contents or len(text.split()) <= 900
    listed = re.findall(r"\]\(#([^)]+)\)", contents[1] if contents else "")
    assert not contents or listed == [anchor(heading) for heading in headings]


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
