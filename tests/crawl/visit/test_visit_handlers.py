"""Pages that a visit archives are due for handlers with its settle; what handlers follow is crawled."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from app.admin import crawls, extract
from app.crawl.state.worker import Worker
from app.features.archive.keep import ARCHIVE
from app.features.archive.part import make_keeper
from app.features.extract.part import HANDLERS
from app.features.extract.process import handler_pool
from app.features.extract.run import Runner
from app.features.extract.write import Extraction, Follower
from app.model.handler import HandlerSpec
from tests.crawl.loop import go, run, start
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import sql

BOOKS = HandlerSpec(name="books", match=("/books",))
EVERY = HandlerSpec(name="every")


@pytest.fixture
def site(web: Web) -> Site:
    site = web.site()
    site.robots = "User-agent: *\nDisallow: /private\n"
    site.pages |= {
        "/": html("/books/1", "/books/2", "/gone", "/moved", "/quiet"),
        "/books/1": html(title="One"),
        "/books/2": html(title="Two"),
        "/gone": Answer(status=404),
        "/moved": Answer(status=301, headers={"Location": "/books/2"}),
        "/quiet": Answer(body=html(title="Quiet").body, headers={"X-Robots-Tag": "noarchive"}),
        "/books/hidden": html(title="Hidden"),
        "/private/books": html(title="Private"),
    }
    return site


@pytest.fixture
def worker(make: Callable[..., Worker], tmp_path: Path) -> Worker:
    """One that archives, and knows two handlers."""
    made = make(home=tmp_path)
    keeper = make_keeper(made.settings, engine=made.engine, worker="test:1")
    return replace(made, resources={ARCHIVE: keeper, HANDLERS: (BOOKS, EVERY)})


def due(worker: Worker) -> list[tuple[str, str]]:
    rows = sql(worker.engine, "SELECT handler, url FROM extractions WHERE state = 'due' ORDER BY handler, url")
    return [(row["handler"], row["url"].partition("/")[2].partition("/")[2].partition("/")[2]) for row in rows]


def handle(worker: Worker, path: Path, text: str) -> None:
    """Let the handlers of this text have what is due."""
    path.write_text("from app.features.extract.handlers import follow, handler\n" + text)
    with closing(handler_pool([str(path)], memory_bytes=1 << 30)) as pool:
        follower = Follower(worker.engine, worker.settings)
        shared = Extraction(engine=worker.engine, settings=worker.settings, pool=pool, admit=follower.admit)
        with closing(Runner(shared)) as runner:
            runner.run()


def test_the_pages_of_a_settle_are_due_for_the_handlers_they_fit(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    run(worker)
    every = [("every", path) for path in ("", "books/1", "books/2")]
    assert due(worker) == [("books", "books/1"), ("books", "books/2"), *every]


def test_a_crawl_that_names_handlers_or_has_no_archive(worker: Worker, site: Site) -> None:
    start(worker, site.url(), name="named", handlers=("books",))
    start(worker, site.url("/books/1"), name="bare", archive=False)
    run(worker)
    assert {handler for handler, _ in due(worker)} == {"books"}
    named = sql(worker.engine, "SELECT id FROM crawls WHERE name = 'named'")
    assert sql(worker.engine, "SELECT DISTINCT crawl_id AS id FROM extractions") == named


def test_only_what_changed_is_due_again(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    run(worker)
    sql(worker.engine, "UPDATE extractions SET state = 'done', ended_at = now()")
    site.pages["/books/2"] = html(title="Two, revised")
    crawls.start_round(worker.engine, "c", worker.settings)
    run(worker)
    assert due(worker) == [("books", "books/2"), ("every", "books/2")]


def test_what_a_handler_follows_is_crawled_and_handled_in_turn(worker: Worker, site: Site, tmp_path: Path) -> None:
    start(worker, site.url())
    run(worker)
    text = """
@handler(match="/books")
def books(page):
    yield {"title": page.title}
    yield follow("hidden")
    yield follow("/private/books")
    yield follow("http://elsewhere.test/")
