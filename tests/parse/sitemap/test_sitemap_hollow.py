"""Sitemaps of marks without entries end after a bound, plain or packed; ordinary ones are read whole."""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from typing import Any

import pytest

from app.parse.sitemap.sitemap import MOST_BYTES_BETWEEN, MOST_MARKS, SitemapReading
from tests.parse.sitemap.streams import EXTENSIONS, MIB, NS, Parts, read

BLOCK = 64 * 1024
SIZE = 50 * MIB
FLOODS = {
    "ampersands": "&",
    "less-than signs": "<",
    "greater-than signs": ">",
    "references": "&#65;",
    "named references": "&amp;",
    "no references": "&#;",
    "instructions": "<??>",
    "comments": "<!---->",
    "a comment's inside": "<!-- -- ",
    "CDATA sections": "<![CDATA[]]>",
    "CDATA of >": "<![CDATA[>>>>>>>>>>>>>>>>]]>",
    "white space": " \n",
    "tabs": "\t",
    "unknown elements": "<a/>",
    "unknown elements with names of their own spaces": '<x:a xmlns:x="y"/>',
    "attributes": "<a " + " ".join(f"b{n}=''" for n in range(50)) + "/>",
    "end tags": "</a>",
    "elements that never end": "<a></b>",
    "text": "lorem ipsum ",
    "no UTF-8": "\udcff",
}
# What stands before: nothing, the element of a sitemap, those of a feed.
STARTS = ["", "<urlset>", "<rss><channel>"]


def flood(start: str, unit: str) -> Iterator[bytes]:
    octets = unit.encode("utf-8", "surrogateescape")
    block = octets * (BLOCK // len(octets))
    return chain([start.encode()], repeat(block, SIZE // len(block)))


def squeezed(parts: Iterable[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(wbits=31)
    yield from map(packer.compress, parts)
    yield packer.flush()


def taken(parts: Iterable[bytes]) -> tuple[int, SitemapReading]:
    stream = Parts(parts)
    reading = SitemapReading(stream)
    assert list(reading) == []
    return stream.taken, reading


def each_after_a_start() -> Iterator[Any]:
    """Each flood after one of the starts by turns; after the others in the long form."""
    for number, name in enumerate(FLOODS):
        for start in STARTS:
            marks = () if start == STARTS[number % len(STARTS)] else pytest.mark.faults
            yield pytest.param(start, name, marks=marks)


@pytest.mark.parametrize(("start", "name"), [*each_after_a_start()])
def test_marks_without_entries_end_after_a_bound(start: str, name: str) -> None:
    octets, reading = taken(flood(start, FLOODS[name]))
    assert octets <= MOST_BYTES_BETWEEN + 4 * BLOCK
    assert reading.problem


@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("references", 1),
        ("white space", 1),
        ("ampersands", 2),
        *(
            pytest.param(name, times, marks=pytest.mark.faults)
            for name in ("references", "instructions", "unknown elements")
            for times in (1, 2)
            if (name, times) != ("references", 1)
        ),
    ],
)
def test_so_do_packed_ones(name: str, times: int) -> None:
    parts: Iterable[bytes] = flood("<urlset>", FLOODS[name])
    unpacked = 0

    def counted(parts: Iterable[bytes]) -> Iterator[bytes]:
        nonlocal unpacked
        for part in parts:
            unpacked += len(part)
            yield part

    parts = squeezed(counted(parts))
    if times == 2:
        parts = squeezed(parts)
    small = list(parts)
    assert unpacked > 45 * MIB
    reading = SitemapReading(Parts(small))
    assert list(reading) == []
    assert reading.problem is not None
    assert "hold no entry" in reading.problem


def test_an_entry_now_and_then_does_not_lengthen_it_for_ever() -> None:
    """A page for every 100,000 marks: the file as a whole is bounded."""
    unit = "<url><loc>https://h/a</loc></url>" + "&lt;" * 100_000
    stream = Parts(chain([b"<urlset>"], repeat(unit.encode(), 100)))
    reading = SitemapReading(stream)
    pages = list(reading)
    assert MOST_MARKS // 100_000 - 5 <= len(pages) <= MOST_MARKS // 100_000 + 5
    assert reading.problem == f"cut at {MOST_MARKS:,} tags, references and lines"


@pytest.mark.parametrize(
    "line",
    [
        "no URL\n",
        "\n",
        " \n",
        "\r",
        " \r\n",
        "ftp://h/a\n",
        "http://\n",
        "x" * 99 + "\n",
        "x",
        "http://h/" + "x" * 3_000,
    ],
)
def test_a_text_of_garbage_ends_after_a_bound(line: str) -> None:
    octets, reading = taken(flood("", line))
    assert octets <= MOST_BYTES_BETWEEN + 4 * BLOCK
    assert reading.problem


def test_what_was_listed_before_the_garbage_is_kept() -> None:
    pages = "".join(f"<url><loc>https://h/{n}</loc></url>" for n in range(5_000))
    reading = SitemapReading(Parts(flood(f"<urlset>{pages}", "&")))
    assert len(list(reading)) == 5_000
    assert reading.problem


# --- ordinary files ---------------------------------------------------------------------------------------------


def test_a_page_with_a_thousand_images_is_read() -> None:
    image = "<image:image><image:loc>https://h/i.jpg</image:loc><image:title>A &amp; B</image:title></image:image>"
    page = f"<url><loc>https://h/{{}}</loc>{image * 1_000}</url>"
    values, reading = read(f"<urlset {NS} {EXTENSIONS}>" + "".join(page.format(n) for n in range(20)) + "</urlset>")
    assert (len(values), reading.problem) == (20, None)


@pytest.mark.parametrize("is_escaped", [True, False])
def test_a_feed_of_whole_pages_is_read(is_escaped: bool) -> None:
    html = "<p>Some words &amp; a <b>picture</b> <img src='data:image/png;base64," + "A" * 2_000 + "'></p>\n"
    content = (html * 500).replace("&", "&amp;").replace("<", "&lt;") if is_escaped else f"<![CDATA[{html * 500}]]>"
    item = f"<item><link>https://h/{{}}</link><description>{content}</description></item>"
    values, reading = read("<rss><channel>" + "".join(item.format(n) for n in range(5)) + "</channel></rss>")
    assert (len(values), reading.problem) == (5, None)


def test_a_full_sitemap_with_all_fields_and_images_is_read() -> None:
    fields = "<lastmod>2026-05-06</lastmod><changefreq>daily</changefreq><priority>0.5</priority>"
    image = "<image:image><image:loc>https://h/i.jpg</image:loc></image:image>"
    pages = (f"<url><loc>https://h/{n}</loc>{fields}{image * 5}</url>\n".encode() for n in range(50_000))
    stream = Parts(chain([f"<urlset {NS} {EXTENSIONS}>".encode()], pages, [b"</urlset>"]))
    reading = SitemapReading(stream)
    assert sum(1 for _ in reading) == 50_000
    assert reading.problem is None


def test_a_packed_one_is_read_too() -> None:
    body = "<urlset>" + "".join(f"<url><loc>https://h/{n}</loc></url>" for n in range(50_000)) + "</urlset>"
    values, reading = read(gzip.compress(body.encode()))
    assert (len(values), reading.problem) == (50_000, None)
