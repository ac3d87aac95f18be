"""The only sender of requests: one request in, one Reply out, whatever the site does.

    split the URL ▶ send (again if a kept-alive connection had been closed) ▶ read what is wanted ▶ Reply

Never raises for what a site, a name server or the network does; what is raised is a bug. Decides how much
of a body is read and what a broken one is called; what the reply means for the URL is
`app.policy.outcome`'s business. Follows no redirect, keeps no cookie, uses no proxy, netrc or other
environment. How bytes travel is in `app.net.wire` and `app.net.dial`.
"""

import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import urllib3
from urllib3.util.request import ACCEPT_ENCODING

from app.errors import NotSent
from app.model.fetch import Failure, Header, Reply, Request, RequestKind, Unsent, Whereabouts
from app.net.address import Guard
from app.net.decode import Response
from app.net.dial import Broken, Dialler, Exchange, TooLate
from app.net.dns import Resolver
from app.net.wire import Wire, WireRequest
from app.policy import identity

if TYPE_CHECKING:
    from app.net.signature import Signer

CHUNK_BYTES = 64 * 1024
# Pages that tell errors and challenges are short; more is not read and costs the connection.
ERROR_BODY_BYTES = 64 * 1024
# Head, chunk sizes, and what of a compressed body is read but not inflated any more.
OVERHEAD_BYTES = 1024 * 1024
DETAIL_MAX = 300
WHERE_S = 5.0

# Where whatever comes is read (`Request.wanted_types` is None): what is meant, first.
_ACCEPT_ANY = {
    RequestKind.PAGE: "*/*",
    RequestKind.SITEMAP: "application/xml,text/xml;q=0.9,text/plain;q=0.8,*/*;q=0.5",
    RequestKind.ROBOTS: "text/plain,*/*;q=0.5",
    RequestKind.TDMREP: "application/json,*/*;q=0.5",
}
_PORTS = {"http": 80, "https": 443}


@dataclass(slots=True)
class _Body:
    """What was read of a body; `failure` when it is not complete and nobody meant it so."""

    content: bytes = b""
    sunk: int = 0
    read: bool = True
    truncated: bool = False
    failure: Failure | None = None
    detail: str = ""


