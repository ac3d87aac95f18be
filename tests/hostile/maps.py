"""Sitemaps that robots.txt names, and that go in circles, too deep, end too soon or want memory; and one that is fine.

Each page that one of them lists is /listed/… after it. robots.txt itself is fine.
"""

import gzip

from tests.hostile.behaviour import html, ok, site
from tests.hostile.broken import bomb
from tests.hostile.peer import Answer, Line, Peer

XML, GZIP = b"application/xml", b"application/gzip"
BOMB_MIB = 512
DEEP = 13
LAUGHS = 20  # each entity ten times the one before
NAMED = (
    "/fine.xml",
    "/fine.xml.gz",
    "/circle.xml",
    "/self.xml",
    "/deep-1.xml",
    "/cut.xml",
    "/cut.xml.gz",
    "/bomb.xml.gz",
    "/laughs.xml",
)


def urlset(*paths: str, host: str) -> bytes:
    entries = "".join(f"<url><loc>{host}{path}</loc></url>" for path in paths)
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'.encode()


def index(*paths: str, host: str) -> bytes:
    entries = "".join(f"<sitemap><loc>{host}{path}</loc></sitemap>" for path in paths)
    return f"<sitemapindex>{entries}</sitemapindex>".encode()


def laughs(host: str) -> bytes:
    """An entity that would be 10^20 letters, beside one page."""
    lines = [f'<!ENTITY a{number} "{f"&a{number - 1};" * 10}">' for number in range(1, LAUGHS)]
    head = f'<?xml version="1.0"?><!DOCTYPE urlset [<!ENTITY a0 "ha">{"".join(lines)}]>'
    pages = f"<url><loc>{host}/listed/laughs</loc></url><url><loc>{host}/&a{LAUGHS - 1};</loc></url>"
    return f"{head}<urlset>{pages}</urlset>".encode()


def files(host: str) -> dict[str, tuple[bytes, bytes]]:
    """{path: (octets, content type)}"""

    def one(name: str) -> bytes:
        return urlset(f"/listed/{name}", host=host)

    long = urlset(*(f"/listed/cut-{number}" for number in range(3)), host=host)
    deep = {f"/deep-{at}.xml": (index(f"/deep-{at + 1}.xml", host=host), XML) for at in range(1, DEEP)}
    return {
        "/fine.xml": (one("fine"), XML),
        "/fine.xml.gz": (gzip.compress(one("packed")), GZIP),
        "/circle.xml": (index("/round.xml", "/beside.xml", host=host), XML),
        "/round.xml": (index("/circle.xml", host=host), XML),
        "/beside.xml": (one("beside"), XML),
        "/self.xml": (index("/self.xml", host=host), XML),
        **deep,
        f"/deep-{DEEP}.xml": (one("deep"), XML),
        "/cut.xml": (long[: long.rindex(b"<loc>") + 9], XML),
        "/cut.xml.gz": (gzip.compress(long)[:-12], GZIP),
        "/bomb.xml.gz": (bomb(BOMB_MIB), GZIP),
        "/laughs.xml": (laughs(host), XML),
    }


def sick() -> Answer:
    """Addresses within are made when the host is asked: it has a port then."""
    answers: list[Answer] = []

    async def answer(peer: Peer, line: Line) -> bool | None:
        if not answers:
            answers.append(site(documents(peer.host.url(""))))
        return await answers[0](peer, line)

    return answer


def documents(host: str) -> dict[str, bytes]:
    maps = files(host)
    robots = "User-agent: *\n" + "".join(f"Sitemap: {host}{path}\n" for path in NAMED)
    names = ("fine", "packed", "beside", "deep", "laughs", "cut-0", "cut-1", "cut-2")
    pages = {f"/listed/{name}": ok(html(text=f"{name} is listed. " * 9)) for name in names}
    return {
        "/robots.txt": ok(robots.encode(), kind=b"text/plain"),
        "/": ok(html(text="Where the maps are sick.")),
        **pages,
        **{path: ok(body, kind=kind) for path, (body, kind) in maps.items()},
    }
