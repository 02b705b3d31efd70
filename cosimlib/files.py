"""Files that are written completely or not at all, and never over what they were made from."""

import os
import secrets
import tempfile
from pathlib import Path

from cosimlib import checks as check

TEMPORARY = ".writing-"
"""How names of files and folders begin that are not whole yet."""
STANDARD_INPUT = "-"
"""In the place of a path."""
PAGES = (".html", ".htm")
"""How names of pages end."""


def check_writable(path: str | Path, *sources: str | Path | None) -> None:
    """Refuse a path at which no file can be written, or a file that is read for what is written.

    Parameters
    ----------
    path : str or Path
        A symbolic link stands for what it leads to.
    *sources : str, Path or None
        Files that are read; whatever is no file is passed over.

    Raises
    ------
    FileNotFoundError
        If its folder is missing.
    IsADirectoryError
        If a directory has its name.
    FileExistsError
        If its name is that of a device, a pipe or anything else that is no regular file.
    PermissionError
        If nothing can be written to its folder.
    ValueError
        If it is one of the sources, under whatever name.
    """
    path = Path(path)
    target = _target(path)
    for read in [Path(source) for source in sources if source is not None]:
        if target.is_file() and read.is_file() and target.samefile(read):
            raise check.ArgumentError(
                f"{path}: the target is the source {read} itself, which would be overwritten; give "
                "another name"
            )
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise PermissionError(
            f"{path}: nothing may be written to {target.parent}; give another folder"
        ) from error


def check_page(name: str, path: str | Path, *sources: str | Path | None) -> None:
    """Refuse a path at which no page in HTML can be written; see `check_writable`.

    `name` is that of the option or argument.
    """
    check_writable(path, *sources)
    fine = Path(path).suffix.lower() in PAGES
    check.that(name, str(path), fine, f"a name that ends in {' or '.join(PAGES)}")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under a temporary name in the same folder, then rename it.

    Where `path` is a symbolic link, what it leads to is written, and the link stays.

    Raises
    ------
    FileNotFoundError
        If its folder is missing.
    IsADirectoryError
        If a directory has its name.
    FileExistsError
        If its name is that of something else that is no regular file.
    """
    target = _target(path)
    temporary = target.with_name(f"{TEMPORARY}{secrets.token_hex(8)}")
    try:
        temporary.write_bytes(content)
        temporary.replace(target)
    except OSError as error:
        raise type(error)(f"{path}: cannot be written, {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def check_readable(path: str | Path, what: str = "a file") -> None:
    """Refuse a path at which no regular file can be read, whatever reads it.

    Parameters
    ----------
    path : str or Path
    what : str, default "a file"
        What is expected there.

    Raises
    ------
    FileNotFoundError
    IsADirectoryError
    PermissionError
    ValueError
        If it is a pipe, a device or anything else that is no regular file.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory; give the path of {what}")
    is_input = str(path) == STANDARD_INPUT
    if not path.exists() and not is_input:
        raise FileNotFoundError(f"no file at {path}; give the path of {what}")
    if not path.is_file():
        name = "standard input" if is_input else path
        raise check.ArgumentError(
            f"{name}: not a regular file; expected {what}: write it to a file first, and give its "
            "path"
        )
    if not os.access(path, os.R_OK):
        raise PermissionError(f"{path}: may not be read; let its owner allow it, or copy it")


def _target(path: Path) -> Path:
    """The file that a path leads to, of which at least the folder is there."""
    target = Path(os.path.realpath(path))
    folder = target.parent if path.is_symlink() else path.parent
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {folder}; make it first")
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a directory; give the name of a file")
    if target.exists() and not target.is_file():
        raise FileExistsError(f"{path} is no regular file; give another name")
    return target
