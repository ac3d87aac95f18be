"""An answer that is to be archived, and its records: the response or a revisit, the request, and what we decided. Pure.

The answer stands in its record as it was received: its header as it came, but with CR LF where a line ended in LF,
its body with its content-coding. Its transfer-coding is undone, so the field that names it is renamed; a reader would
undo it again. A payload that the archive holds already is not stored twice: a revisit record names the capture that has
it.

A process's memory of the bodies that its archive holds, and where: the next answer with the same one is a revisit.

Records lie one after another in a ring of bytes, which is as large from the start as it will ever be; a table finds
them by digest. As objects in a map, ten thousand took 7 MB, filled late, and left holes where they were replaced.

A document that a browser made of an answer, and its records: the conversion, and what we know of its making. Pure.

The conversion names the answer's record (WARC-Refers-To; ISO 28500:2017 6.7). Its own URI is a URN with the page's URL
in it: pywb lists a conversion by its URI, and under the page's own it would show it in place of the answer.
"""

import re
import threading
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from struct import Struct
from typing import NamedTuple
from uuid import UUID

from app.clock import EPOCH
from app.errors import one_line
from app.features.archive import record
from app.features.archive.record import Payload
from app.model import Archived, Capture, CaptureKind, Failure, Reply
from app.model.page import RENDERED_TYPE
from app.store.captures import Original

NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
SAME_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
RENAMED = b"X-Archive-Orig-"
_STATUS = re.compile(rb"\S+ \d{3}(?: \S|\r)")
_ODD_STATUS = re.compile(rb"\A(\S+)[^\S\n]+(\d{3})[ \t]*")
_TRANSFER_CODING = b"transfer-encoding"
_BLANK = re.compile(rb"\n[ \t\r\v\f]+\r\n")
_HEAD = Struct("<q32sqqI")  # crawl, digest, capture, microseconds since 1970, bytes of the URL
_SLOT = Struct("<I").unpack_from
_TICK = timedelta(microseconds=1)
URN = "urn:rendered:"
DOCUMENT_URI = "X-Tiptoe-Document-URI"  # of our own, as ISO 28500:2017 5.1 allows


class HeldBody(NamedTuple):
    """A capture that holds a body: what a revisit says of it."""

    id: int
    url: str
    fetched_at: datetime
    payload_sha256: bytes


def held(original: Original) -> HeldBody:
    return HeldBody(original.id, original.url, original.fetched_at, original.payload_sha256)


class KnownBodies:
    """The last bodies that were archived: some 10,000, by the length of their URLs. Threads share it."""

    BYTES = 3 << 19  # 1.5 MiB
    SLOTS = 1 << 15  # 0.25 MiB; of two bodies with one slot the later is known

    def __init__(self, size: int = BYTES) -> None:
        self._ring = bytearray(b"\0") * size  # written, so that its memory is there from the start
        self._begins = array("Q", bytes(8 * self.SLOTS))  # by slot: 1 + bytes written before its record; 0: none
        self._written = 0
        self._lock = threading.Lock()

    def put(self, crawl_id: int, body: HeldBody) -> None:
        """Remember a body. It takes the place of the oldest ones."""
        url = body.url.encode("utf-8", "surrogatepass")
        ticks = (body.fetched_at - EPOCH) // _TICK
        record = _HEAD.pack(crawl_id, body.payload_sha256, body.id, ticks, len(url)) + url
        size, length = len(self._ring), len(record)
        if length > size:
            return
        with self._lock:
            at = self._written % size
            if at + length > size:  # a record is in one piece
                self._written += size - at
                at = 0
            self._ring[at : at + length] = record
            self._written += length
            self._begins[self._slot(crawl_id, body.payload_sha256)] = self._written - length + 1

    def get(self, crawl_id: int, payload_sha256: bytes) -> HeldBody | None:
        """The capture of this crawl that holds a body with this digest."""
        size = len(self._ring)
        with self._lock:
            begun = self._begins[self._slot(crawl_id, payload_sha256)] - 1
            if begun < 0 or self._written - begun > size:
                return None
            at = begun % size
            of_crawl, digest, id, ticks, length = _HEAD.unpack_from(self._ring, at)
            if of_crawl != crawl_id or digest != payload_sha256:
                return None
            url = self._ring[at + _HEAD.size : at + _HEAD.size + length]
        return HeldBody(id, url.decode("utf-8", "surrogatepass"), EPOCH + ticks * _TICK, digest)

    def _slot(self, crawl_id: int, payload_sha256: bytes) -> int:
        start: int = _SLOT(payload_sha256)[0]
        return (start ^ crawl_id) % self.SLOTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """An answer, and what is known of it.

    key          SHA-256 of the canonical URL;   url: as it was sent
    fetched_at   when the request began, by the database's clock
    body         decoded, where it is not `reply.body`: a sitemap's
    body_sha256  of the decoded body;   text_sha256: of the main text;   charset: that it was read in
    notes        what we decided about it, for the metadata record
    keeps_body   False: its owner does not want it kept; only the notes are written
    original     the capture of this URL that holds its last body; None: there is none
    to_render    a browser is to open it
    """

    host_id: int
    crawl_id: int
    key: bytes
    url: str
    kind: CaptureKind
    fetched_at: datetime
    reply: Reply
    body: Payload | None = None
    body_sha256: bytes | None = None
    text_sha256: bytes | None = None
    charset: str | None = None
    notes: Mapping[str, object]
    keeps_body: bool = True
    original: Original | None = None
    to_render: bool = False

    @property
    def payload(self) -> Payload:
        """The body as received."""
        return payload_of(self.reply, self.body)

    @property
    def is_bare(self) -> bool:
        """The answer is a 304: it confirms a body, and brings none."""
        return self.reply.status == HTTPStatus.NOT_MODIFIED

    @property
    def truncated(self) -> str | None:
        """Why the body is not all that the site would have sent (ISO 28500:2017 5.13); None: it is all."""
        reply = self.reply
        if reply.truncated:
            return "length"
        if reply.failure is not None:
            return "time" if reply.failure is Failure.TIMEOUT else "disconnect"
        return None if reply.body_read else "unspecified"


