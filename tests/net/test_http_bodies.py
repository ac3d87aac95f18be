"""Codings of a body, and how much of it is read."""

import gzip
import random
import sys
import zlib
from pathlib import Path

import brotli
import pytest

from app.model.fetch import Request, RequestKind
from app.net import decode
from app.net.body import CHUNK_BYTES
from tests.net.hostile import HostileServer, once, page, raw
from tests.net.senders import Replying

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd
from tests.net.heads import fields

COMPRESSED = Path(__file__).parents[3] / "shared" / "suites" / "compressed"


# --- encodings ------------------------------------------------------------------------------------

PLAIN = b"<p>polite crawler</p>" * 2000


def raw_deflate(octets: bytes) -> bytes:
    squeeze = zlib.compressobj(wbits=-15)
    return squeeze.compress(octets) + squeeze.flush()


# Content-Encoding, the body on the wire
ENCODINGS = [
    (b"gzip", gzip.compress(PLAIN)),
    (b"x-gzip", gzip.compress(PLAIN)),
    (b"GZIP", gzip.compress(PLAIN)),
    (b"deflate", zlib.compress(PLAIN)),
    (b"deflate", raw_deflate(PLAIN)),
    (b"br", brotli.compress(PLAIN)),
    (b"zstd", zstd.compress(PLAIN)),
    (b"gzip, br", brotli.compress(gzip.compress(PLAIN, mtime=0))),
    (b"gzip, deflate, gzip", gzip.compress(zlib.compress(gzip.compress(PLAIN)))),
    (b"gzip", gzip.compress(PLAIN[:999]) + gzip.compress(PLAIN[999:])),
    (b"gzip", gzip.compress(PLAIN) + b"\0\0\0trailing"),
    (b"br", brotli.compress(PLAIN) + b"\0\0\0trailing"),
    (b"zstd", zstd.compress(PLAIN) + b"\0\0\0trailing"),
    (b"deflate", zlib.compress(PLAIN) + b"\0\0\0trailing"),
    (b"gzip, identity", gzip.compress(PLAIN)),
    (b"utf-8,deflate", zlib.compress(PLAIN)),
    (b"identity", PLAIN),
    (b"utf-8", PLAIN),
    (b"", PLAIN),
]


@pytest.mark.parametrize(("encoding", "body"), ENCODINGS)
@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
def test_encodings(site: HostileServer, sender: Replying, encoding: bytes, body: bytes, framing: str) -> None:
    head = b"HTTP/1.1 200 OK\nContent-Encoding: " + encoding
    if framing == "length":
        site.answers["/"] = raw(head + b"\nContent-Length: %d" % len(body), body)
    elif framing == "chunked":
        chunks = b"".join(b"%x;ext=1\r\n%b\r\n" % (len(part), part) for part in (body[:7], body[7:]))
        site.answers["/"] = raw(head + b"\nTransfer-Encoding: chunked", chunks + b"0\r\n\r\n")
    else:
        site.answers["/"] = once(raw(head, body))
    reply = sender.send(Request(url=site.url("/")))
    assert (reply.failure, reply.detail, reply.truncated) == (None, "", False)
    assert reply.body == PLAIN
    assert reply.wire_bytes == len(body)


ENCODERS = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress, "zstd": zstd.compress}


def test_codings_that_are_offered_are_those_that_are_decoded(site: HostileServer, sender: Replying) -> None:
    site.answers["/"] = page(PLAIN)
    sender.send(Request(url=site.url("/")))
    offered = fields(site.heads[0])["Accept-Encoding"].split(",")
    assert decode.codings(",".join(offered)) == offered
    for coding in offered:
        site.answers["/"] = page(ENCODERS[coding](PLAIN), b"Content-Encoding: " + coding.encode())
        assert sender.send(Request(url=site.url("/"))).body == PLAIN


@pytest.mark.parametrize(
    ("kind", "first"), [(RequestKind.SITEMAP, "application/xml"), (RequestKind.ROBOTS, "text/plain")]
)
def test_where_anything_is_read_anything_is_offered(
    site: HostileServer, sender: Replying, kind: RequestKind, first: str
) -> None:
    site.answers["/"] = page(b"x", kind=b"image/png")
    assert sender.send(Request(url=site.url("/"), kind=kind)).body == b"x"
    offer = fields(site.heads[0])["Accept"].split(",")
    assert (offer[0], offer[-1].partition(";")[0]) == (first, "*/*")


def test_gzip_members_as_long_as_what_is_read_at_once(site: HostileServer, sender: Replying) -> None:
    parts = [letter * CHUNK_BYTES for letter in (b"a", b"b", b"c")]
    site.answers["/"] = page(b"".join(map(gzip.compress, parts)), b"Content-Encoding: gzip")
    assert sender.send(Request(url=site.url("/"))).body == b"".join(parts)


def test_an_empty_body_need_not_be_a_gzip_stream(site: HostileServer, sender: Replying) -> None:
    site.answers["/"] = page(b"", b"Content-Encoding: gzip")
    reply = sender.send(Request(url=site.url("/")))
    assert (reply.failure, reply.body) == (None, b"")


# file of Scrapy's samples, Content-Encoding
SAMPLES = [
    ("html-br.bin", b"br"),
    ("html-gzip.bin", b"gzip"),
    ("html-gzip-deflate.bin", b"gzip, deflate"),
    ("html-gzip-deflate-gzip.bin", b"gzip, deflate, gzip"),
    ("html-rawdeflate.bin", b"deflate"),
    ("html-zlibdeflate.bin", b"deflate"),
    ("html-zstd-static-content-size.bin", b"zstd"),
    ("html-zstd-static-no-content-size.bin", b"zstd"),
    ("html-zstd-streaming-no-content-size.bin", b"zstd"),
]


@pytest.mark.skipif(not COMPRESSED.is_dir(), reason="acceptance data not here")
@pytest.mark.parametrize(("file", "encoding"), SAMPLES)
def test_samples(site: HostileServer, sender: Replying, file: str, encoding: bytes) -> None:
    site.answers["/"] = page((COMPRESSED / file).read_bytes(), b"Content-Encoding: " + encoding)
    reply = sender.send(Request(url=site.url("/")))
    assert reply.failure is None
    assert b"<html" in reply.body.lower()
    assert b"</html>" in reply.body[-40:].lower()


# --- caps -----------------------------------------------------------------------------------------


def test_a_body_of_exactly_the_cap_is_whole(site: HostileServer, sender: Replying) -> None:
    site.answers["/"] = page(b"x" * 5000)
    reply = sender.send(Request(url=site.url("/"), max_body_bytes=5000))
    assert (len(reply.body), reply.truncated) == (5000, False)


@pytest.mark.parametrize("encoding", [b"", b"gzip"])
def test_a_body_over_the_cap_is_truncated(site: HostileServer, sender: Replying, encoding: bytes) -> None:
    body = random.Random(1).randbytes(500_000)
    site.answers["/"] = page(gzip.compress(body) if encoding else body, b"Content-Encoding: " + encoding)
    reply = sender.send(Request(url=site.url("/"), max_body_bytes=5000))
    assert (len(reply.body), reply.truncated, reply.failure) == (5000, True, None)
    assert site.hung_up.acquire(timeout=30)


def test_error_pages_are_read_to_64_kib(site: HostileServer, sender: Replying) -> None:
    site.answers["/"] = page(b"x" * 100_000, status=b"500 Oops")
    reply = sender.send(Request(url=site.url("/")))
    assert (len(reply.body), reply.truncated) == (64 * 1024, True)