"""
    handle(worker, tmp_path / "books.py", text)
    rows = sql(worker.engine, "SELECT url, state, depth FROM urls WHERE url ~ 'hidden|private' ORDER BY url")
    found = [(row["url"].rpartition("/")[2], row["state"], row["depth"]) for row in rows]
    assert found == [("hidden", "queued", 2), ("books", "refused", 2)]
    assert sql(worker.engine, "SELECT reason FROM suppressions WHERE url ~ 'elsewhere'") == [{"reason": "scope"}]
    assert sql(worker.engine, "SELECT state FROM crawls") == [{"state": "active"}]
    run(worker)
    handle(worker, tmp_path / "books.py", text)
    titles = [row["title"] for row in sql(worker.engine, "SELECT title FROM items_books ORDER BY title")]
    assert titles == ["Hidden", "One", "Two"]
    assert "/private/books" not in site.paths
    assert site.paths.count("/books/hidden") == 1


def test_a_changed_handler_runs_over_the_archive_without_a_request(worker: Worker, site: Site, tmp_path: Path) -> None:
    start(worker, site.url())
    run(worker)
    requests = len(site.paths)
    text = '@handler(match="/books", version={n})\ndef books(page):\n    yield {{"title": page.title, "n": {n}}}\n'
    handle(worker, tmp_path / "books.py", text.format(n=1))
    path = tmp_path / "books.py"
    path.write_text("from app.features.extract.handlers import handler\n" + text.format(n=2))
    wanted = extract.named(worker.settings, str(path))
    (ended,) = extract.run(worker.engine, worker.settings, wanted, crawls.find(worker.engine, "c"))
    assert (ended.done, ended.failed, ended.left) == (2, 0, 0)
    rows = sql(worker.engine, "SELECT title, n, _version, _stale FROM items_books ORDER BY title")
    assert [tuple(row.values()) for row in rows] == [("One", "2", 2, False), ("Two", "2", 2, False)]
    assert len(site.paths) == requests


LINKS = (
    *("/plain", "/plain#part", "/plain?b=2&a=1", "/private/books", "/left-out/1", "/a/b/a/b/a/b/a/b/a/b"),
    *("/" + "/".join(f"d{n}" for n in range(40)), "/calendar/2031/05/17", "/image.png"),
    *("mailto:nobody@site.test", "http://[", "http://elsewhere.test/"),
)


def test_links_of_a_handler_and_of_a_page_come_to_the_same(worker: Worker, web: Web, tmp_path: Path) -> None:
    """To a host that neither is on: rows, lanes, scores and refusals."""
    far, page, handler = web.site(), web.site(), web.site()
    far.robots = "User-agent: *\nDisallow: /private\n"
    far.pages["/"] = html()
    links = [far.url(each) if each.startswith("/") else each for each in LINKS]
    anchors = "".join(f'<p><a href="{link}"><img alt=""></a></p>' for link in links)
    page.pages["/books"] = Answer(body=f"<title>A</title>{anchors}".encode(), headers={"Content-Type": "text/html"})
    handler.pages["/books"] = html(title="B")
    start(worker, far.url(), name="before")  # whose robots.txt is known now
    run(worker)
    wishes = {"scope": "any", "exclude": ("left-out", "elsewhere")}
    start(worker, page.url("/books"), name="page", handlers=("none",), **wishes)
    start(worker, handler.url("/books"), name="handler", **wishes)
    go(worker)
    text = f'@handler(match="/books")\ndef books(page):\n    yield from map(follow, {links!r})\n'
    handle(worker, tmp_path / "books.py", text)
    admitted = "SELECT url, state, lane, depth, score, score_parts FROM urls WHERE depth > 0"
    refused = "SELECT url, reason, detail FROM suppressions WHERE true"
    of = "AND crawl_id = (SELECT id FROM crawls WHERE name = :name) ORDER BY url"
    of_page, of_handler = (
        [sql(worker.engine, f"{query} {of}", name=name) for query in (admitted, refused)]
        for name in ("page", "handler")
    )
    assert of_handler == of_page
    assert {row["state"] for row in of_page[0]} == {"queued", "refused"}
    assert {row["reason"] for row in of_page[1]} >= {"excluded", "trap_depth", "trap_repeats"}


def test_a_host_at_its_cap_takes_no_more_of_a_handler(worker: Worker, site: Site, tmp_path: Path) -> None:
    start(worker, site.url())
    run(worker)
    limited = replace(worker, settings=worker.settings.model_copy(update={"frontier_max_per_host": 2}))
    text = (
        '@handler(match="/books/1")\ndef books(page):\n    yield from (follow(f"new/{n}", score=n) for n in range(5))\n'
    )
    handle(limited, tmp_path / "books.py", text)
    rows = sql(worker.engine, "SELECT url FROM urls WHERE state = 'queued' ORDER BY score")
    assert [row["url"][-1] for row in rows] == ["3", "4"]
    assert len(sql(worker.engine, "SELECT FROM suppressions WHERE reason = 'frontier_full'")) == 3


# the crawl admits better links only; the page says nofollow; it is as deep as the crawl goes
@pytest.mark.parametrize(
    ("settings", "change", "reason"),
    [
        ({"frontier_max_per_crawl": 1_000}, "UPDATE crawls SET admits_above = 0.9", "frontier_full"),
        ({}, "UPDATE urls SET directives = 'noindex, nofollow'", "nofollow"),
        ({}, "UPDATE crawls SET max_depth = 1", "depth"),
    ],
)
def test_a_link_is_refused_as_any_other_would_be(
    worker: Worker, site: Site, tmp_path: Path, settings: dict[str, int], change: str, reason: str
) -> None:
    start(worker, site.url())
    run(worker)
    sql(worker.engine, change)
    limited = replace(worker, settings=worker.settings.model_copy(update=settings))
    handle(limited, tmp_path / "books.py", '@handler(match="/books")\ndef books(page):\n    yield follow("hidden")\n')
    assert sql(worker.engine, "SELECT reason FROM suppressions WHERE url ~ 'hidden'") == [{"reason": reason}]
    assert sql(worker.engine, "SELECT FROM urls WHERE url ~ 'hidden'") == []


@pytest.mark.parametrize("score", ["1e300", "-1e300", "1e-300", "0.5"])
def test_a_link_with_a_score_beyond_what_a_row_holds_is_crawled(
    worker: Worker, site: Site, tmp_path: Path, score: str
) -> None:
    """A handler may take it from the page: it must not stop what is due for the others."""
    start(worker, site.url("/books/1"))
    run(worker)
    text = f'@handler()\ndef every(page):\n    yield follow("/books/hidden", score={score})\n    yield {{"n": 1}}\n'
    handle(worker, tmp_path / "every.py", text)
    assert sql(worker.engine, "SELECT DISTINCT state FROM extractions WHERE handler = 'every'") == [{"state": "done"}]
    assert len(sql(worker.engine, "SELECT FROM urls WHERE url LIKE '%hidden'")) == 1
