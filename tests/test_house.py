"""The project's files agree with one another: versions, licenses, stubs, floors."""

import os
import re
import subprocess
import sys
import tomllib
from functools import cache

import pytest
import yaml

import cosimlab
import cosimlib
from tests.suites import ROOT

LINT = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as m; m()"]


@cache
def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_versions_agree():
    about = project()["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[(\d+\.\d+\.\d+)\]", changelog, re.M)
    assert newest, "CHANGELOG.md has no heading like: ## [1.2.3] - 2030-01-31"
    versions = {about["version"], citation["version"], newest[1]}
    assert versions == {cosimlib.__version__} == {cosimlab.__version__}
    assert about["license"] == citation["license"]


def test_imports_only_climb_down():
    path = f"{ROOT}{os.pathsep}{ROOT / 'notebooks'}"
    env = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [*LINT, "--no-cache"]
    run = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


BOTH = pytest.mark.parametrize(
    ("package", "contract"), [("cosimlib", "library"), ("cosimlab", "workbench")]
)


def placed_on_floors(contract):
    """The names of all rooms and files on the floors of a contract."""
    contracts = project()["tool"]["importlinter"]["contracts"]
    floors = next(each for each in contracts if each["id"] == contract)["layers"]
    return {name.strip(" ()") for floor in floors for name in re.split(r"[|:]", floor)}


@BOTH
def test_the_page_on_the_house_has_every_room(package, contract):
    page = (ROOT / "docs" / "adding.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| `{package}` (\|.*?)(?=^\| `|^$)", page, re.M | re.S)[1]
    rooms = {f"{package}.{name.rstrip('/')}" for name in re.findall(r"`([^`]+)`", row)}
    assert rooms == placed_on_floors(contract) - {"cosimlab.__main__"}


@BOTH
def test_every_room_has_a_floor(package, contract):
    placed = placed_on_floors(contract)
    folder = ROOT / package
    rooms = {path.parent.name for path in folder.glob("*/__init__.py")}
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    missing = {f"{package}.{name}" for name in rooms | modules} - placed
    assert not missing, "give the new room a floor in pyproject.toml"


@pytest.mark.parametrize("package", ["cosimlib", "cosimlab"])
def test_every_folder_of_a_package_is_a_package_and_is_in_the_wheel(package):
    folders = {path.parent for path in (ROOT / package).rglob("*.py")}
    assert all((folder / "__init__.py").is_file() for folder in folders)
    assert (ROOT / package / "py.typed").is_file()
    assert package in project()["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
