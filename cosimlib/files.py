"""Files that are written completely or not at all."""

import os
import secrets
from pathlib import Path

TEMPORARY = ".writing-"
"""How names of files and folders begin that are not whole yet."""


def check_writable(path: Path) -> None:
    """Refuse a path at which no file can be written.

    Raises
    ------
    FileNotFoundError
        If its folder is missing.
    IsADirectoryError
        If a directory has its name.
    PermissionError
        If nothing may be written to its folder.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {path.parent}; make it first")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory; give the name of a file")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise PermissionError(
            f"{path}: nothing may be written to {path.parent}; give another folder"
        )


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under a temporary name in the same folder, then rename it.

    Raises
    ------
    FileNotFoundError
        If its folder is missing.
    IsADirectoryError
        If a directory has its name.
    """
    check_writable(path)
    temporary = path.with_name(f"{TEMPORARY}{secrets.token_hex(8)}")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    except OSError as error:
        raise type(error)(f"{path}: cannot be written, {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)