class Sender:
    """Sends requests over kept-alive connections. Thread-safe: one per process, made after the fork.

    headers           identity (User-Agent, From …). What can be read is added: of media types what a request wants,
                      of codings what urllib3 has a decoder for here
    guard, resolver   whom we talk to, and where they are
    require_contact   no contact is configured: refuse public addresses with Failure.ADDRESS (I1)
    idle_s            idle connections are closed after this (P1)
    max_connections   origins that may have an idle connection
    ca_file           PEM of authorities trusted besides the system's and certifi's
    signer            signs every request (I3); None: none is signed
    credentials       {origin: further fields} for sites of one's own (H7): sent, and not in `fields`
    """

    def __init__(
        self,
        *,
        headers: Mapping[str, str],
        guard: Guard,
        resolver: Resolver,
        require_contact: bool,
        idle_s: float = 30.0,
        max_connections: int = 256,
        ca_file: str | None = None,
        signer: "Signer | None" = None,
        credentials: "Mapping[tuple[str, str, int], Mapping[str, str]] | None" = None,
    ) -> None:
        self._dialler = dialler = Dialler(resolver, guard, require_contact=require_contact)
        self._wire = Wire(dialler, ca_file=ca_file, idle_s=idle_s, origins_max=max_connections)
        self._signer = signer
        self._credentials = credentials or {}
        # We read every language and prefer none.
        self._headers = {"Accept-Language": "*", "Accept-Encoding": ACCEPT_ENCODING, **headers}

    def send(self, request: Request) -> Reply | Unsent:
        """Unsent: `request.not_after` had passed, or its gate did not open.

        Raises NotSent: we lack a socket or a name server; and what the gate raises.
        """
        self._wire.sweep_if_due()
        started_s = time.monotonic()
        _, origin, target = _split(request.url)
        prepared = WireRequest(request.url, origin, {**self.fields(request), **self._credentials.get(origin, {})})
        exchange = Exchange(
            origin=origin,
            target=target,
            started_s=started_s,
            deadline_s=request.deadline_s,
            bytes_max=request.max_body_bytes + OVERHEAD_BYTES,
            pinned=request.address,
            fresh=request.fresh,
            not_after=request.not_after,
            gate=request.gate,
        )
        try:
            raw = self._send_once_or_again(prepared, exchange)
        except Broken as broken:
            return _failed(broken, exchange)
        except TooLate:
            return _unsent(started_s, exchange)
        except NotSent:
            self._wire.close_idle(0.0)  # they may hold what we lack
            raise
        body = _read(raw, request)
        return _replied(raw, body, exchange)

    def where(self, url: str, prefer: str | None = None) -> Whereabouts:
        """Where a request to `url` would go: over the connection that is kept alive, else to `prefer` where the name
        still has it, else in the resolver's order. Resolves if need be; contacts nobody but the resolver."""
        started_s = time.monotonic()
        _, origin, _ = _split(url)
        if (kept := self._wire.kept_to(origin)) is not None:
            return Whereabouts(addresses=(kept,), dns_ms=0.0)
        found = self._dialler.where(origin[1], origin[2], WHERE_S)
        if prefer in found:
            found = (prefer, *(each for each in found if each != prefer))
        return Whereabouts(addresses=found, dns_ms=(time.monotonic() - started_s) * 1000)

    def close_idle(self) -> int:
        """Closes what was idle too long, as `send` does now and then. The number of connections closed."""
        return self._wire.close_idle()

    def close(self) -> None:
        self._wire.close()

    def fields(self, request: Request) -> dict[str, str]:
        """The header of this request, in the order sent; signed anew each time."""
        authority, (scheme, _, _), _ = _split(request.url)
        wanted = request.wanted_types
        accept = _ACCEPT_ANY[request.kind] if wanted is None else identity.accept(wanted)
        fields = {"Host": authority, "Accept": accept, **self._headers}
        if request.etag is not None and _sendable(request.etag):
            fields["If-None-Match"] = request.etag
        if request.last_modified is not None and _sendable(request.last_modified):
            fields["If-Modified-Since"] = request.last_modified
        if self._signer is not None:
            fields |= self._signer.fields(_signed_authority(authority, scheme))
        return fields

    def _send_once_or_again(self, prepared: WireRequest, exchange: Exchange) -> Response:
        """The response after its head. A server may close a kept-alive connection just when we write to it: then the
        request goes out once more on a fresh one (RFC 9112 9.3.1). Not so once it was handed over in full: the site
        may have it, and a second one would come without the host's delay."""
        try:
            return self._send_once(prepared, exchange)
        except Broken as broken:
            if not (exchange.reused and broken.failure is Failure.RESET and not exchange.sent):
                raise
        exchange.retried = True
        return self._send_once(prepared, exchange)

    def _send_once(self, prepared: WireRequest, exchange: Exchange) -> Response:
        raw = self._wire.send(prepared, stream=True, timeout=exchange).raw
        assert isinstance(raw, Response)
        return raw


@lru_cache(maxsize=256)  # asked for a few times on the way of one request
def _split(url: str) -> tuple[str, tuple[str, str, int], str]:
    """Host header, origin and request target of a canonical URL; nothing is decoded or quoted."""
    scheme, _, rest = url.partition("#")[0].partition("://")
    cut = min((at for at in (rest.find("/"), rest.find("?")) if at >= 0), default=len(rest))
    authority = rest[:cut].rpartition("@")[2]
    target = rest[cut:] if rest[cut : cut + 1] == "/" else "/" + rest[cut:]
    host, colon, port = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        host, port = authority, ""
    return authority, (scheme, host.strip("[]"), int(port) if port else _PORTS[scheme]), target


def _signed_authority(authority: str, scheme: str) -> str:
    """As a verifier makes it of the Host field: lower-case, without the default port (RFC 9421 section 2.2.3)."""
    return authority.lower().removesuffix(f":{_PORTS[scheme]}")


def _sendable(value: str) -> bool:
    """A validator that came from a site and through the database: printable latin-1 goes back verbatim."""
    return bool(value) and all(" " <= character <= "\xff" and character != "\x7f" for character in value)


def _read(raw: Response, request: Request) -> _Body:
    """The body as far as it is wanted. Afterwards the connection is back in its pool, or closed."""
    good = 200 <= raw.status < 300
    if good and not _wanted(raw.fields.get(Header.CONTENT_TYPE), request.wanted_types):
        raw.close()
        return _Body(read=False)
    limit = request.max_body_bytes if good else min(request.max_body_bytes, ERROR_BODY_BYTES)
    body = _Body()
    chunks: list[bytes] = []
    sink = request.sink if good else None
    try:
        body.truncated = _read_into(chunks.append if sink is None else sink.write, raw, limit)
        if not body.truncated and not _decoded_whole(raw):
            body.failure, body.detail = Failure.CUT, f"{raw.headers.get('content-encoding')} stream is cut"
    except urllib3.exceptions.TimeoutError:
        body.failure, body.detail = Failure.TIMEOUT, "the deadline passed within the body"
    except (urllib3.exceptions.HTTPError, zlib.error) as error:
        body.failure, body.detail = Failure.CUT, _innermost(error)
    except Broken as broken:  # of the exchange's byte budget
        body.failure, body.detail = broken.failure, broken.detail
    except OSError as error:  # the sink's, for want of room: the connection's are urllib3's
        body.failure, body.detail = Failure.CUT, f"cannot be kept here: {error.strerror or error}"
        sink = None
    if body.truncated or body.failure:
        raw.close()
    body.content = b"".join(chunks)[:limit]
    if sink is not None:
        body.sunk = min(sink.tell(), limit)
        sink.seek(0)
    return body


