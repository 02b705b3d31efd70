"""`kernel`: compiled once, cached on disk, and never stale."""

import ast
import importlib
import inspect
import os
import pkgutil
import resource
import shutil
import subprocess
import sys
import textwrap
from typing import get_args, get_type_hints

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaRuntimeError
from numba.core.runtime import _nrt_python, rtsys

import cosimlab
import cosimlib
import papers
from cosimlib.kernels.jit import (
    OPTIONS,
    PACKAGE,
    SEEN_BY_KERNELS,
    Kernel,
    allocating_kernel,
    kernel,
)
from tests.suites import ROOT

CALLED = """
from cosimlib.kernels.jit import kernel


@kernel
def twice(value):
    return 2 * value
"""

CALLER = """
from cosimlib.kernels import called
from cosimlib.kernels.jit import kernel


@kernel
def twice_and_one(value):
    return called.twice(value) + 1
"""

WORKBENCH = """
from cosimlib.kernels import called
from cosimlib.kernels.jit import kernel


@kernel
def thrice(value):
    return called.twice(value) + value
"""

SCRIPT_OF_TWO_PACKAGES = """
import cosimlab
from cosimlab import kernels
from cosimlib.kernels import called

print(kernels.thrice(20), called.twice(20), called.twice(30), end="|")
stats = kernels.thrice.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()), stats.cache_path, sep="|")
"""

SCRIPT = """
import cosimlib
from cosimlib import calling
from cosimlib.kernels.jit import cache_folder

result = calling.twice_and_one(20)
stats = calling.twice_and_one.stats
print(result, sum(stats.cache_hits.values()), sum(stats.cache_misses.values()), sep="|", end="|")
print(cosimlib.__path__[0], cache_folder(), sep="|")
"""

compiled = pytest.mark.compiled("nothing is compiled")

DECORATORS = {"kernel", "allocating_kernel"}
NUMBERS = {None, type(None), int, float, bool}


@pytest.fixture
def house(tmp_path):
    """A package of what compiles kernels, and of one that calls another in another file."""
    (tmp_path / "cosimlib" / "kernels").mkdir(parents=True)
    (tmp_path / "cosimlib" / "__init__.py").touch()
    for name in ("__init__.py", "jit.py"):
        source = ROOT / "cosimlib" / "kernels" / name
        shutil.copy(source, tmp_path / "cosimlib" / "kernels")
    (tmp_path / "cosimlib" / "kernels" / "called.py").write_text(CALLED)
    (tmp_path / "cosimlib" / "calling.py").write_text(CALLER)
    return tmp_path


def run(house, **environment):
    """The result, cache hits, cache misses and cache folder of a process that calls the kernel."""
    result, hits, misses, package, folder = printed(house, SCRIPT, **environment)[0].split("|")
    assert package == str(house / "cosimlib"), "the copy is what ran"
    return int(result), int(hits), int(misses), folder


def printed(house, script, *, longest_file=resource.RLIM_INFINITY, **environment):
    """What a process prints, and its warnings; it writes no file of more than so many bytes."""
    env = {**os.environ, "PYTHONPATH": str(house), "XDG_CACHE_HOME": str(house / "user")}
    env.pop("NUMBA_CACHE_DIR", None)
    process = subprocess.run(
        [sys.executable, "-c", script],
        cwd=house,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (longest_file,) * 2),
        env=env | environment,
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout.strip(), process.stderr


@compiled
def test_an_edit_of_a_kernel_in_another_file_is_noticed_and_one_beside_kernels_is_not(house):
    called = house / "cosimlib" / "kernels" / "called.py"
    assert run(house)[:3] == (41, 0, 1)
    (house / "cosimlib" / "figures.py").write_text("COLOR = 1\n")
    assert run(house)[:3] == (41, 1, 0)
    called.write_text(CALLED.replace("2 * value", "3 * value"))
    assert run(house)[:3] == (61, 0, 1)


@compiled
def test_a_package_folder_that_cannot_be_written_falls_back_to_the_users_cache(house):
    """A file where the folder should be keeps out the superuser, too."""
    (house / "cosimlib" / "__pycache__").touch()
    result, hits, misses, folder = run(house)
    assert (result, hits, misses) == (41, 0, 1)
    assert folder.startswith(str(house / "user" / "cosimlib"))
    assert run(house)[:3] == (41, 1, 0)


