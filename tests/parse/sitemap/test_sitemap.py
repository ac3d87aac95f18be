"""Sitemaps are read as streams: every format, any bytes, constant memory."""

import gzip
import io
import random
import tracemalloc
import zlib
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from html import escape
from itertools import chain, repeat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.parse.sitemap.sitemap import Child, Entry, Limits, Reading, SitemapKind
from tests.examples import examples

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


def read(body: bytes | str, limits: Limits | None = None) -> tuple[list[Entry | Child], Reading]:
    reading = Reading(io.BytesIO(body.encode() if isinstance(body, str) else body), limits=limits)
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
FORMAT_ROWS = [pytest.param(*row, id=name) for name, *row in FORMATS]


@pytest.mark.parametrize(("body", "kind", "expected"), FORMAT_ROWS)
def test_each_format_says_what_is_written(body: str, kind: SitemapKind, expected: list[Entry | Child]) -> None:
    values, reading = read(body)
    assert values == expected
    assert (reading.kind, reading.entries, reading.problem) == (kind, len(expected), None)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
@pytest.mark.parametrize(("body", "kind", "expected"), FORMAT_ROWS)
def test_how_a_stream_is_cut_into_reads_changes_nothing(
    body: str, kind: SitemapKind, expected: list[Entry | Child], size: int
) -> None:
    for written in (body.encode(), gzip.compress(body.encode(), mtime=0)):
        reading = Reading(Parts(written[at : at + size] for at in range(0, len(written), size)))
        assert list(reading) == expected
        assert reading.kind is kind


def test_a_reading_is_iterated_once_and_tells_what_it_has_read_so_far() -> None:
    reading = Reading(io.BytesIO(URLSET.encode()))
    assert (reading.kind, reading.entries) == (SitemapKind.UNKNOWN, 0)
    next(iter(reading))
    assert (reading.kind, reading.entries) == (SitemapKind.URLSET, 1)
    assert len(list(reading)) == 1
    assert list(reading) == []


def test_skipped_items_are_counted() -> None:
    assert read(RSS)[1].skipped == 2
    assert read(TEXT)[1].skipped == 2
    assert read(urlset("<loc>a</loc>", "", "<loc> </loc>", "<lastmod>2024</lastmod>"))[1].skipped == 3


# -- packing


def packed(body: str, times: int) -> bytes:
    raw = body.encode()
    for _ in range(times):
        raw = gzip.compress(raw, mtime=0)
    return raw


@pytest.mark.parametrize("times", [0, 1, 2])
def test_gzip_is_known_by_its_bytes_at_most_twice_over(times: int) -> None:
    assert locs(packed(URLSET, times)) == ["https://h/a", "https://h/b?x=1&y=2"]


def test_what_is_packed_three_times_is_no_sitemap() -> None:
    values, reading = read(packed(URLSET, 3))
    assert values == []
    assert reading.problem == "binary: neither XML nor a list of URLs"


def test_all_members_of_a_gzip_file_are_read() -> None:
    middle = len(URLSET) // 2
    members = gzip.compress(URLSET[:middle].encode(), mtime=0) + gzip.compress(URLSET[middle:].encode(), mtime=0)
    assert read(members)[0] == FORMATS[0][3]
    assert problem(members + b"\0" * 512) is None  # tapes pad so
    assert (locs(members + b"rubbish"), problem(members + b"rubbish")) == (locs(URLSET), "gzip stream is broken")


def many(count: int, size: int = 0) -> str:
    """Locations that do not pack well."""
    noise = random.Random(1)
    return urlset(*(f"<loc>https://h/{n}/{noise.randbytes(16 + size).hex()}</loc>" for n in range(count)))


