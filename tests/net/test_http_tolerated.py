"""What is malformed and browsers show is read; after it, no octet of its connection is another answer's."""

import gzip
import sys
import zlib

import brotli
import pytest

from app.model.fetch import Failure, Request
from tests.net.broken import answered
from tests.net.hostile import Behaviour, HostileServer, Peer, once, page, raw
from tests.net.senders import Replying

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PLAIN = b"<p>polite crawler</p>" * 500
OK = b"HTTP/1.1 200 OK\n"
CHUNKS = b"5\r\nhello\r\n0\r\n\r\n"
FORGED = raw(OK + b"Content-Length: 6", b"forged")


def of_length(length: int, coding: bytes, body: bytes) -> bytes:
    return raw(OK + b"Content-Length: %d\nContent-Encoding: %b" % (length, coding), body)


def kept_open(answer: bytes) -> Behaviour:
    def behaviour(peer: Peer) -> None:
        peer.send(answer)
        peer.hang()

    return behaviour


def reset_after(answer: bytes) -> Behaviour:
    def behaviour(peer: Peer) -> None:
        peer.send(answer)
        peer.reset()

    return behaviour


# name, answer, content
FRAMED: list[tuple[str, bytes, bytes]] = [
    ("chunked twice", raw(OK + b"Transfer-Encoding: chunked, chunked", CHUNKS), b"hello"),
    ("chunked in two fields", raw(OK + b"Transfer-Encoding: chunked\ntransfer-encoding: Chunked", CHUNKS), b"hello"),
    ("identity and chunked", raw(OK + b"Transfer-Encoding: identity, chunked", CHUNKS), b"hello"),
    ("both framings", raw(OK + b"Transfer-Encoding: chunked\nContent-Length: 3", CHUNKS), b"hello"),
    ("identity and a length", raw(OK + b"Transfer-Encoding: identity\nContent-Length: 5", b"hello"), b"hello"),
    ("a length twice", raw(OK + b"Content-Length: 5, 5\nContent-Length: 5", b"hello"), b"hello"),
    ("a length and nothing", raw(OK + b"Content-Length: 5,", b"hello"), b"hello"),
    ("a length with zeros", raw(OK + b"Content-Length: 05, 5", b"hello"), b"hello"),
    ("no colon", raw(OK + b"Set-Cookie\nContent-Length: 5", b"hello"), b"hello"),
    ("a blank in a name", raw(OK + b"X Cache: hit\nContent-Length: 5", b"hello"), b"hello"),
    ("a blank before the colon", raw(OK + b"Content-Length : 5", b"hello"), b"hello"),
    ("no name", raw(OK + b": x\nContent-Length: 5", b"hello"), b"hello"),
    ("a folded line", raw(OK + b"X-A: b\n c\nContent-Length: 5", b"hello"), b"hello"),
    ("a folded first line", raw(OK + b" X-A: b\nContent-Length: 5", b"hello"), b"hello"),
    ("a NUL in a value", raw(OK + b"X-A: b\0c\nContent-Length: 5", b"hello"), b"hello"),
    ("an empty line before it", b"\r\n" + page(b"hello"), b"hello"),
    ("empty lines before it", b"\r\n\r\n" + page(b"hello"), b"hello"),
    ("line feeds before it", b"\n\n\n\n" + page(b"hello"), b"hello"),
    ("a byte order mark before it", b"\xef\xbb\xbf" + page(b"hello"), b"hello"),
    ("what is no transfer coding", raw(OK + b"Transfer-Encoding: binary\nContent-Length: 5", b"hello"), b"hello"),
    ("a charset as one", raw(OK + b"Transfer-Encoding: UTF-8, identity\nContent-Length: 5", b"hello"), b"hello"),
    ("what is nearly chunked", raw(OK + b"Transfer-Encoding: xchunked\nContent-Length: 5", b"hello"), b"hello"),
    ("chunked in quotes", raw(OK + b'Transfer-Encoding: "chunked"\nContent-Length: 5', b"hello"), b"hello"),
    ("chunked of a quality", raw(OK + b"Transfer-Encoding: chunked;q=1\nContent-Length: 5", b"hello"), b"hello"),
    ("another protocol", raw(b"HTTP/1.1 101 Switching Protocols\nUpgrade: h2c", b"") + page(b"hello"), b"hello"),
    ("and no name of it", raw(b"HTTP/1.1 101 Yes", b"") + page(b"hello"), b"hello"),
    ("one beside chunks", raw(OK + b"Transfer-Encoding: binary, chunked", CHUNKS), b"hello"),
    ("small letters", page(b"hello").replace(b"HTTP/1.1 200 OK", b"http/1.1 200 OK"), b"hello"),
    *[
        (f"version {version!r}", page(b"hello").replace(b"HTTP/1.1", version), b"hello")
        for version in (b"HTTP", b"HTTP/1", b"HTTP/1.", b"HTTP/2", b"HTTP/2.0", b"HTTP/3", b"http/11", b"HTTP/x")
    ],
    ("padding after a stream", page(gzip.compress(PLAIN) + bytes(9), b"Content-Encoding: gzip"), PLAIN),
    ("padding after br", page(brotli.compress(PLAIN) + bytes(9), b"Content-Encoding: br"), PLAIN),
    ("padding after zstd", page(zstd.compress(PLAIN) + bytes(9), b"Content-Encoding: zstd"), PLAIN),
    ("padding after deflate", page(zlib.compress(PLAIN) + bytes(9), b"Content-Encoding: deflate"), PLAIN),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "content"), [row[1:] for row in FRAMED], ids=[row[0] for row in FRAMED])
