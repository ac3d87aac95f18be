"""Prints what reading costs for ordinary and hostile sitemaps.

    python -m bench.sitemap

Promises M1 and Z3: constant memory, time in proportion to the bytes. Columns: MiB taken from the file; CPU seconds;
thousands
of URLs a second; by how many MiB the process grew at most, sampled from /proc at every read; what the reading says. The
files are made as they are read and, but for the gzipped ones, never held.
"""

import gzip
import io
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, repeat
from pathlib import Path
from time import process_time

from app.parse.sitemap.sitemap import SitemapReading

MIB = 1024 * 1024
SIZE = 60 * MIB
IMAGE = "<image:image><image:loc>https://example.org/i/picture.jpg</image:loc></image:image>"
HEAD = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">'


class Parts(io.BytesIO):
    """A stream of the parts; keeps how many bytes went and how big the process was."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        super().__init__()
        self._parts = iter(parts)
        self._part = b""
        self.taken = 0
        self.most = self.least = resident()

    def read(self, size: int | None = -1) -> bytes:
        self.most = max(self.most, resident())
        self._part = self._part or next(filter(None, self._parts), b"")
        taken, self._part = self._part[:size], self._part[size:]
        self.taken += len(taken)
        return taken


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def urls(body: str) -> Iterator[bytes]:
    """50,000 of the <url>s, {} a number."""
    blocks = ("".join(f"<url>{body.format(n)}</url>\n" for n in range(at, at + 500)) for at in range(0, 50_000, 500))
    return chain([HEAD.encode()], map(str.encode, blocks), [b"</urlset>"])


def flood(start: str, unit: str) -> Iterator[bytes]:
    block = unit.encode() * (MIB // len(unit))
    return chain([start.encode()], repeat(block, SIZE // MIB))


def different(unit: str) -> Iterator[bytes]:
    return chain(
        [b"<urlset>"], ("".join(unit.format(n) for n in range(at, at + 500)).encode() for at in range(0, 10**6, 500))
    )


def files() -> dict[str, Callable[[], Iterable[bytes]]]:
    loc = "<loc>https://example.org/some/section/page-{}.html</loc>"
    full = loc + "<lastmod>2026-05-06T07:08:09+00:00</lastmod><changefreq>daily</changefreq><priority>0.5</priority>"
    rss = (
        "<item><title><![CDATA[A & B]]></title><link>https://h/a</link><pubDate>Mon, 06 May 2024 10:00:00 "
        "GMT</pubDate></item>"
    )
    return {
        "locations only": lambda: urls(loc),
        "all four fields": lambda: urls(full),
        "all four fields, gzip": lambda: [gzip.compress(b"".join(urls(full)))],
        "ten images each": lambda: urls(full + IMAGE * 10),
        "RSS": lambda: flood("<rss><channel>", rss),
        "Atom": lambda: flood("<feed>", "<entry><link href='https://h/a'/><updated>2024-05-06</updated></entry>"),
        "text": lambda: flood("", "https://example.org/some/section/page.html\n"),
        "one text": lambda: flood("<urlset><url><loc>", "x"),
        "one line": lambda: flood("http://h/", "x"),
        "one comment": lambda: flood("<urlset><!--", "x"),
        "one attribute": lambda: flood("<urlset><a b='", "x"),
        "a million attributes": lambda: chain([b"<urlset><a"], (f" b{n}=''".encode() for n in range(10**6))),
        "depth": lambda: flood("<urlset>", "<a>"),
        "names": lambda: different("<a{0} b{0}='' xmlns:c{0}=''/>"),
        "empty elements": lambda: flood("<urlset>", "<a/>"),
        "comments": lambda: flood("<urlset>", "<!---->"),
        "instructions": lambda: flood("<urlset>", "<??>"),
        "document types": lambda: flood("", "<!a>"),
        "CDATA sections": lambda: flood("<urlset>", "<![CDATA[]]>"),
        "bare &": lambda: flood("<urlset>", "&"),
        "bare <": lambda: flood("<urlset>", "<"),
        "references": lambda: flood("<urlset>", "&#65;"),
        "unknown references": lambda: different("&e{};"),
        "end tags": lambda: flood("<urlset>", "</a>"),
        "tags that do not fit": lambda: flood("<urlset>", "<a></b>"),
        "no UTF-8": lambda: [b"<urlset>", *repeat(b"\xff" * MIB, SIZE // MIB)],
        "bomb": lambda: [gzip.compress(b"<urlset>" + b" " * (200 * MIB))],
        "bomb in gzip": lambda: [gzip.compress(gzip.compress(b"<urlset>" + b" " * (200 * MIB)))],
        "empty members": lambda: repeat(gzip.compress(b"") * 1000, 3000),
        "billion laughs": lambda: [b'<!DOCTYPE z [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><urlset/>'],
    }


def main() -> None:
    print(f"{'file':24}{'MiB read':>9}{'CPU s':>8}{'kURL/s':>8}{'+MiB':>6}   what it says")
    for name, make in files().items():
        parts = make()
        stream = Parts(parts)
        reading, began = SitemapReading(stream), process_time()
        for _ in reading:
            pass
        spent = process_time() - began
        rate = f"{reading.entries / spent / 1000:.0f}" if reading.entries else ""
        figures = f"{stream.taken / MIB:9.1f}{spent:8.2f}{rate:>8}{(stream.most - stream.least) / MIB:6.1f}"
        print(f"{name:24}{figures}   {reading.kind}, {reading.entries:,} entries; {reading.problem}")


if __name__ == "__main__":
    main()
