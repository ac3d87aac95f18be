"""The canonical form of a URL, its key and what is refused, in rows."""

import tracemalloc
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.model import Refusal, Url
from app.policy.url import (
    DEFAULT_TRACKING,
    MAX_LENGTH,
    Canon,
)
from tests.fuzz.urls import assert_canonical
from tests.policy.url_forms import CANON, form, keyed

H = "http://h"


def digest(text: str) -> bytes:
    return sha256(text.encode()).digest()


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
        ("/viewtopic.php?t=2&sid=0123456789abcdef0123456789ABCDEF", "/viewtopic.php?t=2"),  # but a hash is a session
        ("/?session_id=0123456789abcdef0123456789abcdef", "/"),
        ("/show?s=0123456789abcdef0123456789abcdef", "/show?s=0123456789abcdef0123456789abcdef"),  # a page's, as often
        ("/?s=0123456789abcdef0123456789abcdef0", "/?s=0123456789abcdef0123456789abcdef0"),
        ("/?id=0123456789abcdef0123456789abcdef", "/?id=0123456789abcdef0123456789abcdef"),
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


@pytest.mark.parametrize("site", ["{}.example", "{}@h"])
def test_long_hosts_are_not_remembered(site: str) -> None:
    tracemalloc.start()
    for n in range(30):
        assert CANON.canonicalise("http://" + site.format(f"{n}".rjust(50_000, "a"))) is Refusal.LENGTH
        assert CANON.canonicalise("http://" + site.format(f"{n}".rjust(600, "a"))) is Refusal.LENGTH
    left, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert left < 100_000


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


LOCATIONS = [
    (b"/\xc3\xbc", "/%C3%BC"),
    (b"/\xfc", "/%FC"),
    (b"/%C3%BC\xc3\xbc", "/%C3%BC%C3%BC"),
    (b"?q=\xe4&r=\xc3\xa4#\xfc", "/?q=%E4&r=%C3%A4"),
    (b"/\xa0\x85", "/%A0%85"),
    (b"http://m\xc3\xbcller.test/", "http://xn--mller-kva.test/"),
]


@pytest.mark.parametrize(("location", "sent"), LOCATIONS)
def test_ours_a_location_s_octets_are_sent_as_they_stand(location: bytes, sent: str) -> None:
    found = CANON.redirected(f"{H}/a/", location.decode("latin-1"))
    assert isinstance(found, Url)
    assert found.text.removeprefix(H) == (f"/a{sent}" if sent.startswith("/?") else sent)


@given(st.binary(max_size=60))
def test_ours_no_octet_of_a_location_beyond_ascii_is_changed(octets: bytes) -> None:
    beyond = bytes(octet | 0x80 for octet in octets)
    found = CANON.redirected(f"{H}/", f"/{beyond.decode('latin-1')}")
    assert isinstance(found, Url)
    assert found.target == "/" + "".join(f"%{octet:02X}" for octet in beyond)