def test_it_is_read_and_nothing_after_it(site: HostileServer, sender: Replying, answer: bytes, content: bytes) -> None:
    reply = answered(site, sender, answer + FORGED)
    assert (reply.status, reply.failure, reply.body) == (200, None, content), reply.detail
    assert answered(site, sender, page(b"next")).body == b"next"
    assert site.connections == 2


@pytest.mark.parametrize("length", [b"", b"-5", b"+3", b"3;", b"3.0", b"5_0", b"0x3", b"unknown", b"9" * 5000])
def test_a_length_that_is_no_number_is_none(site: HostileServer, sender: Replying, length: bytes) -> None:
    """The body goes on to the end of its connection, as in Chromium."""
    reply = answered(site, sender, once(raw(OK + b"Content-Length: " + length, b"hello")))
    assert (reply.failure, reply.body) == (None, b"hello"), reply.detail


def test_a_length_may_begin_with_zeros(site: HostileServer, sender: Replying) -> None:
    reply = answered(site, sender, raw(OK + b"Content-Length: " + b"0" * 30 + b"5", b"hello"))
    assert (reply.failure, reply.body) == (None, b"hello")


def test_a_head_is_bounded_in_octets(site: HostileServer, sender: Replying) -> None:
    many = b"".join(b"\nX-%d: %b" % (nth, b"y" * 30) for nth in range(5000))
    assert answered(site, sender, raw(OK + b"Content-Length: 5" + many, b"hello")).body == b"hello"
    folded = b"\nX-Long: a" + b"\n b" * 60_000
    reply = answered(site, sender, raw(OK + b"Content-Length: 5" + folded, b"hello"))
    assert (reply.body, len(reply.headers["x-long"])) == (b"hello", 1 + 2 * 60_000)


# Content-Encoding, a stream
STREAMS = [
    (b"gzip", gzip.compress(PLAIN)),
    (b"deflate", zlib.compress(PLAIN)),
    (b"br", brotli.compress(PLAIN)),
    (b"zstd", zstd.compress(PLAIN)),
    (b"gzip, br", brotli.compress(gzip.compress(PLAIN))),
]


@pytest.mark.parametrize(("coding", "stream"), STREAMS, ids=[row[0].decode() for row in STREAMS])
@pytest.mark.parametrize("ends", [once, reset_after, kept_open])
def test_the_length_before_packing(
    site: HostileServer, sender: Replying, coding: bytes, stream: bytes, ends: object
) -> None:
    """The end of the connection is not waited for."""
    answer = of_length(len(PLAIN), coding, stream)
    reply = answered(site, sender, ends(answer))  # type: ignore[operator]
    assert (reply.failure, reply.body, reply.wire_bytes) == (None, PLAIN, len(stream)), reply.detail
    assert answered(site, sender, page(b"next")).body == b"next"
    assert site.connections == 2


@pytest.mark.parametrize(("coding", "stream"), STREAMS, ids=[row[0].decode() for row in STREAMS])
@pytest.mark.parametrize("more", [1, 7, 100_000])
def test_another_length_than_the_streams(
    site: HostileServer, sender: Replying, coding: bytes, stream: bytes, more: int
) -> None:
    reply = answered(site, sender, once(of_length(len(stream) + more, coding, stream)))
    assert (reply.failure, reply.body) == (None, PLAIN), reply.detail


GZIP = gzip.compress(PLAIN)
RAW = GZIP[10:-8]
# a stream of gzip that Chromium and Firefox show whole: they skip what surrounds the deflated octets
BAD_GZIP = {
    "another check sum": GZIP[:-8] + b"abcd" + GZIP[-4:],
    "another size": GZIP[:-4] + b"abcd",
    "no trailer": GZIP[:-8],
    "half a trailer": GZIP[:-3],
    "another check sum of the head": GZIP[:3] + b"\x1e" + GZIP[4:10] + b"\4\0abcdname\0comment\0\0\0" + RAW + GZIP[-8:],
    "reserved flags": GZIP[:3] + b"\xe0" + GZIP[4:],
    "a first member without a check sum": gzip.compress(PLAIN[:99])[:-8] + bytes(8) + gzip.compress(PLAIN[99:]),
}  # fmt: skip


