"""`kernel`: compiled once, cached on disk, and never stale."""

import ast
import os
import shutil
import subprocess
import sys

import pytest

from cosimlib.kernels.jit import PACKAGE, SEEN_BY_KERNELS, kernel
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
    env = {**os.environ, "PYTHONPATH": str(house), "XDG_CACHE_HOME": str(house / "user")}
    env.pop("NUMBA_CACHE_DIR", None)
    process = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=house,
        env=env | environment,
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    result, hits, misses, package, folder = process.stdout.strip().split("|")
    assert package == str(house / "cosimlib"), "the copy is what ran"
    return int(result), int(hits), int(misses), folder


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
            and any(getattr(mark, "id", "") == "kernel" for mark in function.decorator_list)
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
                assert name not in names - {"kernel"} or files & seen, f"{path}: {name}"
