"""(i) Full-text search over made-up pages: latency of rarer and common words as the index grows, and what a page costs.

Words follow Zipf's law (200,000 words, exponent 1), 400 of them a page, in English pages of 1,000 to a host. The
product's own janitor indexes the first size (`app.features.search.find`); a larger one is the same pages again
under other hosts and keys, as stemming a million takes an hour, and its index of words is built at once. The product's
own search is timed, transactions and passages included, by the clock and by the CPU of both processes. Bars: p95 at
the largest size, 50 ms for two rarer words, 500 ms for common ones. A million pages take some 10 GB of disk.
"""

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from functools import partial
from hashlib import sha256
from itertools import accumulate
from pathlib import Path

import psycopg
from sqlalchemy import Engine, text

from app.config import Settings, load
from app.features.search.find import index_pages, search_pages
from app.local.services import start_postgres
from bench import tiptoe
from bench.claim import empty_database, timed
from bench.report import BenchError, Cell, save, table

WORDS, CHUNKS, CHUNK, CHUNKS_A_PAGE = 200_000, 100_000, 20, 20
PAGES_A_HOST = 1_000
QUERIES, WARM_UP = 60, 5
RARER_MS, COMMON_MS = 50.0, 500.0
_COLUMNS = """host_id crawl_id key url status content_type charset language title main_text body_sha256 text_sha256
body_bytes truncated links depth first_fetched_at fetched_at changed_at""".split()  # noqa: SIM905  # a list literal takes a line per word
_HOSTS = """
INSERT INTO hosts (name, queue, delay_s)
SELECT 'h' || n || '.test', 'host-00', 1 FROM generate_series(1, :n) AS n"""
_COPY_PAGES = f"""
INSERT INTO pages ({", ".join(_COLUMNS)})
SELECT host_id + n * :hosts, crawl_id, sha256(key || convert_to(CAST(n AS text), 'UTF8')), {", ".join(_COLUMNS[3:-1])},
       changed_at + n * interval '1 day'
FROM generate_series(1, :copies) AS n CROSS JOIN pages"""
_COPY_WORDS = """
INSERT INTO page_search (host_id, crawl_id, key, config, changed_at, digest, words)
SELECT s.host_id + n * :hosts, s.crawl_id, sha256(s.key || convert_to(CAST(n AS text), 'UTF8')), s.config,
       s.changed_at + n * interval '1 day', s.digest, s.words
FROM generate_series(1, :copies) AS n CROSS JOIN page_search AS s"""
_BACKENDS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'"
_SIZES = """
SELECT pg_table_size('page_search') AS words, pg_relation_size('page_search') AS rows,
       pg_relation_size('page_search_words') AS index, pg_relation_size('page_search_pkey') AS key,
       pg_total_relation_size('pages') AS pages"""


def main(arguments: argparse.Namespace) -> None:
    """Make, index and search each size; print and save. Raises BenchError where a bar does not hold."""
    sizes = sorted(arguments.sizes)
    web = _Words(random.Random(3))
    if any(size % sizes[0] for size in sizes):
        raise BenchError(f"--sizes {sizes}: write multiples of the smallest, e.g. 100000,1000000")
    rows: list[dict[str, Cell]] = []
    with tiptoe.fresh_home() as home:
        settings = load(home=home)
        running = start_postgres(home, lambda line: print(f"  {line}"))
        try:
            engine = empty_database(running.url, "bench_search")
            _fill(engine, web, sizes[0])
            costs = [_index(engine, sizes[0])]
            for size in sizes:
                _multiply(engine, sizes[0], size)
                rows += _search(engine, settings, web, size)
            costs += [_sizes(engine, size, None) for size in sizes[-1:] if size > sizes[0]]
            engine.dispose()
        finally:
            running.release()
    table("search: what a page costs", costs)
    table("search: milliseconds (bars: p95 50 for two rarer words, 500 for common ones)", rows)
    save("search", {"costs": costs, "rows": rows})
    _judge(rows, sizes[-1])


