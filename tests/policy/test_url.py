import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from ada_url import join_url
from hypothesis import given
from hypothesis import strategies as st

from app.model import Origin, Refusal, Url
from app.policy.url import (
    DEFAULT_TRACKING,
    MAX_LENGTH,
    SKIPPED_EXTENSIONS,
    Canon,
    is_skipped_extension,
    without_fragment,
)

CANON = Canon()
SUITES = Path(__file__).parents[3] / "shared" / "suites"
H = "http://h"


def form(text: str, canon: Canon = CANON) -> str:
    found = canon.canonicalise(text)
    return found.text if isinstance(found, Url) else f"({found})"


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("HTTP://EXAMPLE.org/A", "http://example.org/A"),
        ("http://example.org", "http://example.org/"),
        ("http://example.org:80/", "http://example.org/"),
        ("https://example.org:443/", "https://example.org/"),
        ("https://example.org:80/", "https://example.org:80/"),
        ("http://h/a/./b/../c", "http://h/a/c"),
        ("http://h/a/%2e%2E/c", "http://h/c"),
        ("http://h/../../a", "http://h/a"),
        ("http://h/a#b", "http://h/a"),
        ("http://h/a#b?c", "http://h/a"),
        ("http://h/a?b#/c", "http://h/a?b"),
        (" \t http://h/a\n b", "http://h/a%20b"),
        ("http://h\\a\\b", "http://h/a/b"),
        ("http://bücher.example/ä", "http://xn--bcher-kva.example/%C3%A4"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[2001:DB8:0:0::1]:8080/", "http://[2001:db8::1]:8080/"),
        ("http://@h/", "http://h/"),
    ],
)
def test_whatwg_form(text: str, canonical: str) -> None:
    assert form(text) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "http://h/",
        "https://h:8443/a/%C3%A4?b=1&c",
        "http://127.0.0.1:81/",
        "http://[2001:db8::1]/a",
        "http://h/a;b?c/d",
    ],
)
def test_of_row(text: str) -> None:
    url = CANON.canonicalise(text)
    assert isinstance(url, Url)
    assert CANON.of_row(url.text, url.key) == url


def test_of_row_trusts_the_key_alone() -> None:
    asked = "HTTP://H/a?utm_source=x"
    assert CANON.of_row(asked, sha256(b"http://h/a").digest()) == CANON.canonicalise("http://h/a")
    kept = Canon([]).canonicalise("http://h/a?utm_source=x")
    assert isinstance(kept, Url)
    assert CANON.of_row(kept.text, kept.key) == kept


@pytest.mark.parametrize("text", ["", "http://h", "nothing", "mailto:a@h/b/c", "http://u:p@h/", "http://h:a/"])
def test_of_row_of_what_never_came_from_here(text: str) -> None:
    assert CANON.of_row(text, sha256(text.encode()).digest()) == CANON.canonicalise(text)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("/caf%c3%a9", "/caf%C3%A9"),  # 6.2.2.1: hexadecimal digits in upper case
        ("/%7Euser/%41%2d%2E%5f%30", "/~user/A-._0"),  # 6.2.2.2: unreserved characters decoded
        ("/a%2fb%3fc%23d", "/a%2Fb%3Fc%23d"),  # reserved ones kept
        ("/?q=%61%26b", "/?q=a%26b"),
        ("/?q=a+b%20c", "/?q=a+b%20c"),
        ("/100%", "/100%25"),  # 2.4: a bare percent sign
        ("/%2/%zz", "/%252/%25zz"),
        ("/%%341", "/%2541"),  # decoding must not make a new escape
        ("/%2541", "/%2541"),
    ],
)
def test_rfc3986_escapes(text: str, canonical: str) -> None:
    assert form(H + text) == H + canonical


