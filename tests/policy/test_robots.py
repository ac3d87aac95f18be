"""What robots.txt says to us, in rows. `rfc9309` is what the standard demands, `ours` what we chose."""

import re
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from protego import Protego

from app.model import Failure, Reply
from app.policy.hours import Hours
from app.policy.robots import (
    ALLOW_ALL,
    DISALLOW_ALL,
    MAX_BYTES,
    Availability,
    Decision,
    InForce,
    Standing,
    availability,
    fresh_for_s,
    in_force,
    in_force_rules,
    parse,
)
from app.policy.robots_match import MAX_STEPS, TOO_COSTLY, Rule, Ruleset, normal
from app.policy.robots_text import MAX_HINTS, read, token_of
from tests.examples import examples

US = "Tiptoe"


def robots_txt(*lines: str) -> bytes:
    return "\n".join(lines).encode()


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


# --- rules --------------------------------------------------------------------------------------------------

# pattern, target, does the pattern match
MATCHES_RFC9309 = [
    ("/", "/", True),
    ("/", "/a", True),
    ("/fish", "/fish", True),
    ("/fish", "/fish.html", True),
    ("/fish", "/fish/salmon", True),
    ("/fish", "/Fish", False),
    ("/fish", "/catfish", False),
    ("/fish/", "/fish", False),
    ("/fish/", "/fish/?id=1", True),
    ("/fish*", "/fishheads", True),
    ("/fish*", "/fish", True),
    ("/*.php", "/index.php", True),
    ("/*.php", "/a/b.php?x", True),
    ("/*.php", "/php", False),
    ("/*.php$", "/index.php", True),
    ("/*.php$", "/index.php?x", False),
    ("/*.php$", "/a.php.php", True),
    ("*.gif$", "/a.gif", True),
    ("/a$", "/a", True),
    ("/a$", "/ab", False),
    ("/a$", "/a$b", False),
    ("/a$b", "/a$b", True),
    ("/a*$", "/ab", True),
    ("/a**b", "/axxb", True),
    ("/a*b*c", "/a1b2c3", True),
    ("/a*b*c", "/acb", False),
    ("/a*ab$", "/ab", False),  # the parts may not overlap
    ("/a*ab$", "/aab", True),
    ("/*ab*b$", "/ab", False),
    ("/?a=1", "/?a=1&b=2", True),
    ("/~jim", "/%7Ejim", True),
    ("/%7ejim", "/~jim", True),
    ("/foo/bar/ツ", "/foo/bar/%E3%83%84", True),
    ("/foo/bar/%e3%83%84", "/foo/bar/%E3%83%84", True),
    ("/foo/bar/%62%61%7A", "/foo/bar/baz", True),
    ("/q?u=https://h", "/q?u=https%3A//h", True),
    ("/a%2Fb", "/a/b", False),
    ("/a%2fb", "/a%2Fb", True),
    ("/a%2541", "/aA", False),
    ("/search/%2A/", "/search/*/", True),
    ("/search/%2A/", "/search/x/", False),
    ("/price/%24", "/price/$9", True),
    ("/price/%24", "/price/", False),
    ("/a b", "/a%20b", True),
    ("/100%", "/100%", True),
    ("/%zz", "/%zz", True),
    ("/b%FC", "/b%FD", False),  # octets, not characters
    # the table of section 2.2.2: in the query an escaped delimiter is the delimiter, in the path it is not
    ("/go?u=https://x.y", "/go?u=https%3A%2F%2Fx.y/1", True),
    ("/go?u=https%3A%2F%2Fx.y", "/go?u=https://x.y/1", True),
    ("/go?u=https%3a%2f%2fx.y", "/go?u=https%3A%2F%2Fx.y/1", True),
    ("/go?u=a?b", "/go?u=a%3Fb", True),
    ("/go?u=a%3Fb", "/go?u=a?b", True),
    ("/go%3Fu", "/go?u", False),
    ("/go/*?u=%2F", "/go/x?u=/", True),
    ("/*u=https%3A%2F%2Fx", "/go?u=https://x", True),  # behind a star: in the path or in the query
    ("/*u=https%3A%2F%2Fx", "/go/u=https:%2F%2Fx", True),
    ("/*u=https%3A%2F%2Fx", "/go/u=https://x", False),
    ("/*%2Fb$", "/a?x/b", True),
    ("/*%2Fb$", "/x/b", False),
    ("/*%2Fb$", "/x%2fb", True),
    ("/*%3Fb", "/a?b", False),
    ("/*%3Fb", "/a?x?b", True),
    ("/*/b*%2F", "/a?x=/b/c", True),
    # a "%" that escapes nothing is "%25" on both sides
    ("/50%off", "/50%off", True),
    ("/50%off", "/50%25off", True),
    ("/50%25off", "/50%off", True),
    ("/50%25off", "/50%2525off", False),
    ("/%u011f", "/%25u011f", True),
    ("/%u011f", "/%u011f", True),
    ("/a%", "/a%25", True),
    ("/a%2", "/a%252", True),
]


