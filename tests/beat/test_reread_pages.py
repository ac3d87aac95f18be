"""Stored texts of an earlier reader are read again from the archive: no request, no change, and nothing is lost."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from app.admin import crawls
from app.beat.reread_pages import Reread, Rereading, RereadJanitor, make_readers
from app.crawl.state.worker import Worker
from app.features.archive.keep import ARCHIVE
from app.features.archive.part import make_keeper
from app.features.extract.part import HANDLERS
from app.model.handler import HandlerSpec
from app.parse.html.html import READER
from app.sandbox.readers import Readers
from tests.crawl.loop import make_settings, run, start
from tests.crawl.web import Answer, Site, Web, html
from tests.faults.waiting import until
from tests.hostile.heavy import HEAVY
from tests.store.rows import Aside, await_blocked, backend, one, sql, url

WORDS = "A crawler that is polite waits between two requests, and reads what it got once more. " * 8
OTHER = "Another page, about robots that read the same document with other eyes than before. " * 8
FIRST = "key = (SELECT min(key) FROM pages)"  # it is always in the first lot
STALE = """UPDATE pages SET main_text = 'as it was read before', text_sha256 = '\\x00', reader = :v, title = 'before',
           language = 'xx', headline = NULL WHERE main_text IS NOT NULL"""


@pytest.fixture
def site(web: Web) -> Site:
    site = web.site()
    site.pages |= {"/": html("/a", "/b", text=WORDS, title="Front"), "/a": html(text=OTHER), "/b": html(text=OTHER)}
    return site


@pytest.fixture(scope="module")
def readers(database_url: str) -> Iterator[Readers]:
    """For all tests: a process that reads pages takes a second of CPU to start."""
    made = make_readers(make_settings(database_url))
    yield made
    made.close()


@pytest.fixture
def worker(make: Callable[..., Worker], tmp_path: Path, readers: Readers) -> Worker:
    """One that archives, and knows a handler."""
    made = make(home=tmp_path)
    keeper = make_keeper(made.settings, engine=made.engine, worker="test:1")
    resources = {ARCHIVE: keeper, HANDLERS: (HandlerSpec(name="every"),)}
    return replace(made, resources=resources, reading=replace(made.reading, readers=readers))


def crawled(worker: Worker, site: Site, *, version: int | None = 1, **wishes: Any) -> None:
    """The crawl `c` of the site, to its end, as an earlier release left it."""
    start(worker, site.url(), **{"search": True, **wishes})
    run(worker)
    for table in ("search_queue", "near_queue"):
        sql(worker.engine, f"DELETE FROM {table}")
    sql(worker.engine, "UPDATE extractions SET state = 'done', ended_at = now()")
    sql(worker.engine, STALE, v=version)
    sql(worker.engine, "UPDATE urls SET text_sha256 = '\\x00' WHERE text_sha256 IS NOT NULL")


def reread(worker: Worker) -> Reread:
    reading = Rereading(worker.engine, worker.settings, 1, worker.reading.readers)
    while reading.lot():
        pass
    return reading.found


def texts(worker: Worker) -> list[str | None]:
    return [row["main_text"] for row in sql(worker.engine, "SELECT main_text FROM pages ORDER BY url")]


@pytest.mark.parametrize("version", [None, 1])
def test_what_is_read_is_renewed_without_a_request_and_counts_as_no_change(
    worker: Worker, site: Site, version: int | None
) -> None:
    crawled(worker, site, version=version)
    asked, engine = len(site.log), worker.engine
    before = sql(engine, "SELECT key, changed_at, fetched_at, changed_at AS c FROM pages ORDER BY key")
    believed = sql(engine, "SELECT key, change_shape, change_s, interval_s, changed_at FROM urls ORDER BY key")
    assert reread(worker) == Reread(pages=3, texts=3)
    assert len(site.log) == asked
    assert sql(engine, "SELECT key, changed_at, fetched_at, changed_at AS c FROM pages ORDER BY key") == before
    assert sql(engine, "SELECT key, change_shape, change_s, interval_s, changed_at FROM urls ORDER BY key") == believed
    front = sql(engine, "SELECT title, language, headline, reader FROM pages ORDER BY url LIMIT 1")[0]
    assert front == {"title": "Front", "language": "en", "headline": "Front", "reader": READER}
    assert [each and each[:9] for each in texts(worker)] == [WORDS[:9], OTHER[:9], OTHER[:9]]
    assert one(engine, "SELECT count(*) FROM pages JOIN urls USING (crawl_id, key, text_sha256)") == 3
    for table in ("search_queue", "near_queue"):
        assert one(engine, f"SELECT count(DISTINCT key) FROM {table}") == 3, table
    assert one(engine, "SELECT count(*) FROM extractions WHERE state = 'due'") == 3
    assert reread(worker) == Reread(), "nothing is left"


def test_the_next_visit_compares_with_the_text_that_was_read_again(worker: Worker, site: Site) -> None:
    crawled(worker, site)
    reread(worker)
    site.pages["/a"] = html(text=OTHER, head="<!-- other bytes -->")
    site.pages["/b"] = html(text=WORDS)
    crawls.go_round(worker.engine, "c")
    run(worker)
    rows = sql(worker.engine, "SELECT changed_at = fetched_at AS changed FROM pages ORDER BY url")
    assert [row["changed"] for row in rows] == [False, False, True]


def test_a_visit_before_that_compares_with_the_document_of_before(worker: Worker, site: Site) -> None:
    crawled(worker, site)
    site.pages["/a"] = html(text=OTHER, head="<!-- other bytes -->")
    site.pages["/b"] = html(text=WORDS)
    crawls.go_round(worker.engine, "c")
    run(worker)
    rows = sql(worker.engine, "SELECT changed_at = fetched_at AS changed, reader FROM pages ORDER BY url")
    assert [row["changed"] for row in rows] == [False, False, True]
    assert {row["reader"] for row in rows} == {READER}


# what an owner said since, or the URL's state → the column that has it
@pytest.mark.parametrize(
    "since",
    [
        "UPDATE pages SET directives = 'noarchive' WHERE url LIKE '%/a'",
        "UPDATE urls SET directives = 'nofollow, noindex' WHERE url LIKE '%/a'",
        "UPDATE urls SET opt_out = 'tdm-reservation=1 (TDMRep header)' WHERE url LIKE '%/a'",
        "UPDATE urls SET state = 'gone', gone_at = now(), due_at = now() WHERE url LIKE '%/a'",
        "UPDATE pages SET main_text = NULL WHERE url LIKE '%/a'",
    ],
)
def test_a_page_that_is_withdrawn_or_gone_gets_no_text_again(worker: Worker, site: Site, since: str) -> None:
    crawled(worker, site, honour_opt_outs=True)
    sql(worker.engine, since)
    before = texts(worker)[1]
    assert reread(worker).pages == 2
    assert texts(worker)[1] == before
    assert one(worker.engine, "SELECT reader FROM pages WHERE url LIKE '%/a'") == 1


def test_a_page_whose_document_is_away_stays_as_it_is(worker: Worker, site: Site) -> None:
    crawled(worker, site)
    sql(worker.engine, "DELETE FROM captures WHERE url LIKE '%/a'")
    assert reread(worker) == Reread(pages=2, texts=2, missing=1)
    assert texts(worker)[1] == "as it was read before"


def test_a_page_that_was_fetched_meanwhile_stays_as_the_visit_left_it(worker: Worker, site: Site) -> None:
    crawled(worker, site)
    with worker.engine.begin() as visit:
        visit.execute(text("SELECT FROM hosts FOR NO KEY UPDATE"))
        aside = Aside(lambda: reread(worker))
        assert await_blocked(worker.engine, backend(visit), aside)
        visit.execute(text(f"UPDATE pages SET main_text = 'of the visit', fetched_at = now() WHERE {FIRST}"))
    assert aside.outcome() == Reread(pages=2, texts=2, overtaken=1)
    assert one(worker.engine, f"SELECT main_text FROM pages WHERE {FIRST}") == "of the visit"


def test_a_process_that_is_killed_loses_nothing_and_counts_no_change(
    worker: Worker, site: Site, tmp_path: Path
) -> None:
    crawled(worker, site)
    before = sql(worker.engine, "SELECT key, changed_at, main_text, reader FROM pages ORDER BY key")
    url_ = worker.engine.url.render_as_string(hide_password=False)
    variables = {**os.environ, "TIPTOE_HOME": str(tmp_path), "TIPTOE_DATABASE_URL": url_}
    with worker.engine.begin() as visit:
        visit.execute(text("SELECT FROM hosts FOR NO KEY UPDATE"))
        command, of = [sys.executable, "-m", "tiptoe", "page", "reread", "c"], {"visit": backend(visit)}
        ran = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        aside = Aside(ran.wait)
        assert await_blocked(worker.engine, of["visit"], aside), ran.stdout and ran.stdout.read()
        (left,) = sql(worker.engine, "SELECT pid FROM pg_stat_activity WHERE :visit = ANY(pg_blocking_pids(pid))", **of)
        ran.kill()
        assert aside.outcome() == -signal.SIGKILL
    until(
        lambda: not one(worker.engine, "SELECT count(*) FROM pg_stat_activity WHERE pid = :pid", **left), "it is gone"
    )
    assert sql(worker.engine, "SELECT key, changed_at, main_text, reader FROM pages ORDER BY key") == before
    assert reread(worker) == Reread(pages=3, texts=3)
    stand = [row["changed_at"] for row in before]
    assert [row["changed_at"] for row in sql(worker.engine, "SELECT changed_at FROM pages ORDER BY key")] == stand


def test_two_texts_that_are_one_to_this_reader_are_duplicates_and_two_that_are_not_none(
    worker: Worker, site: Site
) -> None:
    site.pages["/b"] = html("/", text=OTHER, head="<!-- other bytes -->")
    crawled(worker, site)
    assert one(worker.engine, "SELECT count(*) FROM duplicates WHERE kind = 'text'") == 1
    sql(worker.engine, "DELETE FROM duplicates")
    sql(
        worker.engine,
        """INSERT INTO duplicates (host_id, crawl_id, key, url, kind, of_url, of_host_id, of_key)
           SELECT p.host_id, p.crawl_id, p.key, p.url, 'text', o.url, o.host_id, o.key
           FROM pages AS p, pages AS o WHERE p.url = :root AND o.url LIKE '%/a'""",
        root=site.url(),
    )
    reread(worker)
    rows = sql(worker.engine, "SELECT kind, url, of_url FROM duplicates")
    assert [row["kind"] for row in rows] == ["text"]
    assert {rows[0]["url"], rows[0]["of_url"]} == {site.url("/a"), site.url("/b")}


def test_a_document_that_ends_its_reader_ends_nothing_else(worker: Worker, site: Site) -> None:
    _, document = HEAVY["999 attributes a tag"]
    site.pages["/a"] = Answer(body=document() * 4, headers={"Content-Type": "text/html"})
    crawled(worker, site)
    hurried = make_readers(worker.settings.model_copy(update={"parse_deadline_s": 0.1}))
    with closing(hurried):
        found = reread(replace(worker, reading=replace(worker.reading, readers=hurried)))
    assert found == Reread(pages=2, texts=2, unreadable=1)
    assert texts(worker)[1] == "as it was read before"


def test_the_janitor_reads_every_crawl_and_then_finds_nothing(worker: Worker, site: Site) -> None:
    crawled(worker, site)
    janitor = RereadJanitor(worker.engine, worker.settings)
    assert janitor.run(within_s=0) is True
    assert janitor.run(within_s=30) is False
    assert one(worker.engine, "SELECT count(*) FROM pages WHERE reader = :r", r=READER) == 3


def test_an_answer_without_a_page_is_nothing_to_read(worker: Worker, site: Site) -> None:
    site.pages["/a"] = Answer(status=404)
    crawled(worker, site)
    assert reread(worker).pages == 2
    assert url(worker.engine, site.url("/a"))["reader"] is None
