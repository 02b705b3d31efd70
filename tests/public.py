"""The public names with their signatures: ``python -m tests.public`` stores the listing.

A name is public if it stands in `__all__` of a front door or of a room. It is *stable* if
docs/promises.md lists it as such, else *provisional*. `test_public` compares the listing with the
stored one, so that no signature changes unnoticed.
"""

import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import cosimlab
import cosimlib
from tests.suites import ROOT

STORED = ROOT / "tests" / "data" / "public.txt"
PAGE = ROOT / "docs" / "promises.md"
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
KINDS = ("stable", "provisional")


def stable_names() -> set[str]:
    """The names that docs/promises.md lists under *Stable*, such as ``cs.simulate_easy``."""
    (section,) = re.findall(r"^## Stable\n(.*?)(?=^## )", PAGE.read_text("utf-8"), re.M | re.S)
    return set(re.findall(r"`((?:cs|lab)\.[\w.]+)`", section))


def public_names() -> dict[str, Any]:
    """Every public name of both front doors and of their rooms, with what it stands for."""
    found = {}
    for short, door in (("cs", cosimlib), ("lab", cosimlab)):
        for name in door.__all__:
            value = getattr(door, name)
            if isinstance(value, ModuleType):
                inside = getattr(value, "__all__", [])
                found |= {f"{short}.{name}.{each}": getattr(value, each) for each in inside}
            else:
                found[f"{short}.{name}"] = value
    return found


def listing() -> list[str]:
    """A line for each public name, and for each method of a class: its kind and its signature."""
    stable = stable_names()
    lines = []
    for name, value in sorted(public_names().items()):
        kind = KINDS[name not in stable]
        lines += [f"{kind} {name}{text}" for text in _signatures(value)]
    return lines


def _signatures(value: Any) -> Iterator[str]:
    """Signatures of a function, or of a class and its methods; else the type of a constant."""
    if inspect.isclass(value):
        is_error = issubclass(value, BaseException)
        yield "(error)" if is_error else _signature(value)
        for name, member in sorted(vars(value).items()):
            if name.startswith("_") or is_error:
                continue
            if isinstance(member, staticmethod | classmethod):
                yield f".{name}{_signature(getattr(value, name))}"
            elif inspect.isfunction(member):
                yield f".{name}{_signature(member)}"
            else:
                yield f".{name}"
    elif callable(value):
        yield _signature(value)
    else:
        yield f": {type(value).__name__}"


def _signature(value: Any) -> str:
    """The parameters by name and with their defaults, without types."""
    parameters = inspect.signature(value).parameters.values()
    shown = [str(each.replace(annotation=inspect.Parameter.empty)) for each in parameters]
    places = [each.kind for each in parameters]
    if inspect.Parameter.KEYWORD_ONLY in places and inspect.Parameter.VAR_POSITIONAL not in places:
        shown.insert(places.index(inspect.Parameter.KEYWORD_ONLY), "*")
    return ADDRESS.sub("", f"({', '.join(shown)})")


if __name__ == "__main__":
    STORED.write_text("\n".join(listing()) + "\n", encoding="utf-8")
    print(f"{STORED.relative_to(ROOT)}: {len(listing())} lines")
