"""The core without any feature: it crawls, politely and to the end, and knows nothing of what features do."""

import subprocess
import sys
from dataclasses import replace

import pytest

from app import plugins
from app.admin.crawls import go_round
from app.crawl.state.worker import Worker
from app.model import Budgets
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Web, html, redirect
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


def test_the_core_imports_no_feature() -> None:
    ran = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True, timeout=120)
    assert ran.stdout == "[]\n"


def test_it_crawls(bare: Worker, web: Web) -> None:
    """Rules, links, redirects, missing pages and files, of two hosts: each URL has its end."""
    site, other = web.site(), web.site()
    site.robots = "User-agent: *\nDisallow: /private"
    site.pages |= {
        "/": html("/a", "/private/b", "/moved", "/gone", "/a.zip", other.url("/")),
        "/a": html("/", "/c?x=1", text="Words of a page."),
        "/c?x=1": html(text="More words."),
        "/moved": redirect("/a"),
        "/a.zip": Answer(headers={"Content-Type": "application/zip"}, body=b"PK"),
    }
    other.pages["/"] = html(site.url("/a"), text="Another host.")
    start(bare, site.url(), other.url(), render="always", keep_links=True)
    run(bare)
    assert "/private/b" not in site.paths
    rows = sql(bare.engine, "SELECT url, state, outcome FROM urls")
    found = {str(row["url"]): (row["state"], row["outcome"]) for row in rows}
    assert {state for state, _ in found.values()} == {"resting", "refused", "alias"}
    assert found[site.url("/moved")] == ("alias", "redirect")
    assert found[site.url("/private/b")] == ("refused", None)
    assert {str(row["url"]) for row in sql(bare.engine, "SELECT url FROM pages")} == {
        site.url("/"),
        site.url("/a"),
        site.url("/c?x=1"),
        other.url("/"),
    }
    for table in ("captures", "renders", "links", "url_patterns", "extractions"):
        assert one(bare.engine, f"SELECT count(*) FROM {table}") == 0, table


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
