"""A document that a browser made of an answer, and its records: the conversion, and what we know of its making. Pure.

The conversion names the answer's record (WARC-Refers-To; ISO 28500:2017 6.7). Its own URI is a URN with the page's URL
in it: pywb lists a conversion by its URI, and under the page's own it would show it in place of the answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.features.archive import record
from app.features.archive.recording import notes
from app.model import Archived, Capture, CaptureKind

URN = "urn:rendered:"
CONTENT_TYPE = "text/html; charset=utf-8"
DOCUMENT_URI = "X-Tiptoe-Document-URI"  # of our own, as ISO 28500:2017 5.1 allows


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
        *_named("conversion", record.named_id(id), document),
        ("WARC-Block-Digest", record.labelled(document.body_sha256)),
        ("Content-Type", CONTENT_TYPE),
    ]
    if document.source_record is not None:
        fields.append(("WARC-Refers-To", record.named_id(document.source_record)))
    if document.is_cut:
        fields.append(("WARC-Truncated", "length"))
    if document.at is not None:
        fields.append((DOCUMENT_URI, document.at))
    return record.member(fields, document.body)


def metadata(document: RenderedDocument, id: UUID) -> bytes:
    """Our notes about its making."""
    block = notes(document.notes)
    fields = [
        *_named("metadata", record.new_id(), document),
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
        content_type=CONTENT_TYPE,
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
        headers=[("content-type", fields.get("content-type", CONTENT_TYPE))],
        body=block,
        truncated=capture.truncated,
        at=fields.get(DOCUMENT_URI.lower()),
    )


def _named(kind: str, id: str, document: RenderedDocument) -> list[tuple[str, str]]:
    return [
        ("WARC-Type", kind),
        ("WARC-Record-ID", id),
        ("WARC-Date", record.date(document.rendered_at)),
        ("WARC-Target-URI", f"{URN}{document.url}"),
    ]
