"""Cuts of a file of named queries: ORDER BY gone, a condition gone, a lock gone, `greatest` and `least` gone."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.mutants.cut import Cut, of

_TOKEN = re.compile(r"--[^\n]*|'(?:[^']|'')*'|:{1,2}\w+|\w+|\S")
_NAME = re.compile(r"-- (\w+):")
_LOCK = re.compile(r"FOR\s+(?:NO\s+KEY\s+)?UPDATE(?:\s+OF\s+\w+)?(?:\s+SKIP\s+LOCKED|\s+NOWAIT)?")
# What ends a condition or an order, where it stands at the same depth.
_ENDS_ORDER = {"LIMIT", "FOR", "ON", "RETURNING", "UNION"}
_ENDS_CONDITION = _ENDS_ORDER | {"AND", "OR", "THEN", "WHERE", "GROUP", "HAVING", "ORDER", "JOIN", "LEFT", "CROSS", ","}
_OPENS, _CLOSES = {"(", "[", "CASE"}, {")", "]", "END"}


@dataclass(frozen=True, slots=True)
class _Token:
    """query: that it stands in."""

    text: str
    start: int
    end: int
    depth: int
    query: str


def cuts(source: str) -> list[Cut]:
    """In the order of the source."""
    tokens = list(_tokens(source))
    found = [*_orders(source, tokens), *_conditions(source, tokens), *_locks(source, tokens), *_bounds(source, tokens)]
    return sorted(found, key=lambda cut: (cut.start, cut.end, cut.new))


def _tokens(source: str) -> Iterator[_Token]:
    """Without comments. What opens and what closes have the depth of what is around them."""
    query, depth = "", 0
    for found in _TOKEN.finditer(source):
        text = found[0]
        if text.startswith("--"):
            if (name := _NAME.match(text)) and (found.start() == 0 or source[found.start() - 1] == "\n") and depth == 0:
                query = name[1]
            continue
        depth -= text in _CLOSES
        yield _Token(text, found.start(), found.end(), depth, query)
        depth += text in _OPENS


def _end(tokens: list[_Token], at: int, stops: set[str]) -> int:
    """The index after the last token of what begins with the one at `at`, at its depth."""
    first = tokens[at]
    for index in range(at + 1, len(tokens)):
        each = tokens[index]
        if each.query != first.query or each.depth < first.depth or (each.depth == first.depth and each.text in stops):
            return index
    return len(tokens)


def _orders(source: str, tokens: list[_Token]) -> Iterator[Cut]:
    for at, each in enumerate(tokens[:-1]):
        if each.text == "ORDER" and tokens[at + 1].text == "BY":
            last = tokens[_end(tokens, at, _ENDS_ORDER) - 1]
            yield of(source, each.start, last.end, "", each.query)


def _conditions(source: str, tokens: list[_Token]) -> Iterator[Cut]:
    for at, each in enumerate(tokens):
        end = _end(tokens, at, _ENDS_CONDITION)
        if each.text == "AND" and not _is_between(tokens, at):
            yield of(source, each.start, tokens[end - 1].end, "", each.query)
        elif each.text == "WHERE" and _is_and_of(tokens[end : end + 1], each) and not _is_between(tokens, end):
            yield of(source, tokens[at + 1].start, tokens[end].end, "", each.query)


def _is_and_of(found: list[_Token], where: _Token) -> bool:
    return [(each.text, each.query, each.depth) for each in found] == [("AND", where.query, where.depth)]


def _is_between(tokens: list[_Token], at: int) -> bool:
    for each in reversed(tokens[:at]):
        if each.depth <= tokens[at].depth and each.text in {"AND", "OR", "WHERE", "ON", "WHEN", "("}:
            return False
        if each.depth == tokens[at].depth and each.text == "BETWEEN":
            return True
    return False


def _locks(source: str, tokens: list[_Token]) -> Iterator[Cut]:
    for each in tokens:
        if each.text == "FOR" and (lock := _LOCK.match(source, each.start)):
            yield of(source, lock.start(), lock.end(), "", each.query)


def _bounds(source: str, tokens: list[_Token]) -> Iterator[Cut]:
    """The first argument stands for all."""
    for at, each in enumerate(tokens[:-1]):
        if each.text in {"greatest", "least"} and tokens[at + 1].text == "(":
            inner = tokens[at + 2]
            comma = _end(tokens, at + 2, {","})
            close = next(token for token in tokens[at + 2 :] if token.text == ")" and token.depth == each.depth)
            if tokens[comma].text == ",":
                first = source[inner.start : tokens[comma - 1].end]
                yield of(source, each.start, close.end, f"({first})", each.query)
