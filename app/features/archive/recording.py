"""An answer that is to be archived, and its records: the response or a revisit, the request, and what we decided. Pure.

The answer stands in its record as it was received: its header as it came, but with CR LF where a line ended in LF,
its body with its content-coding. Its transfer-coding is undone, so the field that names it is renamed; a reader would
undo it again. A payload that the archive holds already is not stored twice: a revisit record names the capture that has
it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from app.errors import one_line
from app.features.archive import record
from app.features.archive.bodies import HeldBody
from app.features.archive.record import Payload
from app.model import CaptureKind, Failure, Reply
from app.store.captures import Original

NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
SAME_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
RENAMED = b"X-Archive-Orig-"
_TRANSFER_CODING = b"transfer-encoding"
_BLANK = re.compile(rb"\n[ \t\r\v\f]+\r\n")
_BARE_304 = 304


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
        return self.reply.status == _BARE_304

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
    where it ends. Its lines end in CR LF, and only the last one is blank."""
    head = reply.head
    if head.count(b"\n") != head.count(b"\r\n") or _BLANK.search(head):
        lines = [line.rstrip(b"\r") for line in head.split(b"\n")]
        head = b"\r\n".join([*filter(bytes.strip, lines), b"", b""])
    if _TRANSFER_CODING not in head.lower():
        return head
    lines = head.splitlines(keepends=True)
    return b"".join(RENAMED + line if line.lower().startswith(_TRANSFER_CODING) else line for line in lines)


def _target(url: str) -> str:
    """Path and query of a URL as sent, which begins with "/"."""
    rest = url.partition("://")[2]
    cut = min((at for at in (rest.find("/"), rest.find("?")) if at >= 0), default=len(rest))
    return rest[cut:] if rest[cut : cut + 1] == "/" else f"/{rest[cut:]}"
