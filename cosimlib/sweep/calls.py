"""Calls that compute cells: with the arguments themselves, or with what was sent of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosimlib.kernels.fingerprint import source_hash
from cosimlib.sweep.grid import ERROR, Cell, Value
from cosimlib.sweep.parcels import pack, written
from cosimlib.sweep.work import compute, compute_remotely


@dataclass(frozen=True)
class Work:
    """A function, the arguments that are the same in all cells, and those that vary."""

    function: Callable[..., Any]
    common: Mapping[str, Any]
    varied: Mapping[str, Sequence[Value]]

    @property
    def taken(self) -> list[str]:
        """Columns that rows may not have."""
        return [*self.varied, ERROR]


class Direct:
    """Calls within this process."""

    def __init__(self, work: Work) -> None:
        self.work = work

    def __call__(self, cell: Cell) -> tuple[Any, ...]:
        """A function and its arguments that compute a cell."""
        values = {name: value.argument for name, value in cell.point.items()}
        return compute, self.work.function, {**self.work.common, **values}, self.work.taken


class Sent:
    """Calls in other processes; all values are pickled first, and once.

    Raises
    ------
    ValueError
        Where the function or a value cannot be pickled.
    """

    def __init__(self, work: Work) -> None:
        self.taken = work.taken
        self.function = pack("the function", work.function, keep=True)
        self.common = {n: pack(f"shared[{n!r}]", value) for n, value in work.common.items()}
        self.varied = {
            (name, value.digest): pack(f"grid[{name!r}]", value.argument)
            for name, values in work.varied.items()
            for value in values
        }

    def write(self, folder: Path) -> None:
        """Put what is large into files of a folder."""
        self.function = written(self.function, folder)
        self.common = {name: written(parcel, folder) for name, parcel in self.common.items()}
        self.varied = {key: written(parcel, folder) for key, parcel in self.varied.items()}

    def __call__(self, cell: Cell) -> tuple[Any, ...]:
        """A function and its arguments that compute a cell."""
        values = {name: self.varied[name, value.digest] for name, value in cell.point.items()}
        return compute_remotely, self.function, self.common | values, self.taken, source_hash()
