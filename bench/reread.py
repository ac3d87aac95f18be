"""What reading again costs: pages a second of `tiptoe page reread` over an archive, beside reading alone.

    python -m bench.reread [pages]        default 20000

Pages of a manual are archived as a worker archives them, with a text of an earlier reader. The same documents are read
from memory by one process, before the command and after it. No request is made: the fetch log stays empty. The bar:
half the rate of reading alone.
"""

import os
import subprocess
import sys
import time

import psycopg
from sqlalchemy import Engine

from app.config import Settings
from app.parse.html import html
from bench import tree
from bench.extract import TREE_PAGES, archived
from bench.report import Cell, save, table

BAR = 0.5
_ALONE_PAGES = 5 * TREE_PAGES  # that are read before, and after
_STALE = """
    INSERT INTO urls (host_id, crawl_id, key, url, state, lane, score, depth, fetched_at)
    SELECT host_id, crawl_id, key, url, 'queued', 1, 0.5, 0, fetched_at FROM captures;
    INSERT INTO pages (host_id, crawl_id, key, url, status, content_type, main_text, body_sha256, text_sha256,
                       body_bytes, truncated, links, depth, first_fetched_at, fetched_at, changed_at, reader)
    SELECT host_id, crawl_id, key, url, 200, 'text/html; charset=utf-8', 'as it was', body_sha256, '', body_bytes,
           false, 0, 0, fetched_at, fetched_at, fetched_at, 1
    FROM captures;
    ANALYZE urls, pages, captures
"""


def main(pages: int) -> None:
    with archived(pages) as (engine, settings, size):
        with psycopg.connect(str(settings.database_url)) as connection:
            connection.execute(_STALE)
        before = _alone()
        rate, cpu_ms = _again(settings, pages)
        alone = [(one + other) / 2 for one, other in zip(before, _alone(), strict=True)]
        requests, left = _counts(engine)
    ratio = rate / alone[0]
    rows: list[dict[str, Cell]] = [
        {"what": "reading alone", "pages/s": alone[0], "ms of CPU": alone[1]},
        {"what": "tiptoe page reread", "pages/s": rate, "ms of CPU": cpu_ms},
    ]
    table(f"{pages:,} pages of {size / 1024:.1f} kB, {os.cpu_count()} cores, requests: {requests}", rows)
    print(f"reread/alone {ratio:.2f} (bar {BAR}); by CPU without Postgres {alone[1] / cpu_ms:.2f}")
    save("reread", {"pages": pages, "rows": rows, "ratio": ratio})
    assert (requests, left) == (0, 0)
    assert ratio >= BAR, ratio


def _alone() -> list[float]:
    """Pages a second, and milliseconds of CPU a page, of reading documents that are in memory."""
    bodies = [body for _, body in tree.load(None, TREE_PAGES).for_host("host0.test")]
    began, cpu = time.monotonic(), time.process_time()
    for n in range(_ALONE_PAGES):
        html.read(bodies[n % len(bodies)], content_type="text/html; charset=utf-8")
    return [_ALONE_PAGES / (time.monotonic() - began), 1000 * (time.process_time() - cpu) / _ALONE_PAGES]


def _again(settings: Settings, pages: int) -> tuple[float, float]:
    """The same of the command, which ends when all is written. Postgres' CPU is not counted."""
    told = {"TIPTOE_HOME": str(settings.home), "TIPTOE_DATABASE_URL": str(settings.database_url)}
    began, before = time.monotonic(), os.times()
    subprocess.run(
        [sys.executable, "-m", "tiptoe", "page", "reread", "bench"],
        env={**os.environ, **told},
        check=True,
        timeout=3600,
    )
    lasted, after = time.monotonic() - began, os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return pages / lasted, 1000 * used / pages


def _counts(engine: Engine) -> tuple[int, int]:
    """Requests, and pages whose text is still of an earlier reader."""
    with engine.connect() as tx:
        requests = tx.exec_driver_sql("SELECT count(*) FROM fetches").scalar_one()
        left = tx.exec_driver_sql(f"SELECT count(*) FROM pages WHERE reader <> {html.READER}").scalar_one()
    return requests, left


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
