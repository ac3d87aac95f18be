"""What the properties share: fields of an input, strings fit for the database, the clock, the ways to cut octets up.

An input is bytes. Where a property needs several values they are lines, the rest of the input being the last one: an
input can be read and written with an editor. What a property draws beside that comes from the input's check sum, so it
repeats.
"""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from random import Random
from typing import AnyStr
from zlib import crc32

from app.errors import InputError

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TOKEN = "Tiptoe"


def lines(data: bytes, count: int) -> list[bytes]:
    """The first count - 1 lines and the rest; b"" for what is not there."""
    found = data.split(b"\n", count - 1)
    return found + [b""] * (count - len(found))


def text(octets: bytes) -> str:
    """Any text, lone surrogates included: U+DC80 and up for octets that are no UTF-8."""
    return octets.decode("utf-8", "surrogateescape")


def dice(data: bytes) -> Random:
    return Random(crc32(data))


def pieces(whole: AnyStr, rng: Random) -> list[AnyStr]:
    """It in pieces: each character or octet by itself, or of a few sizes at random."""
    single = rng.randrange(3) == 0
    found, at = [], 0
    while at < len(whole):
        size = 1 if single else rng.choice((1, 1, 2, 3, 5, 8, 50, 1000))
        found.append(whole[at : at + size])
        at += size
    return found


def assert_told(error: InputError, what: str) -> None:
    """A refusal names what is at fault, on one line, and says what to do."""
    assert what in error.what
    assert error.remedy
    assert str(error).isprintable()


def assert_storable(value: object) -> None:
    """No string in it holds what Postgres' text or JSON cannot: NUL, half a surrogate pair."""
    for each in _strings(value):
        assert "\0" not in each, repr(each)
        each.encode()


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple | list | frozenset | set):
        for each in value:
            yield from _strings(each)
    elif isinstance(value, dict):
        yield from _strings([*value, *value.values()])
    elif is_dataclass(value) and not isinstance(value, type):
        yield from _strings([getattr(value, each.name) for each in fields(value)])
