"""Bounds Python's own HTTP servers: one thread for each client, few clients at a time, small heads.

    class Server(BoundedServer, HTTPServer): ...
    class Handler(BoundedHandler, BaseHTTPRequestHandler): ...

Python's own bounds of a head are 100 lines of 64 KiB, and none in time: 20 MB and a thread for as long as a client
likes. These servers read no body, and log nothing of their clients.
"""

import socket
import sys
import time
from contextlib import suppress
from io import BufferedIOBase
from socketserver import ThreadingMixIn
from typing import Any, Final

from app.runtime.slow_clients import SlowClients, has_unread

HEAD_BYTES: Final = 65_536
SLOW_S: Final = 10.0  # a client that takes nothing of its answer is not waited for


class BoundedServer(ThreadingMixIn):
    """Closes clients that are late with a head, and the oldest beyond a number: `SlowClients`."""

    daemon_threads = True

    def __init__(self, *given: Any) -> None:
        self.clients: SlowClients[socket.socket] = SlowClients()
        super().__init__(*given)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.clients.wait(request, client_address[0], time.monotonic())
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """Close slow clients, after each connection and twice a second."""
        for each in self.clients.due(time.monotonic(), lambda each: has_unread(each.fileno())):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)  # its thread reads the end, and closes it

    def shutdown_request(self, request: Any) -> None:
        self.clients.forget(request)
        super().shutdown_request(request)  # type: ignore[misc]  # the server's, which this is mixed into

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that went, was too slow, or sent too much."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)  # type: ignore[misc]  # as above


class _Head:
    """The octets of a head, line by line. Beyond HEAD_BYTES it raises ConnectionAbortedError, which ends it all."""

    def __init__(self, octets: BufferedIOBase) -> None:
        self._octets, self._left = octets, HEAD_BYTES
        self.close = octets.close

    def readline(self, most: int) -> bytes:
        line = self._octets.readline(min(most, self._left + 1))
        self._left -= len(line)
        if self._left < 0:
            raise ConnectionAbortedError("the head is too large")
        return line


class BoundedHandler:
    """Reads a head of at most HEAD_BYTES, which the server no longer waits for once it is whole."""

    timeout: float | None = SLOW_S
    server: Any
    connection: socket.socket

    def setup(self) -> None:
        super().setup()  # type: ignore[misc]  # the handler's, which this is mixed into
        self.rfile: Any = _Head(self.rfile)

    def parse_request(self) -> bool:
        """Whether a head has come. One that was cut ends like one, and is none."""
        is_head: bool = super().parse_request()  # type: ignore[misc]  # as above
        return self.server.clients.forget(self.connection) and is_head

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: a request is no event."""
