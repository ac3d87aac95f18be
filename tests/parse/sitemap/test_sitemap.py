"""Sitemaps are read as streams: every format, packed or not, within limits."""

import gzip
import io
from collections.abc import Callable
from itertools import chain, repeat

import pytest

from app.parse.sitemap.sitemap import Child, Entry, Limits, SitemapKind, SitemapReading
from tests.parse.sitemap.streams import (
    FORMATS,
    MIB,
    RSS,
    TEXT,
    URLSET,
    Parts,
    locs,
    many,
    packed,
    problem,
    read,
    urlset,
)

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
        reading = SitemapReading(Parts(written[at : at + size] for at in range(0, len(written), size)))
        assert list(reading) == expected
        assert reading.kind is kind


def test_a_reading_is_iterated_once_and_tells_what_it_has_read_so_far() -> None:
    reading = SitemapReading(io.BytesIO(URLSET.encode()))
    assert (reading.kind, reading.entries) == (SitemapKind.UNKNOWN, 0)
    next(iter(reading))
    assert (reading.kind, reading.entries) == (SitemapKind.URLSET, 1)
    assert len(list(reading)) == 1
    assert list(reading) == []


def test_skipped_items_are_counted() -> None:
    assert read(RSS)[1].skipped == 2
    assert read(TEXT)[1].skipped == 2
    assert read(urlset("<loc>a</loc>", "", "<loc> </loc>", "<lastmod>2024</lastmod>"))[1].skipped == 3


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
    reading = SitemapReading(stream)
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


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
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