@pytest.mark.parametrize(("pattern", "target", "matches"), MATCHES_RFC9309)
def test_rfc9309_pattern(pattern: str, target: str, matches: bool) -> None:
    assert parse(robots_txt("User-agent: *", f"Disallow: {pattern}"), US).allowed(target) is not matches


@pytest.mark.parametrize(
    ("pattern", "target"),
    [
        ("fish", "/fish"),  # a pattern without a slash matches no path
        ("https://h/fish", "/fish"),  # nor does one with the whole URL
        ("/a%3Fb", "/a?b"),  # as with %2F: an escaped question mark begins no query
    ],
)
def test_ours_a_pattern_that_matches_nothing(pattern: str, target: str) -> None:
    assert parse(robots_txt("User-agent: *", f"Disallow: {pattern}"), US).allowed(target)


def test_ours_octets_that_are_not_utf8_match_themselves() -> None:
    robots = parse(b"User-agent: *\nDisallow: /b\xfccher/", US)
    assert not robots.allowed("/b%FCcher/")
    assert robots.allowed("/b%C3%BCcher/")
    assert robots.decide("/b%fccher/").rule == "Disallow: /b\ufffdcher/"


# rules in file order ("+" allow, "-" disallow), target, index of the rule that decides (None: no rule)
PRECEDENCE_RFC9309 = [
    (["-/", "+/page"], "/page", 1),
    (["-/", "+/page"], "/other", 0),
    (["+/page", "-/*.html"], "/page.html", 1),
    (["+/folder", "-/folder"], "/folder/page", 0),
    (["-/folder", "+/folder"], "/folder/page", 1),
    (["+/example/page/", "-/example/page/disallowed.gif"], "/example/page/disallowed.gif", 1),
    (["-/a", "-/a"], "/a", 0),
    (["+/$", "-/"], "/", 0),
    (["+/$", "-/"], "/page.htm", 1),
    (["-/a/*/c", "+/a/b"], "/a/b/c", 0),
    (["-/ü", "+/*****"], "/%C3%BC", 0),
    (["-/a", "+/b"], "/c", None),
    (["-/~", "+/%7E"], "/~", 1),
    # "the most octets": a star at the end that matches none of them adds nothing
    (["+/", "-/*"], "/", 0),
    (["+/", "-/*"], "/a", 1),
    (["-/x*y*", "+/x*y"], "/xy", 1),
    (["-/x*y*", "+/x*y"], "/xyz", 0),
]


@pytest.mark.parametrize(("rules", "target", "index"), PRECEDENCE_RFC9309)
def test_rfc9309_longest_match_wins(rules: list[str], target: str, index: int | None) -> None:
    lines = [("Allow: " if rule[0] == "+" else "Disallow: ") + rule[1:] for rule in rules]
    robots = parse(robots_txt("User-agent: *", *lines), US)
    if index is None:
        assert robots.decide(target) == Decision(allowed=True, group="*", rule=None, line=None)
    else:
        allowed = rules[index][0] == "+"
        assert robots.decide(target) == Decision(allowed=allowed, group="*", rule=lines[index], line=index + 2)


@pytest.mark.parametrize(
    ("target", "allowed"),
    [
        ("/robots.txt", True),
        ("/robots.txt?x=1", True),
        ("/robots.txt.bak", False),
        ("/robots.txt/", False),
        ("/a/robots.txt", False),
    ],
)
def test_rfc9309_robots_txt_itself_is_allowed(target: str, allowed: bool) -> None:
    robots = parse(robots_txt("User-agent: *", "Disallow: /"), US)
    assert robots.allowed(target) is allowed
    assert robots.decide(target).allowed is allowed


