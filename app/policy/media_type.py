"""Decides what kind of document an answer is: by its Content-Type, and by its first octets where that says nothing.

    parse the field (Fetch) ▸ sniff what has no usable type (MIME Sniffing) ▸ look at the root element of XML

Everything that reads a media type asks here. Sources: https://fetch.spec.whatwg.org/#concept-header-extract-mime-type,
https://mimesniff.spec.whatwg.org/#parsing-a-mime-type, #sniffing-a-mime-type, and section 7 for unknown types.

Ours where the standards differ: `nosniff` is not asked, since it guards scripts and we run none; a byte order mark is
passed over before the patterns; and `text/html`, followed by a blank and anything, is HTML, as Chromium has it.
"""

import re
import zlib
from functools import lru_cache
from typing import Final, NamedTuple

from app.policy.url import MAX_LENGTH

HTML: Final = "text/html"
XHTML: Final = "application/xhtml+xml"
TEXT: Final = "text/plain"
OCTETS: Final = "application/octet-stream"

SEEN_BYTES: Final = 64 * 1024  # of a document, to find its root element, or its first tag behind blank lines
_SNIFFED_BYTES: Final = 1445  # MIME Sniffing, "read the resource header"
_FIELD_CHARS: Final = 4096  # of a header field: a longer one is no list of types
_USUAL_CHARS: Final = 100

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_BLANKS: Final = " \t\r\n"
# Fetch, "get, decode, and split": at commas outside quotes.
_PART: Final = re.compile(r'(?:[^",]++|"(?:[^"\\]++|\\.)*+(?:"|\\?$))++', re.DOTALL)
_TYPE: Final = re.compile(rf"({_TOKEN}/{_TOKEN})[{_BLANKS}]*(?:;|$)")
_PARAMETER: Final = re.compile(r';[ \t\r\n]*([^;="]+)=(?:"((?:[^"\\]++|\\.)*+)"?|([^;]*))', re.DOTALL)
_LOOSE_CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)

_XHTML_SPACE: Final = b"http://www.w3.org/1999/xhtml"
# MIME Sniffing 7.1, its first table, and what Firefox takes for HTML besides: a <meta> may forbid to keep the page. A
# tag ends there at a space or ">"; here at any white space or "/", too.
_HTML_OPENS: Final = re.compile(
    rb"<(?:!--|(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p"
    rb"|meta|link|base|frameset|img|form|center|pre|h[2-6])(?=[\s>/]))",
    re.IGNORECASE,
)
# The other tables: 7.1, then images (6.1), audio and video (6.2), archives (6.4).
_MAGIC: Final = (
    (b"<?xml", "text/xml"),
    (b"%PDF-", "application/pdf"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"BM", "image/bmp"),
    (b"GIF8", "image/gif"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"ID3", "audio/mpeg"),
    (b"OggS\x00", "application/ogg"),
    (b"MThd\x00\x00\x00\x06", "audio/midi"),
    (b"\x1f\x8b\x08", "application/x-gzip"),
    (b"PK\x03\x04", "application/zip"),
    (b"Rar \x1a\x07\x00", "application/x-rar-compressed"),
)
_BINARY: Final = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")  # "a binary data byte"

GZIP: Final = b"\x1f\x8b"  # RFC 1952 section 2.3.1
_BLANK_RUN: Final = re.compile(rb"\s*+")
_DOCTYPE_END: Final = re.compile(rb"\]\s*>|>")
_ROOT: Final = re.compile(rb"<(?:([^\s<>/:=\"']{1,200}):)?([^\s<>/:=\"']{1,200})(?=[\s>/])")
_SPACE: Final = re.compile(rb"\bxmlns(?::([^\s<>/:=\"']{1,200}))?\s*=\s*(?:\"([^\"<]*+)\"|'([^'<]*+)')")
# The root elements of feeds and sitemaps (`app.parse.sitemap.elements`), in lower case.
LISTINGS: Final = frozenset({b"urlset", b"sitemapindex", b"rss", b"rdf", b"feed"})
_JSON_FEED: Final = re.compile(rb'"version"\s*+:\s*+"https?:\\?/\\?/(?:www\.)?jsonfeed\.org\\?/version')
_LINE: Final = re.compile(rb"https?://[^\s<>]++$", re.IGNORECASE)


