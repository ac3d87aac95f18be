"""`url why` of a URL without a row judges it anew, and names the rule that refuses it and the pages that link to it."""

from typing import Any

import pytest

from app.admin.explain import WouldBe
from app.crawl.state.worker import Worker
from app.model import Budgets
from tests.admin.explain.explained import why
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Web, html

PICTURE = Answer(body=b"\x89PNG", headers={"Content-Type": "image/png"})


def anew(worker: Worker, url: str) -> WouldBe:
    (would_be,) = why(worker, url).elsewhere
    return would_be


@pytest.mark.parametrize(
    ("wishes", "path", "says"),
    [
        ({"exclude": ["/draft"]}, "/draft/1", "excluded: exclude pattern /draft"),
        ({"include": ["/docs"]}, "/other", "excluded: matches no include pattern: /docs"),
        ({"budgets": Budgets(max_depth=0)}, "/a", "depth: max_depth 0"),
        ({}, "/a" * 30, "trap_repeats"),
        ({}, "/private/never-linked", "refused by robots.txt: refused: line 2, Disallow: /private"),
        ({}, "/nofollow", "nofollow: the link on"),
    ],
)
def test_the_rule_is_named_after_the_crawl_has_ended(
    worker: Worker, web: Web, wishes: dict[str, Any], path: str, says: str
) -> None:
    site = web.site()
    site.robots = "User-agent: *\nDisallow: /private"
    site.pages["/"] = Answer(
        body=b"<a href=/docs>docs</a><a rel=nofollow href=/nofollow>no</a>", headers={"Content-Type": "text/html"}
    )
    start(worker, site.url(), **wishes)
    run(worker)
    assert says in anew(worker, site.url(path)).verdict


def test_an_ending_is_named_and_so_are_the_pages_that_link_to_it(worker: Worker, web: Web) -> None:
    site = web.site()
    files = [f"/{n}.png" for n in range(9)]
    site.pages["/"] = html("/list")
    site.pages["/list"] = html(*files)
    site.pages |= dict.fromkeys(files, PICTURE)
    site.pages["/late"] = html("/late.png", "/10.png")
    start(worker, site.url(), keep_links=True, name="docs")
    run(worker)
    site.pages["/list"] = html(*files, "/late.png")
    start(worker, site.url(), keep_links=True, name="again")
    run(worker)
    found = {each.crawl: each for each in why(worker, site.url("/late.png")).elsewhere}
    assert "extension: none of 3 URLs" in found["docs"].verdict
    assert found["docs"].found_on == []


def test_where_a_dropped_link_was_found(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html("/docs", "/draft?a=1&b=2")
    start(worker, site.url(), keep_links=True, exclude=["/draft"])
    run(worker)
    assert anew(worker, site.url("/draft?a=1&b=2")).found_on == [site.url()]
    assert anew(worker, site.url("/draft?a=1")).found_on == []


def test_a_finished_crawl_of_other_hosts_says_nothing(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html()
    start(worker, site.url())
    run(worker)
    assert why(worker, "http://other.test/").elsewhere == []