def _read_into(keep: Callable[[bytes], object], raw: Response, limit: int) -> bool:
    """Keeps decoded chunks; True when there are more than `limit` bytes. Keeps at most one byte more."""
    left = limit + 1
    while left > 0 and (chunk := raw.read1(min(left, CHUNK_BYTES), decode_content=True)):
        keep(chunk)
        left -= len(chunk)
        if raw.length_remaining == 0 and raw._decoder is None:
            break  # urllib3 has given the connection back; to hear of the end once more costs as much as reading a small page
    return left <= 0


def _decoded_whole(raw: Response) -> bool:
    """Whether the compressed stream came to its end: urllib3 takes a cut gzip, deflate or br for whole.

    Looks into urllib3's decoders, since they have no word for it; a test holds each.
    """
    decoder = raw._decoder
    if decoder is None or raw.tell() == 0:
        return True
    return all(_at_end(part) for part in getattr(decoder, "_decoders", [decoder]))


def _at_end(decoder: Any) -> bool:
    if getattr(decoder, "_state", 0) == 2:  # gzip: SWALLOW_DATA, padding after the last member
        return True
    inner = decoder._obj
    return bool(inner.is_finished() if hasattr(inner, "is_finished") else inner.eof)


def _wanted(content_type: str | None, wanted_types: tuple[str, ...] | None) -> bool:
    media_type = (content_type or "").partition(";")[0].partition(",")[0].strip().lower()
    if wanted_types is None or not media_type:
        return True
    return media_type in wanted_types or media_type.partition("/")[0] + "/*" in wanted_types


def _unsent(begun_s: float, exchange: Exchange) -> Unsent:
    return Unsent(
        begun_s=begun_s,
        ended_s=time.monotonic(),
        contacted_s=exchange.contacted_s,
        connect_ms=exchange.connect_ms,
        address=exchange.address,
    )


def _contacted_s(exchange: Exchange) -> float | None:
    contacted_s = exchange.contacted_s
    return contacted_s if contacted_s is not None and contacted_s < exchange.started_s else None


def _failed(broken: Broken, exchange: Exchange) -> Reply:
    ended_s = time.monotonic()
    return Reply(
        status=None,
        failure=broken.failure,
        detail=_one_line(broken.detail),
        address=exchange.address,
        started_s=exchange.started_s,
        ended_s=ended_s,
        dns_ms=exchange.dns_ms,
        connect_ms=exchange.connect_ms,
        total_ms=(ended_s - exchange.started_s) * 1000,
        contacted_s=_contacted_s(exchange),
        sent_s=exchange.sent_s,
    )


def _replied(raw: Response, body: _Body, exchange: Exchange) -> Reply:
    ended_s = time.monotonic()
    detail = body.detail or ("sent again: the kept-alive connection had been closed" if exchange.retried else "")
    return Reply(
        status=raw.status,
        failure=body.failure,
        detail=_one_line(detail),
        headers=raw.fields,
        body=body.content,
        body_read=body.read,
        truncated=body.truncated,
        sunk_bytes=body.sunk,
        wire_bytes=raw.tell(),
        address=exchange.address,
        started_s=exchange.started_s,
        ended_s=ended_s,
        dns_ms=exchange.dns_ms,
        connect_ms=exchange.connect_ms,
        first_byte_ms=((exchange.first_byte_s or ended_s) - exchange.started_s) * 1000,
        total_ms=(ended_s - exchange.started_s) * 1000,
        contacted_s=_contacted_s(exchange),
        sent_s=exchange.sent_s,
    )


def _one_line(detail: str) -> str:
    """Fit for a person and for the database, though a site may have written half of it."""
    return detail and "".join(each if each.isprintable() else " " for each in detail[:DETAIL_MAX])


def _innermost(error: BaseException) -> str:
    """What went wrong in the end, without the layers that reported it."""
    while (cause := error.__cause__) is not None:
        error = cause
    return f"{type(error).__name__}: {error}"