def test_a_gzip_file_that_is_cut_gives_what_came_before() -> None:
    body = gzip.compress(many(5000).encode(), mtime=0)
    found, reading = read(body[: len(body) * 3 // 4])
    assert reading.problem == "gzip stream is cut"
    assert 3000 < len(found) < 5000
    assert [value.loc for value in found] == locs(body)[: len(found)]
    assert (locs(body[:-4]), problem(body[:-4])) == (locs(body), "gzip stream is cut")


def test_a_gzip_file_that_is_broken_gives_what_came_before() -> None:
    body = bytearray(gzip.compress(many(5000).encode(), mtime=0))
    body[-5] ^= 0xFF  # of the check sum: all is there
    assert (locs(bytes(body)), problem(bytes(body))) == (locs(many(5000)), "gzip stream is broken")


def test_where_gzip_is_broken_little_before_is_lost() -> None:
    body = bytearray(gzip.compress(many(5000).encode(), mtime=0))
    half = len(body) // 2
    body[half : half + 64] = b"\xff" * 64
    values, reading = read(bytes(body))
    assert reading.problem is not None
    assert locs(many(5000))[:2300] == [value.loc for value in values][:2300]


def test_text_that_is_cut_loses_its_half_line() -> None:
    body = "https://h/aaaa\nhttps://h/bbbb\nhttps://h/cccc"
    assert locs(body) == ["https://h/aaaa", "https://h/bbbb", "https://h/cccc"]
    assert locs(body, Limits(max_bytes=40)) == ["https://h/aaaa", "https://h/bbbb"]


# -- limits


@pytest.mark.parametrize("body", ["\n".join(f"http://h/{n}" for n in range(4)), urlset(*["<loc>a</loc>"] * 4)])
def test_more_entries_than_allowed_are_cut(body: str) -> None:
    # entries allowed, entries read, problem
    for allowed, count, reason in [(5, 4, None), (4, 4, None), (3, 3, "cut at 3 URLs"), (1, 1, "cut at 1 URL")]:
        values, reading = read(body, Limits(max_entries=allowed))
        assert (len(values), reading.entries, reading.problem) == (count, count, reason)


def test_the_protocols_limits_are_the_defaults() -> None:
    assert Limits() == Limits(max_entries=50_000, max_bytes=52_428_800, max_loc_chars=2083)
    values, reading = read(urlset(*["<loc>a</loc>"] * 50_001))
    assert (len(values), reading.problem) == (50_000, "cut at 50,000 URLs")


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lambda body: gzip.compress(gzip.compress(body), mtime=0)])
def test_more_bytes_than_allowed_are_cut(pack: Callable[[bytes], bytes]) -> None:
    body = urlset(*["<loc>aaaa</loc>"] * 100_000).encode()
    values, reading = read(pack(body), Limits(max_bytes=MIB))
    assert reading.problem == "cut at 1 MiB"
    assert len(values) == (MIB - len("<urlset>")) // len("<url><loc>aaaa</loc></url>")
    assert problem(pack(URLSET.encode()), Limits(max_bytes=len(URLSET))) is None


@pytest.mark.parametrize("written", ["<urlset><url><loc>{}</loc></url></urlset>", "http://h/\n{}\n", "{}"])
def test_locations_that_are_too_long_are_skipped(written: str) -> None:
    whole, long = "http://h/" + "x" * 2074, "http://h/" + "x" * 2075
    assert locs(written.format(whole))[-1] == whole
    assert locs(written.format(f" \n{whole} \n ").strip())[-1] == whole
    values, reading = read(written.format(long))
    assert all(value.loc == "http://h/" for value in values)
    assert reading.skipped == 1


def test_a_long_link_of_atom_or_guid_of_rss_is_skipped_too() -> None:
    long = "http://h/" + "x" * 2075
    for body in (f"<feed><entry><link href='{long}'/></entry></feed>", f"<rss><item><guid>{long}</guid></item></rss>"):
        values, reading = read(body)
        assert (values, reading.skipped) == ([], 1)


@pytest.mark.parametrize("line", ["<url/>", "nothing\n", "<url><loc/></url>"])
def test_a_file_without_locations_is_given_up(line: str) -> None:
    stream = Parts(chain([b"" if "<" not in line else b"<urlset>"], repeat(line.encode() * 1000)))
    reading = Reading(stream)
    assert list(reading) == []
    assert reading.problem == "over 50,000 items without a usable location"
    assert stream.taken < 2 * MIB


# -- text


