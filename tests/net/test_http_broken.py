"""What the sender makes of sites that break, drip, flood or lie: a row or a test per behaviour."""

import errno
import gzip
import io
import ipaddress
import itertools
import socket
import ssl
import sys
import threading
import tracemalloc
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import brotli
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.model.fetch import Failure, Reply, Request
from app.net.dns import Resolver, ResolverLimits
from tests.examples import examples
from tests.net.authority import Authority
from tests.net.hostile import LOOPBACK, Behaviour, HostileServer, Peer, once, page, raw
from tests.net.senders import Replying, dialler_to, loopback_sender

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

DEADLINE_S = 0.4
PLAIN = bytes(range(256)) * 500


def answered(site: HostileServer, sender: Replying, answer: bytes | Behaviour, **asked: Any) -> Reply:
    site.answers["/"] = answer
    return sender.send(Request(url=site.url("/"), **asked))


def reset(peer: Peer) -> None:
    peer.reset()


def reset_within_head(peer: Peer) -> None:
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Len")
    peer.reset()


# --- the head -------------------------------------------------------------------------------------


def flooding(start: bytes, block: bytes) -> Behaviour:
    """Sends `start`, then `block` until the client hangs up."""

    def behaviour(peer: Peer) -> None:
        peer.send(start)
        peer.flood(block)

    return behaviour


