"""The hosts of the demo: what each answers, and what it is to show; and their server.

Names end in .test, which nobody can own (RFC 6761); the demo tells Tiptoe their addresses.
Each is at an address of loopback of its own, all on one port.
"""

import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from app.errors import ServiceError
from app.local.running import free_port

LIBRARY, CALENDAR, SLOW, BUSY, PRIVATE = (f"{name}.test" for name in ("library", "calendar", "slow", "busy", "private"))
BOOKS = 36
DIARY = 6
YEARS = 10  # of months that the calendar's first page names: a site of less than 100 URLs is fetched whole
SLOW_PAGES, SLOW_S = 6, 2.0
BUSY_PAGES, BUSY_EVERY, RETRY_AFTER_S = 24, 7, 8
_WORDS = (
    "harbour",
    "lantern",
    "orchard",
    "copper",
    "meadow",
    "thunder",
    "violet",
    "kettle",
    "marble",
    "saddle",
    "window",
    "autumn",
    "ladder",
)
ADDRESSES = "127.0.77.{}"  # of each host its own; where the system has but 127.0.0.1 (macOS), all share that
ONLY = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoAnswer:
    """An answer. wait_s: before it is given"""

    status: int = 200
    body: str = ""
    content_type: str = "text/html; charset=utf-8"
    retry_after_s: int | None = None
    wait_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoSite:
    """A host. shows: what it does, for the closing lines.   page: the answer of a path; None: there is none"""

    name: str
    shows: str
    page: Callable[[str], DemoAnswer | None]
    robots: str = "User-agent: *\nDisallow:\n"

    def answer(self, path: str) -> DemoAnswer:
        if path == "/robots.txt":
            return DemoAnswer(body=self.robots, content_type="text/plain; charset=utf-8")
        return self.page(path) or DemoAnswer(status=404, body="no such page", content_type="text/plain")


def sites(port: int) -> list[DemoSite]:
    """Every host of the demo, on this port."""
    busy = _Busy(port)
    return [
        DemoSite(name=LIBRARY, shows="a site that is well", page=lambda path: _library(path, port)),
        DemoSite(name=CALENDAR, shows="a calendar without end: a trap", page=lambda path: _calendar(path, port)),
        DemoSite(name=SLOW, shows=f"each page takes {SLOW_S:g} s", page=lambda path: _slow(path, port)),
        DemoSite(name=BUSY, shows="says 429 (Too Many Requests) now and then", page=busy.page),
        DemoSite(
            name=PRIVATE,
            shows="its robots.txt forbids everything",
            robots="User-agent: *\nDisallow: /\n",
            page=lambda path: _page("You should not be here", "This page is never fetched.", []),
        ),
    ]


def seed(port: int) -> str:
    return f"http://{LIBRARY}:{port}/"


def _library(path: str, port: int) -> DemoAnswer | None:
    if path == "/":
        books = [(f"/book/{number}", f"Book {number}") for number in range(1, 9)]
        others = [(f"http://{name}:{port}/", name) for name in (CALENDAR, SLOW, BUSY, PRIVATE)]
        return _page("The library", "Books, and the neighbours.", [*books, *others])
    number = _number(path, "/book/", BOOKS)
    if number is None:
        return None
    near = [(f"/book/{(number + step - 1) % BOOKS + 1}", f"Book {number + step}") for step in (1, 5, 11)]
    missing = [("/book/lost", "A book that is lost")] if number % 10 == 0 else []
    return _page(f"Book {number}", _prose(number), [*near, *missing])


def _calendar(path: str, port: int) -> DemoAnswer | None:
    if path == "/":
        months = [(f"/month/{each}", each) for each in _months(2026 * 12, YEARS * 12)]
        diary = [(f"/diary/{number}", f"Day {number}") for number in range(1, DIARY + 1)]
        return _page("A calendar", "A diary, and every month there will ever be.", [*diary, *months])
    day = _number(path, "/diary/", DIARY)
    if day is not None:
        return _page(f"Day {day}", _prose(100 + day), [("/", "home")])
    year, _, month = path.removeprefix("/month/").partition("-")
    if not (path.startswith("/month/") and year.isdigit() and month.isdigit() and 1 <= int(month) <= 12):
        return None
    later = [(f"/month/{each}", each) for each in _months(int(year) * 12 + int(month), 12)]
    return _page("No events", "There are no events in this month.", later)