# bytes of a line, the location
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"http://h/caf\xc3\xa9", "http://h/café"),
        (b"http://h/caf\xe9", "http://h/café"),
        (b"\xc2\xa0http://h/a\xe2\x80\x80", "http://h/a"),
    ],
)
def test_text_is_utf8_line_by_line_or_latin_1(line: bytes, expected: str) -> None:
    assert locs(b"http://h/\xc3\xa9\n" + line + b"\n" + b"http://h/\xc3\xbc") == ["http://h/é", expected, "http://h/ü"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("body", [URLSET, TEXT])
def test_wide_encodings_and_marks_are_understood(body: str, encoding: str) -> None:
    assert locs(body.lstrip("\ufeff").encode(encoding)) == locs(body)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "empty"),
        (b" \r\n\t ", "empty"),
        (gzip.compress(b"", mtime=0), "empty"),
        (b"this is no sitemap", "neither XML nor a list of URLs"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary: neither XML nor a list of URLs"),
        (b"http://h/a\nhttp://h/b\0\n", "binary: neither XML nor a list of URLs"),
        (bytes(range(1, 60)), "neither XML nor a list of URLs"),
        (b'{"urls": ["http://h/"]}', "neither XML nor a list of URLs"),
    ],
)
def test_what_is_no_text_of_urls_gives_nothing(body: bytes, reason: str) -> None:
    values, reading = read(body)
    assert (values, reading.kind, reading.problem) == ([], SitemapKind.UNKNOWN, reason)


# -- XML

NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
EXTENSIONS = (
    'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" xmlns:video="http://www.google.com/schemas/sitemap-video/1.1" '
    'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml"'
)


# body, locations
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(f"<urlset {NS}><url><loc>a</loc></url></urlset>", ["a"], id="the name space"),
        pytest.param('<urlset xmlns="urn:wrong"><url><loc>a</loc></url></urlset>', ["a"], id="another"),
        pytest.param(
            f"<s:urlset {NS.replace('=', ':s=')}><s:url><s:loc>a</s:loc></s:url></s:urlset>", ["a"], id="a prefix"
        ),
        pytest.param("<s:urlset><s:url><s:loc>a</s:loc></s:url></s:urlset>", ["a"], id="a prefix that is not declared"),
        pytest.param(f'<urlset {NS}><url xmlns=""><loc>a</loc></url></urlset>', ["a"], id="one that changes"),
        pytest.param("<URLSET><Url><LOC>a</LOC></Url></URLSET>", ["a"], id="capitals"),
        pytest.param(
            "\ufeff \n\t<?xml version='1.0'?><urlset><url><loc>a</loc></url></urlset>", ["a"], id="blanks before"
        ),
        pytest.param(
            urlset("<loc>\n\u00a0 a \u2000</loc>", "<loc>a b</loc>"), ["a", "a b"], id="Unicode's white space"
        ),
        pytest.param(urlset("<loc><![CDATA[a?b=1&c=2]]></loc>"), ["a?b=1&c=2"], id="CDATA"),
        pytest.param(
            urlset("<loc>a<![CDATA[<b>]]]]><![CDATA[>&amp;]]>&lt;</loc>"), ["a<b>]]>&amp;<"], id="CDATA in parts"
        ),
        pytest.param(urlset("<loc>&#104;&#x2f;&amp;&quot;&apos;&gt;</loc>"), ["h/&\"'>"], id="references"),
        pytest.param(
            urlset("<loc>a<!-- <loc>b</loc> & --\n-->c<?pi > <loc> ?>d</loc>"), ["acd"], id="comments, instructions"
        ),
        pytest.param(
            urlset("<loc>../a</loc>", "<loc>?b</loc>", "<loc>//h/c</loc>"), ["../a", "?b", "//h/c"], id="relative"
        ),
        pytest.param(urlset("<priority>1</priority><loc>a</loc>"), ["a"], id="another order"),
        pytest.param(
            "<x:urlset xmlns:x='u'><x:url><x:loc>a</x:loc><loc>b</loc></x:url></x:urlset>", ["a"], id="loc of others"
        ),
        pytest.param(
            "<urlset><sitemap><loc>a</loc></sitemap><url><loc>b</loc></url></urlset>", ["a", "b"], id="wrong root"
        ),
        pytest.param("<sitemapindex><url><loc>a</loc></url></sitemapindex>", ["a"], id="wrong root of an index"),
        pytest.param("<urlset><group><url><loc>a</loc></url></group></urlset>", ["a"], id="deeper"),
        pytest.param("<urlset><loc>a</loc><url><x><loc>b</loc></x></url></urlset>", [], id="loc of no url"),
        pytest.param("<urlset><item><link>a</link></item></urlset>", [], id="items of another kind"),
    ],
)
def test_xml_is_read_leniently(body: str, expected: list[str]) -> None:
    assert locs(body) == expected


def test_a_url_under_the_wrong_root_is_what_its_element_says() -> None:
    assert read("<urlset><sitemap><loc>a</loc></sitemap></urlset>")[0] == [Child(loc="a")]


