"""Digests of values by content: the same in every process and session for equal values.

Numbers, texts, containers, arrays and tables are digested by what they hold, other objects by what
pickle takes them apart into. Functions are digested by their bytecode, their defaults and all that
they refer to: other functions alike, global and enclosed values by content. What comes from this
package, Python or an installed library counts by its name alone; sweeps add the package's source.
"""

import dis
import hashlib
import sys
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, singledispatch
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import pandas as pd

OWN = __name__.partition(".")[0]
DIGITS = 32

Content = tuple[str, Iterable[Any]]
"""The kind of a value, and its parts: bytes as they are, values to be digested themselves."""


def digest(value: object) -> str:
    """Thirty-two hexadecimal digits that name a value's content.

    Integers are equal whether Python's or NumPy's, and so are floats, but 1 is not 1.0. The order
    of a mapping counts, that of a set does not.

    Raises
    ------
    TypeError
        Where an object cannot be taken apart, such as an open file.
    """
    return _digest(value, {}, {})


def culprit(function: object) -> str:
    """The first global or enclosed name that a function uses whose value has no digest, or ""."""
    if not isinstance(function, FunctionType):
        return ""
    for name, value in (_enclosed(function) | _reached(function)).items():
        try:
            digest(value)
        except (TypeError, ValueError, RecursionError):
            return name
    return ""


def hashed(*parts: bytes) -> str:
    """Hexadecimal digits that name these bytes, part by part."""
    total = hashlib.sha256()
    for part in parts:
        total.update(b"%d:" % len(part))
        total.update(part)
    return total.hexdigest()[:DIGITS]


def qualified_name(value: Any) -> str:
    """Module and name of a function or class; of an object without a name, those of its class."""
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{getattr(named, '__module__', None)}.{named.__qualname__}"


def _digest(value: object, above: dict[int, int], known: dict[int, tuple[str, object]]) -> str:
    """The digest of a value; `above` are the objects that it is a part of, by address."""
    address = id(value)
    if address in above:
        return f"the object {len(above) - above[address]} above"
    if address in known:
        return known[address][0]
    above[address] = len(above)
    kind, parts = _content(value)
    raw = [p if isinstance(p, bytes) else _digest(p, above, known).encode() for p in parts]
    del above[address]
    # Keeping the value keeps its address from being another's while this goes on.
    known[address] = hashed(kind.encode(), *raw), value
    return known[address][0]


@singledispatch
def _content(value: Any) -> Content:
    """An object's kind and parts."""
    kind = qualified_name(type(value))
    if is_dataclass(value):
        return kind, [getattr(value, field.name) for field in fields(value)]
    for inner in ("py_func", "__wrapped__"):  # kernels, cached functions
        if isinstance(getattr(value, inner, None), FunctionType):
            return kind, [getattr(value, inner)]
    reduced = value.__reduce_ex__(4)
    if isinstance(reduced, str):
        return kind, [reduced]
    make, arguments, *rest = reduced
    state, items, pairs = (*rest, None, None, None)[:3]
    return kind, [make, arguments, state, list(items or ()), list(pairs or ())]


@_content.register(bool | np.bool_)
def _(value: Any) -> Content:
    return "bool", [b"1" if value else b"0"]


@_content.register(int | np.integer)
def _(value: Any) -> Content:
    return "int", [str(int(value)).encode()]


@_content.register(float | np.floating)
def _(value: Any) -> Content:
    return "float", [float(value).hex().encode()]


@_content.register
def _(value: str) -> Content:
    return "str", [value.encode("utf-8", "surrogatepass")]


@_content.register(bytes | bytearray)
def _(value: Any) -> Content:
    return "bytes", [bytes(value)]


@_content.register(list | tuple)
def _(value: Any) -> Content:
    return qualified_name(type(value)), value


@_content.register(range)
def _(value: range) -> Content:
    return "range", [value.start, value.stop, value.step]


@_content.register
def _(value: Mapping) -> Content:
    return "mapping", [part for pair in value.items() for part in pair]


@_content.register(set | frozenset)
def _(value: Any) -> Content:
    return "set", [one.encode() for one in sorted(map(digest, value))]


@_content.register
def _(value: np.ndarray) -> Content:
    if value.dtype.hasobject:
        return "array", [str(value.shape).encode(), *value.ravel()]
    content = np.ascontiguousarray(value).tobytes()
    return "array", [value.dtype.str.encode(), str(value.shape).encode(), content]


