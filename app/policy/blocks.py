"""Recognises walls made for bots in a reply (promise P7): a challenge, or a soft block.

A challenge wants a browser or a person (CAPTCHA, proof of work, "Just a moment..."). A soft block is a success in
name only: a 2xx whose page says that we are not welcome. Both ask us to leave or to slow down, and nothing here
helps to get past them (promise P12). A plain refusal is neither: most vendors' "Access Denied" with 403 may well be
about this one URL, which `outcome` deals with, so it is no evidence here.

Everything such products leave on ordinary pages is no evidence either: `server: cloudflare`, `x-datadome: protected`,
`x-iinfo`, `x-cdn`, `_abck` and `_px` cookies, `window._pxAppId`, Cloudflare's and Imperva's injected scripts, a CAPTCHA
in a contact form. Below status 400 there must be a header that says so, markup (a tag, not words about one) that only
the wall has, on a page that says little else, or a phrase that is the title or nearly all that a short page says:
articles about CAPTCHAs and about 403 are pages like any other.

To add a wall, add a row (headers, then markup, then words). Patterns of bodies are in lower case and start with
letters that are rare, which makes them fast (20 µs for 64 KiB; 300 with alternatives at the start), and have no
unbounded repetition within another.
"""

import html
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from app.model import Header, Reply
from app.policy import media_type
from app.policy.walls import EVIDENCE, SUCCESS, Evidence

MAX_BYTES: Final = 64 * 1024  # of a body; walls are small, and what they are made of stands at the top
# Walls seen with a 2xx: 200 bytes to 20 KiB of markup; the wordiest, Anubis', says 1.9 KiB in English. Ordinary pages
# have more of both; bytes and not words, as Chinese has no spaces.
_WALL_MARKUP: Final = 32 * 1024
_WALL_TEXT: Final = 5 * 1024
_WALL_LINKS: Final = 10  # walls have up to five: terms, privacy, help, languages
# A page that "says little else" than a phrase: some 160 words. "Pardon Our Interruption" has 6.2 KiB and 90 words.
_SHORT_MARKUP: Final = 8 * 1024
_SHORT_TEXT: Final = 1024


def find(reply: Reply) -> Evidence | None:
    """The first row of EVIDENCE that the reply matches. Never raises.

    An ordinary page takes 5 µs from 32 KiB or 10 links on, as it is no wall then; else up to 0.2 ms. An error of 64
    KiB: 1.3 ms.
    """
    if reply.status is None or (reply.status < 400 and _HEADERS.isdisjoint(reply.headers) and _is_page(reply.body)):
        return None
    seen = _Seen(reply)
    return next((row for row in _rows_for(reply, seen) if _holds(row, reply, seen)), None)


def _rows_for(reply: Reply, seen: "_Seen") -> Iterator[Evidence]:
    """The rows that can match at all, in the order of EVIDENCE, by header names, the page's length and its marks."""
    if not _HEADERS.isdisjoint(reply.headers):
        yield from _HEADER_ROWS
    markup = seen.markup
    if markup:
        rows = _BODY_ROWS if reply.status not in SUCCESS else _SUCCESS_ROWS
        tags = {tag: tag in markup for tag in _TAGS}
        yield from (row for row in rows if tags[row.tag] and row.mark in markup)
    if seen.is_short:
        yield from _TEXT_ROWS


def _holds(row: Evidence, reply: Reply, seen: "_Seen") -> bool:
    if row.statuses and reply.status not in row.statuses:
        return False
    if row.header is not None and not row.header[1].search(reply.headers.get(row.header[0], "")):
        return False
    if row.text is not None and (seen.text is None or not row.text.match(seen.text)):
        return False
    return row.body is None or (row.body.search(seen.markup) is not None and seen.may_be_wall)


def _is_page(body: bytes) -> bool:
    """Whether a reply is too long for a wall, or has too many links. Below status 400 it is an ordinary page then."""
    return len(body) > _WALL_MARKUP or _has(body, b"<a ", _WALL_LINKS)


