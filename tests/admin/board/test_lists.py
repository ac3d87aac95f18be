"""Lists of the dashboard: no row is lost between two pages, and a filter finds what is rare."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine

from app.admin.board import lists
from app.admin.board.lists import PageKind
from app.config import load
from app.store import db, fleet
from tests.store.rows import clean, make_crawl, sql

SETTINGS = load(_env_file=None, database_url="postgresql://x/y", queues=4)
LINKS = """INSERT INTO suppressions (crawl_id, key, reason, url, last_at)
           SELECT :crawl, sha256(convert_to(n::text, 'UTF8')), CASE WHEN n % 100 = 0 THEN 'trap' ELSE 'scope' END,
                  'http://x.test/' || n, now() - n * interval '1 ms'
           FROM generate_series(1, 12000) AS n"""
HOSTS = """INSERT INTO hosts (name, queue, delay_s)
           SELECT 'h' || n || '.test', 'host-00', 1 FROM generate_series(1, 120) AS n"""
QUEUED = """INSERT INTO urls (host_id, crawl_id, key, url, state, kind, lane, score, depth)
            SELECT id, :crawl, sha256(convert_to(name, 'UTF8')), 'http://' || name || '/', 'queued', 'page', 1, 1, 0
            FROM hosts WHERE id % 2 = 0"""
FETCHED = "INSERT INTO crawl_hosts (crawl_id, host_id, pages) SELECT :crawl, id, 1 FROM hosts WHERE id % 3 = 0"
PAGES = """
    INSERT INTO pages (host_id, crawl_id, key, url, title, status, language_detected, body_sha256, text_sha256,
                       body_bytes, truncated, links, depth, first_fetched_at, fetched_at, changed_at)
    SELECT id, :crawl, sha256(convert_to(n::text, 'UTF8')), 'http://' || name || '/' || n,
           CASE WHEN n % 50 = 0 THEN 'Rare' END, 200, CASE WHEN n % 25 = 0 THEN 'de' ELSE 'en' END, '', '', 9, false, 0,
           0, now(), now(), now() + CASE WHEN n % 40 = 0 THEN interval '1 s' ELSE '0' END
    FROM hosts CROSS JOIN generate_series(1, CASE WHEN name = 'h7.test' THEN 2600 ELSE id % 3 END) AS n
    WHERE id % 5 <> 4"""
ERRORS = """
    INSERT INTO fetches (host_id, crawl_id, visit_id, url_key, kind, reason, url, status, outcome, delay_s, started_at,
                         ended_at, wire_bytes, body_bytes, truncated, total_ms, conditional, attempt)
    SELECT (SELECT min(id) FROM hosts), :crawl, 1, '', 'page', 'new', 'http://h1.test/' || status, status, outcome, 1,
           now() - interval '9 s', now(), 10, 100, false, 5, false, 1
    FROM (VALUES (404, 'not_found'), (410, 'gone'), (500, 'server_error'), (200, 'page')) AS of (status, outcome)"""


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


# a reason or none, links there are
@pytest.mark.parametrize(("reason", "links"), [("trap", 120), (None, 12_000), ("depth", 0)])
def test_every_refused_link_is_on_a_page(engine: Engine, reason: str | None, links: int) -> None:
    sql(engine, LINKS, crawl=make_crawl(engine, "docs"))
    seen, after, pages = [], "", 0
    while after is not None:
        lot = lists.refused_links(engine, "docs", reason=reason, after=after)
        seen += [row["url"] for row in lot.rows]
        after, pages = lot.next, pages + 1  # type: ignore[assignment]
    assert len(seen) == len(set(seen)) == links
    assert pages <= links / lists.PAGE + 3, "a rare reason is found within few pages"


# a filter, and the condition that it stands for
@pytest.mark.parametrize(
    ("asked", "where"),
    [
        ({}, "true"),
        ({"find_text": "RARE"}, "title = 'Rare'"),
        ({"find_text": "/199"}, "url LIKE '%/199%'"),
        ({"language": "de"}, "language_detected = 'de'"),
        ({"kind": PageKind.CHANGED}, "changed_at > first_fetched_at"),
        ({"kind": PageKind.GONE, "language": "en"}, "false"),
    ],
)
def test_every_page_of_a_crawl_is_on_one_page_of_its_list(engine: Engine, asked: dict[str, Any], where: str) -> None:
    """Hosts have none, a few or thousands of its pages, and another crawl has as many."""
    sql(engine, HOSTS)
    other, crawl = make_crawl(engine, "other"), make_crawl(engine, "docs")
    for each in (crawl, other):
        sql(engine, PAGES, crawl=each)
    sql(engine, "DELETE FROM pages WHERE crawl_id = :crawl AND host_id % 4 = 1", crawl=crawl)
    seen, after, pages = [], "", 0
    while after is not None:
        lot = lists.pages(engine, "docs", **asked, after=after)
        seen += [row["url"] for row in lot.rows]
        after, pages = lot.next, pages + 1  # type: ignore[assignment]
    rows = sql(engine, f"SELECT url FROM pages WHERE crawl_id = :crawl AND {where} ORDER BY host_id, key", crawl=crawl)
    assert seen == [row["url"] for row in rows]
    assert pages <= len(seen) / lists.PAGE + 6


def test_a_crawls_hosts_are_those_it_fetched_from_and_those_it_has_queued(engine: Engine) -> None:
    """A host that robots.txt closes was not fetched from; its owner, or its operator, asks about it first."""
    crawl = make_crawl(engine, "docs")
    for statement in (HOSTS, QUEUED, FETCHED):
        sql(engine, statement, **({} if statement == HOSTS else {"crawl": crawl}))
    seen, after = [], ""
    while after is not None:
        found = lists.listed(engine, SETTINGS, crawl="docs", after=after)
        seen += [row["host"] for row in found.hosts]
        after = found.next  # type: ignore[assignment]
    wanted = sql(engine, "SELECT name FROM hosts WHERE id % 2 = 0 OR id % 3 = 0 ORDER BY id")
    assert seen == [row["name"] for row in wanted]


def test_a_missing_page_is_listed_and_no_trouble(engine: Engine) -> None:
    """What a crawl counts as failed is found in the list. The rate is that of alerts (Outcome.is_error)."""
    crawl = make_crawl(engine, "docs")
    sql(engine, HOSTS)
    sql(engine, ERRORS, crawl=crawl)
    assert [row["class_"] for row in lists.errors(engine, "docs")] == ["HTTP 404", "HTTP 410", "HTTP 500"]
    with db.transaction(engine) as tx:
        rate = fleet.crawl_now(tx, crawl).rate
        assert (rate.pages, rate.failed) == (1, 1)
