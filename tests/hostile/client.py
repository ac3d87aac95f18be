"""Plain sockets and http.client, for asking hostile hosts."""

import http.client
import re
import socket
import threading
import time
from collections.abc import Callable

from tests.hostile.host import Host

LOOK_S = 1.0  # how long we look at a host that says no more
LISTEN_S = 30.0


def connect(host: Host) -> socket.socket:
    return socket.create_connection((host.address, host.port), timeout=LISTEN_S)


def ask(sock: socket.socket, target: str = "/") -> None:
    sock.sendall(f"GET {target} HTTP/1.1\r\nHost: x\r\nX-Test: yes\r\n\r\n".encode())


def listen(sock: socket.socket, limit: int = 300_000, *, is_silent: bool = False) -> tuple[bytes, str]:
    """What comes, and how it ended: closed, reset, limit (there was more), or quiet.

    is_silent: nothing is to come. Else a first octet is waited for, however long a busy machine takes to send it.
    """
    octets = bytearray()
    until = time.monotonic() + LISTEN_S
    while len(octets) < limit and time.monotonic() < until:
        sock.settimeout(LOOK_S if octets or is_silent else LISTEN_S)
        try:
            part = sock.recv(65_536)
        except TimeoutError:
            return bytes(octets), "quiet"
        except ConnectionResetError:
            return bytes(octets), "reset"
        if not part:
            return bytes(octets), "closed"
        octets += part
    return bytes(octets), "limit"


def raw(host: Host, target: str = "/", limit: int = 300_000, *, is_silent: bool = False) -> tuple[bytes, str]:
    with connect(host) as sock:
        ask(sock, target)
        return listen(sock, limit, is_silent=is_silent)


def get(host: Host, target: str = "/") -> tuple[int, dict[str, str], bytes]:
    """Status, headers by their lower-case names, body: of a well-formed answer."""
    connection = http.client.HTTPConnection(host.address, host.port, timeout=LISTEN_S)
    try:
        connection.request("GET", target)
        response = connection.getresponse()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
    finally:
        connection.close()


def soon(is_so: Callable[[], bool]) -> bool:
    """Looks until it is, or for half a minute: then it never will be."""
    looks = threading.Event()
    return any(is_so() or looks.wait(0.01) for _ in range(3_000))


def links(body: bytes) -> list[str]:
    return re.findall(r'href=["\']([^"\']*)', body.decode("latin-1"))
