"""Which rule of robots.txt holds for a path, in rows."""

import pytest

from app.policy.robots import (
    ALLOW_ALL,
    DISALLOW_ALL,
    Decision,
    parse,
)
from tests.policy.robots_rows import US, robots_txt

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
