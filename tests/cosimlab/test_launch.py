"""The lab works on copies, names old ones, and serves no one else as root."""

import json
import os
import re

import pytest

from cosimlab import launch
from cosimlab.folders import FRONT_PAGE
from tests.pictures import SHOWN, picture
from tests.suites import ROOT, members

FRONT = ROOT / "notebooks" / FRONT_PAGE


def write(path, source, output=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    cell = {"cell_type": "code", "source": [source], "outputs": [output], "metadata": {}}
    path.write_text(json.dumps({"cells": [cell]}))


@pytest.fixture
def folders(tmp_path):
    """Notebooks, and an empty folder for copies."""
    for name in ("one.ipynb", "explore/two.ipynb", ".ipynb_checkpoints/one.ipynb"):
        write(tmp_path / "notebooks" / name, f"print('{name}')")
    (tmp_path / "notebooks" / "pictures").mkdir()
    (tmp_path / "notebooks" / "pictures" / "one.png").write_bytes(b"png")
    (tmp_path / "notebooks" / "notes.txt").write_text("")
    return tmp_path / "notebooks", tmp_path / "lab"


def test_notebooks_and_pictures_are_copied_without_checkpoints(folders):
    source, target = folders
    assert launch.copy_notebooks(source, target) == []
    copied = {path.relative_to(target).as_posix() for path in target.rglob("*.*") if path.is_file()}
    assert copied == {"one.ipynb", "explore/two.ipynb", "pictures/one.png"}


def test_a_copy_stays_and_an_old_one_is_named_until_it_is_deleted(folders):
    source, target = folders
    launch.copy_notebooks(source, target)
    write(target / "explore" / "two.ipynb", "mine")
    write(target / "own.ipynb", "own")
    assert launch.copy_notebooks(source, target) == []
    write(source / "explore" / "two.ipynb", "new")
    later = (target / "explore" / "two.ipynb").stat().st_mtime + 60
    os.utime(source / "explore" / "two.ipynb", (later, later))
    told = "lab/explore/two.ipynb is older than its notebook; delete it for a new one"
    for _ in range(2):
        assert launch.copy_notebooks(source, target) == [told]
        assert "mine" in (target / "explore" / "two.ipynb").read_text()
    (target / "explore" / "two.ipynb").unlink()
    launch.copy_notebooks(source, target)
    assert "new" in (target / "explore" / "two.ipynb").read_text()
    assert (target / "own.ipynb").is_file()


@pytest.mark.parametrize(
    ("options", "address"),
    [
        ([], ""),
        (["--ip", "localhost"], ""),
        (["--ServerApp.ip=::1"], ""),
        (["--ServerApp.ip", "10.0.0.7"], "10.0.0.7"),
        (["--ip=localhost", "--ip=*"], "*"),
        (["--ip="], "any address"),
    ],
)
def test_addresses_that_other_machines_reach_are_found(options, address):
    assert launch.open_address(options) == address


def test_root_serves_no_other_machine(monkeypatch, capsys):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "execve", lambda *command: pytest.fail("it serves"))
    assert launch.main(["--ip=0.0.0.0"]) == 1
    assert "root must not serve notebooks at 0.0.0.0" in capsys.readouterr().err


@pytest.mark.parametrize(("user", "allowed"), [(0, True), (1000, False)])
def test_jupyterlab_begins_on_the_copies_front_page(monkeypatch, tmp_path, user, allowed):
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / FRONT_PAGE).write_bytes(FRONT.read_bytes())
    commands = []
    monkeypatch.setattr(launch, "checkout", lambda: tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(
        os, "execve", lambda program, command, environment: commands.append(command)
    )
    launch.main(["--no-browser"])
    assert commands[0][-1] == "--no-browser"
    assert f"--ServerApp.root_dir={tmp_path / 'lab'}" in commands[0]
    assert ("--allow-root" in commands[0]) == allowed
    assert (tmp_path / "lab" / FRONT_PAGE).is_file()


def test_jupyterlab_does_not_ask_for_news_and_keeps_a_user_s_configuration(monkeypatch, tmp_path):
    overrides = pytest.importorskip("jupyterlab_server.settings_utils")._get_overrides
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / FRONT_PAGE).write_bytes(FRONT.read_bytes())
    monkeypatch.setattr(launch, "checkout", lambda: tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    environments = []
    monkeypatch.setattr(os, "execve", lambda *given: environments.append(given[-1]))
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "of the user"))
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "/one/more")
    launch.main([])
    path = environments[0]["JUPYTER_CONFIG_PATH"]
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", path)
    assert path == os.pathsep.join([str(tmp_path / "lab" / ".jupyter"), "/one/more"])
    defaults, error = overrides(str(tmp_path / "none"))
    assert defaults["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"
    assert not error and not (tmp_path / "of the user").exists()


def test_without_notebooks_a_line_says_so(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(launch, "checkout", lambda: tmp_path)
    assert launch.main([]) == 1
    assert capsys.readouterr().err.startswith("lab: no notebooks/index.ipynb in ")


def test_git_does_not_know_the_copies():
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert f"/{launch.FOLDER}/" in ignored


def test_the_front_page_shows_every_notebook_with_a_picture():
    text = FRONT.read_text(encoding="utf-8")
    links = set(re.findall(r"\]\(([^)]+)\)", text))
    others = [path for suite in ("strict", "lax") for path in members(suite) if path != FRONT]
    names = [path.relative_to(FRONT.parent).with_suffix("").as_posix() for path in others]
    assert sorted(SHOWN) == sorted(names)
    for name in names:
        assert f"{name}.ipynb" in links
        assert picture(name).is_file() and f"pictures/{picture(name).name}" in links
    assert all((FRONT.parent / link).exists() for link in links)


def test_a_checkout_that_cannot_be_written_is_named(monkeypatch, capsys):
    def refuse(path, content):
        raise OSError(30, "Read-only file system", str(path))

    monkeypatch.setattr(launch, "write_whole", refuse)
    assert launch.main(["--no-browser"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("lab: Read-only file system: ") and "that can be written" in said
