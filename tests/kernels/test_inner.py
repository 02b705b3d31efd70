"""Kernels without wrappers: only kernels call them, with constants or not.

Python that called one would crash.
"""

import ast
from functools import cache
from pathlib import Path

import pytest

from cosimlib.kernels.fingerprint import KERNELS
from cosimlib.kernels.jit import inner_kernel, is_interpreted, kernel
from tests.suites import ROOT

PACKAGE = ROOT / "cosimlib"
INNER = {"allocating_kernel", "embedded_kernel", "inlined_kernel", "inner_kernel"}


def decorators(node: ast.FunctionDef) -> set[str]:
    return {each.id for each in node.decorator_list if isinstance(each, ast.Name)}


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def functions(path: Path) -> list[ast.FunctionDef]:
    return [node for node in nodes(path) if isinstance(node, ast.FunctionDef)]


def called(tree: ast.AST, modules: set[str]) -> set[str]:
    """The functions that a piece of source calls by name, or as attributes of these modules."""
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = {func.id for func in calls if isinstance(func, ast.Name)}
    parts = [func for func in calls if isinstance(func, ast.Attribute)]
    return names | {
        f.attr for f in parts if isinstance(f.value, ast.Name) and f.value.id in modules
    }


@pytest.mark.parametrize(
    "room", ["coscheduling", "elastic", "eviction", "filling", "ondemand", "timesharing"]
)
def test_only_kernels_call_inner_kernels(room):
    """Within the room, whose inner kernels nobody else imports."""
    paths = sorted((PACKAGE / room).glob("*.py"))
    inner = {node.name for path in paths for node in functions(path) if INNER & decorators(node)}
    assert inner
    for path in paths:
        for node in functions(path):
            if not decorators(node) & KERNELS:
                found = called(node, {each.stem for each in paths}) & inner
                assert not found, f"{path.name}: {node.name} calls inner kernels {found}"
    others = [path for path in PACKAGE.rglob("*.py") if path not in paths]
    modules = {f"cosimlib.{room}.{path.stem}" for path in paths}
    for path in others:
        for node in nodes(path):
            if isinstance(node, ast.ImportFrom) and node.module in modules:
                assert not inner & {alias.name for alias in node.names}, path


@inner_kernel
def shifted(value, by, upwards):
    return value + by if upwards else value - by


@kernel
def shift_all(value):
    total, by = 0.0, 0
    while by < 3:
        total += shifted(value, by, True) - shifted(value, 2, False)
        by += 1
    return total


@pytest.mark.skipif(is_interpreted(), reason="nothing is compiled here")
def test_a_kernel_is_compiled_once_for_all_constants_that_it_is_given():
    assert shift_all(5.0) == 9.0
    assert len(shifted.signatures) <= 1  # none where an earlier run left what calls it
