"""Third-party acceptance rows (`shared/suites`, see its README): all are run. Normative ones must pass, every other is
decided.

Skipped where the suites are not there; `test_robots` states the same rules in our own rows.
"""

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from app.model import Failure, Refusal, Reply, Url
from app.policy.robots import Availability, availability, fresh_for_s, parse
from app.policy.url import Canon

SUITES = Path(__file__).parents[3] / "shared" / "suites"
NORMATIVE = "rfc9309"


@dataclass(frozen=True)
class Choice:
    """agrees: we decide as the row says.   why: the reason for what we do."""

    agrees: bool
    why: str


def agree(why: str, *names: str) -> dict[str, Choice]:
    return dict.fromkeys(names, Choice(True, why))


def differ(why: str, *names: str) -> dict[str, Choice]:
    return dict.fromkeys(names, Choice(False, why))


def numbered(family: str, rows: Iterable[int], *parts: int) -> list[str]:
    """family/0.1, family/0.2, family/1.1 …"""
    return [f"{family}/{row}.{part}" for row in rows for part in parts]


def counted(family: str, last: int) -> list[str]:
    return [f"{family}/{row}" for row in range(1, last + 1)]


# What rows of other bases than rfc9309 ask for, by their name in the suite: our choice, and why.
CC = "crawler-commons"
LISTED = f"{CC}/testNutchCases2"  # "User-Agent: Agent2 Agent3"; asks as Agent2, Agent3, Agent4
HEADER = f"{CC}/testHeritrixCases"  # asks as "Mozilla denybot 99.9"
NAMES = f"{CC}/testNutchCases"  # asks as "Agent5,Agent2,Agent1,Agent3,*"
ONE_TOKEN = "a User-agent line names one token, the first (RFC 9309 section 2.2.1); what follows it is not read"
ONE_ASKER = "we ask with one product token, never with a list of names or a whole User-Agent header"
DECIDED: dict[str, Choice] = {
    **agree(
        "the first token of the line is ours, or the line names us alone, or the path is in no rule of any group",
        *numbered(LISTED, range(20), 1, 3),
        *numbered(LISTED, (*range(11), 13, 14, 16, 17, 19), 2),
        *counted(f"{CC}/testMultiWordAgentName", 2),
        f"{CC}/testSpacesInMultipleUserAgentNames/1",
        f"{CC}/testSpacesInMultipleUserAgentNames/4",
    ),
    **agree(
        "the token is not the first of its line, but without a group for us all is allowed",
        f"{CC}/testMultiAgentNames/2",
    ),
    **differ(
        ONE_TOKEN,
        *numbered(LISTED, (11, 12, 15, 18), 2),
        f"{CC}/testMultiAgentNames/1",
        f"{CC}/testSpacesInMultipleUserAgentNames/2",
        f"{CC}/testSpacesInMultipleUserAgentNames/3",
    ),
    **differ(
        ONE_ASKER,
        *numbered(NAMES, (0, 1, 2, 4, 5, 11, 12, 15), 2),
        *(f"{HEADER}/{row}" for row in (5, 6, 7)),
    ),
    **agree(
        "asked with the first name only, which comes to the same here",
        *numbered(NAMES, (3, *range(6, 11), 13, 14, 16, 17, 18, 19), 2),
        *(f"{HEADER}/{row}" for row in (1, 2, 3, 4, 8, 9)),
    ),
    **agree(
        "the version after a token is no part of it, in a group's line as in ours",
        *numbered(f"{CC}/testRfpCases", range(11), 1, 2, 3),
        *counted(f"{CC}/testBrokenKrugleRobotsTxtFile", 2),
    ),
    **agree(
        "a User-agent line that is a browser's header names Mozilla: it is about nobody else",
        f"{CC}/testMatchingUserAgentNamesHttpHeader/2",
    ),
    **agree(
        "Crawl-delay is an other record: it closes no group (RFC 9309 section 2.2.4)",
        *(
            f"{CC}/testCrawlDelayGroupMerging/{bot}/{path}"
            for bot in ("mybot", "yourbot", "anyotherbot")
            for path in ("private/", "login/", "root")
        ),
        *(
            f"{CC}/testSelectCrawlDelayGroup/{bot}/{path}"
            for bot in ("bingbot", "msnbot", "anybot")
            for path in ("login", "assets/", "root")
        ),
    ),
    **differ("a long Crawl-delay is obeyed as a delay, not taken for a refusal", f"{CC}/testBigCrawlDelay/1"),
    **agree(
        "read as Google's parser reads it: what a site meant to forbid is not fetched",
        *(f"{CC}/testDirectiveTypos/{row}" for row in (2, 3, 5)),
        *counted(f"{CC}/testFormatErrors", 4),
    ),
    **differ(
        "misspelt beyond the list of Google's parser (RFC 9309 section 2.2.4: other records do not interfere)",
        *(f"{CC}/testDirectiveTypos/{row}" for row in (1, 4)),
    ),
    **agree(
        "HTML sent as robots.txt: its markup after a value we can read is harmless", f"{CC}/testHtmlMarkupInRobotsTxt/1"
    ),
    **differ("HTML sent as robots.txt: '*<BR>' is no token", f"{CC}/testHtmlMarkupInRobotsTxt/2"),
    **agree(
        "UTF-16 that says so by its byte order mark is understood",
        f"{CC}/testRobotsWithUTF16BEBOM/1",
        f"{CC}/testRobotsWithUTF16LEBOM/1",
    ),
    **agree(
        "compared octet by octet after percent-normalisation; octets that are no UTF-8 match themselves",
        *counted(f"{CC}/testUnicodeUnescapedPaths", 10),
    ),
    **agree(
        "lines end in LF, CR or CRLF; an empty line closes no group, a U+0085 is a path that no URL has",
        *numbered(f"{CC}/testMixedEndings1", range(2), 1),
        *numbered(f"{CC}/testMixedEndings2", range(11), 1),
    ),
    **agree(
        "Scrapy's own expectations are those of the standard",
        *counted("scrapy/test_allowed", 2),
        *counted("scrapy/test_allowed_wildcards", 7),
        *counted("scrapy/test_length_based_precedence", 1),
        *counted("scrapy/test_unicode_url_and_useragent", 8),
    ),
    **agree(
        "nothing in it that we can read: nothing is forbidden",
        *counted("scrapy/test_empty_response", 4),
        *counted("scrapy/test_garbage_response", 4),
    ),
}


