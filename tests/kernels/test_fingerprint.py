"""The cache folder of kernels: another one after an edit that kernels can see, and only then."""

import ast
import os

import pytest

from cosimlib.kernels import fingerprint, jit
from cosimlib.kernels.jit import cache_folder

CALLED = """
from cosimlib.kernels.jit import kernel


@kernel
def twice(value):
    return 2 * value
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
    (small / "told.py").write_text('"""Words."""\nimport math\ndef kernel(): return math.pi\n')
    assert folder_of(small) == before
    (small / "more.py").write_text(CALLED)
    assert folder_of(small) != before


def test_what_only_shows_results_is_not_seen():
    """A new constant or import of a figure or an explorer throws no kernels away."""
    trees = {name: ast.parse(text) for name, text in fingerprint._sources().items()}
    holding = {name for name, tree in trees.items() if fingerprint._holds_kernels(tree)}
    imports = {name: fingerprint._imported(name, tree, trees) for name, tree in trees.items()}
    seen = fingerprint._reached(holding, imports)
    assert "cosimlib/batch/queue.py" in holding and "cosimlib/units.py" in seen
    assert not [name for name in seen if name.split("/")[1] in ("explorers", "figures")]


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
