"""Sites that speak TLS well, or badly in one way, and what they heard. Each at an address of its own, all at one port.

authority = Authority(folder)                        # authority.file: for SSL_CERT_FILE
with TlsSite("expired", "expired.tls.test", address, authority) as site:
    site.url                                         # https://expired.tls.test:PORT/
    site.connections, site.heard                     # monotonic seconds of each; bytes of any request, over TLS or in
                                                     clear
"""

import socket
import socketserver
import ssl
import threading
import time
import warnings
from types import TracebackType
from typing import Literal, Self, get_args

from tests.authority import Authority

Manner = Literal["good", "misnamed", "expired", "self-signed", "tls-1", "plain"]
MANNERS: tuple[Manner, ...] = get_args(Manner)
HANDSHAKE = b"\x16"  # a record's first byte, RFC 8446 section 5.1
PAGE = b"<!doctype html><title>good</title><p>A page over TLS, with a few words of text."
PATIENCE_S = 30.0


class TlsSite:
    """Context manager. port: 0 for one that is free."""

    def __init__(self, manner: Manner, host: str, address: str, authority: Authority, *, port: int = 0) -> None:
        self.manner, self.host, self.address = manner, host, address
        self.connections: list[float] = []
        self.heard = b""
        self._context = None if manner == "plain" else _context(manner, host, authority)
        site = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                site._talk(self.request)

        self._server = socketserver.ThreadingTCPServer((address, port), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        return f"https://{self.host}:{self._server.server_address[1]}/"

    def _talk(self, connection: ssl.SSLSocket) -> None:
        self.connections.append(time.monotonic())
        connection.settimeout(PATIENCE_S)
        try:
            is_tls = connection.recv(1, socket.MSG_PEEK) == HANDSHAKE
            if is_tls and self._context is not None:
                with self._context.wrap_socket(connection, server_side=True) as session:
                    self._answer(session)
            elif is_tls:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            else:
                self.heard += connection.recv(65_536)
        except OSError:  # ssl.SSLError is one: the client would have none of it, as it should
            return

    def _answer(self, session: ssl.SSLSocket) -> None:
        while request := session.recv(65_536):
            self.heard += request
            is_page = request.startswith(b"GET / ")
            head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" if is_page else b"HTTP/1.1 404 Not Found\r\n"
            body = PAGE if is_page else b""
            session.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


def _context(manner: Manner, host: str, authority: Authority) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if manner == "tls-1":
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # that it is old is the point
            context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1
        context.set_ciphers("ALL:@SECLEVEL=0")
    named = f"other.{host}" if manner == "misnamed" else host
    context.load_cert_chain(authority.issue(named, ended=manner == "expired", by_itself=manner == "self-signed"))
    return context
