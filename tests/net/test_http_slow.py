"""What the sender makes of sites that drip or say nothing."""

import socket

import pytest

from app.model.fetch import Failure, Request
from tests.net.broken import DEADLINE_S, LATEST_MS, answered, drip_body
from tests.net.hostile import Behaviour, HostileServer, Peer, page
from tests.net.senders import Replying


def silent(peer: Peer) -> None:
    peer.hang()


def drip_head(peer: Peer) -> None:
    peer.send(b"HTTP/1.1 200 OK\r\n")
    peer.drip(b"X-Slow: slowly\r\n" * 50)


def drip_interim(peer: Peer) -> None:
    for _ in range(100):
        peer.drip(b"HTTP/1.1 100 Continue\r\n\r\n")


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
    assert DEADLINE_S * 1000 <= reply.total_ms < LATEST_MS
    assert site.heads  # it was asked, and once only
    assert len(site.heads) == 1


def test_a_connection_that_served_is_bounded_by_the_next_request(site: HostileServer, sender: Replying) -> None:
    site.answers["/quick"] = page()
    assert sender.send(Request(url=site.url("/quick"), deadline_s=30)).status == 200
    reply = answered(site, sender, silent, deadline_s=DEADLINE_S)
    assert (reply.failure, site.connections) == (Failure.TIMEOUT, 1)
    assert reply.total_ms < LATEST_MS


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
    assert reply.total_ms < LATEST_MS


def test_nobody_listens(sender: Replying) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    reply = sender.send(Request(url=f"http://127.0.0.1:{port}/"))
    assert (reply.failure, reply.address) == (Failure.REFUSED, None)
    assert "refused" in reply.detail
    assert reply.failure is not None
    assert reply.failure.before_contact
