"""The work of decoders over each other has a bound of its own: octets between them, members, the deadline."""

import gzip
import sys
import zlib
from collections.abc import Callable
from io import BytesIO

import brotli
import pytest

from app.model.fetch import Failure, Request
from app.net import decode
from app.net.exchange import Broken
from tests.net.broken import encoded
from tests.net.hostile import HostileServer
from tests.net.senders import Replying

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BETWEEN_BYTES = 2 << 20
PLAIN = b"<p>polite crawler</p>" * 2000
NO_BLOCK = b"\0\0\0\xff\xff"  # of deflate: stored, of no octets (RFC 1951 3.2.4)
SKIPPED = b"\x50\x2a\x4d\x18\0\0\0\0"  # of zstd: a skippable frame (RFC 8878 3.1.2)
NO_BLOCKS = b"\x28\xb5\x2f\xfd\0\x58"  # of zstd: the head of a frame; then blocks of no octets
GZIP_HEAD = gzip.compress(b"")[:10]


def packed(octets: bytes, *pack: Callable[[bytes], bytes]) -> bytes:
    for each in pack:
        octets = each(octets)
    return octets


# name, Content-Encoding, what is sent, the end of the refusal
MUCH = " octets between two of its codings"
MANY = " members"
HOLLOW: list[tuple[str, str, bytes, str]] = [
    ("skippable frames", "zstd, zstd, zstd, zstd", packed(SKIPPED * 10**6, *[zstd.compress] * 3), MANY),
    ("empty frames", "zstd, zstd, zstd", packed(zstd.compress(b"") * 10**6, *[zstd.compress] * 2), MANY),
    ("empty members", "gzip, gzip, gzip", packed(gzip.compress(b"") * 10**6, *[gzip.compress] * 2), MANY),
    ("empty members alone", "gzip", gzip.compress(b"") * 10_001, MANY),
    ("skippable frames alone", "zstd", SKIPPED * 10_001, MANY),
    ("empty blocks", "gzip, gzip, gzip", packed(GZIP_HEAD + NO_BLOCK * 10**6, *[gzip.compress] * 2), MUCH),
    ("raw empty blocks", "deflate, br", brotli.compress(NO_BLOCK * 10**6), MUCH),
    ("zstd's empty blocks", "zstd, gzip", gzip.compress(NO_BLOCKS + bytes(3 * 10**6)), MUCH),
    ("empty metablocks", "br, gzip", gzip.compress(b"\x0c" + b"\x06" * 10**7 + b"\3"), MUCH),
    ("a long name", "gzip, zstd", zstd.compress(b"\x1f\x8b\x08\x08" + b"x" * 10**7), MUCH),
    ("what follows an end", "br, gzip", gzip.compress(brotli.compress(PLAIN) + bytes(10**7)), MUCH),
    ("padding", "deflate, gzip", gzip.compress(zlib.compress(PLAIN) + bytes(10**7)), MUCH),
    ("hundreds", ",".join(["gzip"] * 300), b"x", "300 content codings over each other; 5 are decoded"),
]  # fmt: skip


class Counting:
    """Reads, and counts the octets and the steps."""

    def __init__(self, octets: bytes) -> None:
        self._stream = BytesIO(octets)
        self.octets = self.steps = 0

    def read(self, most: int) -> bytes:
        piece = self._stream.read(most)
        self.octets += len(piece)
        return piece

    def step(self) -> None:
        self.steps += 1


def _read_all(coding: str, source: Counting, found: bytearray) -> None:
    decoders = decode.Decoders(decode.codings(coding), source.read, between=BETWEEN_BYTES, check=source.step)
    while piece := decoders.read(65536):
        found += piece


@pytest.mark.parametrize(("coding", "sent", "words"), [row[1:] for row in HOLLOW], ids=[row[0] for row in HOLLOW])
def test_what_says_nothing_ends(coding: str, sent: bytes, words: str) -> None:
    source = Counting(sent)
    found = bytearray()
    with pytest.raises(Broken) as broken:
        _read_all(coding, source, found)
    assert broken.value.detail.endswith(words)
    assert found in (b"", PLAIN)
    assert source.steps <= 2 * decode.MEMBERS_MAX + 4 * BETWEEN_BYTES // 65536 + 20
    assert len(decode.decoded(sent, coding, most=10**6)) in {0, len(PLAIN)}, "nor does reading it back go on for ever"