def test_extensions_are_not_taken_for_locations() -> None:
    body = f"""<urlset {NS} {EXTENSIONS}><url><image:loc>no</image:loc>
      <image:image><image:loc>no</image:loc><loc>no</loc></image:image>
      <video:video><video:content_loc>no</video:content_loc><video:url>no</video:url></video:video>
      <news:news><news:publication_date>1999-01-01</news:publication_date></news:news><news:lastmod>1999</news:lastmod>
      <xhtml:link rel="alternate" hreflang="de" href="no"/><loc>a</loc><lastmod>2024</lastmod></url></urlset>"""
    values, reading = read(body)
    assert values == [Entry(loc="a", lastmod=datetime(2024, 1, 1, tzinfo=UTC), lastmod_raw="2024")]
    assert (reading.skipped, reading.problem) == (0, None)


def test_extensions_without_a_declaration_are_not_either() -> None:
    assert locs(urlset("<image:image><image:loc>no</image:loc></image:image><loc>a</loc>")) == ["a"]


# declared encoding, bytes of the location, the location
@pytest.mark.parametrize(
    ("declaration", "raw", "expected"),
    [
        ("", "é".encode(), "é"),
        ("", b"\xe9", "é"),  # not declared, not UTF-8
        ("utf-8", b"x\xff", "x\ufffd"),
        ("ISO-8859-1", b"\xe9", "é"),
        ("windows-1251", b"\xff", "я"),
        ("Shift_JIS", b"\x82\xa0", "あ"),
        ("GB2312", b"\xc4\xe3", "你"),
        ("utf-16", "é".encode(), "é"),  # it would not be readable if it were
        ("unicode_escape", rb"\u0041", r"\u0041"),
        ("no-such", "é".encode(), "é"),
    ],
)
def test_the_declared_encoding_counts(declaration: str, raw: bytes, expected: str) -> None:
    head = f'<?xml version="1.0" encoding="{declaration}"?>'.encode() if declaration else b""
    assert locs(head + b"<urlset><url><loc>" + raw + b"</loc></url></urlset>") == [expected]


# body, locations, whether there is a problem
@pytest.mark.parametrize(
    ("body", "expected", "is_fault"),
    [
        pytest.param(urlset("<loc>a?x=1&y=2&copy;=3&</loc>"), ["a?x=1&y=2&copy;=3&"], False, id="bare &"),
        pytest.param(urlset("<loc>a < b <3</loc>", "<loc>c</loc>"), ["a < b <3", "c"], False, id="bare <"),
        pytest.param(urlset("<loc>a]]>b</loc>", "<loc>c</loc>"), ["a]]>b", "c"], False, id="]]>"),
        pytest.param(urlset("<loc>a\x08b\x00c</loc>"), ["abc"], False, id="control characters"),
        pytest.param(
            urlset("<loc>a&#0;&#xD800;&#x110000;&#1;b</loc>"), ["a\ufffd\ufffd\ufffdb"], False, id="no characters"
        ),
        pytest.param("<urlset><url><loc>a</loc></url><url><loc>b", ["a"], True, id="cut in a location"),
        pytest.param("<urlset><url><loc>a</loc></url><url><loc>b</lo", ["a", "b"], True, id="cut behind one"),
        pytest.param("<urlset><url><loc>a</loc><lastmod>20", ["a"], True, id="cut in a date"),
        pytest.param("<urlset><url><loc>a</loc></url>", ["a"], True, id="no end of the root"),
        pytest.param(
            "<urlset><url><loc>a</loc></url></url><url><loc>b</loc></url></urlset>", ["a", "b"], True, id="</url> twice"
        ),
        pytest.param(urlset("<loc>a</url><url><loc>b</loc>"), ["a", "b"], True, id="loc not closed"),
        pytest.param(
            urlset("<loc>a<lastmod>2024</lastmod>", "<loc>b</loc>"), ["a", "b"], True, id="loc not closed, lastmod"
        ),
        pytest.param(urlset("<loc>a</loc><url><loc>b</loc>"), ["a", "b"], True, id="url not closed"),
        pytest.param(urlset("<loc>a<url><loc>b</loc>"), ["a", "b"], True, id="url and loc not closed"),
        pytest.param(urlset("<loc>a</loc>") * 3, ["a"] * 3, False, id="three files in one"),
        pytest.param(("<?xml version='1.0'?>" + urlset("<loc>a</loc>")) * 2, ["a"] * 2, False, id="with declarations"),
        pytest.param(urlset("<loc>a</loc><loc>b</loc>"), ["a", "b"], False, id="two locations in a url"),
        pytest.param(urlset("<loc><url>a</url></loc>"), ["a"], False, id="url in loc"),
        pytest.param("<urlset><url><loc>a</loc></url><!-- never", ["a"], True, id="a comment without an end"),
        pytest.param("<urlset><url><loc>a</loc></url><url x='", ["a"], True, id="an attribute without an end"),
        pytest.param("<urlset><url><loc>a</loc><x y=z w/><é/></url></urlset>", ["a"], True, id="bad attributes"),
        pytest.param("<urlset><url><loc>a</loc></url>\n<br>sorry</html>", ["a"], True, id="an error page behind"),
    ],
)
def test_malformed_xml_gives_what_can_be_read(body: str, expected: list[str], is_fault: bool) -> None:
    values, reading = read(body)
    assert [value.loc for value in values] == expected
    assert (reading.problem is not None) is is_fault
    assert "\n" not in (reading.problem or "")


