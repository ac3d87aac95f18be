"""Formats numbers and others' texts: counts that agree with their noun, rounded numbers, Unicode and harmless text.

Nothing here prints. `harmless` is the border for every text that reaches a terminal: titles, URLs and headers are
written by sites, and may hold escape sequences (ECMA-48) or characters that reorder a line (UAX #9).
"""

import errno
import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

# C0 but tab and line feed, DEL, C1, line and paragraph separators, bidi controls (UAX #9, 2), lone surrogates.
_STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# owasp.org, CSV injection: the first characters of a formula, in their full-width forms too.
_RUN_BY_SPREADSHEETS = ("=", "+", "-", "@", "\t", "＝", "＋", "－", "＠")
NAMES_TOLD = 10


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """A count with its noun: `1 page`, `2 pages`, `1,234 pages`. plural: where it is irregular."""
    return f"{n:,} {noun if n == 1 else plural or _plural(noun)}"


def rounded(value: float) -> str:
    """A number with four significant digits, and never fewer than its whole part has."""
    return f"{value:.4g}" if not abs(value) >= 1000 else f"{value:.1f}".removesuffix(".0")


def sized(n: int) -> str:
    """A number of bytes as a person reads it: `12.3 kB`, `234.5 MB`, `1,234.5 GB`."""
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if n >= unit:
            return f"{n / unit:,.1f} {name}"
    return f"{n / 1e3:,.1f} kB"


def span(length: float | timedelta | None) -> str:
    """A length of time, as coarse as a person needs it: `0.5 s`, `42 s`, `3 min`, `5.2 h`, `12 d`."""
    if length is None:
        return ""
    s = length.total_seconds() if isinstance(length, timedelta) else float(length)
    if s < 100:
        return f"{s:.2g} s" if s < 10 else f"{s:.0f} s"
    for most, unit, name in ((6000, 60, "min"), (172_800, 3600, "h")):
        if s < most:
            return f"{s / unit:.2g} {name}" if s / unit < 10 else f"{s / unit:.0f} {name}"
    return f"{s / 86_400:,.0f} d"


def scalar(text: str) -> str:
    """Replace NUL and halves of surrogate pairs by U+FFFD: neither UTF-8 nor Postgres holds them.

    Most texts are returned as they are; one that is not ASCII is encoded once to find out."""
    if "\0" in text:
        text = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:  # two halves that follow each other are a character, as in JavaScript
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def harmless(text: str) -> str:
    """Replace each character that could steer a terminal by U+FFFD. Tabs and line feeds stay."""
    return _STEERS.sub("\N{REPLACEMENT CHARACTER}", text)


def ready_streams() -> None:
    """Make standard streams writable for a process: closed ones, and those whose encoding lacks a character.

    One that was closed (`>&-`) becomes the null device: its number would be the next file's or socket's. What an
    encoding lacks becomes a replacement."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: its own
            os.set_inheritable(null, True)
            setattr(sys, name, open(null, mode, closefd=False))  # noqa: SIM115  # to the end of the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


class _HarmlessStream(io.TextIOWrapper):
    """A stream without characters that steer a terminal. It says that it is none: colours would be replaced, too."""

    def write(self, text: str, /) -> int:
        super().write(harmless(text))
        return len(text)

    def isatty(self) -> bool:
        return False


def harmless_streams() -> None:
    """Let what this process prints from now on be harmless: others' code prints what sites wrote."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        made = _HarmlessStream(stream.buffer, encoding=stream.encoding, errors="replace", write_through=True)
        setattr(sys, name, made)


@contextmanager
def told_if_it_can_be() -> Iterator[None]:
    """Context that tells of the work on standard error: a full volume costs the line, never the work. A reader that
    went away ends it, as anywhere in a pipe."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise


def escaped(document: str) -> str:
    """A JSON document with such characters as \\uXXXX: a parser restores them, a terminal never sees them."""
    return _STEERS.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def inert(cell: str) -> str:
    """A cell of CSV with a ' before it where a spreadsheet would run it as a formula."""
    return f"'{cell}" if cell.lstrip(" \r\n").startswith(_RUN_BY_SPREADSHEETS) else cell


def without_password(url: str) -> str:
    """A database's or broker's URL fit to be shown: without passwords in its user part and its query."""
    try:
        parts = urlsplit(url)
        pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:  # not a URL: show nothing that could be part of a password
        return f"{url.partition(':')[0]}://…"
    user, at, place = parts.netloc.rpartition("@")
    if not at and "@" in url:  # a password with / or # in it: the part before the @ is no path
        place = url.rpartition("@")[2]
        return f"{parts.scheme}://…@{place}"
    kept = [(name, value) for name, value in pairs if name.lower() not in {"password", "sslpassword", "pass"}]
    query = parts.query if len(kept) == len(pairs) else urlencode(kept, quote_via=quote)
    netloc = f"{user.partition(':')[0]}@{place}" if user.partition(":")[0] else place
    return urlunsplit(parts._replace(netloc=netloc, query=query))


def none_of(name: str, names: Sequence[str]) -> str:
    """The answer to a name that there is not: the closest one, and the first ones of those that there are."""
    from difflib import get_close_matches

    near = get_close_matches(name, names, n=1) if len(names) > 1 else []
    meant = f"did you mean {near[0]}? " if near else ""
    more = len(names) - NAMES_TOLD
    told = ", ".join(names[:NAMES_TOLD]) or "none yet"
    others = f", and {counted(more, 'other')}" if more > 0 else ""
    return f"does not exist; {meant}there are: {told}{others}"


def _plural(noun: str) -> str:
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}s"
