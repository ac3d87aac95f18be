"""What must hold of answers: any bytes from a socket make a Reply, whatever they are cut into, and no cut body passes
for whole.

The bytes come over a pair of connected sockets to the sender as it is: only where it would dial, it is handed one of
the two.
"""

import gzip
import io
import socket
import sys
import zlib
from collections.abc import Callable
from random import Random
from typing import Any

import brotli

from app.errors import DETAIL_CHARS
from app.model.fetch import Failure, Header, Reply, Request
from app.net.adapter import GuardedAdapter
from app.net.address import make_guard
from app.net.connection import Dialler
from app.net.dns import Resolver
from app.net.exchange import Exchange
from app.net.http import OVERHEAD_BYTES
from app.net.sockets import PlainSocket
from app.parse.html import html
from app.policy import blocks, directives, header_fields, media_type, robots, tdm
from app.policy.outcome import classify
from tests.fuzz.pages import MAX_LINKS, assert_page
from tests.fuzz.parts import NOW, TOKEN, dice, pieces
from tests.fuzz.signals import assert_directives, assert_signals
from tests.fuzz.urls import CANON, assert_canonical
from tests.net.senders import Replying

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ASKED = Request(url="http://h.example/a", max_body_bytes=4_000)
MOST_OCTETS = 60_000  # a pair of sockets holds more without a reader


def response(data: bytes) -> None:
    """What a server says before it hangs up: a status line, fields, a body."""
    octets = data[:MOST_OCTETS]
    with _Sender(octets, None) as sender:
        reply = sender.send(ASKED)
        assert_reply(reply, ASKED)
        _is_borne(reply)
        assert _gist(sender.send(ASKED)) == _gist(reply), "nothing of an answer is left for the next"
        _validators_go_back(sender, reply)
        _is_picky(sender, reply)
    with _Sender(octets, dice(data)) as sender:
        _assert_same(sender.send(ASKED), reply)


def coding(data: bytes) -> None:
    """An octet each for the codings, the framing, the cap and the cut; then a body, which a site encodes and we
    decode."""
    which, framing, cap, cut = data[:4].ljust(4, b"\0")
    body = data[4:MOST_OCTETS]
    names = [_NAMES[which >> shift & 7] for shift in (0, 3) if which >> shift & 7 < len(_NAMES)]
    sent = body
    for name in names:
        sent = _CODINGS[name](sent)
    limit = 1 + len(body) * cap // 128
    asked = ASKED._replace(max_body_bytes=limit)
    reply = _answered(_framed(sent, names, framing), asked, dice(data))
    if len(body) > limit:
        assert (reply.body, reply.truncated) == (body[:limit], True)
    else:
        assert (reply.body, reply.truncated, reply.failure) == (body, False, None), reply.detail
    drop = 1 + (cut % 18 if names[-1:] == ["x-gzip"] else cut)  # within its last member: between two nobody can tell
    if names and (kept := len(sent) - drop) > 0 and not reply.truncated:
        reply = _answered(_framed(sent[:kept], names, framing), ASKED._replace(max_body_bytes=100_000), None)
        if names[-1] in {"gzip", "x-gzip"} and drop <= 8:
            assert (reply.failure, reply.body) == (None, body), "of gzip a trailer may be cut"
        else:
            assert reply.failure is Failure.CUT, "a cut body is never taken for whole"


def assert_reply(reply: Reply | None, asked: Request) -> None:
    assert reply is not None
    assert (reply.status is None) <= (reply.failure is not None)
    assert reply.status is None or 100 <= reply.status <= 999
    assert len(reply.body) <= asked.max_body_bytes
    assert reply.wire_bytes <= asked.max_body_bytes + OVERHEAD_BYTES
    assert reply.detail.isprintable()
    assert len(reply.detail) <= DETAIL_CHARS
    assert bool(reply.detail) is (reply.failure is not None)
    for name, value in reply.headers.items():
        assert name == name.lower()
        assert not {"\r", "\0"} & set(value)
        assert "\n" not in value or name == Header.X_ROBOTS_TAG
        value.encode("latin-1")


def _is_borne(reply: Reply) -> None:
    """Everything that policy and parsers make of an answer."""
    for conditional in (True, False):
        classify(reply, conditional=conditional)
    robots.availability(reply)
    blocks.find(reply)
    robots.fresh_for_s(reply.header(Header.CACHE_CONTROL))
    waits_s = header_fields.retry_after(reply.header(Header.RETRY_AFTER), now=NOW, cap_s=60.0)
    assert waits_s is None or 0 <= waits_s <= 60
    assert_directives(directives.read(reply.header(Header.X_ROBOTS_TAG), (), TOKEN, now=NOW))
    assert_signals(tdm.of_reply(reply.headers))
    assert_canonical(CANON.join(ASKED.url, reply.header(Header.LOCATION) or ""))
    page = html.read(
        reply.body,
        content_type=reply.header(Header.CONTENT_TYPE),
        content_language=reply.header("content-language"),
        max_links=MAX_LINKS,
    )
    assert_page(page)


