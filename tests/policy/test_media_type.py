"""Media types: parsed as Fetch does, sniffed as MIME Sniffing does, and XML by its root element."""

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.parse.sitemap import elements
from app.policy import media_type

PAGE = b"<!DOCTYPE html><title>Harbour</title><p>Boats."
SPACE = b'xmlns="http://www.w3.org/1999/xhtml"'

# Content-Type, essence, charset
FIELDS = [
    ("text/html", "text/html", None),
    (" Text/HTML ; Charset=UTF-8 ", "text/html", "UTF-8"),
    ('text/html;charset="shift_jis"', "text/html", "shift_jis"),
    ('text/html;charset="shift\\_jis";charset=x', "text/html", "shift_jis"),
    ('text/html;a="x;charset=y";charset=z', "text/html", "z"),
    ("text/html;x;charset=z", "text/html", "z"),
    ("text/html;charset=", "text/html", None),
    ("application/octet-stream, text/html", "text/html", None),
    ("text/html;charset=gbk, text/plain", "text/plain", None),
    ("text/html;charset=gbk, text/html", "text/html", "gbk"),
    ("text/html;charset=gbk, text/html;charset=utf-8", "text/html", "utf-8"),
    ("text/html, nonsense", "text/html", None),
    ("text/html, */*", "text/html", None),
    ('text/plain;a="x, text/html"', "text/plain", None),
    ('text/html;"', "text/html", None),
    ("text/html, unknown/unknown", "", None),
    *((field, "", None) for field in ("", "html", '"text/html"', "*/*", "unknown/unknown", "application/unknown")),
    *((field, "", None) for field in ("text/", "/html", "text/ht ml", "text", ";", ",", "text/html x", None)),
    ("charset=utf-8", "", "utf-8"),
    ("text/html charset=utf-8", "", "utf-8"),
    ("html; charset='koi8-r'", "", "koi8-r"),
]


@pytest.mark.parametrize(("field", "essence", "charset"), FIELDS)
def test_fetch_extract_a_mime_type(field: str | None, essence: str, charset: str | None) -> None:
    assert (media_type.declared(field), media_type.charset_of(field)) == (essence, charset)