@pytest.mark.parametrize(
    ("query", "canonical"),
    [
        ("?", ""),
        ("?&&", ""),
        ("?b=2&a=1", "?a=1&b=2"),
        ("?a=2&a=1", "?a=1&a=2"),
        ("?a=1&a=1", "?a=1&a=1"),
        ("?a=&a", "?a&a="),
        ("?ab=1&a=2&a-=3", "?a=2&a-=3&ab=1"),  # by name, not by the text with its "="
        ("?B=1&a=2", "?B=1&a=2"),
        ("?a=b=c", "?a=b=c"),
        ("?=x&a", "?=x&a"),
        ("??a", "??a"),
        ("?%62=1&a=2", "?a=2&b=1"),  # sorted in the normal form
    ],
)
def test_ours_query_is_sorted(query: str, canonical: str) -> None:
    assert form(f"{H}/p{query}") == f"{H}/p{canonical}"


@pytest.mark.parametrize(
    ("target", "canonical"),
    [
        ("/?utm_source=x&id=1&utm_Medium=y", "/?id=1"),
        ("/?GCLID=1", "/"),
        ("/?PHPSESSID=abc&a", "/?a"),
        ("/?u%74m%5Fsource=x", "/"),
        ("/?ref", "/"),
        ("/?utm", "/?utm"),
        ("/?reference=1&xref=2", "/?reference=1&xref=2"),
        ("/?sid=4&id=5", "/?id=5&sid=4"),  # content on too many sites
        ("/a;jsessionid=0A.b1?x=1", "/a?x=1"),
        ("/a;JSESSIONID=0/b;jsessionid=", "/a/b"),
        ("/a;v=1;jsessionid=0;w=2", "/a;v=1;w=2"),
        ("/a;jsession%69d=0", "/a"),
        ("/;jsessionid=0", "/"),
        ("/a/..;jsessionid=0/b", "/b"),  # what is left is a dot segment
        ("/a/%2e%2e;jsessionid=0/b", "/b"),
        ("/a;jsessionidx=0", "/a;jsessionidx=0"),
    ],
)
def test_ours_tracking_and_sessions_go(target: str, canonical: str) -> None:
    assert form(H + target) == H + canonical


@pytest.mark.parametrize(
    ("tracking", "query", "left"),
    [
        ((), "?utm_source=x", "?utm_source=x"),
        (("Foo",), "?foo=1&fooo=2", "?fooo=2"),
        (("foo*",), "?FOO=1&fooo=2&fo=3", "?fo=3"),
        ((*DEFAULT_TRACKING, "sid"), "?sid=1&gclid=2", ""),
    ],
)
def test_ours_tracking_list_is_an_argument(tracking: tuple[str, ...], query: str, left: str) -> None:
    assert form(f"{H}/{query}", Canon(tracking)) == f"{H}/{left}"


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("http://example.org./a?b#c", "http://example.org/a?b"),
        ("https://example.org.:8443/", "https://example.org:8443/"),
        ("http://1.2.3.4./", "http://1.2.3.4/"),
        ("http://example.org../", "(invalid)"),
        ("http://1.2.3.4../", "(invalid)"),
        ("http://./", "(invalid)"),
        ("http://../", "(invalid)"),
    ],
)
def test_ours_root_dot(text: str, canonical: str) -> None:
    assert form(text) == canonical


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", Refusal.INVALID),
        ("/a", Refusal.INVALID),
        ("http://", Refusal.INVALID),
        ("http://h:99999/", Refusal.INVALID),
        ("http://[::1/", Refusal.INVALID),
        ("http://a b/", Refusal.INVALID),
        ("http://256.1.1.1/", Refusal.INVALID),
        ("ftp://h/", Refusal.SCHEME),
        ("mailto:a@b.org", Refusal.SCHEME),
        ("javascript:void(0)", Refusal.SCHEME),
        ("data:text/html,<a href=/x>", Refusal.SCHEME),
        ("httpx://h/", Refusal.SCHEME),
        ("http://user@h/", Refusal.CREDENTIALS),
        ("http://user:secret@h:81/", Refusal.CREDENTIALS),
        ("http://:secret@h/", Refusal.CREDENTIALS),
        ("http://user@h./", Refusal.CREDENTIALS),
    ],
)
def test_ours_refusals(text: str, reason: Refusal) -> None:
    assert CANON.canonicalise(text) is reason


