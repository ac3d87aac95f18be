"""Tells the characters that part words, for the index of words and for what is searched in it.

Postgres' parser of texts goes by the locale of the database. In a C locale, which the embedded one has, it takes every
character beyond ASCII for part of a word: a dash, a typographic quotation mark, a no-break space. So these are made
spaces before it reads a text, in every locale alike. Invisible characters within words are taken out.

That parser takes quadratic time for what has no space in it, and for tags without an end: minutes for 100,000
characters. So "<" is made a space as well, and long runs of other characters are cut (search.sql).
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

INVISIBLE: Final = "\u00ad\u2060\ufeff"  # soft hyphen, word joiner, byte order mark
_JOINERS: Final = "\u200c\u200d"  # parts of words in Persian, in scripts of India, and of emoji
LONG_RUN: Final = r"(\S{100})"  # for Postgres alone: what is longer is no word
_LAST: Final = 0x1FFFF  # of what has been assigned to punctuation and symbols


@lru_cache(maxsize=1)
def separators() -> str:
    """A bracket expression of "<", and of all characters beyond ASCII that are neither letters, marks nor digits: for
    Postgres and Python."""
    return "[<" + "".join(_range(first, last) for first, last in _runs()) + "]"


def asked(text: str) -> str:
    """A search as Postgres is asked: typographic quotation marks are quotation marks, other signs part words."""
    return plain(text.translate(dict.fromkeys(map(ord, "“”„‟«»"), '"')))


def plain(text: str) -> str:
    """A text as it is indexed. The query does the same."""
    return re.sub(separators(), " ", text.translate(dict.fromkeys(map(ord, INVISIBLE))))


def _runs() -> Iterator[tuple[int, int]]:
    """(first, last) of runs of separators; what is not assigned yet belongs to the run that it stands in."""
    first = last = 0
    for code in range(0x80, _LAST + 1):
        category = unicodedata.category(chr(code))
        if category[0] in "PSZ" or (category in ("Cc", "Cf") and chr(code) not in _JOINERS):
            first, last = first or code, code
        elif first and category != "Cn":
            yield first, last
            first = 0
    if first:
        yield first, last


def _range(first: int, last: int) -> str:
    return _escape(first) if first == last else f"{_escape(first)}-{_escape(last)}"


def _escape(code: int) -> str:
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
