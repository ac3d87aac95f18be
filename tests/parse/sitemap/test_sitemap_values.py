"""The values of an entry, and sitemaps of any bytes."""

import gzip
import json
from datetime import UTC, datetime
from html import escape
from io import BytesIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.parse.sitemap.sitemap import Child, Entry, Limits, SitemapReading
from tests.examples import examples
from tests.parse.sitemap.streams import (
    FORMATS,
    Parts,
    locs,
    read,
    urlset,
)

# -- a JSON feed


def json_feed(*items: object, version: str = "1.1") -> bytes:
    return json.dumps({"version": f"https://jsonfeed.org/version/{version}", "items": items}).encode()


# the document, what its entries are (loc, lastmod_raw), items skipped, the problem
JSON_FEEDS = [
    (json_feed({"url": " https://a.test/1 ", "date_published": "2024-05-06T07:08:09Z"}),
     [("https://a.test/1", "2024-05-06T07:08:09Z")], 0, None),
    (json_feed({"url": "https://a.test/1", "date_published": "2023", "date_modified": "2024"}, version="1"),
     [("https://a.test/1", "2024")], 0, None),
    (json_feed({"url": "https://a.test/\ud83d"}), [("https://a.test/\ufffd", None)], 0, None),
    (json_feed({"url": 7}, [], None, {"external_url": "https://b.test/"}, {"url": "x" * 3000}), [], 5, None),
    (b'{"version":"https:\\/\\/jsonfeed.org\\/version\\/1.1","items":{"url":"x"}}', [], 0, None),
    (b"\xef\xbb\xbf\n" + json_feed({"url": "https://a.test/1", "date_modified": "x" * 1000}),
     [("https://a.test/1", "x" * 100)], 0, None),
    (json_feed({"url": "https://a.test/1"}).decode().encode("utf-16"), [("https://a.test/1", None)], 0, None),
    (json_feed({"url": "https://a.test/1"})[:-1], [], 0, "not a JSON document, or only the beginning of one"),
    (json_feed().replace(b"[]", b"[" * 10**5), [], 0, "not a JSON document, or only the beginning of one"),
    (json_feed().replace(b"[]", b"1" * 10**6), [], 0, None),
    (json_feed({"url": "https://a.test/1", "content_text": "x" * 2**23}), [], 0, "cut where 4.1 MiB hold no entry"),
    (json_feed(*[{}] * 10**6), [], 0, "a JSON document of over 200,000 brackets and commas"),
    (b'{"version": "https://example.org/version/1", "items": []}', [], 1, "neither XML nor a list of URLs"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "entries", "skipped", "problem"), JSON_FEEDS, ids=range(len(JSON_FEEDS)))
def test_a_json_feed(body: bytes, entries: list[tuple[str, str | None]], skipped: int, problem: str | None) -> None:
    reading = SitemapReading(BytesIO(body))
    found = [(each.loc, each.lastmod_raw) for each in reading]
    assert (found, reading.skipped, reading.problem) == (entries, skipped, problem)


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


def held(values: list[Entry | Child], reading: SitemapReading, limits: Limits) -> None:
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
    parted = SitemapReading(Parts(body[at : at + size] for at in range(0, len(body), size)), limits=limits)
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


# the base of the feed, of its entry, of its link; the link; what is read
BASES = [
    ("https://h/log/", "", "", "a", "https://h/log/a"),
    ("https://h/log/", "2024/", "05/", "a", "https://h/log/2024/05/a"),
    ("https://h/log/", "/other/", "", "a?b", "https://h/other/a?b"),
    ("https://h/log/", "", "", "https://b/a", "https://b/a"),
    ("log/", "", "", "a", "log/a"),  # relative to the file
    ("", "", "https://h/", "a", "https://h/a"),
    ("http://[::1/", "", "", "a", "a"),
    ("https://h/" + "x" * 3_000 + "/", "", "", "a", "a"),
]


@pytest.mark.parametrize(("feed", "entry", "link", "href", "loc"), BASES, ids=range(len(BASES)))
def test_links_of_atom_are_relative_to_their_base(feed: str, entry: str, link: str, href: str, loc: str) -> None:
    """RFC 4287, section 2. The next entry has the feed's again."""
    feed, entry, link = (f'xml:base="{each}"' if each else "" for each in (feed, entry, link))
    last = "<entry><link href='https://h/last'/></entry>"
    body = f'<feed xmlns="http://www.w3.org/2005/Atom" {feed}><entry {entry}><link {link} href="{href}"/></entry>{last}'
    assert locs(f"{body}</feed>") == [loc, "https://h/last"]
