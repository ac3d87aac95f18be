"""Queries of a new database look their rows up, too, while the tables are small and have no statistics. Rows looked at,
by EXPLAIN ANALYZE.

A crawl of three hosts with some pages each, half of which were fetched. A session keeps its plans of a settle while the
tables grow; those of near duplicates are made anew each time.
"""

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from sqlalchemy import Engine, TextClause, text

from app.store import db
from tests.store.frontier import filled
from tests.store.rows import admission, result
from tests.store.test_plans import looked_at
from tests.store.test_queries import queries

if TYPE_CHECKING:
    from tests.databases import Databases

FILL = [
    """INSERT INTO hosts (name, queue, delay_s, state, lease_token, lease_until, next_fetch_at, taken_at)
       SELECT 'h' || n || '.test', 'host-00', 1, 'taken', CAST(lpad(n::text, 32, '0') AS uuid), now() + interval '1 h',
              now() + interval '1 h', now()
       FROM generate_series(1, 3) AS n""",
    "INSERT INTO hosts (name, queue, delay_s) SELECT 'more' || n, 'host-00', 1 FROM generate_series(1, :n) AS n",
    """INSERT INTO urls (host_id, crawl_id, key, url, state, due_at, fetched_at, lane, score, depth)
       SELECT host, 1, sha256(convert_to(url, 'UTF8')), url, CASE WHEN n > :n / 2 THEN 'resting' ELSE 'queued' END,
              CASE WHEN n > :n / 2 THEN now() + interval '1 day' END, CASE WHEN n > :n / 2 THEN now() END, 1, 0.5, 1
       FROM generate_series(1, 3) AS host, generate_series(1, :n) AS n,
            LATERAL (SELECT 'http://' || host || '.test/' || n AS url) AS made""",
    """INSERT INTO pages (host_id, crawl_id, key, url, status, main_text, body_sha256, text_sha256, body_bytes,
                          truncated, links, depth, reader, first_fetched_at, fetched_at, changed_at)
       SELECT host_id, crawl_id, key, url, 200, url, sha256(key || 'b'), sha256(key || 't'), 1, false, 0, 0, 2, now(),
              now(), now()
       FROM urls""",
    "INSERT INTO near_queue (host_id, crawl_id, key) SELECT host_id, crawl_id, key FROM pages WHERE host_id = 1",
    "INSERT INTO fingerprints (host_id, crawl_id, key, place, simhash) SELECT host_id, crawl_id, key, 1, 7 FROM pages",
    "UPDATE fingerprints SET place = id",
    "INSERT INTO fingerprints_due SELECT crawl_id, place - 1000, id, simhash, true FROM fingerprints",
    "INSERT INTO fingerprint_keys SELECT id, place, id, simhash FROM fingerprints",
]
LINKS = [admission(host, 1, f"/{n}") for host in (1, 2, 3) for n in range(1, 6)]
RESULTS = [result(link, "resting", due_s=60) for link in LINKS]
RAISES = [{**{at: link[at] for at in ("host_id", "crawl_id", "key")}, "score": 0.9, "score_parts": 0} for link in LINKS]
PAGES = [
    {
        **{at: link[at] for at in ("host_id", "crawl_id", "key")},
        "body_sha256": sha256(link["key"] + b"b").digest(),
        "text_sha256": sha256(link["key"] + b"t").digest(),
        "reader": 2,
    }
    for link in LINKS
]
LOOKS_UP = {
    "keys": "{1,2,9000}",
    "blocks": "{0,1,2}",
    "turned_blocks": "{0,1,2}",
    "turned": "{0,0,0}",
    "ids": "{4}",
    "most": 8,
}
DUE = {"crawl_id": 1, "n": 10, "most_bytes": 1_000_000, "made_by": None}
LEASES = {"ids": db.array_param([1, 2, 3]), "tokens": db.array_param([UUID(int=host) for host in (1, 2, 3)])}
PACE = {"delay_s": 1, "failures": 0, "adaptive_level": 0, "recent_statuses": [], "recent_ms": [], "breaker_trips": 0}
CONTACTS = json.dumps(
    [{"host_id": n, "token": str(UUID(int=n)), "isolate": 0, "unfetched": 0, **PACE} for n in (1, 2, 3)]
)
Row = tuple[str, str, dict[str, Any], str, int]


