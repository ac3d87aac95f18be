"""What the sockets of the dialler do that a whole exchange does not show."""

import socket
import time

from app.net.dial import Exchange, _PlainSocket


def test_what_has_come_of_a_page_is_taken_in_one_receive() -> None:
    ours, theirs = socket.socketpair()
    with theirs, _PlainSocket(fileno=ours.detach()) as sock:
        sock.exchange = exchange = Exchange(
            origin=("http", "a.test", 80), target="/", started_s=time.monotonic(), deadline_s=30.0, bytes_max=100_000
        )
        theirs.sendall(b"HTTP/1.1 200 OK\r\n".ljust(40_000, b"."))
        with sock.makefile("rb") as stream:
            assert stream.readline() == b"HTTP/1.1 200 OK\r\n"
            assert exchange.bytes_left == 60_000
            assert len(stream.read1()) == 40_000 - len(b"HTTP/1.1 200 OK\r\n")
