"""A small web of real sockets: sites on loopback addresses of their own, answered from a dict, with an access log.

    with Web() as web:
        site = web.site()
        site.pages["/"] = html(site.url("/a"), "/b")     # a document with links
        site.pages["/a"] = Answer(status=503, headers={"Retry-After": "5"})
        site.pages["/b"] = lambda hit: html(text=hit.headers["User-Agent"])
        ... crawl ...
        assert site.paths == ["/robots.txt", "/", "/a", "/b"]

A site's name is its address, such as 127.80.3.2: a host of its own to a crawler, and nobody needs a name server.
Unknown paths are 404, and so is /robots.txt unless `site.robots` is set.
"""

import itertools
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from zlib import crc32

NETWORKS = "127.0.0.0/8"
PATIENCE_S = 30.0
_STAMPED = 35  # SO_TIMESTAMPNS, which the socket module has no name for

_PORT = 18_080
_ADDRESSES = 64 * 250 * 250
_taken: set[str] = set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a path answers. An ETag among the headers is honoured: If-None-Match that equals it is answered 304.

    delay_s    waited before the status line
    cut        the connection is closed in the middle of the body
    drop       the connection is closed without an answer
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    delay_s: float = 0.0
    cut: bool = False
    drop: bool = False


@dataclass(slots=True, kw_only=True)
class Hit:
    """A request as the site saw it. Monotonic seconds: started when the kernel took in its first byte, ended just
    before the last bytes were handed to the system: never after the client can have had them."""

    host: str
    path: str
    headers: Message
    started: float
    method: str = "GET"
    content: bytes = b""
    ended: float = 0.0
    status: int = 0
    body_bytes: int = 0


Page = Answer | str | Callable[[Hit], "Answer | str"]


def html(*links: str, title: str = "", text: str = "", head: str = "", **answer: object) -> Answer:
    """A document with links. Further arguments are the Answer's."""
    anchors = "".join(f'<p><a href="{href}">to {href}</a></p>' for href in links)
    body = (
        f"<!doctype html><html "
        f"lang=en><head><title>{title}</title>{head}</head><body><p>{text}</p>{anchors}</body></html>"
    )
    headers = {"Content-Type": "text/html; charset=utf-8", **answer.pop("headers", {})}  # type: ignore[dict-item]
    return Answer(body=body.encode(), headers=headers, **answer)  # type: ignore[arg-type]


def redirect(to: str, status: int = 301) -> Answer:
    return Answer(status=status, headers={"Location": to})


class Site:
    """One host on one port. `pages` may be changed at any time; so may `host`, where the crawler resolves the name to
    `address`."""

    def __init__(self, address: str, port: int = 0) -> None:
        self.host = self.address = address
        self.pages: dict[str, Page] = {}
        self.robots: Page | None = None
        self.log: list[Hit] = []
        self.stopped = threading.Event()
        self._server = _Server((address, port), _handler(self))
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve, daemon=True).start()

    def url(self, path: str = "/") -> str:
        return f"http://{self.host}:{self.port}{path}"

    @property
    def paths(self) -> list[str]:
        """What was asked for, in order."""
        return [hit.path for hit in list(self.log)]

    @property
    def pages_asked(self) -> list[str]:
        """The same without robots.txt and the guess at a sitemap."""
        return [path for path in self.paths if path not in {"/robots.txt", "/sitemap.xml"}]

    def gaps(self) -> list[float]:
        """Seconds from the end of each request to the start of the next; below 0: they overlapped."""
        ordered = sorted(self.log, key=lambda hit: hit.started)
        return [later.started - earlier.ended for earlier, later in itertools.pairwise(ordered)]

    def close(self) -> None:
        """Nothing listens here any more."""
        self.stopped.set()
        self._server.end()

    def answer(self, hit: Hit) -> Answer:
        page = self.robots if hit.path == "/robots.txt" and self.robots is not None else self.pages.get(hit.path)
        found = page(hit) if callable(page) else page
        if found is None:
            return Answer(status=404, headers={"Content-Type": "text/plain"}, body=b"no such page")
        if isinstance(found, str):
            return Answer(headers={"Content-Type": "text/plain"}, body=found.encode())
        etag = found.headers.get("ETag")
        if found.status == 200 and etag is not None and hit.headers["If-None-Match"] == etag:
            return Answer(status=304, headers={"ETag": etag})
        return found


