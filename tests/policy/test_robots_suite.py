"""Third-party acceptance rows (`shared/suites`, see its README): normative ones must pass, others are judged.

Skipped where the suites are not there; `test_robots` states the same rules in our own rows. The rows on URLs in
`robots_other.json` (path_of_url, robots_url_of) are no business of ours: targets come from `app.policy.url`.
"""

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from app.model import Failure, Reply
from app.policy.robots import Availability, availability, fresh_for_s, parse

SUITES = Path(__file__).parents[3] / "shared" / "suites"

ONE_TOKEN_A_LINE = "a User-agent line names one token (RFC 9309 section 2.2.1); what follows it is not read"
A_TOKEN_IS_ASKED_FOR = "asks with a list of names or a whole User-Agent header; we ask with a product token"
MISSPELT = "misspelt beyond the list of Google's parser; RFC 9309 section 2.2.4: other records do not interfere"
DELAY_IS_NO_BAN = "a long Crawl-delay is obeyed as a delay, not taken for a refusal"
MARKUP = "HTML sent as robots.txt: '*<BR>' is no token"

# Rows of other bases than rfc9309 that we decide otherwise, and why. A row here that we pass is an error too.
DIFFERENCES = {
    f"crawler-commons/{name}": reason
    for reason, names in {
        ONE_TOKEN_A_LINE: [
            *(f"testNutchCases2/{row}.2" for row in (11, 12, 15, 18)),
            "testMultiAgentNames/1",
            "testSpacesInMultipleUserAgentNames/2",
            "testSpacesInMultipleUserAgentNames/3",
        ],
        A_TOKEN_IS_ASKED_FOR: [
            *(f"testNutchCases/{row}.2" for row in (0, 1, 2, 4, 5, 11, 12, 15)),
            *(f"testHeritrixCases/{row}" for row in (5, 6, 7)),
        ],
        MISSPELT: ["testDirectiveTypos/1", "testDirectiveTypos/4"],
        DELAY_IS_NO_BAN: ["testBigCrawlDelay/1"],
        MARKUP: ["testHtmlMarkupInRobotsTxt/2"],
    }.items()
    for name in names
}


def rows(file: str, part: str) -> list[Any]:
    path = SUITES / file
    if not path.exists():
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"{path} is not there"))]
    return [pytest.param(row, id=row["name"]) for row in json.loads(path.read_text())[part]]


@pytest.mark.parametrize("row", rows("robots_allow.json", "cases"))
def test_allow(row: dict[str, Any]) -> None:
    body = base64.b64decode(row.get("robots_txt_b64", "")) or row["robots_txt"].encode()
    url = urlsplit(row["url"])
    target = (url.path or "/") + (f"?{url.query}" if url.query else "")
    robots = parse(body, row["user_agent"])
    assert robots.decide(target).allowed is robots.allowed(target)
    differs = row["name"] in DIFFERENCES
    assert not (differs and row["basis"] == "rfc9309"), "no excuse from a normative row"
    assert robots.allowed(target) is (row["expected_allowed"] is not differs), DIFFERENCES.get(row["name"])


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
