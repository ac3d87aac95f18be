"""What a reply keeps for the archive: header as it came, body with its coding, what was asked without secrets."""

from tempfile import SpooledTemporaryFile
from typing import Any

import pytest

from app.model.fetch import Request
from app.net.adapter import GuardedAdapter
from app.net.decode import decoded
from app.net.http import Sender
from tests.net.hostile import HostileServer, page, raw
from tests.net.senders import Replying, dialler_to
from tests.net.test_http_bodies import ENCODINGS, PLAIN


@pytest.mark.parametrize(("encoding", "body"), ENCODINGS)
@pytest.mark.parametrize("into_file", [False, True])
def test_a_coded_body_is_kept_as_it_came(
    site: HostileServer, sender: Replying, encoding: bytes, body: bytes, into_file: bool
) -> None:
    site.answers["/"] = raw(b"HTTP/1.1 200 OK\nContent-Encoding: %b\nContent-Length: %d" % (encoding, len(body)), body)
    sink: Any = SpooledTemporaryFile() if into_file else None  # noqa: SIM115  # it is read below
    reply = sender.send(Request(url=site.url("/"), keeps_coded=True, sink=sink))
    kept: Any = reply.coded
    if encoding in {b"", b"identity"}:
        assert kept is None
        return
    octets = kept.read() if into_file else kept
    assert octets == body
    assert decoded(octets, encoding.decode(), most=len(PLAIN)) == (sink.read() if into_file else reply.body) == PLAIN


def test_nothing_is_kept_twice_unless_asked_for(site: HostileServer, sender: Replying) -> None:
    encoding, body = ENCODINGS[0]
    site.answers["/"] = raw(b"HTTP/1.1 200 OK\nContent-Encoding: %b\nContent-Length: %d" % (encoding, len(body)), body)
    assert sender.send(Request(url=site.url("/"))).coded is None


@pytest.mark.parametrize(("encoding", "body"), ENCODINGS[:9])
def test_a_stored_body_is_decoded_as_far_as_it_goes(encoding: bytes, body: bytes) -> None:
    coding = encoding.decode()
    assert decoded(body, coding, most=100) == PLAIN[:100]
    assert PLAIN.startswith(decoded(body[: len(body) // 2], coding, most=10**9))
    assert not decoded(b"\1" + body, coding, most=10**9).startswith(PLAIN[:100])


def test_the_header_is_kept_as_it_came(site: HostileServer, sender: Replying) -> None:
    head = (
        b"HTTP/1.1 200 Fine, thanks\r\nX-Odd:  a\tb \r\nno colon\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\n"
        b"Content-Length: 2\r\n\r\n"
    )
    site.answers["/"] = b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + head + b"ok"
    assert sender.send(Request(url=site.url("/"))).head == head


def test_what_was_asked_is_kept_without_credentials(site: HostileServer) -> None:
    site.answers["/"] = page(PLAIN)
    origin = ("http", site.address, site.port)
    secret = {"Authorization": "Basic secret", "Accept-Language": "secret"}
    sender = Sender(GuardedAdapter(dialler_to()), {"User-Agent": "Tiptoe"}, credentials={origin: secret})
    sender.send(Request(url=site.url("/")))
    reply: Any = sender.send(Request(url=site.url("/"), authorised=True))
    sender.close()
    assert b"secret" not in site.heads[0], "nobody is entitled to them who does not say so"
    assert b"Basic secret" in site.heads[1]
    assert "secret" not in str(reply.asked)
    assert reply.asked["User-Agent"] == "Tiptoe"
    assert reply.asked["Host"] == f"{site.address}:{site.port}"
