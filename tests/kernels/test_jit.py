"""`kernel`: compiled once, cached on disk, and never stale."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from numba.core.errors import NumbaError

from cosimlib.kernels.jit import cache_folder, frugal_kernel, kernel
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
    for name in ("__init__.py", "jit.py", "fingerprint.py"):
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
def test_an_edit_of_a_kernel_in_another_file_is_noticed_and_one_of_a_docstring_is_not(house):
    called = house / "cosimlib" / "kernels" / "called.py"
    assert run(house)[:3] == (41, 0, 1)
    called.write_text(f'"""Words."""\n{CALLED}')
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


def test_a_frugal_kernel_computes_what_its_python_says_in_the_arrays_that_it_is_given():
    @frugal_kernel
    def gather(rows):
        last = rows.shape[0] - 1
        for row in range(last):
            for column in range(rows.shape[1]):
                rows[last, column] += row * rows[row, column]
        return last

    given, expected = (np.arange(12.0).reshape(4, 3) for _ in range(2))
    expected[3] += expected[1] + 2 * expected[2]
    assert gather(given) == 3
    np.testing.assert_array_equal(given, expected)
    assert getattr(gather, "py_func", gather)(given) == 3


@compiled
def test_a_frugal_kernel_is_cached_like_any_other_and_cannot_make_arrays():
    """Where arrays are not counted, Numba knows no way to make one."""

    def wasteful(n):
        return np.zeros(n)

    frugal = frugal_kernel(wasteful)
    assert frugal.stats.cache_path.startswith(str(cache_folder()))
    assert frugal.targetoptions["nogil"]
    with pytest.raises(NumbaError, match="No implementation of function"):
        frugal(3)
