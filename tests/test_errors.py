"""Every error that a person can meet has its place in docs/errors.md: each class, and each beginning of a line."""

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest

from app import errors
from app.errors import TiptoeError
from tests.statements import tree

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/errors.md").read_text(encoding="utf-8")
PARTS = ("**What it means.**", "**Look at.**", "**Do.**")
CLASSES = sorted(
    (each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, TiptoeError)),
    key=lambda each: each.__name__,
)


def section(title: str, level: int = 2) -> str:
    found = re.findall(rf"^{'#' * level} {re.escape(title)}\n(.*?)(?=^#{{2,{level}}} |\Z)", PAGE, re.M | re.S)
    assert len(found) == 1, f"docs/errors.md: {title}"
    return str(found[0])


def patterns(text: str) -> list[str]:
    """The beginnings of lines in a section: in backticks, two where they hold some. `…` is anything."""
    head = " ".join(line for line in text.splitlines() if not line.startswith("**"))
    return [twice or once for twice, once in re.findall(r"``(.+?)``|`(.+?)`", head)]


def template(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=values):
            return "".join(template(each) if isinstance(each, ast.Constant) else "…" for each in values)
        case _:
            return "…"


@cache
def all_raised() -> frozenset[tuple[str, str, str]]:
    return frozenset(raised())


def raised() -> Iterator[tuple[str, str, str]]:
    """(class, line with `…` for what varies, file) of each error that is made anywhere."""
    names = {each.__name__ for each in CLASSES}
    mention = re.compile(rf"\b({'|'.join(names)})\(")
    for path in (path for room in ("app", "tiptoe", "workers") for path in sorted((ROOT / room).rglob("*.py"))):
        source = path.read_text(encoding="utf-8")
        lines = {number for number, line in enumerate(source.splitlines(), 1) if mention.search(line)}
        for node in at_lines(tree(path), lines) if lines else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names and node.args:
                line = ": ".join(template(each) for each in node.args[:2])
                yield node.func.id, line, str(path.relative_to(ROOT))


def at_lines(node: ast.AST, lines: set[int]) -> Iterator[ast.AST]:
    """What stands at one of these lines, at least in part: to look at all else took a tenth of collecting the tests."""
    for each in ast.iter_child_nodes(node):
        first, last = getattr(each, "lineno", 0), getattr(each, "end_lineno", 0)
        if not first or not lines.isdisjoint(range(first, last + 1)):  # a comprehension stands at no line
            yield each
            yield from at_lines(each, lines)


NOT_OF_SERVICES = {"InputError", "SettingError", "LeaseLost", "Unwritable"}


@pytest.mark.parametrize("title", [each.__name__ for each in CLASSES if each is not TiptoeError])
def test_every_class_has_a_section_that_says_what_to_do(title: str) -> None:
    assert [part for part in PARTS if part not in section(title)] == []


@pytest.mark.parametrize("title", re.findall(r"^### (.+)$", PAGE, re.M))
def test_every_service_has_one_too(title: str) -> None:
    assert [part for part in PARTS if part not in section(title, 3)] == []


def is_told(line: str, within: str) -> bool:
    whole = [pattern for pattern in patterns(within) if pattern != "…"]
    return any(fnmatchcase(line, glob) for pattern in whole for glob in globs(pattern))


def globs(pattern: str) -> tuple[str, str]:
    glob = pattern.replace("[", "[[]").replace("…", "*").replace("?", "[?]")
    return glob, f"{glob}: *"


def test_every_line_about_a_service_begins_as_its_section_says() -> None:
    raised = sorted(all_raised())
    told = [each for each in raised if each[0] not in NOT_OF_SERVICES and each[1] != "…: …"]  # that passes one on
    assert len(told) > 50
    assert [f"{file}: {line}" for name, line, file in told if not is_told(line, section(name))] == []


def test_every_line_about_input_begins_as_the_table_says() -> None:
    """What begins with something of the person's own has no beginning to look up."""
    told = [each for each in all_raised() if each[0] == "InputError" and not each[1].startswith("…")]
    assert len(told) > 100
    assert [f"{file}: {line}" for name, line, file in told if not is_told(line, section(name))] == []


def test_a_line_that_no_section_has_is_noticed() -> None:
    assert not is_told("the moon: is away", section("ServiceError"))
    assert not is_told("cheese: is mouldy", section("InputError"))
    assert is_told("Postgres at …: is away", section("ServiceError"))
