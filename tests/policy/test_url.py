import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from ada_url import join_url
from hypothesis import given, settings
from hypothesis import strategies as st

from app.model import Origin, Refusal, Url
from app.parse.charset import ENCODINGS
from app.policy.url import (
    BAD_PORTS,
    DEFAULT_TRACKING,
    MAX_LENGTH,
    SKIPPED_EXTENSIONS,
    Canon,
    in_encoding,
    is_skipped_extension,
    without_fragment,
)
from tests.fuzz.urls import assert_canonical

CANON = Canon()
SUITES = Path(__file__).parents[3] / "shared" / "suites"
H = "http://h"


def keyed(text: str) -> bytes | None:
    found = CANON.canonicalise(text)
    return found.key if isinstance(found, Url) else None


def digest(text: str) -> bytes:
    return sha256(text.encode()).digest()


def form(text: str, canon: Canon = CANON) -> str:
    """As it is sent."""
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
    assert CANON.of_row(asked, sha256(b"http://h/a").digest()) == CANON.canonicalise(asked)
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
def test_rfc3986_escapes_are_one_key_and_sent_as_linked(text: str, canonical: str) -> None:
    assert keyed(H + text) == keyed(H + canonical) == digest(H + canonical)
    assert form(H + text) == H + text


@pytest.mark.parametrize(
    ("query", "canonical"),
    [
        ("?", ""),
        ("?&&", ""),
        ("?b=2&a=1", "?a=1&b=2"),
        ("?a=2&a=1", "?a=2&a=1"),  # values of a repeated parameter have an order
        ("?b=1&a=2&b=0&a=1", "?a=2&a=1&b=1&b=0"),
        ("?a=1&a=1", "?a=1&a=1"),
        ("?a=&a", "?a=&a"),
        ("?ab=1&a=2&a-=3", "?a=2&a-=3&ab=1"),  # by name, not by the text with its "="
        ("?B=1&a=2", "?B=1&a=2"),
        ("?a=b=c", "?a=b=c"),
        ("?=x&a", "?=x&a"),
        ("??a", "??a"),
        ("?%62=1&a=2", "?a=2&b=1"),  # sorted in the normal form
    ],
)
def test_ours_query_is_sorted_in_the_key_and_sent_as_linked(query: str, canonical: str) -> None:
    assert keyed(f"{H}/p{query}") == keyed(f"{H}/p{canonical}") == digest(f"{H}/p{canonical}")
    assert form(f"{H}/p{query}") == f"{H}/p{query}"


@pytest.mark.parametrize(
    ("target", "canonical"),
    [
        ("/?utm_source=x&id=1&utm_Medium=y", "/?id=1"),
        ("/?GCLID=1", "/"),
        ("/?PHPSESSID=abc&a", "/?a"),
        ("/?u%74m%5Fsource=x", "/"),
        ("/?ref=main", "/?ref=main"),  # a branch, to code hosts
        ("/?ref_src=x", "/"),
        ("/?b=2&utm_x=1&a=1&b=1", "/?b=2&a=1&b=1"),
        ("/?a&&utm_x=1", "/?a&"),
        ("/?&utm_x", "/"),
        ("/?utm", "/?utm"),
        ("/?reference=1&xref=2", "/?reference=1&xref=2"),
        ("/?sid=4&id=5", "/?sid=4&id=5"),  # content on too many sites
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
    ("text", "linked"),
    [
        ("http://h/a?b=1&utm_x=1&a=2", "/a?b=1&utm_x=1&a=2"),
        ("http://h/a;jsessionid=1?b", "/a;jsessionid=1?b"),
        ("http://h/a?gclid=1#f", "/a?gclid=1"),
        ("http://h./a?gclid=1", "/a?gclid=1"),
        ("http://h/a?b=1&a=2", None),
        ("http://h/a?#f", None),
        ("http://h/%7e?%61", None),
        (f"http://h/a?utm_x={'x' * 9_000}", None),  # too long to be kept
    ],
)
def test_ours_what_was_linked_is_kept_where_parameters_are_not_sent(text: str, linked: str | None) -> None:
    found = CANON.canonicalise(text)
    assert isinstance(found, Url)
    assert found.linked == linked


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


@pytest.mark.parametrize("port", sorted(BAD_PORTS))
def test_whatwg_bad_ports_are_refused(port: int) -> None:
    assert CANON.canonicalise(f"http://h:{port}/") is Refusal.PORT
    assert CANON.join("http://h/", f"//g.:{port}/a") is Refusal.PORT
    assert isinstance(Canon(bad_ports={81}).canonicalise(f"http://h:{port}/"), Url)
    assert isinstance(Canon(bad_ports=()).canonicalise(f"http://h:{port}/"), Url)


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
            assert_canonical(found)
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


# WHATWG form, which is sent → that of the key, for every row of the suite where they differ (escapes, empty query).
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


def test_whatwg_wpt_urls_are_sent_as_browsers_do() -> None:
    """Text and host; credentials, overlong URLs, bad ports and empty labels at a host's end are refused on purpose."""
    checked, used = 0, set()
    for row, found in wpt_rows("in_scope_ok"):
        bare, host = row["href"].partition("#")[0], row["hostname"].removesuffix(".")
        if row["username"] or row["password"]:
            assert found is Refusal.CREDENTIALS, row
        elif not host or host.endswith("."):
            assert found is Refusal.INVALID, row
        elif len(bare) > MAX_LENGTH:
            assert found is Refusal.LENGTH, row
        elif int(row["port"] or 80) in BAD_PORTS:
            assert found is Refusal.PORT, row
        else:
            assert isinstance(found, Url), row
            sent, canonical = (
                form.replace(row["hostname"], host, 1) for form in (bare, WPT_DIFFERENCES.get(bare, bare))
            )
            assert (found.text, found.origin.host) == (sent, host), row
            assert found.key == keyed(canonical), row
            assert_canonical(found)
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
