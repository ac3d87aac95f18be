import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import InputError
from app.policy.identity import FOREIGN_TOKENS, accept, check, headers, user_agent

MAIL, PAGE = "crawl@example.org", "https://example.org/bot?x=1"


@pytest.mark.parametrize(
    ("contact", "info_url", "text"),
    [
        (MAIL, PAGE, f"Tiptoe/0.1.0 (+{PAGE}; {MAIL})"),
        (PAGE, None, f"Tiptoe/0.1.0 ({PAGE})"),
        (MAIL, None, f"Tiptoe/0.1.0 ({MAIL})"),
        (None, PAGE, f"Tiptoe/0.1.0 (+{PAGE})"),
        (None, None, "Tiptoe/0.1.0"),
    ],
)
def test_rfc9110_user_agent(contact: str | None, info_url: str | None, text: str) -> None:
    assert user_agent(token="Tiptoe", version="0.1.0", contact=contact, info_url=info_url) == text


@pytest.mark.parametrize(("contact", "sent"), [(MAIL, MAIL), (PAGE, None), (None, None)])
def test_rfc9110_from_is_a_mail_address(contact: str | None, sent: str | None) -> None:
    found = headers(token="Tiptoe", version="0.1.0", contact=contact, info_url=None)
    assert found.get("From") == sent


# media types that are read → Accept
OFFERS = [
    (("text/html",), "text/html"),
    (("text/html", "application/*", "text/plain"), "text/html,application/*;q=0.9,text/plain;q=0.8"),
    (
        tuple("abcdefghijkl"),
        "a,b;q=0.9,c;q=0.8,d;q=0.7,e;q=0.6,f;q=0.5,g;q=0.4,h;q=0.3,i;q=0.2,j;q=0.1,k;q=0.1,l;q=0.1",
    ),
    ((), ""),
]


@pytest.mark.parametrize(("types", "text"), OFFERS)
def test_rfc9110_accept_offers_what_is_read_the_preferred_first(types: tuple[str, ...], text: str) -> None:
    assert accept(types) == text


def test_ours_identity_says_who_asks_and_no_more() -> None:
    found = headers(token="Tiptoe", version="0.1.0", contact=MAIL, info_url=PAGE)
    assert found["User-Agent"] == f"Tiptoe/0.1.0 (+{PAGE}; {MAIL})"
    assert found.keys() == {"User-Agent", "From"}


@pytest.mark.parametrize("token", ["Tiptoe", "my-crawler", "My_Bot", "MozillaFan"])
@pytest.mark.parametrize("contact", [None, MAIL, "a.b+c@localhost", PAGE, "http://example.org", "HTTPS://E.org/"])
def test_ours_good_names_pass(token: str, contact: str | None) -> None:
    check(token, contact)


@pytest.mark.parametrize(
    "token",
    [
        "Mozilla",
        "chrome",
        "SAFARI",
        "Firefox",
        "Edg",
        "Googlebot",
        "",
        "Tip toe",
        "Tiptoe/1",
        "Tiptoe\n",
        "Ä",
        "a1",
    ],
)
def test_ours_bad_tokens_are_refused(token: str) -> None:
    with pytest.raises(InputError, match="product token"):
        check(token, None)


@pytest.mark.parametrize(
    "contact",
    [
        *(
            "",
            "me",
            "@example.org",
            "me@",
            "ftp://example.org",
            "mailto:me@example.org",
            "javascript:x",
            "http://",
        ),
        *(
            "me@example.org\r\nX: y",
            "me@example.org\n",
            "http://e.org/\nX",
            "http://e.org/ x",
            "me@e.org\x00",
        ),
        *("me@e.org)", "a;b@e.org", "http://e.org/(x)", "http://e.org/;x", "http://e.org/\\", "mé@e.org"),
        *("a@e.org, b@e.org", "Me <me@e.org>"),
    ],
)
def test_ours_bad_contacts_are_refused(contact: str) -> None:
    with pytest.raises(InputError) as error:
        check("Tiptoe", contact)
    assert error.value.what == f"contact {contact!r}"


@pytest.mark.parametrize(
    ("version", "info_url", "told"),
    [
        ("0.1\r\nX: y", None, "version"),
        ("", None, "version"),
        ("0.1", "https://e.org/\r\nX: y", "info_url"),
        ("0.1", "crawl@example.org", "info_url"),
    ],
)
def test_ours_nothing_else_is_injected(version: str, info_url: str | None, told: str) -> None:
    with pytest.raises(InputError, match=told):
        headers(token="Tiptoe", version=version, contact=None, info_url=info_url)


@pytest.mark.parametrize("purpose", ["Research", 'a; b (c) "d"', "x" * 200])
def test_ours_the_purpose_is_stated(purpose: str) -> None:
    found = headers(token="Tiptoe", version="1", contact=None, info_url=None, purpose=purpose)
    assert found["X-Crawler-Purpose"] == purpose


@pytest.mark.parametrize("purpose", ["", "x" * 201, "zählen", "a\r\nX: y", "a\tb"])
def test_ours_a_purpose_is_short_printable_ascii(purpose: str) -> None:
    with pytest.raises(InputError, match="purpose"):
        headers(token="Tiptoe", version="1", contact=None, info_url=None, purpose=purpose)


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=30), st.text(max_size=30))
def test_ours_what_passes_is_one_clean_line(token: str, version: str, contact: str, info: str) -> None:
    try:
        found = headers(token=token, version=version, contact=contact, info_url=info)
    except InputError:
        return
    assert all(value.isascii() and value.isprintable() for value in found.values())


def test_ours_foreign_tokens_are_compared_in_lower_case() -> None:
    assert {token.lower() for token in FOREIGN_TOKENS} == FOREIGN_TOKENS
