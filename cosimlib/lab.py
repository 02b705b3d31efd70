"""JupyterLab on copies of the notebooks: `python -m cosimlib.lab`, with arguments of JupyterLab.

The copies are in `lab/`, which git ignores, and the front page opens first. A copy is renewed when
its notebook changes. If you have edited its cells, the copy stays, and a message says so.
"""

import hashlib
import ipaddress
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from cosimlib.files import FRONT_PAGE, checkout, write_whole

FOLDER, RECORD = "lab", ".copied.json"
ADDRESS = {"ip", "serverapp.ip", "notebookapp.ip", "voila.ip"}
PICTURES = {".png", ".svg"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Copy the notebooks and start JupyterLab; status 1 if that is impossible."""
    options = list(sys.argv[1:] if arguments is None else arguments)
    root = checkout()
    if not (root / "notebooks" / FRONT_PAGE).is_file():
        return _complain(f"no notebooks/{FRONT_PAGE} in {root}; start in a checkout of cosimlib")
    if os.geteuid() == 0 and (open_to := open_address(options)):
        return _complain(
            f"root must not serve notebooks at {open_to}: whoever reaches it could do anything "
            "here; take another user, or leave the address out"
        )
    for line in copy_notebooks(root / "notebooks", root / FOLDER):
        print(line, flush=True)
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={root / FOLDER}"]
    command += [f"--LabApp.default_url=/lab/tree/{FRONT_PAGE}"]
    if os.geteuid() == 0:
        command += ["--allow-root", "--ServerApp.ip=127.0.0.1"]
    os.execv(sys.executable, [*command, *options])


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
    """Copy notebooks and pictures, but never over an edited copy; a message for each of those.

    Parameters
    ----------
    source, target : Path
        Folders. Other files of the target stay as they are.
    """
    target.mkdir(parents=True, exist_ok=True)
    messages = []
    copied = _read_record(target / RECORD)
    for path in sorted(path for path in source.rglob("*") if _is_content(path, source)):
        name = path.relative_to(source).as_posix()
        copy, new = target / name, _digest(path)
        if copy.is_file() and _digest(copy) not in (copied.get(name), new):
            if new != copied.get(name):
                messages.append(
                    f"{target.name}/{name} was edited and is kept; delete it for a new one"
                )
            continue
        if not copy.is_file() or copied.get(name) != new:
            copy.parent.mkdir(parents=True, exist_ok=True)
            write_whole(copy, path.read_bytes())
        copied[name] = new
    write_whole(target / RECORD, (json.dumps(copied, indent=1) + "\n").encode())
    return messages


def _is_content(path: Path, source: Path) -> bool:
    """Whether a file is a notebook or a picture, and none of Jupyter's checkpoints."""
    hidden = any(part.startswith(".") for part in path.relative_to(source).parts)
    return path.is_file() and not hidden and path.suffix in PICTURES | {".ipynb"}


def _read_record(path: Path) -> dict[str, str]:
    """Digest of each notebook when it was copied; empty if nothing was."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def _digest(path: Path) -> str:
    """A hash of a notebook's cells without their outputs, which running it changes; of a file."""
    content = path.read_bytes()
    if path.suffix == ".ipynb":
        try:
            cells = json.loads(content)["cells"]
            parts = [(cell["cell_type"], "".join(cell["source"])) for cell in cells]
            content = json.dumps(parts).encode()
        except (ValueError, KeyError, TypeError):
            pass
    return hashlib.sha256(content).hexdigest()


def _complain(line: str) -> int:
    """Say on the error stream what is wrong."""
    print(f"lab: {line}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
