"""What pages say is handed to the links that they name, where the crawl has topics: by all that name them."""

from collections.abc import Callable
from typing import Any

import pytest

from app.crawl.state.worker import Worker
from app.features.focus.on_host import learned_by
from app.policy.focus.score import unpacked
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Hit, Site, Web, html
from tests.store.rows import sql

TOPICS = '[topics]\nwords = ["crawler"]\nlanguage = "en"\n'


def library(web: Web) -> Site:
    site = web.site()
    site.pages["/"] = html("/cooking", "/robots", text="a front page of some words and one crawler")
    site.pages["/cooking"] = html("/a1", "/a2", "/a3", text="soups and bread and how to bake them well")
    site.pages["/robots"] = html("/b1", "/b2", "/b3", text="how crawlers and a crawler of the web behave")
    site.pages |= {f"/{name}{n}": html(text=f"leaf {name} {n}") for name in "ab" for n in (1, 2, 3)}
    return site


def test_links_of_a_page_about_the_topic_are_fetched_first(worker: Worker, web: Web) -> None:
    site = library(web)
    start(worker, site.url(), profile=TOPICS)
    run(worker)
    assert [path[1] for path in site.pages_asked[-6:]] == ["b"] * 3 + ["a"] * 3


def test_without_topics_no_url_has_the_component(worker: Worker, web: Web) -> None:
    site = library(web)
    start(worker, site.url())
    run(worker)
    rows = sql(worker.engine, "SELECT score_parts FROM urls WHERE depth > 0")
    assert len(rows) == 8
    assert all(row["score_parts"] >= 0 and unpacked(row["score_parts"]).page == 0 for row in rows)


def test_the_component_is_kept_with_the_url(worker: Worker, web: Web) -> None:
    site = library(web)
    start(worker, site.url(), profile=TOPICS)
    run(worker)
    rows = sql(worker.engine, "SELECT url, score, score_parts FROM urls WHERE depth = 2")
    pages = {row["url"][-2]: unpacked(row["score_parts"]) for row in rows}
    assert pages["b"].page > 0.2
    assert pages["a"].page == 0
    assert all(row["score"] == pytest.approx(unpacked(row["score_parts"]).score, abs=0.06) for row in rows)


def contents(web: Web) -> Site:
    """A front page that names all, one page about the topic that names some of it again, and one about another."""
    site = web.site()
    leaves = [f"/x/{name}{n}" for n in (1, 2, 3) for name in "ab"]  # deeper, and so after the two pages
    site.pages["/"] = html("/cooking", "/robots", *leaves, text="a table of contents")
    site.pages["/cooking"] = html(
        *(leaf for leaf in leaves if "a" in leaf), text="soups and bread and how to bake them well"
    )
    site.pages["/robots"] = html(
        *(leaf for leaf in leaves if "b" in leaf), text="how crawlers and a crawler of the web behave"
    )
    site.pages |= {leaf: html(text=f"leaf {leaf[3:]}") for leaf in leaves}
    return site


def parts_of(worker: Worker) -> dict[str, Any]:
    rows = sql(worker.engine, "SELECT url, score, score_parts, lane, found_on FROM urls WHERE depth = 1")
    return {row["url"].rpartition("/")[2]: row | {"parts": unpacked(row["score_parts"])} for row in rows}


@pytest.fixture
def one_by_one(make: Callable[..., Worker]) -> Worker:
    """A worker that settles after each page, as at a host with a delay: what a page says holds for the next pick."""
    return make(settle_urls=1)


def test_a_page_about_the_topic_raises_what_a_table_of_contents_named_first(one_by_one: Worker, web: Web) -> None:
    site = contents(web)
    start(one_by_one, site.url(), profile=TOPICS)
    run(one_by_one)
    assert {path[3] for path in site.pages_asked[-3:]} == {"a"}
    rows = parts_of(one_by_one)
    assert {rows[name]["parts"].page > 0.05 for name in ("b1", "b2", "b3")} == {True}
    assert {rows[name]["parts"].page for name in ("a1", "a2", "a3")} == {0}
    assert {row["lane"] for row in rows.values()} == {1}
    assert rows["b1"]["found_on"] == site.url(), "the page that named it first"
    assert all(row["score"] == pytest.approx(row["parts"].score, abs=0.06) for row in rows.values())


def test_without_topics_no_score_is_raised(one_by_one: Worker, web: Web) -> None:
    site = contents(web)
    start(one_by_one, site.url())
    run(one_by_one)
    assert {row["parts"].page for row in parts_of(one_by_one).values()} == {0}
    assert learned_by(one_by_one).namings.hear(1, b"k" * 32, 1.0) is None


def test_after_a_restart_a_url_keeps_its_score_until_a_page_says_more_of_it(one_by_one: Worker, web: Web) -> None:
    site = contents(web)
    leaves = [path for path in site.pages if path.startswith("/x/b")]
    topical = html(*leaves, text="how crawlers and a crawler of the web behave")
    site.pages["/"] = html("/robots", "/crawlers", *leaves, text="a table of contents")
    restarts = iter([learned_by(one_by_one).namings.clear])

    def answer(hit: Hit) -> Answer:
        next(restarts, bool)()
        return topical

    site.pages["/robots"] = site.pages["/crawlers"] = answer
    start(one_by_one, site.url(), profile=TOPICS)
    run(one_by_one)
    pages = [row["parts"].page for name, row in parts_of(one_by_one).items() if name.startswith("b")]
    assert pages == pytest.approx([0.3 * (0.5 + 1.0) / 2] * 3, abs=0.01), "the mean of the two pages since"