class Web:
    """Some sites. Context manager."""

    def __init__(self) -> None:
        self.sites: list[Site] = []

    def site(self, *, beside: Site | None = None, port: int = 0) -> Site:
        """A new host, on a port of your choice or any; or another origin (port) of the same host.

        The test's name says which, where nobody else listens there: what Tiptoe draws by a URL's hash, such as the
        order of links of one worth, is drawn alike in each run.
        """
        address = beside.host if beside else _address()
        try:
            made = Site(address, port or _PORT + sum(site.host == address for site in self.sites))
        except OSError:
            if port:
                raise
            made = Site(address)
        self.sites.append(made)
        return made

    @property
    def log(self) -> list[Hit]:
        """Of all sites, in the order the requests began."""
        return sorted((hit for site in self.sites for hit in site.log), key=lambda hit: hit.started)

    def __enter__(self) -> "Web":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for site in self.sites:
            if not site.stopped.is_set():
                site.close()


def _address() -> str:
    """One that nobody in this process had before."""
    test = os.environ.get("PYTEST_CURRENT_TEST", str(os.getpid())).rpartition(" (")[0]
    for number in itertools.count(crc32(test.encode())):
        number %= _ADDRESSES
        address = f"127.{128 + number // 62500}.{number // 250 % 250}.{number % 250 + 2}"
        if address not in _taken:
            break
    _taken.add(address)
    return address


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, place: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(place, handler)
        self.socket.setsockopt(socket.SOL_SOCKET, _STAMPED, 1)  # its connections inherit it
        self._is_ending = False
        self._ended = threading.Event()

    def serve(self) -> None:
        """Take connections until `end`, looking at nothing meanwhile: `serve_forever` looks again and again, which all
        sites of a test together pay for, and whoever ends one waits for its next look."""
        while True:
            try:
                connection, peer = self.socket.accept()
            except OSError:  # the client is gone already, or no descriptor is free
                continue
            if self._is_ending:
                connection.close()
                break
            self.process_request(connection, peer)
        self._ended.set()

    def end(self) -> None:
        self._is_ending = True
        with suppress(OSError):  # its queue is full: it sees the next in there
            socket.create_connection(self.server_address[:2], timeout=PATIENCE_S).close()  # type: ignore[arg-type]
        assert self._ended.wait(PATIENCE_S)
        self.server_close()


def _handler(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def handle_one_request(self) -> None:
            self.arrived = _arrived(self.connection)
            super().handle_one_request()

        def do_GET(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            hit = Hit(
                host=site.host,
                path=self.path,
                headers=self.headers,
                started=self.arrived,
                method=self.command,
                content=content,
            )
            site.log.append(hit)
            answer = site.answer(hit)
            if answer.delay_s:
                site.stopped.wait(answer.delay_s)
            hit.status, hit.body_bytes = answer.status, len(answer.body)
            if answer.drop:
                hit.ended = time.monotonic()
                self.close_connection = True
                return
            head = [f"HTTP/1.1 {answer.status} {_phrase(answer.status)}"]
            head += [f"{name}: {value}" for name, value in answer.headers.items()]
            if answer.status not in {204, 304}:
                head.append(f"Content-Length: {len(answer.body) + (1000 if answer.cut else 0)}")
            self.close_connection = answer.cut
            hit.ended = time.monotonic()
            self.wfile.write(
                "\r\n".join([*head, "", ""]).encode("latin-1") + (b"" if hit.method == "HEAD" else answer.body)
            )

        do_HEAD = do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

        def handle(self) -> None:
            try:
                super().handle()
            except OSError:  # the client hung up
                self.close_connection = True

    return Handler


def _arrived(connection: socket.socket) -> float:
    """Wait for a first byte: the monotonic seconds when the kernel took it in. The thread that reads it may be late,
    and two requests would look closer than they were."""
    ancillary = connection.recvmsg(1, 512, socket.MSG_PEEK)[1]
    for level, kind, stamp in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, _STAMPED):
            seconds, nanoseconds = struct.unpack("@ll", stamp)
            return float(seconds + nanoseconds / 1e9 - _wall_ahead())
    return time.monotonic()  # it hung up


def _wall_ahead() -> float:
    """How far the wall clock is ahead of the monotonic one, read while nothing came between."""
    while True:
        before, wall, after = time.monotonic(), time.time(), time.monotonic()
        if after - before < 0.0002:
            return wall - after


def _phrase(status: int) -> str:
    return BaseHTTPRequestHandler.responses.get(status, ("Status",))[0]
