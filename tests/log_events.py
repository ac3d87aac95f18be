"""Every log call in the code: its event, level and fields, found in the syntax trees."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LEVELS = ("debug", "info", "warning", "error", "exception", "critical")


class LogCall(NamedTuple):
    """A call.   fields: names; "…" stands for those of a mapping"""

    event: str
    level: str
    fields: tuple[str, ...]
    place: str


@cache
def calls() -> tuple[LogCall, ...]:
    """Each call of `_log.LEVEL(event, field=…)` in `app` and `workers`."""
    return tuple(_calls())


def _calls() -> Iterator[LogCall]:
    for path in sorted(path for room in ("app", "workers") for path in (ROOT / room).rglob("*.py")):
        source = path.read_text()
        for node in ast.walk(ast.parse(source)) if "log" in source else ():
            if isinstance(node, ast.Call) and _is_log(node.func):
                yield _call(node, f"{path.relative_to(ROOT)}:{node.lineno}")


def _is_log(called: ast.expr) -> bool:
    return (
        isinstance(called, ast.Attribute)
        and called.attr in LEVELS
        and isinstance(called.value, ast.Name)
        and called.value.id in {"_log", "log", "logger"}
    )


def _call(node: ast.Call, place: str) -> LogCall:
    assert isinstance(node.func, ast.Attribute)
    fields = tuple(keyword.arg or "…" for keyword in node.keywords)
    level = {"exception": "error"}.get(node.func.attr, node.func.attr)
    return LogCall(_event(node, place), level, fields, place)


def _event(node: ast.Call, place: str) -> str:
    match node.args:
        case [ast.Constant(value=str(name))]:
            return name
        case [ast.JoinedStr() as made]:  # f"{what}.failed"
            return ast.unparse(made)[2:-1]
        case _:
            raise AssertionError(f"{place}: an event is one word of the code, and the rest are fields")


def table() -> dict[str, tuple[str, set[str]]]:
    """{event: (levels, fields)}"""
    found: dict[str, tuple[str, set[str]]] = {}
    for call in calls():
        levels, fields = found.get(call.event, ("", set()))
        named = levels if call.level in levels.split("/") else f"{levels}/{call.level}".strip("/")
        found[call.event] = (named, fields | set(call.fields))
    return found


def rows(table: dict[str, tuple[str, set[str]]], meanings: dict[str, str]) -> list[str]:
    """The rows of docs/logs.md."""
    return [
        f"| `{event}` | {level} | {', '.join(f'`{field}`' for field in sorted(fields)) or 'none'} | {meanings[event]} |"
        for event, (level, fields) in sorted(table.items())
    ]
