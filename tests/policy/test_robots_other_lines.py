"""Lines of robots.txt beside its rules: delays, visit times, sitemaps, and Host, in rows."""

import pytest

from app.policy.moment import Hours
from app.policy.robots import (
    parse,
)
from app.policy.robots_text import MAX_HINTS, read
from tests.policy.robots_rows import US, robots_txt

# --- slow-down lines ----------------------------------------------------------------------------------------

# lines of our group, seconds, raw value
DELAYS = [
    (["Crawl-delay: 10"], 10.0, "10"),
    (["Crawl-delay: 0.5"], 0.5, "0.5"),
    (["crawl-delay:.5 # half"], 0.5, ".5"),
    (["Crawl-delay: 0"], 0.0, "0"),
    (["Crawl-delay: 1e9"], 1e9, "1e9"),
    (["Crawl-delay: 99999999999999999999"], 1e20, "99999999999999999999"),
    (["Crawl-delay: 10 seconds"], 10.0, "10 seconds"),
    (["Crawl-delay: 1.5S", "Crawl-delay: 1"], 1.5, "1.5S"),
    (["Crawl-delay: 2,5"], 2.5, "2,5"),
    (["Crawl-delay: 5 minutes"], None, "5 minutes"),
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
    (("Host: a\x00" + "x" * 999,), "a"),  # a line is read to its first NUL
    (("Host: " + "x" * 999,), "x" * 300),
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
