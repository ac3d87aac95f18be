"""Serves our key directory, signed anew for each reader (promise I3). Run it behind a web server that adds TLS.

Any web server can serve the directory as a file. This one adds signatures that expire, which a file cannot have and
which Cloudflare asks for when a crawler registers. It serves one path, and bounds its readers
(`app.runtime.slow_clients`).
"""

import socket
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import TCPServer

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from app.errors import InputError
from app.net.signature import DIRECTORY_PATH, directory_body, directory_fields
from app.runtime.slow_clients import BoundedHandler, BoundedServer


class _DirectoryHandler(BoundedHandler, BaseHTTPRequestHandler):
    """Answers one request."""

    server: "KeyDirectory"
    server_version = "tiptoe"
    sys_version = ""

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != DIRECTORY_PATH:
            self._answer(HTTPStatus.NOT_FOUND, {"Content-Type": "text/plain"}, f"see {DIRECTORY_PATH}\n".encode())
            return
        body = self.server.body
        authority = self.server.authority_for(self.headers.get("Host", ""))
        self._answer(HTTPStatus.OK, directory_fields(self.server.keys, authority, body), body)

    do_HEAD = do_GET

    def _answer(self, status: HTTPStatus, fields: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {**fields, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


class KeyDirectory(BoundedServer, HTTPServer):
    """Listens when made; `serve_forever` serves, `server_close` ends it.

    keys     all are listed, and each signs
    agent    our Signature-Agent, like https://bot.example.org: the authority that is signed
    port     0: any free port, see `server_address`

    Raises InputError for an address that it cannot listen on.
    """

    def __init__(self, keys: Sequence[Ed25519PrivateKey], agent: str, *, host: str, port: int) -> None:
        self.keys = tuple(keys)
        self.body = directory_body(key.public_key() for key in keys)
        self._authority = agent.removeprefix("https://")
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), _DirectoryHandler)
        except OSError as error:
            place = f"--host {host} --port {port}"
            raise InputError(place, f"cannot listen there ({error.strerror}); choose another host or port") from None
        bound = self.server_address[1]
        self._own = {f"{name}:{bound}" for name in (f"[{host}]" if ":" in host else host, "localhost")}

    def authority_for(self, host: str) -> str:
        """The authority to sign. Never an arbitrary one that a reader sends: he could present our keys as his own."""
        return host if host in self._own else self._authority

    def server_bind(self) -> None:
        TCPServer.server_bind(self)  # HTTPServer's would ask DNS for the name of the address