def _months(first: int, n: int) -> list[str]:
    """n months from the first on, which is counted from the year 0."""
    return [f"{at // 12}-{at % 12 + 1:02d}" for at in range(first, first + n)]


def _slow(path: str, port: int) -> DemoAnswer | None:
    number = 0 if path == "/" else _number(path, "/page/", SLOW_PAGES)
    if number is None:
        return None
    links = [(f"/page/{each}", f"Page {each}") for each in range(1, SLOW_PAGES + 1)]
    return _page(f"Slowly, page {number}", _prose(200 + number), links, wait_s=SLOW_S)


@dataclass(frozen=True, slots=True)
class _Busy:
    """Answers 429 to every BUSY_EVERYth request."""

    port: int
    _requests: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def page(self, path: str) -> DemoAnswer | None:
        number = 0 if path == "/" else _number(path, "/item/", BUSY_PAGES)
        if number is None:
            return None
        if next(self._requests) % BUSY_EVERY == 0:
            return DemoAnswer(status=429, body="slow down", content_type="text/plain", retry_after_s=RETRY_AFTER_S)
        links = [(f"/item/{each}", f"Item {each}") for each in range(1, BUSY_PAGES + 1)]
        return _page(f"Item {number}", _prose(300 + number), links)


def _number(path: str, prefix: str, most: int) -> int | None:
    digits = path.removeprefix(prefix)
    if not path.startswith(prefix) or not digits.isdecimal() or not 1 <= int(digits) <= most:
        return None
    return int(digits)


def _prose(seed: int) -> str:
    """Some sentences that no other page has."""
    words = [_WORDS[(seed * 7 + place * (seed % 5 + 3)) % len(_WORDS)] for place in range(60)]
    return ". ".join(" ".join(words[at : at + 8]) for at in range(0, 60, 8)) + f". This is text number {seed}."


def _page(title: str, text: str, links: list[tuple[str, str]], *, wait_s: float = 0.0) -> DemoAnswer:
    listed = "".join(f'<li><a href="{escape(href)}">{escape(words)}</a></li>' for href, words in links)
    return DemoAnswer(
        body=f"<!doctype html><html lang=en><head><title>{escape(title)}</title></head>"
        f"<body><h1>{escape(title)}</h1><p>{escape(text)}</p><ul>{listed}</ul></body></html>\n",
        wait_s=wait_s,
    )


@dataclass(slots=True, kw_only=True)
class DemoWeb:
    """The hosts that are served.

    addresses  of each, by name
    asked      requests that each received, by name: its own count, to compare with the crawler's
    """

    port: int
    sites: list[DemoSite]
    addresses: Mapping[str, str]
    asked: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)
    ended: threading.Event = field(default_factory=threading.Event)


@contextmanager
def serve() -> Iterator[DemoWeb]:
    """Serve them. Raises ServiceError where nothing can be listened on."""
    port = free_port(None)
    made = sites(port)
    with ExitStack() as servers:
        addresses = {site.name: ADDRESSES.format(number) for number, site in enumerate(made, 1)}
        web = DemoWeb(port=port, sites=made, addresses=addresses)
        try:
            listening = [_server(web, address) for address in addresses.values()]
        except OSError:
            web.addresses = dict.fromkeys(addresses, ONLY)
            listening = [_only_server(web)]
        for server in listening:
            servers.callback(server.server_close)
            servers.callback(server.shutdown)
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        servers.callback(web.ended.set)
        yield web


def _only_server(web: DemoWeb) -> ThreadingHTTPServer:
    try:
        return _server(web, ONLY)
    except OSError as error:
        raise ServiceError(f"{ONLY}:{web.port}", f"cannot be listened on ({error.strerror}); try again") from error


def _server(web: DemoWeb, address: str) -> ThreadingHTTPServer:
    by_name = {site.name: site for site in web.sites}

    class DemoHandler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            site = by_name.get((self.headers["Host"] or "").partition(":")[0])
            if site is None:
                self.send_error(421)
                return
            with web.lock:
                web.asked[site.name] += 1
            found = site.answer(self.path)
            web.ended.wait(found.wait_s)
            body = found.body.encode()
            self.send_response(found.status)
            self.send_header("Content-Type", found.content_type)
            self.send_header("Content-Length", str(len(body)))
            if found.retry_after_s is not None:
                self.send_header("Retry-After", str(found.retry_after_s))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: the live view has the terminal."""

    server = ThreadingHTTPServer((address, web.port), DemoHandler)
    server.daemon_threads = True
    return server
