"""What serves the whole fleet is done by as many processes as there are, each piece once."""

from collections.abc import Callable
from threading import Barrier
from typing import TypeVar

import pytest
from sqlalchemy import Engine

from app.beat.finish import finish
from app.beat.rotate_logs import forget_refusals, retain
from app.beat.sweep import sweep
from app.config import Settings
from app.features.search.find import index_pages
from app.store import db, urls
from tests.beat.log_rows import age
from tests.store.rows import Aside, make_crawl, one, sql

Found = TypeVar("Found")
SETTINGS = Settings(database_url="postgresql://nowhere/none", log_keep_days=30)
PROCESSES = pytest.mark.parametrize("processes", [2, 3])
HOSTS = """INSERT INTO hosts (name, queue, delay_s, state, next_fetch_at)
           SELECT 'h' || n, 'host-00', 1, 'idle', NULL FROM generate_series(1, :n) AS n"""
URLS = """INSERT INTO urls (host_id, crawl_id, key, url, state, due_at, retrying, lane, score, depth)
          SELECT id, :crawl, 'k', 'http://' || name || '/', CAST(:state AS text),
                 CASE :state WHEN 'resting' THEN now() - interval '1 s' END, CAST(:state AS text) = 'resting', 1, 0.5, 1
          FROM hosts"""
VISITS = """INSERT INTO visits (host_id, token, queue, worker, taken_at)
            SELECT id, gen_random_uuid(), 'host-00', 'w', now() - interval '1 hour' FROM hosts"""
REFUSED = """INSERT INTO suppressions (crawl_id, key, reason, url, found_on, first_at, last_at)
             SELECT :crawl, sha256(convert_to(CAST(n AS text), 'UTF8')), 'scope', 'u', 'u', now(), now() - interval
             '900 days' FROM generate_series(1, :n) AS n"""
PARTITIONS = """SELECT count(*) FROM pg_inherits
                WHERE inhparent IN ('fetches'::regclass, 'visits'::regclass, 'links'::regclass)"""
PAGES = """INSERT INTO pages (host_id, crawl_id, key, url, status, main_text, body_sha256, text_sha256, body_bytes,
                              truncated, links, depth, reader, first_fetched_at, fetched_at, changed_at)
           SELECT id, :crawl, 'k', 'http://' || name || '/', 200, 'words of ' || name, '', sha256(name::bytea), 1,
                  false, 0, 0, 2, now(), now(), now()
           FROM hosts"""


def at_once(processes: int, act: Callable[[], Found]) -> list[Found]:
    """What each of them returned."""
    meeting = Barrier(processes)

    def meet() -> Found:
        meeting.wait(60)
        return act()

    asides = [Aside(meet) for _ in range(processes)]
    return [aside.outcome() for aside in asides]


@PROCESSES
def test_a_retry_is_queued_once(engine: Engine, processes: int) -> None:
    sql(engine, HOSTS, n=900)
    sql(engine, URLS, crawl=make_crawl(engine), state="resting")

    def promote() -> list[int]:
        found: list[int] = []
        while one(engine, "SELECT count(*) FROM urls WHERE state = 'resting'"):
            with db.transaction(engine) as tx:
                found += urls.promote(tx, 50)
        return found

    found = [host_id for each in at_once(processes, promote) for host_id in each]
    assert len(found) == len(set(found)) == 900


@PROCESSES
def test_a_crawl_ends_once(engine: Engine, processes: int) -> None:
    names = [f"crawl {n}" for n in range(12)]
    for name in names:
        make_crawl(engine, name)
    ended = [name for each in at_once(processes, lambda: finish(engine)) for name in each]
    assert sorted(ended) == sorted(names)


@PROCESSES
def test_a_trace_of_a_crash_is_repaired_once(engine: Engine, processes: int) -> None:
    sql(engine, HOSTS, n=200)
    sql(engine, URLS, crawl=make_crawl(engine), state="queued")
    sql(engine, VISITS)
    found = at_once(processes, lambda: sweep(engine))
    assert {kind: sum(each[kind] for each in found) for kind in ("woken", "lost")} == {"woken": 200, "lost": 200}


@PROCESSES
def test_a_refusal_is_forgotten_once(engine: Engine, processes: int) -> None:
    sql(engine, REFUSED, crawl=make_crawl(engine), n=12_000)
    assert sum(at_once(processes, lambda: forget_refusals(engine, SETTINGS))) == 12_000


@PROCESSES
def test_a_partition_is_made_once(make_database: Callable[[], str], processes: int) -> None:
    engine = db.connect(make_database())
    age(engine, 1)  # of one that was made early in a month, none is needed yet
    before = one(engine, PARTITIONS)
    found = at_once(processes, lambda: retain(engine, SETTINGS))
    found.append(retain(engine, SETTINGS))  # who meets another's lock leaves the rest for the next time
    assert one(engine, PARTITIONS) - before == sum(each["made"] for each in found)
    assert sum(each["made"] for each in found) > 0
    assert retain(engine, SETTINGS)["made"] == 0
    engine.dispose()


@PROCESSES
def test_a_page_is_indexed_once(engine: Engine, processes: int) -> None:
    sql(engine, HOSTS, n=600)
    sql(engine, PAGES, crawl=(crawl_id := make_crawl(engine, search=True, search_from=None)))
    sql(engine, "INSERT INTO search_queue (host_id, crawl_id, key) SELECT host_id, crawl_id, key FROM pages")

    def index() -> int:
        pages = 0
        while one(engine, "SELECT count(*) FROM search_queue"):
            pages += index_pages(engine).pages
        return pages

    found = at_once(processes, index)
    assert sum(found) == 600
    assert one(engine, "SELECT count(*) FROM page_search WHERE crawl_id = :c", c=crawl_id) == 600
    assert min(found) > 0, "each has a part in it"
