"""What the sender makes of TLS that is sound, broken, old or slow."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from app.model.fetch import Failure, Reply, Request
from app.net.adapter import GuardedAdapter
from app.net.dns import Resolver
from app.net.http import Sender
from app.net.sockets import FORWARD_SECRET, ONLY_HTTP2, RSA_KEY_EXCHANGE, tls_context
from tests.authority import Authority
from tests.net.broken import DEADLINE_S, LATEST_MS, drip_body, sender_of
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
        assert self._tickets.wait(30)
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
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1
    return context


# name, host that is asked, context of the server, words of the error
BAD_TLS = [
    ("another name", "good.test", lambda authority: authority.context("bad.test"), "mismatch"),
    ("wildcard one level off", "good.test", lambda authority: authority.context("*.good.test"), "mismatch"),
    ("expired", "good.test", lambda authority: authority.context("good.test", ended=True), "expired"),
    ("self-signed", "good.test", lambda authority: authority.context("good.test", by_itself=True), "self"),
    ("TLS 1.0", "good.test", old_tls, "only TLS 1.0"),
    ("another name with _", "a_b.test", lambda authority: authority.context("c_d.test"), "doesn't match"),
    ("wildcard over two labels", "a_b.c.test", lambda authority: authority.context("*.test"), "doesn't match"),
    ("wildcard one level off, with _", "a_b.test", lambda authority: authority.context("*.a_b.test"), "doesn't match"),
    ("wildcard in the midst", "a_b.c.test", lambda authority: authority.context("a_b.*.test"), "doesn't match"),
    ("an address for a name", "a_b.test", lambda authority: authority.context(TLS_ADDRESS), "doesn't match"),
    ("another address", TLS_ADDRESS, lambda authority: authority.context("127.63.0.2"), "mismatch"),
    ("a name for an address", TLS_ADDRESS, lambda authority: authority.context("good.test"), "mismatch"),
    ("expired, with _", "a_b.test", lambda authority: authority.context("*.test", ended=True), "expired"),
    ("self-signed, with _", "a_b.test", lambda authority: authority.context("*.test", by_itself=True), "self"),
]


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1 is deprecated:DeprecationWarning")
@pytest.mark.parametrize(("host", "make", "words"), [row[1:] for row in BAD_TLS], ids=[row[0] for row in BAD_TLS])
def test_tls_that_does_not_verify(
    authority: Authority, trusting: Replying, host: str, make: Callable[[Authority], ssl.SSLContext], words: str
) -> None:
    with secured(make(authority)) as server:
        reply = trusting.send(Request(url=server.url("/", host), deadline_s=30))
        assert (reply.status, reply.failure) == (None, Failure.TLS), reply.detail
        assert reply.detail is not None
        assert words in reply.detail
        assert server.heads == []  # not a byte of HTTP went out
        assert reply.failure is not None
        assert reply.failure.before_contact


@pytest.mark.parametrize(
    ("host", "certified"), [("a_b.test", "*.test"), ("_x.c.test", "*.c.test"), ("a_b.test", "a_b.test")]
)
def test_a_name_with_an_underscore_is_matched_as_browsers_match_it(
    authority: Authority, trusting: Replying, host: str, certified: str
) -> None:
    with secured(authority.context(certified)) as server:
        reply = trusting.send(Request(url=server.url("/", host)))
        assert (reply.status, reply.failure) == (200, None), reply.detail


# --- which ciphers ----------------------------------------------------------------------------------------------


def test_the_ciphers_are_ours_whatever_the_build_prefers() -> None:
    """Of OpenSSL's TLS 1.2 suites these, in this order, and the three of TLS 1.3."""
    offered = [each for each in tls_context().get_ciphers() if each["protocol"] != "TLSv1.3"]
    assert [each["name"] for each in offered] == [*FORWARD_SECRET, *RSA_KEY_EXCHANGE]
    protected = [each["name"] for each in tls_context(forward_secret=True).get_ciphers()]
    assert set(protected).isdisjoint(RSA_KEY_EXCHANGE)
    assert len(protected) == len(FORWARD_SECRET) + 3
    for context in (tls_context(), tls_context(checks_name=False), tls_context(forward_secret=True)):
        assert context.verify_mode is ssl.CERT_REQUIRED
        assert context.minimum_version is ssl.TLSVersion.TLSv1_2


def choosing(authority: Authority, ciphers: str) -> ssl.SSLContext:
    """A server of TLS 1.2 that prefers these."""
    context = authority.context("good.test", by_rsa=True)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(ciphers)
    context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
    return context


