"""Sitemaps as streams, and what is read of them."""

import gzip
import io
import random
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from app.parse.sitemap.sitemap import Child, Entry, Limits, SitemapKind, SitemapReading

MIB = 1024 * 1024


class Parts(io.BytesIO):
    """A stream of the parts, never held together. `watch` is called at every read."""

    def __init__(self, parts: Iterable[bytes], watch: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self._parts = iter(parts)
        self._part = b""
        self._watch = watch
        self.taken = 0

    def read(self, size: int | None = -1) -> bytes:
        self._watch()
        self._part = self._part or next(filter(None, self._parts), b"")
        taken, self._part = self._part[:size], self._part[size:]
        self.taken += len(taken)
        return taken


def read(body: bytes | str, limits: Limits | None = None) -> tuple[list[Entry | Child], SitemapReading]:
    reading = SitemapReading(io.BytesIO(body.encode() if isinstance(body, str) else body), limits=limits)
    return list(reading), reading


def locs(body: bytes | str, limits: Limits | None = None) -> list[str]:
    return [value.loc for value in read(body, limits)[0]]


def problem(body: bytes | str, limits: Limits | None = None) -> str | None:
    return read(body, limits)[1].problem


def urlset(*urls: str) -> str:
    return f"<urlset>{''.join(f'<url>{url}</url>' for url in urls)}</urlset>"


# -- formats

URLSET = """<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
  <url><loc>https://h/a</loc><lastmod>2024-05-06</lastmod><changefreq>daily</changefreq><priority>0.8</priority></url>
  <url><loc>https://h/b?x=1&amp;y=2</loc></url>
</urlset>"""


INDEX = """<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<sitemap><loc>https://h/one.xml.gz</loc><lastmod>2024</lastmod></sitemap><sitemap><loc>/two.xml</loc></sitemap>
</sitemapindex>"""
RSS = """<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><link>https://h/</link>
<item><title>t</title><atom:link href="https://h/no"/><link>https://h/a</link>
<pubDate>Mon, 06 May 2024 10:00:00 +0200</pubDate></item>
<item><guid>https://h/b</guid></item>
<item><guid isPermaLink="false">https://h/no</guid></item>
<item><guid>tag:h,2024:no</guid></item>
<item><guid>https://h/no</guid><link>https://h/c</link></item>
</channel></rss>"""
RSS_1 = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
xmlns:dc="http://purl.org/dc/elements/1.1/"><channel rdf:about="https://h/"><link>https://h/</link></channel>
<item rdf:about="https://h/a"><title>t</title><link>https://h/a</link><dc:date>2024-05-06T10:00+02:00</dc:date></item></rdf:RDF>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><link href="https://h/"/><updated>2001-01-01</updated><id>https://h/no</id>
<entry><link rel="edit" href="https://h/no"/><link rel="Alternate" href=" https://h/a "/><link href="https://h/no"/>
<updated>2024-05-06T08:00:00Z</updated><source><link href="https://h/no"/><updated>2002-01-01</updated></source></entry>
<entry><source><link href="https://h/no"/></source><link href="https://h/b"/></entry></feed>"""
TEXT = "\ufeffhttps://h/a\r\n\r\n  HTTP://h/b  \nftp://h/no\nhttps://h/no no\rhttps://h/c"
AT_8 = datetime(2024, 5, 6, 8, tzinfo=UTC)

# name, the file, its kind, what it says
FORMATS = [
    (
        "urlset",
        URLSET,
        SitemapKind.URLSET,
        [
            Entry(
                loc="https://h/a",
                lastmod=datetime(2024, 5, 6, tzinfo=UTC),
                lastmod_raw="2024-05-06",
                changefreq="daily",
                priority=0.8,
            ),
            Entry(loc="https://h/b?x=1&y=2"),
        ],
    ),
    (
        "index",
        INDEX,
        SitemapKind.INDEX,
        [
            Child(loc="https://h/one.xml.gz", lastmod=datetime(2024, 1, 1, tzinfo=UTC), lastmod_raw="2024"),
            Child(loc="/two.xml"),
        ],
    ),
    (
        "RSS 2.0",
        RSS,
        SitemapKind.RSS,
        [
            Entry(loc="https://h/a", lastmod=AT_8, lastmod_raw="Mon, 06 May 2024 10:00:00 +0200"),
            Entry(loc="https://h/b"),
            Entry(loc="https://h/c"),
        ],
    ),
    ("RSS 1.0", RSS_1, SitemapKind.RSS, [Entry(loc="https://h/a", lastmod=AT_8, lastmod_raw="2024-05-06T10:00+02:00")]),
    (
        "Atom",
        ATOM,
        SitemapKind.ATOM,
        [
            Entry(loc="https://h/a", lastmod=AT_8, lastmod_raw="2024-05-06T08:00:00Z"),
            Entry(loc="https://h/b"),
        ],
    ),
    ("text", TEXT, SitemapKind.TEXT, [Entry(loc=loc) for loc in ("https://h/a", "HTTP://h/b", "https://h/c")]),
]


# -- packing


def packed(body: str, times: int) -> bytes:
    raw = body.encode()
    for _ in range(times):
        raw = gzip.compress(raw, mtime=0)
    return raw


def many(count: int, size: int = 0) -> str:
    """Locations that do not pack well."""
    noise = random.Random(1)
    return urlset(*(f"<loc>https://h/{n}/{noise.randbytes(16 + size).hex()}</loc>" for n in range(count)))


# -- XML

NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


EXTENSIONS = (
    'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" '
    'xmlns:video="http://www.google.com/schemas/sitemap-video/1.1" '
    'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml"'
)
