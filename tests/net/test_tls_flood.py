"""A server that sends over TLS what is no answer, without an end: it is read in pieces, and ends with the deadline."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from app.net.exchange import Exchange
from app.net.sockets import PlainSocket, TlsSocket, handshake, tls_context
from tests.authority import Authority

NAME = "flood.test"
ANSWER = b"HTTP/1.1 200 OK\r\n"
LOOKS = 20


class Counted(Exchange):
    """An exchange whose deadline has passed once it was looked at so often."""

    looks = 0

    def left_s(self) -> float:
        self.looks += 1
        if self.looks > LOOKS:
            raise TimeoutError("deadline passed")
        return 30.0


def serve(connection: socket.socket, context: ssl.SSLContext, may_end: threading.Event) -> None:
    """Shake hands, then send all session tickets at once, and an answer behind them."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = context.wrap_bio(incoming, outgoing, server_side=True)
    with connection, suppress(OSError):
        is_open = False
        while not is_open:
            try:
                session.do_handshake()
                is_open = True
            except ssl.SSLWantReadError:
                connection.sendall(outgoing.read())
                incoming.write(connection.recv(65_536))
        session.write(ANSWER)
        connection.sendall(outgoing.read())
        may_end.wait(30)


@contextmanager
def connected(authority: Authority, exchange: Exchange, *, tickets: int) -> Iterator[TlsSocket]:
    """A connection whose hands are shaken, to a server that sends so many tickets of some 250 octets."""
    context = authority.context(NAME)
    context.num_tickets = tickets
    may_end = threading.Event()
    sock = PlainSocket(socket.AF_INET, socket.SOCK_STREAM)
    sock.exchange = exchange
    with socket.create_server(("127.0.0.1", 0)) as listening, sock:
        sock.connect(listening.getsockname())
        thread = threading.Thread(target=serve, args=(listening.accept()[0], context, may_end))
        thread.start()
        try:
            yield handshake(tls_context(str(authority.file)), sock, NAME, exchange)
        finally:
            may_end.set()
            sock.close()
            thread.join()


def counted() -> Counted:
    return Counted(origin=("https", NAME, 443), target="/", started_s=0.0, until_s=0.0, bytes_left=1_000)


def test_some_tickets_are_passed_over(authority: Authority) -> None:
    with connected(authority, counted(), tickets=10) as secure:
        buffer = bytearray(100)
        assert buffer[: secure.recv_into(buffer)] == ANSWER


def test_the_deadline_is_looked_at_between_pieces_of_a_flood(authority: Authority) -> None:
    exchange = counted()
    with connected(authority, exchange, tickets=10_000) as secure, pytest.raises(TimeoutError):
        secure.recv_into(bytearray(100))
    assert exchange.looks == LOOKS + 1