def test_the_decision_names_the_line_as_received() -> None:
    body = b"\xef\xbb\xbf# hello\r\n\r\nUser-agent: Tiptoe\r\nDisallow: /private/ # secret\r\n"
    assert parse(body, US).decide("/private/a") == Decision(
        allowed=False, group="tiptoe", rule="Disallow: /private/", line=4
    )


def test_constants() -> None:
    assert ALLOW_ALL.decide("/a") == Decision(allowed=True, group=None, rule=None, line=None)
    assert DISALLOW_ALL.decide("/a") == Decision(allowed=False, group=None, rule="Disallow: /", line=None)
    assert DISALLOW_ALL.allowed("/robots.txt")
    assert DISALLOW_ALL.crawl_delay_s is None


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
    ],
)
def test_line_ends_and_marks(body: bytes) -> None:
    assert not parse(body, US).allowed("/x")


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


# --- slow-down lines ----------------------------------------------------------------------------------------

# lines of our group, seconds, raw value
DELAYS = [
    (["Crawl-delay: 10"], 10.0, "10"),
    (["Crawl-delay: 0.5"], 0.5, "0.5"),
    (["crawl-delay:.5 # half"], 0.5, ".5"),
    (["Crawl-delay: 0"], 0.0, "0"),
    (["Crawl-delay: 1e9"], 1e9, "1e9"),
    (["Crawl-delay: 99999999999999999999"], 1e20, "99999999999999999999"),
    (["Crawl-delay: -1"], None, "-1"),
    (["Crawl-delay: soon"], None, "soon"),
    (["Crawl-delay: inf"], None, "inf"),
    (["Crawl-delay: nan"], None, "nan"),
    (["Crawl-delay:"], None, ""),
    (["Crawl-delay: soon", "Crawl-delay: 2"], 2.0, "2"),
    (["Crawl-delay: 7", "Crawl-delay: 2"], 7.0, "7"),
    (["Request-rate: 1/10"], 10.0, "1/10"),
    (["Request-rate: 2/1m"], 30.0, "2/1m"),
    (["Request-rate: 1/10 0600-0845"], 10.0, "1/10 0600-0845"),
    (["Request-rate: 0/10"], None, "0/10"),
    (["Request-rate: 1/" + "9" * 400], 1e98, "1/" + "9" * 98),
    (["Request-rate: 1/10", "Crawl-delay: 3"], 10.0, "1/10"),
    (["Request-rate: 10/1", "Crawl-delay: 3"], 3.0, "3"),
    (["Visit-time: 0600-0845"], None, None),
    ([], None, None),
]


@pytest.mark.parametrize(("lines", "seconds", "raw"), DELAYS)
def test_ours_the_slowest_wish_counts(lines: list[str], seconds: float | None, raw: str | None) -> None:
    robots = parse(robots_txt("User-agent: *", *lines, "Disallow: /x"), US)
    assert (robots.crawl_delay_s, robots.crawl_delay_raw) == (seconds, raw)


@pytest.mark.parametrize(
    ("token", "seconds"), [("a", 1.0), ("b", 2.0), ("c", 3.0), ("d", 3.0), ("e", None), ("z", 9.0)]
)
def test_ours_a_delay_is_for_the_agents_just_named(token: str, seconds: float | None) -> None:
    body = robots_txt(
        "User-agent: a",
        "Crawl-delay: 1",
        "User-agent: b",
        "Crawl-delay: 2",
        "Disallow: /x",
        "User-agent: c",
        "User-agent: d",
        "Disallow: /y",
        "Crawl-delay: 3",
        "User-agent: e",
        "Disallow: /z",
        "User-agent: *",
        "Crawl-delay: 9",
    )
    assert parse(body, token).crawl_delay_s == seconds


def test_ours_a_group_of_nothing_but_a_delay_still_keeps_us_from_the_star_group() -> None:
    body = robots_txt("User-agent: *", "Disallow: /", "", "User-agent: tiptoe", "Crawl-delay: 4")
    assert parse(body, US).allowed("/x")
    assert parse(body, US).crawl_delay_s == 4.0


