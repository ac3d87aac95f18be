"""The statements of a module, nested ones too: functions, classes and imports are among them, and nothing else has to
be looked at."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


@cache
def tree(path: Path) -> ast.Module:
    """The module in a file, for all tests that look at it: parsing all of Tiptoe takes a second. Nobody changes it."""
    return ast.parse(path.read_text(encoding="utf-8"))


def statements(source: str | Path) -> Iterator[ast.AST]:
    """The module, its statements, and the clauses that hold some, without expressions: these are nine of ten nodes."""
    yield from _within(ast.parse(source) if isinstance(source, str) else tree(source))


def _within(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for block in BLOCKS:
        for each in getattr(node, block, ()):
            yield from _within(each)