def rows(file: str, part: str) -> list[Any]:
    path = SUITES / file
    if not path.exists():
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"{path} is not there"))]
    return [pytest.param(row, id=row["name"]) for row in json.loads(path.read_text())[part]]


@pytest.mark.skipif(not SUITES.exists(), reason=f"{SUITES} is not there")
def test_allow() -> None:
    otherwise = {}
    for row in json.loads((SUITES / "robots_allow.json").read_text())["cases"]:
        body = base64.b64decode(row.get("robots_txt_b64", "")) or row["robots_txt"].encode()
        url = urlsplit(row["url"])
        target = (url.path or "/") + (f"?{url.query}" if url.query else "")
        robots = parse(body, row["user_agent"])
        assert robots.decide(target).allowed is robots.allowed(target), row["name"]
        choice = Choice(True, "demanded") if row["basis"] == NORMATIVE else DECIDED[row["name"]]
        if (robots.allowed(target) is row["expected_allowed"]) is not choice.agrees:
            otherwise[row["name"]] = choice.why
    assert otherwise == {}


@pytest.mark.skipif(not SUITES.exists(), reason=f"{SUITES} is not there")
def test_every_row_that_is_not_normative_is_decided_and_no_other() -> None:
    cases = json.loads((SUITES / "robots_allow.json").read_text())["cases"]
    normative = {row["name"] for row in cases if row["basis"] == NORMATIVE}
    assert set(DECIDED) == {row["name"] for row in cases} - normative
    assert (len(cases), len(normative)) == (448, 234)


# The words of the suite, in ours. 3xx is followed by the caller: what comes here is the one that it gave up on.
MEANINGS = {
    "parse": Availability.AVAILABLE,
    "parse(empty=allow all)": Availability.AVAILABLE,
    "unavailable: MAY access any": Availability.UNAVAILABLE,
    "allow all": Availability.UNAVAILABLE,
    "follow": Availability.UNAVAILABLE,
    "follow >=5 hops, then MAY treat as unavailable": Availability.UNAVAILABLE,
    "follow >=5 hops, cross-authority too, rules apply to the initial authority": Availability.UNAVAILABLE,
    "unavailable by RFC text; Google treats 429 as server error => disallow; choose strict": (Availability.UNREACHABLE),
    "unreachable: MUST assume complete disallow": Availability.UNREACHABLE,
    "complete disallow": Availability.UNREACHABLE,
    "complete disallow (crawler-commons also: defer visits)": Availability.UNREACHABLE,
}
FAILURES = {
    "network-error": Failure.RESET,
    "timeout": Failure.TIMEOUT,
    "dns-failure": Failure.DNS,
    "tls-error": Failure.TLS,
}


@pytest.mark.parametrize("row", rows("robots_other.json", "fetch_status_policy"))
def test_fetch_status(row: dict[str, Any]) -> None:
    failure = FAILURES.get(row["status"])
    status = None if failure else row["status"]
    reply = Reply(status=status, failure=failure, started_s=0.0, ended_s=0.0)
    assert availability(reply) is MEANINGS[row["expected"]]


@pytest.mark.parametrize("cache_control", [None, "max-age=31536000", "immutable"])
@pytest.mark.parametrize("row", rows("robots_other.json", "cache_rules"))
def test_cache(row: dict[str, Any], cache_control: str | None) -> None:
    assert "24 hours" in row["expected"]
    assert fresh_for_s(cache_control) < 24 * 3600


# Targets come from canonical URLs: what is no absolute URL never gets as far as robots.txt.
NO_URL = {"", "example.com", "example.com/", "example.com/a", "example.com/a/", "a", "a/", "/a", "a/b", "//a/b/c"} | {
    "example.com/a/b?c=d&e=f#fragment",
    "example.com?a",
    "example.com/a;b#c",
}


@pytest.mark.parametrize("row", rows("robots_other.json", "path_of_url"))
def test_path_of_url(row: dict[str, Any]) -> None:
    found = Canon().canonicalise(row["url"])
    if row["url"] in NO_URL:
        assert found is Refusal.INVALID
        found = Canon().canonicalise(f"http://h.test{row['expected_path']}")  # the path by itself is one of ours
    assert isinstance(found, Url)
    assert found.target == row["expected_path"]


@pytest.mark.parametrize("row", rows("robots_other.json", "robots_url_of"))
def test_robots_url_of(row: dict[str, Any]) -> None:
    """A URL with a user is refused before that (promise U2); without it the row holds."""
    expected = row["expected_robots_url"]
    found = Canon().canonicalise(row["url"])
    assert found is (Refusal.INVALID if expected is None else Refusal.CREDENTIALS)
    anonymous = Canon().canonicalise(row["url"].replace("user@", ""))
    assert (f"{anonymous.origin}/robots.txt" if isinstance(anonymous, Url) else None) == expected
