"""Lists of the dashboard read a page of rows by key, however many there are: rows looked at, by EXPLAIN ANALYZE.

The frontier of tests.store.frontier, with refused links, duplicates, items, patterns and captures beside it.
"""

import json
from typing import Any

import pytest
from sqlalchemy import Engine

from app.store import db
from app.store.board import END, START
from tests.store.frontier import BIG
from tests.store.rows import sql
from tests.store.test_plans import KEY, explained, looked_at

N = 50
NEWEST = {"before": END[0], "before_id": END[1], "n": N}
QUEUES = {"queues": ["host-00", "host-01"]}
FILL = [
    "UPDATE hosts SET next_fetch_at = next_fetch_at + id * interval '1 ms'",
    """INSERT INTO suppressions (crawl_id, key, reason, url, last_at)
       SELECT 1, sha256(convert_to(n::text, 'UTF8')), 'scope', 'http://x.test/' || n, now() - n * interval '1 s'
       FROM generate_series(1, 20000) AS n""",
    """INSERT INTO duplicates (host_id, crawl_id, key, url, kind, of_url)
       SELECT host_id, crawl_id, key, url, 'body', url FROM urls WHERE host_id = 2001""",
    """INSERT INTO items (host_id, crawl_id, key, handler, n, url, capture_id, version, item)
       SELECT host_id, crawl_id, key, 'books', 0, url, 1, 1, '{}' FROM urls WHERE host_id = 2001""",
    """INSERT INTO url_patterns (host_id, crawl_id, pattern, urls, fetched, new, refused, lately, new_lately)
       SELECT host, 1, '/' || n, 1, 1, 1, 1, 1, 1 FROM generate_series(1, 2000) AS host, generate_series(1, 10) AS n""",
    """INSERT INTO operator_log (who, face, act, subject)
       SELECT 'anna', 'web', 'host.pause', 'h' || n % 100 FROM generate_series(1, 20000) AS n""",
    """INSERT INTO pages (host_id, crawl_id, key, url, status, body_sha256, text_sha256, body_bytes, truncated, links,
                          depth, first_fetched_at, fetched_at, changed_at)
       SELECT host_id, 1, key, url, 200, '', '', 0, false, 0, 0, now(), now(), now() FROM urls WHERE host_id = 2001""",
]
SOME_HOSTS = db.array_param([*range(700, 700 + N), BIG])
FROM_BIG = {"after_host": BIG, "after_key": "80", "crawl_id": 1, "n": N}
FROM_FIRST = {"after_host": 0, "after_key": "", "n": N}

# room, query, values, table, rows of it that may be looked at
LISTS: list[tuple[str, str, dict[str, Any], str, int]] = [
    ("board", "names_after", {"after": "h5", "n": N}, "hosts", N),
    ("board", "names_of_crawl", {"crawl_id": 2, "after": 700, "n": N}, "crawl_hosts", N),
    ("board", "names_of_crawl", {"crawl_id": 2, "after": 700, "n": N}, "hosts", N),
    ("board", "names_by_contact", {**QUEUES, "after": START[0], "after_id": 0, "n": N}, "hosts", 4 * N),
    ("board", "hosts", {"names": [f"h{n}.test" for n in range(1, N + 1)], "waits_for": "delay"}, "hosts", N),
    ("board", "hosts", {"names": [f"h{n}.test" for n in range(1, N + 1)], "waits_for": "delay"}, "urls", 2 * N),
    ("board", "requests", NEWEST, "fetches", 2 * N),  # the newest of each partition
    ("board", "requests", NEWEST, "hosts", N),
    ("board", "requests_of_host", {"before": END[0], "n": N, "host_id": BIG}, "fetches", 2 * N),
    ("board", "errors", {"crawl_id": None, "n": 500}, "fetches", 1_000),
    ("board", "failing", {"crawl_id": None, "n": 500, "rows": 100}, "fetches", 1_000),
    ("board", "failing", {"crawl_id": 1, "n": 500, "rows": 100}, "urls", 2 * 500),  # a probe for robots.txt, if any
    ("board", "history", {"crawl_id": None, "within_s": 600, "step_s": 5, "n": 500}, "fetches", 1_000),
    ("board", "visiting", {"n": N}, "visits", 0),
    ("board", "workers", {"n": 500}, "visits", 1_000),
    ("board", "refused_links", {"crawl_id": 1, "reason": None, "before": END[0], "n": N}, "suppressions", N),
    ("board", "duplicates", {"after_host": 0, "after_crawl": 0, "after_key": "", "n": N}, "duplicates", N),
    ("board", "traps", {"after_host": 700, "after_crawl": 1, "after_pattern": "/5", "n": N}, "url_patterns", N),
    (
        "board",
        "items",
        {"after_host": 1, "after_crawl": 1, "after_key": "", "after_handler": "", "after_n": 0, "n": N},
        "items",
        N,
    ),
    ("board", "page_hosts", {**FROM_FIRST, "crawl_id": 1}, "pages", 2 * N + 1),  # a probe, and a count
    ("board", "page_hosts", {**FROM_FIRST, "crawl_id": 2}, "pages", N + 1),  # of another crawl: none is counted
    ("board", "page_hosts", FROM_BIG, "pages", N),
    ("board", "pages", {**FROM_BIG, "hosts": SOME_HOSTS}, "pages", 2 * N),
    ("board", "pages", {**FROM_BIG, "hosts": SOME_HOSTS}, "urls", N),
    ("board", "page", {"host_id": BIG, "crawl_id": 1, "key": KEY}, "pages", 1),
    ("board", "urls_read", {"crawl_id": 1, "percent": 2}, "urls", 3_000),  # a random share of 60,000
    ("board", "requests_read", {"crawl_id": 1, "percent": 2, "days": 7}, "fetches", 1_500),
    ("board", "refused_read", {"crawl_id": 1, "percent": 2}, "suppressions", 1_500),
    ("crawls", "hosts_some", {"crawl_id": 2, "most": 500}, "crawl_hosts", 500),
    ("board", "items_of_url", {"host_id": BIG, "crawl_id": 1, "key": KEY}, "items", 1),
    ("operator_log", "latest", {"n": N, "before": 10_000, "subject": None}, "operator_log", N),
    ("operator_log", "latest", {"n": N, "before": 10_000, "subject": "h7"}, "operator_log", N),
]


@pytest.fixture(scope="module")
def board(frontier: Engine) -> Engine:
    for statement in FILL:
        sql(frontier, statement)
    sql(frontier, "ANALYZE suppressions, duplicates, items, url_patterns, operator_log, pages")
    return frontier


@pytest.mark.parametrize(("room", "name", "values", "table", "most"), LISTS)
def test_a_list_looks_at_a_page_of_rows(
    board: Engine, room: str, name: str, values: dict[str, Any], table: str, most: int
) -> None:
    plan = explained(board, db.queries(room)[name].text, values)
    assert sum(looked_at(plan, table)) <= most, json.dumps(plan, indent=1)


def test_every_list_of_the_dashboard_has_a_row() -> None:
    """But for what reads as many rows as there are crawls or tables, or as it is asked for."""
    others = {"crawls", "crawl", "sizes", "percents", "domain_delays"}
    assert set(db.queries("board")) - {name for room, name, *_ in LISTS if room == "board"} == others
