"""Lines of commands fit 80 columns, but for a long name, path or URL. Errors may be longer: they are one line each."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COLUMNS, VALUE = 80, "12345678"  # a value as it may come: a count, a short name
PRINTS = frozenset({"say", "answer", "log", "heading"})


def words(node: ast.expr) -> str:
    """The text of an expression, with VALUE for what is not known yet; of two texts the longer one."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(words(each) for each in values)
        case ast.BinOp(left=left, right=right):
            return words(left) + words(right)
        case ast.IfExp(body=body, orelse=other):
            return max(words(body), words(other), key=len)
        case ast.FormattedValue(value=ast.IfExp() | ast.JoinedStr() as inner):
            return words(inner)
        case _:
            return VALUE


def lines(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id=name), args=[text, *_]) if name in PRINTS:
                yield from words(text).splitlines()
            case ast.Yield(value=ast.JoinedStr() | ast.Constant() as text):
                yield from words(text).splitlines()


def test_what_is_printed_is_found() -> None:
    source = "say(f'{a} and {b if c else \"no others\"}')\nlog('x' if y else 'long')\nanswer(z)\nprint('not this')"
    assert list(lines(source)) == [f"{VALUE} and no others", "long", VALUE]


@pytest.mark.parametrize(("room", "least"), [("cli", 100), ("local", 5)])
def test_lines_fit_80_columns(room: str, least: int) -> None:
    files = sorted((ROOT / "app" / room).rglob("*.py"))
    found = [(path.name, line) for path in files for line in lines(path.read_text())]
    assert len(found) >= least
    assert [each for each in found if len(each[1]) > COLUMNS] == []
