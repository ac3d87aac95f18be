"""Slow, endless and broken answers. Every partial body links to /half, which no sound crawler asks for."""

import gzip
import itertools
import random
import zlib
from collections.abc import Callable, Iterator
from functools import cache

from tests.hostile.behaviour import HTML, always, for_ever, html, ok, site
from tests.hostile.peer import Answer, Line, Peer

HALF = html("/half", text="The first half of a page. " * 20)
BLOCK = b"<p>" + b"x" * 16_000 + b"</p>\n"
STATUS = b"HTTP/1.1 200 OK\r\nContent-Type: " + HTML + b"\r\n"
CHUNKED = STATUS + b"Transfer-Encoding: chunked\r\n\r\n"
BOMB_BLOCK_BYTES = 16 * 1024 * 1024
A_WHILE_S = 0.02  # so that what was sent is read before the reset comes


# --- time -------------------------------------------------------------------------------------------------------


def silent() -> Answer:
    async def answer(peer: Peer, line: Line) -> None:
        await peer.hang()

    return answer


def slow(after_s: float = 1.0) -> Answer:
    async def answer(peer: Peer, line: Line) -> bool:
        await peer.pause(after_s)
        return await peer.send(ok(html(text=f"{line.target}, at last")))

    return answer


def headerdrip() -> Answer:
    """Byte after byte of headers that never end."""

    async def answer(peer: Peer, line: Line) -> None:
        await peer.send(STATUS)
        await peer.drip(itertools.cycle(b"X-Drip: drop\r\n"))

    return answer


def bodydrip() -> Answer:
    """Most of a page at once, the rest byte after byte: a megabyte of it."""

    async def answer(peer: Peer, line: Line) -> None:
        await peer.send(STATUS + b"Content-Length: %d\r\n\r\n" % 1_000_000, HALF)
        await peer.drip(itertools.repeat(ord("x")))

    return answer


# --- length -----------------------------------------------------------------------------------------------------


def chunk(octets: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(octets), octets)


def header_lines() -> Iterator[bytes]:
    """Eight at a time: names of their own, and well under 64 KB each."""
    return (
        b"".join(b"X-%d: %s\r\n" % (number * 8 + at, b"y" * 1000) for at in range(8)) for number in itertools.count()
    )


def endless_body() -> Iterator[bytes]:
    return for_ever(BLOCK)


def endless_chunks() -> Iterator[bytes]:
    return for_ever(chunk(BLOCK))


# --- framing ----------------------------------------------------------------------------------------------------


def short() -> bytes:
    return STATUS + b"Content-Length: %d\r\n\r\n" % (2 * len(HALF)) + HALF


def gziped(body: bytes) -> bytes:
    return ok(body, b"Content-Encoding: gzip")


def reset() -> Answer:
    async def answer(peer: Peer, line: Line) -> None:
        await peer.reset()

    return answer


def resetamong(pages: int = 120) -> Answer:
    """/ links to /reset, which is reset, and to so many pages that are fine."""
    documents = {f"/{number}": ok(html(text=f"Page {number}. " * 9)) for number in range(pages)}
    well = site({"/": ok(html("/reset", *documents, text="All but one.")), **documents})

    async def answer(peer: Peer, line: Line) -> bool | None:
        return await (peer.reset() if line.path == "/reset" else well(peer, line))

    return answer


def resetmid() -> Answer:
    async def answer(peer: Peer, line: Line) -> None:
        await peer.send(short())
        await peer.pause(A_WHILE_S)
        await peer.reset()

    return answer


def garbage() -> bytes:
    return random.Random(1).randbytes(3000)


@cache
def bomb(mebibytes: int) -> bytes:
    """So many MiB of spaces as one gzip member of a thousandth of that, made without inflating it in memory."""
    block = b" " * BOMB_BLOCK_BYTES
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = deflate.compress(block) + deflate.flush(zlib.Z_FULL_FLUSH)  # refers to nothing before it: repeatable
    times = mebibytes * 1024 * 1024 // BOMB_BLOCK_BYTES
    check = 0
    for _ in range(times):
        check = zlib.crc32(block, check)
    tail = b"\x03\x00" + check.to_bytes(4, "little") + (times * BOMB_BLOCK_BYTES).to_bytes(4, "little")
    return b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff" + packed * times + tail


def gzipbomb(mebibytes: int = 512) -> Answer:
    return always(gziped(bomb(mebibytes)))()


def gzipcut() -> bytes:
    """The framing is right, the stream within ends too soon."""
    whole = gzip.compress(HALF + random.Random(2).randbytes(4000).hex().encode())
    return gziped(whole[: len(whole) // 2])


OCTETS: dict[str, Callable[[], bytes]] = {
    "short": short,
    "cutchunk": lambda: CHUNKED + b"%x\r\n" % (2 * len(HALF)) + HALF,
    "badchunk": lambda: CHUNKED + chunk(HALF) + b"zz\r\n" + HALF,
    "twolength": lambda: STATUS + b"Content-Length: 7\r\nContent-Length: %d\r\n\r\n" % len(HALF) + HALF,
    "badstatus": lambda: STATUS.replace(b"200", b"2oo") + b"Content-Length: %d\r\n\r\n" % len(HALF) + HALF,
    "http09": lambda: HALF,
    "garbage": garbage,
    "gziplie": lambda: gziped(HALF),
    "gzipcut": gzipcut,
    "spurious304": lambda: b'HTTP/1.1 304 Not Modified\r\nETag: "never"\r\n\r\n',
    "nocontent": lambda: b"HTTP/1.1 204 No Content\r\n\r\n",
}
