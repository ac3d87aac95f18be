"""The frontier that tests of plans read: 2,000 hosts of 20 URLs, and one of 20,000.

`filled` makes a database of such rows.
"""

from collections.abc import Iterable, Iterator

from sqlalchemy import Engine, text

from app.store import db
from tests.store.rows import make_crawl, sql

BIG = 2_001
FILL = [
    """INSERT INTO hosts (name, queue, delay_s, next_fetch_at)
       SELECT 'h' || n || '.test', 'host-00', 1, now() + interval '1 hour' FROM generate_series(1, 2000) AS n""",
    """INSERT INTO hosts (name, queue, delay_s) VALUES ('big.test', 'host-00', 1)""",
    """INSERT INTO urls (host_id, crawl_id, key, url, state, lane, score, depth)
       SELECT host, 1, sha256(convert_to(url, 'UTF8')), url, 'queued', 1, 0.5, 1
       FROM generate_series(1, 2000) AS host, generate_series(1, 20) AS n,
            LATERAL (SELECT 'http://h' || host || '.test/' || n AS url) AS made""",
    """INSERT INTO urls (host_id, crawl_id, key, url, state, lane, score, depth)
       SELECT 2001, 1, sha256(convert_to(url, 'UTF8')), url, 'queued', n % 4, n % 2, 1
       FROM generate_series(1, 20000) AS n, LATERAL (SELECT 'http://big.test/' || n AS url) AS made""",
    """INSERT INTO fetches (host_id, visit_id, url_key, url, kind, reason, started_at, ended_at, delay_s, outcome,
    wire_bytes,
                            body_bytes, truncated, total_ms, conditional, attempt, address_budget)
       SELECT host_id, 1, key, url, 'page', 'new', now() - id * interval '1 s', now(), 1, 'page', 0, 0, false, 1,
       false, 1, 'b' || id % 1000
       FROM urls WHERE host_id = 2001 OR (host_id = 1 AND url LIKE '%/7')""",
    """INSERT INTO visits (host_id, token, queue, worker, taken_at, ended_at, ending)
       SELECT 1 + n % 2000, gen_random_uuid(), 'host-00', 'w:1', now() - n * interval '1 s', now(), 'delay'
       FROM generate_series(1, 20000) AS n""",
    """INSERT INTO crawl_hosts (crawl_id, host_id, pages)
       SELECT crawl, host, 1 FROM generate_series(1, 3) AS crawl, generate_series(1, 2001) AS host""",
    """INSERT INTO robots (host_id, scheme, port, availability, fetched_at, expires_at)
       SELECT id, 'http', 80, 'unavailable', now(), now() FROM hosts""",
    """INSERT INTO robots_copies (host_id, scheme, port, since, availability)
       SELECT id, 'http', 80, now() - interval '1 year', 'unavailable' FROM hosts""",
    """INSERT INTO pages (host_id, crawl_id, key, url, status, body_sha256, text_sha256, body_bytes, truncated, links,
                          depth, first_fetched_at, fetched_at, changed_at, needs_script)
       SELECT n, 1, 'k', 'u', 200, '', '', 0, false, 0, 0, now(), now(), now(),
              CASE WHEN n % 100 = 0 THEN '{}'::jsonb END
       FROM generate_series(1, 2000) AS n""",
    """INSERT INTO duplicates (host_id, crawl_id, key, url, kind, of_url, of_host_id, of_key)
       SELECT host_id, crawl_id, sha256(key), url, 'text', url, host_id, key FROM urls WHERE host_id = 2001""",
]


def filled(url: str, statements: Iterable[str], *, statistics: str) -> Iterator[Engine]:
    """A database with a crawl and what these insert.   statistics: "with statistics" or "without" """
    engine = db.connect(url)
    make_crawl(engine)
    for statement in statements:
        sql(engine, statement)
    vacuum(engine, statistics=statistics)
    yield engine
    engine.dispose()


def vacuum(engine: Engine, *, statistics: str) -> None:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM" if statistics == "without" else "VACUUM ANALYZE"))
