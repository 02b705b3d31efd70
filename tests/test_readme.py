"""The README's promises: its Python runs, its commands, files and links are there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_examples_run(capsys):
    """One after the other, as a reader would run them."""
    examples = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(examples) == 2
    names = {}
    exec(compile(examples[0], "README.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "checkpoint_time" in printed and "action" in printed
    exec(compile(examples[1], "README.md", "exec"), names)
    assert names["panel"].settings["overhead"] == 0.05


def test_every_make_target_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"make ([a-z]+)", README))
    assert {"reproduce", "test"} <= named
    for target in named:
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), f"no target {target}"


def test_every_link_inside_the_project_leads_somewhere():
    links = re.findall(r"\]\(([^)#]+)\)", README)
    inside = [link for link in links if not link.startswith("http")]
    assert inside
    for link in inside:
        assert (ROOT / link).exists(), f"{link} is not there"
