"""The only sender of requests: one request in, one Reply out, whatever the site does.

    split the URL ▶ send (again if a kept-alive connection had been closed) ▶ read what is wanted ▶ Reply

Never raises for what a site, a name server or the network does. A bug that an answer reveals is a failure of that
answer (PROTOCOL: asked for once), logged with its traceback. `app.policy.outcome` decides what the reply means for the
URL. The sender follows no redirect, keeps no cookie, and uses no proxy, netrc or other environment. Connections are in
`app.net.adapter`; `app.net.body` decides how much of a body is read.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

import structlog

from app.clock import monotonic
from app.errors import DETAIL_CHARS, NotSent, is_ours
from app.model.fetch import Failure, Reply, Request, RequestKind, Unsent, Whereabouts
from app.net import decode
from app.net.adapter import PORTS, GuardedAdapter
from app.net.body import Body, Response, read
from app.net.exchange import Broken, Exchange, Origin, TooLate
from app.policy import identity

if TYPE_CHECKING:
    from app.net.signature import Signer

# For the head, chunk sizes, and compressed bytes that are read but no longer inflated.
OVERHEAD_BYTES = 1024 * 1024
_log = structlog.get_logger()

# For requests that read any type (`Request.wanted_types` is None): the expected types first.
_ACCEPT_ANY = {
    RequestKind.PAGE: "*/*",
    RequestKind.SITEMAP: "application/xml,text/xml;q=0.9,text/plain;q=0.8,*/*;q=0.5",
    RequestKind.ROBOTS: "text/plain,*/*;q=0.5",
    RequestKind.TDMREP: "application/json,*/*;q=0.5",
    RequestKind.LICENCE: "application/rsl+xml,application/xml;q=0.9,text/xml;q=0.9,*/*;q=0.5",
    RequestKind.SUBREQUEST: "*/*",
}


class Sender:
    """Sends requests over kept-alive connections. Thread-safe: one per process, made after the fork.

    adapter       decides whom we contact, and keeps the connections
    headers       identity (User-Agent, From …). Accept is added for the media types that a request wants, and
                  Accept-Encoding for the codings that are decoded here
    signer        signs every request (promise I3); None: no request is signed
    credentials   {origin: further fields} for the operator's own sites (promise H7): sent where the request is
                  `authorised`, and not in `fields`
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
        adapter.poolmanager.protected = frozenset(self._credentials)
        self._headers = {"Accept-Encoding": decode.ACCEPTED, **headers}

    def send(self, request: Request) -> Reply | Unsent:
        """Send a request. Returns Unsent if `request.not_after` had passed, or its gate did not open.

        Raises NotSent when we lack a socket or a name server, and what the gate raises.
        """
        self._adapter.poolmanager.sweep_if_due()
        started_s = monotonic()
        exchange = self._exchange(request, started_s)
        try:
            raw = self._send_once_or_again(exchange)
            return _replied(raw, read(raw, request), exchange)
        except Broken as broken:
            return _failed(broken, exchange)
        except TooLate:
            return _unsent(started_s, exchange)
        except NotSent:
            self._adapter.poolmanager.close_idle(0.0)  # idle connections may hold the descriptors that we lack
            raise
        except Exception as error:
            if is_ours(error):
                raise
            # The site was asked: its pace and the log need to know when.
            _log.exception("request.crashed", url=request.url)
            return _failed(Broken(Failure.PROTOCOL, f"receiving it raised {type(error).__name__}: {error}"), exchange)

    def where(self, url: str, prefer: str | None, timeout_s: float) -> Whereabouts:
        """The addresses that a request to `url` would try, in order. A kept-alive connection's is the only one; else
        `prefer` goes first, where the name still has it. Resolves if needed; contacts only the resolver.

        timeout_s: the longest wait for the name. 0: only what is remembered is found, else a lookup begins
        """
        started_s = monotonic()
        _, origin, _ = _split(url)
        if (kept := self._adapter.kept_to(origin)) is not None:
            return Whereabouts(addresses=(kept,), dns_ms=0.0)
        found = self._adapter.dialler.where(origin[1], origin[2], timeout_s)
        if prefer in found:
            found = (prefer, *(each for each in found if each != prefer))
        return Whereabouts(addresses=found, dns_ms=(monotonic() - started_s) * 1000)

    def close_idle(self, idle_s: float | None = None) -> int:
        """Close connections idle for `idle_s` (default: too long, as `send` does now and then). Returns how many."""
        return self._adapter.poolmanager.close_idle(idle_s)

    def close(self) -> None:
        self._adapter.close()

    def fields(self, request: Request) -> dict[str, str]:
        """The header of this request, in the order sent; signed anew each time."""
        authority, (scheme, _, _), _ = _split(request.url)
        wanted = request.wanted_types
        accept = _ACCEPT_ANY[request.kind] if wanted is None else identity.accept(wanted)
        fields = {"Host": authority, "Accept": accept, **request.fields, **self._headers}
        if request.method == "POST":
            fields["Content-Length"] = str(len(request.content))
        if request.etag is not None and _sendable(request.etag):
            fields["If-None-Match"] = request.etag
        if request.last_modified is not None and _sendable(request.last_modified):
            fields["If-Modified-Since"] = request.last_modified
        if self._signer is not None:
            fields |= self._signer.fields(_signed_authority(authority, scheme))
        return fields

    def _exchange(self, request: Request, started_s: float) -> Exchange:
        _, origin, target = _split(request.url)
        headers = open_headers = self.fields(request)
        if request.authorised and (secret := self._credentials.get(origin)):
            covered = {name.lower() for name in secret}
            open_headers = {name: value for name, value in headers.items() if name.lower() not in covered}
            headers = {**headers, **secret}
        return Exchange(
            origin=origin,
            target=target,
            headers=headers,
            open_headers=open_headers,
            started_s=started_s,
            until_s=started_s + request.deadline_s,
            bytes_left=request.max_body_bytes + OVERHEAD_BYTES,
            pinned=request.address,
            fresh=request.fresh,
            not_after=request.not_after,
            gate=request.gate,
            method=request.method,
            content=request.content,
        )

    def _send_once_or_again(self, exchange: Exchange) -> Response:
        """Send, and return the response after its head.

        A server may close a kept-alive connection just when we write to it: then the request is sent again on a fresh
        one (RFC 9112 9.3.1). Not if it was handed over in full: the site may have it, and a second one would arrive
        without the host's delay."""
        try:
            return self._adapter.exchange(exchange)
        except Broken as broken:
            is_safe = exchange.method != "POST"  # RFC 9110 9.2.2: a second one might act twice
            if not (is_safe and exchange.reused and broken.failure is Failure.RESET and not exchange.sent):
                raise
        exchange.retried = True
        return self._adapter.exchange(exchange)


