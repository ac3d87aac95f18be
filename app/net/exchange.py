"""One request in progress: what is asked, the time and bytes it has left, and what has happened so far.

A failure is raised as `Broken`. It is neither an OSError nor an urllib3 error, and so passes through the layers of
requests and urllib3 untouched; so do `TooLate`, and NotSent for a failure that is not the site's (`app.net.sockets`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.clock import monotonic
from app.model.fetch import Failure, Gate

Origin = tuple[str, str, int]  # scheme, host (IPv6 without brackets), port


class Broken(Exception):
    """The request got no usable response. Not an OSError, so that no layer in between translates it.

    failure: what to report.   detail: one line for a person.
    """

    def __init__(self, failure: Failure, detail: str) -> None:
        super().__init__(detail)
        self.failure = failure
        self.detail = detail


class TooLate(Exception):
    """The request was not sent: its `not_after` had passed, or its gate did not open. The connection is kept."""


@dataclass(slots=True, kw_only=True, eq=False)
class Exchange:
    """A request and its progress. The caller gives the first thirteen fields; the others are filled in on the way.

    origin        whom to ask
    target        request target, sent byte for byte
    headers       all that are sent, in this order, Host first
    open_headers  of these, those that are no secret: without the operator's credentials
    started_s     monotonic second when it began; with a gate, when that opened
    until_s       monotonic second by which the last byte must have arrived, resolving and connecting included
    bytes_left    bytes that may still be received, head and framing included
    pinned        the only address to connect to; None: any of the host's
    fresh         do not use a kept-alive connection
    not_after     monotonic second after which it must not be sent
    gate          waited at between connecting and sending
    method        GET, HEAD or POST;   content: the body of a POST
    reused        the connection was kept alive from an earlier request
    retried       sent a second time on a fresh connection
    sent          the request was handed to the system in full: the site may have it
    sent_s        monotonic second when it was handed over
    contacted_s   monotonic second when connecting began, for a connection that no request had used before
    address       connected to; None while there is no connection
    dns_ms        milliseconds that resolving took
    connect_ms    milliseconds that connecting took, TLS included
    first_byte_s  monotonic second of the first byte of the response
    """

    origin: Origin
    target: str
    headers: Mapping[str, str] = field(default_factory=dict)
    open_headers: Mapping[str, str] = field(default_factory=dict)
    started_s: float
    until_s: float
    bytes_left: int
    pinned: str | None = None
    fresh: bool = False
    not_after: float | None = None
    gate: Gate | None = None
    method: str = "GET"
    content: bytes = b""
    reused: bool = False
    retried: bool = False
    sent: bool = False
    sent_s: float | None = None
    contacted_s: float | None = None
    address: str | None = None
    dns_ms: float | None = None
    connect_ms: float | None = None
    first_byte_s: float | None = None

    def left_s(self) -> float:
        """Seconds left until the deadline. Raises TimeoutError after it."""
        left = self.until_s - monotonic()
        if left <= 0:
            raise TimeoutError("deadline passed")
        return left

    def check_not_late(self) -> None:
        """Raises TooLate after `not_after`."""
        if self.not_after is not None and monotonic() > self.not_after:
            raise TooLate

    def received(self, count: int) -> None:
        """Count bytes that arrived. Raises Broken when they exceed what any response within the limits needs."""
        if self.first_byte_s is None and count:
            self.first_byte_s = monotonic()
        self.bytes_left -= count
        if self.bytes_left < 0:
            raise Broken(Failure.PROTOCOL, "more bytes than any response within the limits has")
