"""Sitemaps that are made to harm: entities, references, bombs and floods, in constant memory."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, repeat
from pathlib import Path

import pytest

from app.parse.sitemap.sitemap import Limits, SitemapReading
from tests.parse.sitemap.streams import (
    EXTENSIONS,
    MIB,
    NS,
    Parts,
    locs,
    read,
    urlset,
)

LAUGHS = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))


@pytest.mark.parametrize(
    "doctype",
    [
        pytest.param(f'<!DOCTYPE z [<!ENTITY a0 "ha">{LAUGHS}]>', id="billion laughs"),
        pytest.param(f'<!DOCTYPE z [<!ENTITY a11 "{"x" * 100_000}">]>', id="quadratic blow-up"),
        pytest.param('<!DOCTYPE z [<!ENTITY a11 "&b;"><!ENTITY b "&a11;">]>', id="a circle"),
        pytest.param('<!DOCTYPE z [<!ENTITY a11 SYSTEM "file:///etc/passwd">]>', id="a file"),
        pytest.param('<!DOCTYPE z [<!ENTITY a11 SYSTEM "http://127.0.0.1/">]>', id="a URL"),
        pytest.param('<!DOCTYPE z [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]>', id="a parameter entity"),
        pytest.param('<!DOCTYPE z SYSTEM "x.dtd" [<!ELEMENT z ANY>]>', id="only elements"),
        pytest.param('<!DOCTYPE z [<!ATTLIST url a CDATA "x">]>', id="only attributes"),
        pytest.param("<!DOCTYPE z []>", id="nothing"),
        pytest.param('<!-- x --><?y?> <!DOCTYPE\nz\n[<!ENTITY a11 "x">]>', id="behind a comment"),
        pytest.param('<!doctype z [<!ENTITY a11 "x">]>', id="small letters"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_document_type_with_declarations_is_refused(doctype: str, encoding: str) -> None:
    values, reading = read((doctype + urlset("<loc>a</loc>", "<loc>b&a11;</loc>")).encode(encoding))
    assert (values, reading.problem) == ([], "document type with declarations: refused")


@pytest.mark.parametrize(
    "doctype",
    [
        "<!DOCTYPE urlset>",
        '<!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN" "http://my.netscape.com/publish/formats/rss-0.91.dtd">',
        '<!DOCTYPE urlset SYSTEM "file:///etc/passwd">',
    ],
)
def test_a_plain_document_type_may_stand_there_and_is_never_loaded(doctype: str) -> None:
    assert locs(doctype + urlset("<loc>a</loc>")) == ["a"]


@pytest.mark.parametrize(
    "body",
    [
        # the type is over at the first ">", so that the rest declares nothing; the reference stays text
        '<!DOCTYPE z SYSTEM "x>" [<!ENTITY e SYSTEM "file:///etc/passwd">]><urlset><url><loc>a&e;</loc></url></urlset>',
        '<urlset><!ENTITY e SYSTEM "file:///etc/passwd"><url><loc>a&e;</loc></url></urlset>',
        "<urlset><url x='<!--'><loc>a&e;</loc></url></urlset>-->",
        "<urlset><url><loc>a&e;</loc></url></urlset>",
    ],
)
def test_a_reference_is_never_resolved(body: str) -> None:
    assert set(locs(body)) <= {"a&e;"}


def test_xinclude_is_not_processed(tmp_path: Path) -> None:
    (tmp_path / "bait").write_text("http://h/bait")
    include = f'<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" parse="text" href="file://{tmp_path}/bait"/>'
    assert locs(urlset(f"<loc>{include}</loc>", "<loc>a</loc>")) == ["a"]


# what is read until the bases of 2,000 characters have cost enough
@pytest.mark.parametrize(
    "unit",
    [
        pytest.param("<entry xml:base='.'><link xml:base='.' href='x'/></entry>", id="of entries"),
        pytest.param("<entry><link xml:base='.'/><link xml:base='.'/><link href='x'/></entry>", id="of links"),
        pytest.param("<e:entry xml:base='.'/>", id="of another name space's entries"),
    ],
)
def test_bases_of_urls_end_the_file_past_a_bound(unit: str) -> None:
    base = f"http://h/{'b/' * 1_000}"
    feed = f"<feed xmlns='http://www.w3.org/2005/Atom' xmlns:e='x' xml:base='{base}'><entry>"
    values, reading = read(feed + unit * 2_000 + "</entry></feed>", Limits(max_joined_chars=MIB))
    assert reading.problem == "too many bases of URLs"
    assert {value.loc for value in values} <= {f"{base}x"}
    assert len(values) < MIB // len(base)


def test_a_link_longer_than_any_location_is_not_joined() -> None:
    long = "../" * 40_000
    values, reading = read(f"<feed xml:base='http://h/'><entry><link href='{long}'/></entry></feed>")
    assert (values, reading.skipped) == ([], 1)


# what stands at the end of a block, in ISO-2022-JP
@pytest.mark.parametrize("length", range(1, 20))
@pytest.mark.parametrize("filler", [b"(", b"$", b"\x1b", b"a"])
def test_an_escape_without_an_end_is_a_fault_of_the_text_and_loses_no_entry(filler: bytes, length: int) -> None:
    head = b"<?xml version='1.0' encoding='iso-2022-jp'?><urlset><url><loc>a</loc></url>"
    block = head.ljust(65_536 - length) + b"\x1b" + filler * (length - 1)
    values, _ = read(block + b"((<url><loc>b</loc></url></urlset>")
    assert [value.loc for value in values] == ["a", "b"]
    assert [value.loc for value in read(head + b"\x1b" + filler * length)[0]] == ["a"]


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def growth(parts: Iterable[bytes], limits: Limits | None = None) -> tuple[int, SitemapReading]:
    """By how many bytes the process grew while it read, and the reading."""
    seen = [resident_bytes()]
    reading = SitemapReading(Parts(parts, lambda: seen.append(resident_bytes())), limits=limits)
    for _ in reading:
        pass
    return max(seen) - seen[0], reading


FEW_MIB = 16
FEW = Limits(max_bytes=FEW_MIB * MIB)  # the same as with 50 MiB, in a third of the time


def flood(start: bytes, unit: bytes) -> Iterator[bytes]:
    """`start`, then more of the unit, again and again, than is read."""
    block = unit * (MIB // len(unit))
    return chain([start], repeat(block, FEW_MIB + 4))


def fresh(written: str) -> Iterator[bytes]:
    """As `flood`, of units that differ."""
    return chain(
        [b"<urlset>"],
        ("".join(written.format(n) for n in range(at, at + 1000)).encode() for at in range(0, 10**7, 1000)),
    )


on_linux = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
IMAGE = "<image:image><image:loc>https://h/image.jpg</image:loc></image:image>"


@pytest.mark.faults
@on_linux
def test_many_urls_take_constant_memory() -> None:
    unit = f"<url><loc>https://h/{'x' * 80}</loc><lastmod>2024-05-06</lastmod>{IMAGE * 9}</url>\n".encode()
    head = f"<urlset {NS} {EXTENSIONS}>".encode()
    growth([head, unit, b"</urlset>"])  # what is loaded once
    grown, reading = growth(chain([head], repeat(unit, 20_000), [b"</urlset>"]))
    assert (reading.entries, reading.problem) == (20_000, None)
    assert len(unit) * 20_000 > 14 * MIB
    assert grown < 4 * MIB


@pytest.mark.faults
def test_python_holds_little_of_it() -> None:
    unit = b"<url><loc>https://h/a</loc><lastmod>2024-05-06</lastmod><priority>0.5</priority></url>\n"
    stream = Parts(chain([b"<urlset>"], repeat(unit * 700, 20)))
    tracemalloc.start()
    try:
        entries = len([None for _ in SitemapReading(stream)])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert entries == 14_000
    assert peak < 2 * MIB, "150 bytes an entry"


CUT = "cut where "


# parts, problem
@pytest.mark.faults
@on_linux
@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        pytest.param(lambda: flood(b"<urlset><url><loc>", b"x"), CUT, id="one text"),
        pytest.param(
            lambda: flood(b"<urlset><url><loc><![CDATA[", b"a line & <b>words</b>\n"),
            CUT,
            id="one CDATA section",
        ),
        pytest.param(lambda: flood(b"<urlset><!--", b"x"), CUT, id="one comment"),
        pytest.param(lambda: flood(b"<urlset><?x ", b"x"), CUT, id="one instruction"),
        pytest.param(lambda: flood(b"<!DOCTYPE ", b"x"), CUT, id="one document type"),
        pytest.param(lambda: flood(b"", b" "), CUT, id="blanks"),
        pytest.param(lambda: flood(b"http://h/", b"x"), CUT, id="one line"),
        pytest.param(lambda: flood(b"<urlset>", b"<a>"), "elements nested over 60,000 deep", id="depth"),
        pytest.param(lambda: flood(b"<urlset><a b='", b"x"), "a tag of over 128 KiB", id="one attribute"),
        pytest.param(lambda: flood(b"<urlset><", b"x"), "a tag of over 128 KiB", id="one name"),
        pytest.param(
            lambda: chain([b"<urlset><a"], (f" b{n}=''".encode() for n in range(10**6))),
            "a tag of over 128 KiB",
            id="a million attributes",
        ),
        pytest.param(lambda: fresh("<a{0}/>"), "too many names of elements and attributes", id="names of elements"),
        pytest.param(lambda: fresh("<a b{0}=''/>"), "too many names of elements and attributes", id="of attributes"),
        pytest.param(
            lambda: fresh("<a xmlns:b{0}='c'/>"), "too many names of elements and attributes", id="of name spaces"
        ),
        pytest.param(
            lambda: flood(b"<urlset>", b"</a>"), "not well-formed XML: Opening and ending tag mismatch", id="end tags"
        ),
    ],
)
def test_what_is_made_to_be_big_stays_small(parts: Callable[[], Iterator[bytes]], reason: str) -> None:
    grown, reading = growth(parts(), FEW)
    assert (reading.problem or "").startswith(reason)
    assert reading.entries == 0
    assert grown < 8 * MIB


def bomb(size: int) -> Iterator[bytes]:
    packer = zlib.compressobj(wbits=31)
    block = b"<a/>" * (MIB // 4)
    yield packer.compress(b"<urlset><url><loc>a</loc></url>")
    for _ in range(size // MIB):
        yield packer.compress(b" " * len(block))
    yield packer.flush()


@pytest.mark.faults
@on_linux
def test_a_bomb_stops_where_it_holds_nothing() -> None:
    parts = list(bomb(256 * MIB))
    assert sum(map(len, parts)) < MIB // 2
    for packing in (parts, [gzip.compress(b"".join(parts), mtime=0)]):
        grown, reading = growth(packing)
        assert (reading.entries, reading.problem) == (1, "cut where 4.1 MiB hold no entry")
        assert grown < 8 * MIB


@pytest.mark.parametrize("member", [b"", b"<"])
def test_a_gzip_file_of_nothing_but_members_is_given_up(member: bytes) -> None:
    stream = Parts(repeat(gzip.compress(member, mtime=0) * 1000))
    reading = SitemapReading(stream)
    assert list(reading) == []
    assert reading.problem == "cut where gzip holds next to nothing"
    assert stream.taken < 3 * MIB


def test_names_that_come_again_are_not_counted_again() -> None:
    body = f"<urlset {NS}>" + '<url xmlns=""><loc>a</loc><x:y xmlns:x="urn:x" z="1"/></url>' * 20_000 + "</urlset>"
    values, reading = read(body)
    assert (len(values), reading.problem) == (20_000, None)


def test_every_entry_may_lack_an_end() -> None:
    values, reading = read("<urlset>" + "<url><loc>a</url>" * 50_000)
    assert len(values) == 50_000
    assert reading.skipped == 0
