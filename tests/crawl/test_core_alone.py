"""The core crawls without any feature: what it writes of its own is what it writes with them."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest

from app import plugins
from app.admin.crawls import go_round
from app.crawl.state.worker import Worker
from app.crawl.visit import write
from app.model import Budgets
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import one, sql

IMPORTED = """
import importlib, pkgutil, sys
import app.crawl
for module in pkgutil.walk_packages(app.crawl.__path__, "app.crawl."):
    importlib.import_module(module.name)
print(sorted(name for name in sys.modules if name.startswith(("app.features", "app.browser"))))
"""


@pytest.fixture
def bare(worker: Worker) -> Worker:
    """A worker that no feature answers to."""
    return replace(worker, hooks=plugins.hooks(()))


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


def test_the_core_imports_no_feature() -> None:
    ran = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True, timeout=120)
    assert ran.stdout == "[]\n"


def test_what_is_nearest_to_a_seed_comes_first(bare: Worker, web: Web) -> None:
    """A budget of pages is spent on what is near: nothing is known of what else URLs are worth."""
    site = web.site()
    site.pages |= {"/": html("/a", "/b"), "/a": html("/a/a"), "/b": html("/b/b"), "/a/a": html(), "/b/b": html()}
    start(bare, site.url(), budgets=Budgets(max_pages=3))
    run(bare)
    assert sorted(path for path in site.paths if path != "/robots.txt") == ["/", "/a", "/b"]


def test_a_second_round_asks_with_validators(bare: Worker, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html(headers={"ETag": '"one"'}, text="The same.")
    start(bare, site.url())
    run(bare)
    sql(bare.engine, "UPDATE urls SET fetched_at = fetched_at - interval '7 days'")
    go_round(bare.engine, "c")
    run(bare)
    assert [hit.status for hit in site.log if hit.path == "/"] == [200, 304]
