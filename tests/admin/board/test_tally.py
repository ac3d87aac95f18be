"""A crawl in numbers: exact where its tables are small or every row is asked for, else about right."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from app.admin.board import tally as tallies
from app.admin.board.tally import WHOLE, tally
from tests.store.rows import clean, make_crawl, sql

N = 20_000  # URLs of the larger crawl; a fifth as many of the other
HOST = "INSERT INTO hosts (name, queue, delay_s) VALUES ('h.test', 'host-00', 1) RETURNING id"
URLS = """INSERT INTO urls (host_id, crawl_id, key, url, state, lane, score, depth, cause, fetched_at, interval_s,
                            due_at)
          SELECT :host, :crawl, sha256(convert_to(:crawl || ' ' || n, 'UTF8')), 'http://h.test/' || n,
                 CASE n % 4 WHEN 0 THEN 'resting' WHEN 1 THEN 'refused' ELSE 'queued' END, n % 4, 1, n % 3,
                 CASE WHEN n % 4 = 1 THEN 'trap' END, CASE WHEN n % 4 = 0 THEN now() END, 60,
                 CASE WHEN n % 4 = 0 THEN now() - interval '1 min' END
          FROM generate_series(1, :n) AS n"""
LINKS = """INSERT INTO suppressions (crawl_id, key, reason, url, count)
           SELECT :crawl, sha256(convert_to(n::text, 'UTF8')), CASE WHEN n % 4 = 0 THEN 'trap' ELSE 'scope' END,
                  'http://x.test/' || n, 2
           FROM generate_series(1, :n) AS n"""
LOG = """INSERT INTO fetches (host_id, crawl_id, visit_id, url_key, kind, reason, url, status, outcome, delay_s,
                              started_at, ended_at, wire_bytes, body_bytes, truncated, total_ms, conditional, attempt)
         SELECT :host, :crawl, 1, '', 'page', CASE WHEN n % 4 = 0 THEN 'recrawl' ELSE 'new' END, 'http://h.test/' || n,
                CASE WHEN n % 8 = 0 THEN 304 ELSE 200 END, CASE WHEN n % 8 = 0 THEN 'unchanged' ELSE 'page' END, 1,
                now() - n * interval '1 ms', now(), 10, 100, false, 5, false, 1
         FROM generate_series(1, :n) AS n"""
SHARES = {"refused": 0.25, "done": 0.25, "queued": 0.5}


@pytest.fixture(scope="module")
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        (host,) = sql(engine, HOST)
        for name, n in (("large", N), ("small", N // 5)):
            crawl = make_crawl(engine, name)
            sql(engine, URLS, host=host["id"], crawl=crawl, n=n)
            sql(engine, LINKS, crawl=crawl, n=n)
            sql(engine, LOG, host=host["id"], crawl=crawl, n=n)
        yield engine


@pytest.mark.parametrize(("blocks", "exactly"), [(tallies.BLOCKS, False), (20, True)])
def test_a_crawl_of_small_tables_or_one_that_is_counted_is_exact(engine: Engine, blocks: int, exactly: bool) -> None:
    found = tally(engine, "small", blocks=blocks, exactly=exactly)
    n = N // 5
    assert found.is_exact
    assert found.seen == n
    assert found.states == {state: share * n for state, share in SHARES.items()}
    assert sum(row["urls"] for row in found.shape) == n
    assert [(row["depth"], row["fetched"]) for row in found.shape] == [(0, 333), (1, 334), (2, 333)]
    assert sum(row["p2"] + row["p3"] for row in found.shape) == n / 2
    assert [(row["cause"], row["urls"]) for row in found.causes] == [("trap", n / 4)]
    assert [(row["reason"], row["links"], row["times"]) for row in found.reasons] == [
        ("scope", 3 * n / 4, 3 * n / 2),
        ("trap", n / 4, n / 2),
    ]
    assert [(row["outcome"], row["status"], row["fetches"]) for row in found.outcomes] == [
        ("page", 200, 7 * n / 8),
        ("unchanged", 304, n / 8),
    ]
    assert (found.recrawls, found.not_modified) == (n / 4, n / 8)
    assert [(row["changes"], row["pages"], row["late"]) for row in found.freshness] == [("not known yet", n / 4, n / 4)]
    assert (found.why_nothing or "").startswith("http://h.test/3 was not fetched yet")


def test_of_large_tables_a_sample_is_scaled_up(engine: Engine) -> None:
    found = tally(engine, "large", blocks=200)
    assert not found.is_exact
    assert all(0 < percent < WHOLE for percent in (found.percents["urls"], found.percents["fetches"]))
    assert found.seen < N * 0.9
    assert {state: round(n / N, 1) for state, n in found.states.items()} == pytest.approx(SHARES, abs=0.1)
    assert sum(row["urls"] for row in found.shape) == pytest.approx(N, rel=0.4)
    assert sum(row["fetches"] for row in found.outcomes) == pytest.approx(N, rel=0.4)
    assert found.recrawls == pytest.approx(N / 4, rel=0.5)
    assert found.why_nothing is None
