"""No pattern is built from what a site sent: a site would choose what it costs, and `re` holds the interpreter.

Every call of `re` in the product is looked for, and its pattern must be written where it is called, or be put together
from texts of ours alone. The list of exceptions says why each is none of a site's, and may only shrink.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted(path for room in ("app", "tiptoe", "workers") for path in (ROOT / room).rglob("*.py"))
CALLS = {"compile", "search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn", "template"}

# file, the names that the pattern is made of → whose text they are
KNOWN = {
    ("app/cli/options.py", "COMMANDS"): "our commands",
    ("app/cli/out.py", "width"): "the width of a terminal",
    ("app/features/extract/handlers.py", "pattern"): "the user's handler",
    ("app/model/handler.py", "pattern"): "the user's handler",
    ("app/parse/html/names.py", "_AROUND _PERHAPS_AROUND _TAGS"): "our lists of names, in the same module",
    ("app/parse/html/shell_data.py", "name"): "names of frameworks, in the same module",
    ("app/parse/html/tree.py", "_ENDS"): "names of elements, in the same module",
    ("app/plugins.py", "forms table"): "forms of statements of ours, and the plugin's table",
    ("app/plugins.py", "prefix"): "the plugin's name",
    ("app/policy/focus/profile_text.py", "text"): "the user's profile",
    ("app/policy/scope.py", "text"): "the user's scope",
    ("app/policy/blocks.py", "_title phrases"): "our list of walls",
    ("app/policy/blocks.py", "body"): "our list of walls",
    ("app/policy/blocks.py", "phrases"): "our list of walls",
    ("app/policy/blocks.py", "said"): "our list of walls",
    ("app/policy/blocks.py", "value"): "our list of walls",
    ("app/policy/words.py", "separators"): "classes of characters, in the same module",
}


def is_ours(pattern: ast.expr, texts: set[str]) -> bool:
    """Whether a pattern is a literal, or made of literals and of names that are bound to some at the module's top."""
    match pattern:
        case ast.Constant():
            return True
        case ast.Name(id=name):
            return name in texts
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return is_ours(left, texts) and is_ours(right, texts)
        case ast.JoinedStr(values=values):
            return all(is_ours(each, texts) for each in values)
        case ast.FormattedValue(value=value):
            return is_ours(value, texts)
    return False


def calls(source: str) -> Iterator[str]:
    """The names in each pattern that a module gives to `re` and that is not ours; other ways to reach `re`, too."""
    if not re.search(r"\b(re|regex)\b", source):
        return
    tree = ast.parse(source)
    texts: set[str] = set()
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_ours(value, texts):
                texts.add(name)
            case ast.Assign(targets=[ast.Tuple(elts=each)], value=value) if is_ours(value, texts):
                texts |= {one.id for one in each if isinstance(one, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if is_ours(value, texts):
                texts.add(name)
    given = {id(node.func): node.args[:1] for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for inner in ast.walk(tree):
        match inner:
            case ast.ImportFrom(module="re" | "regex", names=names) if CALLS & {each.name for each in names}:
                yield "an import"
            case ast.Import(names=[ast.alias(name="regex")] | [ast.alias(name="re", asname=str())]):
                yield "an import"
            case ast.Attribute(value=ast.Name(id="re"), attr=attr) if attr in CALLS:
                patterns = given.get(id(inner))
                if not patterns:  # handed on, or its pattern is named
                    yield f"re.{attr}"
                elif not is_ours(patterns[0], texts):
                    yield " ".join(sorted(names_in(patterns[0]) - texts))


def names_in(pattern: ast.expr) -> set[str]:
    """The names that it is made of, but for those of functions that only put texts together."""
    found = {node.id for node in ast.walk(pattern) if isinstance(node, ast.Name)}
    return found - {"map", "re", "sorted"}


@cache
def found() -> set[tuple[str, str]]:
    return {(str(path.relative_to(ROOT)), each) for path in FILES for each in calls(path.read_text())}


def test_no_pattern_is_built_from_what_a_site_sent() -> None:
    assert sorted(found() - KNOWN.keys()) == []


def test_what_is_known_is_still_there() -> None:
    assert sorted(KNOWN.keys() - found()) == []


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("re.compile(r'a')", []),
        ("A = 'a'\nB: str = f'{A}b' + A\nre.sub(B, '', text)", []),
        ("re.sub('|'.join(map(re.escape, sorted(names))), '', text)", ["names"]),
        ("def f(a):\n    return re.search(a, 'x')", ["a"]),
        ("def f(a):\n    b = 'x'\n    return re.match(b'<%s' % a, c)", ["a"]),
        ("def f():\n    b = 'x'\n    return re.match(b, c)", ["b"]),
        ("re.compile(pattern=a)", ["re.compile"]),
        ("partial(re.sub, a)", ["re.sub"]),
        ("re.compile(rf'{a}{b}')", ["a b"]),
        ("from re import compile", ["an import"]),
        ("import re as r", ["an import"]),
        ("import regex", ["an import"]),
        ("pattern.sub(b'', text)", []),
    ],
)
def test_the_test_finds_them(source: str, said: list[str]) -> None:
    assert list(calls(source)) == said
