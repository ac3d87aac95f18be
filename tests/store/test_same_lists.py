"""Lists and conditions that stand in two queries, as SQL has no name for them: a column in one is in the other too."""

import re

import pytest

from app.store import db


# the one query, the other, and the part that both have
@pytest.mark.parametrize(
    ("one", "other", "part"),
    [
        (
            "urls.pick",
            "renders.page",
            r"SELECT (.*? u\.score_parts), ",
        ),  # a picked URL; its reader is the page's or the document's
        ("board.crawls", "board.crawl", r"SELECT (.*) FROM crawls"),  # a crawl on the overview
        ("hosts.extend_visits", "hosts.leave", r" (delay_s = r\.delay_s, .* ELSE h\.unfetched_at END)"),
        ("hosts.extend_visits", "hosts.leave", r" AS r \( (host_id .* counted boolean)"),
        ("hosts.offer_now", "hosts.borrow", r" WHERE (name = :name .*) \) UPDATE"),  # who may be contacted now
        ("extractions.claim", "extractions.claim_near", r"\) (UPDATE extractions .*)"),
        ("crawls.finish_candidates", "crawls.finish_done", r"(c\.state = 'active' .* IS NULL) (?:ORDER|RETURNING)"),
        ("urls.retry", "urls.force", r"(UPDATE urls .* retrying = false)"),
    ],
)
def test_both_have_the_same(one: str, other: str, part: str) -> None:
    assert part_of(one, part) == part_of(other, part)


def part_of(query: str, part: str) -> str:
    room, _, name = query.partition(".")
    code = re.sub(r"--[^\n]*", "", db.queries(room)[name].text)
    found = re.search(part, " ".join(code.split()))
    assert found, f"{query} has no such part"
    return found[1]