@pytest.mark.parametrize(
    ("value", "window"),
    [
        ("0600-0845", "06:00-08:45"),
        ("06:00-08:45", "06:00-08:45"),
        ("600 - 845", "06:00-08:45"),
        ("0600 0845", "06:00-08:45"),
        ("0600-0845 UTC", "06:00-08:45"),
        ("0600-0845 ut", "06:00-08:45"),
        ("2200-0600", "22:00-06:00"),
        ("2200-2400", "22:00-00:00"),
        ("0000-2400", "00:00-00:00"),  # the whole day
        ("always", None),
        ("2500-2600", None),
        ("0600", None),
        ("", None),
    ],
)
def test_visit_time(value: str, window: str | None) -> None:
    found = parse(robots_txt("User-agent: *", f"Visit-time: {value}"), US).visit_time
    assert found == (Hours.parse(window) if window else None)


# Visit-time lines → the shortest: right if they mean "any of these", and nearest to "all of these"
@pytest.mark.parametrize(
    ("values", "window"),
    [
        (["0600-0845", "1300-1400"], "13:00-14:00"),
        (["1300-1400", "0600-0845"], "13:00-14:00"),
        (["0000-2400", "2200-0600"], "22:00-06:00"),
        (["never", "0600-0845"], "06:00-08:45"),
    ],
)
def test_ours_the_shortest_visit_time_counts(values: list[str], window: str) -> None:
    lines = [f"Visit-time: {value}" for value in values]
    assert parse(robots_txt("User-agent: *", *lines, "Disallow: /x"), US).visit_time == Hours.parse(window)


def test_ours_a_visit_time_is_for_its_group() -> None:
    body = robots_txt(
        "User-agent: *", "Visit-time: 0600-0845", "Disallow: /x", "", "User-agent: tiptoe", "Disallow: /y"
    )
    assert parse(body, US).visit_time is None


def test_a_hint_cannot_smuggle_in_lines() -> None:
    robots = parse("User-agent: *\nCrawl-delay: 1\u2028Crawl-delay: 50\x0bCrawl-delay: 60".encode(), US)
    assert robots.crawl_delay_s is None


def test_the_number_of_hints_is_bounded() -> None:
    text = read(b"User-agent: *\n" + b"Crawl-delay: 1\n" * 10 * MAX_HINTS, US)
    assert len(text.group.hints) == MAX_HINTS


# --- sitemaps -----------------------------------------------------------------------------------------------


def test_sitemaps_are_taken_from_anywhere_in_order_once() -> None:
    body = robots_txt(
        "Sitemap: https://h/b.xml",
        "User-agent: other",
        "SITEMAP:https://h/a.xml",
        "Disallow: /",
        "Sitemap:",
        "site-map: https://h/b.xml",
        "Sitemap https://h/c.xml",
        "Sitemap: /relative.xml",
    )
    assert parse(body, US).sitemaps == ("https://h/b.xml", "https://h/a.xml", "/relative.xml")


def test_at_most_a_thousand_sitemaps() -> None:
    body = robots_txt(*(f"Sitemap: https://h/{n}.xml" for n in range(1100)))
    assert parse(body, US).sitemaps == tuple(f"https://h/{n}.xml" for n in range(1000))


# --- Host, which decides nothing ------------------------------------------------------------------------------

# Host lines, wherever they stand → what is recorded
HOSTS = [
    (("Host: www.example.org",), "www.example.org"),
    (("HOST : https://example.org:8443/ # main",), "https://example.org:8443/"),
    (("Host: a.example", "Host: b.example"), "a.example"),
    (("Host:", "host b.example"), "b.example"),
    (("Host: a\x00" + "x" * 999,), "a\x00" + "x" * 298),
    (("X-Host: a.example",), None),
    ((), None),
]


@pytest.mark.parametrize(("lines", "host"), HOSTS)
@pytest.mark.parametrize("place", range(5))
def test_ours_host_is_recorded_and_ignored(lines: tuple[str, ...], host: str | None, place: int) -> None:
    """It begins, ends and fills no group: what is said before and after it holds as if it were not there."""
    rest = ["User-agent: other", f"User-agent: {US}", "Disallow: /private", "Crawl-delay: 2"]
    plain, found = parse(robots_txt(*rest), US), parse(robots_txt(*rest[:place], *lines, *rest[place:]), US)
    assert (found.host, plain.host) == (host, None)
    assert (found.crawl_delay_s, found.sitemaps) == (plain.crawl_delay_s, plain.sitemaps) == (2.0, ())
    for target in ("/private/x", "/x", "/"):
        ours, theirs = found.decide(target), plain.decide(target)
        assert (ours.allowed, ours.group, ours.rule) == (theirs.allowed, theirs.group, theirs.rule)
    assert not found.allowed("/private/x")


