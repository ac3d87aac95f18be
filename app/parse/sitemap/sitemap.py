"""Reads a sitemap as a stream, in constant memory, and yields its pages, or the sitemaps that an index names.

The first characters decide between XML (urlset, sitemapindex, RSS 2.0 and 1.0, Atom), JSON (a feed, which is read at
once) and text, the first bytes whether it is gzipped; names and content types do not matter. It decides only how much
of a file is read: locations are neither joined nor canonical nor checked for scope, dates in the future are kept,
changefreq and priority are only recorded. Its steps are `app.parse.sitemap.sitemap` ▸ `charset` ▸ `markup` ▸ `walk` ▸
`entry`. Sources: https://www.sitemaps.org/protocol.html, https://www.jsonfeed.org/version/1.1/.
"""

import codecs
import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, BinaryIO

from app.errors import one_line
from app.parse import charset
from app.parse.sitemap.elements import FLOOR, MAX_FIELD_CHARS, Walk
from app.parse.sitemap.entry import Child, Entry, SitemapKind, as_entry, is_url
from app.parse.sitemap.markup import Feeder, plain
from app.policy.media_type import GZIP, is_json_feed
from app.words import counted, scalar

__all__ = ["Child", "Entry", "Limits", "SitemapKind", "SitemapReading"]