class MediaType(NamedTuple):
    """A type that a header names.

    essence   type and subtype in lower case, such as text/html
    charset   the label of its parameter as written, None without one
    """

    essence: str
    charset: str | None


def parse(field: str | None) -> MediaType | None:
    """The last valid type of a Content-Type field; None where it names none that means anything.

    field: several joined by ", "
    """
    if field is None:
        return None
    return _usual(field) if len(field) <= _USUAL_CHARS else _parsed(field[:_FIELD_CHARS])


def declared(field: str | None) -> str:
    """The type that the field names, in lower case; "" where it names none that means anything."""
    found = parse(field)
    return found.essence if found else ""


def charset_of(field: str | None) -> str | None:
    """The label of the encoding: that of the field's type, or of a field that names no type, what it says of one."""
    found = parse(field)
    if found is not None:
        return found.charset
    loose = _LOOSE_CHARSET.search((field or "")[:_FIELD_CHARS])
    return loose[1] if loose else None


def octets_to_see(field: str | None) -> int:
    """How many octets of the body `of` needs at most."""
    essence = declared(field)
    return SEEN_BYTES if not essence or _is_xml(essence) else 0


def of(field: str | None, body: bytes) -> str:
    """The type of a document. XML with a root element of XHTML is `application/xhtml+xml`, whatever it is served as.

    body: its beginning, `octets_to_see` of it, or all
    """
    essence = declared(field)
    if essence == HTML:
        return essence
    if not essence:
        essence = _sniffed(body[:SEEN_BYTES])
        if essence == TEXT and _says_html(field):
            return HTML
    if essence != XHTML and _is_xml(essence) and _root(_plain(body[:SEEN_BYTES]))[1] == _XHTML_SPACE:
        return XHTML
    return essence


def of_page(field: str | None) -> str:
    """The type of a document that was read as a page, by its field alone.

    Where that names none, its octets spoke for HTML; where it names XML, its root element for XHTML.
    """
    essence = declared(field)
    if not essence:
        return HTML
    return XHTML if _is_xml(essence) else essence


def is_html(essence: str) -> bool:
    return essence in {HTML, XHTML}


def is_text(essence: str) -> bool:
    """Whether it is text as it stands: any `text/*` but HTML and XML."""
    return essence.startswith("text/") and essence not in {HTML, "text/xml"}


def is_wanted(essence: str, wanted: tuple[str, ...]) -> bool:
    """Whether the type is one of these. "text/*" is every type of text, and no XML."""
    return essence in wanted or ("text/*" in wanted and (is_text(essence) or essence == HTML))


def is_listing(body: bytes) -> bool:
    """Whether a document begins like a feed or a sitemap, whatever its type.

    XML is one by its root element, JSON by its version, a text by its lines, if all are URLs. It may be in gzip.
    """
    head = body[:SEEN_BYTES]
    if head.startswith(GZIP):
        try:
            head = zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(head, SEEN_BYTES)
        except zlib.error:
            return False
    head = _plain(head)
    return _root(head)[0] in LISTINGS if head.startswith(b"<") else is_json_feed(head) or _is_list(head)


def is_json_feed(opening: bytes) -> bool:
    """Whether a document begins like a JSON feed: https://www.jsonfeed.org/version/1.1/."""
    return opening.lstrip().startswith(b"{") and _JSON_FEED.search(opening) is not None


def _parsed(field: str) -> MediaType | None:
    found: MediaType | None = None
    for part in _PART.finditer(field) if "," in field else (field,):
        written = (part if isinstance(part, str) else part[0]).strip(_BLANKS)
        named = _TYPE.match(written)
        essence = named[1].lower() if named else "*/*"
        if named is None or essence == "*/*":
            continue
        charset = _charset(written[named.end(1) :])
        if found is not None and found.essence == essence:
            charset = charset or found.charset
        found = MediaType(essence, charset)
    # MIME Sniffing section 7, step 2.
    return None if found is None or found.essence in {"*/*", "unknown/unknown", "application/unknown"} else found