@pytest.mark.parametrize("stream", BAD_GZIP.values(), ids=BAD_GZIP)
@pytest.mark.parametrize("framing", ["length", "chunks", "close"])
def test_gzip_around_whole_data(site: HostileServer, sender: Replying, stream: bytes, framing: str) -> None:
    answer: bytes | Behaviour = of_length(len(stream), b"gzip", stream)
    if framing == "chunks":
        chunk = b"%x\r\n%b\r\n0\r\n\r\n" % (len(stream), stream)
        answer = raw(OK + b"Content-Encoding: gzip\nTransfer-Encoding: chunked", chunk)
    elif framing == "close":
        answer = once(raw(OK + b"Content-Encoding: gzip", stream))
    reply = answered(site, sender, answer)
    assert (reply.failure, reply.body, reply.wire_bytes) == (None, PLAIN, len(stream)), reply.detail
    assert answered(site, sender, page(b"next")).body == b"next"
    assert site.connections == (1 if len(stream) >= len(GZIP) and framing != "close" else 2)


TWO = gzip.compress(PLAIN[:99]) + gzip.compress(PLAIN[99:])


# name, answer: none of them proves its length wrong
def chunks(*lines: bytes) -> bytes:
    return raw(OK + b"Transfer-Encoding: chunked", b"".join(lines))


SHORT: list[tuple[str, bytes]] = [
    ("without a coding", raw(OK + b"Content-Length: 20", PLAIN[:10])),
    ("within the stream", of_length(len(PLAIN), b"gzip", gzip.compress(PLAIN)[:-1])),
    ("within the trailer", of_length(len(GZIP), b"gzip", GZIP[:-1])),
    ("within the data", raw(OK + b"Content-Encoding: gzip", GZIP[:-9])),
    ("within the inner stream", of_length(len(PLAIN), b"gzip, br", brotli.compress(gzip.compress(PLAIN)[:-1]))),
    ("within the outer stream", of_length(len(PLAIN), b"gzip, br", brotli.compress(gzip.compress(PLAIN))[:-1])),
    ("before a third member", of_length(len(TWO) + 50, b"gzip", TWO)),
    ("before the first octet", of_length(len(PLAIN), b"gzip", b"")),
    ("without the last chunk", raw(OK + b"Transfer-Encoding: chunked\nContent-Encoding: gzip",
                                   b"%x\r\n%b\r\n" % (len(TWO), TWO))),
    ("without the last empty line", chunks(b"5\r\nhello\r\n0\r\n")),
    ("after the last data", chunks(b"5\r\nhello")),
    ("longer than its chunk", chunks(b"5\r\nhello, world\r\n0\r\n\r\n")),
    ("a second size that is none", chunks(b"5\r\nhello\r\n0x5\r\nworld\r\n0\r\n\r\n")),
    ("a length shorter than the stream", of_length(20, b"gzip", gzip.compress(PLAIN))),
]  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [
        b"0" * 20 + CHUNKS,
        b"5\nhello\n0\n\n",
        b"2\r\nhe\n3 ;a=b\r\nllo\r\n00\t\r\nTrailer: x\r\n\r\n",
        b"005\r\nhello\r\n0;x\n\r\n",
    ],
)
def test_chunks_as_browsers_read_them(site: HostileServer, sender: Replying, body: bytes) -> None:
    reply = answered(site, sender, chunks(body))
    assert (reply.failure, reply.body) == (None, b"hello"), reply.detail
    assert answered(site, sender, page(b"next")).body == b"next"
    assert site.connections == 1


@pytest.mark.parametrize("answer", [row[1] for row in SHORT], ids=[row[0] for row in SHORT])
def test_a_body_shorter_than_its_framing_is_cut(site: HostileServer, sender: Replying, answer: bytes) -> None:
    assert answered(site, sender, once(answer)).failure is Failure.CUT


def test_so_is_a_plain_one_that_is_waited_for(site: HostileServer, sender: Replying) -> None:
    site.answers["/"] = kept_open(raw(OK + b"Content-Length: 20", b"half"))
    reply = sender.send(Request(url=site.url("/"), deadline_s=1.0))
    assert (reply.failure, reply.body) == (Failure.TIMEOUT, b"half")


@pytest.mark.parametrize("size", [b"0x5", b"0_5", b"+5", b"-5", b" 5", b"", b"<html>", b"f" * 16])
def test_a_body_that_never_was_chunked_is_asked_for_once(site: HostileServer, sender: Replying, size: bytes) -> None:
    """It would be the same again. Neither Chromium nor curl shows it."""
    reply = answered(site, sender, once(chunks(size + b"\r\nhello\r\n0\r\n\r\n")))
    assert (reply.status, reply.failure, reply.body) == (200, Failure.PROTOCOL, b""), reply.detail
    assert "is no size of a chunk" in reply.detail


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        (b"<!doctype html><title>one line</title>", Failure.PROTOCOL),
        (b"back to work, in one line", Failure.PROTOCOL),
        (b"x" * 70_000, Failure.PROTOCOL),
        (b"", Failure.CUT),
        (b"1f", Failure.CUT),
        (b"1f ;name=val", Failure.CUT),
        (b"1f\r", Failure.CUT),
    ],
)
def test_so_is_one_without_a_line_end(site: HostileServer, sender: Replying, body: bytes, failure: Failure) -> None:
    """What may be the beginning of a size was cut off."""
    reply = answered(site, sender, once(chunks(body)))
    assert (reply.status, reply.failure, reply.body) == (200, failure, b""), reply.detail
