"""Pages of the reference: one for the front door's names, one per room for those it adds."""

import importlib
import inspect
import re
from collections.abc import Iterable

import cosimlib

SECTION = re.compile(r"^(?P<title>[A-Z].*)\n\n(?P<names>(?:- `.*\n(?:  .*\n)*)+)", re.MULTILINE)
NAME = re.compile(r"^- `(\w+)`", re.MULTILINE)


def reference_pages() -> dict[str, str]:
    """Every page by its name."""
    sections = {match["title"]: NAME.findall(match["names"]) for match in _sections()}
    rooms = sections.pop("Modules")
    front = {id(getattr(cosimlib, name)): name for names in sections.values() for name in names}
    pages = {"api/index.md": _index(rooms), "api/cosimlib.md": _front_door(sections)}
    for room in rooms:
        pages[f"api/{room}.md"] = _room(room, front)
    return pages


def _sections() -> list[re.Match[str]]:
    """The parts of the front door's docstring that list names."""
    return list(SECTION.finditer(inspect.cleandoc(cosimlib.__doc__ or "") + "\n"))


def _index(rooms: list[str]) -> str:
    """The page that leads to the others."""
    pages = "\n".join(["cosimlib", *rooms])
    return (
        "# Reference\n\n`import cosimlib as cs` gives [these names](cosimlib.md), which most work "
        "needs; the rooms that they come from have more. Examples run in a folder with small logs."
        f"\n\n```{{toctree}}\n:maxdepth: 1\n\n{pages}\n```\n"
    )


def _front_door(sections: dict[str, list[str]]) -> str:
    """The names of the front door, by the sections of its docstring."""
    parts = ["# cosimlib\n"]
    for title, names in sections.items():
        entries = (_directive(name, getattr(cosimlib, name)) for name in names)
        parts.append(f"## {title}\n")
        parts.append(_rst("\n".join([_table("cosimlib", names), *entries])))
    return "\n".join(parts)


def _table(module: str, names: Iterable[str]) -> str:
    """The table of names of a module, each with its first line."""
    listed = "\n".join(f"   {name}" for name in names)
    return f".. currentmodule:: {module}\n\n.. autosummary::\n\n{listed}\n"


def _room(room: str, front: dict[int, str]) -> str:
    """The public names of a room; those of the front door are only named."""
    module = importlib.import_module(f"cosimlib.{room}")
    names = sorted(name for name in getattr(module, "__all__", []))
    shown = {name: getattr(module, name) for name in names}
    own = {name: value for name, value in shown.items() if id(value) not in front}
    own = {name: value for name, value in own.items() if callable(value)}
    doors = [_door(name, front[id(value)]) for name, value in shown.items() if id(value) in front]
    text = f".. automodule:: cosimlib.{room}\n   :no-members:\n\n"
    if doors:
        text += f"At the front door: {', '.join(doors)}.\n\n"
    if own:
        entries = (_directive(name, value) for name, value in own.items())
        text += "\n".join([_table(f"cosimlib.{room}", own), *entries])
    return f"# cosimlib.{room}\n\n{_rst(text)}"


def _door(name: str, front: str) -> str:
    """The name of the front door that a room's name is."""
    return f"`cosimlib.{front}`" if name == front else f"`cosimlib.{front}` (here ``{name}``)"


def _directive(name: str, value: object) -> str:
    """A function, or a class with the members that it defines or inherits from the package."""
    if inspect.isclass(value):
        return f".. autoclass:: {name}\n   :members:\n"
    return f".. autofunction:: {name}\n"


def _rst(text: str) -> str:
    """reStructuredText inside a page of Markdown."""
    return f"````{{eval-rst}}\n{text}\n````\n"