# --- the answer to the request ------------------------------------------------------------------------------

# status, failure, meaning
AVAILABILITY = [
    (200, None, Availability.AVAILABLE),
    (204, None, Availability.AVAILABLE),
    (301, None, Availability.UNAVAILABLE),
    (308, None, Availability.UNAVAILABLE),
    (400, None, Availability.UNAVAILABLE),
    (401, None, Availability.UNAVAILABLE),
    (403, None, Availability.UNAVAILABLE),
    (404, None, Availability.UNAVAILABLE),
    (410, None, Availability.UNAVAILABLE),
    (429, None, Availability.UNREACHABLE),
    (451, None, Availability.UNAVAILABLE),
    (499, None, Availability.UNAVAILABLE),
    (500, None, Availability.UNREACHABLE),
    (503, None, Availability.UNREACHABLE),
    (599, None, Availability.UNREACHABLE),
    (999, None, Availability.UNREACHABLE),
    (100, None, Availability.UNREACHABLE),
    (200, Failure.CUT, Availability.UNREACHABLE),
    *((None, failure, Availability.UNREACHABLE) for failure in Failure),
    (None, None, Availability.UNREACHABLE),
]


@pytest.mark.parametrize(("status", "failure", "meaning"), AVAILABILITY)
def test_rfc9309_availability(status: int | None, failure: Failure | None, meaning: Availability) -> None:
    assert availability(Reply(status=status, failure=failure, started_s=0.0, ended_s=0.0)) is meaning


H, D = 3600.0, 86_400.0
COPY, NO_COPY, ANSWERS, SILENT = True, False, True, False
PHASES = [
    # availability, out of reach for, a copy is known?, the host answers? → what is in force
    ("available", None, COPY, ANSWERS, InForce.RULES),
    ("unavailable", None, NO_COPY, ANSWERS, InForce.ALLOW_ALL),
    ("unreachable", 0.0, COPY, ANSWERS, InForce.DISALLOW_ALL),
    ("unreachable", 0.0, NO_COPY, SILENT, InForce.DISALLOW_ALL),
    ("unreachable", 12 * H - 0.001, COPY, ANSWERS, InForce.DISALLOW_ALL),
    ("unreachable", 12 * H, COPY, ANSWERS, InForce.COPY),
    ("unreachable", 12 * H, COPY, SILENT, InForce.COPY),
    ("unreachable", 12 * H, NO_COPY, ANSWERS, InForce.DISALLOW_ALL),
    ("unreachable", 30 * D - 0.001, COPY, SILENT, InForce.COPY),
    ("unreachable", 30 * D - 0.001, NO_COPY, ANSWERS, InForce.DISALLOW_ALL),
    ("unreachable", 30 * D, COPY, ANSWERS, InForce.ALLOW_ALL),
    ("unreachable", 30 * D, NO_COPY, ANSWERS, InForce.ALLOW_ALL),
    ("unreachable", 30 * D, COPY, SILENT, InForce.DISALLOW_ALL),
    ("unreachable", 30 * D, NO_COPY, SILENT, InForce.DISALLOW_ALL),
    ("unreachable", None, COPY, ANSWERS, InForce.DISALLOW_ALL),  # nobody knows since when
]


class Months(NamedTuple):
    """A `Patience`, as the settings are one."""

    robots_disallow_s: float
    robots_copy_s: float


@pytest.mark.parametrize(("availability_", "seconds", "has_copy", "answers", "found"), PHASES)
def test_rfc9309_phases_of_a_file_out_of_reach(
    availability_: str, seconds: float | None, has_copy: bool, answers: bool, found: InForce
) -> None:
    standing = Standing(availability_, seconds, has_copy, answers)
    file = parse(b"User-agent: *\nDisallow: /x", "tiptoe")
    decided, rules = in_force_rules(standing, Months(12 * H, 30 * D), lambda: file)
    assert decided is found
    assert rules is {InForce.ALLOW_ALL: ALLOW_ALL, InForce.DISALLOW_ALL: DISALLOW_ALL}.get(found, file)


