"""Optional dependencies: the extra that installs each, and the error if it is not installed."""

from collections.abc import Iterator
from contextlib import contextmanager

EXTRAS = {
    "gymnasium": "rl",
    "ipywidgets": "notebooks",
    "jupyterlab": "jupyter",
    "kaleido": "images",
    "nbformat": "notebooks",
    "plotly": "figures",
    "pyarrow": "parquet",
    "voila": "app",
    "xarray": "xarray",
}
"""The extra of the project that has an optional package."""


@contextmanager
def needed_by(what: str, extra: str = "") -> Iterator[None]:
    """Tell the user what to install if an import in the block fails because an extra is missing.

    `extra` names one that has more than the missing package, where `what` needs all of it.

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
        raise ImportError(lack(what, package, extra), name=package) from error


def lack(what: str, package: str, extra: str = "") -> str:
    """Text of the error: `what` needs a package, and the command that installs it."""
    return f'{what} needs {package}: pip install "cosimlib[{extra or EXTRAS[package]}]"'
