"""What the sender asks, and what it makes of whole answers."""

import gzip
from pathlib import Path

import pytest

from app.model.fetch import Failure, Reply, Request, RequestKind
from tests.net.heads import fields
from tests.net.hostile import IDENTITY, HostileServer, page, raw
from tests.net.senders import Replying, loopback_sender

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


def test_headers(site: HostileServer, sender: Replying) -> None:
    site.answers["/"] = page()
    sender.send(Request(url=site.url("/"), wanted_types=("text/html", "text/plain")))
    assert fields(site.heads[0]) == {
        "Host": f"{site.address}:{site.port}",
        "Accept": "text/html,text/plain;q=0.9",
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
    reply = sender.send(Request(url=site.url("/")))
    assert isinstance(reply, Reply)
    assert reply.failure is Failure.PROTOCOL
    assert "line break" in reply.detail
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


@pytest.mark.parametrize("second", [b"/a", b"/b"])
def test_of_a_field_with_one_value_the_first_counts(site: HostileServer, sender: Replying, second: bytes) -> None:
    """RFC 9110 section 5.3. Joined, two of them would be a URL, a validator and a date that nobody has sent."""
    old, new = b"Mon, 01 Jan 1990 00:00:00 GMT", b"Tue, 02 Jan 1990 00:00:00 GMT"
    fields = [b"Location: /a", b"Location: " + second, b'ETag: "a"', b'ETag: "b"']
    dates = [b"Last-Modified: " + old, b"Last-Modified: " + new]
    site.answers["/"] = page(b"", *fields, *dates, b"Vary: a", b"Vary: b", status=b"302 Found")
    reply = sender.send(Request(url=site.url("/")))
    assert (reply.header("location"), reply.header("etag")) == ("/a", '"a"')
    assert (reply.header("last-modified"), reply.header("vary")) == (old.decode(), "a, b")


def test_redirect_without_location(site: HostileServer, sender: Replying) -> None:
    site.answers["/"] = page(b"", status=b"302 Found")
    assert sender.send(Request(url=site.url("/"))).header("location") is None


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

# Content-Type, wanted types, is the body read? It is b"body": text, by its octets.
TYPES = [
    (b"text/html", ("text/html",), True),
    (b"Text/HTML; charset=utf-8", ("text/html",), True),
    (b"text/html, text/html", ("text/html",), True),
    (b"text/plain", ("text/html", "text/*"), True),
    (b"", ("text/*",), True),
    (b"", ("text/html",), False),
    (b"image/png", None, True),
    (b"image/png", ("text/html", "text/*"), False),
    (b"text/htmlx", ("text/html",), False),
    (b"nonsense", ("text/html",), False),
    (b"nonsense", ("text/plain",), True),
    (b"text/xml", ("text/html", "text/*"), False),
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
    assert reply.wire_bytes in {4, len(reply.body)}, "no more than it took to tell"
    sender.send(Request(url=site.url("/"), wanted_types=wanted))
    assert site.connections == (1 if reply.wire_bytes else 2), "closed, unless it had been read to its end"


def test_a_missing_type_is_wanted(site: HostileServer, sender: Replying) -> None:
    site.answers["/"] = raw(b"HTTP/1.1 200 OK\nContent-Length: 3", b"<p>")
    assert sender.send(Request(url=site.url("/"), wanted_types=("text/html",))).body == b"<p>"


def test_a_body_without_a_type_is_read_as_far_as_it_takes_to_tell(site: HostileServer, sender: Replying) -> None:
    site.answers["/"] = page(b"%PDF-1.7\n" + b"x" * 3_000_000, kind=b"")
    reply = sender.send(Request(url=site.url("/"), wanted_types=("text/html", "text/*")))
    assert (reply.status, reply.body_read, reply.body) == (200, False, b"")
    assert reply.wire_bytes <= 2 * 64 * 1024


def test_a_long_body_without_a_type_is_read_whole_and_once(site: HostileServer, sender: Replying) -> None:
    body = b"<!DOCTYPE html>" + bytes(range(32, 127)) * 3_000
    site.answers["/"] = page(body, kind=b"*/*")
    assert sender.send(Request(url=site.url("/"), wanted_types=("text/html",))).body == body
    cut = sender.send(Request(url=site.url("/"), wanted_types=("text/html",), max_body_bytes=100))
    assert (cut.body, cut.truncated) == (body[:100], True)


def test_error_pages_are_read_whatever_their_type(site: HostileServer, sender: Replying) -> None:
    site.answers["/"] = page(b"challenge", kind=b"application/json", status=b"403 Forbidden")
    assert sender.send(Request(url=site.url("/"), wanted_types=("text/html",))).body == b"challenge"
