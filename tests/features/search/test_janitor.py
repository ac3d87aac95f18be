"""Words follow their pages: into the index after the settle, and out of it with the page, its text, or the switch."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine, text

from app.admin import deletion, edit, explain
from app.crawl.state.worker import Worker
from app.features.search import rows as search
from app.features.search.find import Indexed, index_pages
from app.model import CrawlChange
from app.store import server
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import Aside, await_blocked, backend, one, sql

WORDS = "A crawler that is polite waits between two requests."


@pytest.fixture
def site(web: Web) -> Site:
    site = web.site()
    site.pages |= {"/": html("/a", text=WORDS, title="Front"), "/a": html(text="Another one, about robots.", title="A")}
    return site


def indexed(engine: Engine) -> dict[str, str]:
    """{path: its words} of every page that is indexed."""
    rows = sql(engine, "SELECT p.url, s.words FROM page_search AS s JOIN pages AS p USING (host_id, crawl_id, key)")
    return {"/" + row["url"].split("/", 3)[3]: row["words"] for row in rows}


def queued(engine: Engine) -> int:
    return int(one(engine, "SELECT count(*) FROM search_queue"))


def crawled(worker: Worker, site: Site, **wishes: Any) -> Engine:
    """The crawl `c` of the site, to its end, indexed."""
    start(worker, site.url(), **{"search": True, **wishes})
    run(worker)
    assert index_pages(worker.engine).is_whole
    return worker.engine


def again(worker: Worker) -> None:
    """Another round of the crawl, indexed."""
    from app.admin.crawls import go_round

    go_round(worker.engine, "c", worker.settings)
    run(worker)
    assert index_pages(worker.engine).is_whole


def test_pages_are_indexed_after_they_are_settled(worker: Worker, site: Site) -> None:
    start(worker, site.url(), search=True)
    run(worker)
    assert (queued(worker.engine), indexed(worker.engine)) == (2, {})
    assert index_pages(worker.engine) == Indexed(pages=2, is_whole=True)
    assert queued(worker.engine) == 0
    words = indexed(worker.engine)
    assert set(words) == {"/", "/a"}
    assert "'front':1A" in words["/"]
    assert "'polit':" in words["/"], "stemmed as English, which the page declares"
    assert index_pages(worker.engine) == Indexed(pages=0, is_whole=True)


def test_a_crawl_that_does_not_ask_pays_nothing(worker: Worker, site: Site) -> None:
    crawled(worker, site, search=False)
    assert (queued(worker.engine), indexed(worker.engine)) == (0, {})


# language as declared → configuration, a word of the text as it is indexed
@pytest.mark.parametrize(
    ("language", "config", "word"),
    [
        ("en", "english", "'polit'"),
        ("EN-GB", "english", "'polit'"),
        ("en_US", "english", "'polit'"),
        ("de", "german", "'crawl'"),
        ("xx", "simple", "'polite'"),
        ("", "simple", "'polite'"),
    ],
)
def test_words_are_stemmed_by_the_language(worker: Worker, site: Site, language: str, config: str, word: str) -> None:
    answer = site.pages["/"]
    assert isinstance(answer, Answer)
    site.pages = {
        "/": Answer(body=answer.body.replace(b"lang=en", f"lang='{language}'".encode()), headers=answer.headers)
    }
    engine = crawled(worker, site)
    assert one(engine, "SELECT config FROM page_search") == config
    assert word in indexed(engine)["/"]


def test_what_did_not_change_is_left_alone(worker: Worker, site: Site) -> None:
    engine = crawled(worker, site)
    before = sql(engine, "SELECT ctid, xmin, key FROM page_search ORDER BY key")
    again(worker)
    assert queued(engine) == 0
    assert sql(engine, "SELECT ctid, xmin, key FROM page_search ORDER BY key") == before
    site.pages["/a"] = html(text="Another one, about robots.", title="New name")
    again(worker)
    assert "'name':2A" in indexed(engine)["/a"]
    assert (
        one(engine, "SELECT count(*) FROM page_search WHERE xmin::text = ANY(:x)", x=[r["xmin"] for r in before]) == 1
    )


def test_pages_of_before_the_switch_are_indexed_and_go_when_it_is_switched_off(worker: Worker, site: Site) -> None:
    engine = crawled(worker, site, search=False)
    edit.edit(engine, worker.settings, "c", CrawlChange(search=True))
    assert one(engine, "SELECT search_from FROM crawls") == 0
    assert index_pages(engine) == Indexed(pages=2, is_whole=True)
    assert one(engine, "SELECT search_from FROM crawls") is None
    edit.edit(engine, worker.settings, "c", CrawlChange(search=False))
    assert index_pages(engine).is_whole
    assert (indexed(engine), queued(engine), one(engine, "SELECT search_from FROM crawls")) == ({}, 0, None)
    assert one(engine, "SELECT count(*) FROM pages") == 2


def test_a_page_that_was_queued_before_it_was_switched_off_leaves_the_queue(worker: Worker, site: Site) -> None:
    start(worker, site.url(), search=True)
    run(worker)
    edit.edit(worker.engine, worker.settings, "c", CrawlChange(search=False))
    assert index_pages(worker.engine) == Indexed(pages=0, is_whole=True)
    assert (indexed(worker.engine), queued(worker.engine)) == ({}, 0)


# what the page says in the second round → whether it has words then
@pytest.mark.parametrize(
    ("head", "has_words"),
    [("", True), ("<meta name=robots content=noarchive>", False), ("<meta name=robots content=noindex>", False)],
)
def test_a_text_that_may_not_be_kept_is_not_indexed(worker: Worker, site: Site, head: str, has_words: bool) -> None:
    engine = crawled(worker, site)
    site.pages["/a"] = html(text="Another one, about robots.", title="A", head=head)
    from app.admin.crawls import go_round

    go_round(engine, "c", worker.settings)
    run(worker)
    assert ("/a" in indexed(engine)) is has_words, "at once, not when it is indexed next"
    assert index_pages(engine).is_whole
    assert ("/a" in indexed(engine)) is has_words


def test_a_304_that_says_noarchive_takes_the_words(worker: Worker, site: Site) -> None:
    site.pages["/a"] = html(text="about robots", headers={"ETag": '"1"'})
    engine = crawled(worker, site)
    site.pages["/a"] = Answer(status=304, headers={"ETag": '"1"', "X-Robots-Tag": "noarchive"})
    again(worker)
    assert set(indexed(engine)) == {"/"}


def test_forget_takes_the_words_of_a_url(worker: Worker, site: Site) -> None:
    engine = crawled(worker, site)
    explain.forget(engine, worker.settings, site.url("/a"), None)
    assert set(indexed(engine)) == {"/"}


def test_a_deleted_crawl_leaves_no_word(worker: Worker, site: Site) -> None:
    engine = crawled(worker, site)
    sql(engine, "INSERT INTO search_queue (host_id, crawl_id, key) SELECT host_id, crawl_id, key FROM pages")
    deletion.delete(engine, worker.settings, "c")
    assert (indexed(engine), queued(engine)) == ({}, 0)
    assert one(engine, "SELECT count(*) FROM page_search") == 0


def test_two_indexers_do_not_do_the_same(worker: Worker, site: Site) -> None:
    start(worker, site.url(), search=True)
    run(worker)
    with worker.engine.begin() as tx:
        tx.execute(text("SELECT FROM search_queue ORDER BY id LIMIT 1 FOR UPDATE"))
        assert index_pages(worker.engine) == Indexed(pages=1, is_whole=False), "the other one, at once"
    assert index_pages(worker.engine) == Indexed(pages=1, is_whole=True)


def test_a_page_that_stands_in_the_queue_twice_is_indexed_once(worker: Worker, site: Site) -> None:
    start(worker, site.url(), search=True)
    run(worker)
    sql(worker.engine, "INSERT INTO search_queue (host_id, crawl_id, key) SELECT host_id, crawl_id, key FROM pages")
    with worker.engine.begin() as tx:
        lot = search.index_some(tx, crawl_id=None, n=2, stemmers={})
        assert (lot.taken, lot.put) == (2, 2)
        assert index_pages(worker.engine) == Indexed(pages=0, is_whole=False)
    assert index_pages(worker.engine) == Indexed(pages=0, is_whole=True)
    assert queued(worker.engine) == 0


def test_a_switch_is_carried_out_by_one_process(worker: Worker, site: Site) -> None:
    engine = crawled(worker, site, search=False)
    edit.edit(engine, worker.settings, "c", CrawlChange(search=True))
    with engine.begin() as tx:
        assert server.be_alone(tx, "search")
        assert index_pages(engine, within_s=0.0).pages == 0
    assert index_pages(engine) == Indexed(pages=2, is_whole=True)


def test_a_page_that_a_settle_holds_waits_in_the_queue_and_nobody_waits_for_it(worker: Worker, site: Site) -> None:
    start(worker, site.url(), search=True)
    run(worker)
    with worker.engine.begin() as tx:
        tx.execute(text("UPDATE pages SET title = 'x' WHERE url = :u"), {"u": site.url("/a")})
        assert index_pages(worker.engine) == Indexed(pages=1, is_whole=False)
    assert index_pages(worker.engine) == Indexed(pages=1, is_whole=True)


def test_a_switch_waits_for_settles_that_may_not_know_of_it(worker: Worker, site: Site) -> None:
    """A settle that has read the crawl as it was before commits a page after the switch: the page is indexed."""
    engine = crawled(worker, site, search=False)
    with engine.begin() as tx:
        tx.execute(text("SELECT FROM hosts FOR NO KEY UPDATE"))
        edit.edit(engine, worker.settings, "c", CrawlChange(search=True))
        tx.execute(text("UPDATE pages SET main_text = 'late words' WHERE url = :u"), {"u": site.url("/a")})
        aside = Aside(lambda: index_pages(engine))
        assert await_blocked(engine, backend(tx), aside)
    assert aside.outcome() == Indexed(pages=2, is_whole=True)
    assert "'late'" in indexed(engine)["/a"]


# texts of the size that is kept, made to be large when indexed
HOSTILE: dict[str, Callable[[], str]] = {
    "words of two letters": lambda: " ".join(chr(0x4E00 + n % 20_000) for n in range(200_000)),
    "letters of four bytes": lambda: " ".join(chr(0x20000 + n % 40_000) for n in range(100_000)),
    "one word": lambda: "x" * 200_000,
    "addresses": lambda: " ".join(f"a{n}.bc/d{n}" for n in range(20_000)),
    "hyphens": lambda: "-".join(f"a{n}" for n in range(40_000)),
    "numbers": lambda: " ".join(f"{n}" for n in range(40_000)),
    "signs": lambda: "<->&|!():*'\\" * 16_000,
    "parts of addresses": lambda: "@1e" * 33_000,  # Postgres' parser: beyond its stack, or minutes
    "slashes": lambda: "/~" * 50_000,
    "tags without an end": lambda: "<!--a " * 16_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_stops_the_index(worker: Worker, site: Site, name: str) -> None:
    start(worker, site.url(), search=True)
    run(worker)
    sql(
        worker.engine,
        "UPDATE pages SET main_text = :t, language = 'en' WHERE url = :u",
        t=HOSTILE[name](),
        u=site.url(),
    )
    assert index_pages(worker.engine) == Indexed(pages=2, is_whole=True)
