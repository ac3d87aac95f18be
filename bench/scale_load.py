"""The frontier of `bench.scale`, with what a year of crawling leaves beside it.

The URLs and hosts of `bench.claim`, and: a request for every resting URL over twelve months of partitions, visits of 25
each, pages of few words, a robots.txt that is none, a refused link for every ten URLs, as many hosts again that nothing
is queued for, and one host that holds a tenth of all URLs. Made by SQL, as crawling ten million pages takes a day;
seeds are measured by the product's own import.
"""

import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from sqlalchemy import Connection, Engine, text

from app.config import Settings
from app.policy.retention import Span
from app.store import db, partitions
from bench import claim

BIG = "big.test"
_MONTHS = 12

_ROBOTS = """
INSERT INTO robots (host_id, scheme, port, availability, status, fetched_at, expires_at)
SELECT id, 'http', 80, 'unavailable', 404, clock_timestamp(), clock_timestamp() + interval '100 days' FROM hosts"""
_COPIES = """
INSERT INTO robots_copies (host_id, scheme, port, since, availability, status)
SELECT id, 'http', 80, clock_timestamp() - interval '1 year', 'unavailable', 404 FROM hosts"""
_BIG = """
INSERT INTO hosts (name, domain, queue, delay_s, next_fetch_at)
VALUES ('big.test', 'big.test', 'host-00', 0, clock_timestamp() + interval '100 days') RETURNING id"""
_BIG_URLS = """
INSERT INTO urls (host_id, crawl_id, key, url, state, lane, score, depth, due_at)
SELECT :host_id, 1, sha256(convert_to(made, 'UTF8')), made, CASE WHEN n % 2 = 0 THEN 'queued' ELSE 'resting' END,
       n / 2 % 4, random(), 1, CASE WHEN n % 2 = 1 THEN clock_timestamp() + random() * interval '30 days' END
FROM generate_series(1, :urls) AS n, LATERAL (SELECT 'http://big.test/a/page/of/usual/length/' || n || '.html' AS made)
AS a"""
_QUIET = """
INSERT INTO hosts (name, domain, queue, delay_s)
SELECT 'quiet' || n || '.test', 'quiet' || n || '.test', 'host-00', 1 FROM generate_series(1, :hosts) AS n"""
_VISITS = """
INSERT INTO visits (host_id, token, queue, worker, taken_at, ended_at, ending, fetches)
SELECT id, gen_random_uuid(), queue, 'bench:1', at, at + interval '9 seconds', 'delay', 25
FROM (SELECT id, queue, clock_timestamp() - id * interval '360 days' / (SELECT max(id) FROM hosts) AS at
      FROM hosts WHERE next_fetch_at IS NOT NULL ORDER BY 3) AS h"""