class _Seen:
    """The parts of a reply that rows look at, each made when it is first asked for."""

    def __init__(self, reply: Reply) -> None:
        self._body = reply.body
        self._refused = reply.status is not None and reply.status >= 400
        field = reply.headers.get(Header.CONTENT_TYPE)
        essence = media_type.of(field, reply.body)
        self._html = media_type.is_html(essence) or not media_type.declared(field)
        self._plain = media_type.is_text(essence)

    @cached_property
    def _leads_on(self) -> bool:
        """Whether the page has too many links for a wall. This alone rules out most pages."""
        return _has(self._lower, b"<a ", _WALL_LINKS)

    @cached_property
    def markup(self) -> bytes:
        """The body in lower case. From status 400 on, of any type: DataDome and HUMAN answer in JSON on request."""
        if not self._refused and (not self._html or len(self._body) > _WALL_MARKUP or self._leads_on):
            return b""
        return self._lower

    @cached_property
    def _lower(self) -> bytes:
        return self._body[:MAX_BYTES].lower()

    @cached_property
    def may_be_wall(self) -> bool:
        return self._refused or len(_shown(self.markup)) <= _WALL_TEXT

    @property
    def is_short(self) -> bool:
        """Whether it is a page of text that may say little."""
        if not (self._html or self._plain) or len(self._body) > (_WALL_MARKUP if self._refused else _SHORT_MARKUP):
            return False
        return self._refused or not self._leads_on

    @cached_property
    def text(self) -> str | None:
        """The page's text; None where it is not short, or not a page of text."""
        if not self.is_short:
            return None
        shown = _shown(self._lower)
        if len(shown) > _SHORT_TEXT:
            return None
        title = _TITLE.search(self._lower)
        return f"{_words(title[1]) if title else ''}\n{_words(shown)}"


def _has(body: bytes, mark: bytes, times: int) -> bool:
    """Whether it occurs so often. Most pages show that near their beginning, which ends the search."""
    at = 0
    while times and (at := body.find(mark, at) + 1):
        times -= 1
    return not times


_TITLE: Final = re.compile(rb"<title[^<>]{0,200}>([^<]{0,200})")
_UNSEEN: Final = re.compile(rb"<(script|style|title|template|!--)")
_TAG: Final = re.compile(rb"<[^<>]*>")  # stops at the next "<": linear in whatever is no HTML


def _shown(markup: bytes) -> bytes:
    """Lower-case markup without tags and hidden parts. <noscript> counts as shown: we run no script."""
    kept, at = [], 0
    for opening in _UNSEEN.finditer(markup):
        if opening.start() < at:
            continue
        kept.append(markup[at : opening.start()])
        closing = b"-->" if opening[1] == b"!--" else b"</" + opening[1]
        at = markup.find(closing, opening.end())
        if at < 0:
            break
        at += len(closing) if closing == b"-->" else 0
    kept.append(markup[at:] if at >= 0 else b"")
    return b" ".join(_TAG.sub(b" ", b" ".join(kept)).split())


def _words(octets: bytes) -> str:
    readable = html.unescape(octets.decode("utf-8", "replace")).lower().replace("’", "'")
    return " ".join(readable.split())


# --- the rows ---------------------------------------------------------------------------------------------------


_HEADER_ROWS: Final = tuple(row for row in EVIDENCE if row.header is not None)
_BODY_ROWS: Final = tuple(row for row in EVIDENCE if row.header is None and row.body is not None)
_SUCCESS_ROWS: Final = tuple(row for row in _BODY_ROWS if not row.statuses)
_TEXT_ROWS: Final = tuple(row for row in EVIDENCE if row.header is None and row.body is None)
_TAGS: Final = frozenset(row.tag for row in EVIDENCE)
_HEADERS: Final = frozenset(row.header[0] for row in _HEADER_ROWS if row.header is not None)
