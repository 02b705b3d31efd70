"""Cells of a sweep: the points of a grid, each with each seed, checked before anything runs."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from cosimlib import checks as check
from cosimlib.checks import is_number
from cosimlib.sweep.digests import culprit, digest, hashed

SEED, ERROR = "seed", "error"
LONGEST_LABEL = 60


@dataclass(frozen=True)
class Value:
    """An argument: what the function gets, what the table shows, and the digest of the former."""

    argument: Any
    label: Any
    digest: str


@dataclass(frozen=True, eq=False)
class Cell:
    """A point of the grid with a seed.

    Parameters
    ----------
    point : dict of str to Value
        By the function's parameters: the grid's, then the seed.
    digest : str
        Of function, package source and all arguments.
    """

    point: Mapping[str, Value]
    digest: str

    @property
    def labels(self) -> dict[str, Any]:
        """What the table shows of the arguments, by column."""
        return {name: value.label for name, value in self.point.items()}


def axes(grid: Mapping[str, Any], seeds: Iterable[int] | None) -> dict[str, list[Value]]:
    """The values of each argument that varies: the grid's, then the seeds, if there are any."""
    check.that("grid", grid, isinstance(grid, Mapping), "a dict of values by argument")
    found = {name: _values(f"grid[{name!r}]", values) for name, values in grid.items()}
    if seeds is None:
        return found
    check.that(SEED, SEED, SEED not in grid, "no such name in the grid where seeds are given")
    plural = "whole numbers, such as range(20)"
    check.that("seeds", seeds, isinstance(seeds, Iterable) and not isinstance(seeds, str), plural)
    numbers = list(seeds)
    for number in numbers:
        check.whole("a seed", number, 0)
    found[SEED] = _values("seeds", [int(number) for number in numbers])
    return found


def cells_of(axes: Mapping[str, Sequence[Value]], *key: bytes) -> list[Cell]:
    """All cells, the last axis fastest; `key` is what else they depend on."""
    points = (dict(zip(axes, values, strict=True)) for values in product(*axes.values()))
    return [Cell(point, _key(point, key)) for point in points]


def check_function(
    function: Callable[..., Any], given: Iterable[str], shared: Iterable[str]
) -> None:
    """Refuse names that the function does not know, and parameters that get nothing."""
    check.that("function", function, callable(function), "a function")
    names, common = list(given), list(shared)
    for name in (*names, *common):
        text = isinstance(name, str)
        check.that("name of an argument", name, text and name != ERROR, f"a text, not {ERROR!r}")
    twice = set(names) & set(common)
    check.that("shared", sorted(twice), not twice, "no name that the grid or the seeds have")
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # functions that tell no signature
        return
    called = getattr(function, "__name__", "the function")
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        known = [p.name for p in parameters if p.kind in by_name]
        for name in (*names, *common):
            if name not in known:
                takes = ", ".join(known) or "nothing by name"
                raise ValueError(f"{called} takes no argument {name!r}; it takes {takes}")
    variadic = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in variadic]
    missing = [name for name in needed if name not in {*names, *common}]
    if missing:
        raise ValueError(
            f"{called} needs {', '.join(missing)}; give values in grid, seeds or shared"
        )


def digest_of(name: str, value: Any) -> str:
    """The digest of an argument, or an error that names it."""
    try:
        return digest(value)
    except (TypeError, ValueError, RecursionError) as error:
        part = culprit(value)
        used = f" uses {part!r}, which" if part else ""
        raise ValueError(
            f"{name}{used} cannot be told from others by its content, nor sent to a worker: "
            f"{error}; expected plain data, functions, or objects that can be pickled"
        ) from error


def _values(name: str, given: Any) -> list[Value]:
    """The values along one axis, with labels that differ."""
    several = isinstance(given, Iterable) and not isinstance(given, str | bytes | set | frozenset)
    check.that(name, given, several, "a list of values, or a dict of values by label")
    pairs = given.items() if isinstance(given, Mapping) else [(_label(name, v), v) for v in given]
    values = [Value(_plain(value), _plain(label), digest_of(name, value)) for label, value in pairs]
    check.that(name, [], bool(values), "at least one value")
    seen = set()
    for value in values:
        if value.label in seen:
            raise ValueError(
                f"{name} has two values {value.label!r}; expected values that differ, or a dict of "
                "values by label"
            )
        seen.add(value.label)
    return values


def _label(name: str, value: Any) -> Any:
    """What the table shows of a value: itself where it is plain, else its name."""
    if value is None or isinstance(value, str | bool | np.bool_) or is_number(value):
        return value
    for attribute in ("name", "__name__"):
        text = getattr(value, attribute, None)
        if isinstance(text, str) and text:
            return text
    text = str(value)
    if len(text) > LONGEST_LABEL or "\n" in text or " at 0x" in text:
        kind = f"a value of type {type(value).__name__} without a short name"
        raise ValueError(f"{name} has {kind}; give a dict of values by label")
    return text


def _plain(value: Any) -> Any:
    """Python's own number in place of NumPy's."""
    return value.item() if isinstance(value, np.bool_ | np.integer | np.floating) else value


def _key(point: Mapping[str, Value], key: tuple[bytes, ...]) -> str:
    """The digest of a cell: the order of its arguments does not matter."""
    parts = (text.encode() for name in sorted(point) for text in (name, point[name].digest))
    return hashed(*key, *parts)
