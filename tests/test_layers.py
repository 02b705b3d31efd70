"""The floors of the house hold, and the contract that says so can fail."""

import os
import re
import shutil
import subprocess
import sys
import tomllib

import grimp
import pytest

from tests.suites import ROOT

LINT = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as m; m()"]

VIOLATIONS = {
    "metrics/trial.py": ("import cosimlib.explorers.trial", "only from floors below its own"),
    "audit.py": ("import plotly.graph_objects", "only figures and explorers draw"),
    "timesharing/trial.py": ("import cosimlib.filling.second", "systems do not know one another"),
    "kernels/trial.py": ("import pandas", "kernels see arrays only"),
    "figures/trial.py": ("import ipywidgets", "only explorers know widgets"),
    "schedule.py": ("import papers.claims", "papers import the library, never the reverse"),
}
"""A file to write, a line in it that breaks a contract, and a part of that contract's name."""


def contracts() -> list[dict]:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["tool"]["importlinter"]["contracts"]


def lint(folder) -> subprocess.CompletedProcess:
    """Run import-linter on the package in a folder, whichever is installed."""
    env = {
        **os.environ,
        "PYTHONPATH": f"{folder}{os.pathsep}{folder / 'notebooks'}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [*LINT, "--no-cache"]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)


@pytest.fixture(scope="module")
def graph():
    """The package's imports, those of other packages too."""
    return grimp.build_graph("cosimlib", include_external_packages=True, cache_dir=None)


@pytest.fixture
def copied(tmp_path):
    """A copy of the package and of the contract, to break."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "cosimlib", tmp_path / "cosimlib", ignore=ignored)
    papers = tmp_path / "notebooks" / "papers"
    shutil.copytree(ROOT / "notebooks" / "papers", papers, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for room in ("explorers", "timesharing", "kernels", "figures"):
        (tmp_path / "cosimlib" / room).mkdir(exist_ok=True)
        (tmp_path / "cosimlib" / room / "__init__.py").touch()
    (tmp_path / "cosimlib" / "explorers" / "trial.py").touch()
    (tmp_path / "cosimlib" / "filling" / "second.py").touch()
    return tmp_path


def test_imports_only_climb_down():
    run = lint(ROOT)
    assert run.returncode == 0, run.stdout + run.stderr


def test_contracts_notice_violations(copied):
    """Each violation breaks its own contract; import-linter runs once on all of them."""
    for file_name, (line, _) in VIOLATIONS.items():
        with (copied / "cosimlib" / file_name).open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")
    run = lint(copied)
    assert run.returncode == 1, run.stdout + run.stderr
    broken = [line for line in run.stdout.splitlines() if " BROKEN" in line]
    for file_name, (line, contract) in VIOLATIONS.items():
        assert any(contract in line for line in broken), run.stdout
        module = file_name.removesuffix(".py").replace("/", ".")
        assert f"cosimlib.{module} -> {line.split()[1].split('.')[0]}" in run.stdout


def test_every_room_has_a_floor(graph):
    floors = next(c for c in contracts() if c["id"] == "floors")["layers"]
    placed = {name.strip(" ()") for floor in floors for name in re.split(r"[|:]", floor)}
    rooms = graph.find_children("cosimlib")
    assert rooms <= placed, "give the new room a floor in pyproject.toml"


def test_kernels_know_numpy_and_numba_only(graph):
    kernels = {"cosimlib.kernels"} | graph.find_descendants("cosimlib.kernels")
    imported = {to for module in kernels for to in graph.find_modules_directly_imported_by(module)}
    foreign = {module for module in imported - kernels if module not in sys.stdlib_module_names}
    assert foreign <= {"numpy", "numba"}
