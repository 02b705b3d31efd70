"""JupyterLab on copies of the notebooks: `python -m cosimlab.launch`, with arguments of JupyterLab.

The copies are in `lab/`, which git ignores, and the front page opens first. A copy of a notebook
is yours: it stays as it is, and a message says if its notebook is newer. JupyterLab does not ask
whether to show news of its project, which would cover a part of the page; its settings can turn
that on.
"""

import ipaddress
import json
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from cosimlab.ending import Arguments, status_of
from cosimlab.folders import FRONT_PAGE, checkout
from cosimlib.files import write_whole

FOLDER = "lab"
ADDRESS = {"ip", "serverapp.ip", "notebookapp.ip", "voila.ip"}
PICTURES = {".png", ".svg"}
SETTINGS = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}}
"""Defaults of JupyterLab's settings; those that a user has chosen come before them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Copy the notebooks and start JupyterLab; status 1 if that is impossible."""
    options = list(sys.argv[1:] if arguments is None else arguments)
    if {"-h", "--help"} & {*options}:
        parser().print_help()
        return 0
    return status_of("lab", partial(_launch, options))


def parser() -> Arguments:
    """Help of the command; all arguments are JupyterLab's."""
    return Arguments(
        prog="python -m cosimlab.launch",
        usage="%(prog)s [-h] [--no-browser] [--port=NUMBER] ...",
        description="Open JupyterLab on copies of the notebooks, in the folder lab/. Needs a "
        "checkout of cosimlib, where notebooks/ is, and the extra jupyter: pip install -e "
        '".[jupyter]".',
        epilog="Arguments are passed on to JupyterLab; --help-all lists them.",
        allow_abbrev=False,
    )


def _launch(options: list[str]) -> int:
    root = checkout()
    if not (root / "notebooks" / FRONT_PAGE).is_file():
        return _complain(f"no notebooks/{FRONT_PAGE} in {root}; start in a checkout of cosimlib")
    if os.geteuid() == 0 and (open_to := open_address(options)):
        return _complain(
            f"root must not serve notebooks at {open_to}: whoever reaches it could do anything "
            "here; take another user, or leave the address out"
        )
    try:
        for line in copy_notebooks(root / "notebooks", root / FOLDER):
            print(line, flush=True)
        settings = write_settings(root / FOLDER)
    except OSError as error:
        return _complain(
            f"{error.strerror}: {error.filename}; expected a checkout that can be written, with "
            "some megabytes free, for copies of the notebooks"
        )
    found = filter(None, [settings, os.environ.get("JUPYTER_CONFIG_PATH")])
    environment = {**os.environ, "JUPYTER_CONFIG_PATH": os.pathsep.join(found)}
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={root / FOLDER}"]
    command += [f"--LabApp.default_url=/lab/tree/{FRONT_PAGE}"]
    if os.geteuid() == 0:
        command += ["--allow-root", "--ServerApp.ip=127.0.0.1"]
    os.execve(sys.executable, [*command, *options], environment)


def open_address(options: Sequence[str]) -> str:
    """Address in JupyterLab's arguments that other machines can reach; "" if there is none."""
    for option, following in zip(options, [*options[1:], ""], strict=False):
        name, equals, value = option.partition("=")
        if name.lstrip("-").lower() not in ADDRESS:
            continue
        address = value if equals else following
        if not _is_local(address):
            return address or "any address"
    return ""


def _is_local(address: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def copy_notebooks(source: Path, target: Path) -> list[str]:
    """Copy notebooks and pictures, but never over a notebook's copy; a message for each old copy.

    Parameters
    ----------
    source, target : Path
        Folders. Other files of the target stay as they are.
    """
    messages = []
    for path in sorted(path for path in source.rglob("*") if _is_content(path, source)):
        name = path.relative_to(source).as_posix()
        copy = target / name
        if path.suffix not in PICTURES and copy.is_file():
            if copy.stat().st_mtime < path.stat().st_mtime:
                messages.append(
                    f"{target.name}/{name} is older than its notebook; delete it for a new one"
                )
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        write_whole(copy, path.read_bytes())
    return messages


def write_settings(folder: Path) -> str:
    """Write `SETTINGS` below a folder, and return the folder of Jupyter's configuration there."""
    path = folder / ".jupyter" / "labconfig" / "default_setting_overrides.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(SETTINGS).encode())
    return str(path.parents[1])


def _is_content(path: Path, source: Path) -> bool:
    """Whether a file is a notebook or a picture, and none of Jupyter's checkpoints."""
    hidden = any(part.startswith(".") for part in path.relative_to(source).parts)
    return path.is_file() and not hidden and path.suffix in PICTURES | {".ipynb"}


def _complain(line: str) -> int:
    """Say on the error stream what is wrong."""
    print(f"lab: {line}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
