"""Links as documents write them: their encoding, ports, joined to a base, and their parts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.model import Origin, Refusal, Url
from app.parse.charset import ENCODINGS
from app.policy.url import (
    BAD_PORTS,
    DEFAULT_TRACKING,
    SKIPPED_EXTENSIONS,
    Canon,
    file_ending,
    in_encoding,
    without_fragment,
)
from tests.fuzz.urls import assert_canonical
from tests.policy.url_forms import CANON

# href, the codec of its document, what a browser sends: url.spec.whatwg.org, "percent-encode after encoding".
ENCODED = [
    ("/a?q=\u00e9", "cp1252", "/a?q=%E9"),
    ("/\u00e9?q=\u00e9#\u00e9", "cp1252", "/%C3%A9?q=%E9"),  # the path is UTF-8 always
    ("?q=\u65e5\u672c", "cp932", "/x?q=%93%FA%96{"),  # a trail byte that is ASCII stays: 7B
    ("?q=\u65e5\u672c", "euc_jp", "/x?q=%C6%FC%CB%DC"),
    ("?q=\u65e5\u672c", "iso2022_jp", "/x?q=%1B$BF|K\\%1B(B"),
    ("?q=\u4e2d", "gb18030", "/x?q=%D6%D0"),
    ("?q=\u4e2d", "big5hkscs", "/x?q=%A4%A4"),
    ("?q=\ud55c", "cp949", "/x?q=%C7%D1"),
    ("?q=\u043f", "koi8-r", "/x?q=%D0"),
    ("?q=\u20ac&r=\u65e5", "iso8859-15", "/x?q=%A4&r=%26%2326085%3B"),  # what the encoding lacks
    ("?q=\u00e9", "utf-8", "/x?q=%C3%A9"),
    ("?q=\u00e9", "utf-16-le", "/x?q=%C3%A9"),
    ("?q=a b%20%E9", "cp1252", "/x?q=a%20b%20%E9"),
    ("?\ud800\u00e9", "cp1252", "/x?%26%2355296%3B%E9"),
]


@pytest.mark.parametrize(("href", "encoding", "target"), ENCODED)
def test_whatwg_a_query_is_sent_in_the_encoding_of_its_document(href: str, encoding: str, target: str) -> None:
    found = CANON.join("http://h/x", in_encoding(href, encoding))
    assert isinstance(found, Url)
    assert found.target == target


@settings(deadline=None)
@given(st.text(max_size=20), st.sampled_from(sorted(ENCODINGS)))
def test_ours_any_link_in_any_encoding_is_a_url_or_refused(href: str, encoding: str) -> None:
    found = CANON.join("http://h/x", in_encoding(f"?{href}", encoding))
    if isinstance(found, Url):
        assert_canonical(found)


# https://fetch.spec.whatwg.org/#port-blocking, in ranges of neighbours: a port that the code forgot is missed here.
WHATWG_BAD_PORTS = [
    *(0, 1, 7, 9, 11, 13, 15, 17, *range(19, 24), 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, *range(101, 105)),
    *(109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, *range(512, 516), 526),
    *(530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659),
    *(4045, 4190, 5060, 5061, 6000, 6566, *range(6665, 6670), 6679, 6697, 10_080),
]


def test_whatwg_no_other_port_is_bad() -> None:
    assert set(WHATWG_BAD_PORTS) >= BAD_PORTS


def test_whatwg_bad_ports_are_refused() -> None:
    for port in WHATWG_BAD_PORTS:
        assert CANON.canonicalise(f"http://h:{port}/") is Refusal.PORT, port
        assert CANON.join("http://h/", f"//g.:{port}/a") is Refusal.PORT, port
        assert isinstance(Canon(bad_ports={81}).canonicalise(f"http://h:{port}/"), Url), port
        assert isinstance(Canon(bad_ports=()).canonicalise(f"http://h:{port}/"), Url), port


@pytest.mark.parametrize("port", [80, 443, 81, 8080, 8443, 3000, 9000, 65_535])
def test_ours_other_ports_are_not(port: int) -> None:
    assert isinstance(CANON.canonicalise(f"http://h:{port}/"), Url)


@pytest.mark.parametrize(
    ("base", "href", "canonical"),
    [
        ("http://h/a/b?x", "c", "http://h/a/c"),
        ("http://h/a/b?x", "../c/./d", "http://h/c/d"),
        ("http://h/a/b?x", "/c", "http://h/c"),
        ("http://h/a/b?x", "?y", "http://h/a/b?y"),
        ("http://h/a/b?x", "", "http://h/a/b?x"),
        ("http://h/a/b?x", "#top", "http://h/a/b?x"),
        ("https://h/a", "//g/c", "https://g/c"),
        ("https://h/a", "http:c", "http://c/"),
        ("http://h/a", "http:c", "http://h/c"),
        ("http://h/a", "x:y", Refusal.SCHEME),
        ("http://h/a", "http://u@g/", Refusal.CREDENTIALS),
        ("http://h/a", "//[", Refusal.INVALID),
        ("a", "b", Refusal.INVALID),
    ],
)
def test_whatwg_join(base: str, href: str, canonical: str | Refusal) -> None:
    found = CANON.join(base, href)
    assert (found.text if isinstance(found, Url) else found) == canonical


# What is left of a reference: the rest joins to the same URL. A blank at its end would be stripped, before "#" it is
# %20.
FRAGMENTS = [
    ("b.html#c", "b.html"),
    ("?b#c#d", "?b"),
    ("http:#c", "http:"),
    ("b.html", "b.html"),
    ("#c", "#c"),
    ("b #c", "b #c"),
    ("b\t#c", "b\t#c"),
]


@pytest.mark.parametrize(("href", "left"), FRAGMENTS)
def test_without_fragment(href: str, left: str) -> None:
    assert without_fragment(href) == left
    assert CANON.join("http://h/a", left) == CANON.join("http://h/a", href)


@pytest.mark.parametrize(
    ("text", "origin", "target"),
    [
        ("http://EXAMPLE.org?b&a", Origin("http", "example.org", 80), "/?b&a"),
        ("https://h/a#x", Origin("https", "h", 443), "/a"),
        ("https://h:8443/", Origin("https", "h", 8443), "/"),
        ("http://[::1]/x", Origin("http", "[::1]", 80), "/x"),
        ("http://[::1]:81/x", Origin("http", "[::1]", 81), "/x"),
    ],
)
def test_ours_parts(text: str, origin: Origin, target: str) -> None:
    found = CANON.canonicalise(text)
    assert isinstance(found, Url)
    assert (found.origin, found.target) == (origin, target)
    assert found.text == f"{origin}{target}"


@pytest.mark.parametrize(
    ("target", "ending"),
    [
        ("/a.png", "png"),
        ("/a/B.JPG?x=1", "jpg"),
        ("/report.pdf", "pdf"),
        ("/a.tar.gz", "gz"),
        ("/wiki/Node.js", "js"),
        ("/", None),
        ("/a", None),
        ("/index.html", None),
        ("/feed.xml", None),
        ("/notes.txt", None),
        ("/v1.png/about", None),
        ("/view?file=a.png", None),
        ("/png", None),
        ("/a.", None),
        ("/open.ai", None),
    ],
)
def test_ours_file_endings(target: str, ending: str | None) -> None:
    assert file_ending(target) == ending


def test_ours_tables_are_written_as_they_are_compared() -> None:
    assert all(name == name.lower() and not name.startswith(".") for name in SKIPPED_EXTENSIONS)
    assert not SKIPPED_EXTENSIONS & {"html", "htm", "xhtml", "xml", "txt", "md", "php", "asp", "aspx", "json"}
    assert len(set(DEFAULT_TRACKING)) == len(DEFAULT_TRACKING)
