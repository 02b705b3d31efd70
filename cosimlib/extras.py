"""Optional dependencies: the extra that has each, and the error where one is not installed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

EXTRAS = {
    "gymnasium": "rl",
    "ipywidgets": "notebooks",
    "kaleido": "images",
    "nbformat": "notebooks",
    "pyarrow": "parquet",
    "voila": "app",
}
"""The extra of the project that has an optional package. Plotly itself says what it lacks."""


@contextmanager
def needed_by(what: str) -> Iterator[None]:
    """Say what to install where an import in the block fails for want of an extra.

    Raises
    ------
    ImportError
        With the command that installs it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        raise ImportError(lack(what, package), name=package) from error


def lack(what: str, package: str) -> str:
    """Text of an error: `what` needs a package, and the command that installs it."""
    return f'{what} needs {package}: pip install "cosimlib[{EXTRAS[package]}]"'


def import_jsonschema() -> None:
    """Import jsonschema, where it is installed, without its grammar of international web addresses.

    Plotly imports it by way of nbformat, to show figures. To build that grammar takes 1.7 s, more
    than all else that a figure needs, and notebooks have no such addresses to check.
    """
    grammar, modules = "rfc3987_syntax", sys.modules
    if "jsonschema" in modules or grammar in modules:
        return
    modules[grammar] = None  # type: ignore[assignment]
    try:
        with suppress(ImportError):
            __import__("jsonschema")
    finally:
        del modules[grammar]
