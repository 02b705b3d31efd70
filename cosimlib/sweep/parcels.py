"""Arguments on their way to workers: pickled once, and large ones handed over as path and digest.

Functions and classes that are written in a notebook or a script travel by value, others by name.
Where there is no folder that a worker could read, the bytes travel themselves. A worker keeps the
last few large values.
"""

import io
import pickle
import sys
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle

from cosimlib.files import write_whole
from cosimlib.sweep.digests import hashed

LARGE = 1 << 16
"""Bytes from which on a value is written once, rather than sent with every cell."""
KEPT = 8
"""Large values and functions that a worker keeps."""


class ParcelError(RuntimeError):
    """A worker cannot read what a sweep has sent."""


@dataclass(frozen=True)
class Parcel:
    """A pickled value.

    Parameters
    ----------
    digest : str
        Of its bytes.
    content : bytes
        The bytes; none where they are in a file.
    path : str
        The file.
    keep : bool
        Whether a worker should keep the value for other cells.
    """

    digest: str
    content: bytes = field(default=b"", repr=False, compare=False)
    path: str = ""
    keep: bool = False


def pack(name: str, value: object, *, keep: bool = False) -> Parcel:
    """A value as a parcel.

    Raises
    ------
    ValueError
        Where it cannot be pickled.
    """
    try:
        content = _pickled(value)
    except Exception as error:  # an object's own __reduce__ may raise anything
        raise ValueError(
            f"{name} cannot be sent to a worker ({type(error).__name__}: {error}); make it of "
            "plain data and functions, or run in this process with executor=None"
        ) from error
    return Parcel(hashed(content), content, keep=keep or len(content) >= LARGE)


def written(parcel: Parcel, folder: Path) -> Parcel:
    """A parcel whose content is in a file of a folder, if it is large."""
    if len(parcel.content) < LARGE:
        return parcel
    path = folder.resolve() / f"{parcel.digest}.pickle"
    if not path.is_file() or path.stat().st_size != len(parcel.content):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, parcel.content)
    return Parcel(parcel.digest, path=str(path), keep=True)


def unpack(parcel: Parcel) -> Any:
    """The value of a parcel.

    Raises
    ------
    ParcelError
        Where its file cannot be read or is another, or what it needs cannot be imported.
    """
    return _kept(parcel) if parcel.keep else _loaded(parcel)


def _pickled(value: object) -> bytes:
    buffer = io.BytesIO()
    _Pickler(buffer).dump(value)
    return buffer.getvalue()


class _Pickler(cloudpickle.Pickler):
    """Pickles modules by name, those too whose class is not Python's own, like this package's."""

    def reducer_override(self, obj: Any) -> Any:
        """How an object is taken apart."""
        if isinstance(obj, ModuleType) and sys.modules.get(obj.__name__) is obj:
            return import_module, (obj.__name__,)
        return super().reducer_override(obj)


@lru_cache(KEPT)
def _kept(parcel: Parcel) -> Any:
    return _loaded(parcel)


def _loaded(parcel: Parcel) -> Any:
    try:
        content = Path(parcel.path).read_bytes() if parcel.path else parcel.content
    except OSError as error:
        raise ParcelError(
            f"a worker cannot read {parcel.path} ({error.strerror}); give a folder on a file "
            "system that all workers see"
        ) from error
    if hashed(content) != parcel.digest:
        raise ParcelError(f"{parcel.path} has changed since the sweep wrote it; start it again")
    try:
        return pickle.loads(content)
    except Exception as error:
        raise ParcelError(
            f"a worker cannot load what the sweep sent ({type(error).__name__}: {error}); "
            "install there what the function and its arguments import"
        ) from error