def _is_picky(sender: "_Sender", reply: Reply) -> None:
    """Of a type that is not wanted nothing is read; of what is wanted no more than is asked for, into the sink."""
    sink = io.BytesIO()
    asked = ASKED._replace(wanted_types=("text/html", "application/*"), max_body_bytes=10, sink=sink)
    part = sender.send(asked)
    assert_reply(part, asked)
    assert part is not None
    assert part.status == reply.status
    if part.status is None or not 200 <= part.status < 300:
        assert sink.getvalue() == b""
    elif not part.body_read:
        assert (part.body, part.sunk_bytes, part.truncated) == (b"", 0, False)
        needed = media_type.octets_to_see(reply.header(Header.CONTENT_TYPE))
        assert part.wire_bytes == 0 or needed > 0, "what names its type is not looked at"
    elif part.failure is reply.failure is None:
        assert sink.getvalue()[: part.sunk_bytes] == reply.body[:10]
        assert part.truncated is (len(reply.body) > 10)


def _validators_go_back(sender: "_Sender", reply: Reply) -> None:
    """What a site gave us to remember goes back to it word for word, or not at all, and says nothing else."""
    etag, modified = reply.header(Header.ETAG), reply.header(Header.LAST_MODIFIED)
    sender.send(ASKED._replace(etag=etag, last_modified=modified))
    head, end, rest = sender.dialler.heard().partition(b"\r\n\r\n")
    assert (end, rest) == (b"\r\n\r\n", b"")
    first, *fields = head.decode("latin-1").split("\r\n")
    assert first == "GET /a HTTP/1.1"
    names = [field.partition(":")[0] for field in fields]
    given = [name for name, value in (("If-None-Match", etag), ("If-Modified-Since", modified)) if value]
    assert names[:4] == ["Host", "Accept", "Accept-Encoding", "User-Agent"]
    assert set(names[5:]) <= set(given)
    assert all(field.partition(": ")[2] in (etag, modified) for field in fields[5:])


def _assert_same(one: Reply | None, other: Reply | None) -> None:
    """An answer is the same in any pieces. Only a stream that breaks beyond the cap may be met there, or cut before."""
    assert one is not None
    assert other is not None
    if {_ending(one), _ending(other)} == {"truncated", Failure.CUT}:
        assert (one.status, one.headers) == (other.status, other.headers)
    else:
        assert _gist(one) == _gist(other)


def _ending(reply: Reply) -> str | None:
    return "truncated" if reply.truncated else reply.failure


def _gist(reply: Reply | None) -> tuple[object, ...]:
    """Without times; of a broken body, how much of it was to be had is chance."""
    assert reply is not None
    whole = (reply.body, reply.wire_bytes) if _ending(reply) is None else ()
    return reply.status, reply.headers, _ending(reply), whole


# --- what a site does to a body -----------------------------------------------------------------------------


def _raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(body) + packer.flush()


_CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda body: gzip.compress(body, mtime=0),
    "deflate": zlib.compress,
    "DEFLATE": _raw_deflate,  # which many servers take it for
    "br": brotli.compress,
    "zstd": zstd.compress,
    "x-gzip": lambda body: (
        gzip.compress(body[: len(body) // 2], mtime=0) + gzip.compress(body[len(body) // 2 :], mtime=0)
    ),
}
_NAMES = list(_CODINGS)


def _framed(body: bytes, names: list[str], framing: int) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
    if names:
        head += f"Content-Encoding: {', '.join(names)}\r\n".encode()
    match framing % 3:
        case 0:
            return head + b"Content-Length: %d\r\n\r\n" % len(body) + body
        case 1:
            return head + b"Connection: close\r\n\r\n" + body
        case _:
            chunks = b"".join(b"%x;a=b\r\n%b\r\n" % (len(each), each) for each in pieces(body, Random(framing)))
            return head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\nTrailer: x\r\n\r\n"


# --- the sockets --------------------------------------------------------------------------------------------


class _Sips(PlainSocket):
    """Receives as much as there is, or as little as the dice say."""

    rng: Random | None

    def serve(self, exchange: Exchange) -> None:
        """Without the options of TCP, which this is not."""
        self.exchange = exchange
        self.settimeout(exchange.left_s())

    def recv_into(self, buffer: Any, *_: Any) -> int:
        size = self.rng.choice((1, 1, 2, 3, 10, 100, 1000)) if self.rng else len(buffer)
        return super().recv_into(memoryview(buffer)[:size])


class _Answering(Dialler):
    """Hands out sockets at whose other end all is said already."""

    def __init__(self, octets: bytes, rng: Random | None) -> None:
        super().__init__(Resolver(), make_guard(), require_contact=False)
        self._octets = octets
        self._rng = rng
        self._peer: socket.socket | None = None

    def dial(self, host: str, port: int, exchange: Exchange) -> PlainSocket:
        self.close()
        ours, self._peer = socket.socketpair()
        self._peer.sendall(self._octets)
        self._peer.shutdown(socket.SHUT_WR)
        sock = _Sips(fileno=ours.detach())
        sock.exchange, sock.rng = exchange, self._rng
        return sock

    def heard(self) -> bytes:
        """What the peer of the latest socket was sent."""
        assert self._peer is not None
        return self._peer.recv(1 << 16)

    def close(self) -> None:
        if self._peer is not None:
            self._peer.close()


class _Sender(Replying):
    def __init__(self, octets: bytes, rng: Random | None) -> None:
        self.dialler = _Answering(octets, rng)
        super().__init__(GuardedAdapter(self.dialler, origins_max=1), {"User-Agent": TOKEN})

    def __enter__(self) -> "_Sender":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self.dialler.close()


def _answered(octets: bytes, asked: Request, rng: Random | None) -> Reply:
    with _Sender(octets, rng) as sender:
        reply = sender.send(asked)
    assert_reply(reply, asked)
    assert reply is not None
    return reply