# name, answer, failure
HEADS: list[tuple[str, bytes | Behaviour, Failure]] = [
    ("reset", reset, Failure.RESET),
    ("closed at once", lambda peer: None, Failure.RESET),
    ("reset within the head", reset_within_head, Failure.RESET),
    ("cut within the status line", once(b"HTTP/1.1 200"), Failure.RESET),
    ("cut within the headers", once(b"HTTP/1.1 200 OK\r\nContent-Type: text/"), Failure.RESET),
    ("cut before the empty line", once(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"), Failure.RESET),
    ("cut after an interim answer", once(b"HTTP/1.1 100 Continue\r\n\r\n"), Failure.RESET),
    ("http 0.9", once(b"<html>hello</html>\n"), Failure.PROTOCOL),
    ("garbage", once(b"\x00\xff\x16\x03" * 100), Failure.PROTOCOL),
    ("empty status line", once(b"\r\n\r\n"), Failure.PROTOCOL),
    ("status no number", once(b"HTTP/1.1 abc OK\r\n\r\n"), Failure.PROTOCOL),
    ("status of two digits", once(b"HTTP/1.1 20 OK\r\n\r\n"), Failure.PROTOCOL),
    ("status of four digits", once(b"HTTP/1.1 2000 OK\r\n\r\n"), Failure.PROTOCOL),
    ("version 2", once(b"HTTP/2.0 200 OK\r\n\r\n"), Failure.PROTOCOL),
    ("a TLS alert", once(b"\x15\x03\x01\x00\x02\x02\x46"), Failure.PROTOCOL),
    ("endless status line", once(b"HTTP/1.1 200 " + b"x" * 70_000), Failure.PROTOCOL),
    ("two lengths", raw(b"HTTP/1.1 200 OK\nContent-Length: 5\nContent-Length: 6", b"x" * 6), Failure.PROTOCOL),
    ("two lengths in one", raw(b"HTTP/1.1 200 OK\nContent-Length: 5, 6", b"hello!"), Failure.PROTOCOL),
    ("negative length", raw(b"HTTP/1.1 200 OK\nContent-Length: -5", b"hello"), Failure.PROTOCOL),
    ("length with sign", raw(b"HTTP/1.1 200 OK\nContent-Length: +5", b"hello"), Failure.PROTOCOL),
    ("length no number", raw(b"HTTP/1.1 200 OK\nContent-Length: 5_0", b"hello"), Failure.PROTOCOL),
    ("length beyond sense", raw(b"HTTP/1.1 200 OK\nContent-Length: " + b"9" * 5000, b"x"), Failure.PROTOCOL),
    ("transfer coding", raw(b"HTTP/1.1 200 OK\nTransfer-Encoding: gzip, chunked", b"x"), Failure.PROTOCOL),
    ("101 headers", raw(b"HTTP/1.1 200 OK" + b"\nA: b" * 101), Failure.PROTOCOL),
    ("long header", raw(b"HTTP/1.1 200 OK\nA: " + b"b" * 65_536), Failure.PROTOCOL),
    ("endless headers", flooding(b"HTTP/1.1 200 OK\r\n", b"A: b\r\n" * 999), Failure.PROTOCOL),
    ("endless header", flooding(b"HTTP/1.1 200 OK\r\nA: ", b"b" * 9999), Failure.PROTOCOL),
    ("endless interim", flooding(b"", b"HTTP/1.1 100 Go on\r\n\r\n" * 999), Failure.PROTOCOL),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "failure"), [row[1:] for row in HEADS], ids=[row[0] for row in HEADS])
def test_broken_heads(site: HostileServer, sender: Replying, answer: bytes | Behaviour, failure: Failure) -> None:
    reply = answered(site, sender, answer)
    assert (reply.status, reply.failure) == (None, failure), reply.detail
    assert reply.detail.isprintable()  # Postgres text takes no NUL
    assert 0 < len(reply.detail) <= 300
    assert reply.address == site.address
    assert site.hung_up.acquire(timeout=5)
    assert len(site.heads) == 1  # nothing is tried again on a fresh connection


@given(octets=st.binary(max_size=200), prefix=st.sampled_from([b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 "]))
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_answer_makes_the_sender_raise(site: HostileServer, sender: Replying, octets: bytes, prefix: bytes) -> None:
    reply = answered(site, sender, once(prefix + octets))
    assert (reply.status is None) <= (reply.failure is not None)


# header lines that promise a body, then any bytes
PROMISES = [
    b"Content-Encoding: gzip",
    b"Content-Encoding: deflate",
    b"Content-Encoding: br",
    b"Content-Encoding: zstd",
    b"Content-Encoding: gzip, nonsense, br",
    b"Content-Encoding: " + b",".join([b"gzip"] * 9),
    b"Transfer-Encoding: chunked",
    b"Content-Length: 50",
]


@given(octets=st.binary(max_size=200), promise=st.sampled_from(PROMISES))
@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_body_makes_the_sender_raise(site: HostileServer, sender: Replying, octets: bytes, promise: bytes) -> None:
    reply = answered(site, sender, once(raw(b"HTTP/1.1 200 OK\n" + promise, octets)))
    assert reply.status == 200
    assert reply.failure in {None, Failure.CUT}


# --- the body -------------------------------------------------------------------------------------


def reset_within_body(peer: Peer) -> None:
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 500000\r\n\r\n", b"x" * 1000)
    peer.reset()


def chunked(*body: bytes) -> Behaviour:
    return once(raw(b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked", b"".join(body)))


def encoded(encoding: bytes, body: bytes) -> bytes:
    return page(body, b"Content-Encoding: " + encoding)


# name, answer, what is left of the body (None: do not care)
CUTS: list[tuple[str, bytes | Behaviour, bytes | None]] = [
    ("short", once(raw(b"HTTP/1.1 200 OK\nContent-Length: 100", b"half")), b"half"),
    ("no body at all", once(raw(b"HTTP/1.1 200 OK\nContent-Length: 100")), b""),
    ("reset", reset_within_body, None),
    ("cut within a chunk", chunked(b"5\r\nhello\r\nff\r\nwor"), b"hellowor"),
    ("cut between chunks", chunked(b"5\r\nhello\r\n"), b"hello"),
    ("chunk of no size", chunked(b"5\r\nhello\r\nzz\r\nworld\r\n0\r\n\r\n"), b"hello"),
    ("chunk of negative size", chunked(b"-5\r\nhello\r\n0\r\n\r\n"), None),
    ("endless chunk size", chunked(b"5;" + b"x" * 70_000), b""),
    ("gzip that is none", encoded(b"gzip", b"<html>plain"), b""),
    ("deflate that is none", encoded(b"deflate", b"<html>plain"), b""),
    ("br that is none", encoded(b"br", b"\xff\xff<html>plain"), b""),
    ("zstd that is none", encoded(b"zstd", b"<html>plain"), b""),
    ("gzip cut", encoded(b"gzip", gzip.compress(PLAIN)[:-50]), None),
    ("gzip without its trailer", encoded(b"gzip", gzip.compress(PLAIN)[:-8]), PLAIN),
    ("gzip of a wrong sum", encoded(b"gzip", gzip.compress(PLAIN)[:-8] + b"\0" * 8), None),
    ("second gzip member cut", encoded(b"gzip", gzip.compress(b"one") + gzip.compress(PLAIN)[:50]), None),
    ("deflate cut", encoded(b"deflate", zlib.compress(PLAIN)[:-50]), None),
    ("br cut", encoded(b"br", brotli.compress(PLAIN)[:-20]), None),
    ("outer cut", encoded(b"gzip, br", brotli.compress(gzip.compress(PLAIN))[:-20]), None),
    ("inner cut", encoded(b"gzip, br", brotli.compress(gzip.compress(PLAIN)[:-50])), None),
    ("too many encodings", encoded(b",".join([b"gzip"] * 9), b"x"), b""),
]


@pytest.mark.parametrize(("answer", "left"), [row[1:] for row in CUTS], ids=[row[0] for row in CUTS])
def test_cut_bodies(site: HostileServer, sender: Replying, answer: bytes | Behaviour, left: bytes | None) -> None:
    reply = answered(site, sender, answer)
    assert (reply.status, reply.failure, reply.truncated) == (200, Failure.CUT, False), reply.detail
    assert reply.detail
    assert left is None or reply.body == left
    assert len(site.heads) == 1


class FullVolume(io.BytesIO):
    """Takes a piece, and then no more: nor does what it buffered go out."""

    def write(self, piece: Any) -> int:
        if self.tell():
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(piece)

    def seek(self, *_: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_body_that_finds_no_room_here_is_cut(site: HostileServer, sender: Replying) -> None:
    reply = answered(site, sender, page(PLAIN), sink=FullVolume())
    assert (reply.status, reply.failure, reply.sunk_bytes) == (200, Failure.CUT, 0)
    assert reply.detail == "cannot be kept here: No space left on device"
    assert answered(site, sender, page(b"next")).body == b"next"


# --- time -----------------------------------------------------------------------------------------


def silent(peer: Peer) -> None:
    peer.hang()


def drip_head(peer: Peer) -> None:
    peer.send(b"HTTP/1.1 200 OK\r\n")
    peer.drip(b"X-Slow: slowly\r\n" * 50)


def drip_interim(peer: Peer) -> None:
    for _ in range(100):
        peer.drip(b"HTTP/1.1 100 Continue\r\n\r\n")


def drip_body(peer: Peer) -> None:
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    peer.drip(b"x" * 1000)


def drip_chunks(peer: Peer) -> None:
    peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    peer.drip(b"1\r\nx\r\n" * 200)


def drip_trailers(peer: Peer) -> None:
    peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
    peer.drip(b"A: b\r\n" * 200)


def drip_gzip(peer: Peer) -> None:
    """A gzip header with an endless file name: bytes come, nothing is ever inflated."""
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", b"\x1f\x8b\x08\x08" + b"\0" * 6)
    peer.drip(b"x" * 1000)


def drip_error_page(peer: Peer) -> None:
    peer.send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 1000\r\n\r\n")
    peer.drip(b"x" * 1000)


SLOW: list[tuple[Behaviour, int | None]] = [
    (silent, None),
    (drip_head, None),
    (drip_interim, None),
    (drip_body, 200),
    (drip_chunks, 200),
    (drip_trailers, 200),
    (drip_gzip, 200),
    (drip_error_page, 404),
]


@pytest.mark.parametrize(("behaviour", "status"), SLOW, ids=[row[0].__name__ for row in SLOW])
def test_slow_answers_end_at_the_deadline(
    site: HostileServer, sender: Replying, behaviour: Behaviour, status: int | None
) -> None:
    reply = answered(site, sender, behaviour, deadline_s=DEADLINE_S)
    assert (reply.status, reply.failure) == (status, Failure.TIMEOUT), reply.detail
    assert DEADLINE_S * 1000 <= reply.total_ms < DEADLINE_S * 1000 + 1000
    assert site.heads  # it was asked, and once only
    assert len(site.heads) == 1


def test_a_connection_that_served_is_bounded_by_the_next_request(site: HostileServer, sender: Replying) -> None:
    site.answers["/quick"] = page()
    assert sender.send(Request(url=site.url("/quick"), deadline_s=30)).status == 200
    reply = answered(site, sender, silent, deadline_s=DEADLINE_S)
    assert (reply.failure, site.connections) == (Failure.TIMEOUT, 1)
    assert reply.total_ms < DEADLINE_S * 1000 + 1000


def test_nobody_accepts(sender: Replying) -> None:
    """A listener whose backlog is full drops SYNs: the black hole that loopback allows."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        fillers = [socket.socket() for _ in range(8)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        reply = sender.send(Request(url=url, deadline_s=DEADLINE_S))
        for filler in fillers:
            filler.close()
    if reply.failure is Failure.TIMEOUT:
        pytest.skip("this kernel accepts beyond the backlog")
    assert (reply.failure, reply.address, reply.status) == (Failure.CONNECT_TIMEOUT, None, None)
    assert reply.total_ms < DEADLINE_S * 1000 + 1000


def test_nobody_listens(sender: Replying) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    reply = sender.send(Request(url=f"http://127.0.0.1:{port}/"))
    assert (reply.failure, reply.address) == (Failure.REFUSED, None)
    assert "refused" in reply.detail
    assert reply.failure is not None
    assert reply.failure.before_contact


# --- size -----------------------------------------------------------------------------------------

CAP = 200_000


def endless(peer: Peer) -> None:
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    peer.flood(b"x" * 10_000)


def endless_chunk(peer: Peer) -> None:
    peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffff\r\n")
    peer.flood(b"x" * 10_000)


def endless_chunks(peer: Peer) -> None:
    peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    peer.flood(b"4\r\nwave\r\n" * 1000)


def huge_length(peer: Peer) -> None:
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")
    peer.flood(b"x" * 10_000)


@pytest.mark.parametrize("behaviour", [endless, endless_chunk, endless_chunks, huge_length])
def test_endless_bodies_are_truncated_at_the_cap(site: HostileServer, sender: Replying, behaviour: Behaviour) -> None:
    reply = answered(site, sender, behaviour, max_body_bytes=CAP)
    assert (reply.status, reply.failure, reply.truncated) == (200, None, True)
    assert len(reply.body) == CAP
    assert reply.wire_bytes <= CAP + 1
    assert site.hung_up.acquire(timeout=5)


def endless_trailers(peer: Peer) -> None:
    peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
    peer.flood(b"A: b\r\n" * 999)


def endless_extensions(peer: Peer) -> None:
    peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    peer.flood((b"1;" + b"x" * 60_000 + b"\r\nx\r\n") * 10)


def endless_gzip_name(peer: Peer) -> None:
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", b"\x1f\x8b\x08\x08" + b"\0" * 6)
    peer.flood(b"x" * 10_000)


@pytest.mark.parametrize("behaviour", [endless_trailers, endless_extensions, endless_gzip_name])
def test_endless_bytes_that_are_no_body_end_too(site: HostileServer, sender: Replying, behaviour: Behaviour) -> None:
    reply = answered(site, sender, behaviour, max_body_bytes=CAP)
    assert (reply.status, reply.failure) == (200, Failure.PROTOCOL), reply.detail
    assert site.hung_up.acquire(timeout=5)


def bomb(times: int, megabytes: int) -> bytes:
    """Zeros, gzipped `times` over."""
    squeeze = zlib.compressobj(9, wbits=31)
    octets = b"".join(squeeze.compress(bytes(1 << 20)) for _ in range(megabytes)) + squeeze.flush()
    for _ in range(times - 1):
        octets = gzip.compress(octets)
    return octets


ZEROS = bytes(64 << 20)
BOMBS = [
    (b"gzip", lambda: bomb(1, 64)),
    (b"gzip, gzip", lambda: bomb(2, 64)),
    (b"gzip, gzip, gzip", lambda: bomb(3, 64)),
    (b"deflate", lambda: zlib.compress(ZEROS)),
    (b"br", lambda: brotli.compress(ZEROS, quality=3)),
    (b"zstd", lambda: zstd.compress(ZEROS)),
]


@pytest.mark.parametrize(("encoding", "make"), BOMBS, ids=[row[0].decode() for row in BOMBS])
@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_bombs_are_not_inflated_beyond_the_cap(
    site: HostileServer, sender: Replying, encoding: bytes, make: Any, framing: str
) -> None:
    body = make()
    answer = encoded(encoding, body)
    if framing == "chunked":
        chunk = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        answer = raw(b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nContent-Encoding: " + encoding, chunk)
    tracemalloc.start()
    try:
        reply = answered(site, sender, answer, max_body_bytes=CAP)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (reply.truncated, reply.failure, len(reply.body)) == (True, None, CAP)
    assert peak < 8 * CAP + (2 << 20)


# --- addresses ------------------------------------------------------------------------------------


def sender_of(names: dict[str, list[str]], *, allow: Sequence[Any] = (), contact: bool = True) -> Replying:
    def getaddrinfo(host: str, port: int | None, **_: Any) -> list[tuple[Any, ...]]:
        return [(0, 0, 0, "", (address, 0)) for address in names[host]]

    resolver = Resolver(getaddrinfo=getaddrinfo)
    return loopback_sender(dialler=dialler_to(tuple(allow), resolver=resolver, require_contact=not contact))


# host in the URL, what it resolves to, what the detail names
BLOCKED = [
    ("127.0.0.1", [], "loopback"),
    ("[::1]", [], "loopback"),
    ("[::ffff:127.0.0.1]", [], "loopback"),
    ("[64:ff9b::7f00:1]", [], "loopback"),
    ("169.254.169.254", [], "metadata"),
    ("inner.test", ["10.0.0.1"], "private"),
    ("meta.test", ["169.254.169.254"], "metadata"),
    ("half.test", ["8.8.8.8", "127.0.0.1"], "loopback"),
    ("mapped.test", ["::ffff:10.0.0.1"], "private"),
    ("odd.test", ["nonsense"], "not an IP address"),
]


@pytest.mark.parametrize(("host", "addresses", "named"), BLOCKED)
def test_blocked_addresses_are_not_contacted(host: str, addresses: list[str], named: str) -> None:
    reply = sender_of({host: addresses}).send(Request(url=f"http://{host}/", deadline_s=5))
    assert (reply.failure, reply.address, reply.connect_ms) == (Failure.ADDRESS, None, None)
    assert named in reply.detail


@pytest.mark.parametrize("url", ["http://8.8.8.8/", "https://public.test/", "http://half.test/"])
def test_without_a_contact_no_public_address_is_contacted(url: str) -> None:
    names = {"public.test": ["2606:4700:4700::1111"], "half.test": ["127.0.0.1", "8.8.8.8"]}
    reply = sender_of(names, allow=LOOPBACK, contact=False).send(Request(url=url, deadline_s=5))
    assert (reply.failure, reply.connect_ms) == (Failure.ADDRESS, None)
    assert "TIPTOE_CONTACT" in reply.detail


def test_without_a_contact_private_addresses_may_be_contacted(site: HostileServer) -> None:
    site.answers["/"] = page()
    sender = sender_of({"site.test": [site.address]}, allow=LOOPBACK, contact=False)
    reply = sender.send(Request(url=site.url("/", "site.test")))
    assert (reply.status, reply.address) == (200, site.address)
    assert f"Host: site.test:{site.port}".encode() in site.heads[0]


def test_rebinding_the_address_that_was_judged_is_the_one_that_is_dialled(site: HostileServer) -> None:
    """The name points to the site when asked first, to another address of this machine ever after."""
    with HostileServer() as other:
        answers = itertools.chain([site.address], itertools.repeat(other.address))

        def getaddrinfo(*_: Any, **__: Any) -> list[tuple[Any, ...]]:
            return [(0, 0, 0, "", (next(answers), 0))]

        resolver = Resolver(ResolverLimits(ttl_s=0), getaddrinfo=getaddrinfo)
        sender = loopback_sender(dialler=dialler_to((ipaddress.ip_network(site.address),), resolver=resolver))
        site.answers["/"] = once(page())
        assert sender.send(Request(url=site.url("/", "rebound.test"))).address == site.address
        assert site.hung_up.acquire(timeout=5)
        reply = sender.send(Request(url=site.url("/", "rebound.test")))
        assert reply.failure is Failure.ADDRESS
        assert (site.connections, other.connections) == (1, 0)


def test_the_next_address_is_tried(site: HostileServer) -> None:
    site.answers["/"] = page()
    sender = sender_of({"two.test": ["127.0.0.1", site.address]}, allow=LOOPBACK)
    reply = sender.send(Request(url=site.url("/", "two.test")))
    assert (reply.status, reply.address) == (200, site.address)


def test_names_that_do_not_resolve(sender: Replying) -> None:
    reply = sender.send(Request(url=f"http://{'a' * 64}.invalid/"))
    assert (reply.failure, reply.address, reply.connect_ms) == (Failure.DNS, None, None)
    assert reply.dns_ms is not None
    assert reply.failure is not None
    assert reply.failure.before_contact


def test_slow_names_end_at_the_deadline(site: HostileServer) -> None:
    def never(*_: Any, **__: Any) -> list[tuple[Any, ...]]:
        silent_name.wait(10)
        return []

    silent_name = threading.Event()
    resolver = Resolver(getaddrinfo=never)
    sender = loopback_sender(dialler=dialler_to((), resolver=resolver))
    reply = sender.send(Request(url="http://slow.test/", deadline_s=0.05))
    silent_name.set()
    assert reply.failure is Failure.DNS
    assert "no answer within" in reply.detail


# --- TLS ------------------------------------------------------------------------------------------


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


def old_tls(authority: Authority) -> ssl.SSLContext:
    context = authority.context("good.test")
    context.options |= ssl.OP_NO_TLSv1_2 | ssl.OP_NO_TLSv1_3
    return context


# name, context of the server
BAD_TLS = [
    ("another name", lambda authority: authority.context("bad.test")),
    ("wildcard one level off", lambda authority: authority.context("*.good.test")),
    ("expired", lambda authority: authority.context("good.test", days=-1)),
    ("self-signed", lambda authority: authority.context("good.test", signed=False)),
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
