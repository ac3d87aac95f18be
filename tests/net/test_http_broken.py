"""What the sender makes of broken heads and bodies: a row each."""

import errno
import gzip
import io
import random
import re
import zlib
from typing import Any

import brotli
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.model.fetch import Failure
from tests.examples import examples
from tests.net.broken import answered, chunked, encoded
from tests.net.hostile import Behaviour, HostileServer, Peer, once, page, raw
from tests.net.senders import Replying

PLAIN = bytes(range(256)) * 500


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
    ("a TLS alert", once(b"\x15\x03\x01\x00\x02\x02\x46"), Failure.PROTOCOL),
    ("endless status line", once(b"HTTP/1.1 200 " + b"x" * 70_000), Failure.PROTOCOL),
    ("two lengths", raw(b"HTTP/1.1 200 OK\nContent-Length: 5\nContent-Length: 6", b"x" * 6), Failure.PROTOCOL),
    ("two lengths in one", raw(b"HTTP/1.1 200 OK\nContent-Length: 5, 6", b"hello!"), Failure.PROTOCOL),
    ("transfer coding", raw(b"HTTP/1.1 200 OK\nTransfer-Encoding: gzip, chunked", b"x"), Failure.PROTOCOL),
    ("a compression", raw(b"HTTP/1.1 200 OK\nTransfer-Encoding: x-gzip\nContent-Length: 1", b"x"), Failure.PROTOCOL),
    ("more than slop", once(b"\n\n\n\n\nHTTP/1.1 200 OK\r\n\r\n"), Failure.PROTOCOL),
    ("many headers", raw(b"HTTP/1.1 200 OK" + b"\nA: b" * 50_000), Failure.PROTOCOL),
    ("long header", raw(b"HTTP/1.1 200 OK\nA: " + b"b" * 262_144), Failure.PROTOCOL),
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
    assert site.hung_up.acquire(timeout=30)
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
    assert reply.failure in {None, Failure.CUT, Failure.PROTOCOL}


# --- the body -------------------------------------------------------------------------------------


def reset_within_body(peer: Peer) -> None:
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 500000\r\n\r\n", b"x" * 1000)
    peer.reset()


# name, answer, what is left of the body (None: do not care)
CUTS: list[tuple[str, bytes | Behaviour, bytes | None]] = [
    ("short", once(raw(b"HTTP/1.1 200 OK\nContent-Length: 100", b"half")), b"half"),
    ("no body at all", once(raw(b"HTTP/1.1 200 OK\nContent-Length: 100")), b""),
    ("reset", reset_within_body, None),
    ("cut within a chunk", chunked(b"5\r\nhello\r\nff\r\nwor"), b"hellowor"),
    ("cut between chunks", chunked(b"5\r\nhello\r\n"), b"hello"),
    ("chunk of no size", chunked(b"5\r\nhello\r\nzz\r\nworld\r\n0\r\n\r\n"), b"hello"),
    ("endless chunk size", chunked(b"5;" + b"x" * 70_000), b""),
    ("gzip that begins right", encoded(b"gzip", b"\x1f\x8b<html>plain"), b""),
    ("zstd that begins right", encoded(b"zstd", b"\x28\xb5\x2f\xfd<html>plain"), b""),
    ("gzip cut", encoded(b"gzip", gzip.compress(PLAIN)[:-50]), None),
    ("second gzip member cut", encoded(b"gzip", gzip.compress(b"one") + gzip.compress(PLAIN)[:50]), None),
    ("deflate cut", encoded(b"deflate", zlib.compress(PLAIN)[:-50]), None),
    ("br cut", encoded(b"br", brotli.compress(PLAIN)[:-20]), None),
    ("outer cut", encoded(b"gzip, br", brotli.compress(gzip.compress(PLAIN))[:-20]), None),
    ("inner cut", encoded(b"gzip, br", brotli.compress(gzip.compress(PLAIN)[:-50])), None),
]


@pytest.mark.parametrize(("answer", "left"), [row[1:] for row in CUTS], ids=[row[0] for row in CUTS])
def test_cut_bodies(site: HostileServer, sender: Replying, answer: bytes | Behaviour, left: bytes | None) -> None:
    reply = answered(site, sender, answer)
    assert (reply.status, reply.failure, reply.truncated) == (200, Failure.CUT, False), reply.detail
    assert reply.detail
    assert left is None or reply.body == left
    assert len(site.heads) == 1


@pytest.mark.parametrize("coding", [b"gzip", b"x-gzip", b"zstd", b"br", b"deflate", b"gzip, gzip", b"br, gzip"])
@pytest.mark.parametrize("content", [b"<html>plain text", b"\xff\xff<html>plain", b"PK\x03\x04" * 20_000])
def test_a_coding_that_is_none_is_malformed(
    site: HostileServer, sender: Replying, coding: bytes, content: bytes
) -> None:
    """It would be the same again. Neither Chromium nor curl shows it."""
    reply = answered(site, sender, encoded(coding, content))
    assert (reply.status, reply.failure, reply.body) == (200, Failure.PROTOCOL, b""), reply.detail
    assert re.match(r"Content-Encoding says (x-)?(gzip|zstd|br|deflate), and the body is not: ", reply.detail)


@pytest.mark.parametrize(("coding", "pack"), [(b"br", brotli.compress), (b"deflate", zlib.compress)])
def test_a_stream_that_breaks_behind_its_beginning_is_cut(
    site: HostileServer, sender: Replying, coding: bytes, pack: Any
) -> None:
    packed = pack(bytes(random.Random(1).choices(range(97, 123), k=400_000)))
    reply = answered(site, sender, encoded(coding, packed[:200_000] + b"\xff" * 1000 + packed[201_000:]))
    assert (reply.status, reply.failure) == (200, Failure.CUT), reply.detail


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
