"""A request that was given up does not reach its site later: TCP would go on sending it behind our back, for minutes,
while another worker visits the host on a lease of its own (INV4)."""

import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.faults.lan import NETWORK, Lan
from tests.faults.waiting import last
from tests.faults.web import ROOT

pytestmark = pytest.mark.faults

DEADLINE_S = 1.0
CUT_S = 4.0  # TCP sends again after 0.2, 0.4, 0.8, 1.6 and 3.2 s
LATER_S = 4.0

# Says what became of each request that a line of its standard input asks for.
CLIENT = """
import json, sys
from app.model import Request
from app.net.address import make_guard
from app.net.adapter import GuardedAdapter
from app.net.connection import Dialler
from app.net.dns import Resolver
from app.net.http import Sender
import ipaddress
url, network, deadline_s = sys.argv[1], sys.argv[2], float(sys.argv[3])
guard = make_guard((ipaddress.ip_network(network),))
sender = Sender(GuardedAdapter(Dialler(Resolver(), guard, require_contact=False)), {})
for path in sys.stdin:
    print("sends", flush=True)
    reply = sender.send(Request(url=url + path.strip(), deadline_s=deadline_s))
    print(json.dumps([reply.status, reply.failure]), flush=True)
"""


class Site:
    """Answers every request, and remembers its path. Context manager."""

    def __init__(self, address: str) -> None:
        self.paths: list[str] = []
        self._listener = socket.create_server((address, 0))
        self.url = f"http://{address}:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines:
            try:
                for line in lines:
                    if line.startswith(b"GET "):
                        self.paths.append(line.split()[1].decode())
                    if line == b"\r\n":
                        connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            except OSError:
                return

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@contextmanager
def client(lan: Lan, url: str) -> Iterator["subprocess.Popen[str]"]:
    argv = [*lan.machines[0].within, sys.executable, "-c", CLIENT, url, NETWORK, str(DEADLINE_S)]
    with subprocess.Popen(
        argv, env={"PYTHONPATH": str(ROOT)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("is_killed", [False, True], ids=["gives up", "is killed"])
def test_what_was_given_up_does_not_arrive_later(lan: Lan, is_killed: bool) -> None:
    site = Site(lan.web(1)[0])
    with client(lan, site.url) as process:
        assert ask(process, "/one") == [404, None]
        lan.cut(lan.machines[0], "web")
        if is_killed:
            begin(process, "/two")
            last(DEADLINE_S / 4)
            process.send_signal(signal.SIGKILL)
        else:
            assert ask(process, "/two") == [None, "timeout"]
        last(CUT_S)
        lan.heal(lan.machines[0])
        if not is_killed:
            assert ask(process, "/three") == [404, None]
        last(LATER_S)
    site.close()
    assert "/two" not in site.paths


def begin(process: "subprocess.Popen[str]", path: str) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{path}\n")
    assert process.stdout.readline() == "sends\n"


def ask(process: "subprocess.Popen[str]", path: str) -> list[object]:
    begin(process, path)
    assert process.stdout is not None
    return list(json.loads(process.stdout.readline()))
