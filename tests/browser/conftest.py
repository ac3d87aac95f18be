"""A browser for the tests of this folder, and ears on loopback that must hear nothing."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.browser.find import find
from app.browser.page import Browsers
from app.browser.values import BrowserProblem, Chromium
from tests.browser.processes import below, named


@pytest.fixture(scope="session")
def chromium() -> Chromium:
    found = find(None)
    if isinstance(found, BrowserProblem):
        pytest.skip(found.line)
    return found


@pytest.fixture(scope="module")
def browsers(chromium: Chromium) -> Iterator[Browsers]:
    """A pool; nothing is left of it."""
    before = below()
    made = Browsers(chromium.path)
    yield made
    made.close()
    left = below() - before  # of others', as a Postgres has, some may be new
    assert named(left, "launcher.py") + named(left, "chrom") == []


class Ears:
    """Listens on one port of loopback, by TCP and UDP, IPv4 and IPv6 where there is one."""

    def __init__(self) -> None:
        self._tcp = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._tcp.getsockname()[1]
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.1", self.port))
        self._all = [self._tcp, self._udp]
        if Path("/proc/net/if_inet6").exists():
            self._all.append(socket.create_server(("::1", self.port), family=socket.AF_INET6))
        for each in self._all:
            each.setblocking(False)

    def heard(self) -> int:
        """Connections and packets that arrived since the last look."""
        return sum(self._of(each) for each in self._all)

    def _of(self, listening: socket.socket) -> int:
        count = 0
        while True:
            try:
                if listening.type == socket.SOCK_DGRAM:
                    listening.recv(2048)
                else:
                    listening.accept()[0].close()
            except BlockingIOError:
                return count
            count += 1

    def close(self) -> None:
        for each in self._all:
            each.close()


@pytest.fixture
def ears() -> Iterator[Ears]:
    made = Ears()
    yield made
    made.close()
