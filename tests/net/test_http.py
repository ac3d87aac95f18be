"""What the sender asks, and what it makes of whole answers."""

import gzip
import random
import sys
import threading
import zlib
from pathlib import Path

import brotli
import pytest

from app.model.fetch import Failure, Reply, Request, RequestKind
from app.net.body import CHUNK_BYTES
from app.net.decode import Response
from tests.net.hostile import IDENTITY, HostileServer, Peer, once, page, raw
from tests.net.senders import Replying, loopback_sender

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

COMPRESSED = Path(__file__).parents[3] / "shared" / "suites" / "compressed"


# --- the request ----------------------------------------------------------------------------------

TARGETS = [
    "/",
    "/a%7Eb",
    "/a%7eb",
    "/x?q=[1]",
    "/x?q=a|b^{}`",
    "/x?",
    "/%",
    "/a//b/../c",
    "/x?a=%zz&b='()*!",
    "//double",
    "/x?http://other/",
    "/;p=1:2@3",
]


@pytest.mark.parametrize("target", TARGETS)
def test_target_goes_out_byte_for_byte(site: HostileServer, sender: Replying, target: str) -> None:
    site.answers[target.partition("?")[0]] = page()
    assert sender.send(Request(url=site.url(target))).status == 200
    assert site.targets == [target]


def test_fragment_and_credentials_are_never_sent(site: HostileServer, sender: Replying) -> None:
    site.answers["/"] = page()
    sender.send(Request(url=f"http://name:secret@{site.address}:{site.port}/#top"))
    assert site.targets == ["/"]
    assert b"secret" not in site.heads[0]
    assert b"Authorization" not in site.heads[0]


def fields(head: bytes) -> dict[str, str]:
    pairs = (line.split(": ", 1) for line in head.decode("latin-1").strip().split("\r\n")[1:])
    return dict(pairs)


def test_headers(site: HostileServer, sender: Replying) -> None:
    site.answers["/"] = page()
    sender.send(Request(url=site.url("/"), wanted_types=("text/html", "text/plain")))
    assert fields(site.heads[0]) == {
        "Host": f"{site.address}:{site.port}",
        "Accept": "text/html,text/plain;q=0.9",
        "Accept-Language": "*",
        "Accept-Encoding": "gzip,deflate,br,zstd",
        **IDENTITY,
    }


def test_robots_is_asked_for_as_text(site: HostileServer, sender: Replying) -> None:
    site.answers["/robots.txt"] = page()
    sender.send(Request(url=site.url("/robots.txt"), kind=RequestKind.ROBOTS))
    assert fields(site.heads[0])["Accept"].startswith("text/plain")


def test_validators_go_back_verbatim(site: HostileServer, sender: Replying) -> None:
    site.answers["/"] = raw(b'HTTP/1.1 304 Not Modified\nETag: "a"\nContent-Length: 900\nContent-Encoding: gzip')
    for _ in range(2):
        reply = sender.send(
            Request(
                url=site.url("/"),
                etag='W/"\xe9 x"',
                last_modified="yesterday, or so",
                wanted_types=("text/html",),
            )
        )
        assert (reply.status, reply.failure, reply.body, reply.body_read) == (304, None, b"", True)
    sent = fields(site.heads[0])
    assert sent["If-None-Match"] == 'W/"\xe9 x"'
    assert sent["If-Modified-Since"] == "yesterday, or so"
    assert site.connections == 1  # a 304 has no body, whatever it says about its length


@pytest.mark.parametrize("value", ["a\r\nX-Injected: 1", "a\nb", "\x00", "", "Ā", "a\x7f"])
def test_validators_that_cannot_be_sent_are_left_out(site: HostileServer, sender: Replying, value: str) -> None:
    site.answers["/"] = page()
    reply = sender.send(Request(url=site.url("/"), etag=value, last_modified=value))
    assert reply.status == 200
    assert {"If-None-Match", "If-Modified-Since", "X-Injected"}.isdisjoint(fields(site.heads[0]))


@pytest.mark.parametrize("value", ["a\r\nX-Injected: 1", "a\nX-Injected: 1", "a\r", "a\r\n", "\n\r"])
def test_a_field_with_a_line_break_is_not_sent(site: HostileServer, value: str) -> None:
    sender = loopback_sender({"User-Agent": value})
    with pytest.raises(ValueError, match="line break"):
        sender.send(Request(url=site.url("/")))
    assert site.heads == []


