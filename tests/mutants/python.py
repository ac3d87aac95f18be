"""Cuts of a Python source: comparisons swapped, + for -, `max` and `min` gone, statements gone.

Messages, logging and what runs at import are left alone: no promise hangs on them.
"""

import ast
import copy
from collections.abc import Iterator

from tests.mutants.cut import Cut, of

SWAPS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
SIGNS: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}
QUIET = ("_log.", "structlog.")


def cuts(source: str) -> list[Cut]:
    """In the order of the source."""
    finder = _Finder(source)
    finder.visit(ast.parse(source))
    return sorted(finder.found, key=lambda cut: (cut.start, cut.end, cut.new))


class _Finder(ast.NodeVisitor):
    def __init__(self, source: str) -> None:
        self.found: list[Cut] = []
        self._source = source
        self._lines = [0]  # where each begins
        for line in source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self._within: list[str] = []
        self._functions = 0

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.JoinedStr | ast.Assert | ast.AnnAssign) and not self._is_set(node):
            return  # f-strings have no places of their own before Python 3.12
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            self._into(node)
            return
        if self._functions:
            for new in _instead(node):
                start, end = self._place(node)
                self.found.append(of(self._source, start, end, new, ".".join(self._within)))
            if _is_logging(node):
                return
        self.generic_visit(node)

    def _into(self, node: ast.FunctionDef | ast.ClassDef) -> None:
        is_function = isinstance(node, ast.FunctionDef)
        self._within.append(node.name)
        self._functions += is_function
        for each in node.body:
            self.visit(each)
        self._functions -= is_function
        self._within.pop()

    def _is_set(self, node: ast.AST) -> bool:
        return isinstance(node, ast.AnnAssign) and self._functions > 0

    def _place(self, node: ast.AST) -> tuple[int, int]:
        assert isinstance(node, ast.expr | ast.stmt)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._offset(node.lineno, node.col_offset), self._offset(node.end_lineno, node.end_col_offset)

    def _offset(self, line: int, column: int) -> int:
        """ast counts columns in bytes."""
        begin = self._lines[line - 1]
        text = self._source[begin : self._lines[line]]
        return begin + len(text.encode()[:column].decode())


def _instead(node: ast.AST) -> Iterator[str]:
    """What may stand in its place."""
    if isinstance(node, ast.Compare):
        for at, operator in enumerate(node.ops):
            changed = copy.deepcopy(node)
            changed.ops[at] = SWAPS[type(operator)]()
            yield ast.unparse(changed)
    elif isinstance(node, ast.BinOp) and type(node.op) in SIGNS and not _is_text(node.left, node.right):
        changed_sum = copy.deepcopy(node)
        changed_sum.op = SIGNS[type(node.op)]()
        yield ast.unparse(changed_sum)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"max", "min"}:
        if len(node.args) > 1 and not any(isinstance(each, ast.Starred) for each in node.args):
            yield from (f"({ast.unparse(each)})" for each in node.args)
    elif _is_droppable(node):
        yield "pass"


def _is_droppable(node: ast.AST) -> bool:
    """A statement without which the rest still runs."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call) and not _is_logging(node)
    if isinstance(node, ast.Assign):
        return all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets)
    return isinstance(node, ast.AugAssign | ast.Raise | ast.Continue | ast.Break)


def _is_logging(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and ast.unparse(node).startswith(QUIET)


def _is_text(*operands: ast.expr) -> bool:
    return any(
        isinstance(each, ast.JoinedStr | ast.List | ast.Tuple)
        or (isinstance(each, ast.Constant) and isinstance(each.value, str | bytes))
        for each in operands
    )
