"""What is held of fingerprints between lots: the answers are those of keys alone, whatever happens in between."""

import random
from hashlib import sha256
from itertools import cycle
from typing import Any

import pytest
from sqlalchemy import Engine, text

from app.admin import deletion
from app.errors import ServiceError
from app.features.near.alike import Print
from app.features.near.find import Lots, find_near
from app.features.near.memory import NearMemory
from app.store import db
from tests.crawl.loop import make_settings
from tests.features.near.test_find import prose
from tests.store.rows import make_crawl, one, sql

HOSTS, PAGES, OF_D = 5, 12, 15
ALL = 1_000_000
LOTS = Lots(pages=8, backlog=ALL)
Notes = list[tuple[Any, ...]]
PAGE = """
INSERT INTO pages (host_id, crawl_id, key, url, status, main_text, title, body_sha256, text_sha256, body_bytes,
                   truncated, links, depth, first_fetched_at, fetched_at, changed_at)
VALUES (:host, :crawl, :key, :url, 200, :text, (ARRAY['Lazy', 'Strict', 'Both'])[1 + length(:text) % 3], :key, :key, 1,
        false, 0, 0, now(), now(), now())"""
URL = """
INSERT INTO urls (host_id, crawl_id, key, url, state, lane, score, depth, kind, fetched_at, due_at)
VALUES (:host, :crawl, :key, :url, 'resting', 1, 0, 0, 'page', now(), now())"""
CHANGE = """
WITH changed AS (
    UPDATE pages SET main_text = :text WHERE host_id = :host_id AND crawl_id = :crawl_id AND key = :key
    RETURNING host_id, crawl_id, key)
INSERT INTO near_queue (host_id, crawl_id, key) SELECT * FROM changed"""
QUEUE = "INSERT INTO near_queue (host_id, crawl_id, key) SELECT host_id, crawl_id, key FROM pages ORDER BY md5(url)"


