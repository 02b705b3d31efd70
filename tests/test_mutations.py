"""The script that changes kernels: each change is one, in a file that still compiles."""

import ast

from cosimlib.kernels.fingerprint import PACKAGE
from tests.mutants import mutations_of
from tests.mutations import earlier, rooms_of

FILE = PACKAGE / "kernels" / "releases.py"


def test_every_mutation_changes_one_kernel_of_a_file_that_compiles():
    mutations = list(mutations_of(FILE))
    assert len({each.key for each in mutations}) == len(mutations) > 20
    whole = ast.parse(FILE.read_text(encoding="utf-8"))
    for each in mutations:
        changed = ast.parse(each.text())
        other = [
            new.name
            for old, new in zip(whole.body, changed.body, strict=True)
            if ast.dump(old) != ast.dump(new)
        ]
        assert other == [each.kernel], each


def test_what_is_changed_is_told():
    told = [each.change for each in mutations_of(FILE)]
    assert "size + 1 -> size - 1" in told and "size + 1 -> size + 2" in told
    assert any(change.endswith("-> dropped") for change in told)
    assert all(" -> " in change for change in told)
    places = {(each.kernel, each.change) for each in mutations_of(FILE)}
    assert len(places) == len(told), "no two changes of a kernel are told alike"


def test_results_are_found_again_by_name(tmp_path):
    path = tmp_path / "results.jsonl"
    assert earlier(path) == {}
    path.write_text('{"key": "a", "caught": false}\n{"key": "a", "caught": true}\n')
    assert earlier(path) == {"a": {"key": "a", "caught": True}}
    assert rooms_of("cosimlib/batch/plan.py") == ("tests/batch",)


def test_shared_kernels_are_judged_by_tests_of_rooms_that_use_them():
    for module in ("queue", "shifts", "sorting"):
        assert rooms_of(f"cosimlib/kernels/{module}.py") == ("tests/kernels", "tests/batch")
    assert rooms_of("cosimlib/kernels/copying.py") == (
        "tests/kernels", "tests/elastic", "tests/eviction"
    )  # fmt: skip