class _Words:
    """A vocabulary by rank, and pages made of it: chunks of words drawn by Zipf's law, drawn again for each page."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        parts = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
        made: dict[str, None] = {}
        while len(made) < WORDS:
            made["".join(rng.choices(parts, k=2 + (len(made) > 2_000) + (len(made) > 60_000))) + rng.choice("nrx")] = (
                None
            )
        self.by_rank = list(made)
        weights = list(accumulate(1 / (rank + 1) for rank in range(WORDS)))
        self._chunks = [" ".join(rng.choices(self.by_rank, cum_weights=weights, k=CHUNK)) for _ in range(CHUNKS)]

    def page(self) -> str:
        return ". ".join(self._rng.choices(self._chunks, k=CHUNKS_A_PAGE))

    def some(self, ranks: range, n: int) -> list[str]:
        return [self.by_rank[rank] for rank in self._rng.sample(ranks, n)]

    def neighbours(self) -> str:
        """Two words that stand side by side somewhere."""
        return " ".join(self._rng.choice(self._chunks).split()[:2])


def _fill(engine: Engine, web: _Words, size: int) -> None:
    began = time.monotonic()
    with engine.begin() as tx:
        tx.execute(text("INSERT INTO crawls (name, scope, search, search_from) VALUES ('bench', 'any', true, 0)"))
        tx.execute(text(_HOSTS), {"n": -(-size // PAGES_A_HOST)})
        driver = tx.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        with driver.cursor() as cursor, cursor.copy(f"COPY pages ({', '.join(_COLUMNS)}) FROM STDIN") as copy:
            for row in _rows(web, size):
                copy.write_row(row)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE pages, hosts, crawls"))
    print(f"  {size:,} pages made in {time.monotonic() - began:.0f} s", flush=True)


def _rows(web: _Words, size: int) -> Iterator[tuple[object, ...]]:
    for number in range(size):
        url = f"http://h{number // PAGES_A_HOST + 1}.test/page/{number}"
        key = sha256(url.encode()).digest()
        at = f"2026-01-01 00:00:00+00:{number % 60:02}"
        words = web.page()
        yield (
            *(number // PAGES_A_HOST + 1, 1, key, url, 200, "text/html", "utf-8", "en"),
            *(words[:40].title(), words, key, key, len(words), False, 50, 1, at, at, at),
        )


def _index(engine: Engine, size: int) -> dict[str, Cell]:
    began = time.monotonic()
    pages = 0
    while not (indexed := index_pages(engine, within_s=30.0)).is_whole:
        pages += indexed.pages
        print(f"  {pages:,} pages indexed in {time.monotonic() - began:.0f} s", flush=True)
    return _sizes(engine, size, 1000 * (time.monotonic() - began) / size)


def _multiply(engine: Engine, first: int, size: int) -> None:
    """Copy the first pages until there are `size`, and index their words at once."""
    if size == first:
        return
    began = time.monotonic()
    hosts, copies = -(-first // PAGES_A_HOST), size // first - 1
    with engine.begin() as tx:
        tx.execute(text("SET LOCAL maintenance_work_mem = '1GB'"))
        tx.execute(text("DROP INDEX page_search_words"))
        for query in (_COPY_PAGES, _COPY_WORDS):
            tx.execute(text(query), {"hosts": hosts, "copies": copies})
        tx.execute(text("CREATE INDEX page_search_words ON page_search USING gin (words)"))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE pages, page_search"))
    print(f"  {size:,} pages made of {first:,} in {time.monotonic() - began:.0f} s", flush=True)


def _sizes(engine: Engine, size: int, index_ms: float | None) -> dict[str, Cell]:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE page_search"))
        sizes = connection.execute(text(_SIZES)).mappings().one()
        has = int(connection.execute(text("SELECT count(*) FROM page_search")).scalar_one())
        text_bytes = connection.execute(text("SELECT avg(length(main_text)) FROM pages")).scalar_one()
    if has != size:
        raise BenchError(f"{has:,} pages are indexed, not {size:,}")
    return {
        "pages": size,
        "text, bytes": round(text_bytes),
        "words, bytes": round(sizes["words"] / size),
        "of these in the row": round(sizes["rows"] / size),
        "index, bytes": round(sizes["index"] / size),
        "key, bytes": round(sizes["key"] / size),
        "pages, bytes": round(sizes["pages"] / size),
        "ms to index": None if index_ms is None else round(index_ms, 3),
    }


def _search(engine: Engine, settings: Settings, web: _Words, size: int) -> list[dict[str, Cell]]:
    rarer, common = range(2_000, 20_000), range(20)
    kinds: dict[str, list[str]] = {
        "two rarer words": [" ".join(web.some(rarer, 2)) for _ in range(QUERIES)],
        "a rarer word": [web.some(rarer, 1)[0] for _ in range(QUERIES)],
        "a rarer and a common word": [f"{web.some(rarer, 1)[0]} {web.some(common, 1)[0]}" for _ in range(QUERIES)],
        "two common words": [" ".join(web.some(common, 2)) for _ in range(QUERIES)],
        "a common word": [web.some(common, 1)[0] for _ in range(QUERIES)],
        "a common one or another": [" or ".join(web.some(common, 2)) for _ in range(QUERIES)],
        "a phrase": [f'"{web.neighbours()}"' for _ in range(QUERIES)],
        "a phrase of common words": ['"' + " ".join(web.some(common, 2)) + '"' for _ in range(QUERIES)],
    }
    return [_row(engine, settings, size, kind, queries) for kind, queries in kinds.items()]


def _row(engine: Engine, settings: Settings, size: int, kind: str, queries: Sequence[str]) -> dict[str, Cell]:
    matches: list[int] = []
    spent: list[float] = []

    def ask(words: str) -> None:
        began = time.thread_time()
        matches.append(search_pages(engine, settings, "bench", words).matches)
        spent.append(time.thread_time() - began)

    times: list[float] = []
    cpu: list[float] = []
    for words in [*queries[:WARM_UP], *queries]:
        before = _server_s(engine)
        times.append(timed(partial(ask, words)))
        cpu.append(1000 * (_server_s(engine) - before + spent[-1]))
    times, cpu = sorted(times[WARM_UP:]), sorted(cpu[WARM_UP:])
    return {
        "pages": size,
        "words": kind,
        "p50": times[len(times) // 2],
        "p95": times[int(0.95 * len(times))],
        "max": times[-1],
        "CPU p50": cpu[len(cpu) // 2],
        "CPU p95": cpu[int(0.95 * len(cpu))],
        "matches, median": sorted(matches)[len(matches) // 2],
    }


def _server_s(engine: Engine) -> float:
    """Seconds of CPU of the database's backends (proc(5), schedstat): a busy machine does not lengthen them."""
    with engine.connect() as connection:
        pids = connection.execute(text(_BACKENDS)).scalars().all()
    return sum(int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in pids) / 1e9


def _judge(rows: Sequence[dict[str, Cell]], largest: int) -> None:
    for row in rows:
        bar = RARER_MS if row["words"] == "two rarer words" else COMMON_MS
        if row["pages"] == largest and float(row["p95"] or 0) > bar:
            raise BenchError(f"{row['words']}: p95 is {row['p95']:.0f} ms at {largest:,} pages; the bar is {bar:g}")
