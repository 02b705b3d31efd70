"""The floors of the house hold."""

import os
import re
import subprocess
import sys
import tomllib

import grimp
import pytest

from tests.suites import ROOT

LINT = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as m; m()"]


def contracts() -> list[dict]:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["tool"]["importlinter"]["contracts"]


@pytest.fixture(scope="module")
def graph():
    """The package's imports, those of other packages too."""
    return grimp.build_graph("cosimlib", include_external_packages=True, cache_dir=None)


def test_imports_only_climb_down():
    path = f"{ROOT}{os.pathsep}{ROOT / 'notebooks'}"
    env = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [*LINT, "--no-cache"]
    run = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


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
