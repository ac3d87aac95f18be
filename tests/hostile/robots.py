"""robots.txt in every bad state, before a small site that is fine: / links to /ok, /x and a path of 2,000 letters.

Where a file can be read, it forbids /x.
"""

import itertools
import random
from collections.abc import Callable, Iterator

from tests.hostile.behaviour import html, no_such_page, ok, redirect, site
from tests.hostile.peer import Answer, Line, Peer

RULE = b"User-agent: *\nDisallow: /x\n"
TEXT = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
LONG = "/" + "a" * 2000
FILE_BYTES = 6 * 1024 * 1024
ERRORS = {
    403: b"403 Forbidden",
    429: b"429 Too Many Requests",
    500: b"500 Internal Server Error",
    503: b"503 Service Unavailable",
}

PAGES = {
    "/": ok(html("/ok", "/x", LONG, text="Where the robots are sick.")),
    "/ok": ok(html(text="All may read this.")),
    "/x": ok(html(text="No robot may read this.")),
    LONG: ok(html(text="A long way.")),
}


def before(file: Answer) -> Answer:
    """The site, with `file` as what answers /robots.txt (and what that redirects to)."""
    pages = site(PAGES)

    async def answer(peer: Peer, line: Line) -> bool | None:
        return await (file if line.path.startswith("/robots") else pages)(peer, line)

    return answer


def octets(response: bytes) -> Callable[[], Answer]:
    async def file(peer: Peer, line: Line) -> bool:
        return await peer.send(response)

    return lambda: before(file)


def text(body: bytes) -> Callable[[], Answer]:
    return octets(ok(body, kind=b"text/plain"))


def error(status: int) -> Callable[[], Answer]:
    return octets(ok(RULE, status=ERRORS[status], kind=b"text/plain"))


def missing() -> Answer:
    return octets(no_such_page())()


def hang() -> Answer:
    async def file(peer: Peer, line: Line) -> None:
        await peer.hang()

    return before(file)


def reset() -> Answer:
    async def file(peer: Peer, line: Line) -> None:
        await peer.reset()

    return before(file)


def short() -> Answer:
    """Complete as far as our rule goes, but shorter than it says."""

    async def file(peer: Peer, line: Line) -> None:
        await peer.send(TEXT + b"Content-Length: 1000\r\n\r\n", RULE)

    return before(file)


def drip() -> Answer:
    """Our rule at once, and then comments byte by byte."""

    async def file(peer: Peer, line: Line) -> None:
        await peer.send(TEXT + b"Content-Length: 100000\r\n\r\n", RULE)
        await peer.drip(itertools.cycle(b"# a comment\n"))

    return before(file)


def endless() -> Answer:
    """Our rule, and then comments without end."""

    async def file(peer: Peer, line: Line) -> None:
        await peer.send(TEXT + b"\r\n", RULE)
        await peer.flood(itertools.repeat(b"# a comment\n" * 1000))

    return before(file)


def loop() -> Answer:
    """/robots.txt and /robots-too.txt redirect to each other."""

    async def file(peer: Peer, line: Line) -> bool:
        return await peer.send(redirect("/robots-too.txt" if line.path == "/robots.txt" else "/robots.txt"))

    return before(file)


def elsewhere() -> Answer:
    """Redirects to the robots.txt of the host beside."""

    async def file(peer: Peer, line: Line) -> bool:
        assert peer.host.beside is not None
        return await peer.send(redirect(peer.host.beside.url("/robots.txt")))

    return before(file)


def big(rule_first: bool) -> Callable[[], Answer]:
    """6 MB: the rule for us is in the first line, or in the last."""
    blocks = FILE_BYTES // 16_384
    length = blocks * 16_384 + len(RULE)

    def lines() -> Iterator[bytes]:
        for number in range(blocks):
            group = b"User-agent: bot%07d\nDisallow: /\n\n" % number
            yield (group * (16_384 // len(group) + 1))[: 16_384 - 1] + b"\n"

    async def file(peer: Peer, line: Line) -> bool:
        await peer.send(TEXT + b"Content-Length: %d\r\n\r\n" % length)
        await peer.flood(itertools.chain([RULE], lines()) if rule_first else itertools.chain(lines(), [RULE]))
        return True

    return lambda: before(file)


def redos() -> bytes:
    """Patterns that cost a backtracking matcher exponential time on LONG, and then the rule."""
    patterns = [b"Disallow: /" + b"*a" * times + b"b\n" for times in range(5, 200)]
    return b"User-agent: *\n" + b"".join(patterns) + b"Disallow: /x\n"


def latin1() -> bytes:
    return "# Fränkisch: das mögen wir nicht\nUser-agent: *\nDisallow: /café\nDisallow: /x\n".encode("latin-1")


def binary() -> bytes:
    return random.Random(3).randbytes(20_000) + b"\0\0\n"


def delay(value: str) -> Callable[..., Answer]:
    def make(value: str = value) -> Answer:
        return text(b"User-agent: *\nCrawl-delay: " + value.encode() + b"\nDisallow: /x\n")()

    return make