@pytest.mark.parametrize(
    ("tail", "fits"),
    [
        ("a" * (MAX_LENGTH - len("http://h/")), True),
        ("a" * (MAX_LENGTH - len("http://h/") + 1), False),
        ("ä" * 400, False),  # six characters each once escaped
        ("?utm_id=" + "a" * 3_000, True),  # only the canonical form counts
        ("#" + "a" * 3_000, True),
    ],
)
def test_ours_length(tail: str, fits: bool) -> None:
    found = CANON.canonicalise(f"{H}/{tail}")
    assert isinstance(found, Url) if fits else found is Refusal.LENGTH


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


# What is left of a reference: the rest joins to the same URL. A blank at its end would be stripped, before "#" it is %20.
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
        ("http://EXAMPLE.org?b&a", Origin("http", "example.org", 80), "/?a&b"),
        ("https://h/a#x", Origin("https", "h", 443), "/a"),
        ("https://h:8443/", Origin("https", "h", 8443), "/"),
        ("http://[::1]/x", Origin("http", "[::1]", 80), "/x"),
        ("http://[::1]:81/x", Origin("http", "[::1]", 81), "/x"),
        ("http://h:0/", Origin("http", "h", 0), "/"),
    ],
)
def test_ours_parts(text: str, origin: Origin, target: str) -> None:
    found = CANON.canonicalise(text)
    assert isinstance(found, Url)
    assert (found.origin, found.target) == (origin, target)
    assert found.text == f"{origin}{target}"
    assert found.key == sha256(found.text.encode("ascii")).digest()


@pytest.mark.parametrize(
    ("target", "skipped"),
    [
        ("/a.png", True),
        ("/a/B.JPG?x=1", True),
        ("/report.pdf", True),
        ("/a.tar.gz", True),
        ("/", False),
        ("/a", False),
        ("/index.html", False),
        ("/feed.xml", False),
        ("/notes.txt", False),
        ("/v1.png/about", False),
        ("/view?file=a.png", False),
        ("/png", False),
        ("/a.", False),
        ("/open.ai", False),
    ],
)
def test_ours_skipped_extension(target: str, skipped: bool) -> None:
    assert is_skipped_extension(target) is skipped


def test_ours_tables_are_written_as_they_are_compared() -> None:
    assert all(name == name.lower() and not name.startswith(".") for name in SKIPPED_EXTENSIONS)
    assert not SKIPPED_EXTENSIONS & {"html", "htm", "xhtml", "xml", "txt", "md", "php", "asp", "aspx", "json"}
    assert len(set(DEFAULT_TRACKING)) == len(DEFAULT_TRACKING)


# Pieces that interact in URLs, so that hypothesis finds the joints between our steps and the parser's.
PIECES = st.sampled_from(
    [
        *"/?#&=;:@.%+ \\\t|[]'\"ä\ud800",
        *("a", "b", "1", "4", "%2e", "%41", "%2F", "%zz", "%3", "..", "//", "xn--", "0x7f", "127.1"),
        *(";jsessionid=", ";jsession%69d=", "utm_x=", "utm%5Fx", "ref", "\u3002", "\uff0e"),
    ]
)
TAILS = st.lists(PIECES, max_size=12).map("".join)


@given(TAILS)
def test_ours_canonical_form_is_stable(tail: str) -> None:
    for text in (H + tail, f"{H}/{tail}", f"https://x.{tail}", f"{H}/?{tail}"):
        found = CANON.canonicalise(text)
        if isinstance(found, Url):
            assert CANON.canonicalise(found.text) == found
            assert CANON.of_row(found.text, found.key) == found
            assert CANON.join(found.text, "") == found
            assert found.text.isascii()
            assert found.text == f"{found.origin}{found.target}"


@given(st.text(), st.text())
def test_ours_never_raises(base: str, href: str) -> None:
    assert isinstance(CANON.canonicalise(href), Url | Refusal)
    for text in (href, f"http://{href}/", f"http://h:{href}/"):
        assert isinstance(CANON.of_row(text, sha256(text.encode("utf-8", "replace")).digest()), Url | Refusal)
    assert isinstance(CANON.join(base, href), Url | Refusal)
    assert isinstance(CANON.join("http://h/a", href), Url | Refusal)


