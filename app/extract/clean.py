"""Drops halves of surrogate pairs from what a handler made of a page: neither JSON nor Postgres holds them.

`json.loads` makes one of an escape such as `\\ud800`, which a page's JSON-LD may have anywhere. `app.store.border`
does the same for what goes to Postgres; this is for what leaves a handler's process, before it is JSON.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import orjson

DEEPEST = 254  # of what orjson encodes


def encoded(document: dict[str, Any]) -> bytes:
    """The document as JSON; where that fails for its text, without the characters at fault. Raises JSONEncodeError."""
    try:
        return orjson.dumps(document)
    except orjson.JSONEncodeError:
        return orjson.dumps(clean(document))


def clean(value: Any, depth: int = DEEPEST) -> Any:
    """A value whose text JSON can hold, at any depth; the same object where it can already."""
    if isinstance(value, str):
        return _text(value)
    if depth == 0:
        return value
    if isinstance(value, Mapping):
        pairs = [(clean(name, depth - 1), clean(each, depth - 1)) for name, each in value.items()]
        is_same = all(a is c and b is d for (a, b), (c, d) in zip(pairs, value.items(), strict=True))
        return value if is_same else dict(pairs)
    if isinstance(value, list | tuple | set | frozenset):
        found = [clean(each, depth - 1) for each in value]
        return value if all(a is b for a, b in zip(found, value, strict=True)) else found
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields(value, depth)
    return value


def _fields(value: Any, depth: int) -> Any:
    """A dataclass instance as the dictionary that JSON makes of it, if one of its fields is to be cleaned."""
    held = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    found = {name: clean(each, depth - 1) for name, each in held.items() if not name.startswith("_")}
    return value if all(held[name] is each for name, each in found.items()) else found


def _text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "ignore").decode()
    return text