def test_fields_stay_with_their_location() -> None:
    at = "<lastmod>{}</lastmod>".format
    body = urlset(f"<loc>a</loc>{at(2001)}{at(2009)}<loc>b</loc><loc>c</loc>{at(2003)}", "<loc>d</loc>")
    assert [(value.loc, value.lastmod_raw) for value in read(body)[0]] == [
        ("a", "2001"),
        ("b", None),
        ("c", "2003"),
        ("d", None),
    ]


# body, problem
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("<!doctype html><html><body><a href='/'>x</a>", "no sitemap: its first element is <html>"),
        ("<html xmlns='http://www.w3.org/1999/xhtml'/>", "no sitemap: its first element is <html>"),
        (f"<{'x' * 500}/>", f"no sitemap: its first element is <{'x' * 40}>"),
        ("<!-- nothing -->", "no element in it"),
        ("< urlset>", "no element in it"),
        (urlset("", ""), "none of 2 items has a usable location"),
        ("<urlset><url></urlset>", "not well-formed XML: Opening and ending tag mismatch: url and urlset"),
        ("<urlset><url>", "ends before its last element does"),
        ("<urlset><![CDATA[", "not well-formed XML: <![CDATA[ without an end"),
        (urlset("<loc>a</loc>"), None),
        (urlset(), None),
    ],
)
def test_the_problem_is_a_line_for_a_person(body: str, reason: str | None) -> None:
    assert problem(body) == reason


# -- danger

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


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def growth(parts: Iterable[bytes], limits: Limits | None = None) -> tuple[int, Reading]:
    """By how many bytes the process grew while it read, and the reading."""
    seen = [resident_bytes()]
    reading = Reading(Parts(parts, lambda: seen.append(resident_bytes())), limits=limits)
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


@on_linux
def test_many_urls_take_constant_memory() -> None:
    unit = f"<url><loc>https://h/{'x' * 80}</loc><lastmod>2024-05-06</lastmod>{IMAGE * 9}</url>\n".encode()
    head = f"<urlset {NS} {EXTENSIONS}>".encode()
    growth([head, unit, b"</urlset>"])  # what is loaded once
    grown, reading = growth(chain([head], repeat(unit, 20_000), [b"</urlset>"]))
    assert (reading.entries, reading.problem) == (20_000, None)
    assert len(unit) * 20_000 > 14 * MIB
    assert grown < 4 * MIB


def test_python_holds_little_of_it() -> None:
    unit = b"<url><loc>https://h/a</loc><lastmod>2024-05-06</lastmod><priority>0.5</priority></url>\n"
    stream = Parts(chain([b"<urlset>"], repeat(unit * 700, 20)))
    tracemalloc.start()
    try:
        entries = len([None for _ in Reading(stream)])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert entries == 14_000
    assert peak < 2 * MIB, "150 bytes an entry"


CUT = f"cut at {FEW_MIB} MiB"


# parts, problem
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


@on_linux
def test_a_bomb_stops_at_the_limit() -> None:
    parts = list(bomb(256 * MIB))
    assert sum(map(len, parts)) < MIB // 2
    for packing in (parts, [gzip.compress(b"".join(parts), mtime=0)]):
        grown, reading = growth(packing)
        assert (reading.entries, reading.problem) == (1, "cut at 50 MiB")
        assert grown < 8 * MIB


