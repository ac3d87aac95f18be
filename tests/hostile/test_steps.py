"""What a page costs as a whole, in steps: calls of functions, ours and those in C, from its octets to its links.

A budget is in proportion to the page. Time is judged by the kernel (`test_heavy.py`), which also sees what one call
takes.
"""

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from app.model import Reply
from app.model.page import Page
from app.parse.html import html, survey
from app.parse.html.text import MAX_TEXT_CHARS
from app.policy import blocks, text_diff
from app.policy.focus import novelty
from app.policy.url import Canon
from tests.fuzz.parts import assert_storable
from tests.hostile.generated import document
from tests.hostile.heavy import HEAVY, MIB

STEPS_AN_OCTET, STEPS_AT_LEAST = 6, 5_000
PART = 48 * 1024  # of the heavy documents: what is in proportion is so here, too
MAX_LINKS = 5_000
SEEDS = 1_000
CANON = Canon()


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    """What is loaded and compiled once is no page's."""
    for seed in range(20):
        content_type, body = document(seed)
        read(body, content_type)


def steps_of(act: Callable[[], object]) -> int:
    """The number of calls that it makes."""
    made = 0

    def count(_frame: FrameType, event: str, _what: object) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        act()
    finally:
        sys.setprofile(None)
    return made


def read(body: bytes, content_type: str) -> Page:
    """The page: read, its links joined, its words weighed, and searched for a wall."""
    page = html.read(body, content_type=content_type, max_links=MAX_LINKS)
    for link in page.links:
        CANON.join("http://h.test/a/b", link.href)
    novelty.said(page.main_text)
    headers = {"content-type": content_type}
    blocks.find(Reply(status=403, body=body, headers=headers, started_s=0.0, ended_s=0.0))
    return page


def budget(body: bytes) -> int:
    return STEPS_AT_LEAST + STEPS_AN_OCTET * len(body)


def assert_bounded(page: Page) -> None:
    assert_storable(page)
    assert len(page.links) <= MAX_LINKS
    assert len(page.main_text) <= MAX_TEXT_CHARS
    assert all(len(link.text) <= survey.MAX_ANCHOR_CHARS for link in page.links)
    assert max(len(page.title or ""), len(page.description or "")) <= survey.MAX_FIELD_CHARS


@pytest.mark.parametrize("first", range(0, SEEDS, 100))
def test_a_thousand_generated_documents_stay_within_their_budget(first: int) -> None:
    over = {}
    for seed in range(first, first + 100):
        content_type, body = document(seed)
        pages: list[Page] = []
        made = steps_of(lambda: pages.append(read(body, content_type)))  # noqa: B023  # called before the next
        assert_bounded(pages[0])
        if made > budget(body):
            over[seed] = made
    assert over == {}


@pytest.mark.parametrize("name", HEAVY)
def test_the_heavy_documents_stay_within_their_budget(name: str) -> None:
    content_type, make = HEAVY[name]
    whole = make()
    assert len(whole) > 0.9 * MIB
    body = whole[:PART]
    pages: list[Page] = []
    assert steps_of(lambda: pages.append(read(body, content_type))) <= budget(body)
    assert_bounded(pages[0])


@pytest.mark.parametrize("seed", range(0, SEEDS, 20))
def test_two_generated_texts_are_compared_within_the_budget(seed: int) -> None:
    old, new = (html.read(body, content_type=kind).main_text for kind, body in (document(seed), document(seed + 1)))
    compared = steps_of(lambda: text_diff.compare(old + "\n" + new, new + "\n" + old))
    assert compared <= STEPS_AT_LEAST + text_diff.STEPS_MOST * 4


def test_a_document_is_made_by_its_seed_alone() -> None:
    assert document(7) == document(7) != document(8)


def test_the_steps_of_a_quadratic_loop_are_seen() -> None:
    body = b"<p>" * 10_000
    assert steps_of(lambda: [body.find(b"x", n) for n in range(len(body)) for _ in range(10)]) > budget(body)
