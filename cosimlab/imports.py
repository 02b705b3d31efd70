"""Import of jsonschema without what takes it long."""

import sys
from contextlib import suppress


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