@compiled
def test_without_any_cache_folder_kernels_still_run(house):
    (house / "cosimlib" / "__pycache__").touch()
    (house / "user").touch()
    result, _, _, folder = run(house, TMPDIR=str(house))
    assert result == 41
    assert folder.startswith(str(house / "cosimlib-kernels-"))


@compiled
def test_an_edit_in_another_package_is_noticed_and_so_is_one_in_ours(house):
    """Each package has a folder of its own, named by its texts, in the folder named by ours."""
    (house / "cosimlab").mkdir()
    (house / "cosimlab" / "__init__.py").touch()
    other, called = house / "cosimlab" / "kernels.py", house / "cosimlib" / "kernels" / "called.py"
    other.write_text(WORKBENCH)

    def run_both():
        results, hits, misses, folder = printed(house, SCRIPT_OF_TWO_PACKAGES)[0].split("|")
        return results, int(hits), int(misses), folder

    first = run_both()
    assert first[:3] == ("60 40 60", 0, 1)
    assert run_both() == ("60 40 60", 1, 0, first[3])
    (house / "cosimlab" / "figures.py").write_text("COLOR = 1\n")
    assert run_both() == ("60 40 60", 1, 0, first[3])
    other.write_text(WORKBENCH.replace("+ value", "+ value + 1"))
    second = run_both()
    assert second[:3] == ("61 40 60", 0, 1)
    called.write_text(CALLED.replace("2 * value", "3 * value"))
    third = run_both()
    assert third[:3] == ("81 60 90", 0, 1)
    assert len({first[3], second[3], third[3]}) == 3


@compiled
def test_damaged_files_of_the_cache_are_compiled_again_and_replaced(house):
    folder = run(house)[3]
    for suffix, left in (("nbi", 0), ("nbi", 50), ("nbc", 50)):
        damaged = list((house / "cosimlib" / "__pycache__").rglob(f"*.{suffix}"))
        assert len(damaged) == 1, "of the kernel that Python calls; others are within it"
        for path in damaged:
            path.write_bytes(path.read_bytes()[:left])
        output, warnings = printed(house, SCRIPT)
        assert output.startswith("41|0|1|"), (suffix, left)
        assert warnings.count("UserWarning") == 1
        assert f"the cache of kernels in {folder} cannot be used" in warnings
        output, warnings = printed(house, SCRIPT)
        assert output.startswith("41|1|0|"), (suffix, left)
        assert warnings == ""


@compiled
def test_on_a_full_disk_kernels_are_compiled_without_a_cache(house):
    """No file may have more than 1,000 bytes, so that the cache can be made but not written."""
    output, warnings = printed(house, SCRIPT, longest_file=1_000, TMPDIR=str(house))
    assert output.startswith("41|0|1|")
    assert warnings.count("UserWarning") == 1
    assert f"the cache of kernels in {house / 'cosimlib-kernels-'}" in warnings


def all_kernels():
    """Every compiled function that a module of the packages names, by its name."""
    found = {}
    for module in (
        *pkgutil.walk_packages(cosimlib.__path__, "cosimlib."),
        *pkgutil.walk_packages(cosimlab.__path__, "cosimlab."),
        *pkgutil.walk_packages(papers.__path__, "papers."),
    ):
        if not module.name.endswith("__main__"):
            names = vars(importlib.import_module(module.name))
            values = {f"{module.name}.{name}": value for name, value in names.items()}
            found |= {name: one for name, one in values.items() if isinstance(one, Dispatcher)}
    return found


@compiled
def test_no_kernel_without_a_wrapper_can_be_called_from_python():
    """What Python can name has one; the form for calls from kernels has none, and has no name."""
    found = all_kernels()
    assert len(found) > 200
    for name, one in found.items():
        assert isinstance(one, Kernel), name
        assert "no_cpython_wrapper" not in one.targetoptions, name
        assert one.inner.targetoptions["no_cpython_wrapper"], name
        assert one._numba_type_.dispatcher is one.inner, name


@compiled
def test_a_kernel_may_be_called_by_a_kernel_and_from_python_in_any_order():
    @kernel
    def called(value):
        return 2 * value

    @kernel
    def calling(value):
        return called(value) + 1

    assert calling(20) == 41
    assert (called.signatures, len(called.inner.signatures)) == ([], 1)
    assert called(20) == 40
    assert called.inner.signatures == called.signatures
    assert (calling(1.5), called(1.5)) == (4.0, 3.0)


