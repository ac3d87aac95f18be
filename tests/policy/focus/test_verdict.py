"""The verdict on a crawl's days: each finding has its number and a remedy, and few requests prove nothing."""

from datetime import UTC, datetime
from typing import Any

import pytest

from app.model import Url
from app.policy.focus.profile_text import read
from app.policy.focus.verdict import FEW, Measured, left_out, verdict
from app.policy.url import Canon

GOOD: dict[str, Any] = {
    "day": datetime(2026, 5, 3, tzinfo=UTC),
    "seconds": 86_400.0,
    "requests": 1_000,
    "pages": 900,
    "recrawls": 0,
    "density_ratio": 0.8,
    "p1_coverage_rate": 0.9,
    "avg_staleness_days": 1.0,
    "discard_rate": 0.2,
    "change_yield": None,
    "fetch_success_rate": 0.97,
    "avg_response_time_ms": 120.0,
    "frontier_depth": 2_000,
    "duplicate_discard_rate": 0.05,
    "robots_denials": 10,
}


def of(**change: Any) -> Measured:
    return Measured(**{**GOOD, **change})


# what differs from a good day → how the finding begins
@pytest.mark.parametrize(
    ("change", "begins"),
    [
        ({}, "nothing stands out"),
        ({"fetch_success_rate": 0.5}, "50% of the requests failed"),
        ({"density_ratio": 0.1}, "only 10% of the requests brought a text"),
        ({"duplicate_discard_rate": 0.4}, "40% of the new pages repeat another"),
        ({"recrawls": 500, "change_yield": 0.01}, "1% of the recrawls found a change: fewer"),
        ({"recrawls": 500, "change_yield": 0.9}, "90% of the recrawls found a change: more"),
        ({"recrawls": 900, "density_ratio": 0.1, "change_yield": 0.3}, "nothing stands out"),
        (
            {"p1_coverage_rate": 0.1, "frontier_depth": 50_000},
            "90% of what it values most waits, and at this pace 50,000 URLs",
        ),
        ({"robots_denials": 9_000}, "robots.txt refuses 9,000 URLs"),
        ({"avg_response_time_ms": 3_500.0}, "an answer takes 3.5 s"),
        (
            {"requests": 5, "pages": 5, "frontier_depth": 0, "robots_denials": 0},
            "nothing waits: `tiptoe seed add docs URL`",
        ),
    ],
)
def test_a_finding_has_its_number(change: dict[str, Any], begins: str) -> None:
    (found,) = verdict([of(**change)], "docs")
    assert found.startswith(begins)


def test_few_requests_prove_nothing() -> None:
    few = of(requests=FEW - 1, pages=FEW - 1, fetch_success_rate=0.0, density_ratio=0.0, duplicate_discard_rate=1.0)
    assert verdict([few], "docs") == ["nothing stands out"]


def test_days_are_weighted_by_their_requests() -> None:
    days = [of(requests=10_000, fetch_success_rate=1.0), of(requests=100, fetch_success_rate=0.0)]
    assert verdict(days, "docs") == ["nothing stands out"]


def test_without_a_day_it_says_so() -> None:
    assert verdict([], "docs")[0].startswith("nothing was measured")


# pattern, one of its URLs → what a profile allows, to let its URLs through; others that it lets through, too
@pytest.mark.parametrize(
    ("pattern", "path", "allow", "others"),
    [
        ("/calendar/#", "/calendar/2031/05", "^/calendar/", ["/calendar/2032/06"]),
        ("/w#", "/product-8", "^/product-", ["/product-9"]),
        ("/w?from", "/find?from=12", "^/find.", ["/find?from=13"]),
        ("≈?ref", "/shoes/red?ref=list", "[?&]ref=", ["/hats/blue?a=1&ref=top"]),
        ("≈?Sort&dir", "/shoes?dir=up&Sort=1", "[?&]Sort=", ["/hats?Sort=2&dir=down"]),
        ("≈/w/{print}/w", "/shoes/print/red", "^/shoes/", ["/shoes/print/blue"]),
        ("/w's/#", "/it's/7", "^/it.s/", ["/it's/8"]),
    ],
)
def test_the_line_that_lets_a_pattern_through_is_one_of_a_profile(
    pattern: str, path: str, allow: str, others: list[str]
) -> None:
    said = left_out("h.test", pattern, 57, 4, f"http://h.test{path}")
    line = f"allow = ['{allow}']"
    assert said == f"h.test{pattern}: 57 URLs refused after 4 requests; wanted? {line} in a profile's [traps]"
    profile = read(f"[traps]\n{line}\n", what="mine")
    urls = [Canon().canonicalise(f"http://h.test{each}") for each in (path, *others)]
    assert all(isinstance(url, Url) and profile.allows(url) for url in urls)