@pytest.mark.parametrize(("coding", "sent", "words"), [row[1:] for row in HOLLOW], ids=[row[0] for row in HOLLOW])
def test_it_costs_one_answer(site: HostileServer, sender: Replying, coding: str, sent: bytes, words: str) -> None:
    site.answers["/"] = encoded(coding.encode(), sent)
    reply = sender.send(Request(url=site.url("/")))
    assert (reply.status, reply.failure, len(site.heads)) == (200, Failure.PROTOCOL, 1), reply.detail
    assert site.hung_up.acquire(timeout=30)


def test_the_deadline_is_looked_at_between_two_decoders(site: HostileServer, sender: Replying) -> None:
    """The whole body has arrived: no socket is waited for any more. To decode it takes 2 s of a processor."""
    squeeze = zlib.compressobj(wbits=-15)
    begin = squeeze.compress(GZIP_HEAD) + squeeze.flush(zlib.Z_FULL_FLUSH)
    blocks = squeeze.compress(NO_BLOCK * 10**6) + squeeze.flush(zlib.Z_FULL_FLUSH)
    sent = gzip.compress(begin + blocks * 400)
    site.answers["/"] = encoded(b"gzip, deflate, gzip", sent)
    reply = sender.send(Request(url=site.url("/"), max_body_bytes=10**9, deadline_s=1.0))
    assert (reply.status, reply.failure, reply.detail) == (200, Failure.TIMEOUT, "the deadline passed within the body")
    assert reply.wire_bytes == len(sent)


# Content-Encoding, what is sent, of which PLAIN is the content
HONEST = [
    ("gzip", b"".join(gzip.compress(PLAIN[at : at + 10]) for at in range(0, len(PLAIN), 10))),
    ("zstd", b"".join(SKIPPED + zstd.compress(PLAIN[at : at + 10]) for at in range(0, len(PLAIN), 10))),
    ("zstd", zstd.compress(PLAIN) + b"no frame"),
    ("gzip", GZIP_HEAD[:3] + b"\x1e" + GZIP_HEAD[4:] + b"\4\0abcdname\0comment\0\0\0" + gzip.compress(PLAIN)[10:]),
    ("gzip", gzip.compress(PLAIN)[:-8]),
    ("gzip, gzip", gzip.compress(gzip.compress(PLAIN)[:-1])[:-2]),
    ("br", brotli.compress(PLAIN) + b"no member"),
    ("br", brotli.compress(PLAIN) * 2),
    ("br, gzip", gzip.compress(brotli.compress(PLAIN) + bytes(100_000))),
    ("gzip, gzip", gzip.compress(gzip.compress(PLAIN) + b"\0" * 100)),
    ("gzip, gzip, gzip, gzip, gzip", packed(PLAIN, *[gzip.compress] * 5)),
    ("br, zstd, deflate", packed(PLAIN, brotli.compress, zstd.compress, zlib.compress)),
]


@pytest.mark.parametrize(("coding", "sent"), HONEST, ids=[f"{nth} {row[0]}" for nth, row in enumerate(HONEST)])
@pytest.mark.parametrize("at_once", [1, 7, 65536])
@pytest.mark.parametrize("most", [1000, 65536])
def test_in_pieces_of_any_length_it_is_the_same(coding: str, sent: bytes, at_once: int, most: int) -> None:
    source = BytesIO(sent)
    decoders = decode.Decoders(
        decode.codings(coding), lambda count: source.read(min(count, at_once)), between=10**6, check=list
    )
    pieces = list(iter(lambda: decoders.read(most), b""))
    assert b"".join(pieces) == PLAIN
    assert max(map(len, pieces)) <= most
    assert decoders.is_whole


@pytest.mark.parametrize("coding", ["gzip", "deflate", "zstd", "br"])
def test_a_stream_of_no_octets_between_two_codings_is_an_empty_body(coding: str) -> None:
    assert decode.decoded(gzip.compress(b""), f"{coding}, gzip", most=10) == b""