@given(
    seconds=st.floats(0, 1e10),
    has_copy=st.booleans(),
    answers=st.booleans(),
    phases=st.tuples(st.floats(0, 1e9), st.floats(0, 1e9)),
)
def test_ours_nothing_but_the_copy_or_a_host_that_answers_ends_the_disallow(
    seconds: float, has_copy: bool, answers: bool, phases: tuple[float, float]
) -> None:
    found = in_force(Standing("unreachable", seconds, has_copy, answers), Months(*phases))
    assert found is not InForce.RULES
    assert found is InForce.DISALLOW_ALL or seconds >= phases[0]
    assert found is not InForce.COPY or (has_copy and seconds < phases[1])
    assert found is not InForce.ALLOW_ALL or (answers and seconds >= max(phases))


HALF_A_DAY = 12 * 3600.0


@pytest.mark.parametrize(
    ("cache_control", "seconds"),
    [
        (None, HALF_A_DAY),
        ("", HALF_A_DAY),
        ("public, must-revalidate", HALF_A_DAY),
        ("max-age=3600", 3600.0),
        ("Public, Max-Age=3600", 3600.0),
        ('max-age="3600"', 3600.0),
        ("max-age=7200, max-age=3600", 3600.0),
        ("max-age=31536000", HALF_A_DAY),
        ("max-age=" + "9" * 5000, HALF_A_DAY),
        ("max-age=0", 300.0),
        ("max-age=299", 300.0),
        ("max-age=301", 301.0),
        ("max-age=-1", 300.0),
        ("max-age=soon", 300.0),
        ("max-age", 300.0),
        ("max-age=٣", 300.0),
        ("no-cache", 300.0),
        ("no-store, max-age=3600", 300.0),
        ('no-cache="set-cookie"', 300.0),
        (",,=,", HALF_A_DAY),
    ],
)
def test_ours_fresh_for(cache_control: str | None, seconds: float) -> None:
    assert fresh_for_s(cache_control) == seconds


# --- against other matchers ---------------------------------------------------------------------------------

targets = st.text(alphabet="ab/c", max_size=8).map(lambda rest: "/" + rest)
patterns = st.text(alphabet="ab/c*", max_size=6).map(lambda rest: "/" + rest)


def escaped_length(pattern: str) -> int:
    return len(quote(re.sub(r"\*+", "*", pattern), safe="/*$"))


def rank_by_regex(pattern: str, target: str) -> int | None:
    """Length of the match by a regular expression, written without a look at `robots_match`."""
    anchored = pattern.endswith("$")
    body = pattern.removesuffix("$")
    stem = body.rstrip("*")
    expression = ".*".join(map(re.escape, re.split(r"\*+", stem)))
    if stem != body:
        if re.match(expression + ".", target, re.DOTALL):
            return escaped_length(stem) + 1
        return escaped_length(stem) if re.match(expression, target, re.DOTALL) else None
    if anchored:
        return escaped_length(stem) + 1 if re.fullmatch(expression, target, re.DOTALL) else None
    return escaped_length(stem) if re.match(expression, target, re.DOTALL) else None


@settings(max_examples=examples(500), deadline=None)
@given(st.lists(st.tuples(st.booleans(), patterns, st.booleans()), max_size=6), targets)
def test_agrees_with_a_matcher_of_regular_expressions(rules: list[tuple[bool, str, bool]], target: str) -> None:
    written = [(allow, pattern + "$" * anchored) for allow, pattern, anchored in rules]
    ranks = [(rank, allow) for allow, p in written if (rank := rank_by_regex(p, target)) is not None]
    body = robots_txt("User-agent: *", *(f"{'Allow' if a else 'Disallow'}: {p}" for a, p in written))
    robots = parse(body, US)
    assert robots.allowed(target) is (max(ranks)[1] if ranks else True)
    assert robots.decide(target).allowed is robots.allowed(target)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.tuples(st.booleans(), patterns), max_size=6), targets)
