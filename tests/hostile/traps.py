"""Pages without end or of absurd shape, and links that only a machine would follow."""

import gzip
import itertools
from collections.abc import Iterator

from tests.hostile import broken, heavy
from tests.hostile.behaviour import HTML, html, ok, site
from tests.hostile.peer import Answer, Line, Peer

LINKS_PER_BLOCK = 1000
DOCTYPE = b"<!doctype html><html lang=en><body>"

HONEYPOT = """<!doctype html><html lang=en><head><title>A shop</title><style>.away{display:none}</style></head><body>
<p>Welcome. <a href="/open/1">Goods</a> and <a href="/open/2">more goods</a>.</p>
<div style="display:none"><a href="/trap/display">x</a></div>
<p><a href="/trap/own-display" style="display: none">x</a></p>
<div style="visibility:hidden"><a href="/trap/visibility">x</a></div>
<div hidden><a href="/trap/hidden">x</a></div>
<p><a href="/trap/own-hidden" hidden>x</a></p>
<p><a href="/trap/nofollow" rel="nofollow">x</a></p>
<p><a href="/trap/several-rels" rel="noopener NoFollow">x</a></p>
<!-- <a href="/trap/comment">x</a> -->
<template><a href="/trap/template">x</a></template>
</body></html>"""


def honeypot() -> Answer:
    """/ links to two pages that people see, and to /trap/… in ways that they do not. Each trap leads deeper."""
    pages = {"/": ok(HONEYPOT.encode()), "/open/1": ok(html("/", text="Goods")), "/open/2": ok(html("/open/1"))}
    well = site(pages)

    async def answer(peer: Peer, line: Line) -> bool | None:
        if line.path.startswith("/trap/"):
            return await peer.send(ok(html(f"{line.path}/deeper", text="Caught.")))
        return await well(peer, line)

    return answer


def calendar() -> Answer:
    """/calendar/2024/01 links to its days and to the months before and after, for all times."""

    async def answer(peer: Peer, line: Line) -> bool:
        parts = line.path.strip("/").split("/")
        year, month = (int(parts[1]), int(parts[2])) if len(parts) >= 3 else (2024, 1)
        at = year * 12 + month - 1
        months = [f"/calendar/{each // 12:04}/{each % 12 + 1:02}" for each in (at - 1, at + 1) if each >= 12]
        days = [f"/calendar/{year:04}/{month:02}/{day:02}" for day in range(1, 29)]
        return await peer.send(ok(html(*months, *days, title=f"{year}-{month:02}", text="Nothing happens.")))

    return answer


def depth() -> Answer:
    """Every page links to one deeper, and deeper."""

    async def answer(peer: Peer, line: Line) -> bool:
        return await peer.send(ok(html(f"{line.path.rstrip('/')}/down", text=f"Depth {line.path.count('/')}")))

    return answer


def sessions() -> Answer:
    """Ten pages, and each link to them has a session of its own."""
    numbers = itertools.count(1)

    async def answer(peer: Peer, line: Line) -> bool:
        links = [f"/{page}?sid={next(numbers):032x}" for page in range(10)]
        return await peer.send(ok(html(*links, text=f"Page {line.path}")))

    return answer


def millionlinks(links: int = 1_000_000) -> Answer:
    """One page of 27 MB, made while it is sent."""

    def blocks() -> Iterator[bytes]:
        for start in range(0, links, LINKS_PER_BLOCK):
            numbers = range(start, min(start + LINKS_PER_BLOCK, links))
            yield b"".join(b'<a href="/l/%07d">link</a>\n' % number for number in numbers)

    length = links * len(b'<a href="/l/0000000">link</a>\n')
    head = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n" % (HTML, length)

    async def answer(peer: Peer, line: Line) -> bool:
        if line.path != "/":
            return await peer.send(ok(html(text=line.path)))
        await peer.send(head)
        for block in blocks():
            await peer.send(block)
        return True

    return answer


def deepdom() -> bytes:
    """200,000 elements within each other, and a link in the innermost."""
    return ok(b"<html><body>" + b"<div>" * 200_000 + b'<a href="/deep">x</a>' + b"</div>" * 1000)


def bigattr() -> bytes:
    """Attributes of 100 kB, one of them a link; then a link for people."""
    big = b"x" * 100_000
    return ok(DOCTYPE + b"<p title='%s'>a<p><a href='/%s'>b</a><p><a href='/after'>c</a>" % (big, big))


def bigname() -> bytes:
    """Twice what libxml2 takes for a name; then a link for people."""
    return ok(DOCTYPE + b"<p>a<%s>b<p><a href='/after'>c</a>" % (b"x" * 100_000))


def manyattrs() -> bytes:
    """Each is compared with all before it, where nobody took care; then a link for people."""
    many = b" ".join(b"a%d=1" % number for number in range(12_000))
    return ok(DOCTYPE + b"<p %s>a<p><a href='/after'>c</a>" % many)


def nul() -> bytes:
    """NUL octets in text, title, attribute, tag name and link."""
    return ok(
        b"<html><head><title>N\0UL</title></head><body>\0<p>a\0b <a href='/n\0ul'>l\0ink</a> <a\0 href='/tag'>x</a>"
        b"<p title='\0'>&#0; <a href='/after'>e</a>\0"
    )


STARS = b"User-agent: *\n" + b"".join(
    b"Disallow: /%s%s*z\n" % (b"*a" * x, b"*b" * y) for x in range(1, 60) for y in range(1, 60)
)
NEARLY = [f"/z{'ab' * 100}{number}" for number in range(5_000)]
SIEGE = ("/links", "/prefixes", "/names", "/members", "/blocks", "/drip")


def siege() -> Answer:
    """A robots.txt of stars, and 5,000 links that it nearly fits; documents of a MiB of names; codings that never yield
    an octet; a body byte by byte."""
    nothing = gzip.compress(b"") * 1_000_000
    blocks = bytes.fromhex("1f8b0800000000000003") + b"\0\0\0\xff\xff" * 1_000_000
    pages = {
        "/robots.txt": ok(STARS, kind=b"text/plain"),
        "/": ok(html(*SIEGE, text="Pages that cost whoever reads them.")),
        "/links": ok(html(*NEARLY)),
        "/prefixes": ok(_padded(heavy.PREFIXES, b"<aa"), kind=b"application/xhtml+xml"),
        "/names": ok(_named()),
        **{
            path: ok(gzip.compress(gzip.compress(octets)), b"Content-Encoding: gzip, gzip, gzip")
            for path, octets in (("/members", nothing), ("/blocks", blocks))
        },
    }
    rest, drip = site(pages), broken.bodydrip()

    async def answer(peer: Peer, line: Line) -> bool | None:
        return await (drip if line.path == "/drip" else rest)(peer, line)

    return answer


def _padded(before: bytes, unit: bytes) -> bytes:
    return before + unit * ((heavy.MIB - len(before)) // len(unit))


def _named() -> bytes:
    """Elements of which each has an attribute of its own."""
    return DOCTYPE + b"".join(b"<p n%06d=1>x" % number for number in range(heavy.MIB // 14))