_FETCHES = """
INSERT INTO fetches (host_id, crawl_id, visit_id, url_key, url, kind, reason, started_at, ended_at, delay_s, address,
status,
                     outcome, content_type, wire_bytes, body_bytes, truncated, dns_ms, connect_ms, first_byte_ms,
                     total_ms,
                     conditional, body_sha256, attempt, address_budget, address_gap_s)
SELECT u.host_id, u.crawl_id, v.id, u.key, u.url, 'page', 'new', v.taken_at + nth * interval '0.3 s',
       v.taken_at + nth * interval '0.3 s' + interval '0.1 s', 0.2, '192.0.2.1', 200,
       'page', 'text/html; charset=utf-8', 9000, 30000, false, 1, 2, 50, 90,
       false, u.key, 1, '192.0.' || u.host_id / 1024 % 256 || '.' || u.host_id / 4 % 256, 0.2
FROM (SELECT *, row_number() OVER (PARTITION BY host_id ORDER BY id) AS nth FROM urls WHERE state = 'resting') AS u
JOIN visits AS v ON v.host_id = u.host_id
ORDER BY v.taken_at, nth"""
_PAGES = """
INSERT INTO pages (host_id, crawl_id, key, url, status, content_type, charset, language, title, main_text, body_sha256,
                   text_sha256, body_bytes, truncated, links, depth, first_fetched_at, fetched_at, changed_at)
SELECT host_id, crawl_id, key, url, 200, 'text/html', 'utf-8', 'en', 'A title of usual length', 'Few words.', key,
       sha256(key), 30000, false, 50, 1, clock_timestamp(), clock_timestamp(), clock_timestamp()
FROM urls WHERE state = 'resting'"""
_COUNTS = """
INSERT INTO crawl_hosts (crawl_id, host_id, pages, fetches, failed, bytes, last_fetch_at)
SELECT 1, id, 25, 25, 0, 225000, clock_timestamp() FROM hosts WHERE next_fetch_at IS NOT NULL"""
_SUMS = """
INSERT INTO crawl_counts (crawl_id, part, pages, bytes)
SELECT crawl_id, host_id % 64, sum(pages), sum(bytes) FROM crawl_hosts GROUP BY 1, 2"""
_REFUSED = """
INSERT INTO suppressions (crawl_id, key, reason, url, found_on, first_at, last_at)
SELECT 1, sha256(convert_to(made, 'UTF8')), 'scope', made, 'http://h1.test/', at, at
FROM generate_series(1, :n) AS n,
     LATERAL (SELECT 'http://elsewhere' || n || '.test/a/page/of/usual/length.html' AS made,
                     clock_timestamp() - random() * interval '360 days' AS at) AS a"""
_TABLES = """
SELECT p.relname AS name,
       sum(pg_table_size(t.relid)) AS table_bytes, sum(pg_indexes_size(t.relid)) AS index_bytes,
       sum(greatest(c.reltuples, 0)) AS rows
FROM pg_class AS p
CROSS JOIN LATERAL (SELECT relid FROM pg_partition_tree(p.oid) WHERE isleaf UNION SELECT p.oid WHERE p.relkind = 'r')
AS t
JOIN pg_class AS c ON c.oid = t.relid
WHERE p.relkind IN ('r', 'p') AND NOT p.relispartition AND p.relnamespace = 'public'::regnamespace
GROUP BY 1
HAVING sum(greatest(c.reltuples, 0)) > 100
ORDER BY 2 DESC"""


def make(server: str, size: int, hosts: int, settings: Settings) -> Engine:
    """A database named for its URLs. Raises BenchError."""
    engine = claim.make_database(server, size, settings, each=size // hosts)
    began = time.monotonic()
    with engine.begin() as tx:
        _months(tx)
        big = tx.execute(text(_BIG)).scalar_one()
        tx.execute(text(_BIG_URLS), {"host_id": big, "urls": size // 10})
        for statement in (_ROBOTS, _COPIES, _VISITS, _FETCHES, _PAGES, _COUNTS, _SUMS):
            tx.execute(text(statement))
        tx.execute(text(_REFUSED), {"n": size // 10})
        tx.execute(text(_QUIET), {"hosts": hosts})
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE"))
        connection.execute(text("CHECKPOINT"))
    print(f"  {size:,} URLs: a year beside them made in {time.monotonic() - began:.0f} s", flush=True)
    return engine


def _months(tx: Connection) -> None:
    """The partitions of a year that has passed, and of the months to come."""
    month = datetime.now(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    starts = [month]
    for _ in range(_MONTHS):
        starts.insert(0, (starts[0] - timedelta(days=1)).replace(day=1))
    starts += [(starts[-1] + timedelta(days=32)).replace(day=1)]
    for log in partitions.LOGS:
        tx.exec_driver_sql(f"DROP TABLE {log}_past")
        for lower, upper in pairwise(starts):
            partitions.make(tx, log, Span(lower=lower, upper=upper, adopts=False))


def sizes(engine: Engine) -> list[dict[str, int | str]]:
    """name, rows, table_bytes, index_bytes of every table with rows; partitions count as their table's."""
    with db.transaction(engine) as tx:
        return [
            {key: value if isinstance(value, str) else int(value) for key, value in row._mapping.items()}  # noqa: SLF001  # SQLAlchemy documents it
            for row in tx.execute(text(_TABLES))
        ]
