"""What robots.txt says about text and data mining, in rows."""

from collections.abc import Mapping

import pytest

from app.policy.tdm import (
    reserved,
)
from tests.policy.tdm_rows import DRAFT, US, of_robots

CLOUDFLARE = """# As a condition of accessing this website, you agree to abide by the following content signals: …
User-Agent: *
Content-signal: search=yes,ai-train=no
Allow: /

User-agent: GPTBot
Disallow: /
"""

# the file, target, what holds: value by use
ROBOTS_AIPREF = [
    (DRAFT, "/test", {"train-ai": "n"}),
    (DRAFT, "/ai-ok/test", {"train-ai": "y"}),
    (DRAFT, "/ai-ok", {"train-ai": "n"}),
    (CLOUDFLARE, "/", {"search": "yes", "ai-train": "no"}),
    # the group: ours, else that for all, never both
    ("User-agent: tiptoe\nContent-Usage: ai=y\n\nUser-agent: *\nContent-Usage: ai=n", "/", {"ai": "y"}),
    ("User-agent: tiptoe\nDisallow:\n\nUser-agent: *\nContent-Usage: ai=n", "/", {}),
    ("User-agent: other\nContent-Usage: ai=n", "/", {}),
    ("User-agent: tiptoebot\nContent-Usage: ai=n", "/", {}),
    ("User-agent: other\nUser-agent: TIPTOE/2.0\nContent-Usage: ai=n", "/", {"ai": "n"}),
    ("User-agent: *\nContent-Usage: ai=n\nUser-agent: other\nContent-Usage: ai=y", "/", {"ai": "n"}),  # it is a rule
    ("User-agent: *\nDisallow: /x\nUser-agent: other\nContent-Usage: ai=n", "/", {}),
    ("User-agent: *\nSitemap: http://h/s\nCrawl-delay: 1\nUser-agent: other\nContent-Usage: ai=n", "/", {"ai": "n"}),
    ("User-agent: *\nDisallow: /x\n\nUser-agent: *\nContent-Usage: ai=n", "/", {"ai": "n"}),  # groups are merged
    # the path: longest match, as for Allow and Disallow
    ("User-agent: *\nContent-Usage: /private/ train-ai=n", "/private/a?b", {"train-ai": "n"}),
    ("User-agent: *\nContent-Usage: /private/ train-ai=n", "/public", {}),
    ("User-agent: *\nContent-Usage: /a search=n\nContent-Usage: train-ai=n", "/ab", {"search": "n"}),
    ("User-agent: *\nContent-Usage: /ab/ ai=y\nContent-Usage: /a ai=n", "/ab/c", {"ai": "y"}),
    ("User-agent: *\nContent-Usage: /*.jpg$ ai=n\nContent-Usage: / ai=y", "/x.jpg", {"ai": "n"}),
    ("User-agent: *\nContent-Usage: /*.jpg$ ai=n\nContent-Usage: / ai=y", "/x.jpg?y", {"ai": "y"}),
    ("User-agent: *\nContent-Usage: /%C3%A4/ ai=n", "/ä/", {"ai": "n"}),
    ("User-agent: *\nContent-Usage:\t/a\tai=n # why", "/a", {"ai": "n"}),
    ("User-agent: *\nCONTENT-USAGE : ai=n", "/", {"ai": "n"}),
    # fields do not mix: each has its own longest match
    ("User-agent: *\nContent-Usage: /a ai=n\nContent-Signal: ai-train=no", "/a", {"ai": "n", "ai-train": "no"}),
    ("User-agent: *\nContent-Signal: /blog/ ai-train=no, search=yes", "/about", {}),
]

ROBOTS_OURS = [
    ("", "/", {}),
    ("Content-Usage: ai=n", "/", {}),  # in no group, where rules are not read either
    ("User-agent *\nContent-Usage: ai=n", "/", {"ai": "n"}),  # as `robots_text`
    ("Useragent: tiptoe\nContent-Usage: ai=n", "/", {"ai": "n"}),
    ("User-agent: *\nContent-Usage: /a", "/a", {}),
    ("User-agent: *\nContent-Usage: /a\nContent-Usage: ai=n", "/a", {}),  # a path with no preference has none
    ("User-agent: *\rContent-Usage: ai=n\rAllow: /", "/", {"ai": "n"}),
    ("\ufeffUser-agent: *\r\nContent-Usage: ai=n", "/", {"ai": "n"}),
    ("User-agent: *\nContent-Usages: ai=n", "/", {}),
    ("User-agent: *\nContent-Usage: /" + "a" * 5000 + " ai=n", "/" + "a" * 6000, {}),  # too long a path
]


@pytest.mark.parametrize(("body", "target", "expected"), ROBOTS_AIPREF)
def test_aipref_robots(body: str, target: str, expected: Mapping[str, str]) -> None:
    assert {signal.name: signal.value for signal in of_robots(body.encode(), US, target)} == expected


@pytest.mark.parametrize(("body", "target", "expected"), ROBOTS_OURS)
def test_ours_robots(body: str, target: str, expected: Mapping[str, str]) -> None:
    assert {signal.name: signal.value for signal in of_robots(body.encode(), US, target)} == expected


def test_aipref_identical_paths_both_hold() -> None:
    body = b"User-agent: *\nContent-Usage: / ai=y\nContent-Usage: / ai=n\nContent-Usage: /b ai=y"
    signals = of_robots(body, US, "/a")
    assert [signal.value for signal in signals] == ["y", "n"]
    assert reserved(signals)
    assert not reserved(of_robots(body, US, "/b"))


def test_robots_in_utf16_and_sources() -> None:
    body = "User-agent: *\nContent-Usage: ai=n\nContent-Signal: search=no".encode("utf-16")
    assert [(signal.source, signal.name) for signal in of_robots(body, US, "/")] == [
        ("robots.txt Content-Usage", "ai"),
        ("robots.txt Content-Signal", "search"),
    ]