@pytest.mark.parametrize("variable", ["http_proxy", "HTTP_PROXY", "all_proxy"])
def test_environment_is_not_heeded(
    site: HostileServer, sender: Replying, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine {site.address} login me password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv(variable, "http://127.0.0.1:1")
    site.answers["/"] = page()
    assert sender.send(Request(url=site.url("/"))).status == 200
    assert b"Authorization" not in site.heads[0]


def test_no_cookies(site: HostileServer, sender: Replying) -> None:
    site.answers["/"] = page(b"x", b"Set-Cookie: a=1; Path=/", b"Set-Cookie: b=2")
    first, _ = (sender.send(Request(url=site.url("/"))) for _ in range(2))
    assert first.header("set-cookie") == "a=1; Path=/, b=2"
    assert not any(b"ookie" in head for head in site.heads)


# --- redirects are answers ------------------------------------------------------------------------

LOCATIONS = [
    b"/elsewhere",
    b"http://[::1",
    b"http://\xff\xfe/",
    b"//",
    b"javascript:alert(1)",
    b"",
    b"h\xc3\xa9",
]


@pytest.mark.parametrize("location", LOCATIONS)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(site: HostileServer, sender: Replying, status: int, location: bytes) -> None:
    site.answers["/"] = page(b"moved", b"Location: " + location, status=b"%d Moved" % status)
    reply = sender.send(Request(url=site.url("/"), wanted_types=("application/pdf",)))
    assert (reply.status, reply.failure, reply.body) == (status, None, b"moved")
    assert reply.header("location") == location.decode("latin-1")
    assert site.targets == ["/"]


def test_redirect_without_location(site: HostileServer, sender: Replying) -> None:
    site.answers["/"] = page(b"", status=b"302 Found")
    assert sender.send(Request(url=site.url("/"))).header("location") is None


# --- connections ----------------------------------------------------------------------------------


def test_one_connection_per_origin_is_kept(site: HostileServer, sender: Replying) -> None:
    site.answers["/"] = page()
    replies = [sender.send(Request(url=site.url("/"))) for _ in range(5)]
    assert site.connections == 1
    first, *others = replies
    assert first.dns_ms is not None
    assert first.connect_ms is not None
    assert {(each.dns_ms, each.connect_ms, each.address) for each in others} == {(None, None, site.address)}


@pytest.mark.parametrize(
    "answer",
    [
        page(b""),
        page(b"x" * 60_000, status=b"404 Not Found"),
        raw(b"HTTP/1.1 204 No Content"),
        raw(b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked", b"5\r\nhello\r\n0\r\nTrailer: x\r\n\r\n"),
        raw(b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nContent-Length: 3", b"5\r\nhello\r\n0\r\n\r\n"),
        raw(b"HTTP/1.0 200 OK\nConnection: keep-alive\nContent-Length: 5", b"hello"),
        raw(b"HTTP/1.1 103 Early Hints\nLink: </a>") + raw(b"HTTP/1.1 100 Continue") + page(b"hello"),
        raw(b"HTTP/1.1 200 OK\nContent-Length: 5, 5\nContent-Length: 5", b"hello"),
        page(gzip.compress(b"hello"), b"Content-Encoding: gzip"),
    ],
)
def test_whole_answers_keep_the_connection(site: HostileServer, sender: Replying, answer: bytes) -> None:
    site.answers["/"] = answer
    replies = [sender.send(Request(url=site.url("/"))) for _ in range(3)]
    assert [each.failure for each in replies] == [None] * 3
    assert replies[0].body == replies[2].body
    assert site.connections == 1


def test_connection_close_is_heeded(site: HostileServer, sender: Replying) -> None:
    site.answers["/"] = page(b"x", b"Connection: close")
    for _ in range(2):
        assert sender.send(Request(url=site.url("/"))).body == b"x"
    assert site.connections == 2


def test_a_connection_that_the_server_closed_while_idle_is_replaced(site: HostileServer, sender: Replying) -> None:
    site.answers["/"] = once(page())
    for number in (1, 2, 3):
        reply = sender.send(Request(url=site.url("/")))
        assert (reply.status, reply.detail) == (200, "")
        assert site.hung_up.acquire(timeout=5)
        assert site.connections == number


def hang_up_on_second_request(peer: Peer) -> bool:
    """Keeps the connection, but ends it when it is used again: the race of every keep-alive."""
    if peer.nth == 1:
        peer.send(page())
        return True
    return False


def reset_on_second_request(peer: Peer) -> bool:
    if peer.nth == 1:
        peer.send(page())
        return True
    peer.reset()
    return False


@pytest.mark.parametrize("behaviour", [hang_up_on_second_request, reset_on_second_request])
def test_a_kept_alive_connection_that_dies_in_use_is_not_tried_at_once(
    site: HostileServer, sender: Replying, behaviour: object
) -> None:
    """The site may have the request: another would come without its delay."""
    site.answers["/"] = behaviour  # type: ignore[assignment]
    first, second = (sender.send(Request(url=site.url("/"))) for _ in range(2))
    assert (first.status, second.status, second.failure) == (200, None, Failure.RESET)
    assert second.connect_ms is None
    assert (site.connections, len(site.heads)) == (1, 2)


def test_idle_connections_are_closed_when_used_too_late(site: HostileServer) -> None:
    site.answers["/"] = page()
    sender = loopback_sender(idle_s=0.0)
    for _ in range(3):
        sender.send(Request(url=site.url("/")))
    assert site.connections == 3


def test_close_idle(site: HostileServer, sender: Replying) -> None:
    site.answers["/"] = page()
    sender.send(Request(url=site.url("/")))
    assert sender.close_idle() == 0  # it is not idle for long enough
    brief = loopback_sender(idle_s=0.0)
    brief.send(Request(url=site.url("/")))
    assert brief.close_idle() == 1
    assert brief.close_idle() == 0
    assert site.hung_up.acquire(timeout=5)


def test_close(site: HostileServer, sender: Replying) -> None:
    site.answers["/"] = page()
    sender.send(Request(url=site.url("/")))
    sender.close()
    assert site.hung_up.acquire(timeout=5)
    assert sender.send(Request(url=site.url("/"))).status == 200


def test_connections_are_bounded_over_all_origins() -> None:
    sender = loopback_sender(origins_max=2)
    with HostileServer() as first, HostileServer() as second, HostileServer() as third:
        for site in (first, second, first, third):
            site.answers["/"] = page()
            sender.send(Request(url=site.url("/")))
        assert second.hung_up.acquire(timeout=5)  # the least recently used
        sender.send(Request(url=first.url("/")))
        assert (first.connections, second.connections, third.connections) == (1, 1, 1)
    sender.close()


def test_threads_share_a_sender(sender: Replying) -> None:
    replies: list[Reply] = []

    def fetch(url: str) -> None:
        replies.extend(sender.send(Request(url=url)) for _ in range(20))

    with HostileServer() as one, HostileServer() as two:
        for site in (one, two):
            site.answers["/"] = page(site.address.encode())
        threads = [threading.Thread(target=fetch, args=(site.url("/"),)) for site in (one, two, one, two)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert len(replies) == 80
        assert all(each.body == str(each.address).encode() for each in replies)


# --- what a reply says ----------------------------------------------------------------------------


def test_reply_of_a_page(site: HostileServer, sender: Replying) -> None:
    body = gzip.compress(b"<p>" * 5000)
    site.answers["/"] = page(body, b'ETag: "1"', b"X-Twice: a", b"x-twice: b", b"Content-Encoding: gzip")
    reply = sender.send(Request(url=site.url("/")))
    assert reply.body == b"<p>" * 5000
    assert reply.wire_bytes == len(body)
    assert reply.address == site.address
    assert reply.headers == {
        "content-type": "text/html",
        "content-length": str(len(body)),
        "etag": '"1"',
        "x-twice": "a, b",
        "content-encoding": "gzip",
    }
    assert reply.started_s < reply.ended_s
    assert reply.dns_ms is not None
    assert reply.connect_ms is not None
    assert reply.first_byte_ms is not None
    assert reply.dns_ms + reply.connect_ms <= reply.first_byte_ms <= reply.total_ms
    assert (reply.failure, reply.detail, reply.truncated, reply.body_read) == (None, "", False, True)


# header lines as sent, what they become
ODD_HEADERS = [
    (b"A: one\n two\n\tthree", {"a": "one two three"}),
    (b" folded first: x\nA: 1", {"a": "1"}),
    (b"no colon\nA: 1", {"a": "1"}),
    (b"A : 1", {"a": "1"}),
    (b"A\xe9: 1\nB: \xe9\x00", {"b": "\xe9 "}),
    (b": nameless\nA:", {"a": ""}),
    (b"A: x\ry", {"a": "x y"}),
    (b"X-Robots-Tag: noindex, nofollow", {"x-robots-tag": "noindex, nofollow"}),
    (
        b"X-Robots-Tag: a: none\nA: 1\nx-robots-tag: noindex\n nofollow",
        {"x-robots-tag": "a: none\nnoindex nofollow", "a": "1"},
    ),
]


@pytest.mark.parametrize(("lines", "expected"), ODD_HEADERS)
def test_odd_headers(site: HostileServer, sender: Replying, lines: bytes, expected: dict[str, str]) -> None:
    site.answers["/"] = raw(b"HTTP/1.1 200 OK\n" + lines + b"\nContent-Length: 2", b"ok")
    reply = sender.send(Request(url=site.url("/")))
    assert reply.headers == {**expected, "content-length": "2"}
    assert reply.body == b"ok"


@pytest.mark.parametrize("status", [200, 299, 404, 500, 599, 700, 999])
def test_statuses(site: HostileServer, sender: Replying, status: int) -> None:
    site.answers["/"] = page(b"x", status=b"%d Whatever" % status)
    reply = sender.send(Request(url=site.url("/")))
    assert (reply.status, reply.body) == (status, b"x")


# --- wanted types ---------------------------------------------------------------------------------

# Content-Type, wanted types, is the body read?
TYPES = [
    (b"text/html", ("text/html",), True),
    (b"Text/HTML; charset=utf-8", ("text/html",), True),
    (b"text/html, text/html", ("text/html",), True),
    (b"text/plain", ("text/html", "text/*"), True),
    (b"", ("text/html",), True),
    (b"image/png", None, True),
    (b"image/png", ("text/html", "text/*"), False),
    (b"text/htmlx", ("text/html",), False),
    (b"nonsense", ("text/html",), False),
    (b"image/png", (), False),
]


@pytest.mark.parametrize(("kind", "wanted", "read"), TYPES)
def test_wanted_types(
    site: HostileServer, sender: Replying, kind: bytes, wanted: tuple[str, ...] | None, read: bool
) -> None:
    site.answers["/"] = page(b"body", kind=kind)
    reply = sender.send(Request(url=site.url("/"), wanted_types=wanted))
    assert (reply.status, reply.body_read, reply.body, reply.failure) == (
        200,
        read,
        b"body" if read else b"",
        None,
    )
    assert reply.wire_bytes == len(reply.body)
    sender.send(Request(url=site.url("/"), wanted_types=wanted))
    assert site.connections == (1 if read else 2)


def test_a_missing_type_is_wanted(site: HostileServer, sender: Replying) -> None:
    site.answers["/"] = raw(b"HTTP/1.1 200 OK\nContent-Length: 1", b"x")
    assert sender.send(Request(url=site.url("/"), wanted_types=("text/html",))).body == b"x"


def test_error_pages_are_read_whatever_their_type(site: HostileServer, sender: Replying) -> None:
    site.answers["/"] = page(b"challenge", kind=b"application/json", status=b"403 Forbidden")
    assert sender.send(Request(url=site.url("/"), wanted_types=("text/html",))).body == b"challenge"


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
    assert {*offered, "x-gzip"} == set(Response.CONTENT_DECODERS), "x-gzip is gzip (RFC 9110 section 8.4.1.3)"
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
    assert site.hung_up.acquire(timeout=5)


def test_error_pages_are_read_to_64_kib(site: HostileServer, sender: Replying) -> None:
    site.answers["/"] = page(b"x" * 100_000, status=b"500 Oops")
    reply = sender.send(Request(url=site.url("/")))
    assert (len(reply.body), reply.truncated) == (64 * 1024, True)
