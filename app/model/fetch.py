"""One request and its result.

A capture: an answer that is kept in the archive, where its record is, and what is read back from it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import BinaryIO, Final, NamedTuple, Protocol
from uuid import UUID

NOTED_CHARS: Final = 2_083  # as long as a URL may be
VALIDATOR_CHARS: Final = 1_024  # real ones have under a hundred
# RFC 9110 14.4
_RANGE: Final = re.compile(r"\s*bytes\s+(\d{1,18})\s*-\s*(\d{1,18})\s*/\s*(\d{1,18})\s*", re.ASCII | re.IGNORECASE)
_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


class RequestKind(StrEnum):
    """The purpose of a request: `fetches.kind`."""

    PAGE = "page"
    SITEMAP = "sitemap"
    ROBOTS = "robots"
    TDMREP = "tdmrep"  # /.well-known/tdmrep.json
    LICENCE = "licence"  # an RSL licence file
    SUBREQUEST = "subrequest"  # that a page makes in a browser: a script, its data, an iframe


class Header(StrEnum):
    """Response headers that we look at, by the lower-case names used as keys of `Reply.headers`."""

    CONTENT_TYPE = "content-type"
    DATE = "date"
    ETAG = "etag"
    LAST_MODIFIED = "last-modified"
    LOCATION = "location"
    RETRY_AFTER = "retry-after"
    CACHE_CONTROL = "cache-control"
    X_ROBOTS_TAG = "x-robots-tag"
    CONTENT_USAGE = "content-usage"
    CONTENT_SIGNAL = "content-signal"
    TDM_RESERVATION = "tdm-reservation"
    TDM_POLICY = "tdm-policy"
    LINK = "link"
    REFRESH = "refresh"
    CONTENT_RANGE = "content-range"


class Gate(Protocol):
    """The gate that a connected request waits at: its start is confirmed when it can be used, not before."""

    def open(self) -> bool:
        """Block until the request may start. False: it may not, and is not sent."""

    def is_late(self) -> bool:
        """Whether the start that the gate opened for has passed."""

    def sent(self, at_s: float) -> None:
        """Record that the request was sent at this monotonic second, or that its start was abandoned."""


class Request(NamedTuple):
    """A request to a site. The sender (`app.net.http`) adds identity, Host and Accept headers.

    url             canonical absolute URL
    kind            page or robots
    etag            sent as If-None-Match, verbatim, when not None
    last_modified   sent as If-Modified-Since, verbatim, when not None
    wanted_types    media types (lower-case, no parameters, "text/*" allowed) whose body is read; the body of any other
                    2xx type is not read and the connection is closed. None: read any type
    or_listing      a feed or a sitemap is read, too, whatever its type
    max_body_bytes  cap on decoded body bytes; the rest is not read and `Reply.truncated` is set
    deadline_s      seconds from start to the last byte, DNS and connecting included
    sink            the decoded body of a 2xx is written there, and not kept in Reply.body
    keeps_coded     a body that has a content-coding is kept in Reply.coded as it was received, too
    address         connect to this one of the host's addresses and to no other; None: whichever answers
    fresh           over a new connection, not one that was kept alive
    not_after       monotonic seconds: neither reach the gate nor send later than this; None: no limit
    gate            waited at between connecting and sending, beyond the deadline; None: it is sent at once
    method          GET; HEAD or POST for what a page asks for in a browser
    fields          further header fields, by their names as they are sent; those of our identity cannot be replaced
    content         the body of a POST
    authorised      may carry the operator's credentials for its origin: the one who asks is entitled to them
    """

    url: str
    kind: RequestKind = RequestKind.PAGE
    etag: str | None = None
    last_modified: str | None = None
    wanted_types: tuple[str, ...] | None = None
    or_listing: bool = False
    max_body_bytes: int = 1024 * 1024
    deadline_s: float = 30.0
    sink: BinaryIO | None = None
    keeps_coded: bool = False
    address: str | None = None
    fresh: bool = False
    not_after: float | None = None
    gate: Gate | None = None
    method: str = "GET"
    fields: Mapping[str, str] = _NO_HEADERS
    content: bytes = b""
    authorised: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsent:
    """A request that was not sent: its start had passed, or it got none. Points in time are monotonic seconds.

    begun_s, ended_s   of the attempt, the wait included
    contacted_s        when its connection was begun; None: there was none, or it has been reported before
    connect_ms         milliseconds that connecting took, as in Reply
    address            connected to, None when there was no connection
    detail             one line for a person
    """

    begun_s: float
    ended_s: float
    contacted_s: float | None = None
    connect_ms: float | None = None
    address: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """The addresses for a host's next request.

    addresses   that we may contact, best first; none when the name does not resolve, or not to such ones
    dns_ms      milliseconds that the look-up took
    """

    addresses: tuple[str, ...]
    dns_ms: float


class Failure(StrEnum):
    """The cause of an incomplete response: `fetches.failure`."""

    DNS = "dns"  # the name did not resolve (in time)
    ADDRESS = "address"  # it resolved to an address that we do not contact
    REFUSED = "refused"  # nothing listens there, or no route
    CONNECT_TIMEOUT = "connect_timeout"
    TLS = "tls"  # certificate or handshake
    TIMEOUT = "timeout"  # the deadline passed after connecting
    RESET = "reset"  # connection closed or reset before the headers were complete
    CUT = "cut"  # body shorter than announced, bad chunk, bad gzip
    PROTOCOL = "protocol"  # not HTTP, or headers beyond the limits

    @property
    def before_contact(self) -> bool:
        """Whether no HTTP request can have reached the site: a failure of the host, not of the URL."""
        return self in {Failure.DNS, Failure.ADDRESS, Failure.REFUSED, Failure.CONNECT_TIMEOUT, Failure.TLS}


class Reply(NamedTuple):
    """The result of a request: a response (status set) or a failure (failure set); both when the body was cut.

    status       HTTP status, None when no status line was read
    failure      why it is not complete, None for a complete (or deliberately truncated) response
    detail       one line for a person about the failure, never secret, at most 300 characters
    headers      names in lower case; repeated fields joined by ", ", those of X-Robots-Tag by "\\n", as a user agent
                 named in one of them holds for that one only; values str as latin-1
    body         decoded body (content-encoding undone), b"" when there is none or it was not read
    body_read    False when the body was left unread because its type is not wanted
    truncated    the body went over max_body_bytes and was cut there
    sunk_bytes   decoded body bytes that went to Request.sink
    head         status line and header fields as received, up to the empty line; b"" without a status
    coded        the body as received, its content-coding kept, where Request.keeps_coded and there was one; a file
                 where the decoded body went to Request.sink. None: as `body`
    asked        the fields that were sent, in that order, without the operator's credentials
    wire_bytes   body bytes received before decoding
    address      IP address that was connected to, None when there was no connection
    started_s    monotonic seconds when the request began: before DNS, or when its gate opened
    contacted_s  monotonic seconds when connecting began, where that was before started_s
    sent_s       monotonic seconds when the request had been handed to the system; None: it was not
    ended_s      monotonic seconds when the last byte was read or the connection was abandoned
    dns_ms, connect_ms, first_byte_ms, total_ms   milliseconds; dns/connect None when the connection was reused,
                 first_byte None without a status
    """

    status: int | None
    started_s: float
    ended_s: float
    failure: Failure | None = None
    detail: str = ""
    headers: Mapping[str, str] = _NO_HEADERS
    body: bytes = b""
    body_read: bool = True
    truncated: bool = False
    sunk_bytes: int = 0
    wire_bytes: int = 0
    address: str | None = None
    dns_ms: float | None = None
    connect_ms: float | None = None
    first_byte_ms: float | None = None
    total_ms: float = 0.0
    contacted_s: float | None = None
    sent_s: float | None = None
    head: bytes = b""
    coded: bytes | BinaryIO | None = None
    asked: Mapping[str, str] = _NO_HEADERS

    def header(self, name: str) -> str | None:
        return self.headers.get(name)

    @property
    def is_told(self) -> bool:
        """Whether its status counts: the answer came whole, or its head tells all, whatever becomes of its body.

        So does the head of a redirect, a refusal and a request to slow down.
        """
        return self.failure is None or (self.status is not None and (300 <= self.status < 500 or self.status == 503))

    @property
    def is_part(self) -> bool:
        """Whether it is a part of a document, which nobody asked for: a 206, unless its range is everything."""
        if self.status != 206:
            return False
        found = _RANGE.fullmatch(self.headers.get(Header.CONTENT_RANGE, ""))
        if found is None:
            return True
        first, last, length = map(int, found.groups())
        is_whole = self.truncated or not self.body_read or self.wire_bytes == length
        return not (first == 0 and last == length - 1 and is_whole)

    def noted(self, name: str) -> str | None:
        """A header for the record, cut to NOTED_CHARS: a header may have 64 KiB, and each answer leaves a row."""
        value = self.headers.get(name)
        return value and value[:NOTED_CHARS]

    def validator(self, name: str) -> str | None:
        """A validator to be sent back; None for one so long that servers would refuse the request (431)."""
        value = self.headers.get(name)
        return None if value is None or len(value) > VALIDATOR_CHARS else value


class Outcome(StrEnum):
    """The closed set of endings of a fetch: `fetches.outcome`. Decided by `app.policy.outcome.classify`."""

    PAGE = "page"  # 2xx with a wanted body
    UNCHANGED = "unchanged"  # 304 to a conditional request
    UNWANTED = "unwanted"  # 2xx of a type that we do not read
    REDIRECT = "redirect"  # 3xx with a usable Location
    NOT_FOUND = "not_found"  # 404
    GONE = "gone"  # 410
    UNAUTHORISED = "unauthorised"  # 401, 407
    PAYMENT_REQUIRED = "payment_required"  # 402: nothing is paid
    FORBIDDEN = "forbidden"  # 403, 451
    CLIENT_ERROR = "client_error"  # any other 4xx; 3xx without a usable Location; 304 that nobody asked for; 1xx
    RATE_LIMITED = "rate_limited"  # 429
    UNAVAILABLE = "unavailable"  # 503
    SERVER_ERROR = "server_error"  # any other 5xx
    UNREACHABLE = "unreachable"  # no contact was made: DNS, refused, connect timeout, TLS
    BLOCKED_ADDRESS = "blocked_address"  # the name points to an address that we do not contact
    CHALLENGED = "challenged"  # a challenge or CAPTCHA page: never solved, the host rests
    SOFT_BLOCKED = "soft_blocked"  # 2xx whose content says that we are blocked
    UNSENT = "unsent"  # the request was not sent: its start had passed, or it got none
    BROKEN = "broken"  # contact was made, the answer was not complete: timeout, reset, cut, not HTTP

    @property
    def brought_page(self) -> bool:
        return self in {Outcome.PAGE, Outcome.UNCHANGED}

    @property
    def is_error(self) -> bool:
        """Whether it counts as an error in alerts: a page that is missing, or not wanted, is an answer."""
        return self not in {
            Outcome.PAGE,
            Outcome.UNCHANGED,
            Outcome.UNWANTED,
            Outcome.REDIRECT,
            Outcome.NOT_FOUND,
            Outcome.GONE,
            Outcome.UNSENT,
        }


class CaptureKind(StrEnum):
    """The kind of an answer: `captures.kind`."""

    PAGE = "page"  # 2xx that was read as a page, or a 304 that confirms one
    RENDERED = "rendered"  # what a browser made of a page: a document, no answer
    ROBOTS = "robots"  # any answer for robots.txt
    SITEMAP = "sitemap"  # 2xx that was read as a sitemap, or a 304 that confirms one
    REDIRECT = "redirect"
    ERROR = "error"  # any other answer: 4xx, 5xx, a type whose body is not read


class Capture(NamedTuple):
    """A row of `captures`.

    id             given when it is written; 0 before that
    key            SHA-256 of the canonical URL;   url: as it was sent
    fetched_at     when the request ended, by the database's clock
    content_type   as the answer says;   charset: the encoding that the page was read in
    body_sha256    of the decoded body;   body_bytes: how many of its bytes were read
    text_sha256    of the main text; None for what is no page
    payload_sha256 of the body as received, where that differs from the decoded one
    truncated      the body is not all that the site would have sent
    segment_id, at_offset, length   where its record is: one gzip member of so many bytes
    refers_to      the capture whose body this revisit repeats; None: its record holds its own body
    record_id      of its WARC record; None: it was captured before this was noted
    rendered_from  of a rendered document: the capture of the answer that the browser opened
    to_render      a browser is to open it: a rendered document from before stands until then
    """

    id: int
    host_id: int
    crawl_id: int
    key: bytes
    url: str
    fetched_at: datetime
    kind: str
    status: int
    content_type: str | None
    charset: str | None
    body_sha256: bytes | None
    text_sha256: bytes | None
    payload_sha256: bytes | None
    body_bytes: int
    truncated: bool
    segment_id: int
    at_offset: int
    length: int
    refers_to: int | None
    record_id: UUID | None = None
    rendered_from: int | None = None
    to_render: bool = False


class SegmentState(StrEnum):
    """The state of a segment: `segments.state`."""

    OPEN = "open"  # a worker of its node writes to it
    CLOSED = "closed"  # final, on its node's disk
    UPLOADED = "uploaded"  # final, in the object store, and no longer on the disk
    GONE = "gone"  # deleted by retention, or with its crawl


class Segment(NamedTuple):
    """A row of `segments`: one WARC file, of one crawl, written by one process.

    node    name of the machine that wrote it;   name: of the file, without the folder
    place   of an uploaded one: its URL;   bytes, records: None while it is open
    """

    id: int
    crawl_id: int
    node: str
    name: str
    state: str
    place: str | None
    bytes: int | None
    records: int | None
    opened_at: datetime
    closed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """An answer as it is read back from the archive.

    headers    fields in the order they came, names as written; a revisit has those of its own answer
    body       content-decoded; of the capture that a revisit refers to
    truncated  the body is not all that the site would have sent
    at         of a rendered document: its URL at the end, which its scripts may have changed
    """

    status: int
    reason: str
    headers: Sequence[tuple[str, str]]
    body: bytes
    truncated: bool
    at: str | None = None

    def header(self, name: str) -> str | None:
        """The values of a field, joined by ", "; None without it."""
        found = [value for field, value in self.headers if field.lower() == name.lower()]
        return ", ".join(found) if found else None