@pytest.mark.parametrize("member", [b"", b"<"])
def test_a_gzip_file_of_nothing_but_members_is_given_up(member: bytes) -> None:
    stream = Parts(repeat(gzip.compress(member, mtime=0) * 1000))
    reading = Reading(stream)
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


# -- values


# written, the instant in UTC (None: senseless)
@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2024", "2024-01-01T00:00:00"),
        ("2024-05", "2024-05-01T00:00:00"),
        ("2024-05-06", "2024-05-06T00:00:00"),
        ("2024-05-06T07:08Z", "2024-05-06T07:08:00"),
        ("2024-05-06T07:08:09Z", "2024-05-06T07:08:09"),
        ("2024-05-06T07:08:09+02:00", "2024-05-06T05:08:09"),
        ("2024-05-06T23:08:09-02:00", "2024-05-07T01:08:09"),
        ("2024-05-06T07:08:09.5+00:00", "2024-05-06T07:08:09.500000"),
        ("2024-05-06T07:08:09.123456789Z", "2024-05-06T07:08:09.123456"),
        ("2024-05-06T07:08:09", "2024-05-06T07:08:09"),
        ("2024-05-06 07:08:09", "2024-05-06T07:08:09"),
        ("2024-05-06 07:08:09 +0200", "2024-05-06T05:08:09"),
        ("2024-05-06 07:08:09 UTC", "2024-05-06T07:08:09"),
        ("2024-05-06t07:08:09z", "2024-05-06T07:08:09"),
        ("20240506", "2024-05-06T00:00:00"),
        ("Mon, 06 May 2024 07:08:09 GMT", "2024-05-06T07:08:09"),
        ("Mon, 06 May 2024 07:08:09 -0500", "2024-05-06T12:08:09"),
        ("06 May 24 07:08:09 EST", "2024-05-06T12:08:09"),
        ("06 May 2024 07:08", "2024-05-06T07:08:00"),
        ("2099-12-31", "2099-12-31T00:00:00"),
        ("1990-01-01", "1990-01-01T00:00:00"),
        ("1989-12-31", None),
        ("1970-01-01T00:00:00Z", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("2101-01-01", None),
        ("9999-12-31T23:59:59-14:00", None),
        ("0000-00-00", None),
        ("2024-13-01", None),
        ("2024-02-30", None),
        ("2024-05-06+02:00", None),
        ("2024-05-06T25:00Z", None),
        ("2024-05-06T07:08:09+99:99", None),
        ("05/06/2024", None),
        ("1714979289", None),
        ("٢٠٢٤-٠٥-٠٦", None),
        ("yesterday", None),
        ("now()", None),
    ],
)
def test_lastmod_is_an_instant_or_nothing_and_kept_as_written(written: str, expected: str | None) -> None:
    (value,), _ = read(urlset(f"<lastmod> {written}\n</lastmod><loc>a</loc>"))
    assert value.lastmod_raw == written
    assert value.lastmod == (datetime.fromisoformat(expected).replace(tzinfo=UTC) if expected else None)
    assert value.lastmod is None or value.lastmod.utcoffset() is not None


@pytest.mark.parametrize("empty", ["<lastmod/>", "<lastmod></lastmod>", "<lastmod> </lastmod>", ""])
def test_an_empty_lastmod_is_none(empty: str) -> None:
    assert read(urlset(f"<loc>a</loc>{empty}"))[0] == [Entry(loc="a")]


# written, priority
@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("0", 0.0),
        ("1.0", 1.0),
        (" .5\n", 0.5),
        ("1.1", None),
        ("-1", None),
        ("nan", None),
        ("1e9", None),
        ("inf", None),
        ("x", None),
    ],
)
def test_priority_is_a_share_or_nothing(written: str, expected: float | None) -> None:
    assert read(urlset(f"<loc>a</loc><priority>{written}</priority>"))[0] == [Entry(loc="a", priority=expected)]


def test_other_fields_are_cut() -> None:
    body = urlset(f"<loc>a</loc><lastmod>{'x' * 999}</lastmod><changefreq>{'y' * 101}</changefreq>")
    assert read(body)[0] == [Entry(loc="a", lastmod_raw="x" * 100, changefreq="y" * 100)]


# -- whatever comes

