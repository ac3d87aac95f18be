"""Finds the data that an app shell brings for its scripts, and whether it already holds the page's prose.

Only well-formed JSON is looked into: a program in JavaScript is noted, and not run. One text is taken out of it: the
`articleBody` of JSON-LD, which schema.org defines as "the actual body of the article". What other strings are for,
their names do not say: a title, another article's first lines, a message in each language (docs/decisions.md).
"""

import json
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from app.model.render import ShellSign
from app.parse.html.tree import Element
from app.words import counted

_ENOUGH_CHARS = 500  # of prose: less is labels and settings
_SENTENCE_CHARS = 80
_CHARS_A_WORD = 15  # at most, in prose; a token or a path has no spaces
_MOST_CHARS = 1_000_000  # of data that is looked into


class _State(NamedTuple):
    """Data for scripts. name: what a person looks for;   pattern: what stands before it in an inline script."""

    name: str
    pattern: re.Pattern[str]


class _DataSource(NamedTuple):
    """Data that was met. start: where its JSON begins in the script; None: the script is nothing else."""

    name: str
    start: int | None


# Names by which frameworks ship a state within a program; an assignment of JSON is read, anything else is noted.
_NAMES: Final = (
    "__INITIAL_STATE__",
    "__PRELOADED_STATE__",
    "__APOLLO_STATE__",
    "__INITIAL_DATA__",
    "__NUXT__",
    "__remixContext",
    "__DATA__",
)
_STATES: Final = (
    *(_State(name, re.compile(rf"\b{name}(?:['\"]\])?\s*=\s*(?!=)")) for name in _NAMES),
    _State("__next_f", re.compile(r"\b__next_f\.push\(\s*")),
)
_MARKUP: Final = re.compile(r"</?[a-zA-Z][^<>]*>|&[a-zA-Z]+;")
_decoder = json.JSONDecoder()


def find(root: Element) -> dict[ShellSign, str]:
    """Where the most prose is in JSON, else where data was met, else nothing."""
    most, where, state = 0, "", None
    left = _MOST_CHARS
    for script in root.iter("script"):
        if not (text := script.text) or (source := _source(script, text)) is None:
            continue
        left -= len(text)
        prose = _prose(text, source) if left >= 0 else 0
        state = state or source.name
        if prose > most:
            most, where = prose, source.name
    if most >= _ENOUGH_CHARS:
        return {ShellSign.DATA: f"{where}, {counted(most, 'character')}"}
    return {ShellSign.STATE: state} if state else {}


def article(root: Element) -> str:
    """The one article of the page's JSON-LD, in lines; "" where there is none, more than one, or one with markup."""
    found: dict[str, None] = {}
    left = _MOST_CHARS
    for script in root.iter("script"):
        text = script.text or ""
        if _kind(script) == "application/ld+json" and '"articleBody"' in text and (left := left - len(text)) >= 0:
            found.update(dict.fromkeys(_bodies(text)))
    bodies = list(found)
    return bodies[0] if len(bodies) == 1 else ""


def _bodies(text: str) -> Iterator[str]:
    """Every `articleBody` that is prose without markup, however deep."""
    try:
        stack = [json.loads(text)]
    except (ValueError, RecursionError):
        return
    while stack:
        match stack.pop():
            case {"articleBody": str(words)} if (
                len(words) >= _ENOUGH_CHARS and _is_prose(words) and not _MARKUP.search(words)
            ):
                yield "\n".join(" ".join(line.split()) for line in words.splitlines() if line.strip())
            case dict(inner):
                stack.extend(inner.values())
            case list(inner):
                stack.extend(inner)


def _kind(script: Element) -> str:
    return (script.get("type") or "").partition(";")[0].strip().lower()


def _source(script: Element, text: str) -> _DataSource | None:
    """The data that the script is; None where it is none."""
    kind = _kind(script)
    if kind in {"application/json", "application/ld+json"}:
        if kind == "application/ld+json" and '"articleBody"' not in text:
            return None
        known = script.get("id") in {"__NEXT_DATA__", "__NUXT_DATA__"}
        return _DataSource(f"#{script.get('id')}" if known else kind, None)
    for state in _STATES:
        if found := state.pattern.search(text):
            return _DataSource(state.name, found.end())
    return None


def _prose(text: str, source: _DataSource) -> int:
    """Characters of prose in the JSON that begins there; 0 where it is not JSON."""
    try:
        value = json.loads(text) if source.start is None else _decoder.raw_decode(text, source.start)[0]
    except (ValueError, RecursionError):
        return 0
    total, stack = 0, [value]
    while stack:
        match stack.pop():
            case str(words) if len(words) >= _SENTENCE_CHARS and _is_prose(words):
                total += len(words)
            case dict(inner):
                stack.extend(inner.values())
            case list(inner):
                stack.extend(inner)
    return total


def _is_prose(words: str) -> bool:
    """Sentences, in a script with spaces or in one without, such as Chinese."""
    return words.count(" ") * _CHARS_A_WORD >= len(words) or sum(char > "\u2fff" for char in words) * 2 >= len(words)