# room, query, values, table, rows of it that may be looked at
SETTLES: list[Row] = [
    ("urls", "admit", {"rows": db.rows_param(LINKS)}, "urls", 15),
    ("urls", "record", {"rows": db.rows_param(RESULTS)}, "urls", 15),
    ("urls", "raise_scores", {"rows": db.rows_param(RAISES)}, "urls", 15),
    ("hosts", "extend_visits", {"rows": CONTACTS, "lease_s": 60}, "hosts", 3),
    ("hosts", "leave", {"rows": CONTACTS}, "hosts", 3),
    ("pages", "originals", {"rows": db.rows_param(PAGES)}, "pages", 30),
]
COMPARES: list[Row] = [
    ("near", "lot", {"crawl_id": 1, "n": 10, "most_bytes": 1_000_000}, "near_queue", 10),
    ("near", "lot", {"crawl_id": 1, "n": 10, "most_bytes": 1_000_000}, "pages", 10),
    ("near", "lot", {"crawl_id": 1, "n": 10, "most_bytes": 1_000_000}, "fingerprints", 10),
    ("near", "lot", {"crawl_id": 1, "n": 10, "most_bytes": 1_000_000}, "urls", 10),
    ("near", "due", DUE, "fingerprints", 20),  # with _due
    ("near", "due", DUE, "pages", 10),
    ("near", "due", DUE, "urls", 10),
    ("near", "due_beside", {"crawl_id": 1, "ids": "{1}", "place": -995, "behind": 3}, "fingerprints_due", 8),
    ("near", "claim", {"crawl_id": 1, "ids": "{1,101,201}"}, "fingerprints", 3),
    ("near", "hold", {"crawl_id": 1, "ids": "{1,101,201}"}, "fingerprints", 3),
    ("near", "by_keys", LOOKS_UP, "fingerprint_keys", 3),
    ("near", "originals", {"crawl_id": 1, "ids": "{1,101,201}", "start": 320}, "pages", 3),
    ("near", "originals", {"crawl_id": 1, "ids": "{1,101,201}", "start": 320}, "urls", 3),
]


@pytest.fixture(scope="module")
def few(databases: "Databases") -> Iterator[Engine]:
    yield from filled(databases.make(), _fill(50), statistics="without")


@pytest.fixture(scope="module")
def some(databases: "Databases") -> Iterator[Engine]:
    yield from filled(databases.make(), _fill(100), statistics="without")


@pytest.mark.parametrize(("room", "name", "values", "table", "most"), SETTLES)
def test_a_settle_looks_at_no_more_than_it_needs(
    few: Engine, room: str, name: str, values: dict[str, Any], table: str, most: int
) -> None:
    plan = _explained(few, db.queries("hosts")["lock_leased"], LEASES, queries(room)[name], values)
    assert sum(looked_at(plan, table)) <= most, json.dumps(plan, indent=1)


@pytest.mark.parametrize(("room", "name", "values", "table", "most"), COMPARES)
def test_a_comparison_looks_at_no_more_than_it_needs(
    some: Engine, room: str, name: str, values: dict[str, Any], table: str, most: int
) -> None:
    plan = _explained(some, queries("near")["begin"], {}, queries(room)[name], values)
    assert sum(looked_at(plan, table)) <= most, json.dumps(plan, indent=1)


def _fill(pages: int) -> list[str]:
    return [statement.replace(":n", str(pages)) for statement in FILL]


def _explained(
    engine: Engine, first: TextClause, its: dict[str, Any], query: TextClause, values: dict[str, Any]
) -> dict[str, Any]:
    """The plan of a query as it was run behind the first one of its transaction, and rolled back."""
    with engine.connect() as connection:
        connection.execute(first, its)
        (found,) = connection.execute(text(f"EXPLAIN (ANALYZE, FORMAT JSON) {query.text}"), values).scalar_one()
        connection.rollback()
    plan: dict[str, Any] = found["Plan"]
    return plan
