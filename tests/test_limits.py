"""The limits of size: files of 450 lines, functions of 50, lines of 120. What stands above them today is named.

The lists of exceptions may only shrink. A step of a crawl takes three parts of a visit at most, or the whole visit.
Parameters and branches are held by ruff (PLR0913, C901), which names its own exceptions in pyproject.toml.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.store.host_rows import HostPace
from tests.statements import statements

ROOT = Path(__file__).parents[1]
FILES = sorted(
    path
    for room in ("app", "tiptoe", "workers", "tests", "bench")
    for path in (ROOT / room).rglob("*.py")
    if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)  # Scrapy's environment, for one
)
QUERIES = sorted((ROOT / "app/store").glob("*.sql"))
SQL_LINE_MOST = 120
FILE_MOST, FUNCTION_MOST, LINE_MOST = 450, 50, 130  # lines, lines, characters: ruff holds 120, but in lists of words

PARTS_MOST = 3

_PRAGMA = re.compile(r"  # (noqa|type):.*")
_SILENCER = re.compile(r"# (?:type: ?ignore|noqa|pragma: no cover).*")
_WITH_REASON = re.compile(
    r"(?:# (?:type: ignore\[[a-z, -]+\]|noqa: [A-Z0-9, ]+|pragma: no cover)  )+# (?!type:|noqa|pragma:)\S.*"
)
IS_TABLE = {"app/store/tables.py"}  # as long as there are columns

# file → its lines today
LONG_FILES: dict[str, int] = {}

# file::function → its lines today, with decorators and docstring
LONG_FUNCTIONS: dict[str, int] = {
    "bench/__main__.py::_arguments": 58,
    "bench/crawl.py::main": 56,
    "tests/faults/conftest.py::make_rig": 53,
}


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions(source: str) -> Iterator[tuple[str, int]]:
    """(name, lines) of each function, methods and nested ones too. Decorators aside: in tests they hold the rows."""
    for node in statements(source):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def long_functions() -> dict[str, int]:
    found: dict[str, int] = {}
    for path in FILES:
        for name, lines in functions(path.read_text()):
            if lines > FUNCTION_MOST:
                found[f"{name_of(path)}::{name}"] = lines
    return found


def long_files() -> dict[str, int]:
    counts = {name_of(path): len(path.read_text().splitlines()) for path in FILES}
    return {name: lines for name, lines in counts.items() if lines > FILE_MOST and name not in IS_TABLE}


def judged(found: dict[str, int], known: dict[str, int]) -> tuple[dict[str, int], list[str]]:
    """What is longer than it may be, and what is known and has been mended: take it off the list."""
    return {name: lines for name, lines in found.items() if lines > known.get(name, 0)}, sorted(known.keys() - found)


def test_no_file_is_longer_than_450_lines() -> None:
    assert judged(long_files(), LONG_FILES) == ({}, [])


def test_no_function_is_longer_than_50_lines() -> None:
    assert judged(long_functions(), LONG_FUNCTIONS) == ({}, [])


def test_no_line_is_longer_than_130_characters() -> None:
    """But for URLs, words to the checkers, and the settings, each of which stands on one line."""
    lines = ((path, line) for path in FILES for line in path.read_text().splitlines() if len(line) > LINE_MOST)
    bare = ((name_of(path), _PRAGMA.sub("", line)) for path, line in lines)
    long = [(name, line) for name, line in bare if len(line) > LINE_MOST and "://" not in line]
    assert [(name, line) for name, line in long if not name.startswith("app/config/")] == []


def test_no_line_of_a_query_is_longer_than_120_characters() -> None:
    assert len(QUERIES) > 30
    lines = [(name_of(path), line) for path in QUERIES for line in path.read_text().splitlines()]
    assert [(name, line) for name, line in lines if len(line) > SQL_LINE_MOST] == []


def silenced(source: str) -> list[str]:
    """What silences a checker and does not say why, or does not say which of its findings."""
    found = (_SILENCER.search(line) for line in source.splitlines())
    return [each[0] for each in found if each is not None and not _WITH_REASON.fullmatch(each[0])]


def test_what_silences_a_checker_says_why() -> None:
    """But for types in tests, which hand over on purpose what no caller may."""
    others = [*(ROOT / "migrations").rglob("*.py"), ROOT / "tiptoe_clash.py"]
    found = [(name_of(path), words) for path in [*FILES, *others] for words in silenced(path.read_text())]
    assert [each for each in found if not (each[0].startswith("tests/") and "type: ignore" in each[1])] == []


# the end of a line, whether it says why
@pytest.mark.parametrize(
    ("end", "says"),
    [
        ("", True),
        ("# a comment", True),
        ("# type: ignore[misc]", False),
        ("# type: ignore  # all of them", False),
        ("# type: ignore[misc, index]  # untyped", True),
        (f"# {'noqa'}: F401", False),
        (f"# {'noqa'}: F401  # for its side effects", True),
        (f"# {'noqa'}  # all of them", False),
        (f"# type: ignore[misc]  # {'noqa'}: F401", False),
        (f"# type: ignore[misc]  # {'noqa'}: F401  # the same for both", True),
        (f"# pragma: {'no cover'}", False),
        (f"# pragma: {'no cover'}  # a platform that no test has", True),
    ],
)
def test_a_checker_is_silenced_with_a_reason(end: str, says: bool) -> None:
    assert (silenced(f"x = 1  {end}") == []) is says


def test_the_architecture_fits_a_few_screens_and_names_every_room() -> None:
    lines = (ROOT / "ARCHITECTURE.md").read_text().splitlines()
    assert len(lines) <= 120
    assert [line for line in lines if len(line) > 100] == []
    rows = " ".join(line for line in lines if line.startswith("| `"))
    rooms = [path.name for path in (ROOT / "app").iterdir() if (path / "__init__.py").exists()]
    assert len(rooms) > 12
    assert [room for room in rooms if f"`app/{room}/" not in rows] == []


# source → lines of its functions
@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("def f():\n    pass\n", [2]),
        ("@a\n@b(\n    1\n)\ndef f():\n    '''x\n    y'''\n", [3]),
        ("class A:\n    async def f(self):\n        def g():\n            pass\n        return g\n", [4, 2]),
    ],
)
def test_a_function_is_counted_with_its_docstring(source: str, lines: list[int]) -> None:
    assert [count for _, count in functions(source)] == lines


# found, known → too long, mended
@pytest.mark.parametrize(
    ("found", "known", "longer", "mended"),
    [
        ({"a": 310}, {"a": 310}, {}, []),
        ({"a": 309}, {"a": 310}, {}, []),
        ({"a": 311}, {"a": 310}, {"a": 311}, []),
        ({"a": 301}, {}, {"a": 301}, []),
        ({}, {"a": 310}, {}, ["a"]),
    ],
)
def test_a_known_exception_may_shrink_and_go_and_not_grow(
    found: dict[str, int], known: dict[str, int], longer: dict[str, int], mended: list[str]
) -> None:
    assert judged(found, known) == (longer, mended)


# --- the parts of a visit ----------------------------------------------------------------------------------------


def parts_taken() -> dict[str, int]:
    """{file::function: how many parts of a visit it takes}, of those that take any."""
    kinds = [each.type for each in fields(Visit) if isinstance(each.type, type) and each.type is not Worker]
    parts = {kind.__name__ for kind in kinds if kind.__module__.startswith("app.crawl.state.")} | {HostPace.__name__}
    assert len(parts) == 8, "else a part is not seen here"
    found: dict[str, int] = {}
    for path in FILES:
        if not name_of(path).startswith(("app/", "workers/")):
            continue
        for node in statements(path):
            if isinstance(node, ast.FunctionDef):
                annotations = [each.annotation for each in [*node.args.args, *node.args.kwonlyargs]]
                taken = [each for each in annotations if isinstance(each, ast.Name) and each.id in parts]
                if taken:
                    found[f"{name_of(path)}::{node.name}"] = len(taken)
    return found


def test_no_step_takes_more_than_three_parts_of_a_visit() -> None:
    taken = parts_taken()
    assert {name: parts for name, parts in taken.items() if parts > PARTS_MOST} == {}
    assert max(taken.values()) == PARTS_MOST, "none does today: lower the limit"


def needless_visits() -> list[str]:
    """Functions of a crawl that are handed a whole visit, hand it to nobody, and use three parts of it at most."""
    parts = {each.name for each in fields(Visit)} - {"leaving", "state"} | {"pace"}
    found = []
    for path in (path for path in FILES if name_of(path).startswith("app/crawl/")):
        for node in (each for each in statements(path) if isinstance(each, ast.FunctionDef)):
            for each in filter(_is_visit, node.args.args):
                inside = list(ast.walk(node))
                used = [i.attr for i in inside if isinstance(i, ast.Attribute) and _is_name(i.value, each.arg)]
                is_kept = len(used) == len([i for i in inside if _is_name(i, each.arg)])
                if is_kept and len(set(used)) <= PARTS_MOST and parts.issuperset(used):
                    found.append(f"{name_of(path)}::{node.name}")
    return found


def _is_visit(argument: ast.arg) -> bool:
    return isinstance(argument.annotation, ast.Name) and argument.annotation.id == Visit.__name__


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def test_no_step_is_handed_a_whole_visit_for_three_parts_of_it() -> None:
    assert needless_visits() == []
