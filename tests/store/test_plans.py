"""Queries of a crawl's every second read what they need, however much there is: rows looked at, by EXPLAIN ANALYZE.

2,000 hosts of 20 URLs, one of 20,000 URLs and as many fetches, a robots.txt each, ended visits; with statistics, and
without.
"""

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine, text

from app.model import RestReason
from app.store import clocks, db
from tests.store.frontier import BIG
from tests.store.rows import admission, result
from tests.store.test_queries import queries

ORIGINS = json.dumps([{"host": f"h{number}.test", "scheme": "http", "port": 80} for number in range(1, 21)])
KEY = sha256(b"http://big.test/77").digest()
SOME = [*range(1, 20), BIG]  # hosts that are settled together
LINKS = [admission(host, 1, key=sha256(f"http://h{host}.test/7".encode()).digest()) for host in SOME]
RESULTS = [result(link, "resting", due_s=60) for link in LINKS]
RAISES = [
    {**{name: link[name] for name in ("host_id", "crawl_id", "key")}, "score": 0.9, "score_parts": 0} for link in LINKS
]
LEASES = {"ids": db.array_param(SOME), "tokens": db.array_param([UUID(int=host) for host in SOME])}
CONTACTS = json.dumps([{"host_id": host, "token": str(UUID(int=host))} for host in SOME])
PAGES = json.dumps([{"host_id": host, "crawl_id": 1, "url": f"http://h/{n}"} for host in (1, BIG) for n in range(25)])
LIVE = {
    "crawl_id": 1,
    "queues": ["host-00", "host-01"],
    "most": 60,
    "each": 3,
    "out_of_reach": RestReason.ROBOTS_OUT_OF_REACH,
}

# room, query, values, table, rows of it that may be looked at
QUERIES: list[tuple[str, str, dict[str, Any], str, int]] = [
    ("robots", "of_origins", {"rows": ORIGINS}, "robots", 20),
    ("robots", "of_origins", {"rows": ORIGINS}, "hosts", 20),
    ("crawls", "finish_candidates", {}, "urls", 1),
    ("fetches", "of_url", {"host_id": BIG, "key": KEY, "n": 10}, "fetches", 10),
    ("fetches", "of_host", {"host_id": BIG, "n": 10}, "fetches", 30),  # the newest of each partition
    ("fetches", "audit_host", {"host_id": 1}, "robots_copies", 1),
    ("fetches", "audit_addresses", {"host_ids": [1]}, "fetches", 1 + 21),  # its own, and all that drew on its budget
    ("parameters", "of_hosts", {}, "hosts", 0),
    ("urls", "find", {"host_id": BIG, "key": KEY, "most": 100}, "urls", 101),
    ("urls", "pick", {"rows": json.dumps([{"host_id": BIG, "n": 50, "out_of_reach": []}])}, "urls", 200),
    (
        "urls",
        "pick",
        {"rows": json.dumps([{"host_id": host, "n": 3, "out_of_reach": []} for host in SOME])},
        "urls",
        69,
    ),
    ("urls", "admit", {"rows": db.rows_param(LINKS)}, "urls", 20),
    ("urls", "record", {"rows": db.rows_param(RESULTS)}, "urls", 39),
    ("urls", "raise_scores", {"rows": db.rows_param(RAISES)}, "urls", 39),
    ("hosts", "lock_leased", LEASES, "hosts", 20),
    ("hosts", "extend_visits", {"rows": CONTACTS, "lease_s": 60}, "hosts", 20),
    ("hosts", "leave", {"rows": CONTACTS}, "hosts", 20),
    ("visits", "mark_lost", {}, "visits", 0),
    ("hosts", "pause_outlived", {}, "hosts", 0),
    ("fleet", "waits", {"percent": 5}, "urls", 1_000),  # one of each host in a random sample, of 2,000
    ("fleet", "waits", {"percent": 5}, "hosts", 1_000),
    ("fleet", "leased", {}, "hosts", 0),
    ("fleet", "leased", {}, "visits", 0),
    ("fleet", "brought", {"crawl_id": 1, "most": 100}, "crawl_hosts", 100),
    ("fleet", "brought_by_many", {"crawl_id": 1, "blocks": 4}, "crawl_hosts", 1_000),  # of 4 blocks
    ("fleet", "rates", {"from_s": 14, "until_s": 4, "n": 20_000}, "fetches", 20),
    ("live", "hosts", LIVE, "hosts", 16 + 3),  # three by the queue, and their rows; three with something queued
    ("live", "hosts", LIVE, "urls", 8 + 3),
    ("live", "hosts", LIVE, "visits", 0),
    ("live", "failures", {"crawl_id": 1, "n": 30}, "fetches", 30 + 30),  # thirty, and those of a partition beside
    ("offers", "lines", {"offer_s": 10, "ahead_s": 0.25, "within_s": 30}, "hosts", 0),
    ("offers", "served", {"n": 100, "within_s": 30}, "visits", 130),  # the newest of each partition
    ("offers", "again", {"ids": "{7,8}", "ahead_s": 0.25, "offer_s": 10, **clocks.steady()}, "hosts", 4),
    ("pages", "needing_script", {"crawl_id": 1}, "pages", 20),
    ("pages", "shells", {"most": 20}, "pages", 20),
    ("urls", "queued_some", {"crawl_id": 1, "most": 100}, "urls", 100),
    ("near", "orphans", {"n": 200, "blocks": 8}, "duplicates", 1_000),  # of 20,000, some 60 a block
    ("near", "orphans", {"n": 200, "blocks": 8}, "urls", 1_000),
    ("near", "queued_links", {"rows": PAGES}, "urls", 20 + 20_000),  # both queues, once
    ("fleet", "frontier", {"percent": 1}, "urls", 2_000),  # of 60,000, a block in a hundred
    ("fleet", "frontier", {"percent": 1}, "hosts", 2_000),  # one look-up of each URL, at most
    ("fleet", "unserved", {"queues": ["host-00", "host-01"], "misses": 3}, "hosts", 2),
    ("fleet", "judged", {"n": 30}, "fetches", 30 + 30 + 2 * 30),  # as failures, and the one before of each
]


@pytest.mark.parametrize(("room", "name", "values", "table", "most"), QUERIES)
def test_it_looks_at_no_more_than_it_needs(
    frontier: Engine, room: str, name: str, values: dict[str, Any], table: str, most: int
) -> None:
    plan = explained(frontier, queries(room)[name].text, values)
    assert sum(looked_at(plan, table)) <= most, json.dumps(plan, indent=1)


def explained(engine: Engine, query: str, values: dict[str, Any]) -> dict[str, Any]:
    """The plan as it was run, and rolled back. A table of a few pages is read faster than looked up: not here."""
    with engine.connect() as connection:
        connection.execute(text("SET LOCAL enable_seqscan = off"))
        (found,) = connection.execute(text(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}"), values).scalar_one()
        connection.rollback()
    plan: dict[str, Any] = found["Plan"]
    return plan


def looked_at(node: dict[str, Any], table: str) -> Iterator[float]:
    """Rows of a table, its partitions included, that each scan brought or threw away."""
    if str(node.get("Relation Name", "")).startswith(table):
        removed = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
        yield (node["Actual Rows"] + removed) * node["Actual Loops"]
    for child in node.get("Plans", []):
        yield from looked_at(child, table)
