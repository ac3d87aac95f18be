"""Which test files can notice a change of a file: those whose imports lead to it, the closest first."""

import ast
from collections import deque
from functools import cache
from pathlib import Path

from tests.mutants.mutant import ROOT
from tests.statements import statements

SUITES = (
    "tests/policy",
    "tests/store",
    "tests/crawl",
    "tests/features",
    "tests/beat",
    "tests/runtime",
    "tests/admin",
    "tests/cli",
    "tests/face",
    "tests/web",
    "tests/metrics",
)
_SOURCES = ("app", *SUITES)
_TELLING = 5  # letters; shorter words stand in many names
_VIEWS = "app/store/views.sql"  # made by a migration


def tests_of(path: str, within: str) -> list[str]:
    """First those with its name, or that of the function or query `within`; then its room's; then the nearest by
    imports."""
    away = _away(_module_of(path))
    words = [each.strip("_").lower() for each in within.split(".")]
    names = {Path(path).stem, *(each for each in words if len(each) >= _TELLING)}
    found = [name for suite in SUITES for name in _paths(suite) if name in away and _stem(name).startswith("test_")]
    room = str(Path("tests", *Path(path).parts[1:-1]))

    def rank(name: str) -> tuple[bool, bool, int, str]:
        stem = _stem(name)
        return not any(each in stem for each in names), not name.startswith(room), away[name], name

    return sorted(found, key=rank)


def _stem(name: str) -> str:
    """Path(name).stem, in a tenth of its time: each file of the tree has hundreds of tests."""
    return name.rpartition("/")[2].removesuffix(".py")


def _module_of(path: str) -> str:
    """The Python file that speaks for it: a file of queries belongs to the one beside it, a feature's to its rows."""
    if path == _VIEWS:
        return "app/store/db.py"
    if path.startswith("app/features/"):
        return str(Path(path).with_name("rows.py") if path.endswith(".sql") else Path(path))
    return str(Path(path).with_suffix(".py"))


def _away(path: str) -> dict[str, int]:
    """By file: how many imports lead from it to `path`, at the least."""
    away = {path: 0}
    waiting = deque([path])
    while waiting:
        at = waiting.popleft()
        for by in _importers().get(at, ()):
            if by not in away:
                away[by] = away[at] + 1
                waiting.append(by)
    return away


@cache
def _importers() -> dict[str, list[str]]:
    importers: dict[str, list[str]] = {}
    for path in [path for folder in _SOURCES for path in _paths(folder)]:
        for imported in _imports(path):
            importers.setdefault(imported, []).append(path)
    return importers


@cache
def _paths(folder: str) -> tuple[str, ...]:
    return tuple(sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*.py")))


def _imports(path: str) -> set[str]:
    """Files of ours. A test has its folder's fixtures, too."""
    names: set[str] = set()
    for node in statements(ROOT / path):
        if isinstance(node, ast.Import):
            names |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{each.name}" for each in node.names}
    files = {name.replace(".", "/") + ending for name in names for ending in (".py", "/__init__.py")}
    if path.startswith("tests/"):
        files.add(str(Path(path).with_name("conftest.py")))
    return {file for file in files - {path} if _is_ours(file)}


@cache
def _is_ours(file: str) -> bool:
    return (ROOT / file).is_file()
