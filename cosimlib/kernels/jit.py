"""Just-in-time compilation by Numba, with a disk cache that cannot be stale.

Numba's own cache looks at the file that holds a function. It does not notice an edit in another
file that the function calls into, and quietly runs the old code. So the cache folder is named by a
hash of the texts of all files that hold kernels, or the named tuples and constants that these take.

Python calls a compiled function through a wrapper, which takes about as long to compile as a small
kernel itself. Most kernels are only called by other kernels, which need no wrapper. So a `Kernel`
keeps two compiled forms: one for calls from Python, and one for calls from kernels. Each is
compiled when it is first called.

Numba would optimise the form for kernels, make machine code of it, and then do both again in every
kernel that calls it, and in every one that calls that. So this form is only translated to LLVM's
language and linked, and the kernel that Python calls is optimised with all that it calls, once.

Numba counts who holds an array, to free it after the last one: at each call that takes it, each
name that it gets, and each field of a named tuple that is read. The counter is an atomic one. Where
kernels hand on many arrays that took a third to a half of the time. But a kernel that makes no
array only borrows those of its caller, who outlives it. So `kernel` counts nothing, and what makes
arrays or lists, hands one back, or calls something that does, is an `allocating_kernel`.
"""

import atexit
import gc
import hashlib
import os
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

import numba
from llvmlite.binding import parse_assembly
from numba import types
from numba.core.caching import FunctionCache, NullCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher

PACKAGE = Path(__file__).resolve().parents[1]
SEEN_BY_KERNELS = re.compile(rb"^ *@(allocating_)?kernel$|\(NamedTuple\):$", re.MULTILINE)
"""A line that every file has which holds kernels, or what they see of other files."""
KEEP_SECONDS = 24 * 3600.0

OPTIONS = {"nopython": True, "nogil": True, "boundscheck": None, "no_cfunc_wrapper": True}
"""Nothing calls a kernel from C, which would need a wrapper of its own."""

BORROWING = OPTIONS | {"_nrt": False}
"""Without Numba's runtime (NRT), which allocates arrays and counts references to them."""

ENVIRONMENT = "_ZN08NumbaEnv"
"""How the name of a variable begins that holds the environment of a compiled function."""

_warned: set[Path] = set()
"""Folders of which a warning was given."""

Function = TypeVar("Function", bound=Callable)


def kernel(function: Function) -> Function:
    """`function` compiled by Numba without the GIL, cached on disk until a kernel's file changes.

    A kernel calls other kernels by name. It takes arrays and numbers, never a function. It changes
    the arrays that it is given, and makes and returns none.
    """
    return function if is_interpreted() else Kernel(function)


def allocating_kernel(function: Function) -> Function:
    """A `kernel` that makes arrays or lists, or calls one that does."""
    return function if is_interpreted() else Kernel(function, targetoptions=OPTIONS)


class Kernel(CPUDispatcher):
    """A function that Numba compiles, once for calls from Python and once for calls from kernels.

    `inner` has the form for calls from kernels. It has no wrapper for Python, and a call from
    Python without one would be a segmentation fault. So `inner` is never handed out: whoever names
    this kernel in Python gets the form for Python, and Numba, which asks for the type of the name
    when it compiles a call, is given the type of `inner`.
    """

    def __init__(
        self, function: Callable, locals: Any = None, targetoptions: Any = BORROWING
    ) -> None:
        super().__init__(function, locals, targetoptions)
        # The source that is compiled is the one of this moment, whenever that happens.
        self.folder = cache_folder(package_of(function))

    @cached_property
    def inner(self) -> "InnerKernel":
        """The form for calls from kernels."""
        return InnerKernel(
            self.py_func,
            targetoptions=self.targetoptions | {"no_cpython_wrapper": True},
            pipeline_class=InnerCompiler,
        )

    @property
    def _numba_type_(self) -> types.Dispatcher:
        """The type of this kernel's name in code that Numba compiles."""
        return types.Dispatcher(self.inner)

    def compile(self, sig: Any) -> Any:
        """Compile the form for Python for these types of arguments, or load it."""
        if isinstance(self._cache, NullCache):
            _cache_in(self, self.folder)
        with _no_garbage_collection():
            return super().compile(sig)


class InnerKernel(CPUDispatcher):
    """The form of a kernel for calls from kernels: one for all constants of a type."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Compile for the types of constants, not for their values, as Numba alone would."""
        plain = {name: types.unliteral(kind) for name, kind in kws.items()}
        return super().get_call_template(tuple(map(types.unliteral, args)), plain)


class InnerCompiler(Compiler):
    """Numba's compiler, which puts what it makes of a kernel into a `LinkedLibrary`."""

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *others: Any) -> None:
        library = LinkedLibrary(targetctx.codegen(), "inner") if library is None else library
        super().__init__(typingctx, targetctx, library, *others)


