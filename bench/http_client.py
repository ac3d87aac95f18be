"""CPU of one keep-alive fetch: our Sender against a plain requests.Session, in one run on loopback.

    PYTHONPATH=. python bench/http_client.py [fetches]        default 3000 a client

Prints microseconds of this process's CPU per fetch of a 14 kB page (the servers are
other processes) and the ratio. The sides take turns, so that a noisy neighbour hits all of them.
"""

import ipaddress
import multiprocessing
import socket
import statistics
import sys
import time
from collections.abc import Callable

import requests

from app.model.fetch import Reply, Request, Unsent
from app.net.adapter import GuardedAdapter
from app.net.address import make_guard
from app.net.dial import Dialler
from app.net.dns import Resolver
from app.net.http import Sender

BODY = (b"<p>" + b"polite " * 2000)[:14_000]
HEAD = (
    b"HTTP/1.1 200 OK\r\nServer: bench\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Type: text/html\r\n"
    b'Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nETag: "5c0f-1"\r\nAccept-Ranges: bytes\r\n'
    b"Cache-Control: max-age=60\r\nVary: Accept-Encoding\r\nContent-Length: %d\r\n\r\n" % len(BODY)
)
ROUNDS = 10


def serve(listener: socket.socket) -> None:
    while True:
        connection, _ = listener.accept()
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while connection.recv(65536):
                connection.sendall(HEAD + BODY)


def cpu_us(fetch: Callable[[], int], times: int) -> float:
    begin_s = time.process_time()
    for _ in range(times):
        assert fetch() == len(BODY)
    return (time.process_time() - begin_s) / times * 1e6


def length(reply: Reply | Unsent) -> int:
    assert isinstance(reply, Reply)
    return len(reply.body)


def main() -> None:
    fetches = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    listeners = [socket.create_server((address, 0), backlog=16) for address in ("127.0.0.1", "127.0.0.2", "127.0.0.3")]
    children = [multiprocessing.Process(target=serve, args=(each,), daemon=True) for each in listeners]
    for child in children:
        child.start()
    urls = ["http://{}:{}/page?q=1".format(*each.getsockname()) for each in listeners]
    headers = {"User-Agent": "Tiptoe/0 (bench)"}
    loopback = make_guard((ipaddress.ip_network("127.0.0.0/8"),))
    sender = Sender(GuardedAdapter(Dialler(Resolver(), loopback, require_contact=True)), headers)
    session, bare = requests.Session(), requests.Session()
    bare.trust_env = False
    request = Request(url=urls[0])
    sides: dict[str, Callable[[], int]] = {
        "Sender": lambda: length(sender.send(request)),
        "requests.Session": lambda: len(session.get(urls[1], headers=headers, timeout=5).content),
        "requests.Session, trust_env=False": lambda: len(bare.get(urls[2], headers=headers, timeout=5).content),
    }
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(ROUNDS):
        for name, fetch in sides.items():
            taken[name].append(cpu_us(fetch, fetches // ROUNDS))
    ours = statistics.median(taken["Sender"])
    for name, values in taken.items():
        median = statistics.median(values)
        print(f"{name:36} {median:6.0f} µs CPU a fetch   {median / ours:4.2f} x ours")


if __name__ == "__main__":
    main()
