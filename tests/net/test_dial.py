"""What the sockets of the dialler do that a whole exchange does not show."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from app.clock import monotonic
from app.net.exchange import Exchange
from app.net.sockets import PlainSocket


def exchange_of(deadline_s: float) -> Exchange:
    return Exchange(
        origin=("http", "a.test", 80),
        target="/",
        started_s=monotonic(),
        until_s=monotonic() + deadline_s,
        bytes_left=100_000,
    )


@contextmanager
def connected(*, deadline_s: float) -> Iterator[PlainSocket]:
    """To a peer that neither reads nor says anything."""
    with socket.create_server(("127.0.0.1", 0)) as listener, PlainSocket() as sock:
        sock.connect(listener.getsockname())
        sock.serve(exchange_of(deadline_s))
        yield sock


def test_a_receive_ends_by_the_deadline() -> None:
    with connected(deadline_s=0.2) as sock, pytest.raises(TimeoutError):
        sock.recv_into(bytearray(10))


def test_so_does_the_next_receive_when_there_is_no_time_left() -> None:
    with connected(deadline_s=0.001) as sock:
        for _ in range(2):
            with pytest.raises(TimeoutError):
                sock.recv_into(bytearray(10))


def test_a_send_ends_by_the_deadline() -> None:
    with connected(deadline_s=0.2) as sock, pytest.raises(TimeoutError):
        sock.sendall(bytes(64 * 1024 * 1024))


def test_so_does_one_to_a_peer_that_takes_a_little_again_and_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, PlainSocket() as sock:
        sock.connect(listener.getsockname())
        theirs, _ = listener.accept()
        over = threading.Event()

        def sip() -> None:
            while not over.wait(0.02) and theirs.recv(8 * 1024):
                pass

        sipping = threading.Thread(target=sip)
        sipping.start()
        try:
            sock.serve(exchange_of(0.5))
            with pytest.raises(TimeoutError):
                sock.sendall(bytes(64 * 1024 * 1024))
        finally:
            over.set()
            sipping.join()
            theirs.close()


def test_what_has_come_of_a_page_is_taken_in_one_receive() -> None:
    ours, theirs = socket.socketpair()
    with theirs, PlainSocket(fileno=ours.detach()) as sock:
        sock.exchange = exchange = exchange_of(30.0)
        theirs.sendall(b"HTTP/1.1 200 OK\r\n".ljust(40_000, b"."))
        with sock.makefile("rb") as stream:
            assert stream.readline() == b"HTTP/1.1 200 OK\r\n"
            assert exchange.bytes_left == 60_000
            assert len(stream.read1()) == 40_000 - len(b"HTTP/1.1 200 OK\r\n")
