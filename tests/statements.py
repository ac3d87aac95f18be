"""The statements of a module, nested ones too: functions, classes and imports are among them, and nothing else has to
be looked at."""

import ast
from collections.abc import Iterator
from pathlib import Path

BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def statements(source: str | Path) -> Iterator[ast.AST]:
    """The module, its statements, and the clauses that hold some, without expressions: these are nine of ten nodes."""
    yield from _within(ast.parse(source if isinstance(source, str) else source.read_text(encoding="utf-8")))


def _within(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for block in BLOCKS:
        for each in getattr(node, block, ()):
            yield from _within(each)