def mirrors(engine: Engine) -> None:
    """Two crawls of hosts that mirror each other, but for words here and there, and a few pages that do not."""
    rng = random.Random(1)
    crawls = {make_crawl(engine, "c"): PAGES, make_crawl(engine, "d"): OF_D // HOSTS}
    pages = []
    for crawl, most in crawls.items():
        for host in range(1, HOSTS + 1):
            for page in range(most):
                own = prose(rng.choice((0, 1, 4, 9, 25, 40)), seed=rng.randrange(99))
                pages.append(made(crawl, host, page, f"{prose(220, seed=page % 7)} {own}"))
    put(engine, pages)
    sql(engine, QUEUE)


def made(crawl: int, host: int, page: int, words: str) -> dict[str, Any]:
    url = f"http://h{host}.test/{page}"
    return {"host": host, "crawl": crawl, "key": sha256(url.encode()).digest(), "url": url, "text": words}


def put(engine: Engine, pages: list[dict[str, Any]]) -> None:
    with engine.begin() as tx:
        tx.execute(text(PAGE), pages)
        tx.execute(text(URL), pages)


def notes(engine: Engine) -> Notes:
    found = sql(engine, "SELECT crawl_id, url, kind, of_url, bits FROM duplicates ORDER BY crawl_id, url")
    return [tuple(row.values()) for row in found]


def compared(engine: Engine, *memories: NearMemory) -> Notes:
    """What is found lot by lot, by each of these in turn."""
    for memory in cycle(memories):
        if not find_near(engine, within_s=0.0, memory=memory, lots=LOTS).pages:
            return notes(engine)
        compared_last = one(engine, "SELECT crawl_id FROM fingerprints_keyed ORDER BY compared_by DESC LIMIT 1")
        assert held(memory, compared_last) == held(fresh(engine, compared_last), compared_last)
    raise AssertionError


def held(memory: NearMemory, crawl_id: int) -> list[Print]:
    return memory.of(crawl_id).held.first(ALL)


def fresh(engine: Engine, crawl_id: int) -> NearMemory:
    memory = NearMemory()
    with db.transaction(engine) as tx:
        memory.of(crawl_id).read(tx)
    return memory


def holding(most: int) -> NearMemory:
    return NearMemory(most_held=most, leave=3)


@pytest.fixture
def by_keys(engine: Engine) -> Notes:
    """What is found when nothing is held. Afterwards all is as it was before."""
    mirrors(engine)
    found = compared(engine, holding(0))
    assert {kind for _, _, kind, _, _ in found} == {"near", "review"}
    assert one(engine, "SELECT count(*) FROM fingerprint_keys") > 0
    for table in ("duplicates", "fingerprints", "fingerprint_keys", "fingerprints_keyed"):
        sql(engine, f"DELETE FROM {table}")
    sql(engine, QUEUE)
    return found


@pytest.mark.parametrize("most", [1, 7, 30, ALL])
def test_the_answers_are_those_of_keys(engine: Engine, by_keys: Notes, most: int) -> None:
    assert compared(engine, holding(most)) == by_keys
    beyond = "SELECT count(*) AS n FROM fingerprints JOIN fingerprints_keyed USING (crawl_id) WHERE id > up_to"
    assert all(row["n"] <= most for row in sql(engine, f"{beyond} GROUP BY crawl_id"))
    assert (one(engine, "SELECT count(*) FROM fingerprint_keys") == 0) is (most == ALL)
    assert one(engine, f"{beyond} AND id IN (SELECT fingerprint_id FROM fingerprint_keys)") == 0


@pytest.mark.parametrize("most", [7, ALL])
@pytest.mark.parametrize("processes", [2, 3])
def test_processes_may_compare_in_turn(engine: Engine, by_keys: Notes, most: int, processes: int) -> None:
    assert compared(engine, *(holding(most) for _ in range(processes))) == by_keys


@pytest.mark.parametrize("most", [7, ALL])
def test_a_process_may_be_killed_between_lots(engine: Engine, by_keys: Notes, most: int) -> None:
    while find_near(engine, within_s=0.0, memory=holding(most), lots=LOTS).pages:
        pass
    assert notes(engine) == by_keys


@pytest.mark.parametrize("most", [7, ALL])
def test_a_lot_that_is_rolled_back_is_not_remembered(engine: Engine, by_keys: Notes, most: int) -> None:
    memory = holding(most)
    find_near(engine, within_s=0.0, memory=memory, lots=LOTS)
    sql(engine, "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$")
    sql(engine, "CREATE TRIGGER refused BEFORE DELETE ON near_queue EXECUTE FUNCTION refuse()")
    try:
        with pytest.raises(ServiceError):
            find_near(engine, within_s=0.0, memory=memory, lots=LOTS)
    finally:
        sql(engine, "DROP TRIGGER refused ON near_queue")
        sql(engine, "DROP FUNCTION refuse")
    assert compared(engine, memory) == by_keys


@pytest.mark.parametrize("most", [0, 7, ALL])
def test_pages_that_change_are_held_anew(engine: Engine, most: int) -> None:
    mirrors(engine)
    memory, rng = holding(most), random.Random(5)
    compared(engine, memory)
    for gone in (False, False, True):
        rows = sql(engine, "SELECT host_id, crawl_id, key FROM pages ORDER BY url, crawl_id")
        changed = [row | {"text": None if gone else prose(220, rng.randrange(9))} for row in rng.sample(rows, 25)]
        with engine.begin() as tx:
            tx.execute(text(CHANGE), changed)
        compared(engine, memory)
    query = "SELECT id FROM fingerprints JOIN fingerprints_keyed USING (crawl_id) WHERE id > up_to ORDER BY id"
    of_all = [each.id for crawl_id in (1, 2) for each in held(memory, crawl_id)]
    assert sorted(of_all) == [row["id"] for row in sql(engine, query)]
    orphans = "SELECT count(*) FROM fingerprint_keys AS k WHERE fingerprint_id NOT IN (SELECT id FROM fingerprints)"
    assert one(engine, orphans) == 0


def test_fingerprints_of_a_deleted_crawl_get_no_keys(engine: Engine, database_url: str) -> None:
    mirrors(engine)
    memory = NearMemory(most_held=OF_D)
    compared(engine, memory)
    deletion.delete(engine, make_settings(database_url), "c", patience_s=0.0)
    put(engine, [made(2, 1, 99, prose(220, seed=0))])
    sql(engine, QUEUE.replace("ORDER", "WHERE url LIKE '%/99' ORDER"))
    assert find_near(engine, memory=memory).pages == 1
    left = one(engine, "SELECT count(*) FROM fingerprint_keys WHERE key >> 25 = 1")
    assert (left, len(memory.of(2).held)) == (0, 0)
    assert sql(engine, "SELECT crawl_id FROM fingerprints_keyed") == [{"crawl_id": 2}]
    assert one(engine, "SELECT count(*) FROM fingerprint_keys WHERE key >> 25 = 2") > 0