_usual = lru_cache(maxsize=512)(_parsed)  # they are the same few in every answer


def _charset(parameters: str) -> str | None:
    for name, quoted, bare in _PARAMETER.findall(parameters):
        label: str = (_ESCAPED.sub(r"\1", quoted) or bare).strip(_BLANKS)
        if label and name.lower() == "charset":
            return label
    return None


def _says_html(field: str | None) -> bool:
    return field is not None and field.lstrip(_BLANKS)[:10].lower() in {"text/html ", "text/html\t"}


def _is_xml(essence: str) -> bool:
    return essence in {"text/xml", "application/xml"} or essence.endswith("+xml")


def _sniffed(head: bytes) -> str:
    """MIME Sniffing 7.1, "identifying a resource with an unknown MIME type"."""
    opening = _plain(head)
    if _HTML_OPENS.match(opening):
        return HTML
    for magic, essence in _MAGIC:
        if head.startswith(magic) or (magic == b"<?xml" and opening.startswith(magic)):
            return essence
    if head[:4] == b"RIFF" and head[8:12] in {b"WEBP", b"WAVE", b"AVI "}:
        return {b"WEBP": "image/webp", b"WAVE": "audio/wave", b"AVI ": "video/avi"}[head[8:12]]
    if head[4:8] == b"ftyp":
        return "video/mp4"
    return OCTETS if _BINARY.search(opening[:_SNIFFED_BYTES]) else TEXT


def _plain(head: bytes) -> bytes:
    """The beginning without its byte order mark and blanks, as UTF-8 where the mark tells UTF-16."""
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16-be"), (b"\xff\xfe", "utf-16-le")):
        if head.startswith(mark):
            head = head[len(mark) :]
            if encoding != "utf-8":
                head = head.decode(encoding, "replace").encode("utf-8", "replace")
            break
    return head.lstrip(b" \t\r\n\f")


def _root(opening: bytes) -> tuple[bytes, bytes]:
    """The local name, in lower case, and the name space of the root element of XML; empty where none is to be seen."""
    at = 0
    for _ in range(1000):  # comments and instructions before a root element
        at = _BLANK_RUN.match(opening, at).end()  # type: ignore[union-attr]  # it matches nothing, too
        for mark, closing in ((b"<?", b"?>"), (b"<!--", b"-->")):
            if opening.startswith(mark, at):
                end = opening.find(closing, at + len(mark))
                break
        else:
            if opening[at : at + 9].upper() != b"<!DOCTYPE":
                return _root_at(opening, at)
            closing, end = b">", _doctype_end(opening, at)
        if end < 0:
            break
        at = end + len(closing)
    return b"", b""


def _doctype_end(opening: bytes, at: int) -> int:
    """Where the ">" of a document type is: behind its declarations, if it has any."""
    inner, end = opening.find(b"[", at), opening.find(b">", at)
    if not 0 <= inner < end:
        return end
    found = _DOCTYPE_END.search(opening, inner)
    while found is not None and found[0] == b">":
        found = _DOCTYPE_END.search(opening, found.end())
    return found.end() - 1 if found else -1


def _root_at(opening: bytes, at: int) -> tuple[bytes, bytes]:
    named = _ROOT.match(opening, at)
    if named is None:
        return b"", b""
    end = opening.find(b">", named.end())
    for prefix, *values in _SPACE.findall(opening[named.end() : end if end >= 0 else len(opening)]):
        if prefix == (named[1] or b""):
            return named[2].lower(), (values[0] or values[1]).strip()
    return named[2].lower(), b""


def _is_list(opening: bytes) -> bool:
    """Whether the whole lines of a text are URLs, one a line, and nothing else."""
    *lines, last = opening.splitlines() or [b""]
    if len(opening) < SEEN_BYTES - MAX_LENGTH:  # else it may be cut
        lines.append(last)
    written = [line.strip() for line in lines if line.strip()]
    return bool(written) and all(map(_LINE.match, written))
