"""Fingerprint of the package's source: hashes of all of it, and of what kernels can see of it.

Kernels can see, of the files that hold kernels and all that these import, the syntax without
docstrings, positions and functions that only Python runs. Where such a file calls into the package
while it is imported, a kernel may freeze the result: there, and in all that the file imports, every
function counts. Constants and classes count everywhere.
"""

import ast
import builtins
import hashlib
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
COMPILING = {f"{PACKAGE.name}/kernels/{name}.py" for name in ("fingerprint", "jit")}
"""Files that say how kernels are compiled and cached: every function counts."""

KERNELS = {
    "allocating_kernel",
    "embedded_kernel",
    "frugal_kernel",
    "inlined_kernel",
    "inner_kernel",
    "kernel",
    "uncached_kernel",
}
PLAIN = {"cache", "cached_property", "classmethod", "lru_cache", "property", "staticmethod"}
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
IMPORT = ast.Import | ast.ImportFrom


@cache
def source_hash() -> str:
    """Sixteen hexadecimal digits that name the package's source as it is on disk."""
    return _digest(part for name, text in _sources().items() for part in (name.encode(), text))


@cache
def _sources() -> dict[str, bytes]:
    """The text of every file of the package: read once, so that all hashes are of one state."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {path.relative_to(PACKAGE.parent).as_posix(): path.read_bytes() for path in paths}


def _digest(parts: Iterable[bytes]) -> str:
    """Sixteen hexadecimal digits that name these bytes."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()[:16]


@cache
def kernel_hash() -> str:
    """Sixteen hexadecimal digits that name what kernels can see of the package's source."""
    try:
        trees = {name: ast.parse(text) for name, text in _sources().items()}
    except (SyntaxError, ValueError):
        return source_hash()
    imports = {name: _imported(name, tree, trees) for name, tree in trees.items()}
    near = _reached({name for name, tree in trees.items() if _holds_kernels(tree)}, imports)
    whole = _reached({name for name in near if _calls_the_package(trees[name])}, imports)
    for name, tree in trees.items():
        _strip(tree, name in near, name in whole or name in COMPILING)
    dumps = ((name, ast.dump(tree)) for name, tree in trees.items() if tree.body)
    return _digest(part.encode() for dump in dumps for part in dump)


def _strip(tree: ast.AST, near: bool, whole: bool) -> None:
    """Drop docstrings, functions for Python unless `whole`, and imports of files not `near`."""
    for node in ast.walk(tree):
        for field, parts in ast.iter_fields(node):
            if isinstance(parts, list):
                setattr(node, field, [part for part in parts if _is_seen(part, near, whole)])


def _is_seen(part: ast.AST, near: bool, whole: bool) -> bool:
    """Whether kernels may notice a change of this statement, or of a part that is none."""
    if isinstance(part, ast.Expr):
        return not isinstance(part.value, ast.Constant)
    if isinstance(part, IMPORT):
        return near
    if isinstance(part, FUNCTION) and not whole and part.name != "__getattr__":
        inner = ast.walk(part)
        return any(_label(d) not in PLAIN for n in inner for d in getattr(n, "decorator_list", []))
    return True


def _holds_kernels(tree: ast.AST) -> bool:
    """Whether a file imports or applies a decorator of kernels, or imports Numba."""
    words: set[str | None] = set()
    for node in ast.walk(tree):
        if isinstance(node, IMPORT):
            words |= {getattr(node, "module", None), *(alias.name for alias in node.names)}
        words |= {_label(decorator) for decorator in getattr(node, "decorator_list", [])}
    return any(word.split(".")[0] in {*KERNELS, "numba"} for word in words if word)


def _label(node: ast.AST) -> str | None:
    """The last name of a decorator or a call, and the module of an import from it."""
    if isinstance(node, ast.Call):
        return _label(node.func)
    return getattr(node, "attr", None) or getattr(node, "id", None) or getattr(node, "module", None)


def _imported(name: str, tree: ast.AST, files: Collection[str]) -> set[str]:
    """The files that a file imports; all of a folder where the folder itself is imported."""

    def held(path: str) -> set[str]:
        return {file for file in files if file == f"{path}.py" or file.startswith(f"{path}/")}

    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                path = alias.name.replace(".", "/")
                found |= held(path if alias.asname else path.split("/")[0])
        elif isinstance(node, ast.ImportFrom):
            above = name.split("/")[: -node.level] if node.level else []
            base = "/".join([*above, *(node.module.split(".") if node.module else [])])
            found |= {f"{base}.py", f"{base}/__init__.py"}.intersection(files)
            for alias in node.names:
                found |= held(f"{base}/{alias.name}") or held(base)
    return found


def _reached(names: set[str], imports: dict[str, set[str]]) -> set[str]:
    """These files and all that they import, directly or not."""
    found: set[str] = set()
    while names:
        found |= names
        names = {name for one in names for name in imports[one]} - found
    return found


def _calls_the_package(tree: ast.AST) -> bool:
    """Whether a file, while it is imported, may call what is neither built in nor a library's."""
    known, own = {*dir(builtins), "__file__"}, set()
    for node in ast.walk(tree):
        if isinstance(node, FUNCTION | ast.ClassDef):
            own.add(node.name)
        elif isinstance(node, IMPORT):
            origin = getattr(node, "module", node.names[0].name) or ""
            ours = getattr(node, "level", 0) or origin.split(".")[0] == PACKAGE.name
            names = {(alias.asname or alias.name).split(".")[0] for alias in node.names}
            own, known = (own | names, known) if ours else (own, known | names)
    return _may_call(tree, known - own)


def _may_call(node: ast.AST, known: set[str]) -> bool:
    """Whether importing this may call what is not `known`; constants in arguments are data."""
    parts, calls = list(ast.iter_child_nodes(node)), getattr(node, "decorator_list", [])
    if isinstance(node, FUNCTION):
        parts = [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
    if isinstance(node, ast.Call) and _label(node) != "TypeVar":
        calls = [node]
    for call in (call for call in calls if call is node or _label(call) not in KERNELS):
        names = [name for name in ast.walk(call) if isinstance(name, ast.Name)]
        heads = {id(name) for name in ast.walk(getattr(call, "func", call))}
        stored = {name.id for name in names if isinstance(name.ctx, ast.Store)}
        loaded = {name.id for name in names if id(name) in heads or not name.id.isupper()}
        if loaded - stored - known:
            return True
    return any(_may_call(part, known) for part in parts)