def test_agrees_with_protego(rules: list[tuple[bool, str]], target: str) -> None:
    """On what it reads as we do: no anchors, no stars at the end, no runs of stars."""
    written = [(allow, re.sub(r"\*+", "*", pattern).rstrip("*")) for allow, pattern in rules]
    body = robots_txt("User-agent: *", *(f"{'Allow' if a else 'Disallow'}: {p}" for a, p in written))
    theirs = Protego.parse(body.decode()).can_fetch("http://h" + target, US)
    assert parse(body, US).allowed(target) is theirs


@given(st.text(max_size=30))
def test_normal_form_undoes_escapes_of_any_text(text: str) -> None:
    octets = re.sub(r"[/?%]", "", text).encode("utf-8", "replace")
    assert normal(quote(octets, safe="").encode()) == octets


# --- bounded work (promise R10) --------------------------------------------------------------------------------


def starred(*tails: str) -> Ruleset:
    return Ruleset(Rule(allow=False, pattern=tail.encode(), line=number) for number, tail in enumerate(tails, start=1))


def test_ordinary_work_is_small() -> None:
    rules = starred(*(f"/*?p{n}=" for n in range(100)))
    rule, steps = rules.find(b"/shop/item-12345.html?page=2")
    assert rule is None
    assert steps < MAX_STEPS / 100


@pytest.mark.parametrize(
    "tail", ["/" + "*a" * 250_000 + "*z", "/" + "*a" * 1000 + "*z$", "*" + "a" * 250 + "b" + "a" * 249]
)
def test_no_single_pattern_is_too_costly(tail: str) -> None:
    rule, steps = starred(tail).find(b"/" + b"a" * 2050)
    assert rule is None
    assert steps < MAX_STEPS / 10


def test_work_is_counted_and_given_up_by_staying_away() -> None:
    rules = starred(*(f"*a{n:x}z" for n in range(30_000)))
    rule, steps = rules.find(b"/" + b"a" * 2050)
    assert rule is TOO_COSTLY
    assert MAX_STEPS < steps < 1.1 * MAX_STEPS
    assert not TOO_COSTLY.allow
    assert rules.find(b"/short") == (None, rules.find(b"/short")[1])


def test_giving_up_is_explained() -> None:
    robots = parse(robots_txt("User-agent: *", *(f"Allow:*a{n:x}z" for n in range(30_000))), US)
    decision = robots.decide("/" + "a" * 2050)
    assert not robots.allowed("/" + "a" * 2050)
    assert (decision.allowed, decision.line) == (False, None)
    assert "given up" in str(decision.rule)


def test_a_plain_prefix_spares_the_shorter_patterns_with_stars() -> None:
    rules = starred("/a-long-prefix-decides", *(f"/*{n:x}" for n in range(1000)))
    rule, steps = rules.find(b"/a-long-prefix-decides/f")
    assert rule is not None
    assert (rule.line, steps) == (1, 0)


HOSTILE: list[Any] = [
    pytest.param(b"\0" * MAX_BYTES, id="NULs"),
    pytest.param(b"User-agent: *\nDisallow: /" + b"\0" * MAX_BYTES, id="NULs in a pattern"),
    pytest.param(bytes(range(256)) * 2000, id="binary"),
    pytest.param(b"\r" * MAX_BYTES, id="CR only"),
    pytest.param(b":" * MAX_BYTES, id="colons"),
    pytest.param(b"User-agent: *\n" * 40_000, id="agents"),
    pytest.param(b"User-agent: *\nDisallow: /" + b"%" * 400_000, id="percent signs"),
    pytest.param(b"User-agent: *\nDisallow: /" + b"*" * 400_000, id="stars"),
    pytest.param(b"User-agent: *\nCrawl-delay: " + b"9" * 400_000, id="digits"),
    pytest.param(b"User-agent: *\nRequest-rate: " + b"9" * 4000 + b"/" + b"9" * 4000, id="rate"),
    pytest.param(b"User-agent: *\n" + b"Disallow: /a*b*c*d$\n" * 30_000, id="the same rule"),
]


@pytest.mark.parametrize("body", HOSTILE)
def test_hostile_files_are_read(body: bytes) -> None:
    robots = parse(body, US)
    assert robots.allowed("/robots.txt")
    for target in ("/", "/a" * 1000, "/%00", "/\ud800", ""):
        assert robots.decide(target).allowed is robots.allowed(target)
