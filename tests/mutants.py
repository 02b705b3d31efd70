"""Mutations of kernels: every single change of one place, such as an operator or a constant."""

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cosimlib.kernels.fingerprint import FUNCTION, KERNELS, PACKAGE

ROOT = PACKAGE.parent
OTHER = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
"""The operator that stands in for one."""
OPPOSITE = {"min": "max", "max": "min", "argmin": "argmax", "argmax": "argmin"}


class Mutation(NamedTuple):
    """One change of one kernel: where, what, and a name that stays as long as the kernel does.

    Where a kernel has the same in several places, [2] marks the second, and so on.
    """

    file: str
    kernel: str
    line: int
    change: str
    key: str
    changed: ast.FunctionDef

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.kernel}: {self.change}"

    def text(self) -> str:
        """The whole file with the change."""
        tree = ast.parse((ROOT / self.file).read_text(encoding="utf-8"))
        names = [getattr(node, "name", "") for node in tree.body]
        tree.body[names.index(self.kernel)] = self.changed
        return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def mutations_of(path: Path) -> Iterator[Mutation]:
    """Every mutation of every kernel in a file of the package."""
    tree, name = ast.parse(path.read_text(encoding="utf-8")), path.relative_to(ROOT).as_posix()
    for function in [node for node in tree.body if _is_kernel(node)]:
        source, times = f"{name}\n{ast.unparse(function)}", Counter[str]()
        for number, node in enumerate(_inside(function)):
            for variant, change in enumerate(_changes(node)):
                other = copy.deepcopy(function)
                told = change(_inside(other)[number], other)
                times[told] += 1
                told += f" [{times[told]}]" if times[told] > 1 else ""
                key = hashlib.sha256(f"{source}\n{number}.{variant}".encode()).hexdigest()[:12]
                yield Mutation(name, function.name, node.lineno, told, key, other)


def _is_kernel(node: ast.AST) -> bool:
    """Whether a statement defines a kernel."""
    labels = [ast.unparse(each).split("(")[0] for each in getattr(node, "decorator_list", [])]
    return isinstance(node, FUNCTION) and bool(KERNELS.intersection(labels))


def _inside(function: ast.AST) -> list[ast.AST]:
    """What can be changed in a kernel: its body without docstring and annotations, in one order."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return [node for statement in body for node in ast.walk(statement) if hasattr(node, "lineno")]


def _changes(node: ast.AST) -> list:
    """Functions that change such a node, in its function, and tell what they did."""
    match node:
        case ast.BinOp() | ast.AugAssign() if type(node.op) in OTHER:
            drop = [_drop] if isinstance(node, ast.AugAssign) else []
            return [_change_operator, *drop]
        case ast.BoolOp():
            return [_change_operator]
        case ast.Compare() if type(node.ops[0]) in OTHER:
            return [_change_comparison, _negate]
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in OPPOSITE:
            return [_change_extreme]
        case ast.Constant(value=bool() | int() | float()):
            return [_change_constant]
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]) | ast.Expr(value=ast.Call()):
            return [_drop]
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            return [_drop_sign]
    return []


def _change_operator(node: ast.AST, function: ast.AST) -> str:
    before = ast.unparse(node)
    node.op = OTHER[type(node.op)]()
    return f"{before} -> {ast.unparse(node)}"


def _change_comparison(node: ast.AST, function: ast.AST) -> str:
    before = ast.unparse(node)
    node.ops[0] = OTHER[type(node.ops[0])]()
    return f"{before} -> {ast.unparse(node)}"


def _negate(node: ast.AST, function: ast.AST) -> str:
    """The comparison the other way round: ``<`` becomes ``>=``."""
    before = ast.unparse(node)
    negative = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt,
                ast.Eq: ast.Gt, ast.NotEq: ast.Lt}  # fmt: skip
    node.ops[0] = negative[type(node.ops[0])]()
    return f"{before} -> {ast.unparse(node)}"


def _change_extreme(node: ast.AST, function: ast.AST) -> str:
    before, called = ast.unparse(node), node.func
    if isinstance(called, ast.Name):
        called.id = OPPOSITE[called.id]
    else:
        called.attr = OPPOSITE[called.attr]
    return f"{before} -> {ast.unparse(node)}"


def _change_constant(node: ast.AST, function: ast.AST) -> str:
    """Told with what it is part of, for most kernels have several constants that are equal."""
    parts = (part for part in ast.walk(function) if node in ast.iter_child_nodes(part))
    around = next(parts, node)
    shown = around if isinstance(around, ast.expr | ast.Assign | ast.AugAssign) else node
    before = ast.unparse(shown)
    node.value = not node.value if isinstance(node.value, bool) else node.value + 1
    return f"{before} -> {ast.unparse(shown)}"


def _drop_sign(node: ast.AST, function: ast.AST) -> str:
    before = ast.unparse(node)
    node.op = ast.UAdd() if isinstance(node.op, ast.USub) else node.op
    if isinstance(node.op, ast.Not):
        node.operand = ast.UnaryOp(ast.Not(), node.operand)
    return f"{before} -> {ast.unparse(node)}"


def _drop(node: ast.AST, function: ast.AST) -> str:
    before = ast.unparse(node)
    for parent in ast.walk(function):
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(parent, field, None)
            if isinstance(statements, list) and node in statements:
                statements[statements.index(node)] = ast.Pass()
    return f"{before} -> dropped"