@compiled
def test_a_kernel_is_compiled_once_for_all_constants_of_a_type():
    @kernel
    def added(value, is_twice, extra=0):
        return (2 * value if is_twice else value) + extra

    @kernel
    def calling(value):
        return added(1, True) + added(2, is_twice=False) + added(value, True, extra=3)

    assert calling(4) == 2 + 2 + 11
    kinds = [[str(kind) for kind in one] for one in added.inner.signatures]
    assert sorted(kinds) == [["int64", "bool", "int64"], ["int64", "bool", "omitted(default=0)"]]


@compiled
def test_a_kernel_that_makes_an_array_says_so():
    @allocating_kernel
    def doubled(values):
        return (2 * values).sum()

    @kernel
    def tripled(values):
        return (3 * values).sum()

    assert doubled(np.array([1.0, 2.5])) == 7.0
    with pytest.raises(NumbaRuntimeError, match="NRT required but not enabled"):
        tripled(np.array([1.0, 2.5]))


@compiled
def test_arrays_of_the_caller_outlive_kernels_and_those_that_kernels_make_are_freed(
    request,
):
    """References to the argument are as many as before, and what was made is no more."""

    @kernel
    def fill(values, value):
        for place in range(values.size):
            values[place] = value

    @allocating_kernel
    def total(values):
        parts = np.empty(values.size)
        fill(parts, 2.0)
        fill(values, 1.0)
        return parts.sum() + values[1:].sum()

    _nrt_python.memsys_enable_stats()
    request.addfinalizer(_nrt_python.memsys_disable_stats)
    values = np.zeros(4)
    before, held = rtsys.get_allocation_stats(), sys.getrefcount(values)
    assert total(values) == 8.0 + 3.0
    fill(values, 3.0)
    after = rtsys.get_allocation_stats()
    assert sys.getrefcount(values) == held
    assert after.alloc > before.alloc
    assert after.alloc - before.alloc == after.free - before.free


@compiled
def test_what_hands_arrays_back_or_calls_what_makes_them_is_an_allocating_kernel():
    """A kernel that counts no references would leak such an array, or give it back too early."""
    allocating = {one.py_func for one in all_kernels().values() if one.targetoptions == OPTIONS}
    assert 40 < len(allocating) < 100
    for name, one in all_kernels().items():
        if one.py_func in allocating:
            continue
        hints = get_type_hints(one.py_func)
        assert "return" in hints, name
        kind = hints["return"]
        assert set(get_args(kind) or [kind]) <= NUMBERS, f"{name} returns {kind}"
        made = allocating & functions_called(one.py_func)
        assert not made, f"{name} calls {[called.__name__ for called in made]}"


def functions_called(function):
    """Functions of kernels that a function calls by name."""
    found = set()
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
        if not isinstance(node, ast.Call):
            continue
        module, _, name = ast.unparse(node.func).rpartition(".")
        names = vars(function.__globals__[module]) if module in function.__globals__ else {}
        one = names.get(name) if module else function.__globals__.get(name)
        if isinstance(one, Kernel):
            found.add(one.py_func)
    return found


def test_a_kernel_computes_what_its_python_says():
    @kernel
    def triangle(n):
        total = 0
        for number in range(n + 1):
            total += number
        return total

    assert triangle(100) == 5050
    assert getattr(triangle, "py_func", triangle)(100) == 5050


def test_what_kernels_see_of_other_files_is_part_of_the_folders_name():
    """Constants, named tuples and functions that a kernel names and its file imports."""
    modules = {path: ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}
    seen = {path for path in modules if SEEN_BY_KERNELS.search(path.read_bytes())}
    assert PACKAGE / "batch" / "easy.py" in seen
    for path, module in modules.items():
        found = [
            node
            for function in ast.walk(module)
            if isinstance(function, ast.FunctionDef)
            and any(getattr(mark, "id", "") in DECORATORS for mark in function.decorator_list)
            for node in ast.walk(function)
            if isinstance(node, ast.Name)
        ]
        own = {node.id for node in found if isinstance(node.ctx, ast.Store)}
        names = {node.id for node in found} - own
        for line in module.body:
            if not isinstance(line, ast.ImportFrom) or not str(line.module).startswith("cosimlib"):
                continue
            for imported in line.names:
                name = imported.asname or imported.name
                source = ROOT / str(line.module).replace(".", "/")
                files = {source.with_suffix(".py"), source / f"{imported.name}.py"}
                assert name not in names - DECORATORS or files & seen, f"{path}: {name}"
