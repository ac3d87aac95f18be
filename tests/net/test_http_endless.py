"""What the sender makes of bodies without end, and of bombs."""

import gzip
import sys
import tracemalloc
import zlib
from typing import Any

import brotli
import pytest

from app.model.fetch import Failure
from tests.net.hostile import Behaviour, HostileServer, Peer, raw
from tests.net.senders import Replying

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd
from tests.net.broken import answered, encoded

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
    assert site.hung_up.acquire(timeout=30)


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
    assert site.hung_up.acquire(timeout=30)


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