def payload_of(reply: Reply, body: Payload | None) -> Payload:
    """The body of a reply as received.   body: decoded, where it is not the reply's"""
    if reply.coded is not None:
        return reply.coded
    return reply.body if body is None else body


def response(recording: Recording, id: str, payload_sha256: bytes) -> bytes:
    """The answer with its body."""
    head, payload = _head(recording.reply), recording.payload
    fields = [
        *_named("response", id, recording),
        ("WARC-Block-Digest", record.labelled(record.digest(head, payload))),
        ("WARC-Payload-Digest", record.labelled(payload_sha256)),
        ("Content-Type", "application/http; msgtype=response"),
    ]
    if recording.truncated:
        fields.append(("WARC-Truncated", recording.truncated))
    level = record.LEVEL if recording.reply.coded is None else record.PACKED_LEVEL
    return record.member(fields, head, payload, level=level)


def revisit(recording: Recording, id: str, same: HeldBody | None) -> bytes:
    """The answer without its body, which another capture holds. same: None for a 304 to what is not in the archive."""
    head = _head(recording.reply)
    fields = [
        *_named("revisit", id, recording),
        ("WARC-Profile", NOT_MODIFIED if recording.is_bare else SAME_PAYLOAD),
        ("WARC-Block-Digest", record.labelled(record.digest(head))),
        ("Content-Type", "application/http; msgtype=response"),
    ]
    if same is not None:
        fields += [
            ("WARC-Refers-To-Target-URI", same.url),
            ("WARC-Refers-To-Date", record.date(same.fetched_at)),
            ("WARC-Payload-Digest", record.labelled(same.payload_sha256)),
        ]
    return record.member(fields, head)


def request(recording: Recording, concurrent_to: str) -> bytes:
    """The request that was sent, without the operator's credentials."""
    sent = "".join([f"{name}: {value}\r\n" for name, value in recording.reply.asked.items()])
    block = f"GET {_target(recording.url)} HTTP/1.1\r\n{sent}\r\n".encode("latin-1", "replace")
    fields = [
        *_named("request", record.new_id(), recording),
        ("WARC-Concurrent-To", concurrent_to),
        ("WARC-Block-Digest", record.labelled(record.digest(block))),
        ("Content-Type", "application/http; msgtype=request"),
    ]
    return record.member(fields, block)


def metadata(recording: Recording, concurrent_to: str | None) -> bytes:
    """Our decisions about the answer."""
    block = notes(recording.notes)
    fields = [
        *_named("metadata", record.new_id(), recording),
        ("WARC-Block-Digest", record.labelled(record.digest(block))),
        ("Content-Type", "application/warc-fields"),
    ]
    if concurrent_to is not None:
        fields.append(("WARC-Concurrent-To", concurrent_to))
    return record.member(fields, block)


def notes(said: Mapping[str, object]) -> bytes:
    """Names and values as application/warc-fields, a line each; None is left out."""
    lines = [f"{name}: {one_line(str(value))}\r\n" for name, value in said.items() if value is not None]
    return "".join(lines).encode("utf-8", "replace")


def _named(kind: str, id: str, recording: Recording) -> list[tuple[str, str]]:
    fields = [
        ("WARC-Type", kind),
        ("WARC-Record-ID", id),
        ("WARC-Date", record.date(recording.fetched_at)),
        ("WARC-Target-URI", recording.url),
    ]
    if recording.reply.address is not None:
        fields.append(("WARC-IP-Address", recording.reply.address))
    return fields


