"""Answers that break."""

from collections.abc import Sequence
from typing import Any

from app.model.fetch import Reply, Request
from app.net.dns import Resolver
from tests.net.hostile import Behaviour, HostileServer, Peer, once, page, raw
from tests.net.senders import Replying, dialler_to, loopback_sender

DEADLINE_S = 0.4
LATEST_MS = 8_000  # after which it ends on a busy machine, too; who drips goes on for longer, who is silent for ever


def answered(site: HostileServer, sender: Replying, answer: bytes | Behaviour, **asked: Any) -> Reply:
    site.answers["/"] = answer
    return sender.send(Request(url=site.url("/"), **asked))


def chunked(*body: bytes) -> Behaviour:
    return once(raw(b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked", b"".join(body)))


def encoded(encoding: bytes, body: bytes) -> bytes:
    return page(body, b"Content-Encoding: " + encoding)


def drip_body(peer: Peer) -> None:
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    peer.drip(b"x" * 1000)


def sender_of(names: dict[str, list[str]], *, allow: Sequence[Any] = (), contact: bool = True) -> Replying:
    def getaddrinfo(host: str, port: int | None, **_: Any) -> list[tuple[Any, ...]]:
        return [(0, 0, 0, "", (address, 0)) for address in names[host]]

    resolver = Resolver(getaddrinfo=getaddrinfo)
    return loopback_sender(dialler=dialler_to(tuple(allow), resolver=resolver, require_contact=not contact))
