"""Connections are kept, bounded, replaced and closed."""

import gzip
import threading

import pytest

from app.model.fetch import Failure, Reply, Request
from tests.net.hostile import HostileServer, Peer, once, page, raw
from tests.net.senders import Replying, loopback_sender


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
        raw(b"HTTP/1.0 200 OK\nConnection: keep-alive\nContent-Length: 5", b"hello"),
        raw(b"HTTP/1.1 103 Early Hints\nLink: </a>") + raw(b"HTTP/1.1 100 Continue") + page(b"hello"),
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
        assert site.hung_up.acquire(timeout=30)
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
    assert site.hung_up.acquire(timeout=30)


def test_close(site: HostileServer, sender: Replying) -> None:
    site.answers["/"] = page()
    sender.send(Request(url=site.url("/")))
    sender.close()
    assert site.hung_up.acquire(timeout=30)
    assert sender.send(Request(url=site.url("/"))).status == 200


def test_connections_are_bounded_over_all_origins() -> None:
    sender = loopback_sender(origins_max=2)
    with HostileServer() as first, HostileServer() as second, HostileServer() as third:
        for site in (first, second, first, third):
            site.answers["/"] = page()
            sender.send(Request(url=site.url("/")))
        assert second.hung_up.acquire(timeout=30)  # the least recently used
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
            thread.join(30)
        assert len(replies) == 80
        assert all(each.body == str(each.address).encode() for each in replies)
