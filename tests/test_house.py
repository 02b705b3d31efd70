"""House rules that a machine can check: sizes, names, docstrings, annotations, versions."""

import ast
import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import tomllib
from functools import cached_property
from pathlib import Path

import pytest
import yaml

import cosimlib
from tests.suites import ROOT

RIDDLES = re.compile(r"(What|Who|Whose|Whom|Whether|Which|How|Where|When|Why)\b")
FORBIDDEN = {"utils", "util", "common", "core", "helpers", "legacy", "misc"}
FORBIDDEN_ENDINGS = ("_v2", "_fast", "_old", "_new")
MODULES = sorted(m.name for m in pkgutil.walk_packages(cosimlib.__path__, "cosimlib."))


def python_files() -> list[Path]:
    """The Python files that git tracks; without git, those of the package and the tests."""
    git = ["git", "-C", str(ROOT), "ls-files", "-z", "*.py"]
    try:
        listed = subprocess.run(git, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        listed = ""
    tracked = [ROOT / name for name in listed.split("\0") if name]
    found = tracked or [*ROOT.glob("cosimlib/**/*.py"), *ROOT.glob("tests/**/*.py")]
    return [path for path in found if path.is_file()]


def is_kernel(module_name: str) -> bool:
    """Whether a module holds kernels: they say their arrays' shapes in words, not annotations."""
    return module_name.startswith("cosimlib.kernels.") and not module_name.endswith(".jit")


def public_functions(module):
    """Name and function of what a module defines and shows: functions, methods, properties."""
    for name, value in vars(module).items():
        value = getattr(value, "py_func", value)
        if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(value):
            yield name, value
        elif inspect.isclass(value):
            yield from ((f"{name}.{part}", method) for part, method in public_methods(value))


def public_methods(owner):
    """Name and function of the methods and properties in a class's own body."""
    for name, value in vars(owner).items():
        if isinstance(value, property):
            value = value.fget
        elif isinstance(value, cached_property):
            value = value.func
        value = inspect.unwrap(getattr(value, "__func__", value))
        written_here = getattr(value, "__module__", None) == owner.__module__
        if not name.startswith("_") and inspect.isfunction(value) and written_here:
            yield name, value


def unannotated(function) -> list[str]:
    """Parameters without an annotation, and "return" where the result has none."""
    signature = inspect.signature(function)
    names = [p.name for p in signature.parameters.values() if p.annotation is p.empty]
    missing = [name for name in names if name not in ("self", "cls")]
    return missing + ["return"] * (signature.return_annotation is signature.empty)


def test_shares_are_written_one_way():
    """As 8.8 %, by `display.percent`: Python's and Plotly's own per cent have no space."""
    ours = re.compile(r"[.\d]%\}|format=\"[^\"]*%\"")
    sources = {path: path.read_text(encoding="utf-8") for path in ROOT.glob("cosimlib/**/*.py")}
    for path in ROOT.glob("notebooks/**/[!.]*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        sources[path] = "\n".join("".join(cell["source"]) for cell in cells)
    assert [path.name for path, text in sources.items() if ours.search(text)] == []


RIDDLE_WORDS = {
    "calm",
    "culprit",
    "due",
    "evidence",
    "fresh",
    "gathering",
    "holes",
    "joining",
    "kin",
    "lane",
    "literal",
    "meanwhile",
    "moves",
    "overfull",
    "pace",
    "parcel",
    "ranked",
    "reading",
    "readings",
    "rising",
    "ruler",
    "shifts",
    "sieve",
    "situation",
    "taxed",
    "thinning",
    "told",
}
"""Words in names that nobody could guess; each has a textbook word in CONTRIBUTING's style."""


def identifiers(path: Path) -> set[str]:
    """Names of a file's functions, classes, arguments and variables, and its own."""
    found = {path.stem}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def test_names_are_textbook_words():
    riddles = {
        (path.name, name)
        for path in [*ROOT.glob("cosimlib/**/*.py"), *ROOT.glob("notebooks/papers/**/*.py")]
        for name in identifiers(path)
        if RIDDLE_WORDS & {part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}
    }
    assert riddles == set()


def test_files_are_named_after_what_they_hold():
    named = {path.relative_to(ROOT) for path in python_files()}
    wrong = [
        str(path)
        for path in named
        if FORBIDDEN & set(path.with_suffix("").parts) or path.stem.endswith(FORBIDDEN_ENDINGS)
    ]
    assert not wrong


def test_every_folder_of_the_package_is_a_package():
    folders = {path.parent for path in (ROOT / "cosimlib").rglob("*.py")}
    assert all((folder / "__init__.py").is_file() for folder in folders)
    assert len(MODULES) >= len(folders)


@pytest.mark.parametrize("name", ["cosimlib", *MODULES])
def test_what_a_module_shows_has_docstrings_and_annotations(name):
    module = importlib.import_module(name)
    assert module.__doc__, f"{name} has no docstring"
    assert not RIDDLES.match(module.__doc__), f"{name}: the first line does not name the thing"
    for function_name, function in public_functions(module):
        assert function.__doc__, f"{name}.{function_name} has no docstring"
        if not is_kernel(name):
            missing = unannotated(function)
            assert not missing, f"{name}.{function_name} does not annotate {missing}"


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[(\d+\.\d+\.\d+)\]", changelog, re.M)
    assert newest, "CHANGELOG.md has no heading like: ## [1.2.3] - 2030-01-31"
    assert project["version"] == citation["version"] == newest[1] == cosimlib.__version__
    assert project["license"] == citation["license"]
