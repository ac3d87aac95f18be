"""Replaces NUL and halves of surrogate pairs in what a handler made of a page: neither UTF-8 nor Postgres holds them.

`json.loads` makes them of escapes such as `\\u0000` and `\\ud800`, which a page's JSON-LD may have anywhere. This is
for what leaves a handler's process, before it is JSON; `app.store.border` looks through all that goes to Postgres.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import orjson

from app.words import scalar


def encoded(document: dict[str, Any]) -> bytes:
    """The document as JSON; where its text holds such characters, with U+FFFD for them. Raises JSONEncodeError."""
    try:
        whole = orjson.dumps(document)
    except orjson.JSONEncodeError:
        return orjson.dumps(clean(document))
    return orjson.dumps(clean(document)) if rb"\u0000" in whole else whole


def clean(value: Any, depth: int = 254) -> Any:  # orjson encodes no deeper
    """A value whose text JSON can hold, at any depth; the same object where it can already."""
    if isinstance(value, str):
        return scalar(value)
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
