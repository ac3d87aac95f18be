"""Whose group of robots.txt holds, and any bytes that it may be made of, in rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy.robots import (
    MAX_BYTES,
    parse,
)
from app.policy.robots_text import token_of
from tests.policy.robots_rows import US, robots_txt

# --- groups -------------------------------------------------------------------------------------------------

# lines of the file, the token of the group that we obey, is /x allowed
GROUPS_RFC9309 = [
    (["User-agent: tiptoe", "Disallow: /x"], "tiptoe", False),
    (["USER-AGENT: TIPTOE", "DISALLOW: /x"], "tiptoe", False),
    (["User-agent: *", "Disallow: /x"], "*", False),
    (["User-agent: *", "Disallow: /x", "", "User-agent: tiptoe", "Disallow: /y"], "tiptoe", True),
    (["User-agent: tiptoe", "Disallow:", "", "User-agent: *", "Disallow: /"], "tiptoe", True),
    (["User-agent: tiptoe", "User-agent: other", "Disallow: /x"], "tiptoe", False),
    (["User-agent: other", "", "", "User-agent: tiptoe", "Disallow: /x"], "tiptoe", False),
    (
        ["User-agent: tiptoe", "Disallow: /y", "User-agent: other", "User-agent: tiptoe", "Disallow: /x"],
        "tiptoe",
        False,
    ),
    (["User-agent: tip", "Disallow: /x"], None, True),
    (["User-agent: tiptoebot", "Disallow: /x"], None, True),
    (["User-agent: my-tiptoe", "Disallow: /x"], None, True),
    (["User-agent: tiptoe/1.2", "Disallow: /x"], "tiptoe", False),
    (["User-agent: tiptoe the crawler", "Disallow: /x"], "tiptoe", False),
    (["User-agent: tiptoe # us", "Disallow: /x # not this"], "tiptoe", False),
    (["Disallow: /x"], None, True),
    (["User-agent: other", "Disallow: /x"], None, True),
    (["User-agent: other", "Disallow: /y", "User-agent: *", "Disallow: /x"], "*", False),
    # what is not a rule closes no group, whatever it is
    (["User-agent: tiptoe", "Sitemap: http://h/s", "User-agent: other", "Disallow: /x"], "tiptoe", False),
    (["User-agent: tiptoe", "Unknown: y", "User-agent: other", "Disallow: /x"], "tiptoe", False),
    (["User-agent: tiptoe", "Crawl-delay: 5", "User-agent: *", "Disallow: /x"], "tiptoe", False),
    (["User-agent: tiptoe", "Disallow: /y", "Unknown: y", "Disallow: /x"], "tiptoe", False),
    # an empty rule is a rule
    (["User-agent: tiptoe", "Disallow:", "User-agent: other", "Disallow: /x"], "tiptoe", True),
]


GROUPS_OURS = [
    (["User-agent: tiptoe2", "Disallow: /x"], None, True),  # a digit belongs to the token
    (["User-agent: *bot", "Disallow: /x"], None, True),  # a star is a token only when it stands alone
    (["User-agent: * all of you", "Disallow: /x"], "*", False),
    (["User-agent: a, tiptoe", "Disallow: /x"], None, True),  # one token a line
    (["User-agent:", "Disallow: /x"], None, True),
    (["Useragent: tiptoe", "Disalow: /x"], "tiptoe", False),  # as Google's parser
    (["User-agent tiptoe", "Disallow /x"], "tiptoe", False),
    (["User-agent: tiptoe", "Disallow /x /y"], "tiptoe", True),
    (["  User-agent :tiptoe  ", "\tDisallow\t:/x"], "tiptoe", False),
]


@pytest.mark.parametrize(("lines", "group", "allowed"), GROUPS_RFC9309)
def test_rfc9309_group(lines: list[str], group: str | None, allowed: bool) -> None:
    decision = parse(robots_txt(*lines), US).decide("/x")
    assert (decision.group, decision.allowed) == (group, allowed)


@pytest.mark.parametrize(("lines", "group", "allowed"), GROUPS_OURS)
def test_ours_group(lines: list[str], group: str | None, allowed: bool) -> None:
    decision = parse(robots_txt(*lines), US).decide("/x")
    assert (decision.group, decision.allowed) == (group, allowed)


@pytest.mark.parametrize(
    ("agent", "token"),
    [
        (b"foo/1.2", "foo"),
        (b"Foo bar", "Foo"),
        (b"a_b-c", "a_b-c"),
        (b"*", "*"),
        (b"*x", ""),
        (b"", ""),
        ("Böt".encode(), "B"),
        (b"1bot", ""),
    ],
)
def test_rfc9309_product_token(agent: bytes, token: str) -> None:
    assert token_of(agent) == token


def test_our_token_may_come_with_a_version() -> None:
    assert not parse(robots_txt("User-agent: tiptoe", "Disallow: /"), "Tiptoe/0.1 (+https://h/)").allowed("/")


def test_a_caller_without_a_token_gets_the_star_group_only() -> None:
    body = robots_txt("User-agent:", "Disallow: /x", "User-agent: *", "Disallow: /y")
    assert parse(body, "").decide("/x").group == "*"
    assert parse(body, "").allowed("/x")


# --- bytes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        b"\xef\xbb\xbfUser-agent: *\nDisallow: /x",
        b"User-agent: *\rDisallow: /x\r",
        b"User-agent: *\r\nDisallow: /x\r\n",
        b"\xff\xfeUser-agent: * # not UTF-16\nDisallow: /x"[2:],
        b"\xff\xfe" + "User-agent: *\nDisallow: /x".encode("utf-16-le"),
        b"\xfe\xff" + "User-agent: *\nDisallow: /x".encode("utf-16-be"),
        b"\0\0\n\xff\xfe\xfd: \x80\nUser-agent: *\nDisallow: /x",
        "User-agent: *\nDisallow: /x".encode("utf-16-le"),
        "# für alle\nUser-agent: *\nDisallow: /x".encode("utf-16-be"),
        b"User-agent: *\nDisallow: /x\0\0\0\0\0\0",  # a block of a disk, filled up
        b"User-agent: *\nDisallow: /x\0y",
        b"User-agent: *\n\0\0Disallow: /x",
        b"User-agent: *\0\nDisallow: /x",
        "User-agent:\u00a0*\n\u00a0Disallow\u00a0:\u00a0/x\u00a0 \u200b".encode(),
        b"User-agent: *\n\xa0\xa0Disallow: /x",  # in ISO 8859-1
        b"# one file\n\xef\xbb\xbfUser-agent: *\n\xef\xbb\xbfDisallow: /x",  # of two, each with its mark
    ],
)
def test_line_ends_and_marks(body: bytes) -> None:
    assert not parse(body, US).allowed("/x")


@pytest.mark.parametrize(
    ("body", "target"),
    [
        ("Disallow: /caf\u00e0", "/caf%C3"),  # "à" ends with the octet of a no-break space
        ("Disallow: /a\u00a0b", "/a"),
        ("Disallow: /\u4000", "/x"),
    ],
)
def test_what_belongs_to_a_pattern_stays_in_it(body: str, target: str) -> None:
    assert parse(f"User-agent: *\n{body}".encode(), US).allowed(target)


def test_rfc9309_500_kib_are_read_and_no_half_line() -> None:
    head, last = b"User-agent: *\nDisallow: /first\n", b"Disallow: /last"
    filler = b"#" * (MAX_BYTES - len(head) - len(last) - 1) + b"\n"
    within = head + filler + last
    assert len(within) == MAX_BYTES
    assert not parse(within, US).allowed("/last")
    assert not parse(within + b"\nDisallow: /beyond", US).allowed("/last")
    assert parse(within + b"\nDisallow: /beyond", US).allowed("/beyond")
    cut = parse(within + b"-but-not-this", US)
    assert cut.allowed("/last")
    assert not cut.allowed("/first")


def test_one_line_longer_than_the_limit_says_nothing() -> None:
    assert parse(b"User-agent: *" + b" " * MAX_BYTES + b"\nDisallow: /", US).allowed("/x")


@given(st.binary(max_size=400), st.text(max_size=40), st.text(max_size=20))
def test_never_raises(noise: bytes, target: str, token: str) -> None:
    for body in (noise, b"User-agent: *\nDisallow: " + noise, b"User-agent: *\nCrawl-delay: " + noise):
        robots = parse(body, token)
        assert robots.decide(target).allowed is robots.allowed(target)
