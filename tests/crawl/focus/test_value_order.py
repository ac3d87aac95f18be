"""What a page says is handed to the links that it names, where the crawl has topics."""

import pytest

from app.crawl.state.worker import Worker
from app.policy.focus.score import unpacked
from tests.crawl.loop import run, start
from tests.crawl.web import Site, Web, html
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
