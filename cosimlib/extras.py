"""Optional dependencies: the extra that installs each, and the error if it is not installed."""

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
    """Tell the user what to install if an import in the block fails because an extra is missing.

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
    """Text of the error: `what` needs a package, and the command that installs it."""
    return f'{what} needs {package}: pip install "cosimlib[{EXTRAS[package]}]"'


def import_jsonschema() -> None:
    """Import jsonschema, if installed, without its grammar of international web addresses.

    Plotly imports it through nbformat, to show figures. Building that grammar takes 1.7 s, more
    than everything else that a figure needs, and notebooks have no such addresses.
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
