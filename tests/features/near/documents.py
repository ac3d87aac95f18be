"""Pages of a crawl that are alike, as settles leave them."""

import random
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from sqlalchemy import Engine, text

from app.features.near import rows as near
from app.store import db
from tests.features.near.test_find import prose
from tests.store.rows import make_crawl, sql

Notes = list[tuple[Any, ...]]
PAGES = 12  # of a host
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
PAGE = """
INSERT INTO pages (host_id, crawl_id, key, url, status, main_text, title, body_sha256, text_sha256, body_bytes,
                   truncated, links, depth, first_fetched_at, fetched_at, changed_at)
VALUES (:host, :crawl, :key, :url, 200, :text, (ARRAY['Lazy', 'Strict', 'Both'])[1 + length(:text) % 3], :key, :key, 1,
        false, 0, 0, :at, :at, :at)"""
URL = """
INSERT INTO urls (host_id, crawl_id, key, url, state, lane, score, depth, kind, fetched_at, due_at)
VALUES (:host, :crawl, :key, :url, 'resting', 1, 0, 0, 'page', :at, now())"""
TABLES = ("duplicates", "fingerprints", "fingerprint_keys", "fingerprints_due", "near_queue")


def made(crawl: int, host: int, page: int, words: str, *, second: int = 0) -> dict[str, Any]:
    """A page that was fetched at this second."""
    url = f"http://h{host}.test/{page}"
    key = sha256(url.encode()).digest()
    return {
        "host": host,
        "crawl": crawl,
        "key": key,
        "url": url,
        "text": words,
        "at": BEGAN + timedelta(seconds=second),
    }


def put(engine: Engine, pages: list[dict[str, Any]]) -> None:
    with engine.begin() as tx:
        tx.execute(text(PAGE), pages)
        tx.execute(text(URL), pages)


def alike(engine: Engine, seed: int, *crawls: str, hosts: int = 8) -> None:
    """In each crawl hosts whose pages say one of three things, with some words of their own: chains of likes."""
    rng = random.Random(seed)
    for name in crawls:
        crawl = make_crawl(engine, name)
        pages = []
        for host in range(1, hosts + 1):
            for page in range(PAGES):
                own = prose(rng.choice((0, 1, 2, 4, 9, 15, 25, 40)), seed=rng.randrange(99))
                words = f"{prose(220, seed=page % 3)} {own}"
                pages.append(made(crawl, host, page, words, second=rng.randrange(50)))
        put(engine, pages)


def start_again(engine: Engine, *, is_known: bool = True) -> None:
    """Nothing is compared, and all pages are queued, in an order that says nothing.   is_known: when they came"""
    for table in TABLES:
        sql(engine, f"DELETE FROM {table}")
    enter(engine, *(row["url"] for row in sql(engine, "SELECT DISTINCT url FROM pages")))
    if not is_known:
        sql(engine, "UPDATE near_queue SET place = 0")


def enter(engine: Engine, *urls: str) -> None:
    """Settles bring these pages."""
    found = sql(
        engine, "SELECT host_id, crawl_id, key FROM pages WHERE url = ANY(:urls) ORDER BY md5(url)", urls=[*urls]
    )
    with db.transaction(engine) as tx:
        near.queue(tx, [(row["host_id"], row["crawl_id"], row["key"]) for row in found])


def notes(engine: Engine) -> Notes:
    found = sql(engine, "SELECT crawl_id, url, kind, of_url, bits FROM duplicates ORDER BY crawl_id, url")
    return [tuple(row.values()) for row in found]