# what a server has, best first: what is agreed upon
CHOICES = [
    ("AES128-SHA", "AES128-SHA"),
    ("AES256-GCM-SHA384", "AES256-GCM-SHA384"),
    ("DHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
    ("DHE-RSA-AES256-SHA:AES256-SHA", "AES256-SHA"),
]


@pytest.mark.parametrize(("has", "agreed"), CHOICES)
def test_a_server_is_read_that_browsers_read(authority: Authority, trusting: Replying, has: str, agreed: str) -> None:
    with secured(choosing(authority, has)) as server:
        reply = trusting.send(Request(url=server.url("/", "good.test")))
        assert (reply.status, reply.failure) == (200, None), reply.detail
        assert server.ciphers == [agreed]


@pytest.mark.parametrize("has", ["AES128-SHA", "AES256-GCM-SHA384"])
def test_credentials_go_to_nobody_who_has_only_rsa_key_exchange(authority: Authority, has: str) -> None:
    """What was recorded could be read by whoever gets the server's key later."""
    resolver = Resolver(getaddrinfo=lambda host, port, **_: [(0, 0, 0, "", (TLS_ADDRESS, 0))])
    with secured(choosing(authority, has)) as server:
        origin = ("https", "good.test", int(server.url("/", "good.test").rpartition(":")[2].rstrip("/")))
        adapter = GuardedAdapter(dialler_to(resolver=resolver), ca_file=str(authority.file))
        sender = Sender(adapter, {}, credentials={origin: {"Authorization": "Bearer s3cret"}})
        reply = sender.send(Request(url=server.url("/", "good.test"), deadline_s=30))
        assert isinstance(reply, Reply)
        assert reply.failure is Failure.TLS
        assert server.heads == []
        sender.close()


# --- HTTP/2 alone ------------------------------------------------------------------------------------------------

SETTINGS = bytes.fromhex("00000c040000000000 000300000064 00040000ffff")  # RFC 9113 6.5, as nghttp2 begins


def test_a_server_that_speaks_only_http2_is_named(authority: Authority, trusting: Replying) -> None:
    """It ignores that we offer http/1.1, and begins as HTTP/2 does; over plain TCP as well."""
    context = authority.context("good.test")
    context.set_alpn_protocols(["h2"])
    for tls in (context, None):
        with socket.create_server((TLS_ADDRESS, 0)) as listener:
            thread = threading.Thread(target=speak_http2, args=(listener, tls))
            thread.start()
            scheme = "http" if tls is None else "https"
            reply = trusting.send(Request(url=f"{scheme}://good.test:{listener.getsockname()[1]}/", deadline_s=30))
            thread.join(30)
        assert (reply.failure, reply.detail) == (Failure.PROTOCOL, ONLY_HTTP2)


def speak_http2(listener: socket.socket, tls: ssl.SSLContext | None) -> None:
    sock, _ = listener.accept()
    with sock, tls.wrap_socket(sock, server_side=True) if tls is not None else sock as session:
        session.sendall(SETTINGS)
        session.recv(65_536)


def test_a_server_that_refuses_our_protocol_is_named(trusting: Replying) -> None:
    """As nginx and Go do: the alert no_application_protocol (RFC 7301 3.2)."""
    with socket.create_server((TLS_ADDRESS, 0)) as listener:

        def refuse() -> None:
            sock, _ = listener.accept()
            with sock:
                sock.recv(65_536)
                sock.sendall(bytes.fromhex("15 0303 0002 02 78"))

        thread = threading.Thread(target=refuse)
        thread.start()
        reply = trusting.send(Request(url=f"https://good.test:{listener.getsockname()[1]}/", deadline_s=30))
        thread.join(30)
    assert (reply.failure, reply.detail) == (Failure.TLS, ONLY_HTTP2)


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
        reply = trusting.send(Request(url=f"https://good.test:{listener.getsockname()[1]}/", deadline_s=30))
        thread.join(30)
    assert (reply.status, reply.failure) == (None, Failure.TLS)


def test_a_handshake_that_never_comes(trusting: Replying) -> None:
    with socket.create_server((TLS_ADDRESS, 0)) as listener:
        url = f"https://{TLS_ADDRESS}:{listener.getsockname()[1]}/"  # a name may take so long on a busy machine
        reply = trusting.send(Request(url=url, deadline_s=DEADLINE_S))
    assert reply.failure is Failure.CONNECT_TIMEOUT
    assert reply.total_ms < LATEST_MS