# the first octets of what has no usable type, essence
SNIFFED = [
    (PAGE, "text/html"),
    (b" \t\r\n\x0c<HTML>", "text/html"),
    (b"<body lang=en>", "text/html"),
    (b"<p>Boats", "text/html"),
    (b"<br/>", "text/html"),
    (b"<h1>Boats", "text/html"),
    (b"<!-- saved --> <html>", "text/html"),
    (b"\xef\xbb\xbf" + PAGE, "text/html"),
    (b"\xff\xfe" + PAGE.decode().encode("utf-16-le"), "text/html"),
    (b"<meta name=robots content=noindex>", "text/html"),
    (b"<preface>Boats", "text/plain"),
    (b"<harbour>", "text/plain"),
    (b"# Boats\n", "text/plain"),
    (b"\xef\xbb\xbfBoats", "text/plain"),
    (b"\xfe\xff" + "Boats".encode("utf-16-be"), "text/plain"),
    (b"", "text/plain"),
    (b"\x1b[1mBoats", "text/plain"),
    (b"Boats\x00", "application/octet-stream"),
    (b'<?xml version="1.0"?><rss>', "text/xml"),
    (b'<?xml version="1.0"?><html ' + SPACE + b">", "application/xhtml+xml"),
    (b"%PDF-1.7", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n<html>", "image/png"),
    (b"RIFF\x00\x00\x00\x00WEBPVP", "image/webp"),
    (b"\x00\x00\x00\x18ftypmp42", "video/mp4"),
    (gzip.compress(PAGE, mtime=0), "application/x-gzip"),
]


UNKNOWN = [None, "", "html", '"text/html"', "*/*", "unknown/unknown", "charset=utf-8"]


@pytest.mark.parametrize(("body", "essence"), SNIFFED)
def test_mime_sniffing_of_an_unknown_type(body: bytes, essence: str) -> None:
    assert {field: media_type.of(field, body) for field in UNKNOWN} == dict.fromkeys(UNKNOWN, essence)


def test_a_type_that_is_named_is_believed() -> None:
    for field in ("text/plain", "application/octet-stream", "image/png", "application/json"):
        assert media_type.of(field, PAGE) == field


def test_ours_html_with_anything_behind_it_is_html() -> None:
    assert media_type.of("text/html charset=utf-8", b"<section>Boats") == "text/html"
    assert media_type.of("text/html charset=utf-8", b"\x00\x01") == "application/octet-stream"


# XML, whether it is XHTML
XML = [
    (b"<html " + SPACE + b"><head/></html>", True),
    (b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- <x> -->\n<html lang='en' " + SPACE.replace(b'"', b"'") + b">", True),
    (b'<h:html xmlns:h="http://www.w3.org/1999/xhtml">', True),
    (b'<div xmlns = "http://www.w3.org/1999/xhtml">', True),
    (b'<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x.dtd"><html ' + SPACE + b">", True),
    (b'<!DOCTYPE html [<!ENTITY a ">"> <!ENTITY b "]"> ]><html ' + SPACE + b">", True),
    (b"\xff\xfe" + (b"<html " + SPACE + b">").decode().encode("utf-16-le"), True),
    (b"<?a?>" * 500 + b"<html " + SPACE + b">", True),
    (b"<html>", False),
    (b'<html xmlns="urn:x">', False),
    (b'<html xmlns:h="http://www.w3.org/1999/xhtml">', False),
    (b'<urlset xmlns:xhtml="http://www.w3.org/1999/xhtml">', False),
    (b'<rss version="2.0">', False),
    (b"<!-- " + SPACE, False),
    (b"<!DOCTYPE html [", False),
    (b"Boats", False),
    (b"", False),
]


@pytest.mark.parametrize(("body", "is_xhtml"), XML)
@pytest.mark.parametrize("field", ["application/xml", "text/xml; charset=utf-8", "application/vnd.boats+xml"])
def test_xml_is_xhtml_by_the_name_space_of_its_root(field: str, body: bytes, is_xhtml: bool) -> None:
    assert media_type.is_html(media_type.of(field, body)) is is_xhtml


@pytest.mark.parametrize("piece", [b"<??>", b"<!---->", b"<!DOCTYPE x>", b"<!DOCTYPE [", b" ", b"<!DOCTYPE [>", b"<"])
def test_what_comes_before_a_root_is_looked_at_within_a_bound(piece: bytes) -> None:
    head = piece * (media_type.SEEN_BYTES // len(piece))
    assert media_type.of("application/xml", head + b"<html " + SPACE + b">") == "application/xml"


# essence, wanted types, is it one of them?
WANTED = [
    ("text/html", ("text/html",), True),
    ("text/markdown", ("text/html", "text/*"), True),
    ("text/vnd.boats", ("text/*",), True),
    ("text/xml", ("text/html", "text/*"), False),
    ("application/json", ("text/html", "text/*"), False),
    ("text/html", (), False),
]


@pytest.mark.parametrize(("essence", "wanted", "is_one"), WANTED)
def test_wanted(essence: str, wanted: tuple[str, ...], is_one: bool) -> None:
    assert media_type.is_wanted(essence, wanted) is is_one


RSS = b'<?xml version="1.0"?>\n<rss version="2.0"><channel>'
# the first octets of a document, whether it is a feed or a sitemap
LISTINGS = [
    (RSS, True),
    (RSS.decode().encode("utf-16"), True),
    (gzip.compress(b'<urlset xmlns="x"><url>', mtime=0), True),
    (gzip.compress(b'<urlset xmlns="x">' + bytes(200_000), mtime=0)[:200], True),
    (b'<feed xmlns="http://www.w3.org/2005/Atom">', True),
    (b'<rdf:RDF xmlns:rdf="x">', True),
    (b"<SitemapIndex>", True),
    (b"\xef\xbb\xbfhttp://example.test/a\r\n\r\nhttps://example.test/b\r\n", True),
    (b"http://example.test/a\n" * 9_000, True),
    (b"http://example.test/a\nBoats\n", False),
    (b"", False),
    (PAGE, False),
    (b"<html " + SPACE + b">", False),
    (gzip.compress(PAGE, mtime=0), False),
    (b"\x1f\x8b\x08 no gzip", False),
    (zlib.compress(RSS), False),
]


@pytest.mark.parametrize(("body", "is_one"), LISTINGS)
def test_feeds_and_sitemaps_are_told_by_their_octets(body: bytes, is_one: bool) -> None:
    assert media_type.is_listing(body) is is_one


def test_the_roots_are_those_that_the_reader_of_sitemaps_knows() -> None:
    assert {root.decode() for root in media_type.LISTINGS} == set(elements._ROOTS)  # noqa: SLF001  # one list, twice


@given(st.text(max_size=200), st.binary(max_size=300))
def test_any_field_and_any_octets_have_a_type(field: str, body: bytes) -> None:
    essence = media_type.of(field, body)
    assert essence.count("/") == 1
    assert essence == essence.lower()
    media_type.is_listing(body)


@pytest.mark.parametrize("written", ["text/html;a=", "text/html,", '"', 'text/html;charset="\\', ", ", "a/b;charset="])
def test_a_field_is_looked_at_within_a_bound(written: str) -> None:
    assert media_type.declared(written * 20_000) in {"", "a/b"} | {"text/html"[:size] for size in range(6, 10)}