def _head(reply: Reply) -> bytes:
    """The header as it came, but for the transfer-coding, which is undone, and for what readers of WARC differ over:
    where it ends. Its lines end in CR LF, and only the last one is blank. One blank is around its status."""
    head = reply.head
    if head.count(b"\n") != head.count(b"\r\n") or _BLANK.search(head):
        lines = [line.rstrip(b"\r") for line in head.split(b"\n")]
        head = b"\r\n".join([*filter(bytes.strip, lines), b"", b""])
    if _STATUS.match(head) is None:
        head = _ODD_STATUS.sub(rb"\1 \2 ", head, count=1)
    if _TRANSFER_CODING not in head.lower():
        return head
    lines = head.splitlines(keepends=True)
    return b"".join(RENAMED + line if line.lower().startswith(_TRANSFER_CODING) else line for line in lines)


def _target(url: str) -> str:
    """Path and query of a URL as sent, which begins with "/"."""
    rest = url.partition("://")[2]
    cut = min((at for at in (rest.find("/"), rest.find("?")) if at >= 0), default=len(rest))
    return rest[cut:] if rest[cut : cut + 1] == "/" else f"/{rest[cut:]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedDocument:
    """A document that a browser made.

    key          SHA-256 of the canonical URL;   url: as the answer was asked for
    rendered_at  by the database's clock;   status: of the answer
    source       capture of the answer;   source_record: of its record, None: it is not known
    body         the document, in UTF-8;   text_sha256: of its main text
    at           its URL at the end, where its scripts changed it
    is_cut       it was larger than a document may be
    notes        about its making, for the metadata record
    """

    host_id: int
    crawl_id: int
    key: bytes
    url: str
    rendered_at: datetime
    status: int
    source: int
    source_record: UUID | None
    body: bytes
    body_sha256: bytes
    text_sha256: bytes
    at: str | None = None
    is_cut: bool = False
    notes: Mapping[str, object]


def conversion(document: RenderedDocument, id: UUID) -> bytes:
    """The document."""
    fields = [
        *_document_named("conversion", record.named_id(id), document),
        ("WARC-Block-Digest", record.labelled(document.body_sha256)),
        ("Content-Type", RENDERED_TYPE),
    ]
    if document.source_record is not None:
        fields.append(("WARC-Refers-To", record.named_id(document.source_record)))
    if document.is_cut:
        fields.append(("WARC-Truncated", "length"))
    if document.at is not None:
        fields.append((DOCUMENT_URI, document.at))
    return record.member(fields, document.body)


def document_metadata(document: RenderedDocument, id: UUID) -> bytes:
    """Our notes about its making."""
    block = notes(document.notes)
    fields = [
        *_document_named("metadata", record.new_id(), document),
        ("WARC-Refers-To", record.named_id(id)),
        ("WARC-Block-Digest", record.labelled(record.digest(block))),
        ("Content-Type", "application/warc-fields"),
    ]
    return record.member(fields, block)


def row(document: RenderedDocument, id: UUID, at: tuple[int, int, int]) -> Capture:
    """Its capture.   at: segment, offset and length of the conversion"""
    return Capture(
        id=0,
        host_id=document.host_id,
        crawl_id=document.crawl_id,
        key=document.key,
        url=document.url,
        fetched_at=document.rendered_at,
        kind=CaptureKind.RENDERED.value,
        status=document.status,
        content_type=RENDERED_TYPE,
        charset="utf-8",
        body_sha256=document.body_sha256,
        text_sha256=document.text_sha256,
        payload_sha256=None,
        body_bytes=len(document.body),
        truncated=document.is_cut,
        segment_id=at[0],
        at_offset=at[1],
        length=at[2],
        refers_to=None,
        record_id=id,
        rendered_from=document.source,
    )


def uri_of(capture: Capture) -> str:
    """The WARC-Target-URI of a capture's record."""
    return f"{URN}{capture.url}" if capture.kind == CaptureKind.RENDERED else capture.url


def archived(capture: Capture, fields: Mapping[str, str], block: bytes) -> Archived:
    """A conversion that was read back. It has no HTTP header: its answer has."""
    return Archived(
        status=capture.status,
        reason="",
        headers=[("content-type", fields.get("content-type", RENDERED_TYPE))],
        body=block,
        truncated=capture.truncated,
        at=fields.get(DOCUMENT_URI.lower()),
    )


def _document_named(kind: str, id: str, document: RenderedDocument) -> list[tuple[str, str]]:
    return [
        ("WARC-Type", kind),
        ("WARC-Record-ID", id),
        ("WARC-Date", record.date(document.rendered_at)),
        ("WARC-Target-URI", f"{URN}{document.url}"),
    ]