_BLOCK_BYTES = 64 * 1024
# A file may go on so long without an entry: an item of a feed may hold a page and its images, one of a sitemap a
# thousand images. Marks are what an octet costs most of, 2 µs at the worst: tags, references, attributes, lines.
MOST_BYTES_BETWEEN = 4 * 1024 * 1024
MOST_MARKS_BETWEEN = 400_000
MOST_MARKS = 3_000_000  # of a file: 50 MiB of images or of alternate languages have 2,300,000
_MOST_JSON_MARKS = 200_000  # of a JSON feed, which is read at once: a bracket or comma takes up to 100 octets of memory
_LINE_END = re.compile(r"[\r\n]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much of a file is read.

    max_entries       entries and children together; 50,000 by sitemaps.org
    max_bytes         as received, and again after each layer of gzip; 50 MiB unpacked by sitemaps.org
    max_loc_chars     longer locations are skipped; sitemaps.org asks for less than 2,048, browsers took 2,083
    max_joined_chars  of bases and of what is joined to them: 60 ns each where each second is a "/"
    """

    max_entries: int = 50_000
    max_bytes: int = 50 * 1024 * 1024
    max_loc_chars: int = 2083
    max_joined_chars: int = 32 * 1024 * 1024


class SitemapReading:
    """One pass over a file: iterate it once.

    The attributes describe the part read so far, and are final after the last value.

    No bytes make it raise; errors of `stream.read` pass through.

    kind     unknown until the first element, or the first URL of a text
    problem  one line for a person: why reading ended early, else the first fault; None when all is well
    entries  values yielded
    skipped  items whose location is missing or too long; in text, lines that are no http(s) URL
    """

    def __init__(self, stream: BinaryIO, *, limits: Limits | None = None) -> None:
        self.kind = SitemapKind.UNKNOWN
        self.problem: str | None = None
        self.entries = 0
        self.skipped = 0
        self._limits = limits or Limits()
        self._values = self._counted(self._read(stream))

    def __iter__(self) -> Iterator[Entry | Child]:
        return self._values

    def _counted(self, values: Iterator[Entry | Child]) -> Iterator[Entry | Child]:
        for value in values:
            if self.entries == self._limits.max_entries:
                self._note(f"cut at {counted(self.entries, 'URL')}")
                return
            self.entries += 1
            yield value

    def _read(self, stream: BinaryIO) -> Iterator[Entry | Child]:
        chunks = unpacked(iter(lambda: stream.read(_BLOCK_BYTES), b""), self._limits.max_bytes, self._note)
        blocks = self._worth_reading(iter(lambda: take(chunks, _BLOCK_BYTES), b""))  # also if sent byte by byte
        head = next((block for block in blocks if block.strip()), b"")
        opening, encoding = charset.decode(head, None)
        blocks = chain([head], blocks)
        if not head:
            self._note("empty")
        elif opening.lstrip("\ufeff \t\r\n").startswith("<"):
            yield from self._xml(_decoded(blocks, encoding))
        elif is_json_feed(opening.encode("utf-8", "replace")):
            yield from self._json("".join(_decoded(blocks, encoding)).lstrip("\ufeff"))
        elif encoding.startswith("utf-16"):
            yield from self._text(_decoded(blocks, encoding))
        else:
            yield from self._text(_decoded(blocks, "utf-8", "surrogateescape"))

    def _worth_reading(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """The blocks, up to where too much came without an entry. What is in a block counts when the next is due."""
        marks = since = size = entries = 0
        for block in blocks:
            yield block
            found = _marks(block)
            marks += found
            if self.entries > entries:
                entries, since, size = self.entries, 0, 0
            else:
                since, size = since + found, size + len(block)
            if size > MOST_BYTES_BETWEEN or since > MOST_MARKS_BETWEEN:
                self._note(f"cut where {size / 2**20:.1f} MiB hold no entry")
                return
            if marks > MOST_MARKS:
                self._note(f"cut at {MOST_MARKS:,} tags, references and lines")
                return

    def _text(self, pieces: Iterator[str]) -> Iterator[Entry]:
        """Yield a text's entries, one URL per line. The last line is whole only if the file is."""
        rest = ""
        for piece in pieces:
            if "\0" in piece:
                self._note("binary: neither XML nor a list of URLs")
                return
            *lines, rest = _LINE_END.split(rest + piece)
            rest = rest[: self._limits.max_loc_chars + 1]
            yield from self._lines(lines)
            if self._is_hopeless():
                return
        if self.problem is None:
            yield from self._lines([rest])
        if not self.entries:
            self._note("neither XML nor a list of URLs")

    def _lines(self, lines: Iterable[str]) -> Iterator[Entry]:
        for line in lines:
            loc = _rescued(line.lstrip("\ufeff").strip())
            if is_url(loc) and len(loc) <= self._limits.max_loc_chars:
                self.kind = SitemapKind.TEXT
                yield Entry(loc=loc)
            elif loc:
                self.skipped += 1

    def _json(self, document: str) -> Iterator[Entry]:
        """Yield a JSON feed's entries. All of it is in memory: as much as may hold no entry."""
        if sum(map(document.count, "{[,")) > _MOST_JSON_MARKS:
            self._note(f"a JSON document of over {_MOST_JSON_MARKS:,} brackets and commas")
            return
        try:
            items = json.loads(document, parse_int=len, parse_float=len).get("items")  # no number is wanted
        except (ValueError, RecursionError):
            self._note("not a JSON document, or only the beginning of one")
            return
        self.kind = SitemapKind.JSON
        for item in items if isinstance(items, list) else ():
            written = _written(item)
            if 0 < len(written.get("loc", "")) <= self._limits.max_loc_chars:
                yield as_entry(written)
            else:
                self.skipped += 1

    def _xml(self, pieces: Iterator[str]) -> Iterator[Entry | Child]:
        walk = Walk(self._limits.max_loc_chars, self._limits.max_joined_chars)
        feeder = Feeder(walk)
        for piece in chain([FLOOR], plain(pieces, self._note)):
            feeder.push(piece)
            yield from self._found(walk)
            if walk.refusal or feeder.is_choked or self._is_hopeless():
                break
        self._note_fault(walk, feeder)
        feeder.close()
        yield from self._found(walk)

    def _found(self, walk: Walk) -> Iterator[Entry | Child]:
        self.kind, self.skipped = walk.kind, walk.skipped
        yield from walk.found
        walk.found.clear()

    def _note_fault(self, walk: Walk, feeder: Feeder) -> None:
        if fault := walk.refusal or feeder.fault():
            self._note(fault)
        elif self.kind is SitemapKind.UNKNOWN:
            self._note("no element in it")
        elif walk.depth > 0:
            self._note("ends before its last element does")
        elif self.skipped and not self.entries:
            self._note(f"none of {self.skipped:,} items has a usable location")

    def _is_hopeless(self) -> bool:
        """Bounds the time that a file without end and without locations takes."""
        if self.skipped > self._limits.max_entries:
            self._note(f"over {self._limits.max_entries:,} items without a usable location")
        return self.skipped > self._limits.max_entries

    def _note(self, problem: str) -> None:
        self.problem = self.problem or one_line(problem)


def _written(item: Any) -> dict[str, str]:
    """The fields of an item of a JSON feed."""
    names = ("url", "date_modified", "date_published") if isinstance(item, dict) else ()
    texts = {name: scalar(text).strip() for name in names if isinstance(text := item.get(name), str)}
    lastmod = texts.get("date_modified") or texts.get("date_published")
    return {"loc": texts.get("url", ""), **({"lastmod": lastmod[:MAX_FIELD_CHARS].strip()} if lastmod else {})}


def _marks(block: bytes) -> int:
    """Tags, references and a third of the attributes of an XML, or lines of a text, where ASCII is ASCII.

    A ">" in CDATA is a reference.
    """
    tags_or_lines = max(map(block.count, (b"<", b">", b"\n", b"\r")))
    return tags_or_lines + block.count(b"&") + block.count(b"=") // 3


def _decoded(chunks: Iterable[bytes], encoding: str, errors: str = "replace") -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    for chunk in chunks:
        before = decoder.getstate()
        try:
            text = decoder.decode(chunk)
        except UnicodeError:  # an escape of ISO-2022-JP without an end: eight octets are the most that a decoder keeps
            decoder.setstate(before)
            text = decoder.decode(chunk, True)
        yield text
    yield decoder.decode(b"", True)


def _rescued(line: str) -> str:
    """Decode a line of text as UTF-8, else as Latin-1."""
    if line.isascii():
        return line
    raw = line.encode("utf-8", "surrogateescape")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


# Undoes gzip as a stream, in constant memory: the readable part of a cut or broken file, the allowed part of a bomb.
#
# The bytes decide whether something is packed, not names or content types. It stops where there is too much content, or
# too little in too much gzip, and notes why. Source: RFC 1952.


_PIECE_BYTES = 64 * 1024
_HOLLOW_BYTES = 1024 * 1024  # of gzip that may hold nothing; past it, gzip may be twice as long as its content
_SIP_BYTES = 1024  # of gzip at a time: where it is broken, the content of the last ones is lost


def unpacked(chunks: Iterator[bytes], max_bytes: int, note: Callable[[str], None]) -> Iterator[bytes]:
    """The content, through two layers of gzip at most: some servers pack twice.

    Content that is not packed is unchanged.

    max_bytes  as received, and again after each layer
    note       is called with a line for a person if the content ends early
    """
    chunks = _capped(chunks, max_bytes, note)
    for _ in range(2):
        head = take(chunks, len(GZIP))
        chunks = chain([head], chunks)
        if not head.startswith(GZIP):
            break
        chunks = _capped(_inflated(chunks, note), max_bytes, note)
    return chunks


def take(chunks: Iterator[bytes], size: int) -> bytes:
    """The next bytes: at least `size`, unless there are no more."""
    taken, length = [], 0
    for chunk in chunks:
        taken.append(chunk)
        length += len(chunk)
        if length >= size:
            break
    return b"".join(taken)


def _capped(chunks: Iterable[bytes], max_bytes: int, note: Callable[[str], None]) -> Iterator[bytes]:
    left = max_bytes
    for chunk in chunks:
        yield chunk[:left]
        left -= len(chunk)
        if left < 0:
            note(f"cut at {max_bytes / 2**20:.3g} MiB")
            return


def _inflated(chunks: Iterator[bytes], note: Callable[[str], None]) -> Iterator[bytes]:
    """The content of all members, piece by piece. A broken end or check sum does not undo earlier pieces."""
    packed = _Packed(chunks, note)
    inflating = gzip.GzipFile(fileobj=packed, mode="rb")
    try:
        while piece := inflating.read1(_PIECE_BYTES):
            packed.unpacked_bytes += len(piece)
            yield piece
    except EOFError:
        note("gzip stream is cut")
    except (gzip.BadGzipFile, zlib.error):
        note("gzip stream is broken")


class _Packed:
    """Chunks as a file for `GzipFile`. It ends early where much gzip holds next to nothing.

    A member costs 10 µs even when it is empty, which takes 20 bytes: 25 s for a file of 50 MiB.
    """

    def __init__(self, chunks: Iterator[bytes], note: Callable[[str], None]) -> None:
        self._chunks = chunks
        self._note = note
        self._chunk = b""
        self._packed_bytes = 0
        self.unpacked_bytes = 0

    def read(self, size: int) -> bytes:
        if self._packed_bytes > _HOLLOW_BYTES + 2 * self.unpacked_bytes:
            self._note("cut where gzip holds next to nothing")
            return b""
        size = min(size, _SIP_BYTES)
        while len(self._chunk) < size and (more := next(filter(None, self._chunks), b"")):
            self._chunk += more  # whole sips: the content of a broken stream must not depend on how it arrived
        taken, self._chunk = self._chunk[:size], self._chunk[size:]
        self._packed_bytes += len(taken)
        return taken

    def seek(self, _offset: int) -> int:
        raise io.UnsupportedOperation("a stream is read once")
