"""`kernel`: compiled once, cached on disk, and never stale."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from numba.core.errors import NumbaError

from cosimlib.kernels import fingerprint, jit
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

SMALL = {
    "limits.py": """
from typing import NamedTuple
from cosimlib.numbers import ONE as FIRST, doubled
LIMIT = 5
class Pair(NamedTuple):
    "Two numbers."
    first: float
    second: float
    @property
    def both(self): return self.first + self.second
""",
    "numbers.py": """
ONE, TWO = 1, 2
def doubled(value): return 2 * value
""",
    "kernels/called.py": CALLED,
    "kernels/calling.py": """
from cosimlib.kernels import called
from cosimlib.kernels.jit import kernel
from cosimlib.limits import FIRST, LIMIT, Pair
def face(value): return limited(value)
@kernel
def limited(value, more=1):
    "A docstring."
    return Pair(min(called.twice(value) + FIRST, LIMIT), more)
""",
}

SEEN = {
    "a kernel in another file": ("kernels/called.py", "2 * value", "3 * value"),
    "another kind of kernel": ("kernels/called.py", "kernel", "frugal_kernel"),
    "a default": ("kernels/calling.py", "more=1", "more=2"),
    "a constant in another file": ("limits.py", "LIMIT = 5", "LIMIT = 6"),
    "its type": ("limits.py", "LIMIT = 5", "LIMIT = 5.0"),
    "a constant two files away": ("numbers.py", "ONE, TWO = 1", "ONE, TWO = 7"),
    "the order of fields": ("limits.py", "first: float\n    second:", "second: float\n    first:"),
    "the name of a field": ("limits.py", "second: float", "third: float"),
    "a renamed import": ("kernels/calling.py", "LIMIT, Pair", "FIRST as LIMIT, Pair"),
    "a renamed import in a file without kernels": ("limits.py", "ONE as FIRST", "TWO as FIRST"),
    "a constant that is now computed": ("limits.py", "LIMIT = 5", "LIMIT = doubled(3)"),
}

CONSTANTS = {
    "LIMIT = doubled(3)": True,
    "LIMIT = max(map(doubled, (1, 2, 3)))": True,
    "again = doubled\nLIMIT = again(3)": True,
    "for number in range(2):\n    LIMIT = doubled(number)": True,
    "import math\nLIMIT = max(math.floor(5.5), 2)": False,
    "a syntax error": True,
}

UNSEEN = {
    "a kernel's docstring": ("kernels/calling.py", "A docstring.", "Other words."),
    "a class's docstring": ("limits.py", "Two numbers.", "Other words."),
    "a comment": ("numbers.py", "ONE, TWO", "# The first two.\nONE, TWO"),
    "a function": ("numbers.py", "2 * value", "3 * value"),
    "a function beside a kernel": ("kernels/calling.py", "limited(value)\n", "limited(3)\n"),
    "a property of a named tuple": ("limits.py", "self.first + ", "self.first * "),
}

compiled = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="NUMBA_DISABLE_JIT: nothing is compiled"
)


@pytest.fixture
def house(tmp_path):
    """A copy of the package with one kernel that calls another in another file."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "cosimlib", tmp_path / "cosimlib", ignore=ignored)
    (tmp_path / "cosimlib" / "kernels" / "called.py").write_text(CALLED)
    (tmp_path / "cosimlib" / "calling.py").write_text(CALLER)
    return tmp_path


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A package of a few files in the place of ours."""
    package = tmp_path / "cosimlib"
    (package / "kernels").mkdir(parents=True)
    for name, text in SMALL.items():
        (package / name).write_text(text)
    monkeypatch.setattr(fingerprint, "PACKAGE", package)
    yield package
    forget()


def forget():
    """Make the next question for a hash look at the files again."""
    for remembered in ("_sources", "source_hash", "kernel_hash"):
        getattr(fingerprint, remembered).cache_clear()
    jit.cache_folder.cache_clear()


def folder_of(package):
    """The cache folder that a new process would find."""
    forget()
    return str(cache_folder().relative_to(package / "__pycache__"))


def edit(package, name, old, new):
    """Replace `old`, which must be there."""
    text = (package / name).read_text()
    assert old in text
    (package / name).write_text(text.replace(old, new))


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


@pytest.mark.parametrize("change", SEEN)
def test_what_kernels_see_begins_a_new_folder_and_its_return_finds_the_old_one(small, change):
    before = folder_of(small)
    name, old, new = SEEN[change]
    edit(small, name, old, new)
    assert folder_of(small) != before
    (small / name).write_text(SMALL[name])
    assert folder_of(small) == before


@pytest.mark.parametrize("change", UNSEEN)
def test_what_kernels_do_not_see_keeps_the_folder(small, change):
    before = folder_of(small)
    edit(small, *UNSEEN[change])
    assert folder_of(small) == before


@pytest.mark.parametrize("constant", CONSTANTS)
def test_functions_count_where_a_constant_may_come_from_them(small, constant):
    edit(small, "limits.py", "LIMIT = 5", constant)
    before = folder_of(small)
    edit(small, *UNSEEN["a function"])
    assert (folder_of(small) != before) == CONSTANTS[constant]


def test_a_new_file_begins_a_new_folder_only_if_it_holds_kernels(small):
    before = folder_of(small)
    (small / "told.py").write_text('"""Words."""\nimport math\n\n\ndef f():\n    return math.pi\n')
    assert folder_of(small) == before
    (small / "more.py").write_text(CALLED)
    assert folder_of(small) != before


def test_the_hash_is_remembered_until_a_file_changes(small, monkeypatch):
    before = folder_of(small)
    monkeypatch.setattr(fingerprint.ast, "parse", None)
    assert folder_of(small) == before
    edit(small, *UNSEEN["a function"])
    with pytest.raises(TypeError):
        folder_of(small)


def test_a_damaged_memory_is_not_believed(small):
    before = folder_of(small)
    (memory,) = (small / "__pycache__").glob("sources-*")
    memory.write_text("../elsewhere")
    assert folder_of(small) == before == f"kernels-{memory.read_text()}"


def test_folders_and_hashes_are_forgotten_after_a_day_without_use(small):
    root = small / "__pycache__"
    first = folder_of(small)
    edit(small, *SEEN["a constant in another file"])
    assert (second := folder_of(small)) != first
    assert len([*root.glob("kernels-*"), *root.glob("sources-*")]) == 4
    for path in (*root.glob("kernels-*/.probe"), *root.glob("sources-*")):
        os.utime(path, (0, 0))
    assert folder_of(small) == second
    assert [path.name for path in root.glob("kernels-*")] == [second]
    assert len([*root.glob("sources-*")]) == 1


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
