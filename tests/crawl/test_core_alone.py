"""The core crawls without any feature: what it writes of its own is what it writes with them."""

from collections.abc import Callable
from dataclasses import replace

from app import plugins
from app.crawl.state.worker import Worker
from app.crawl.visit import write
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import one, sql


def web_of(web: Web) -> Site:
    site = web.site()
    site.robots = "User-agent: *\nDisallow: /private\n"
    site.pages |= {
        "/": html("/a", "/a", "/gone", "/moved", "/private", "/broken", "/app", "/book"),
        "/a": html("/b", text="A lantern in the orchard."),
        "/b": html(text="A lantern in the orchard."),
        "/c": html(text="A lamp in the yard."),
        "/gone": Answer(status=410),
        "/moved": Answer(status=301, headers={"Location": "/c"}),
        "/broken": Answer(status=500),
        "/app": Answer(body=b"<div id=root></div><script src=/a.js></script>", headers={"Content-Type": "text/html"}),
        "/book": Answer(body=b"%PDF", headers={"Content-Type": "application/pdf"}),
    }
    return site


def brought(worker: Worker, web: Web, name: str) -> dict[str, tuple[object, ...]]:
    """What a crawl of that web has of each URL, by its path."""
    site = web_of(web)
    crawl = start(worker, site.url(), name=name)
    run(worker)
    rows = sql(
        worker.engine,
        """SELECT u.url, u.state, u.cause, u.outcome, u.depth, p.main_text, p.links,
                  (SELECT count(*) FROM fetches AS f WHERE f.url = u.url) AS fetches
           FROM urls AS u LEFT JOIN pages AS p USING (host_id, crawl_id, key) WHERE u.crawl_id = :id""",
        id=crawl.id,
    )
    return {row.pop("url").removeprefix(site.url("/")): tuple(row.values()) for row in rows}


def test_the_core_alone_crawls_as_it_does_with_its_features(make: Callable[..., Worker], web: Web) -> None:
    whole = make(network_attempts_max=1, attempts_max=2)
    alone = replace(whole, hooks=plugins.hooks(()))
    assert len(write.steps(alone.hooks)) < len(write.steps(whole.hooks))
    assert plugins.steps(alone.hooks) == ()
    found = brought(alone, web, "alone")
    assert {path: row[0] for path, row in found.items() if path in ("a", "gone", "private")} == {
        "a": "resting",
        "gone": "gone",
        "private": "refused",
    }
    assert found == brought(whole, web, "whole")
    assert one(whole.engine, "SELECT count(*) FROM crawls WHERE state = 'finished'") == 2
