"""environment.yml and requirements.lock say what pyproject.toml says; CI is pinned and limited."""

import re
import tomllib
from functools import cache

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from tests.suites import ROOT

CONDA_NAMES = {"kaleido": "python-kaleido"}
"""Packages that conda-forge calls by another name than PyPI does."""

NOT_IN_CONDA = {"browser", "app", "docs"}
"""Extras that environment.yml leaves out."""

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = ("linux", "darwin")
ALWAYS = "python_version > '3'"
PIN = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[^\s;]+)(?: ; (?P<marker>[^\\]+?))? \\$", re.M)


@cache
def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def requirements(leave_out: frozenset[str] = frozenset()) -> dict[str, SpecifierSet]:
    """What pyproject.toml asks for, by canonical name, with the extras not left out."""
    extras = project()["optional-dependencies"]
    lines = [line for extra in extras.keys() - leave_out for line in extras[extra]]
    asked = map(Requirement, project()["dependencies"] + lines)
    return {
        canonicalize_name(requirement.name): requirement.specifier
        for requirement in asked
        if requirement.name != project()["name"]
    }


@cache
def conda() -> dict:
    return yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))


def conda_specs() -> dict[str, SpecifierSet]:
    """What environment.yml asks conda for, but Python and pip, by name."""
    lines = [line for line in conda()["dependencies"][2:] if isinstance(line, str)]
    specs = [re.fullmatch(r"([\w-]+)(.*)", line) for line in lines]
    named = {spec[1]: SpecifierSet(spec[2]) for spec in specs if spec}
    assert len(named) == len(lines), "environment.yml names a package twice"
    return named


@cache
def pins() -> list[Requirement]:
    """Every pinned package of requirements.lock, with its marker."""
    found = PIN.finditer((ROOT / "requirements.lock").read_text(encoding="utf-8"))
    return [
        Requirement(f"{pin['name']}=={pin['version']}; {pin['marker'] or ALWAYS}") for pin in found
    ]


def installed(python: str, platform: str) -> dict[str, str]:
    """The versions by name that the lock gives to a Python on a platform."""
    machine = {"python_version": python, "python_full_version": f"{python}.9"}
    machine |= {"sys_platform": platform, "os_name": "posix"}
    return {
        canonicalize_name(pin.name): next(iter(pin.specifier)).version
        for pin in pins()
        if pin.marker.evaluate(machine)
    }


def test_conda_takes_python_and_packages_from_conda_forge_only_and_the_house_from_pip():
    assert conda()["channels"] == ["conda-forge", "nodefaults"]
    assert conda()["dependencies"][1:2] == ["pip"]
    assert conda()["dependencies"][-1] == {"pip": ["-e ."]}
    # Binder knows only python=X.Y.
    version = re.fullmatch(r"python=(3\.\d+)", conda()["dependencies"][0])
    assert version, "the first dependency is python=X.Y"
    assert SpecifierSet(project()["requires-python"]).contains(version[1])


def test_conda_asks_for_the_same_packages_and_ranges_as_pyproject():
    asked = requirements(frozenset(NOT_IN_CONDA))
    docs = {"myst-nb", "numpydoc", "pydata-sphinx-theme", "sphinx"}
    assert requirements().keys() - asked.keys() == {"playwright", "voila", *docs}
    assert conda_specs() == {CONDA_NAMES.get(name, name): asked[name] for name in asked}


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("python", PYTHONS)
def test_lock_satisfies_pyproject(python, platform):
    versions = installed(python, platform)
    asked = requirements()
    assert asked.keys() <= versions.keys(), "a package is not locked; run: make lock"
    wrong = {name: versions[name] for name in asked if not asked[name].contains(versions[name])}
    assert not wrong, "locked versions outside pyproject.toml's ranges; run: make lock"


def test_lock_covers_every_python_that_pyproject_supports():
    supported = SpecifierSet(project()["requires-python"])
    assert [f"3.{n}" for n in range(30) if supported.contains(f"3.{n}")] == list(PYTHONS)


def test_lock_is_checked_by_hashes_and_names_no_index():
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    packages = [line for line in text.splitlines() if line[:1] not in {"#", " ", ""}]
    assert len(packages) == len(pins())
    for block in re.split(r"\n(?=\S)", text)[2:]:
        assert "--hash=sha256:" in block, block.splitlines()[0]
    for address in ("://", "index-url", "find-links", "trusted-host"):
        assert address not in text


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"\s*(?:- )?uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit_and_jobs_may_read_only_and_end(path):
    used = [line for line in path.read_text().splitlines() if "uses:" in line]
    assert used and [line for line in used if not PINNED.fullmatch(line)] == []
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    endless = [name for name, job in workflow["jobs"].items() if "timeout-minutes" not in job]
    assert endless == []


def test_the_lock_is_audited_every_night():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "nightly.yml").read_text())
    # YAML takes "on" for a truth.
    assert workflow[True]["schedule"]
    runs = [step.get("run", "") for step in workflow["jobs"]["audit"]["steps"]]
    assert any(run.startswith("pip-audit --requirement requirements.lock") for run in runs)
