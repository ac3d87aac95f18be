"""A raw server on a loopback address of its own that answers each path as a test says: bytes or a function.

It speaks no HTTP of its own, so it can speak broken HTTP. It notes every connection and every request head.
"""

import ipaddress
import itertools
import os
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType

LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"),)
IDENTITY = {
    "User-Agent": "Tiptoe/0 (+https://tiptoe.example/; test@tiptoe.example)",
    "From": "test@tiptoe.example",
}

_numbers = itertools.count(os.getpid() % 200 * 64)


@dataclass(slots=True)
class Peer:
    """One connection of a client.   number: of the connection, from 1.   nth: of the request on it."""

    sock: socket.socket
    number: int
    stopped: threading.Event
    nth: int = 0
    gone: threading.Event = field(default_factory=threading.Event)

    def send(self, *parts: bytes) -> None:
        self.sock.sendall(b"".join(parts))

    def drip(self, octets: bytes, every_s: float = 0.02) -> None:
        for octet in octets:
            self.send(bytes([octet]))
            if self.stopped.wait(every_s):
                return

    def flood(self, block: bytes) -> int:
        """Sends `block` until the client hangs up; bytes sent."""
        sent = 0
        try:
            while not self.stopped.is_set():
                sent += self.sock.send(block)
        except OSError:
            self.gone.set()
        return sent

    def hang(self) -> None:
        self.stopped.wait(30)

    def reset(self) -> None:
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


# True: keep the connection and wait for the next request.
Behaviour = Callable[[Peer], bool | None]


class HostileServer:
    """Answers by path: bytes are sent and the connection kept; a function does as it likes."""

    def __init__(self, tls: ssl.SSLContext | None = None, address: str | None = None) -> None:
        number = next(_numbers)
        self.address = address or f"127.{64 + number // 62500 % 64}.{number // 250 % 250}.{number % 250 + 2}"
        self.answers: dict[str, bytes | Behaviour] = {}
        self.heads: list[bytes] = []
        self.connections = 0
        self.hung_up = threading.Semaphore(0)
        self.accepted = threading.Semaphore(0)
        self.shaken = threading.Event()
        self.ciphers: list[str] = []
        self._peers: list[Peer] = []
        self._tls = tls
        self._stopped = threading.Event()
        self._listener = socket.create_server((self.address, 0), backlog=32)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, path: str, host: str | None = None) -> str:
        return f"{'https' if self._tls else 'http'}://{host or self.address}:{self.port}{path}"

    @property
    def targets(self) -> list[str]:
        return [head.split(b" ")[1].decode() for head in self.heads]

    def stop(self) -> None:
        self._stopped.set()
        self._listener.close()

    def hang_up_all(self) -> None:
        """Closes the connection that was accepted last, once it is there; and with it all before."""
        assert self.accepted.acquire(timeout=30)
        for peer in self._peers:
            with suppress(OSError):
                peer.sock.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> "HostileServer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _accept(self) -> None:
        while not self._stopped.is_set():
            try:
                sock, _ = self._listener.accept()
            except OSError:  # no descriptor just now, where a test leaves none
                self._stopped.wait(0.01)
                continue
            self.connections += 1
            peer = Peer(sock, self.connections, self._stopped)
            self._peers.append(peer)
            self.accepted.release()
            threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer: Peer) -> None:
        try:
            if self._tls is not None:
                secure = self._tls.wrap_socket(peer.sock, server_side=True)
                peer.sock = secure
                self.ciphers += [] if (cipher := secure.cipher()) is None else [cipher[0]]
                self.shaken.set()
            while self._serve_one(peer):
                pass
        except OSError:
            pass
        finally:
            peer.sock.close()
            self.hung_up.release()

    def _serve_one(self, peer: Peer) -> bool:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            if not (part := peer.sock.recv(65536)):
                return False
            head += part
        self.heads.append(head)
        peer.nth += 1
        answer = self.answers[head.split(b" ")[1].partition(b"?")[0].decode()]
        if isinstance(answer, bytes):
            peer.send(answer)
            return True
        return bool(answer(peer))


def page(body: bytes = b"<p>hello", *fields: bytes, status: bytes = b"200 OK", kind: bytes = b"text/html") -> bytes:
    """A well-formed response."""
    lines = [b"HTTP/1.1 " + status, b"Content-Type: " + kind, b"Content-Length: %d" % len(body), *fields]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def raw(head: bytes, body: bytes = b"") -> bytes:
    """Header lines as they are written in a test, with line feeds, and a body."""
    return head.strip().replace(b"\n", b"\r\n") + b"\r\n\r\n" + body


def once(answer: bytes) -> Behaviour:
    """Sends the answer and closes the connection."""
    return lambda peer: peer.send(answer)
