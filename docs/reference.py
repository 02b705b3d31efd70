"""Pages of the reference: one per front door, and one per room for the names that it adds."""

import importlib
import inspect
import re
from collections.abc import Iterable
from types import ModuleType

import cosimlab
import cosimlib

SECTION = re.compile(r"^(?P<title>[A-Z].*)\n\n(?P<names>(?:- `.*\n(?:  .*\n)*)+)", re.MULTILINE)
NAME = re.compile(r"^- `(\w+)`", re.MULTILINE)
DOORS = (cosimlib, cosimlab)


def reference_pages() -> dict[str, str]:
    """Every page by its name."""
    pages = {}
    listed = []
    for door in DOORS:
        sections = _sections(door)
        rooms = sections.pop("Rooms")
        front = {id(getattr(door, name)): name for names in sections.values() for name in names}
        package = door.__name__
        pages[f"api/{package}.md"] = _front_door(package, sections)
        # A room of both packages has a page in each.
        names = {room: f"{package}.{room}" if room in listed else room for room in rooms}
        pages |= {f"api/{names[room]}.md": _room(f"{package}.{room}", front) for room in rooms}
        listed += [package, *names.values()]
    return {"api/index.md": _index(listed), **pages}


def _sections(door: ModuleType) -> dict[str, list[str]]:
    """The names of a front door, by the headings of its docstring."""
    found = SECTION.finditer(inspect.cleandoc(door.__doc__ or "") + "\n")
    # "Traces; readers of other formats are in `traces`" is the heading "Traces".
    return {match["title"].split(";")[0]: NAME.findall(match["names"]) for match in found}


def _index(pages: list[str]) -> str:
    """The page that leads to the others."""
    listed = "\n".join(pages)
    return (
        "# Reference\n\n`import cosimlib as cs` gives [simulators, solvers and the nouns that they "
        "take](cosimlib.md). `import cosimlab as lab` gives [what compares, forecasts, reports and "
        "draws](cosimlab.md). The rooms that these names come from have more. Examples run in a "
        f"folder with small logs.\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"
    )


def _front_door(package: str, sections: dict[str, list[str]]) -> str:
    """The names of a front door, by the sections of its docstring."""
    door = importlib.import_module(package)
    parts = [f"# {package}\n"]
    for title, names in sections.items():
        entries = (_directive(name, getattr(door, name)) for name in names)
        parts.append(f"## {title}\n")
        parts.append(_rst("\n".join([_table(package, names), *entries])))
    return "\n".join(parts)


def _table(module: str, names: Iterable[str]) -> str:
    """The table of names of a module, each with its first line."""
    listed = "\n".join(f"   {name}" for name in names)
    return f".. currentmodule:: {module}\n\n.. autosummary::\n\n{listed}\n"


def _room(room: str, front: dict[int, str]) -> str:
    """The public names of a room; those of the front door are only named."""
    module = importlib.import_module(room)
    package = room.partition(".")[0]
    names = sorted(name for name in getattr(module, "__all__", []))
    shown = {name: getattr(module, name) for name in names}
    own = {name: value for name, value in shown.items() if id(value) not in front}
    own = {name: value for name, value in own.items() if callable(value)}
    doors = [
        _door(f"{package}.{front[id(value)]}", name)
        for name, value in shown.items()
        if id(value) in front
    ]
    text = f".. automodule:: {room}\n   :no-members:\n\n"
    if doors:
        text += f"At the front door: {', '.join(doors)}.\n\n"
    if own:
        entries = (_directive(name, value) for name, value in own.items())
        text += "\n".join([_table(room, own), *entries])
    return f"# {room}\n\n{_rst(text)}"


def _door(front: str, name: str) -> str:
    """The name of the front door that a room's name is."""
    return f"`{front}`" if front.endswith(f".{name}") else f"`{front}` (here ``{name}``)"


def _directive(name: str, value: object) -> str:
    """A function, or a class with the members that it defines or inherits from the package."""
    if inspect.isclass(value):
        return f".. autoclass:: {name}\n   :members:\n"
    return f".. autofunction:: {name}\n"


def _rst(text: str) -> str:
    """reStructuredText inside a page of Markdown."""
    return f"````{{eval-rst}}\n{text}\n````\n"