@lru_cache(maxsize=256)  # called a few times per request
def _split(url: str) -> tuple[str, Origin, str]:
    """Host header, origin and request target of a canonical URL; nothing is decoded or quoted."""
    scheme, _, rest = url.partition("#")[0].partition("://")
    cut = min((at for at in (rest.find("/"), rest.find("?")) if at >= 0), default=len(rest))
    authority = rest[:cut].rpartition("@")[2]
    target = rest[cut:] if rest[cut : cut + 1] == "/" else "/" + rest[cut:]
    host, colon, port = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        host, port = authority, ""
    return authority, (scheme, host.strip("[]"), int(port) if port else PORTS[scheme]), target


def _signed_authority(authority: str, scheme: str) -> str:
    """The authority as a verifier derives it from Host: lower-case, without the default port (RFC 9421 section
    2.2.3)."""
    return authority.lower().removesuffix(f":{PORTS[scheme]}")


def _sendable(value: str) -> bool:
    """Whether a validator, given by a site and kept in the database, can be sent back verbatim: printable latin-1."""
    return bool(value) and all(" " <= character <= "\xff" and character != "\x7f" for character in value)


def _unsent(begun_s: float, exchange: Exchange) -> Unsent:
    return Unsent(
        begun_s=begun_s,
        ended_s=monotonic(),
        contacted_s=exchange.contacted_s,
        connect_ms=exchange.connect_ms,
        address=exchange.address,
    )


def _contacted_s(exchange: Exchange) -> float | None:
    contacted_s = exchange.contacted_s
    return contacted_s if contacted_s is not None and contacted_s < exchange.started_s else None


def _failed(broken: Broken, exchange: Exchange) -> Reply:
    ended_s = monotonic()
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
    ended_s = monotonic()
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
        head=raw.head,
        coded=body.coded,
        asked=exchange.open_headers,
    )


def _one_line(detail: str) -> str:
    """Make a detail safe to show and to store: a site may have written half of it."""
    return detail and "".join(each if each.isprintable() else " " for each in detail[:DETAIL_CHARS])
