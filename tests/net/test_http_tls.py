"""What the sender makes of TLS that is sound, broken, old or slow."""

import socket
import ssl
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from app.model.fetch import Failure, Request
from app.net.dns import Resolver
from app.net.sockets import tls_context
from tests.authority import Authority
from tests.net.broken import DEADLINE_S, drip_body, sender_of
from tests.net.hostile import LOOPBACK, HostileServer, page
from tests.net.senders import Replying, dialler_to, loopback_sender


@pytest.fixture
def trusting(authority: Authority) -> Iterator[Replying]:
    def getaddrinfo(host: str, port: int | None, **_: Any) -> list[tuple[Any, ...]]:
        return [(0, 0, 0, "", (TLS_ADDRESS, 0))]

    resolver = Resolver(getaddrinfo=getaddrinfo)
    sender = loopback_sender(dialler=dialler_to(resolver=resolver), ca_file=str(authority.file))
    yield sender
    sender.close()


TLS_ADDRESS = "127.63.0.1"


def secured(tls: ssl.SSLContext | None) -> HostileServer:
    server = HostileServer(tls, TLS_ADDRESS)
    server.answers["/"] = page(b"secret" * 20_000)
    server.answers["/drip"] = drip_body
    return server


def test_tls_with_a_good_certificate(authority: Authority, trusting: Replying) -> None:
    context = authority.context("good.test")
    names: list[str | None] = []
    context.sni_callback = lambda sock, name, _: names.append(name)
    with secured(context) as server:
        for _ in range(3):
            reply = trusting.send(Request(url=server.url("/", "good.test")))
            assert (reply.status, reply.failure, len(reply.body)) == (200, None, 120_000), reply.detail
        assert server.connections == 1
        drip = trusting.send(Request(url=server.url("/drip", "good.test"), deadline_s=DEADLINE_S))
        assert (drip.status, drip.failure) == (200, Failure.TIMEOUT)
    assert names == ["good.test"]


class Waiting:
    """A gate at which the server's session tickets arrive, unread: TLS 1.3 sends them after the handshake."""

    def __init__(self, tickets: threading.Event) -> None:
        self._tickets = tickets
        self.asked = 0

    def open(self) -> bool:
        self.asked += 1
        assert self._tickets.wait(10)
        return True

    def is_late(self) -> bool:
        return False

    def sent(self, at_s: float) -> None:
        pass


def test_unread_session_tickets_are_no_end_of_a_connection(authority: Authority, trusting: Replying) -> None:
    context = authority.context("good.test")
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    with secured(context) as server:
        gate = Waiting(server.shaken)
        reply = trusting.send(Request(url=server.url("/", "good.test"), gate=gate))
        assert (reply.status, server.connections, gate.asked) == (200, 1, 1), reply.detail


def test_tls_to_an_address(authority: Authority, trusting: Replying) -> None:
    with secured(authority.context(TLS_ADDRESS)) as server:
        assert trusting.send(Request(url=server.url("/"))).status == 200


def test_certificates_are_judged_alike_with_every_python() -> None:
    """Python 3.13 and newer refuse by default what browsers take: a certificate without key identifiers."""
    flags = tls_context().verify_flags
    assert flags & ssl.VERIFY_X509_PARTIAL_CHAIN
    assert not flags & ssl.VERIFY_X509_STRICT


def old_tls(authority: Authority) -> ssl.SSLContext:
    context = authority.context("good.test")
    context.options |= ssl.OP_NO_TLSv1_2 | ssl.OP_NO_TLSv1_3
    return context


# name, context of the server
BAD_TLS = [
    ("another name", lambda authority: authority.context("bad.test")),
    ("wildcard one level off", lambda authority: authority.context("*.good.test")),
    ("expired", lambda authority: authority.context("good.test", ended=True)),
    ("self-signed", lambda authority: authority.context("good.test", by_itself=True)),
    ("TLS 1.1", old_tls),
]


@pytest.mark.filterwarnings("ignore:ssl.OP_NO_TLS:DeprecationWarning", "ignore:ssl.OP_NO_SSL:DeprecationWarning")
@pytest.mark.parametrize("make", [row[1] for row in BAD_TLS], ids=[row[0] for row in BAD_TLS])
def test_tls_that_does_not_verify(authority: Authority, trusting: Replying, make: Any) -> None:
    with secured(make(authority)) as server:
        reply = trusting.send(Request(url=server.url("/", "good.test"), deadline_s=5))
        assert (reply.status, reply.failure) == (None, Failure.TLS), reply.detail
        assert reply.detail
        assert server.heads == []  # not a byte of HTTP went out
        assert reply.failure is not None
        assert reply.failure.before_contact


def test_an_authority_that_nobody_gave_is_not_trusted(authority: Authority, site: HostileServer) -> None:
    with secured(authority.context("good.test")) as server:
        reply = sender_of({"good.test": [TLS_ADDRESS]}, allow=LOOPBACK).send(Request(url=server.url("/", "good.test")))
        assert reply.failure is Failure.TLS


def test_plain_http_on_a_tls_port(trusting: Replying) -> None:
    with socket.create_server((TLS_ADDRESS, 0)) as listener:

        def answer() -> None:
            sock, _ = listener.accept()
            with sock:
                sock.recv(65536)
                sock.sendall(page())

        thread = threading.Thread(target=answer)
        thread.start()
        reply = trusting.send(Request(url=f"https://good.test:{listener.getsockname()[1]}/", deadline_s=5))
        thread.join(5)
    assert (reply.status, reply.failure) == (None, Failure.TLS)


def test_a_handshake_that_never_comes(trusting: Replying) -> None:
    with socket.create_server((TLS_ADDRESS, 0)) as listener:
        url = f"https://good.test:{listener.getsockname()[1]}/"
        reply = trusting.send(Request(url=url, deadline_s=DEADLINE_S))
    assert reply.failure is Failure.CONNECT_TIMEOUT
    assert reply.total_ms < DEADLINE_S * 1000 + 1000
