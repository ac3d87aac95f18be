"""The only sender of requests: one request in, one Reply out, whatever the site does.

    split the URL ▶ send (again if a kept-alive connection had been closed) ▶ read what is wanted ▶ Reply

Never raises for what a site, a name server or the network does; what is raised is a bug. What the reply means for the URL is
`app.policy.outcome`'s business. Follows no redirect, keeps no cookie, uses no proxy, netrc or other
environment. How bytes travel is in `app.net.adapter`, how much of a body is read in `app.net.body`.
"""

import time
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from urllib3.util.request import ACCEPT_ENCODING

from app.errors import NotSent
from app.model.fetch import Failure, Reply, Request, RequestKind, Unsent, Whereabouts
from app.net.adapter import GuardedAdapter
from app.net.body import Body, read
from app.net.decode import Response
from app.net.exchange import Broken, Exchange, Origin, TooLate
from app.policy import identity

if TYPE_CHECKING:
    from app.net.signature import Signer

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


class Sender:
    """Sends requests over kept-alive connections. Thread-safe: one per process, made after the fork.

    adapter       whom we talk to, and over which connections
    headers       identity (User-Agent, From …). What can be read is added: of media types what a request wants, of
                  codings what urllib3 has a decoder for here
    signer        signs every request (I3); None: none is signed
    credentials   {origin: further fields} for sites of one's own (H7): sent, and not in `fields`
    """

    def __init__(
        self,
        adapter: GuardedAdapter,
        headers: Mapping[str, str],
        *,
        signer: "Signer | None" = None,
        credentials: Mapping[Origin, Mapping[str, str]] | None = None,
    ) -> None:
        self._adapter = adapter
        self._signer = signer
        self._credentials = credentials or {}
        # We read every language and prefer none.
        self._headers = {"Accept-Language": "*", "Accept-Encoding": ACCEPT_ENCODING, **headers}

    def send(self, request: Request) -> Reply | Unsent:
        """Unsent: `request.not_after` had passed, or its gate did not open.

        Raises NotSent: we lack a socket or a name server; and what the gate raises.
        """
        self._adapter.poolmanager.sweep_if_due()
        started_s = time.monotonic()
        exchange = self._exchange(request, started_s)
        try:
            raw = self._send_once_or_again(exchange)
        except Broken as broken:
            return _failed(broken, exchange)
        except TooLate:
            return _unsent(started_s, exchange)
        except NotSent:
            self._adapter.poolmanager.close_idle(0.0)  # they may hold what we lack
            raise
        body = read(raw, request)
        return _replied(raw, body, exchange)

    def where(self, url: str, prefer: str | None = None) -> Whereabouts:
        """Where a request to `url` would go: over the connection that is kept alive, else to `prefer` where the name
        still has it, else in the resolver's order. Resolves if need be; contacts nobody but the resolver."""
        started_s = time.monotonic()
        _, origin, _ = _split(url)
        if (kept := self._adapter.kept_to(origin)) is not None:
            return Whereabouts(addresses=(kept,), dns_ms=0.0)
        found = self._adapter.dialler.where(origin[1], origin[2], WHERE_S)
        if prefer in found:
            found = (prefer, *(each for each in found if each != prefer))
        return Whereabouts(addresses=found, dns_ms=(time.monotonic() - started_s) * 1000)

    def close_idle(self) -> int:
        """Closes what was idle too long, as `send` does now and then. The number of connections closed."""
        return self._adapter.poolmanager.close_idle()

    def close(self) -> None:
        self._adapter.close()

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

    def _exchange(self, request: Request, started_s: float) -> Exchange:
        _, origin, target = _split(request.url)
        return Exchange(
            origin=origin,
            target=target,
            headers={**self.fields(request), **self._credentials.get(origin, {})},
            started_s=started_s,
            until_s=started_s + request.deadline_s,
            bytes_left=request.max_body_bytes + OVERHEAD_BYTES,
            pinned=request.address,
            fresh=request.fresh,
            not_after=request.not_after,
            gate=request.gate,
        )

    def _send_once_or_again(self, exchange: Exchange) -> Response:
        """The response after its head. A server may close a kept-alive connection just when we write to it: then the
        request goes out once more on a fresh one (RFC 9112 9.3.1). Not so once it was handed over in full: the site
        may have it, and a second one would come without the host's delay."""
        try:
            return self._adapter.exchange(exchange)
        except Broken as broken:
            if not (exchange.reused and broken.failure is Failure.RESET and not exchange.sent):
                raise
        exchange.retried = True
        return self._adapter.exchange(exchange)


@lru_cache(maxsize=256)  # asked for a few times on the way of one request
def _split(url: str) -> tuple[str, Origin, str]:
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


def _replied(raw: Response, body: Body, exchange: Exchange) -> Reply:
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