@_content.register
def _(value: pd.DataFrame) -> Content:
    return "table", [
        list(value.columns),
        value.index,
        *(value.iloc[:, k] for k in range(value.shape[1])),
    ]


@_content.register(pd.Series | pd.Index)
def _(value: Any) -> Content:
    if isinstance(value, pd.RangeIndex):
        return "column", [str(value.name).encode(), range(value.start, value.stop, value.step)]
    name = [value.name, str(value.dtype)]
    if isinstance(value, pd.Series):
        name.append(value.index)
    missing = np.asarray(value.isna())
    if pd.api.types.is_numeric_dtype(value.dtype) and not isinstance(value.dtype, np.dtype):
        filled = value.fillna(0).to_numpy(value.dtype.numpy_dtype)
        return "column", [*name, missing, filled]
    plain = value.to_numpy()
    if not plain.dtype.hasobject:
        return "column", [*name, plain]
    texts = plain[~missing].tolist()
    if not all(isinstance(one, str) for one in texts):
        return "column", [*name, *plain]
    lengths = np.array([len(one) for one in texts], dtype=np.int64)
    return "column", [*name, missing, lengths, "".join(texts)]


@_content.register
def _(value: ModuleType) -> Content:
    file = getattr(value, "__file__", None)
    if _is_library(value.__name__) or not file:
        return "module", [value.__name__]
    return "module", [value.__name__, Path(file).read_bytes()]


@_content.register
def _(value: BuiltinFunctionType) -> Content:
    owner = getattr(value, "__self__", None)
    owner = None if isinstance(owner, ModuleType) else owner
    return "builtin", [qualified_name(value), owner]


@_content.register
def _(value: MethodType) -> Content:
    return "method", [value.__func__, value.__self__]


@_content.register(property | classmethod | staticmethod)
def _(value: Any) -> Content:
    parts = ("fget", "fset", "__func__")
    return type(value).__name__, [getattr(value, part, None) for part in parts]


@_content.register
def _(value: type) -> Content:
    if _is_library(value.__module__):
        return "class", [qualified_name(value)]
    kinds = (FunctionType, property, classmethod, staticmethod, bool, int, float, str, tuple)
    body = {name: part for name, part in sorted(vars(value).items()) if isinstance(part, kinds)}
    for name in ("__module__", "__qualname__", "__doc__", "__firstlineno__"):
        body.pop(name, None)
    return "class", [value.__qualname__, list(value.__bases__), body]


@_content.register
def _(value: FunctionType) -> Content:
    if _is_library(value.__module__):
        return "function", [qualified_name(value)]
    cells, reached = list(_enclosed(value).values()), _reached(value)
    return "function", [value.__code__, value.__defaults__, value.__kwdefaults__, cells, reached]


@_content.register
def _(value: CodeType) -> Content:
    names = (value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars)
    counts = (value.co_argcount, value.co_posonlyargcount, value.co_kwonlyargcount, value.co_flags)
    return "code", [value.co_code, value.co_consts, *names, counts]


def _enclosed(function: FunctionType) -> dict[str, Any]:
    """The values that a function takes from the one around it, by name."""
    cells = function.__closure__ or ()
    names = function.__code__.co_freevars
    return {name: cell.cell_contents for name, cell in zip(names, cells, strict=True)}


def _reached(function: FunctionType) -> dict[str, Any]:
    """The global values that a function uses, by name."""
    used = sorted(_global_names(function.__code__) & function.__globals__.keys())
    return {name: function.__globals__[name] for name in used}


def _global_names(code: CodeType) -> set[str]:
    """The global names that a function's code reads, inner functions included."""
    read = dis.get_instructions(code)
    names = {one.argval for one in read if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    inner = (const for const in code.co_consts if isinstance(const, CodeType))
    return names.union(*map(_global_names, inner))


@cache
def _is_library(module: str | None) -> bool:
    """Whether a module is of this package, of Python or installed, rather than a user's own."""
    root = (module or "").partition(".")[0]
    if root == "__main__":
        return False
    if root == OWN or root in sys.stdlib_module_names:
        return True
    file = getattr(sys.modules.get(root), "__file__", None) or ""
    return bool({"site-packages", "dist-packages"} & set(Path(file).parts))