class LinkedLibrary(JITCodeLibrary):
    """Code of a kernel and of those that it calls, for a library that links it; not to be run.

    It follows Numba's `CPUCodeLibrary.finalize`, but for the optimisation and the machine code.
    """

    def finalize(self) -> None:
        """Link what the kernel calls."""
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._define_environments()
        self._finalized = True

    def _define_environments(self) -> None:
        """Define the kernel's environment, which Numba sets as soon as the kernel is compiled."""
        names = [variable.name for variable in self._final_module.global_variables]
        engine = self._codegen._engine
        for name in names:
            if name.startswith(ENVIRONMENT) and not engine.is_symbol_defined(name):
                self._codegen._add_module(parse_assembly(f'@"{name}" = common global ptr null'))
        engine.finalize_object()


class KernelCache(FunctionCache):
    """Numba's cache of one kernel; where it cannot be used, the kernel is compiled without it."""

    def load_overload(self, *args: Any) -> Any:
        """The compiled form for some types of arguments; None where there is none to be had.

        What is damaged is dropped, so that it is compiled and saved again.
        """
        try:
            return super().load_overload(*args)
        except Exception as error:
            _warn_of_cache(cache_folder(), error)
        try:
            self.flush()
        except OSError:
            self.disable()
        return None

    def save_overload(self, *args: Any) -> None:
        """Save a compiled form for some types of arguments."""
        try:
            super().save_overload(*args)
        except Exception as error:
            _warn_of_cache(cache_folder(), error)
            self.disable()


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Pause the search for garbage, which finds little and takes a twelfth of a compilation."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def is_interpreted() -> bool:
    """Whether Numba is set to compile nothing, so that kernels are Python."""
    return bool(numba.config.DISABLE_JIT)


def package_of(function: Callable) -> str:
    """The name of the package of a function, such as ``"cosimlib"``; empty if it has no module."""
    return (function.__module__ or "").partition(".")[0]


@cache
def cache_folder(package: str = PACKAGE.name) -> Path:
    """Folder of kernels compiled from the present source of this package, and of another one.

    It is beside this package's source or, where that cannot be written, in the user's cache. The
    folder of another package, whose kernels may call ours, is in it. A script is no package: its
    kernels are in this package's folder, and Numba notices an edit of the script itself.
    """
    if package != PACKAGE.name:
        folders = list(getattr(sys.modules.get(package), "__path__", []))
        if folders:
            return cache_folder() / f"{package}-{_digest(*map(Path, folders))}"
        return cache_folder()
    name = f"kernels-{_digest(PACKAGE)}"
    for root in (PACKAGE / "__pycache__", *_user_caches()):
        folder = root / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # An empty file can be made even where the disk is full.
            (folder / ".probe").write_bytes(bytes(4096))
        except OSError:
            continue
        _remove_old(root, folder)
        return folder
    folder = Path(tempfile.mkdtemp(prefix="cosimlib-kernels-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _digest(*folders: Path) -> str:
    """Hash of the texts in some folders that hold kernels, or what kernels see of other files."""
    texts = [path.read_bytes() for folder in folders for path in sorted(folder.rglob("*.py"))]
    seen = [text for text in texts if SEEN_BY_KERNELS.search(text)]
    return hashlib.sha256(repr(seen).encode()).hexdigest()[:16]


def _cache_in(dispatcher: CPUDispatcher, folder: Path) -> None:
    """Let a dispatcher keep what it compiles in a folder, if that can be written."""
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        dispatcher._cache = KernelCache(dispatcher.py_func)
    except (OSError, RuntimeError) as error:
        _warn_of_cache(cache_folder(), error)
    finally:
        numba.config.CACHE_DIR = previous


def _warn_of_cache(folder: Path, error: Exception) -> None:
    """Warn, once per process and folder, that kernels are compiled without it."""
    if folder not in _warned:
        _warned.add(folder)
        warnings.warn(
            f"the cache of kernels in {folder} cannot be used ({type(error).__name__}: {error}): "
            "kernels are compiled again; free space on that disk, or delete the folder",
            stacklevel=2,
        )


def _user_caches() -> list[Path]:
    """The user's cache folder, where there is one."""
    named = os.environ.get("XDG_CACHE_HOME")
    if named:
        return [Path(named) / "cosimlib"]
    try:
        return [Path.home() / ".cache" / "cosimlib"]
    except RuntimeError:
        return []


def _remove_old(root: Path, current: Path) -> None:
    """Remove folders of other sources that have not been used for a day."""
    for probe in root.glob("kernels-*/.probe"):
        try:
            if probe.parent != current and time.time() - probe.stat().st_mtime > KEEP_SECONDS:
                shutil.rmtree(probe.parent, ignore_errors=True)
        except OSError:
            continue