BODIES = [body.encode() for _, body, *_ in FORMATS]
TOKENS = [
    *(
        b"<",
        b">",
        b"&",
        b"</",
        b"<url>",
        b"</url>",
        b"<loc>",
        b"</loc>",
        b"<![CDATA[",
        b"]]>",
        b"<!--",
        b"-->",
        b"<?",
        b"?>",
    ),
    *(
        b"<!DOCTYPE a>",
        b'<!DOCTYPE a [<!ENTITY x "y">]>',
        b"&x;",
        b"&#0;",
        b"&#xD800;",
        b"&amp;",
        b'"',
        b"'",
        b"=",
        b":",
    ),
    *(
        b'xmlns="u"',
        b"<a:b:c>",
        b"<:>",
        b"\0",
        b"\x08",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xed\xa0\x80",
        b"\xef\xbf\xbf",
        b"\xcc\x81",
    ),
    *(b'<?xml version="1.0" encoding="iso-2022-jp"?>', b"<lastmod>", b'<link href="', b"\xff\xfe", b"\n"),
]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A good file with a few bad places, maybe packed and cut."""
    body = draw(st.sampled_from(BODIES))
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(body)))
        gone = draw(st.integers(0, 20))
        body = body[:at] + draw(st.sampled_from(TOKENS) | st.binary(max_size=8)) + body[at + gone :]
    if draw(st.booleans()):
        body = gzip.compress(body, mtime=0)
        body = body[: draw(st.integers(0, len(body)))] + draw(
            st.sampled_from([b"", b"\0\0", b"x", gzip.compress(b"y", mtime=0)])
        )
    return body


LIMITS = st.builds(
    Limits, max_entries=st.integers(0, 5), max_bytes=st.integers(0, 2000), max_loc_chars=st.integers(1, 30)
) | st.just(Limits())


def held(values: list[Entry | Child], reading: Reading, limits: Limits) -> None:
    assert reading.entries == len(values) <= limits.max_entries
    assert reading.problem is None or (reading.problem and len(reading.problem) < 300 and "\n" not in reading.problem)
    for value in values:
        assert value.loc
        assert value.loc == value.loc.strip()
        assert len(value.loc) <= limits.max_loc_chars
        assert "\0" not in value.loc + (value.lastmod_raw or "")
        value.loc.encode()  # no lone surrogates
        assert value.lastmod is None or (value.lastmod_raw and 1990 <= value.lastmod.year <= 2100)


@given(body=mutated() | st.binary(max_size=200), limits=LIMITS, size=st.integers(1, 100))
@settings(max_examples=examples(400), deadline=None)
def test_nothing_is_raised_whatever_comes(body: bytes, limits: Limits, size: int) -> None:
    values, reading = read(body, limits)
    held(values, reading, limits)
    parted = Reading(Parts(body[at : at + size] for at in range(0, len(body), size)), limits=limits)
    found = list(parted)
    assert parted.problem == reading.problem
    assert (found, parted.kind, parted.skipped) == (values, reading.kind, reading.skipped)


WRITABLE = st.characters(
    blacklist_categories=["Cs", "Cc", "Cn"], blacklist_characters="\ufffd"
)  # it may stand for an error


@given(written=st.lists(st.text(WRITABLE, min_size=1, max_size=20).filter(str.strip), max_size=8), data=st.data())
@settings(max_examples=examples(200), deadline=None)
def test_what_was_written_is_what_is_read(written: list[str], data: st.DataObject) -> None:
    def spelt(loc: str) -> str:
        forms = [escape(loc), "".join(f"&#{ord(c)};" if c < "\x80" else c for c in loc)]
        if "]]>" not in loc:
            forms.append(f"<![CDATA[{loc}]]>")
        return data.draw(st.sampled_from(forms)) + data.draw(st.sampled_from(["", "<!-- <loc> & -->", "<?x <loc>?>"]))

    assert locs(urlset(*(f"<loc>{spelt(loc)}</loc>" for loc in written))) == [loc.strip() for loc in written]


@given(written=st.text(max_size=40))
@settings(max_examples=examples(300), deadline=None)
def test_any_lastmod_is_survived(written: str) -> None:
    values, reading = read(urlset(f"<loc>a</loc><lastmod>{escape(written)}</lastmod>").encode("utf-8", "surrogatepass"))
    held(values, reading, Limits())
    assert [value.loc for value in values] == ["a"]
