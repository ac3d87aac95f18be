"""The examples of docs/focus.md: anyone who reads the rules of traps can tell a verdict."""

import re
from pathlib import Path

import pytest

from app.features.focus.crawl_focus import CrawlFocus
from app.policy.focus.score import score
from tests.features.focus.test_focus import judging, learn, prose, url

_ROW = re.compile(r"\| (\d+[a-c]*) \| (?:`(.*)`)? ?\| `(.*)` \| (fetched|refused) \|")
_PAGE = Path(__file__).parents[3] / "docs" / "focus.md"
ROWS = [found.groups() for line in _PAGE.read_text().splitlines() if (found := _ROW.fullmatch(line))]


def is_refused(focus: CrawlFocus, target: str) -> bool:
    found = url(target)
    scored = score(focus.profile, found, depth=1)
    trap = focus.trap(found, scored.shape, risk=scored.parts.risk, found_on="/")
    return trap is not None or focus.copies(found) is not None


def test_there_are_examples_of_what_is_refused_and_of_what_is_not() -> None:
    assert {verdict for *_, verdict in ROWS} == {"fetched", "refused"}
    assert {rule[0] for rule, *_ in ROWS} == set("23567")


@pytest.mark.parametrize(("rule", "pages", "target", "verdict"), ROWS)
def test_the_verdict_is_as_the_page_says(rule: str, pages: str | None, target: str, verdict: str) -> None:
    focus = judging()
    learn(focus, "/", prose("what all say"))
    for page in (pages or "").split():
        learn(focus, page[1:], prose(page) if page[0] == "+" else prose("what all say"))
    assert is_refused(focus, target) is (verdict == "refused"), rule
