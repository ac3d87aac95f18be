"""The web of the fault tests at the end of a road: its delays, its TLS, its servers that close."""

import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.delays import Delays
from tests.faults.web import Web

TAKES_S = 0.05
EVEN = Delays(median_s=TAKES_S, p95_s=TAKES_S)  # no chance in it
PLAIN, TLS, CLOSING = 0, 1, 3  # the closing one speaks TLS as well


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    with Web(tmp_path / "web", hosts=4, pages=8, road=EVEN) as web:
        yield web


def _connect(web: Web, host: int) -> socket.socket:
    return socket.create_connection((web.addresses[host], web.port), timeout=10)


def _secure(web: Web, host: int) -> ssl.SSLSocket:
    context = ssl.create_default_context(cafile=web.authority)
    return context.wrap_socket(_connect(web, host), server_hostname=web.hosts[host])


def _ask(connection: socket.socket, path: str) -> str:
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    octets = b""
    while b"</html>" not in octets:
        more = connection.recv(65_536)
        assert more, "closed before its answer was whole"
        octets += more
    return octets.decode()


def _took(web: Web, host: int) -> list[float]:
    """By its log, of each request of the host."""
    return [line.end - line.start for line in web.lines() if line.host == web.hosts[host] and line.end is not None]


def test_over_plain_http_the_first_answer_takes_the_handshake_s_time_too(web: Web) -> None:
    with _connect(web, PLAIN) as connection:
        _ask(connection, "/")
        _ask(connection, "/page-1.html")
    first, second = _took(web, PLAIN)
    assert first >= 2 * TAKES_S
    assert second >= TAKES_S


def test_a_tls_handshake_is_held_back(web: Web) -> None:
    began = time.monotonic()
    with _secure(web, TLS) as connection:
        assert time.monotonic() - began >= TAKES_S
        assert f"page 1 of host {TLS}" in _ask(connection, "/page-1.html")
    assert _took(web, TLS)[0] >= TAKES_S


def test_some_servers_close_after_each_answer(web: Web) -> None:
    with _secure(web, CLOSING) as connection:
        _ask(connection, "/")
        assert connection.recv(1) == b""


def test_links_to_another_host_name_its_scheme(web: Web) -> None:
    with _connect(web, PLAIN) as connection:
        document = _ask(connection, "/")
    assert f'"{web.url(web.hosts[1], "/page-2.html")}"' in document
    assert web.url(web.hosts[1], "/").startswith("https://")
    assert web.seeds[0].startswith("http://")


def test_without_a_road_all_is_plain_and_at_once(tmp_path: Path) -> None:
    with Web(tmp_path / "web", hosts=2, pages=2) as web:
        assert {seed.partition(":")[0] for seed in web.seeds} == {"http"}
        assert web.authority is None
        with _connect(web, TLS) as connection:
            assert "host 1" in _ask(connection, "/")