def test_ours_lone_surrogate_is_replaced() -> None:
    assert form(f"{H}/\ud800x") == f"{H}/%EF%BF%BDx"  # URL Standard: USVString
    assert CANON.join(f"{H}/\ud800/", "b") == CANON.canonicalise(f"{H}/%EF%BF%BD/b")


def suite(name: str) -> Path:
    path = SUITES / name
    return path if path.exists() else pytest.skip(f"{path} is not here")


def wpt_rows(part: str) -> Iterator[tuple[dict[str, str], Url | Refusal]]:
    for row in json.loads(suite("url_wpt.json").read_text())[part]:
        base = row.get("base")
        yield row, CANON.canonicalise(row["input"]) if base is None else CANON.join(base, row["input"])


# WHATWG form → ours, for every row of the suite that our layer changes on purpose (escapes, empty query).
WPT_DIFFERENCES = {
    "http://example.org/foo/bar?": "http://example.org/foo/bar",
    "http://example.org/test?": "http://example.org/test",
    "https://x/?": "https://x/",
    "http://example.org/a%2fc": "http://example.org/a%2Fc",
    "http://example.org/a/%2f/c": "http://example.org/a/%2F/c",
    "http://example.com/foo/%2e%2": "http://example.com/foo/.%252",
    "http://example.com/%2e.bar": "http://example.com/..bar",
    "http://example.com/foo%": "http://example.com/foo%25",
    "http://example.com/foo%2": "http://example.com/foo%252",
    "http://example.com/foo%2zbar": "http://example.com/foo%252zbar",
    "http://example.com/foo%2%C3%82%C2%A9zbar": "http://example.com/foo%252%C3%82%C2%A9zbar",
    "http://example.com/foo%41%7a": "http://example.com/fooAz",
    "http://example.com/foo%00%51": "http://example.com/foo%00Q",
    "http://example.com/%3A%3a%3C%3c": "http://example.com/%3A%3A%3C%3C",
    "http://www/foo%2Ehtml": "http://www/foo.html",
    "http://example.org/test?%GH": "http://example.org/test?%25GH",
}


def test_whatwg_wpt_urls_agree_but_for_our_layer() -> None:
    """Text and host; credentials, overlong URLs and empty labels at a host's end are refused on purpose."""
    checked, used = 0, set()
    for row, found in wpt_rows("in_scope_ok"):
        bare, host = row["href"].partition("#")[0], row["hostname"].removesuffix(".")
        if row["username"] or row["password"]:
            assert found is Refusal.CREDENTIALS, row
        elif not host or host.endswith("."):
            assert found is Refusal.INVALID, row
        elif len(bare) > MAX_LENGTH:
            assert found is Refusal.LENGTH, row
        else:
            assert isinstance(found, Url), row
            expected = WPT_DIFFERENCES.get(bare, bare).replace(row["hostname"], host, 1)
            assert (found.text, found.origin.host) == (expected, host), row
            assert CANON.canonicalise(found.text) == found, row
            checked += 1
            used.add(bare)
    assert checked > 200
    assert used >= WPT_DIFFERENCES.keys()


def test_whatwg_wpt_failures_are_refused() -> None:
    for row, found in wpt_rows("in_scope_fail"):
        assert found is Refusal.INVALID, row


def test_whatwg_wpt_percent_encoding() -> None:
    rows = json.loads(suite("wpt_percent-encoding.json").read_text())
    for row in (row for row in rows if isinstance(row, dict)):
        href = join_url("http://h/", f"?{row['input']}")
        assert href == f"http://h/?{row['output']['utf-8']}", row
        assert form(href) == form(f"http://h/?{row['input']}"), row


def test_whatwg_wpt_to_ascii() -> None:
    rows = json.loads(suite("wpt_toascii.json").read_text())
    for row in (row for row in rows if isinstance(row, dict)):
        found = CANON.canonicalise(f"https://{row['input']}/x")
        if row["output"] is None:
            assert found is Refusal.INVALID, row
        else:
            assert isinstance(found, Url), row
            assert found.host == row["output"].removesuffix("."), row
